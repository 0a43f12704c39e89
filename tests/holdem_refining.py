"""Small spots of hold'em as board trees and as explicit trees, for tests of refining."""

from __future__ import annotations

from functools import cache

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.refine.gadgets import Gadget, technique
from subgame.refine.learners import GadgetInputs
from subgame.refine.report import Part
from subgame.refine.sequence.subgames import SequenceSubgame, sequence_subgames
from subgame.refine.subgame import Trunk
from subgame.tree.ranges.tree import RangeTree

SHORT = Deck("TJQKA", "hs")
THREE = Deck("QKA", "chs")
GAMES = {
    "river": sg.holdem.endgame("QsJhThKsAh", 4, 6, ("*", "AA,KK,QJ,JTs"), "all: 1x a", deck=SHORT),
    "weights": sg.holdem.endgame(
        "QsJhThJsAh", 4, 6, ("*:0.7,KQ", "AK,KK:0.5,QT,KQs:0.3"), "all: 1x a", deck=SHORT
    ),
    "turn": sg.holdem.endgame("QsJhThKs", 4, (6, 4), ("*", "AA,KJ,KTs,QJ"), "all: a", deck=SHORT),
    "bets": sg.holdem.endgame(
        "QsJhThKs", 4, 12, ("AA,KQ,JTs", "AA,KJ,KTs,QJ"), "turn: 1x; river: a; cap 1", deck=SHORT
    ),
    "flop": sg.holdem.endgame(
        "Qs Kh As", 4, 4, ("AA,KK,KQ", "QQ,AcKc"), "all: a / cap 1", deck=THREE
    ),
}
SAFE = ("resolve", "maxmargin", "reach-resolve", "reach-maxmargin")
EVERY: list[Gadget] = [
    *(
        technique(name)
        for name in (
            *SAFE,
            "unsafe",
            "estimate-resolve",
            "estimate-maxmargin",
            "distributional",
            "reach-estimate-distributional",
        )
    ),
    sg.Distributional("respond"),
    sg.Resolve(refined=0.1),
    sg.Maxmargin(refined=0.1),
]


@cache
def board_tree(name: str) -> RangeTree:
    tree = sg.compile(GAMES[name])
    assert isinstance(tree, RangeTree)
    return tree


@cache
def explicit(name: str) -> sg.PublicTree:
    return sg.compile(GAMES[name], explicit=True)


@cache
def dealt(name: str) -> SequenceSubgame:
    """The explicit tree's subgame once hands are dealt: its root slots are the hands."""
    return sequence_subgames(explicit(name), lambda state: len(state.hands) == 2)[0]


def spread(strategy: sg.Strategy, onto: sg.PublicTree) -> sg.Strategy:
    """A strategy of a board tree laid over the explicit tree of the same game."""
    rows = {(p, name): row for p, name, row in strategy.rows()}
    table = {
        f"player {p}: {name}": rows[p, name]
        for p, side in enumerate(onto.players)
        for name in side.names
    }
    return sg.Strategy.from_table(onto, table)


def hand(name: str) -> str:
    return name.partition(" ")[0]


def aligned(part: Part, oracle: Part) -> list[int]:
    """[s] the place in `part` of each root infoset of the explicit part, by hand."""
    place = {hand(name): s for s, name in enumerate(part.infosets)}
    return [place[hand(name)] for name in oracle.infosets]


def inputs_of(name: str, blueprint: sg.Strategy, player: int, gadget: Gadget) -> GadgetInputs:
    """Of the explicit subgame."""
    trunk = Trunk(spread(blueprint, explicit(name)), 1 - player)
    return trunk.inputs(dealt(name), gadget)[0]

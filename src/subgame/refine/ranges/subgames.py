"""Subgames of hold'em: from a board and a betting state on, a hold'em tree of their own.

Root slots are the hands that a player can hold there. Units are those of the whole game, as in
`subgame.refine.subgame`: a pair of hands and the cards so far have their chance inside
`RangeTree.deals`, and a range is its player's reach. Gifts (2017, Sec. 5) are computed street by
street on all boards at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from subgame.engines.arrays import Array, Floats, Ints, as_numpy
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.subgame import Subgame, Trunk, carried_gift, received_gift, reliable
from subgame.tree.public_tree import Numbers, both
from subgame.tree.ranges.betting_tree import Street, decisions
from subgame.tree.ranges.merging import places
from subgame.tree.ranges.tree import RangeTree, compile_range_tree, range_tree
from subgame.tree.strategy import Strategy


def flat(values: Floats) -> Floats:
    """[way * boards + board, hand] from [way, board, hand]."""
    return values.reshape(-1, values.shape[2])


def transfer(
    source: RangeTree, sigma: Numbers, target: RangeTree, into: Numbers, p: int
) -> Numbers:
    """Write a strategy to where its decisions stand in another tree with the same boards.

    Decisions are known by their betting; those that the other tree lacks are left out. Actions that
    only the other tree has get probability 0.
    """
    mine, other = source.players[p], target.players[p]
    top = len(target.streets) - len(source.streets)
    for s, street in enumerate(source.streets):
        there = {state.history: j for j, state in enumerate(target.streets[top + s].states[p])}
        for j, state in enumerate(street.states[p]):
            if (k := there.get(state.history)) is None:
                continue
            block, made = mine.street_block(sigma, s), other.street_block(into, top + s)
            names, cut = target.streets[top + s].actions[p][k], other.street_actions(top + s, k)
            made[:, cut] = 0
            for a, name in enumerate(street.actions[p][j], mine.street_actions(s, j).start):
                made[:, cut.start + names.index(name)] = block[:, a]
    return into


def rows(street: Street, p: int, j: int) -> slice:
    """The rows of a decision's actions."""
    return slice(street.first[p][j], street.first[p][j] + len(street.actions[p][j]))


def carried_gifts(
    run: RangeEngine,
    streets: list[Street],
    gadget: Gadget,
    o: int,
    ours: list[Array],
    values: list[Array],
    entry: Floats,
) -> list[Floats]:
    """Per street [row, board, hand] the opponent's gifts carried to each row (2017, Sec. 5).

    `streets` are the first streets of the engine's tree. `ours` and `values` are our reach and the
    opponent's values of all rows; `entry` [way, board, hand] is carried to the roots.
    """
    if gadget.gifts == "none":
        return [np.broadcast_to(np.zeros(1), tuple(value.shape)) for value in values]
    out, tree = list[Floats](), run.tree
    for s, street in enumerate(streets):
        if s > 0:
            entry = as_numpy(entered_gifts(run, gadget, o, entry, s))
        carried = np.zeros(values[s].shape)
        carried[: len(street.roots), :, : entry.shape[2]] = entry
        for j, parent in enumerate(street.parent[o]):
            here, value = rows(street, o, j), as_numpy(values[s][rows(street, o, j)])
            at = ours[s][street.at[o][j][1 - o]][None]
            reach = reliable(as_numpy(run.opposing(o, at, s)))
            size = np.maximum(_best(tree, gadget, street, o, j, value) - value, 0)
            carried[here] = carried[parent] + carried_gift(size, reach[0], gadget)
        out.append(carried)
        entry = carried[[row[o] for row in street.leaf_rows]]
    return out


def entered_gifts(run: RangeEngine, gadget: Gadget, o: int, entry: Floats, s: int) -> Array:
    """[root, board, hand] gifts at the roots of a street, from those at the leaves before it.

    They are on the engine's device.
    """
    entering = run.enter(o, entry, s)
    if gadget.split:
        return entering
    # In units of the whole game: a board is only one of many.
    weights = run.tree.units.dealt[s].weight[:, None]
    return entering / (
        weights if isinstance(entering, np.ndarray) else entering.new_tensor(weights)
    )


def _best(tree: RangeTree, gadget: Gadget, street: Street, o: int, j: int, value: Floats) -> Floats:
    """[action, board, hand] what each action is compared with: itself and those that count."""
    state, last = street.states[o][j], tree.holdem.rules.last_street
    after = [state.child(name) for name in street.actions[o][j]]
    counts = [
        gadget.gifts == "estimated" or (b.is_over and (b.folded >= 0 or b.street == last))
        for b in after
    ]
    if not any(counts):
        return value
    out: Floats = np.maximum(value, value[counts].max(0))
    return out


UNEVEN = 0.01
"""How far numbers of merged hands may differ, as a share of their range: rounding."""


class Spot(NamedTuple):
    """A public state: the board's unit in the tree, and the betting."""

    unit: int
    betting: Betting


@dataclass(frozen=True, eq=False, repr=False)
class RangeSubgame(Subgame):
    """A part of a hold'em tree, or all of it. Axis: s = root infoset, a hand."""

    whole: RangeTree
    tree: RangeTree
    spot: Spot
    elsewhere = 0.0

    @classmethod
    def at(cls, whole: RangeTree, spot: Spot) -> RangeSubgame:
        """The subgame from a public state on."""
        if spot == Spot(0, whole.holdem.start()):
            return cls(whole, "root", whole, spot)
        return cls(whole, spot_name(whole, spot), _part(whole, spot), spot)

    def hands(self, p: int) -> Ints:
        """[s] the hand of each root slot."""
        return self.tree.units[0].hands[p]

    def _start(self, p: int) -> Floats:
        """[hand] a player's reach at the start of the whole game."""
        out = np.zeros(self.whole.holdem.deck.num_hands)
        out[self.whole.units[0].hands[p]] = self.whole.players[p].reach
        return out

    def reach(self, p: int, trunk: Trunk) -> Floats:
        cards = self.whole.units[self.spot.unit].cards
        out, state = self._start(p), self.whole.holdem.start()
        for action in self.spot.betting.history[len(state.history) :]:
            if action == "/":
                continue
            if state.player == p:  # what hands have that nobody can hold is not read
                find, shown = self.whole.players[p].finder, cards[: BOARD_CARDS[state.street]]
                names, first, stride = find.cells(shown, str(state))
                out *= trunk.blueprint.probs[p][first + stride * names.index(action)]
            state = state.child(action)
        return out[self.hands(p)]

    def most(self, p: int) -> Floats:
        return self._start(p)[self.hands(p)]

    def weight(self, p: int, opponent_reach: Floats) -> Floats:
        deck = self.whole.holdem.deck
        reach = np.zeros(deck.num_hands)
        reach[self.hands(1 - p)] = opponent_reach
        return deck.facing(reach)[self.hands(p)] / self.tree.deals

    @property
    def largest_payoff(self) -> float:
        return float(self.spot.betting.pot) / 2  # behind it values grow as payoffs do

    @cached_property
    def places(self) -> tuple[Ints, Ints] | tuple[None, None]:
        if self.tree is self.whole:
            return None, None
        return both(lambda p: places(self.tree, self.whole, p))

    def gifts(self, trunk: Trunk, gadget: Gadget, weight: Floats) -> Floats:
        if self.tree is self.whole:
            return np.zeros(len(weight))
        o, units, (u, betting) = trunk.opponent, self.whole.units, self.spot
        s, p = units[u].street, betting.player
        j = decisions(self.whole.streets, p)[betting.history][1]
        row, held = self.whole.streets[s].at[p][j][o], units[u].hands[o]
        amounts = trunk.gifts(gadget, _gifts)
        carried = np.zeros(self.whole.holdem.deck.num_hands)
        carried[held] = amounts[s][row, u - units.first[s], : len(held)]
        here = weight / units.chance[u]  # gifts are carried as if the board were certain
        return as_numpy(received_gift(carried[self.hands(o)], here, gadget))

    def check_inputs(self, gadget: Gadget, inputs: GadgetInputs) -> None:
        if gadget.keep_safe:
            raise SubgameError(
                f"{gadget.name} on a hold'em tree cannot keep Resolve's conditions, for which the "
                "opponent needs a second copy of the tree; leave out keep_safe."
            )
        vectors = {"alternative payoffs": inputs.alternative, "uncertainty": inputs.spread}
        for name, numbers in vectors.items():
            if numbers is not None and not self._same_for_merged(inputs.opponent, numbers):
                raise SubgameError(
                    f"The {name} in {self.tree.game_name} differ between hands that differ only in "
                    "suits, which are merged in its tree. Give numbers that are equal for both, or "
                    "compile it with merge=False (subgame endgame --no-merge)."
                )

    def _same_for_merged(self, opponent: int, numbers: Floats) -> bool:
        """Whether hands that are merged in the tree have the same numbers."""
        unit = self.tree.units[0]
        if len(unit.symmetries) == 1 and not self.tree.merged:
            return True
        images = hand_permutations(self.tree.holdem.deck)[unit.symmetries]
        first = unit.of.cards.first[unit.hands[opponent]]
        hands = images[:, first].min(0)  # [s] one hand of each kind
        size = int(hands.max()) + 1
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, hands, numbers)
        np.maximum.at(high, hands, numbers)
        return bool((high - low)[hands].max() <= UNEVEN * np.ptp(numbers))

    def shown(self, strategy: Strategy, p: int) -> dict[str, dict[str, float]]:
        """Only the first street inside: all of it may be millions of rows."""
        side, where = self.tree.players[p], self.places[p]
        street, unit = self.tree.streets[0], self.tree.units[0]
        out = {}
        for j, state in enumerate(street.states[p]):
            cells = side.cells(0, j)
            cells = cells if where is None else where[cells]
            for hand, row in zip(unit.hands[p].tolist(), strategy.probs[p][cells], strict=True):
                shares = row.astype(np.float64) / row.sum(dtype=np.float64)  # not 1 in float32
                name = self.whole.holdem.infoset_name(hand, unit.cards, state)
                out[name] = dict(zip(street.actions[p][j], shares.tolist(), strict=True))
        return out


def _gifts(trunk: Trunk, gadget: Gadget) -> list[Floats]:
    """Per street [row, board, hand] the gifts carried to each of the opponent's rows."""
    o, run = trunk.opponent, engine(range_tree(trunk.blueprint.tree), device=trunk.device)
    ours, reach = trunk.blueprint.probs[1 - o], run.roots(1 - o)
    estimate = trunk.estimate if gadget.gifts == "estimated" else None
    follow = None if estimate is None else estimate.probs[o]
    values = run.row_values(o, ours, reach, follow)
    rows = run.row_reach(1 - o, ours, reach)
    return carried_gifts(run, run.tree.streets, gadget, o, rows, values, np.zeros((1, 1, 1)))


def spot_name(tree: RangeTree, spot: Spot) -> str:
    """The name of a public state."""
    return tree.holdem.public_name(tree.units[spot.unit].cards, spot.betting)


def _part(whole: RangeTree, spot: Spot) -> RangeTree:
    """The tree below a spot, in units of the whole game; no boards are merged in it."""
    unit, game = whole.units[spot.unit], whole.holdem
    held = np.zeros((2, game.deck.num_hands))
    for p in (0, 1):
        held[p, unit.hands[p]] = 1.0
    ranges = both(lambda p: Range(held[p], game.deck))
    below = replace(game, board=unit.cards, first=spot.betting, ranges=ranges)
    vars(below)["symmetries"] = np.zeros(1, dtype=np.int64)  # the whole tree has none either
    chance = float(whole.units.chance[spot.unit])
    return replace(compile_range_tree(below), deals=whole.deals / chance, engines={})


def cut_range_tree(tree: RangeTree, at: Any) -> list[RangeSubgame]:
    """The subgames of a hold'em tree at a frontier; see `subgame.cut`."""
    return [RangeSubgame.at(tree, spot) for spot in spots_at(tree, at)]


def spots_at(tree: RangeTree, at: Any) -> list[Spot]:
    """The public states of a frontier, at which the tree can be cut."""
    many = not isinstance(at, str) and isinstance(at, Iterable)
    spots = [spot for one in (at if many else [at]) for spot in _spots(tree, one)]
    if not spots:
        raise SubgameError(f"No public state of {tree.game_name} is at the frontier '{at}'.")
    for one, other in permutations(spots if many else [], 2):
        if _below(tree, one, other):
            raise SubgameError(
                f"The public state '{spot_name(tree, one)}' lies below another one of the "
                "frontier; subgames are disjoint, so name only one of the two."
            )
    start = Spot(0, tree.holdem.start())
    merged = tree.merged or any(len(u.symmetries) > 1 for u in tree.units)
    if merged and any(spot != start for spot in spots):
        what = "Hands" if tree.merged else "Boards"
        raise SubgameError(
            f"{what} of {tree.game_name} that differ only in suits are one, so that parts of it "
            "cannot be cut out; refine at root, or compile it with merge=False (subgame endgame "
            "--no-merge)."
        )
    return spots


def _spots(tree: RangeTree, at: object) -> Iterator[Spot]:
    game = tree.holdem
    frontiers = game.frontiers()
    if not isinstance(at, str):
        raise SubgameError(
            f"A frontier of a hold'em tree is named: root, {', '.join(_after(game)) or 'or'} a "
            f"public state, not {at!r}."
        )
    if at == "root" or at == game.public_name(game.board, game.start()):
        yield Spot(0, game.start())
    elif at in _after(game):
        street = 1 + _after(game).index(at)
        for u, unit in enumerate(tree.units):
            if unit.street == street and some_pair(tree, u):
                for state in tree.streets[street].roots:
                    if not state.is_over:
                        yield Spot(u, state)
    elif at in frontiers:
        after = at.replace("before", "after")
        raise SubgameError(f"A hold'em tree is cut once cards are dealt: '{after}', not '{at}'.")
    else:
        yield _public_state(tree, at)


def _after(game: Holdem) -> list[str]:
    return [name for name in game.frontiers() if name.startswith("after")]


def some_pair(tree: RangeTree, u: int) -> bool:
    """Whether both players can hold a hand on a board."""
    hands = tree.units[u].hands
    return bool(tree.holdem.deck.disjoint[np.ix_(*hands)].any())


def _public_state(tree: RangeTree, at: str) -> Spot:
    """The public state of a name such as ``Qs Jh 2h 8d | r100c/``."""
    board, bar, history = at.partition("|")
    game = tree.holdem
    if not bar:
        raise did_you_mean("frontier or public state", at, ["root", *_after(game)])
    cards = game.deck.parse(board, what="board")
    boards = [u for u, unit in enumerate(tree.units) if unit.cards == cards]
    start = game.start()
    state = start.play(history.strip().removeprefix(str(start)))
    street = tree.units[boards[0]].street if boards else -1
    known = [s for p in (0, 1) for s in tree.streets[street].states[p]] if boards else []
    if state not in known or not some_pair(tree, boards[0]):
        raise SubgameError(f"{tree.game_name} has no public state '{at}' where somebody acts.")
    return Spot(boards[0], state)


def _below(tree: RangeTree, one: Spot, other: Spot) -> bool:
    cards, above = tree.units[one.unit].cards, tree.units[other.unit].cards
    history = other.betting.history
    return cards[: len(above)] == above and one.betting.history[: len(history)] == history

"""A solved hold'em endgame in poker terms: EV, equity, and the strategy of each hand.

The engine counts net chips from the start of the hand. Here a player's EV is the part of the
current pot that the player wins on average, so the two EVs sum to the pot. A player's equity is the
share of the pot that the player wins with no further betting, exact over all cards to come; the
two equities sum to one. EV and equity of a single hand are conditional on the player holding it.

    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s", "KQ"), "river: 1x a")
    >>> solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=300).strategy)
    >>> [round(share, 1) for share in solved.equity], round(sum(solved.ev), 6)
    ([0.6, 0.4], 100.0)
    >>> solved.decision().table()["AsAh"].keys(), solved.decision("r100").names
    (dict_keys(['c', 'r100', 'r200']), ('fold', 'call 100', 'all-in 200'))
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError, brief, did_you_mean, unreadable
from subgame.games.holdem.bets import STREETS, BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.chips import number, read_chips
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting, NoLimit, total_of
from subgame.games.holdem.spots import endgame
from subgame.solve.schedule import Schedule, parse
from subgame.tree.compile import compile
from subgame.tree.files import read_tensors
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.tree import Merge, RangeTree, range_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
SEATS = ("oop", "ip")
"""Player 0 is out of position, player 1 in position."""

BYTES = {"float32": 4.0, "int16": 2 + 4 / LANES, "bfloat16": 2.0}
"""Bytes of one regret or average, by storage."""
SAVED = "a hold'em spot saved by endgame --out"
_ACTION = re.compile(r"[^\s,/]\d*")


@dataclass(frozen=True, eq=False)
class Endgame:
    """A strategy for a hold'em tree with its values. Arrays are in the order of the root infosets.

    The value of a hand is nan where the opponent cannot hold any hand together with it.
    """

    __repr__ = brief

    strategy: Strategy
    ev: tuple[float, float]
    """Each player's share of the pot, in chips."""
    equity: tuple[float, float]
    """Each player's share of the pot without further betting, from 0 to 1."""
    hand_ev: Pair  # [h]
    hand_equity: Pair  # [h]
    chance: Pair  # [h] how likely each hand is, given both ranges and card removal; sums to 1

    @classmethod
    def of(
        cls, strategy: Strategy, threads: int | None = None, device: str | None = None
    ) -> Endgame:
        """Evaluate a strategy exactly; `device` is as in `subgame.solve`."""
        tree = range_tree(strategy.tree)
        met = meetings(tree)
        first, second = (side.reach * m for side, m in zip(tree.players, met, strict=True))
        start = tree.holdem.start()
        ev, hand_ev = [], []
        for p, values in enumerate(_follow(tree, strategy, threads, device)):
            paid = float(start.staked[p] + start.bets[p])
            ev.append(float(values @ tree.players[p].reach) + paid)
            hand_ev.append(_each(values, met[p]) + paid)
        equity, hand_equity = equities(tree, threads, device)
        return cls(
            strategy, (ev[0], ev[1]), equity, (hand_ev[0], hand_ev[1]), hand_equity, (first, second)
        )

    @property
    def tree(self) -> RangeTree:
        """The tree of the strategy."""
        return range_tree(self.strategy.tree)

    @property
    def pot(self) -> float:
        """The chips in the pot at the root."""
        return number(self.tree.holdem.start().pot)

    def decision(self, line: str = "") -> Decision:
        """What a player does on the first street after a line such as ``c r50``."""
        return decision(self.strategy, line)

    def hands(self, p: int) -> dict[str, dict[str, float]]:
        """Hand -> its weight in player `p`'s range, its EV and its equity."""
        side = self.tree.players[p]
        rows = zip(
            side.slots,
            side.reach.tolist(),
            self.hand_ev[p].tolist(),
            self.hand_equity[p].tolist(),
            strict=True,
        )
        return {
            name: {"weight": weight, "ev": ev, "equity": equity}
            for name, weight, ev, equity in rows
            if weight > 0
        }


# Values --------------------------------------------------------------------------------------
def meetings(tree: RangeTree) -> Pair:
    """[h] the weight of the opponent's hands possible with each hand, as a share of all deals."""
    reach = [side.reach for side in tree.players]
    first, second = _against(tree, reach[1], 0), _against(tree, reach[0], 1)
    return first / tree.deals, second / tree.deals


def _against(tree: RangeTree, reach: Floats, p: int) -> Floats:
    """[h] the sum of the opponent's `reach` over the hands that share no card with player `p`'s."""
    pairs = tree.holdem.deck.hands
    mine, yours = (pairs[tree.units[0].hands[q]] for q in (p, 1 - p))
    cards = np.bincount(yours.ravel(), np.repeat(reach, 2), tree.holdem.deck.size)
    same = np.zeros(tree.holdem.deck.num_hands)  # counted with both its cards
    same[tree.units[0].hands[1 - p]] = reach
    out: Floats = reach.sum() - cards[mine].sum(1) + same[tree.units[0].hands[p]]
    out[out < 1e-12 * reach.sum()] = 0  # where the range is blocked, only rounding is left
    return out


def _follow(
    tree: RangeTree, strategy: Strategy, threads: int | None = None, device: str | None = None
) -> Pair:
    """[h] both players' counterfactual values at the root under the strategy, in net chips."""
    run, probs = engine(tree, threads, device), strategy.probs
    first = run.values(0, probs[0], run.plan(1, probs[1])).roots[0]
    return first, run.values(1, probs[1], run.plan(0, probs[0])).roots[0]


def _each(values: Floats, met: Floats) -> Floats:
    """[h] values conditional on the hand; nan where it is impossible."""
    out = np.full(len(values), np.nan)
    np.divide(values, met, out=out, where=met > 0)
    return out


def equities(
    tree: RangeTree, threads: int | None = None, device: str | None = None
) -> tuple[tuple[float, float], Pair]:
    """Both players' equity, and [h] that of each hand; see the module.

    Equities are values of a game on the same cards with one chip from each player and no bets.
    """
    game = tree.holdem
    street = game.start().street
    if street == 0:
        raise SubgameError(
            f"Equity can be computed only from the flop on, but {game} starts before it."
        )
    rules = NoLimit((1, 1), (0, 1), STREETS[street], 2, game.rules.last)
    # Other devices than the CPU need every hand for itself.
    merge: Merge = True if device in (None, "cpu") else "boards"
    calm = replace(game, rules=rules, bets=BetSizes(), first=None)
    quiet = range_tree(compile(calm, memory_limit=None, merge=merge))
    totals, hands, met = [], [], meetings(quiet)
    for p, values in enumerate(_follow(quiet, Strategy.uniform(quiet), threads, device)):
        totals.append((1 + float(values @ quiet.players[p].reach)) / 2)
        every = np.full(game.deck.num_hands, np.nan)
        every[quiet.units[0].hands[p]] = (1 + _each(values, met[p])) / 2
        hands.append(every[tree.units[0].hands[p]])
    return (totals[0], totals[1]), (hands[0], hands[1])


def memory_needed(
    tree: RangeTree, schedule: Schedule | str = "dcfr", storage: str = "float32"
) -> int:
    """An estimate of the bytes that a solve needs: the tree, regrets and averages, the strategy."""
    if storage not in BYTES:
        raise did_you_mean("storage", storage, BYTES)
    arrays = 3 if parse(schedule).predictive else 2
    each = BYTES[storage] * arrays + BYTES["float32"]  # a strategy is float32 in every storage
    return tree.nbytes + int(each * (tree.stored(0) + tree.stored(1)))


# Decisions -----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Decision:
    """The strategy of one player's hands at one decision of the first street."""

    __repr__ = brief

    tree: RangeTree
    betting: Betting
    actions: tuple[str, ...]  # the tree's names: f, c, r with the total on the street
    probs: Floats  # [h, action]
    reach: Floats  # [h] the player's range times their earlier action probabilities
    chance: Floats  # [h] probability of each hand here, given both players' reach; sums to 1

    @property
    def player(self) -> int:
        """The acting player: 0 is out of position."""
        return self.betting.player

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The actions in words: check, call 50, bet 50, raise to 150, all-in 200."""
        return tuple(action_name(self.betting, action) for action in self.actions)

    @property
    def frequency(self) -> Floats:
        """[action] how often the player takes it, over all hands."""
        out: Floats = self.chance @ self.probs
        return out

    def table(self) -> dict[str, dict[str, float]]:
        """Hand -> action -> probability, for the hands that the player can hold here."""
        slots = self.tree.players[self.player].slots
        return {
            slots[h]: dict(zip(self.actions, self.probs[h].tolist(), strict=True))
            for h in np.flatnonzero(self.reach > 0).tolist()
        }


def follow_line(game: Holdem, line: str) -> list[tuple[Betting, str]]:
    """The states of the first street that a line such as ``c r50`` leads through, with its actions.

    The last state is where the line ends; its action is "". Raises an error if the tree does not
    have an action of the line, or if the line leaves the street.
    """
    here, past = game.start(), []
    for action in _ACTION.findall(line):
        actions = game.actions(here)
        if action not in actions:
            after = f"After '{here}' the tree has" if str(here) else "The tree starts with"
            raise SubgameError(f"{after} the actions {', '.join(actions)}, not '{action}'.")
        past.append((here, action))
        here = here.child(action)
        if here.is_over or here.street != game.start().street:
            what = "the hand is over" if here.is_over else "the next card comes"
            raise SubgameError(
                f"After '{str(here).strip('/')}' {what}; only decisions before that are shown."
            )
    return [*past, (here, "")]


def decision(strategy: Strategy, line: str = "") -> Decision:
    """The decision on the first street after a line such as ``c r50``; spaces are free."""
    tree = range_tree(strategy.tree)
    reach = [side.reach for side in tree.players]
    *past, (here, _) = follow_line(tree.holdem, line)
    for state, action in past:
        taken = _probs(strategy, state)[:, tree.holdem.actions(state).index(action)]
        reach[state.player] = reach[state.player] * taken
    p = here.player
    likely = reach[p] * _against(tree, reach[1 - p], p)
    total = likely.sum()
    return Decision(
        tree,
        here,
        tree.holdem.actions(here),
        _probs(strategy, here),
        reach[p],
        likely / total if total > 0 else likely,
    )


def _probs(strategy: Strategy, here: Betting) -> Floats:
    """[h, action] the acting player's probabilities; uniform where they are all 0."""
    tree, p = range_tree(strategy.tree), here.player
    places = [state.history for state in tree.streets[0].states[p]]
    cells = tree.players[p].cells(0, places.index(here.history))
    weights = np.maximum(strategy.probs[p][cells].astype(np.float64), 0)
    total = weights.sum(1, keepdims=True)
    out = np.full(weights.shape, 1 / weights.shape[1])
    np.divide(weights, total, out=out, where=total > 0)
    return out


def action_name(betting: Betting, action: str) -> str:
    """The words for an action of the tree.

    >>> start = NoLimit((200, 200), (0, 1), "river", 100).start()
    >>> [action_name(start, action) for action in ("c", "r50", "r200")]
    ['check', 'bet 50', 'all-in 200']
    >>> [action_name(start.play("r50"), action) for action in ("f", "c", "r150")]
    ['fold', 'call 50', 'raise to 150']
    """
    if action == "f":
        return "fold"
    if action == "c":
        return f"call {betting.to_call:,}" if betting.to_call else "check"
    total = total_of(action)
    if is_all_in(betting, action):
        return f"all-in {total:,}"
    return f"raise to {total:,}" if betting.to_call else f"bet {total:,}"


def is_all_in(betting: Betting, action: str) -> bool:
    """Whether a bet or raise puts one of the two players all-in when it is called."""
    return action[:1] == "r" and total_of(action) >= betting.situation().all_in


# Files ---------------------------------------------------------------------------------------
def notes(game: Holdem) -> dict[str, str]:
    """The parameters of an endgame, as a saved strategy records them."""
    rules = game.rules
    return {
        "board": game.deck.name(game.board),
        "pot": str(rules.pot),
        "stacks": "/".join(map(str, rules.stacks)),
        "oop": str(game.ranges[0]),
        "ip": str(game.ranges[1]),
        "bets": str(game.bets),
        "big_blind": str(rules.blinds[1]),
        "last": rules.last,
        "ranks": game.deck.ranks,
        "suits": game.deck.suits,
        "dead": game.deck.name(game.dead),
        "rake": repr(rules.rake),
        "rake_cap": repr(rules.rake_cap),
    }


def save(strategy: Strategy, path: str | Path) -> None:
    """Save a strategy with the parameters of its endgame, so that `load` needs only the file."""
    tree = range_tree(strategy.tree)
    suits = len(tree.units[0].symmetries) > 1
    merged = "yes" if tree.merged else "boards" if suits else "no"
    made = {**strategy.notes, **notes(tree.holdem), "merged": merged}
    replace(strategy, notes=made).save(path)


def load(path: str | Path, *, memory_limit: str | float | None = "8GiB") -> Strategy:
    """Load a strategy that `save` wrote; its tree is compiled again."""
    said = read_tensors(path, SAVED)[0]
    kinds: dict[str, Merge] = {"yes": True, "boards": "boards", "no": False}
    merge = kinds.get(said.get("merged", ""), "boards")
    tree = compile(_game(path, said), memory_limit=memory_limit, merge=merge)
    mapped = Strategy.load(path, tree)
    first, second = (np.array(probs) for probs in mapped.probs)  # kernels need writable arrays
    return replace(mapped, probs=(first, second))


def _game(path: str | Path, said: Mapping[str, str]) -> Holdem:
    try:
        deck = Deck(said["ranks"], said["suits"])
        mine, yours = said["stacks"].split("/")
        ranges = [Range.parse(said[seat], deck) for seat in SEATS]
        return endgame(
            said["board"],
            read_chips(said["pot"], "pot"),
            (read_chips(mine, "stack"), read_chips(yours, "stack")),
            ranges,
            said["bets"],
            deck=deck,
            big_blind=read_chips(said["big_blind"], "big blind"),
            last=said["last"],
            dead=said.get("dead", ""),
            rake=float(said.get("rake", "0")),
            rake_cap=float(said.get("rake_cap", "inf")),
        )
    except (KeyError, ValueError):
        raise unreadable(path, "does not say which endgame it was made for", SAVED) from None

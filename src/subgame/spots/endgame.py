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

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.engines.devices import check_storage
from subgame.engines.factory import engine
from subgame.engines.pairs import pair_bytes
from subgame.errors import DAMAGED, SubgameError, brief, unreadable
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.sizes import number
from subgame.games.holdem.spots import SAVED, SpotForm
from subgame.show.html import Value, beside, block, table
from subgame.solve.evaluate import Exploitability
from subgame.solve.limits import SolveOptions
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import solve
from subgame.spots.browse import Explorer, calm_tree, merging
from subgame.spots.decisions import Decision
from subgame.spots.lines import SEATS
from subgame.spots.locks import Frequencies, Lock, locked, locked_spot
from subgame.spots.off_path import off_path
from subgame.spots.runouts import runouts
from subgame.spots.tables import Table
from subgame.tree.compile import compile
from subgame.tree.files import check_finite, describe, read_tensors, write_tensors
from subgame.tree.ranges.betting_tree import LANES
from subgame.tree.ranges.tree import Merge, RangeTree, range_tree
from subgame.tree.strategy import FORMAT, Strategy

if TYPE_CHECKING:
    from subgame.engines.contract import Engine
    from subgame.solve.solver import Run

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]
COMPACT = "subgame-compact-spot-1"
"""The format of a spot without its last street, see `subgame.refine.ranges.compact_spots`."""
BYTES = {"float32": 4.0, "bfloat16": 2.0, "int16": 2 + 4 / LANES}
"""Bytes of one regret or average, by storage."""


@dataclass(frozen=True, eq=False)
class Endgame:
    """A solved spot: what each hand wins, and what both players do anywhere in the hand.

    Player 0 is out of position (OOP), player 1 in position (IP). `ev` and `equity` are those of
    both players at the start, `hands` has them by hand. `decision` shows any later place, by a line
    of actions and cards, and `runouts` every card that can come next.

    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d", 100, 100, ("AA,KQs", "QJ,99"), "1x")
    >>> spot = Endgame.of(sg.solve(sg.compile(game), "hs-dcfr", iterations=50).strategy)
    >>> here = spot.decision("check, check / 3c")
    >>> here.words, here.names
    ('check, check / 3c', ('check', 'all-in 100'))
    >>> [row["class"] for row in here.class_table()]
    ['AA', 'KQs']
    >>> list(here.hand_table("AhAc")[0])[:7]
    ['hand', 'class', 'weight', 'chance', 'ev', 'equity', 'eqr']

    Arrays are in the order of the root infosets. The value of a hand is nan where the opponent
    cannot hold any hand together with it.
    """

    __repr__ = brief

    strategy: Strategy
    ev: tuple[float, float]
    """Each player's share of the pot, in chips."""
    equity: tuple[float, float]
    """Each player's share of the pot without further betting, from 0 to 1."""
    hand_ev: Pair  # [h]
    hand_equity: Pair  # [h]
    exploitability: Exploitability | None = None
    """What a best response wins, if it was measured."""

    @classmethod
    def of(
        cls, strategy: Strategy, threads: int | None = None, device: str | None = None
    ) -> Endgame:
        """Evaluate a strategy exactly; `device` is as in `subgame.solve`."""
        run = engine(range_tree(strategy.tree), threads, device)
        # To the device once, and off it before equities need the room.
        follow = _follow(run, [run.weights(p, strategy.probs[p]) for p in (0, 1)])
        return cls._of(strategy, follow, threads, device)

    @classmethod
    def of_run(
        cls, run: Run, streets: int | None, threads: int | None = None, device: str | None = None
    ) -> Endgame:
        """Evaluate what a run has solved, where it was solved.

        With `streets`, decisions on later ones cannot be shown: they are not taken off the device.
        """
        played = run.played()
        one, two = (run.engine.host(numbers, streets) for numbers in played)
        strategy = Strategy(run.tree, (one, two), check=False)
        return cls._of(strategy, _follow(run.engine, played), threads, device)

    @classmethod
    def _of(
        cls, strategy: Strategy, follow: Pair, threads: int | None, device: str | None
    ) -> Endgame:
        tree = range_tree(strategy.tree)
        ev, hand_ev = _evs(tree, follow)
        equity, hand_equity = equities(tree, threads, device)
        return cls(strategy, ev, equity, hand_ev, hand_equity)

    @classmethod
    def open(
        cls, path: str | Path, *, memory_limit: str | float | None = "8GiB", check: bool = True
    ) -> Endgame:
        """A saved spot, without loading it: probabilities are read from the file as they are used.

        A file that was saved without values is evaluated, for which all of it is read. With `check`
        all of it is read once and refused if a number is not finite.
        """
        tree = tree_of(path, memory_limit, check=check)
        values = stored_values(path, tree)
        if values is None:
            return cls.of(load(path, memory_limit=memory_limit))
        return cls(Strategy.load(path, tree, check=False), **values)

    def save(self, path: str | Path, *, run: Run | None = None, half: bool = False) -> None:
        """Save the spot with its values; see `subgame.spots.endgame.save`."""
        save(self.strategy, path, values=self, run=run, half=half)

    def at_root(self) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
        """EV and equity as files have them: arrays and metadata, which `stored_values` reads."""
        pairs = {"ev": self.hand_ev, "equity": self.hand_equity}
        tensors = {f"{name}{p}": pair[p] for name, pair in pairs.items() for p in (0, 1)}
        state = {"values": json.dumps({"ev": self.ev, "equity": self.equity})}
        if self.exploitability is not None:
            gap = self.exploitability
            state["exploitability"] = json.dumps([*gap.per_seat, *(gap.values or ())])
        return tensors, state

    @property
    def tree(self) -> RangeTree:
        """The tree of the strategy."""
        return range_tree(self.strategy.tree)

    @property
    def pot(self) -> float:
        """The chips in the pot at the root."""
        return number(self.tree.holdem.start().pot)

    @cached_property
    def explorer(self) -> Explorer:
        """Reads the strategy decision by decision."""
        return Explorer(self.strategy)

    def lock(
        self,
        line: str,
        hands: Frequencies,
        *,
        schedule: Schedule | str = "dcfr",
        **options: Unpack[SolveOptions],
    ) -> Endgame:
        """The spot solved again while some hands play fixed frequencies at a decision.

        `hands` are ranges with the probabilities of actions, `line` is as in `decision`. Locks that
        the spot has already stay. `subgame.spots.locks` says more; the options are those of
        `subgame.solve`.

        >>> import subgame as sg
        >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s", "KQ"), "1x / raise none")
        >>> free = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=300).strategy)
        >>> calls = free.lock("bet 100", {"KQ": {"call": 1.0}}, iterations=300)
        >>> round(free.ev[0]), round(calls.ev[0])
        (90, 120)
        """
        before = [Lock.parse(text) for text in self.tree.lock_texts]
        tree = locked_spot(self.tree.holdem, [*before, Lock(line, hands)])
        result = solve(tree, schedule, **options)
        return replace(Endgame.of(result.strategy), exploitability=result.exploitability)

    def decision(self, line: str = "") -> Decision:
        """What a player does after a line such as ``c r50 c / 3c`` or ``check, bet 50, call / 3c``.

        `subgame.spots.lines` says how lines are written.
        """
        return self.explorer.decision(line)

    def runouts(self, line: str = "", *, values: bool = True) -> Table:
        """One row per card that can come after a line: its chance, EV, equity, frequencies."""
        return runouts(self.explorer, line, values=values)

    def off_path(self, cards: str = "", **options: float) -> Table:
        """Decisions that are hardly ever reached, and what play there loses after a mistake.

        `cards` are those after the first street, if a later one is meant. `subgame.spots.off_path`
        says more.
        """
        return off_path(self.explorer, cards, **options)

    def hands(self, p: int) -> dict[str, dict[str, float]]:
        """Hand -> its weight in player `p`'s range, its EV and its equity."""
        side = self.tree.players[p]
        columns = np.stack([side.reach, self.hand_ev[p], self.hand_equity[p]], axis=1).tolist()
        return {
            hand: dict(zip(("weight", "ev", "equity"), row, strict=True))
            for hand, row in zip(side.slots, columns, strict=True)
            if row[0] > 0
        }

    def _repr_html_(self) -> str:
        """EV and equity, and the grids of both players' first decisions, for notebooks."""
        heads = ["", "EV", "equity, %"]
        rows: list[list[Value]] = [
            [SEATS[p].upper(), self.ev[p], 100 * self.equity[p]] for p in (0, 1)
        ]
        first = [self.decision()]
        if "c" in first[0].actions and not first[0].betting.child("c").is_over:
            first.append(self.decision("c"))
        title = f"{self.tree.game_name}: pot {self.pot:g}"
        return block(title, table(heads, rows), beside(*(decision.html() for decision in first)))


# Values --------------------------------------------------------------------------------------
def meetings(tree: RangeTree) -> Pair:
    """[h] the weight of the opponent's hands possible with each hand, as a share of all deals."""
    game, held, out = tree.holdem, tree.units[0].hands, list[Floats]()
    for p in (0, 1):
        reach = np.zeros(game.deck.num_hands)
        reach[held[1 - p]] = tree.players[1 - p].reach
        out.append(game.facing(game.board, reach)[held[p]] / tree.deals)
    return out[0], out[1]


def _follow(run: Engine, probs: Sequence[object]) -> Pair:
    """[h] both players' counterfactual values at the root under a strategy, in net chips."""
    first = run.values(0, probs[0], run.plan(1, probs[1])).roots[0]
    return first, run.values(1, probs[1], run.plan(0, probs[0])).roots[0]


def _evs(tree: RangeTree, follow: Pair) -> tuple[tuple[float, float], Pair]:
    """Both players' EV, and [h] that of each hand, nan where it is impossible."""
    met, start, totals, hands = meetings(tree), tree.holdem.start(), list[float](), list[Floats]()
    for p, values in enumerate(follow):
        paid, blank = float(start.staked[p] + start.bets[p]), np.full(len(values), np.nan)
        totals.append(float(values @ tree.players[p].reach) + paid)
        hands.append(np.divide(values, met[p], out=blank, where=met[p] > 0) + paid)
    return (totals[0], totals[1]), (hands[0], hands[1])


def equities(
    tree: RangeTree, threads: int | None = None, device: str | None = None
) -> tuple[tuple[float, float], Pair]:
    """Both players' equity, and [h] that of each hand; see the module.

    It is half of the EV in a game of the same cards with one chip from each player and no bets, as
    in `browse.Explorer.equities`, on any device.
    """
    game = tree.holdem
    # Other devices than the CPU need every hand for itself.
    merge: Merge = True if device in (None, "cpu") else "boards"
    quiet = calm_tree(game, game.board, merge)
    follow = _follow(engine(quiet, threads, device), Strategy.uniform(quiet).probs)
    evs, hand_evs = _evs(quiet, follow)
    every = np.full((2, game.deck.num_hands), np.nan)
    for p, ev in enumerate(hand_evs):
        every[p, quiet.units[0].hands[p]] = ev / 2
    first, second = (every[p, tree.units[0].hands[p]] for p in (0, 1))
    return (evs[0] / 2, evs[1] / 2), (first, second)


def memory_needed(
    tree: RangeTree, schedule: Schedule | str = "dcfr", storage: str = "float32"
) -> int:
    """A bound on the bytes that a solve needs: the tree, regrets and averages, the strategy.

    Without a saved state, the strategy takes the memory of regrets in float32 and needs none.
    """
    check_storage(storage)
    arrays = 3 if parse(schedule).predictive else 2
    width = BYTES[storage] * arrays + BYTES["float32"]  # a strategy is float32 in every storage
    pairs = pair_bytes(tree) if tree.holdem.folded else 0
    return tree.nbytes + pairs + int(width * (tree.stored(0) + tree.stored(1)))


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
        "ranking": game.deck.ranking,
        "dead": game.deck.name(game.dead),
        "folded": "; ".join(map(str, game.folded)),
        "rake": repr(rules.rake),
        "rake_cap": repr(rules.rake_cap),
    }


def save(
    strategy: Strategy,
    path: str | Path,
    *,
    values: Endgame | None = None,
    run: Run | None = None,
    half: bool = False,
) -> None:
    """Save a strategy with the parameters of its endgame, so that `load` needs only the file.

    With `values` the file is shown without being evaluated again. With `run` it also has the state
    of the solver, from which it is solved further; it is then three times as large. With `half`
    probabilities are stored in 16 bits. Boards and hands that are merged by suit symmetry are
    stored once.

    >>> import tempfile
    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,KQ", "QQ,AK"), "1x")
    >>> strategy = sg.solve(sg.compile(game), "dcfr", iterations=20).strategy
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(strategy, f"{folder}/spot.safetensors")
    ...     load(f"{folder}/spot.safetensors").tree.game_name == strategy.tree.game_name
    True
    """
    tree = range_tree(strategy.tree)
    kind = np.float16 if half else np.float32
    tensors: dict[str, NDArray[Any]] = {
        f"player{p}": np.ascontiguousarray(probs, dtype=kind)
        for p, probs in enumerate(strategy.probs)
    }
    made = {**strategy.notes, **about(tree)}
    if values is not None:
        more, state = values.at_root()
        tensors, made = tensors | more, made | state
    if run is not None:
        more, state = run.state()
        tensors, made["state"] = tensors | more, json.dumps(state)
    write_tensors(path, tensors, made | describe(tree, FORMAT))


def about(tree: RangeTree) -> dict[str, str]:
    """What a file says about the endgame that it was made for."""
    merged = {True: "yes", "boards": "boards", False: "no"}[merging(tree)]
    return {**notes(tree.holdem), "merged": merged, "locks": json.dumps(tree.lock_texts)}


def load(path: str | Path, *, memory_limit: str | float | None = "8GiB") -> Strategy:
    """Load a strategy that `save` wrote; its tree is compiled again.

    >>> import tempfile
    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,KQ", "QQ,AK"), "1x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/spot.safetensors"
    ...     save(sg.solve(sg.compile(game), "dcfr", iterations=20).strategy, path)
    ...     round(sum(Endgame.of(load(path)).ev))
    100
    """
    if read_tensors(path, SAVED)[0].get("format") == COMPACT:
        raise SubgameError(
            f"{path} has no last street, which is solved again where it is looked at. This needs a "
            "whole solution: solve the spot again, and save it whole."
        )
    mapped = Strategy.load(path, tree_of(path, memory_limit))
    if any(probs.dtype != np.float32 for probs in mapped.probs):
        return Strategy.from_weights(mapped.tree, mapped.probs, mapped.notes)
    first, second = (np.array(probs) for probs in mapped.probs)  # kernels need writable arrays
    return replace(mapped, probs=(first, second))


def tree_of(
    path: str | Path, memory_limit: str | float | None = "8GiB", *, check: bool = True
) -> RangeTree:
    """The tree of the endgame that a file was made for; `check` is as in `Endgame.open`."""
    said, tensors = read_tensors(path, SAVED)
    if check:
        check_finite(path, tensors, SAVED)
    game = _game(path, said)
    tree = range_tree(compile(game, memory_limit=memory_limit, merge=merged_in(said)))
    try:
        locks = [Lock.parse(text) for text in json.loads(said.get("locks", "[]"))]
    except DAMAGED:
        raise unreadable(path, "has damaged locks", SAVED) from None
    return locked(tree, locks) if locks else tree


def merged_in(said: Mapping[str, str]) -> Merge:
    """What is merged by suit symmetry in the tree of a file, by its metadata."""
    kinds: dict[str, Merge] = {"yes": True, "boards": "boards", "no": False}
    return kinds.get(said.get("merged", ""), "boards")


def stored_values(path: str | Path, tree: RangeTree) -> dict[str, Any] | None:
    """EV and equity as a file has them; None if it has none."""
    said, tensors = read_tensors(path, SAVED)
    sizes = [(len(side.slots),) for side in tree.players]
    try:
        totals = json.loads(said["values"])
        result: dict[str, Any] = {key: tuple(map(float, totals[key])) for key in ("ev", "equity")}
        for name in ("ev", "equity"):
            one, two = (np.array(tensors[f"{name}{p}"], dtype=np.float64) for p in (0, 1))
            if [one.shape, two.shape] != sizes:
                return None
            result[f"hand_{name}"] = one, two
        if "exploitability" in said:
            first, second, *both = map(float, json.loads(said["exploitability"]))
            won = (both[0], both[1]) if both else None
            result["exploitability"] = Exploitability((first, second), won)
    except DAMAGED:
        return None
    return result


def _game(path: str | Path, said: Mapping[str, str]) -> Holdem:
    try:
        deck = Deck(said["ranks"], said["suits"], said.get("ranking", DECK.ranking))
        return SpotForm(
            said["board"],
            said["pot"],
            said["stacks"],
            said["oop"],
            said["ip"],
            said["bets"],
            min_bet=said["big_blind"],
            deck=deck,
            last=said["last"],
            dead=said.get("dead", ""),
            folded=said.get("folded", ""),
            rake=float(said.get("rake", "0")),
            rake_cap=float(said.get("rake_cap", "inf")),
        ).game()
    except DAMAGED:
        raise unreadable(path, "does not say which endgame it was made for", SAVED) from None

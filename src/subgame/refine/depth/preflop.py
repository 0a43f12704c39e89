"""The betting before the flop to a depth limit, with values from a table of a stored blueprint.

Brown, Sandholm & Amos 2018, Sec. 6: before the flop there are few hands and few ways to the flop,
so that what each is worth is computed once and kept. `PreflopValues` is that table. At each way to
the flop, for each pair of classes of hands, it has what a player wins who goes on by the blueprint,
or by the blueprint biased towards folding, calling or raising, from one who goes on by the
blueprint. On sampled boards all betting is summed, exactly over all pairs of hands.

Hands that differ only by suit play alike before the flop, so all numbers are by class. Reach is
that of one hand of a class, and values are sums over the hands of a class.
"""

from __future__ import annotations

import itertools
import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.compare import FRESH
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.engines.arrays import Array, as_kind, as_numpy
from subgame.engines.contract import RangeEngine
from subgame.errors import SubgameError
from subgame.games.holdem.cards import DECK
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.refine.depth.blueprint_below import CHOICES, by_pair, in_mind, what_follows
from subgame.refine.depth.rollouts import SCHEDULE, StreetPlan, planned
from subgame.refine.depth.street import LeafTable, StreetEngine
from subgame.refine.live.ranges import ReachedRanges
from subgame.refine.nested.mappings import mapping
from subgame.solve.cfr import Cfr
from subgame.solve.decisions import class_of
from subgame.solve.pushfold import preflop
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits
from subgame.tree.files import read_tensors, write_tensors
from subgame.tree.ranges.betting_tree import grow

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
FORMAT = "subgame-preflop-values-1"
WANTED = "a table of values before the flop"
SUFFIX = ".preflop.safetensors"
"""Of the table's file, beside that of its blueprint."""
HEARD = mapping("pseudo-harmonic")
"""How much of a blueprint's leaf is in a real one between two of them."""
BOARDS = 1000
"""Boards of a table that is made when it is needed."""
WORK = 2e11
"""Products of numbers that may be computed then: about 10 seconds on one core."""
STEP = 20
"""Iterations between two looks at the clock."""
ITERATIONS = 1000


class Seen(NamedTuple):
    """A whole board: for all hands of the deck their ranks and, by street, their buckets."""

    board: tuple[int, ...]
    ranks: NDArray[Any]
    buckets: Sequence[NDArray[Any]]


class PreflopValues:
    """What each way to the flop is worth for each pair of classes of hands.

    >>> from subgame.blueprints.recipe import Recipe
    >>> from subgame.blueprints.training import Trainer
    >>> recipe = Recipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd")
    >>> table = PreflopValues(StoredBlueprint.of(Trainer(recipe)))
    >>> table.add(table.draw(3))
    >>> table.boards, [str(leaf) for leaf in table.leaves], table.values.shape
    (3, ['cc/'], (2, 4, 1, 36, 36))
    """

    def __init__(self, blueprint: StoredBlueprint, choices: int = CHOICES) -> None:
        self.blueprint, self.choices = blueprint, choices
        self.classes = blueprint.cards.of(()).astype(np.int64)
        """[hand] by class."""
        self.count = int(self.classes.max()) + 1
        self.leaves = [leaf for leaf in grow(blueprint.game)[0].leaves if not leaf.is_over]
        self.boards = 0
        self._below: list[_Followed] = []
        self._hands: tuple[Array, Array] | None = None
        n = self.count
        self._won = np.zeros((2, choices, len(self.leaves), n, n))
        self._ahead, self._met = np.zeros((n, n)), np.zeros((n, n))

    # What it says --------------------------------------------------------------------------------
    @cached_property
    def pairs(self) -> Floats:
        """[class, class] how many pairs of their hands share no card."""
        member = np.eye(self.count)[self.classes]
        found: Floats = member.T @ self.blueprint.game.deck.disjoint @ member
        return found

    @cached_property
    def values(self) -> Singles:
        """[opponent, k, leaf, their class, our class] what the opponent wins, in pots."""
        found: Singles = (self._won / np.maximum(self._met, 1) / self._pots).astype(np.float32)
        return found

    @property
    def _pots(self) -> Floats:
        """[leaf, 1, 1] chips."""
        return np.array([float(leaf.pot) for leaf in self.leaves])[:, None, None]

    @cached_property
    def equity(self) -> Floats:
        """[class, class] how often the first wins, less how often the other one does."""
        deck = self.blueprint.game.deck
        if deck == DECK and self.blueprint.cards.showdown == BOARD_CARDS[-1]:  # exact
            first = np.unique(self.classes, return_index=True)[1]
            order = class_of(deck)[first]
            found: Floats = 2 * preflop().equity[np.ix_(order, order)] - 1
            return found
        return self._ahead / np.maximum(self._met, 1)

    # Boards ------------------------------------------------------------------------------------
    def draw(self, count: int, seed: int = 0) -> list[Seen]:
        """Boards by chance; all of them, if there are not more than `count`."""
        deck, cards = self.blueprint.game.deck, self.blueprint.cards
        sizes = BOARD_CARDS[: len(self.blueprint.probabilities)]
        if math.comb(deck.size, 3) * math.perm(deck.size - 3, sizes[-1] - 3) <= count:
            boards = [
                (*flop, *rest)
                for flop in itertools.combinations(range(deck.size), 3)
                for rest in itertools.permutations(set(range(deck.size)) - {*flop}, sizes[-1] - 3)
            ]
        else:
            keys = np.random.default_rng(seed).random((count, deck.size))
            boards = [tuple(each) for each in keys.argsort(1)[:, : sizes[-1]].tolist()]
        return [
            Seen(board, rank_hands(board, deck), [cards.of(board[:n]) for n in sizes])
            for board in boards
        ]

    def add(self, seen: Iterable[Seen], put: Callable[[Any], Array] = np.asarray) -> None:
        """Add what some boards pay. `put` takes arrays to the device where they are multiplied."""
        for name in ("values", "equity"):
            vars(self).pop(name, None)
        self._below = self._below or [self._followed(leaf, put) for leaf in self.leaves]
        deck = self.blueprint.game.deck
        if self._hands is None:
            member = np.eye(self.count, dtype=np.float32)[self.classes]
            self._hands = put(member), put(deck.disjoint.astype(np.float32))
        member, disjoint = self._hands
        for one in seen:
            hands = put(np.flatnonzero(deck.compatible(one.board)))
            ranks, buckets = (put(one.ranks)[hands], [put(each)[hands] for each in one.buckets])
            wins = as_kind(ranks[:, None] > ranks, member)
            board = _Board(wins - wins.T, disjoint[hands][:, hands], member[hands], buckets)
            for l, below in enumerate(self._below):
                self._pay(l, below, board)
            self._ahead += board.by_class(board.ahead)
            self._met += board.by_class(0 * board.ahead + 1)
            self.boards += 1

    def _followed(self, leaf: Betting, put: Callable[[Any], Array]) -> _Followed:
        below = what_follows(self.blueprint, self.blueprint.decision(leaf))
        one, two = (
            [(s, put(factor)) for s, factor in below.factors(p, self.choices)] for p in (0, 1)
        )
        mine, yours = (put(below.chips(o).astype(np.float32)) for o in (0, 1))
        return _Followed((one, two), (mine, yours), below.folds)

    def _pay(self, l: int, below: _Followed, board: _Board) -> None:
        """Add what a leaf pays on a board."""
        both = [_reach(factors, board.buckets) for factors in below.factors]
        for o in (0, 1):
            theirs, ours = both[o][o:], both[1 - o][0] * below.chips[o]
            found = board.by_class(by_pair(theirs, ours, below.folds, board.ahead))
            self._won[o, o:, l] += found
            if o == 0:  # of the blueprint against itself one wins what the other loses
                self._won[1, 0, l] -= found[0].T

    # Files -------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the file that `load` reads."""
        head = {"format": FORMAT, "blueprint": digest(self.blueprint), "boards": str(self.boards)}
        arrays: dict[str, NDArray[Any]] = {"values": self.values.astype(np.float16)}
        write_tensors(path, {**arrays, "ahead": self.equity.astype(np.float32)}, head)

    @classmethod
    def load(cls, path: str | Path, blueprint: StoredBlueprint) -> PreflopValues:
        """The table in a file, which must be that of the blueprint."""
        head, arrays = read_tensors(path, WANTED)
        if head.get("format") != FORMAT or head.get("blueprint") != digest(blueprint):
            raise SubgameError(f"{path} is not {WANTED} of the blueprint {blueprint.recipe.name}.")
        values = np.asarray(arrays["values"], np.float64)
        made = cls(blueprint, values.shape[1])
        made._won[:], made._ahead[:], made._met[:] = values * made._pots, arrays["ahead"], 1
        made.boards = int(head["boards"])
        return made

    @classmethod
    def make(
        cls,
        blueprint: StoredBlueprint,
        boards: int,
        *,
        seed: int = 0,
        device: str = "cpu",
        progress: Callable[[str, float], None] | None = None,
    ) -> PreflopValues:
        """A table of some boards; `device` is ``"cpu"``, ``"torch"`` or ``"cuda"``.

        A board of the blueprint that comes with the package takes 16 seconds on one core, and is
        for a GPU.
        """
        made = cls(blueprint)
        put: Callable[[Any], Array] = np.asarray
        seen: Iterable[Seen] = made.draw(boards, seed) if device == "cpu" else ()
        if device != "cpu":
            recipe = replace(blueprint.recipe, seed=seed)
            trainer = Trainer(recipe, device=device, cards=blueprint.cards, progress=progress)
            put, seen = trainer._put, itertools.islice(_dealt(trainer), boards)
        for one in seen:
            made.add([one], put)
            if progress is not None:
                progress("Values before the flop", made.boards / boards)
        return made

    @staticmethod
    def beside(blueprint: StoredBlueprint) -> Path | None:
        """The file of the table beside that of the blueprint, if there is one."""
        path = None if blueprint.path is None else blueprint.path.with_suffix(SUFFIX)
        return path if path is not None and path.exists() else None

    @classmethod
    def of(cls, blueprint: StoredBlueprint) -> PreflopValues:
        """The table beside the blueprint's file, or one of some boards where that is soon made."""
        path = cls.beside(blueprint)
        if path is not None:
            return cls.load(path, blueprint)
        made, hands = cls(blueprint), blueprint.game.deck.num_hands
        ends = sum(
            len(what_follows(blueprint, blueprint.decision(leaf)).stake) for leaf in made.leaves
        )
        if BOARDS * ends * float(hands) ** 2 * 2 * made.choices > WORK:
            raise SubgameError(
                f"A depth limit before the flop needs {WANTED} beside the blueprint "
                f"{blueprint.recipe.name}; subgame blueprint --preflop makes it."
            )
        return cls.make(blueprint, BOARDS)


def _dealt(trainer: Trainer) -> Iterator[Seen]:
    """Boards that no training has seen, on the trainer's device."""
    for k in itertools.count():
        boards = trainer.draw(FRESH + k)
        ranks, buckets = trainer.look_up(boards)
        for b, board in enumerate(boards.tolist()):
            yield Seen(tuple(board), ranks[b], [street[b].long() for street in buckets])


class _Followed(NamedTuple):
    """What follows a leaf, on the device. Axis: z = terminal."""

    factors: tuple[list[tuple[int, Array]], ...]  # by player: street, [k, bucket, z] reach
    chips: tuple[Array, ...]  # [z] what each player wins as the opponent
    folds: int  # the first terminals


class _Board(NamedTuple):
    """A board on the device. Axis: h, j = the hands that it leaves."""

    ahead: Array  # [h, j] 1 where h wins, -1 where j wins
    free: Array  # [h, j] 1 where they share no card
    member: Array  # [h, class]
    buckets: list[Array]  # by street [h]

    def by_class(self, table: Array) -> Floats:
        """[..., class, class] the sum of a table [..., h, j] over pairs that share no card."""
        return as_numpy(self.member.T @ (table * self.free) @ self.member)


def _reach(factors: list[tuple[int, Array]], buckets: Sequence[Array]) -> Array:
    """[k, hand, z] a player's reach of terminals, from its factors by street."""
    out: Array = 1
    for s, factor in factors:
        out = factor[:, buckets[s]] * out
    return out


def digest(blueprint: StoredBlueprint) -> str:
    """Which blueprint it is, by its strategy before the flop and its recipe."""
    first = np.ascontiguousarray(blueprint.probabilities[0]).tobytes()
    return f"{zlib.crc32(first + repr(blueprint.recipe).encode()):08x}"


# Solving -----------------------------------------------------------------------------------------
class _Slots(NamedTuple):
    """The root infosets of a player."""

    slots: range


class _Tree(NamedTuple):
    """Of a street whose hands are classes: what `StreetEngine` asks of a tree."""

    players: tuple[_Slots, _Slots]
    deals: float = 1.0


class _Classes:
    """What `StreetEngine` asks of an engine, for classes of hands."""

    def __init__(self, pairs: Floats) -> None:
        self.pairs, side = pairs, _Slots(range(len(pairs)))
        self.tree = _Tree((side, side))

    def array(self, values: Floats) -> Floats:
        return np.array(values, np.float64)

    def rates(self, discounts: Floats, begin: int) -> Floats:
        return discounts

    def opposing(self, p: int, reach: Floats, street: int) -> Floats:
        """[row, board, class] the pairs of hands that meet, from the opponent's reach."""
        found: Floats = reach @ self.pairs
        return found


def solve_before_flop(
    table: PreflopValues,
    reached: ReachedRanges,
    mind: Betting,
    player: int,
    limits: Limits,
    choices: int = CHOICES,
) -> StreetPlan:
    """Solve the rest of the betting before the flop for `player`, with both players' ranges.

    See `subgame.refine.depth.rollouts.solve_street`. A leaf between two of the blueprint's has
    the mean of their values, in pots (2018, Sec. 6.1).
    """
    until = None if limits.seconds is None else time.perf_counter() + limits.seconds
    street = grow(reached.game, [reached.betting])[0]
    values = np.stack(
        [_leaf(table, reached.betting, leaf, mind, 1 - player) for leaf in street.leaves], axis=1
    )[:choices]
    on = StreetEngine(
        cast(RangeEngine, _Classes(table.pairs)),
        street,
        LeafTable((values * table.pairs).astype(np.float32), 1 - player),
    )
    first = np.unique(table.classes, return_index=True)[1]
    one, two = (reach[None, first] for reach in reached.reach)
    schedule, most = parse(SCHEDULE), limits.iterations or ITERATIONS
    cfr, done = Cfr(on, reach=(one, two)), 0
    while done < most and (done == 0 or until is None or time.perf_counter() < until):
        count = min(STEP, most - done)
        cfr.advance(schedule.discounts(done + 1, count + 1), done + 1)
        done += count
    played = [on.behaviour(p, cfr.pair[p].average) for p in (0, 1)]
    rows = planned(street, on, played, lambda p, each: np.ascontiguousarray(each[table.classes]))
    return StreetPlan(rows, table.boards, done)


def _leaf(table: PreflopValues, real: Betting, leaf: Betting, mind: Betting, o: int) -> Floats:
    """[k, their class, our class] what the opponent wins at a leaf, in chips."""
    known = {} if leaf.is_over else in_mind(table.blueprint, real, leaf, mind, HEARD)
    shares = {str(each): share for each, share in known.items()}
    total = sum(shares.values())
    if total <= 0:  # all-in, or nothing that the blueprint knows: both check
        return np.repeat(float(leaf.at_stake) * table.equity[None], table.choices, axis=0)
    most = float(min(leaf.rules.stacks))
    weights = [shares.get(str(there), 0.0) / total for there in table.leaves]
    found: Floats = np.einsum("l,klij->kij", weights, table.values[o], optimize=True)
    return np.clip(found * float(leaf.pot), -most, most)

"""`Strategy`: probabilities for every action of a `PublicTree`; how it is saved and shown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subgame import games
from subgame.errors import SubgameError, UnknownNameError, did_you_mean
from subgame.show.html import Code, Shaded, Value, data_frame, table
from subgame.tree.compile import compile
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.public_tree import OnDemand, PublicTree, Side
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from pandas import DataFrame

Numbers = NDArray[Any]

FORMAT = "subgame-strategy-2"
FIRST_FORMAT = "subgame-strategy-1"
"""Files of this format hold weights instead of probabilities for hold'em trees."""
SAVED = "a strategy saved by solve --out"
SLACK = 1e-5
"""Probabilities in a table may miss the sum 1 by this much (thirds of six digits); they are then
normalised."""
SHOWN = 60
"""Infosets in the table for notebooks."""
HUGE = 1e300
"""Sums of weights above this may overflow float64."""
ROUNDING = {"float16": 5e-3, "float32": 1e-4, "float64": 1e-6}
"""The largest difference from 1 that sums of probabilities in an array may have."""


@dataclass(frozen=True, eq=False)
class Strategy(Mapping[str, dict[str, float]]):
    """A behaviour strategy for both players. ``probs[p][q]``: probability of sequence q.

    It is a mapping from infosets to the probabilities of their actions. Where both players have an
    infoset of the same name, the keys are ``player 0: name`` and ``player 1: name``.

    >>> import subgame as sg
    >>> uniform = sg.Strategy.uniform(sg.compile(sg.games.load("kuhn")))
    >>> uniform["K"], "Kpb" in uniform, len(uniform)
    ({'p': 0.5, 'b': 0.5}, True, 12)

    Probabilities are float64 for a sequence tree and float32 for a hold'em tree. They are checked
    when a strategy is made, and must not be changed afterwards.
    """

    tree: PublicTree
    probs: tuple[Numbers, Numbers]
    notes: Mapping[str, str] = field(default_factory=dict)
    """Where it comes from: schedule, iterations, seed."""
    check: InitVar[bool] = True
    """Whether the probabilities are checked, for which all of them are read."""

    def __post_init__(self, check: bool) -> None:
        if not isinstance(self.probs, tuple | list) or len(self.probs) != 2:
            players = len(self.probs) if isinstance(self.probs, tuple | list) else self.probs
            raise SubgameError(
                f"A strategy must have the probabilities of two players, not of {players}."
            )
        for p, values in enumerate(self.probs):
            _check_shape(self.tree, p, values)
            if check and (fault := _fault(self.tree, p, values)):
                raise SubgameError(f"The strategy {fault}.")

    # Constructors ----------------------------------------------------------------------------
    @classmethod
    def uniform(cls, tree: PublicTree) -> Strategy:
        """A strategy that takes every action with the same probability."""
        return cls.from_weights(
            tree, [np.zeros(side.num_sequences, tree.dtype) for side in tree.players]
        )

    @classmethod
    def random(cls, tree: PublicTree, seed: int = 0) -> Strategy:
        """A random strategy: at each infoset drawn uniformly from the simplex."""
        rng = np.random.default_rng(seed)
        return cls.from_weights(
            tree, [rng.exponential(size=side.num_sequences) for side in tree.players]
        )

    @classmethod
    def published(cls, tree: PublicTree, name: str) -> Strategy:
        """A strategy that the literature gives for a game, such as ``"paper"`` for Coin Toss."""
        histories = tree.histories
        known = {} if histories is None else histories.game.blueprints()
        if not known:
            raise UnknownNameError(
                f"The game {tree.game_name} has no published strategies; give a strategy instead."
            )
        if name not in known:
            raise did_you_mean(f"blueprint of {tree.game_name}", name, known)
        return cls.from_table(tree, known[name])

    @classmethod
    def from_weights(
        cls, tree: PublicTree, weights: Sequence[Numbers], notes: Mapping[str, str] | None = None
    ) -> Strategy:
        """A strategy in proportion to weights at each infoset; uniform where they sum to zero."""
        if len(weights) != 2:
            raise SubgameError(f"The weights must be those of two players, not of {len(weights)}.")
        probs = []
        for p, side in enumerate(tree.players):
            numbers = np.asarray(weights[p])
            if numbers.shape != (side.num_sequences,):
                raise SubgameError(
                    f"Player {p} has {side.num_sequences:,} sequences in this tree; weights of "
                    f"shape {numbers.shape} were given."
                )
            if numbers.dtype.kind not in "fiub":
                raise SubgameError(
                    f"The weights of player {p} must be real numbers, not {numbers.dtype}."
                )
            if numbers.dtype not in (np.float32, np.float64):
                numbers = numbers.astype(np.float64)
            low, high = (numbers.min(), numbers.max()) if numbers.size else (0, 0)
            if not (low >= 0 and np.isfinite(high)):
                raise SubgameError(
                    f"The weights of player {p} must be finite and at least 0; "
                    f"they are between {low} and {high}."
                )
            if float(high) > HUGE:
                numbers = numbers / float(high)
            probs.append(tree.normalise(p, numbers))
        return cls(tree, (probs[0], probs[1]), dict(notes or {}))

    @classmethod
    def from_table(cls, tree: PublicTree, table: Mapping[str, Mapping[str, float]]) -> Strategy:
        """A strategy from a table infoset -> action -> probability.

        It plays uniformly at infosets that the table leaves out.
        """
        probs = cls.uniform(tree).probs
        rows: dict[tuple[int, int], Mapping[str, float]] = {}
        for name, row in table.items():
            for p, i in _find(tree, name):
                at = tree.players[p].sequences(i)
                if rows.setdefault((p, int(at[0])), row) != row:
                    raise SubgameError(
                        f"The infoset '{name}' and another one with other probabilities are the "
                        "same infoset in this tree, whose hands are merged by suit symmetry; "
                        "compile the game with merge=False."
                    )
                probs[p][at] = _numbers(tree.players[p], i, row)
        return cls(tree, probs)

    # Reading ---------------------------------------------------------------------------------
    def __getitem__(self, infoset: str) -> dict[str, float]:
        """The probabilities at an infoset: ``strategy["Kpb"]["b"]``."""
        places = _find(self.tree, infoset)
        if len(places) > 1:
            raise UnknownNameError(
                f"Both players have an infoset '{infoset}'; ask for 'player 0: {infoset}' or "
                f"'player 1: {infoset}'."
            )
        return self.row(*places[0])

    def __iter__(self) -> Iterator[str]:
        sides = self.tree.players
        for p, name, _ in self._order():
            yield f"player {p}: {name}" if name in sides[1 - p].index else name

    def __len__(self) -> int:
        return self.tree.num_infosets

    __eq__ = object.__eq__  # strategies are compared by their arrays, not as mappings
    __hash__ = object.__hash__

    def _order(self) -> Iterator[tuple[int, str, int]]:
        """(player, infoset, its number), in the game's own order."""
        for p, player in enumerate(self.tree.players):
            for i in np.argsort(player.origin, kind="stable").tolist():
                yield p, player.names[i], i

    def row(self, p: int, i: int) -> dict[str, float]:
        """The probabilities of player `p` at infoset number `i`."""
        player = self.tree.players[p]
        values = self.probs[p][player.sequences(i)]
        return dict(zip(player.actions[i], values.tolist(), strict=True))

    def rows(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset, probabilities), in the game's own order."""
        for p, name, i in self._order():
            yield p, name, self.row(p, i)

    def table(self) -> dict[str, dict[str, float]]:
        """Infoset -> action -> probability, for both players: the mapping as a dictionary."""
        return dict(zip(self, (row for _, _, row in self.rows()), strict=True))

    def __repr__(self) -> str:
        return f"<Strategy over {self.tree.game_name}: {self.tree.num_infosets:,} infosets>"

    def to_pandas(self) -> DataFrame:
        """A pandas data frame: player, infoset, action and probability, a line per action."""
        names = ["player", "infoset", "action", "probability"]
        return data_frame(
            (
                dict(zip(names, (p, infoset, action, prob), strict=True))
                for p, infoset, row in self.rows()
                for action, prob in row.items()
            ),
            names,
        )

    def _repr_html_(self) -> str:
        """A table for notebooks: one line per infoset; darker cells have a higher probability."""
        rows: list[list[Value]] = []
        for p, name, row in islice(self.rows(), SHOWN):
            mixed = [Shaded(f"{action} {prob:.3f}", prob) for action, prob in row.items()]
            rows.append([str(p), Code(name), *mixed])
        more = max(self.tree.num_infosets - SHOWN, 0)
        title = repr(self).strip("<>")
        return table(["player", "infoset", "actions"], rows, caption=title, more=more)

    # Files -----------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write a safetensors file with the game, the tree's hash and the notes."""
        tensors = {f"player{p}": np.ascontiguousarray(probs) for p, probs in enumerate(self.probs)}
        write_tensors(path, tensors, dict(self.notes) | describe(self.tree, FORMAT))

    @classmethod
    def load(
        cls, path: str | Path, tree: PublicTree | None = None, *, check: bool = True
    ) -> Strategy:
        """Memory-map a saved strategy; raises an error if it was made for another tree.

        Without `check` its probabilities are not read until they are used.

        Without a tree the game that the file names is loaded and compiled. That works for games
        that `subgame.games.load` knows, from the folder in which the file of a game was named.
        """
        header, mapped = read_tensors(path, SAVED)
        tree = _named_tree(path, header) if tree is None else tree
        first = header.get("format") == FIRST_FORMAT
        check_made_for(path, header, tree, FIRST_FORMAT if first else FORMAT)
        probs = [mapped.get(f"player{p}", np.zeros(0, tree.dtype)) for p in (0, 1)]
        notes = {k: v for k, v in header.items() if k not in describe(tree, FORMAT)}
        try:
            if first and isinstance(tree, RangeTree):
                return cls.from_weights(tree, probs, notes)
            return cls(tree, (probs[0], probs[1]), notes, check)
        except SubgameError as error:
            raise SubgameError(f"{path} is damaged. {error}") from None


def _named_tree(path: str | Path, header: Mapping[str, str]) -> PublicTree:
    """The tree of the game that a file names."""
    try:
        return compile(games.load(header.get("game", "")))
    except SubgameError as error:
        raise SubgameError(
            f"The tree of {path} cannot be made from the name of its game; pass the tree. "
            f"{error.sentence}"
        ) from None


def _find(tree: PublicTree, name: str) -> list[tuple[int, int]]:
    """(player, infoset number) of a name; two entries if both players have it."""
    seats = list(enumerate(tree.players))
    if not isinstance(name, str):
        raise UnknownNameError(f"The name of an infoset must be a string, not {name!r}.")
    shape = re.fullmatch(r"player ([01]): (.*)", name, re.DOTALL)
    if shape and not any(name in side.index for _, side in seats):
        seats, name = [seats[int(shape[1])]], shape[2]
    result = [(p, side.index[name]) for p, side in seats if name in side.index]
    if not result:
        one, two = (side.names for side in tree.players)
        count = len(one)
        every = OnDemand(count + len(two), lambda i: one[i] if i < count else two[i - count])
        raise did_you_mean("infoset", name, every)
    return result


def _numbers(side: Side, i: int, row: Mapping[str, float]) -> NDArray[np.float64]:
    """The probabilities at infoset `i` from a line of a table, normalised."""
    name, actions = side.names[i], side.actions[i]
    for action in row:
        if action not in actions:
            raise did_you_mean(f"action at infoset '{name}'", str(action), actions)
    try:
        values = np.array([float(row.get(action, 0.0)) for action in actions])
    except (TypeError, ValueError):
        values = np.full(len(actions), np.nan)
    if not (np.all(values >= 0) and abs(values.sum() - 1) <= SLACK):
        raise SubgameError(
            f"The probabilities at infoset '{name}' are {dict(row)}; "
            "they must be at least 0 and sum to 1."
        )
    out: NDArray[np.float64] = values / values.sum()
    return out


def _check_shape(tree: PublicTree, p: int, values: Numbers) -> None:
    """Raise an error unless there is one number per sequence, of the tree's type."""
    count = tree.players[p].num_sequences
    if not isinstance(values, np.ndarray) or values.shape != (count,):
        raise SubgameError(
            f"The strategy must have {count:,} probabilities of player {p}, one per sequence; "
            f"it has an array of shape {np.shape(values)}."
        )
    short = tree.dtype == np.float32 and values.dtype == np.float16  # allowed
    if not short and values.dtype != tree.dtype:
        raise SubgameError(
            f"The probabilities of player {p} must be {tree.dtype} in this tree, "
            f"not {values.dtype}."
        )
    if not values.flags.c_contiguous:  # kernels read memory from the first number on
        raise SubgameError(
            f"The probabilities of player {p} must lie in memory one after another; give "
            "numpy.ascontiguousarray(...) of them."
        )


def _fault(tree: PublicTree, p: int, values: Numbers) -> str:
    """What is wrong with player `p`'s probabilities; "" if they are valid."""
    if not len(values):
        return ""
    low, high, fault = values.min(), values.max(), ""
    if not (np.isfinite(low) and np.isfinite(high)):
        fault = "are not finite"
    elif low < 0:
        fault = "are below 0"
    elif high > 1 + SLACK:
        fault = "are above 1"
    elif tree.sums_error(p, values) > ROUNDING[values.dtype.name]:
        fault = "do not sum to 1"
    return f"has probabilities of player {p} that {fault}" if fault else ""

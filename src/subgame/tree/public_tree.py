"""`PublicTree`: a game, or a part of it, compiled to arrays.

There are two kinds. A `SequenceTree` is the sequence form, for every game; a `RangeTree` is
hold'em, with boards and hands as array axes. This is what they share.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, human_bytes
from subgame.frozen import Frozen
from subgame.show.html import Value, beside, block, table

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.tree.sequence.histories import Histories

T = TypeVar("T")
Reals = NDArray[np.floating]
"""Probabilities, weights or values, in float32 or float64."""


class Side(Protocol):
    """One player's part of a tree. Axis letters: i infoset, q sequence, s root infoset."""

    @property
    def slots(self) -> Sequence[str]:
        """[s] names of the root infosets."""

    @property
    def reach(self) -> NDArray[np.float64]:
        """[s] the player's reach at the root: ones, or a range."""

    @property
    def names(self) -> Sequence[str]:
        """[i] names of the infosets."""

    @property
    def actions(self) -> Sequence[tuple[str, ...]]:
        """[i] names of the actions at each infoset."""

    @property
    def origin(self) -> NDArray[np.int32]:
        """[i] index in the game's table of infosets; -1 for an infoset of a gadget."""

    @property
    def num_sequences(self) -> int:
        """How many numbers a strategy of the player has."""

    @property
    def index(self) -> Mapping[str, int]:
        """From an infoset's name to its number."""

    def sequences(self, i: int) -> NDArray[np.int64]:
        """The sequences of infoset `i`, one per action."""

    def lookup(self, name: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The actions and sequences of the infoset of that name, or a KeyError.

        It finds infosets that are merged with another one by suit symmetry, too.
        """

    def decisions(self) -> Iterator[tuple[NDArray[np.int64], tuple[str, ...]]]:
        """Infosets with the same actions: their sequences [infoset, action], and the actions."""


class OnDemand(Sequence[T]):
    """A sequence whose items are computed on demand."""

    def __init__(self, length: int, item: Callable[[int], T]) -> None:
        self.length, self.item = length, item

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> list[T]: ...
    def __getitem__(self, i: int | slice) -> T | list[T]:
        if isinstance(i, slice):
            return [self.item(k) for k in range(*i.indices(self.length))]
        if not -self.length <= i < self.length:
            raise IndexError(i)
        return self.item(int(i) % self.length)


@dataclass(frozen=True, eq=False, repr=False)
class PublicTree(Frozen, ABC):
    """A frozen struct of arrays; made by `subgame.compile`, read by every solver.

    >>> import subgame as sg
    >>> sg.compile(sg.games.load("kuhn")).num_infosets
    12
    """

    dtype: ClassVar[np.dtype[Any]]
    """The type of a strategy's numbers."""
    usual_schedule: ClassVar[str]
    """The CFR variant that solves subgames of such trees fastest."""

    of_game: Game | str
    """The game, or its name."""
    players: tuple[Side, Side]
    histories: Histories | None = field(default=None, kw_only=True)
    """The histories it was compiled from; None for hold'em, for a part and for a gadget game."""
    num_roots: int = field(default=1, kw_only=True)
    """Roots: one for a whole game, one per subgame when several subgames are solved together."""
    engines: dict[str, Any] = field(default_factory=dict, kw_only=True)
    """Engines bound to this tree, by device. They are freed together with the tree."""

    @cached_property
    def game_name(self) -> str:
        """The game with its parameters, as text: ``leduc``, ``liars-dice(dice=1, faces=6)``.

        In hold'em it contains both ranges, and is made when somebody asks for it.
        """
        return str(self.of_game)

    @property
    def precision(self) -> float:
        """Differences below this share of the payoffs are rounding; it follows `dtype`."""
        return 1e-6 if self.dtype == np.float32 else 1e-12

    @property
    def num_infosets(self) -> int:
        """Infosets of both players."""
        return sum(len(player.names) for player in self.players)

    @property
    def not_plain(self) -> str:
        """Why theorems for zero-sum games do not hold for the tree, such as "has a rake"; or ""."""
        return ""

    @property
    def has_locks(self) -> bool:
        """Whether some hands play fixed frequencies, see `subgame.spots.locks`."""
        return False

    @property
    def zero_sum(self) -> bool:
        """Whether what one player wins is what the other loses."""
        return True

    @property
    @abstractmethod
    def num_nodes(self) -> int:
        """Number of public states."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of the arrays that the kernels read."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """A hash of structure, names and payoffs, which a stored strategy must match."""

    @abstractmethod
    def normalise(self, p: int, weights: Reals) -> NDArray[Any]:
        """[q] player `p`'s probabilities in proportion to weights; uniform where they sum to 0."""

    @abstractmethod
    def sums_error(self, p: int, probs: Reals) -> float:
        """The largest difference from 1 of the sum of probabilities at an infoset of player `p`."""

    def action_class(self, action: str) -> str:
        """The kind of an action, for strategies biased towards a kind; by default the action."""
        return action

    def drawn(self) -> str:
        """The tree as SVG for notebooks; "" for a kind of tree that is not drawn."""
        return ""

    def _repr_html_(self) -> str:
        """The size of the tree, and a drawing of its public states, for notebooks."""
        one, two = (len(side.names) for side in self.players)
        rows: list[list[Value]] = [
            ["public states", self.num_nodes],
            ["infosets of player 0", one],
            ["infosets of player 1", two],
            ["memory", human_bytes(self.nbytes)],
        ]
        return block(
            f"Public tree of {self.game_name}", beside(table(["", ""], rows), self.drawn())
        )

    def __repr__(self) -> str:
        infosets = " + ".join(f"{len(player.names):,}" for player in self.players)
        return (
            f"<PublicTree of {self.game_name}: {self.num_nodes:,} public states, {infosets} "
            f"infosets, {human_bytes(self.nbytes)}>"
        )

    def __getstate__(self) -> dict[str, object]:
        """The fields without engines, which are bound to this process and are created again."""
        return super().__getstate__() | {"engines": {}}


Index = NDArray[Any]
Numbers = NDArray[Any]
"""One number for each sequence of a player, of any precision."""


def both(of: Callable[[int], T]) -> tuple[T, T]:
    """What a function gives for player 0 and for player 1."""
    return of(0), of(1)


def places(part: Side, whole: Side) -> Index:
    """[q] the sequence of `whole` for each sequence of `part`, by names of infosets and actions.

    It is -1 for root infosets and for infosets that `whole` does not have. Raises an error if an
    infoset of `part` has an action that `whole` does not have there.
    """
    out = np.full(part.num_sequences, -1, dtype=np.int64)
    for i, name in enumerate(part.names):
        j = whole.index.get(name)
        if j is None:
            continue
        if part.actions[i] == whole.actions[j]:
            out[part.sequences(i)] = whole.sequences(j)
            continue
        at = dict(zip(whole.actions[j], whole.sequences(j).tolist(), strict=True))
        missing = [action for action in part.actions[i] if action not in at]
        if missing:
            raise SubgameError(
                f"Infoset '{name}' has no action '{missing[0]}' in the whole tree; it has "
                f"{', '.join(whole.actions[j])}."
            )
        out[part.sequences(i)] = [at[action] for action in part.actions[i]]
    return out


def restrict(sigma: Numbers, where: Index | None, elsewhere: float = 1.0) -> Numbers:
    """[q] the part's strategy: that of the whole tree at `where`; `elsewhere` where that is -1.

    Without `where` the part is the whole tree, as in `embed`.
    """
    if where is None:
        return sigma
    out: Numbers = np.where(where >= 0, sigma[where], np.asarray(elsewhere, sigma.dtype))
    return out


def embed(sigma: Numbers, where: Index | None, into: Numbers) -> None:
    """Write a part's strategy into one of the whole tree; `where` has the part's sequences."""
    if where is None:
        into[:] = sigma
    else:
        into[where[where >= 0]] = sigma[where >= 0]

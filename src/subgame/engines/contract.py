"""The engine contract: the few operations that every solver is made of, the same for all kernels.

There are two kinds of tree and two libraries of kernels, so four engines. Everything above this
contract (the CFR loop, gadgets, evaluation, nested solving, depth limits, CFR-D) is written once.

Axes: ``[root, infoset]``. A *root* is where a tree begins: one for a whole game, one per subgame
when many subgames are solved together. Its *root infosets* are what a player can know there: the
one empty sequence of a whole game, the augmented infosets at the top of a subgame, the hands of a
hold'em tree. A root with fewer infosets than the widest is padded; nothing is ever reached there.

Values are counterfactual and in units of the whole game (Burch et al. 2014): weighted by the reach
of the opponent and of chance, chance from the very start of the game.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.tree.public_tree import PublicTree

Floats = NDArray[np.float64]
Array = Any
"""An array of the engine's own library: NumPy's on the CPU, PyTorch's on its device otherwise."""
Numbers = Any
"""One number per sequence of a player, as the engine stores them: an array, 16-bit numbers with
scales, or blocks on a device. ``np.asarray`` reads them, ``numbers[:] = values`` writes them."""


class Mode(IntEnum):
    """What the traversing player does in a sweep."""

    LEARN = 0
    """CFR: plays by regret matching; regrets and average change."""
    EVALUATE = 1
    """Plays a given strategy."""
    BEST = 2
    """Takes the best action everywhere (counterfactual best response)."""
    RESPOND = 3
    """Takes the best action, and plays it from now on (CFR-BR, Johanson et al. 2012)."""


class Regrets(NamedTuple):
    """What CFR keeps of one player. Axis of each: sequence, as the engine stores them."""

    regret: Numbers  # discounted cumulative counterfactual regret
    average: Numbers | None  # discounted cumulative reach; None where no average is kept
    instant: Numbers | None  # regret of the last iteration, for predictive schedules; else None


class Response(NamedTuple):
    """Values of one player against a fixed opponent, by a given strategy or at best."""

    roots: Floats  # [root, infoset] value of each root infoset, unnormalised (Burch et al. 2014)
    infosets: Floats | None = None  # [i] the same at every infoset; None on hold'em trees
    sequences: Floats | None = None  # [q] and for every action there
    choice: NDArray[np.int32] | None = None  # [i] the action of a best response


class Engine(Protocol):
    """Kernels bound to one tree on one device."""

    @property
    def tree(self) -> PublicTree:
        """What it is bound to."""

    @property
    def fused(self) -> bool:
        """Whether `iterate` runs many iterations in one call; otherwise the loop above does."""

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`, on the engine's device."""

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of what is played now (regret, instant), for simultaneous updates."""

    def roots(self, p: int) -> Array:
        """[root, infoset] player `p`'s reach at the roots as the tree has it, a copy."""

    def array(self, values: Floats) -> Array:
        """[root, infoset] NumPy numbers on the engine's device, in the precision of `sweep`."""

    def rates(self, discounts: Floats, begin: int) -> Array:
        """[t, 4] what `sweep` takes as rates: (positive, negative, kept, iterations before).

        `discounts` ``[t, 3]`` are the schedule's, the first of them for iteration `begin`, which
        counts from 1. The last column is what 16-bit numbers are rounded by.
        """

    def sweep(
        self,
        p: int,
        mode: Mode,
        mine: Regrets,
        theirs: Regrets,
        rates: Array,
        ahead: Array,
        reach: tuple[Array, Array],
    ) -> Array:
        """One traversal for player `p`: the opponent's reach down, terminals, values up.

        Both players play by regret matching on what they are given (a strategy's probabilities
        match to themselves). `rates` ``[4]`` are the traverser's discounts on this iteration,
        `ahead` those by which the opponent's regrets are carried on where they are predicted.
        `reach` is ``(player 0's, player 1's)``, ``[root, infoset]``. In mode LEARN regrets are
        discounted and increased, and the traverser's reach is added to the discounted average.

        Returns [root, infoset] the traverser's values, on the engine's device.
        """

    def iterate(
        self,
        pair: tuple[Regrets, Regrets],
        discounts: Floats,
        reach: tuple[Array, Array],
        *,
        alternating: bool,
        responder: int,
        begin: int,
    ) -> None:
        """``len(discounts) - 1`` iterations at once, where `fused`; the same as `solve.cfr.Cfr`."""

    def repeat(self, turn: Callable[[Array], None], rates: Array, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last, in order.

        An engine may record the first turn of a `key` and replay it (CUDA graphs): a turn reads and
        writes the same arrays every time.
        """

    def current(self, p: int, regrets: Regrets, rates: Array) -> Numbers:
        """The strategy that regret matching plays now, as probabilities; `rates` ``[4]``."""

    def behaviour(self, p: int, average: Numbers | None) -> Numbers:
        """The behaviour strategy of an average (or of any realisation plan), as probabilities."""

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Floats | None = None) -> Any:
        """A strategy with its reach [root, infoset] at the roots, by default the tree's own."""

    def values(self, p: int, sigma: Numbers, opponent_plan: Any) -> Response:
        """Player `p`'s values when playing `sigma`, in float64."""

    def respond(self, p: int, opponent_plan: Any) -> Response:
        """Player `p`'s counterfactual best response, in float64."""

    def sample(
        self,
        pair: tuple[Regrets, Regrets],
        discounts: Floats,
        kind: str,
        random: NDArray[np.uint64],
    ) -> None:
        """``len(discounts) - 1`` iterations of MCCFR; `random` is the generator's state."""


class SequenceEngine(Engine, Protocol):
    """What engines of sequence trees offer beyond the contract: values from outside the tree."""

    def sweep(
        self,
        p: int,
        mode: Mode,
        mine: Regrets,
        theirs: Regrets,
        rates: Array,
        ahead: Array,
        reach: tuple[Array, Array],
        paid: Floats | None = None,
    ) -> Array:
        """As `Engine.sweep`; `paid` [q] is added to what the traverser's sequences are paid."""


class RangeEngine(Engine, Protocol):
    """What engines of hold'em trees offer beyond the contract: the inside of a street.

    Roots are ways into the first street on each of its boards: ``[way * boards + board, hand]``.
    Inside, arrays are ``[row, board, hand]`` of one street: a row per way into it, then one per own
    action (see `subgame.tree.ranges.betting_tree`). Hands are in the order of each board. Numbers
    are float64, and may be given as NumPy's.
    """

    def stage(self, streets: list[Any]) -> RangeEngine:
        """The same boards with other betting: all boards of the last ``len(streets)`` streets.

        The first of them becomes the first street of a tree of its own, whose roots are the ways
        into `streets`, on all its boards.
        """

    def row_reach(self, p: int, sigma: Numbers, reach: Array) -> list[Array]:
        """Per street [row, board, hand]: player `p`'s reach, from [root, infoset] at the roots."""

    def row_values(
        self, p: int, opponent_sigma: Numbers, reach: Array, sigma: Numbers | None = None
    ) -> list[Array]:
        """Per street [row, board, hand]: player `p`'s value of each row, by `sigma` or at best.

        `reach` is the opponent's, ``[root, infoset]``. In the units of `Response.roots`.
        """

    def enter(self, p: int, above: Array, street: int) -> Array:
        """[way, board, hand] on a street, from numbers at the ways out of the one above it."""

    def rise(self, p: int, values: Array, street: int) -> Array:
        """[leaf, board, hand] at the ways out above a street, from [way, board, hand] on it.

        Summed over the cards dealt between the two, as likely as they are. The other way of
        `enter`: what `enter` is for reach, this is for values.
        """

    def opposing(self, p: int, reach: Array, street: int) -> Array:
        """[k, board, hand] the reach of all hands that can be held beside each of player `p`'s.

        `reach` is the opponent's, ``[k, board, hand]``; in the units of `Response.roots`: pi_{-p}.
        """

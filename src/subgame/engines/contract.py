"""The engine contract: the operations that all solvers are built on, the same for all kernels.

There are two kinds of tree and two libraries of kernels, so four engines. Everything above this
contract (the CFR loop, gadgets, evaluation, nested solving, depth limits, CFR-D) is written once.

Axes: ``[root, infoset]``. A *root* is where a tree begins: a whole game has one, and many subgames
solved together have one each. The *root infosets* are what a player can know there: the empty
sequence in a whole game, the augmented infosets at the top of a subgame, the hands in a hold'em
tree. A root with fewer infosets than another is padded; the reach of padding is 0.

Values are counterfactual, in the units of the whole game (Burch et al. 2014): they are weighted by
the reach of the opponent and of chance, where chance counts from the start of the game.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.ranges.betting_tree import Street
    from subgame.tree.ranges.tree import RangeTree
    from subgame.tree.sequence.tree import SequenceTree

Floats = NDArray[np.float64]
Array = Any
"""An array of the engine's library: NumPy on the CPU, PyTorch on its device otherwise."""
Both = tuple[Array, Array]
"""Two of them, one of each player."""
Numbers = Any
"""One number per sequence of a player, as the engine stores them: an array, 16-bit numbers with
scales, or blocks on a device. ``np.asarray`` reads them, ``numbers[:] = values`` writes them."""


class Mode(IntEnum):
    """What the traversing player does in a sweep."""

    LEARN = 0
    """CFR: regret matching; regrets and average are updated."""
    EVALUATE = 1
    """Plays a given strategy."""
    BEST = 2
    """Takes the best action everywhere (counterfactual best response)."""
    RESPOND = 3
    """Takes the best action and stores it as the strategy (CFR-BR, Johanson et al. 2012)."""
    WITHIN = 4
    """Takes the best action where no probability is given, and plays the given ones elsewhere."""


class Regrets(NamedTuple):
    """The numbers that CFR keeps of one player, each by sequence, as the engine stores them."""

    regret: Numbers  # discounted cumulative counterfactual regret
    average: Numbers | None  # discounted cumulative reach; None where no average is kept
    instant: Numbers | None  # regret of the last iteration, for predictive schedules only


Pair = tuple[Regrets, Regrets]
"""The numbers of both players."""


Wins = tuple[float, float]
"""What each player's best response to the other's strategy wins."""


class Loop(Protocol):
    """Iterations on the same arrays, many in one call; see `Engine.loop`."""

    def __call__(self, rates: Array, check: bool = False) -> Wins | None:
        """Run ``len(rates) - 1`` iterations; `rates` are those of `Engine.rates`.

        With `check`, an engine that `can_check` returns what best responses to the averages win.
        """


class Response(NamedTuple):
    """Values of one player's strategy or best response against a fixed opponent."""

    roots: Floats  # [root, infoset] value of each root infoset, not normalised (Burch et al. 2014)
    infosets: Floats | None = None  # [i] the same at every infoset; None on hold'em trees
    sequences: Floats | None = None  # [q] the same for every action there
    strategy: Floats | None = None  # [q] the best response itself


class Engine(Protocol):
    """Kernels bound to one tree on one device."""

    @property
    def tree(self) -> PublicTree:
        """The tree it is bound to."""

    @property
    def can_check(self) -> bool:
        """Whether a `Loop` can measure exploitability on the way."""

    fused: bool
    """Whether it has a `loop`; otherwise `solve.cfr.Cfr` loops."""
    resolution: float
    """The least exploitability that the stored numbers can hold, as a share of the pot: a solve
    cannot be expected to get below it. 0 where numbers are float64."""

    # Learning --------------------------------------------------------------------------------
    def prepare(self, reach: Both, entering: int = -1) -> None:
        """Take the reach at the roots before some iterations, `entering` through a gadget or -1.

        Engines whose hands share buckets weight the hands by it; others do nothing.
        """

    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Regrets and average of player `p`, all zero, on the engine's device."""

    def recycle(self, p: int, regrets: Regrets) -> None:
        """The regrets, not the average, are needed no more: others may take their memory."""

    def snapshot(self, regrets: Regrets) -> Regrets:
        """A copy of the current strategy (regret, instant), for simultaneous updates."""

    def roots(self, p: int) -> Array:
        """[root, infoset] a copy of player `p`'s reach at the roots of the tree."""

    def array(self, values: Floats) -> Array:
        """[root, infoset] NumPy numbers on the engine's device, in the precision of `sweep`."""

    def rates(self, discounts: Floats, begin: int) -> Array:
        """[t, 4] the rates that `sweep` takes: (positive, negative, kept, earlier iterations).

        `discounts` ``[t, 3]`` are the schedule's, the first of them for iteration `begin`, which
        counts from 1. The last column seeds the stochastic rounding of 16-bit numbers. Range
        engines have more columns, which say how their kernels round (see `engines.rounding`).
        """

    def sweep(self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both) -> Array:
        """One traversal for player `p`: the opponent's reach down, terminals, values up.

        `pair` and `rates` are first the traverser's, then the opponent's. Both play by regret
        matching on the given regrets (given probabilities, they play these). The traverser's rates
        ``[4]`` are the discounts on this iteration, the opponent's those with which a predictive
        schedule computes the opponent's next regrets. `reach` is
        ``(player 0's, player 1's)``, each ``[root, infoset]``. In mode LEARN the traverser's
        regrets are discounted and the instantaneous regrets are added to them, and the traverser's
        reach is added to the discounted average.

        Returns [root, infoset] the traverser's values, on the engine's device.
        """

    def loop(self, pair: Pair, reach: Both | None, alternating: bool, responder: int) -> Loop:
        """Iterations on the arrays of `pair`, in which `reach` is as it is now; None is the tree's.

        They are those of `solve.cfr.Cfr`. Only `fused` engines have it. `responder` is the player
        who plays a best response, or -1.
        """

    def repeat(self, turn: Callable[[Array], None], rates: Array, key: object) -> None:
        """``turn(rates[t : t + 2])`` for every t but the last, in order.

        An engine may record the first turn of a `key` and replay it (CUDA graphs), so a turn must
        read and write the same arrays every time.
        """

    def current(self, p: int, regrets: Regrets, rates: Array) -> Numbers:
        """The probabilities that regret matching plays with `rates` ``[4]``."""

    def behaviour(self, p: int, average: Numbers | None) -> Numbers:
        """The probabilities of an average (or of any realisation plan): its behaviour strategy."""

    def weights(self, p: int, average: Numbers) -> Numbers:
        """What `plan` and `values` may be given for the behaviour strategy of an average.

        Engines that play in proportion to any numbers return the average itself, so that measuring
        a solve takes no memory for probabilities.
        """

    def host(self, sigma: Numbers, streets: int | None = None) -> Numbers:
        """A strategy as NumPy's array in the layout of `Strategy`.

        With `streets`, only the first ones of a hold'em tree are needed; others may have zeros.
        """

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Numbers, reach: Floats | None = None) -> Any:
        """A strategy with its reach [root, infoset] at the roots, by default the tree's."""

    def realisation(self, p: int, sigma: Numbers, reach: Floats) -> Numbers:
        """The realisation plan of a strategy, from [root, infoset] at the roots.

        It is stored as averages are, in NumPy's arrays: plans can be mixed, and `behaviour` reads
        the mixture.
        """

    def values(self, p: int, sigma: Numbers, opponent_plan: Any) -> Response:
        """Player `p`'s values when playing `sigma`, in float64."""

    def respond(self, p: int, opponent_plan: Any) -> Response:
        """Player `p`'s counterfactual best response, in float64; locked hands play as they must."""

    def responses(self, probs: tuple[Numbers, Numbers]) -> tuple[float, float]:
        """[p] what the opponent's best response to player p's probabilities wins, in float64."""

    def sample(self, pair: Pair, discounts: Floats, kind: str, random: NDArray[np.uint64]) -> None:
        """``len(discounts) - 1`` iterations of MCCFR; `random` is the random generator's state."""


class SequenceEngine(Engine, Protocol):
    """Engines of sequence trees: the contract, and values given from outside the tree."""

    @property
    def tree(self) -> SequenceTree:
        """The tree it is bound to."""

    def sweep(
        self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both, paid: Floats | None = None
    ) -> Array:
        """As `Engine.sweep`; `paid` [q] is added to the values of the traverser's sequences."""


class RangeEngine(Engine, Protocol):
    """Engines of hold'em trees: the contract, and operations on single streets.

    Roots are the betting roots of the first street on each of its boards, and root infosets are
    hands: ``[betting root * boards + board, hand]``. Arrays of one street are
    ``[row, board, hand]``. A row is one of the player's sequences on the street, as a vector over
    hands: one row per betting root, then one per action of the player (see
    `subgame.tree.ranges.betting_tree`). Hands are in the order of each board. Numbers are float64;
    NumPy arrays are accepted.
    """

    @property
    def tree(self) -> RangeTree:
        """The tree it is bound to."""

    def stage(self, streets: list[Street]) -> RangeEngine:
        """An engine for the boards of the last ``len(streets)`` streets, with other betting.

        Its tree begins on the first of `streets`; its roots are the betting roots of that street on
        all its boards (see `subgame.tree.ranges.stage`).
        """

    def row_reach(self, p: int, sigma: Numbers, reach: Array) -> list[Array]:
        """Per street [row, board, hand]: player `p`'s reach, from [root, infoset] at the roots."""

    def row_values(
        self, p: int, opponent_sigma: Numbers, reach: Array, sigma: Numbers | None = None
    ) -> list[Array]:
        """Per street [row, board, hand]: player `p`'s value of each row.

        Player `p` plays `sigma`, or a best response if it is None, as `respond` does: hands that
        are locked play as they must. `reach` is the opponent's, ``[root, infoset]``. Values are in
        the units of `Response.roots`.
        """

    def enter(self, p: int, above: Array, street: int) -> Array:
        """[root, board, hand] at the roots of a street, from numbers at the leaves before it."""

    def rise(self, p: int, values: Array, street: int) -> Array:
        """[leaf, board, hand] at the leaves before a street, from [root, board, hand] on it.

        The values are summed over the cards dealt, weighted by their probabilities. `enter` takes
        reach down to the next street; `rise` takes values up from it.
        """

    def opposing(self, p: int, reach: Array, street: int) -> Array:
        """[k, board, hand] pi_{-p}: the opponent's reach that is possible with each hand.

        It is summed over the opponent's hands that share no card with player `p`'s hand. `reach` is
        the opponent's, ``[k, board, hand]``. The units are those of `Response.roots`.
        """

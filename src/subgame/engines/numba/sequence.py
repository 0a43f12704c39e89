"""The engine of sequence trees on the CPU: Numba kernels bound to one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import Response
from subgame.tree.sequence.tree import SequenceTree

if TYPE_CHECKING:
    from subgame.engines.numba.sequence_kernels import Memory, Root

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]


class NumbaSequenceEngine:
    """CPU kernels bound to one tree. Public methods allocate; the kernels below mutate."""

    def __init__(self, tree: SequenceTree) -> None:
        from subgame.engines.numba import sequence_kernels as kernels

        self.tree, self.kernels = tree, kernels
        self.plexes = tuple(tuple(player.plex) for player in tree.players)
        self.terminals = tuple(tree.terminals)
        self._walk: tuple[Any, ...] = ()
        self._places: tuple[Any, ...] = ()
        self._seats: tuple[Any, ...] = ()

    def memory(self, p: int, *, predictive: bool = False) -> Memory:
        """A blank memory for player `p`: no regrets, no average."""
        player = self.tree.players[p]
        q = player.num_sequences
        reach = np.zeros(q)
        reach[: len(player.slots)] = player.reach
        widest = int(np.diff(player.plex.block_infoset).max(initial=1))
        return self.kernels.Memory(
            regret=np.zeros(q), average=np.zeros(q), instant=np.zeros(q if predictive else 0),
            sigma=np.ones(q), reach=reach, value=np.zeros(q), total=np.zeros(widest),
            lanes=self.kernels.scratch(self.tree.terminals),
        )  # fmt: skip

    def iterate(
        self,
        memories: tuple[Memory, Memory],
        discounts: Floats,
        alternating: bool,
        root: Root | None = None,
        responder: int = -1,
        begin: int = 1,
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of CFR on `memories`, with `root` at the door.

        Which iteration they `begin` with matters only where numbers are rounded by chance.
        """
        pair = (tuple(memories[0]), tuple(memories[1]))
        self.kernels.run_iterations(
            self.plexes,
            self.terminals,
            pair,
            discounts,
            alternating,
            responder,
            tuple(root or self.root(-1)),
        )

    def update(
        self,
        memories: tuple[Memory, Memory],
        given: tuple[Floats, Floats],
        discounts: Floats,
        root: Root | None = None,
    ) -> None:
        """One simultaneous iteration, with values `given` [q] from outside the tree added."""
        pair = (tuple(memories[0]), tuple(memories[1]))
        self.kernels.run_update(
            self.plexes, self.terminals, pair, given, discounts, tuple(root or self.root(-1))
        )

    def root(
        self,
        player: int,
        *,
        rule: str = "fixed",
        mean: Floats | None = None,
        spread: Floats | None = None,
        weight: Floats | None = None,
        tremble: Floats | None = None,
    ) -> Root:
        """What chooses a player's reach at the root; see `kernels.Root`."""
        none = np.zeros(0)
        mean = none if mean is None else mean
        return self.kernels.Root(
            player=player,
            rule={"fixed": 0, "respond": 1, "hedge": 2}[rule],
            tremble=none if tremble is None else tremble,
            mean=mean,
            spread=none if spread is None else spread,
            weight=none if weight is None else weight,
            seen=np.zeros((3, len(mean))),
        )

    def sample(
        self, memories: tuple[Memory, Memory], discounts: Floats, kind: str, random: Words
    ) -> None:
        """Run ``len(discounts) - 1`` iterations of MCCFR; `random` is the generator's state."""
        from subgame.engines.numba import sampling

        pair = (tuple(memories[0]), tuple(memories[1]))
        if kind == "public":
            if not self._places:
                self._places = tuple(sampling.places_of(self.tree))
                self._seats = tuple(tuple(sampling.seat_of(self.tree, p)) for p in (0, 1))
            sampling.run_places(self.plexes, pair, self._places, self._seats, discounts, random)
        else:
            self._walk = self._walk or tuple(sampling.walk_of(self.tree))
            outer = kind == "external"
            sampling.run_walks(self.plexes, pair, self._walk, discounts, outer, random)

    def plan(self, p: int, sigma: Floats, slots: Floats | None = None) -> Floats:
        """[q] realisation plan of a strategy: the product of the player's own probabilities.

        It starts from the reach at the root `slots`, by default the tree's own.
        """
        player = self.tree.players[p]
        reach = np.empty(player.num_sequences)
        reach[: len(player.slots)] = player.reach if slots is None else slots
        self.kernels.run_propagate(self.plexes[p], sigma, reach)
        return reach

    def behaviour(self, p: int, plan: Floats) -> Floats:
        """[q] the behaviour strategy of a realisation plan; uniform where it never comes."""
        sigma = np.ones(self.tree.players[p].num_sequences)
        self.kernels.run_normalise(self.plexes[p], plan, sigma)
        return sigma

    def values(self, p: int, sigma: Floats, opponent_plan: Floats) -> Floats:
        """[q] counterfactual values of player `p` playing `sigma`, root slots first."""
        value = np.empty(self.tree.players[p].num_sequences)
        self.kernels.run_values(self.plexes[p], self.terminals, p, opponent_plan, sigma, value)
        return value

    def respond(self, p: int, opponent_plan: Floats) -> Response:
        """Counterfactual best response of player `p` to the opponent's realisation plan."""
        player = self.tree.players[p]
        value = np.empty(player.num_sequences)
        best = np.empty(len(player.names))
        choice = np.empty(len(player.names), dtype=np.int32)
        self.kernels.run_best_response(
            self.plexes[p], self.terminals, p, opponent_plan, value, best, choice
        )
        return Response(value[: len(player.slots)].copy(), best, value, choice)

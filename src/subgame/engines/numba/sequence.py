"""The engine of sequence trees on the CPU: Numba kernels bound to one tree."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Both, Loop, Mode, Pair, Regrets, Response
from subgame.tree.parts import both
from subgame.tree.sequence.tree import SequenceTree

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
NONE = np.zeros(0)


class NumbaSequenceEngine(EngineBase):
    """CPU kernels bound to one tree; see `contract.Engine`.

    A tree with several roots (``num_roots``) has its root infosets in the order
    ``[root * infosets + infoset]``.
    """

    def __init__(self, tree: SequenceTree) -> None:
        from subgame.engines.numba import sequence_kernels as kernels

        self.tree, self.kernels, self.fused = tree, kernels, True
        self.num_roots: int = tree.num_roots
        self.slots = tuple(len(player.slots) for player in tree.players)
        self.plexes = tuple(tuple(player.plex) for player in tree.players)
        self.terminals = tuple(tree.terminals)
        self.lanes = kernels.scratch(tree.terminals)
        self._walk: tuple[Any, ...] = ()
        self._places: tuple[Any, ...] = ()

    # Working arrays --------------------------------------------------------------------------
    @cached_property
    def works(self) -> tuple[Any, ...]:
        """Each player's working arrays: `kernels.State` without regrets."""
        return tuple(map(self._work, (0, 1)))

    def _work(self, p: int) -> Any:
        plex, size = self.tree.players[p].plex, self.tree.players[p].num_sequences
        return self.kernels.State(
            regret=NONE,
            average=np.zeros(size),  # of a player whose average is not wanted
            instant=NONE,
            sigma=np.ones(size),
            reach=np.zeros(size),
            value=np.zeros(size),
            total=np.zeros(int(np.diff(plex.block_infoset).max(initial=1))),
            lanes=self.lanes,
        )

    def _state(self, p: int, regrets: Regrets, reach: Floats) -> tuple[Floats, ...]:
        """`kernels.State` as a plain tuple, with `reach` at the roots."""
        work = self.works[p]
        work.reach[: self.slots[p]] = reach.reshape(-1)
        given = (work[k] if part is None else part for k, part in enumerate(regrets))
        return (*given, *work[len(regrets) :])

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`."""
        size = self.tree.players[p].num_sequences
        return Regrets(np.zeros(size), np.zeros(size), np.zeros(size) if predictive else None)

    def roots(self, p: int) -> Floats:
        """[root, infoset] a copy of player `p`'s reach at the roots of the tree."""
        return np.array(self.tree.players[p].reach, np.float64).reshape(self.num_roots, -1)

    def rates(self, discounts: Floats, begin: int) -> Floats:
        """[t, 4] discounts, and the number of earlier iterations."""
        before = begin - 1 + np.arange(len(discounts), dtype=np.float64)
        return np.ascontiguousarray(np.column_stack([discounts, before]))

    def sweep(
        self, p: int, mode: Mode, pair: Pair, rates: Both, reach: Both, paid: Floats | None = None
    ) -> Floats:
        """One traversal for player `p`; [root, infoset] values.

        `paid` ``[q]`` is added to the values that terminals give the traverser's sequences.
        """
        mine = _playable(pair[0]) if mode in (Mode.EVALUATE, Mode.BEST) else pair[0]
        traverser = self._state(p, mine, reach[p])
        states = traverser, self._state(1 - p, _playable(pair[1]), reach[1 - p])
        value = self.works[p].value
        value[:] = 0.0 if paid is None else paid
        sides = self.plexes if p == 0 else self.plexes[::-1]
        self.kernels.run_sweep(sides, self.terminals, states, p, int(mode), rates)
        return self._at_roots(p, value)

    def iterate(self, pair: Pair, discounts: Floats, reach: Both, how: Loop) -> None:
        """``len(discounts) - 1`` iterations in one call."""
        states = (self._state(0, pair[0], reach[0]), self._state(1, pair[1], reach[1]))
        order = how.alternating, how.responder
        self.kernels.run_iterations(self.plexes, self.terminals, states, discounts, *order)

    def current(self, p: int, regrets: Regrets, rates: Floats) -> Floats:
        """[q] the strategy that regret matching plays; ones at the root infosets."""
        state = self._state(p, _playable(regrets), np.ones(self.slots[p]))
        self.kernels.run_match(self.plexes[p], state, rates)
        found: Floats = self.works[p].sigma.copy()
        return found

    def behaviour(self, p: int, average: Floats | None) -> Floats:
        """[q] the behaviour strategy of a realisation plan; uniform where it is never reached."""
        sigma = np.ones(self.tree.players[p].num_sequences)
        self.kernels.run_normalise(self.plexes[p], average, sigma)
        return sigma

    def sample(self, pair: Pair, discounts: Floats, kind: str, random: Words) -> None:
        """``len(discounts) - 1`` iterations of MCCFR; `random` is the generator's state."""
        from subgame.engines.numba import sampling

        states = tuple(self._state(p, pair[p], self.tree.players[p].reach) for p in (0, 1))
        if kind == "public":
            if not self._places:
                seats = both(lambda p: tuple(sampling.seat_of(self.tree, p)))
                self._places = tuple(sampling.places_of(self.tree)), seats
            sampling.run_places(states, *self._places, discounts, random)
        else:
            self._walk = self._walk or tuple(sampling.walk_of(self.tree))
            outer = kind == "external"
            sampling.run_walks(self.plexes, states, self._walk, discounts, outer, random)

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Floats, reach: Floats | None = None) -> Floats:
        """[q] realisation plan of a strategy: the product of the player's own probabilities.

        It starts from `reach` at the roots, by default the tree's.
        """
        player = self.tree.players[p]
        plan = np.empty(player.num_sequences)
        plan[: self.slots[p]] = np.reshape(player.reach if reach is None else reach, -1)
        self.kernels.run_propagate(self.plexes[p], sigma, plan)
        return plan

    def values(self, p: int, sigma: Floats, opponent_plan: Floats) -> Response:
        """Counterfactual values of player `p` playing `sigma` against a realisation plan."""
        played = sigma if sigma.flags.writeable else sigma.copy()  # kernels have no code for others
        return self._response(p, opponent_plan, False, played)

    def respond(self, p: int, opponent_plan: Floats) -> Response:
        """Counterfactual best response of player `p` to the opponent's realisation plan."""
        best = np.zeros(self.tree.players[p].num_sequences)
        best[: self.slots[p]] = 1.0
        return self._response(p, opponent_plan, True, best)

    def _response(self, p: int, opponent_plan: Floats, best: bool, sigma: Floats) -> Response:
        """The values of `sigma`, which the kernel makes a best response if `best`."""
        player = self.tree.players[p]
        value, infosets = np.empty(player.num_sequences), np.empty(len(player.names))
        given = (opponent_plan, best, sigma, value, infosets, self.lanes)
        self.kernels.run_values(self.plexes[p], self.terminals, p, *given)
        return Response(self._at_roots(p, value), infosets, value, sigma if best else None)

    def _at_roots(self, p: int, value: Floats) -> Floats:
        """[root, infoset] a copy of the first entries of [q]."""
        return value[: self.slots[p]].reshape(self.num_roots, -1).copy()


def _playable(regrets: Regrets) -> Regrets:
    """Regrets that are only read, in the one array type that kernels are compiled for."""
    regret = regrets.regret
    if regret.dtype == np.float64 and regret.flags.c_contiguous and regret.flags.writeable:
        return regrets
    return regrets._replace(regret=np.array(regret, np.float64))

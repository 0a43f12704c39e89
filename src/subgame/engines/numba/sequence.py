"""The engine of sequence trees on the CPU: Numba kernels bound to one tree."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.base import EngineBase
from subgame.engines.contract import Both, Loop, Mode, Numbers, Pair, Regrets, Response
from subgame.engines.numba.native import Blank, Call, Kernel, Packed
from subgame.engines.numba.sequence_state import State, scratch
from subgame.tree.public_tree import both
from subgame.tree.sequence.tree import SequenceTree

Floats = NDArray[np.float64]
Words = NDArray[np.uint64]
NONE = np.zeros(0)
RUN_ITERATIONS, RUN_SWEEP, RUN_MATCH = (
    Kernel("sequence_kernels", f"run_{name}") for name in ("iterations", "sweep", "match")
)
RUN_RESPONSES, RUN_VALUES, RUN_PROPAGATE, RUN_NORMALISE = (
    Kernel("sequence_kernels", f"run_{name}")
    for name in ("responses", "values", "propagate", "normalise")
)

_INTEGER, _FLOATS = Blank(""), Blank("d1")


class _Calls(NamedTuple):
    """The kernels with what one tree gives them; pairs are one for each player."""

    iterations: Call
    sweep: tuple[Call, Call]
    match: tuple[Call, Call]
    values: tuple[Call, Call]
    propagate: tuple[Call, Call]
    normalise: tuple[Call, Call]
    responses: Call


class NumbaSequenceEngine(EngineBase):
    """CPU kernels bound to one tree; see `contract.Engine`.

    A tree with several roots (``num_roots``) has its root infosets in the order
    ``[root * infosets + infoset]``.
    """

    def __init__(self, tree: SequenceTree) -> None:
        self.tree, self.fused = tree, True
        self.num_roots: int = tree.num_roots
        self.sizes = tuple(player.num_sequences for player in tree.players)
        self.slots = tuple(len(player.slots) for player in tree.players)
        self.plexes = tuple(Packed(tuple(player.plex)) for player in tree.players)
        self.terminals = Packed(tuple(tree.terminals))
        self.lanes = scratch(tree.terminals)
        self._walk: tuple[Any, ...] = ()
        self._places: tuple[Any, ...] = ()

    @cached_property
    def _flat(self) -> tuple[Floats, Floats]:
        """Each player's reach at the root infosets."""
        return both(lambda p: np.array(self.tree.players[p].reach, np.float64).reshape(-1))

    # Working arrays --------------------------------------------------------------------------
    @cached_property
    def works(self) -> tuple[State, State]:
        """Each player's working arrays: `State` without regrets."""
        return self._work(0), self._work(1)

    def _work(self, p: int) -> State:
        plex, size = self.tree.players[p].plex, self.sizes[p]
        return State(
            regret=NONE,
            average=np.zeros(size),  # of a player whose average is not wanted
            instant=NONE,
            sigma=np.ones(size),
            reach=np.zeros(size),
            value=np.zeros(size),
            total=np.zeros(int(np.diff(plex.block_infoset).max(initial=1))),
            lanes=self.lanes,
        )

    @cached_property
    def _heads(self) -> tuple[Floats, Floats]:
        """The part of each player's `State.reach` at the root infosets."""
        return both(lambda p: self.works[p].reach[: self.slots[p]])

    def _state(self, p: int, regrets: Regrets, reach: Floats) -> tuple[Numbers, Numbers, Numbers]:
        """What the calls of kernels take for player `p`'s `State`, with `reach` at the roots."""
        self._heads[p][:] = reach.reshape(-1)
        regret, average, instant = regrets
        return regret, self.works[p].average if average is None else average, instant

    @cached_property
    def _calls(self) -> _Calls:
        """The kernels with the arrays of this tree."""
        after = len(Regrets._fields)
        works: tuple[tuple[Any, ...], tuple[Any, ...]] = self.works
        one, two = ((_FLOATS, _FLOATS, _FLOATS, *work[after:]) for work in works)
        plexes, ends, rates = self.plexes, self.terminals, (_FLOATS, _FLOATS)
        rest = (_FLOATS, _INTEGER, *4 * (_FLOATS,))
        return _Calls(
            Call(RUN_ITERATIONS, plexes, ends, (one, two), Blank("d2"), _INTEGER, _INTEGER),
            (
                Call(RUN_SWEEP, plexes, ends, (one, two), 0, _INTEGER, rates),
                Call(RUN_SWEEP, plexes[::-1], ends, (two, one), 1, _INTEGER, rates),
            ),
            both(lambda p: Call(RUN_MATCH, plexes[p], (one, two)[p], _FLOATS)),
            both(lambda p: Call(RUN_VALUES, plexes[p], ends, p, *rest)),
            both(lambda p: Call(RUN_PROPAGATE, plexes[p], _FLOATS, _FLOATS)),
            both(lambda p: Call(RUN_NORMALISE, plexes[p], _FLOATS, _FLOATS)),
            Call(RUN_RESPONSES, plexes, ends, works, self._flat, rates, _FLOATS),
        )

    # Learning --------------------------------------------------------------------------------
    def regrets(self, p: int, *, predictive: bool = False) -> Regrets:
        """Zeros for player `p`."""
        size = self.sizes[p]
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
        opponent = self._state(1 - p, _playable(pair[1]), reach[1 - p])
        value = self.works[p].value
        value[:] = 0.0 if paid is None else paid
        self._calls.sweep[p](*traverser, *opponent, int(mode), *rates)
        return self._at_roots(p, value)

    def loop(self, pair: Pair, reach: Both | None, alternating: bool, responder: int) -> Loop:
        """Iterations on the arrays of `pair`."""
        entered = both(lambda p: self.roots(p) if reach is None else reach[p].copy())

        def run(rates: Floats, check: bool = False) -> None:
            first, second = both(lambda p: self._state(p, pair[p], entered[p]))
            self._calls.iterations(*first, *second, rates, alternating, responder)

        return run

    def current(self, p: int, regrets: Regrets, rates: Floats) -> Floats:
        """[q] the strategy that regret matching plays; ones at the root infosets."""
        state = self._state(p, _playable(regrets), np.ones(self.slots[p]))
        self._calls.match[p](*state, rates)
        strategy: Floats = self.works[p].sigma.copy()
        return strategy

    def behaviour(self, p: int, average: Floats | None) -> Floats:
        """[q] the behaviour strategy of a realisation plan; uniform where it is never reached."""
        sigma = np.ones(self.sizes[p])
        self._calls.normalise[p](np.ascontiguousarray(average, np.float64), sigma)
        return sigma

    def sample(self, pair: Pair, discounts: Floats, kind: str, random: Words) -> None:
        """``len(discounts) - 1`` iterations of MCCFR; `random` is the generator's state."""
        from subgame.engines.numba import sampling
        from subgame.engines.numba.compiling import watch

        watch()
        after = len(Regrets._fields)

        def state(p: int) -> tuple[Numbers, ...]:
            """`State` as plain arrays."""
            mine = self._state(p, pair[p], self.tree.players[p].reach)
            return (*(NONE if part is None else part for part in mine), *self.works[p][after:])

        states = both(state)
        if kind == "public":
            if not self._places:
                seats = both(lambda p: tuple(sampling.seat_of(self.tree, p)))
                self._places = tuple(sampling.places_of(self.tree)), seats
            sampling.run_places(states, *self._places, discounts, random)
        else:
            self._walk = self._walk or tuple(sampling.walk_of(self.tree))
            plexes, outer = both(lambda p: self.plexes[p].item), kind == "external"
            sampling.run_walks(plexes, states, self._walk, discounts, outer, random)

    # Evaluation ------------------------------------------------------------------------------
    def plan(self, p: int, sigma: Floats, reach: Floats | None = None) -> Floats:
        """[q] realisation plan of a strategy: the product of the player's own probabilities.

        It starts from `reach` at the roots, by default the tree's.
        """
        plan = np.empty(self.sizes[p])
        plan[: self.slots[p]] = self._flat[p] if reach is None else np.reshape(reach, -1)
        self._calls.propagate[p](np.ascontiguousarray(sigma, np.float64), plan)
        return plan

    def realisation(self, p: int, sigma: Floats, reach: Floats) -> Floats:
        """[q] the same as `plan`."""
        return self.plan(p, sigma, reach)

    def values(self, p: int, sigma: Floats, opponent_plan: Floats) -> Response:
        """Counterfactual values of player `p` playing `sigma` against a realisation plan."""
        return self._response(p, opponent_plan, False, np.require(sigma, np.float64, ["C", "W"]))

    def respond(self, p: int, opponent_plan: Floats) -> Response:
        """Counterfactual best response of player `p` to the opponent's realisation plan."""
        best = np.zeros(self.sizes[p])
        best[: self.slots[p]] = 1.0
        return self._response(p, opponent_plan, True, best)

    def responses(self, probs: tuple[Numbers, Numbers]) -> tuple[float, float]:
        """[p] what the opponent's best response to player p's probabilities wins, in one call."""
        won = np.empty(2)
        one, two = probs
        sigmas = np.ascontiguousarray(one, np.float64), np.ascontiguousarray(two, np.float64)
        self._calls.responses(*sigmas, won)
        return float(won[0]), float(won[1])

    def _response(self, p: int, opponent_plan: Floats, best: bool, sigma: Floats) -> Response:
        """The values of `sigma`, which the kernel makes a best response if `best`."""
        value, infosets = np.empty(self.sizes[p]), np.empty(len(self.tree.players[p].names))
        against = np.ascontiguousarray(opponent_plan, np.float64)
        self._calls.values[p](against, best, sigma, value, infosets, self.lanes)
        return Response(self._at_roots(p, value), infosets, value, sigma if best else None)

    def _at_roots(self, p: int, value: Floats) -> Floats:
        """[root, infoset] a copy of the first entries of [q]."""
        return value[: self.slots[p]].reshape(self.num_roots, -1).copy()


def _playable(regrets: Regrets) -> Regrets:
    """Regrets that are only read, in the one array type that kernels are compiled for."""
    regret = regrets.regret
    if regret.dtype == np.float64 and regret.flags.carray:
        return regrets
    return regrets._replace(regret=np.array(regret, np.float64))

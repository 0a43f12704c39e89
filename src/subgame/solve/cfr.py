"""The CFR loop, on any engine: alternation, discounts, best responders and gadgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Array, Both, Engine, Loop, Mode, Regrets, Wins
from subgame.errors import SubgameError
from subgame.solve.schedule import AHEAD
from subgame.tree.public_tree import both

if TYPE_CHECKING:
    from subgame.solve.schedule import Schedule

Floats = NDArray[np.float64]


class Learner(Protocol):
    """A gadget that learns: it chooses the opponent's reach into the subgame on every iteration.

    Arrays are ``[root, infoset]`` over the opponent's root infosets, of the engine's library.
    """

    player: int
    """The opponent, whose reach the gadget chooses."""

    def enter(self) -> Array:
        """The opponent's reach on the coming iteration."""

    def observe(self, values: Array, discounts: Array) -> None:
        """Learn from the opponent's counterfactual values of entering.

        `discounts` ``[2, 4]`` are those of this and of the next iteration (see `Engine.rates`).
        """


class Rates:
    """The rates of a schedule's iterations as an engine takes them, many of which are made at once.

    Those of `AHEAD` iterations take little longer than those of one.
    """

    def __init__(self, engine: Engine, schedule: Schedule) -> None:
        self._engine, self._schedule = engine, schedule
        self._first = 1
        self._ahead: Array = ()

    def of(self, first: int, count: int) -> Array:
        """Those of `count` iterations from `first` on, which counts from 1."""
        at = first - self._first
        if at < 0 or at + count > len(self._ahead):
            discounts = self._schedule.discounts(first, max(count, AHEAD))
            self._first, self._ahead, at = first, self._engine.rates(discounts, first), 0
        return self._ahead[at : at + count]


class Cfr:
    """CFR on one engine: both players' regrets and reach at the roots, and a gadget if any."""

    def __init__(
        self,
        engine: Engine,
        *,
        predictive: bool = False,
        prediction: float = 1.0,
        alternating: bool = True,
        responder: int = -1,
        learner: Learner | None = None,
        reach: tuple[Floats | None, Floats | None] = (None, None),
        averages: tuple[bool, bool] = (True, True),
    ) -> None:
        """`reach` is each player's ``[root, infoset]``, by default the tree's.

        `averages` says whose average is kept; one that nobody asks for costs memory and time.
        """
        self.engine, self.learner, self.prediction = engine, learner, prediction
        self.alternating, self.responder = alternating, int(responder)  # text gives 1.0

        def blank(p: int) -> Regrets:
            made = engine.regrets(p, predictive=predictive)
            return made if averages[p] else made._replace(average=None)

        self.pair = both(blank)
        if prediction != 1 and not self._plain:
            raise SubgameError(
                "A schedule whose prediction is not 1, such as sapcfr+, needs a sequence tree "
                "without a gadget and the CPU; take pcfr+."
            )
        mine, yours = (
            engine.roots(p) if entered is None else engine.array(entered)
            for p, entered in enumerate(reach)
        )
        self.reach: Both = (mine, yours)
        self._own = all(entered is None for entered in reach)
        self.released = False
        self._fused = learner is None and engine.fused and prediction == 1
        self._loop: Loop | None = None

    def begin_with(self, regrets: tuple[Floats, Floats]) -> None:
        """Begin with regrets in float, as the engine lays them out.

        The first iteration plays the strategy to which they are proportional.
        """
        for mine, first in zip(self.pair, regrets, strict=True):
            mine.regret[...] = self.engine.array(first)

    @property
    def _plain(self) -> bool:
        """Whether it runs on a sequence tree without a gadget, on the CPU."""
        from subgame.tree.sequence.tree import SequenceTree

        instants = [isinstance(numbers.instant, np.ndarray) for numbers in self.pair]
        return isinstance(self.engine.tree, SequenceTree) and all(instants) and not self.learner

    def advance(self, discounts: Floats, begin: int, check: bool = False) -> Wins | None:
        """Run ``len(discounts) - 1`` iterations, the first of which is number `begin`."""
        return self.iterate(self.engine.rates(discounts, begin), check)

    def iterate(self, rates: Array, check: bool = False) -> Wins | None:
        """Run ``len(rates) - 1`` iterations; `rates` are those of `Engine.rates`.

        With `check`, where `can_check`, it returns what best responses to the averages win.
        """
        if self._loop is not None:
            return self._loop(rates, check)
        self.check_whole()
        if self._fused:
            reach = None if self._own else self.reach
            self._loop = self.engine.loop(self.pair, reach, self.alternating, self.responder)
            return self._loop(rates, check)
        if len(rates) < 2:
            return None
        engine, learner = self.engine, self.learner
        engine.prepare(self.reach, -1 if learner is None else learner.player)
        if learner is not None:
            self.reach[learner.player][...] = learner.enter()
        if self.responder == 1:  # responds to player 0's first strategy before the loop
            blind = self.pair[1]._replace(average=None)
            engine.sweep(1, Mode.RESPOND, (blind, self.pair[0]), (rates[0], rates[0]), self.reach)
        engine.repeat(self.turn, rates, self)
        return None

    def check_whole(self) -> None:
        """Raise an error if the regrets were given up."""
        if self.released:
            raise SubgameError("The run is over: its regrets were given up, so it cannot go on.")

    def release(self) -> None:
        """Give the memory of regrets to the engine: from now on the averages are what is played."""
        self.check_whole()
        self.released, self._loop = True, None
        pair = self.pair
        for p in (0, 1):
            self.engine.recycle(p, pair[p])
        self.pair = both(lambda p: Regrets(pair[p].average, pair[p].average, None))

    @property
    def can_check(self) -> bool:
        """Whether `advance` can measure the averages within its last iteration."""
        plain = self.learner is None and self.alternating and self.responder < 0
        plain = plain and self.prediction == 1
        return plain and self.engine.can_check

    def _damp(self, numbers: Regrets) -> None:
        """Keep only a part of the last instantaneous regrets as the prediction."""
        if isinstance(numbers.instant, np.ndarray):
            numbers.instant[...] *= self.prediction

    def turn(self, rates: Array) -> None:
        """One iteration; `rates` ``[2, 4]`` are those of this and of the next iteration."""
        engine, learner, pair = self.engine, self.learner, self.pair
        chooser = -1 if learner is None else learner.player
        before = pair[0] if self.alternating else engine.snapshot(pair[0])
        for p in (0, 1):
            mode = Mode.RESPOND if self.responder == p else Mode.LEARN
            theirs, ahead = (pair[1], before)[p], rates[int(p == 1 and self.alternating)]
            values = engine.sweep(p, mode, (pair[p], theirs), (rates[0], ahead), self.reach)
            if self.prediction != 1 and mode == Mode.LEARN:
                self._damp(pair[p])
            if learner is not None and p == chooser:
                learner.observe(values, rates[:, :4])
                if self.alternating:
                    self.reach[p][...] = learner.enter()
        if learner is not None and not self.alternating:
            self.reach[chooser][...] = learner.enter()

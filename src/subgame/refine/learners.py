"""Gadgets at work: what they know of the roots of a subgame (`GadgetInputs`), and how they learn to
enter it from the value of entering.

One implementation for one subgame of Leduc and for thousands of boards on a GPU: all arrays are
``[root, infoset]`` of the opponent's root infosets, NumPy's or PyTorch's. State is written in
place, so that an iteration can be recorded and replayed. The gadget *game* of
`subgame.refine.sequence.subgames` is the same as a tree, and the oracle of these.
"""

from __future__ import annotations

import importlib
import math
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from subgame.engines.arrays import (
    TINY,
    Array,
    Floats,
    as_kind,
    as_numpy,
    namespace,
    normalise,
    regret_matching,
)
from subgame.errors import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from subgame.engines.contract import Engine

    Mapped = Callable[[Array], Array]


@dataclass(frozen=True)
class GadgetInputs:
    """What a gadget knows of the roots. Axis: s = root infoset of the opponent.

    All values are the opponent's, normalised as in Brown & Sandholm 2017: given that the root
    infoset is reached. A learner sees them as ``[root, s]`` on the engine's device; for a single
    subgame they may be given as ``[s]``.
    """

    __repr__ = brief

    opponent: int
    our_reach: Array  # [our root infosets]
    opponent_reach: Array  # [s] in the blueprint
    weight: Array  # [s] pi_{-i}: the reach of chance and us
    alternative: Array  # [s] what the opponent gets for not entering
    cbv: Array  # [s] the blueprint's counterfactual best-response value, for `keep_safe`
    spread: Array | None = None  # [s] standard deviation of a random alternative payoff

    @classmethod
    def of(
        cls,
        opponent: int,
        reach: tuple[Array, Array],
        weight: Array,
        cbv: Array,
        gifts: Array | float = 0.0,
    ) -> GadgetInputs:
        """Inputs whose alternative is the CBV plus gifts; `reach` is ours and the opponent's."""
        return cls(opponent, *reach, weight, cbv + gifts, cbv)

    @classmethod
    def of_values(
        cls,
        opponent: int,
        reach: tuple[Array, Array],
        weight: Array,
        values: Array,
        gifts: Array | float = 0.0,
    ) -> GadgetInputs:
        """As `of`, from counterfactual values, which are weighted by pi_{-i}."""
        return cls.of(opponent, reach, weight, normalise(values, weight), gifts)

    def raised(self, left: Array) -> GadgetInputs:
        """The same with every alternative at least at what the opponent is `left` inside, [s]."""
        xp = namespace(self.alternative)
        return replace(self, alternative=xp.maximum(self.alternative, left))

    def near_one(self) -> GadgetInputs:
        """The same with our largest reach at every root at one.

        Only the shape of our range matters, and kernels like numbers near one.
        """
        largest = namespace(self.our_reach).amax(self.our_reach, -1, keepdims=True).clip(min=TINY)
        return replace(self, our_reach=self.our_reach / largest, weight=self.weight / largest)

    def reached(self, held: Array | float = 1.0) -> GadgetInputs:
        """The same where the blueprint never comes: every root infoset is taken to be as likely.

        `held` is 0 where there is no infoset.
        """
        theirs = self.opponent_reach
        never = (theirs * (self.weight > 0)).sum(-1, keepdims=True) <= 0
        even = held + 0.0 * theirs
        return replace(self, opponent_reach=namespace(theirs).where(never, even, theirs))

    def mapped(self, ours: Mapped, theirs: Mapped) -> GadgetInputs:
        """The same after a function of our numbers and one of the opponent's."""
        arrays = {
            name: (ours if name == "our_reach" else theirs)(values)
            for name, values in vars(self).items()
            if name != "opponent" and values is not None
        }
        return replace(self, **arrays)

    def on(self, engine: Engine) -> GadgetInputs:
        """The same as ``[root, s]`` on an engine's device."""

        def put(values: Array) -> Array:
            if not isinstance(values, np.ndarray):
                return values
            return engine.array(values.reshape(engine.tree.num_roots, -1))

        return self.mapped(put, put)


TREMBLE = 1e-6
"""The share of root infosets below which none is said to enter."""
PROBITS = (
    (0.003246343272134, 1.365340806296348),
    (0.051517477033972, 1.059523971016916),
    (0.195077912673858, 0.830791313765644),
    (0.315569823632818, 0.650732166639391),
    (0.274149576158423, 0.508135425366489),
    (0.131076880695470, 0.396313345166341),
    (0.027912418727972, 0.308904252267995),
    (0.001449567805354, 0.238212616409306),
)
"""Shares and slopes of the normal distribution functions that together are the logistic function
(Monahan & Stefanski 1992, in Balakrishnan, Handbook of the Logistic Distribution)."""


class Choice:
    """The opponent chooses by regret matching how to enter; Resolve's and Maxmargin's learner.

    Axes: c = choice, r = root, s = root infoset. *leave* (Resolve, Burch et al. 2014): at each root
    infoset the opponent enters or takes the alternative payoff, so c is (enter, leave). *choose*
    (Maxmargin, Moravcik et al. 2016): the opponent picks one root infoset per root and pays its
    alternative to enter, so the choice is along s and c has one entry.
    """

    def __init__(
        self,
        inputs: GadgetInputs,
        kind: Literal["leave", "choose"],
        *,
        predictive: bool = False,
        tremble: float = 0.0,
    ) -> None:
        """With `tremble`, each of two choices keeps this probability, vanishing as 1/sqrt(t)."""
        weight, xp = inputs.weight, namespace(inputs.weight)
        self.player, self.kind = inputs.opponent, kind
        self.per = normalise(xp.ones_like(weight), weight)
        self.axis = 0 if kind == "leave" else 2
        zeros = xp.zeros_like(weight)[None]
        if kind == "leave":
            self.real: Array | None = None  # both choices are, everywhere
            self.outside = inputs.alternative * weight
            self.regret, many = xp.concatenate([zeros, zeros]), 2
        else:
            self.real = as_kind(weight > 0, weight)[None]
            self.outside = xp.where(weight > 0, inputs.alternative, 0)
            self.regret = xp.zeros_like(zeros)
            many = (weight > 0).sum(axis=1, keepdims=True).clip(min=1)
        self.many: Array = many
        self.least = (zeros + 2 * tremble) / many * (weight > 0) if tremble else None
        self.average = xp.zeros_like(self.regret)
        self.instant = xp.zeros_like(self.regret) if predictive else None
        self.ahead = xp.stack([xp.zeros_like(weight[0, 0])] * 4)
        """Discounts of the coming iteration; before the first there are no regrets to discount."""
        self.sigma = xp.zeros_like(self.regret) + self.strategy()
        """[c, r, s] the `strategy` of the coming iteration."""

    def strategy(self) -> Array:
        """[c, r, s] what is chosen on the coming iteration, without tremble."""
        regret = self.regret
        if self.instant is not None:  # Farina et al. 2021: as the next iteration will find them
            kept = namespace(regret).where(regret > 0, self.ahead[0], self.ahead[1])
            regret = regret * kept + self.instant
        return regret_matching(regret, self.axis, self.real)

    def _trembled(self, sigma: Array) -> Array:
        if self.least is None:
            return sigma
        least = self.least / (self.ahead[3] + 1) ** 0.5  # `ahead` ends with the iterations so far
        return least + (1 - least * self.many) * sigma

    def _entering(self, sigma: Array) -> Array:
        """[r, s] reach into the subgame; behind *choose* values count normalised."""
        return sigma[0] * self.per if self.kind == "choose" else sigma[0]

    def payoffs(self, values: Array) -> Array:
        """[c, r, s] what each choice pays, from the values of entering."""
        if self.kind == "choose":
            return (values * self.per - self.outside)[None]
        return namespace(values).stack([values, self.outside])

    def enter(self) -> Array:
        """[r, s] the opponent's reach on the coming iteration."""
        return self._entering(self._trembled(self.sigma))

    def observe(self, values: Array, discounts: Array) -> None:
        """Regrets and average, discounted as the schedule says; see `subgame.solve.cfr.Learner`."""
        paid, now = self.payoffs(values), discounts[0]
        gain = paid - (self.sigma * paid).sum(axis=self.axis, keepdims=True)
        if self.real is not None:
            gain = gain * self.real
        kept = namespace(self.regret).where(self.regret > 0, now[0], now[1])
        self.average[...] = self.average * now[2] + self._trembled(self.sigma)
        self.regret[...] = self.regret * kept + gain
        if self.instant is not None:
            self.instant[...] = gain
        self.ahead[...] = discounts[1]
        self.sigma[...] = self.strategy()

    def certify(self, values: Floats) -> tuple[float, Floats, float]:
        """What the gap of the gadget game needs, in float64.

        `values` [r, s] are the opponent's best values of entering. Returns the most that the
        opponent can get, the reach [r, s] of the opponent's average entry, and what that is paid
        outside the subgame.
        """
        twin = copy(self)
        for name in ("per", "outside", "regret", "average"):
            setattr(twin, name, as_numpy(getattr(self, name)))
        twin.real = None if self.real is None else as_numpy(self.real)
        real = True if twin.real is None else twin.real > 0
        paid = np.where(real, twin.payoffs(values), -math.inf).max(self.axis)
        sigma = regret_matching(twin.average, self.axis, twin.real)
        outside = sigma[1] * twin.outside if self.kind == "leave" else -sigma[0] * twin.outside
        most = float(np.where(paid > -math.inf, paid, 0.0).sum())
        return most, twin._entering(sigma), float(outside.sum())


class Mixture:
    """Three parts together: the blueprint's range, Resolve's entries, and some of every hand.

    Resolve's entries have at most `cap` times the mass of the blueprint's range; `even` times that
    mass is spread over all root infosets that can be reached. An idea of Slumbot's (Jackson). Both
    are numbers, or [root, 1].
    """

    def __init__(
        self, inputs: GadgetInputs, cap: Array, even: Array, *, predictive: bool = False
    ) -> None:
        weight, reach = inputs.weight, inputs.opponent_reach
        xp, real = namespace(weight), weight > 0
        self.player, self.choice = inputs.opponent, Choice(inputs, "leave", predictive=predictive)
        reach = xp.where(real, reach, 0)
        self.total = reach.sum(axis=1, keepdims=True)
        self.size = xp.amax(reach, 1, keepdims=True)
        self.cap, many = cap, real.sum(axis=1, keepdims=True).clip(min=1)
        self.fixed = reach + even * real * self.total / many

    def enter(self) -> Array:
        """[r, s] the opponent's reach on the coming iteration."""
        entries = self.choice.enter() * self.size
        mass = entries.sum(axis=1, keepdims=True).clip(min=TINY)
        return self.fixed + entries * (self.cap * self.total / mass).clip(max=1)

    def observe(self, values: Array, discounts: Array) -> None:
        """Resolve's part learns from the values of entering."""
        self.choice.observe(values, discounts)


def doubt(inputs: GadgetInputs) -> Array:
    """[root, 1] how wrong the blueprint is at each root, from 0 to 1.

    The mean square of the error of the estimated values, |CBV - CBV~| (the spread), as a share of
    how much the values of the hands in the blueprint's range differ: noise beside signal.
    """
    if inputs.spread is None:
        raise AssertionError("Doubt needs the error of the estimated values.")
    xp = namespace(inputs.weight)
    mass = xp.where(inputs.weight > 0, inputs.opponent_reach * inputs.weight, 0)
    mass = mass / mass.sum(axis=1, keepdims=True).clip(min=TINY)

    def mean(values: Array) -> Array:
        return (mass * values).sum(axis=1, keepdims=True)

    value = inputs.cbv - inputs.spread  # no estimate is above the CBV
    noise, signal = mean(inputs.spread**2), mean((value - mean(value)) ** 2)
    return (noise / signal.clip(min=TINY)).clip(max=1)


class RandomAlternative:
    """Alternative payoffs are normal random variables (Brown & Sandholm 2017, App. C.1 and D).

    The opponent enters as often as the alternative lies below the value of entering: P(X <= v) on
    each iteration ("respond", Theorem 2), or by Hedge, eq. (3). Where no root infoset would enter,
    because alternatives are above everything (gifts that are not split can be), nothing would be
    learned and we would play as on the first iteration. There the opponent enters as in the
    blueprint, with so little weight (`TREMBLE`) that it counts for nothing beside real entries.
    """

    def __init__(self, inputs: GadgetInputs, form: Literal["respond", "hedge"]) -> None:
        weight, xp = inputs.weight, namespace(inputs.weight)
        if inputs.spread is None:
            raise AssertionError("Random alternative payoffs need a standard deviation.")
        self.player, self.form, self.real = inputs.opponent, form, weight > 0
        self.per = normalise(xp.ones_like(weight), weight)
        self.mean, self.spread = inputs.alternative, inputs.spread
        self.reach = xp.ones_like(weight)
        self.share = weight / weight.sum(axis=1, keepdims=True).clip(min=TINY)
        theirs = xp.where(weight > 0, inputs.opponent_reach, 0)
        self.blueprint = TREMBLE * theirs / xp.amax(theirs, 1, keepdims=True).clip(min=TINY)
        self.seen = xp.stack([xp.zeros_like(weight)] * 3)
        """Count, sum and sum of squares of the values of entering."""

    def enter(self) -> Array:
        """[r, s] the opponent's reach on the coming iteration."""
        entering = (self.reach * self.share).sum(axis=1, keepdims=True)
        return self.reach + self.blueprint * (entering < TREMBLE)

    def observe(self, values: Array, discounts: Array) -> None:
        """How likely the alternative lies below the value of entering."""
        xp, value = namespace(values), values * self.per
        likely = self._respond(value) if self.form == "respond" else self._hedge(value)
        self.reach[...] = xp.where(self.real, likely, self.reach)

    def _respond(self, value: Array) -> Array:
        """P(X <= v); half where X is certain and equal."""
        xp, special = namespace(value), _special(value)
        sure = 0.5 * (1 + xp.sign(value - self.mean))
        wide = self.spread.clip(min=TINY)
        return xp.where(self.spread > 0, special.ndtr((value - self.mean) / wide), sure)

    def _hedge(self, value: Array) -> Array:
        """Eq. (3): the mean of 1 / (1 + exp(rate (X - v))) with X ~ N(mean, spread^2).

        The logistic function is a mixture of normal distribution functions to 2e-9 (`PROBITS`), and
        the mean of each of these over a normal X is one again.
        """
        xp, special = namespace(value), _special(value)
        self.seen[0] += 1
        self.seen[1] += value
        self.seen[2] += value * value
        t, mean = self.seen[0], self.mean
        average = self.seen[1] / t
        variance = (self.seen[2] / t - average * average).clip(min=1e-12)
        # eta_t of App. D with two actions; the exponent holds the sum of t payoffs.
        rate = (t / variance) ** 0.5 * (math.sqrt(math.log(2)) / 3)
        below, spread = rate * (mean - average) / math.sqrt(2), (rate * self.spread) ** 2
        total = xp.zeros_like(value)
        for share, steep in PROBITS:  # ndtr(-steep x / (1 + (steep s)^2)^0.5), by erfc
            total += share / 2 * special.erfc(below / (spread + 1 / steep**2) ** 0.5)
        return total


def _special(array: Array) -> Any:
    """`ndtr` and `expit` of an array's library."""
    name = "scipy.special" if isinstance(array, np.ndarray) else "torch.special"
    return importlib.import_module(name)

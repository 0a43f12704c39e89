"""`Doors`: a gadget before every root on every board of a stage, as one learner.

What `subgame.refine.doors` is to one subgame, for thousands at once: each root has its own reach
and its own alternative payoffs, all of them ``[root, unit, hand]``. The opponent's values come
unnormalised from the sweep; `weight` (pi_{-i}) turns them into values.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from subgame.engines.quadrature import HERMITE_W, HERMITE_X, LOGIT_W, LOGIT_X
from subgame.engines.torch.runtime import load_torch
from subgame.engines.torch.torch_ops import TINY
from subgame.errors import SubgameError, did_you_mean

Tensor = Any
Kind = Literal["leave", "choose", "respond", "hedge"]
KINDS = ("leave", "choose", "respond", "hedge")
RANDOM = KINDS[2:]


class Doors:
    """How the opponent enters: `leave`, `choose`, or by random payoffs in either form.

    leave: at each root infoset she enters or takes the alternative (Resolve, Burch et al. 2014);
    choose: she picks one root infoset per root and board, and pays its alternative to enter
    (Maxmargin, Moravcik et al. 2016); respond and hedge: alternatives are normal with standard
    deviation `spread` (Brown & Sandholm 2017, Theorem 2 and Appendix D). With `refined` she keeps
    making every choice with a vanishing probability, as `subgame.refine.gadgets` has it.
    """

    recorded = True

    def __init__(
        self,
        kind: Kind,
        player: int,
        weight: Tensor,
        alternative: Tensor,
        *,
        spread: Tensor | None = None,
        predictive: bool = False,
        refined: float = 0.0,
    ) -> None:
        if kind not in KINDS:
            raise did_you_mean("door", str(kind), KINDS)
        if kind in RANDOM and (spread is None or predictive):
            raise SubgameError("Random payoffs need a spread, and a schedule without predictions.")
        self.torch, self.kind, self.player = load_torch(), kind, player
        single = self.torch.float32
        self.real = weight > 0
        self.weight = weight.to(single)
        self.per = self.torch.where(self.real, 1 / weight.clamp(min=TINY), 0).to(single)
        self.alternative = self.torch.where(self.real, alternative, 0).to(single)
        self.many = self.real.sum(2, keepdim=True).clamp(min=1) if kind == "choose" else 2
        self.least = (2 * refined / self.many * self.real).to(single)  # of each choice, at first
        choices = 2 if kind == "leave" else 1
        shape = (choices, *weight.shape)
        self.regret = self.torch.zeros(shape, device=weight.device)
        self.instant = self.torch.zeros_like(self.regret) if predictive else None
        if kind in RANDOM:
            self.spread = self.torch.where(self.real, spread, 1).to(single)
            self.seen = self.torch.zeros((3, *weight.shape), device=weight.device)
            self.regret[0] = self.real.to(single)  # not a regret here but the reach itself

    def _strategy(self, rates: Tensor) -> Tensor:
        """Regret matching, with a prediction where there is one: [choice, root, unit, hand]."""
        w = self.regret
        if self.instant is not None:
            w = w * self.torch.where(w > 0, rates[0], rates[1]) + self.instant
        w = w.clamp(min=TINY) * self.real
        over = 0 if self.kind == "leave" else 3
        return w / w.sum(over, keepdim=True).clamp(min=TINY)

    def enter(self, rates: Tensor) -> Tensor:
        """[root, unit, hand] her reach on the coming iteration."""
        if self.kind in RANDOM:
            return self.regret[0]
        reach = self._strategy(rates)[0]
        least = self.least / (rates[3] + 1).sqrt()  # rates end with the number of iterations so far
        reach = least + (1 - least * self.many) * reach
        return reach * self.per if self.kind == "choose" else reach

    def observe(self, values: Tensor, rates: Tensor) -> None:
        """What she got by entering; discounts now and next."""
        if self.kind in RANDOM:
            likely = by_chance(
                self.kind, values * self.per, self.alternative, self.spread, self.seen
            )
            self.regret[0] = likely * self.real
            return
        now = self._strategy(rates[0])
        if self.kind == "leave":
            got = self.torch.stack([values, self.alternative * self.weight])
            gain = got - (now * got).sum(0)
        else:
            got = (values * self.per - self.alternative)[None]
            gain = got - (now * got).sum(3, keepdim=True)
        gain = gain * self.real
        old = self.regret
        self.regret.copy_(old * self.torch.where(old > 0, rates[0, 0], rates[0, 1]) + gain)
        if self.instant is not None:
            self.instant.copy_(gain)


def by_chance(kind: str, value: Tensor, mean: Tensor, spread: Tensor, seen: Tensor) -> Tensor:
    """How likely the alternative lies below: P(X <= v), or the Hedge integral, eq. (3).

    `seen` holds count, sum and sum of squares of the values so far, which Hedge adds to.
    """
    torch = load_torch()
    wide = spread.clamp(min=TINY)
    if kind == "respond":
        fixed = 0.5 * (1 + torch.sign(value - mean))
        return torch.where(spread > 0, torch.special.ndtr((value - mean) / wide), fixed)
    seen[0] += 1
    seen[1] += value
    seen[2] += value * value
    t = seen[0]
    average = seen[1] / t
    variance = (seen[2] / t - average * average).clamp(min=1e-12)
    # eta_t of App. D with two actions; the exponent holds the sum of t payoffs.
    rate = t.sqrt() * math.sqrt(math.log(2)) / (3 * variance.sqrt())
    over_normal, over_logistic = (torch.zeros_like(value) for _ in range(2))
    for x, w in zip(HERMITE_X, HERMITE_W, strict=True):
        over_normal += w * torch.sigmoid(rate * (average - mean - math.sqrt(2) * x * spread))
    for x, w in zip(LOGIT_X, LOGIT_W, strict=True):
        over_logistic += w * torch.special.ndtr((average - mean + x / rate) / wide)
    return torch.where(rate * spread < 2, over_normal, over_logistic)

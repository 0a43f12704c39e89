"""`GadgetInputs`: what a gadget knows of the roots of a subgame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from subgame.errors import brief

if TYPE_CHECKING:
    from collections.abc import Callable

    from subgame.engines.arrays import Array
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

    def raised(self, left: Array) -> GadgetInputs:
        """The same with every alternative at least at what the opponent is `left` inside, [s]."""
        from subgame.engines.arrays import namespace

        xp = namespace(self.alternative)
        return replace(self, alternative=xp.maximum(self.alternative, left))

    def near_one(self) -> GadgetInputs:
        """The same with our largest reach at every root at one.

        Only the shape of our range matters, and kernels like numbers near one.
        """
        from subgame.engines.arrays import TINY, namespace

        largest = namespace(self.our_reach).amax(self.our_reach, -1, keepdims=True).clip(min=TINY)
        return replace(self, our_reach=self.our_reach / largest, weight=self.weight / largest)

    def reached(self, held: Array | float = 1.0) -> GadgetInputs:
        """The same where the blueprint never comes: every root infoset is taken to be as likely.

        `held` is 0 where there is no infoset.
        """
        from subgame.engines.arrays import namespace

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
        import numpy as np

        def put(values: Array) -> Array:
            if not isinstance(values, np.ndarray):
                return values
            return engine.array(values.reshape(engine.tree.num_roots, -1))

        return self.mapped(put, put)

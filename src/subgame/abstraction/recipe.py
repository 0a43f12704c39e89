"""`Recipe`: how hands are put into buckets, for tables (`cards`) and blueprints (`card_buckets`).

>>> Recipe().features, Recipe("quantiles", seed=1).metric
('strength-ochs', 'l2')
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from subgame.errors import ArgumentError, did_you_mean

KINDS = ("ehs", "ehs2", "ochs", "strength-ochs", "emd", "potential", "quantiles")
"""What hands are clustered by; see `features`."""
LOSSLESS = "lossless"
METRICS = ("l2", "l1")
Metric = Literal["l2", "l1"]


@dataclass(frozen=True)
class Recipe:
    """How hands are put into buckets, street by street."""

    features: str = "strength-ochs"
    """One of `KINDS`, or "lossless": every hand for itself, up to suit symmetry."""
    showdown: int | None = None
    """Board cards at the showdown that features look ahead to; by default the game's."""
    metric: Metric = "l2"
    """Distance between features; see `clustering.cluster`."""
    textures: int | None = None
    """Boards are put into so many classes first, by how the features of their hands are
    distributed; no bucket has hands from boards of two classes."""
    opponents: int = 8
    """Clusters of opponents' hands, for OCHS."""
    bins: int = 50
    """Bins of equity, for the earth mover's distance."""
    restarts: int = 1
    iterations: int = 30
    sample: int = 1 << 19
    """Points that centres are found with, at most."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.features not in (LOSSLESS, *KINDS):
            raise did_you_mean("feature", str(self.features), (LOSSLESS, *KINDS))
        if self.metric not in METRICS:
            raise did_you_mean("metric", str(self.metric), METRICS)
        for name in ("textures", "opponents", "bins", "restarts", "iterations", "sample"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ArgumentError(name, f"must be a whole number of at least 1, not {value}.")

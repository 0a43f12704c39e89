"""Clustering of weighted points: k-means++ with restarts, or k-medians, on NumPy or PyTorch.

One implementation for both libraries: the work is a matrix product and sums by cluster, so that a
library of its own would not be faster, and it runs where PyTorch is the only one there is.

    >>> clusters = cluster(np.array([[0.0], [0.1], [5.0], [5.2]]), 2)
    >>> clusters.labels.tolist(), round(clusters.distance, 3)
    ([0, 0, 1, 1], 0.075)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.arrays import as_host, below, counts, order, put, sums, whole
from subgame.abstraction.recipe import Metric, Recipe
from subgame.engines.arrays import Array, namespace
from subgame.errors import ArgumentError

CELLS = {True: 1 << 24, False: 1 << 28}
"""Distances that are computed at once: by NumPy, and by PyTorch."""
ONE_BY_ONE = 256
"""Centres that are drawn one after another; of more, each draw takes several."""
DEFAULT = Recipe()
Tell = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Clusters:
    """A clustering of points."""

    labels: NDArray[np.int32]  # [point] counted from 0, in the order of the centres' first number
    centres: NDArray[np.float32]  # [cluster, d]
    distance: float
    """The mean distance of a point from its centre."""

    @property
    def count(self) -> int:
        """How many clusters are used."""
        return len(self.centres)


def cluster(
    rows: NDArray[Any],
    count: int,
    how: Recipe = DEFAULT,
    *,
    mass: NDArray[Any] | None = None,
    device: str | None = None,
    progress: Tell | None = None,
) -> Clusters:
    """Put points into at most `count` clusters, so that they are near their centres.

    Metric "l2" is k-means: squared Euclidean distances, means as centres. "l1" is k-medians: sums
    of absolute differences, medians as centres. Centres are begun by k-means++ (Arthur &
    Vassilvitskii 2007), on each of `Recipe.restarts`; the best is kept. `Recipe.sample` points at
    most, drawn by their mass, are used to find the centres; then every point goes to the nearest.
    """
    if count < 1:
        raise ArgumentError("count", f"must be a whole number of at least 1, not {count}.")
    metric, rng = how.metric, np.random.default_rng(how.seed)
    weights = np.ones(len(rows)) if mass is None else np.asarray(mass, np.float64)
    used = np.arange(len(rows))
    if how.sample < len(rows):
        used = np.sort(rng.choice(len(rows), how.sample, replace=False, p=weights / weights.sum()))
    sample_rows = put(np.asarray(rows, np.float32)[used], device)
    shares = put(np.ones(len(used)) if len(used) < len(rows) else weights, device)
    best: tuple[float, Array] | None = None
    for k in range(how.restarts):
        centres = _begin(sample_rows, shares, min(count, len(used)), metric, rng)
        for t in range(how.iterations):
            labels, far = assign(sample_rows, centres, metric)
            moved = _moved(sample_rows, shares, labels, far, centres, metric)
            done = bool((moved == centres).all())
            centres = moved
            if progress is not None:
                progress((k + (t + 1) / how.iterations) / how.restarts)
            if done:
                break
        spread = float((assign(sample_rows, centres, metric)[1] * shares).sum())
        if best is None or spread < best[0]:
            best = spread, centres
    assert best is not None
    return _finished(rows, weights, best[1], metric, device)


def _finished(
    rows: NDArray[Any], weights: NDArray[Any], centres: Array, metric: Metric, device: str | None
) -> Clusters:
    """All points at the nearest centre; centres without points are left out."""
    nearest, far = np.empty(len(rows), np.int64), np.empty(len(rows))
    step = 1 << 22
    for at in range(0, len(rows), step):
        part = put(np.asarray(rows[at : at + step], np.float32), device)
        labels, distance = assign(part, centres, metric)
        nearest[at : at + step] = as_host(labels)
        far[at : at + step] = as_host(distance)
    centres = as_host(centres)
    there = np.flatnonzero(np.bincount(nearest, minlength=len(centres)))
    there = there[np.lexsort(centres[there].T[::-1])]
    number = np.zeros(len(centres), np.int32)
    number[there] = np.arange(len(there))
    mean = (np.sqrt(far) if metric == "l2" else far) @ weights / weights.sum()
    return Clusters(number[nearest], centres[there], float(mean))


def assign(rows: Array, centres: Array, metric: Metric) -> tuple[Array, Array]:
    """[point] the nearest centre, and the distance (squared, if it is Euclidean)."""
    xp = namespace(rows)
    labels, far = whole(rows[:, 0] * 0), rows[:, 0] * 0
    step = max(1, CELLS[isinstance(rows, np.ndarray)] // len(centres))
    size = (centres * centres).sum(1)
    for at in range(0, len(rows), step):
        part = rows[at : at + step]
        between = size - 2 * (part @ centres.T) if metric == "l2" else _l1(part, centres)
        nearest = between.argmin(1)
        labels[at : at + step] = nearest
        off = part - centres[nearest]  # again, for a difference of large numbers is rounding
        far[at : at + step] = (off * off if metric == "l2" else xp.abs(off)).sum(1)
    return labels, far


def _l1(part: Array, centres: Array) -> Array:
    """[point, centre] sums of absolute differences."""
    if not isinstance(part, np.ndarray):
        return namespace(part).cdist(part, centres, p=1.0)
    out = np.zeros((len(part), len(centres)), np.float32)
    for mine, other in zip(part.T, centres.T, strict=True):
        out += np.abs(mine[:, None] - other)
    return out


def _begin(rows: Array, mass: Array, count: int, metric: Metric, rng: np.random.Generator) -> Array:
    """Centres by k-means++: each is drawn in proportion to the distance from those before."""
    xp = namespace(rows)
    chosen = rows[below(xp.cumsum(mass, 0), _draws(rng, 1, mass))]
    far = assign(rows, chosen, metric)[1]
    many = max(1, count // ONE_BY_ONE)
    while len(chosen) < count:
        chance = mass * far
        if float(chance.sum()) <= 0:
            break  # there are no more different points
        drawn = below(xp.cumsum(chance, 0), _draws(rng, min(many, count - len(chosen)), chance))
        more = rows[xp.unique(drawn)]
        chosen = xp.concatenate([chosen, more])
        far = xp.minimum(far, assign(rows, more, metric)[1])
    return chosen


def _draws(rng: np.random.Generator, many: int, chance: Array) -> Array:
    """Uniform numbers below the sum of chances."""
    total = float(chance.sum())
    drawn = rng.random(many) * total
    if isinstance(chance, np.ndarray):
        return drawn
    return namespace(chance).as_tensor(drawn, device=chance.device)


def _moved(
    rows: Array, mass: Array, labels: Array, far: Array, centres: Array, metric: Metric
) -> Array:
    """Centres in the middle of their points; one without points goes to the farthest point."""
    xp, count = namespace(rows), len(centres)
    held = counts(labels, mass, count)
    if metric == "l2":
        total = sums(rows * (mass[:, None] * 1.0), labels, count)
        middle = total / held.clip(min=1e-300)[:, None]
        middle = middle.astype(np.float32) if isinstance(middle, np.ndarray) else middle.float()
    else:
        middle = _medians(rows, mass, labels, held, centres)
    empty = xp.where(held <= 0)[0]
    if len(empty):
        middle[empty] = rows[order(-far * mass)[: len(empty)]]
    return middle


def _medians(rows: Array, mass: Array, labels: Array, held: Array, centres: Array) -> Array:
    """[cluster, d] weighted medians."""
    xp, out = namespace(rows), centres + 0
    before = xp.cumsum(held, 0) - held
    there = xp.where(held > 0)[0]
    for d in range(rows.shape[1]):
        line = order(rows[:, d])
        line = line[order(labels[line])]  # by cluster, and within it by value
        middle = below(xp.cumsum(mass[line], 0), (before + held / 2)[there] * (1 - 1e-12))
        out[there, d] = rows[line[middle], d]
    return out

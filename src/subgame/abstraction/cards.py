"""Card abstraction: hands on boards put into buckets, street by street.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.holdem.nlfh(ranks="9TJQKA", suits="hs"), merge="boards")
    >>> made = abstract(tree, {"flop": 20})
    >>> made.buckets
    flop: 20 buckets for 3,960 hands on 110 boards
    >>> made.quality["flop"].used, made.quality["flop"].points
    (20, 3960)

Streets that are not named keep every hand on every board. A bucket may hold hands of any boards and
any past (imperfect recall).
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.clustering import Clusters, cluster
from subgame.abstraction.features import features
from subgame.abstraction.points import Points, points
from subgame.abstraction.recipe import LOSSLESS, Recipe
from subgame.errors import (
    ArgumentError,
    SubgameError,
    check_regular,
    did_you_mean,
    reading,
    unreadable,
)
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.sizes import STREETS
from subgame.memory import Allowance
from subgame.tree.files import replacing
from subgame.tree.ranges.buckets import Buckets, check_not_merged
from subgame.tree.ranges.tree import RangeTree

Labels = NDArray[np.int32]
FORMAT = "subgame-buckets-1"
WANTED = "a file of buckets"
PER_CLUSTER = 100
"""Points per cluster that centres are found with, at least, unless `Recipe.sample` says more."""
_FEATURES: dict[tuple[Any, ...], NDArray[np.float32]] = {}
"""The features found last: clusterings into other numbers of buckets need them again."""
Progress = Callable[[str, float], None]
"""Called with the current step and the share of it that is done."""


@dataclass(frozen=True)
class Quality:
    """How well the buckets of a street hold what they should."""

    points: int  # hands on boards, up to suit symmetry
    asked: int | None
    used: int
    distance: float
    """The mean distance of a hand's features from the centre of its bucket."""
    smallest: float
    """Mass of the smallest bucket, as a share of the mean."""
    largest: float


@dataclass(frozen=True, eq=False)
class Abstraction:
    """Buckets of a tree, how they were made, and how good they are."""

    buckets: Buckets
    recipe: Recipe
    quality: dict[str, Quality]

    def save(self, path: str | Path) -> None:
        """Write the buckets, the recipe and the tree's hash to a file, for `load`."""
        names = {STREETS[street.index]: s for s, street in enumerate(self.buckets.tree.streets)}
        maps = {name: self.buckets.groupings[names[name]].of for name in self.quality}
        head = {
            "format": FORMAT,
            "tree": self.buckets.tree.digest,
            "game": str(self.buckets.tree.game_name),
            "recipe": asdict(self.recipe),
            "quality": {name: asdict(quality) for name, quality in self.quality.items()},
        }
        write_arrays(Path(path), {"head": np.array(json.dumps(head)), **maps})

    @classmethod
    def load(cls, path: str | Path, tree: RangeTree) -> Abstraction:
        """Read what `save` wrote, for the same tree."""
        arrays = read_arrays(path, WANTED)
        with reading(path, WANTED):
            head = json.loads(str(arrays["head"]))
            maps = {name: arrays[name] for name in head["quality"]}
            quality = {name: Quality(**fields) for name, fields in head["quality"].items()}
            recipe = Recipe(**head["recipe"])
        if head.get("format") != FORMAT or head.get("tree") != tree.digest:
            raise SubgameError(
                f"{path} has the buckets of {head.get('game')}, not of {tree.game_name}."
            )
        # Bucket -1 marks hands that nobody can hold; any number will do there.
        with reading(path, WANTED):
            buckets = Buckets(tree, {name: np.maximum(of, 0) for name, of in maps.items()})
        return cls(buckets, recipe, quality)


def abstract(
    tree: RangeTree,
    counts: Mapping[str, int],
    recipe: Recipe | str | None = None,
    *,
    device: str | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Abstraction:
    """Buckets for some streets of a hold'em tree: at most `counts` of them on each street.

    `recipe` says how; a word names its features. `device` is ``"torch"`` or ``"cuda"`` to cluster
    with PyTorch; by default NumPy does. `cache` is a folder where clusterings are kept: one that
    was made from the same cards by the same recipe is read from there.
    """
    check_not_merged(tree)
    how = Recipe(recipe) if isinstance(recipe, str) else recipe or Recipe()
    names = [STREETS[street.index] for street in tree.streets]
    maps, quality = {}, {}
    for name, count in counts.items():
        if name not in names:
            raise did_you_mean("street of this tree", str(name), names)
        if how.features == LOSSLESS:
            maps[name] = Buckets.lossless(tree, [name]).groupings[names.index(name)].of
            maps[name] = np.maximum(maps[name], 0)
            used = int(maps[name].max()) + 1
            quality[name] = Quality(used, None, used, 0.0, 1.0, 1.0)
            continue
        if not isinstance(count, int) or count < 1:
            raise ArgumentError("counts", f"must be whole numbers of at least 1, not {count}.")
        s = names.index(name)
        where = points(tree.holdem.deck, BOARD_CARDS[tree.streets[s].index])
        showdown = how.showdown or BOARD_CARDS[tree.holdem.rules.last_street]
        clusters = _clusters(where, count, how, showdown, device, cache, progress)
        maps[name] = _numbered(clusters.labels[where.of(tree.units.dealt[s].cards)])
        quality[name] = _quality(where, clusters, count)
    return Abstraction(Buckets(tree, maps), how, quality)


def _numbered(labels: Labels) -> Labels:
    """Buckets counted from 0 without gaps: a tree with narrow ranges may not have them all."""
    used = np.zeros(int(labels.max()) + 1, np.int32)
    used[labels] = 1
    return (np.cumsum(used, dtype=np.int32) - np.int32(1))[labels]


def _quality(where: Points, clusters: Clusters, count: int) -> Quality:
    mass = np.bincount(clusters.labels, where.mass)
    ends = mass.min() / mass.mean(), mass.max() / mass.mean()
    return Quality(len(where), count, len(mass), clusters.distance, float(ends[0]), float(ends[1]))


# Clusters of one street ------------------------------------------------------------------------


def _clusters(
    where: Points,
    count: int,
    how: Recipe,
    showdown: int,
    device: str | None,
    cache: str | Path | None,
    progress: Progress | None,
) -> Clusters:
    """Clusters of all points of a street, from the cache if they are there."""
    file = None
    if cache is not None:
        file = Path(cache) / f"{_key(where.deck, where.cards, count, how, showdown)}.npz"
        if file.exists():
            kept = read_arrays(file, "a clustering that abstract has kept")
            with reading(file, "a clustering that abstract has kept"):
                return Clusters(kept["labels"], kept["centres"], float(kept["distance"]))

    def tell(what: str) -> Callable[[float], None] | None:
        return None if progress is None else lambda done: progress(what, done)

    key = (where.deck, where.cards, how.features, showdown, how.opponents, how.bins, device)
    if key not in _FEATURES:
        _FEATURES.clear()  # one at a time: they are large
        _FEATURES[key] = features(where, how, showdown, device=device, progress=tell("Features"))
    rows, watch = _FEATURES[key], tell("Clusters")
    if how.textures is None:
        sampled = replace(how, sample=max(how.sample, PER_CLUSTER * count))
        clusters = cluster(rows, count, sampled, mass=where.mass, device=device, progress=watch)
    else:
        clusters = _by_texture(where, rows, count, how, device, watch)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(
            file,
            {"labels": clusters.labels, "centres": clusters.centres, "distance": clusters.distance},
        )
    return clusters


def _key(deck: Deck, cards: int, count: int, how: Recipe, showdown: int) -> str:
    """What a clustering depends on, as a short hash."""
    content = {"deck": [deck.ranks, deck.suits], "cards": cards, "count": count, "v": 1}
    content |= {"recipe": {**asdict(how), "showdown": showdown}}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to a file, which is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new, new.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_arrays(path: str | Path, wanted: str) -> dict[str, NDArray[Any]]:
    """The arrays of a file that `write_arrays` wrote; errors name the file `wanted`."""
    check_regular(path, wanted, math.inf)
    try:
        with zipfile.ZipFile(path) as file:
            size = sum(entry.file_size for entry in file.infolist())
        Allowance.of(None).refuse(f"{path}, which is compressed,", size)
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)
    except SubgameError:
        raise
    except OSError as error:
        raise unreadable(path, error, wanted) from None
    except Exception:  # zip files and arrays that are damaged raise errors of many kinds
        raise unreadable(path, "is damaged", wanted) from None


def _by_texture(
    where: Points,
    rows: NDArray[np.float32],
    count: int,
    how: Recipe,
    device: str | None,
    progress: Callable[[float], None] | None,
) -> Clusters:
    """Clusters within classes of boards, as many in each as it has of the mass."""
    assert how.textures is not None
    board = np.repeat(np.arange(len(where.boards)), np.diff(where.starts()))
    classes, mass = min(how.textures, count), np.bincount(board, where.mass)
    texture = cluster(
        _board_rows(where, rows, board), classes, how, mass=mass, device=device
    ).labels[board]
    share = np.bincount(texture, where.mass) / where.mass.sum()
    labels, centres, far = np.zeros(len(where), np.int32), list[Any](), 0.0
    ends = np.cumsum(1 + (count - len(share)) * share).round(6).astype(np.int64)
    for k, many in enumerate(np.diff(ends, prepend=0).tolist()):
        here = np.flatnonzero(texture == k)
        sample = max(how.sample * len(here) // len(where), PER_CLUSTER * many)
        sampled, mass = replace(how, sample=sample), where.mass[here]
        clusters = cluster(rows[here], many, sampled, mass=mass, device=device, progress=progress)
        labels[here] = clusters.labels + sum(map(len, centres))
        centres.append(clusters.centres)
        far += clusters.distance * where.mass[here].sum()
    return Clusters(labels, np.concatenate(centres), far / float(where.mass.sum()))


def _board_rows(
    where: Points, rows: NDArray[np.float32], board: NDArray[np.int64], bins: int = 10
) -> NDArray[np.float32]:
    """[board, d] how the features of a board's hands are distributed, each cumulatively in bins."""
    out, total = [], np.bincount(board, where.mass)
    for column in rows.T:
        low, high = float(column.min()), float(column.max())
        place = ((column - low) * (bins / max(high - low, 1e-12))).astype(np.int64)
        at = board * bins + np.minimum(place, bins - 1)
        table = np.bincount(at, where.mass, len(total) * bins).reshape(-1, bins)
        out.append(np.cumsum(table, axis=1)[:, :-1] / total[:, None] / bins)
    return np.concatenate(out, axis=1).astype(np.float32)

"""Clusters against SciPy and brute force, and buckets of whole trees."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2
from scipy.spatial.distance import cdist

import subgame as sg
from subgame.abstraction import cards, clustering
from subgame.abstraction.arrays import put
from subgame.abstraction.clustering import assign, cluster
from subgame.abstraction.recipe import Recipe
from subgame.games.holdem.isomorphism import canonicalise
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
DEVICES = [None, "torch"]


def blobs(seed: int, n: int = 300, d: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.integers(5, size=(n, d)) + 0.1 * rng.random((n, d))).astype(np.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_means_are_those_of_scipy_from_the_same_start(
    device: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = blobs(1)
    start = rows[np.random.default_rng(2).permutation(len(rows))[:9]]
    monkeypatch.setattr(clustering, "_begin", lambda *_: put(start, device))
    result = cluster(rows, 9, Recipe(iterations=100), device=device)
    centres, labels = kmeans2(
        rows.astype(np.float64), start.astype(np.float64), 100, minit="matrix"
    )
    order = np.lexsort(centres.T[::-1])
    assert np.allclose(result.centres, centres[order], atol=1e-5)
    assert np.array_equal(order[result.labels], labels)
    far = np.linalg.norm(rows - centres[labels], axis=1)
    assert result.distance == pytest.approx(far.mean(), rel=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_medians_are_the_best_centres(device: str | None) -> None:
    """The sum of distances from weighted medians is the least; mass counts as copies do."""
    rows, rng = blobs(3, 80, 2), np.random.default_rng(4)
    mass = rng.integers(1, 5, len(rows))
    result = cluster(rows, 6, Recipe(metric="l1", restarts=3), mass=mass, device=device)
    many = np.repeat(rows, mass, axis=0)
    labels = np.repeat(result.labels, mass)
    assert np.array_equal(result.labels, cdist(rows, result.centres, "cityblock").argmin(1))
    for k in range(result.count):
        here = many[labels == k]
        want = np.abs(here - np.median(here, axis=0)).sum()
        assert np.abs(here - result.centres[k]).sum() == pytest.approx(want, rel=1e-5)


def test_restarts_choose_the_better_and_seeds_repeat() -> None:
    rows = blobs(5)
    one, again, best = (cluster(rows, 12, Recipe(restarts=k, seed=7)) for k in (1, 1, 8))
    assert np.array_equal(one.labels, again.labels)

    def spread(result: clustering.Clusters) -> float:
        return float(((rows - result.centres[result.labels]) ** 2).sum())

    assert spread(best) <= spread(one)
    assert {cluster(rows, 12, Recipe(seed=seed)).distance for seed in range(5)} != {one.distance}
    few = cluster(rows[:3].repeat(4, axis=0), 9)
    assert few.count == 3
    assert few.distance == 0


def test_many_centres_are_drawn_from_a_sample_and_all_points_assigned() -> None:
    rows = np.random.default_rng(8).random((4000, 2)).astype(np.float32)
    result = cluster(rows, 600, Recipe(sample=2500, iterations=3))
    assert 550 < result.count <= 600
    assert np.array_equal(result.labels, cdist(rows, result.centres).argmin(1))
    assert assign(rows, result.centres, "l2")[1].max() < 0.02


# Buckets ---------------------------------------------------------------------------------------
def turn_tree() -> RangeTree:
    return compile_range_tree(sg.holdem.nlth(20, 1, 2, "all: none", "TJQKA", "hs"))


def test_buckets_forget_the_order_of_board_cards() -> None:
    tree = turn_tree()
    made = cards.abstract(tree, {"turn": 10, "flop": 7})
    boards = tree.units.dealt[2].cards
    form = [tuple(row) for row in canonicalise(boards, (4,), tree.holdem.deck)[0].tolist()]
    twice = [(i, j) for i, j in itertools.combinations(range(len(form)), 2) if form[i] == form[j]]
    assert twice
    of = made.buckets.groupings[2].of
    for i, j in twice[:50]:
        assert sorted(of[i].tolist()) == sorted(of[j].tolist())
    assert (made.quality["flop"].used, made.quality["turn"].used) == (7, 10)


def test_textures_share_no_bucket() -> None:
    tree = turn_tree()
    made = cards.abstract(tree, {"flop": 24}, Recipe(textures=4))
    of = made.buckets.groupings[1].of
    assert made.quality["flop"].used <= 24
    sets = [frozenset(row[row >= 0].tolist()) for row in of]
    joined: list[set[int]] = []
    for buckets in sets:  # boards that share a bucket are of one texture
        touching = [group for group in joined if group & buckets]
        joined = [group for group in joined if not group & buckets]
        joined.append(set(buckets).union(*touching))
    assert 2 <= len(joined) <= 4


def test_more_buckets_are_nearer_and_all_of_them_are_lossless() -> None:
    tree = turn_tree()
    distances = [cards.abstract(tree, {"flop": k}).quality["flop"].distance for k in (2, 8, 32)]
    assert distances == sorted(distances, reverse=True)
    every = cards.abstract(tree, {"flop": 1, "turn": 1}, "lossless")
    assert every.buckets.groupings[1].count == every.quality["flop"].used
    assert every.quality["flop"].distance == 0


def test_clusterings_are_kept_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, messages = turn_tree(), []
    first = cards.abstract(
        tree, {"flop": 9}, cache=tmp_path, progress=lambda *step: messages.append(step)
    )
    assert messages
    assert messages[-1][0] == "Clusters"

    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(cards, "features", never)
    monkeypatch.setattr(cards, "cluster", never)
    again = cards.abstract(tree, {"flop": 9}, cache=tmp_path)
    assert np.array_equal(first.buckets.groupings[1].of, again.buckets.groupings[1].of)
    assert first.quality == again.quality
    for other in (Recipe(seed=1), Recipe(showdown=5), Recipe("emd")):
        with pytest.raises(AssertionError, match="computed again"):
            cards.abstract(tree, {"flop": 9}, other, cache=tmp_path)
    first.save(tmp_path / "flop.npz")
    read = cards.Abstraction.load(tmp_path / "flop.npz", tree)
    assert np.array_equal(first.buckets.groupings[1].of, read.buckets.groupings[1].of)
    assert (read.recipe, read.quality) == (first.recipe, first.quality)
    larger = compile_range_tree(sg.holdem.nlfh(20, 1, 2, ranks="TJQKA", suits="hs"))
    with pytest.raises(sg.SubgameError, match="has the buckets of"):
        cards.Abstraction.load(tmp_path / "flop.npz", larger)
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(sg.SubgameError, match="is damaged; expected a file of buckets"):
        cards.Abstraction.load(tmp_path / "bad.npz", tree)


def test_bad_recipes_are_refused() -> None:
    tree = turn_tree()
    with pytest.raises(sg.SubgameError, match="no feature called 'emb'"):
        cards.abstract(tree, {"flop": 3}, "emb")
    with pytest.raises(sg.SubgameError, match="did you mean 'flop'"):
        cards.abstract(tree, {"flopp": 3})
    with pytest.raises(sg.SubgameError, match="whole numbers of at least 1"):
        cards.abstract(tree, {"flop": 0})
    with pytest.raises(sg.SubgameError, match="bins must be a whole number"):
        Recipe(bins=0)
    with pytest.raises(sg.SubgameError, match="metric"):
        Recipe(metric="l3")  # type: ignore[arg-type]

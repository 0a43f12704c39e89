"""Features of hands, by which they are clustered.

Equity is the chance to win at the showdown, ties counting half. A hand with cards to come has a
distribution of equities, over the cards to come:

| feature | what it is |
| --- | --- |
| `ehs` | E[HS], the mean equity against a uniformly random hand |
| `ehs2` | E[HS²], which prefers hands that may improve (Johanson 2007) |
| `ochs` | mean equity against each of some clusters of opponents' hands (Johanson et al. 2013) |
| `strength-ochs` | both: E[HS] and `ochs`; where no cards come any more, all there is to know |
| `emd` | the distribution of equity in bins; distance = earth mover's |
| `potential` | the distribution over buckets of the next street, found in the same way |
| `quantiles` | quantiles of the distribution of equity in whole numbers, as blueprints have them |

The distance of `emd` and `potential` is the earth mover's (Ganzfried & Sandholm 2014).

The showdown is the game's: in flop hold'em it is on the flop, where nothing is to come. With
``showdown=5`` hands on a flop have the potential that they have in Texas hold'em.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.arrays import as_host, counts, put, whole
from subgame.abstraction.clustering import cluster
from subgame.abstraction.points import Points, keys, points
from subgame.abstraction.recipe import KINDS, Recipe
from subgame.abstraction.strength_tables import Tables
from subgame.engines.arrays import Array, namespace
from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import beaten, dense_ranks, rank_hands
from subgame.games.holdem.isomorphism import canonical_boards, canonicalise, hand_permutations

Floats = NDArray[np.float64]
Single = NDArray[np.float32]
Ints = NDArray[np.int64]
BATCH = {True: 64, False: 1024}
"""Boards whose equities are computed at once: by NumPy, and by PyTorch."""
CELLS = {True: 1 << 21, False: 1 << 26}
"""Numbers that are worked on at once: by NumPy, and by PyTorch."""
Tell = Callable[[float], None]


def features(
    where: Points,
    how: Recipe,
    showdown: int,
    *,
    device: str | None = None,
    progress: Tell | None = None,
) -> Single:
    """[point, d] the features of every point, for a showdown with so many cards.

    `device` is ``"torch"`` or ``"cuda"`` to compute with PyTorch; by default NumPy does.

    >>> from subgame.games.holdem.cards import Deck
    >>> flop = points(Deck("9TJQKA", "hs"), 3)
    >>> features(flop, Recipe("ehs"), 3).shape, features(flop, Recipe("ochs"), 4).shape
    ((3960, 1), (3960, 8))
    """
    kind, every = how.features, _every(where.deck)[None]
    if kind not in KINDS:
        raise did_you_mean("feature", str(kind), KINDS)
    if kind == "quantiles":
        return score_quantiles(where, showdown, device)
    if kind in ("ehs", "ehs2"):
        return _means(where, showdown, every, 2 if kind == "ehs2" else 1, device, progress)
    if kind == "emd":
        return equity_distribution(where, showdown, how.bins, device, progress)
    if kind == "potential":
        return potential(where, showdown, how.bins, device, progress)[0]
    groups = opponent_groups(where.deck, showdown, how.opponents)
    if kind == "strength-ochs":
        groups = np.concatenate([every, groups])
    return _means(where, showdown, groups, 1, device, progress)


@lru_cache(maxsize=8)
def opponent_groups(deck: Deck, showdown: int, count: int = 8) -> Floats:
    """[group, hand] clusters of hands before the flop, by their distributions of equity."""
    start = points(deck, 0)
    rows = equity_distribution(start, showdown)
    labels = cluster(rows, min(count, len(start)), Recipe(restarts=10), mass=start.mass).labels
    inside: NDArray[np.bool_] = labels[start.index[0]] == np.arange(labels.max() + 1)[:, None]
    return inside.astype(np.float64)


def equity_distribution(
    where: Points,
    showdown: int,
    bins: int = 50,
    device: str | None = None,
    progress: Tell | None = None,
) -> Single:
    """[point, bin] the cumulative distribution of equity over bins of equal width, up to each.

    The L1 distance between two of these rows is the earth mover's distance of the two
    distributions, if every equity is moved to the middle of its bin.
    """
    out = np.zeros((len(where), bins), np.float32)
    table = _table(where.deck, showdown, _every(where.deck).tobytes(), device)
    for runouts in _runouts(where, showdown, table, device, progress):
        size = runouts.part.stop - runouts.part.start
        at = runouts.point * bins + whole((runouts.equity * bins).clip(max=bins - 1))
        distribution = counts(at, runouts.weight, size * bins).reshape(size, bins)
        total = distribution.sum(1, keepdims=True).clip(min=1)
        out[runouts.part] = as_host(namespace(distribution).cumsum(distribution, 1) / total)
    return out / np.float32(bins)


def potential(
    where: Points,
    showdown: int,
    bins: int = 50,
    device: str | None = None,
    progress: Tell | None = None,
) -> tuple[Single, Floats]:
    """[point, bin] the distribution over buckets of the next street, and [point] mean strengths.

    The hands of the next street are clustered by this same function, down to the showdown, where
    buckets are bins of equity. Buckets lie on a line by their mean strength, so that the earth
    mover's distance of two distributions is the L1 distance of their cumulative sums, each weighted
    by the way to the next bucket. (Ganzfried & Sandholm 2014 take the earth mover's distance of the
    next street also between buckets; on a line it can be embedded, and clustered without pairs.)
    """
    after = 3 if where.cards == 0 else where.cards + 1
    if after >= showdown:
        distribution = equity_distribution(where, showdown, bins, device, progress)
        return distribution, 1 - distribution.sum(1, dtype=np.float64)
    come = points(where.deck, after)
    rows, strength = potential(come, showdown, bins, device, _share(progress, 0, 2))
    labels = cluster(rows, bins, mass=come.mass, device=device).labels
    mass = np.bincount(labels, come.mass)
    middle = np.bincount(labels, come.mass * strength) / mass
    rank = np.empty(len(middle), np.int64)
    rank[np.argsort(middle, kind="stable")] = np.arange(len(middle))
    line, many = np.sort(middle), len(middle)
    table = np.where(come.index >= 0, rank[labels][come.index], -1).astype(np.float32)
    out, mean = np.zeros((len(where), many - 1), np.float32), np.zeros(len(where))
    for runouts in _runouts(where, after, table, device, _share(progress, 1, 2)):
        size = runouts.part.stop - runouts.part.start
        at = runouts.point * many + whole(runouts.equity)
        distribution = as_host(counts(at, runouts.weight, size * many)).reshape(size, many)
        distribution = distribution / np.maximum(distribution.sum(1, keepdims=True), 1)
        mean[runouts.part] = distribution @ line
        out[runouts.part] = np.cumsum(distribution, axis=1)[:, :-1] * np.diff(line)
    return out, mean


def score_quantiles(where: Points, showdown: int, device: str | None = None) -> Single:
    """[point, quantile] the scores of hands over all boards to come; at the showdown the score."""
    if where.cards == 0:
        raise SubgameError("Quantiles are features from the flop on; take others before it.")
    maker = Tables.of(where.deck, showdown, device)
    rows = list[Single]()
    for at in range(0, len(where.boards), BATCH[True]):
        some = slice(at, at + BATCH[True])
        boards, index = where.boards[some], where.index[some]
        first = np.unique(index[index >= 0], return_index=True)[1]
        rows.append(as_host(maker.features(boards))[index >= 0][first].astype(np.float32))
    return np.concatenate(rows)


def _every(deck: Deck) -> Floats:
    return np.ones(deck.num_hands)


def _means(
    where: Points,
    showdown: int,
    groups: Floats,
    power: int,
    device: str | None,
    progress: Tell | None,
) -> Single:
    """[point, group] the mean of a power of equity against each group; 1/2 where it has no hand."""
    out = np.full((len(where), len(groups)), 0.5, np.float32)
    for g, group in enumerate(groups):
        tell = _share(progress, g, len(groups))
        table = _table(where.deck, showdown, group.tobytes(), device)
        for runouts in _runouts(where, showdown, table, device, tell):
            size = runouts.part.stop - runouts.part.start
            total = as_host(counts(runouts.point, runouts.weight * runouts.equity**power, size))
            many = as_host(counts(runouts.point, runouts.weight, size))
            np.divide(total, many, out=out[runouts.part, g], where=many > 0, casting="same_kind")
    return out


def _share(progress: Tell | None, k: int, of: int) -> Tell | None:
    """Progress of one part of several."""
    return None if progress is None else lambda done: progress((k + done) / of)


class _Runouts(NamedTuple):
    """Hands of some points at the showdown, one entry for each hand and board."""

    part: slice  # the points
    point: Array  # counted from the first of them
    equity: Array
    weight: Array  # how many deals of the cards to come it stands for


def _runouts(
    where: Points, showdown: int, by_board: Single, device: str | None, progress: Tell | None
) -> Iterator[_Runouts]:
    """What a table says of every hand, on all boards that may come, some boards a time.

    `given` [canonical board, hand] is of boards with `showdown` cards: equity, or a bucket; -1
    where there is nothing to say.
    """
    come = _to_come(where.deck, where.cards, showdown)
    table = put(by_board, device)
    images = put(hand_permutations(where.deck), device)
    starts, index = where.starts(), put(where.index, device)
    hands, many = where.deck.num_hands, len(come.first) - 1
    step = CELLS[isinstance(table, np.ndarray)] // hands
    xp, b = namespace(table), 0
    while b < many:
        end = max(b + 1, int(np.searchsorted(come.first, come.first[b] + step, side="right")) - 1)
        some = slice(come.first[b], come.first[end])
        part = slice(int(starts[b]), int(starts[end]))
        board, permutation, parent, weight = (
            put(column[some], device)
            for column in (come.board, come.permutation, come.parent, come.weight)
        )
        equity = xp.take(table.reshape(-1), board[:, None] * hands + images[permutation])
        point = index[parent]
        real = (equity >= 0) & (point >= 0)
        weights = (weight[:, None] * xp.ones_like(equity))[real]
        yield _Runouts(part, whole(point[real]) - part.start, equity[real], weights)
        b = end
        if progress is not None:
            progress(b / many)


class _ToCome(NamedTuple):
    """Boards of a showdown as they may come. Axis: r = a board and those it stands for."""

    first: Ints  # [b + 1] where those of each canonical board begin
    parent: Ints  # [r] the canonical board before
    board: Ints  # [r] the canonical board of the showdown
    permutation: Ints  # [r] of the suits, that leads to it
    weight: Floats  # [r] how many it stands for


@lru_cache(maxsize=4)
def _to_come(deck: Deck, cards: int, showdown: int) -> _ToCome:
    if showdown < max(cards, 3):
        raise SubgameError(
            f"A showdown with {showdown} cards cannot follow a board of {cards} cards; give at "
            f"least {max(cards, 3)}."
        )
    groups = tuple(size for size in (cards, showdown - cards) if size)
    boards, last = canonical_boards(groups, deck), canonical_boards((showdown,), deck)
    form, permutation = canonicalise(boards.cards, (showdown,), deck)
    board = np.searchsorted(keys(last.cards), keys(form))
    before = keys(boards.cards[:, :cards])
    parent = np.cumsum(np.diff(before, prepend=before[:1]) != 0)
    first = np.searchsorted(parent, np.arange(parent[-1] + 2))
    return _ToCome(first, parent, board, permutation, boards.weights.astype(np.float64))


@lru_cache(maxsize=2)
def _table(deck: Deck, showdown: int, group: bytes, device: str | None) -> Single:
    """[canonical board, hand] equity against a group of hands; -1 where nobody is met."""
    ranks = _ranks(deck, showdown)
    mass, hands = put(np.frombuffer(group), device), put(deck.hands, device)
    out, xp = np.empty(ranks.shape, np.float32), namespace(mass)
    step = BATCH[isinstance(mass, np.ndarray)]
    for at in range(0, len(out), step):
        rank = put(ranks[at : at + step].astype(np.int64), device)
        won, met = beaten(xp, rank, hands, deck.size, mass)
        ratio = xp.where(met > 0, won / xp.where(met > 0, met, 1.0), -1.0)
        out[at : at + step] = as_host(ratio)
    return out


@lru_cache(maxsize=1)
def _ranks(deck: Deck, showdown: int) -> NDArray[np.int16]:
    """[canonical board, hand] ranks at the showdown, counted on every board; -1 if blocked."""
    boards, every = canonical_boards((showdown,), deck).cards, np.arange(deck.num_hands)
    step = BATCH[True]
    parts = [boards[at : at + step] for at in range(0, len(boards), step)]
    return np.concatenate([dense_ranks(rank_hands(part, deck), every)[0] for part in parts])

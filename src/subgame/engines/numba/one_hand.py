"""What one hand wins in a betting tree against a range: a kernel for AIVAT.

`sampled_kernels.sweep` finds the values of all hands of a player at once. For one hand no value is
carried up the tree: the hand's own probabilities are numbers, and each end of the betting is one
sum over the opponent's hands. That takes a twentieth of the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.compiling import njit
from subgame.engines.numba.sampled_kernels import Flat, Hands


@njit(cache=True, nogil=True, error_model="numpy")
def _one_hand(p, f, sigma, hands, h, reach, own):
    """(won, met): sums over the opponent's hands; `reach` and `own` are scratch by sequence."""
    o, width = 1 - p, len(hands.cards)
    a, b = hands.cards[h, 0], hands.cards[h, 1]
    folds, shows = np.zeros(width, np.float32), np.zeros(width, np.float32)
    for k in range(width):
        c, d = hands.cards[k, 0], hands.cards[k, 1]
        if c != a and c != b and d != a and d != b:
            folds[k] = 1
            shows[k] = np.sign(hands.tie_of[h] - hands.tie_of[k])
    reach[0], own[0] = 1, 1
    for d in range(len(f.player)):
        bucket, k = hands.bucket[f.street[d]], f.counts[f.street[d]]
        for e in range(f.first[d], f.first[d + 1]):
            at = f.cell[d] + (e - f.first[d]) * k
            if f.player[d] == p:
                own[e - f.base[p]] = own[f.parent[d]] * sigma[at + bucket[h]]
            else:
                above, into = reach[f.parent[d]], reach[e - f.base[o]]
                for j in range(width):
                    into[j] = above[j] * sigma[at + bucket[j]]
    won = 0.0
    for z in range(len(f.fold_stake)):
        mine = own[f.fold_at[p, z]]
        if mine > 0:
            won += mine * f.fold_stake[z] * np.dot(reach[f.fold_at[o, z]], folds)
    won = won if p == 0 else -won
    for z in range(len(f.show_stake)):
        mine = own[f.show_at[p, z]]
        if mine > 0:
            won += mine * f.show_stake[z] * np.dot(reach[f.show_at[o, z]], shows)
    return won


def one_hand(
    p: int, tree: Flat, sigma: NDArray[np.float32], hands: Hands, h: int, sequences: tuple[int, int]
) -> float:
    """What hand `h` of player `p` wins below the root, times the reach of the opponent's hands.

    `sequences` is how many each player has in the tree; other arguments are those of `sweep`.
    """
    reach = np.empty((sequences[1 - p], len(hands.cards)), np.float32)
    own = np.empty(sequences[p], np.float64)
    return float(_one_hand(p, tree, sigma, hands, h, reach, own))

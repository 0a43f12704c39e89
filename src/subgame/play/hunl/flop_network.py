"""Values at the end of the flop from a small network (Brown, Sandholm & Amos 2018, Sec. 6.2).

A description of a leaf and of both players' buckets goes in; out comes what the opponent wins, in
pots, if it goes on by the blueprint or by the blueprint biased towards folding, calling or raising.
The network has 34 inputs and four outputs, as the paper's. The inputs are those of the opponent's
bucket, of ours, of the pair, of the betting and of the flop.

`subgame.play.hunl.flop_training` trains it with PyTorch. Here it is asked, by NumPy alone. The
first layer is a sum of the parts of both buckets, so that a pair of buckets only adds them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.abstraction.strength_tables import QUANTILES, QUARTERS
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.strengths import BINS, ahead, mean_ahead
from subgame.errors import DAMAGED, SubgameError
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.preflop_values import digest, leaves_of
from subgame.play.hunl.street import BucketValues, StreetEnd
from subgame.tree.files import check_finite, read_tensors, write_tensors
from subgame.tree.ranges.betting_tree import grow_street

Singles = NDArray[np.float32]
Ints = NDArray[np.integer[Any]]
FORMAT = "subgame-flop-network-1"
WANTED = "a network of values at the end of the flop"
SUFFIX = ".flop-network.safetensors"
"""Of the network's file, beside that of its blueprint."""
THEIRS, OURS = slice(0, QUANTILES), slice(QUANTILES, 2 * QUANTILES)
EQUITY = slice(2 * QUANTILES, 2 * QUANTILES + 3)
PLACE = slice(EQUITY.stop, EQUITY.stop + 15)
"""The inputs: quantiles of both buckets, the pair's equities, the betting and the flop."""
INPUTS = PLACE.stop
STRONG, STEP = (0.5, 0.15), 3
"""The shares of hands that are strong, for the pair's other equities, and which of the boards are
looked at for them. Large pots are won between strong hands."""
ROWS = 4096
"""Pairs that are computed at once, so that they stay in the cache."""


class FlopPairs(NamedTuple):
    """How the buckets of a flop meet. Axes: b and c = buckets that hands have there."""

    buckets: Ints  # [b] which of the blueprint's buckets they are
    of: Ints  # [hand] its b; -1 where the flop blocks it
    equity: Singles  # [3, b, c] how often b wins minus how often c does, on all boards to come;
    # and on those on which both are strong, as a multiple of how often that is
    met: Singles  # [b, c] pairs of hands that share no card


@lru_cache(maxsize=4)
def flop_pairs(blueprint: StoredBlueprint, flop: tuple[int, ...]) -> FlopPairs:
    """The buckets of a flop; it takes 0.3 seconds, and what was asked last is kept."""
    deck, bucket = blueprint.game.deck, blueprint.cards.of(flop).astype(np.int64)
    free = np.flatnonzero(bucket >= 0)
    buckets, of = np.unique(bucket[free], return_inverse=True)
    member = np.eye(len(buckets), dtype=np.float32)[of]
    final, pairs = BOARD_CARDS[-1], np.ix_(free, free)
    tables = [mean_ahead(flop, final, deck)]
    tables += [ahead(flop, final, deck, strong, STEP) / strong for strong in STRONG]
    met = member.T @ deck.disjoint[pairs].astype(np.float32) @ member
    at = np.full(len(bucket), -1)
    at[free] = of
    sums = np.stack([member.T @ table[pairs] @ member for table in tables])
    equity: Singles = (sums / np.maximum(met, 1)).astype(np.float32)
    return FlopPairs(buckets, at, equity, met)


def quantile_inputs(blueprint: StoredBlueprint) -> Singles:
    """[bucket, quantile] the centres of the flop's buckets, from -1 to 1."""
    inputs: Singles = (2 * blueprint.cards.centres[0] / (QUARTERS * BINS) - 1).astype(np.float32)
    return inputs


def leaf_inputs(leaf: Betting, opponent: int) -> list[float]:
    """The end of the flop's betting as numbers: the pots, who bet, how often, and who is last."""
    here, raises, bettor, pots = leaf.rules.start(), [0, 0], [0.0, 0.0], [0.0, 0.0]
    for action in leaf.history:
        if action == "/":
            continue
        street = here.street
        if action.startswith("r"):
            raises[street] += 1
            bettor[street] = 1.0 if here.player == opponent else -1.0
        here = here.child(action)
        if here.street > street:
            pots[street] = float(here.pot)
    share = np.array(pots) / (2 * float(min(leaf.rules.stacks)))
    sizes = (np.log(share) / 3 + 1).tolist()
    often = raises[0] / 2 - 1, raises[1] / 2 - 1
    return [*sizes, 2 * float(share[1]), 1.0 if opponent == 1 else -1.0, *bettor, *often]


def leaf_unit(leaf: Betting) -> float:
    """What an output counts in, in chips: the pot, and more of it the deeper the stacks are.

    So outputs are about as large at all leaves. In pots, values of the blueprint that comes with
    the package differ by 1.4 at its smallest pot and by 0.3 at its largest.
    """
    pot = float(leaf.pot)
    share = pot / (2 * float(min(leaf.rules.stacks)))
    return 0.25 * pot * float(np.cbrt(1 / share))


def board_inputs(deck: Deck, flop: Sequence[int]) -> list[float]:
    """A flop as numbers: ranks, pairs, suits, and how many straights three of its ranks are in."""
    ranks = sorted((card // deck.num_suits for card in flop), reverse=True)
    suits = Counter(card % deck.num_suits for card in flop).most_common(1)[0][1]
    straights = sum(
        len({rank for rank in ranks if low <= rank < low + 5}) == 3
        for low in range(deck.num_ranks - 4)
    )
    high = [2 * rank / (deck.num_ranks - 1) - 1 for rank in ranks]
    paired = (3 - len(set(ranks))) / 2
    return [*high, paired, float(suits == 2), float(suits == 3), straights / 3]


def flop_leaves(blueprint: StoredBlueprint) -> list[Betting]:
    """All ends of the flop's betting in a blueprint with chips left."""
    ways = [grow_street(blueprint.game, way) for way in leaves_of(blueprint)]
    return [leaf for street in ways for leaf in street.leaves if not leaf.is_over]


def check_fits(blueprint: StoredBlueprint) -> None:
    """Refuse a blueprint that has no buckets on the flop or no streets after it."""
    if len(blueprint.cards.centres) < 2:
        raise SubgameError(
            f"The blueprint {blueprint.recipe.name} has no buckets of a flop, a turn and a river, "
            "which a network of values at the end of the flop needs."
        )


@dataclass(frozen=True, eq=False)
class FlopNetwork:
    """A trained network. Axes: k = continuation, b and c = buckets of the opponent and of us."""

    blueprint: StoredBlueprint
    layers: Sequence[tuple[Singles, Singles]]  # weights [input, output] and biases [output]
    notes: Mapping[str, str] = field(default_factory=dict)
    """How it was trained, and its error."""

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(weights.size + bias.size for weights, bias in self.layers)

    def values(
        self,
        flop: tuple[int, ...],
        leaves: Sequence[Betting],
        opponent: int,
        buckets: tuple[Ints, Ints],
    ) -> Singles:
        """[k, leaf, b, c] what the opponent wins at some leaves, in chips.

        `buckets` are the opponent's and ours. A leaf need not be one of the blueprint's.
        """
        pairs, centres = (
            flop_pairs(self.blueprint, tuple(sorted(flop))),
            quantile_inputs(self.blueprint),
        )
        rows, columns = (np.searchsorted(pairs.buckets, held) for held in buckets)
        equity = pairs.equity[:, rows[:, None], columns].transpose(1, 2, 0)
        weights, bias = self.layers[0]
        theirs, ours = centres[buckets[0]] @ weights[THEIRS], centres[buckets[1]] @ weights[OURS]
        board = board_inputs(self.blueprint.game.deck, flop)
        places = np.array([leaf_inputs(leaf, opponent) + board for leaf in leaves], np.float32)
        fixed = places @ weights[PLACE] + bias
        out = np.empty((CHOICES, len(leaves), len(rows), len(columns)), np.float32)
        step = max(1, ROWS // max(1, len(columns)))
        for at in range(0, len(rows), step):
            some = slice(at, at + step)
            first = theirs[some, None] + ours + equity[some] @ weights[EQUITY]
            for l, add in enumerate(fixed):
                out[:, l, some] = self._rest(first + add)
        most = float(min(leaves[0].rules.stacks)) if leaves else 0.0
        units = np.array([leaf_unit(leaf) for leaf in leaves], np.float32)[:, None, None]
        return np.clip(out * units, -most, most, out=out)

    def _rest(self, units: Singles) -> Singles:
        """[k, b, c] the outputs, from what enters the first layer's units [b, c, unit]."""
        shape = units.shape[:2]
        units = units.reshape(-1, units.shape[2])
        for weights, bias in self.layers[1:]:
            np.maximum(units, 0, out=units)
            units = units @ weights
            units += bias
        return units.T.reshape(-1, *shape)

    # Files -------------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write the file that `load` reads."""
        arrays: dict[str, NDArray[Any]] = {}
        for k, (weights, bias) in enumerate(self.layers):
            arrays |= {f"weights {k}": weights, f"bias {k}": bias}
        head = {**self.notes, "format": FORMAT, "blueprint": digest(self.blueprint)}
        write_tensors(path, arrays, head)

    @classmethod
    def load(cls, path: str | Path, blueprint: StoredBlueprint) -> FlopNetwork:
        """The network in a file, which must be that of the blueprint."""
        head, arrays = read_tensors(path, WANTED)
        if head.get("format") != FORMAT or head.get("blueprint") != digest(blueprint):
            raise SubgameError(f"{path} is not {WANTED} of the blueprint {blueprint.recipe.name}.")
        try:
            layers = [
                (np.array(arrays[f"weights {k}"]), np.array(arrays[f"bias {k}"]))
                for k in range(len(arrays) // 2)
            ]
            widths = [INPUTS, *(weights.shape[1] for weights, _ in layers)]
            shapes = [(weights.shape, bias.shape) for weights, bias in layers]
        except DAMAGED:
            shapes, widths = [], []
        wanted = [((n, m), (m,)) for n, m in pairwise(widths)]
        if not shapes or shapes != wanted or widths[-1] != CHOICES:
            raise SubgameError(f"{path} is a damaged file of {WANTED}.")
        check_finite(path, arrays, WANTED)
        return cls(
            blueprint, layers, {k: v for k, v in head.items() if k not in ("format", "blueprint")}
        )

    @classmethod
    def of(cls, blueprint: StoredBlueprint) -> FlopNetwork:
        """The network beside the blueprint's file."""
        path = None if blueprint.path is None else blueprint.path.with_suffix(SUFFIX)
        if path is None or not path.exists():
            raise SubgameError(
                f"There is no {WANTED[2:]} beside the blueprint {blueprint.recipe.name}; "
                "subgame train makes it."
            )
        return cls.load(path, blueprint)


@dataclass(frozen=True, eq=False)
class NetworkValues:
    """Values of the leaves of a flop by a network; see `street.StreetEvaluator`.

    A real bet is not taken for another one.
    """

    network: FlopNetwork
    choices: int = CHOICES

    def __call__(self, end: StreetEnd) -> BucketValues:
        o, buckets = end.at.opponent, end.at.buckets
        held = buckets[o], buckets[1 - o]
        asked = [end.at.street.leaves[l] for l in end.leaves]
        if not asked:
            return BucketValues(np.zeros((self.choices, 0, *map(len, held)), np.float32))
        table = self.network.values(end.at.reached.board, asked, o, held)
        return BucketValues(table[: self.choices])

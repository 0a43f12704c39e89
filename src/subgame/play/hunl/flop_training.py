"""How the network of values at the end of the flop is trained (`flop_network.FlopNetwork`).

Brown, Sandholm & Amos 2018, Sec. 6.2: Adam on the Huber loss. An example is a leaf of the
blueprint, a flop, who the opponent is and a pair of buckets; its four targets are what the opponent
wins there by each continuation, in pots. On a sampled turn and river all betting is summed for
pairs of sampled hands, as in `subgame.play.hunl.rollouts`, and pairs are averaged by bucket over
some boards of the flop. The noise that is left averages out over flops.

Most of the noise is who happens to be ahead on the sampled boards. How often each pair of hands is
ahead on all boards to come is known exactly, so that a multiple of the difference is taken off
(a control variate): it has mean zero, and the multiple is the one that leaves the least noise.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.strengths import mean_ahead
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.below import CHOICES, Below, by_pair, what_follows
from subgame.play.hunl.flop_network import (
    INPUTS,
    FlopNetwork,
    FlopPairs,
    board_inputs,
    check_fits,
    flop_leaves,
    flop_pairs,
    leaf_inputs,
    leaf_unit,
    quantile_inputs,
)
from subgame.refine.networks import Examples as Learned
from subgame.refine.networks import Progress, Training, TrainOptions, torch, trained
from subgame.solve.limits import check_options, made_of, with_options

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[Any]
ROLLOUTS = 200
"""Boards that are looked at for a leaf, on average."""
FLOPS, BOARDS = 256, 8
"""Flops that are dealt, and boards of each that are looked at together."""
HANDS = 160
"""Hands of each player that are followed on a board, at most."""
CELLS = 1000
"""Pairs of buckets that are kept of a leaf, a flop and an opponent."""
EXACT = np.float32(1 / 16384)
"""The unit of how often hands are ahead."""
DELTA = 5.0
"""Errors from which on the loss is linear. What is to be learned is the mean of noisy values, which
the absolute error does not lead to."""
CHUNK = 1 << 15
"""Examples that are evaluated at once."""
DEFAULTS: TrainOptions = {"layers": (128, 64, 64), "epochs": 4, "batch": 1024, "rate": 2e-3}
"""With the paper's layers the error is no lower after as long a training (`docs/play.md`)."""


class DealtFlop(NamedTuple):
    """A flop with some turns and rivers."""

    pairs: FlopPairs
    ahead: NDArray[np.int16]  # [hand, hand] how often it wins minus loses, in units of `EXACT`
    boards: Sequence[tuple[int, ...]]
    ranks: NDArray[np.int16]  # [board, hand]

    def some(self, part: int, parts: int) -> DealtFlop:
        """The same with every so-manieth of the boards."""
        return self._replace(boards=self.boards[part::parts], ranks=self.ranks[part::parts])


def deal(blueprint: StoredBlueprint, boards: int, rng: np.random.Generator) -> DealtFlop:
    """A flop by chance, and as many different turns and rivers, if there are so many."""
    deck, final = blueprint.game.deck, BOARD_CARDS[-1]
    flop = tuple(sorted(rng.permutation(deck.size)[:3].tolist()))
    left = [card for card in range(deck.size) if card not in flop]
    every = [(*flop, one, two) for one in left for two in left if one != two]
    chosen = [every[k] for k in rng.permutation(len(every))[:boards].tolist()]
    ahead = np.rint(mean_ahead(flop, final, deck) / EXACT).astype(np.int16)
    ranks = np.stack([rank_hands(board, deck) for board in chosen])
    return DealtFlop(flop_pairs(blueprint, flop), ahead, chosen, ranks)


class Sums(NamedTuple):
    """What was paid at a leaf on some boards of a flop. b is player 0's bucket, c player 1's."""

    won: Floats  # [opponent, k, b, c] what the opponent wins, in chips
    met: Floats  # [b, c] pairs of hands
    luck: Floats  # [b, c] how much player 0 was ahead beyond what it is on all boards
    moved: Floats  # [opponent, k] products of luck and of what the opponent wins, pair by pair
    spread: Floats  # squares of luck

    def mean(self) -> Floats:
        """[opponent, k, b, c] what the opponent wins on average, with luck taken off."""
        slope = self.moved / np.maximum(self.spread, 1e-9)
        won = self.won - slope[..., None, None] * self.luck
        values: Floats = won / np.maximum(self.met, 1)
        return values


def paid(
    blueprint: StoredBlueprint,
    below: Below,
    dealt: DealtFlop,
    rng: np.random.Generator,
    hands: int = HANDS,
) -> Sums:
    """What is paid below a leaf on the boards of a flop, between so many hands of each player."""
    deck, of, wide = blueprint.game.deck, dealt.pairs.of, len(dealt.pairs.buckets)
    out = Sums(
        np.zeros((2, CHOICES, wide, wide)),
        np.zeros((wide, wide)),
        np.zeros((wide, wide)),
        np.zeros((2, CHOICES)),
        np.zeros(()),
    )
    chips = [below.chips(o).astype(np.float32) for o in (0, 1)]
    for board, ranks in zip(dealt.boards, dealt.ranks, strict=True):
        free = np.flatnonzero(deck.compatible(board))
        held = [rng.permutation(free)[:hands] for _ in (0, 1)]
        held = [hands[np.argsort(of[hands], kind="stable")] for hands in held]
        reach = [below.reach(p, CHOICES, board, held[p]) for p in (0, 1)]
        sign = np.sign(ranks[held[0]][:, None] - ranks[held[1]]).astype(np.float32)
        met = deck.disjoint[np.ix_(*held)].astype(np.float32)
        luck = (sign - EXACT * dealt.ahead[np.ix_(*held)].astype(np.float32)) * met
        (one, rows), (two, columns) = (np.unique(of[hands], return_index=True) for hands in held)
        at = np.ix_(one, two)
        for table, into in ((met, out.met), (luck, out.luck)):
            into[at] += _summed(table, rows, columns)
        out.spread[...] += np.vdot(luck, luck)
        for o in (0, 1):
            ahead = sign if o == 0 else -sign.T
            table = by_pair(reach[o], reach[1 - o][0] * chips[o], below.folds, ahead)
            table = (table if o == 0 else table.swapaxes(1, 2)) * met
            out.moved[o] += table.reshape(CHOICES, -1) @ luck.ravel()
            out.won[o][:, at[0], at[1]] += _summed(table, rows, columns)
    return out


def _summed(table: Singles, rows: Ints, columns: Ints) -> Singles:
    """[..., b, c] sums of a table [..., h, j] over hands in a row; b begins at ``rows[b]``."""
    sums: Singles = np.add.reduceat(np.add.reduceat(table, rows, axis=-2), columns, axis=-1)
    return sums


class Examples(NamedTuple):
    """What a network learns. Axis: n = example."""

    place: Ints  # [n] leaf and opponent: the row of `places`
    flop: Ints  # [n] the row of `boards`
    buckets: Ints  # [n, 2] the opponent's and ours
    equity: Singles  # [n, 3] see `FlopPairs`
    target: Singles  # [n, half, k] what the opponent wins, in `units`; each half on its own boards
    places: Singles  # [leaf and opponent, input]
    boards: Singles  # [flop, input]
    units: Floats  # [leaf and opponent] pots

    def inputs(self, t: Any, blueprint: StoredBlueprint) -> Callable[[Any], Any]:
        """The network's inputs [n, input] of some examples, as PyTorch's tensors."""
        centres = t.as_tensor(quantile_inputs(blueprint))
        place, flop, buckets, equity = (t.as_tensor(array) for array in self[:4])
        places, boards = t.as_tensor(self.places), t.as_tensor(self.boards)

        def given(part: Any) -> Any:
            theirs, ours = centres[buckets[part, 0].long()], centres[buckets[part, 1].long()]
            fixed = places[place[part].long()], boards[flop[part].long()]
            return t.cat([theirs, ours, equity[part], *fixed], 1)

        return given


def sample(
    blueprint: StoredBlueprint,
    boards: int,
    flops: int,
    seed: int,
    progress: Progress,
    halves: int = 1,
) -> Examples:
    """Examples from so many boards of some flops at a leaf of the blueprint on average."""
    rng, leaves, dealt = np.random.default_rng(seed), flop_leaves(blueprint), []
    for k in range(flops):
        dealt.append(deal(blueprint, halves * BOARDS, rng))
        progress("Dealing flops", (k + 1) / flops)
    often = _visits(leaves, boards / BOARDS)
    order = np.concatenate([rng.permutation(flops) for _ in range(sum(often) // flops + 1)])
    ends = np.cumsum(often)
    parts: list[tuple[NDArray[Any], ...]] = []
    for l, leaf in enumerate(leaves):
        below, unit = what_follows(blueprint, blueprint.decision(leaf)), leaf_unit(leaf)
        for f in order[ends[l] - often[l] : ends[l]].tolist():
            here = [dealt[f].some(k, halves) for k in range(halves)]
            sums = [paid(blueprint, below, some, rng) for some in here]
            values = np.stack([one.mean() / unit for one in sums], 1)  # [opponent, half, k, b, c]
            chance = np.min([one.met for one in sums], axis=0)
            parts += [
                (np.full(CELLS, 2 * l + o, np.int32), np.full(CELLS, f, np.int32), *cells)
                for o, cells in enumerate(_cells(dealt[f].pairs, values, chance, rng))
            ]
        progress("Looking at boards", (l + 1) / len(leaves))
    place, flop, buckets, equity, target = (np.concatenate(x) for x in zip(*parts, strict=True))
    seats = [(leaf, o) for leaf in leaves for o in (0, 1)]
    places = np.array([leaf_inputs(leaf, o) for leaf, o in seats], np.float32)
    kinds = [board_inputs(blueprint.game.deck, flop.boards[0][:3]) for flop in dealt]
    units = np.array([leaf_unit(leaf) / float(leaf.pot) for leaf, _ in seats])
    return Examples(
        place, flop, buckets, equity, target, places, np.array(kinds, np.float32), units
    )


def _visits(leaves: Sequence[Betting], mean: float) -> list[int]:
    """How many flops are looked at for each leaf: half as many for each raise after the first."""
    raises = np.array([sum(a.startswith("r") for a in leaf.history) for leaf in leaves])
    share = 0.5 ** np.maximum(raises, 1)
    counts: list[int] = np.maximum(1, np.rint(mean * share / share.mean())).astype(int).tolist()
    return counts


def _cells(
    pairs: FlopPairs, values: Floats, chance: Floats, rng: np.random.Generator
) -> Iterator[tuple[NDArray[Any], ...]]:
    """By opponent, some pairs of buckets as often as hands meet in them: buckets, equity, values.

    `values` is [opponent, half, k, b, c] and `chance` [b, c], of player 0's and 1's buckets.
    """
    wide = len(pairs.buckets)
    for o, table in enumerate(values):
        chosen = rng.choice(chance.size, CELLS, p=chance.ravel() / chance.sum())
        cells = np.stack(np.divmod(chosen, wide), 1)
        mine = cells if o == 0 else cells[:, ::-1]
        wanted = table.reshape(-1, CHOICES, chance.size).transpose(2, 0, 1)[chosen]
        equity = pairs.equity[:, mine[:, 0], mine[:, 1]].T
        yield pairs.buckets[mine].astype(np.int16), equity, wanted.astype(np.float32)


class Errors(NamedTuple):
    """How far a network is from values of flops that it has not seen, in pots. Axis: k."""

    error: Floats
    """Root mean square, without the noise of the values: the product of its differences from both
    halves, which have no noise in common."""
    spread: Floats
    """Standard deviation of the values, in the same way."""
    noise: Floats
    """Standard error of the mean of both halves."""


def errors(out: Floats, held: Examples) -> Errors:
    """The errors of a network's outputs [n, k] on examples of two halves."""
    scale = held.units[held.place][:, None]
    outputs, one, two = out * scale, held.target[:, 0] * scale, held.target[:, 1] * scale
    products = (outputs - one) * (outputs - two), (one - one.mean(0)) * (two - two.mean(0))
    error, spread = (np.sqrt(np.maximum(product.mean(0), 0)) for product in products)
    return Errors(error, spread, np.sqrt(((one - two) ** 2).mean(0)) / 2)


@with_options(TrainOptions, Training, **DEFAULTS)
def train_flop_network(
    blueprint: StoredBlueprint,
    boards: int = ROLLOUTS,
    *,
    progress: Progress | None = None,
    **options: Unpack[TrainOptions],
) -> FlopNetwork:
    """Train a network of values at the end of the flop for a blueprint.

    For each end of the flop's betting so many `boards` are looked at on average, more after fewer
    raises, since play comes there more often. `TrainOptions` say how the
    network is trained; `holdout` is the share of flops and boards that are looked at once more, for
    its error on flops that it has not seen, which is in its `notes`.
    """
    check_options(train_flop_network, options)
    training = made_of(Training, {**DEFAULTS, **options})
    check_fits(blueprint)
    t, seed, tell = torch(), training.seed, progress or (lambda what, share: None)
    flops = min(FLOPS, boards)
    data = sample(blueprint, boards, flops, seed, tell)
    inputs, target = data.inputs(t, blueprint), t.as_tensor(data.target[:, 0])
    widths = INPUTS, CHOICES
    learned = Learned(lambda part: (inputs(part), target[part]), len(target), widths)
    net = trained(learned, training, tell, DELTA)
    made = {"boards": boards, "seed": seed, "epochs": training.epochs, "examples": len(target)}
    notes = {name: str(value) for name, value in made.items()}
    share = training.holdout
    if share > 0:
        count, more = max(1, round(share * flops)), max(1, round(share * boards))
        held = sample(blueprint, more, count, seed + 1, tell, halves=2)
        inputs, every = held.inputs(t, blueprint), t.arange(len(held.place))
        with t.no_grad():
            out = t.cat([net(inputs(part)) for part in every.split(CHUNK)]).double().numpy()
        measured = errors(out, held)._asdict()
        notes |= {f"held out: {name}": json.dumps(m.tolist()) for name, m in measured.items()}
    layers = [layer for layer in net if hasattr(layer, "weight")]
    arrays = [
        (layer.weight.detach().numpy().T.copy(), layer.bias.detach().numpy()) for layer in layers
    ]
    return FlopNetwork(blueprint, arrays, notes)

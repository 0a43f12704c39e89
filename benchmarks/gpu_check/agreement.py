"""How far kernels are from plain PyTorch: small decks, fresh numbers."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gpu_check.games import far, fresh, preset
from gpu_check.measure import Json, Pair, advance, cfr_from
from subgame.engines.arrays import as_numpy
from subgame.engines.torch.batch import RangeBatch
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import Scaled, Storage, peek
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.refine.gadgets import Distributional, Gadget, Maxmargin, Resolve
from subgame.refine.learners import GadgetInputs
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import compile_range_tree

Floats = NDArray[np.float64]
NAMED = ("cfr", "cfr+", "dcfr", "lcfr", "pcfr+", "pdcfr+", "dcfr(tremble=0.01)")
KINDS = {
    "leave": Resolve(),
    "choose": Maxmargin(),
    "respond": Distributional("respond"),
    "hedge": Distributional("hedge"),
}
"""Gadgets by how the opponent enters."""


def small_games() -> dict[str, Any]:
    """Small decks with every kind of street, symmetry and end."""
    short, three, eight = Deck("TJQKA", "hs"), Deck("QKA", "chs"), Deck("JQKA", "hs")
    return {
        "river": holdem.endgame(
            "QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a", deck=short
        ),
        "raked": holdem.endgame(
            "QsJhThKs", 4, 6, ("*", "AA,KK:0.5,QJ,JTs"), "all: 1x", deck=short, rake=(0.1, 1.0)
        ),
        "nlfh": holdem.nlfh(3, 1, 2, "preflop: a; flop: a", eight.ranks, eight.suits),
        "turn": holdem.endgame(
            "QsJhThKs", 4, (6, 4), ("*:0.7,AA", "AA,KJ,KTs,QJ:0.5"), "all: a", deck=short
        ),
        "flop": holdem.endgame(
            "Qs Ks As", 4, 4, ("AA,KK:0.5", "QQ,AK"), "all: a / cap 1", deck=three
        ),
        "cards": holdem.endgame("QsJh2h8d3c", 100, 300, ("random", "22+,A2+,KT+,QJ")),
    }


def _stepped(engine: TorchRangeEngine, plan: Schedule, drawn: list[Any]) -> Pair:
    """Regrets and averages after one iteration from given ones."""
    arguments = [(numbers, numbers[::-1].copy(), numbers - np.float32(0.5)) for numbers in drawn]
    cfr = cfr_from(engine, plan, arguments)
    advance(cfr, plan, 11, 1)
    return cfr.pair


def compare(want: TorchRangeEngine, got: TorchRangeEngine, seed: int) -> Json:
    """Differences of two engines on one tree: values, best responses, every schedule."""
    tree, rng = want.tree, np.random.default_rng(seed)
    drawn = [rng.random(tree.stored(p), dtype=np.float32) for p in (0, 1)]
    values, best = [], []
    for p in (0, 1):
        sides = [(one, one.plan(1 - p, drawn[1 - p])) for one in (got, want)]
        values.append(far(*(one.values(p, drawn[p], plan).roots for one, plan in sides)))
        best.append(far(*(one.respond(p, plan).roots for one, plan in sides)))
    result: Json = {"values": max(values), "best response": max(best)}
    for name in NAMED:
        pairs = (_stepped(one, parse(name), drawn) for one in (got, want))
        parts = [[part for regrets in pair for part in regrets[:2]] for pair in pairs]
        result[name] = max(map(far, *parts))
    return result


def agreement(device: str, names: tuple[str, ...] | None = None, seed: int | None = None) -> Json:
    """Fused kernels on `device` beside plain PyTorch on the CPU, on fresh random inputs."""
    seed = fresh() if seed is None else seed
    result: Json = {"seed": seed}
    for name, game in small_games().items():
        if names and name not in names:
            continue
        tree = compile_range_tree(game)
        reference = TorchRangeEngine(tree, "cpu", triton=False)
        fused = TorchRangeEngine(tree, device, triton=True, graphs=False)
        result[name] = compare(reference, fused, seed)
    return result


def rounding(
    device: str, names: tuple[str, ...] = ("river", "nlfh", "turn"), seed: int | None = None
) -> Json:
    """16-bit storage after one step: by how many last bits fused and plain differ."""
    seed = fresh() if seed is None else seed
    result: Json = {"seed": seed}
    for name in names:
        tree, rng = compile_range_tree(small_games()[name]), np.random.default_rng(seed)
        drawn = [rng.random(tree.stored(p), dtype=np.float32) for p in (0, 1)]
        for kind in get_args(Storage)[1:]:
            want = TorchRangeEngine(tree, "cpu", storage=kind, triton=False)
            got = TorchRangeEngine(tree, device, storage=kind, triton=True, graphs=False)
            for schedule in ("dcfr", "pcfr+"):
                sides = [_stepped(one, parse(schedule), drawn) for one in (want, got)]
                result[f"{name}, {kind}, {schedule}"] = _bits_of_difference(want, *sides)
    return result


def _bits_of_difference(engine: TorchRangeEngine, one: Pair, other: Pair) -> Json:
    """The most last bits by which two solves differ, and the share of numbers that do."""
    most, different, total = 0.0, 0, 0
    for p, part, s in np.ndindex(2, 2, len(engine.levels)):
        mine, yours = one[p][part], other[p][part]
        assert mine is not None
        assert yours is not None
        a, b = mine.blocks[s], yours.blocks[s]
        every = slice(0, engine.levels[s].units)
        x, y = peek(a, every).double(), peek(b, every).double().cpu()
        # Where gains cancel what was there, what is left is the rounding of float32.
        unit = (x.abs().maximum(y.abs()) * 2.0**-7).clamp(min=1e-6 * float(x.abs().max()))
        if isinstance(a, Scaled):
            ones = Scaled(engine.torch.ones_like(a.ints), a.scales.maximum(b.scales.cpu()))
            unit = ones.peek(every).double()
        real = engine.places[s].tables[p].above >= 0
        off = ((x - y).abs() * real / unit.clamp(min=1e-30)).numpy()
        most = max(most, float(off.max(initial=0)))
        different, total = different + int((off > 0.5).sum()), total + int(real.sum()) * len(off)
    return {"bits": most, "share": different / max(1, total)}


class GadgetCase(NamedTuple):
    """A gadget before every root of a street, with random numbers. Axes as in the engine."""

    gadget: Gadget
    plan: Schedule
    opponent: int
    ours: Floats  # [root, hand] our reach
    met: Floats  # [root, hand] 0 where the opponent is never met
    alternative: Floats  # [root, hand]
    spread: Floats  # [root, hand]
    regret: Floats  # [2, root, hand] the learner's
    drawn: list[Floats]  # by player [3, number] regrets, averages and predictions

    @classmethod
    def draw(cls, kind: str, name: str, batch: RangeBatch, rng: np.random.Generator) -> GadgetCase:
        """Any numbers, large enough that rounding decides nothing."""
        level = batch.levels[0]
        boards = (level.units, level.hands[0].wide)
        shape = (level.bets[0].roots * boards[0], boards[1])
        size = 2000.0 * boards[1]
        leave = size / batch.tree.deals
        return cls(
            KINDS[kind],
            parse(name),
            int(rng.integers(2)),
            rng.random(shape) * as_numpy(batch.roots(0)),  # hands, not what they are padded with
            (rng.random(shape) < 0.9).astype(np.float64),
            rng.normal(0, 100, shape),
            50 + 100 * rng.random(shape),
            rng.random((2, *shape)) * (leave if kind == "leave" else 500),
            [rng.random((3, batch.stored(p))) * [[size], [1], [0]] for p in (0, 1)],
        )

    def step(self, batch: RangeBatch, iterations: int) -> list[Floats]:
        """Regrets and averages after some iterations, and how the opponent enters."""
        o, plan = self.opponent, self.plan
        ours = self.ours.reshape(-1, batch.levels[0].units, self.ours.shape[1])
        weight = as_numpy(batch.opposing(o, ours, 0)).reshape(self.ours.shape) * self.met
        inputs = GadgetInputs(
            o, self.ours, weight, weight, self.alternative, self.alternative, self.spread
        )
        reach = (weight, self.ours) if o == 0 else (self.ours, weight)
        cfr = cfr_from(batch, plan, self.drawn, reach)
        cfr.learner = self.gadget.learner(inputs.on(batch), predictive=plan.predictive)
        preset(cfr.learner, batch, self.regret, plan)
        advance(cfr, plan, 11, iterations)
        learnt = [np.asarray(part) for regrets in cfr.pair for part in regrets[:2]]
        return [*learnt, as_numpy(cfr.reach[o])]


def gadgets(
    device: str,
    bets: str = "preflop: 1x / cap 1; flop: 0.5x 1x / cap 2",
    iterations: int = 3,
    seed: int | None = None,
) -> Json:
    """Gadgets at the roots of a street, on all boards: fused against plain PyTorch on the CPU."""
    seed = fresh() if seed is None else seed
    rng = np.random.default_rng(seed)
    result: Json = {"seed": seed}
    game = holdem.nlfh(2000, 50, 100, bets, "JQKA", "hs")
    tree, streets = compile_range_tree(game), grow(game, grow(game)[0].leaves)
    plain = TorchRangeEngine(tree, "cpu", triton=False)
    fused = TorchRangeEngine(tree, device, triton=True)
    for kind, gadget in KINDS.items():
        for name in ("dcfr", "cfr", *(("pcfr+",) if gadget.is_finite else ())):
            case = GadgetCase.draw(kind, name, plain.stage(streets), rng)
            results = [case.step(engine.stage(streets), iterations) for engine in (plain, fused)]
            result[f"{kind}, {name}"] = max(far(b, a) for a, b in zip(*results, strict=True))
    return result

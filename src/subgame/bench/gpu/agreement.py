"""How far kernels are from plain PyTorch: small decks, fresh numbers."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, get_args

import numpy as np

from subgame.bench.gpu.games import far, fresh
from subgame.bench.gpu.measure import Json, Pair, memories_of
from subgame.engines.torch.doors import RANDOM, Doors, Kind
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.storage import Scaled, Storage, peek
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import compile_range_tree

Tensor = Any
NAMED = ("cfr", "cfr+", "dcfr", "lcfr", "pcfr+", "pdcfr+")


def small_games() -> dict[str, Any]:
    """Small decks with every kind of street, symmetry and end."""
    short, three, eight = Deck("TJQKA", "hs"), Deck("QKA", "chs"), Deck("JQKA", "hs")
    return {
        "river": holdem.endgame(
            "QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a", deck=short
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


def _stepped(engine: TorchRangeEngine, plan: Schedule, drawn: list[Any]) -> tuple[Any, ...]:
    """Memories after one iteration from given regrets."""
    memories = memories_of(engine, plan)
    for p in (0, 1):
        memories[p].regret.read(drawn[p])
        memories[p].average.read(drawn[p][::-1].copy())
        if plan.predictive:
            memories[p].instant.read(drawn[p] - np.float32(0.5))
    engine.iterate(memories, plan.discounts(11, 2), plan.alternating)
    return memories


def compare(want: TorchRangeEngine, got: TorchRangeEngine, seed: int) -> Json:
    """Differences of two engines on one tree: values, best responses, every schedule."""
    tree, rng = want.tree, np.random.default_rng(seed)
    drawn = [rng.random(tree.stored(p), dtype=np.float32) for p in (0, 1)]
    out: Json = defaultdict(float)
    for p in (0, 1):
        plans = [one.plan(1 - p, drawn[1 - p]) for one in (want, got)]
        a, b = want.values(p, drawn[p], plans[0]), got.values(p, drawn[p], plans[1])
        out["values"] = max(out["values"], far(b, a))
        c, d = want.respond(p, plans[0]).slots, got.respond(p, plans[1]).slots
        out["best response"] = max(out["best response"], far(d, c))
    for name in NAMED:
        plan = parse(name)
        sides = [_stepped(one, plan, drawn) for one in (want, got)]
        for p in (0, 1):
            for field in ("regret", "average"):
                a, b = (getattr(side[p], field).numpy() for side in sides)
                out[name] = max(out[name], far(b, a))
    return dict(out)


def agreement(device: str, names: tuple[str, ...] | None = None, seed: int | None = None) -> Json:
    """Fused kernels on `device` beside plain PyTorch on the CPU, on fresh random inputs."""
    seed = fresh() if seed is None else seed
    found: Json = {"seed": seed}
    for name, game in small_games().items():
        if names and name not in names:
            continue
        tree = compile_range_tree(game)
        reference = TorchRangeEngine(tree, "cpu", fused=False)
        fused = TorchRangeEngine(tree, device, fused=True, graphs=False)
        found[name] = compare(reference, fused, seed)
    return found


def rounding(
    device: str, names: tuple[str, ...] = ("river", "nlfh", "turn"), seed: int | None = None
) -> Json:
    """16-bit storage after one step: by how many last bits fused and plain differ."""
    seed = fresh() if seed is None else seed
    found: Json = {"seed": seed}
    for name in names:
        tree, rng = compile_range_tree(small_games()[name]), np.random.default_rng(seed)
        drawn = [rng.random(tree.stored(p), dtype=np.float32) for p in (0, 1)]
        for kind in get_args(Storage)[1:]:
            want = TorchRangeEngine(tree, "cpu", storage=kind, fused=False)
            got = TorchRangeEngine(tree, device, storage=kind, fused=True, graphs=False)
            for schedule in ("dcfr", "pcfr+"):
                sides = [_stepped(one, parse(schedule), drawn) for one in (want, got)]
                found[f"{name}, {kind}, {schedule}"] = _bits_of_difference(want, *sides)
    return found


def _bits_of_difference(engine: TorchRangeEngine, one: Pair, other: Pair) -> Json:
    """The most last bits by which two memories differ, and the share of numbers that do."""
    most, different, total = 0.0, 0, 0
    for p, part, s in np.ndindex(2, 2, len(engine.levels)):
        a, b = one[p][part].blocks[s], other[p][part].blocks[s]
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


def gadgets(
    device: str,
    bets: str = "preflop: 1x / cap 1; flop: 0.5x 1x / cap 2",
    iterations: int = 3,
    seed: int | None = None,
) -> Json:
    """Gadgets at the roots of a street, on all boards: fused against plain PyTorch on the CPU."""
    seed = fresh() if seed is None else seed
    rng = np.random.default_rng(seed)
    found: Json = {"seed": seed}
    game = holdem.nlfh(2000, 50, 100, bets, "JQKA", "hs")
    tree, streets = compile_range_tree(game), grow(game, grow(game)[0].leaves)
    sides = [TorchRangeEngine(tree, "cpu", fused=False), TorchRangeEngine(tree, device, fused=True)]
    level = sides[0].levels[-1]
    shape = (len(streets[0].roots), level.units, level.hands[0].wide)
    real = level.hands[0].above >= 0
    size = 2000.0 * shape[2]  # regrets of that order, so that rounding decides nothing
    edges = [bet.edges for bet in sides[0].stage(streets).levels[0].bets]
    for kind in get_args(Kind):
        for name in ("dcfr", "cfr", *(() if kind in RANDOM else ("pcfr+",))):
            ours, chooser = rng.random(shape) * real, int(rng.integers(2))
            drawn = [rng.random((2, many, *shape[1:])) for many in edges]
            met, start = rng.random(shape) < 0.9, rng.random((2, *shape))
            alternative, spread = rng.normal(0, 100, shape), 50 + 100 * rng.random(shape)
            results = []
            for engine in sides:
                torch, plan, stage = engine.torch, parse(name), engine.stage(streets)

                def put(array: Any, engine: TorchRangeEngine = engine) -> Tensor:
                    return engine.torch.from_numpy(array).to(engine.device)

                weight = stage.opposing(chooser, put(ours)) * put(met)
                door = Doors(
                    kind,
                    chooser,
                    weight,
                    put(alternative),
                    spread=put(spread),
                    predictive=plan.predictive,
                )
                if kind not in RANDOM:
                    begin = start[: len(door.regret)] * (size if kind == "leave" else 500)
                    door.regret.copy_(put(begin))
                memories = memories_of(stage, plan)
                for p in (0, 1):
                    memories[p].regret.blocks[0].copy_(put(size * drawn[p][0]))
                    memories[p].average.blocks[0].copy_(put(drawn[p][1]))
                reach = (put(ours), weight) if chooser else (weight, put(ours))
                stage.run(
                    memories, plan.discounts(11, iterations + 1), plan.alternating, reach, door
                )
                kept = [
                    (getattr(memories[p], field).blocks[0] * put(real)).cpu().numpy()
                    for p in (0, 1)
                    for field in ("regret", "average")
                ]
                rates = torch.ones(4, device=engine.device)
                results.append([*kept, door.enter(rates).cpu().numpy()])
            found[f"{kind}, {name}"] = max(far(b, a) for a, b in zip(*results, strict=True))
    return found

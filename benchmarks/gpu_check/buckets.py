"""What `gpu_check` measures of bucketed streets: time, memory, and what is lost."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpu_check import measure
from gpu_check.games import far, fresh
from gpu_check.measure import Json, Pair, Scale, advance, kept
from subgame.abstraction.features import features
from subgame.abstraction.points import points
from subgame.abstraction.recipe import Recipe
from subgame.engines.torch.buckets import Bucketed
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.games.holdem.game import BOARD_CARDS
from subgame.solve.schedule import parse
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree, compile_range_tree


def part_buckets(scale: Scale) -> Json:
    """Flop hold'em with its flops in buckets by strength, in lossless ones, and in none."""
    tree, make = compile_range_tree(scale.flop), partial(TorchRangeEngine, device=scale.device)
    engine, plain = make(tree), make(tree, triton=False)
    cases: dict[str, Buckets | None] = {
        f"{count:,} by strength": by_strength(tree, count) for count in scale.buckets
    }
    cases |= {"lossless": Buckets.lossless(tree, ["flop"]), "none": None}
    result: Json = {}
    for name, buckets in cases.items():
        measure.forget(engine.torch)
        spot = measure.Spot.of(engine, engine.stage(tree.streets, buckets=buckets))
        count = buckets.groupings[1].count if buckets else None
        result[name] = case = {"buckets": count, **measure.timed(spot, parse("dcfr"), scale.peak)}
        case["dcfr, mbb/h"] = measure.curve(spot, parse("dcfr"), [scale.most // 5], measure.MILLI)
        if buckets is not None:
            case |= _agreement(engine, plain, buckets)
    return result


def by_strength(tree: RangeTree, count: int) -> Buckets:
    """`count` buckets of the flop, of equal mass, by the probability to win against any hand."""
    where = points(tree.holdem.deck, BOARD_CARDS[1])
    strength = features(where, Recipe("ehs"), BOARD_CARDS[tree.holdem.rules.last_street])[:, 0]
    order = np.argsort(strength, kind="stable")
    mass = where.mass[order]
    labels = np.empty(len(where), np.int32)
    labels[order] = (np.cumsum(mass) - mass / 2) * count / mass.sum()
    return Buckets(tree, {"flop": labels[where.of(tree.units.dealt[1].cards)]})


def _agreement(engine: TorchRangeEngine, plain: TorchRangeEngine, buckets: Buckets) -> Json:
    """Fused beside plain after one iteration from random numbers, and fused beside itself."""
    out: Json = {"seed": fresh()}
    for name in ("dcfr", "pcfr+"):
        sides = [_stepped(one, buckets, name, out["seed"]) for one in (plain, engine, engine)]
        want, got, again = sides
        out[f"fused and plain, {name}"] = max(map(far, got, want))
        out[f"repeats bit by bit, {name}"] = all(map(np.array_equal, got, again))
    return out


def _stepped(engine: TorchRangeEngine, buckets: Buckets, name: str, seed: int) -> list[Any]:
    """Regrets and averages of buckets after one iteration, without a graph."""
    torch, plan, rng = engine.torch, parse(name), np.random.default_rng(seed)
    stage = engine.stage(engine.tree.streets, buckets=buckets)
    stage.needs = replace(stage.needs, graphs=False)
    cfr = measure.Spot.of(engine, stage).cfr(plan)
    for block in _bucketed(cfr.pair):
        drawn = rng.random(tuple(block.values.shape), dtype=np.float32)
        block.values.copy_(torch.from_numpy(drawn))
    advance(cfr, plan, 11, 1)
    return [block.values.cpu().numpy() for block in _bucketed(cfr.pair)]


def _bucketed(pair: Pair) -> list[Bucketed]:
    return [block for part in kept(pair) for block in part.blocks if isinstance(block, Bucketed)]

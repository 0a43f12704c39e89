"""Checks and times the engine of explicit trees: the part ``games`` of ``subgame.bench.gpu.check``.

For every game, schedule and gadget the worst difference between a device and plain PyTorch on the
CPU, relative to the greatest number, on fresh random inputs; values and best responses also beside
NumPy, infoset by infoset. The check also covers the gadgets of `subgame.refine`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame import games
from subgame.engines.torch import PLAIN, engine_on, find_device
from subgame.engines.torch.sequence import Pair, TorchSequenceEngine
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.refine.doors import Door
from subgame.refine.gadgets import TECHNIQUES, Gadget, Maxmargin, Resolve, gadget_form, least_entry
from subgame.refine.payoffs import Trunk
from subgame.refine.subgame import Subgame, cut
from subgame.solve.schedule import Schedule, parse
from subgame.tree.compile import compile
from subgame.tree.sequence.form import assemble
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy

Json = dict[str, Any]
Floats = NDArray[np.float64]
NAMES = (
    "coin-toss",
    "rps",
    "kuhn",
    "leduc",
    "liars-dice(dice=1, faces=3)",
    "goofspiel(cards=3)",
)
SCHEDULES = (
    "cfr",
    "cfr+",
    "cfr+(alternating=false)",
    "lcfr",
    "dcfr",
    "pcfr+",
    "pdcfr+",
    "cfr-br(responder=0)",
    "cfr-br(responder=1)",
)
TIMED = ("leduc", "liars-dice(dice=1, faces=6)", "goofspiel(cards=4)")
STEPS = 3
"""Iterations that are compared."""
LONG = 200
"""Iterations that are timed."""


def on(tree: SequenceTree, device: str) -> TorchSequenceEngine:
    """A new engine; devices are called as in `subgame.solve`."""
    return TorchSequenceEngine(tree, str(find_device(device)))


def far(got: Any, want: Any) -> float:
    """The greatest difference, relative to the greatest value."""
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if not np.isfinite(got).all():
        return float("inf")
    return float(np.abs(got - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30))


def fresh() -> int:
    """A fresh random seed."""
    return int(np.random.SeedSequence().generate_state(1)[0])


def shaken(tree: SequenceTree, rng: np.random.Generator) -> SequenceTree:
    """The same game with other payoffs at every end: equal ones would leave it to rounding."""
    t = tree.terminals
    scale = t.scale * (1 + 0.1 * rng.random(len(t.scale)))
    return replace(tree, terminals=t._replace(scale=scale), engines={})


def drawn(tree: SequenceTree, rng: np.random.Generator) -> list[Floats]:
    """[3, q] regrets, averages and predictions of both players.

    One action of every infoset has a regret that counts: where none has, rounding decides.
    """
    out = []
    for side in tree.players:
        numbers = 30 * rng.normal(size=(3, side.num_sequences))
        numbers[0, side.first] = 100 * (1 + rng.random(len(side.first)))
        numbers[1] = np.abs(numbers[1])
        out.append(numbers)
    return out


def memories(engine: TorchSequenceEngine, plan: Schedule, start: list[Floats]) -> Pair:
    """Memories with given numbers."""
    made = []
    for p in (0, 1):
        memory = engine.memory(p, predictive=plan.predictive)
        memory.regret[:], memory.average[:] = start[p][0], start[p][1]
        if plan.predictive:
            memory.instant[:] = start[p][2]
        made.append(memory)
    return made[0], made[1]


def difference(one: Pair, other: Pair) -> float:
    """The greatest relative difference between two pairs of memories."""
    return max(
        far(b, a) for m, n in zip(one, other, strict=True) for a, b in zip(m, n, strict=True)
    )


# One game ------------------------------------------------------------------------------------
def by_hand(tree: SequenceTree, p: int, hers: Floats, sigma: Floats | None) -> Floats:
    """[q] values of player `p` by `sigma`, or at best, one infoset after the other."""
    side, entries = tree.players[p], tree.entries
    value = np.zeros(side.num_sequences)
    if p == 0:
        np.add.at(value, entries.row, entries.value * hers[entries.col])
    else:
        np.add.at(value, entries.col, -entries.value * hers[entries.row])
    for i in range(len(side.names) - 1, -1, -1):
        below = value[side.sequences(i)]
        got = below.max() if sigma is None else below @ sigma[side.sequences(i)]
        value[side.plex.parent[i]] += got
    return value


def evaluated(engine: TorchSequenceEngine, strategy: Strategy) -> float:
    """The greatest difference of values and best responses to those by hand."""
    tree, worst = engine.tree, 0.0
    for p in (0, 1):
        theirs = np.ones(tree.players[1 - p].num_sequences)
        side = tree.players[1 - p]
        theirs[: len(side.slots)] = side.reach
        for i in range(len(side.names)):
            at = side.sequences(i)
            theirs[at] = theirs[side.plex.parent[i]] * strategy.probs[1 - p][at]
        sigma = strategy.probs[p]
        worst = max(
            worst,
            far(engine.plan(1 - p, strategy.probs[1 - p]), theirs),
            far(engine.values(p, sigma, theirs), by_hand(tree, p, theirs, sigma)),
            far(engine.respond(p, theirs).sequences, by_hand(tree, p, theirs, None)),
        )
    return worst


def game(device: str, tree: SequenceTree, rng: np.random.Generator) -> Json:
    """One game: values and best responses by hand, and the steps of every schedule."""
    there, here = (on(tree, where) for where in (device, PLAIN))
    strategy = Strategy.random(tree, int(rng.integers(2**31)))
    found: Json = {"values and best responses": evaluated(there, strategy)}
    for name in SCHEDULES:
        plan, start, sides = parse(name), drawn(tree, rng), []
        for engine in (here, there, there):  # twice: the first plain, then recorded
            made = memories(engine, plan, start)
            for t in (11, 11 + STEPS):
                rates = plan.discounts(t, STEPS + 1)
                engine.iterate(made, rates, plan.alternating, None, plan.responder)
            sides.append(made)
        found[name] = difference(sides[0], sides[1])
        found["same bits again"] = found.get("same bits again", True) and not difference(*sides[1:])
    return found


# Gadgets -------------------------------------------------------------------------------------
def techniques() -> dict[str, Gadget]:
    """Every gadget, and those with a kernel of their own in each form."""
    known = {name: make() for name, make in TECHNIQUES.items() if name != "estimate"}
    random = known["distributional"]
    return {
        **known,
        "distributional, respond": replace(random, form="respond"),
        "estimate-resolve, safe": replace(known["estimate-resolve"], keep_safe=True),
        "resolve, refined": Resolve(refined=0.1),
        "maxmargin, refined": Maxmargin(refined=0.1),
    }


def gadget(device: str, how: Gadget, subgame: Subgame, rng: np.random.Generator) -> float:
    """One gadget game: steps from random memories, with what stands at its root."""
    tree, o = subgame.whole, int(rng.integers(2))
    blueprint, guess = (Strategy.random(tree, int(rng.integers(2**31))) for _ in range(2))
    sides = []
    inputs = [_inputs(how, subgame, blueprint, guess, o, where) for where in (PLAIN, device)]
    worst = max(far(b, a) for a, b in zip(*(vars(each).values() for each in inputs), strict=True))
    made = assemble(gadget_form(how, subgame.form, inputs[0]))
    plan = parse(how.schedule)
    start, spread = drawn(made, rng), rng.random(len(inputs[0].weight))
    for where in (PLAIN, device):
        engine = on(made, where)
        root = None
        if how.door == "random":
            root = engine.root(
                o, rule=how.form, mean=inputs[0].alternative, spread=spread, weight=inputs[0].weight
            )
        held = memories(engine, plan, start)
        for t in (11, 11 + STEPS):
            if how.refined:
                shake = least_entry(how, made.players[o]) / np.sqrt(np.arange(t, t + STEPS + 1))
                root = engine.root(o, tremble=shake)
            engine.iterate(held, plan.discounts(t, STEPS + 1), plan.alternating, root)
        sides.append(held)
    return max(worst, difference(sides[0], sides[1]))


def _inputs(
    how: Gadget, subgame: Subgame, blueprint: Strategy, guess: Strategy, o: int, where: str
) -> Any:
    """What the gadget is told of its root, found on a device."""
    trunk = Trunk.of(blueprint, o, how, guess, where)
    values = trunk.value_of(subgame, guess) if how.estimate else None
    return trunk.inputs(subgame, how, values)[0]


def before_holdem(device: str, how: Gadget, rng: np.random.Generator) -> float:
    """A gadget at the root of a small hold'em tree: steps from random regrets of both."""
    deck, o, plan = Deck("TJQKA", "hs"), int(rng.integers(2)), parse("dcfr")
    ranges = ("*", "AA,KK:0.5,QJ,JTs:0.3")
    tree = compile(holdem.endgame("QsJhThKsAh", 4, 6, ranges, "all: 1x a", deck=deck))
    blueprint = Strategy.random(tree, int(rng.integers(2**31)))
    regrets = [100 * rng.random(side.num_sequences) for side in tree.players]
    outer, results = 100 * rng.random(10**4), []
    for where in (PLAIN, device):
        subgame = cut(tree, "root")[0]
        inputs = _inputs(how, subgame, blueprint, blueprint, o, where)
        door = Door(how, tree, inputs, 1 + np.abs(inputs.cbv), device=where)
        door.memories[o].regret[:] = outer[: len(door.memories[o].regret)]
        door.begin(plan.discounts(11, 1)[0])
        run: Any = engine_on(tree, where)
        held = run.memory(0), run.memory(1)
        for memory, numbers in zip(held, regrets, strict=True):
            memory.regret[:] = numbers.astype(np.float32)
        run.iterate(held, plan.discounts(11, STEPS + 1), plan.alternating, door)
        gap = door.judge(run, (held[0].average, held[1].average))
        kept = [np.asarray(part) for memory in held for part in memory]
        results.append([*kept, inputs.cbv, door.enter(o), gap.per_seat])
    return max(far(b, a) for a, b in zip(*results, strict=True))


# All of it -----------------------------------------------------------------------------------
def timed(device: str, tree: SequenceTree, plan: Schedule) -> Json:
    """Milliseconds per iteration, and what they bring."""
    engine = on(tree, device)
    pair = (
        engine.memory(0, predictive=plan.predictive),
        engine.memory(1, predictive=plan.predictive),
    )
    engine.iterate(pair, plan.discounts(1, 6), plan.alternating)
    begin = time.perf_counter()
    engine.iterate(pair, plan.discounts(6, LONG + 1), plan.alternating)
    spent = (time.perf_counter() - begin) / LONG
    sizes = [side.num_sequences for side in tree.players]
    return {"sequences": sizes, "entries": len(tree.entries.value), "ms per iteration": spent * 1e3}


def check(
    device: str = "cuda",
    names: tuple[str, ...] = NAMES,
    long: tuple[str, ...] = TIMED,
    at: tuple[str, str] = ("leduc", "after round 1"),
    seed: int | None = None,
) -> Json:
    """Every game, schedule and gadget, and how long iterations take."""
    seed = fresh() if seed is None else seed
    rng = np.random.default_rng(seed)
    found: Json = {}
    names = (*names, f"random(seed={rng.integers(10**6)}, ragged=true)")
    out: Json = {"seed": seed, "worst": 0.0, "games": found}
    for name in names:
        found[name] = game(device, shaken(sequence_tree(compile(games.load(name))), rng), rng)
    subgames = cut(compile(games.load(at[0])), at[1])
    out["gadgets"] = {
        name: gadget(device, how, subgames[int(rng.integers(len(subgames)))], rng)
        for name, how in techniques().items()
    }
    out["gadgets before hold'em, in float32"] = {
        name: before_holdem(device, how, rng)
        for name, how in techniques().items()
        if not how.keep_safe
    }
    numbers = [v for each in (*found.values(), out["gadgets"]) for v in each.values()]
    out["worst"] = max(v for v in numbers if not isinstance(v, bool))
    out["same bits again"] = all(v for v in numbers if isinstance(v, bool))
    out["time"] = {
        f"{tree.game}, {word}": timed(device, tree, parse(word))
        for tree in (sequence_tree(compile(games.load(name))) for name in long)
        for word in ("cfr+", "pdcfr+")
    }
    return out

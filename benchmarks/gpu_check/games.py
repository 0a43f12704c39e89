"""Checks and times the engine of explicit trees: the part ``games`` of ``gpu_check``.

For every game, schedule and gadget the worst difference between a device and plain PyTorch on the
CPU, relative to the greatest number, on fresh random inputs; values and best responses also beside
NumPy, infoset by infoset. The check also covers the gadgets of `subgame.refine`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_check.measure import Json, advance, cfr_from, cfr_of, kept
from subgame import games
from subgame.engines.arrays import as_numpy
from subgame.engines.torch.runtime import PLAIN
from subgame.engines.torch.sequence import TorchSequenceEngine
from subgame.games import holdem
from subgame.games.holdem.cards import Deck
from subgame.refine.behind import GadgetRun, default_schedule
from subgame.refine.gadgets import TECHNIQUES, Gadget, Maxmargin, Resolve
from subgame.refine.learners import Choice, GadgetInputs
from subgame.refine.sequence.subgames import SequenceSubgame, gadget_form
from subgame.refine.subgame import Subgame, Trunk
from subgame.refine.verbs.cut import cut
from subgame.solve.cfr import Cfr
from subgame.solve.schedule import Schedule, parse
from subgame.tree.compile import compile
from subgame.tree.sequence.form import assemble
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
NAMES = ("coin-toss", "rps", "kuhn", "leduc", "liars-dice(dice=1, faces=3)", "goofspiel(cards=3)")
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


on = TorchSequenceEngine
"""A new engine; devices are called as in `subgame.solve`."""


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


def _steps(cfr: Cfr, plan: Schedule) -> None:
    """Some iterations, and some more."""
    for t in (11, 11 + STEPS):
        advance(cfr, plan, t, STEPS)


def difference(one: Cfr, other: Cfr) -> float:
    """The greatest relative difference between what is kept in two solves."""
    return max(map(far, kept(other.pair), kept(one.pair)))


# One game ------------------------------------------------------------------------------------
def by_hand(tree: SequenceTree, p: int, theirs: Floats, sigma: Floats | None) -> Floats:
    """[q] values of player `p` by `sigma`, or at best, one infoset after the other."""
    side, entries = tree.players[p], tree.entries
    value = np.zeros(side.num_sequences)
    if p == 0:
        np.add.at(value, entries.row, entries.value * theirs[entries.col])
    else:
        np.add.at(value, entries.col, -entries.value * theirs[entries.row])
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
            far(engine.values(p, sigma, theirs).sequences, by_hand(tree, p, theirs, sigma)),
            far(engine.respond(p, theirs).sequences, by_hand(tree, p, theirs, None)),
        )
    return worst


def game(device: str, tree: SequenceTree, rng: np.random.Generator) -> Json:
    """One game: values and best responses by hand, and the steps of every schedule."""
    there, here = (on(tree, where) for where in (device, PLAIN))
    strategy = Strategy.random(tree, int(rng.integers(2**31)))
    result: Json = {"values and best responses": evaluated(there, strategy)}
    for name in SCHEDULES:
        plan, start, sides = parse(name), drawn(tree, rng), []
        for engine in (here, there, there):  # twice: the first plain, then recorded
            cfr = cfr_from(engine, plan, start)
            _steps(cfr, plan)
            sides.append(cfr)
        result[name] = difference(sides[0], sides[1])
        result["same bits again"] = result.get("same bits again", True) and not difference(
            *sides[1:]
        )
    return result


# Gadgets -------------------------------------------------------------------------------------
def techniques() -> dict[str, Gadget]:
    """Every gadget, in each form."""
    known = {name: make() for name, make in TECHNIQUES.items() if name != "estimate"}
    random = known["distributional"]
    return {
        **known,
        "distributional, respond": replace(random, form="respond"),
        "estimate-resolve, safe": replace(known["estimate-resolve"], keep_safe=True),
        "resolve, refined": Resolve(refined=0.1),
        "maxmargin, refined": Maxmargin(refined=0.1),
    }


def gadget(device: str, how: Gadget, subgame: SequenceSubgame, rng: np.random.Generator) -> float:
    """One gadget: its inputs, and steps from random regrets in its game and of its learner."""
    tree, o = subgame.whole, int(rng.integers(2))
    blueprint, guess = (Strategy.random(tree, int(rng.integers(2**31))) for _ in range(2))
    one, two = (_inputs(how, subgame, blueprint, guess, o, where) for where in (PLAIN, device))
    worst = [far(b, a) for a, b in zip(vars(one).values(), vars(two).values(), strict=True)]
    one = replace(one, spread=rng.random(len(one.weight)))
    plan = parse(default_schedule(how, subgame.tree))
    if how.is_finite and not how.refined:
        made = assemble(gadget_form(how, subgame.form, one))
        start = drawn(made, rng)
        sides = [cfr_from(on(made, where), plan, start) for where in (PLAIN, device)]
        for cfr in sides:
            _steps(cfr, plan)
        worst.append(difference(*sides))
    if how.entry != "blueprint" and not how.keep_safe:
        worst.append(_learning(device, how, subgame, one, plan, rng))
    return max(worst)


def _learning(
    device: str,
    how: Gadget,
    subgame: SequenceSubgame,
    inputs: GadgetInputs,
    plan: Schedule,
    rng: np.random.Generator,
) -> float:
    """Steps of a gadget's learner before its subgame, from random regrets of all."""
    start, outer, sides = drawn(subgame.tree, rng), rng.random((2, len(inputs.weight))), []
    for where in (PLAIN, device):
        engine = on(subgame.tree, where)
        cfr = cfr_from(engine, plan, start)
        cfr.learner = how.learner(inputs.on(engine), predictive=plan.predictive)
        for p, reach in ((o := inputs.opponent, inputs.opponent_reach), (1 - o, inputs.our_reach)):
            cfr.reach[p][...] = engine.array(reach)
        preset(cfr.learner, engine, 100 * outer[:, None], plan)
        _steps(cfr, plan)
        sides.append(cfr)
    entered = [as_numpy(cfr.learner.enter()) for cfr in sides if cfr.learner is not None]
    return max(difference(*sides), far(entered[1], entered[0]))


def preset(learner: Any, engine: Any, regret: Floats, plan: Schedule) -> None:
    """Give a learner regrets [choice, root, infoset], where it has any, as after 10 iterations."""
    if isinstance(learner, Choice):
        learner.regret[...] = engine.array(regret[: len(learner.regret)])
        learner.ahead[...] = engine.rates(plan.discounts(11, 1), 11)[0, :4]


def _inputs(
    how: Gadget, subgame: Subgame, blueprint: Strategy, guess: Strategy, o: int, where: str
) -> GadgetInputs:
    """What the gadget is told of its root, found on a device."""
    trunk = Trunk(blueprint, o, guess, where)
    values = trunk.value_of(subgame, guess) if how.estimate else None
    return trunk.inputs(subgame, how, values)[0]


def before_holdem(device: str, how: Gadget, rng: np.random.Generator) -> float:
    """A gadget at the root of a small hold'em tree: steps from random regrets of both."""
    deck, o, plan = Deck("TJQKA", "hs"), int(rng.integers(2)), parse("dcfr")
    ranges = ("*", "AA,KK:0.5,QJ,JTs:0.3")
    tree = compile(holdem.endgame("QsJhThKsAh", 4, 6, ranges, "all: 1x a", deck=deck))
    blueprint = Strategy.random(tree, int(rng.integers(2**31)))
    regrets = [100 * rng.random(side.num_sequences) for side in tree.players]
    outer, results = 100 * rng.random((2, 10**3)), []
    for where in (PLAIN, device):
        subgame = cut(tree, "root")[0]
        inputs = _inputs(how, subgame, blueprint, blueprint, o, where)
        inputs = replace(inputs, spread=1 + np.abs(inputs.cbv))
        run = GadgetRun(subgame.tree, plan, how, inputs, where)
        preset(run.cfr.learner, run.engine, outer[:, None, : len(inputs.weight)], plan)
        for player, numbers in zip(run.cfr.pair, regrets, strict=True):
            player.regret[:] = numbers.astype(np.float32)
        run.cfr.advance(plan.discounts(11, STEPS + 1), 11)
        gap = run.evaluate(run.played())
        result = map(np.asarray, kept(run.cfr.pair))
        results.append([*result, inputs.cbv, as_numpy(run.cfr.reach[o]), gap.per_seat])
    return max(far(b, a) for a, b in zip(*results, strict=True))


# All of it -----------------------------------------------------------------------------------
def timed(device: str, tree: SequenceTree, plan: Schedule) -> Json:
    """Milliseconds per iteration, and what they bring."""
    cfr = cfr_of(on(tree, device), plan)
    advance(cfr, plan, 1, 5)
    spent = advance(cfr, plan, 6, LONG)
    sizes = [side.num_sequences for side in tree.players]
    return {"sequences": sizes, "entries": len(tree.entries.value), "ms per iteration": spent * 1e3}


def check(
    device: str = "cuda",
    names: tuple[str, ...] = NAMES,
    long: tuple[str, ...] = TIMED,
    at: tuple[str, str] = ("leduc", "after round 1"),
) -> Json:
    """Every game, schedule and gadget, and how long iterations take."""
    seed, result = fresh(), dict[str, Json]()
    rng = np.random.default_rng(seed)
    names = (*names, f"random(seed={rng.integers(10**6)}, ragged=true)")
    out: Json = {"seed": seed, "worst": 0.0, "games": result}
    for name in names:
        result[name] = game(device, shaken(sequence_tree(compile(games.load(name))), rng), rng)
    cuts = cut(compile(games.load(at[0])), at[1])
    subgames = [part for part in cuts if isinstance(part, SequenceSubgame)]
    out["gadgets"] = {
        name: gadget(device, how, subgames[int(rng.integers(len(subgames)))], rng)
        for name, how in techniques().items()
    }
    out["gadgets before hold'em, in float32"] = {
        name: before_holdem(device, how, rng)
        for name, how in techniques().items()
        if not how.keep_safe
    }
    numbers = [v for case in (*result.values(), out["gadgets"]) for v in case.values()]
    out["worst"] = max(v for v in numbers if not isinstance(v, bool))
    out["same bits again"] = all(v for v in numbers if isinstance(v, bool))
    out["time"] = {
        f"{tree.game_name}, {word}": timed(device, tree, parse(word))
        for tree in (sequence_tree(compile(games.load(name))) for name in long)
        for word in ("cfr+", "pdcfr+")
    }
    return out

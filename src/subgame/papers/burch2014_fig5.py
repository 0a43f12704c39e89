"""Burch et al. 2014, Fig. 5: a strategy found in an abstraction of Leduc, and re-solved.

Notes:

* Which equilibrium of the abstract game is found matters in the whole game, and the paper has one.
  Ours are found in several ways: by each of the schedules in the settings from zero regrets and by
  PCFR+ from random regrets (exponentially distributed, mean 0.1, one draw per seed), to the gap in
  the settings within the abstraction; and as vertices of the set of equilibria, by linear programs
  whose optimum a small random weight of every sequence makes unique. So every machine finds the
  same ones, up to rounding. 'Ours' is the median over them, with the range beside it.
* The paper re-solves by CFR with public chance sampling, whose iteration deals one board card; ours
  is plain CFR over all six, without that noise. So few iterations lead further here.
* Two statements hold for every equilibrium, up to the error of re-solving. Safe re-solving is no
  more exploitable than the original strategy (Theorem 1). Unsafe re-solving does not lose to the
  original strategy, because each seat gets at least the subgame's value at the original reaches.
  The others are counted: that unsafe wins more than safe from the original, by 0.004 in the paper,
  and that unsafe is more exploitable. Safe re-solving only has to keep the opponent at their old
  values, and which of the many strategies that do so is found decides how much it wins.
* Estimate and Maxmargin are not in the paper. Estimate takes as alternative payoffs the values of a
  counterfactual best response held to the abstraction (Brown & Sandholm 2017, App. C), so it is not
  safe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import subgame as sg
from subgame.abstraction.lift import abstract_best_response, lift
from subgame.engines.factory import engine
from subgame.games.leduc import LeducAbstract
from subgame.papers.burch2014 import AT, Resolving, doubling
from subgame.papers.report import Found, Progress, panel, row, series
from subgame.refine.sequence.decompose import compact_histories
from subgame.refine.sequence.subgames import SequenceSubgame
from subgame.refine.subgame import Subgame
from subgame.solve.evaluate import head_to_head as value_between
from subgame.solve.program import Floats, constraints, maximin
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits, Run, complete
from subgame.tree.public_tree import both
from subgame.tree.sequence.tree import SequenceTree, sequence_tree

WAYS = ("pcfr+", "cfr+", "dcfr", "pdcfr+")
"""Schedules that find abstract equilibria from zero regrets."""
GAP = 1e-6
RANDOM = ("seed", "vertex")
"""How equilibria are found by a random draw: from random regrets, or as a random vertex."""
WEIGHT = 1e-5
"""The largest weight of a sequence that chooses a vertex: too small to give up an equilibrium."""


@dataclass(frozen=True)
class Trial:
    """One abstract equilibrium and what became of it."""

    start: str  # a schedule from zero regrets, "seed 1" or "vertex 1" and so on
    gap: float  # exploitability within the abstraction
    abstract: float  # and in the whole game
    exploitability: dict[str, list[float]]  # technique -> at each count
    head_to_head: dict[str, list[float]]  # what it wins from the original strategy


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """Full: 20 abstract equilibria and 25,000 iterations; quick: three and 6,250."""
    coarse, tree = sg.compile(LeducAbstract()), sg.compile(sg.games.load("leduc"))
    subgames = sg.cut(tree, AT)
    counts = [*doubling(25, 3_200), 6_250]
    counts = sorted({*counts, 2_000, *([] if quick else (12_500, 25_000))})
    trials, others = list[Trial](), dict[str, list[float]]()
    below = list(compact_histories(sequence_tree(tree), sg.Strategy.uniform(tree), AT).subgames())
    ways, gap, more = (WAYS[:1], 1e-5, 1) if quick else (WAYS, GAP, 8)
    starts = [*ways, *(f"{way} {seed + k}" for way in RANDOM for k in range(1, more + 1))]
    for k, start in enumerate(starts):
        tell(f"Abstract equilibrium {k + 1} of {len(starts)}, {start}", k / len(starts))
        strategy = abstract_equilibrium(coarse, start, gap)
        trials.append(_trial(strategy, tree, counts, start, below))
        for name, after in _others(strategy, tree, subgames).items():
            others.setdefault(name, []).append(after)
    paper_line = [{"label": "paper, the abstract strategy: 0.382", "y": 0.382}]
    panels = [
        _panel("top: against the original strategy", "won", trials, counts, "head_to_head"),
        _panel("bottom: exploitability", "exploitability", trials, counts, "exploitability")
        | {"lines": paper_line},
    ]
    trial_rows = [vars(trial) for trial in trials]
    return Found(
        rows=list(_rows(trials, counts, others)),
        data={"panels": panels, "counts": counts, "trials": trial_rows, "others": others},
        settings={
            "abstract equilibria": len(trials),
            "found by": [*ways, *(f"{more} by {way}" for way in RANDOM)],
            "gap": gap,
            "iterations": counts[-1],
            "schedule": "cfr",
        },
    )


def abstract_equilibrium(coarse: sg.PublicTree, start: str, gap: float = GAP) -> sg.Strategy:
    """An equilibrium of the abstract game, found by a schedule, from "seed 1" or as "vertex 1".

    A seed is one of random regrets that PCFR+ starts from, or of weights that choose a vertex.
    """
    word, _, number = start.partition(" ")
    if word == "vertex":
        return _vertex(sequence_tree(coarse), np.random.default_rng(int(number)))
    solving = Run(coarse, parse("pcfr+" if word == "seed" else start))
    if word == "seed":
        rng = np.random.default_rng(int(number))
        for regrets in solving.cfr.pair:
            regrets.regret[:] = rng.exponential(0.1, size=len(regrets.regret))
    return complete(solving, Limits(iterations=500_000, target=gap)).strategy


def _vertex(coarse: SequenceTree, rng: np.random.Generator) -> sg.Strategy:
    """The equilibrium whose plans weigh most, by a random weight of every sequence."""
    run = engine(coarse)

    def best(p: int) -> Floats:
        size, reach = coarse.players[p].num_sequences, coarse.players[1 - p].reach
        between, prefer = (np.zeros(size), np.ones(size)), rng.uniform(0, WEIGHT, size)
        solution = maximin(coarse.game_name, constraints(coarse, p), reach, between, prefer=prefer)
        plan: Floats = np.maximum(solution.x[:size], 0)
        return plan

    return sg.Strategy(coarse, both(lambda p: run.behaviour(p, best(p))))


def _trial(
    strategy: sg.Strategy,
    tree: sg.PublicTree,
    counts: Sequence[int],
    start: str,
    below: Sequence[SequenceSubgame],
) -> Trial:
    original = lift(strategy, tree)
    kept = compact_histories(sequence_tree(tree), original, AT)
    gaps: dict[str, list[float]] = {"safe": [], "unsafe": []}
    wins: dict[str, list[float]] = {"safe": [], "unsafe": []}
    for name, technique in (("safe", sg.Resolve()), ("unsafe", sg.Unsafe())):
        solving = Resolving(kept, tree, technique, "cfr", 0, below)
        for count in counts:
            solving.advance(count)
            refined = solving.strategy()
            gaps[name].append(sg.exploitability(tree, refined).mean)
            wins[name].append(value_between(tree, refined, original).mean)
    abstract = sg.exploitability(tree, original).mean
    return Trial(start, sg.exploitability(strategy.tree, strategy).mean, abstract, gaps, wins)


def _others(
    strategy: sg.Strategy, tree: sg.PublicTree, subgames: list[Subgame]
) -> dict[str, float]:
    """Techniques that came later, on the same strategy."""
    original, estimate = lift(strategy, tree), abstract_best_response(strategy, tree)
    refine = partial(sg.refine, tree, original, at=subgames, iterations=1_000, allow_worse=True)
    gadgets = sg.Maxmargin(), sg.Estimate()
    return {
        gadget.name: refine(technique=gadget, estimate=estimate).after.mean for gadget in gadgets
    }


def _panel(
    title: str, what: str, trials: list[Trial], counts: list[int], of: str
) -> dict[str, object]:
    """Median and range over the trials."""
    curves = []
    for name in ("safe", "unsafe"):
        values = np.array([getattr(trial, of)[name] for trial in trials])
        middle = dict(zip(counts, np.median(values, axis=0).tolist(), strict=True))
        low, high = values.min(axis=0).tolist(), values.max(axis=0).tolist()
        curves.append(series(f"{name} re-solving", middle, low=low, high=high))
    x, y = "iterations of each re-solving game", f"{what} (chips per hand)"
    return panel(f"Fig. 5, {title}", x, y, curves, scale="semilog")


def _rows(
    trials: list[Trial], counts: list[int], others: dict[str, list[float]]
) -> Iterator[dict[str, object]]:
    def spread(values: Sequence[float]) -> tuple[float, str]:
        return float(np.median(values)), f"range {min(values):.4g} to {max(values):.4g}"

    def at(name: str, count: int) -> tuple[float, str]:
        return spread([trial.exploitability[name][counts.index(count)] for trial in trials])

    late = [k for k, count in enumerate(counts) if count >= 2_000]
    settled = [trial.exploitability["safe"][k] for trial in trials for k in late]
    k = counts.index(6_250)
    edge = [t.head_to_head["unsafe"][k] - t.head_to_head["safe"][k] for t in trials]
    first, note = spread([trial.abstract for trial in trials])
    yield row("infosets of the abstract game", None, 576, "of 936")
    yield row("exploitability of the abstract strategy", 0.382, first, note)
    one = f"  of the one that {trials[0].start} finds"
    yield row(one, 0.382, trials[0].abstract, "from zero regrets")
    yield row("safe, 200 iterations", 0.33, *at("safe", 200))
    yield row("safe, 2,000 iterations", "0.23 to 0.29", *at("safe", 2_000))
    yield row("safe, 2,000 iterations and more", "0.23 to 0.29", *spread(settled))
    yield row("unsafe, 6,250 iterations", 0.39, *at("unsafe", 6_250))
    ends = [
        (t.abstract, t.exploitability["safe"][k], t.exploitability["unsafe"][k]) for t in trials
    ]
    of = f"of {len(trials)}, 6,250 iterations"
    for what, count in (
        ("safe is less exploitable than the abstract strategy", sum(s < a for a, s, _ in ends)),
        ("unsafe is more exploitable than the abstract strategy", sum(u > a for a, _, u in ends)),
        ("unsafe is more exploitable than safe", sum(u > s for _, s, u in ends)),
        ("unsafe wins more than safe from the original", sum(won > 0 for won in edge)),
    ):
        yield row(what, "yes", count, of)
    for name in ("safe", "unsafe"):
        wins = [trial.head_to_head[name][k] for trial in trials]
        yield row(f"{name} wins from the original, 6,250 iterations", None, *spread(wins))
    yield row("edge of unsafe there", 0.004, *spread(edge))
    for name, gaps in others.items():
        yield row(f"{name}, 1,000 iterations of CFR+", None, *spread(gaps))

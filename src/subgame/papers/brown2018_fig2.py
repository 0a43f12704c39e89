"""Brown, Sandholm & Amos 2018, Fig. 2: an off-tree bet in flop hold'em, to a depth limit.

Notes:

* The paper does not state its betting tree: here 1/2 and 1 pot, stacks of 20,000 and blinds of 50
  and 100. With two bets before the flop and two on it (brown2018-fig2) the big blind may raise the
  bet; with one and three, the game of the 2017 paper's Table 2 (brown2018-fig2-one-bet), the big
  blind folds or calls. The small blind opens with 3/4 pot.
* Exploitability is that of the big blind's whole strategy: what a best response wins that may also
  open with 3/4 pot, less the value of that game (known up to half the exploitability of its
  solution, which is the line 'in the abstraction').
* State values are made by the self-generative approach in the game without the bet. After it the
  paper takes the mean of those after 1/2 and after 1 pot and the same actions ('mean of values').
  That lets the opponent play on as after 1/2 where we do and as after 1 where we do, as if the
  opponent knew which size we take the bet for; the more values there are to choose from, the more
  the opponent gains. So values are also taken in the pot of the bet itself ('own pot'): the
  opponent plays on as after one of the two sizes, we as after either, equally often; eight
  continuations and two sizes are sixteen values.
* The subgame stands behind a Resolve gadget. At the end of the round safe subgame solving goes on,
  before the flop is dealt and on all flops at once: the opponent's values there are known by hand,
  not by hand and flop. The alternative payoffs are the opponent's values at the limit, plus what
  they lack to the values without the bet; with the values alone, as in an earlier run, 16 mean
  values lost 7.5, and flop by flop 21.6 mbb/h.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Array, as_double, as_numpy, namespace
from subgame.engines.contract import RangeEngine
from subgame.engines.factory import engine
from subgame.engines.street import LeafTable, StreetEngine
from subgame.engines.torch.runtime import load_torch
from subgame.games.holdem import nlfh
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.papers import brown2017_table2
from subgame.papers.off_tree import Allowances, OffTree, allowances
from subgame.papers.report import Found, Progress, Record, device, mbb, panel, row, series
from subgame.refine.behind import GadgetRun
from subgame.refine.gadgets import Gadget, Maxmargin, Resolve
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.limit import RangeLimit
from subgame.refine.ranges.play import BeforeCards
from subgame.refine.ranges.subgames import flat, rows, transfer
from subgame.refine.subgame import reliable
from subgame.refine.verbs.depth import depth_limited, self_generated
from subgame.refine.verbs.translate import translate
from subgame.solve.evaluate import exploitability, total
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Run, solve
from subgame.tree.ranges.tree import RangeTree, compile_range_tree, range_tree
from subgame.tree.strategy import Strategy

Numbers = NDArray[np.float32]
KNOWN = "preflop: 0.5x 1x / cap 2; flop: 0.5x 1x / cap 2"
LIMIT = "before the flop"
OPENING = 0.75
US, OPPONENT = 0, 1
"""The big blind answers; the small blind opens."""
VALUES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Effort:
    """How much is solved."""

    blueprint: int
    generation: int
    subgame: int
    counts: tuple[int, ...]


MEAN, OWN = "mean of values", "own pot"
WAYS: dict[str, tuple[str, Gadget]] = {
    "own pot, then Resolve": (OWN, Resolve()),
    "own pot, then Maxmargin": (OWN, Maxmargin()),
    "mean of values, then Resolve": (MEAN, Resolve()),
}
"""What values are at the limit, and what the subgame on the flop stands behind."""
FULL = Effort(1_000, 200, 400, VALUES)
QUICK = Effort(60, 30, 60, (1, 2, 4))


def run(quick: bool, seed: int, tell: Progress, bets: str = KNOWN) -> Found:
    """On a GPU; quick: a deck of eight cards and one bet on the flop, on the CPU."""
    torch, where = load_torch(), device(quick)
    effort, plan = (QUICK if quick else FULL), parse("dcfr")
    few = f"{bets.rpartition(' ')[0]} 1"  # on the flop, the last clause
    game = nlfh(bets=few, ranks="JQKA", suits="hs") if quick else nlfh(bets=bets)
    tell("Building the game", 0.0)
    tree = compile_range_tree(game)
    larger = compile_range_tree(opened(game))
    tell("Solving the blueprint", 0.02)
    blueprint = solve(tree, plan, iterations=effort.blueprint, device=where).strategy
    off = Opened(larger, blueprint, where, plan, effort)
    tell("Solving the game that has the bet", 0.1)
    with_bet = solve(larger, plan, iterations=effort.blueprint, device=where)
    won = with_bet.exploitability.per_seat
    value = (won[US] - won[OPPONENT]) / 2
    translated = translate(larger, blueprint, "pseudo-harmonic", device=where)
    lines = {
        "translation": mbb(off.loss(translated.probs[US]) - value),
        "in the abstraction": mbb(sum(won) / 2),
        "solved to the end": mbb(off.to_the_end() - value),
    }
    most = effort.counts[-1]
    values = off.values(
        most, lambda k: tell(f"State value {k + 1} of {most}", 0.2 + 0.4 * k / most)
    )
    curves: dict[str, dict[int, float]] = {name: {} for name in WAYS}
    for k in effort.counts:
        for j, (kind, leaves) in enumerate(values.items()):
            tell(f"Answering with {k} state values, {kind}", 0.6 + 0.4 * (k - 1 + j / 2) / most)
            for name, gap in off.limited(leaves.first(k), kind).items():
                curves[name][k] = mbb(gap - value)
    within = float(exploitability(tree, blueprint, device=where))
    return Found(
        rows=_rows(curves, lines, off.sizes(most)),
        data={
            "panels": [_panel(curves, lines)],
            "exploitability, mbb/h": {
                name: {str(k): gap for k, gap in curve.items()} for name, curve in curves.items()
            },
            "lines, mbb/h": lines,
            "value for the small blind, mbb/h": mbb(value),
            "blueprint in its own game, mbb/h": mbb(within),
            "sizes": off.sizes(most),
            "table of state values, bytes": values[OWN].values.nbytes,
            "peak GiB on the device": 0.0 if quick else torch.cuda.max_memory_allocated() / 2**30,
        },
        settings={
            "game": str(game),
            "schedule": str(plan),
            "iterations of the blueprint": effort.blueprint,
            "per generated state value": effort.generation,
            "of the subgame": effort.subgame,
            "device": "cpu" if quick else torch.cuda.get_device_name(),
        },
    )


one_bet = partial(run, bets=brown2017_table2.KNOWN)
"""With the betting of the 2017 paper's Table 2."""


@dataclass(frozen=True)
class WithOpening(Holdem):
    """Hold'em with one more bet for whoever acts first."""

    opening: str = ""

    def actions(self, betting: Betting) -> tuple[str, ...]:
        known = super().actions(betting)
        return (*known, self.opening) if betting == self.start() else known

    @property
    def parameters(self) -> dict[str, object]:
        return {**super().parameters, "opening": self.opening}


def opened(game: Holdem) -> WithOpening:
    """`game` in which the small blind may also open with 3/4 pot."""
    start = game.start()
    chips = max(start.bets) + round(OPENING * (start.pot + start.to_call))
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return WithOpening(**own, opening=f"r{chips}")


class Opened:
    """The game in which the small blind may also open with 3/4 pot, and our answers to that."""

    def __init__(
        self, larger: RangeTree, blueprint: Strategy, where: str, plan: Schedule, effort: Effort
    ) -> None:
        self.larger, self.blueprint, self.device = larger, blueprint, where
        self.plan, self.effort = plan, effort
        self.tree = range_tree(blueprint.tree)
        self.run = run = engine(self.tree, device=where)
        self.known: Numbers = np.zeros(larger.stored(US), np.float32)
        transfer(self.tree, blueprint.probs[US], larger, self.known, US)
        game = self.tree.holdem
        start = game.start()
        sizes = [start.child(name) for name in game.actions(start) if name[0] == "r"]
        opening = cast(WithOpening, larger.holdem).opening
        self.off = OffTree(run, start.child(opening), sizes)
        self.after = self.off.streets
        self.inputs = self._inputs()

    def _inputs(self) -> GadgetInputs:
        """What a gadget after the bet needs: the opponent's best in the game without the bet."""
        run, ours = self.run, self.tree.players[US].reach[None]
        values = run.row_values(OPPONENT, self.blueprint.probs[US], ours)[0]
        best = values[rows(self.tree.streets[0], OPPONENT, 0)]
        count = len(self.tree.players[OPPONENT].slots)
        cbv = as_numpy(namespace(best).amax(best, 0))[:, :count]
        weight = reliable(as_numpy(run.opposing(OPPONENT, ours[:, None], 0)))[:, 0, :count]
        return GadgetInputs.of_values(OPPONENT, (ours, weight), weight, cbv)

    def values(self, count: int, progress: Callable[[int], None]) -> dict[str, LeafTable]:
        """State values after the bet, `count` of each kind."""
        solved, last = itertools.count(1), count - 1
        progress(0)
        tree, blueprint, where = self.tree, self.blueprint, self.device
        grown = self_generated(
            tree,
            blueprint,
            at=LIMIT,
            player=US,
            count=count,
            schedule=self.plan,
            iterations=self.effort.generation,
            device=where,
            watch=lambda _: progress(min(next(solved), last)),
        )
        limited = depth_limited(
            tree, blueprint, at=LIMIT, player=US, continuations=grown, device=where
        )
        ours, own = self.off.ours(US, self.blueprint.probs[US]), list[Array]()
        for probs in grown.probs[: -(-count // len(self.off.sizes))]:
            own.extend(self.off.values(ours, probs, OPPONENT))
        table = LeafTable(namespace(own[0]).stack(own[:count]), OPPONENT)
        return {OWN: table, MEAN: self.off.mean(cast(RangeLimit, limited).table)}

    def loss(self, sigma: Numbers) -> float:
        """What a best response wins against our strategy of the larger game, in chips."""
        run = engine(self.larger, device=self.device)
        return total(run, OPPONENT, run.respond(OPPONENT, run.plan(US, sigma)))

    def _loss(self, *parts: tuple[RangeEngine, Array]) -> float:
        """The same for the blueprint with answers to the bet: engines, and strategies of them."""
        sigma = self.known.copy()
        for run, part in parts:
            transfer(run.tree, np.asarray(part), self.larger, sigma, US)
        return self.loss(sigma)

    def to_the_end(self) -> float:
        """Answered by a subgame that goes to the end of the hand."""
        stage = self.run.stage(self.after)
        run = GadgetRun(stage.tree, self.plan, Resolve(), _padded(self.inputs, stage), on=stage)
        run.advance(self.effort.subgame)
        return self._loss((stage, run.played()[US]))

    def limited(self, values: LeafTable, kind: str) -> dict[str, float]:
        """Answered to the end of the betting round, and then to the end, by either gadget."""
        street = StreetEngine(self.run, self.after[0], values)
        run = GadgetRun(self.tree, self.plan, Resolve(), self.inputs, on=street)
        run.advance(self.effort.subgame)
        ours, reach = run.played()[US], street.array(self.inputs.our_reach)
        allowed = allowances(street, ours, reach, self.inputs.alternative)
        stage = self.run.stage(self.after)
        first = street.over(stage.tree, US, ours, np.zeros(0))
        return {
            name: self._loss((stage, first), self._flop(allowed, gadget))
            for name, (want, gadget) in WAYS.items()
            if want == kind
        }

    def _flop(self, allowed: Allowances, gadget: Gadget) -> tuple[RangeEngine, Array]:
        """Safe subgame solving from the end of the round on, all flops at once."""
        run, stage = self.run, self.run.stage([self.after[1]])
        # Only the shape of our range matters; kernels like numbers near one.
        size = np.maximum(allowed.our_reach.max(1, keepdims=True), 1e-100)
        weight, alternative = (
            as_double(run.array(values)) for values in (allowed.weight / size, allowed.alternative)
        )
        entry = run.enter(US, (allowed.our_reach / size)[:, None], 1)
        theirs = as_numpy(stage.opposing(OPPONENT, entry, 0))
        inputs = GadgetInputs.of(OPPONENT, (entry, theirs), weight, alternative)
        learner = gadget.learner(inputs, predictive=self.plan.predictive)
        assert learner is not None
        solved = Run(
            stage.tree,
            self.plan,
            on=stage,
            learner=lambda _: BeforeCards(learner, run, 1),
            reach=(flat(as_numpy(entry)), flat(theirs)),
        )
        solved.advance(self.effort.subgame)
        return stage, solved.played()[US]

    def sizes(self, count: int) -> dict[str, object]:
        """Numbers a solver keeps per quantity: in the limited subgame, and to the end."""
        units = self.tree.units
        hands = [
            [int(units.boards.hands[2 * a + p : 2 * b : 2].sum()) for p in (0, 1)]
            for a, b in zip(units.first, units.first[1:], strict=False)
        ]
        first, last = (
            [street.rows[p] - len(street.roots) for p in (0, 1)] for street in self.after
        )
        top = sum(first) * hands[0][US]
        chosen = count * len(self.after[1].roots) * hands[0][OPPONENT]
        flop = sum(last) * hands[1][US]
        limited, whole = top + chosen, top + flop
        return {"limited": limited, "to the end": whole, "times": whole / limited}


def _padded(inputs: GadgetInputs, stage: RangeEngine) -> GadgetInputs:
    """The same in the width of a batch's roots, which have places without a hand."""

    def put(p: int) -> Callable[[Array], Array]:
        wide = int(stage.roots(p).shape[1])
        return lambda values: np.pad(values, ((0, 0), (0, wide - values.shape[1])))

    return inputs.mapped(put(1 - inputs.opponent), put(inputs.opponent))


def _rows(
    curves: dict[str, dict[int, float]], lines: dict[str, float], sizes: Record
) -> list[dict[str, object]]:
    counts = list(next(iter(curves.values())))
    few, many = counts[0], counts[-1]
    translated, within = lines["translation"], lines["in the abstraction"]
    rows = [
        row(f"{k} state values", None, [curve[k] for curve in curves.values()], "; ".join(curves))
        for k in counts
    ]
    rows += [row(name, None, gap) for name, gap in lines.items()]
    rows += [
        row(f"{name}: one value is worse than translation", "yes", curve[few] > translated)
        for name, curve in curves.items()
    ]
    best = min(curve[many] for curve in curves.values())
    above, closed = best - within, (translated - best) / (translated - within)
    return [
        *rows,
        row(f"{many} values above the bet in the abstraction, mbb/h", "little", above),
        row(f"of translation's gap to it, {many} values close", "nearly all", closed),
        row("the subgame to the end is larger", "about 10,000 times", sizes["times"], "times"),
    ]


def _panel(curves: dict[str, dict[int, float]], lines: dict[str, float]) -> dict[str, object]:
    shown = [
        series(name, curve, line="-" if WAYS[name][0] == OWN else ":")
        for name, curve in curves.items()
    ]
    marks = [{"label": name, "y": gap} for name, gap in lines.items()]
    title = "Fig. 2: exploitability against a first bet of 3/4 pot"
    return panel(title, "state values", "exploitability (mbb/h)", shown, lines=marks)

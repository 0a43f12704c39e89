"""Brown, Sandholm & Amos 2018, Fig. 2: an off-tree bet in flop hold'em, to a depth limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from subgame.engines.torch.batch import Blocks
from subgame.engines.torch.doors import Doors
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.runtime import load_torch
from subgame.games.holdem import nlfh
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command, device, mbb
from subgame.refine.depth.boards import (
    Allowances,
    DoorsAbove,
    Leaves,
    LimitedStreet,
    OffTree,
    alike,
    self_generated,
)
from subgame.refine.nested.boards import joined, lost, ratio, reliable, solved, translated
from subgame.refine.nested.translation import mapping
from subgame.solve.schedule import Schedule, parse
from subgame.tree.ranges.betting_tree import Street, grow
from subgame.tree.ranges.tree import compile_range_tree

Tensor = Any
KEY = "brown2018-fig2"
PAPER = "Brown, Sandholm & Amos 2018, Depth-Limited Solving for Imperfect-Information Games"
WHAT = "flop hold'em: a first bet of 3/4 of the pot answered by solving to the end of the round"
KNOWN = "preflop: 0.5x 1x / cap 2; flop: 0.5x 1x / cap 2"
OPENING = 0.75
US, SHE = 0, 1
"""The big blind answers; the small blind opens."""
VALUES = (1, 2, 4, 8, 16)
NOTES = (
    "The paper does not state its betting tree: here 1/2 and 1 pot, stacks of 20,000 and blinds of "
    "50 and 100. With two bets before the flop and two on it (brown2018-fig2) the big blind may "
    "raise the bet; with one and three, the game of the 2017 paper's Table 2 "
    "(brown2018-fig2-one-bet), the big blind folds or calls. The small blind opens with 3/4 pot.",
    "Exploitability is that of the big blind's whole strategy: what a best response wins that may "
    "also open with 3/4 pot, less the value of that game (known up to half the exploitability of "
    "its solution, which is the line 'in the abstraction').",
    "State values are made by the self-generative approach in the game without the bet. After it "
    "the paper takes the mean of those after 1/2 and after 1 pot and the same actions ('mean of "
    "values'). That lets the opponent play on as after 1/2 where we do and as after 1 where we "
    "do, as if the opponent knew which size we take the bet for; the more values there are to "
    "choose from, the more the opponent gains. So values are also taken in the pot of the bet "
    "itself ('own pot'): the opponent plays on as after one of the two sizes, we as after "
    "either, equally often; eight continuations and two sizes are sixteen values.",
    "The subgame stands behind a Resolve gadget. At the end of the round safe subgame solving goes "
    "on, before the flop is dealt and on all flops at once: the opponent's values there are known "
    "by hand, not by hand and flop. The alternative payoffs are the opponent's values at the "
    "limit, plus what they lack to the values without the bet; with the values alone, as in an "
    "earlier run, 16 mean values lost 7.5, and flop by flop 21.6 mbb/h.",
)


@dataclass(frozen=True)
class Effort:
    """How much is solved."""

    blueprint: int
    generation: int
    subgame: int
    counts: tuple[int, ...]


Gadget = Literal["leave", "choose"]
MEAN, OWN = "mean of values", "own pot"
WAYS: dict[str, tuple[str, Gadget]] = {
    "own pot, then Resolve": (OWN, "leave"),
    "own pot, then Maxmargin": (OWN, "choose"),
    "mean of values, then Resolve": (MEAN, "leave"),
}
"""What values are at the limit, and what the subgame on the flop stands behind."""
FULL = Effort(1_000, 200, 400, VALUES)
QUICK = Effort(120, 60, 120, (1, 2, 4, 8))


def run(
    quick: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
    key: str = KEY,
    bets: str = KNOWN,
) -> Report:
    """On a GPU; quick: a deck of eight cards and one bet on the flop, on the CPU."""
    began = time.perf_counter()
    torch, tell = load_torch(), progress or (lambda what, share: None)
    where = device(key, quick)
    effort, plan = (QUICK if quick else FULL), parse("dcfr")
    few = f"{bets.rpartition(' ')[0]} 1"  # on the flop, the last clause
    game = nlfh(bets=few, ranks="JQKA", suits="hs") if quick else nlfh(bets=bets)
    tell("Building the game", 0.0)
    engine = TorchRangeEngine(compile_range_tree(game), where)
    tell("Solving the blueprint", 0.02)
    blueprint = solved(engine, engine, plan, effort.blueprint)
    off = Opened(engine, blueprint, plan, effort)
    tell("Solving the game that has the bet", 0.1)
    with_bet = solved(engine, off.sweeps, plan, effort.blueprint)
    won = [lost(off.sweeps, with_bet[p], engine) for p in (0, 1)]
    value, floor = (won[US] - won[SHE]) / 2, (won[US] + won[SHE]) / 2
    heard = translated(
        blueprint[US],
        engine.tree.streets,
        game,
        (off.sweeps, off.streets),
        mapping("pseudo-harmonic"),
    )
    lines = {
        "translation": mbb(lost(off.sweeps, heard, engine) - value),
        "in the abstraction": mbb(floor),
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
            for name, gap in off.limited(Leaves(leaves.table[:k], SHE), kind).items():
                curves[name][k] = mbb(gap - value)
    within = sum(lost(engine, blueprint[p], engine) for p in (0, 1)) / 2
    return Report(
        key=key,
        paper=PAPER,
        what=WHAT,
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
            "table of state values, bytes": values[OWN].table.nbytes,
            "peak GiB on the device": 0.0 if quick else torch.cuda.max_memory_allocated() / 2**30,
        },
        command=command(key, quick, seed),
        seed=seed,
        settings={
            "game": str(game),
            "schedule": str(plan),
            "iterations of the blueprint": effort.blueprint,
            "per generated state value": effort.generation,
            "of the subgame": effort.subgame,
            "quick": quick,
            "device": "cpu" if quick else torch.cuda.get_device_name(),
        },
        notes=NOTES,
        seconds=time.perf_counter() - began,
    )


class Opened:
    """The game in which the small blind may also open with 3/4 pot, and our answers to that."""

    def __init__(
        self,
        engine: TorchRangeEngine,
        blueprint: tuple[Blocks, Blocks],
        plan: Schedule,
        effort: Effort,
    ) -> None:
        self.engine, self.blueprint, self.plan, self.effort = engine, blueprint, plan, effort
        game, torch = engine.tree.holdem, engine.torch
        start = game.start()
        total = max(start.bets) + round(OPENING * (start.pot + start.to_call))
        self.opening = start.child(f"r{total}")
        self.streets = grow(game, [start], lambda state: (*game.actions(state), f"r{total}"))
        self.sweeps = engine.stage(self.streets)
        self.after = grow(game, [self.opening])
        known = {state.history: k for k, state in enumerate(engine.tree.streets[1].roots)}
        firsts = [name for name in game.actions(start) if name[0] == "r"]
        self.like = [[known[history] for history in self._same(first)] for first in firsts]
        self.reach = [engine.slots(side.reach, torch.float64) for side in engine.tree.players]
        wide = engine.levels[0].hands[SHE].wide
        ours = torch.nn.functional.pad(self.reach[US], (0, wide - self.reach[US].shape[2]))
        self.ours = ours
        self.weight = reliable(engine.opposing(SHE, ours))
        street = engine.tree.streets[0]
        rows = slice(street.first[SHE][0], street.first[SHE][0] + len(street.actions[SHE][0]))
        best = engine.worths(SHE, blueprint[US], self.reach[US])[0][rows].amax(0)[None]
        self.alternative = ratio(best, self.weight)

    def _same(self, first: str) -> list[tuple[str, ...]]:
        """Where the betting ends that does after `first` what leads to each of our leaves."""
        game, start = self.engine.tree.holdem, len(self.opening.history)
        other = game.start().child(first)
        lines = [leaf.history[start:] for leaf in self.after[1].roots]
        return [alike(game, self.opening, line, other).history for line in lines]

    def values(self, count: int, told: Callable[[int], None]) -> dict[str, Leaves]:
        """State values after the bet, `count` of each kind."""
        torch, own = (
            self.engine.torch,
            OffTree(self.engine, self.after[1], self.like, self.blueprint[US]),
        )
        mean, apart = [], []
        made = self_generated(self.engine, self.blueprint, SHE, self.plan, self.effort.generation)
        for k, (table, hers) in enumerate(islice(made, count)):
            told(k)
            mean.append(sum(table[like] for like in self.like) / len(self.like))
            if len(self.like) * k < count:
                apart.extend(own.values(hers))
        tables = {OWN: apart[:count], MEAN: mean}
        return {kind: Leaves(torch.stack(each), SHE) for kind, each in tables.items()}

    def _door(self) -> Doors:
        return Doors("leave", SHE, self.weight, self.alternative)

    def _judged(self, *parts: tuple[list[Street], Blocks]) -> float:
        """What a best response wins against the blueprint with answers, in chips."""
        known = (self.engine.tree.streets, self.blueprint[US])
        sigma = joined(self.sweeps, self.streets, [known, *parts])
        return lost(self.sweeps, sigma, self.engine)

    def to_the_end(self) -> float:
        """Answered by a subgame that goes to the end of the hand."""
        stage = self.engine.stage(self.after)
        one, two = (stage.memory(p) for p in (0, 1))
        discounts = self.plan.discounts(1, self.effort.subgame + 1)
        both = (self.ours, self.weight)
        stage.run((one, two), discounts, self.plan.alternating, both, self._door())
        return self._judged((self.after, one.average))

    def limited(self, values: Leaves, kind: str) -> dict[str, float]:
        """Answered to the end of the betting round, and then to the end, by either gadget."""
        street = LimitedStreet(self.engine, self.after[0], values, self.plan, self._door())
        average = street.solve((self.ours, self.weight), self.effort.subgame)
        allowed = street.allowances(average, self.ours, self.alternative)
        stage, out = self.engine.stage(self.after), {}
        for name, (want, gadget) in WAYS.items():
            if want == kind:
                ours = Blocks(stage, US, [average, self._flop(allowed, gadget)])
                out[name] = self._judged((self.after, ours))
        return out

    def _flop(self, allowed: Allowances, gadget: Gadget) -> Tensor:
        """Safe subgame solving from the end of the round on, all flops at once."""
        engine = self.engine
        size = allowed.ours.amax(2, keepdim=True).clamp(min=1e-100)
        doors = Doors(gadget, SHE, allowed.weight / size, allowed.alternative)
        stage = engine.stage([self.after[1]])
        ours = engine.enter(US, allowed.ours / size, 1)
        one, two = (stage.memory(p) for p in (0, 1))
        discounts = self.plan.discounts(1, self.effort.subgame + 1)
        both = (ours, stage.opposing(SHE, ours))
        stage.run((one, two), discounts, self.plan.alternating, both, DoorsAbove(engine, doors, 1))
        return one.average.blocks[0]

    def sizes(self, count: int) -> dict[str, Any]:
        """Numbers a solver keeps per quantity: in the limited subgame, and to the end."""
        levels = self.engine.levels
        first, last = (
            [street.rows[p] - len(street.roots) for p in (0, 1)] for street in self.after
        )
        top = sum(first) * int(levels[0].hands[US].held.sum())
        chosen = count * len(self.after[1].roots) * int(levels[0].hands[SHE].held.sum())
        flop = sum(last) * int(levels[1].hands[US].held.sum())
        return {
            "limited": top + chosen,
            "to the end": top + flop,
            "times": (top + flop) / (top + chosen),
        }


def _rows(
    curves: dict[str, dict[int, float]], lines: dict[str, float], sizes: dict[str, Any]
) -> list[dict[str, Any]]:
    counts = list(next(iter(curves.values())))
    few, many = counts[0], counts[-1]
    rows = [
        row(f"{k} state values", None, [curve[k] for curve in curves.values()], "; ".join(curves))
        for k in counts
    ]
    rows += [row(name, None, gap) for name, gap in lines.items()]
    rows += [
        row(
            f"{name}: one value is worse than translation", "yes", curve[few] > lines["translation"]
        )
        for name, curve in curves.items()
    ]
    best = min(curve[many] for curve in curves.values())
    gap = lines["translation"] - lines["in the abstraction"]
    rows.append(
        row(
            f"{many} values above the bet in the abstraction, mbb/h",
            "little",
            best - lines["in the abstraction"],
        )
    )
    rows.append(
        row(
            f"of translation's gap to it, {many} values close",
            "nearly all",
            (lines["translation"] - best) / gap,
        )
    )
    rows.append(
        row("the subgame to the end is larger", "about 10,000 times", sizes["times"], "times")
    )
    return rows


def _panel(curves: dict[str, dict[int, float]], lines: dict[str, float]) -> dict[str, Any]:
    series = [
        {
            "label": name,
            "x": list(curve),
            "y": list(curve.values()),
            "line": "-" if WAYS[name][0] == OWN else ":",
        }
        for name, curve in curves.items()
    ]
    marks = [
        {"label": name, "y": gap, "side": "left" if name == "solved to the end" else "right"}
        for name, gap in lines.items()
    ]
    return panel(
        "Fig. 2: exploitability against a first bet of 3/4 pot",
        "state values",
        "exploitability (mbb/h)",
        series,
        lines=marks,
    )

"""Brown, Sandholm & Amos 2018, Fig. 2: an off-tree bet in flop hold'em, to a depth limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

from subgame.games.holdem import nlfh
from subgame.gpu.doors import Doors
from subgame.gpu.engine import TorchEngine
from subgame.gpu.runtime import load_torch
from subgame.gpu.sweeps import Blocks
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command, device, mbb
from subgame.refine.limited_boards import DoorsAbove, Leaves, LimitedStreet, self_generated
from subgame.refine.nested_boards import joined, lost, ratio, reliable, solved, translated
from subgame.refine.translation import mapping
from subgame.solve.schedule import Schedule, parse
from subgame.tree.boards import compile_boards
from subgame.tree.forest import Street, grow

Tensor = Any
KEY = "brown2018-fig2"
PAPER = "Brown, Sandholm & Amos 2018, Depth-Limited Solving for Imperfect-Information Games"
WHAT = "flop hold'em: a first bet of 3/4 of the pot answered by solving to the end of the round"
KNOWN = "preflop: 0.5x 1x / cap 2; flop: 0.5x 1x / cap 2"
OPENING = 0.75
US, SHE = 0, 1
"""The big blind answers; the small blind opens."""
VALUES = (1, 2, 3, 4, 6, 8, 12, 16)
NOTES = (
    "The paper does not state its betting tree: here 1/2 and 1 pot, two bets before the flop and "
    "two on it, stacks of 20,000 and blinds of 50 and 100. The small blind opens with 3/4 pot.",
    "Exploitability is that of the big blind's whole strategy: what a best response wins that may "
    "also open with 3/4 pot, less the value of that game (known up to half the exploitability of "
    "its solution, which is the line 'in the abstraction').",
    "State values are made by the self-generative approach in the game without the bet; after it "
    "they are the mean of those after 1/2 and after 1 pot and the same actions, as in the paper. "
    "The subgame stands behind a Resolve gadget.",
    "At the end of the round safe subgame solving goes on, with her values at the depth limit as "
    "alternative payoffs. It starts before the flop is dealt and takes all flops at once: what "
    "she gets there is known by hand, not by hand and flop. An earlier run that solved "
    "flop by flop, with alternative payoffs averaged from those after 1/2 and 1 pot, lost about "
    "three times as much with 16 values.",
)


@dataclass(frozen=True)
class Effort:
    """How much is solved."""

    blueprint: int
    generation: int
    subgame: int
    counts: tuple[int, ...]


Gadget = Literal["leave", "choose"]
GADGETS: dict[str, Gadget] = {"Resolve": "leave", "Maxmargin": "choose"}
"""What the subgame on the flop stands behind."""
FULL = Effort(1_000, 200, 400, VALUES)
QUICK = Effort(120, 60, 120, (1, 2, 4, 8))


def run(quick: bool = False, seed: int = 0, progress: Progress | None = None) -> Report:
    """On a GPU; quick: a deck of eight cards on the CPU."""
    began = time.perf_counter()
    torch, tell = load_torch(), progress or (lambda what, share: None)
    where = device(KEY, quick)
    effort, plan = (QUICK if quick else FULL), parse("dcfr")
    bets = KNOWN.replace("; flop: 0.5x 1x / cap 2", "; flop: 0.5x 1x / cap 1") if quick else KNOWN
    game = nlfh(bets=bets, ranks="JQKA", suits="hs") if quick else nlfh(bets=bets)
    tell("Building the game", 0.0)
    engine = TorchEngine(compile_boards(game), where)
    tell("Solving the blueprint", 0.02)
    blueprint = solved(engine, engine, plan, effort.blueprint)
    off = Opened(engine, blueprint, plan, effort)
    tell("Solving the game that has the bet", 0.1)
    with_bet = solved(engine, off.sweeps, plan, effort.blueprint)
    won = [lost(off.sweeps, with_bet[p], engine) for p in (0, 1)]
    value, floor = (won[US] - won[SHE]) / 2, (won[US] + won[SHE]) / 2
    heard = translated(blueprint[US], engine.tree.streets, game, (off.sweeps, off.streets),
                       mapping("pseudo-harmonic"))  # fmt: skip
    lines = {
        "translation": mbb(lost(off.sweeps, heard, engine) - value),
        "in the abstraction": mbb(floor),
        "solved to the end": mbb(off.to_the_end() - value),
    }
    most = effort.counts[-1]
    leaves = self_generated(
        engine, blueprint, SHE, most, plan, effort.generation,
        lambda k: tell(f"State value {k + 1} of {most}", 0.2 + 0.5 * k / most),
    )  # fmt: skip
    curves: dict[str, dict[int, float]] = {name: {} for name in GADGETS}
    for k in effort.counts:
        tell(f"Answering with {k} state values", 0.7 + 0.3 * k / most)
        for name, gap in off.limited(Leaves(leaves.table[:k], SHE)).items():
            curves[name][k] = mbb(gap - value)
    within = sum(lost(engine, blueprint[p], engine) for p in (0, 1)) / 2
    return Report(
        key=KEY, paper=PAPER, what=WHAT, rows=_rows(curves, lines, off.sizes(most)),
        data={
            "panels": [_panel(curves, lines)],
            "exploitability, mbb/h": {
                name: {str(k): gap for k, gap in curve.items()} for name, curve in curves.items()
            },
            "lines, mbb/h": lines,
            "value for the small blind, mbb/h": mbb(value),
            "blueprint in its own game, mbb/h": mbb(within),
            "sizes": off.sizes(most),
            "table of state values, bytes": leaves.table.numel() * leaves.table.element_size(),
            "peak GiB on the device": 0.0 if quick else torch.cuda.max_memory_allocated() / 2**30,
        },
        command=command(KEY, quick, seed), seed=seed,
        settings={"game": str(game), "schedule": str(plan),
                  "iterations of the blueprint": effort.blueprint,
                  "per generated state value": effort.generation,
                  "of the subgame": effort.subgame, "quick": quick,
                  "device": "cpu" if quick else torch.cuda.get_device_name()},
        notes=NOTES, seconds=time.perf_counter() - began,
    )  # fmt: skip


class Opened:
    """The game in which the small blind may also open with 3/4 pot, and our answers to that."""

    def __init__(
        self, engine: TorchEngine, blueprint: tuple[Blocks, Blocks], plan: Schedule, effort: Effort
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
        game, out = self.engine.tree.holdem, []
        for leaf in self.after[1].roots:
            real, state = self.opening, game.start().child(first)
            for action in leaf.history[len(self.opening.history) :]:
                if action != "/":
                    number = game.actions(real).index(action)
                    real, state = real.child(action), state.child(game.actions(state)[number])
            out.append(state.history)
        return out

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

    def limited(self, leaves: Leaves) -> dict[str, float]:
        """Answered to the end of the betting round, and then to the end, by either gadget."""
        engine, torch = self.engine, self.engine.torch
        table = sum(leaves.table[:, like] for like in self.like) / len(self.like)
        values = Leaves(table, SHE)
        street = LimitedStreet(engine, self.after[0], values, self.plan, self._door())
        average = street.solve((self.ours, self.weight), self.effort.subgame)
        before = engine.stage(self.after)
        sigma = Blocks(before, US, [average, before.blank(US).blocks[1]])
        reach = before.reaches(US, sigma, self.ours.to(torch.float32))[0]
        reach = reach[before.levels[0].bets[US].leaves]
        worth = values.choices(reach[:, 0]).amax(0)[:, None].to(torch.float64)
        out = {}
        for name, gadget in GADGETS.items():
            flop = self._flop(reach.to(torch.float64), worth, gadget)
            out[name] = self._judged((self.after, Blocks(before, US, [average, flop])))
        return out

    def _flop(self, reach: Tensor, worth: Tensor, gadget: Gadget) -> Tensor:
        """Safe subgame solving from the end of the round on, all flops at once.

        `reach` is ours ``[leaf, 1, hand]``; her alternative payoffs are her values at the limit,
        `worth`, as the depth-limited solution leaves them.
        """
        engine = self.engine
        size = reach.amax(2, keepdim=True).clamp(min=1e-100)
        weight = reliable(engine.opposing(SHE, reach / size))
        doors = Doors(gadget, SHE, weight, ratio(worth / size, weight))
        stage = engine.stage([self.after[1]])
        ours = engine.enter(US, reach / size, 1)
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
        return {"limited": top + chosen, "to the end": top + flop,
                "times": (top + flop) / (top + chosen)}  # fmt: skip


def _rows(
    curves: dict[str, dict[int, float]], lines: dict[str, float], sizes: dict[str, Any]
) -> list[dict[str, Any]]:
    counts = list(next(iter(curves.values())))
    few, many = counts[0], counts[-1]
    rows = [
        row(f"{k} state values", None, [curve[k] for curve in curves.values()], ", ".join(curves))
        for k in counts
    ]
    rows += [row(name, None, gap) for name, gap in lines.items()]
    ends = {k: min(curve[k] for curve in curves.values()) for k in (few, many)}
    rows.append(row("one value is worse than translation", "yes", ends[few] > lines["translation"]))
    rows.append(row(f"{many} values are better than translation", "yes",
                    ends[many] < lines["translation"]))  # fmt: skip
    rows.append(row(f"{many} values above the bet in the abstraction, mbb/h", "little",
                    ends[many] - lines["in the abstraction"]))  # fmt: skip
    rows.append(row("the subgame to the end is larger", "about 10,000 times", sizes["times"],
                    "times"))  # fmt: skip
    return rows


def _panel(curves: dict[str, dict[int, float]], lines: dict[str, float]) -> dict[str, Any]:
    series = [
        {"label": f"depth-limited, then {name}", "x": list(curve), "y": list(curve.values())}
        for name, curve in curves.items()
    ]
    marks = [
        {"label": name, "y": gap, "side": "left" if name == "solved to the end" else "right"}
        for name, gap in lines.items()
    ]
    return panel("Fig. 2: exploitability against a first bet of 3/4 pot", "state values",
                 "exploitability (mbb/h)", series, lines=marks)  # fmt: skip

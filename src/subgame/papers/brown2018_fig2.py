"""Brown, Sandholm & Amos 2018, Fig. 2: an off-tree bet in flop hold'em, to a depth limit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from subgame.errors import SubgameError
from subgame.games.holdem import nlfh
from subgame.gpu.doors import Doors
from subgame.gpu.engine import TorchEngine
from subgame.gpu.runtime import load_torch
from subgame.gpu.sweeps import Blocks
from subgame.papers.report import Report, panel, row
from subgame.papers.settings import Progress, command
from subgame.refine.limited_boards import Leaves, LimitedStreet, plain, self_generated
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
VALUES = (1, 2, 3, 4, 6, 8, 10, 12, 14, 16)
BIG_BLIND = 100
NOTES = (
    "The paper does not state its betting tree: here 1/2 and 1 pot, two bets before the flop and "
    "two on it, stacks of 20,000 and blinds of 50 and 100. The small blind opens with 3/4 pot.",
    "Exploitability is that of the big blind's whole strategy: what a best response wins that may "
    "also open with 3/4 pot, less the value of that game (known up to half the exploitability of "
    "its solution, which is the line 'in the abstraction').",
    "State values are made by the self-generative approach in the game without the bet; after it "
    "they are the mean of those after 1/2 and after 1 pot and the same actions, as in the paper. "
    "The subgame stands behind a Resolve gadget; on the flop it is solved behind another, whose "
    "alternative payoffs are again means of those after 1/2 and after 1 pot. Other gadgets and "
    "alternative payoffs on the flop are in the file.",
)


@dataclass(frozen=True)
class Effort:
    """How much is solved."""

    blueprint: int
    generation: int
    subgame: int
    counts: tuple[int, ...]


class Way(NamedTuple):
    """How the flop is solved."""

    door: Literal["leave", "choose"]
    own_range: bool
    """Whether alternative payoffs after 1/2 and 1 pot are those against the range that the
    blueprint brings there, or against the one that answers 3/4 pot."""


USUAL = Way("leave", True)
WAYS = {
    "Resolve": USUAL,
    "Resolve, alternatives against our range": Way("leave", False),
    "Maxmargin": Way("choose", True),
    "Maxmargin, alternatives against our range": Way("choose", False),
}
FULL = Effort(1_000, 200, 500, VALUES)
QUICK = Effort(60, 40, 40, (1, 2, 4))


def run(quick: bool = False, seed: int = 0, progress: Progress | None = None) -> Report:
    """On a GPU; quick: a deck of eight cards on the CPU."""
    began = time.perf_counter()
    torch, tell = load_torch(), progress or (lambda what, share: None)
    if not quick and not torch.cuda.is_available():
        raise SubgameError(
            f"{KEY} solves whole flop hold'em on a GPU, and PyTorch sees none here; --quick does "
            "the same with a small deck."
        )
    effort, plan = (QUICK if quick else FULL), parse("cfr+")
    bets = KNOWN.replace("; flop: 0.5x 1x / cap 2", "; flop: 0.5x 1x / cap 1") if quick else KNOWN
    game = nlfh(bets=bets, ranks="JQKA", suits="hs") if quick else nlfh(bets=bets)
    tell("Building the game", 0.0)
    engine = TorchEngine(compile_boards(game), "cpu" if quick else "cuda")
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
        "translation": _mbb(lost(off.sweeps, heard, engine) - value),
        "in the abstraction": _mbb(floor),
        "solved to the end": _mbb(off.to_the_end() - value),
    }
    most = effort.counts[-1]
    leaves = self_generated(
        engine, blueprint, SHE, most, plan, effort.generation,
        lambda k: tell(f"State value {k + 1} of {most}", 0.2 + 0.5 * k / most),
    )  # fmt: skip
    found: dict[int, float] = {}
    for k in effort.counts:
        tell(f"Answering with {k} state values", 0.7 + 0.2 * k / most)
        found[k] = _mbb(off.limited(Leaves(leaves.table[:k], SHE)) - value)
    tell("Other ways to go on on the flop", 0.95)
    others = {
        name: _mbb(off.limited(leaves, way) - value)
        for name, way in WAYS.items() if way != USUAL
    }  # fmt: skip
    within = sum(lost(engine, blueprint[p], engine) for p in (0, 1)) / 2
    return Report(
        key=KEY, paper=PAPER, what=WHAT, rows=_rows(found, lines, off.sizes(most)),
        data={
            "panels": [_panel(found, lines)],
            "exploitability, mbb/h": {str(k): gap for k, gap in found.items()},
            "lines, mbb/h": lines, f"{most} values, other ways on the flop, mbb/h": others,
            "value for the small blind, mbb/h": _mbb(value),
            "blueprint in its own game, mbb/h": _mbb(within),
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
        there = engine.reaches(US, blueprint[US], self.reach[US])[0]
        self.blueprint_reach = engine.enter(US, there[engine.levels[0].bets[US].leaves], 1)

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

    def limited(self, leaves: Leaves, way: Way = USUAL) -> float:
        """Answered to the end of the betting round, and on the flop from there."""
        engine, torch = self.engine, self.engine.torch
        table = sum(leaves.table[:, like] for like in self.like) / len(self.like)
        street = LimitedStreet(
            engine, self.after[0], Leaves(table, SHE), self.plan, self._door()
        )  # fmt: skip
        average = street.solve((self.ours, self.weight), self.effort.subgame)
        before = engine.stage(self.after)
        sigma = Blocks(before, US, [average, before.blank(US).blocks[1]])
        arrived = before.reaches(US, sigma, self.ours.to(torch.float32))[0]
        arrived = arrived[before.levels[0].bets[US].leaves]
        reach = before.enter(US, arrived, 1).to(torch.float64)
        flop = self._flop(reach, way)
        return self._judged((self.after, Blocks(before, US, [average, flop])))

    def _flop(self, reach: Tensor, way: Way) -> Tensor:
        """Safe subgame solving on every flop, from our reach ``[leaf, flop, hand]``."""
        engine = self.engine
        reach = reach / reach.amax(2, keepdim=True).clamp(min=1e-100)
        stage = engine.stage([self.after[1]])
        weight = reliable(stage.opposing(SHE, reach))
        whole = plain(engine, [engine.tree.streets[1]])
        there = self.blueprint_reach
        if not way.own_range:
            there = there.new_zeros(there.shape)
            for like in self.like:
                there[like] = reach
        ours = Blocks(whole, US, [self.blueprint[US].blocks[1]])
        worth = whole.worths(SHE, ours, there)[0][: len(there)]
        value = ratio(worth, reliable(whole.opposing(SHE, there)))
        alternative = sum(value[like] for like in self.like) / len(self.like) * (weight > 0)
        door = Doors(way.door, SHE, weight, alternative)
        one, two = (stage.memory(p) for p in (0, 1))
        discounts = self.plan.discounts(1, self.effort.subgame + 1)
        stage.run((one, two), discounts, self.plan.alternating, (reach, weight), door)
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


def _mbb(chips: float) -> float:
    return chips / BIG_BLIND * 1000


def _rows(
    found: dict[int, float], lines: dict[str, float], sizes: dict[str, Any]
) -> list[dict[str, Any]]:
    few, many = min(found), max(found)
    rows = [row(f"{k} state values", None, gap) for k, gap in found.items()]
    rows += [row(name, None, gap) for name, gap in lines.items()]
    rows.append(
        row("one value is worse than translation", "yes", found[few] > lines["translation"])
    )
    rows.append(row(f"{many} values are better than translation", "yes",
                    found[many] < lines["translation"]))  # fmt: skip
    rows.append(row(f"{many} values above the bet in the abstraction, mbb/h", "little",
                    found[many] - lines["in the abstraction"]))  # fmt: skip
    rows.append(row("the subgame to the end is larger", "about 10,000 times", sizes["times"],
                    "times"))  # fmt: skip
    return rows


def _panel(found: dict[int, float], lines: dict[str, float]) -> dict[str, Any]:
    curve = {"label": "depth-limited", "x": list(found), "y": list(found.values())}
    marks = [{"label": name, "y": gap} for name, gap in lines.items()]
    return panel("Fig. 2: exploitability against a first bet of 3/4 pot", "state values",
                 "exploitability (mbb/h)", [curve], lines=marks)  # fmt: skip

"""Moravčík et al. 2016, Figure 5: margins of river subgames of the default blueprint.

The blueprint plays heads-up no-limit hold'em against itself until the river is dealt. There one
player's strategy is refined by each technique, without buckets. The margin of the subgame is the
least, over all hands of the opponent, of what that hand can get against the blueprint minus what it
can get against the refined strategy (Definition 2), in chips.

Notes:

* The paper refines an improved version of Nyx, with up to 16 actions at a decision. Ours is the
  blueprint that comes with the package, with at most 5 actions and 452 buckets on the river, so
  levels cannot be compared; their signs and their order can.
* The blueprint plays itself, both seats, and hands that reach the river with chips left are
  subgames; the seats are refined in turn. The refined subgame has the blueprint's own bets and
  every hand for itself, as in the paper.
* A margin is in chips, given that the opponent holds that hand, and 100 chips are a big blind.
  Hands that meet less than a hundred-thousandth of the greatest share of the player's range do not
  count: their values are rounding.
* The gap is the certified one of each gadget game (its NashConv; of endgame solving and re-solving
  per pair of hands). The best margin of a subgame is at most the max-margin one plus its gap.
  Re-solving has many solutions; which margin it ends with depends on the run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.engines.factory import engine
from subgame.errors import ArgumentError
from subgame.games.base import CHANCE
from subgame.games.holdem.game import BOARD_CARDS, HoldemState
from subgame.memory import most_processes
from subgame.papers.report import Found, Progress, Record, marks, panel, row
from subgame.refine.behind import Technique, solve_gadget
from subgame.refine.gadgets import Gadget, Maxmargin, Resolve, Unsafe
from subgame.refine.learners import GadgetInputs
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.ranges.subgames import RangeSubgame
from subgame.refine.subgame import left, reliable
from subgame.solve.schedule import parse
from subgame.solve.solver import Limits
from subgame.solve.workers import stopping
from subgame.tree.log import Kind, Log

Floats = NDArray[np.float64]
TECHNIQUES: dict[str, tuple[Gadget, float, float]] = {
    "endgame solving": (Unsafe(), -518.5, 49.19),
    "re-solving": (Resolve(), 8.79, 2.45),
    "max-margin": (Maxmargin(), 101.49, 7.09),
}
"""Technique -> its gadget, the paper's mean margin and its 95 % interval."""
LARGEST = 1000
"""Subgames with fewer betting sequences are refined."""
SCHEDULE = "cfr+"
FULL, QUICK = (2000, 10_000), (6, 200)
"""Subgames and iterations."""
PROCESS = 2**30
"""Bytes of a process that refines subgames."""


@dataclass(frozen=True)
class Settings:
    """How a subgame is refined; part of its line in a file."""

    seed: int = 0
    iterations: int = FULL[1]
    schedule: str = SCHEDULE
    quick: bool = False
    """A deck of ten cards and a blueprint that is trained for a moment."""


KEY = (*Settings.__dataclass_fields__, "k")
LINES = Kind(
    "reproduction",
    "subgame reproduce --keep",
    fields=KEY,
    once=KEY,
    goes_on="Subgames that the file lacks are refined again with it.",
)


@cache
def blueprint_of(quick: bool) -> StoredBlueprint:
    """The blueprint whose subgames are refined."""
    if not quick:
        return StoredBlueprint.load()
    bets = "preflop: 1x / cap 1; postflop: 0.5x 1x / cap 2"
    trainer = Trainer(
        BlueprintRecipe("quick", bets, (None, 6, 6, 6), 2000, ranks="9TJQKA", suits="cd")
    )
    trainer.advance(20)
    return StoredBlueprint.of(trainer)


def reached(blueprint: StoredBlueprint, seed: int, k: int) -> ReachedRanges:
    """The `k`-th river that the blueprint comes to in play against itself, with both ranges."""
    rng, deck = np.random.default_rng([seed, k]), blueprint.game.deck
    last = blueprint.game.rules.last_street
    while True:
        cards = rng.permutation(deck.size)[: 4 + BOARD_CARDS[last]].tolist()
        hands = [int(deck.hand_table[cards[2 * p], cards[2 * p + 1]]) for p in (0, 1)]
        here = ReachedRanges.start(blueprint.game)
        while not here.is_over and not (here.betting.street == last and here.player >= 0):
            if here.player == CHANCE:
                dealt = len(here.board)
                more = next(n for n in BOARD_CARDS if n > dealt)
                here = here.after(deck.name(cards[4 + dealt : 4 + more]))
                continue
            actions, rows = blueprint.range_strategy(here.state)
            p = here.player
            a = int(rng.choice(len(actions), p=rows[hands[p]]))
            here = here.after(actions[a], rows[:, a])
        if not here.is_over and sequences(here.subgame) < LARGEST:
            return here


def sequences(subgame: RangeSubgame) -> int:
    """How many betting sequences a subgame has: one after every action."""
    return sum(
        len(names) for street in subgame.tree.streets for side in street.actions for names in side
    )


def expanded(blueprint: StoredBlueprint, subgame: RangeSubgame, p: int) -> NDArray[np.float32]:
    """[q] a player's part of the blueprint over the tree of a last street, hand by hand."""
    tree, unit = subgame.tree, subgame.tree.units[0]
    out = np.zeros(tree.stored(p), np.float32)
    for j, betting in enumerate(tree.streets[0].states[p]):
        state = HoldemState(blueprint.game, (0, 0), unit.cards, betting)
        actions, rows = blueprint.range_strategy(state)
        assert actions == tree.streets[0].actions[p][j]
        out[tree.players[p].cells(0, j)] = rows[unit.hands[p]]
    return out


def refined(how: Settings, k: int) -> Record:
    """The margins of the `k`-th subgame, by technique."""
    blueprint = blueprint_of(how.quick)
    here, us = reached(blueprint, how.seed, k), k % 2
    subgame, o = here.subgame, 1 - us
    ours, theirs = (here.reach[p][here.roots(p)] for p in (us, o))
    ours, theirs = ours / ours.max(), theirs / theirs.max()
    weight = reliable(subgame.weight(o, ours)[None, None])[0, 0]
    both = [expanded(blueprint, subgame, p) for p in (0, 1)]
    run, inputs = engine(subgame.tree), GadgetInputs.of(o, (ours, theirs), weight, weight)
    cbv = left(run, both, inputs)
    inputs = GadgetInputs.of(o, (ours, theirs), weight, cbv)
    by_technique: Record = {}
    for name, (gadget, *_) in TECHNIQUES.items():
        began = time.process_time()
        plan = Technique.of(gadget, subgame.tree, how.schedule, Limits(how.iterations))
        solved = solve_gadget(plan, subgame, inputs)
        margins = (cbv - left(run, solved.sigma, inputs))[weight > 0]
        gap = 2 * solved.result.exploitability.mean
        mass = {"choose": 1.0, "leave": weight.sum()}.get(gadget.entry, (weight * theirs).sum())
        by_technique[name] = {
            "margin": float(margins.min()),
            "gap": float(gap / mass),
            "iterations": solved.result.iterations,
            "seconds": time.process_time() - began,
        }
    public = blueprint.game.public_name(here.board, here.betting)
    return {"k": k, "public": public, "player": us, "sequences": sequences(subgame), **by_technique}


def run(
    quick: bool,
    seed: int,
    tell: Progress,
    *,
    keep: Path | None = None,
    iterations: int | None = None,
    subgames: int | None = None,
    schedule: str = SCHEDULE,
    processes: int | None = None,
) -> Found:
    """Refine subgames, several at once; quick: a few of a small deck, in this process.

    Each one's line is added to the file `keep`; those found there are not refined again.
    """
    many, steps = QUICK if quick else FULL
    many = many if subgames is None else subgames
    for name, number in (("subgames", many), ("processes", processes or 1)):
        if number < 1:
            raise ArgumentError(name, f"must be a whole number of at least 1, not {number}.")
    steps = Limits(steps if iterations is None else iterations).iterations or steps
    how = Settings(seed, steps, str(parse(schedule)), quick)
    with nullcontext() if keep is None else Log(keep, LINES, None) as log:
        done = {} if log is None else {k: v for k, v in _kept(log, how).items() if k < many}
        todo = [k for k in range(many) if k not in done]
        tell(f"{many:,} river subgames, {steps:,} iterations each", len(done) / many)
        for line in _refined(how, todo, 1 if quick else processes):
            done[line["k"]] = line
            if log is not None:
                log.append([{**asdict(how), **line}])
            tell(f"{len(done):,} of {many:,} river subgames are refined", len(done) / many)
    return compared(how, [done[k] for k in sorted(done)])


def _refined(how: Settings, todo: Sequence[int], processes: int | None) -> Iterator[Record]:
    """The lines of these subgames as they are done, by some processes."""
    if processes == 1 or not todo:
        yield from (refined(how, k) for k in todo)
        return
    many = most_processes(processes, PROCESS)
    pool = ProcessPoolExecutor(many, mp_context=get_context("spawn"))
    with stopping(pool):
        for job in as_completed([pool.submit(refined, how, k) for k in todo]):
            yield job.result()


def _kept(log: Log, how: Settings) -> dict[int, Record]:
    """Subgames that earlier runs with the same settings added to a file."""
    wanted = asdict(how)
    same = [line for line in log.records if {name: line[name] for name in wanted} == wanted]
    return {line["k"]: {n: v for n, v in line.items() if n not in wanted} for line in same}


def compared(how: Settings, lines: list[Record]) -> Found:
    """The mean margins with their intervals, beside the paper's."""
    rows, means, spreads = [], [], []
    for name, (_, theirs, interval) in TECHNIQUES.items():
        margins = np.array([line[name]["margin"] for line in lines])
        gap = float(np.mean([line[name]["gap"] for line in lines]))
        error = 1.96 * float(margins.std(ddof=1)) / math.sqrt(len(margins)) if lines[1:] else None
        note = f"chips; paper ± {interval:g}" + ("" if error is None else f", ours ± {error:.3g}")
        below = float((margins < -1).mean())
        note += f"; {below:.0%} of the subgames below -1; mean gap {gap:.2g}"
        rows.append(row(f"{name}: mean margin", theirs, float(margins.mean()), note))
        means.append(float(margins.mean()))
        spreads.append(error)
    paper = [theirs for _, theirs, _ in TECHNIQUES.values()]
    intervals = [technique[2] for technique in TECHNIQUES.values()]
    curves = [marks("ours", means, spread=spreads), marks("paper", paper, "x", spread=intervals)]
    title = f"Margins of {len(lines):,} river subgames"
    shown = panel(title, "chips (a big blind is 100)", "", curves, names=list(TECHNIQUES))
    cost = sum(line[name]["seconds"] for line in lines for name in TECHNIQUES)
    return Found(
        rows,
        {
            "panels": [shown],
            "95 % intervals": dict(zip(TECHNIQUES, spreads, strict=True)),
            "subgames": [
                {**line, **{n: {"margin": line[n]["margin"]} for n in TECHNIQUES}} for line in lines
            ],
        },
        {
            "subgames": len(lines),
            "iterations": how.iterations,
            "schedule": how.schedule,
            "blueprint": repr(blueprint_of(how.quick)),
            "betting sequences, mean": float(np.mean([line["sequences"] for line in lines])),
            "CPU seconds of the solves": round(cost, 1),
        },
    )

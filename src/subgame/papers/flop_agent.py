"""The agent of hold'em in flop hold'em, where what it can lose is known exactly.

The agent follows a blueprint in buckets before the flop, or solves that street to a depth limit,
and solves the flop with both players' ranges (`subgame.play.hunl.agent`, `LimitedAgent`). Here it
does so at every public state: all 1,755 flops after every betting are one batch. So its whole
strategy is known, and a best response in the whole game says what it loses.

Notes:

* Each figure is what a best response that sees every card wins in the whole game, the mean of both
  seats. Every row but the blueprint is the strategy of an agent that is asked at every public state
  (tests/papers/test_flop_agent.py asks HoldemAgent and LimitedAgent on a flop of a small deck, at
  every betting, and finds the same).
* The settings are those of HoldemAgent: the flop is solved with both players' ranges (Unsafe) by
  DCFR for 1,000 iterations; 'safely' is by Maxmargin, which HoldemAgent then had for later streets.
* Before the flop the blueprint is in no buckets, so there is little to gain there. A depth limit
  takes values of what the blueprint does on the flop, which is in buckets, for the values of the
  game: with coarse buckets they are far from it. With several values the opponent chooses among the
  blueprint and its biased forms (2018, Sec. 4); we always play on by the blueprint there, although
  the flop will be solved.
* The off-tree bet is one of 3/4 pot on the flop after both have called: of the big blind at once,
  answered by solving the flop again with the bet; of the small blind after a check, answered by
  nested solving (Maxmargin) from the solution. Translated, it is taken for one of the two bets that
  were solved. Its game is larger, so these two rows compare with each other.
* The rows after them differ from 'the flop solved' in one option of the agent. The paper's CFR+
  discounts regrets by sqrt(T) / (sqrt(T) + 1) in the first 30 iterations and leaves the first half
  out of the average. Where actions below a probability are not taken, the most probable one always
  stays. 'Doubted' adds some of every hand to the range of an opponent whose actions were rare, as
  HoldemAgent does (`subgame.play.hunl.early.EarlyState.doubted`); the other rows take ranges as
  they are known.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.blueprints.follow import DETERMINISTIC
from subgame.engines.arrays import Array
from subgame.engines.factory import engine
from subgame.engines.torch.blocks import Blocks, matched
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.game import Holdem
from subgame.papers.brown2017_tables import SMALL, Settings
from subgame.papers.cells import Cells, cells_of, made_by
from subgame.papers.last_street import LastStreet
from subgame.papers.report import Found, Progress, Record, device, marks, panel, row
from subgame.play.hunl.agent import ITERATIONS
from subgame.play.hunl.early import doubt
from subgame.play.hunl.turn import ROOT
from subgame.refine.behind import default_schedule
from subgame.refine.continuations import Continuations, biased
from subgame.refine.gadgets import Gadget, technique
from subgame.refine.limit import Limit
from subgame.refine.ranges.limit import RangeLimit, limited_ranges
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed
from subgame.refine.verbs.nest import nest
from subgame.refine.verbs.translate import translate
from subgame.solve.evaluate import total
from subgame.solve.schedule import Schedule, modicum, parse
from subgame.solve.solver import Run
from subgame.tree.public_tree import Numbers, PublicTree
from subgame.tree.ranges.tree import RangeTree, compile_range_tree
from subgame.tree.strategy import Strategy

COUNTS = (30_000, 200)
"""Buckets of the flop."""
QUICK_COUNTS = (16, 4)
BLUEPRINT = "blueprint"
NESTED = "blueprint, then the flop solved"
SAFE = "blueprint, then the flop solved safely"
SAFELY = "maxmargin"
"""The technique of this row, and of answers to off-tree bets."""
SINGLE = "depth limit with one value, then the flop solved"
MULTIPLE = "depth limit with biased values, then the flop solved"
TRANSLATED = "an off-tree bet: translated"
ANSWERED = "an off-tree bet: nested"
PAPER = "the flop solved by the paper's CFR+"
PURE = "the flop solved, only the most probable action"
HS_DCFR = "the flop solved by HS-DCFR"
SCHEDULED = {PAPER: "", HS_DCFR: "hs-dcfr"}
"""Rows with another schedule."""
GADGETS = {
    "the flop solved by Resolve": "resolve",
    "the flop solved by Reach-Maxmargin": "reach-maxmargin",
}
"""Rows with another gadget."""
THRESHOLDS = {"the flop solved, no action below 0.1": 0.1, PURE: 1.0}
"""Rows in which the agent does not take some actions of the solution."""
DOUBTED = "the flop solved, the opponent's range doubted"
OPTIONS = (*SCHEDULED, *GADGETS, *THRESHOLDS, DOUBTED)
EXTRA = (TRANSLATED, ANSWERED)
"""Rows of the game in which the opponent has one more bet."""
ROWS = (BLUEPRINT, NESTED, SAFE, SINGLE, MULTIPLE, *EXTRA, *OPTIONS)
ONCE = (*EXTRA, *OPTIONS)
"""Rows of the first blueprint only."""


class WithTrunk(Blueprint):
    """A blueprint with another strategy of one player on the first street."""

    def __init__(self, blueprint: Blueprint, p: int, first: Array) -> None:
        """`first` [action, hand] are probabilities."""
        vars(self).update(vars(blueprint))
        before = blueprint.average(p)
        block = self.engine.torch.zeros_like(before.blocks[0])
        block[:, 0, : first.shape[1]] = first
        self.seat, self.other = p, Blocks(before.engine, p, [block, *before.blocks[1:]])

    def average(self, p: int) -> Blocks:
        return self.other if p == self.seat else super().average(p)


class FlopAgent:
    """The agent's strategies of one blueprint, seat by seat."""

    def __init__(self, blueprint: Blueprint, iterations: int = ITERATIONS) -> None:
        if len(blueprint.tree.streets) != 2:
            raise SubgameError(f"{blueprint.tree!r} does not end after the flop.")
        self.blueprint, self.iterations = blueprint, iterations
        known = blueprint.tree.engines.items()
        self.device = str(next(name for name, run in known if run is blueprint.engine))
        self.schedule = parse(default_schedule(ROOT, blueprint.tree))
        self._strategy: Strategy | None = None

    @property
    def strategy(self) -> Strategy:
        """The blueprint over the whole tree."""
        self._strategy = self._strategy or self.blueprint.strategy()
        return self._strategy

    def nested(
        self,
        p: int,
        trunk: Blueprint | None = None,
        gadget: Gadget = ROOT,
        schedule: Schedule | str | None = None,
        doubts: Sequence[float] | None = None,
    ) -> Blocks:
        """Player `p`'s strategy with every flop solved."""
        street = LastStreet(trunk or self.blueprint, p, doubts=doubts)
        return street.solve(gadget, schedule or self.schedule, self.iterations)

    def doubts(self, p: int) -> list[float]:
        """[way] how much the opponent's range is doubted on the flop, see `EarlyState.doubted`.

        By the opponent's rarest action before it in the blueprint.
        """
        tree, out = self.blueprint.tree, []
        for root in tree.streets[-1].roots:
            here, rarest = ReachedRanges.start(tree.holdem), 1.0
            for action in root.history:
                if here.player == CHANCE:
                    break
                rows = here.rows(Followed(self.strategy.tree, self.strategy.probs))
                assert rows is not None
                share = rows[:, here.actions.index(action)]
                if here.player != p:
                    reach = here.reach[1 - p]
                    rarest = min(rarest, float(share @ reach / max(reach.sum(), 1e-100)))
                here = here.after(action, share)
            out.append(doubt(rarest))
        return out

    def thresholded(self, p: int, played: Blocks, least: float) -> Blocks:
        """A strategy in which no action on the flop has a probability below `least`.

        The most probable one stays (`subgame.play.agent.thresholded`).
        """
        batch = self.blueprint.batch
        flop, bet = matched(batch, p, played).blocks[-1], batch.levels[-1].bets[p]
        for node in bet.infosets:
            some = flop[node.first - bet.roots : node.first - bet.roots + node.actions]
            some.masked_fill_(some < some.amax(0).clamp(max=least), 0)
        return Blocks(batch, p, [*played.blocks[:-1], flop])

    def limited(self, p: int, multiple: bool) -> Blueprint:
        """The blueprint with player `p`'s first street solved to its end."""
        o = 1 - p
        offered = biased(self.strategy, o) if multiple else Continuations.of(self.strategy, o)
        limit = Limit(self.strategy, "before the flop", p, offered, device=self.device)
        limited: RangeLimit = limited_ranges(self.blueprint.tree, limit)
        run = Run(limited.whole, self.schedule, on=limited.street)
        run.advance(self.iterations)
        torch, played = self.blueprint.engine.torch, run.played()[p]
        return WithTrunk(self.blueprint, p, torch.as_tensor(played))

    def played(self, p: int, name: str, solved: Blocks | None = None) -> Blocks:
        """Player `p`'s strategy of a row without an off-tree bet; `solved` is that of `NESTED`."""
        if name == BLUEPRINT:
            return self.blueprint.average(p)
        if name in THRESHOLDS:
            return self.thresholded(p, solved or self.nested(p), THRESHOLDS[name])
        trunk = self.limited(p, name == MULTIPLE) if name in (SINGLE, MULTIPLE) else None
        gadget = {SAFE: SAFELY, **GADGETS}.get(name, ROOT)
        schedule = modicum(self.iterations) if name == PAPER else SCHEDULED.get(name)
        doubts = self.doubts(p) if name == DOUBTED else None
        return self.nested(p, trunk, technique(gadget), schedule, doubts)

    def over_tree(self, p: int, played: Blocks) -> Strategy:
        """A strategy of player `p`, with the opponent's part of the blueprint."""
        probs: list[Numbers] = list(self.strategy.probs)
        probs[p] = np.asarray(self.blueprint.batch.behaviour(p, played))
        return Strategy(self.strategy.tree, (probs[0], probs[1]))

    def off_tree(self, p: int, name: str, base: Strategy, larger: PublicTree) -> Strategy:
        """Player `p`'s strategy of the game in which the opponent has one more bet.

        `base` is what is played without it. A first bet on the flop is added to the subgame that
        the agent solves there; a later one is answered from the solution.
        """
        if name == TRANSLATED:
            return translate(larger, base, DETERMINISTIC, device=self.device)
        first = p == 1
        return nest(
            larger,
            base,
            technique=ROOT if first else technique(SAFELY),
            method="expensive" if first else "inexpensive",
            player=p,
            schedule=self.schedule,
            iterations=self.iterations,
            device=self.device,
        ).strategy

    def wins(self, p: int, names: Iterable[str]) -> Iterator[tuple[str, float]]:
        """What a best response wins from player `p` in some rows, in chips."""
        solved: Blocks | None = None
        larger: RangeTree | None = None
        for name in names:
            if name in THRESHOLDS and solved is None:
                solved = self.played(p, NESTED)
            if name not in EXTRA:
                played = self.played(p, name, solved)
                solved = played if name == NESTED else solved
                yield name, self.blueprint.wins(p, played)
                continue
            solved = self.played(p, NESTED) if solved is None else solved
            larger = larger or compile_range_tree(with_bet(self.blueprint.tree.holdem, p))
            made = self.off_tree(p, name, self.over_tree(p, solved), larger)
            run = engine(larger, device=self.device)
            yield name, total(run, 1 - p, run.respond(1 - p, run.plan(p, made.probs[p])))


def with_bet(game: Holdem, p: int) -> Holdem:
    """The game with one more bet for the opponent of `p` on the flop after two calls: 3/4 pot."""
    here = game.start().play("cc/" if p == 1 else "cc/c")
    made = f"r{max(here.bets) + 3 * here.pot // 4}"
    return replace(game, bets=replace(game.bets, added=(f"{here}{made}",)))


def key_of(how: Settings, count: int, name: str) -> str:
    """The name of a cell."""
    return (
        f"{count} | {name} | {how.schedule} {how.first} {how.iterations} {how.quick} {how.recipe}"
    )


def compute(how: Settings, cells: Cells, where: str, tell: Progress) -> None:
    """Compute the cells that are missing, blueprint by blueprint."""
    counts = QUICK_COUNTS if how.quick else COUNTS
    tree: RangeTree | None = None
    for c, count in enumerate(counts):
        names = [n for n in ROWS if n not in ONCE or c == 0]
        missing = [(n, p) for n in names for p in cells.lacks(key_of(how, count, n))]
        if not missing:
            continue
        tell(f"The blueprint with {count:,} buckets", c / len(counts))
        tree = tree or compile_range_tree(how.game(SMALL))
        began = time.perf_counter()
        on = None if how.quick else where
        made = abstract(tree, {"flop": count}, how.recipe_for(count), device=on)
        blueprint = Blueprint(made.buckets, how.schedule, device=where)
        blueprint.advance(cast(int, how.first))
        agent = FlopAgent(blueprint, cast(int, how.iterations))
        for p in (0, 1):
            todo = [name for name, seat in missing if seat == p]
            for name, won in agent.wins(p, todo):
                seconds, began = time.perf_counter() - began, time.perf_counter()
                cell = {"won": won, "margin": None, "seconds": seconds}
                cells.put(key_of(how, count, name), {str(p): cell})
                share = (c + (p + (1 + names.index(name)) / len(names)) / 2) / len(counts)
                tell(f"{count:,} buckets, seat {p}: {name}", share)


def settings(quick: bool, seed: int) -> Settings:
    """How blueprints are made, as in Table 3, and the agent's own iterations."""
    how = Settings(quick=quick, iterations=ITERATIONS).at(SMALL)
    how = replace(how, recipe=replace(how.recipe, seed=seed))
    return replace(how, first=40, iterations=25) if quick else how


def run(quick: bool, seed: int, tell: Progress, *, keep: Path | None = None) -> Found:
    """On a GPU; quick: a deck of eight cards, by PyTorch on the CPU."""
    how, counts = settings(quick, seed), QUICK_COUNTS if quick else COUNTS
    with cells_of(keep) as cells:
        complete = all(
            not cells.lacks(key_of(how, count, name))
            for c, count in enumerate(counts)
            for name in ROWS
            if name not in ONCE or c == 0
        )
        if not complete:
            where = "torch" if quick else device(quick)
            cells.made = made_by(where)
            compute(how, cells, where, tell)
    return compared(how, cells)


def compared(how: Settings, cells: Cells) -> Found:
    """The table: exact exploitability by row and buckets."""
    rows, curves, data = [], [], {}
    for count in QUICK_COUNTS if how.quick else COUNTS:
        by_name = {name: cells.results.get(key_of(how, count, name)) for name in ROWS}
        ours = {name: cell["mbb/h"] for name, cell in by_name.items() if cell and "mbb/h" in cell}
        for name, mine in ours.items():
            cell = cast(Record, by_name[name])
            seats = ", ".join(f"{won:.4g}" for won in cell["per seat, mbb/h"])
            note = f"seats {seats}"
            if name not in EXTRA and name != BLUEPRINT:
                note = f"the blueprint's is {ours[BLUEPRINT] / mine:.3g} times that; {note}"
            rows.append(row(f"{count:,} buckets: {name}", None, mine, note))
        shown = {k: ours[name] for k, name in enumerate(ROWS) if name in ours}
        marked = marks(f"{count:,} buckets", [])
        curves.append({**marked, "x": list(shown), "y": list(shown.values())})
        data[f"{count:,} buckets"] = {name: by_name[name] for name in ours}
    title = "Exact exploitability of the agent in flop hold'em"
    shown_as = panel(title, "mbb/h", "", curves, scale="semilog", names=list(ROWS))
    return Found(
        rows,
        {"panels": [shown_as], **data},
        {
            "game": str(how.game(SMALL)),
            "schedule": how.schedule,
            "iterations of the blueprint": how.first,
            "of the agent's solves": how.iterations,
            "gadget of the flop": ROOT.name,
            "of the safe row and of answers": SAFELY,
        },
    )

"""``subgame endgame``: solve a hold'em spot and show the strategy hand by hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import typer

from subgame.cli.arguments import (
    DEVICE_HELP,
    argument,
    check_memory,
    complete_device,
    completing,
    grouped,
    opt,
)
from subgame.cli.common import SAVED, check_device, check_least, check_spot, finish, save_files
from subgame.cli.line import Line
from subgame.cli.progress import Meter, check_range_schedule, load_kernels, range_memory
from subgame.cli.spot import WITHOUT_RIVERS, Keeping, Looking, Spot
from subgame.errors import DAMAGED, SubgameError, human_bytes, unreadable
from subgame.solve.schedule import NAMED

if TYPE_CHECKING:
    from subgame.cli.endgame_view import Shown
    from subgame.games.holdem.game import Holdem
    from subgame.spots.locks import Lock
    from subgame.tree.ranges.tree import Merge, RangeTree

TARGET = "0.5%"
OPTIONS = ("iterations", "seconds", "threads", "device", "storage")
"""What `subgame.solve` is given as it is."""
TREMBLING = 1000
"""Iterations with trembles, if no limit is given."""


@dataclass(frozen=True)
class Solving:
    """How a spot is solved."""

    PANEL: ClassVar[str] = "Solving"
    target: str | None = opt(
        None, "E", "Stop at this exploitability: 0.1% (of the pot) or 0.1 (chips).", TARGET
    )
    iterations: int | None = opt(None, "N", "Stop after N iterations.")
    seconds: float | None = opt(None, "S", "Stop after S seconds.")
    schedule: str = opt(
        "hs-dcfr",
        "NAME",
        "hs-dcfr, dcfr, cfr+, pcfr+, ..., as in subgame solve.",
        True,
        autocompletion=completing(lambda: [name for name in NAMED if name != "mccfr"]),
    )
    tremble: str | None = opt(
        None,
        "SHARE",
        "Solve as if both players took every action at least this often, such as 0.1%, so "
        "that play makes sense at decisions that are never reached. Without a limit it stops "
        "after 1,000 iterations.",
    )
    threads: int | None = opt(None, "N", "Number of CPU threads.", "all")
    device: str = opt("cpu", "NAME", DEVICE_HELP, True, autocompletion=complete_device)
    storage: str = opt(
        "float32",
        "KIND",
        "float32, or int16 in half the memory; on cuda and torch also bfloat16.",
        True,
    )
    no_merge: bool = opt(
        False,
        "",
        "Do not merge hands and boards that differ only by suit. Slower, but a saved "
        "solution can then be refined board by board.",
    )
    memory_limit: str = opt(
        "8GiB", "BYTES", "Refuse spots that need more, such as 500MB.", True, callback=check_memory
    )

    def check(self) -> None:
        """Refuse wrong values, before the spot is read."""
        from subgame.engines.devices import check_storage
        from subgame.solve.limits import Limits

        check_storage(self.storage)
        check_range_schedule(self.schedule)
        check_least("threads", self.threads)
        target = None if self.target is None else parse_target(self.target, 1.0)
        Limits(self.iterations, self.seconds, target)

    def with_trembles(self) -> Self:
        """With the trembles as a part of the schedule.

        A target says nothing about decisions that are never reached, so it is not the default here.
        """
        if self.tremble is None:
            return self
        from subgame.solve.schedule import parse

        schedule = replace(parse(self.schedule), tremble=parse_tremble(self.tremble))
        count = self.iterations if self.is_limited else TREMBLING
        return replace(self, schedule=str(schedule), tremble=None, iterations=count)

    @property
    def is_limited(self) -> bool:
        """Whether it was given when to stop."""
        return any(limit is not None for limit in (self.target, self.iterations, self.seconds))

    @property
    def merge(self) -> Merge:
        """Which hands and boards that differ only by suit are merged; on a GPU never hands."""
        return False if self.no_merge else True if self.device == "cpu" else "boards"


@grouped
def endgame_command(
    *,
    context: typer.Context,
    file: Path | None = argument(
        "FILE",
        "A Libratus endgame file, which replaces the options below, or a .safetensors file "
        "saved by --out or --checkpoint. It is shown without solving it again, or, with --target, "
        "--iterations or --seconds, solved further.",
        None,
    ),
    spot: Spot,
    solving: Solving,
    looking: Looking,
    keeping: Keeping,
) -> None:
    """Solve a hold'em spot on the flop, turn or river, hand by hand.

    Solving stops as soon as --target, --iterations or --seconds is reached. If none is given, it
    stops at 0.5 % of the pot. Ctrl-C stops early and shows the result so far.

    EV is a player's share of the pot in chips; the EVs of both players add up to the pot. Equity is
    a player's share of the pot with no further betting.

    [bold]Ranges[/]   AA   AKs AKo AK   AhKh   77+   KTs+   99-66   A5s-A2s   JTs-54s

    Separate items by commas. Add a weight after a colon: T9o:0.5, or around items:
    \\[50]AA,KK\\[/50]. 'random' is every hand. A later item replaces an earlier one: 'random,72o:0'
    is every hand but 72o. T9s+ is T9s, JTs, QJs, KQs and AKs, as in postflop-solver. 1,326 numbers
    are weights in PioSOLVER's order.

    [bold]Bets[/]   50% or 0.5x of the pot   2.5r times the bet   250 chips   2e   a all-in

    '0.5x 1x a' holds for all streets. Streets and players can differ, raises and donk bets can have
    their own sizes, and the number of bets and raises can be capped: 'flop: 33%; oop turn: 50% /
    donk 25%; turn, river: 75% a / raise 2.5r a / cap 3'. 2e is the size that two equal bets make
    all-in, e one on each street left. Clauses for all streets: 'all-in 67%' (of the stack becomes
    all-in), 'force-all-in 15%' (so does what leaves 15 % of the pot), 'add-all-in 1.5' (up to 1.5
    pots), 'merge 10%' (of near sizes the largest), 'chip 5' (round to 5 chips).

    [bold]Lines[/]   'check, bet 50, call / 3c, bet 33%'   'x b50 c / 3c 33%'   'c r50 c / 3c r66'

    A line names the actions from the start of the spot and the cards that come. Actions are named
    as the grid shows them, or in short: x or c check, c call, f fold, b50 or r150 a bet or raise
    to that total on the street, 33% of the pot, a all-in. Cards may have any suit.

    [bold]Locks[/]   'check, bet 50: KK = call 75%, fold 25%; 99-66 = fold 100%'

    A lock is a line, hands written as a range, and the shares of their actions. Everything else
    is solved with the lock in place. In a line * stands for any card:
    'c c / * bet 50: AA = call 100%'.

    [bold]Examples[/]

    subgame endgame --board QsJh2h8d3c --pot 100 --stack 1000 --target 0.1%

    subgame endgame --board 'Qs Jh 2h 8d' --pot 100 --stack 300 --line r50
    --oop '66+,A8s+,KQ' --ip 'QQ-22,ATo+,KJs+:0.5' --bets '0.5x a / raise a'

    subgame endgame --board QsJh2h8d3c --pot 6.5 --stack 97 --rake 5% --rake-cap 3
    --bets 'oop: 33% / raise 3r; ip: 75% 150% / raise a'

    subgame endgame --deck short --board QsJh9h8d6c --pot 100 --stack 1000

    subgame endgame --import texassolver.txt --target 0.3%

    subgame endgame --board QsJh2h8d3c --pot 100 --stack 1000 --tremble 0.1% --ghosts

    subgame endgame subgame3.txt --seconds 10 --out spot.safetensors

    subgame endgame spot.safetensors --line 'check, bet 50, call / 3c' --hand AKs

    subgame endgame spot.safetensors --csv hands > hands.csv

    subgame endgame spot.safetensors --target 0.05% --out better.safetensors
    """
    looking.check()
    keeping.check()
    solving.check()
    if keeping.resume is not None:
        _refuse("--resume names the file", {"FILE": file})
        file = keeping.resume
    if file is not None:
        _refuse(f"The file {file} defines the spot", vars(spot) | {"bets": None})
    check_device(solving.device, solving.threads)
    if file is not None and file.suffix == SAVED:
        _refuse(
            f"The file {file} has its own tree",
            {"bets": spot.bets, "no_merge": solving.no_merge or None, "tremble": solving.tremble},
        )
        check_spot(file)
        shown = saved(file, solving, looking, keeping)
    else:
        looking.check_hand(spot.cards)
        how = solving.with_trembles()
        shown = solve_spot(spot.game(file), spot.locks(), how, looking, keeping)
    shown.write(looking, keeping, Line.of(context))
    finish(shown.failure, shown.result.stopped)


# Reading the command line --------------------------------------------------------------------
def _refuse(why: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if value is not None:
            option = name if name.isupper() else f"--{name.replace('_', '-')}"
            raise SubgameError(f"{why}, so {option} cannot be given with it.")


def _number(text: str) -> tuple[float, bool]:
    """A number, nan where there is none, and whether it is in percent."""
    body, percent, rest = text.strip().partition("%")
    try:
        return math.nan if rest else float(body), bool(percent)
    except ValueError:
        return math.nan, False


def parse_target(text: str, pot: float) -> float:
    """An exploitability in chips, given in chips or in percent of the pot.

    >>> parse_target("0.1%", 200), parse_target("0.25", 200)
    (0.2, 0.25)
    """
    value, percent = _number(text)
    if not 0 < value < math.inf:
        raise SubgameError(
            f"--target must be a share of the pot such as 0.1%, or a number of chips such as "
            f"0.25, not '{text}'."
        )
    return value * pot / 100 if percent else value


def parse_tremble(text: str) -> float:
    """A small probability.

    >>> parse_tremble("0.1%"), parse_tremble("0.002")
    (0.001, 0.002)
    """
    from subgame.solve.schedule import MOST

    value, percent = _number(text)
    value = value / 100 if percent else value
    if not 0 < value <= MOST:
        raise SubgameError(
            f"--tremble must be a small probability such as 0.1%, at most {MOST:.0%}, not '{text}'."
        )
    return value


# Solving -------------------------------------------------------------------------------------
def solve_spot(
    game: Holdem,
    locks: tuple[Lock, ...],
    how: Solving,
    looking: Looking,
    keeping: Keeping,
    resume: Path | None = None,
) -> Shown:
    """Check everything, then solve, or `resume` a solve; Ctrl-C keeps the result so far."""
    from subgame.cli.endgame_view import Shown, decisions
    from subgame.games.holdem.sizes import number
    from subgame.solve.solver import begin, complete
    from subgame.spots.endgame import Endgame, about
    from subgame.spots.lines import follow_to_decision
    from subgame.tree.one_writer import only_writer

    if looking.line:
        follow_to_decision(game, looking.line)
    keeping.check_kind(game, locks)
    wanted = how.target if how.is_limited else TARGET
    target = None if wanted is None else parse_target(wanted, number(game.start().pot))
    if locks and how.storage != "float32":
        raise SubgameError("Locks need --storage float32.")
    with Meter("the endgame") as meter:
        tree = _compile(game, how, meter, locks)
        needed = range_memory(tree, how.schedule, how.memory_limit, how.storage)
        _quote(tree, needed, meter)
        if how.device == "cpu":  # a GPU's kernels are compiled for each betting tree
            load_kernels(meter, tree, how.schedule, how.storage)
        meter.update("Solving the endgame")
        options: Any = {name: getattr(how, name) for name in OPTIONS}
        state, meter.pot = keeping.save == "state", float(game.start().pot)
        with only_writer(keeping.checkpoint):
            run, limits = begin(tree, how.schedule, resume=resume, target=target, **options)
            run.about = about(tree) if keeping.checkpoint else {}
            result = complete(run, limits, keeping.checkpoint, meter.step, keep=state)
        meter.update("Computing EV and equity")
        solved = Endgame.of(result.strategy, how.threads, how.device)
        solved = replace(solved, exploitability=result.exploitability)
        failure = save_files((keeping.out, keeping.writer(solved, run)))
    return Shown(solved, result, needed, decisions(solved, looking.line), failure)


def _compile(game: Holdem, how: Solving, meter: Meter, locks: tuple[Lock, ...]) -> RangeTree:
    from subgame.memory import Allowance
    from subgame.spots.endgame import BYTES
    from subgame.spots.locks import locked, merging
    from subgame.tree.ranges.tree import compile_range_tree

    def dealt(boards: int) -> None:
        what = "Dealing the boards" if boards else "Counting the betting"
        meter.update(what, f"{boards:,} boards" if boards else "")

    tree = compile_range_tree(
        game,
        memory_limit=Allowance.of(how.memory_limit, host=how.device == "cpu"),
        number=BYTES[how.storage],
        merge=merging(game, locks) if locks and how.merge else how.merge,
        progress=dealt,
    )
    return locked(tree, locks) if locks else tree


def _quote(tree: RangeTree, needed: int, meter: Meter) -> None:
    """Say how much memory solving needs, before it is allocated."""
    meter.say(f"{tree.num_nodes:,} nodes; solving needs {human_bytes(needed)} of memory.")
    if not any(a[0] == "r" for s in tree.streets for side in s.actions for n in side for a in n):
        meter.say("The bet sizes allow no bet on these streets, so both players only check.")


def saved(file: Path, how: Solving, looking: Looking, keeping: Keeping) -> Shown:
    """A saved solution as it is, or one that is solved further from it."""
    import subgame as sg
    from subgame.cli.endgame_view import Saved, Shown, decisions
    from subgame.refine.ranges.compact_spots import open_spot, save_compact
    from subgame.spots.endgame import memory_needed, tree_of
    from subgame.spots.locks import Lock

    if how.is_limited:
        schedule, merge = _state_of(file)
        further = replace(how, schedule=schedule, no_merge=merge is False)
        further.check()
        tree = tree_of(file, how.memory_limit)
        looking.check_hand(tree.holdem.deck)
        locks = tuple(map(Lock.parse, tree.lock_texts))
        return solve_spot(tree.holdem, locks, further, looking, keeping, resume=file)
    smaller = keeping.out if keeping.save == WITHOUT_RIVERS else None
    _refuse(
        f"The file {file} is already solved",
        {"out": None if smaller else keeping.out, "checkpoint": keeping.checkpoint},
    )
    with Meter("the endgame"):
        solved = open_spot(file, memory_limit=how.memory_limit)
        looking.check_hand(solved.tree.holdem.deck)
        keeping.check_kind(solved.tree.holdem, solved.tree.lock_texts)
        failure = save_files((smaller, partial(save_compact, solved)))
        made, gap = solved.strategy.notes, solved.exploitability
        if gap is None:
            gap = sg.exploitability(solved.tree, solved.strategy, device=how.device)
    done = int(made["iterations"]) if made.get("iterations", "").isdecimal() else 0
    result = Saved(made.get("schedule", "dcfr"), done, gap)
    shown = decisions(solved, looking.line)
    return Shown(solved, result, memory_needed(solved.tree), shown, failure)


def _state_of(file: Path) -> tuple[str, Merge]:
    """The schedule of a saved solve, and what is merged in its tree."""
    from subgame.games.holdem.spots import SAVED as WANTED
    from subgame.solve.schedule import Schedule
    from subgame.spots.endgame import merged_in
    from subgame.tree.files import read_tensors

    said, _ = read_tensors(file, WANTED)
    try:
        state = loads(said["state"]) if "state" in said else said
        schedule = Schedule(**loads(state["schedule"])) if "iteration" in state else None
    except DAMAGED:
        raise unreadable(file, "has a damaged state of the solver", WANTED) from None
    if schedule is None:
        raise SubgameError(
            f"{file} was saved without the state of the solver, so it cannot be solved further. "
            "Solve the spot again with --save state, the default."
        )
    return str(schedule), merged_in(said)

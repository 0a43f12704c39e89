"""``subgame endgame``: solve a hold'em spot and show the strategy hand by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import typer

from subgame.cli.common import (
    DEVICE_HELP,
    SAVED,
    Meter,
    check_device,
    check_least,
    check_range_schedule,
    check_saved,
    complete_device,
    emit,
    iterations_text,
    range_memory,
    stdout,
    warm_up_ranges,
)
from subgame.cli.endgame_view import Shown, decisions
from subgame.cli.line import Line
from subgame.cli.solve import INTERRUPTED
from subgame.errors import SubgameError, did_you_mean, human_bytes
from subgame.solve.schedule import NAMED

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.solve.results import Step
    from subgame.tree.ranges.tree import Merge, RangeTree
    from subgame.tree.strategy import Strategy

T = TypeVar("T")
BETS = "0.5x 1x a"
TARGET = "0.5%"


def _complete_schedule(incomplete: str) -> list[str]:
    return [name for name in NAMED if name != "mccfr" and name.startswith(incomplete)]


def _spot(name: str, metavar: str, help: str, show_default: str | bool = False) -> Any:
    return typer.Option(name, metavar=metavar, help=help, show_default=show_default)


def _run(name: str, metavar: str, help: str, show_default: str | bool = False, **more: Any) -> Any:
    return typer.Option(
        name,
        metavar=metavar,
        help=help,
        show_default=show_default,
        rich_help_panel="Solving",
        **more,
    )


def _show(name: str, metavar: str | None, help: str) -> Any:
    return typer.Option(name, metavar=metavar, help=help, rich_help_panel="Output")


FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="A Libratus endgame file, which replaces the options below, or a .safetensors file "
        "saved by --out, which is shown without solving it again.",
    ),
]
BoardOption = Annotated[
    str | None, _spot("--board", "CARDS", "3, 4 or 5 cards: QsJh2h or 'Qs Jh 2h 8d'.")
]
PotOption = Annotated[
    int | None, _spot("--pot", "CHIPS", "Chips in the pot, half from each player.")
]
StackOption = Annotated[
    str | None, _spot("--stack", "CHIPS", "Chips behind: 1000, or 1000/800 for OOP/IP.")
]
OopOption = Annotated[
    str | None, _spot("--oop", "RANGE", "Range of the player out of position.", "random")
]
IpOption = Annotated[
    str | None, _spot("--ip", "RANGE", "Range of the player in position.", "random")
]
BetsOption = Annotated[
    str | None, _spot("--bets", "SIZES", "Sizes of bets and raises; see above.", BETS)
]
MinBetOption = Annotated[
    int | None, _spot("--min-bet", "CHIPS", "The smallest bet: the big blind.", "1")
]
TargetOption = Annotated[
    str | None,
    _run("--target", "E", "Stop at this exploitability: 0.1% (of the pot) or 0.1 (chips).", TARGET),
]
IterationsOption = Annotated[int | None, _run("--iterations", "N", "Stop after N iterations.")]
TimeOption = Annotated[float | None, _run("--seconds", "S", "Stop after S seconds.")]
ScheduleOption = Annotated[
    str,
    _run(
        "--schedule",
        "NAME",
        "hs-dcfr, dcfr, cfr+, pcfr+, ..., as in subgame solve.",
        True,
        autocompletion=_complete_schedule,
    ),
]
StorageOption = Annotated[
    str,
    _run(
        "--storage",
        "KIND",
        "float32, or int16 in half the memory; on cuda and torch also bfloat16.",
        True,
    ),
]
NoMergeOption = Annotated[
    bool,
    _run(
        "--no-merge",
        "",
        "Do not merge hands and boards that differ only by suit. Slower, but a saved solution can "
        "then be refined board by board.",
    ),
]
OldNoMergeOption = Annotated[bool, _run("--apart", "", "The old name of --no-merge.", hidden=True)]
ThreadsOption = Annotated[int | None, _run("--threads", "N", "Number of CPU threads.", "all")]
SolvedOn = Annotated[
    str, _run("--device", "NAME", DEVICE_HELP, True, autocompletion=complete_device)
]
LimitOption = Annotated[
    str, _run("--memory-limit", "BYTES", "Refuse spots that need more, such as 500MB.", True)
]
LineOption = Annotated[
    str | None,
    _show("--line", "ACTIONS", "Also show the decision after these actions: r50 or 'c r50'."),
]
OutOption = Annotated[
    Path | None, _show("--out", "FILE", "Save the spot and its strategy as FILE.safetensors.")
]
PrintJson = Annotated[bool, _show("--json", None, "Print one JSON object instead of tables.")]


def endgame_command(
    context: typer.Context,
    file: FileArgument = None,
    board: BoardOption = None,
    pot: PotOption = None,
    stack: StackOption = None,
    oop: OopOption = None,
    ip: IpOption = None,
    bets: BetsOption = None,
    min_bet: MinBetOption = None,
    target: TargetOption = None,
    iterations: IterationsOption = None,
    seconds: TimeOption = None,
    schedule: ScheduleOption = "hs-dcfr",
    threads: ThreadsOption = None,
    device: SolvedOn = "cpu",
    storage: StorageOption = "float32",
    no_merge: NoMergeOption = False,
    apart: OldNoMergeOption = False,
    memory_limit: LimitOption = "8GiB",
    line: LineOption = None,
    out: OutOption = None,
    json: PrintJson = False,
) -> None:
    """Solve a hold'em spot on the flop, turn or river, hand by hand.

    Solving stops as soon as --target, --iterations or --seconds is reached. If none is given, it
    stops at 0.5 % of the pot. Ctrl-C stops early and shows the result so far.

    EV is a player's share of the pot in chips; the EVs of both players add up to the pot. Equity is
    a player's share of the pot with no further betting.

    [bold]Ranges[/]   AA   AKs AKo AK   AhKh   77+   KTs+   99-66   A5s-A2s   JTs-54s

    Separate items by commas. Add a weight after a colon: T9o:0.5. 'random' is every hand. A later
    item replaces an earlier one: 'random,72o:0' is every hand but 72o.

    [bold]Bets[/]   0.5x of the pot   2.5r times the bet   250 chips   a all-in

    '0.5x 1x a' holds for all streets. Streets can differ, raises can have their own sizes, and the
    number of bets and raises can be capped: 'flop: 0.33x; turn, river: 0.75x a / raise 2.5r a /
    cap 3'. Add '; all-in 0.67' to make bets of more than 67 % of the stack all-in, and '; chip 5'
    to round bets to 5 chips.

    [bold]Actions[/]   f fold   c check or call   r150 bet or raise to a total of 150

    [bold]Examples[/]

    subgame endgame --board QsJh2h8d3c --pot 100 --stack 1000 --target 0.1%

    subgame endgame --board 'Qs Jh 2h 8d' --pot 100 --stack 300 --line r50
    --oop '66+,A8s+,KQ' --ip 'QQ-22,ATo+,KJs+:0.5' --bets '0.5x a / raise a'

    subgame endgame subgame3.txt --seconds 10 --out spot.safetensors

    subgame endgame spot.safetensors --line 'c r250' --json
    """
    given = {
        "--board": board,
        "--pot": pot,
        "--stack": stack,
        "--oop": oop,
        "--ip": ip,
        "--min-bet": min_bet,
    }
    limits = {"--target": target, "--iterations": iterations, "--seconds": seconds}
    if file is not None:
        _refuse(f"The file {file} defines the spot", given)
    check_saved("--out", out)
    check_device(device, threads)
    if file is not None and file.suffix == SAVED:
        _refuse(
            f"The file {file} is already solved",
            {"--bets": bets, **limits, "--out": out, "--no-merge": no_merge or apart or None},
        )
        shown = _saved(file, memory_limit, threads, device, line)
    else:
        game = _game(file, given, BETS if bets is None else bets)
        merge = not (no_merge or apart)
        job = Job.checked(
            game, line, schedule, target, iterations, seconds, threads, device, storage, merge
        )
        shown = job.run(memory_limit, out)
    if json:
        emit(shown.as_dict() | ({"out": str(out)} if out is not None and not shown.failure else {}))
    else:
        shown.print(stdout(), Line.of(context), out)
    if shown.failure is not None:
        raise shown.failure
    if shown.stopped == "interrupted":
        raise typer.Exit(INTERRUPTED)


# Reading the command line --------------------------------------------------------------------
def _refuse(why: str, given: dict[str, Any]) -> None:
    for option, value in given.items():
        if value is not None:
            raise SubgameError(f"{why}, so {option} cannot be given with it.")


def _game(file: Path | None, given: dict[str, Any], bets: str) -> Holdem:
    """The spot that the options or a file describe."""
    import subgame as sg

    sizes = _read("--bets", sg.holdem.BetSizes.parse, bets, "postflop")
    if file is not None:
        return sg.holdem.libratus.read(file, sizes)
    for option in ("--board", "--pot", "--stack"):
        if given[option] is None:
            raise SubgameError(f"{option} is missing. Give --board, --pot and --stack, or a file.")
    check_least("min_bet", given["--min-bet"])
    ranges = [
        _read(option, sg.holdem.Range.parse, "random" if given[option] is None else given[option])
        for option in ("--oop", "--ip")
    ]
    return sg.holdem.endgame(
        given["--board"],
        given["--pot"],
        _stacks(given["--stack"]),
        ranges,
        sizes,
        big_blind=given["--min-bet"] or 1,
    )


def _read(option: str, parse: Callable[..., T], *text: str) -> T:
    """The value of an option that has a grammar of its own; errors name the option."""
    try:
        return parse(*text)
    except SubgameError as error:
        raise SubgameError(f"{option}: {error.sentence}") from None


def _stacks(text: str) -> tuple[int, int]:
    parts = [part.strip().replace(",", "").replace("_", "") for part in text.split("/")]
    if len(parts) > 2 or not all(part.isdecimal() for part in parts):
        raise SubgameError(
            f"--stack must be chips such as 1000, or two numbers as in 1000/800, not '{text}'."
        )
    return int(parts[0]), int(parts[-1])


def parse_target(text: str, pot: int) -> float:
    """An exploitability in chips, given in chips or in percent of the pot.

    >>> parse_target("0.1%", 200), parse_target("0.25", 200)
    (0.2, 0.25)
    """
    body, percent, rest = text.strip().partition("%")
    try:
        value = math.nan if rest else float(body)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise SubgameError(
            f"--target must be a share of the pot such as 0.1%, or a number of chips such as "
            f"0.25, not '{text}'."
        )
    return value * pot / 100 if percent else value


# Solving -------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Job:
    """A spot, and how to solve it."""

    game: Holdem
    line: str | None
    schedule: str
    target: float | None  # in chips
    iterations: int | None
    seconds: float | None
    threads: int | None
    device: str
    storage: str
    merge: bool
    """Whether hands and boards that differ only by suit are merged."""

    @classmethod
    def checked(
        cls,
        game: Holdem,
        line: str | None,
        schedule: str,
        target: str | None,
        iterations: int | None,
        seconds: float | None,
        threads: int | None,
        device: str,
        storage: str,
        merge: bool,
    ) -> Self:
        """Check everything before the boards are dealt."""
        from subgame.solve.endgame import BYTES, follow_line
        from subgame.solve.solver import Limits

        follow_line(game, line or "")
        if storage not in BYTES:
            raise did_you_mean("storage", storage, BYTES)
        check_range_schedule(schedule)
        check_least("threads", threads)
        wanted = TARGET if target is None and iterations is None and seconds is None else target
        chips = None if wanted is None else parse_target(wanted, game.start().pot)
        Limits(iterations, seconds, chips)
        return cls(
            game, line, schedule, chips, iterations, seconds, threads, device, storage, merge
        )

    def run(self, memory_limit: str, out: Path | None) -> Shown:
        """Solve; Ctrl-C keeps the result so far."""
        import subgame as sg
        from subgame.solve.endgame import Endgame

        with Meter("the endgame") as meter:
            # On a GPU hands are never merged, whatever the tree has.
            merge: Merge = False if not self.merge else True if self.device == "cpu" else "boards"
            host = self.device == "cpu"
            tree = _compile(self.game, memory_limit, self.storage, merge, host, meter)
            needed = range_memory(tree, self.schedule, memory_limit, self.storage)
            _quote(tree, needed, meter)
            if self.device == "cpu":  # a GPU's kernels are compiled for each betting tree
                warm_up_ranges(meter, self.schedule, self.storage)
            meter.update("Solving the endgame")
            result = sg.solve(
                tree,
                self.schedule,
                target=self.target,
                iterations=self.iterations,
                seconds=self.seconds,
                threads=self.threads,
                device=self.device,
                storage=self.storage,
                progress=_progress(meter, tree),
            )
            failure = _write(result.strategy, out)
            meter.update("Computing EV and equity")
            solved = Endgame.of(result.strategy, self.threads, self.device)
        return Shown.of_result(result, solved, needed, self.line, failure)


def _compile(
    game: Holdem, memory_limit: str, storage: str, merge: Merge, host: bool, meter: Meter
) -> RangeTree:
    from subgame.memory import Allowance
    from subgame.solve.endgame import BYTES
    from subgame.tree.ranges.tree import compile_range_tree

    def dealt(boards: int) -> None:
        what = "Dealing the boards" if boards else "Counting the betting"
        meter.update(what, f"{boards:,} boards" if boards else "")

    allowed = Allowance.of(memory_limit, host=host)
    return compile_range_tree(
        game, memory_limit=allowed, number=BYTES[storage], merge=merge, progress=dealt
    )


def _quote(tree: RangeTree, needed: int, meter: Meter) -> None:
    """Say how much memory solving needs, before it is allocated."""
    meter.say(f"{tree.num_nodes:,} nodes; solving needs {human_bytes(needed)} of memory.")
    if not any(a[0] == "r" for s in tree.streets for side in s.actions for n in side for a in n):
        meter.say("The bet sizes allow no bet on these streets, so both players only check.")


def _progress(meter: Meter, tree: RangeTree) -> Any:
    pot = tree.holdem.start().pot

    def step(step: Step) -> None:
        gap = f", {100 * step.exploitability / pot:.3g} % of the pot"
        known = "" if math.isnan(step.exploitability) else gap
        meter.update("Solving the endgame", iterations_text(step.iteration) + known, step.share)

    return step


def _write(strategy: Strategy, out: Path | None) -> SubgameError | None:
    """Save; an error is returned and shown after the result, which must not be lost."""
    from subgame.solve.endgame import save

    if out is not None:
        try:
            save(strategy, out)
        except SubgameError as error:
            return error
        except OSError as error:
            return SubgameError(f"{out} could not be written: {error}.")
    return None


def _saved(
    file: Path, memory_limit: str, threads: int | None, device: str, line: str | None
) -> Shown:
    """A saved solution."""
    import subgame as sg
    from subgame.solve.endgame import Endgame, load, memory_needed

    with Meter("the endgame"):
        strategy = load(file, memory_limit=memory_limit)
        solved = Endgame.of(strategy, threads, device)
        gap = sg.exploitability(solved.tree, strategy, device=device)
    made = strategy.notes
    iterations = int(made["iterations"]) if made.get("iterations", "").isdecimal() else 0
    name = made.get("schedule", "dcfr")
    return Shown(
        solved,
        gap,
        iterations,
        math.nan,
        name,
        "saved",
        memory_needed(solved.tree),
        decisions(solved, line),
        None,
    )

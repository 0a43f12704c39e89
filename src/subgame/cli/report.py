"""``subgame report``: one row per flop, or per next card of a solved spot."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subgame.cli.arguments import DEVICE_HELP, complete_device, grouped, opt
from subgame.cli.common import (
    announce,
    bounded,
    check_spot,
    emit,
    save_files,
    seconds_text,
    stdout,
)
from subgame.cli.endgame import parse_target
from subgame.cli.progress import Meter
from subgame.cli.spot import TREE, Spot
from subgame.errors import SubgameError, human_bytes

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.spots.tables import Table

PROCESS = 2**28
"""Bytes of a process beside the flop that it solves."""
SUFFIXES = (".csv", ".json", ".parquet", ".html")
BETS = "flop: 0.33x 0.75x / raise 3r / cap 2; turn, river: 0.75x / raise 3r / cap 2"
"""With usual ranges two cores take an hour or two for 184 flops (docs/results/report-cpu.json)."""


@dataclass(frozen=True)
class FlopSpot(Spot):
    """A spot that is solved on many flops: by default with fewer sizes than one flop alone."""

    bets: str | None = opt(
        None,
        "SIZES",
        "Sizes of bets and raises; subgame endgame --help explains them.",
        BETS,
        **TREE,
    )


@dataclass(frozen=True)
class Reporting:
    """What a report has, and how it is made."""

    flops: str = opt(
        "25",
        "WHICH",
        "all (1,755 flops); 25, 49, 95 or 184 that represent them; or a file of flops.",
    )
    line: str | None = opt(
        None,
        "ACTIONS",
        "For a solved spot: the line after which the card comes. For flops: also report the "
        "decision after this line.",
    )
    target: str = opt("0.5%", "E", "Solve every flop to this exploitability: 0.5% (of the pot).")
    jobs: int = opt(
        1,
        "N",
        "Solve N flops at the same time, each on one thread. If there are fewer cores, or memory "
        "for fewer flops, fewer are solved at a time.",
    )
    threads: int | None = opt(None, "N", "Number of CPU threads, if --jobs is 1.", "all")
    device: str = opt("cpu", "NAME", DEVICE_HELP, True, autocompletion=complete_device)
    log: Path | None = opt(
        None,
        "FILE",
        "Write each row to FILE as soon as it is solved; the same command continues from it.",
    )
    out: list[Path] | None = opt(
        None, "FILE", "Save the report as FILE.csv, .json, .parquet or .html. Repeatable."
    )
    quote: bool = opt(False, None, "Only estimate the time and memory, without solving.")
    json: bool = opt(False, None, "Print one JSON object instead of a table.")

    def check(self) -> None:
        """Refuse files that cannot be written."""
        from subgame.cli.common import check_apart, check_device, check_least, check_writable

        for path in self.out or []:
            check_writable("--out", path)
            if path.suffix not in SUFFIXES:
                raise SubgameError(
                    f"--out needs a file name that ends in {', '.join(SUFFIXES)}, not {path.name}."
                )
        check_writable("--log", self.log)
        check_apart(("--log", self.log), *(("--out", path) for path in self.out or []))
        check_least("jobs", self.jobs)
        check_least("threads", self.threads)
        if self.jobs > 1 and self.device != "cpu":
            raise SubgameError(
                f"--jobs is for the device cpu; on {self.device} flops are solved one by one."
            )
        check_device(self.device, self.threads)


FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="A spot saved by endgame --out: the report has one row per next card.",
    ),
]


@grouped
def report_command(*, file: FileArgument = None, spot: FlopSpot, reporting: Reporting) -> None:
    """Report on many flops, or on every next card of a solved spot.

    Each row shows how often each action is taken, and the EV and equity of both players.

    Without a FILE, every flop is solved with the same pot, stack, ranges and bets. The subsets of
    25, 49, 95 and 184 flops have weights, so that their means are close to those over all 1,755
    flops. An estimate of time and memory is printed first: with the default sizes and usual ranges,
    two cores take an hour or two for 184 flops. With --log, a run that was stopped continues when
    the same command is given again.

    With a FILE, the report has one row for each card that can come after --line.

    [bold]Examples[/]

    subgame report --flops 25 --pot 55 --stack 975 --oop '99-22,AJs-A2s,KTs+' --ip '22+,A2s+,ATo+'
    --log cbets.jsonl --out cbets.csv --out cbets.html

    subgame report --flops 184 --jobs 2 --pot 55 --stack 975 --oop @bb.txt --ip @btn.txt --quote

    subgame report spot.safetensors --line 'check, bet 50, call' --out turns.html
    """
    reporting.check()
    if file is not None:
        option = next((k for k, v in vars(spot).items() if v is not None), None)
        if option is not None:
            raise SubgameError(
                f"The file {file} defines the spot, so --{option.replace('_', '-')} cannot be "
                "given with it."
            )
        _cards(file, reporting)
    else:
        _flops(spot, reporting)


def _cards(file: Path, how: Reporting) -> None:
    check_spot(file)

    from subgame.refine.ranges.compact_spots import open_spot

    with Meter("the report"):
        solved = open_spot(file)
        cards = solved.runouts(how.line or "")
    total = sum(cards.column("chance"))
    mean = {
        name: sum(row["chance"] * row.get(name, 0.0) for row in cards) / total
        for name in cards.columns[2:]
    }
    said = (
        f"{solved.tree.holdem.deck.name(solved.tree.holdem.board)} after {how.line or 'no action'}"
    )
    _write(cards, mean, how, "Every next card", said)


def _flops(spot: FlopSpot, how: Reporting) -> None:
    from subgame.spots.flops import flops

    if spot.board is not None:
        raise SubgameError("A report takes its flops from --flops, so --board cannot be given.")
    if spot.lock is not None:
        raise SubgameError("--lock holds in one spot, so it cannot be given for a report of flops.")
    spot = spot.filled()
    spot = spot if spot.bets is not None else replace(spot, bets=BETS)
    chosen = flops(how.flops, spot.cards)
    game = partial(_game, spot)
    first = game(chosen[0].name)
    pot = float(first.start().pot)
    target = 100 * parse_target(how.target, pot) / pot

    from concurrent.futures import ProcessPoolExecutor
    from contextlib import nullcontext

    from subgame.spots.report import LINES, check_log, flop_report, quote, weighted_mean

    lines = [*LINES, how.line] if how.line else list(LINES)
    done = check_log(how.log, chosen, game, target, lines)
    with Meter("the report") as meter:
        meter.update("Measuring the first flop")
        threads = 1 if how.jobs > 1 else how.threads
        need = quote(chosen, game, target, how.device, threads)
        jobs = 1 if how.jobs == 1 else bounded("--jobs", how.jobs, need.memory + PROCESS)
        takes = seconds_text(need.seconds / jobs * (len(chosen) - done) / len(chosen))
        left = f", {done:,} of them done," if done else ""
        meter.say(
            f"{_count(chosen)}{left} to {target:g} % of the pot: about {takes}, "
            f"{human_bytes(need.memory * jobs)} of memory."
        )
        if how.quote:
            return

        def tell(done: int, of: int, row: dict[str, Any]) -> None:
            meter.update("Solving flops", f"{done:,} of {of:,}, {row['flop']}", done / of)

        pool = ProcessPoolExecutor(jobs) if jobs > 1 else nullcontext(None)
        with pool as executor:
            flop_rows = flop_report(
                chosen,
                game,
                target=target,
                threads=threads,
                device=how.device,
                lines=lines,
                log=how.log,
                executor=executor,
                progress=tell,
            )
    said = f"{_count(flop_rows)}, each to {target:g} % of the pot or less; {first.parameters}"
    _write(flop_rows, weighted_mean(flop_rows), how, "Report over flops", said)


def _count(rows: Sized) -> str:
    return "1 flop" if len(rows) == 1 else f"{len(rows):,} flops"


def _game(spot: Spot, flop: str) -> Holdem:
    return replace(spot, board=flop).game(None)


def _write(rows: Table, mean: dict[str, Any], how: Reporting, title: str, said: str) -> None:
    from subgame.spots.report import save_page

    def save(path: Path) -> None:
        if path.suffix == ".html":
            save_page(path, rows, mean, title, said)
        else:
            rows.save(path)

    paths = how.out or []
    failed = save_files(*((path, save) for path in paths))
    if failed is None:
        for path in paths:
            announce(f"The report is in {path}.")
    if how.json:
        emit({"rows": list(rows), "mean": mean})
    else:
        _print(rows, mean)
    if failed is not None:
        raise failed


def _print(rows: Table, mean: dict[str, object]) -> None:
    from subgame.cli.console import table

    left_out = {"weight", "iterations", "seconds", "pairs", "straight", "exploitability_percent"}
    columns = [name for name in rows.columns if name not in left_out]
    words = [name for name in columns if all(isinstance(row.get(name), str) for row in rows)]
    shown = table(*columns, numbers=[name for name in columns if name not in words])
    for row in ({columns[0]: "mean", **mean}, *rows):
        shown.add_row(*(_text(name, row.get(name, "")) for name in columns))
    stdout().print(shown)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,.2f}" if name.startswith("ev") else f"{100 * value:.1f} %"

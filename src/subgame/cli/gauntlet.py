"""``subgame gauntlet``: an agent against many opponents."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from subgame.cli.arguments import JsonOption, grouped, opt
from subgame.cli.common import (
    bounded,
    check_least,
    check_writable,
    emit,
    load_game,
    save_files,
    stdout,
)
from subgame.cli.match import PROCESS, Alone
from subgame.cli.options import SeedOption
from subgame.cli.progress import Meter

if TYPE_CHECKING:
    from subgame.play.gauntlet import Contest


@dataclass(frozen=True)
class Opponents:
    """Whom the agent meets, and how often."""

    against: str = opt(
        "",
        "NAMES",
        "Only these opponents, separated by commas: blueprint, single, lbr:SETTING, sizes:FACTOR, "
        "shove, min-bet, sixth, overbet, call, limp, or any agent of a match.",
        "all but the last",
    )
    scale: float = opt(1.0, "X", "Play X times as many deals as usual.")

    def deals(self) -> dict[str, int]:
        """How many deals are played against each of them."""
        from subgame.play.gauntlet import check_opponents, scaled

        names = [name.strip() for name in self.against.split(",") if name.strip()]
        return scaled(check_opponents(names), self.scale)


@grouped
def gauntlet_command(
    *,
    player: Alone,
    opponents: Opponents,
    keep: Path | None = opt(
        None, "FILE", "Write every deal to FILE as it is played, and continue from one that exists."
    ),
    jobs: int = opt(1, "N", "Number of processes, each on a core of its own; 0 for all cores."),
    limit: float | None = opt(
        None, "S", "Begin no deal after S seconds; the result says how many were played."
    ),
    out: Path | None = opt(None, "FILE", "Write the result as FILE.json."),
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Let an agent play many opponents, and show what it wins from each.

    The number of deals is fixed beforehand: 2,000 against the blueprint and single-valued search,
    1,000 against each other opponent, times --scale. Each deal is played twice, with the seats
    exchanged. Results are by AIVAT over both players' hands, with 95 % intervals; against a program
    whose strategy is not known, over the agent's own hands.
    Opponents are played in turn, so that a gauntlet that was stopped has the same share of each.

    [bold]Examples[/]

    subgame gauntlet blueprint --against call,shove --scale 0.02

    subgame gauntlet limited --seconds 1 --keep deals.jsonl --out gauntlet.json --jobs 4
    """
    check_writable("--out", out)
    check_least("jobs", jobs, 0)
    rules = load_game(player.game)
    from subgame.papers.report import commit
    from subgame.play.contests import Series, Workers
    from subgame.play.gauntlet import gauntlet, head
    from subgame.solve.workers import own_cores, stopping

    deals, options = opponents.deals(), player.options()
    many, began = 1 if jobs == 1 else bounded("--jobs", jobs, PROCESS), time.perf_counter()
    with Meter(str(rules)) as meter, ExitStack() as stack:
        pool = None if many == 1 else stack.enter_context(stopping(own_cores(many)))

        def progress(name: str, done: int, count: int) -> None:
            meter.update(f"Against {name}", f"{done:,} of {count:,} deals", done / count)

        def more() -> bool:
            return limit is None or time.perf_counter() - began <= limit

        first = head(player.game, player.agent, seed, options)
        contests = gauntlet(
            player.game,
            player.agent,
            deals,
            log=None if keep is None else stack.enter_context(Series(keep, first, commit())),
            seed=seed,
            options=options,
            progress=progress,
            by=Workers(pool, more),
        )
    asked = f"--against {','.join(deals)} --scale {opponents.scale:g} --jobs {many}"
    report = _report(player, contests, seed, asked, rules.unit[0])
    report["seconds"] = time.perf_counter() - began
    failed = save_files((out, lambda path: path.write_text(_text(report), encoding="utf-8")))
    emit(report) if json else _show(player.agent, contests, rules.unit[0])
    if failed is not None:
        raise failed


def _report(
    player: Alone, contests: list[Contest], seed: int, asked: str, unit: str
) -> dict[str, Any]:
    from subgame.papers.report import provenance

    budget = (
        f"--seconds {player.seconds:g} --iterations {player.iterations} --values {player.values}"
    )
    return {
        **provenance(f"subgame gauntlet {player.agent} {asked} {budget} --seed {seed}"),
        "seed": seed,
        "agent": player.agent,
        "unit": unit,
        "contests": [contest.as_dict() for contest in contests],
    }


def _text(report: dict[str, Any]) -> str:
    import json

    return json.dumps(report, indent=2) + "\n"


def _show(agent: str, contests: list[Contest], unit: str) -> None:
    from subgame.cli.console import table

    console = stdout()
    console.print(Text(f"What {agent} wins, {unit}", "bold"))
    numbers = ("deals", "by AIVAT", "in chips")
    shown = table("opponent", *numbers, numbers=numbers)
    for contest in contests:
        deals = f"{contest.deals:,}"
        done = deals if contest.played == contest.deals else f"{contest.played:,} of {deals}"
        shown.add_row(contest.opponent, done, str(contest.aivat), str(contest.plain))
    console.print(shown)

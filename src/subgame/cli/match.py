"""``subgame match``: two agents play each other."""

from __future__ import annotations

from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from subgame.agent_names import VALUES, check_values
from subgame.cli.arguments import GAME_HELP, JsonOption, grouped, opt, option
from subgame.cli.common import (
    bounded,
    check_least,
    check_readable,
    check_writable,
    emit,
    load_game,
    stdout,
)
from subgame.cli.options import SeedOption
from subgame.cli.progress import Meter
from subgame.errors import SubgameError
from subgame.solve.limits import Limits

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.play.agent import Agent
    from subgame.play.match import Estimate
    from subgame.play.named import AgentOptions
    from subgame.play.running import MatchResult
    from subgame.play.scoring import Scorer

PROCESS = 2**29
"""Bytes of a process that plays; one with agents that solve hold'em takes 312 MiB."""
AGENT = (
    "uniform, fold, call, raise, best-response (to the other agent), FILE.safetensors (a strategy "
    "saved by solve --out), blueprint, nested or limited, or acpc:COMMAND, a program that speaks "
    "the ACPC protocol. nested and limited solve while they play; nested:resolve names their "
    "technique."
)
AIVAT = (
    "Also estimate the result by AIVAT, which removes much of the luck. One agent's "
    "strategy must be known; the log keeps it for every hand."
)


def check_agent(agent: str | None) -> str | None:
    """Refuse an unknown agent, before any work is done."""
    from subgame.agent_names import check_agent as check

    return None if agent is None else check(agent)


AgentArgument = Annotated[
    str,
    typer.Argument(
        metavar="AGENT", help=f"An agent: {AGENT}", show_default=False, callback=check_agent
    ),
]
GameOption = Annotated[str, option("GAME", GAME_HELP, name="--game")]
HandsOption = Annotated[int, option("N", "Number of hands.")]


@dataclass(frozen=True)
class Agents:
    """What agents are told that need a blueprint or solve while they play."""

    blueprint: Path | None = opt(
        None,
        "FILE",
        "The blueprint, saved by solve --out or made by subgame blueprint.",
        "for hunl the one in the package, otherwise solved and kept in the cache",
    )
    seconds: float = opt(5.0, "S", "Time for each decision of an agent that solves while it plays.")
    iterations: int = opt(
        500, "N", "The most iterations of each solve of an agent that solves while it plays."
    )
    threshold: float = opt(
        0.0,
        "P",
        "An agent that solves while it plays takes no action with a probability below P; with 1 it "
        "takes only the most probable action.",
    )
    values: str = opt(
        VALUES[0],
        "|".join(VALUES),
        "How the agent limited computes values at the end of the flop in hunl.",
        callback=check_values,
    )

    def options(self) -> AgentOptions:
        """The same for `named_agents`."""
        from subgame.play.named import AgentOptions

        check_readable("--blueprint", self.blueprint, "a strategy saved by solve --out")
        Limits(self.iterations, self.seconds)
        path = None if self.blueprint is None else str(self.blueprint)
        return AgentOptions(path, self.seconds, self.iterations, self.threshold, self.values)


@dataclass(frozen=True, kw_only=True)
class Alone(Agents):
    """The one agent of ours, and the game that it plays."""

    agent: AgentArgument
    game: GameOption = "hunl"

    def seated(self, aivat: bool = False) -> tuple[Game, Agent, Scorer | None]:
        """The game, the agent, and what scores its hands by AIVAT, if they are to be."""
        from subgame.play.scoring import seated_alone

        rules = load_game(self.game)
        return rules, *seated_alone(rules, self.agent, self.options(), aivat)

    def summary(self, rules: Game, hands: int, won: Estimate, log: Path | None) -> dict[str, Any]:
        """What it won from somebody elsewhere, for ``--json``."""
        return {
            "game": str(rules),
            "agent": self.agent,
            "hands": hands,
            "unit": rules.unit[0],
            "mean": won.mean,
            "interval95": won.interval95,
            "log": None if log is None else str(log),
        }


@dataclass(frozen=True)
class Recorded:
    """How hands are dealt, where they are kept, and how the result is printed."""

    log: Path | None = opt(
        None, "FILE", "Write every hand to FILE. If FILE exists, the match continues from it."
    )
    seed: SeedOption = 0
    json: JsonOption = False

    def check(self, hands: int | None = None) -> None:
        """Refuse a log that cannot be written, and no hands."""
        check_least("hands", hands)
        check_writable("--log", self.log)


@dataclass(frozen=True)
class Counted:
    """How a match is counted."""

    duplicate: bool = opt(False, None, "Play each deal twice, with the seats exchanged.")
    aivat: bool = opt(False, None, AIVAT)


@dataclass(frozen=True)
class Workers:
    """Where hands are played."""

    jobs: int = opt(
        1,
        "N",
        "Number of processes; 0 for one per core. If there are fewer cores, or memory for fewer "
        "processes, fewer are started.",
    )
    dask: str | None = opt(None, "ADDRESS", "Play on the Dask cluster of this scheduler instead.")

    def check(self) -> None:
        """Refuse what does not fit together."""
        check_least("jobs", self.jobs, 0)
        if self.dask is not None and self.jobs != 1:
            raise SubgameError("--dask and --jobs exclude each other.")

    def executor(self, stack: ExitStack) -> Executor | None:
        """The executor, closed with the stack; None for this process alone."""
        if self.dask is not None:
            try:
                distributed: Any = import_module("distributed")
            except ImportError:
                raise SubgameError(
                    "--dask needs the package distributed: pip install 'subgame[dask]'."
                ) from None
            try:
                client: Any = stack.enter_context(distributed.Client(self.dask))
            except (OSError, ValueError) as error:
                raise SubgameError(
                    f"There is no Dask scheduler at {self.dask} ({error})."
                ) from None
            result: Executor = client.get_executor()
            return result
        if self.jobs == 1:
            return None
        return stack.enter_context(ProcessPoolExecutor(bounded("--jobs", self.jobs, PROCESS)))


@grouped
def match_command(
    *,
    first: AgentArgument,
    second: AgentArgument,
    game: GameOption = "leduc",
    hands: HandsOption = 1000,
    counted: Counted,
    agent_options: Agents,
    workers: Workers,
    recorded: Recorded,
) -> None:
    """Let two agents play a match, and estimate which one is better.

    The result is what the first agent wins per hand, with its 95 % interval. The same seed deals
    the same cards, with any number of processes.

    [bold]Examples[/]

    subgame match uniform call --game leduc --hands 10000

    subgame solve leduc --out leduc.safetensors

    subgame match leduc.safetensors best-response --game leduc --duplicate --aivat

    subgame match uniform raise --game nlfh --hands 2000 --log match.jsonl --jobs 2

    subgame match nested:reach-maxmargin blueprint --game leduc --seconds 0.5

    subgame match nested blueprint --game hunl --hands 20 --seconds 1 --duplicate --aivat
    """
    workers.check()
    recorded.check(hands)
    rules = load_game(game)
    from subgame.play.running import match

    with Meter(str(rules)) as meter, ExitStack() as stack:
        progress = meter.counting(f"Playing {rules}", "hands")
        result = match(
            rules,
            (first, second),
            hands,
            seed=recorded.seed,
            duplicate=counted.duplicate,
            log=recorded.log,
            aivat=counted.aivat,
            executor=workers.executor(stack),
            progress=progress,
            options=agent_options.options(),
        )
    emit(result.summary()) if recorded.json else show_result(result)


def show_result(result: MatchResult) -> None:
    """The result of a match on stdout."""
    from subgame.cli.console import table

    console = stdout()
    console.print(Text(f"{result.agents[0]} against {result.agents[1]}, {result.game}", "bold"))
    shown = table("result", result.unit, "95 % interval", numbers=(result.unit, "95 % interval"))
    rows = [
        ("all hands", result.result),
        ("in seat 0", result.per_seat[0]),
        ("in seat 1", result.per_seat[1]),
    ]
    rows += [("by AIVAT", result.aivat)] if result.aivat is not None else []
    for name, estimate in rows:
        shown.add_row(name, f"{estimate.mean:+.4g}", f"± {estimate.interval95:.3g}")
    console.print(shown)
    speed = result.hands / max(result.seconds, 1e-9)
    console.print(Text(f"  {result.hands:,} hands, {speed:,.0f} a second", "dim"))
    for title, groups in (("last action", result.streets), ("commonest lines", result.lines[:5])):
        shown = table(
            title, "hands", "mean", "of the result", numbers=("hands", "mean", "of the result")
        )
        for group in groups:
            share = f"{group.share(result.hands):+.4g}"
            shown.add_row(
                group.name or "nobody acts", f"{group.hands:,}", f"{group.result.mean:+.4g}", share
            )
        console.print(shown)

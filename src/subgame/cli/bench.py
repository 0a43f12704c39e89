"""``subgame bench``: measure the speed of this package and of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subgame.cli.arguments import JsonOption, argument, grouped, opt
from subgame.cli.common import announce, check_least, emit, stdout
from subgame.cli.match import check_agent
from subgame.errors import SubgameError, did_you_mean

TAKES = {
    "games": ("about 20 minutes", "about three minutes"),
    "holdem": ("about ten minutes", "about a minute"),
    "play": ("about two minutes", "about 20 seconds"),
    "decisions": ("some seconds a situation, by --seconds", "a sixth of the time"),
    "startup": ("about ten minutes, most of it the installations", "about two minutes"),
}
"""How long each benchmark takes, in full and quick."""


@dataclass(frozen=True)
class Decisions:
    """Whose decisions are graded, and how."""

    agent: str | None = opt(
        None, "AGENT", "For decisions: the agent that is graded.", "limited", callback=check_agent
    )
    seconds: float | None = opt(None, "S", "For decisions: the time for each decision.", "5")
    jobs: int = opt(1, "N", "For decisions: number of processes, each on two cores of its own.")
    causes: bool = opt(
        False, None, "For decisions: grade with the situation's ranges, too, and divide by cause."
    )

    def check(self, what: str) -> None:
        """Refuse these options for other benchmarks."""
        if self != Decisions() and what != "decisions":
            raise SubgameError(
                "--agent, --seconds, --jobs and --causes apply to 'bench decisions' only."
            )
        check_least("jobs", self.jobs)

    def options(self) -> dict[str, Any]:
        """What the benchmark is told."""
        from subgame.play.named import AgentOptions
        from subgame.solve.limits import Limits

        options = AgentOptions() if self.seconds is None else AgentOptions(seconds=self.seconds)
        Limits(options.iterations, options.seconds)
        asked = {"agent": self.agent or "limited", "options": options}
        return asked | {"jobs": self.jobs, "causes": self.causes}

    def __str__(self) -> str:
        """As they are typed."""
        asked = f" --agent {self.agent}" * bool(self.agent)
        asked += f" --seconds {self.seconds}" * bool(self.seconds)
        return asked + f" --jobs {self.jobs}" * (self.jobs > 1) + " --causes" * self.causes


@grouped
def bench_command(
    *,
    what: str = argument(
        "[WHAT]",
        "games: small games; holdem: endgames; play: matches, local best response, AIVAT; "
        "decisions: what an agent's decisions lose; startup: how fast the command itself starts.",
        "games",
        show_default=True,
    ),
    only: str | None = opt(
        None, "NAME", "Run only this benchmark; for decisions: a street or a kind of situation."
    ),
    quick: bool = opt(False, None, "Use smaller games and shorter runs."),
    peer: str | None = opt(
        None,
        "COMMAND",
        "For holdem: run this command of another solver for each spot. It reads the spot as "
        "JSON and prints seconds_per_iteration, iterations and memory_bytes.",
    ),
    graded: Decisions,
    json: JsonOption = False,
) -> None:
    """Measure the speed of this package and compare it with others.

    Small games are compared with OpenSpiel and LiteEFG if they are installed. Hold'em endgames
    are compared with recorded figures of postflop-solver, or with a command that is run on this
    machine (--peer). Instruments of play are compared with exact answers. Decisions of an agent are
    compared with situations that were solved to the end. The startup is compared with an older
    version.

    [bold]Examples[/]

    subgame bench --quick

    subgame bench --json > speed.json

    subgame bench holdem --only turn

    subgame bench holdem --only river-45 --peer './postflop-bench --json'

    subgame bench holdem --only nlfh

    subgame bench play --json > instruments.json

    subgame bench decisions --agent limited --seconds 2 --quick

    subgame bench startup
    """
    if what not in TAKES:
        raise did_you_mean("benchmark", what, TAKES)
    if peer is not None and what != "holdem":
        raise SubgameError("--peer applies to 'bench holdem' only.")
    graded.check(what)

    from importlib import import_module

    from subgame.cli import COMMANDS
    from subgame.solve.solver import whole_solves

    if only is None:
        full, short = TAKES[what]
        longer = "" if quick else f" With --quick it takes {short}."
        announce(f"This takes {short if quick else full}.{longer}")
    module = import_module(f"subgame.bench.{'small_games' if what == 'games' else what}")
    more: dict[str, Any] = {} if peer is None else {"peer": peer}
    if what == "startup":
        more["commands"] = list(COMMANDS)
    if what == "decisions":
        more |= graded.options()
    with whole_solves():
        measured = module.run(only=only, quick=quick, progress=announce, **more)
    if json:
        said = {"benchmarks": measured} if what == "games" else measured
        emit({**_made_by(f"{what}{graded}", only, quick), **said})
    else:
        stdout().print(module.table(measured))


def _made_by(what: str, only: str | None, quick: bool) -> dict[str, object]:
    """The command, commit, date and machine that made the figures."""
    from subgame.bench.small_games import VERSIONS
    from subgame.papers.report import provenance

    asked = " --quick" * quick + (f" --only {only}" if only else "")
    return provenance(f"subgame bench {what}{asked} --json", VERSIONS)

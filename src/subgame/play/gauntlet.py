"""`gauntlet`: one agent against many opponents, with numbers of deals that are fixed beforehand.

Each deal is played twice, with the seats exchanged, and each hand is estimated by AIVAT from the
agent's own strategy (`subgame.play.scoring`). An opponent has a log of its own, so a gauntlet that
was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.games.base import Game
from subgame.play.agent import Agent
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.plans import BOTH
from subgame.play.lbr import SETTINGS, LocalBestResponse
from subgame.play.named import AgentOptions, named_agents, whole_blueprint
from subgame.play.running import MatchResult, match
from subgame.play.strangers import stranger

LBR = "lbr:"
DEALS = {
    "blueprint": 2000,
    "single": 2000,
    **{f"{LBR}{setting}": 1000 for setting in SETTINGS},
    "sizes:0.6": 1000,
    "sizes:1.5": 1000,
    "shove": 1000,
    "min-bet": 1000,
    "sixth": 1000,
    "overbet": 1000,
    "call": 1000,
    "limp": 1000,
}
"""Opponents, and how many deals are played against each: for LBR as many as in Lisý & Bowling 2017
and Brown, Sandholm & Amos 2018."""
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Contest:
    """What the agent won from one opponent."""

    opponent: str
    deals: int
    result: MatchResult

    def as_dict(self) -> dict[str, Any]:
        """The contest as JSON has it; all sums are the agent's, in the unit of the game."""
        assert self.result.aivat is not None
        plain, less = self.result.result, self.result.aivat
        return {
            "opponent": self.opponent,
            "deals": self.deals,
            "aivat_mean": less.mean,
            "aivat_interval95": less.interval95,
            "mean": plain.mean,
            "interval95": plain.interval95,
            "seconds": self.result.seconds,
        }


def opponent(game: Game, agent: Agent, name: str, options: AgentOptions) -> Agent:
    """An opponent of the gauntlet by its name: one of `DEALS`, or an agent of a match."""
    if name.startswith(LBR):
        return LocalBestResponse(game, agent, name.removeprefix(LBR))
    if name == "single":
        whole = whole_blueprint(game, options.blueprint)
        if whole is None:
            raise SubgameError(f"Single-valued search is for whole hold'em, not for {game}.")
        limits = {key: getattr(options, key) for key in ("iterations", "seconds", "threshold")}
        made: Agent = HoldemAgent(game, whole, limited=BOTH, choices=1, **limits)  # type: ignore[arg-type]
        made.name = name
        return made
    return stranger(game, name, options.blueprint) or named_agents(game, (agent, name), options)[1]


def scaled(opponents: Sequence[str], scale: float) -> dict[str, int]:
    """The numbers of deals, times a factor; at least 2. An agent that is no opponent has 1,000."""
    if not scale > 0:
        raise ArgumentError("scale", f"must be above 0, not {scale:g}.")
    return {name: max(2, round(scale * DEALS.get(name, 1000))) for name in opponents}


def check_opponents(names: Sequence[str]) -> tuple[str, ...]:
    """The names, all of them if there are none; a name that nobody has is refused."""
    from subgame.agent_names import check_agent

    for name in names:
        kind, _, rest = name.partition(":")
        if kind == "lbr" and rest not in SETTINGS:
            raise did_you_mean("setting of LBR", rest, SETTINGS)
        if name not in DEALS and kind not in ("lbr", "sizes"):
            check_agent(name)
    return tuple(names) or tuple(DEALS)


def gauntlet(
    game: Game,
    agent: Agent | str,
    deals: dict[str, int],
    *,
    logs: Path | None = None,
    seed: int = 0,
    options: AgentOptions | None = None,
    progress: Progress | None = None,
) -> list[Contest]:
    """What an agent wins from each opponent in `deals`, which says how many deals are played.

    With a folder for `logs` each opponent has a log there, and what it has is not played again.
    """
    chosen, contests = options or AgentOptions(), list[Contest]()
    player = named_agents(game, (agent, "uniform"), chosen)[0]
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
    for name, count in deals.items():
        log = None if logs is None else logs / f"{name.replace(':', '-').replace('/', '-')}.jsonl"
        against = opponent(game, player, name, chosen)

        def counting(done: int, all_: int, name: str = name) -> None:
            if progress is not None:
                progress(name, done, all_)

        result = match(
            game,
            (player, against),
            2 * count,
            seed=seed,
            duplicate=True,
            log=log,
            aivat=True,
            progress=counting,
            options=chosen,
        )
        contests.append(Contest(name, count, result))
    return contests

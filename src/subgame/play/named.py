"""Agents by name: ``uniform``, ``fold``, ``call``, ``raise``, a file, ``best-response`` and more.

>>> import subgame as sg
>>> named_agents(sg.games.load("kuhn"), ("uniform", "call"))
(<Uniform uniform>, <Always call>)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from subgame.errors import SubgameError, did_you_mean
from subgame.games import load
from subgame.games.actions import KINDS
from subgame.games.base import Game
from subgame.play.agent import Agent, Always, Uniform
from subgame.play.strategies import BettingGame, StrategyAgent, Translated
from subgame.solve.evaluate import best_response_strategy
from subgame.tree.compile import compile
from subgame.tree.files import read_tensors
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import SAVED, Strategy

SUFFIX = ".safetensors"
BEST = "best-response"
SIMPLE: dict[str, Callable[[], Agent]] = {
    "uniform": Uniform,
    **{kind: partial(Always, kind) for kind in KINDS},
}
"""Agents that need nothing but their name."""


def named_agents(game: Game, agents: Sequence[Agent | str]) -> tuple[Agent, Agent]:
    """The two agents of a match; ``best-response`` responds to the other one."""
    made = [_made(game, agent) for agent in agents]
    for k, agent in enumerate(made):
        if agent is None:
            other = made[1 - k]
            if other is None:
                raise SubgameError("Two agents cannot be a best response to each other.")
            made[k] = best_response_to(game, other)
    one, two = made
    assert one is not None
    assert two is not None
    return one, two


def _made(game: Game, agent: Agent | str) -> Agent | None:
    """The agent of a name; None for a best response, which needs its opponent first."""
    if isinstance(agent, Agent):
        return agent
    if agent == BEST:
        return None
    if agent in SIMPLE:
        return SIMPLE[agent]()
    if agent.endswith(SUFFIX):
        return stored_agent(game, agent)
    raise did_you_mean("agent", agent, [*SIMPLE, BEST, f"FILE{SUFFIX}"])


def stored_agent(game: Game, path: str | Path) -> Agent:
    """An agent that plays a saved strategy, translated if it was made for other bet sizes."""
    header, _ = read_tensors(path, SAVED)
    made_for = header.get("game", "")
    own = game if made_for == str(game) else load(made_for)
    strategy = Strategy.load(path, compile(own, merge="boards"))
    name = Path(path).name
    if own is game:
        return StrategyAgent(strategy, name)
    if not isinstance(own, BettingGame) or not isinstance(game, BettingGame):
        raise SubgameError(
            f"{path} was made for {made_for}, not for {game}, and only games with bet sizes can be "
            "translated."
        )
    return Translated(strategy, own, game, name=name)


def known_strategy(tree: PublicTree, agent: Agent) -> Strategy | None:
    """An agent's whole strategy over the tree of the game; None if it is not known."""
    if isinstance(agent, StrategyAgent):
        return agent.strategy
    table: dict[str, dict[str, float]] = {}
    for p, side in enumerate(tree.players):
        agent.begin(p, 0)
        for name, actions in zip(side.names, side.actions, strict=True):
            policy = agent.policy((name,), actions)
            if policy is None:
                return None
            row = zip(policy.actions, policy.probabilities[0].tolist(), strict=True)
            table[f"player {p}: {name}"] = dict(row)
    return Strategy.from_table(tree, table)


def best_response_to(game: Game, agent: Agent) -> StrategyAgent:
    """The agent that wins most against another one whose strategy is known."""
    known = known_strategy(compile(game, merge="boards"), agent)
    if known is None:
        raise SubgameError(
            f"The strategy of '{agent.name}' is not known, so there is no best response to it."
        )
    one, two = (best_response_strategy(known.tree, known, player) for player in (0, 1))
    return StrategyAgent(Strategy.from_weights(known.tree, (one, two)), BEST)

"""Agents by name: ``uniform``, ``call``, a file, ``best-response``, ``blueprint``, ``nested``, ...

>>> import subgame as sg
>>> named_agents(sg.games.load("kuhn"), ("uniform", "call"))
(<Uniform uniform>, <Always call>)
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from subgame import agent_names
from subgame.agent_names import BEST, BLUEPRINT, PROGRAM, SUFFIX, UNIFORM, VALUES, check_agent
from subgame.blueprints.stored import FORMAT, StoredBlueprint
from subgame.errors import SubgameError
from subgame.games import load
from subgame.games.actions import KINDS
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.play.agent import Agent, Always, Event, Uniform, policy_of
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.early import BOTH, FLOP
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.protocols.remote import started
from subgame.play.searching import LimitedAgent, NestedAgent, SearchAgent
from subgame.play.strategies import BettingGame, StrategyAgent, Translated
from subgame.refine.verbs.cut import every_decision, start_of
from subgame.solve.evaluate import best_response_strategy
from subgame.solve.solver import solve
from subgame.tree.compile import compile
from subgame.tree.files import read_tensors
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import SAVED, Strategy

SEARCHING: dict[str, type[NestedAgent]] = dict(
    zip(agent_names.SEARCHING, (NestedAgent, LimitedAgent), strict=True)
)
ITERATIONS, SECONDS = 1000, 120.0
"""Of the solve that makes a blueprint, whichever comes first."""


@dataclass(frozen=True)
class AgentOptions:
    """What named agents may be told."""

    blueprint: str | None = None
    """The file of the blueprint; without one it is solved, and kept in the folder for caches."""
    seconds: float = 5.0
    """The time for each decision of an agent that solves while it plays."""
    iterations: int | None = 500
    """The most iterations of each of its solves."""
    threshold: float = 0.0
    """It takes no action below this probability; 1: only the most probable one."""
    values: str = VALUES[0]
    """How ``limited`` values the end of the flop in hunl: by ``"rollouts"`` of the blueprint, or by
    the ``"network"`` beside the blueprint."""


def named_agents(
    game: Game, agents: Sequence[Agent | str], options: AgentOptions | None = None
) -> tuple[Agent, Agent]:
    """The two agents of a match; ``best-response`` responds to the other one."""
    agent_options = options or AgentOptions()
    made = [_made(game, agent, agent_options) for agent in agents]
    for k, agent in enumerate(made):
        if agent is None:
            other = made[1 - k]
            if other is None:
                raise SubgameError("Two agents cannot be a best response to each other.")
            made[k] = best_response_to(game, other)
    one, two = made
    assert one is not None
    assert two is not None
    return one, copy(two) if two is one else two  # each sits in a seat of its own


def _made(game: Game, agent: Agent | str, options: AgentOptions) -> Agent | None:
    """The agent of a name; None for a best response, which needs its opponent first."""
    if isinstance(agent, Agent):
        return agent
    kind, _, technique = check_agent(agent).partition(":")
    if agent == BEST:
        return None
    if agent == UNIFORM:
        return Uniform()
    if agent in KINDS:
        return Always(agent)
    if agent.endswith(SUFFIX):
        return stored_agent(game, agent)
    if agent.startswith(PROGRAM):
        return started(game, agent)
    whole = whole_blueprint(game, options.blueprint)
    if agent == BLUEPRINT:
        if whole is not None:
            return BlueprintAgent(game, whole)
        return _playing(game, blueprint_of(game, options.blueprint), BLUEPRINT)
    settings: dict[str, Any] = {"technique": technique} if technique else {}
    settings |= {name: getattr(options, name) for name in ("seconds", "iterations", "threshold")}
    made: SearchAgent
    if whole is not None:
        assert isinstance(game, Holdem)
        sizes = BOTH if PreflopValues.beside(whole) else FLOP
        settings["values"] = options.values
        made = HoldemAgent(game, whole, limited=sizes if kind == "limited" else None, **settings)
    else:
        if kind == "limited" and options.values != VALUES[0]:
            raise SubgameError(
                f"Values by {options.values} are for whole hold'em such as hunl, not for {game}."
            )
        made = SEARCHING[kind](blueprint_of(game, options.blueprint), **settings)
    made.name = agent
    return made


def load_agent(game: Game | str, agent: str | None = None, **options: Any) -> Agent:
    """An agent that plays a game; `options` are those of `AgentOptions`.

    With ``"hunl"`` it plays the whole of heads-up no-limit hold'em, from the blueprint that comes
    with the package. Without a name it is ``limited`` there, and ``nested`` in other games.

    >>> load_agent("hunl", seconds=2)
    <HoldemAgent limited>
    """
    rules = load(game) if isinstance(game, str) else game
    asked = AgentOptions(**options)
    return named_agents(rules, (agent or usual(rules, asked), "uniform"), asked)[0]


def usual(game: Game, options: AgentOptions, otherwise: str = "nested") -> str:
    """The agent of a game for which none is named: ``limited`` in whole hold'em."""
    return otherwise if whole_blueprint(game, options.blueprint) is None else "limited"


def whole_blueprint(game: Game, path: str | Path | None = None) -> StoredBlueprint | None:
    """The blueprint in buckets by which a game of hold'em is played from the first blind on.

    It is that of the file, if that is one, or the one that comes with the package, if it fits the
    game. None otherwise: then the game is solved as it is.
    """
    if path is not None:
        header, _ = read_tensors(path, SAVED)
        return BlueprintAgent(game, path).blueprint if header.get("format") == FORMAT else None
    if isinstance(game, Holdem) and game.name == "hunl":
        with suppress(SubgameError):  # other stacks or another deck
            return BlueprintAgent(game).blueprint
    return None


def blueprint_of(game: Game, path: str | Path | None = None) -> Strategy:
    """The blueprint in a file, or one that is solved for the game and kept for the next time.

    A file may be of the same game with fewer bet sizes.
    """
    if path is not None:
        return _loaded(game, path)
    tree = compile(game, merge="boards")
    kept = cache_folder() / f"blueprint-{tree.digest}{SUFFIX}"
    if kept.exists():
        return Strategy.load(kept, tree)
    strategy = solve(tree, "dcfr", iterations=ITERATIONS, seconds=SECONDS).strategy
    with suppress(SubgameError, OSError):  # a folder that cannot be written keeps nothing
        kept.parent.mkdir(parents=True, exist_ok=True)
        strategy.save(kept)
    return strategy


def cache_folder() -> Path:
    """The folder in which solved blueprints are kept: ``subgame`` in the user's cache."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "subgame"


def _loaded(game: Game, path: str | Path) -> Strategy:
    header, _ = read_tensors(path, SAVED)
    made_for = header.get("game", "")
    own = game if made_for == str(game) else load(made_for)
    if own is not game and not (isinstance(own, BettingGame) and isinstance(game, BettingGame)):
        raise SubgameError(
            f"{path} was made for {made_for}, not for {game}, and only games with bet sizes can be "
            "translated."
        )
    return Strategy.load(path, compile(own, merge="boards"))


def stored_agent(game: Game, path: str | Path) -> Agent:
    """An agent that plays a saved strategy, translated if it was made for other bet sizes."""
    whole = whole_blueprint(game, path)
    if whole is not None:
        return BlueprintAgent(game, whole, name=Path(path).name)
    return _playing(game, _loaded(game, path), Path(path).name)


def _playing(game: Game, strategy: Strategy, name: str) -> Agent:
    own = start_of(strategy.tree).game
    if strategy.tree.game_name == str(game):
        return StrategyAgent(strategy, name)
    assert isinstance(own, BettingGame)
    assert isinstance(game, BettingGame)
    return Translated(strategy, own, game, name=name)


def known_strategy(tree: PublicTree, agent: Agent) -> Strategy | None:
    """An agent's whole strategy over the tree of the game; None if it is not known.

    The agent is asked at every public state, after it has observed how play came there.
    """
    if isinstance(agent, StrategyAgent):
        return agent.strategy
    probs = Strategy.uniform(tree).probs
    for p in (0, 1):
        for line, here in every_decision(tree, p):
            agent.begin(p, 0)
            for player, action in line:
                agent.observe(Event(player, action))
            cells = here.cells(tree)
            if cells is None:
                continue
            held = np.flatnonzero(cells[:, 0] >= 0)
            names, legal = here.names(p), here.actions
            policy = policy_of(agent, [names[s] for s in held.tolist()], legal)
            if policy is None:
                return None
            probs[p][cells[held]] = 0.0
            for k, action in enumerate(policy.actions):
                if action not in legal:
                    raise SubgameError(f"The tree of {tree.game_name} has no action '{action}'.")
                probs[p][cells[held, legal.index(action)]] += policy.probabilities[:, k]
    return Strategy(tree, probs)


def best_response_to(game: Game, agent: Agent) -> StrategyAgent:
    """The agent that wins most against another one whose strategy is known."""
    known = known_strategy(compile(game, merge="boards"), agent)
    if known is None:
        raise SubgameError(
            f"The strategy of '{agent.name}' is not known, so there is no best response to it."
        )
    one, two = (best_response_strategy(known.tree, known, player) for player in (0, 1))
    return StrategyAgent(Strategy.from_weights(known.tree, (one, two)), BEST)

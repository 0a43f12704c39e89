"""Play: agents, matches and the instruments that measure how strong an agent is.

>>> from subgame.play import match
>>> match("kuhn", ["uniform", "call"], hands=100, seed=1).hands
100
"""

from subgame.play.agent import Agent, AgentError, Always, Event, Uniform
from subgame.play.match import Estimate, Hand, play_hand
from subgame.play.named import load_agent as load
from subgame.play.running import MatchResult, match
from subgame.play.searching import LimitedAgent, NestedAgent
from subgame.play.strategies import StrategyAgent, Translated

__all__ = [
    "Agent",
    "AgentError",
    "Always",
    "Estimate",
    "Event",
    "Hand",
    "LimitedAgent",
    "MatchResult",
    "NestedAgent",
    "StrategyAgent",
    "Translated",
    "Uniform",
    "load",
    "match",
    "play_hand",
]

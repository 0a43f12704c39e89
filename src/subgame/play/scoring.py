"""`Scorer`: a match against anybody, estimated by AIVAT from the strategy of one agent.

The agent's strategy is recorded while it plays (`Recorder`), so the opponent may be
anybody: another agent, a program at a socket, a server. The opponent's cards must be known when the
hand is over; its strategy need not be. In whole hold'em the value function is self-play of a
blueprint (`subgame.play.blueprint_values`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from subgame.blueprints.stored import StoredBlueprint
from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.play.agent import Agent, Always, Event, Policy, draw
from subgame.play.aivat import Aivat, ValueFunction, is_known, range_policy, value_function
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.match import Estimate, Hand, observations
from subgame.play.named import AgentOptions, named_agents, whole_blueprint
from subgame.play.packed import Kept, packed, rounded
from subgame.play.strategies import StrategyAgent
from subgame.refine.reached import Reached
from subgame.refine.verbs.cut import start_of


class Recorder(Agent):
    """Plays as another agent, from its policy in 255ths, and keeps the policy of each decision.

    AIVAT needs the whole strategy of one agent at each of its decisions. An agent that solves
    against a clock does not decide twice alike, so it cannot be asked afterwards. A recorder asks
    the agent for its `policy` before each decision, rounds the probabilities to 255ths, draws the
    action from the rounded ones, and keeps them with the hand. So what is kept is exactly what was
    played.

    >>> from subgame import games
    >>> from subgame.play.agent import Uniform
    >>> from subgame.play.match import play_hand
    >>> from subgame.play.packed import unpacked
    >>> game = games.load("kuhn")
    >>> hand = play_hand(game, (Recorder(game, Uniform()), Uniform()), number=0)
    >>> kept = hand.policies[0][0]
    >>> kept[:-1], unpacked(kept, 3).probabilities.round(2).tolist()[0]
    (('p', 'b'), [0.5, 0.5])
    """

    def __init__(self, game: Game, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.first = start_of(game)
        self.here: Reached = self.first
        self.recorded: list[Kept] = []
        self.done = ""

    def begin(self, seat: int, seed: int) -> None:
        self.agent.begin(seat, seed)
        self.seat, self.random = seat, self.agent.random
        self.here, self.recorded, self.done = self.first, [], ""

    def observe(self, event: Event) -> None:
        self.agent.observe(event)
        if event.player == self.seat and self.recorded and event.action != self.done:
            self.recorded[-1] = ()  # somebody else acted in its place
        self.here = self.here.child(event.action)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        policy = range_policy(self.agent, self.here)
        if policy is None:
            self.recorded.append(())
            self.done = self.agent.act(infoset, legal)
            return self.done
        units = rounded(policy.probabilities)
        self.recorded.append(packed(policy.actions, units))
        row = units[self.here.number(self.seat, infoset)]
        self.done = draw(self.random, policy.actions, row.tolist())
        return self.done

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy | None:
        return self.agent.policy(infosets, legal)

    def explain(self) -> str:
        return self.agent.explain()

    def close(self) -> None:
        self.agent.close()


class Scorer:
    """Estimates hands of a match by AIVAT; `known` is the number of the agent that is known."""

    def __init__(self, game: Game, known: int, agent: Agent, values: ValueFunction) -> None:
        self.game, self.known = game, known
        self.aivat = Aivat(game, agent, values)

    def scored(self, hand: Hand) -> Hand:
        """The hand with what agent 0 won by AIVAT."""
        won = self.aivat.estimate(hand, self.known)
        return replace(hand, estimate=won if self.known == 0 else -won)

    def result(self, hands: Sequence[Hand], duplicate: bool = False) -> Estimate:
        """The first agent's result by AIVAT; hands without an estimate are estimated now."""
        scored = [hand if hand.estimate is not None else self.scored(hand) for hand in hands]
        return aivat_result(self.game, scored, duplicate)


def values_of(game: Game, agent: Agent, blueprint: str | None = None) -> ValueFunction:
    """The value function of a match: that of a blueprint of whole hold'em, or one that suits."""
    whole = whole_blueprint(game, blueprint)
    return value_function(game, agent) if whole is None else _blueprint_values(whole)


@lru_cache(maxsize=2)
def _blueprint_values(blueprint: StoredBlueprint) -> BlueprintValues:
    return BlueprintValues(blueprint)


def recorded(
    game: Game, agents: tuple[Agent, Agent], blueprint: str | None = None
) -> tuple[tuple[Agent, Agent], Scorer]:
    """The agents, of whom the first whose strategy is known is recorded; and the scorer of hands.

    An agent that plays one fixed strategy need not be recorded.
    """
    for k, agent in enumerate(agents):
        if is_known(game, agent):
            scorer = Scorer(game, k, agent, values_of(game, agent, blueprint))
            if isinstance(agent, StrategyAgent):
                return agents, scorer
            kept = Recorder(game, agent)
            return ((kept, agents[1]) if k == 0 else (agents[0], kept)), scorer
    raise SubgameError("AIVAT needs an agent whose strategy is known; none of these two has one.")


def seated_alone(
    game: Game, agent: str, options: AgentOptions, aivat: bool
) -> tuple[Agent, Scorer | None]:
    """An agent that plays elsewhere; with `aivat` it is recorded, and its hands can be scored."""
    player = named_agents(game, (agent, "uniform"), options)[0]
    if not aivat:
        return player, None
    if not is_known(game, player):
        raise SubgameError(f"AIVAT needs an agent whose strategy is known; '{agent}' has none.")
    scorer = Scorer(game, 0, player, values_of(game, player, options.blueprint))
    return Recorder(game, player), scorer


def score_recorded(
    game: Game,
    hands: Sequence[Hand],
    blueprint: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Hand]:
    """Hands of a finished match, estimated by the policies that were recorded with them."""
    known = next((k for hand in hands for k, kept in enumerate(hand.policies) if kept), None)
    if known is None:
        raise SubgameError(
            "The hands have no recorded policies, which AIVAT needs; play the match with --aivat."
        )
    agent = Always("call")  # it is not asked
    scorer = Scorer(game, known, agent, values_of(game, agent, blueprint))
    scored = []
    for hand in hands:
        kept = hand if hand.policies else replace(hand, policies=((), ()))  # it never acted
        scored.append(scorer.scored(kept))
        if progress is not None:
            progress(len(scored), len(hands))
    return scored


def aivat_result(game: Game, hands: Sequence[Hand], duplicate: bool) -> Estimate:
    """The first agent's result by AIVAT, of hands that have been scored."""
    scale = game.unit[1]
    won = [scale * hand.estimate for hand in hands if hand.estimate is not None]
    return Estimate.of(list(observations(won, duplicate)))

"""`Recorder`: an agent that writes down what it would have done with every hand.

AIVAT needs the whole strategy of one agent at each of its decisions. An agent that solves against
a clock does not decide twice alike, so it cannot be asked afterwards. A recorder asks the agent for
its `policy` before each decision, rounds the probabilities to 255ths, draws the action from the
rounded ones, and keeps them with the hand. So what is kept is exactly what was played.

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

from __future__ import annotations

from collections.abc import Sequence

from subgame.games.base import Game
from subgame.play.agent import Agent, Event, Policy, draw
from subgame.play.aivat import range_policy
from subgame.play.packed import Kept, packed, rounded
from subgame.refine.reached import Reached
from subgame.refine.verbs.start import start_of


class Recorder(Agent):
    """Plays as another agent, from its policy in 255ths, and keeps the policy of each decision."""

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

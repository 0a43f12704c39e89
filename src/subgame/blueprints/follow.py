"""A real hand, followed in the betting of a smaller game such as a blueprint's.

The smaller game knows few bet sizes. A hand of it, the *abstract betting*, stands for the real one:
a real bet is taken for one that the smaller game knows (`subgame.games.holdem.translation`), and
what is decided there is made in the same fraction of the real pot. The abstract betting may end a
street or a hand before the real one does, or later. Then it does not wait for the player who really
acts, and says nothing about what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from subgame.games.holdem.rules import Betting
from subgame.games.holdem.translation import (
    ActionMapping,
    answer,
    mapping,
    real_action,
    translated,
)

DETERMINISTIC = mapping("deterministic-pseudo-harmonic")
"""What a real bet is taken for where one abstract betting is followed, without coin flips."""
Menu = Callable[[Betting], Sequence[str]]
"""From a betting of the smaller game to the actions that it knows there."""


class AbstractDecision:
    """A decision in the smaller game: its actions, how large they are, and what follows them.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> start = NoLimit().start()
    >>> here = AbstractDecision(start, ("f", "c", "r300"))
    >>> here.real_actions(start.play("r200 r600"))
    ['f', 'c', 'r1800']
    """

    def __init__(self, betting: Betting, actions: Sequence[str]) -> None:
        self.betting, self.actions = betting, tuple(actions)
        self.bets = [betting.bet(action) for action in self.actions]
        self._children: dict[int, Betting] = {}

    def child(self, k: int) -> Betting:
        """The abstract betting after action `k`."""
        child = self._children.get(k)
        if child is None:
            child = self._children[k] = self.betting.child(self.actions[k])
        return child

    def real_actions(self, real: Betting) -> list[str]:
        """[k] the actions as they are made in the real betting."""
        return [real_action(real, bet) for bet in self.bets]

    def nearest(self, real: Betting, actions: Sequence[str]) -> list[int]:
        """[k] which of the real actions each action is made as, where there are no others."""
        bets = [real.bet(action) for action in actions]
        return [answer(bet, bets) for bet in self.bets]

    def made_as(self, real: Betting, action: str) -> list[int]:
        """The actions that are made as this real one."""
        return [k for k, made in enumerate(self.real_actions(real)) if made == action]

    def translated(self, real: Betting, action: str, how: ActionMapping) -> dict[int, float]:
        """What a real action of the opponent is taken for: number of an action -> probability."""
        return translated(self.bets, real.bet(action), how)


class FollowedBetting(NamedTuple):
    """A real betting, and the abstract betting that stands for it."""

    real: Betting
    abstract: Betting | None
    """None: the smaller game knows nothing like it."""

    @property
    def waiting(self) -> Betting | None:
        """The abstract betting, if it waits for the player who really acts on the same street."""
        real, abstract = self
        if abstract is None or abstract.is_over:
            return None
        same = (abstract.player, abstract.street) == (real.player, real.street)
        return abstract if same else None

    def branches(self, action: str, menu: Menu, how: ActionMapping) -> dict[FollowedBetting, float]:
        """What may follow a real action, by what it is taken for, with probabilities.

        It is empty where the abstract betting does not wait.
        """
        waiting = self.waiting
        if waiting is None:
            return {}
        here, there = AbstractDecision(waiting, menu(waiting)), self.real.child(action)
        shares = here.translated(self.real, action, how)
        return {FollowedBetting(there, here.child(k)): share for k, share in shares.items()}

    def after(self, action: str, menu: Menu, how: ActionMapping) -> FollowedBetting:
        """After a real action, which is taken for the most probable one of the smaller game."""
        branches = self.branches(action, menu, how)
        nothing = FollowedBetting(self.real.child(action), None)
        return max(branches, key=lambda branch: branches[branch], default=nothing)

    def standing_for(self, leaf: Betting, menu: Menu, how: ActionMapping) -> dict[Betting, float]:
        """The abstract bettings that stand for a real betting below this one, with probabilities.

        It is empty where the smaller game knows nothing like it, and where its hand is over.
        """
        hands = {self: 1.0}
        for action in leaf.history[len(self.real.history) :]:
            if action != "/":
                hands = {
                    there: share * part
                    for hand, share in hands.items()
                    for there, part in hand.branches(action, menu, how).items()
                }
        standing = ((hand.waiting, share) for hand, share in hands.items())
        return {abstract: share for abstract, share in standing if abstract is not None}

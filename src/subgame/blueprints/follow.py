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
ALIKE = 1.5
"""By what factor the pots behind may differ where a betting stands for the end of a street."""
LEAST_BEHIND = 0.02
"""Pots behind below which there is nothing left to bet."""


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

    def end_like(self, leaf: Betting, menu: Menu, how: ActionMapping) -> Betting | None:
        """The abstract betting that stands for a real end of this street; None if there is none.

        How a hand goes on depends on the pots that are behind. A bet of many pots is taken for the
        largest one that is known, after which three times as many pots may be behind. So the end to
        which the bets are translated is taken only if about as many are. Otherwise it is the one,
        among those where the same player bet last, with the number most like the real one.
        """
        if leaf.is_over:
            return None
        there = next(iter(self.standing_for(leaf, menu, how)), None)
        if there is not None and factor(there, leaf) <= ALIKE:
            return there
        ends = [end for end in self._ends(menu) if end.aggressor == leaf.aggressor]
        return min(ends, key=lambda end: factor(end, leaf), default=there)

    def _ends(self, menu: Menu) -> list[Betting]:
        """The ends of this street that the smaller game knows, with chips left."""
        waiting = self.waiting
        ends, left = list[Betting](), [] if waiting is None else [waiting]
        while left:
            here = left.pop()
            below = [here.child(action) for action in menu(here)]
            left += [child for child in below if child.street == here.street and not child.is_over]
            ends += [child for child in below if child.street > here.street and not child.is_over]
        return ends


def factor(one: Betting, two: Betting) -> float:
    """By what factor the pots behind two bettings differ, from 1 on."""
    few, many = sorted(
        max(float(min(betting.behind)) / float(betting.pot), LEAST_BEHIND) for betting in (one, two)
    )
    return many / few

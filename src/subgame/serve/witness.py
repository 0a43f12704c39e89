"""What an opponent knew and did in a hand, and what it would have done with every other hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from subgame.play.agent import Agent, Event, Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from subgame.refine.ranges.reached import ReachedRanges
    from subgame.refine.reached import Reached

DIGITS = 4


class Recalled(Agent):
    """What an agent said in one hand that it would do at each infoset of its decisions.

    AIVAT asks this, because an agent that solves while it plays would solve once more.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.said: dict[str, tuple[tuple[str, ...], NDArray[np.float64]]] = {}

    def keep(self, infosets: Sequence[str], policy: Policy) -> None:
        """Remember a policy."""
        for infoset, row in zip(infosets, policy.probabilities, strict=True):
            self.said[infoset] = policy.actions, row

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy | None:
        if not infosets or any(infoset not in self.said for infoset in infosets):
            return None
        rows = [self.said[infoset][1] for infoset in infosets]
        return Policy(self.said[infosets[0]][0], np.stack(rows))

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        actions, row = self.said[infoset]
        return actions[int(row.argmax())]


class Witness(Agent):
    """The opponent, with a record that is shown after the hand."""

    def __init__(self, inner: Agent, start: Reached | None) -> None:
        """`start` is where play begins, if the opponent is asked for all that it may hold."""
        self.inner, self.name, self.start = inner, inner.name, start
        self.steps: list[dict[str, Any]] = []

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.inner.begin(seat, seed)
        self.steps, self.recalled, self.reached = [], Recalled(self.name), self.start
        self.asked: dict[str, NDArray[np.float64]] = {}

    def observe(self, event: Event) -> None:
        self.inner.observe(event)
        if self.reached is not None:
            self.reached = self.reached.after(event.action, self.asked.get(event.action))
            self.asked = {}

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        policy = self.inner.policy((infoset,), legal)
        if policy is not None and self.reached is not None:
            self._ask(self.reached, legal)
        action = self.inner.act(infoset, legal)
        step: dict[str, Any] = {
            "infoset": infoset,
            "action": action,
            "policy": _row(policy),
            "why": self.inner.explain(),
        }
        if self.asked and self.reached is not None and hasattr(self.reached, "betting"):
            step["range"] = _range(cast("ReachedRanges", self.reached), self.seat, self.asked)
        self.steps.append(step)
        return action

    def _ask(self, here: Reached, legal: Sequence[str]) -> None:
        """What the agent does with each of the infosets that it may have here: action -> [s]."""
        held, names = np.flatnonzero(here.reach[self.seat]), here.names(self.seat)
        infosets = [names[s] for s in held.tolist()]
        policy = self.inner.policy(infosets, legal)
        if policy is None:
            return
        self.recalled.keep(infosets, policy)
        for action, share in zip(policy.actions, policy.probabilities.T, strict=True):
            self.asked[action] = np.zeros(len(names))
            self.asked[action][held] = share


def _range(
    here: ReachedRanges, seat: int, asked: Mapping[str, NDArray[np.float64]]
) -> dict[str, object]:
    """The range at a decision of hold'em by class of hands, with what is done."""
    from subgame.games.holdem.ranges import class_names, class_of
    from subgame.serve.solutions import action_kind
    from subgame.spots.lines import action_name

    deck, reach = here.game.deck, here.reach[seat]
    of, names = class_of(deck), class_names(deck)
    weight, count = np.bincount(of, reach, len(names)), np.bincount(of, minlength=len(names))
    mixes = [np.bincount(of, reach * share, len(names)) for share in asked.values()]
    shown = {
        names[c]: [round(float(weight[c] / count[c]), DIGITS)]
        + [round(float(mix[c] / weight[c]), DIGITS) for mix in mixes]
        for c in np.flatnonzero(weight).tolist()
    }
    actions = [
        {
            "id": action,
            "name": action_name(here.betting, action),
            "kind": action_kind(here.betting, action),
        }
        for action in asked
    ]
    return {"actions": actions, "classes": shown}


def _row(policy: Policy | None) -> list[list[object]] | None:
    if policy is None:
        return None
    pairs = zip(policy.actions, policy.probabilities[0].tolist(), strict=True)
    return [[action, round(float(p), 5)] for action, p in pairs]

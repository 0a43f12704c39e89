"""What an opponent knew and did in a hand, and in hold'em its range at each decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from subgame.play.agent import Agent, Event, Policy

if TYPE_CHECKING:
    from subgame.games.base import Game

SEPARATOR = " | "
"""Between hand, board and betting in the name of an infoset of hold'em."""
DIGITS = 4


class Witness(Agent):
    """The opponent, with a record that is shown after the hand."""

    def __init__(self, inner: Agent, game: Game) -> None:
        from subgame.games.holdem.game import Holdem

        self.inner, self.name = inner, inner.name
        self.told: list[dict[str, Any]] = []
        self.ranges = Ranges(game) if isinstance(game, Holdem) else None

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.inner.begin(seat, seed)
        self.told = []
        if self.ranges is not None:
            self.ranges.begin(seat)

    def observe(self, event: Event) -> None:
        self.inner.observe(event)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        policy = self.inner.policy((infoset,), legal)
        every = None
        if policy is not None and self.ranges is not None:
            every = self.ranges.asked(self.inner, infoset, legal)
        action = self.inner.act(infoset, legal)
        told: dict[str, Any] = {
            "infoset": infoset,
            "action": action,
            "policy": _row(policy),
            "why": self.inner.explain(),
        }
        if every is not None and self.ranges is not None:
            told["range"] = self.ranges.taken(every, infoset, action)
        self.told.append(told)
        return action


class Ranges:
    """The hands that an agent may hold, as its own strategy leaves them."""

    def __init__(self, game: Any) -> None:
        self.game, self.deck = game, game.deck

    def begin(self, seat: int) -> None:
        """A new hand."""
        self.reach = self.game.weights()[seat].copy()

    def asked(self, agent: Agent, infoset: str, legal: Sequence[str]) -> tuple[Any, Policy] | None:
        """The hands that are possible here, and what the agent does with each."""
        import numpy as np

        _, board, betting = infoset.split(SEPARATOR)
        free = self.deck.compatible(self.deck.parse(board) if board else ())
        held = np.flatnonzero(self.reach * free > 0)
        names = [
            SEPARATOR.join((self.deck.hand_name(hand), board, betting)) for hand in held.tolist()
        ]
        policy = agent.policy(names, legal)
        return None if policy is None else (held, policy)

    def taken(self, every: tuple[Any, Policy], infoset: str, action: str) -> dict[str, Any]:
        """The range before an action by class of hands, with what is done; then it is narrowed."""
        import numpy as np

        from subgame.serve.solutions import action_kind
        from subgame.solve.decisions import class_names, class_of
        from subgame.solve.lines import action_name

        held, policy = every
        of, names = class_of(self.deck)[held], class_names(self.deck)
        weight = np.bincount(of, self.reach[held], len(names))
        count = np.bincount(class_of(self.deck), minlength=len(names))
        mixes = [
            np.bincount(of, self.reach[held] * policy.probabilities[:, k], len(names))
            for k in range(len(policy.actions))
        ]
        shown = {
            names[c]: [round(float(weight[c] / count[c]), DIGITS)]
            + [round(float(mix[c] / weight[c]), DIGITS) for mix in mixes]
            for c in np.flatnonzero(weight).tolist()
        }
        if action in policy.actions:
            self.reach[held] *= policy.probabilities[:, policy.actions.index(action)]
        betting = self.game.start().play(infoset.split(SEPARATOR)[2])
        actions = [
            {"id": each, "name": action_name(betting, each), "kind": action_kind(betting, each)}
            for each in policy.actions
        ]
        return {"actions": actions, "classes": shown}


def _row(policy: Policy | None) -> list[list[Any]] | None:
    if policy is None:
        return None
    pairs = zip(policy.actions, policy.probabilities[0].tolist(), strict=True)
    return [[action, round(float(p), 5)] for action, p in pairs]

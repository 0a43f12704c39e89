"""Small random games for property tests: the same seed is the same game, on every machine.

Nothing is drawn in advance: whatever the game needs (who moves next, how many actions, chance
weights, payoffs) is a hash of the seed and of what it may depend on. Perfect recall holds
because an information state is the sequence of what the player observed.

What kind of event comes next depends on the public state only, so that who acts is public:

* open: an action or chance event that both see;
* hidden: only the player who acts (or to whom chance deals) sees it;
* leak: hidden, but the opponent privately learns one bit that depends on the whole history;
* signal: hidden, but such a bit becomes public, as in goofspiel.

Chance probabilities and payoffs depend on the whole history. With `ragged` the number of
actions (2 or 3) depends on all that the acting player knows, else on the public state only.
With ``public=False`` the game does not say its public states, which then must be derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

ACTIONS = ("a", "b", "c")


class Event(NamedTuple):
    """What happens at a public state: who moves and who sees it (0, 1 or both)."""

    actor: int
    seen_by: int | None
    bit: str = ""  # "", "leak" or "signal"


CHANCE_EVENTS = (Event(CHANCE, None), Event(CHANCE, 0), Event(CHANCE, 1))
OVER = Event(TERMINAL, None)


def moves(player: int) -> tuple[Event, ...]:
    """The events in which a player acts."""
    return (Event(player, None), *(Event(player, player, bit) for bit in ("", "leak", "signal")))


@dataclass(frozen=True, slots=True)
class RandomState(State):
    """The history, what of it is public and what each player saw; one token per event each."""

    game: RandomGame
    history: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    seen: tuple[str, str] = ("", "")

    @property
    def event(self) -> Event:
        """What happens next."""
        return self.game.event(self.public)

    def current_player(self) -> int:
        return self.event.actor

    def legal_actions(self) -> tuple[str, ...]:
        known = self.public
        if self.game.ragged and self.event.actor >= 0:
            known = (self.information_state(self.event.actor),)
        return ACTIONS[: 2 + self.game.draw("actions", known, 2)]

    def chance_outcomes(self) -> list[tuple[str, float]]:
        names = self.legal_actions()
        weights = [1 + self.game.draw("weight", (*self.history, name), 4) for name in names]
        return [(name, w / sum(weights)) for name, w in zip(names, weights, strict=True)]

    def child(self, action: str) -> Self:
        _, seen_by, bit = self.event
        history = (*self.history, action)
        drawn = str(self.game.draw(bit, history, 2)) if bit else ""
        shown = f".{drawn}" if bit == "signal" else "."
        if seen_by is None:
            public, tokens = action, (action, action)
        else:
            public = shown
            own = action + shown[1:]
            other = f".({drawn})" if bit == "leak" else shown
            tokens = (own, other) if seen_by == 0 else (other, own)
        seen = (f"{self.seen[0]} {tokens[0]}", f"{self.seen[1]} {tokens[1]}")
        return type(self)(self.game, history, (*self.public, public), seen)

    def returns(self) -> tuple[float, float]:
        won = (self.game.draw("payoff", self.history, 2001) - 1000) / 100
        return won, -won

    def information_state(self, player: int) -> str:
        return f"P{player + 1}{self.seen[player]}"

    def public_state(self) -> str | None:
        return " ".join(self.public) if self.game.public else None


class RandomGame(Game):
    name = "random"
    parameter_names = ("seed", "depth", "public", "ragged")

    def __init__(
        self, seed: int = 0, depth: int = 6, public: bool = True, ragged: bool = True
    ) -> None:
        if not 2 <= depth <= 12:
            raise SubgameError(f"A random game's depth must be from 2 to 12, not {depth}.")
        self.seed, self.depth, self.public, self.ragged = seed, depth, public, ragged
        self._events: dict[tuple[str, ...], Event] = {}

    def draw(self, what: str, key: tuple[str, ...], below: int) -> int:
        """A number from 0 to below - 1; the same call always gives the same number."""
        text = f"{self.seed}/{what}/{'/'.join(key)}"
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") % below

    def event(self, public: tuple[str, ...]) -> Event:
        """What comes next at a public state."""
        if public not in self._events:
            self._events[public] = self._draw_event(public)
        return self._events[public]

    def _draw_event(self, public: tuple[str, ...]) -> Event:
        # The middle two events are one move of each player, so that both act in every game.
        middle = self.depth // 2 - 1
        if len(public) in (middle, middle + 1):
            first = self.draw("first", (), 2)
            choices = moves(first if len(public) == middle else 1 - first)
        elif len(public) == self.depth or (
            len(public) > middle and self.draw("over", public, 8) == 0
        ):
            return OVER
        else:
            choices = (*CHANCE_EVENTS, *moves(0), *moves(1))
        return choices[self.draw("event", public, len(choices))]

    def new_initial_state(self) -> RandomState:
        return RandomState(self)

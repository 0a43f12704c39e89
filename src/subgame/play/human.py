"""A person at a terminal as an agent."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from subgame.games.base import State
from subgame.games.holdem.game import BOARD_CARDS, HoldemState
from subgame.games.holdem.sizes import STREETS
from subgame.play.agent import Agent, Event, Watcher
from subgame.spots.lines import action_name, chips_text, said


class Human(Watcher):
    """Asks a person what to do; `ask` shows a question and returns a line of text.

    `answers` are words that are answered instead of played, such as ``explain``.

    >>> person = Human(ask=lambda question: "b")
    >>> person.act("K", ("p", "b"))
    'b'
    """

    name = "you"

    def __init__(
        self,
        ask: Callable[[str], str],
        tell: Callable[[str], None] = print,
        answers: Mapping[str, Callable[[], str]] | None = None,
    ) -> None:
        self.ask, self.tell, self.answers = ask, tell, answers or {}
        self.state: State | None = None
        """Where play is, if it is known: then any action that the rules allow may be typed."""

    def watch(self, number: int, state: State) -> None:
        self.state = state

    def observe(self, event: Event) -> None:
        """In hold'em, say what happens in a player's words; `state` is still the one before it."""
        if isinstance(self.state, HoldemState):
            self.tell(f"  {self._sentence(self.state, event)}")

    def _sentence(self, state: HoldemState, event: Event) -> str:
        if event.player < 0:
            street = STREETS[bisect(BOARD_CARDS, len(state.board))]
            return f"{street.capitalize()}: {spaced(event.action)}"
        you = event.player == self.seat
        verb, _, rest = action_name(state.betting, event.action).partition(" ")
        if verb == "all-in":
            return f"{'You are' if you else 'The agent is'} all-in with {rest}."
        words = f"{verb} {rest}".strip()
        return f"You {words}." if you else f"The agent {verb}s{' ' + rest if rest else ''}."

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        while True:
            typed = self.ask(self._question(infoset, legal)).strip()
            if typed in self.answers:
                self.tell(self.answers[typed]() or "There is nothing to tell.")
                continue
            action = self._meant(typed, legal)
            if action is not None:
                return action
            self.tell(f"'{typed}' is not legal here.")

    def _question(self, infoset: str, legal: Sequence[str]) -> str:
        if not isinstance(self.state, HoldemState):
            return f"You know: {infoset}. Your action ({', '.join(legal)}): "
        betting, deck = self.state.betting, self.state.game.deck
        actions = [action_name(betting, action) for action in legal]
        actions += ["or any size"] if betting.least_raise is not None else []
        board = f" on {spaced(deck.name(self.state.board))}" if self.state.board else ""
        behind = [chips_text(betting.behind[seat]) for seat in (self.seat, 1 - self.seat)]
        return (
            f"You hold {spaced(infoset.partition(' | ')[0])}{board}. The pot is "
            f"{chips_text(betting.pot)}; you have {behind[0]} behind, the agent {behind[1]}.\n"
            f"Your action ({', '.join(actions)}): "
        )

    def _meant(self, typed: str, legal: Sequence[str]) -> str | None:
        """The legal action that was typed, in the game's words or, in hold'em, a player's."""
        near = [action for action in legal if action.lower() == typed.lower()]
        if near:
            return near[0]
        chosen: str | None = typed
        if isinstance(self.state, HoldemState) and not self.state.allows(typed):
            chosen = said(self.state.betting, typed)
        return chosen if chosen and self.state is not None and self.state.allows(chosen) else None


def spaced(cards: str) -> str:
    """Cards with spaces between them.

    >>> spaced("QsJh2h")
    'Qs Jh 2h'
    """
    return " ".join(cards[k : k + 2] for k in range(0, len(cards), 2))


class Thinks(Watcher):
    """Another agent, with something around each of its decisions: a sign that it thinks.

    >>> from contextlib import nullcontext
    >>> from subgame.play.agent import Always
    >>> Thinks(Always("call"), nullcontext).act("AhKh |  | ", ("f", "c"))
    'c'
    """

    def __init__(self, agent: Agent, during: Callable[[], AbstractContextManager[object]]) -> None:
        self.agent, self.during, self.name = agent, during, agent.name

    def begin(self, seat: int, seed: int) -> None:
        self.agent.begin(seat, seed)

    def observe(self, event: Event) -> None:
        self.agent.observe(event)

    def watch(self, number: int, state: State) -> None:
        if isinstance(self.agent, Watcher):
            self.agent.watch(number, state)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        with self.during():
            return self.agent.act(infoset, legal)

"""A person at a terminal as an agent."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from subgame.games.base import State
from subgame.play.agent import Watcher


class Human(Watcher):
    """Asks a person what to do; `ask` shows a question and returns a line of text.

    >>> person = Human(ask=lambda question: "b")
    >>> person.act("K", ("p", "b"))
    'b'
    """

    name = "you"

    def __init__(self, ask: Callable[[str], str], tell: Callable[[str], None] = print) -> None:
        self.ask, self.tell = ask, tell
        self.state: State | None = None
        """Where play is, if it is known: then any action that the rules allow may be typed."""

    def watch(self, number: int, state: State) -> None:
        self.state = state

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        while True:
            typed = self.ask(f"You know: {infoset}. Your action ({', '.join(legal)}): ").strip()
            if typed in legal or (self.state is not None and self.state.allows(typed)):
                return typed
            near = [action for action in legal if action.lower() == typed.lower()]
            if near:
                return near[0]
            self.tell(f"'{typed}' is not legal here.")

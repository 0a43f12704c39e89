"""An agent of ours in a hand that somebody else deals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import Betting
from subgame.play.agent import Agent, Event, asked, decided
from subgame.play.match import mixed_seed
from subgame.play.protocols.acpc import public_moves


class Follower:
    """Keeps an agent in step with play elsewhere, from what a player is told.

    A program that was killed in the middle of a hand finds its way back: at its own earlier actions
    the agent decides again, with the same seed, and is then told what it really did.

    >>> import subgame as sg
    >>> from subgame.play import Always
    >>> game = sg.games.load("hunl")
    >>> follower = Follower(Always("call"), game)
    >>> cards = game.deck.parse("AsKs")
    >>> follower.reach(number=0, seat=1, hand=cards, board=(), betting=game.start())
    >>> follower.act()
    'c'
    """

    def __init__(self, agent: Agent, game: Holdem, seed: int = 0) -> None:
        self.agent, self.game, self.seed = agent, game, seed
        self.key: tuple[int, int, Sequence[int]] | None = None
        self.moves: list[tuple[int, str]] = []
        self.betting = game.start()
        self.board: tuple[int, ...] = ()
        self.decided: str | None = None
        self.decisions = 1  # the number of the agent's next one

    def reach(
        self,
        number: int,
        seat: int,
        hand: Sequence[int],
        board: Sequence[int],
        betting: Betting,
    ) -> None:
        """Tell the agent in `seat` what has happened in the hand of this number so far."""
        moves = public_moves(self.game, board, betting)
        if (number, seat, hand) != self.key or moves[: len(self.moves)] != self.moves:
            self.key, self.moves, self.decided = (number, seat, hand), [], None
            self.betting, self.board = self.game.start(), ()
            self.decisions = 1
            self._ask(self.agent.begin, seat, mixed_seed(self.seed, number, 1 + seat))
        for player, action in moves[len(self.moves) :]:
            if player == seat:
                self.act()
            self._ask(self.agent.observe, Event(player, action))
            self.decisions += player == seat
            if player >= 0:
                self.betting = self.betting.child(action)
            else:
                self.board = (*self.board, *self.game.deck.parse(action))
            self.decided = None
        self.moves = moves

    def act(self) -> str:
        """The agent's action where play is; asked again, the same."""
        assert self.key is not None
        if self.decided is None:
            index = int(self.game.deck.hand_index(*self.key[2]))
            infoset = self.game.infoset_name(index, self.board, self.betting)
            legal = self.game.actions(self.betting)
            self.decided = decided(self.agent, self.key[0], self.decisions, infoset, legal)
        return self.decided

    def _ask(self, call: Callable[..., object], *args: object) -> None:
        assert self.key is not None
        asked(self.agent, self.key[0], self.decisions, call, *args)

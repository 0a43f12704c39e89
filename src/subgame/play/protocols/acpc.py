"""Lines of the ACPC protocol 2.0.0, and of the logs that its dealer writes.

The dealer tells each player where play is, and the player to act answers with the same line, a
colon and an action:

    MATCHSTATE:seat:hand:betting:cards        MATCHSTATE:1:30:r300c/:|KhKs/2c8d3h
    STATE:hand:betting:cards:won:players      STATE:30:r300c/r900f:9s5d|KhKs/2c8d3h:-300|300:A|B
    SCORE:won:players                         SCORE:1200|-1200:A|B

Seat 0 is the big blind, seat 1 the button ("reverse blinds"), as in this package. A player sees the
opponent's cards only at a showdown.

    >>> import subgame as sg
    >>> game = sg.games.load("hunl")
    >>> state = MatchState.parse("MATCHSTATE:1:30:r300c/:|KhKs/2c8d3h", game)
    >>> state.seat, state.hand, str(state.betting), state.text()
    (1, 30, 'r300c/', 'MATCHSTATE:1:30:r300c/:|KhKs/2c8d3h')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import BOARD_CARDS, Holdem, HoldemState
from subgame.games.holdem.rules import Betting
from subgame.play.match import Hand
from subgame.play.protocols.notation import ACPC, shown

VERSION = "VERSION:2.0.0"
_NUMBER = re.compile(r"[0-9]{1,15}")
_MONEY = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,6})?")


def whole_game(game: Game) -> Holdem:
    """The game if a dealer elsewhere can deal it: a whole hand of hold'em, from the blinds."""
    if not isinstance(game, Holdem) or game.start() != game.rules.start() or game.rules.pot:
        raise SubgameError(
            f"Protocols are for whole hands of hold'em such as hunl, not for {game}."
        )
    return game


@dataclass(frozen=True)
class MatchState:
    """What a player is told: where play is, and the cards that the player may see."""

    game: Holdem
    seat: int
    hand: int
    betting: Betting
    hands: tuple[tuple[int, ...], tuple[int, ...]]
    """The two cards of player 0 and of player 1; empty where they are not seen."""
    board: tuple[int, ...]

    @classmethod
    def of(cls, state: HoldemState, seat: int, number: int) -> Self:
        """What the player in this seat is told at a state."""
        one, two = (
            _cards(state.game, hand) if seat == p or state.betting.is_showdown else ()
            for p, hand in enumerate(state.hands)
        )
        return cls(state.game, seat, number, state.betting, (one, two), state.board)

    def text(self) -> str:
        """The line, without its end."""
        cards = cards_text(self.game, self.hands, self.board)
        return f"MATCHSTATE:{self.seat}:{self.hand}:{ACPC.line(self.betting)}:{cards}"

    @classmethod
    def parse(cls, text: str, game: Holdem) -> Self:
        """The state that a line tells of; what breaks the rules is refused."""
        parts = text.split(":")
        if len(parts) != 5 or parts[0] != "MATCHSTATE":
            raise SubgameError(f"'{shown(text)}' is not a line MATCHSTATE:seat:hand:betting:cards.")
        _, seat, hand, line, cards = parts
        if seat not in ("0", "1") or not _NUMBER.fullmatch(hand):
            raise SubgameError(f"'{shown(text)}' must have a seat 0 or 1 and the number of a hand.")
        betting = ACPC.read_line(game.rules, line)
        hands, board = read_cards(game, cards, betting)
        if not hands[int(seat)]:
            raise SubgameError(f"'{shown(text)}' does not tell player {seat} their own cards.")
        return cls(game, int(seat), int(hand), betting, hands, board)


def cards_text(game: Holdem, hands: Sequence[Sequence[int]], board: Sequence[int]) -> str:
    """Cards as ACPC writes them: ``9s5d|KhKs/2c8d3h/Jd``; hands that are not seen are empty."""
    streets = [board[a:b] for a, b in pairwise(BOARD_CARDS) if board[a:b]]
    return "/".join(["|".join(map(game.deck.name, hands)), *map(game.deck.name, streets)])


def read_cards(
    game: Holdem, text: str, betting: Betting
) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]:
    """The hands and the board of a line of cards that goes with a line of betting."""
    held, *streets = text.split("/")
    hands = [game.deck.parse(hand, counts=(0, 2), what="hand") for hand in held.split("|")]
    if len(hands) != 2:
        raise SubgameError(f"The cards '{shown(text)}' must have two hands with a '|' between.")
    reached = game.rules.last_street if betting.is_showdown else betting.street
    wanted = [b - a for a, b in pairwise(BOARD_CARDS)][:reached]
    dealt = [game.deck.parse(street, what="board") for street in streets]
    if [len(street) for street in dealt] != wanted:
        raise SubgameError(
            f"The cards '{shown(text)}' must have {sum(wanted)} cards on the board after the "
            f"betting '{betting}'."
        )
    board = tuple(card for street in dealt for card in street)
    game.deck.mask((*hands[0], *hands[1], *board))  # no card twice
    return (hands[0], hands[1]), board


# Logs.


def log_line(game: Holdem, hand: Hand, names: Sequence[str]) -> str:
    """A hand as a line of a dealer's log."""
    state = played(game, hand)
    held = [_cards(game, hand) for hand in state.hands]
    won = "|".join(f"{value:g}" if value % 1 else str(int(value)) for value in state.returns())
    players = "|".join(player_names(names)[seat] for seat in hand.seats)
    cards = cards_text(game, held, state.board)
    return f"STATE:{hand.number}:{ACPC.line(state.betting)}:{cards}:{won}:{players}"


def score_line(won: float, names: Sequence[str]) -> str:
    """The last line of a dealer's log: what each agent won in all, from what the first one won."""
    return f"SCORE:{round(won)}|{-round(won)}:{'|'.join(player_names(names))}"


def player_names(names: Sequence[str]) -> tuple[str, str]:
    """Two names that a history can hold: different ones, without separators.

    >>> player_names(["acpc:./run", "acpc:./run"])
    ('acpc_./run', 'acpc_./run_2')
    """
    one, two = (re.sub(r"[:|\s'\"]+", "_", name) or "player" for name in names)
    return one, f"{two}_2" if one == two else two


def read_log_line(game: Holdem, text: str, names: Sequence[str]) -> Hand:
    """The hand that a line of a log tells of, checked by the rules.

    `names` are those of agent 0 and agent 1.
    """
    parts = text.split(":")
    if len(parts) != 6 or parts[0] != "STATE" or not _NUMBER.fullmatch(parts[1]):
        raise SubgameError(f"'{shown(text)}' is not a line STATE:hand:betting:cards:won:players.")
    _, number, line, cards, won, players = parts
    betting = ACPC.read_line(game.rules, line)
    hands, board = read_cards(game, cards, betting)
    seated = players.split("|")
    if not betting.is_over or not (hands[0] and hands[1]):
        raise SubgameError(f"The hand '{shown(text)}' is not over, or does not show both hands.")
    seats = seats_of(seated, names)
    state = rebuilt(game, (game.deck.name(hands[0]), game.deck.name(hands[1])), board, betting)
    claimed = won.split("|")
    if not all(map(_MONEY.fullmatch, claimed)) or [float(w) for w in claimed] != list(
        state.returns()
    ):
        raise SubgameError(
            f"'{shown(text, 200)}' says that {' and '.join(claimed)} chips are won; by the rules "
            f"it is {state.returns()[0]:g} and {state.returns()[1]:g}."
        )
    return Hand(int(number), seats, moves_of(state), state.returns()[seats.index(0)])


def seats_of(players: Sequence[str], names: Sequence[str]) -> tuple[int, int]:
    """Which agent sat in seat 0 and in seat 1, by the players that a history names."""
    known = player_names(names)
    if sorted(players) != sorted(known):
        raise SubgameError(
            f"A hand between {shown(' and '.join(players))} is not one between "
            f"{' and '.join(known)}."
        )
    first = known.index(players[0])
    return first, 1 - first


# Hands and states.


def _cards(game: Holdem, hand: int) -> tuple[int, ...]:
    low, high = game.deck.hands[hand]
    return int(high), int(low)


def played(game: Holdem, hand: Hand) -> HoldemState:
    """The state at the end of a hand of a match."""
    state = game.new_initial_state()
    for _, action in hand.moves:
        state = state.child(action)
    return state


def rebuilt(
    game: Holdem, hands: tuple[str, str], board: Sequence[int], betting: Betting
) -> HoldemState:
    """The state with these cards after this betting."""
    state = game.new_initial_state().child(hands[0]).child(hands[1])
    return HoldemState(game, state.hands, tuple(board), betting)


def moves_of(state: HoldemState) -> tuple[tuple[int, str], ...]:
    """The moves that lead to a state, as a log of a match has them."""
    game, deck = state.game, state.game.deck
    moves = [(CHANCE, deck.hand_name(hand)) for hand in state.hands]
    moves += public_moves(game, state.board, state.betting)
    return tuple(moves)


def public_moves(game: Holdem, board: Sequence[int], betting: Betting) -> list[tuple[int, str]]:
    """What both players saw: actions, and cards as the game deals them."""
    moves, at, dealt = list[tuple[int, str]](), game.start(), 0

    def deal(street: int) -> None:
        nonlocal dealt
        for count in BOARD_CARDS[1 : street + 1]:
            if dealt < count <= len(board):
                moves.append((CHANCE, game.deck.name(sorted(board[dealt:count]))))
                dealt = count

    for action in betting.history:
        if action == "/":
            continue
        deal(at.street)
        moves.append((at.player, action))
        at = at.child(action)
    deal(game.rules.last_street)
    return moves

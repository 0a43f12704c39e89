"""Lines of play in words: ``check, bet 50, call / 3c, bet 120`` or ``c r50 c / 3c r120``.

A line names the actions of the hand and, where a street ends, the cards that are dealt. It is read
with the betting in hand, so short and long forms can be mixed, and spaces, commas and slashes are
free where nothing else is meant.

| what | how it is written |
| --- | --- |
| check | ``check``, ``x``, ``k``, ``c`` |
| call | ``call``, ``call 50``, ``c`` |
| fold | ``fold``, ``f`` |
| bet or raise to a total of 50 on this street | ``bet 50``, ``raise to 50``, ``raise 50``, ``b50``, ``r50`` |
| bet or raise of a share of the pot | ``33%``, ``bet 33%``, ``0.33x`` |
| all-in | ``all-in``, ``all-in 200``, ``allin``, ``jam``, ``shove``, ``a`` |
| a card | ``3c``, ``10h``, ``Q♠`` |
"""  # noqa: E501

from __future__ import annotations

import re
from typing import NamedTuple

from subgame.errors import SubgameError
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS, Chips

SEATS = ("oop", "ip")
"""Player 0 is out of position, player 1 in position."""

_NUMBER = r"(?P<{}>\d{{1,3}}(?:,\d{{3}})+(?!\d)|\d+(?:\.\d+)?|\.\d+)"
_BETWEEN = re.compile(r"[\s,/;|]*")
_CARD = re.compile(r"(?:10|[2-9TJQKA])[cdhs♣♦♥♠♧♢♡♤]", re.IGNORECASE)
_FORMS = [
    ("all-in", re.compile(r"(?:all[ -]?in|jam|shove|a(?![a-z]))(?:\s*[\d,.]*\d)?", re.IGNORECASE)),
    ("share", re.compile(rf"(?:(?:bet|raise)s?\s*|[br])?{_NUMBER.format('n')}\s*(?P<u>%|x)", re.I)),
    ("total", re.compile(rf"(?:(?:bet|raise)s?(?:\s*to)?\s*|[br]){_NUMBER.format('n')}", re.I)),
    ("check", re.compile(r"checks?|x|k", re.IGNORECASE)),
    ("call", re.compile(r"calls?(?:\s*[\d,.]*\d)?", re.IGNORECASE)),
    ("fold", re.compile(r"folds?|f", re.IGNORECASE)),
    ("c", re.compile(r"c(?![degh-jl-qs-wyz])", re.IGNORECASE)),
]
_TOKEN = re.compile(r"[^\s,/;|]+")
NEAR = 1.0
"""Percentage points by which a share of the pot may miss the bet that is meant: bets are rounded to
whole chips, and names to whole percents."""


class Step(NamedTuple):
    """An action of a line, and where it is taken."""

    board: tuple[int, ...]
    betting: Betting
    action: str


class Walk(NamedTuple):
    """Where a line leads: the actions on the way, the cards and the betting at its end."""

    steps: tuple[Step, ...]
    board: tuple[int, ...]
    betting: Betting

    @property
    def needs_cards(self) -> int:
        """How many cards must be dealt before anybody acts; 0 if somebody acts or it is over."""
        if self.betting.is_over:
            return 0
        return BOARD_CARDS[self.betting.street] - len(self.board)


def follow_line(game: Holdem, line: str) -> Walk:
    """Where a line of play leads to; the module says how it is written.

    It may end where somebody acts, where a card is to come, or where the hand is over. Raises an
    error if the tree does not have an action of the line, or if a card is missing or impossible.

    >>> from subgame.games.holdem.spots import endgame
    >>> game = endgame("QsJh2h", 100, 900, bets="0.5x a")
    >>> walk = follow_line(game, "check, bet 50, call / 3c bet 50%")
    >>> str(walk.betting), game.deck.name(walk.board)
    ('cr50c/r100', 'QsJh2h3c')
    """
    here, board, steps, at = game.start(), game.board, list[Step](), 0
    while True:
        between = _BETWEEN.match(line, at)
        at = between.end() if between else at
        walk = Walk(tuple(steps), board, here)
        if at == len(line):
            return walk
        rest = line[at:]
        if here.is_over:
            raise SubgameError(
                f"After '{_said(walk, game)}' the hand is over; '{_first(rest)}' cannot follow."
            )
        if walk.needs_cards:
            card = _CARD.match(line, at)
            if card is None:
                raise SubgameError(
                    f"After '{_said(walk, game)}' the {STREETS[here.street]} comes: name the card "
                    f"before the next action, as in '/ 3c', not '{_first(rest)}'."
                )
            (new,) = game.deck.parse(card[0], what="line")
            if new in board:
                raise SubgameError(
                    f"In the line '{line}' the card {card[0]} is dealt twice: the board is "
                    f"{game.deck.name(board)}."
                )
            board, at = (*board, new), card.end()
            continue
        action, at = _read(game, walk, line, at)
        steps.append(Step(board, here, action))
        here = here.child(action)


def follow_to_decision(game: Holdem, line: str) -> Walk:
    """As `follow_line`; an error unless somebody acts at the end of the line."""
    walk = follow_line(game, line)
    said = line_text(game, walk, short=True)
    if walk.betting.is_over:
        raise SubgameError(f"After '{said}' the hand is over, so there is nothing to decide.")
    if walk.needs_cards:
        street = STREETS[walk.betting.street]
        cards = "3c" if walk.needs_cards == 1 else "Qs Jh 2h"
        raise SubgameError(
            f"After '{said}' the {street} comes; name it in the line to go on: '{said} / {cards}'."
        )
    return walk


def _read(game: Holdem, walk: Walk, line: str, at: int) -> tuple[str, int]:
    """The action that a line names at a place, and where the line goes on."""
    here, actions = walk.betting, game.actions(walk.betting)
    for kind, form in _FORMS:
        match = form.match(line, at)
        if match is None or (kind in ("call", "check", "fold") and _goes_on(line, match.end())):
            continue
        action = _named(here, actions, kind, match)
        if action is not None:
            return action, match.end()
        break
    said = _said(walk, game)
    after = f"After '{said}' the tree has" if said else "The tree starts with"
    known = ", ".join(_both(here, action) for action in actions)
    raise SubgameError(
        f"{after} the actions {known}, not '{_token(line, at, match.end() if match else at)}'."
    )


def _goes_on(line: str, end: int) -> bool:
    """Whether a word goes on: ``checkmate`` is no check, but ``xr50`` is two actions."""
    return line[end - 2 : end].isalpha() and line[end : end + 1].isalpha()


def _both(here: Betting, action: str) -> str:
    name = action_name(here, action)
    return name if name == action else f"{name} ({action})"


def _named(here: Betting, actions: tuple[str, ...], kind: str, match: re.Match[str]) -> str | None:
    """The action of the tree that is meant; None if there is none."""
    bets = [action for action in actions if action[0] == "r"]
    if kind in ("check", "call", "c"):
        fits = kind == "c" or (kind == "call") == bool(here.to_call)
        return "c" if fits and "c" in actions else None
    if kind == "fold":
        return "f" if "f" in actions else None
    if kind == "all-in":
        largest = [action for action in bets if is_all_in(here, action)]
        if not largest and here.to_call and here.to_call == here.behind[here.player]:
            return "c"  # a call for all that is left
        return largest[-1] if largest else None
    number = float(match["n"].replace(",", ""))
    if kind == "total":
        return next((action for action in bets if amount(action) == number), None)
    percent = number * (100 if match["u"].lower() == "x" else 1)
    near = [(abs(100 * share_of_pot(here, action) - percent), action) for action in bets]
    best = min(near, default=(NEAR + 1, ""))
    return best[1] if best[0] <= NEAR else None


def _token(line: str, at: int, end: int) -> str:
    word = _TOKEN.match(line, at)
    return line[at : max(end, word.end() if word else at)]


def _first(text: str) -> str:
    match = _TOKEN.match(text)
    return match[0] if match else text


def _said(walk: Walk, game: Holdem) -> str:
    return line_text(game, walk, short=True)


def line_text(game: Holdem, walk: Walk, *, short: bool = False) -> str:
    """A line as `follow_line` reads it, in words or in short.

    >>> from subgame.games.holdem.spots import endgame
    >>> game = endgame("QsJh2h", 100, 900, bets="0.5x a")
    >>> walk = follow_line(game, "x b50 c 3c 50%")
    >>> line_text(game, walk), line_text(game, walk, short=True)
    ('check, bet 50, call 50 / 3c, bet 100', 'c r50 c / 3c r100')
    """
    parts, street = list[str](), len(game.board)
    for step in walk.steps:
        parts += _dealt(game, step.board[street:])
        street = len(step.board)
        parts.append(step.action if short else action_name(step.betting, step.action))
    parts += _dealt(game, walk.board[street:])
    text = " ".join(parts) if short else ", ".join(parts).replace(", /,", " /")
    return text.removeprefix("/ ").removeprefix("/, ")


def _dealt(game: Holdem, cards: tuple[int, ...]) -> list[str]:
    return ["/", *(game.deck.card_name(card) for card in cards)] if cards else []


def said(here: Betting, text: str) -> str | None:
    """The action that a player names in words, of any size; None if it is none.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> start = NoLimit().start()
    >>> [said(start, text) for text in ("fold", "call", "raise to 250", "100%", "all-in", "260")]
    ['f', 'c', 'r250', 'r300', 'r20000', 'r260']
    """
    text = f"r{text}" if text[:1].isdigit() else text
    most = here.most_raise
    every = ("f", "c") if most is None else ("f", "c", f"r{most}")
    for kind, form in _FORMS:
        match = form.fullmatch(text)
        if match is None:
            continue
        if kind not in ("total", "share"):
            return _named(here, every, kind, match)
        number = float(match["n"].replace(",", ""))
        if kind == "share":
            part = number if match["u"].lower() == "x" else number / 100
            number = round(float(max(here.bets)) + part * float(here.pot + here.to_call))
        return f"r{number:g}" if number < 1e6 else f"r{number:.0f}"
    return None


# Actions -------------------------------------------------------------------------------------
def amount(action: str) -> float:
    """The chips of a bet or raise: the total on the street."""
    return float(action[1:])


def chips_text(chips: float | Chips) -> str:
    """Chips as they are shown.

    >>> chips_text(1500), chips_text(2.5)
    ('1,500', '2.5')
    """
    return f"{int(chips):,}" if chips == int(chips) else f"{float(chips):,.10g}"


def action_name(betting: Betting, action: str) -> str:
    """The words for an action of the tree, which `follow_line` reads too.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> start = NoLimit((200, 200), (0, 1), "river", 100).start()
    >>> [action_name(start, action) for action in ("c", "r50", "r200")]
    ['check', 'bet 50', 'all-in 200']
    >>> [action_name(start.play("r50"), action) for action in ("f", "c", "r150")]
    ['fold', 'call 50', 'raise to 150']

    Before the flop the blinds are bets, so that what follows a call is a raise:

    >>> limped = NoLimit((20000, 20000), (50, 100), "preflop").start().play("c")
    >>> [action_name(limped, action) for action in ("c", "r300")]
    ['check', 'raise to 300']
    """
    if action == "f":
        return "fold"
    if action == "c":
        return f"call {chips_text(betting.to_call)}" if betting.to_call else "check"
    total = chips_text(amount(action))
    if is_all_in(betting, action):
        return f"all-in {total}"
    return f"raise to {total}" if any(betting.bets) else f"bet {total}"


def is_all_in(betting: Betting, action: str) -> bool:
    """Whether a bet or raise puts one of the two players all-in when it is called."""
    return action[:1] == "r" and amount(action) >= betting.all_in


def share_of_pot(betting: Betting, action: str) -> float:
    """The size of a bet or raise as a share of the pot once the bet before it is matched.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> start = NoLimit((200, 200), (0, 1), "river", 100).start()
    >>> share_of_pot(start, "r50"), share_of_pot(start.play("r50"), "r150")
    (0.5, 0.5)
    """
    return (amount(action) - max(betting.bets)) / (betting.pot + betting.to_call)

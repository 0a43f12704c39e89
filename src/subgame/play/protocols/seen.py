"""Hands of a PHH file as one player saw them: any number of players, cards that were not shown.

`histories.read_phh` reads what two agents played, checked by PokerKit. This reads what people
bring along: it needs no package, knows antes and any number of players, and leaves unknown cards
unknown. It follows chips, not rules; whoever uses a hand checks it against the rules of a solution.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from subgame.errors import SubgameError, brief
from subgame.games.holdem.cards import DECK

MOST_HANDS = 2000
"""Hands of one file."""
_DEAL = re.compile(r"d dh p(\d+) (\S+)")
_BOARD = re.compile(r"d db (\S+)")
_ACT = re.compile(r"p(\d+) (f|cc|cbr ([0-9.]+))(?:\s*#.*)?")


@dataclass(frozen=True)
class Act:
    """What a player did on a street."""

    player: int
    action: str
    """``f``, ``c``, or ``r`` with the total on the street."""


@dataclass(frozen=True, eq=False)
class Street:
    """The betting on one street, and the chips when it began."""

    __repr__ = brief

    cards: str
    """The board so far; empty before the flop."""
    pot: float
    behind: tuple[float, ...]
    folded: frozenset[int]
    acts: tuple[Act, ...]


@dataclass(frozen=True, eq=False)
class SeenHand:
    """A hand of no-limit hold'em; player 0 is the first to act after the flop."""

    __repr__ = brief

    number: int
    players: tuple[str, ...]
    held: tuple[str, ...]
    """Each player's cards, empty where they are not known."""
    big_blind: float
    streets: tuple[Street, ...]
    won: tuple[float, ...] | None
    """What each player won, if the file says how many chips they had afterwards."""


def read_seen(text: str) -> list[SeenHand]:
    """The hands of a .phh or .phhs file.

    >>> text = '''
    ... variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... starting_stacks = [200, 200]
    ... actions = ['d dh p1 AsAh', 'd dh p2 ????', 'p2 cbr 6', 'p1 cc', 'd db QsJh2h', 'p1 cc',
    ...            'p2 cbr 4', 'p1 f']
    ... '''
    >>> hand, = read_seen(text)
    >>> hand.held, [(street.cards, street.pot) for street in hand.streets]
    (('AsAh', ''), [('', 0.0), ('QsJh2h', 12.0)])
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SubgameError(f"The text is not a PHH: {error}.") from None
    hands = [table] if "actions" in table else [v for v in table.values() if isinstance(v, dict)]
    if not hands:
        raise SubgameError("The PHH has no hands.")
    if len(hands) > MOST_HANDS:
        raise SubgameError(f"The PHH has {len(hands):,} hands; {MOST_HANDS:,} are read at a time.")
    return [_hand(hand, number) for number, hand in enumerate(hands, 1)]


def _hand(table: dict[str, Any], number: int) -> SeenHand:
    try:
        if table["variant"] != "NT":
            raise SubgameError(f"Hand {number} is not no-limit hold'em (variant NT).")
        return _followed(table, number)
    except SubgameError:
        raise
    except (KeyError, TypeError, ValueError, IndexError):
        raise SubgameError(
            f"Hand {number} of the PHH lacks fields, or they are of the wrong kind."
        ) from None


def _followed(table: dict[str, Any], number: int) -> SeenHand:
    stacks = [float(chips) for chips in table["starting_stacks"]]
    count, blinds = len(stacks), [float(chips) for chips in table["blinds_or_straddles"]]
    antes = [float(chips) for chips in table.get("antes", [0] * count)]
    if not 2 <= count <= 10 or [len(blinds), len(antes)] != [count, count]:
        raise ValueError
    if count == 2:  # the second one has the button: PHH names the blinds the other way round
        blinds.reverse()
    bets, pot = list(blinds), sum(antes)
    behind = [
        stack - ante - blind for stack, ante, blind in zip(stacks, antes, blinds, strict=True)
    ]
    held, board, folded = [""] * count, "", set[int]()
    streets, acts = list[Street](), list[Act]()
    began = (pot, tuple(stacks), frozenset[int]())
    for action in table["actions"]:
        deal, cards, act = (form.fullmatch(action) for form in (_DEAL, _BOARD, _ACT))
        if deal:
            held[int(deal[1]) - 1] = "" if "?" in deal[2] else deal[2]
        elif cards:
            streets.append(Street(board, *began, tuple(acts)))
            pot, bets, acts = pot + sum(bets), [0.0] * count, []
            board += cards[1]
            began = (pot, tuple(behind), frozenset(folded))
        elif act:
            p = int(act[1]) - 1
            total = float(act[3]) if act[3] else max(bets)
            if act[2] == "f":
                folded.add(p)
                acts.append(Act(p, "f"))
                continue
            paid = min(total - bets[p], behind[p])
            bets[p], behind[p] = bets[p] + paid, behind[p] - paid
            acts.append(Act(p, "c" if act[2] == "cc" else f"r{bets[p]:g}"))
    streets.append(Street(board, *began, tuple(acts)))
    DECK.parse("".join(held) + board, what=f"hand {number}")
    names = table.get("players") or [f"player {p + 1}" for p in range(count)]
    after = table.get("finishing_stacks")
    won = tuple(float(b) - a for a, b in zip(stacks, after, strict=True)) if after else None
    players = tuple(str(name)[:40] for name in names)
    if len(players) != count:
        raise ValueError
    return SeenHand(number, players, tuple(held), max(blinds), tuple(streets), won)

"""Spots and games of hold'em from what players write: an endgame, or a whole hand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import DECK, RANKS, SUITS, Deck, deck_named
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import NoLimit
from subgame.games.holdem.spot_form import BETS, Amount, SpotForm
from subgame.lazy import np

if TYPE_CHECKING:
    from subgame.games.holdem.spot_form import Weights

SAVED = "a hold'em spot saved by endgame --out"

NLFH_BETS = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 2"
"""190 actions on the flop over all betting sequences."""
NLTH_BETS = "preflop: 1x / cap 1; flop: 1x / cap 1; turn: 1x / cap 1"
"""72 actions on the turn over all betting sequences."""
HUNL_BETS = "all: 0.5x 1x a; cap 4"


# Endgames.


def endgame(
    board: str | Iterable[int],
    pot: Amount,
    stacks: Amount | tuple[Amount, Amount],
    ranges: Sequence[Weights] = ("random", "random"),
    bets: BetSizes | str = BETS,
    *,
    deck: Deck | str = DECK,
    big_blind: Amount = 1,
    last: str = "river",
    dead: str | Iterable[int] = (),
    rake: float | tuple[float, float] = 0.0,
    folded: str | Sequence[Weights] = (),
) -> Holdem:
    """The rest of a hand: from the flop, turn or river on, the player out of position to act.

    ``board`` has 3, 4 or 5 cards; ``pot`` is all the chips in the middle; ``stacks`` are the chips
    behind: one number for both players, or player 0's and player 1's.
    ``ranges`` are those of player 0 (out of position) and player 1, as `Range`, its text, or a
    number for each hand that matters up to a factor. The least bet is ``big_blind`` chips.
    Amounts may be fractions of a chip, such as 6.5; bets are then rounded to as many decimals.

    ``dead`` cards are removed from both ranges and are never dealt. ``rake`` is the share of the
    pot that nobody wins, or this share and the most chips of it, as in ``(0.05, 3)``; the game is
    then not zero-sum. ``deck`` is a `Deck` or its name; ``short`` is short deck (6+ hold'em).

    ``folded`` are the ranges of players who folded. Their hands are unknown, but the cards in them
    are held by nobody else and are never dealt (see `subgame.games.holdem.bunching`).

    >>> game = endgame("Qs Jh 2h 8d 3c", pot=6.5, stacks=(97, 50), bets="river: 50%")
    >>> game.actions(game.start())
    ('c', 'r3.3')
    """
    if len(ranges) != 2:
        raise SubgameError(f"There are two players, so two ranges are expected, not {len(ranges)}.")
    taken, cap = rake if isinstance(rake, tuple) else (rake, math.inf)
    return SpotForm(
        board,
        pot,
        stacks,
        ranges[0],
        ranges[1],
        bets=bets,
        min_bet=big_blind,
        dead=dead,
        rake=taken,
        rake_cap=cap,
        deck=deck_named(deck) if isinstance(deck, str) else deck,
        last=last,
        folded=folded,
    ).game()


def spot(
    board: str = "QsJh2h8d3c",
    pot: float = 100.0,
    stack: float = 1000.0,
    bets: str = BETS,
    oop: str = "random",
    ip: str = "random",
    big_blind: float = 1.0,
    ranks: str = RANKS,
    suits: str = SUITS,
    dead: str = "",
    ranking: str = DECK.ranking,
    folded: str = "",
) -> Holdem:
    """An endgame by text alone, which is what the name of a game can hold; see `endgame`.

    >>> from subgame.games import load
    >>> game = load("holdem(board=QsJh2h8d, pot=6.5, stack=20, oop=AA KK:0.5, bets=all: a)")
    >>> load(str(game)) == game
    True
    """
    deck = Deck(ranks, suits, ranking)
    return endgame(
        board,
        pot,
        stack,
        (oop, ip),
        bets,
        deck=deck,
        big_blind=big_blind,
        dead=dead,
        folded=folded,
    )


# Whole games.


def hunl(
    stack: int = 20000,
    small_blind: int = 50,
    big_blind: int = 100,
    bets: BetSizes | str = HUNL_BETS,
    ranks: str = RANKS,
    suits: str = SUITS,
) -> Holdem:
    """Heads-up no-limit Texas hold'em from the first blind (Brown & Sandholm 2017, App. G).

    >>> game = hunl()
    >>> game.actions(game.start())
    ('f', 'c', 'r200', 'r300', 'r20000')
    """
    return _whole_game("hunl", "river", stack, (small_blind, big_blind), bets, Deck(ranks, suits))


def nlfh(
    stack: int = 20000,
    small_blind: int = 50,
    big_blind: int = 100,
    bets: BetSizes | str = NLFH_BETS,
    ranks: str = RANKS,
    suits: str = SUITS,
) -> Holdem:
    """No-limit flop hold'em: it ends after the flop's betting (Brown & Sandholm 2017, App. G).

    >>> import subgame as sg
    >>> tree = sg.compile(nlfh(ranks="JQKA", suits="hs"))  # eight cards
    >>> sg.solve(tree, "dcfr", iterations=2).iterations
    2
    """
    return _whole_game("nlfh", "flop", stack, (small_blind, big_blind), bets, Deck(ranks, suits))


def nlth(
    stack: int = 20000,
    small_blind: int = 50,
    big_blind: int = 100,
    bets: BetSizes | str = NLTH_BETS,
    ranks: str = RANKS,
    suits: str = SUITS,
) -> Holdem:
    """No-limit turn hold'em: it ends after the turn's betting (Brown & Sandholm 2017, App. G).

    The paper does not state its tree, only that it takes 35 GB in double precision; the default is
    the nearest simple one, 32 GB.

    >>> game = nlth(ranks="TJQKA", suits="hs")  # ten cards
    >>> game.actions(game.start())
    ('f', 'c', 'r300')
    """
    return _whole_game("nlth", "turn", stack, (small_blind, big_blind), bets, Deck(ranks, suits))


def _whole_game(
    name: str, last: str, stack: int, blinds: tuple[int, int], bets: BetSizes | str, deck: Deck
) -> Holdem:
    everything = Range(np.ones(deck.num_hands), deck)
    sizes = BetSizes.parse(bets) if isinstance(bets, str) else bets
    rules = NoLimit((stack, stack), blinds, last=last)
    return Holdem(rules, sizes, (), (everything, everything), deck, name=name)

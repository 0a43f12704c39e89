"""Spots and games of hold'em from what players write: an endgame, or a whole hand.

A `SpotForm` is a spot as it is written down, on a command line, on a page, in a file or in Python.
It is the only reader of spots. What is wrong is said in a sentence for each field (`FieldError`).
Texts are read before any array is made, so that an error comes at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from subgame.errors import FieldError, SubgameError
from subgame.games.holdem.bets import NOTHING, BetSizes
from subgame.games.holdem.cards import DECK, RANKS, SUITS, Deck, deck_named
from subgame.games.holdem.game import BOARD_CARDS, FIELDS, SEATS, Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting, NoLimit
from subgame.games.holdem.sizes import NUMBER, STREETS, Chips, moves, read_chips, share
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

    Weights = Range | str | npt.ArrayLike
    "A range, its text, or a number for each hand."


T = TypeVar("T")
D = TypeVar("D")
Amount = str | float | Chips
"""Chips as a number or as text: 6.5, "100" or "1,000"."""
Cards = str | Iterable[int]
BETS = "postflop: 0.5x 1x a"


@dataclass(frozen=True)
class SpotForm:
    """The fields of a spot; `game` reads them, or raises a `FieldError` with all that is wrong.

    >>> game = SpotForm("Qs Jh 2h 8d 3c", "6.5", "97/50", bets="river: 50%").game()
    >>> game.actions(game.start())
    ('c', 'r3.3')
    >>> try:
    ...     SpotForm("Qs Jh", "many", 100).game()
    ... except FieldError as error:
    ...     print(error.fields["board"])
    ...     print(error.fields["pot"])
    A board has 3, 4 or 5 cards; 'Qs Jh' has 2.
    The pot must be a number of chips above 0, such as 100 or 6.5, not 'many'.
    """

    board: Cards
    pot: Amount
    stacks: Amount | Iterable[Amount]
    """One for both players, or player 0's and player 1's, as two numbers or as 1000/800."""
    oop: Weights = "random"
    ip: Weights = "random"
    bets: BetSizes | str = BETS
    added: Sequence[str] = ()
    """Lines that the tree has besides, and those without their last action."""
    removed: Sequence[str] = ()
    min_bet: Amount = 1
    dead: Cards = ()
    rake: str | float = 0.0
    rake_cap: Amount = math.inf
    deck: Deck = DECK
    last: str = "river"
    folded: str | Sequence[Weights] = ()
    """The ranges of players who folded; in a text semicolons separate them."""

    def game(self, problems: Mapping[str, str] | None = None) -> Holdem:
        """The spot as a game; `problems` are those that are known already, by field."""
        reading = _Reading(dict(problems or {}))
        cards = reading.take("board", (), self._board)
        dead = reading.take("dead", (), self._cards, self.dead, "dead cards")
        if {*cards} & {*dead}:
            twice = self.deck.name([card for card in dead if card in cards])
            reading.problems["dead"] = f"The dead card {twice} is on the board."
        pot = reading.take("pot", 0, _chips, self.pot, "pot", True)
        least = reading.take("min_bet", 0, _chips, self.min_bet, "smallest bet", True)
        stacks = self._stacks(reading, least)
        sizes = self._sizes(reading)
        for seat in FIELDS:
            if isinstance(text := getattr(self, seat), str):
                reading.take(seat, None, Range.check, text, self.deck)
        gone = self._folded
        for held in gone:
            if isinstance(held, str):
                reading.take("folded", None, Range.check, held, self.deck)
        taken, cap = reading.take("rake", 0.0, _rake, self.rake), math.inf
        if self.rake_cap != math.inf:
            cap = float(reading.take("rake_cap", 0, _chips, self.rake_cap, "cap of the rake"))
        if reading.problems:
            raise FieldError(reading.problems)
        street = STREETS[BOARD_CARDS.index(len(cards))]
        rules = NoLimit(stacks, (0, least), street, pot, self.last, taken, cap)
        oop, ip = _range(self.oop, SEATS[0], self.deck), _range(self.ip, SEATS[1], self.deck)
        folded = tuple(_range(held, "who folded", self.deck) for held in gone)
        return Holdem(rules, sizes, cards, (oop, ip), self.deck, dead=dead, folded=folded)

    @property
    def _folded(self) -> Sequence[Weights]:
        """The ranges of players who folded, one by one."""
        if not isinstance(self.folded, str):
            return self.folded
        return [text for text in map(str.strip, self.folded.split(";")) if text]

    def _cards(self, cards: Cards, what: str) -> tuple[int, ...]:
        if not isinstance(cards, str):
            numbers = tuple(int(card) for card in cards)
            self.deck.mask(numbers)
            return numbers
        return self.deck.parse(cards, what=what) if cards.strip() or what == "board" else ()

    def _board(self) -> tuple[int, ...]:
        cards = self._cards(self.board, "board")
        if len(cards) not in BOARD_CARDS[1:]:
            shown = self.board if isinstance(self.board, str) else self.deck.name(cards)
            raise SubgameError(f"A board has 3, 4 or 5 cards; '{shown}' has {len(cards)}.")
        return cards

    def _stacks(self, reading: _Reading, least: Chips) -> tuple[Chips, Chips]:
        both = self.stacks.split("/") if isinstance(self.stacks, str) else self.stacks
        parts = [*both] if isinstance(both, Iterable) else [both]
        if not 1 <= len(parts) <= 2:
            said = f"There are two players, so two stacks are expected, not {len(parts)}"
            shown = f": '{self.stacks}'." if isinstance(self.stacks, str) else "."
            reading.problems["stacks.0"] = said + shown
            return 0, 0
        stacks = []
        for p, part in enumerate(parts):
            stack = reading.take(f"stacks.{p}", -1, _chips, part, "stack")
            if 0 <= stack < least:
                reading.problems[f"stacks.{p}"] = (
                    f"A stack of {stack} chips is below the smallest bet of {least} chips, so "
                    "there is nothing to decide."
                )
            stacks.append(stack)
        return stacks[0], stacks[-1]

    def _sizes(self, reading: _Reading) -> BetSizes:
        if isinstance(self.bets, BetSizes):
            return self.bets
        clauses = [self.bets] if self.bets else []
        sizes = reading.take("bets", NOTHING, BetSizes.parse, self.bets, "postflop")
        for name, verb in (("added", "add"), ("removed", "remove")):
            for line in getattr(self, name):
                if moves(line) is None:
                    reading.problems[name] = f"'{line}' is no line; write it as c r50 c / r120."
                clauses.append(f"{verb} {line}")
        if reading.problems or not (self.added or self.removed):
            return sizes
        return BetSizes.parse("; ".join(clauses), "postflop")


@dataclass
class _Reading:
    """The problems that were met so far, by field."""

    problems: dict[str, SubgameError | str]

    def take(self, name: str, default: D, read: Callable[..., T], *args: object) -> T | D:
        """What `read` makes of a field; the default, and a problem, if it raises an error."""
        try:
            return read(*args)
        except SubgameError as error:
            self.problems.setdefault(name, error)
            return default


def _chips(amount: Amount, what: str, above: bool = False) -> Chips:
    """An amount that is at least 0, or above 0."""
    text = amount.strip() if isinstance(amount, str) else amount
    try:
        chips = read_chips(text, what)
    except SubgameError as error:
        if "at most" in error.sentence:  # too many chips, or too many decimals
            raise
        chips = -1
    if chips < 0 or (above and not chips):
        least = "above 0" if above else "of at least 0"
        raise SubgameError(
            f"The {what} must be a number of chips {least}, such as 100 or 6.5, not {amount!r}."
        )
    return chips


def _rake(rake: str | float) -> float:
    """A share of the pot: 0.05 or 5%."""
    taken = math.nan
    if not isinstance(rake, str):
        taken = float(rake)
    elif NUMBER.fullmatch(rake.strip().removesuffix("%").strip()):
        taken = share(rake.strip().replace(" ", ""))
    if not 0 <= taken < 1:
        raise SubgameError(
            f"The rake must be a share of the pot from 0 to below 1, such as 5% or 0.05, "
            f"not {rake!r}."
        )
    return taken


def _range(described: Weights, seat: str, deck: Deck) -> Range:
    """A range from whatever describes one; numbers above 1 are scaled down."""
    if isinstance(described, Range):
        return described
    if isinstance(described, str):
        return Range.parse(described, deck)
    weights = np.asarray(described, dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise SubgameError(
            f"The weights of the player {seat} must be finite numbers, none of them negative."
        )
    return Range(weights / max(1.0, weights.max(initial=0.0)), deck)


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


# The games of Brown & Sandholm 2017, Tables 1 and 3 to 5. The paper does not state their bet sizes,
# only what an unabstracted strategy takes in double precision: 1.1 GB, 4 GB and 35 GB. These sizes
# are our choices, which take about as much.
SMALL = "preflop: 1x / cap 1; flop: 0.5x 1x / cap 2"
SMALL_ALT = "preflop: 0.5x 1x / cap 2; flop: 1x / cap 1"
LARGE = "preflop: 0.5x 1x / cap 1; flop: 0.5x 1x / cap 3"
TURN = "preflop: 1x / cap 2; flop: 1x / cap 1; turn: 1x / cap 2"


def nlfh_small(
    stack: int = 20000, bets: str = SMALL, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Small flop hold'em: one pot bet before the flop, two bets of 1/2 or 1 pot on it.

    >>> print(*nlfh_small().start().actions(nlfh_small().bets))
    f c r300
    """
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


def nlfh_small_alt(
    stack: int = 20000, bets: str = SMALL_ALT, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Small flop hold'em, the other way round: two bets before the flop, one pot bet on it."""
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


def nlfh_large(
    stack: int = 20000, bets: str = LARGE, ranks: str = RANKS, suits: str = SUITS
) -> Holdem:
    """Large flop hold'em: one bet before the flop, three on it, of 1/2 or 1 pot."""
    return nlfh(stack, bets=bets, ranks=ranks, suits=suits)


@dataclass(frozen=True)
class NoLimp(Holdem):
    """Hold'em in which the first player before the flop raises or folds."""

    def actions(self, betting: Betting) -> tuple[str, ...]:
        actions = betting.actions(self.bets)
        return tuple(a for a in actions if a != "c") if betting == self.rules.start() else actions


def nlth_no_limp(
    stack: int = 20000,
    small_blind: int = 50,
    big_blind: int = 100,
    bets: str = TURN,
    ranks: str = RANKS,
    suits: str = SUITS,
) -> NoLimp:
    """Turn hold'em without limping: two pot bets before the flop, one on it, two on the turn.

    >>> print(*nlth_no_limp().actions(nlth_no_limp().start()))
    f r300
    """
    game = nlth(stack, small_blind, big_blind, bets, ranks, suits)
    own = {name: getattr(game, name) for name in Holdem.__dataclass_fields__}
    return NoLimp(**{**own, "name": "nlth-no-limp"})

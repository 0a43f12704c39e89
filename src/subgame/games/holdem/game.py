"""Heads-up no-limit hold'em as a `Game`: an endgame from any street, or a whole hand.

Player 0 is out of position (the big blind), player 1 the button. Chance deals player 0's hand, then
player 1's, with probability proportional to the product of their weights over the pairs that share
no card; later the flop as one event and turn and river a card at a time, also after an all-in.

    >>> from subgame.games.holdem.spots import endgame
    >>> game = endgame("Qs Jh 2h 8d 3c", pot=100, stacks=200, bets="river: 0.5x 1x a")
    >>> game.actions(game.start())
    ('c', 'r50', 'r100', 'r200')
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self

from subgame.errors import FieldError, SubgameError
from subgame.frozen import Frozen
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.bunching import MOST_FOLDED, Bunching
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.evaluate import rank_cards
from subgame.games.holdem.isomorphism import card_permutations, hand_permutations
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import NOBODY, Bet, Betting, NoLimit
from subgame.games.holdem.sizes import STREETS, moves
from subgame.lazy import np

if TYPE_CHECKING:
    from random import Random

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

BOARD_CARDS = (0, 3, 4, 5)
"""How many cards lie on the board on each of `STREETS`."""

SEATS, FIELDS = ("out of position", "on the button"), ("oop", "ip")
"""The players in words, and the names of their ranges."""

_LONG = 60  # a longer text of a range is named by its digest
_KEPT = 1 << 16
"""Betting sequences whose actions a game remembers."""


@dataclass(frozen=True, repr=False)
class Holdem(Frozen, Game):
    """Hold'em from a betting state on, with the board dealt so far and a range for each player.

    Hands that the board blocks are removed from the ranges. Weights matter up to a factor.

    >>> import subgame as sg
    >>> river = sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 200, ("AA,KQ", "QQ,AK"), "1x")
    >>> river.actions(river.start())
    ('c', 'r100')
    """

    rules: NoLimit
    bets: BetSizes
    board: tuple[int, ...]  # in the order dealt
    ranges: tuple[Range, Range]  # of player 0 and player 1
    deck: Deck = DECK
    first: Betting | None = None  # where play starts, if not at the start of the rules
    name: str = "holdem"
    dead: tuple[int, ...] = ()  # cards that nobody holds and that are never dealt
    folded: tuple[Range, ...] = ()  # of players who folded, and whose hands nobody knows

    def __post_init__(self) -> None:
        object.__setattr__(self, "board", tuple(int(card) for card in self.board))
        object.__setattr__(self, "dead", tuple(sorted(int(card) for card in self.dead)))
        self._check_board()
        possible = []
        for field, seat, held in zip(FIELDS, SEATS, self.ranges, strict=True):
            if held.deck != self.deck:
                raise FieldError(
                    {field: f"The range of the player {seat} belongs to another deck."}
                )
            if not held.combos:
                raise FieldError({field: f"The range of the player {seat} is empty."})
            possible.append(held.on_board(self.gone))
            if not possible[-1].combos:
                gone = self.deck.name(self.gone)
                what = f"and the dead cards {gone} block" if self.dead else f"{gone} blocks"
                blocked = f"The board {what} every hand in the range of the player {seat}."
                raise FieldError({field: blocked})
        object.__setattr__(self, "ranges", tuple(possible))
        if not self._some_pair():
            shared = (
                "In every pair of hands from the two ranges the hands share a card, so nothing "
            )
            raise FieldError({"ip": shared + "can be dealt."})
        self._check_folded()
        self._check_lines()

    @property
    def gone(self) -> tuple[int, ...]:
        """The cards of the board and the dead cards."""
        return (*self.board, *self.dead)

    def _check_folded(self) -> None:
        """Raise an error unless the ranges of folded players can be taken into account."""
        if not self.folded:
            return
        wrong, whole = "", BOARD_CARDS[self.rules.last_street]
        if len(self.folded) > MOST_FOLDED:
            wrong = f"At most {MOST_FOLDED} folded ranges can be given, not {len(self.folded)}."
        elif not self.board:
            wrong = "Folded ranges need a board: a flop, a turn or a river."
        elif any(held.deck != self.deck or not held.combos for held in self.folded):
            wrong = "A folded range is empty, or belongs to another deck."
        elif self.deck.size - len(self.dead) < whole + 4 + 2 * len(self.folded):
            wrong = "The deck has too few cards for so many folded hands."
        else:
            later = whole - len(self.board)
            try:
                self.bunching.check(later)
            except SubgameError as error:
                wrong = error.sentence
            if not wrong and not self.weights()[0] @ self.facing(self.board, self.weights()[1]):
                wrong = "No hands of all the ranges can be dealt together with the board."
        if wrong:
            raise FieldError({"folded": wrong})

    @cached_property
    def bunching(self) -> Bunching:
        """What is left in the deck after the folded hands."""
        return Bunching(self.deck, self.gone, self.folded)

    def pair_weights(
        self, board: Iterable[int], one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float32]:
        """[hand, hand] the weight of pairs of hands on a board beside that of the two ranges.

        It is 0 if they share a card, and 1, or with folded players what `bunching` says, otherwise.
        """
        if self.folded:
            return self.bunching.pairs(board, one, two)
        return self.deck.disjoint[np.ix_(one, two)].astype(np.float32)

    def facing(self, board: tuple[int, ...], reach: Floats) -> Floats:
        """[hand] the opponent's reach that is possible with each hand on a board, added up."""
        if not self.folded:
            return self.deck.facing(reach)
        out, theirs = np.zeros(self.deck.num_hands), np.flatnonzero(reach)
        free = np.flatnonzero(self.deck.compatible((*board, *self.dead)))
        out[free] = self.pair_weights(board, free, theirs) @ reach[theirs]
        return out

    def _check_lines(self) -> None:
        """Raise an error unless every line that is added or removed can be.

        Where play starts in the middle of a hand, lines that leave it before do not matter.
        """
        past = str(self.start())
        for line in self.bets.added:
            try:
                self.start().play(line.removeprefix(past) if line.startswith(past) else "")
            except SubgameError as error:
                wrong = f"The line '{line}' cannot be added: {error}"
                raise FieldError({"added": wrong}) from None
        whole = replace(self.bets, removed=())
        for line in self.bets.removed:
            if not line.startswith(past):
                continue
            *before, last = moves(line.removeprefix(past)) or ("",)
            here, legal = self.start(), self.start().actions(whole)
            for action in before:
                here, legal = (here.child(action), legal) if action in legal else (here, ())
                legal = legal and here.actions(whole)
            if last not in legal:
                after = f"after '{here}' the tree has {', '.join(legal) or 'no such action'}"
                raise FieldError({"removed": f"The line '{line}' cannot be removed: {after}."})
            if not here.actions(self.bets):
                wrong = (
                    f"The line '{line}' cannot be removed: no action would be left after '{here}'."
                )
                raise FieldError({"removed": wrong})

    def _check_board(self) -> None:
        if self.first is not None and self.first.rules != self.rules:
            raise SubgameError(
                "The betting so far was made with rules that differ from those of the game."
            )
        street = self.start().street
        self.deck.mask(self.gone)
        if len(self.board) != BOARD_CARDS[street]:
            raise SubgameError(
                f"On the {STREETS[street]} the board has {BOARD_CARDS[street]} cards; "
                f"'{self.deck.name(self.board)}' has {len(self.board)}."
            )
        least = BOARD_CARDS[self.rules.last_street] + 4
        if self.deck.size - len(self.dead) < least:
            raise SubgameError(
                f"Two hands and the board of the {self.rules.last} take {least} cards; the deck "
                f"has {self.deck.size - len(self.dead)}."
            )

    def _some_pair(self) -> bool:
        """Whether two hands of the ranges share no card, by counting player 1's hands."""
        mine, yours = (weights > 0 for weights in self.weights())
        with_card = np.bincount(self.deck.hands[yours].ravel(), minlength=self.deck.size)
        sharing = with_card[self.deck.hands].sum(1) - yours  # the same hand was counted twice
        return bool((sharing[mine] < yours.sum()).any())

    # What the compiler reads.

    def start(self) -> Betting:
        """The betting from which play starts."""
        return self.rules.start() if self.first is None else self.first

    def actions(self, betting: Betting) -> tuple[str, ...]:
        """What may be done there: f, c, r with the street's total."""
        return self._actions(betting)

    @cached_property
    def _actions(self) -> Callable[[Betting], tuple[str, ...]]:
        """Actions are remembered, because most hands of a match begin alike."""
        return lru_cache(maxsize=_KEPT)(methodcaller("actions", self.bets))

    def weights(self) -> tuple[Floats, Floats]:
        """Each player's weights, zero where the board or a dead card blocks the hand: [hand]."""
        return self.ranges[0].weights, self.ranges[1].weights

    @cached_property
    def symmetries(self) -> npt.NDArray[np.int64]:
        """The suit permutations that change neither the board, the dead cards nor a range.

        They are indices into `isomorphism.suit_permutations`; the identity comes first.
        """
        keep = np.ones(math.factorial(self.deck.num_suits), dtype=np.bool_)
        for cards in (self.board, self.dead):
            moved = np.sort(card_permutations(self.deck)[:, list(cards)], axis=1)
            keep &= (moved == np.sort(cards)).all(1)
        for weights in (*self.weights(), *(held.weights for held in self.folded)):
            keep &= (weights[hand_permutations(self.deck)] == weights).all(1)
        return np.flatnonzero(keep)

    # The game.

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters that make this game; those with default values are left out."""
        rules, (mine, yours) = self.rules, self.rules.stacks
        free, deck = self.deck.compatible(self.gone), None if self.deck == DECK else self.deck
        oop, ip = (None if (r.weights[free] == 1).all() else _short(r) for r in self.ranges)
        capped = rules.raked and rules.rake_cap < math.inf
        said: dict[str, Any] = {
            "stack": mine if mine == yours else f"{mine}/{yours}",
            "board": self.deck.name(self.board) or None,
            "dead": self.deck.name(self.dead) or None,
            "pot": rules.pot or None,
            "small_blind": None if rules.pot else rules.blinds[0],
            "big_blind": rules.blinds[1],
            "bets": str(self.bets),
            "ranks": deck and deck.ranks,
            "suits": deck and deck.suits,
            "ranking": deck and (None if deck.ranking == DECK.ranking else deck.ranking),
            "oop": oop,
            "ip": ip,
            "folded": "; ".join(map(_short, self.folded)) or None,
            "rake": f"{100 * rules.rake:g}%" if rules.raked else None,
            "rake_cap": rules.rake_cap if capped else None,
            "last": None if self.name != Holdem.name or rules.last == STREETS[-1] else rules.last,
            "first": self.first and str(self.first),
        }
        return {key: value for key, value in said.items() if value is not None}

    @property
    def unit(self) -> tuple[str, float]:
        """Thousandths of a big blind per hand."""
        return "mbb/h", float(1000 / self.rules.blinds[1])

    def new_initial_state(self) -> HoldemState:
        return HoldemState(self, (), self.board, self.start())

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        """Before and after each later street's cards: "before the turn", "after the turn"."""
        return {
            f"{when} the {STREETS[street]}": partial(reached, street)
            for street in range(self.start().street + 1, self.rules.last_street + 1)
            for when, reached in (("before", _is_before), ("after", _is_after))
        }

    def public_name(self, board: Iterable[int], betting: Betting) -> str:
        """What both players know: ``Qs Jh 2h 8d | r100c/c``."""
        return f"{' '.join([self.deck.card_names[card] for card in board])} | {betting}"

    def infoset_name(self, hand: int, board: Iterable[int], betting: Betting) -> str:
        """What a player with this hand knows: ``AhKh | Qs Jh 2h 8d | r100c/c``."""
        return f"{self.deck.hand_names[hand]} | {self.public_name(board, betting)}"

    # Deals.

    @cached_property
    def _pair_weights(self) -> Floats:
        """The weight of each hand of player 0 times that of all player 1 may hold then: [hand]."""
        mine, yours = self.weights()
        if self.folded:
            return mine * self.facing(self.board, yours)
        return mine * (self.deck.disjoint @ yours)  # nothing is subtracted, so little is rounded

    def _meets(self, hand: int) -> Floats:
        """[hand] the weight of each hand of player 1 beside a hand of player 0."""
        every = np.arange(self.deck.num_hands)
        weights: Floats = self.pair_weights(self.board, np.array([hand]), every)[0].astype(float)
        return weights

    @cached_property
    def _cumulative(self) -> dict[int | None, list[float]]:
        """Cumulative weights of the next hand to be dealt, by player 0's; filled when asked for."""
        return {}

    def _next_hand(self, first: int | None) -> list[float]:
        known = self._cumulative
        if first not in known:
            weights = self._pair_weights
            if first is not None:
                weights = self.ranges[1].weights * self._meets(first)
            known[first] = np.cumsum(weights).tolist()
        return known[first]

    def _deals(self, hands: tuple[int, ...]) -> list[tuple[str, float]]:
        """The next hand to be dealt, with its probability."""
        yours = self.ranges[1].weights
        weights = yours * self._meets(hands[0]) if hands else self._pair_weights
        total = math.fsum(weights)
        return [
            (self.deck.hand_names[hand], float(weights[hand] / total))
            for hand in np.flatnonzero(weights).tolist()
        ]


@dataclass(frozen=True, slots=True)
class HoldemState(State):
    """Hands (indices), board and betting."""

    game: Holdem
    hands: tuple[int, ...]
    board: tuple[int, ...]
    betting: Betting

    def current_player(self) -> int:
        if len(self.hands) < 2:
            return CHANCE
        betting = self.betting
        if betting.folded != NOBODY:
            return TERMINAL
        street = self.game.rules.last_street if betting.is_over else betting.street
        if len(self.board) < BOARD_CARDS[street]:
            return CHANCE
        return TERMINAL if betting.is_over else betting.player

    def legal_actions(self) -> tuple[str, ...]:
        return self.game.actions(self.betting) if self.current_player() >= 0 else ()

    def bet(self, action: str) -> Bet | None:
        """How large a legal action is; None for a fold."""
        return self.betting.bet(action)

    def chance_outcomes(self) -> list[tuple[str, float]]:
        if len(self.hands) < 2:
            return self.game._deals(self.hands)
        deck = self.game.deck
        left = sorted(set(range(deck.size)) - self._taken)
        if self.game.folded:
            return self._next_cards(left)
        count = next(n for n in BOARD_CARDS if n > len(self.board)) - len(self.board)
        probability = 1 / math.comb(len(left), count)
        return [(deck.name(cards), probability) for cards in itertools.combinations(left, count)]

    def _next_cards(self, left: list[int]) -> list[tuple[str, float]]:
        """The next card and its probability, where players have folded."""
        deck, bunching = self.game.deck, self.game.bunching
        held = [card for hand in self.hands for card in deck.hand_cards[hand]]
        weights = [bunching.of((*self.board, *held, card)) for card in left]
        total = math.fsum(weights)
        return [
            (deck.card_names[card], weight / total)
            for card, weight in zip(left, weights, strict=True)
            if weight > 0
        ]

    def child(self, action: str) -> Self:
        new, deck = type(self), self.game.deck
        if self.current_player() >= 0:
            return new(self.game, self.hands, self.board, self.betting.child(action))
        cards = deck.parse(action)
        if not self._taken.isdisjoint(cards):
            raise SubgameError(f"A card of '{action}' has already been dealt.")
        if len(self.hands) == 2:
            return new(self.game, self.hands, (*self.board, *cards), self.betting)
        hands = (*self.hands, deck.parse_hand(action))
        return new(self.game, hands, self.board, self.betting)

    def sample_chance(self, random: Random) -> str:
        game, deck = self.game, self.game.deck
        if len(self.hands) < 2:
            weights = game._next_hand(self.hands[0] if self.hands else None)
            return deck.hand_names[random.choices(range(len(weights)), cum_weights=weights)[0]]
        if game.folded:
            cards = self.chance_outcomes()
            return random.choices([name for name, _ in cards], [share for _, share in cards])[0]
        taken, count = self._taken, 1 if self.board else BOARD_CARDS[1]
        left = [card for card in range(deck.size) if card not in taken]
        return "".join([deck.card_names[card] for card in sorted(random.sample(left, count))])

    def allows(self, action: str) -> bool:
        try:
            self.betting.child(action)
        except SubgameError:
            return False
        return True

    def is_public(self, action: str) -> bool:
        return len(self.hands) == 2

    @property
    def _taken(self) -> set[int]:
        """The cards that cannot be dealt any more."""
        held = self.game.deck.hand_cards
        return {*self.game.dead, *self.board, *(card for hand in self.hands for card in held[hand])}

    def returns(self) -> tuple[float, float]:
        winner = NOBODY
        if self.betting.is_showdown:
            mine, yours = _ranks(self.board, self.hands, self.game.deck)
            winner = NOBODY if mine == yours else int(mine < yours)
        won, lost = self.betting.net(winner)
        return float(won), float(lost)

    def information_state(self, player: int) -> str:
        if player < len(self.hands):
            return self.game.infoset_name(self.hands[player], self.board, self.betting)
        return f" | {self.public_state()}"

    def public_state(self) -> str:
        return self.game.public_name(self.board, self.betting)


def _is_after(street: int, state: HoldemState) -> bool:
    """Whether a street's cards have been dealt."""
    return len(state.board) >= BOARD_CARDS[street]


def _is_before(street: int, state: HoldemState) -> bool:
    """Whether a street's cards are about to be dealt, or have been."""
    closed = state.betting.street >= street or state.betting.is_showdown
    return len(state.hands) == 2 and _is_after(street - 1, state) and closed


@lru_cache(maxsize=1 << 12)
def _ranks(board: tuple[int, ...], hands: tuple[int, ...], deck: Deck) -> list[int]:
    cards = [[*board, *deck.hand_cards[hand]] for hand in hands]
    ranks: list[int] = rank_cards(cards, deck).tolist()
    return ranks


def _short(weighted: Range) -> str:
    """A range's text, or its digest where that is long; never with a comma."""
    text = str(weighted).replace(",", " ")
    if len(text) <= _LONG:
        return text
    import hashlib  # with OpenSSL, which takes a hundredth of a second

    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{np.count_nonzero(weighted.weights)} hands #{digest}"

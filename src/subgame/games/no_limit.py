"""No-limit Kuhn and Leduc: small poker games in which any number of chips may be bet.

Ganzfried & Sandholm 2013, "Action translation in extensive-form games with large action spaces",
Sec. 3: a three-card game of one round, and Leduc of two rounds with 12 chips and an ante of 1.
The betting is that of heads-up hold'em (`games.holdem.rules`): chips are whole, a bet is at least
one, a raise at least as large as the last one unless it is all-in. An action is ``f``, ``c`` or
``r7``: bet or raise to 7 chips on this round.

The sizes that a player *considers* are a parameter; what the rules *allow* is not. `legal_actions`
lists the considered sizes, `child` takes any allowed one. So a history means the same in every
version of the game with the same stack, and a smaller version can be asked for its actions after a
bet that only a larger one has (`subgame.refine.verbs.translate`,
`subgame.refine.verbs.nest`).

    >>> import subgame as sg
    >>> state = sg.games.load("no-limit-kuhn(stack=8)").new_initial_state().child("K").child("J")
    >>> state.legal_actions(), state.child("r3").legal_actions()
    (('c', 'r2', 'r7'), ('f', 'c', 'r7'))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.bets import NOTHING, BetSizes
from subgame.games.holdem.rules import NOBODY, Bet, Betting, NoLimit
from subgame.games.holdem.sizes import STREETS

if TYPE_CHECKING:
    from subgame.games.arrays import GameArrays

RANKS = "JQK"
LAST = len(STREETS) - 1
"""Hold'em's last rounds serve as ours: player 0 acts first there."""
CACHED = 2**16
NAMED = {"fcpa": "1x a"}
"""Fold, call, pot, all-in: the usual smallest abstraction (Ganzfried & Sandholm 2013, Sec. 9)."""
EVERY = "all"
MOST_CHIPS = 500
"""Chips of the largest stack with every whole number of chips as a bet."""


@lru_cache(maxsize=CACHED)
def _after(betting: Betting, action: str) -> Betting:
    return betting.child(action)  # shared by all deals


@lru_cache(maxsize=CACHED)
def _listed(betting: Betting, sizes: BetSizes | None) -> tuple[str, ...]:
    """The actions in these sizes; None: every whole number of chips."""
    if sizes is not None:
        return betting.actions(sizes)
    return (*betting.actions(NOTHING), *(f"r{total}" for total in _totals(betting)))


def _totals(betting: Betting) -> range:
    """What the player may bet or raise to."""
    least, most = betting.least_raise, betting.most_raise
    return range(0) if least is None or most is None else range(int(least), int(most) + 1)


@dataclass(frozen=True, slots=True)
class NoLimitState(State):
    """Cards dealt so far (both hands, then perhaps the board) and the betting."""

    game: NoLimitGame
    cards: str
    betting: Betting

    def current_player(self) -> int:
        closed = self.betting.street == LAST or self.betting.is_showdown
        if len(self.cards) < 2 or (self.game.rounds == 2 and len(self.cards) == 2 and closed):
            return CHANCE
        return TERMINAL if self.betting.is_over else self.betting.player

    def legal_actions(self) -> tuple[str, ...]:
        return self.game.actions(self.betting)

    def allows(self, action: str) -> bool:
        total = action[1:]
        if action[:1] == "r" and total.isdecimal() and total == str(int(total)):
            return int(total) in _totals(self.betting)
        return action in self.betting.actions(NOTHING)

    def is_public(self, action: str) -> bool:
        return len(self.cards) >= 2

    def bet(self, action: str) -> Bet | None:
        """How large a legal action is; None for a fold."""
        return self.betting.bet(action)

    def chance_outcomes(self) -> list[tuple[str, float]]:
        left = {rank: self.game.copies - self.cards.count(rank) for rank in RANKS}
        total = sum(left.values())
        return [(rank, count / total) for rank, count in left.items() if count]

    def child(self, action: str) -> Self:
        new = type(self)
        if self.current_player() == CHANCE:
            return new(self.game, self.cards + action, self.betting)
        return new(self.game, self.cards, _after(self.betting, action))

    def returns(self) -> tuple[float, float]:
        mine, yours = (self._strength(player) for player in (0, 1))
        winner = NOBODY if mine == yours else int(mine < yours)
        won, lost = self.betting.net(winner)
        return float(won), float(lost)

    def _strength(self, player: int) -> tuple[bool, int]:
        rank = self.cards[player]
        return rank == self.cards[2:], RANKS.index(rank)

    def information_state(self, player: int) -> str:
        return f"{self.cards[player : player + 1]}{self.cards[2:]}:{self.betting}"

    def public_state(self) -> str:
        return f"{self.cards[2:]}:{self.betting}"


class NoLimitGame(Game):
    """What the two games share: chips, and the sizes each player considers.

    `stack` is each player's chips at the start, the `ante` included. `bets` is ``fcpa`` (pot and
    all-in), ``all`` (every whole number of chips), ``none``, or sizes as hold'em writes them
    (`BetSizes`): ``0.5x 1x a`` for half the pot, the pot and all-in, ``1x a / cap 2`` for at most
    two bets and raises a round. `replies` are the sizes of player 1 where they differ.
    """

    parameter_names = ("stack", "ante", "bets", "replies")
    rounds: int
    copies: int

    def __init__(self, stack: int = 5, ante: int = 1, bets: str = "fcpa", replies: str = "same"):
        if ante < 1 or stack <= ante:
            raise SubgameError(
                f"Each player needs chips behind the ante, and the ante must be at least 1: a "
                f"stack of {stack} and an ante of {ante} leave none."
            )
        self.stack, self.ante, self.bets, self.replies = stack, ante, bets, replies
        self.sizes = (_sizes(bets), _sizes(bets if replies == "same" else replies))
        if None in self.sizes and stack > MOST_CHIPS:
            raise SubgameError(
                f"Bets of every size need a stack of at most {MOST_CHIPS:,} chips, not {stack:,}; "
                "name sizes such as fcpa or 0.5x 1x a instead."
            )

    def actions(self, betting: Betting) -> tuple[str, ...]:
        """What may be done there: f, c, r with the round's total, in the sizes considered."""
        return _listed(betting, self.sizes[betting.player])

    def new_initial_state(self) -> NoLimitState:
        behind = self.stack - self.ante
        rules = NoLimit(
            (behind, behind), blinds=(0, 1), street=STREETS[-self.rounds], pot=2 * self.ante
        )
        return NoLimitState(self, "", rules.start())


def _sizes(text: str) -> BetSizes | None:
    """The sizes that a text names; None for every whole number of chips."""
    if text == EVERY:
        return None
    inside = NAMED.get(text, text)
    if ":" in inside or ";" in inside:
        raise SubgameError(
            f"The bet sizes of this game must be the same in every round, such as 1x a, "
            f"not '{text}'."
        )
    return BetSizes.parse(inside)


class NoLimitKuhn(NoLimitGame):
    """Three cards, one round of no-limit betting.

    With ``replies="none"`` player 1 only calls or folds, the game of Ganzfried & Sandholm 2013,
    Sec. 3.2; theirs has antes of $0.50 and bets in steps of $0.10: ``ante=5``, in dimes.
    """

    name = "no-limit-kuhn"
    rounds, copies = 1, 1


class NoLimitLeduc(NoLimitGame):
    """Six cards of three ranks (suits never matter), two rounds of no-limit betting.

    Schnizlein et al. 2009 and Ganzfried & Sandholm 2013, Sec. 3.3, play it with a stack of 12.
    """

    name = "no-limit-leduc"
    rounds, copies = 2, 2

    def __init__(
        self, stack: int = 6, ante: int = 1, bets: str = "fcpa", replies: str = "same"
    ) -> None:
        super().__init__(stack, ante, bets, replies)

    def arrays(self) -> GameArrays | None:
        from subgame.games.poker_arrays import Deck, PokerArrays, pair_or_high

        winning = ("K", "J", "Q"), ("J", "K", "Q")
        deck = Deck(tuple(RANKS), self.copies, 1, partial(pair_or_high, 1), winning)
        return PokerArrays(self.new_initial_state(), deck)

    def frontiers(self) -> dict[str, Callable[[Any], bool]]:
        return {
            "after round 1": lambda s: s.betting.street == LAST or s.betting.is_showdown,
            "after the board card": lambda s: len(s.cards) == 3,
        }

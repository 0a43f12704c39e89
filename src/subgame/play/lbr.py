"""Local best response: a lower bound on how exploitable an agent is, in games too large for more.

Lisý & Bowling 2017, "Equilibrium Approximation Quality of Current No-Limit Poker Bots". LBR knows
the agent's strategy. It follows the agent's range by Bayes' rule and looks one action ahead: after
that action, it assumes, both players check and call to the showdown.

With ``pot`` the chips in the middle, ``asked`` what a call costs, ``wp`` the share of the pot that
LBR's hand wins at the showdown and ``fp`` the probability that the agent folds to a bet,

    U(call) = wp pot - (1 - wp) asked
    U(bet a) = fp pot + (1 - fp) (wp' (pot + a) - (1 - wp') (asked + a))

where wp' is against the range that does not fold, and ``a`` is what the bet adds to a call. A fold
is worth 0.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import CHANCE, Game
from subgame.games.holdem.bets import STREETS, BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import Betting, total_of
from subgame.play.agent import Agent, Event

Floats = NDArray[np.float64]
RUNOUTS = 1000
"""Boards of the showdown are all looked at up to this many; more are sampled."""
MANY = " ".join(f"{0.05 * 1.15**k:.3g}x" for k in range(55))
"""Fractions of the pot from 0.05 to 95, each 15 % above the one before."""
FLOP_2018 = " ".join(f"{0.33 * 2**k:.5g}x" for k in range(11))


@dataclass(frozen=True)
class Setting:
    """What LBR may do. It may always call; where `folds` says so, it may fold."""

    bets: dict[str, str]
    """Street -> sizes; on other streets LBR makes no bets."""
    opening: str = ""
    """The size of the bet that LBR must make as its first action, or fold."""
    calls: tuple[str, ...] = ()
    """Streets on which LBR never folds."""

    def sizes(self, street: str, first: bool) -> BetSizes | None:
        """The sizes on a street; `first` for LBR's first action of the hand."""
        text = self.opening if first and self.opening else self.bets.get(street, "")
        return BetSizes.parse(f"all: {text}") if text else None


SETTINGS = {
    "fc": Setting({}),
    "fcpa": Setting(dict.fromkeys(STREETS, "1x a")),
    "56": Setting(dict.fromkeys(STREETS[1:], f"{MANY} a"), calls=("preflop",)),
    "2018-turn": Setting({}, opening="0.75x"),
    "2018-flop": Setting({"flop": FLOP_2018}, opening="0.75x", calls=("preflop",)),
}
"""Lisý & Bowling 2017: fold and call; fold, call, pot and all-in; and 56 bets after checking and
calling before the flop (which 56 is not said: these are ours). Brown, Sandholm & Amos 2018, Sec. 6:
a first action of 3/4 of the pot, then only folds and calls ("2018-turn"), or calls before the flop,
0.33 2^x pots on the flop and folds and calls later ("2018-flop")."""


class LocalBestResponse(Agent):
    """Plays a local best response to another agent of hold'em whose strategy is known.

    >>> from subgame.games import holdem
    >>> from subgame.play import Always, match
    >>> game = holdem.nlfh()
    >>> fold = Always("fold")
    >>> lbr = LocalBestResponse(game, fold, "fcpa")
    >>> round(match(game, [lbr, fold], hands=10).result.mean)
    750
    """

    name = "lbr"

    def __init__(self, game: Game, opponent: Agent, setting: str = "fcpa") -> None:
        if not isinstance(game, Holdem):
            raise SubgameError(f"Local best response plays hold'em, not {game}.")
        if setting not in SETTINGS:
            raise did_you_mean("setting of LBR", setting, SETTINGS)
        self.game, self.opponent, self.setting = game, opponent, SETTINGS[setting]

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.told = copy.copy(self.opponent)
        self.told.begin(1 - seat, seed)
        self.betting, self.board, self.acted = self.game.start(), self.game.board, False
        self.range = self.game.weights()[1 - seat].copy()

    def observe(self, event: Event) -> None:
        if event.player == CHANCE:
            self.board = (*self.board, *self.game.deck.parse(event.action))
            self.range = self.range * self.game.deck.compatible(self.board)
        else:
            if event.player != self.seat:
                # Bayes' rule.
                self.range = self.range * self._probability(self.told, self.betting, event.action)
            self.betting = self.betting.child(event.action)
        self.told.observe(event)

    def _probability(self, agent: Agent, betting: Betting, action: str) -> Floats:
        """[hand] how likely the opponent takes an action with each hand of the range."""
        game, held = self.game, np.flatnonzero(self.range)
        names = [game.infoset_name(int(hand), self.board, betting) for hand in held]
        policy = agent.policy(names, game.actions(betting)) if names else None
        out = np.zeros(game.deck.num_hands)
        if policy is None:
            raise SubgameError(
                f"The strategy of '{agent.name}' is not known, so LBR cannot respond to it."
            )
        if action in policy.actions:
            out[held] = policy.probabilities[:, policy.actions.index(action)]
        return out

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        deck, betting = self.game.deck, self.betting
        hand = deck.parse_hand(infoset.split(" | ")[0])
        against = self.range * deck.disjoint[hand]
        equity = showdown(deck, self.board, self._final, hand, self.random)
        wins = _share(against, equity)
        first, self.acted = not self.acted, True
        street, asked, pot = STREETS[betting.street], betting.to_call, betting.pot
        sizes = self.setting.sizes(street, first)
        bets = [a for a in betting.actions(sizes) if a[0] == "r"] if sizes else []
        options = {action: self._bet_value(action, against, equity) for action in bets}
        if not (first and self.setting.opening and bets):
            options["c"] = wins * pot - (1 - wins) * asked
        if asked and street not in self.setting.calls:
            options["f"] = 0.0
        return max(options, key=lambda action: options[action])

    @property
    def _final(self) -> int:
        """Cards on the board at the showdown."""
        return BOARD_CARDS[self.game.rules.last_street]

    def _bet_value(self, action: str, against: Floats, equity: Floats) -> float:
        betting = self.betting
        after = betting.child(action)
        if after.is_over:
            return -math.inf
        agent = copy.copy(self.told)
        agent.observe(Event(self.seat, action))
        folds = self._probability(agent, after, "f")
        total = against.sum()
        fp = float(against @ folds / total) if total > 0 else 0.0
        wins = _share(against * (1 - folds), equity)
        more = total_of(action) - max(betting.bets)
        asked, pot = betting.to_call, betting.pot
        return fp * pot + (1 - fp) * (wins * (pot + more) - (1 - wins) * (asked + more))


def _share(against: Floats, equity: Floats) -> float:
    """The share of the pot that is won at the showdown against a range."""
    total = against.sum()
    return float(against @ equity / total) if total > 0 else 0.5


def showdown(deck: Deck, board: Sequence[int], final: int, hand: int, random: Random) -> Floats:
    """[hand] the share of the pot that `hand` wins against each hand when the rest is dealt.

    The boards are all looked at where there are at most `RUNOUTS`, and otherwise that many drawn.
    """
    taken = {*board, *(int(card) for card in deck.hands[hand])}
    left = [card for card in range(deck.size) if card not in taken]
    count = final - len(board)
    boards: Sequence[tuple[int, ...]]
    if math.comb(len(left), count) <= RUNOUTS:
        boards = list(itertools.combinations(left, count))
    else:
        boards = [tuple(random.sample(left, count)) for _ in range(RUNOUTS // 5)]
    won, possible = np.zeros(deck.num_hands), np.zeros(deck.num_hands)
    for dealt in boards:
        whole = tuple(sorted((*board, *dealt)))
        ranks, free = _ranked(deck, whole)
        won += free * ((ranks < ranks[hand]) + 0.5 * (ranks == ranks[hand]))
        possible += free
    share: Floats = np.full(deck.num_hands, 0.5)
    np.divide(won, possible, out=share, where=possible > 0)
    return share


@lru_cache(maxsize=2000)
def _ranked(deck: Deck, board: tuple[int, ...]) -> tuple[NDArray[np.int16], NDArray[np.bool_]]:
    """[hand] strengths on a whole board, and which hands it leaves."""
    return rank_hands(board, deck), deck.compatible(board)

"""Call or fold to a bet that a blueprint does not know: the equilibrium of a game of one bet.

A bet that is unlike all those of a blueprint (`subgame.games.holdem.translation.is_unlike`), such
as an all-in of two hundred big blinds where it knows raises of the pot, is not answered by the
blueprint's answer to another bet. It is answered by the solution of a small game instead, which
before the flop is push or fold: the opponent makes the bet or gives up the pot, we call or fold,
and after a call nobody bets any more. Both ranges are those before the bet. The answer in
equilibrium is the one from which the best of all bettors wins least. The solution also says with
which hands the bet is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.blas import one_blas_thread
from subgame.engines.numba.strengths import ahead, mean_ahead
from subgame.games.holdem.cards import DECK, Deck
from subgame.games.holdem.game import BOARD_CARDS, Holdem, HoldemState
from subgame.games.holdem.ranges import class_of
from subgame.games.holdem.rules import Betting
from subgame.spots.classes import preflop

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
ITERATIONS = 100
"""Of CFR+ with quadratic averages: enough for a hundredth of a percent of the pot after the bet."""
RUNOUTS = 2000
"""Boards before the flop of a deck other than the full one; of more, some are looked at."""


class Showdowns(NamedTuple):
    """Pairs of hands that may meet. Axes: h = the opponent's hand, j = ours.

    Before the flop they are classes of hands that differ only by suit.
    """

    ahead: Singles  # [h, j] how often h wins minus how often it loses, times `pairs`
    pairs: Singles  # [h, j] how many pairs share no card
    kind: NDArray[np.int64]  # [hand of the deck] which h or j it is


@dataclass(frozen=True, eq=False)
class OneBet:
    """A game of one bet, in chips of the opponent."""

    showdowns: Showdowns
    theirs: Floats  # [h] the opponent's reach before the bet
    ours: Floats  # [j]
    folded: float
    """What the opponent wins if we fold."""
    called: float
    """What both players can lose if we call."""
    given_up: float
    """What the opponent wins without the bet: nothing, less what was put in before."""

    def gains(self, call: Floats) -> Floats:
        """[h] what the bet wins the opponent beside giving up, times how often."""
        paid: Floats = self._folds + self._calls @ (self.ours * call).astype(np.float32)
        return paid

    def solved(self, iterations: int = ITERATIONS) -> tuple[Floats, Floats]:
        """[h] how often the opponent bets and [j] how often we call in equilibrium, by CFR+."""
        held = np.flatnonzero(self.theirs)  # other hands of the opponent change nothing
        theirs, folds, table = self.theirs[held], self._folds[held], self._calls[held]
        bets, calls = np.zeros((2, len(held))), np.zeros((2, len(self.ours)))
        call, total = np.full(len(self.ours), 0.5), 0
        betting, calling = np.zeros(len(self.theirs)), np.zeros(len(self.ours))
        with one_blas_thread():
            for t in range(1, iterations + 1):
                bet = _learned(bets, folds + table @ (self.ours * call).astype(np.float32))
                entered = (theirs * bet).astype(np.float32)
                call = _learned(calls, -(entered @ table).astype(np.float64))
                betting[held] += t * t * bet
                calling += t * t * call
                total += t * t
        return betting / total, calling / total

    @cached_property
    def _folds(self) -> Floats:
        """[h] what the bet gains if we always fold, times how often."""
        met = self.showdowns.pairs @ self.ours.astype(np.float32)
        gained: Floats = (self.folded - self.given_up) * met.astype(np.float64)
        return gained

    @cached_property
    def _calls(self) -> Singles:
        """[h, j] what the opponent wins if we call rather than fold, times how often."""
        table: Singles = self.called * self.showdowns.ahead
        table -= self.folded * self.showdowns.pairs
        return table


def _learned(regrets: Floats, gain: Floats) -> Floats:
    """[infoset] how often the first of two actions is taken next, from its gain over the other."""
    taken = _matched(regrets)
    regrets[0] = np.maximum(regrets[0] + (1 - taken) * gain, 0)
    regrets[1] = np.maximum(regrets[1] - taken * gain, 0)
    return _matched(regrets)


def _matched(regrets: Floats) -> Floats:
    total = regrets.sum(0)
    share: Floats = np.full(len(total), 0.5)
    np.divide(regrets[0], total, out=share, where=total > 0)
    return share


@lru_cache(maxsize=4)
def showdowns(deck: Deck, board: tuple[int, ...], final: int) -> Showdowns:
    """The pairs of hands on a board; before the flop of the full deck they are classes."""
    if not board and deck == DECK and final == BOARD_CARDS[-1]:
        table = preflop()
        won = (2 * table.equity - 1) * table.pairs
        return Showdowns(won.astype(np.float32), table.pairs.astype(np.float32), class_of(deck))
    every, free = np.arange(deck.num_hands), deck.compatible(board)
    pairs = (deck.disjoint & free[:, None] & free).astype(np.float32)
    if final - len(board) <= 2:
        return Showdowns(mean_ahead(board, final, deck), pairs, every)
    random, total = np.random.default_rng(0), np.zeros(pairs.shape)
    left = [card for card in range(deck.size) if card not in board]
    met = np.zeros(pairs.shape)
    for _ in range(RUNOUTS):
        cards = random.choice(left, final - len(board), replace=False).tolist()
        whole = tuple(sorted((*board, *cards)))
        open_ = deck.compatible(whole)
        total += ahead(whole, final, deck)
        met += open_[:, None] & open_ & deck.disjoint
    return Showdowns((total / np.maximum(met, 1)).astype(np.float32), pairs, every)


def one_bet(
    game: Holdem, board: Sequence[int], betting: Betting, reach: Sequence[Floats]
) -> OneBet:
    """The game of the last bet of a betting; `reach` [hand] is both players' before it."""
    us, cards = betting.player, tuple(sorted(board))
    o, final = 1 - us, BOARD_CARDS[game.rules.last_street]
    table = showdowns(game.deck, cards, final)
    first = np.unique(table.kind, return_index=True)[1]
    free = game.deck.compatible(cards)
    theirs, ours = ((reach[p] * free)[first] for p in (o, us))
    if not ours.any():
        ours = free[first].astype(np.float64)
    if not theirs.any():
        theirs = free[first].astype(np.float64)
    shown = betting
    while not shown.is_over:
        shown = shown.child("c")
    start = game.start()
    before = start.play("".join(betting.history[len(start.history) : -1]))
    put_in = min(before.staked[o] + before.bets[o], before.staked[us] + before.bets[us])
    folded = float(betting.child("f").net()[o])
    return OneBet(table, theirs, ours, folded, float(shown.at_stake), -float(put_in))


class Answer(NamedTuple):
    """What the player does who faces a bet, and with which hands the bet is made."""

    actions: tuple[str, ...]
    probabilities: Floats  # [hand, action]
    bets: Floats  # [hand] how often the opponent bets


def call_or_fold(
    game: Holdem, board: Sequence[int], betting: Betting, reach: Sequence[Floats]
) -> Answer:
    """The solution for the last bet of a betting; `reach` [hand] is both players' before it.

    Where there is no bet the player checks.
    """
    if not betting.to_call:
        return Answer(("c",), np.ones((game.deck.num_hands, 1)), np.ones(game.deck.num_hands))
    bet = one_bet(game, board, betting, reach)
    bets, calls = (share[bet.showdowns.kind] for share in bet.solved())
    return Answer(("f", "c"), np.stack([1 - calls, calls], axis=1), bets)


def followed_reach(
    blueprint: StoredBlueprint, board: Sequence[int], betting: Betting
) -> tuple[Floats, Floats]:
    """[hand] both players' reach of a betting of a blueprint, on a board."""
    game = blueprint.game
    here, reach = game.start(), [weights.copy() for weights in game.weights()]
    for action in betting.history:
        if action == "/":
            continue
        place = HoldemState(game, (0, 0), tuple(board[: BOARD_CARDS[here.street]]), here)
        actions, probabilities = blueprint.range_strategy(place)
        reach[here.player] = reach[here.player] * probabilities[:, actions.index(action)]
        here = here.child(action)
    return reach[0], reach[1]

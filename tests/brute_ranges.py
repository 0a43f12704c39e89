"""Hold'em on a small deck by plain recursion, one hand of a player against all of the other's.

It shares with the package only the betting rules' legal moves, hand ranks and the order of hands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.rules import Betting
from subgame.tree.strategy import Strategy

Fixed = Callable[[int, tuple[int, ...], Betting], Mapping[str, float] | None]
"""The probabilities of a hand where they are locked."""


class Brute:
    """Values of a strategy and of best responses, with rake and dead cards."""

    def __init__(self, game: Holdem, strategy: Strategy, fixed: Fixed | None = None) -> None:
        self.game, self.strategy, self.fixed = game, strategy, fixed
        self.held = [set(hand) for hand in game.deck.hands.tolist()]
        mine, yours = game.weights()
        self.deals = float(mine @ game.deck.disjoint @ yours)

    def value(self, p: int, *, best: bool) -> float:
        """What player `p` wins, with the strategy or with a best response."""
        total = 0.0
        for hand in np.flatnonzero(self.game.weights()[p]).tolist():
            against = {
                other: float(weight)
                for other, weight in enumerate(self.game.weights()[1 - p])
                if weight and not self.held[hand] & self.held[other]
            }
            at = self._at(p, hand, self.game.board, self.game.start(), against, best)
            total += self.game.weights()[p][hand] * at
        return total / self.deals

    def _mix(self, hand: int, board: tuple[int, ...], here: Betting) -> Mapping[str, float]:
        return self.strategy[self.game.infoset_name(hand, board, here)]

    def _at(
        self,
        p: int,
        hand: int,
        board: tuple[int, ...],
        here: Betting,
        against: dict[int, float],
        best: bool,
    ) -> float:
        last = self.game.rules.last_street
        wanted = BOARD_CARDS[last if here.is_over else here.street]
        if here.folded >= 0:
            return sum(against.values()) * self.paid(here, p, int(here.folded != p))
        if len(board) < wanted:
            taken = {*board, *self.game.dead, *self.held[hand]}
            cards = [c for c in range(self.game.deck.size) if c not in taken]
            total = 0.0
            for card in cards:
                left = {o: r for o, r in against.items() if card not in self.held[o]}
                total += self._at(p, hand, (*board, card), here, left, best)
            return total / (len(cards) - 2)
        if here.is_over:
            ranks = rank_hands(board, self.game.deck)
            return sum(
                reach * self.paid(here, p, 0.5 * (1 + np.sign(int(ranks[hand]) - int(ranks[o]))))
                for o, reach in against.items()
            )
        actions = self.game.actions(here)
        if here.player != p:
            mixes = {o: self._mix(o, board, here) for o in against}
            return sum(
                self._at(
                    p,
                    hand,
                    board,
                    here.child(a),
                    {o: r * mixes[o][a] for o, r in against.items()},
                    best,
                )
                for a in actions
            )
        values = {a: self._at(p, hand, board, here.child(a), against, best) for a in actions}
        locked = self.fixed(hand, board, here) if self.fixed is not None else None
        mix = locked or (None if best else self._mix(hand, board, here))
        return max(values.values()) if mix is None else sum(mix[a] * values[a] for a in actions)

    def paid(self, here: Betting, p: int, share: float) -> float:
        """Chips for player `p`, who wins this share of the pot (1, 1/2 or 0), less the rake."""
        pot = 2.0 * min(float(s + b) for s, b in zip(here.staked, here.bets, strict=True))
        rules = self.game.rules
        return share * (pot - min(rules.rake * pot, rules.rake_cap)) - pot / 2

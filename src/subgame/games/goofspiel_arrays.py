"""The rules of goofspiel in arrays: see `subgame.games.arrays` and `subgame.games.goofspiel`."""

from __future__ import annotations

import numpy as np

from subgame.games.arrays import OVER, Floats, GameArrays, Moves, Numbers, Rows
from subgame.games.base import CHANCE


class GoofspielArrays(GameArrays):
    """Columns: what is left [k, pile], the prize, player 0's bid, points ahead, seen [k, 3].

    Piles are those of player 0, player 1 and the prizes, as bits: bit c - 1 is card c. There is no
    prize (0) where chance deals one, and no bid (0) before player 0 has bid. Seen are
    each player's bids in order and what is public, as digits after a one. Two cards or more.
    """

    def __init__(self, cards: int, order: str, returns: str) -> None:
        self.cards, self.order, self.points = cards, order, returns == "points"
        piles = range(1 << cards)
        held = [[c for c in range(1, cards + 1) if pile >> (c - 1) & 1] for pile in piles]
        self.card = np.zeros((len(piles), cards), np.int64)  # [pile, place]
        for pile, own in enumerate(held):
            self.card[pile, : len(own)] = own
        names = [tuple(map(str, own)) for own in held]
        acting = [Moves(player, own) for player in (0, 1) for own in names]
        chance = [Moves(CHANCE, own, tuple(1 / len(own) for _ in own)) for own in names]
        self.lists = [OVER, *acting, *chance]

    def start(self) -> Rows:
        full, zero = (1 << self.cards) - 1, np.zeros(1, np.int64)
        return self._with_prize(
            (np.full((1, 3), full), zero, zero, zero, np.ones((1, 3), np.int64))
        )

    def moves(self, rows: Rows) -> Numbers:
        left, prize, bid, _, _ = rows
        kind = np.where(prize == 0, 2, np.where(bid == 0, 0, 1))
        number = 1 + (kind << self.cards) + left[np.arange(len(kind)), kind]
        return np.where(self._over(rows), 0, number)

    def _over(self, rows: Rows) -> Numbers:
        """[k] 1 where one card is left to each player, which they need not bid."""
        left, _, bid, _, _ = rows
        return (bid == 0) & (left[:, 1] & (left[:, 1] - 1) == 0)

    def child(self, rows: Rows, action: Numbers) -> Rows:
        left, prize, bid, ahead, seen = rows
        kind = np.where(prize == 0, 2, np.where(bid == 0, 0, 1))
        k = np.arange(len(kind))
        card = self.card[left[k, kind], action]
        left[k, kind] &= ~(np.int64(1) << (card - 1))
        first, second, dealt = (kind == number for number in (0, 1, 2))
        for player, bids in ((0, first), (1, second)):
            seen[bids, player] = seen[bids, player] * (self.cards + 1) + card[bids]
        result = np.sign(bid - card)
        ahead = ahead + np.where(second, result * prize, 0)
        seen[second, 2] = seen[second, 2] * 3 + 1 + result[second]
        seen[dealt, 2] = seen[dealt, 2] * self.cards + card[dealt] - 1
        prize = np.where(dealt, card, np.where(second, 0, prize))
        return self._with_prize((left, prize, np.where(first, card, 0), ahead, seen))

    def _with_prize(self, rows: Rows) -> Rows:
        """The next prize of a fixed order on the table, unless the game is over."""
        left, prize, bid, ahead, seen = rows
        if self.order == "random":
            return rows
        prizes = left[:, 2]
        place = 0 if self.order == "ascending" else np.bitwise_count(prizes).astype(np.int64) - 1
        take = (prize == 0) & ~self._over(rows)
        prize = np.where(take, self.card[prizes, place], prize)
        left[:, 2] = np.where(take, prizes & ~(np.int64(1) << (prize - 1)), prizes)
        return left, prize, bid, ahead, seen

    def returns(self, rows: Rows) -> Floats:
        left, _, _, ahead, _ = rows
        mine, yours, prize = (self.card[left[:, pile], 0] for pile in (0, 1, 2))
        ahead = ahead + prize * np.sign(mine - yours)
        return ahead / 2 if self.points else np.sign(ahead).astype(np.float64)

    def information_state(self, rows: Rows, player: int) -> Numbers:
        seen = rows[4]
        return self.public_state(rows) * (self.cards + 1) ** self.cards + seen[:, player]

    def public_state(self, rows: Rows) -> Numbers:
        _, _, bid, _, seen = rows
        return 2 * seen[:, 2] + (bid > 0)

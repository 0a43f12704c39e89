"""AIVAT for two agents whose strategies are both known, in whole hold'em.

Burch, Schmid, Moravčík & Bowling 2018. Both agents are asked what they do with every hand, so both
players' ranges are known at every public state, and no private card is left to luck:

* *imaginary observations* of both players: a hand that is over pays the mean over all pairs of
  hands that both would have played so;
* *corrections* of both players' actions and of the cards that are dealt: the mean of a value
  function over all that might have followed, by its true probability, minus its value after what
  did follow. Its expectation is 0 whatever the value function is. Here it is self-play of the
  blueprint (`subgame.play.range_values`).

Each deal is played twice, with the seats exchanged (duplicate). As long as both agents do the same
with every hand, both hands of the pair are one; from the first difference on they are two. What
would have followed without the difference cancels. Two agents with the same strategy differ by
exactly 0, and agents that differ from the turn on have no luck of the streets before.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.play.agent import Agent, Event, Policy, draw
from subgame.play.match import mixed_seed
from subgame.play.range_values import BlueprintValues, Board, Mind, Ranges
from subgame.tree.public_tree import OnDemand

Floats = NDArray[np.float64]
Seats = tuple[Agent, Agent]
SAME = 1e-9
"""Probabilities that differ by less are the same."""


class Deal(NamedTuple):
    """The cards of a deal, and the seed of the actions."""

    hands: tuple[int, int]
    board: Board
    seed: int


@dataclass(frozen=True)
class Pair:
    """A deal played twice, with the seats exchanged: what the first agent wins per hand."""

    number: int
    aivat: float
    """Without luck, in the game's unit."""
    plain: float
    """The chips that were won, in the game's unit."""
    street: int | None
    """Where the agents first differed; None if they never did, or roulette left the pair out."""


@dataclass(frozen=True)
class _Place:
    """A public state, with both players' ranges."""

    at: Mind
    board: Board
    ranges: Ranges

    @property
    def ready(self) -> bool:
        """Whether all cards of the street are dealt."""
        return self.at.real.is_over or len(self.board) == BOARD_CARDS[self.at.real.street]


class RangeMatch:
    """A match of two agents that know their strategies, deal by deal.

    `boards` are the whole boards for values on the flop, on the turn, and after each turn card.
    With `roulette` a pair that differs in a pot of ``pot`` chips is played with the probability
    ``pot / roulette`` only, and counts ``roulette / pot`` times: time goes into large pots.

    >>> from subgame.blueprints.recipe import Recipe
    >>> from subgame.blueprints.stored import StoredBlueprint
    >>> from subgame.blueprints.training import Trainer
    >>> from subgame.play.agent import Always
    >>> recipe = Recipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd")
    >>> values = BlueprintValues(StoredBlueprint.of(Trainer(recipe)))
    >>> RangeMatch(recipe.game, (Always("call"), Always("call")), values).pair(0).aivat
    0.0
    """

    def __init__(
        self,
        game: Holdem,
        agents: Sequence[Agent],
        values: BlueprintValues,
        *,
        seed: int = 0,
        boards: tuple[int, int, int] = (8, 12, 2),
        roulette: float = 0.0,
    ) -> None:
        self.game, self.values, self.seed, self.boards = game, values, seed, boards
        self.deck, self.final = game.deck, values.final
        self.roulette = roulette
        self.early: dict[tuple[int, str], Policy] = {}
        """Policies before the flop, by agent and betting, which are the same in every deal."""
        one, two = agents
        self.seats = tuple((copy.copy(one), copy.copy(two)) for _ in (0, 1))
        """By seat: both agents, who sit there in turn."""

    def pair(self, number: int) -> Pair:
        """Play one deal in both seatings."""
        random = Random(mixed_seed(self.seed, number, 0))
        cards = random.sample(range(self.deck.size), 4 + self.final)
        two = self.deck.hand_index([cards[0], cards[2]], [cards[1], cards[3]])
        deal = Deal((int(two[0]), int(two[1])), tuple(cards[4:]), mixed_seed(self.seed, number, 1))
        for seat, both in enumerate(self.seats):
            for agent in both:
                agent.begin(seat, mixed_seed(self.seed, number, 2 + seat))
        start, ones = self.game.start(), self.game.weights()
        place = _Place(Mind(start, self.values.blueprint.game.start()), (), (ones[0], ones[1]))
        while not place.at.real.is_over:
            if not place.ready:
                place = self._dealt(place, deal, [a for both in self.seats for a in both])
                continue
            p = place.at.real.player
            first, second = (self._policy(agent, place) for agent in self.seats[p])
            if not _same(first, second):
                kept = min(1.0, float(place.at.real.pot) / self.roulette) if self.roulette else 1.0
                if Random(mixed_seed(deal.seed, 1)).random() >= kept:
                    return Pair(number, 0.0, 0.0, None)
                scale = self.game.unit[1] / kept
                here = [
                    self._play(place, deal, (self.seats[0][k], self.seats[1][1 - k]))
                    for k in (0, 1)
                ]  # the first agent in seat 0, then in seat 1
                aivat, plain = ((a - b) / 2 * scale for a, b in zip(*here, strict=True))
                return Pair(number, aivat, plain, place.at.real.street)
            action = self._drawn(first, place, deal)
            place = self._children(place, first)[action][0]
            for agent in (agent for both in self.seats for agent in both):
                agent.observe(Event(p, action))
        return Pair(number, 0.0, 0.0, None)

    # One hand --------------------------------------------------------------------------------
    def _play(self, place: _Place, deal: Deal, seats: Seats) -> tuple[float, float]:
        """(what player 0 wins without luck, chips that player 0 wins) from a public state on."""
        estimate = 0.0
        while not place.at.real.is_over:
            if not place.ready:
                estimate += self._luck_of_cards(place, deal)
                place = self._dealt(place, deal, seats)
                continue
            p = place.at.real.player
            policy = self._policy(seats[p], place)
            action = self._drawn(policy, place, deal)
            children = self._children(place, policy)
            estimate += self._luck_of_action(place, children, action) if place.board else 0.0
            place = children[action][0]
            for agent in seats:
                agent.observe(Event(p, action))
        return estimate + self._paid(place, deal), self._won(place, deal)

    def _luck_of_action(
        self, place: _Place, children: dict[str, tuple[_Place, float]], action: str
    ) -> float:
        """The mean of the values after all actions, minus that after the one that was taken."""
        boards = self.values.runouts(place.board, self._many(place.board))
        values = {
            name: self.values.sums(child.at, boards, child.ranges).mean
            for name, (child, share) in children.items()
            if share > 0
        }
        total = sum(share for _, share in children.values())
        mean = sum(children[name][1] * value for name, value in values.items()) / total
        return mean - values[action]

    def _policy(self, agent: Agent, place: _Place) -> Policy:
        """What an agent does with each hand of the deck; 0 with hands that it cannot have."""
        real = place.at.real
        key = id(agent), str(real)
        if key in self.early:
            return self.early[key]
        held = np.flatnonzero(place.ranges[real.player] * self._facing(place, real.player))
        name = partial(self.game.infoset_name, board=place.board, betting=real)
        names = OnDemand(self.deck.num_hands, name)
        found = agent.policy([names[k] for k in held.tolist()], self.game.actions(real))
        if found is None:
            raise SubgameError(f"The strategy of '{agent.name}' is not known for every hand.")
        out = np.zeros((self.deck.num_hands, len(found.actions)))
        out[held] = found.probabilities
        policy = Policy(found.actions, out)
        if not place.board and place.at.meant is not None and str(place.at.meant) == key[1]:
            self.early[key] = policy  # nothing was translated, which an agent may do by chance
        return policy

    def _facing(self, place: _Place, p: int) -> Floats:
        """[hand] the reach of the other player's hands that each hand of player `p` may meet."""
        return self.deck.compatible(place.board) * self._met(place.ranges[1 - p])

    def _met(self, reach: Floats) -> Floats:
        """[hand] the reach of hands that share no card with a hand, as `Deck.facing`."""
        low, high = self.deck.hands.T
        cards = np.bincount(low, reach, self.deck.size) + np.bincount(high, reach, self.deck.size)
        found: Floats = reach.sum() - cards[low] - cards[high] + reach
        return np.maximum(found, 0.0)

    def _drawn(self, policy: Policy, place: _Place, deal: Deal) -> str:
        real = place.at.real
        row = policy.probabilities[deal.hands[real.player]]
        return draw(Random(mixed_seed(deal.seed, len(real.history))), policy.actions, row.tolist())

    def _children(self, place: _Place, policy: Policy) -> dict[str, tuple[_Place, float]]:
        """By action: what follows, and how likely it is, up to a factor."""
        p, out = place.at.real.player, {}
        for action, row in zip(policy.actions, policy.probabilities.T, strict=True):
            reach = place.ranges[p] * row
            ranges = (reach, place.ranges[1]) if p == 0 else (place.ranges[0], reach)
            there = place.at.after(action, self.values.blueprint)
            share = float(reach @ self._facing(place, p))
            out[action] = _Place(there, place.board, ranges), share
        return out

    # Cards -----------------------------------------------------------------------------------
    def _many(self, board: Board) -> int:
        """How many whole boards are looked at."""
        return self.boards[0] if self.final - len(board) > 1 else self.boards[1]

    def _next(self, place: _Place, cards: Board) -> _Place:
        board = (*place.board, *cards)
        free = self.deck.compatible(board)
        return _Place(place.at, board, (place.ranges[0] * free, place.ranges[1] * free))

    def _dealt(self, place: _Place, deal: Deal, agents: Sequence[Agent]) -> _Place:
        cards = deal.board[len(place.board) : BOARD_CARDS[place.at.real.street]]
        for agent in agents:
            agent.observe(Event(CHANCE, self.deck.name(cards)))
        return self._next(place, cards)

    def _luck_of_cards(self, place: _Place, deal: Deal) -> float:
        """The mean of the values after all cards that may come, minus that after those that do."""
        more = BOARD_CARDS[place.at.real.street] - len(place.board)
        if more > 1:  # of the flop, luck stays in
            return 0.0
        total = mean = actual = 0.0
        for card in range(self.deck.size):
            if card in place.board:
                continue
            there = self._next(place, (card,))
            share = float(there.ranges[0] @ self._met(there.ranges[1]))
            if share <= 0:
                continue
            boards = self.values.runouts(there.board, self.boards[2])
            value = self.values.sums(there.at, boards, there.ranges).mean
            total, mean = total + share, mean + share * value
            actual = value if card == deal.board[len(place.board)] else actual
        return mean / total - actual

    def _paid(self, place: _Place, deal: Deal) -> float:
        """What a hand that is over pays player 0, over all hands and cards to come."""
        boards: Iterator[Board] | list[Board]
        left = [card for card in range(self.deck.size) if card not in place.board]
        more = self.final - len(place.board)
        boards = [deal.board]  # by the cards that come: too many others might
        if more <= 2:
            boards = ((*place.board, *cards) for cards in itertools.combinations(left, more))
        if not place.at.real.is_showdown:
            return float(place.at.real.net()[0])
        return self.values.sums(place.at, list(boards), place.ranges).mean

    def _won(self, place: _Place, deal: Deal) -> float:
        real = place.at.real
        if not real.is_showdown:
            return float(real.net()[0])
        rank = self.values.ranks(deal.board)
        return float(real.at_stake) * float(np.sign(rank[deal.hands[0]] - rank[deal.hands[1]]))


def _same(one: Policy, two: Policy) -> bool:
    """Whether two policies are the same, whatever the order of their actions."""
    if one.actions == two.actions:
        return bool(np.abs(one.probabilities - two.probabilities).max(initial=0) < SAME)
    rows = [dict(zip(each.actions, each.probabilities.T, strict=True)) for each in (one, two)]
    none = np.zeros(len(one.probabilities))
    return all(
        np.abs(rows[0].get(name, none) - rows[1].get(name, none)).max(initial=0) < SAME
        for name in {*one.actions, *two.actions}
    )

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
exactly 0, and agents that differ from the turn on have no luck of the streets before. Afterwards
both hands are played on one line with the same cards, as far as both may take it.

Actions are drawn in proportion to their probability times the pot that follows, and results are
weighted in return. Values of actions that end the hand are exact, so those are drawn less often.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.follow import FollowedBetting
from subgame.engines.numba.strengths import mean_ahead
from subgame.errors import SubgameError
from subgame.games.actions import kind_of
from subgame.games.base import CHANCE
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.play.agent import Agent, Event, Policy, draw, policy_of
from subgame.play.lbr import LocalBestResponse
from subgame.play.match import mixed_seed
from subgame.play.range_values import BlueprintValues, Board, Ranges
from subgame.tree.public_tree import OnDemand

Floats = NDArray[np.float64]
Seats = tuple[Agent, Agent]
SAME = 1e-9
"""Probabilities that differ by less are the same."""
KNOWN = 0.1
"""How often an action whose value is exact is drawn, compared with the others."""
SMALL = 1e-3
"""Bets of LBR that are less likely have their value without the agent's answer."""
BEFORE = 24
"""Whole boards for values before the flop."""


@dataclass(frozen=True)
class Pair:
    """A deal played twice, with the seats exchanged: what the first agent wins per hand."""

    number: int
    aivat: float
    """Without luck, in the game's unit."""
    plain: float
    """The chips that one pair of hands wins, in the game's unit; weighted as the other."""
    street: int | None
    """Where the agents first differed; None if they never did."""
    weight: float = 1.0
    """How often the public state where they differed occurs, over how often it is played."""


@dataclass(frozen=True)
class _Place:
    """A public state, with both players' ranges."""

    at: FollowedBetting
    board: Board
    ranges: Ranges

    @property
    def ready(self) -> bool:
        """Whether all cards of the street are dealt."""
        return self.at.real.is_over or len(self.board) == BOARD_CARDS[self.at.real.street]


Children = dict[str, tuple[_Place, float]]
"""By action: what follows, and how likely it is, up to a factor."""
Value = tuple[float, bool]
"""What player 0 wins, and whether that is exact."""
Values = dict[str, Value]


@dataclass
class _Hand:
    """A hand that is being played."""

    seats: Seats
    place: _Place
    estimate: float = 0.0
    """What player 0 wins without luck, in chips."""
    weight: float = 1.0
    """How likely what happened is, over how often it is drawn."""
    chips: float = 0.0
    """What one pair of hands pays player 0, weighted."""


class RangeMatch:
    """A match of two agents that know their strategies, deal by deal.

    `boards` are the whole boards for values on the flop, on the turn, and after each turn card.
    As long as both agents do the same, no action is drawn that ends the hand, since such pairs
    differ by nothing. So time goes into large pots, where most is won and lost.

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
        boards: tuple[int, int, int] = (4, 12, 6),
    ) -> None:
        self.game, self.values, self.seed, self.boards = game, values, seed, boards
        self.deck, self.final = game.deck, values.final
        self.early: dict[tuple[int, str], Policy] = {}
        """Policies before the flop, by agent and betting, which are the same in every deal."""
        self.preflop: dict[tuple[str, bytes, bytes], float] = {}
        """Values before the flop, by betting and ranges."""
        one, two = agents
        self.seats = tuple((copy.copy(one), copy.copy(two)) for _ in (0, 1))
        """By seat: both agents, who sit there in turn."""

    def pair(self, number: int) -> Pair:
        """Play one deal in both seatings."""
        random, every = Random(mixed_seed(self.seed, number, 0)), sum(self.seats, ())
        for seat, both in enumerate(self.seats):
            for agent in both:
                agent.begin(seat, mixed_seed(self.seed, number, 1 + seat))
        start, ones, weight = self.game.start(), self.game.weights(), 1.0
        at = FollowedBetting(start, self.values.blueprint.game.start())
        place = _Place(at, (), (ones[0], ones[1]))
        while True:
            if not place.ready:
                place = self._dealt(place, self._cards(place, random), every)
                continue
            p = place.at.real.player
            first, second = (self._policy(agent, place) for agent in self.seats[p])
            if not _same(first, second):
                break
            children = self._children(place, first)
            pots = {
                a: 0 if c.at.real.is_over else float(c.at.real.pot)
                for a, (c, _) in children.items()
            }
            shares = {action: share * pots[action] for action, (_, share) in children.items()}
            if sum(shares.values()) == 0:  # the hand is over, for both alike
                return Pair(number, 0.0, 0.0, None)
            action = draw(random, tuple(shares), list(shares.values()))
            total = sum(share for _, share in children.values())
            weight *= sum(shares.values()) / total / pots[action]
            place = children[action][0]
            for agent in every:
                agent.observe(Event(p, action))
        scale = self.game.unit[1] * weight / 2
        seatings = [(self.seats[0][k], self.seats[1][1 - k]) for k in (0, 1)]
        # The first agent in seat 0, then in seat 1; on one line while both may do the same.
        shared = "c" in first.actions and "c" in second.actions
        together = [seatings] if shared else [[each] for each in seatings]
        seed = mixed_seed(self.seed, number, 3)
        won = [
            (hand.estimate, hand.chips)
            for each in together
            for hand in self._play(place, Random(seed), each)
        ]
        aivat, plain = (scale * (one - two) for one, two in zip(*won, strict=True))
        return Pair(number, aivat, plain, place.at.real.street, weight)

    # One hand --------------------------------------------------------------------------------
    def _play(self, place: _Place, random: Random, seatings: Sequence[Seats]) -> list[_Hand]:
        """Hands from a public state on, one for each seating, all with the same actions and cards.

        What happens is drawn from the mean of the hands' probabilities, and weighted by each one's
        own. Agents that do nearly the same have nearly the same luck then, which cancels.
        """
        hands = [_Hand(seats, place) for seats in seatings]
        live = hands
        while live and not live[0].place.at.real.is_over:
            if live[0].place.ready:
                self._act(live, random)
            else:
                self._deal(live, random)
            live = [hand for hand in live if hand.weight > 0]
        for hand in live:
            hand.estimate += hand.weight * self._paid(hand.place, random)
            hand.chips = hand.weight * self._won(hand.place, random)
        return hands

    def _act(self, live: Sequence[_Hand], random: Random) -> None:
        """One action of the player to act."""
        p, often, known = live[0].place.at.real.player, dict[str, float](), []
        for hand in live:
            children = self._children(hand.place, self._policy(hand.seats[p], hand.place))
            values = self._values(hand.place, children, hand.seats)
            known.append((children, values))
            for name, share in self._often(children, values).items():
                often[name] = often.get(name, 0.0) + hand.weight * share
        action = self._choice(often, random)
        drawn = often[action] / sum(often.values())
        for hand, (children, values) in zip(live, known, strict=True):
            mean = _mean((children[name][1], value) for name, (value, _) in values.items())
            if action not in values:  # it is not on this line any more
                hand.estimate, hand.weight = hand.estimate + hand.weight * mean, 0.0
                continue
            likely = children[action][1] / sum(share for _, share in children.values()) / drawn
            hand.estimate += hand.weight * (mean - likely * values[action][0])
            hand.weight, hand.place = hand.weight * likely, children[action][0]
            for agent in hand.seats:
                agent.observe(Event(p, action))

    def _deal(self, live: Sequence[_Hand], random: Random) -> None:
        """The cards of the next street."""
        weights = [hand.weight for hand in live]
        one = live[0] if len(live) == 1 else random.choices(live, weights)[0]
        cards = self._cards(one.place, random)
        after = [self._next(hand.place, cards) for hand in live]
        chances = [
            self._mass(there) / self._mass(hand.place)
            for there, hand in zip(after, live, strict=True)
        ]
        drawn = float(np.dot(weights, chances) / sum(weights))
        for hand, chance in zip(live, chances, strict=True):
            likely = chance / drawn
            hand.estimate += hand.weight * self._luck_of_cards(hand.place, cards, likely)
            hand.weight, hand.place = (
                hand.weight * likely,
                self._dealt(hand.place, cards, hand.seats),
            )

    def _values(self, place: _Place, children: Children, seats: Seats) -> Values:
        """The values after all actions that may be taken."""
        found, total = Values(), sum(share for _, share in children.values())
        responds = isinstance(seats[place.at.real.player], LocalBestResponse)
        for name, (child, share) in children.items():
            if share > 0:
                asked = responds and kind_of(name) == "raise" and share > SMALL * total
                found[name] = (
                    self._value_of_bet(child, name, seats) if asked else self._value(child)
                )
        return found

    def _value_of_bet(self, place: _Place, bet: str, seats: Seats) -> Value:
        """The value after a bet of LBR. LBR has asked for the answer to it, so that is known."""
        p = place.at.real.player
        agent = copy.copy(seats[p])
        agent.observe(Event(1 - p, bet))
        children = self._children(place, self._asked(agent, place)).values()
        found = [(share, *self._value(child)) for child, share in children if share > 0]
        mean = _mean((share, value) for share, value, _ in found)
        return mean, all(exact for _, _, exact in found)

    def _value(self, place: _Place) -> Value:
        """What player 0 wins: exactly where the hand is over, otherwise if both follow the values.

        Before the flop, where the same ranges come again in every deal, values are kept.
        """
        real, more = place.at.real, self.final - len(place.board)
        if real.is_over and (not real.is_showdown or more <= 2):
            return self._paid(place), True
        if place.board:
            boards = self.values.runouts(place.board, self._many(place.board))
            return self.values.sums(place.at, boards, place.ranges).mean, False
        key = str(real), place.ranges[0].tobytes(), place.ranges[1].tobytes()
        if key not in self.preflop:
            boards = self.values.runouts((), BEFORE)
            self.preflop[key] = self.values.sums(place.at, boards, place.ranges).mean
        return self.preflop[key], False

    def _policy(self, agent: Agent, place: _Place) -> Policy:
        """What an agent does with each hand of the deck; 0 with hands that it cannot have."""
        key = id(agent), str(place.at.real)
        if key in self.early:
            return self.early[key]
        policy = self._asked(agent, place)
        abstract = place.at.waiting
        if not place.board and abstract is not None and str(abstract) == key[1]:
            self.early[key] = policy  # nothing was translated, which an agent may do by chance
        return policy

    def _asked(self, agent: Agent, place: _Place) -> Policy:
        real = place.at.real
        held = np.flatnonzero(place.ranges[real.player] * self._facing(place, real.player))
        name = partial(self.game.infoset_name, board=place.board, betting=real)
        names = OnDemand(self.deck.num_hands, name)
        found = policy_of(agent, [names[k] for k in held.tolist()], self.game.actions(real))
        if found is None:
            raise SubgameError(f"The strategy of '{agent.name}' is not known for every hand.")
        out = np.zeros((self.deck.num_hands, len(found.actions)))
        out[held] = found.probabilities
        return Policy(found.actions, out)

    def _facing(self, place: _Place, p: int) -> Floats:
        """[hand] the reach of the other player's hands that each hand of player `p` may meet."""
        return self.deck.compatible(place.board) * self._met(place.ranges[1 - p])

    def _met(self, reach: Floats) -> Floats:
        """[hand] the reach of hands that share no card with a hand, as `Deck.facing`."""
        low, high = self.deck.hands.T
        cards = np.bincount(low, reach, self.deck.size) + np.bincount(high, reach, self.deck.size)
        found: Floats = reach.sum() - cards[low] - cards[high] + reach
        return np.maximum(found, 0.0)

    def _often(self, children: Children, values: Values) -> dict[str, float]:
        """How often each action is drawn.

        That is in proportion to how likely it is with all hands of the range, times the pot that
        follows; actions whose value is exact are drawn less often.
        """
        often = {
            name: children[name][1] * float(children[name][0].at.real.pot) * (KNOWN if exact else 1)
            for name, (_, exact) in values.items()
        }
        total = sum(often.values())
        return {name: share / total for name, share in often.items()}

    def _choice(self, often: dict[str, float], random: Random) -> str:
        return draw(random, tuple(often), list(often.values()))

    def _pair(self, place: _Place, random: Random) -> tuple[int, int]:
        """The hands of both players, by how likely they are."""
        every = range(self.deck.num_hands)
        weight = place.ranges[0] * self._facing(place, 0)
        one = random.choices(every, weight.tolist())[0]
        two = random.choices(every, (place.ranges[1] * self.deck.disjoint[one]).tolist())[0]
        return one, two

    def _rest(self, place: _Place, hands: tuple[int, int], count: int, random: Random) -> Board:
        """The next cards, when both players hold these hands."""
        taken = {*place.board, *self.deck.hands[list(hands)].ravel().tolist()}
        return tuple(random.sample([c for c in range(self.deck.size) if c not in taken], count))

    def _children(self, place: _Place, policy: Policy) -> Children:
        """By action: what follows, and how likely it is, up to a factor."""
        p, out = place.at.real.player, {}
        for action, row in zip(policy.actions, policy.probabilities.T, strict=True):
            reach = place.ranges[p] * row
            ranges = (reach, place.ranges[1]) if p == 0 else (place.ranges[0], reach)
            there = self.values.after(place.at, action)
            share = float(reach @ self._facing(place, p))
            out[action] = _Place(there, place.board, ranges), share
        return out

    # Cards -----------------------------------------------------------------------------------
    def _many(self, board: Board) -> int:
        """How many whole boards are looked at."""
        return self.boards[0] if self.final - len(board) > 1 else self.boards[1]

    def _mass(self, place: _Place) -> float:
        """The reach of all pairs of hands that share no card."""
        return float(place.ranges[0] @ self._met(place.ranges[1]))

    def _next(self, place: _Place, cards: Board) -> _Place:
        board = (*place.board, *cards)
        free = self.deck.compatible(board)
        return _Place(place.at, board, (place.ranges[0] * free, place.ranges[1] * free))

    def _cards(self, place: _Place, random: Random) -> Board:
        """The cards that are dealt next, by how likely they are."""
        count = BOARD_CARDS[place.at.real.street] - len(place.board)
        return self._rest(place, self._pair(place, random), count, random)

    def _dealt(self, place: _Place, cards: Board, agents: Sequence[Agent]) -> _Place:
        for agent in agents:
            agent.observe(Event(CHANCE, self.deck.name(cards)))
        return self._next(place, cards)

    def _luck_of_cards(self, place: _Place, cards: Board, likely: float) -> float:
        """The mean of the values after all cards that may come, minus that after those that do.

        The latter counts as often as the cards are `likely` over how often they are drawn.
        """
        if len(cards) > 1:  # of the flop, luck stays in
            return 0.0
        total = mean = actual = 0.0
        for card in range(self.deck.size):
            if card in place.board:
                continue
            there = self._next(place, (card,))
            share = self._mass(there)
            if share <= 0:
                continue
            boards = self.values.runouts(there.board, self.boards[2])
            value = self.values.sums(there.at, boards, there.ranges).mean
            total, mean = total + share, mean + share * value
            actual = value if (card,) == cards else actual
        return mean / total - likely * actual

    def _paid(self, place: _Place, random: Random | None = None) -> float:
        """What a hand that is over pays player 0, over all hands and cards to come."""
        if not place.at.real.is_showdown:
            return float(place.at.real.net()[0])
        more = self.final - len(place.board)
        if more > 2:  # too many boards: one pair of hands and one board are drawn
            assert random is not None
            return self._won(place, random)
        if more == 0:
            return self.values.sums(place.at, [place.board], place.ranges).mean
        ahead = mean_ahead(place.board, self.final, self.deck)
        won = float(place.ranges[0] @ ahead @ place.ranges[1])
        return float(place.at.real.at_stake) * won / float(place.ranges[0] @ self._facing(place, 0))

    def _won(self, place: _Place, random: Random) -> float:
        """What one pair of hands pays player 0."""
        real = place.at.real
        if not real.is_showdown:
            return float(real.net()[0])
        one, two = self._pair(place, random)
        rest = self._rest(place, (one, two), self.final - len(place.board), random)
        rank = self.values.ranks((*place.board, *rest))
        return float(real.at_stake) * float(np.sign(int(rank[one]) - int(rank[two])))


def _mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The mean of values with weights."""
    weights, values = zip(*weighted, strict=True)
    return float(np.dot(weights, values) / sum(weights))


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

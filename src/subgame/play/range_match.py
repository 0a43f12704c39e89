"""A match of hold'em between two agents whose strategies are both known, estimated by AIVAT.

Burch, Schmid, Moravčík & Bowling 2018. Both agents are asked what they do with every hand, so both
players' ranges are known at every public state, and no private card is left to luck: a hand that is
over pays the mean over all pairs of hands that both would have played so, and both players' actions
and the cards that are dealt are corrected (`subgame.play.aivat.Tally`).

Each deal is played twice, with the seats exchanged (duplicate). As long as both agents do the same
with every hand, both hands of the pair are one; from the first difference on they are two. What
would have followed without the difference cancels. Two agents with the same strategy differ by
exactly 0, and agents that differ from the turn on have no luck of the streets before. Afterwards
both hands are played on one line with the same cards, as far as both may take it.

Actions are drawn in proportion to their probability times the chips that are still played for, and
results are weighted in return. Values of actions that end the hand are exact, so those are drawn
less often; so are bets of LBR to which the answer is mostly a fold.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.numba.strengths import mean_ahead
from subgame.errors import SubgameError
from subgame.games.actions import kind_of
from subgame.games.base import CHANCE
from subgame.games.holdem.evaluate import beaten, dense_ranks, rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.play.agent import Agent, Event, Policy, draw
from subgame.play.aivat import Tally, ValueFunction, range_policy, weighted_mean
from subgame.play.lbr import LocalBestResponse
from subgame.play.match import mixed_seed
from subgame.refine.ranges.reached import ReachedRanges

Board = tuple[int, ...]
Floats = NDArray[np.float64]
Seats = tuple[Agent, Agent]
SAME = 1e-9
"""Probabilities that differ by less are the same."""
KNOWN = 0.1
"""The share of the pot that counts where the hand is over, so that its value is exact."""
SMALL = 1e-3
"""Bets that are less likely have their value without the answer to them."""


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


Children = dict[str, tuple[ReachedRanges, float]]
"""By action: what follows, and how likely it is, up to a factor."""


class Value(NamedTuple):
    """The value of a public state."""

    won: float
    """What player 0 wins."""
    chips: float
    """What is still played for, on average: the pot; less where it is known who wins it."""


Values = dict[str, Value]


@dataclass
class RangeHand:
    """A hand that is being played, with both players' ranges."""

    seats: Seats
    here: ReachedRanges
    tally: Tally = field(default_factory=Tally)
    """Of what player 0 wins."""
    chips: float = 0.0
    """What one pair of hands pays player 0, weighted."""


class RangeMatch:
    """A match of two agents that know their strategies, deal by deal.

    `values` is any value function; `BlueprintValues` suits whole hold'em.
    As long as both agents do the same, no action is drawn that ends the hand, since such pairs
    differ by nothing. So time goes into large pots, where most is won and lost.

    >>> from subgame.blueprints.recipe import BlueprintRecipe
    >>> from subgame.blueprints.stored import StoredBlueprint
    >>> from subgame.blueprints.training import Trainer
    >>> from subgame.play.agent import Always
    >>> from subgame.play.blueprint_values import BlueprintValues
    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: a / cap 1", (None, 6, 6, 6), 400, **cards)
    >>> values = BlueprintValues(StoredBlueprint.of(Trainer(recipe)))
    >>> RangeMatch(recipe.game, (Always("call"), Always("call")), values).pair(0).aivat
    0.0
    """

    def __init__(
        self,
        game: Holdem,
        agents: Sequence[Agent],
        values: ValueFunction,
        *,
        seed: int = 0,
    ) -> None:
        self.game, self.values, self.seed = game, values, seed
        self.deck, self.final = game.deck, BOARD_CARDS[game.rules.last_street]
        self.early: dict[tuple[int, str], Policy] = {}
        """Policies before the flop, by agent and betting, which are the same in every deal."""
        one, two = agents
        self.seats = tuple((copy.copy(one), copy.copy(two)) for _ in (0, 1))
        """By seat: both agents, who sit there in turn."""

    def pair(self, number: int) -> Pair:
        """Play one deal in both seatings."""
        random, every = Random(mixed_seed(self.seed, number, 0)), sum(self.seats, ())
        for seat, both in enumerate(self.seats):
            for agent in both:
                agent.begin(seat, mixed_seed(self.seed, number, 1 + seat))
        here, weight = ReachedRanges.start(self.game), 1.0
        while True:
            if here.player == CHANCE:
                here = self._dealt(here, self._cards(here, random), every)
                continue
            p = here.player
            first, second = (self._policy(agent, here) for agent in self.seats[p])
            if not _same(first, second):
                break
            children = self._children(here, first)
            pots = {
                action: 0 if child.is_over else float(child.betting.pot)
                for action, (child, _) in children.items()
            }
            shares = {action: share * pots[action] for action, (_, share) in children.items()}
            if sum(shares.values()) == 0:  # the hand is over, for both alike
                return Pair(number, 0.0, 0.0, None)
            action = draw(random, tuple(shares), list(shares.values()))
            total = sum(share for _, share in children.values())
            weight *= sum(shares.values()) / total / pots[action]
            here = children[action][0]
            for agent in every:
                agent.observe(Event(p, action))
        scale = self.game.unit[1] * weight / 2
        seatings = [(self.seats[0][k], self.seats[1][1 - k]) for k in (0, 1)]
        # The first agent in seat 0, then in seat 1; on one line while both may do the same.
        shared = "c" in first.actions and "c" in second.actions
        lines = [seatings] if shared else [[seating] for seating in seatings]
        seed = mixed_seed(self.seed, number, 3)
        won = [
            (hand.tally.estimate, hand.chips)
            for line in lines
            for hand in self._play(here, Random(seed), line)
        ]
        aivat, plain = (scale * (one - two) for one, two in zip(*won, strict=True))
        return Pair(number, aivat, plain, here.betting.street, weight)

    # One hand --------------------------------------------------------------------------------
    def _play(
        self, here: ReachedRanges, random: Random, seatings: Sequence[Seats]
    ) -> list[RangeHand]:
        """Hands from a public state on, one for each seating, all with the same actions and cards.

        What happens is drawn from the mean of the hands' probabilities, and weighted by each one's
        own. Agents that do nearly the same have nearly the same luck then, which cancels.
        """
        hands = [RangeHand(seats, here) for seats in seatings]
        live = hands
        while live and not live[0].here.is_over:
            if live[0].here.player == CHANCE:
                self._deal(live, random)
            else:
                self._act(live, random)
            live = [hand for hand in live if hand.tally.weight > 0]
        for hand in live:
            hand.tally.end(self._paid(hand.here, random))
            hand.chips = hand.tally.weight * self._won(hand.here, random)
        return hands

    def _act(self, live: Sequence[RangeHand], random: Random) -> None:
        """One action of the player to act."""
        p, often, known = live[0].here.player, dict[str, float](), []
        for hand in live:
            children = self._children(hand.here, self._policy(hand.seats[p], hand.here))
            values = self._values(hand.here, children, hand.seats)
            known.append((children, values))
            for name, share in self._often(children, values).items():
                often[name] = often.get(name, 0.0) + hand.tally.weight * share
        action = self._choice(often, random)
        drawn = often[action] / sum(often.values())
        for hand, (children, values) in zip(live, known, strict=True):
            mean = weighted_mean((children[name][1], value.won) for name, value in values.items())
            if action not in values:  # it is not on this line any more
                hand.tally.end(mean)
                hand.tally.weight = 0.0
                continue
            ratio = children[action][1] / sum(share for _, share in children.values()) / drawn
            hand.tally.correct(mean, values[action].won, ratio)
            hand.here = children[action][0]
            for agent in hand.seats:
                agent.observe(Event(p, action))

    def _deal(self, live: Sequence[RangeHand], random: Random) -> None:
        """The cards of the next street."""
        weights = [hand.tally.weight for hand in live]
        one = live[0] if len(live) == 1 else random.choices(live, weights)[0]
        cards = self._cards(one.here, random)
        name = self.deck.name(cards)
        chances = [self._mass(hand.here.child(name)) / self._mass(hand.here) for hand in live]
        drawn = float(np.dot(weights, chances) / sum(weights))
        for hand, chance in zip(live, chances, strict=True):
            mean, value = self._around(hand.here, cards)
            hand.tally.correct(mean, value, chance / drawn)
            hand.here = self._dealt(hand.here, cards, hand.seats)

    def _around(self, here: ReachedRanges, cards: Board) -> tuple[float, float]:
        """The mean of the values after all cards that may come, and that after those that do."""
        if len(cards) > 1:  # of the flop, luck stays in
            return 0.0, 0.0
        after = {}
        for card in range(self.deck.size):
            if card not in here.board:
                there = here.child(self.deck.name((card,)))
                share = self._mass(there)
                if share > 0:
                    after[card] = share, self.values.mean_after_deal(there)
        return weighted_mean(after.values()), after.get(cards[0], (0.0, 0.0))[1]

    def _values(self, here: ReachedRanges, children: Children, seats: Seats) -> Values:
        """The values after all actions that may be taken."""
        values, total = Values(), sum(share for _, share in children.values())
        for name, (child, share) in children.items():
            if share > 0:
                asked = kind_of(name) == "raise" and share > SMALL * total
                asked = asked and _is_answered_at_once(child, seats)
                values[name] = (
                    self._value_of_bet(child, name, seats) if asked else self._value(child)
                )
        return values

    def _value_of_bet(self, here: ReachedRanges, bet: str, seats: Seats) -> Value:
        """The value after a bet, by the answer to it."""
        p = here.player
        agent = copy.copy(seats[p])
        agent.observe(Event(1 - p, bet))
        children = self._children(here, self._asked(agent, here)).values()
        values = [(share, self._value(child)) for child, share in children if share > 0]
        return Value(
            weighted_mean((share, value.won) for share, value in values),
            weighted_mean((share, value.chips) for share, value in values),
        )

    def _value(self, here: ReachedRanges) -> Value:
        """What player 0 wins: exactly where the hand is over, otherwise by the value function."""
        betting = here.betting
        if here.is_over and (not betting.is_showdown or self.final - len(here.board) <= 2):
            return Value(self._paid(here), KNOWN * 2 * float(betting.at_stake))
        return Value(self.values.mean(here), float(betting.pot))

    def _policy(self, agent: Agent, here: ReachedRanges) -> Policy:
        """What an agent does with each hand of the deck; 0 with hands that it cannot have."""
        key = id(agent), str(here.betting)
        if key in self.early:
            return self.early[key]
        policy = self._asked(agent, here)
        if not here.board and self.values.knows(here):
            self.early[key] = policy
        return policy

    def _asked(self, agent: Agent, here: ReachedRanges) -> Policy:
        policy = range_policy(agent, here)
        if policy is None:
            raise SubgameError(f"The strategy of '{agent.name}' is not known for every hand.")
        return policy

    def _facing(self, here: ReachedRanges, p: int) -> Floats:
        """[hand] the reach of the other player's hands that each hand of player `p` may meet."""
        return self.deck.compatible(here.board) * self.deck.facing(here.reach[1 - p])

    def _often(self, children: Children, values: Values) -> dict[str, float]:
        """How often each action is drawn.

        That is in proportion to how likely it is with all hands of the range, times the chips that
        are played for afterwards.
        """
        often = {name: children[name][1] * value.chips for name, value in values.items()}
        total = sum(often.values())
        return {name: share / total for name, share in often.items()}

    def _choice(self, often: dict[str, float], random: Random) -> str:
        return draw(random, tuple(often), list(often.values()))

    def _pair(self, here: ReachedRanges, random: Random) -> tuple[int, int]:
        """The hands of both players, by how likely they are."""
        every = range(self.deck.num_hands)
        weight = here.reach[0] * self._facing(here, 0)
        one = random.choices(every, weight.tolist())[0]
        two = random.choices(every, (here.reach[1] * self.deck.disjoint[one]).tolist())[0]
        return one, two

    def _rest(
        self, here: ReachedRanges, hands: tuple[int, int], count: int, random: Random
    ) -> Board:
        """The next cards, when both players hold these hands."""
        taken = {*here.board, *self.deck.hands[list(hands)].ravel().tolist()}
        return tuple(random.sample([c for c in range(self.deck.size) if c not in taken], count))

    def _children(self, here: ReachedRanges, policy: Policy) -> Children:
        """By action: what follows, and how likely it is, up to a factor."""
        p, facing, out = here.player, self._facing(here, here.player), {}
        for action, row in zip(policy.actions, policy.probabilities.T, strict=True):
            reach = here.reach[p] * row
            ranges = (reach, here.reach[1]) if p == 0 else (here.reach[0], reach)
            out[action] = here.child(action).with_reach(ranges), float(reach @ facing)
        return out

    # Cards -----------------------------------------------------------------------------------
    def _mass(self, here: ReachedRanges) -> float:
        """The reach of all pairs of hands that share no card."""
        return self.deck.pairs(*here.reach)

    def _cards(self, here: ReachedRanges, random: Random) -> Board:
        """The cards that are dealt next, by how likely they are."""
        count = BOARD_CARDS[here.betting.street] - len(here.board)
        return self._rest(here, self._pair(here, random), count, random)

    def _dealt(self, here: ReachedRanges, cards: Board, agents: Sequence[Agent]) -> ReachedRanges:
        name = self.deck.name(cards)
        for agent in agents:
            agent.observe(Event(CHANCE, name))
        return here.child(name)

    def _paid(self, here: ReachedRanges, random: Random | None = None) -> float:
        """What a hand that is over pays player 0, over all hands and cards to come."""
        betting, (one, two) = here.betting, here.reach
        if not betting.is_showdown:
            return float(betting.net()[0])
        more = self.final - len(here.board)
        if more > 2:  # too many boards: one pair of hands and one board are drawn
            assert random is not None
            return self._won(here, random)
        if more == 0:
            every = np.arange(self.deck.num_hands)
            ranks, _ = dense_ranks(rank_hands(here.board, self.deck)[None], every)
            rank = ranks.astype(np.int64)
            (beats,), (meets,) = beaten(np, rank, self.deck.hands, self.deck.size, two)
            return float(betting.at_stake) * float(one @ (2 * beats - meets) / (one @ meets))
        won = float(one @ mean_ahead(here.board, self.final, self.deck) @ two)
        return float(betting.at_stake) * won / float(one @ self._facing(here, 0))

    def _won(self, here: ReachedRanges, random: Random) -> float:
        """What one pair of hands pays player 0."""
        betting = here.betting
        if not betting.is_showdown:
            return float(betting.net()[0])
        one, two = self._pair(here, random)
        rest = self._rest(here, (one, two), self.final - len(here.board), random)
        rank = rank_hands((*here.board, *rest), self.deck)
        return float(betting.at_stake) * float(np.sign(int(rank[one]) - int(rank[two])))


def _is_answered_at_once(here: ReachedRanges, seats: Seats) -> bool:
    """Whether the answer to a bet is known, or takes no time.

    LBR has asked for the answer to a bet of its own. Where it faces an all-in itself, it asks
    nobody.
    """
    bettor, other = seats[1 - here.player], seats[here.player]
    if isinstance(bettor, LocalBestResponse):
        return True
    return isinstance(other, LocalBestResponse) and min(here.betting.behind) == 0


def _same(one: Policy, two: Policy) -> bool:
    """Whether two policies are the same, whatever the order of their actions."""
    if one.actions == two.actions:
        return bool(np.abs(one.probabilities - two.probabilities).max(initial=0) < SAME)
    rows = [dict(zip(p.actions, p.probabilities.T, strict=True)) for p in (one, two)]
    none = np.zeros(len(one.probabilities))
    return all(
        np.abs(rows[0].get(name, none) - rows[1].get(name, none)).max(initial=0) < SAME
        for name in {*one.actions, *two.actions}
    )

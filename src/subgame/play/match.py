"""Matches: two agents, many hands, and what the difference between them is worth.

A hand's chance events depend on the match's seed and the hand's number alone. In a duplicate match
each deal is played twice with the seats exchanged, so that luck of the cards cancels, and the pair
of hands is one observation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game
from subgame.play.agent import Agent, Event, Watcher, asked, decided

Z95 = 1.959963984540054
"""A 95 % interval is this many standard errors to either side."""
MASK = (1 << 64) - 1


@dataclass(frozen=True)
class Hand:
    """A hand that was played: everything needed to replay it.

    >>> import subgame as sg
    >>> from subgame.play.agent import Always
    >>> hand = play_hand(sg.games.load("kuhn"), (Always("call"), Always("call")), number=0, seed=1)
    >>> [action for player, action in hand.moves if player >= 0], abs(hand.won)
    (['p', 'p'], 1.0)
    """

    number: int
    seats: tuple[int, int]
    """Which agent (0 or 1) sat in seat 0 and seat 1."""
    moves: tuple[tuple[int, str], ...]
    """(player or `CHANCE`, action) from the start to the end."""
    won: float
    """What agent 0 won, in chips."""
    policies: tuple[tuple[tuple[str, ...], ...], ...] = ()
    """[agent][own decision] what it would have done with every hand, packed by
    `subgame.play.scoring`; empty where nothing was recorded."""
    estimate: float | None = None
    """What agent 0 won by AIVAT, in chips."""

    def record(self) -> dict[str, object]:
        """The hand as a line of a log."""
        record: dict[str, Any] = {
            "hand": self.number,
            "seats": list(self.seats),
            "moves": [list(move) for move in self.moves],
            "won": self.won,
        }
        if self.policies:
            record["policies"] = [[list(kept) for kept in agent] for agent in self.policies]
        if self.estimate is not None:
            record["aivat"] = self.estimate
        return record

    @classmethod
    def of(cls, record: dict[str, Any]) -> Hand:
        """The hand that a line of a log tells of."""
        try:
            moves = tuple((int(player), str(action)) for player, action in record["moves"])
            one, two = record["seats"]
            policies = tuple(
                tuple(tuple(map(str, kept)) for kept in agent)
                for agent in record.get("policies", ())
            )
            hand, won, estimate = record["hand"], record["won"], record.get("aivat")
            estimate = None if estimate is None else float(estimate)
            return cls(int(hand), (int(one), int(two)), moves, float(won), policies, estimate)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise SubgameError(f"The record {record!r:.100} is not that of a hand.") from None


def mixed_seed(*numbers: int) -> int:
    """A seed from several numbers (splitmix64), so that neighbours have nothing in common."""
    z = 0x9E3779B97F4A7C15
    for number in numbers:
        z = (z + (number & MASK)) * 0x9E3779B97F4A7C15 & MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        z ^= z >> 31
    return z


def play_hand(
    game: Game, agents: Sequence[Agent], number: int, seed: int = 0, duplicate: bool = False
) -> Hand:
    """Play hand `number` of a match. Agents change seats from hand to hand.

    The first agent is player 0 in hands of even number, and player 1 in those of odd number;
    `Hand.seats` says it, and `Hand.won` is what the first agent wins. In a duplicate match hands 2k
    and 2k + 1 have the same deal with the seats exchanged.

    >>> import subgame as sg
    >>> from subgame.play.agent import Uniform
    >>> hand = play_hand(sg.games.load("kuhn"), (Uniform(), Uniform()), number=0, seed=7)
    >>> len(hand.moves) >= 4, hand.won in (-2, -1, 1, 2)
    (True, True)
    """
    seats = (number % 2, 1 - number % 2)
    seated = (agents[seats[0]], agents[seats[1]])
    deal = number // 2 if duplicate else number
    chance = Random(mixed_seed(seed, deal, 0))
    for seat, agent in enumerate(seated):
        asked(agent, number, 1, agent.begin, seat, mixed_seed(seed, number, 1 + seat))
    decisions = [1, 1]
    state, moves = game.new_initial_state(), []
    watching = [agent for agent in seated if isinstance(agent, Watcher)]
    while (player := state.current_player()) != TERMINAL:
        if player == CHANCE:
            action = state.sample_chance(chance)
        else:
            agent, legal = seated[player], state.legal_actions()
            infoset = state.information_state(player) or ""
            action = decided(agent, number, decisions[player], infoset, legal)
            decisions[player] += 1
            if action not in legal and not state.allows(action):
                raise SubgameError(
                    f"The agent '{agent.name}' did '{action}' in hand {number}, which is not "
                    f"legal there; the legal actions are {', '.join(legal)}."
                )
        moves.append((player, action))
        if state.is_public(action):
            event = Event(player, action)
            for agent, at in zip(seated, decisions, strict=True):
                asked(agent, number, at, agent.observe, event)
        state = state.child(action)
        for watcher in watching:
            watcher.watch(number, state)
    won = state.returns()[seats.index(0)]
    return Hand(number, seats, tuple(moves), won, kept_policies(agents))


def kept_policies(agents: Sequence[Agent]) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """[agent][own decision] the policies that agents have kept in this hand; see `Hand`."""
    kept = tuple(tuple(agent.recorded) for agent in agents)
    return kept if any(kept) else ()


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, over independent observations."""

    mean: float
    interval95: float
    """Half the width: the mean plus or minus this."""
    observations: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """The estimate from observations; the interval is infinite with fewer than two.

        >>> str(Estimate.of([1.0, 2.0, 3.0, 2.0]))
        '+2.0 ± 0.8'
        """
        n = len(values)
        mean = math.fsum(values) / n if n else 0.0
        if n < 2:
            return cls(mean, math.inf, n)
        variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
        return cls(mean, Z95 * math.sqrt(variance / n), n)

    def __str__(self) -> str:
        known = f" ± {self.interval95:.1f}" if math.isfinite(self.interval95) else ""
        return f"{self.mean:+.1f}{known}"


def observations(hands: Sequence[float], duplicate: bool) -> Iterator[float]:
    """The independent observations of a match: hands, or the mean of each pair of duplicates."""
    if not duplicate:
        yield from hands
        return
    for one, two in zip(hands[::2], hands[1::2], strict=False):
        yield (one + two) / 2

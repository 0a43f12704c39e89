"""What a match was won and lost by: hands in groups, by street and by line of play."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from subgame.games.base import CHANCE, Game
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.sizes import STREETS
from subgame.play.match import Estimate, Hand

LINES = 10
"""The commonest lines that a match keeps."""


@dataclass(frozen=True)
class Group:
    """Some hands of a match, and what the first agent won in them."""

    name: str
    result: Estimate

    @property
    def hands(self) -> int:
        """How many hands there are."""
        return self.result.observations

    def share(self, hands: int) -> float:
        """What the group adds to the mean over all `hands` of the match."""
        return self.result.mean * self.hands / hands

    def as_dict(self, hands: int) -> dict[str, object]:
        """The group as `subgame match --json` prints it."""
        return {
            "name": self.name,
            "hands": self.hands,
            "mean": self.result.mean,
            "share": self.share(hands),
        }


def by_street(game: Game, hands: Sequence[Hand], won: Sequence[float]) -> tuple[Group, ...]:
    """Hands by the street of the last action, in order.

    >>> import subgame as sg
    >>> moves = ((-1, "Js"), (-1, "Ks"), (0, "c"), (1, "c"), (-1, "Kh"), (0, "c"), (1, "c"))
    >>> hand = Hand(0, (0, 1), moves, 1)
    >>> [group.name for group in by_street(sg.games.load("leduc"), [hand], [1.0])]
    ['round 2']
    """
    first = STREETS.index(game.rules.street) if isinstance(game, Holdem) else None

    def name(number: int) -> str:
        return f"round {number + 1}" if first is None else STREETS[first + number]

    groups = _grouped(_street, hands, won)
    return tuple(Group(name(k), Estimate.of(groups[k])) for k in sorted(groups))


def _street(hand: Hand) -> int:
    """How often chance moved between the first and the last action."""
    players = [player for player, _ in hand.moves]
    acted = [k for k, player in enumerate(players) if player != CHANCE]
    return sum(player == CHANCE for player in players[acted[0] : acted[-1]]) if acted else 0


def by_line(hands: Sequence[Hand], won: Sequence[float]) -> tuple[Group, ...]:
    """The commonest lines of play, by the players' actions."""

    def line(hand: Hand) -> str:
        return " ".join(action for player, action in hand.moves if player != CHANCE)

    groups = sorted(_grouped(line, hands, won).items(), key=lambda item: -len(item[1]))
    return tuple(Group(name, Estimate.of(values)) for name, values in groups[:LINES])


def _grouped(
    key: Callable[[Hand], Any], hands: Iterable[Hand], won: Iterable[float]
) -> dict[Any, list[float]]:
    out: dict[Any, list[float]] = {}
    for hand, value in zip(hands, won, strict=True):
        out.setdefault(key(hand), []).append(value)
    return out

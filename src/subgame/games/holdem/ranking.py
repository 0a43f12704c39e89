"""How five cards rank: which category beats which, and the straight in which the ace is low.

| ranking | what differs |
| --- | --- |
| ``standard`` | nothing: hold'em with 52 cards |
| ``short`` | a flush beats a full house, and A-6-7-8-9 is the lowest straight |
| ``short-trips`` | as ``short``, and three of a kind beat a straight |

``short`` is how short deck (6+ hold'em) is played today; ``short-trips`` is its older form.
"""

from __future__ import annotations

from dataclasses import dataclass

CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)


@dataclass(frozen=True)
class Ranking:
    """The categories from the weakest to the strongest, and the ranks of the lowest straight."""

    categories: tuple[str, ...] = CATEGORIES
    wheel: str = "A2345"

    def swapped(self, one: str, two: str) -> Ranking:
        """With two categories in each other's place."""
        places = {one: two, two: one}
        return Ranking(tuple(places.get(name, name) for name in self.categories), self.wheel)


_SHORT = Ranking(wheel="A6789").swapped("flush", "full house")
RANKINGS = {
    "standard": Ranking(),
    "short": _SHORT,
    "short-trips": _SHORT.swapped("straight", "three of a kind"),
}

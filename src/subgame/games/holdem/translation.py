"""Action translation: what a bet is taken for that a smaller game does not know.

Ganzfried & Sandholm 2013, "Action translation in extensive-form games with large action spaces:
axioms, paradoxes, and the pseudo-harmonic mapping". A bet x of the opponent between the sizes
A < B that our game knows, all in fractions of the pot, is taken for A with probability f_{A,B}(x)
and for B otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.rules import Bet, Betting
from subgame.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TINY = 1e-9
"""Sizes closer than this are equal."""
UNLIKE = 1.5
"""By how much 1 + x may differ for a bet x and the one that it is taken for: a bet of twice the pot
may be taken for one of the pot, which is to be called 1.5 times as often."""


def pseudo_harmonic(a: float, b: float, x: float) -> float:
    """Sec. 6: the only mapping by which x is called as often as 1 / (1 + x)."""
    return (b - x) * (1 + a) / ((b - a) * (1 + x))


def geometric(a: float, b: float, x: float) -> float:
    """Sec. 5.4, "Rand-Geo-1" (Schnizlein et al. 2009); 0 where a is 0: no bet is a check."""
    return a * (b - x) / (a * (b - x) + x * (x - a))


def geometric_squared(a: float, b: float, x: float) -> float:
    """Sec. 5.5, "Rand-Geo-2" (Tartanian4); the same median as `geometric`."""
    return a * (b + x) * (b - x) / ((b - a) * (x * x + a * b))


def arithmetic(a: float, b: float, x: float) -> float:
    """Sec. 5.2: linear in between."""
    return (b - x) / (b - a)


@dataclass(frozen=True)
class ActionMapping:
    """A way to take a bet for one we know.

    >>> mapping("pseudo-harmonic").lower(0, 1, 0.25), mapping("arithmetic").lower(0, 1, 0.25)
    (0.6, 0.75)
    """

    name: str
    share: Callable[[float, float, float], float]
    """f_{A,B}(x), for A < x < B."""
    randomized: bool = True
    """Otherwise A is chosen below the median, where f is 1/2, and B above it."""
    tie: float = 0.0
    """The probability of A at the very median of a deterministic mapping: 0 by the paper's text
    (Sec. 5.1), though the figures of its Table 3 are those of 1."""

    def lower(self, a: float, b: float, x: float) -> float:
        """The probability that x is taken for the smaller size a rather than for b."""
        if not (0 <= a < b and math.isfinite(b) and math.isfinite(x)):
            raise SubgameError(
                f"A bet x must lie between two sizes 0 <= A < B, not {a:g}, {b:g} at {x:g}."
            )
        if x <= a + TINY or x >= b - TINY:
            return float(x <= a + TINY)
        share = self.share(a, b, x)
        if self.randomized:
            return share
        return self.tie if abs(share - 0.5) <= TINY else float(share > 0.5)

    def spread(self, sizes: list[float], x: float) -> Iterator[tuple[int, float]]:
        """(which of the ascending `sizes`, probability): what a bet x is taken for."""
        for k, (a, b) in enumerate(pairwise(sizes)):
            if a <= x <= b:
                share = self.lower(a, b, x)
                yield from ((k + i, w) for i, w in enumerate((share, 1 - share)) if w > 0)
                return
        yield (0 if x < sizes[0] else len(sizes) - 1), 1.0


MAPPINGS: dict[str, ActionMapping] = {
    made.name: made
    for made in (
        ActionMapping("pseudo-harmonic", pseudo_harmonic),
        ActionMapping("geometric", geometric),
        ActionMapping("geometric-squared", geometric_squared),
        ActionMapping("arithmetic", arithmetic),
        ActionMapping("deterministic-pseudo-harmonic", pseudo_harmonic, randomized=False),
        ActionMapping("deterministic-geometric", geometric, randomized=False),
        ActionMapping("deterministic-arithmetic", arithmetic, randomized=False),
        # The nearest size is the one on our side of the middle: Sec. 5.1 under its plain name.
        ActionMapping("nearest", arithmetic, randomized=False),
    )
}


def mapping(name: str | ActionMapping) -> ActionMapping:
    """A mapping by name."""
    if isinstance(name, ActionMapping):
        return name
    if name not in MAPPINGS:
        raise did_you_mean("action mapping", str(name), MAPPINGS)
    return MAPPINGS[name]


def translated(bets: Sequence[Bet | None], bet: Bet | None, how: ActionMapping) -> dict[int, float]:
    """What an action of the opponent is taken for: the number of ours -> its probability.

    `bets` are the sizes of our actions, None for a fold. It is empty for a fold that we do not
    know.
    """
    if bet is None:
        return {k: 1.0 for k, ours in enumerate(bets) if ours is None}
    if bet.all_in:
        all_in = [k for k, ours in enumerate(bets) if ours is not None and ours.all_in]
        if all_in:
            return {all_in[0]: 1.0}
    known = sorted((ours.fraction, k) for k, ours in enumerate(bets) if ours is not None)
    spread = how.spread([size for size, _ in known], bet.fraction)
    return {known[i][1]: share for i, share in spread}


def is_unlike(bet: Bet | None, taken: Bet | None) -> bool:
    """Whether a bet is so unlike the one it is taken for that the answer to that is none to it.

    All-in is unlike any bet that is not, and the reverse.

    >>> is_unlike(Bet(2.0), Bet(1.0)), is_unlike(Bet(66.0, True), Bet(1.0))
    (False, True)
    """
    if bet is None or taken is None or bet.fraction == 0:
        return False
    ratio = (1 + bet.fraction) / (1 + taken.fraction)
    return bet.all_in != taken.all_in or max(ratio, 1 / ratio) > UNLIKE + TINY


def answer(bet: Bet | None, bets: Sequence[Bet | None]) -> int:
    """Which of the real actions, of these sizes, does what `bet` is in the smaller game."""
    passive = next(k for k, real in enumerate(bets) if real is not None and real.fraction == 0)
    if bet is None:
        return next((k for k, real in enumerate(bets) if real is None), passive)
    raises = [(k, real) for k, real in enumerate(bets) if real is not None and real.fraction > 0]
    if bet.fraction == 0 or not raises:
        return passive
    if bet.all_in:
        return max(raises, key=lambda item: (item[1].all_in, item[1].fraction))[0]
    return min(raises, key=lambda item: abs(item[1].fraction - bet.fraction))[0]


def real_action(real: Betting, bet: Bet | None) -> str:
    """The action that makes a bet of this size here: of the same fraction of the pot.

    All-in stays all-in, unless that is many times as large here.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> start = NoLimit().start()
    >>> real_action(start, Bet(1.0)), real_action(start, None)
    ('r300', 'f')
    >>> real_action(start, Bet(99.0, True)), real_action(start, Bet(1.0, True))
    ('r20000', 'r300')
    """
    if bet is None:
        return "f" if real.to_call else "c"
    if bet.fraction == 0:
        return "c"
    least, most = real.least_raise, real.most_raise
    if least is None or most is None:
        return "c"
    called = real.pot + real.to_call
    all_in = Bet(float((most - max(real.bets)) / called), all_in=True)
    shoves = bet.all_in and not is_unlike(all_in, bet)
    total = most if shoves else max(real.bets) + round(bet.fraction * called)
    return f"r{min(max(total, least), most)}"


def likelihood(probabilities: Floats, shares: Mapping[int, float]) -> Floats | None:
    """[hand] how likely an action is that is taken for several; None if it is taken for none.

    `probabilities` are [hand, action], `shares` those of `translated`.
    """
    if not shares:
        return None
    out: Floats = np.zeros(len(probabilities))
    for k, share in shares.items():
        out += share * probabilities[:, k]
    return out


def merged(actions: Sequence[str], probabilities: Floats) -> tuple[tuple[str, ...], Floats]:
    """Real actions once each, and [hand, action] the sums of their probabilities.

    >>> merged(("c", "r300", "r300"), np.array([[0.5, 0.25, 0.25]]))
    (('c', 'r300'), array([[0.5, 0.5]]))
    """
    names = tuple(dict.fromkeys(actions))
    sums: Floats = np.zeros((len(probabilities), len(names)))
    for k, action in enumerate(actions):
        sums[:, names.index(action)] += probabilities[:, k]
    return names, sums

"""Heads-up no-limit betting, chip by chip, without cards.

Player 0 is the big blind and acts first after the flop; player 1 is the button, posts the small
blind and acts first before the flop. An action is text: ``f`` folds, ``c`` checks or calls and
``r300`` bets or raises to a total of 300 chips on this street (as PokerKit and PHH count).

    >>> hand = NoLimit(stacks=(1000, 1000), blinds=(5, 10)).start().play("r30 c / c r40 f")
    >>> str(hand), hand.is_over, hand.net()
    ('r30c/cr40f', True, (-30, 30))
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.sizes import STREETS, Chips, Size, exact, street_number, tidy, unit_of

NOBODY = -1
_RAISE = re.compile(r"r(\d{1,15}(?:\.\d{1,9})?)")
_ACTIONS = re.compile(r"[^\s,/]\d*(?:\.\d+)?")


def total_of(action: str) -> Chips:
    """The total of a bet or raise.

    >>> print(total_of("r50"), total_of("r6.5"))
    50 6.5
    """
    return _chips(action[1:])


def _chips(text: str) -> Chips:
    return tidy(Fraction(text)) if "." in text else int(text)


@dataclass(frozen=True, slots=True)
class NoLimit:
    """How a hand starts: before the flop with blinds, or later with a pot already in the middle.

    >>> start = NoLimit(stacks=(1000, 1000), blinds=(5, 10)).start()
    >>> start.player, start.pot, start.play("r30").to_call
    (1, 15, 20)
    """

    stacks: tuple[Chips, Chips] = (20000, 20000)  # of player 0 and 1, behind, before blinds
    blinds: tuple[Chips, Chips] = (50, 100)  # the small and the big one
    street: str = "preflop"
    pot: Chips = 0  # values count half of it as each player's; 0 before the flop
    last: str = "river"  # the last street that is dealt and bet on: "flop" for flop hold'em
    rake: float = 0.0  # the share of the called pot that nobody wins, once a flop is dealt
    rake_cap: float = math.inf  # the most chips of it

    def __post_init__(self) -> None:
        if not street_number(self.street) <= street_number(self.last) > 0:
            raise SubgameError(
                f"A hand that starts on the {self.street} cannot have its last street on the "
                f"{self.last}; the last street must be the flop or later."
            )
        if min(self.stacks) < 0 or (self.street == "preflop" and min(self.stacks) == 0):
            raise SubgameError(
                f"Stacks must be at least 0 chips, and above 0 before the flop, not {self.stacks}."
            )
        if not 0 <= self.blinds[0] <= self.blinds[1] or self.blinds[1] <= 0:
            raise SubgameError(
                f"The blinds must be the small one and then the big one, not {self.blinds}."
            )
        if self.pot < 0 or (self.pot > 0) == (self.street == "preflop"):
            raise SubgameError(
                f"The pot must be 0 before the flop and above 0 later; on the {self.street} it "
                f"cannot be {self.pot}."
            )
        if not (0 <= self.rake < 1 and self.rake_cap >= 0):
            raise SubgameError(
                f"The rake must be a share from 0 to below 1 and its cap at least 0 chips, not "
                f"{self.rake} and {self.rake_cap}."
            )

    @property
    def raked(self) -> bool:
        """Whether chips are taken from the pot, so that the game is not zero-sum."""
        return self.rake > 0 and self.rake_cap > 0

    @property
    def half(self) -> Chips:
        """Half of the pot at the start, which each player's value counts as paid."""
        pot = self.pot
        return pot // 2 if pot % 2 == 0 else tidy(Fraction(pot) / 2)

    @property
    def last_street(self) -> int:
        """The last street, as an index into STREETS."""
        return STREETS.index(self.last)

    @lru_cache(maxsize=256)  # noqa: B019, rules are few
    def start(self) -> Betting:
        """The hand before its first action, blinds posted."""
        half = self.half
        if self.street == "preflop":
            bets = (min(self.blinds[1], self.stacks[0]), min(self.blinds[0], self.stacks[1]))
            first = Betting(self, 0, (0, 0), bets, player=1, last_raise=self.blinds[1])
        else:
            street = STREETS.index(self.street)
            first = Betting(self, street, (half, half), (0, 0), player=0)
        # A player all-in on the blind, or earlier, may leave nothing to decide.
        idle = 0 in first.behind and first.to_call == 0
        return replace(first, player=NOBODY) if idle else first


class Bet(NamedTuple):
    """How large an action is: what action translation looks at."""

    fraction: float
    """Of the pot once the bet before it is called; 0 for a check or a call."""
    all_in: bool = False


@dataclass(frozen=True, slots=True)
class Betting:
    """The state of the betting. Immutable: `child` gives the next state.

    The hand is over where ``player`` is `NOBODY`: somebody folded, or there is a showdown, for
    which the board may still have to be dealt out (``street`` is the last one that was bet on).
    """

    rules: NoLimit
    street: int  # an index into STREETS
    staked: tuple[Chips, Chips]  # chips of earlier streets
    bets: tuple[Chips, Chips]  # chips of this street
    player: int  # who acts, or NOBODY
    last_raise: Chips = 0  # by how much the last bet or raise of this street went up
    raises: int = 0  # bets and raises on this street
    checked: bool = False  # whether this street's first action was a check or, preflop, a call
    folded: int = NOBODY
    history: tuple[str, ...] = ()  # the actions, "/" between streets
    aggressor: int = NOBODY  # who made the last bet or raise of the street before
    behind: tuple[Chips, Chips] = field(init=False, repr=False, compare=False)
    """The chips each player has left."""
    _last: tuple[str, Betting] | None = field(init=False, repr=False, compare=False)
    """The last action that `child` was asked for, and its answer: agents follow the same hand."""

    def __post_init__(self) -> None:
        half, stacks, staked, bets = self.rules.half, self.rules.stacks, self.staked, self.bets
        left = stacks[0] + half - staked[0] - bets[0], stacks[1] + half - staked[1] - bets[1]
        object.__setattr__(self, "behind", (tidy(left[0]), tidy(left[1])))
        object.__setattr__(self, "_last", None)

    @property
    def is_over(self) -> bool:
        return self.player == NOBODY

    @property
    def pot(self) -> Chips:
        """All the chips in the middle, uncalled ones included."""
        return tidy(sum(self.staked) + sum(self.bets))

    @property
    def to_call(self) -> Chips:
        """What the acting player must add to stay in: at most all of their chips."""
        player, bets = self.player, self.bets
        if player == NOBODY:
            return 0
        return tidy(max(0, min(bets[1 - player] - bets[player], self.behind[player])))

    @property
    def least_raise(self) -> Chips | None:
        """The least total to bet or raise to; None where nobody can raise."""
        most = self.most_raise
        if most is None:
            return None
        return tidy(min(max(self.bets) + max(self.last_raise, self.rules.blinds[1]), most))

    @property
    def most_raise(self) -> Chips | None:
        """The greatest total to bet or raise to: all-in; None where nobody can raise."""
        player, bets = self.player, self.bets
        if player == NOBODY or self.behind[1 - player] == 0:
            return None
        most = bets[player] + self.behind[player]
        return tidy(most) if most > max(bets) else None

    @property
    def all_in(self) -> Chips:
        """The least legal total that leaves one of the two without chips, once called."""
        mine, yours = self.behind[self.player], self.behind[1 - self.player]
        more = max(yours, self.last_raise, self.rules.blinds[1])
        return min(self.bets[self.player] + mine, max(self.bets) + more)

    @property
    def effective(self) -> Chips:
        """How many chips the acting player can still lose."""
        return min(self.behind[self.player], self.to_call + self.behind[1 - self.player])

    @property
    def is_donk(self) -> bool:
        """Whether a bet here would be a donk bet."""
        return self.player == 0 and self.aggressor == 1 and not any(self.bets)

    def actions(self, sizes: BetSizes) -> tuple[str, ...]:
        """What may be done here when bets come in these sizes: f (facing a bet), c, raises.

        >>> NoLimit().start().actions(BetSizes.parse("preflop: 2.5r a"))
        ('f', 'c', 'r250', 'r20000')
        """
        if self.is_over:
            return ()
        fold = ("f",) if self.to_call else ()
        actions = (*fold, "c", *(f"r{total}" for total in amounts(sizes, self)))
        return sizes.amended(self.history, actions)

    def bet(self, action: str) -> Bet | None:
        """How large a legal action is; None for a fold."""
        if action == "f":
            return None
        if action == "c":
            return Bet(0.0)
        total, called = total_of(action), self.pot + self.to_call
        return Bet(float((total - max(self.bets)) / called), total == self.most_raise)

    def child(self, action: str) -> Betting:
        """The state after an action, which must be legal by the rules, whatever its size."""
        if self._last is None or self._last[0] != action:
            object.__setattr__(self, "_last", (action, self._child(action)))
        assert self._last is not None
        return self._last[1]

    def _child(self, action: str) -> Betting:
        if self.is_over:
            raise SubgameError(f"The hand '{self}' is over; '{action}' cannot follow.")
        if action == "f":
            if not self.to_call:
                raise SubgameError(f"There is no bet to fold to after '{self}'; check with 'c'.")
            return self._after(self.bets, NOBODY, action, folded=self.player)
        if action == "c":
            return self._call()
        match = _RAISE.fullmatch(action)
        if not match:
            raise SubgameError(
                f"There is no action '{action}'; the actions are f, c and r with a total, such "
                f"as r300."
            )
        return self._raise_to(_chips(match[1]))

    def play(self, actions: str) -> Betting:
        """The state after several actions: ``r250 c / c r300``. Spaces and slashes are free."""
        state = self
        for action in _ACTIONS.findall(actions):
            state = state.child(action)
        return state

    def _raise_to(self, total: Chips) -> Betting:
        least, most = self.least_raise, self.most_raise
        if least is None or most is None:
            raise SubgameError(
                f"Nobody can raise after '{self}': one of the players has no chips left."
            )
        if not least <= total <= most:
            raise SubgameError(
                f"After '{self}' a raise must be to a total between {least} and {most} chips, "
                f"not to {total}."
            )
        more = max(self.last_raise, total - max(self.bets))
        bets, other = self._with_bet(total), 1 - self.player
        return self._after(bets, other, f"r{total}", last_raise=more, raises=self.raises + 1)

    def _call(self) -> Betting:
        opening = self.raises == 0 and not self.checked
        bets = self._with_bet(self.bets[self.player] + self.to_call)
        called = self._after(bets, 1 - self.player, "c", checked=self.checked or opening)
        idle = 0 in called.behind
        if opening and not idle:
            return called  # the other may still bet, or use the big blind's option
        if idle or self.street == self.rules.last_street:
            return self._after(bets, NOBODY, "c", checked=called.checked)
        staked = (self.staked[0] + bets[0], self.staked[1] + bets[1])
        history = (*called.history, "/")
        last = 1 - self.player if self.raises else NOBODY
        street = self.street + 1
        return Betting(self.rules, street, staked, (0, 0), 0, history=history, aggressor=last)

    def _after(
        self, bets: tuple[Chips, Chips], player: int, action: str, **changed: Any
    ) -> Betting:
        """The state after an action on the same street. (`replace` takes four times as long.)"""
        so_far, get = (self.rules, self.street, self.staked), changed.get
        last, raises = get("last_raise", self.last_raise), get("raises", self.raises)
        checked, folded = get("checked", self.checked), get("folded", NOBODY)
        past = (*self.history, action)
        return Betting(*so_far, bets, player, last, raises, checked, folded, past, self.aggressor)

    def _with_bet(self, total: Chips) -> tuple[Chips, Chips]:
        return (total, self.bets[1]) if self.player == 0 else (self.bets[0], total)

    # The end of a hand.

    @property
    def is_showdown(self) -> bool:
        """Whether the hand is over and the cards decide it."""
        return self.is_over and self.folded == NOBODY

    @property
    def at_stake(self) -> Chips:
        """What each player can lose at the end of the hand: half of the pot that was called."""
        return min(self.staked[0] + self.bets[0], self.staked[1] + self.bets[1])

    @property
    def rake(self) -> Chips:
        """The chips taken from the pot at the end of the hand; none if it ends before the flop."""
        if not self.rules.raked or not (self.is_showdown or self.street):
            return 0
        share = exact(self.rules.rake) * 2 * self.at_stake
        return share if self.rules.rake_cap == math.inf else min(share, exact(self.rules.rake_cap))

    def net(self, winner: int | None = None) -> tuple[Chips, Chips]:
        """What each player wins. A showdown needs its winner: 0, 1, or `NOBODY` for a tie.

        The called parts are equal, so that a tie pays both exactly what they put in. The rake, if
        there is one, comes out of what is won; a tie shares it.
        """
        if not self.is_over:
            raise SubgameError(f"The hand '{self}' is not over; player {self.player} acts.")
        if not self.is_showdown:
            winner = 1 - self.folded
        if winner not in (0, 1, NOBODY):
            raise SubgameError(
                f"The winner of a showdown must be player 0 or 1, or a tie ({NOBODY}), "
                f"not {winner}."
            )
        if winner == NOBODY:
            lost = -tidy(Fraction(self.rake) / 2) if self.rake else 0
            return lost, lost
        won, lost = tidy(self.at_stake - self.rake), tidy(-self.at_stake)
        return (won, lost) if winner == 0 else (lost, won)

    def __str__(self) -> str:
        return "".join(self.history)


def amounts(sizes: BetSizes, here: Betting) -> tuple[Chips, ...]:
    """The totals for the street to which the acting player may bet or raise, ascending.

    A size is rounded to the nearest chip (halves up), lifted to the least legal raise, made all-in
    where it takes more than the `all_in` share of the effective stack or leaves at most the
    `force_all_in` share of the pot, and never exceeds all-in. Equal totals are listed once, and
    near ones are merged. The result is empty where the cap is reached or nobody has chips to raise.
    """
    street, least = sizes.street(STREETS[here.street], here.player), here.least_raise
    cap = sizes.cap if street.cap is None else street.cap
    if least is None or (cap is not None and here.raises >= cap):
        return ()
    chip = _unit(here.rules) if sizes.chip is None else tidy(exact(sizes.chip))
    match, called = max(here.bets), here.pot + here.to_call
    mine, all_in, effective = here.bets[here.player], here.all_in, here.effective
    limit = mine + _times(sizes.all_in, effective)
    totals: set[Chips] = set()
    for size in street.sizes(here.raises, donk=here.is_donk):
        top, bottom = _target(size, here, match, called)
        total = (2 * top + bottom * chip) // (2 * bottom * chip) * chip
        if total < least:
            total = -(-least // chip) * chip
        small = effective - (total - mine) <= _times(
            sizes.force_all_in, called + 2 * (total - match)
        )
        totals.add(tidy(all_in if total > limit or small else total))
    if all_in - match <= _times(sizes.add_all_in, called):
        totals.add(tidy(all_in))
    return _merged(sorted(totals), match, called, exact(sizes.merge))


def _times(share: float, chips: Chips) -> Chips:
    """A share of chips. The two that are most frequent need no fraction."""
    if share == 0:
        return 0
    return chips if share == 1 else exact(share) * chips


def _merged(
    totals: list[Chips], match: Chips, called: Chips, threshold: Fraction
) -> tuple[Chips, ...]:
    """The totals without those near a larger one; see `BetSizes`."""
    kept: list[Chips] = []
    for total in reversed(totals):
        if kept and threshold:
            larger, this = (1 + Fraction(bet - match) / called for bet in (kept[-1], total))
            if larger < this * (1 + threshold):
                continue
        kept.append(total)
    return tuple(reversed(kept))


def _target(size: Size, here: Betting, match: Chips, called: Chips) -> tuple[Chips, int]:
    """The total a size asks for, before any rounding, as a numerator and a denominator.

    With whole chips both are whole, and the arithmetic of fractions (ten times slower) is spared.
    """
    top, bottom = exact(size.amount).as_integer_ratio()
    if size.kind == "pot":
        return match * bottom + top * called, bottom
    if size.kind == "raise":
        return match * top, bottom
    if size.kind == "geometric":  # called (1 + 2 part)^bets = called + 2 left
        left = here.effective - here.to_call
        bets = size.amount or here.rules.last_street - here.street + 1
        part = ((1 + 2 * float(left) / float(called)) ** (1 / bets) - 1) / 2
        return match + Fraction(min(part, size.most or math.inf)) * called, 1
    return (top, bottom) if size.kind == "chips" else (here.all_in, 1)


@lru_cache(maxsize=256)
def _unit(rules: NoLimit) -> Chips:
    """The smallest chip of a hand: 1, or a decimal where the rules have fractions of a chip."""
    return unit_of(*rules.stacks, *rules.blinds, rules.pot)

"""Local best response: a lower bound on how exploitable an agent is, in games too large for more.

Lisý & Bowling 2017, "Equilibrium Approximation Quality of Current No-Limit Poker Bots". LBR knows
the agent's strategy. It follows the agent's range by Bayes' rule and looks one action ahead: after
that action, it assumes, both players check and call to the showdown.

With ``pot`` the chips in the middle, ``asked`` what a call costs, ``wp`` the share of the pot that
LBR's hand wins at the showdown and ``fp`` the probability that the agent folds to a bet,

    U(call) = wp pot - (1 - wp) asked
    U(bet a) = fp pot + (1 - fp) (wp' (pot + a) - (1 - wp') (asked + a))

where wp' is against the range that does not fold, and ``a`` is what the bet adds to a call. A fold
is worth 0. These are differences from what a fold pays; here the payoffs themselves are compared,
which chooses the same action and needs no pot, so that it plays Leduc as well.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean
from subgame.games.actions import kind_of
from subgame.games.base import Game
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import equities
from subgame.games.holdem.game import BOARD_CARDS
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.play.agent import Agent, Event, Mixed, Policy, policy_of
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Reached
from subgame.refine.verbs.cut import start_of

Floats = NDArray[np.float64]
MANY = " ".join(f"{0.05 * 1.15**k:.3g}x" for k in range(55))
"""Fractions of the pot from 0.05 to 95, each 15 % above the one before."""
FEW = 8
"""Infosets that are asked for at once up to which each is looked at on its own."""
RUNOUTS = 120
"""Boards to come on which many hands are looked at together."""
FLOP_2018 = " ".join(f"{0.33 * 2**k:.5g}x" for k in range(11))


@dataclass(frozen=True)
class Setting:
    """What LBR may do. It may always call; where `folds` says so, it may fold."""

    bets: dict[str, str]
    """Street -> sizes; on other streets LBR makes no bets."""
    opening: str = ""
    """The size of the bet that LBR must make as its first action, or fold."""
    calls: tuple[str, ...] = ()
    """Streets on which LBR never folds."""

    def sizes(self, street: str, first: bool) -> BetSizes | None:
        """The sizes on a street; `first` for LBR's first action of the hand."""
        text = self.opening if first and self.opening else self.bets.get(street, "")
        return _parsed(f"all: {text}") if text else None


@lru_cache(maxsize=16)
def _parsed(text: str) -> BetSizes:
    return BetSizes.parse(text)


ONE_STREET = {f"fcpa-{street}": Setting({street: "1x a"}) for street in STREETS}
"""Pot and all-in on one street alone: they show where an agent loses."""
SETTINGS = {
    "fc": Setting({}),
    "fcpa": Setting(dict.fromkeys(STREETS, "1x a")),
    **ONE_STREET,
    "56": Setting(dict.fromkeys(STREETS[1:], f"{MANY} a"), calls=("preflop",)),
    "2018-turn": Setting({}, opening="0.75x"),
    "2018-flop": Setting({"flop": FLOP_2018}, opening="0.75x", calls=("preflop",)),
}
"""Lisý & Bowling 2017: fold and call; fold, call, pot and all-in; and 56 bets after checking and
calling before the flop (which 56 is not said: these are ours). Brown, Sandholm & Amos 2018, Sec. 6:
a first action of 3/4 of the pot, then only folds and calls ("2018-turn"), or calls before the flop,
0.33 2^x pots on the flop and folds and calls later ("2018-flop")."""


class LocalBestResponse(Mixed):
    """Plays a local best response to another agent whose strategy is known.

    The game has folds, calls and raises, and says which moves both players see: hold'em, Leduc.

    >>> from subgame.games import holdem
    >>> from subgame.play import Always, match
    >>> game = holdem.nlfh()
    >>> fold = Always("fold")
    >>> lbr = LocalBestResponse(game, fold, "fcpa")
    >>> round(match(game, [lbr, fold], hands=10).result.mean)
    750
    """

    name = "lbr"

    def __init__(self, game: Game, opponent: Agent, setting: str = "fcpa") -> None:
        if setting not in SETTINGS:
            raise did_you_mean("setting of LBR", setting, SETTINGS)
        self.game, self.opponent, self.setting = game, opponent, SETTINGS[setting]
        self.start = start_of(game)
        if self.setting.opening and self._betting(self.start) is None:
            raise SubgameError(f"The setting {setting} needs a game with bet sizes, not {game}.")

    def __copy__(self) -> LocalBestResponse:
        """What a copy observes changes nothing here."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        if "model" in vars(self):
            twin.model = copy.copy(self.model)
        return twin

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.model = copy.copy(self.opponent)
        self.model.begin(1 - seat, seed)
        self.reached, self.acted = self.start, False
        self.folds: dict[str, Floats] = {}

    def observe(self, event: Event) -> None:
        share = None
        if event.player == 1 - self.seat:  # Bayes' rule
            share = self._probability(self.model, self.reached, event.action)
        elif event.player == self.seat:
            self.acted = True
        self.reached = self.reached.after(event.action, share)
        self.model.observe(event)
        self.folds = {}

    def _probability(self, agent: Agent, here: Reached, action: str) -> Floats:
        """[s] how likely the opponent takes an action with each infoset of the range."""
        o = 1 - self.seat
        held, names = np.flatnonzero(here.reach[o]), here.names(o)
        policy = policy_of(agent, [names[s] for s in held.tolist()], here.actions)
        out = np.zeros(len(here.reach[o]))
        if policy is None:
            raise SubgameError(
                f"The strategy of '{agent.name}' is not known, so LBR cannot respond to it."
            )
        if action in policy.actions:
            out[held] = policy.probabilities[:, policy.actions.index(action)]
        return out

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        here, options = self.reached, self._options()
        at = [here.number(self.seat, infoset) for infoset in infosets]
        if isinstance(here, ReachedRanges) and len(at) > FEW:
            values = np.stack([self._range_values(here, action)[at] for action in options], axis=1)
        else:
            rows = []
            for s in at:
                against = here.reach[1 - self.seat] * here.fitting(self.seat, s)
                rows.append([self._value(action, s, against) for action in options])
            values = np.array(rows)
        chosen = values.argmax(1)
        kept = np.unique(chosen)
        return Policy(tuple(options[k] for k in kept), (chosen[:, None] == kept).astype(float))

    @staticmethod
    def _betting(here: Reached) -> Betting | None:
        """The betting, in a game with that of no-limit hold'em."""
        betting: Betting | None = getattr(here.state, "betting", None)
        return betting if isinstance(betting, Betting) else None

    def _options(self) -> list[str]:
        """What LBR considers here, whatever its hand."""
        here, setting, first = self.reached, self.setting, not self.acted
        betting = self._betting(here)
        street = STREETS[1] if betting is None else STREETS[betting.street]
        sizes = setting.sizes(street, first)
        bets = [a for a in here.actions if kind_of(a) == "raise"] if sizes else []
        if betting is not None and sizes is not None:
            bets = [a for a in betting.actions(sizes) if a[0] == "r"]
        options = list(bets)
        for action in here.actions:
            kind = kind_of(action)
            if kind == "call" and not (first and setting.opening and bets):
                options.append(action)
            if kind == "fold" and street not in setting.calls:
                options.append(action)
        return options

    def _value(self, action: str, s: int, against: Floats) -> float:
        """What an action pays if both check and call afterwards; the opponent may fold to a bet."""
        p, here = self.seat, self.reached
        there = here.after(action)
        weight = against[there.above[1 - p]]
        s = there.below(p, s)
        paid = there.checked_down(p, s)
        fold = next((a for a in there.actions if kind_of(a) == "fold"), None)
        if kind_of(action) == "raise" and fold is not None:
            share, over = self._folding(action, there, fold), there.after(fold)
            paid = share * over.checked_down(p, over.below(p, s)) + (1 - share) * paid
        total = weight.sum()
        return float(weight @ paid / total) if total > 0 else float(paid.mean())

    def _folding(self, action: str, there: Reached, fold: str) -> Floats:
        """[s] how likely the opponent folds to a bet."""
        if action not in self.folds:
            agent = copy.copy(self.model)
            agent.observe(Event(self.seat, action))
            self.folds[action] = self._probability(agent, there, fold)
        return self.folds[action]

    def _range_values(self, here: ReachedRanges, action: str) -> Floats:
        """[hand] what `_value` says of every hand at once, on a choice of the boards to come."""
        p, o, deck = self.seat, 1 - self.seat, here.game.deck
        there = here.after(action)
        weight, share = here.reach[o], np.zeros(deck.num_hands)
        fold = next((a for a in there.actions if kind_of(a) == "fold"), None)
        paid_by_fold = 0.0
        if kind_of(action) == "raise" and fold is not None:
            share = self._folding(action, there, fold)
            paid_by_fold = float(there.betting.child(fold).net()[p])
        end = there.betting
        while not end.is_over:
            end = end.child("c")
        if not end.is_showdown:
            return np.full(deck.num_hands, float(end.net()[p]))
        final = BOARD_CARDS[here.game.rules.last_street]
        boards = _boards(deck, here.board, final)
        won, met = equities(boards, deck, np.stack([weight * (1 - share), weight * share]))
        won, met = won.sum(0), met.sum(0)
        paid = float(end.at_stake) * (2 * won[:, 0] - met[:, 0]) + paid_by_fold * met[:, 1]
        mean: Floats = paid / np.maximum(met.sum(1), 1e-100)
        return mean


@lru_cache(maxsize=8)
def _boards(deck: Deck, board: tuple[int, ...], final: int) -> NDArray[np.int64]:
    """[board, card] the whole boards that may follow, or `RUNOUTS` of them that are drawn."""
    left = [card for card in range(deck.size) if card not in board]
    more = final - len(board)
    if math.comb(len(left), more) <= RUNOUTS:
        dealt = list(itertools.combinations(left, more))
    else:
        random = Random(0)
        dealt = [tuple(random.sample(left, more)) for _ in range(RUNOUTS)]
    return np.array([(*board, *cards) for cards in dealt], dtype=np.int64)

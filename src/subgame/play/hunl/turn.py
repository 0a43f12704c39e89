"""The rest of a hand of whole hold'em, solved to its end from the turn on.

Brown, Sandholm & Amos 2018, Sec. 6. The first subgame is solved with both players' ranges (Unsafe,
as Modicum does for its first turn subgame). Afterwards off-tree bets are answered by nested
solving, and the river is solved again, with more sizes (`subgame.refine.live`). There the opponent
comes mostly with its range, and may also come with hands that this gives more than the turn's
solution does (`RIVER`). Its range is that of one who followed the solution of the turn or, with
even odds, the blueprint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.spots import endgame
from subgame.memory import available
from subgame.play.hunl.early import FORGET, Request, with_bet
from subgame.play.hunl.laid import Laid
from subgame.play.hunl.rest import numbers
from subgame.play.searching import TECHNIQUE, actions_of
from subgame.refine.gadgets import Combined, Unsafe, technique
from subgame.refine.live import MINIMUM, PASSED, Book, Clock, Live, Search, Solution
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed, Move, Reached
from subgame.tree.public_tree import both
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
MENUS = (
    "turn: 0.75x / cap 1; river: 0.75x / cap 1; add-all-in 2.5",
    "turn: 0.5x 1x / raise 1x / cap 2; river: 1x / cap 1; add-all-in 2.5",
    "turn: 0.5x 1x / raise 1x / cap 2; river: 0.5x 1x / raise 1x / cap 2; add-all-in 2.5",
    "turn: 0.33x 0.5x 1x / raise 1x / cap 2; river: 0.33x 1x 2x / raise 1x / cap 2; add-all-in 2.5",
)
"""Sizes that are solved from the turn on, few of them to many; the opponent's own bet is always
among them. All-in is one of them up to 2.5 pots only: with all-ins of many pots CFR needs ten times
as many iterations. Half the pot and the pot are what the blueprint bets, whose range the opponent
is taken to have; other bets are answered by nested solving."""
RIVER_MENUS = (
    *MENUS,
    "river: 0.33x 0.5x 0.75x 1x 1.5x 2x / raise 0.5x 1x / cap 3; add-all-in 2.5",
    "river: 0.33x 0.5x 0.75x 1x 1.5x 2x a / raise 0.5x 1x a / cap 3",
)
"""Those of a river: the same sizes there, then more; the last has all-ins of many pots."""
USUAL = 1, 4
"""The menus of a turn and of a river without a limit of time."""
ENOUGH, ENOUGH_DEEP = 128, 256
"""Iterations that must fit into the time for more sizes than the fewest; the second with all-ins of
many pots."""
FAINT = 1e-3
"""The reach of a hand of the opponent beside the likeliest one up to which it is left out of the
first solve. Players have half of the hands on a turn."""
LEAST_REACH = 1e-5
"""The least reach of other hands beside the likeliest one. Who plays otherwise than a range says
holds hands that it does not have; without any reach their average strategy would be uniform."""
KEPT, KEPT_IN_HAND = 150_000_000, 600_000_000
"""Numbers of the strategies of the subgames that are kept, with four bytes each: of earlier hands,
and while a hand is played. The largest subgames have 37 million. LBR asks in one hand for the
answers to 56 bets, each of which is a subgame; others ask for a few."""
RECENT = 4
"""Solves by which the time of the next is judged."""
PLENTY = 2 * 2**30
"""Bytes of memory that must be available; with less a hand keeps no more than earlier ones."""
ROOT = Unsafe()
"""The gadget of the first subgame that is solved, with both players' ranges."""
RIVER = Combined(cap=0.1, even=0.05)
"""The gadget of the river after a turn that was solved. Resolve asks nothing of the opponent's
range: what it plays may be worth little against the hands that the opponent mostly has. Here these
count most, and hands that would gain beyond the turn's solution count up to a tenth as much."""


class StarvedError(SubgameError):
    """There was too little time to solve a subgame."""

    def __init__(self, iterations: int) -> None:
        self.why = f"{iterations} iterations are too few"
        super().__init__(f"There was too little time to solve: {self.why}.")


class TurnSolver:
    """Solves the rest of the game from a public state on; keeps the last ones."""

    def __init__(self, game: Holdem, bets: str | None = None) -> None:
        """With `bets` there are no other sizes; otherwise as many as the time allows."""
        turn, river = (MENUS, RIVER_MENUS) if bets is None else ((bets,), (bets,))
        self.menus = tuple(
            tuple(replace(game, bets=BetSizes.parse(menu)) for menu in menus)
            for menus in (turn, river)
        )
        """The games of the turn's menus and of the river's."""
        self.pace: float | None = None
        """Seconds of an iteration by number of a strategy, in the last solve."""
        self.preparing = 0.0
        """Seconds of preparing a solve and of reading it, by number of a strategy."""
        self.roots: dict[tuple[int, tuple[str, ...]], tuple[Live, Book]] = {}
        self.least_of_last = deque[float](maxlen=RECENT)
        """Seconds that the least of solves takes by number of a strategy, by each of the last."""

    @property
    def least(self) -> float:
        """The least of them: that one solve took long, on a busy machine, says little."""
        return min(self.least_of_last, default=0.0)

    def load(self) -> None:
        """Measure the least of solves on a first turn, so that no decision has to try."""
        game = self.menus[0][0]
        deck, here = game.deck, ReachedRanges.start(game)
        if here.betting.street != 0 or here.board or game.rules.last_street < 2:
            return
        cards = iter(range(deck.size))
        while here.betting.street < 2 or here.player < 0:
            if here.player < 0:
                left = BOARD_CARDS[here.betting.street] - len(here.board)
                here = here.after(deck.name([next(cards) for _ in range(left)]))
            else:
                here = here.after("c")
        search = Search(ROOT, None, None, iterations=MINIMUM, seconds=None)
        self.solved(here, Request(here.player, search, Clock(None)), 1.0)

    def live(
        self,
        reached: ReachedRanges,
        before: tuple[Move, ...],
        rest: tuple[Move, ...],
        request: Request,
        laid: Laid | None = None,
    ) -> Live:
        """Where play is: `reached` came after the moves `before`, then came the `rest`.

        On the last street no solution is played that loses more than the blueprint as it is `laid`
        over it, with both players' ranges. Raises `StarvedError` if there is too little time to
        solve it.
        """
        seat = request.seat
        made = rest[0][1] if rest and rest[0][0] != seat else None
        last = reached.betting.street == reached.game.rules.last_street
        games = [with_bet(game, reached.betting, made) for game in self.menus[last]]
        keys = [(seat, (*actions_of(before), str(game.bets))) for game in games]
        key = next((key for key in keys if key in self.roots), None)
        if key is None:
            share = PASSED if len(rest) > 1 else 1.0  # there may be more to solve
            key, root = self._root(reached, games, keys, request, (share, laid))
            if root.starved is not None:
                raise StarvedError(root.starved)
            self.roots[key] = root if laid is None else _facing_every_hand(root, reached), Book()
            self._trim(KEPT_IN_HAND if available() > PLENTY else KEPT)
        first, book = self.roots[key]
        past = actions_of(before)
        live = book.find(
            first, actions_of(rest), request.clock, lambda line: request.decided(past + line)
        )
        if live.starved is not None:
            raise StarvedError(live.starved)
        return live

    def begin(self) -> None:
        """Begin a hand: of earlier ones the last subgames are kept."""
        self._trim(KEPT)

    def _trim(self, most: int) -> None:
        """Forget all but the last subgames that have so many numbers together; keep one."""
        size = sum(_size(live) for live, _ in self.roots.values())
        for old in list(self.roots)[:-1]:
            if size <= most:
                return
            size -= _size(self.roots.pop(old)[0])

    def _root(
        self,
        reached: ReachedRanges,
        games: Sequence[Holdem],
        keys: Sequence[tuple[int, tuple[str, ...]]],
        request: Request,
        how: tuple[float, Laid | None],
    ) -> tuple[tuple[int, tuple[str, ...]], Live]:
        """The first subgame, and the key by which it is kept: with one of the `games`' menus."""
        here = _solved_hands(reached, request.seat, how[1])
        for seat, line in keys:
            other = self.roots.get((1 - seat, line))
            if other is None or (solved := other[0].solved) is None:
                continue
            if not all(map(np.array_equal, solved.reached.reach, here.reach)):
                continue  # the players follow other ranges after a street with a depth limit
            return (seat, line), in_other_seat(other[0], solved)  # it is the same for both
        (share, laid), left = how, request.clock.left
        k = self._affordable(here, games, None if left is None else share * left)
        return keys[k], self.solved(replace(reached, game=games[k]), request, share, laid)

    def _affordable(
        self, here: ReachedRanges, games: Sequence[Holdem], seconds: float | None
    ) -> int:
        """Which of the games: with limited time the largest one that can be solved."""
        if seconds is None:
            last = here.betting.street == here.game.rules.last_street
            return min(USUAL[last], len(games) - 1)
        if self.pace is None:
            return 0
        pace, scale = self.pace, held(here)

        def fits(game: Holdem) -> bool:
            iterations = ENOUGH if game.bets.add_all_in else ENOUGH_DEEP
            cost = (iterations * pace + self.preparing) * scale
            return cost * numbers(game, here.betting) < seconds

        return sum(takewhile(bool, map(fits, games[1:])))  # more and more sizes

    def _widened(self, here: Reached, seconds: float | None) -> Reached:
        """The river with as many sizes as can be solved, if they are more than its solution has."""
        assert isinstance(here, ReachedRanges)
        games = self.menus[True]
        game = games[self._affordable(here, games, seconds)]
        if numbers(game, here.betting) <= numbers(here.game, here.betting):
            return here
        return replace(here, game=replace(here.game, bets=game.bets))

    def solved(
        self, here: ReachedRanges, request: Request, share: float, laid: Laid | None = None
    ) -> Live:
        """The first subgame, solved with both players' ranges in a share of the time."""
        seat, search, clock = request.seat, request.search, request.clock
        began, here = clock.spent, _solved_hands(here, seat, laid)
        size = held(here) * numbers(here.game, here.betting)
        if not clock.allows(self.least * size):
            self.least_of_last.append(FORGET * self.least)  # it may have been a bad moment
            raise StarvedError(0)
        tree = here.subgame.tree
        compiled = clock.spent
        blank = Followed(tree, both(lambda p: np.zeros(tree.stored(p), np.float32)))
        clock.reserve = compiled - began  # reading the solution takes about as long
        prepared = clock.reserve + clock.spent - began
        none = np.zeros(len(here.reach[1 - seat]))  # Unsafe has no alternative payoffs
        unsafe = replace(search, gadget=ROOT)
        known = None if laid is None else laid.over_last_street(here)
        first = Live(unsafe, seat, here, known or blank, off=none, answers=known is not None)
        live = replace(first.ready(clock, share), answers=False)
        clock.reserve = 0.0
        if live.before is blank:  # nothing was to be solved
            live = replace(live, before=Followed(tree, Strategy.uniform(tree).probs))
        if live.solved is not None:
            iteration = live.solved.seconds / max(live.solved.iterations, 1)
            self.pace, self.preparing = iteration / size, prepared / size
            self.least_of_last.append(self.preparing + MINIMUM * self.pace)
        inside = search.at is not None and here.within(search.at)
        instead = None if laid is None else laid.instead
        search = replace(search, widened=self._widened, instead=instead)
        return replace(live, search=search, inside=inside)


def _size(live: Live) -> int:
    """The numbers of a subgame's strategies."""
    return sum(np.size(sigma) for sigma in live.before.sigma)


def with_every_hand(here: ReachedRanges) -> ReachedRanges:
    """The same with a little of every hand that a player may hold (`LEAST_REACH`)."""

    def reach(p: int) -> Floats:
        known: Floats = here.reach[p]
        return np.where(here.held(p), np.maximum(known, LEAST_REACH * known.max()), known)

    return here.with_reach(both(reach))


def with_likely_hands(here: ReachedRanges, seat: int) -> ReachedRanges:
    """As `with_every_hand`, but the opponent has the hands of its range alone (`FAINT`)."""
    every, o = with_every_hand(here), 1 - seat
    met = here.reach[o] * (here.weight(o) > 0)
    likely: Floats = met * (met > FAINT * met.max())
    if not likely.any():  # nobody should have come here
        return every
    return _with_opponent(every, o, Range((likely > 0).astype(np.float64), here.game.deck), likely)


def _with_opponent(here: ReachedRanges, o: int, hands: Range, reach: Floats) -> ReachedRanges:
    """The same with other hands of player `o`."""
    ranges, both_reach = list(here.game.ranges), list(here.reach)
    ranges[o], both_reach[o] = hands, reach
    game = replace(here.game, ranges=(ranges[0], ranges[1]))
    return replace(here, game=game, reach=(both_reach[0], both_reach[1]))


def _solved_hands(here: ReachedRanges, seat: int, laid: Laid | None) -> ReachedRanges:
    """The same with the hands that are solved."""
    return with_every_hand(here) if laid is None else with_likely_hands(here, seat)


def held(here: ReachedRanges) -> float:
    """The share of the deck's hands that a player of the game may hold, the mean of both."""
    return float(np.mean([weights > 0 for weights in here.game.weights()]))


def in_other_seat(live: Live, solved: Solution) -> Live:
    """The first subgame as the other player solves it, with the same ranges."""
    seat, here = 1 - live.seat, solved.reached
    none = np.zeros(len(here.reach[1 - seat]))
    turned = replace(solved, player=seat, weight=here.weight(1 - seat), alternative=none)
    return replace(live, seat=seat, reached=here, solved=turned)


def _facing_every_hand(live: Live, reached: ReachedRanges) -> Live:
    """The first subgame, followed by a player whose opponent may hold any hand.

    Later solves answer for all of them what they can get, as safe techniques do.
    """
    here, o = live.reached, 1 - live.seat
    assert isinstance(here, ReachedRanges)
    every = with_every_hand(reached).reach[o]
    return replace(live, reached=_with_opponent(here, o, reached.game.ranges[o], every))


@lru_cache(maxsize=8)
def load_kernels(deck: Deck) -> None:
    """Load what a first decision needs, so that it takes no longer than the others."""
    rank_hands(tuple(range(5)), deck)
    tiny = endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    here = ReachedRanges.start(tiny)
    tree = here.subgame.tree
    uniform, off = Followed(tree, Strategy.uniform(tree).probs), np.zeros(len(here.reach[0]))
    for gadget in (ROOT, technique(TECHNIQUE), RIVER):
        search = Search(gadget, None, None, iterations=2, seconds=None)
        live = Live(search, 0, here, uniform, off=off).ready(Clock(None))
        live.rows()
        live.reached.action_values(live.before, best=False)
        live.reached.values(live.before, 1, best=True)

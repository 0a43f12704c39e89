"""`Live`: a hand as an agent follows it that solves the subgames play reaches.

The agent follows a blueprint until the opponent makes a bet that it does not know, or play comes to
a frontier of the game (the last street, say). Then the rest of the game is solved behind a gadget,
and followed from there on (Brown & Sandholm 2017, Sec. 6):

* at a frontier the opponent's alternative payoff is the CBV of what was followed so far; if that
  was solved to a depth limit, the value of the best continuation that was offered there, on which
  the solve to the limit relied (Brown, Sandholm & Amos 2018, Sec. 5);
* after an off-tree bet it is CBV~(I), the best value in I with what was followed so far, the bet
  excluded ("inexpensive" nested solving).

Everything depends on what both players see, on the seat and on the solves before, so the same line
of play always leads to the same strategy.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import ArgumentError, SubgameError
from subgame.games.base import TERMINAL
from subgame.games.holdem.translation import MAPPINGS, ActionMapping, likelihood, translated
from subgame.refine.behind import Technique, play_gadget
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.reached import Followed, Reached
from subgame.refine.subgame import carried_gift, received_gift
from subgame.solve.schedule import Schedule
from subgame.solve.solver import Limits

Floats = NDArray[np.float64]
Line = tuple[str, ...]
"""The moves that both players have seen."""
SPARE = 0.9
"""The share of a decision's time after which a solve stops: what follows it takes time, too."""
PASSED = 0.5
"""The share of the time for a subgame that play has already gone through: the opponent acted first
there, off the tree, say."""
SHORTEST = 1e-3
"""Seconds that a solve may always take."""
KEPT = 400_000
"""Infosets of the lines of play that are kept in memory."""
MINIMUM = 16
"""Iterations below which a solve that ran out of time is not used."""


@dataclass(frozen=True)
class Search:
    """How an agent solves while it plays."""

    gadget: Gadget
    at: str | None = None
    """The frontier at which the rest of the game is solved; None: only after off-tree bets."""
    schedule: Schedule | str | None = None
    iterations: int | None = 500
    seconds: float | None = 5.0
    """For each decision, compiling included."""
    mapping: ActionMapping = MAPPINGS["pseudo-harmonic"]
    """What an off-tree bet is taken for where the opponent's range is followed."""
    now: Callable[[], float] = time.perf_counter
    """Seconds since some moment."""
    allow_worse: bool = False
    """Play all of a solution, even if it loses more than what was followed before."""
    entered: Gadget | None = None
    """The gadget at the frontier; None: the same as elsewhere."""
    widened: Callable[[Reached, float | None], Reached] | None = None
    """The public state at the frontier with more actions, as many as can be solved in the seconds
    that are left. What was followed so far knows nothing of them."""
    instead: Callable[[Reached, str], Floats | None] | None = None
    """[s] how likely the opponent makes a move if it follows something else than what we solved;
    None if that does not have the move. The odds are even."""

    def __post_init__(self) -> None:
        if self.gadget.entry == "random" or self.gadget.estimate or self.gadget.keep_safe:
            raise SubgameError(
                f"{self.gadget.name} estimates alternative payoffs, which in play are those of "
                "what was followed so far. Use unsafe, resolve, maxmargin or their reach forms."
            )
        if self.iterations is None and self.seconds is None:
            raise ArgumentError("seconds", "is missing: give seconds, iterations or both.")
        Limits(self.iterations, self.seconds)

    def limits(self, left: float | None) -> Limits:
        """The limits of a solve when so many seconds are left."""
        return Limits(self.iterations, None if left is None else max(SPARE * left, SHORTEST))


class Clock:
    """The time of one decision."""

    def __init__(self, seconds: float | None, now: Callable[[], float] = time.perf_counter) -> None:
        self.began, self.seconds, self.now = now(), seconds, now
        self.reserve = 0.0
        """Seconds that must be left when a solve stops, for what follows it."""

    @property
    def spent(self) -> float:
        return self.now() - self.began

    @property
    def left(self) -> float | None:
        """The seconds that are left; None without a limit."""
        return None if self.seconds is None else self.seconds - self.spent - self.reserve

    @contextmanager
    def keeping(self, share: float) -> Iterator[None]:
        """Meanwhile a share of the seconds that are left is kept for what follows."""
        before, left = self.reserve, self.left
        if left is not None:
            self.reserve += share * max(left, 0.0)
        try:
            yield
        finally:
            self.reserve = before

    def allows(self, seconds: float) -> bool:
        """Whether work of so many seconds fits into what is left."""
        return self.left is None or self.left > seconds


@dataclass(frozen=True, eq=False)
class Solution:
    """A subgame solved in play. Axis: s = infoset of the opponent at its root."""

    reached: Reached
    followed: Followed
    player: int  # who solved it
    weight: Floats  # [s] pi_{-i}
    alternative: Floats  # [s] what the opponent was offered for not entering, gifts included
    iterations: int
    seconds: float
    stopped: str
    share: float = 1.0
    """Of the solution in what is followed; the rest is what was followed before."""

    @property
    def is_starved(self) -> bool:
        """Whether the solve ran out of time before it was worth anything."""
        return self.stopped == "seconds" and self.iterations < MINIMUM

    @cached_property
    def margins(self) -> Floats:
        """[s] the alternative payoff minus what the opponent can get now."""
        won = self.reached.values(self.followed, 1 - self.player, best=True)
        return np.where(self.weight > 0, self.alternative - won, 0.0)

    @property
    def margin(self) -> float:
        """The smallest margin of infosets that can be reached."""
        reached = self.weight > 0
        return float(self.margins[reached].min()) if reached.any() else 0.0


class Rows(NamedTuple):
    """What the acting player does: actions, and [s, action] their probabilities."""

    actions: tuple[str, ...]
    probabilities: Floats


Decided = Callable[[Line], Rows | None]
"""What an agent decided where a line led; None if nothing was."""


def nothing(line: Line) -> None:
    """Nothing was decided anywhere."""


def as_decided(share: Floats | None, decided: Rows | None, action: str) -> Floats | None:
    """[s] how likely our own action was: as it was decided, if a later solve says otherwise.

    A subgame may be solved again that was forgotten since. What we hold still depends on what was
    played. Decisions are kept in single precision, so equal ones leave `share` as it is.
    """
    if decided is None or action not in decided.actions:
        return share
    taken = decided.probabilities[:, decided.actions.index(action)]
    if share is not None and np.array_equal(share.astype(taken.dtype), taken):
        return share
    return taken.astype(np.float64)


def either(one: Floats | None, two: Floats | None) -> Floats | None:
    """[s] how likely an action is by one strategy or another, with even odds where both know."""
    if one is None or two is None:
        return two if one is None else one
    return (one + two) / 2


@dataclass(frozen=True, eq=False)
class Live:
    """A public state of a hand, and what is followed there."""

    search: Search
    seat: int
    reached: Reached
    before: Followed
    """What was followed on the way here."""
    solved: Solution | None = None
    """What was solved last on the way here."""
    inside: bool = False
    """Whether that was at the frontier or below it."""
    off: Floats | None = None
    """[s of the opponent] after an off-tree move that is not answered yet: CBV~ before it."""
    carried: Floats | None = None
    """[s of the opponent] gifts on the way here."""
    answers: bool = False
    """Whether `before` has an answer although `off` says that one is to be solved."""
    starved: int | None = None
    """The iterations of the last answer to an off-tree bet, if they were too few."""

    @property
    def pending(self) -> bool:
        """Whether the rest of the game is to be solved here."""
        if not self.reached.acts:
            return False
        at = self.search.at
        return self.off is not None or (
            at is not None and not self.inside and self.reached.within(at)
        )

    def ready(self, clock: Clock, share: float = 1.0) -> Live:
        """The same with what is to be solved here solved, in a share of the time that is left.

        A solve that had too little time is not used, if what was followed so far has an answer.
        """
        if not self.pending:
            return self
        entered = self._entered(clock, share)
        solved, starved = entered._solve(clock, share), None
        if solved is not None and solved.is_starved:
            if self.off is None:  # what was followed so far is the answer
                solved = None
            else:
                starved = solved.iterations
        elif solved is not None and solved.share == 0:
            solved = replace(solved, followed=self.before)
        at = self.search.at
        return replace(
            self,
            starved=starved,
            reached=self.reached if solved is None else entered.reached,
            before=self.before if solved is None else solved.followed,
            solved=solved or self.solved,
            inside=at is not None and self.reached.within(at),
            off=None,
        )

    def _entered(self, clock: Clock, share: float) -> Live:
        """The same as it is solved: at the frontier behind its own gadget, with more actions."""
        here, search = self.reached, self.search
        if self.off is not None or not here.subgame.tree.players[self.seat].names:
            return self
        wide, seconds = here, None if clock.left is None else share * clock.left
        if search.widened is not None:
            wide = search.widened(here, seconds)
        behind = replace(search, gadget=search.entered or search.gadget)
        off = self._alternative()
        return replace(self, search=behind, reached=wide, off=off, answers=wide is here)

    def _solve(self, clock: Clock, share: float) -> Solution | None:
        """The rest of the game behind the gadget; None if we do not act or never come here."""
        here, us, o, gadget = self.reached, self.seat, 1 - self.seat, self.search.gadget
        began, subgame = clock.spent, here.subgame
        if not subgame.tree.players[us].names:
            return None
        cbv = self.off
        assert cbv is not None
        weight = here.weight(o)
        if not (weight > 0).any():
            return None
        gift = np.zeros(len(weight))
        if self.carried is not None:
            gift = received_gift(self.carried, weight, gadget)
        mine, yours = here.reach[us][here.roots(us)], here.reach[o][here.roots(o)]
        # Only the shape of a range matters; kernels like numbers near one.
        ours, theirs = (reach / max(reach.max(), 1e-100) for reach in (mine, yours))
        roots = here.roots(o)
        inputs = GadgetInputs.of(
            o, (ours, theirs), subgame.weight(o, ours), cbv[roots], gift[roots]
        )
        limits = self.search.limits(None if clock.left is None else share * clock.left)
        how = Technique.of(gadget, subgame.tree, self.search.schedule, limits)
        before = None
        if self.answers and not self.search.allow_worse:
            before = here.restrict(self.before, us)
        solved = play_gadget(how, subgame, inputs, before, self.search.now)
        return Solution(
            reached=here,
            followed=Followed(subgame.tree, solved.sigma),
            player=us,
            weight=weight,
            alternative=cbv + gift,
            iterations=solved.iterations,
            seconds=clock.spent - began,
            stopped=solved.stopped,
            share=solved.share,
        )

    def _alternative(self) -> Floats:
        """[s] what the opponent can get here, before gifts."""
        o, followed = 1 - self.seat, self.before
        if not followed.offered:
            return self.reached.values(followed, o, best=True)
        values = []
        for theirs in followed.offered:
            sigma = (theirs, followed.sigma[1]) if o == 0 else (followed.sigma[0], theirs)
            values.append(self.reached.values(Followed(followed.tree, sigma), o, best=False))
        best: Floats = np.max(values, axis=0)
        return best

    def rows(self) -> Rows:
        """What the acting player does here; uniform where nothing is known."""
        actions = self.reached.actions
        rows = self.reached.rows(self.before)
        if rows is None:
            count = len(self.reached.reach[self.reached.player])
            rows = np.full((count, len(actions)), 1 / len(actions))
        return Rows(actions, rows)

    def after(self, action: str, decided: Rows | None = None) -> Live:
        """The public state after a move; what is to be solved here must be solved.

        `decided` is what we decided here, if we act and it is known.
        """
        p, o = self.reached.player, 1 - self.seat
        if p == TERMINAL:
            raise SubgameError("The hand is over; nothing can follow.")
        if p < 0:
            return self._moved(self.reached.after(action), self.off, self.carried)
        rows = self.rows()
        if action in rows.actions:
            k = rows.actions.index(action)
            share: Floats | None = rows.probabilities[:, k]
            if p == o:
                carried, share = self._gifts(rows.actions, k), self._likely(action, share)
            else:
                carried, share = self.carried, as_decided(share, decided, action)
            return self._moved(self.reached.after(action, share), self.off, carried)
        if p == o:
            taken = self._likely(action, self._taken_for(rows, action))
        else:
            taken = as_decided(None, decided, action)
        there = self.reached.after(action, taken)
        off = self.reached.values(self.before, o, best=True) if self.off is None else self.off
        return self._moved(there, off, self.carried)

    def _moved(self, there: Reached, off: Floats | None, carried: Floats | None) -> Live:
        above = there.above[1 - self.seat]
        return replace(
            self,
            reached=there,
            off=None if off is None else off[above],
            carried=None if carried is None else carried[above],
        )

    def _likely(self, action: str, share: Floats | None) -> Floats | None:
        """[s] how likely the opponent makes a move, by our solution or by what else it follows."""
        instead = self.search.instead
        return share if instead is None else either(share, instead(self.reached, action))

    def _taken_for(self, rows: Rows, action: str) -> Floats | None:
        """[s] how likely a bet that nobody planned for is, by the bets it is taken for."""
        bets = [self.reached.bet(known) for known in rows.actions]
        shares = translated(bets, self.reached.bet(action), self.search.mapping)
        return likelihood(rows.probabilities, shares)

    def _gifts(self, actions: Sequence[str], k: int) -> Floats | None:
        """[s] the opponent's gifts, with what action `k` gives up (2017, Sec. 5)."""
        gadget, o = self.search.gadget, 1 - self.seat
        if gadget.gifts == "none":
            return None
        value = self.reached.action_values(self.before, best=True)
        ends = [self.reached.child(action).player == TERMINAL for action in actions]
        counts = [gadget.gifts == "estimated" or end or a == k for a, end in enumerate(ends)]
        weight = self.reached.weight(o)
        size = (value[:, counts].max(1) - value[:, k]) * weight
        gift: Floats = carried_gift(size, weight, gadget)
        return gift if self.carried is None else self.carried + gift


class Book:
    """The lines of play of one agent, followed as far as they were asked for."""

    def __init__(self) -> None:
        self.lives: OrderedDict[tuple[int, Line], Live] = OrderedDict()
        self.size = 0

    def find(self, first: Live, line: Line, clock: Clock, decided: Decided = nothing) -> Live:
        """Where a line leads from the start, everything solved that it needs."""
        known = len(line)
        while known and (first.seat, line[:known]) not in self.lives:
            known -= 1
        live = self.lives.get((first.seat, line[:known]))
        if live is None:
            live = self._keep((first.seat, ()), first.ready(clock))
        for k in range(known, len(line)):
            share = 1.0 if k == len(line) - 1 else PASSED
            live = live.after(line[k], decided(line[:k])).ready(clock, share)
            self._keep((first.seat, line[: k + 1]), live)
        self.lives.move_to_end((first.seat, line))
        return live

    def _keep(self, key: tuple[int, Line], live: Live) -> Live:
        self.lives[key] = live
        self.size += _cost(live)
        while self.size > KEPT and len(self.lives) > 1:
            self.size -= _cost(self.lives.popitem(last=False)[1])
        return live


def _cost(live: Live) -> int:
    return sum(len(reach) for reach in live.reached.reach)

"""An agent for whole games of hold'em: a blueprint before the turn, then solving.

Brown, Sandholm & Amos 2018, Sec. 6. Before the street `solve_from` the agent follows a blueprint by
action translation, and both players' ranges by Bayes' rule. There it solves the rest of the game
with both ranges (Unsafe, as Modicum does for its first turn subgame). Afterwards it goes on as
`NestedAgent`: off-tree bets are answered by nested solving, and the river is solved again, safely.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Protocol, TypedDict, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from subgame.agent_names import VALUES, check_values
from subgame.blueprints.stored import StoredBlueprint
from subgame.engines.numba.strengths import mean_ahead
from subgame.errors import SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS
from subgame.games.holdem.spots import endgame
from subgame.play.agent import Policy, thresholded
from subgame.play.hunl.below import CHOICES
from subgame.play.hunl.flop_network import FlopNetwork
from subgame.play.hunl.preflop import solve_before_flop
from subgame.play.hunl.preflop_values import PreflopValues
from subgame.play.hunl.rollouts import Planned, StreetPlan, solve_street
from subgame.play.searching import Explanation, SearchAgent, actions_of, shares
from subgame.play.strategies import real_action
from subgame.refine.gadgets import Unsafe
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.live import PASSED, Book, Clock, Live, Rows, Search
from subgame.refine.mappings import heard, mapping
from subgame.refine.ranges.reached import ReachedRanges
from subgame.refine.reached import Followed, Move
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]


BETS = "turn: 0.75x / cap 2; river: 0.75x / cap 2; add-all-in 2.5"
"""The sizes that are solved; the opponent's own bet is always among them. All-in is one of them up
to 2.5 pots only: with all-ins of many pots CFR needs ten times as many iterations."""


ROOTS = 4
"""Turn subgames that are kept."""


PLANS = 16
"""Streets solved to a depth limit that are kept; LBR asks for the answers to eleven bets."""


ROOT = Unsafe()
"""The gadget of the first subgame that is solved, with both players' ranges."""


TECHNIQUE = "maxmargin"
"""The gadget of the river and of answers to off-tree bets."""


ITERATIONS = 1000


HEARD = "deterministic-pseudo-harmonic"
"""What a bet before the solved streets is taken for."""


FLOP = "flop: 0.75x / raise 1x / cap 2"
"""The sizes of a flop that is solved to its end."""


BOTH = f"preflop: 0.5x 1x / raise 1x / raise2 1x / raise3 a / cap 4; {FLOP}"
"""The same with the round before it, solved to its end after an off-tree bet."""


DECIDED = 10_000
"""Decisions that are kept: asked again, the agent answers what it played."""


class RangeBlueprint(Protocol):
    """A strategy of whole hold'em that answers for all hands at once."""

    def range_strategy(self, state: HoldemState) -> tuple[Sequence[str], Floats]:
        """The actions that the player to act considers, and [hand, action] their probabilities.

        `state` has the board and the betting; its hands mean nothing.
        """


class Early(NamedTuple):
    """A public state before the street from which the agent solves."""

    reached: ReachedRanges
    mind: Betting  # the hand of the blueprint's game that is followed
    plan: StreetPlan | None = None
    """The solution of the street, where it was solved to a depth limit."""

    @property
    def planned(self) -> Planned | None:
        """What the plan says here."""
        return None if self.plan is None else self.plan.rows.get(self.reached.betting.history)


class DepthOptions(TypedDict, total=False):
    """What an agent is told about its depth limits."""

    choices: int
    """How many ways to go on the opponent has at a limit; 1 is single-valued search. Before the
    flop there are all those of its table, or one."""
    values: str
    """Where values at the end of the flop come from: ``"rollouts"``, or ``"network"`` for the
    network beside the blueprint's file (`subgame.play.hunl.flop_network`)."""


@dataclass(frozen=True)
class DepthLimit:
    """See `DepthOptions`."""

    choices: int = CHOICES
    values: str = VALUES[0]

    def __post_init__(self) -> None:
        check_values(self.values)


class HoldemAgent(SearchAgent):
    """Plays hold'em from the first blind on, by a blueprint and by solving from the turn on.

    `bets` are the sizes of the subgames that are solved. `technique` is that of the river and of
    answers to off-tree bets. A decision takes at most `seconds`; kernels are loaded when the agent
    is made. Where it has solved, actions below the probability `threshold` are not taken; 1 takes
    the most probable one.

    With sizes for `limited` streets before it are solved, too, to a depth limit at their end
    (`subgame.play.hunl.rollouts`); the blueprint must then be a `StoredBlueprint`. With sizes
    before the flop among them, an off-tree bet there is answered by solving the rest of that round
    (`subgame.play.hunl.preflop`). `DepthOptions` say where values come from.

    >>> from subgame.games import holdem
    >>> class Calls:
    ...     def range_strategy(self, state):
    ...         return ("c",), np.ones((state.game.deck.num_hands, 1))
    >>> agent = HoldemAgent(holdem.hunl(), Calls())
    >>> agent.begin(seat=1, seed=0)
    >>> agent.act("AsAh |  | ", ("f", "c"))
    'c'
    """

    name = "nested"

    def __init__(
        self,
        game: Holdem,
        blueprint: RangeBlueprint,
        *,
        solve_from: str = "turn",
        bets: str = BETS,
        technique: str = TECHNIQUE,
        iterations: int | None = ITERATIONS,
        seconds: float | None = 5.0,
        threshold: float = 0.0,
        limited: str | None = None,
        **depth: Unpack[DepthOptions],
    ) -> None:
        if solve_from not in STREETS[1 : game.rules.last_street + 1]:
            raise SubgameError(f"{game} has no street '{solve_from}' after its first one.")
        last = f"after the {STREETS[game.rules.last_street]}"
        known = game.frontiers()
        self.game, self.blueprint, self.street = game, blueprint, STREETS.index(solve_from)
        self.solved_game = replace(game, bets=BetSizes.parse(bets))
        self.limited = None if limited is None else replace(game, bets=BetSizes.parse(limited))
        if self.limited is not None and not isinstance(blueprint, StoredBlueprint):
            raise SubgameError("A depth limit needs a StoredBlueprint, which can be rolled out.")
        self.search = Search(
            technique_named(technique), last if last in known else None, None, iterations, seconds
        )
        told = DepthLimit(**depth)
        self.choices = told.choices
        self.network: FlopNetwork | None = None
        if self.limited is not None and told.values == "network":
            self.network = FlopNetwork.of(cast(StoredBlueprint, blueprint))
        self.before: PreflopValues | None = None
        if self.limited is not None and self.limited.bets.preflop.bets:
            self.before = PreflopValues.of(cast(StoredBlueprint, blueprint))
        self.mapping, self.threshold = mapping(HEARD), threshold
        self.start = Early(ReachedRanges.start(game), game.start())
        self.seen: dict[tuple[Move, ...], Early] = {}
        self.plans: dict[
            tuple[int | None, tuple[str, ...]], tuple[Sequence[Floats], StreetPlan]
        ] = {}
        self.roots: dict[tuple[int, tuple[str, ...]], tuple[Live, Book]] = {}
        self.decided: OrderedDict[tuple[int, tuple[str, ...]], Rows] = OrderedDict()
        if seconds is not None:
            load_kernels(game.deck)
            if self.before is not None:
                _ = self.before.pairs, self.before.equity, self.before.leaves
            if self.limited is not None and isinstance(blueprint, StoredBlueprint):
                for cards in (4, 5):
                    blueprint.cards.of(range(cards))
                mean_ahead(tuple(range(4)), 5, game.deck)

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.seen = {(): self.start}

    # Before the solved streets -----------------------------------------------------------------
    def _follow(self) -> tuple[Early, tuple[Move, ...]]:
        """Where the blueprint leads, and the moves that are left after it."""
        early = self.start
        for k, (player, action) in enumerate(self.line):
            if self._solves(early.reached):
                return early, self.line[k:]
            known = self.seen.get(self.line[: k + 1])
            if known is None:
                early = self._with_plan(early, action if player == 1 - self.seat else None)
            early = self.seen[self.line[: k + 1]] = known or self._moved(early, player, action)
        return early, ()

    def _with_plan(self, early: Early, made: str | None = None) -> Early:
        """The same with the street solved to its end, where that is to be done.

        The bet that the opponent has `made` is among those that are solved. If it was not in an
        earlier solution, the street is solved again from the state before it, so that the range
        with which the opponent makes it is that of a solution, not that of another bet.
        """
        reached, game, planned = early.reached, self.limited, early.planned
        if game is None or reached.player < 0:
            return early
        street = reached.betting.street
        if street >= self.street or not getattr(game.bets, STREETS[street]).bets:
            return early
        if planned is not None and (made is None or made in planned.actions):
            return early
        if street == 0 and planned is None and not self._is_off_tree(early, made):
            return early
        assert isinstance(self.blueprint, StoredBlueprint)
        here = replace(reached, game=_with_bet(game, reached.betting, made))
        limits = self.search.limits(self.clock.left)
        both = self.choices == 1  # then the solution is the same for both players
        at = str(here.board), *here.betting.history, *here.game.bets.added
        key = None if both else self.seat, at
        known = self.plans.get(key)
        if known is None or not all(map(np.array_equal, known[0], here.reach)):
            while len(self.plans) >= PLANS:
                self.plans.pop(next(iter(self.plans)))
            how = here, early.mind, self.seat, limits
            if street == 0 and self.before is not None:
                plan = solve_before_flop(self.before, *how, 1 if both else None)
            else:
                network = self.network if street == 1 else None
                plan = solve_street(self.blueprint, *how, self.choices, network)
            known = self.plans[key] = here.reach, plan
        return early._replace(plan=known[1])

    def _is_off_tree(self, early: Early, made: str | None) -> bool:
        """Whether a bet is to be answered by solving the rest of the round."""
        if early.plan is not None:  # an earlier one was, and then came a bet that was not solved
            return True
        if made is None or not self._waits(early):
            return False
        names, _ = self.blueprint.range_strategy(self._state(early))
        return made not in self._real(early, names)

    def _solves(self, reached: ReachedRanges) -> bool:
        return reached.player >= 0 and reached.betting.street >= self.street

    def _moved(self, early: Early, player: int, action: str) -> Early:
        reached, mind, plan = early
        if player == CHANCE:
            return Early(reached.after(action), mind)
        share, planned, meant = None, early.planned, reached.betting.bet(action)
        if self._waits(early):
            actions, rows = self.blueprint.range_strategy(self._state(early))
            real = self._real(early, actions)
            if player == self.seat and action in real:
                taken = {real.index(action): 1.0}
                share = rows[:, [each == action for each in real]].sum(1)
            else:
                taken = heard([mind.bet(each) for each in actions], meant, self.mapping)
                share = _mixed(rows, taken)
            if taken:
                mind = mind.child(actions[max(taken, key=lambda each: taken[each])])
        if planned is not None:
            bets = [reached.betting.bet(each) for each in planned.actions]
            known = action in planned.actions
            taken = {planned.actions.index(action): 1.0} if known else {}
            taken = taken or heard(bets, meant, self.mapping)
            share = _mixed(planned.probabilities, taken)
        return Early(reached.after(action, share), mind, plan)

    def _waits(self, early: Early) -> bool:
        """Whether the hand in mind waits for the player who really acts."""
        real, mind = early.reached.betting, early.mind
        return not mind.is_over and mind.player == real.player and mind.street == real.street

    def _real(self, early: Early, names: Sequence[str]) -> list[str]:
        """The blueprint's actions as real ones."""
        return [real_action(early.reached.betting, early.mind.bet(name)) for name in names]

    def _state(self, early: Early) -> HoldemState:
        return HoldemState(self.game, (0, 0), early.reached.board, early.mind)

    def _early_rows(self, early: Early) -> Rows:
        """What we do before the solved streets, in real bets."""
        hands = self.game.deck.num_hands
        if early.planned is not None:
            return Rows(*early.planned)
        if not self._waits(early):
            return Rows(("c",), np.ones((hands, 1)))
        names, rows = self.blueprint.range_strategy(self._state(early))
        real = self._real(early, names)
        actions = tuple(dict.fromkeys(real))
        out = np.zeros((hands, len(actions)))
        for k, action in enumerate(real):
            out[:, actions.index(action)] += rows[:, k]
        return Rows(actions, out)

    # The solved streets ------------------------------------------------------------------------
    def live(self) -> Live:
        self.clock = Clock(self.search.seconds)
        early, rest = self._follow()
        if not self._solves(early.reached):
            raise SubgameError(f"Nothing is solved before the {STREETS[self.street]}.")
        made = rest[0][1] if rest and rest[0][0] != self.seat else None
        game = _with_bet(self.solved_game, early.reached.betting, made)
        line = self.line[: len(self.line) - len(rest)]
        key = self.seat, (*actions_of(line), *game.bets.added)
        if key not in self.roots:
            while len(self.roots) >= ROOTS:
                self.roots.pop(next(iter(self.roots)))
            share = PASSED if len(rest) > 1 else 1.0  # there may be more to solve
            other = self.roots.get((1 - self.seat, key[1]))
            if other is None:
                root = self._root(replace(early.reached, game=game), share)
            else:  # with both ranges fixed the solution is the same for both players
                root = self._turned(other[0])
            self.roots[key] = root, Book()
        first, book = self.roots[key]
        return book.find(first, actions_of(rest), self.clock)

    def _root(self, here: ReachedRanges, share: float) -> Live:
        """The first subgame, solved with both players' ranges."""
        tree = here.subgame.tree
        began = self.clock.spent
        uniform = Followed(tree, Strategy.uniform(tree).probs)
        self.clock.reserve = self.clock.spent - began  # reading the solution takes as long
        search = replace(self.search, gadget=ROOT)
        none = np.zeros(len(here.reach[1 - self.seat]))  # Unsafe has no alternative payoffs
        found = Live(search, self.seat, here, uniform, off=none).ready(self.clock, share)
        self.clock.reserve = 0.0
        at = self.search.at
        return replace(found, search=self.search, inside=at is not None and here.within(at))

    def _turned(self, found: Live) -> Live:
        """The first subgame as it was solved in the other seat, with the same ranges."""
        if found.solved is None:
            return replace(found, seat=self.seat)
        here = found.reached
        none = np.zeros(len(here.reach[1 - self.seat]))
        solved = replace(
            found.solved, player=self.seat, weight=here.weight(1 - self.seat), alternative=none
        )
        return replace(found, seat=self.seat, solved=solved)

    # Answers -----------------------------------------------------------------------------------
    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        rows = self._rows()
        at = [self.start.reached.number(self.seat, name) for name in infosets]
        found = rows.probabilities[at].astype(np.float64)
        solved = (self.seat, actions_of(self.line)) in self.decided
        return Policy(rows.actions, thresholded(found, self.threshold if solved else 0.0))

    def _rows(self) -> Rows:
        """What we do with every hand where play is; what was decided once stays so."""
        key = self.seat, actions_of(self.line)
        if key in self.decided:
            return self.decided[key]
        self.clock = Clock(self.search.seconds)
        early, _ = self._follow()
        if self._solves(early.reached):
            rows = self.live_rows()
        else:
            early = self.seen[self.line] = self._with_plan(early)
            rows, self.took = self._early_rows(early), self.clock.spent
        if early.plan is None and not self._solves(early.reached):
            return rows
        self.decided[key] = Rows(rows.actions, rows.probabilities.astype(np.float32))
        if len(self.decided) > DECIDED:
            self.decided.popitem(last=False)
        return self.decided[key]

    def explained(self, infoset: str) -> Explanation:
        self.clock = Clock(self.search.seconds)
        early, _ = self._follow()
        if self._solves(early.reached):
            return super().explained(infoset)
        early, note = self._with_plan(early), ""
        if early.plan is not None:
            boards = early.plan.boards
            whose = f"of {boards} boards" if boards else "by the network"
            note = (
                f"The street was solved to its end by {early.plan.iterations:,} iterations, with "
                f"values {whose}."
            )
        reached, rows = early.reached, self._early_rows(early)
        row = rows.probabilities[reached.number(self.seat, infoset)].tolist()
        ranges = shares(reached, self.seat), shares(reached, 1 - self.seat)
        plays = dict(zip(rows.actions, row, strict=True))
        return Explanation(infoset, plays, {}, ranges, None, 0, self.took, note)


def _with_bet(game: Holdem, betting: Betting, made: str | None) -> Holdem:
    """The game with a bet that the opponent has made among its sizes."""
    if made is None or made in game.actions(betting):
        return game
    return replace(game, bets=replace(game.bets, added=(f"{betting}{made}",)))


def _mixed(rows: Floats, taken: Mapping[int, float]) -> Floats | None:
    """[hand] how likely an action is that is taken for several; None if it is taken for none."""
    return (
        sum((part * rows[:, k] for k, part in taken.items()), 0.0 * rows[:, 0]) if taken else None
    )


@lru_cache(maxsize=8)
def load_kernels(deck: Deck) -> None:
    """Load what a first decision needs, so that it takes no longer than the others."""
    rank_hands(tuple(range(5)), deck)
    deck.facing(np.zeros(deck.num_hands))
    tiny = endgame("QsJhThKs", 4, 6, bets="postflop: a", deck=Deck("TJQKA", "hs"))
    here = ReachedRanges.start(tiny)
    tree = here.subgame.tree
    uniform, off = Followed(tree, Strategy.uniform(tree).probs), np.zeros(len(here.reach[0]))
    for gadget in (Unsafe(), technique_named("maxmargin")):
        search = Search(gadget, None, None, iterations=2, seconds=None)
        live = Live(search, 0, here, uniform, off=off).ready(Clock(None))
        live.rows()
        live.reached.action_values(live.before, best=False)
        live.reached.values(live.before, 1, best=True)

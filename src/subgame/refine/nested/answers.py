"""Nested solving: every action nobody planned for is answered by solving what follows it.

Brown & Sandholm 2017, Sec. 6. We hold a blueprint of a smaller game; the opponent plays the larger
one. When she takes an *off-tree* action a, the rest of the game in the smaller abstraction is
solved with a gadget on top and joins the blueprint; the next off-tree action is answered from
there, and so on.

* *inexpensive*: the subgame starts after a. Her alternative payoff is CBV~(I), the best she could
  have had in I within the abstraction as it then was (a excluded).
* *expensive*: it starts before a, with a added to her choices, so that her reach is defined and
  Unsafe works too. Only what follows a is kept: after other actions nothing would be solved.

All of it is laid over the larger tree as one `Strategy`, so its exploitability is exact.

**What it can cost.** Let the opponent's value in each solved subgame, with the smaller game's
actions alone, exceed CBV~ at root infoset s by e(s) (0 if it does not), and w(s) be pi_{-i}(s).
An off-tree action improves her best choice in I by at most w e plus what further off-tree actions
add below, and along the tree improvements at most add up. So a best response in the larger game
wins at most `before` in the smaller one plus the sum of all w e: `Nested.bound`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import Game, State
from subgame.refine.gadgets import Gadget, GadgetInputs
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.payoffs import Trunk, normalised
from subgame.refine.refine import inside, solve_gadget
from subgame.refine.subgame import Subgame, cut_at_histories
from subgame.solve.evaluate import Exploitability, best_response, exploitability
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Limits
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import SequenceTree, Treeplex, histories_of, sequence_tree
from subgame.tree.sequence.walk import Histories
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Index = NDArray[np.int32]
Method = Literal["inexpensive", "expensive"]
METHODS = ("inexpensive", "expensive")


@dataclass(frozen=True, slots=True)
class _WidenedState(State):
    inner: State
    extra: Mapping[tuple[int, str], Sequence[str]]

    def current_player(self) -> int:
        return self.inner.current_player()

    def legal_actions(self) -> tuple[str, ...]:
        listed, player = tuple(self.inner.legal_actions()), self.inner.current_player()
        more = self.extra.get((player, self.inner.information_state(player) or ""), ())
        return (*listed, *(action for action in more if action not in listed))

    def child(self, action: str) -> Self:
        return type(self)(self.inner.child(action), self.extra)

    def returns(self) -> tuple[float, float]:
        return self.inner.returns()

    def information_state(self, player: int) -> str | None:
        return self.inner.information_state(player)

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return self.inner.chance_outcomes()

    def public_state(self) -> str | None:
        return self.inner.public_state()


class Widened(Game):
    """A game with further actions at some infosets, (player, infoset) -> actions.

    The game's own states must take these actions: they list less than the rules allow, as those
    of `subgame.games.no_limit` do.
    """

    def __init__(self, game: Game, extra: Mapping[tuple[int, str], Sequence[str]]) -> None:
        self.game, self.extra, self.name = game, extra, game.name

    @property
    def parameters(self) -> dict[str, Any]:
        return self.game.parameters

    def new_initial_state(self) -> State:
        return _WidenedState(self.game.new_initial_state(), self.extra)


@dataclass(frozen=True, eq=False)
class Answer:
    """One off-tree action answered. Axis: s = root infoset of the opponent, where she took it."""

    public: str  # the public state after it
    action: str
    player: int  # who answers
    depth: int  # how many off-tree actions there have been
    infosets: tuple[str, ...]  # [s]
    weight: Floats  # [s] pi_{-i}
    cbv: Floats  # [s] CBV~: her best within the abstraction, the action excluded
    values: Floats  # [s] what she can get after it now, within the abstraction
    result: Result

    @property
    def bound(self) -> float:
        """How much more than CBV~ she can win by it, over all root infosets."""
        return float(np.maximum(self.values - self.cbv, 0) @ self.weight)


@dataclass(frozen=True, eq=False)
class Nested:
    """A blueprint expanded by answers to all off-tree actions."""

    strategy: Strategy
    """Over the larger tree."""
    answers: tuple[Answer, ...]
    before: Exploitability
    """Of the blueprint, in the smaller game."""
    after: Exploitability
    """Of the expanded blueprint, in the larger one; of a player not asked for it means little."""
    seconds: float

    @property
    def bound(self) -> tuple[float, float]:
        """Per seat, what `after` can exceed `before` by (see the module)."""
        seats = [sum(a.bound for a in self.answers if a.player == p) for p in (0, 1)]
        return seats[0], seats[1]

    def __repr__(self) -> str:
        return (
            f"<Nested in {self.strategy.tree.game}: {len(self.answers)} off-tree actions answered, "
            f"exploitability {float(self.before):.4g} -> {float(self.after):.4g}>"
        )


def nest(
    blueprint: Strategy,
    tree: PublicTree,
    *,
    technique: Gadget | str = "maxmargin",
    method: Method = "inexpensive",
    player: int | None = None,
    schedule: Schedule | str | None = None,
    iterations: int | None = None,
    gap: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> Nested:
    """Play a blueprint of a smaller game in the larger game `tree`, by nested subgame solving.

    For both players, or for `player` alone, every off-tree action of the opponent that can be
    reached is answered in turn. The smaller game (that of `blueprint.tree`) must name histories
    as the larger one does and know what follows actions it does not list, as the games of
    `subgame.games.no_limit` with equal stacks do. `technique`, `schedule`, `iterations` and `gap`
    are those of `subgame.refine`; `progress` is told the number of answers so far. After
    Ctrl-C what is not answered yet is answered uniformly.

    >>> import subgame as sg
    >>> small, large = (sg.compile(sg.games.load("no-limit-kuhn", bets=b)) for b in ("fcpa", "all"))
    >>> nested = nest(sg.solve(small, iterations=1000).strategy, large, technique="resolve")
    >>> len(nested.answers), round(nested.after.mean, 3)
    (4, 0.028)
    """
    began = time.perf_counter()
    if player not in (None, 0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    limits = Limits(iterations, None, None if gap is None else gap / 2)
    how = _how(technique_named(technique), method, schedule, limits)
    answers: list[Answer] = []
    grown: dict[int, _Expansion] = {}
    for p in (0, 1) if player is None else (player,):
        grown[p] = _Expansion(blueprint, sequence_tree(tree), p, how)
        for answer in grown[p].run():
            answers.append(answer)
            if progress is not None:
                progress(len(answers))
    probs = [(grown[p] if p in grown else grown[1 - p]).sigma[p] for p in (0, 1)]
    notes = {**blueprint.notes, "nested": f"{how.gadget.name}, {method}"}
    strategy = Strategy(tree, (probs[0], probs[1]), notes)
    return Nested(
        strategy=strategy,
        answers=tuple(answers),
        before=exploitability(blueprint.tree, blueprint),
        after=exploitability(tree, strategy),
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True)
class _How:
    """How to solve a subgame."""

    gadget: Gadget
    method: Method
    solver: Schedule | str
    limits: Limits


def _how(gadget: Gadget, method: Method, schedule: Schedule | str | None, limits: Limits) -> _How:
    """What the user asked for, if it makes sense."""
    if method not in METHODS:
        raise did_you_mean("method of nested solving", str(method), METHODS)
    if gadget.door == "none" and method == "inexpensive":
        raise SubgameError(
            "Unsafe needs the probability with which she comes, which an off-tree action does not "
            "have; use method='expensive' (Brown & Sandholm 2017, Sec. 6)."
        )
    if gadget.door == "random" or gadget.estimate:
        raise SubgameError(
            f"{gadget.name} estimates alternative payoffs, which in nested solving are always "
            "CBV~; use resolve, maxmargin or their reach forms."
        )
    chosen = gadget.schedule if schedule is None else schedule
    return _How(gadget, method, chosen if chosen == "lp" else parse(chosen), limits)


def _where(side: Treeplex, home: Treeplex, slots: Index, games: tuple[str, str]) -> Index:
    """[q] where each sequence of a smaller tree's player stands in the larger tree."""
    out = np.empty(side.num_sequences, dtype=np.int32)
    out[: len(side.slots)] = slots
    for i, name in enumerate(side.names):
        j = home.index.get(name)
        there = {} if j is None else dict(zip(home.actions[j], home.sequences(j), strict=True))
        missing = [action for action in side.actions[i] if action not in there]
        if missing:
            raise SubgameError(
                f"{games[0]} is no smaller version of {games[1]}, which has no action "
                f"'{missing[0]}' at infoset '{name}'."
            )
        out[side.sequences(i)] = [there[action] for action in side.actions[i]]
    return out


@dataclass(frozen=True, eq=False)
class _Known:
    """A part of the expanded abstraction: its strategy, and where it lies in the larger tree."""

    strategy: Strategy  # over a tree of its own, whose reaches are the trunk's
    slots: tuple[Index, Index]  # [s] of the larger tree
    depth: int = 0


@dataclass(eq=False)
class _Expansion:
    """Player `p`'s blueprint as it grows. All arrays lie over the larger tree."""

    blueprint: Strategy
    tree: SequenceTree
    p: int
    how: _How
    sigma: tuple[Floats, Floats] = field(init=False)  # [q]
    plan: tuple[Floats, Floats] = field(init=False)  # [q] reach where known
    cbv: Floats = field(init=False)  # [i] of the opponent: CBV~, normalised
    gift: Floats = field(init=False)  # [q] hers, as in `Trunk`
    gift_reach: Floats = field(init=False)

    def __post_init__(self) -> None:
        for tree in (self.blueprint.tree, self.tree):
            if histories_of(tree) is None or any(len(side.slots) != 1 for side in tree.players):
                raise SubgameError(f"{tree!r} is not the tree of a whole game with its histories.")
        one, two = self.tree.players
        self.sigma = Strategy.uniform(self.tree).probs
        self.plan = (np.zeros(one.num_sequences), np.zeros(two.num_sequences))
        hers = self.tree.players[1 - self.p]
        self.cbv = np.zeros(len(hers.names))
        self.gift, self.gift_reach = np.zeros((2, hers.num_sequences))

    @property
    def small(self) -> Histories:
        found = histories_of(self.blueprint.tree)
        assert found is not None
        return found

    @property
    def large(self) -> Histories:
        assert self.tree.histories is not None
        return self.tree.histories

    def run(self) -> Iterator[Answer]:
        """Answer every off-tree action, those after answers included."""
        start = np.zeros(1, np.int32)
        parts = [_Known(self.blueprint, (start, start))]
        while parts:
            part = parts.pop()
            self._absorb(part)
            for node, action in self._off_tree(part):
                found = self._answer(node, action, part.depth + 1)
                if found is None:
                    continue
                parts.append(found[0])
                yield found[1]
                if found[1].result.stopped == "interrupted":
                    return

    def _absorb(self, part: _Known) -> None:
        """Write a part into the blueprint, with what later subgames will ask of it."""
        tree, o = sequence_tree(part.strategy.tree), 1 - self.p
        trunk = Trunk.of(part.strategy, o, self.how.gadget, None)
        plans = (trunk.our_plan, trunk.her_plan)[:: 1 if self.p == 0 else -1]
        for q in (0, 1):
            side, home = tree.players[q], self.tree.players[q]
            where = _where(side, home, part.slots[q], (tree.game, self.tree.game))
            slots = len(side.slots)
            for name in side.names:
                self.sigma[q][home.sequences(home.index[name])] = 0.0
            self.sigma[q][where[slots:]] = part.strategy.probs[q][slots:]
            self.plan[q][where] = plans[q]
            if q == o:
                self.gift[where[slots:]] = trunk.gift[slots:]
                self.gift_reach[where[slots:]] = trunk.gift_reach[slots:]
        home = self.tree.players[o]
        for name, value in best_response(tree, part.strategy, o).values.items():
            self.cbv[home.index[name]] = value.normalised

    def _off_tree(self, part: _Known) -> list[tuple[int, str]]:
        """(public state, action) of the opponent's choices that a part leaves out."""
        o = 1 - self.p
        side, home = part.strategy.tree.players[o], self.tree.players[o]
        out: dict[tuple[int, str], None] = {}
        for i, name in enumerate(side.names):
            j = home.index[name]
            for action in home.actions[j]:
                if action not in side.actions[i]:
                    out[int(home.node[j]), action] = None
        return list(out)

    def _answer(self, node: int, action: str, depth: int) -> tuple[_Known, Answer] | None:
        """Solve what follows an off-tree action; None where we never come or never act again."""
        p, o, how = self.p, 1 - self.p, self.how
        before, top = self._tops(node, action)
        name = self.tree.node_names[int(self.large.node[top[0]])]
        after = self._cut(self.small.game, top, name)
        ours = self.plan[p][after.sequence[p]]
        weight = after.weight(o, ours)
        if not after.tree.players[p].names or not (weight > 0).any():
            return None
        home = self.tree.players[o]
        infosets = home.infoset_of[after.sequence[o]]
        if how.method == "inexpensive":
            result = self._solve(after, self.cbv[infosets])
            hers = np.ones(len(infosets))
        else:
            names = [home.names[i] for i in infosets]
            wider = Widened(self.small.game, {(o, name): (action,) for name in names})
            whole = self._cut(wider, before, name)
            index = [home.index[slot] for slot in whole.tree.players[o].slots]
            result = self._solve(whole, self.cbv[index])
            hers = self._reach(result.strategy, names, action)
        reach = (ours, hers) if p == 0 else (hers, ours)
        sides = [replace(after.tree.players[q], reach=reach[q]) for q in (0, 1)]
        tree = replace(after.tree, players=(sides[0], sides[1]), engines={})
        probs = [inside(result.strategy, after, q) for q in (0, 1)]
        part = _Known(Strategy(tree, (probs[0], probs[1])), after.sequence, depth)
        run = engine(tree)
        values = normalised(run.respond(o, run.plan(p, probs[p])).slots, weight)
        return part, Answer(
            public=name,
            action=action,
            player=p,
            depth=depth,
            infosets=tuple(home.names[i] for i in infosets),
            weight=weight,
            cbv=self.cbv[infosets],
            values=values,
            result=result,
        )

    def _solve(self, subgame: Subgame, cbv: Floats) -> Result:
        """The gadget game of a subgame, the alternative payoff being CBV~ and perhaps gifts."""
        o, how = 1 - self.p, self.how
        ours = self.plan[self.p][subgame.sequence[self.p]]
        hers = self.plan[o][subgame.sequence[o]]
        weight = subgame.weight(o, ours)
        trunk = Trunk(
            self.tree,
            self.blueprint,
            o,
            self.plan[self.p],
            self.plan[o],
            self.gift,
            self.gift_reach,
        )
        inputs = GadgetInputs(
            opponent=o,
            our_reach=ours,
            # Where the blueprint never brings her, she is taken to come with everything alike.
            her_reach=hers if (hers > 0).any() else np.ones(len(hers)),
            weight=weight,
            alternative=cbv + trunk.gifts(subgame, how.gadget, weight),
            cbv=cbv,
        )
        return solve_gadget(how.gadget, subgame, inputs, how.solver, how.limits)

    def _reach(self, strategy: Strategy, names: Sequence[str], action: str) -> Floats:
        """[s] the opponent's reach of an action that an expensive solve has added."""
        o = 1 - self.p
        home, side = self.tree.players[o], strategy.tree.players[o]
        above = home.plex.parent[[home.index[name] for name in names]]
        taken = [strategy.row(o, side.index[name])[action] for name in names]
        reach: Floats = self.plan[o][above] * np.array(taken)
        return reach

    def _cut(self, game: Game, top: NDArray[np.int64], name: str) -> Subgame:
        """The subgame below histories of the larger tree, continued by another game's rules."""
        return cut_at_histories(
            replace(self.tree, histories=replace(self.large, game=game), engines={}), top, name
        )

    def _tops(self, node: int, action: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The histories at a public state where the opponent acts, and those after her action."""
        h, o = self.large, 1 - self.p
        before = np.flatnonzero((h.node == node) & (h.player == o))
        below = np.flatnonzero(np.isin(h.parent, before))
        taken = h.edge[below] == h.labels.index(action)
        after, others = below[taken], below[~taken]
        if np.isin(h.node[after], [node, *h.node[others].tolist()]).any():
            raise SubgameError(
                f"The off-tree action '{action}' at '{self.tree.node_names[node]}' is not seen by "
                "both players, so no subgame follows it."
            )
        return before, after

"""Nested solving on sequence trees: histories of the larger game, continued by smaller rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.games.base import Game, State
from subgame.refine.answers import Answer, Method
from subgame.refine.behind import Technique, inside, solve_gadget
from subgame.refine.learners import GadgetInputs
from subgame.refine.sequence.subgames import Gifts, SequenceSubgame, cut_at_histories, gifts_of
from subgame.refine.subgame import Trunk, left
from subgame.solve.evaluate import best_response
from subgame.tree.public_tree import PublicTree, both, embed, places
from subgame.tree.sequence.tree import SequenceTree, Treeplex, sequence_tree
from subgame.tree.strategy import Strategy

Index = NDArray[Any]


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
    def parameters(self) -> dict[str, object]:
        return self.game.parameters

    def new_initial_state(self) -> State:
        return _WidenedState(self.game.new_initial_state(), self.extra)


@dataclass(frozen=True, eq=False)
class _Known:
    """A part of the expanded abstraction: its strategy, and where it lies in the larger tree."""

    tree: SequenceTree  # of its own, whose reaches are the trunk's
    strategy: Strategy  # over it
    slots: tuple[Index, Index]  # [s] of the larger tree
    depth: int = 0


class Expansion:
    """Player `p`'s blueprint as it grows. All arrays lie over the larger tree."""

    def __init__(
        self,
        blueprint: Strategy,
        larger: PublicTree,
        p: int,
        how: Technique,
        method: Method,
        device: str | None = None,
    ) -> None:
        self.p, self.how, self.method, self.device = p, how, method, device
        self.tree, self.blueprint = sequence_tree(larger), blueprint
        small = sequence_tree(blueprint.tree)
        for tree in (small, self.tree):
            if tree.histories is None or any(len(side.slots) != 1 for side in tree.players):
                raise SubgameError(f"{tree!r} is not the tree of a whole game with its histories.")
        self.large, self.rules = self.tree.walked, small.walked.game
        theirs = self.tree.players[1 - p]
        self.sigma = Strategy.uniform(self.tree).probs  # [q]
        self.plan = both(lambda q: np.zeros(len(self.sigma[q])))  # [q] reach where known
        self.cbv = np.zeros(len(theirs.names))  # [i] of the opponent: CBV~, normalised
        self.gifts = Gifts(*np.zeros((2, theirs.num_sequences)))  # [q] of the opponent

    def run(self) -> Iterator[Answer]:
        """Answer every off-tree action, those after answers included."""
        start = np.zeros(1, np.int32)
        parts = [_Known(sequence_tree(self.blueprint.tree), self.blueprint, (start, start))]
        while parts:
            part = parts.pop()
            self._absorb(part)
            for node, action in self._off_tree(part):
                if (answered := self._answer(node, action, part.depth + 1)) is None:
                    continue
                parts.append(answered[0])
                yield answered[1]
                if answered[1].stopped == "interrupted":
                    return

    def _absorb(self, part: _Known) -> None:
        """Write a part into the blueprint, with what later subgames will ask of it."""
        tree, o, gadget = part.tree, 1 - self.p, self.how.gadget
        trunk = Trunk(part.strategy, o, device=self.device)
        for q, plan in enumerate(map(np.asarray, trunk.plans)):
            side, home = tree.players[q], self.tree.players[q]
            where, slots = self._places(side, home), len(side.slots)
            for name in side.names:
                self.sigma[q][home.sequences(home.index[name])] = 0.0
            embed(part.strategy.probs[q], where, self.sigma[q])
            self.plan[q][part.slots[q]] = plan[:slots]
            embed(plan, where, self.plan[q])
            if q == o and gadget.gifts != "none":
                amounts = gifts_of(trunk, gadget)
                embed(amounts.size, where, self.gifts.size)
                embed(amounts.reach, where, self.gifts.reach)
        home = self.tree.players[o]
        for name, value in best_response(tree, part.strategy, o).values.items():
            self.cbv[home.index[name]] = value.normalised

    def _places(self, side: Treeplex, home: Treeplex) -> Index:
        """[q] where a part's sequences stand in the larger tree, which must have all of them."""
        try:
            where = places(side, home)
            missing = next((n for n in side.names if n not in home.index), None)
            why = missing and f"There is no infoset '{missing}' there."
        except SubgameError as error:
            why = str(error)
        if why:
            raise SubgameError(
                f"{self.rules} is not a smaller version of {self.tree.game_name}. {why}"
            )
        return where

    def _off_tree(self, part: _Known) -> list[tuple[int, str]]:
        """(public state, action) of the opponent's choices that a part leaves out."""
        o = 1 - self.p
        side, home = part.tree.players[o], self.tree.players[o]
        off_tree = (
            (int(home.node[home.index[name]]), action)
            for name, known in zip(side.names, side.actions, strict=True)
            for action in home.actions[home.index[name]]
            if action not in known
        )
        return list(dict.fromkeys(off_tree))

    def _answer(self, node: int, action: str, depth: int) -> tuple[_Known, Answer] | None:
        """Solve what follows an off-tree action; None where we never come or never act again."""
        p, o = self.p, 1 - self.p
        before, top = self._tops(node, action)
        name = self.tree.node_names[int(self.large.node[top[0]])]
        after = self._cut(self.rules, top, name)
        home = self.tree.players[o]
        infosets = home.infoset_of[after.sequence[o]]
        inputs = self._inputs(after, self.cbv[infosets])
        if not after.tree.players[p].names or not (inputs.weight > 0).any():
            return None
        if self.method == "inexpensive":
            solved = solve_gadget(self.how, after, inputs, self.device)
            sigma, theirs = solved.sigma, np.ones(len(infosets))
        else:
            names = [home.names[i] for i in infosets]
            wider = Widened(self.rules, {(o, name): (action,) for name in names})
            whole = self._cut(wider, before, name)
            index = [home.index[slot] for slot in whole.tree.players[o].slots]
            wider_inputs = self._inputs(whole, self.cbv[index])
            solved = solve_gadget(self.how, whole, wider_inputs, self.device)
            strategy = Strategy(whole.tree, solved.sigma)
            rows = [strategy.row(o, whole.tree.players[o].index[name]) for name in names]
            theirs = np.array([row[action] for row in rows])
            theirs *= self.plan[o][home.plex.parent[infosets]]
            sigma = inside(strategy, after.tree)
        reach = (inputs.our_reach, theirs) if p == 0 else (theirs, inputs.our_reach)
        sides = both(lambda q: replace(after.tree.players[q], reach=reach[q]))
        tree = replace(after.tree, players=sides, engines={})
        part = _Known(tree, Strategy(tree, sigma), after.sequence, depth)
        return part, Answer(
            public=name,
            action=action,
            player=p,
            depth=depth,
            infosets=tuple(home.names[i] for i in infosets),
            weight=inputs.weight,
            cbv=inputs.cbv,
            values=left(engine(tree, device=self.device), sigma, inputs),
            iterations=solved.result.iterations,
            stopped=solved.result.stopped,
        )

    def _inputs(self, subgame: SequenceSubgame, cbv: Floats) -> GadgetInputs:
        """What the gadget is told; the alternative payoff is CBV~ plus gifts."""
        o, how = 1 - self.p, self.how
        ours = self.plan[self.p][subgame.sequence[self.p]]
        theirs = self.plan[o][subgame.sequence[o]]
        weight = subgame.weight(o, ours)
        gift = self.gifts.to(self.tree.players[o], subgame.sequence[o], weight, how.gadget)
        return GadgetInputs.of(o, (ours, theirs), weight, cbv, gift).reached()

    def _cut(self, game: Game, top: NDArray[np.int64], name: str) -> SequenceSubgame:
        """The subgame below histories of the larger tree, continued by another game's rules."""
        return cut_at_histories(
            replace(self.tree, histories=replace(self.large, game=game), engines={}), top, name
        )

    def _tops(self, node: int, action: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The histories at a public state where the opponent acts, and those after the action."""
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

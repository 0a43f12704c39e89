"""Subgames of hold'em: from a board and a betting state on, a hold'em tree of their own.

Root slots are the hands that a player can hold there. Units are those of the whole game, as in
`subgame.refine.subgame`: a pair of hands and the cards so far have their chance inside
`RangeTree.deals`, and a range is its player's reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.ranges import Range
from subgame.games.holdem.rules import Betting
from subgame.refine.subgame import Subgame
from subgame.tree.ranges.betting_tree import decisions
from subgame.tree.ranges.tree import RangeSide, RangeTree, compile_range_tree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Spot(NamedTuple):
    """A public state: the board's unit in the tree, and the betting."""

    unit: int
    betting: Betting


class RangeSubgame(Subgame):
    """A part of a hold'em tree, or all of it. Axis: s = root slot, a hand."""

    def __init__(self, whole: RangeTree, spot: Spot) -> None:
        put, root = object.__setattr__, spot == Spot(0, whole.holdem.start())
        put(self, "whole", whole)
        put(self, "spot", spot)
        put(self, "name", "root" if root else _name(whole, spot))
        put(self, "tree", whole if root else _part(whole, spot))

    whole: RangeTree  # type: ignore[assignment]
    tree: RangeTree  # type: ignore[assignment]
    spot: Spot

    def hands(self, p: int) -> Ints:
        """[s] the hand of each root slot."""
        return self.tree.units[0].hands[p]

    @cached_property
    def lines(self) -> list[tuple[int, Betting, int]]:
        """(unit, betting, number of the action) of every decision on the way here."""
        game, cards = self.whole.holdem, self.whole.units[self.spot.unit].cards
        state, u, out = game.start(), 0, []
        for action in self.spot.betting.history[len(state.history) :]:
            if action == "/":
                u = next(
                    k
                    for k, unit in enumerate(self.whole.units)
                    if unit.parent == u and unit.cards == cards[: len(unit.cards)]
                )
            else:
                out.append((u, state, game.actions(state).index(action)))
                state = state.child(action)
        return out

    def reach(self, p: int, plan: Any) -> Floats:
        side, number = _side(self.whole, p), decisions(self.whole.streets, p)
        out = np.zeros(self.whole.holdem.deck.num_hands)
        out[self.whole.units[0].hands[p]] = plan.slots
        for u, state, action in self.lines:
            if state.player == p:
                weights = plan.sigma[side.cells(u, number[state.history][1])]
                weights = np.maximum(weights.astype(np.float64), 0)
                total = weights.sum(1)
                share = np.divide(
                    weights[:, action],
                    total,
                    where=total > 0,
                    out=np.full(len(total), 1 / weights.shape[1]),
                )
                out[self.whole.units[u].hands[p]] *= share
        return out[self.hands(p)]

    def most(self, p: int) -> Floats:
        out = np.zeros(self.whole.holdem.deck.num_hands)
        out[self.whole.units[0].hands[p]] = self.whole.players[p].reach
        return out[self.hands(p)]

    def weight(self, p: int, opponent_reach: Floats) -> Floats:
        pairs = self.whole.holdem.deck.disjoint[np.ix_(self.hands(p), self.hands(1 - p))]
        out: Floats = pairs @ opponent_reach / self.tree.deals
        return out

    @cached_property
    def embed(self) -> tuple[Any, Any]:
        """[q] where each of the subgame's sequences stands in the whole tree; -1 is padding."""
        units = {unit.cards: u for u, unit in enumerate(self.whole.units)}
        out = []
        for p in (0, 1):
            where = np.full(self.tree.stored(p), -1, dtype=np.int64)
            side, home = _side(self.tree, p), _side(self.whole, p)
            number = decisions(self.whole.streets, p)
            place = np.full(self.whole.holdem.deck.num_hands, -1)
            for u, unit in enumerate(self.tree.units):
                there = units[unit.cards]
                place[self.whole.units[there].hands[p]] = np.arange(
                    len(self.whole.units[there].hands[p])
                )
                for j, state in enumerate(self.tree.streets[unit.street].states[p]):
                    cells = home.cells(there, number[state.history][1])
                    where[side.cells(u, j)] = cells[place[unit.hands[p]]]
            out.append(where)
        return out[0], out[1]

    def restrict(self, strategy: Strategy, p: int) -> Floats:
        out: Floats = self.restrict_weights(strategy.probs[p], p)
        return out

    def restrict_weights(self, weights: Any, p: int) -> Any:
        """[q] player `p`'s weights of the whole game, inside."""
        if self.tree is self.whole:
            return weights
        where = self.embed[p]
        return np.where(where >= 0, weights[where], 0).astype(np.float32)

    def write(self, p: int, sigma: Floats, into: Floats) -> None:
        if self.tree is self.whole:
            into[:] = sigma
        else:
            where = self.embed[p]
            into[where[where >= 0]] = sigma[where >= 0]

    def shown(self, strategy: Strategy, p: int) -> dict[str, dict[str, float]]:
        """Only the first street inside: all of it may be millions of rows."""
        side = _side(self.tree, p)
        street, unit = self.tree.streets[0], self.tree.units[0]
        out = {}
        for j, state in enumerate(street.states[p]):
            cells = side.cells(0, j)
            cells = cells if self.tree is self.whole else self.embed[p][cells]
            for hand, row in zip(unit.hands[p].tolist(), strategy.probs[p][cells], strict=True):
                weights = row.astype(np.float64)
                total = weights.sum()
                shares = weights / total if total > 0 else np.full(len(row), 1 / len(row))
                name = self.whole.name_of(hand, unit.cards, state)
                out[name] = dict(zip(street.actions[p][j], shares.tolist(), strict=True))
        return out


class Gift(NamedTuple):
    """What the opponent gave up by one action, by hand: [hand] of the deck."""

    size: Floats  # the best she could have had instead, less what she took; unnormalised
    reach: Floats  # pi_{-i} of the infoset where she did


class Gifts:
    """What the opponent `o` gave up on the way to the subgames of a hold'em tree, kept by action.

    As `subgame.refine.payoffs` has it for small trees, action by action along the way to a
    subgame: what an action is worth is what she can get in the tree below it.
    """

    def __init__(
        self,
        whole: RangeTree,
        o: int,
        ours: Any,
        estimate: Strategy | None,
        device: str | None = None,
    ) -> None:
        self.whole, self.o, self.ours, self.estimate = whole, o, ours, estimate
        self.device = device
        self._kept: dict[tuple[int, tuple[str, ...], int, str], Gift] = {}

    def along(self, subgame: RangeSubgame, which: str) -> list[Gift]:
        """Those on the way to a subgame; `which` actions count is "lower" or "estimated"."""
        out = []
        for u, state, action in subgame.lines:
            if state.player == self.o:
                key = (u, state.history, action, which)
                if key not in self._kept:
                    self._kept[key] = self._gift(u, state, action, which)
                out.append(self._kept[key])
        return out

    def _gift(self, u: int, state: Betting, action: int, which: str) -> Gift:
        """2017, Sec. 5: max over a of CBV(I, a) minus CBV(I, a'), a' being `action`."""
        here = RangeSubgame(self.whole, Spot(u, state))
        reach = np.zeros(self.whole.holdem.deck.num_hands)
        reach[here.hands(self.o)] = here.weight(self.o, here.reach(1 - self.o, self.ours))
        states = [state.child(name) for name in self.whole.holdem.actions(state)]
        taken = self._worth(u, states[action], reach, which)
        best = taken
        for other in states:
            ends = other.is_over and (other.folded >= 0 or self._last(other))
            if other is not states[action] and (ends or which == "estimated"):
                best = np.maximum(best, self._worth(u, other, reach, which))
        return Gift(best - taken, reach)

    def _last(self, state: Betting) -> bool:
        return state.street == self.whole.holdem.rules.last_street

    def _worth(self, u: int, state: Betting, reach: Floats, which: str) -> Floats:
        """[hand] what she can get after an action that leads to `state`, on the board of `u`."""
        if state.folded >= 0:
            return -state.at_stake * reach
        out = np.zeros(len(reach))
        units = [u]
        if state.street > self.whole.streets[self.whole.units[u].street].index:  # a card is dealt
            units = [k for k, unit in enumerate(self.whole.units) if unit.parent == u]
        for spot in (Spot(k, state) for k in units if _some_pair(self.whole, k)):
            part = RangeSubgame(self.whole, spot)
            run = engine(part.tree, device=self.device)
            sigma = part.restrict_weights(self.ours.sigma, 1 - self.o)
            plan = run.plan(1 - self.o, sigma, part.reach(1 - self.o, self.ours))
            if which == "estimated" and self.estimate is not None:
                value = run.values(self.o, part.restrict(self.estimate, self.o), plan)
            else:
                value = run.respond(self.o, plan).slots
            out[part.hands(self.o)] += value
        return out


def _side(tree: RangeTree, p: int) -> RangeSide:
    return tree.players[p]


def _name(tree: RangeTree, spot: Spot) -> str:
    return tree.holdem.public_name(tree.units[spot.unit].cards, spot.betting)


def _part(whole: RangeTree, spot: Spot) -> RangeTree:
    """The tree below a spot, in units of the whole game; no boards are merged in it."""
    unit, game = whole.units[spot.unit], whole.holdem
    ranges = []
    for p in (0, 1):
        weights = np.zeros(game.deck.num_hands)
        weights[unit.hands[p]] = 1.0
        ranges.append(Range(weights, game.deck))
    below = replace(game, board=unit.cards, first=spot.betting, ranges=(ranges[0], ranges[1]))
    vars(below)["symmetries"] = np.zeros(1, dtype=np.int64)  # the whole tree has none either
    chance, u = 1.0, spot.unit
    while u > 0:
        chance, u = chance * whole.units[u].weight, whole.units[u].parent
    return replace(compile_range_tree(below), deals=whole.deals / chance, engines={})


# Frontiers -----------------------------------------------------------------------------------


def cut_range_tree(tree: RangeTree, at: Any) -> list[RangeSubgame]:
    """The subgames of a hold'em tree at a frontier; see `subgame.cut`."""
    many = not isinstance(at, str) and isinstance(at, Iterable)
    spots = [spot for one in (at if many else [at]) for spot in _spots(tree, one)]
    if not spots:
        raise SubgameError(f"No public state of {tree.game} is at the frontier '{at}'.")
    for k, one in enumerate(spots if many else []):
        for other in spots[:k] + spots[k + 1 :]:
            if _below(tree, one, other):
                raise SubgameError(
                    f"The public state '{_name(tree, one)}' lies below another one of the "
                    "frontier; subgames are disjoint, so name only one of the two."
                )
    start = Spot(0, tree.holdem.start())
    merged = tree.merged or any(len(u.symmetries) > 1 for u in tree.units)
    if merged and any(spot != start for spot in spots):
        what = "Hands" if tree.merged else "Boards"
        raise SubgameError(
            f"{what} of {tree.game} that differ only in suits are one, so that parts of it "
            "cannot be cut out; refine at root, or compile it with merge=False (subgame endgame "
            "--apart)."
        )
    return [RangeSubgame(tree, spot) for spot in spots]


def _spots(tree: RangeTree, at: object) -> Iterator[Spot]:
    game = tree.holdem
    frontiers = game.frontiers()
    if not isinstance(at, str):
        raise SubgameError(
            f"A frontier of a hold'em tree is named: root, {', '.join(_after(game)) or 'or'} a "
            f"public state, not {at!r}."
        )
    if at == "root" or at == game.public_name(game.board, game.start()):
        yield Spot(0, game.start())
    elif at in _after(game):
        street = frontiers[at].street - game.start().street  # type: ignore[attr-defined]
        for u, unit in enumerate(tree.units):
            if unit.street == street and _some_pair(tree, u):
                for state in tree.streets[street].roots:
                    if not state.is_over:
                        yield Spot(u, state)
    elif at in frontiers:
        after = at.replace("before", "after")
        raise SubgameError(f"A hold'em tree is cut once cards are dealt: '{after}', not '{at}'.")
    else:
        yield _public_state(tree, at)


def _after(game: Holdem) -> list[str]:
    return [name for name in game.frontiers() if name.startswith("after")]


def _some_pair(tree: RangeTree, u: int) -> bool:
    hands = tree.units[u].hands
    return bool(tree.holdem.deck.disjoint[np.ix_(*hands)].any())


def _public_state(tree: RangeTree, at: str) -> Spot:
    """The public state of a name such as ``Qs Jh 2h 8d | r100c/``."""
    board, bar, history = at.partition("|")
    game = tree.holdem
    if not bar:
        raise did_you_mean("frontier or public state", at, ["root", *_after(game)])
    cards = game.deck.parse(board, what="board")
    found = [u for u, unit in enumerate(tree.units) if unit.cards == cards]
    start = game.start()
    state = start.play(history.strip().removeprefix(str(start)))
    street = tree.units[found[0]].street if found else -1
    known = [s for p in (0, 1) for s in tree.streets[street].states[p]] if found else []
    if state not in known or not _some_pair(tree, found[0]):
        raise SubgameError(f"{tree.game} has no public state '{at}' where somebody acts.")
    return Spot(found[0], state)


def _below(tree: RangeTree, one: Spot, other: Spot) -> bool:
    cards, above = tree.units[one.unit].cards, tree.units[other.unit].cards
    history = other.betting.history
    return cards[: len(above)] == above and one.betting.history[: len(history)] == history

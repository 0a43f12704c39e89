"""What bucketed streets are compared with: real cards, CFR over histories, an explicit game."""

from __future__ import annotations

import copy
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from watcher import solver

import subgame as sg
from holdem_games import GAMES
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.holdem.game import BOARD_CARDS, HoldemState
from subgame.games.holdem.isomorphism import card_permutations, hand_permutations
from subgame.games.holdem.sizes import STREETS
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.betting_tree import decisions
from subgame.tree.ranges.buckets import Buckets
from subgame.tree.ranges.tree import RangeTree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch.buckets import Bucketed  # noqa: E402


def compiled(name: str) -> RangeTree:
    tree = sg.compile(GAMES[name], merge="boards")
    assert isinstance(tree, RangeTree)
    return tree


def names_of(tree: RangeTree) -> list[str]:
    return [STREETS[street.index] for street in tree.streets]


class Cards:
    """The bucket of a hand on a real board, by any permutation of suits that leads to a unit."""

    def __init__(self, buckets: Buckets) -> None:
        self.tree, self.buckets = buckets.tree, buckets
        self.units = {tuple(unit.cards): unit.number for unit in self.tree.units}
        self.first = [
            int(np.flatnonzero(self.tree.boards.street == s)[0])
            for s in range(len(self.tree.streets))
        ]

    def of(self, hand: int, board: tuple[int, ...], s: int) -> int:
        deck, top = self.tree.holdem.deck, len(self.tree.holdem.board)
        ends = [top, *(n for n in BOARD_CARDS if top < n <= len(board))]
        for k in self.tree.holdem.symmetries:
            moved = card_permutations(deck)[k][list(board)].tolist()
            cards = list(self.tree.holdem.board)
            for begin, end in itertools.pairwise(ends):
                cards += sorted(moved[begin:end])
            if tuple(cards) in self.units:
                unit = self.units[tuple(cards)] - self.first[s]
                moved_hand = int(hand_permutations(deck)[k][hand])
                return int(self.buckets.groupings[s].of[unit, moved_hand])
        raise AssertionError("no unit stands for this board")


def all_streets(buckets: Buckets) -> Buckets:
    """Lossless buckets where there are none."""
    fine, names = Buckets.lossless(buckets.tree).groupings, names_of(buckets.tree)
    every = fine | buckets.groupings
    return Buckets(
        buckets.tree, {names[s]: np.maximum(grouping.of, 0) for s, grouping in every.items()}
    )


class Slow:
    """CFR on the histories of the game; infosets are (decision, bucket), whatever was known before.

    What a real hand on a real board adds to an average is weighed by the hand's weight in the range
    and the chance of the board.
    """

    def __init__(self, buckets: Buckets) -> None:
        self.tree, self.game = buckets.tree, buckets.tree.holdem
        self.cards = Cards(all_streets(buckets))
        self.where = [decisions(self.tree.streets, p) for p in (0, 1)]
        self.root = self.expand(self.game.new_initial_state())
        self.held = [list(self.own(p)) for p in (0, 1)]
        start: Callable[[], Any] = lambda: [defaultdict(float), defaultdict(float)]  # noqa: E731
        self.regret, self.average, self.instant = start(), start(), start()

    def expand(self, state: HoldemState) -> Any:
        """(player, infoset, children), (CHANCE, children with chances), or what player 0 gets."""
        player = state.current_player()
        if player == TERMINAL:
            return state.returns()[0]
        if player == CHANCE:
            return (CHANCE, [(c, self.expand(state.child(a))) for a, c in state.chance_outcomes()])
        key = self.key(player, state.hands[player], state.board, state.betting)
        return (player, key, [self.expand(state.child(a)) for a in state.legal_actions()])

    def key(self, p: int, hand: int, board: tuple[int, ...], betting: Any) -> Any:
        s, j = self.where[p][betting.history]
        return s, j, self.cards.of(hand, board, s)

    def own(self, p: int) -> Iterator[tuple[float, Any, Any, int]]:
        """Weight, infoset, own actions before and number of actions of all that `p` may hold."""
        deck, rules = self.game.deck, self.game.rules

        def walk(hand: int, board: Any, betting: Any, weight: float, before: Any) -> Any:
            more = BOARD_CARDS[min(betting.street, rules.last_street)] - len(board)
            if betting.is_over:
                return
            if more:
                left = set(range(deck.size)) - {*board, *deck.hands[hand].tolist()}
                share = weight / math.comb(deck.size - len(board) - 4, more)
                for cards in itertools.combinations(sorted(left), more):
                    yield from walk(hand, (*board, *cards), betting, share, before)
                return
            actions, mine = self.game.actions(betting), betting.player == p
            key = self.key(p, hand, board, betting) if mine else None
            if mine:
                yield weight, key, before, len(actions)
            for a, action in enumerate(actions):
                after = (*before, (key, a, len(actions))) if mine else before
                yield from walk(hand, board, betting.child(action), weight, after)

        for hand in np.flatnonzero(self.game.weights()[p]).tolist():
            weight = float(self.game.weights()[p][hand])
            yield from walk(hand, self.game.board, self.game.start(), weight, ())

    def match(self, p: int, key: Any, rates: Any, actions: int) -> list[float]:
        out = []
        for a in range(actions):
            w = self.regret[p][key, a]
            if self.instant[p]:
                w = w * (rates[0] if w > 0 else rates[1]) + self.instant[p][key, a]
            out.append(max(w, 0.0))
        total = sum(out)
        return [w / total for w in out] if total > 1e-20 else [1 / actions] * actions

    def sweep(self, p: int, sigma: Any) -> tuple[Any, Any]:
        """What an iteration adds to regrets and averages of player `p`."""
        gain: Any = defaultdict(float)
        total: Any = defaultdict(float)

        def value(node: Any, others: float) -> float:
            if not isinstance(node, tuple):
                return float(node if p == 0 else -node)
            if node[0] == CHANCE:
                return float(sum(c * value(child, others * c) for c, child in node[1]))
            player, key, children = node
            probs = sigma(player, key, len(children))
            if player != p:
                pairs = zip(probs, children, strict=True)
                return float(sum(x * value(child, others * x) for x, child in pairs))
            paid = [value(child, others) for child in children]
            mean = float(sum(x * v for x, v in zip(probs, paid, strict=True)))
            for a, v in enumerate(paid):
                gain[key, a] += others * (v - mean) * self.tree.deals
            return mean

        value(self.root, 1.0)
        for weight, key, before, actions in self.held[p]:
            reach = math.prod(sigma(p, above, n)[a] for above, a, n in before)
            for a, x in enumerate(sigma(p, key, actions)):
                total[key, a] += weight * reach * x
        return gain, total

    def run(self, plan: Schedule, first: int, many: int) -> None:
        discounts = plan.discounts(first, many + 1)
        for t in range(many):
            now, old = discounts[t], copy.deepcopy((self.regret, self.instant))

            def sigma(
                q: int, key: Any, actions: int, p: int, now: Any = now, t: int = t, old: Any = old
            ) -> list[float]:
                if q == p or p == 0:
                    return self.match(q, key, now, actions)
                if plan.alternating:
                    return self.match(q, key, discounts[t + 1], actions)
                new = self.regret, self.instant
                self.regret, self.instant = old
                strategy = self.match(q, key, now, actions)
                self.regret, self.instant = new
                return strategy

            for p in (0, 1):
                gain, total = self.sweep(p, lambda q, key, n, p=p: sigma(q, key, n, p))
                for at in total:
                    w = self.regret[p][at]
                    self.regret[p][at] = w * (now[0] if w > 0 else now[1]) + gain[at]
                    self.average[p][at] = self.average[p][at] * now[2] + total[at]
                if plan.predictive:
                    self.instant[p] = gain


class Device:
    """An engine whose numbers are read and written by bucket, also where it has none."""

    def __init__(self, engine: TorchRangeEngine, buckets: Buckets, plan: Schedule) -> None:
        self.engine, self.every = engine, all_streets(buckets)
        self.run = solver(engine, plan)
        self.pair: Any = self.run.pair

    def cells(self, p: int) -> Iterator[tuple[int, Any, Any, Any, Any]]:
        """Street, bucket of each place, first places, weights of buckets by hands and by boards."""
        tree = self.engine.tree
        for s, level in enumerate(self.engine.levels):
            grouping = self.every.groupings[s]
            of = self.every.places(s, p, level.hands[p].wide)
            real = of >= 0
            root = np.where(real, np.arange(of.size).reshape(of.shape), 0)
            for k in range(s, 0, -1):
                root = self.engine.levels[k].hands[p].tables.above.ravel()[root]
            held = tree.players[p].reach[root]
            chance = np.broadcast_to(grouping.weight[:, None], of.shape)
            both = np.bincount(of[real], (held * chance)[real], grouping.count)
            boards = np.bincount(of[real], chance[real], grouping.count)
            first = np.zeros(grouping.count, dtype=np.int64)  # anywhere, of hands that are not held
            first[of[real][::-1]] = np.flatnonzero(real)[::-1]
            yield s, of, first, both, boards

    def write(self, rng: np.random.Generator, slow: Slow | None = None) -> None:
        """Draw regrets, averages and predictions."""
        for p in (0, 1):
            for s, of, _, both, boards in self.cells(p):
                for field in ("regret", "average", "instant"):
                    numbers = getattr(self.pair[p], field)
                    if numbers is None:
                        continue
                    blocks = numbers.blocks
                    shape = (blocks[s].shape[0], len(both))
                    drawn = 30 * rng.normal(size=shape)
                    if field == "regret":  # one action is liked, or rounding would choose
                        street = self.engine.tree.streets[s]
                        liked = np.array(street.first[p], dtype=np.int64) - len(street.roots)
                        drawn[liked] = 100 * (1 + rng.random((len(liked), len(both))))
                    elif field == "average":
                        drawn = np.abs(drawn)
                    drawn = (drawn * (boards > 0)).astype(np.float32)
                    if isinstance(blocks[s], Bucketed):
                        blocks[s].values.copy_(torch.from_numpy(drawn))
                    else:
                        scale = boards if field == "average" else both
                        spread = np.where(of >= 0, (drawn / np.maximum(scale, 1e-9))[:, of], 0)
                        blocks[s].copy_(torch.from_numpy(spread))
                    if slow is not None:
                        self.tell(slow, field, p, s, drawn)

    def tell(self, slow: Slow, field: str, p: int, s: int, drawn: Any) -> None:
        for j, k, a, edge in self.actions(p, s):
            getattr(slow, field)[p][(s, j, k), a] = float(drawn[edge, k])

    def actions(self, p: int, s: int) -> Iterator[tuple[int, int, int, int]]:
        street = self.engine.tree.streets[s]
        for j, first in enumerate(street.first[p]):
            for a in range(len(street.actions[p][j])):
                for k in range(self.every.groupings[s].count):
                    yield j, k, a, first - len(street.roots) + a

    def read(self, field: str, p: int) -> Iterator[tuple[int, Any]]:
        """[action, bucket] on each street."""
        for s, _, first, both, boards in self.cells(p):
            block = getattr(self.pair[p], field).blocks[s]
            if isinstance(block, Bucketed):
                yield s, block.values.cpu().numpy()
            else:
                scale = boards if field == "average" else both
                values = block.flatten(1)[:, torch.from_numpy(first).to(block.device)].cpu().numpy()
                yield s, values * scale


class Blurred(State):
    """A state of a game whose players see buckets; they remember what they saw."""

    def __init__(self, state: HoldemState, slow: Slow) -> None:
        self.state, self.slow = state, slow

    def current_player(self) -> int:
        return self.state.current_player()

    def legal_actions(self) -> tuple[str, ...]:
        return self.state.legal_actions()

    def child(self, action: str) -> Blurred:
        return Blurred(self.state.child(action), self.slow)

    def returns(self) -> tuple[float, float]:
        return self.state.returns()

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return self.state.chance_outcomes()

    def information_state(self, player: int) -> str | None:
        state = self.state
        if state.current_player() != player:
            return None
        return str(self.slow.key(player, state.hands[player], state.board, state.betting))


class BlurredGame(Game):
    name = "blurred"

    def __init__(self, buckets: Buckets) -> None:
        self.slow, self.game = Slow(buckets), buckets.tree.holdem

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def new_initial_state(self) -> Blurred:
        return Blurred(self.game.new_initial_state(), self.slow)

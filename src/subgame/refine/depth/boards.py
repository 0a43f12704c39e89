"""Depth-limited solving of hold'em: one street, the next one as a table of state values.

What `subgame.refine.depth.limit` does on small trees, with the limit before the next street's cards
(Brown, Sandholm & Amos 2018, Sec. 4 and 6.1). At each way out of the street (a *leaf*), with each
of her hands, the opponent picks one of K strategies for the rest of the game; we play the
blueprint. What that is worth is a number per leaf, K and pair of hands: a table
``[k, leaf, her hand, our hand]`` in chips, taken over all boards once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from subgame.engines.torch.batch import Blocks, DeviceMemory, Sweeps
from subgame.engines.torch.doors import Doors
from subgame.engines.torch.layout import betting
from subgame.engines.torch.ranges import TorchRangeEngine
from subgame.engines.torch.torch_ops import BEST, LEARN, RESPOND, TINY, Mind, Place, TorchOps
from subgame.errors import SubgameError
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.games.holdem.rules import Betting
from subgame.refine.nested.boards import edges, given_up, ratio, reliable
from subgame.solve.schedule import Schedule
from subgame.tree.ranges.betting_tree import Street

Tensor = Any
BOARDS = 24
"""Boards whose pairs of hands are worked on at a time."""


def pair_values(
    engine: TorchRangeEngine, stage: Sweeps, street: Street, sigma: tuple[Blocks, Blocks], o: int
) -> Tensor:
    """[root, hand, hand] what player `o` wins on the last street, by her hand and ours.

    Both play `sigma` on it; hands are those of the street above, before the cards are dealt. A
    terminal pays ``scale * r_o r_p'`` over pairs of hands, after a showdown times who is ahead, so
    that a board is a product of matrices. Boards that differ in suits are one board's, exchanged.
    """
    p, torch, level = 1 - o, engine.torch, stage.levels[0]
    ones = [
        torch.ones((len(street.roots), level.units, level.hands[q].wide), device=stage.device)
        for q in (0, 1)
    ]
    reach = [stage.reaches(q, sigma[q], ones[q])[0] for q in (0, 1)]
    bet, hers = level.bets[o], level.bets[p]
    homes = _homes(street, o)
    wide = [engine.levels[-2].hands[q].wide for q in (0, 1)]
    out = torch.zeros((len(street.roots), wide[o], wide[p]), device=stage.device)
    tables, weight = stage.places[0].tables, stage.places[0].weight.to(torch.float32)
    for at in range(0, level.units, BOARDS):
        some = slice(at, min(at + BOARDS, level.units))
        free, ahead = _pairs(tables[o], tables[p], some, hers=level.hands[p].wide)
        index = [tables[q].below[some].long() for q in (o, p)]
        seen = [(each >= 0).to(torch.float32) for each in index]
        index = [each.clamp(min=0) for each in index]
        number = torch.arange(some.stop - some.start, device=stage.device)[:, None, None]
        for root in range(len(street.roots)):
            won = torch.zeros_like(free)
            for showdown in (True, False):
                ends = [
                    end for end in bet.ends if homes[end.row] == root and end.showdown == showdown
                ]
                if not ends:
                    continue
                lanes = [hers.lanes[end.lane + (0 if showdown else hers.folded)] for end in ends]
                scale = torch.tensor([end.scale for end in ends], device=stage.device)
                mine = reach[o][[end.row for end in ends]][:, some] * scale[:, None, None]
                paid = torch.einsum("ebh,ebj->bhj", mine, reach[p][lanes][:, some])
                won += paid * (ahead if showdown else 1)
            won *= free
            moved = won[number, index[0][:, :, None], index[1][:, None, :]]
            moved *= seen[0][:, :, None] * weight[some, None, None]
            out[root] += (moved * seen[1][:, None, :]).sum(0)
    return _exchanged(engine, out)


def _homes(street: Street, p: int) -> list[int]:
    """[row] the root above each of a player's rows."""
    home = list(range(len(street.roots))) + [-1] * (street.rows[p] - len(street.roots))
    for j, first in enumerate(street.first[p]):
        for k in range(len(street.actions[p][j])):
            home[first + k] = home[street.parent[p][j]]
    return home


def _pairs(mine: Any, theirs: Any, some: slice, hers: int) -> tuple[Tensor, Tensor]:
    """[u, h, j] whether two hands can be held together, and which is ahead: 1, 0 or -1."""
    one, two = mine.cards[some], theirs.cards[some]
    shared = (one[:, :, None, :, None] == two[:, None, :, None, :]).flatten(3).any(3)
    real = (mine.above[some] >= 0)[:, :, None] & (theirs.above[some] >= 0)[:, None, :]
    place = theirs.cards.new_tensor(range(hers))
    bounds = mine.bounds[some]
    ahead = (place < bounds[:, :, :1]).float() - (place >= bounds[:, :, 1:]).float()
    return (real & ~shared).float(), ahead


def _exchanged(engine: TorchRangeEngine, table: Tensor) -> Tensor:
    """Averaged over the permutations of suits that leave the game as it is."""
    torch, unit = engine.torch, engine.tree.units[0]
    hands = [torch.from_numpy(unit.hands[q].copy()) for q in (0, 1)]
    if any(len(each) != engine.tree.holdem.deck.num_hands for each in hands):
        raise AssertionError("State values are taken over all hands.")
    place = torch.argsort(hands[0])  # from a hand to its place; both players' are the same
    images = torch.from_numpy(hand_permutations(engine.tree.holdem.deck)[unit.symmetries].copy())
    moved = place[images[:, hands[0]]].to(engine.device)  # [symmetry, place] where a place goes
    count, out = len(place), torch.zeros_like(table)
    inner = table[:, :count, :count]
    for line in moved:
        out[:, :count, :count] += inner[:, line][:, :, line]
    return out / len(moved)


class Leaves(NamedTuple):
    """State values at the leaves of a street."""

    table: Tensor  # [k, leaf, hand of the opponent, ours] what she wins, in chips
    opponent: int

    def choices(self, reach: Tensor) -> Tensor:
        """[k, leaf, hand] what each continuation is worth to her, from our reach [leaf, hand]."""
        found: Tensor = (self.table @ reach[None, :, :, None])[..., 0]
        return found

    def ours(self, reach: Tensor) -> Tensor:
        """[leaf, hand] what we get, from her reach [k, leaf, hand] with each continuation."""
        found: Tensor = -(reach[:, :, None] @ self.table)[:, :, 0].sum(0)
        return found


@dataclass(eq=False)
class LimitedStreet:
    """A game that ends with its first street, in multi-valued states."""

    engine: TorchRangeEngine
    street: Street
    leaves: Leaves
    schedule: Schedule
    door: Doors | None = None

    def solve(self, reach: tuple[Tensor, Tensor], iterations: int) -> Tensor:
        """[action, 1, hand] our average strategy; `reach` is at the roots, ``[root, 1, hand]``."""
        torch, plan, o = self.engine.torch, self.schedule, self.leaves.opponent
        if plan.predictive or not plan.alternating:
            raise AssertionError("Depth-limited streets are solved by alternating schedules.")
        ops, place = TorchOps(self.engine.device), self._place()
        level, sides = place.level, place.level.bets
        shapes = [(bet.edges, 1, level.hands[q].wide) for q, bet in enumerate(sides)]
        regret, average = (
            [torch.zeros(shape, device=self.engine.device) for shape in shapes] for _ in range(2)
        )
        picked = torch.zeros(self.leaves.table.shape[:3], device=self.engine.device)
        slots = [each.to(torch.float32) for each in reach]
        table = torch.from_numpy(plan.discounts(1, iterations + 1)).to(regret[0])
        table = torch.nn.functional.pad(table, (0, 1))
        if self.door is not None:
            slots[o] = self.door.enter(table[0])
        for t in range(iterations):
            rates = table[t]
            for p in (0, 1):
                q = 1 - p
                lanes, leaf = ops.descend(place, q, Mind(regret[q]), rates, slots[q])
                shares = picked.clamp(min=TINY) / picked.clamp(min=TINY).sum(0)
                if p == o:
                    worth = self.leaves.choices(leaf[:, 0])
                    below = (shares * worth).sum(0)
                else:
                    below = self.leaves.ours(leaf[None, :, 0] * shares)
                shown, folded = ops.terminals(place, p, lanes)
                mind = Mind(regret[p], average[p])
                paid = (shown, folded, below[:, None])
                rows = ops.climb(place, p, LEARN, mind, rates, slots[p], paid)
                if p == o:
                    gain = worth - below
                    picked = picked * torch.where(picked > 0, rates[0], rates[1]) + gain
                    if self.door is not None:
                        both = table[t : t + 2]
                        self.door.observe(rows[: sides[p].roots], both)
                        slots[o] = self.door.enter(both[1])
        return average[1 - o]

    def _place(self) -> Place:
        place = self.engine.places[0]
        return place._replace(level=replace(place.level, bets=betting(self.street)))

    def allowances(self, ours: Tensor, reach: Tensor, alternative: Tensor) -> Allowances:
        """What she may get at each leaf if she is to get no more than `alternative` at the root.

        `ours` is our strategy, `reach` ours at the only root. It is her value there; more, where
        the root is worth less to her than its alternative (less, where it is worth more), by as
        much at every leaf; and more by what she gave up on the way, as with Reach gadgets (2017,
        Sec. 5).
        """
        torch, o = self.engine.torch, self.leaves.opponent
        ops, place = TorchOps(self.engine.device), self._place()
        sides, rates = place.level.bets, torch.ones(4, device=self.engine.device)
        entry = ops.enter(place, 1 - o, reach)
        rows = ops.reach(sides[1 - o], Mind(ours), rates.to(entry), entry)[0]
        leaf = rows[sides[1 - o].leaves]
        below = self.leaves.choices(leaf[:, 0].to(torch.float32)).amax(0)[:, None].to(reach)
        paid = (*ops.terminals(place, o, rows[sides[1 - o].lanes]), below)
        worth = ops.climb(place, o, BEST, Mind(None), rates, None, paid)
        weight = reliable(ops.opposing(place, o, leaf))
        left = alternative * reliable(ops.opposing(place, o, entry)) - worth[: sides[o].roots]
        gift = given_up(place, self.street, o, worth, rows, ratio(left, weight.sum(0)))
        return Allowances(leaf, weight, ratio(below, weight) + gift[sides[o].leaves])


class Allowances(NamedTuple):
    """How a subgame goes on after the limit. Axes: leaf, unit, hand."""

    ours: Tensor  # our reach
    weight: Tensor  # of the opponent's hands
    alternative: Tensor  # what she may get, normalised


class DoorsAbove:
    """A gadget before the cards of a stage's street are dealt: one choice for all its boards."""

    recorded = True

    def __init__(self, engine: TorchRangeEngine, doors: Doors, s: int) -> None:
        self.engine, self.doors, self.street, self.player = engine, doors, s, doors.player

    def enter(self, rates: Tensor) -> Tensor:
        return self.engine.enter(self.player, self.doors.enter(rates), self.street)

    def observe(self, values: Tensor, rates: Tensor) -> None:
        above, here = self.engine.places[self.street - 1 : self.street + 1]
        self.doors.observe(self.engine.ops.rise(above, here, self.player, values), rates)


class Continuation(NamedTuple):
    """One of her strategies for the last street."""

    table: Tensor  # [leaf, hand of the opponent, ours] what she wins by it, in chips
    hers: Blocks


def self_generated(
    engine: TorchRangeEngine,
    blueprint: tuple[Blocks, Blocks],
    o: int,
    schedule: Schedule,
    iterations: int,
) -> Iterator[Continuation]:
    """Continuations of a blueprint's first street by the self-generative approach (2018, Sec. 4).

    From the blueprint alone: solve the first street with the continuations so far, add the
    opponent's best response to what that has us play (the blueprint afterwards), solve again.
    There is no end to it: take as many as are wanted.
    """
    torch, p = engine.torch, 1 - o
    first, last = engine.tree.streets
    stage = plain(engine, [last])
    below = [Blocks(stage, q, [blueprint[q].blocks[1]]) for q in (0, 1)]
    reach = [engine.slots(side.reach, torch.float32) for side in engine.tree.players]
    slots = [_padded(engine, each, q) for q, each in enumerate(reach)]
    tables: list[Tensor] = []
    hers = below[o]
    while True:
        both = (hers, below[1]) if o == 0 else (below[0], hers)
        tables.append(pair_values(engine, stage, last, both, o))
        yield Continuation(tables[-1], hers)
        limited = LimitedStreet(engine, first, Leaves(torch.stack(tables), o), schedule)
        sigma = Blocks(
            engine, p, [limited.solve((slots[0], slots[1]), iterations), blueprint[p].blocks[1]]
        )
        arrived = engine.reaches(p, sigma, reach[p])[0][engine.levels[0].bets[p].leaves]
        hers = respond(stage, o, below[p], engine.enter(p, arrived, 1))


class OffTree:
    """State values after an off-tree bet, in its own pot.

    `like` says for each size we may take the bet for which known leaf stands for each of those
    after the bet (`street` starts there). She plays on as after one of those sizes, we as after
    either, equally often. The mean of the values after each size, as in the paper, would have her
    play on as after the size that we take the bet for, as if she knew it.
    """

    def __init__(
        self, engine: TorchRangeEngine, street: Street, like: list[list[int]], blueprint: Blocks
    ) -> None:
        self.engine, self.street, self.like = engine, street, like
        self.stage = plain(engine, [street])
        self.ours = [self._as_after(size, blueprint.player, blueprint.blocks[1]) for size in like]

    def _as_after(self, size: list[int], q: int, block: Tensor) -> Blocks:
        """A strategy of the known street, played after the bet as if it had been another."""
        tree, into = self.engine.tree, self.stage.blank(q)
        known = tree.streets[1]
        index = {state.history: j for j, state in enumerate(known.states[q])}
        for j, state in enumerate(self.street.states[q]):
            k, root = next(
                (k, root)
                for k, root in enumerate(self.street.roots)
                if state.history[: len(root.history)] == root.history
            )
            line = state.history[len(root.history) :]
            there = index[alike(tree.holdem, root, line, known.roots[size[k]]).history]
            into.blocks[0][edges(self.street, q, j)] = block[edges(known, q, there)]
        return into

    def values(self, hers: Blocks) -> Tensor:
        """[size, leaf, hand of the opponent, ours] what she wins by playing on as after a size."""
        o, tables = hers.player, []
        for size in self.like:
            plan = self._as_after(size, o, hers.blocks[0])
            pairs = ((plan, ours) if o == 0 else (ours, plan) for ours in self.ours)
            found = [pair_values(self.engine, self.stage, self.street, pair, o) for pair in pairs]
            tables.append(sum(found) / len(found))
        return self.engine.torch.stack(tables)


def alike(game: Holdem, real: Betting, line: tuple[str, ...], other: Betting) -> Betting:
    """Where doing from `other`, choice by choice, what `line` does from `real` leads."""
    for action in line:
        if action == "/":
            continue
        names, others = game.actions(real), game.actions(other)
        if len(names) != len(others):
            raise SubgameError(f"After '{other}' there are other choices than after '{real}'.")
        real, other = real.child(action), other.child(others[names.index(action)])
    return other


def plain(engine: TorchRangeEngine, streets: list[Street]) -> Sweeps:
    """A stage by plain PyTorch: for what is done once, kernels need not be compiled."""
    made = engine.stage(streets)
    return Sweeps(
        made.levels,
        made.places,
        TorchOps(engine.device),
        scratch=engine.scratch,
        graphs=False,
        boards=made.boards,
        ferry=made.ferry,
    )


def respond(stage: Sweeps, p: int, theirs: Blocks, reach: Tensor) -> Blocks:
    """A best response of player `p` on a stage, as a strategy; `reach` is the opponent's."""
    none, rates = Blocks(stage, p, []), stage.torch.ones(4, device=stage.device)
    mine = DeviceMemory(stage.blank(p), none, none)
    stage.sweep(p, RESPOND, mine, stage.still(1 - p, theirs), rates, rates, (None, reach))
    return mine.regret


def _padded(engine: TorchRangeEngine, reach: Tensor, q: int) -> Tensor:
    """[root, unit, hand] up to the width of the first street."""
    wide = engine.levels[0].hands[q].wide
    return engine.torch.nn.functional.pad(reach, (0, wide - reach.shape[2]))

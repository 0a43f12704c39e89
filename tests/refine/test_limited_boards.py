"""Flop hold'em cut before the flop, with a table of state values beside explicit trees."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any, cast

import numpy as np
import pytest

import subgame as sg
from subgame.games import holdem
from subgame.refine.depth.continuations import Continuations
from subgame.solve.schedule import parse
from subgame.tree.ranges.betting_tree import grow
from subgame.tree.ranges.tree import compile_range_tree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch import TorchRangeEngine  # noqa: E402
from subgame.engines.torch.batch import Blocks  # noqa: E402
from subgame.engines.torch.layout import betting  # noqa: E402
from subgame.refine.depth.boards import (  # noqa: E402
    Leaves,
    LimitedStreet,
    OffTree,
    alike,
    pair_values,
    plain,
    respond,
    self_generated,
)

GAME = holdem.nlfh(2000, 10, 20, "preflop: 1x / cap 2; flop: 1x / cap 1", "JQKA", "hs")
US, SHE = 0, 1


@cache
def engine() -> TorchRangeEngine:
    return TorchRangeEngine(compile_range_tree(GAME), "cpu")


def even(blocks: Blocks) -> Blocks:
    """A strategy that looks at no card, so that suits do not matter to it."""
    return Blocks(
        blocks.engine,
        blocks.player,
        [block.mean((1, 2), keepdim=True).expand_as(block).clone() for block in blocks.blocks],
    )


@cache
def drawn(seed: int) -> tuple[Blocks, Blocks]:
    """Random strategies."""
    made, generator = [], torch.Generator().manual_seed(seed)
    for p in (0, 1):
        blank = engine().blank(p)
        fill = [torch.rand(block.shape, generator=generator) for block in blank.blocks]
        made.append(even(Blocks(engine(), p, fill)))
    return made[0], made[1]


def below(sigma: tuple[Blocks, Blocks]) -> tuple[Any, tuple[Blocks, Blocks]]:
    stage = plain(engine(), [engine().tree.streets[1]])
    one, two = (Blocks(stage, p, [sigma[p].blocks[1]]) for p in (0, 1))
    return stage, (one, two)


@pytest.mark.parametrize("o", [0, 1])
def test_pairs_of_hands_add_up_to_what_ranges_get(o: int) -> None:
    run, sigma = engine(), drawn(1)
    stage, both = below(sigma)
    street, p = run.tree.streets[1], 1 - o
    table = pair_values(run, stage, street, both, o)
    wide = run.levels[0].hands[p].wide
    reach = torch.zeros(len(street.roots), 1, wide)
    reach[:, :, : GAME.deck.num_hands] = torch.rand(len(street.roots), 1, 1)  # suits are alike
    flop = stage.judge(o, both[o], both[p], run.enter(p, reach, 1))
    want = run.ops.rise(run.places[0], run.places[1], o, flop)[:, 0]
    got = Leaves(table[None], o).choices(reach[:, 0])[0]
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-3)
    ours = Leaves(table[None], o).ours(torch.ones(1, *table.shape[:2]))
    np.testing.assert_allclose(ours.numpy(), -table.sum(1).numpy(), rtol=1e-4, atol=1e-3)


@cache
def explicit() -> sg.PublicTree:
    return sg.compile(GAME, explicit=True)


def over_histories(sigma: tuple[Blocks, Blocks]) -> sg.Strategy:
    """Strategies that do not look at cards, over histories."""
    tree, run, probs = explicit(), engine(), []
    for p in (0, 1):
        known = {}
        for s, street in enumerate(run.tree.streets):
            for j, state in enumerate(street.states[p]):
                first = street.first[p][j] - len(street.roots)
                rows = sigma[p].blocks[s][first : first + len(street.actions[p][j]), 0, 0]
                known[str(state)] = (rows / rows.sum()).numpy()
        side = tree.players[p]
        out = np.ones(side.num_sequences)
        for i, name in enumerate(side.names):
            out[side.sequences(i)] = known[name.rpartition("| ")[2].strip()]
        probs.append(out)
    return sg.Strategy(tree, (probs[0], probs[1]))


def test_a_limited_street_is_solved_as_over_histories() -> None:
    """With two continuations to choose from, on each other's best response."""
    run = engine()
    stage, both = below(drawn(1))
    other = Blocks(stage, SHE, [drawn(2)[SHE].blocks[1]])
    street = run.tree.streets[1]
    tables = [pair_values(run, stage, street, (both[US], her), SHE) for her in (both[SHE], other)]
    leaves = Leaves(torch.stack(tables), SHE)
    limited = LimitedStreet(run, run.tree.streets[0], leaves, parse("cfr+"))
    wide = run.levels[0].hands[0].wide
    slots = torch.zeros(1, 1, wide)
    slots[..., : GAME.deck.num_hands] = 1
    average = limited.solve((slots, slots), 300)
    blueprint, second = over_histories(drawn(1)), over_histories(drawn(2))
    tree = sg.depth_limited(
        explicit(),
        blueprint,
        at="before the flop",
        player=US,
        continuations=Continuations.of([blueprint, second], SHE),
    )
    solved = sg.solve(tree, iterations=300, schedule="cfr+").strategy
    before = sg.exploitability(tree, solved)
    side, mine = tree.players[US], np.array(solved.probs[US])
    place = {int(hand): k for k, hand in enumerate(run.tree.units[0].hands[US])}
    street = run.tree.streets[0]
    for j, state in enumerate(street.states[US]):
        first = street.first[US][j] - len(street.roots)
        rows = average[first : first + len(street.actions[US][j]), 0]
        for hand in range(GAME.deck.num_hands):
            i = side.index[GAME.infoset_name(hand, (), state)]
            weights = rows[:, place[hand]].double().numpy()
            mine[side.sequences(i)] = weights / weights.sum()
    found = sg.exploitability(tree, sg.Strategy(tree, (mine, solved.probs[SHE])))
    assert found.per_seat[US] == pytest.approx(before.per_seat[US], abs=0.05)  # of 60 chips


def test_generated_continuations_are_worth_more_to_her() -> None:
    run, plan = engine(), parse("cfr+")
    one, two = (run.memory(p) for p in (0, 1))
    run.iterate((one, two), plan.discounts(1, 51), True)
    made = islice(self_generated(run, (one.average, two.average), SHE, plan, 30), 3)
    leaves = Leaves(torch.stack([each.table for each in made]), SHE)
    assert leaves.table.shape[0] == 3
    assert not torch.allclose(leaves.table[0], leaves.table[1])
    reach = torch.zeros(leaves.table.shape[1], leaves.table.shape[3])
    reach[:, : GAME.deck.num_hands] = 1
    stage, both = below((one.average, two.average))
    best = respond(stage, SHE, both[US], run.enter(US, reach[:, None], 1))
    table = pair_values(run, stage, run.tree.streets[1], (both[US], best), SHE)
    worth = Leaves(torch.cat([leaves.table, table[None]]), SHE).choices(reach)
    assert (worth[3] >= worth[:3].amax(0) - 1e-2).all()  # nothing beats a best response


def after(game: holdem.Holdem, opening: str) -> Any:
    """The streets below a first bet, and which known leaf stands for each leaf there."""
    state = game.start().child(opening)
    streets, known = grow(game, [state]), grow(game)
    index = {root.history: k for k, root in enumerate(known[1].roots)}

    def like(size: str) -> list[int]:
        lines = [leaf.history[len(state.history) :] for leaf in streets[1].roots]
        start = game.start().child(size)
        return [index[alike(game, state, line, start).history] for line in lines]

    return streets, like


def test_a_bet_that_is_known_has_the_values_it_had() -> None:
    run = engine()
    (size,) = [name for name in GAME.actions(GAME.start()) if name[0] == "r"]
    streets, like = after(GAME, size)
    sigma = drawn(1)
    own = OffTree(run, streets[1], [like(size)], sigma[US])
    stage, both = below(sigma)
    table = pair_values(run, stage, run.tree.streets[1], both, SHE)
    torch.testing.assert_close(own.values(both[SHE])[0], table[like(size)])


def test_after_an_off_tree_bet_she_does_not_know_what_we_take_it_for() -> None:
    game = holdem.nlfh(2000, 10, 20, "preflop: 0.5x 1x / cap 2; flop: 1x / cap 1", "JQKA", "hs")
    run = TorchRangeEngine(compile_range_tree(game), "cpu")
    sizes = [name for name in game.actions(game.start()) if name[0] == "r"]
    streets, like = after(game, "r50")
    generator = torch.Generator().manual_seed(3)
    blank = [run.blank(p) for p in (US, SHE)]
    fill = [
        [torch.rand(block.shape, generator=generator) for block in each.blocks] for each in blank
    ]
    us, her = (even(Blocks(run, p, fill[p])) for p in (US, SHE))
    likes = [like(size) for size in sizes]
    own = OffTree(run, streets[1], likes, us)
    table = own.values(Blocks(run, SHE, her.blocks[1:]))
    assert table.shape[:2] == (2, len(streets[1].roots))
    # By ranges: her strategy as after one size, against ours as after each, in the real pot.
    reach = torch.zeros(len(streets[1].roots), 1, table.shape[3])
    reach[:, :, : game.deck.num_hands] = 1
    for number, size in enumerate(likes):
        hers = own._as_after(size, SHE, her.blocks[1])
        paid = sum(own.stage.judge(SHE, hers, ours, run.enter(US, reach, 1)) for ours in own.ours)
        want = run.ops.rise(run.places[0], run.places[1], SHE, paid / 2)[:, 0]
        got = Leaves(table[number][None], SHE).choices(reach[:, 0])[0]
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-3)
    with pytest.raises(sg.SubgameError, match="other choices"):
        alike(game, game.start().child("r2000"), ("c",), game.start().child("c"))


@pytest.mark.parametrize("cap", [1, 2])
def test_leaves_at_their_allowances_are_worth_the_alternative(cap: int) -> None:
    """Then the bet is worth to her what she would have without it, if that is not less."""
    bets = f"preflop: 1x / cap {cap}; flop: 1x / cap 1"
    game = holdem.nlfh(2000, 10, 20, bets, "JQKA", "hs")
    run = TorchRangeEngine(compile_range_tree(game), "cpu")
    start = game.start()
    (size,) = [name for name in game.actions(start) if name[0] == "r"]
    streets = grow(game, [start.child(size)])
    hands, wide = game.deck.num_hands, run.levels[0].hands[0].wide
    generator = torch.Generator().manual_seed(cap)
    table = 40 * torch.rand((2, len(streets[1].roots), wide, wide), generator=generator)
    limited = LimitedStreet(run, streets[0], Leaves(table, SHE), parse("cfr+"))
    entry = torch.zeros((1, 1, wide), dtype=torch.float64)
    entry[..., :hands] = 1
    ours = torch.rand((betting(streets[0])[US].edges, 1, wide), generator=generator)
    for alternative in (200.0, -200.0) if cap == 1 else (200.0,):  # where she never likes to fold
        level = torch.full_like(entry, alternative)
        allowed = limited.allowances(ours, entry, level)
        # Everything she gets at the leaves is what she is allowed: [leaf, hand] in chips.
        at_leaves = (allowed.alternative * allowed.weight)[:, 0]
        known = LimitedStreet(run, streets[0], cast(Leaves, Fixed(at_leaves)), parse("cfr+"))
        again = known.allowances(ours, entry, level)
        # Nothing is left to share out then, and nothing was given up.
        torch.testing.assert_close(again.alternative, allowed.alternative, rtol=0, atol=1e-3)


class Fixed:
    """Leaves that are worth what they are worth."""

    opponent = SHE

    def __init__(self, worth: Any) -> None:
        self.worth = worth

    def choices(self, reach: Any) -> Any:
        return self.worth[None].to(reach)

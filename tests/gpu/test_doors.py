"""A gadget before many roots at once does at each of them what it does before one subgame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.refine.doors import Door
from subgame.refine.gadgets import Distributional, Gadget, GadgetInputs, Maxmargin, Resolve
from subgame.solve.schedule import parse
from subgame.tree.ranges.tree import RangeTree

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")

from subgame.engines.torch.doors import Doors, Kind  # noqa: E402

CASES: list[tuple[Gadget, Kind]] = [
    (Resolve(), "leave"),
    (Maxmargin(), "choose"),
    (Distributional("respond"), "respond"),
    (Distributional("hedge"), "hedge"),
    (replace(Resolve(), refined=0.1), "leave"),
    (replace(Maxmargin(), refined=0.1), "choose"),
]


@pytest.mark.parametrize("schedule", ["cfr", "cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize(("gadget", "kind"), CASES)
def test_every_root_and_board_has_a_door_of_its_own(
    gadget: Gadget, kind: Kind, schedule: str
) -> None:
    plan, roots, units = parse(schedule), 2, 3
    if gadget.door == "random" and plan.predictive:
        with pytest.raises(sg.SubgameError, match="without predictions"):
            Doors(
                kind,
                1,
                torch.ones(1, 1, 2),
                torch.ones(1, 1, 2),
                spread=torch.ones(1, 1, 2),
                predictive=True,
            )
        return
    tree = sg.compile(GAMES["river"])
    assert isinstance(tree, RangeTree)
    rng, hands = np.random.default_rng(4), len(tree.players[0].slots)
    shape = (roots, units, hands)
    weight = rng.random(shape) * (rng.random(shape) < 0.9)  # some we never meet
    alternative, spread = rng.normal(size=shape), rng.random(shape)
    many = Doors(
        kind,
        0,
        torch.from_numpy(weight),
        torch.from_numpy(alternative),
        spread=torch.from_numpy(spread),
        predictive=plan.predictive,
        refined=gadget.refined,
    )
    ours = np.ones(len(tree.players[1].slots))
    single = {}
    for at in np.ndindex(roots, units):
        payoff = np.where(weight[at] > 0, alternative[at], 0.0)
        inputs = GadgetInputs(0, ours, np.ones(hands), weight[at], payoff, payoff)
        single[at] = Door(gadget, tree, inputs, spread[at], plan.predictive)
    discounts = plan.discounts(1, 6)
    numbered = np.column_stack([discounts, np.arange(len(discounts))])
    table = torch.from_numpy(numbered.astype(np.float32))
    for t in range(5):
        entered = many.enter(table[t]).numpy()
        if t > 0 or gadget.door != "random":  # a random door starts at any reach
            for at, door in single.items():
                met = weight[at] > 0
                want = door.enter(0)[met]
                np.testing.assert_allclose(entered[at][met], want, rtol=2e-4, atol=2e-6)
        values = rng.normal(size=shape) * weight
        many.observe(torch.from_numpy(values).float(), table[t : t + 2])
        for at, door in single.items():
            door.observe(values[at], discounts[t : t + 2])

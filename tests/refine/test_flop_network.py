"""Values at the end of the flop by a network: its examples, its answers, its file, the agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from recipes import Walk, trained
from subgame import play
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.games.holdem import hunl
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.hunl.below import CHOICES, what_follows
from subgame.play.hunl.flop_network import (
    INPUTS,
    SUFFIX,
    FlopNetwork,
    NetworkValues,
    board_inputs,
    flop_pairs,
    leaf_inputs,
    leaf_unit,
    quantile_inputs,
)
from subgame.play.hunl.flop_training import (
    DealtFlop,
    Errors,
    Examples,
    deal,
    errors,
    paid,
    train_flop_network,
)
from subgame.play.hunl.rollouts import Rollouts
from subgame.play.hunl.street import BucketValues, LimitedStreet, StreetEnd, evaluated, solve_street
from subgame.refine.networks import perceptron
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.solver import Limits

RECIPE = BlueprintRecipe(
    "tiny", "all: 1x a / cap 1", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="cd"
)
FLOP = "9dTcJd"
SMALL: dict[str, Any] = {"layers": (16, 8), "epochs": 2, "batch": 256, "rate": 1e-2}


@pytest.fixture(scope="module")
def blueprint() -> StoredBlueprint:
    return trained(RECIPE, 10)


@pytest.fixture(scope="module")
def network(blueprint: StoredBlueprint) -> FlopNetwork:
    pytest.importorskip("torch")
    return train_flop_network(blueprint, 24, holdout=0.25, **SMALL)


def test_examples_are_what_a_walk_over_every_action_pays(blueprint: StoredBlueprint) -> None:
    """On one board, in some pairs of buckets, for both opponents and all continuations."""
    deck = blueprint.game.deck
    board = deck.parse(FLOP + "QcKd")
    pairs = flop_pairs(blueprint, board[:3])
    dealt = DealtFlop(pairs, np.zeros((66, 66), np.int16), [board], rank_hands(board, deck)[None])
    leaf = blueprint.game.start().play("ccr200c")
    below = what_follows(blueprint, blueprint.decision(leaf))
    sums = paid(blueprint, below, dealt, np.random.default_rng(0))
    free = np.flatnonzero(deck.compatible(board)).tolist()
    met = [(h, j) for h in free for j in free if deck.disjoint[h, j]]
    assert sums.met.sum() == len(met)
    cells = sorted(
        {(int(pairs.of[h]), int(pairs.of[j])) for h, j in met}, key=lambda c: sums.met[c]
    )
    for b, c in cells[:4]:
        inside = [(h, j) for h, j in met if (pairs.of[h], pairs.of[j]) == (b, c)]
        assert sums.met[b, c] == len(inside)
        for o in (0, 1):
            for k in range(CHOICES):
                walk = Walk(blueprint, board, k, biased=o)
                wanted = sum(walk.value(leaf, pair) for pair in inside) * (1 if o == 0 else -1)
                assert sums.won[o, k, b, c] == pytest.approx(wanted, rel=1e-4, abs=1e-3)


def test_taking_luck_off_changes_no_mean(blueprint: StoredBlueprint) -> None:
    """On all boards of a flop it is nothing; on a few the mean is nearer to that of all."""
    rng = np.random.default_rng(0)
    dealt = deal(blueprint, 1000, rng)
    assert len(set(dealt.boards)) == len(dealt.boards) == 9 * 8
    below = what_follows(blueprint, blueprint.decision(blueprint.game.start().play("cccc")))
    whole = paid(blueprint, below, dealt, rng)
    assert whole.luck / np.maximum(whole.met, 1) == pytest.approx(0, abs=1e-3)
    mean, there = whole.mean(), whole.met > 0
    plain = whole.won / np.maximum(whole.met, 1)
    assert mean[..., there] == pytest.approx(plain[..., there], abs=0.5)  # of a pot of 200
    missed = np.zeros(2)
    for part in range(12):
        some = paid(blueprint, below, dealt.some(part, 12), rng)
        for n, result in enumerate((some.won / np.maximum(some.met, 1), some.mean())):
            missed[n] += (((result - mean) ** 2) * some.met).sum()
    assert missed[1] < 0.6 * missed[0]


def inputs(
    blueprint: StoredBlueprint, flop: tuple[int, ...], leaf: Betting, o: int, pair: Sequence[int]
) -> list[float]:
    """One row, put together number by number."""
    pairs, centres = flop_pairs(blueprint, flop), quantile_inputs(blueprint)
    b, c = (int(np.searchsorted(pairs.buckets, bucket)) for bucket in pair)
    row = [*centres[pair[0]], *centres[pair[1]], *pairs.equity[:, b, c]]
    return [*row, *leaf_inputs(leaf, o), *board_inputs(blueprint.game.deck, flop)]


def test_numpy_answers_what_pytorch_does(
    blueprint: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = pytest.importorskip("torch")
    t.manual_seed(1)
    net = perceptron(t, (INPUTS, 12, 10, CHOICES))
    linear = [layer for layer in net if hasattr(layer, "weight")]
    arrays = [(e.weight.detach().numpy().T, e.bias.detach().numpy()) for e in linear]
    network, flop = FlopNetwork(blueprint, arrays), blueprint.game.deck.parse(FLOP)
    known = flop_pairs(blueprint, flop).buckets
    start = blueprint.game.start()
    leaves = [start.play("cccc"), start.play("ccr130c"), start.play("ccr200c")]
    theirs, ours = known[::2], known[1:]
    monkeypatch.setattr("subgame.play.hunl.flop_network.ROWS", 7)  # in several parts
    for o in (0, 1):
        result = network.values(flop, leaves, o, (theirs, ours))
        assert result.shape == (CHOICES, 3, len(theirs), len(ours))
        for l, leaf in enumerate(leaves):
            rows = [inputs(blueprint, flop, leaf, o, (b, c)) for b in theirs for c in ours]
            with t.no_grad():
                wanted = net(t.tensor(rows, dtype=t.float32)).numpy().T * leaf_unit(leaf)
            assert result[:, l].reshape(CHOICES, -1) == pytest.approx(wanted, rel=1e-4, abs=1e-3)
    most = FlopNetwork(blueprint, [*arrays[:-1], (arrays[-1][0], arrays[-1][1] + 1e6)])
    assert most.values(flop, leaves, 0, (theirs, ours)) == pytest.approx(600)  # no more chips


def test_a_leaf_says_who_bet_and_how_much(blueprint: StoredBlueprint) -> None:
    start = blueprint.game.start()
    one, two = (leaf_inputs(start.play("r200ccr300c"), o) for o in (0, 1))
    third = 1 / 3
    pots = [np.log(400 / 1200) * third + 1, np.log(1000 / 1200) * third + 1, 1000 / 600]
    # Player 1 raised before the flop and bet on it, and acts last there.
    assert one == pytest.approx([*pots, -1, -1, -1, -0.5, -0.5])
    assert two == pytest.approx([*pots, 1, 1, 1, -0.5, -0.5])
    assert leaf_inputs(start.play("cccc"), 0)[3:] == pytest.approx([-1, 0, 0, -1, -1])
    deck = blueprint.game.deck
    assert board_inputs(deck, deck.parse("AcTdTc")) == pytest.approx([1, -0.6, -0.6, 0.5, 1, 0, 0])


def test_training_learns_the_values(network: FlopNetwork, blueprint: StoredBlueprint) -> None:
    """On flops that were not seen; the same seed gives the same network."""
    error, spread = (json.loads(network.notes[f"held out: {n}"]) for n in ("error", "spread"))
    assert len(error) == len(spread) == CHOICES
    assert all(e < 0.6 * s for e, s in zip(error, spread, strict=True))
    assert network.parameters == INPUTS * 16 + 16 + 16 * 8 + 8 + 8 * 4 + 4
    short: dict[str, Any] = {**SMALL, "layers": (4,), "epochs": 1, "holdout": 0}
    one, two, other = (train_flop_network(blueprint, 2, seed=s, **short) for s in (0, 0, 1))
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(one.layers, two.layers, strict=True))
    assert not np.array_equal(one.layers[0][0], other.layers[0][0])


def test_errors_leave_out_the_noise_of_the_values() -> None:
    rng, n = np.random.default_rng(0), 200_000
    true = rng.normal(size=(n, 1)) * [1, 1, 1, 2]
    halves = (true[:, None] + rng.normal(size=(n, 2, 1))).astype(np.float32)
    place = np.zeros(n, np.int64)
    none = np.zeros(0, np.float32)
    held = Examples(place, place, place, none, halves, none, none, np.array([0.5]))
    result = errors(true + rng.normal(size=(n, 1)) * 0.3, held)
    assert isinstance(result, Errors)
    assert result.error == pytest.approx([0.15] * 4, rel=0.05)
    assert result.spread == pytest.approx([0.5, 0.5, 0.5, 1], rel=0.05)
    assert result.noise == pytest.approx([0.5 / 2**0.5] * 4, rel=0.05)


class Known:
    """Stands for a network, and answers what rollouts give."""

    def __init__(self, table: NDArray[np.float32]) -> None:
        self.table = table

    def __call__(self, end: StreetEnd) -> BucketValues:
        return BucketValues(self.table[:, end.leaves])


def test_a_street_is_solved_with_the_values_of_an_evaluator(blueprint: StoredBlueprint) -> None:
    """With those of rollouts in their place, the solution is that with rollouts."""
    reached = ReachedRanges.start(hunl(600, bets="flop: 1x a / cap 1", ranks="9TJQKA", suits="cd"))
    for action in ("c", "c", FLOP):
        reached = reached.after(action)
    abstract = blueprint.game.start().play("cc")
    street = LimitedStreet(blueprint, reached, abstract, 1)
    rolled = Rollouts()
    asked = Known(evaluated(street, rolled)[0].values)
    one, two = (solve_street(street, way, Limits(iterations=10)) for way in (rolled, asked))
    assert (one.boards, two.boards) == (49, 0)
    for key, rows in one.rows.items():
        assert two.rows[key].probabilities == pytest.approx(rows.probabilities)


def test_a_network_is_not_asked_after_an_all_in(
    blueprint: StoredBlueprint, network: FlopNetwork
) -> None:
    reached = ReachedRanges.start(hunl(600, bets="flop: a / cap 1", ranks="9TJQKA", suits="cd"))
    for action in ("c", "c", FLOP, "r500"):
        reached = reached.after(action)
    last = LimitedStreet(blueprint, reached, blueprint.game.start().play("ccr500"), 1)
    plan = solve_street(last, NetworkValues(network), Limits(iterations=2))
    assert set(plan.rows) == {reached.betting.history}


def test_the_agent_plays_with_the_network_beside_its_blueprint(
    blueprint: StoredBlueprint, network: FlopNetwork, tmp_path: Path
) -> None:
    file = tmp_path / "tiny.safetensors"
    blueprint.save(file)
    read = StoredBlueprint.load(file)
    game = hunl(600, bets="all: 0.7x a", ranks="9TJQKA", suits="cd")
    options: dict[str, Any] = {"limited": "flop: 0.7x / cap 1", "iterations": 5, "seconds": None}
    with pytest.raises(sg.SubgameError, match="no network of values at the end of the flop beside"):
        HoldemAgent(game, read, values="network", **options)
    network.save(file.with_suffix(SUFFIX))
    with pytest.raises(sg.SubgameError, match="no kind of values called 'table'"):
        HoldemAgent(game, read, values="table", **options)
    agent = play.load(game, "limited", blueprint=str(file), values="network", iterations=200)
    assert isinstance(agent, HoldemAgent)
    assert agent.planner is not None
    agent.planner.rest.shallow = 0.0  # the flop is solved to a depth limit
    loaded = agent.planner.network
    assert loaded is not None
    for (weights, bias), (wanted, also) in zip(loaded.layers, network.layers, strict=True):
        assert np.array_equal(weights, wanted)
        assert np.array_equal(bias, also)
    assert loaded.notes == network.notes
    result = play.match(game, [agent, "call"], hands=4, seed=1)
    assert result.hands == 4
    agent.begin(0, 0)
    for player, action in ((1, "c"), (0, "c"), (-1, "9d Tc Jd")):
        agent.observe(play.Event(player, action))
    assert "with values by the network" in agent.explained("AcKc | 9d Tc Jd | cc/").note


def test_files_that_do_not_fit_are_refused(
    blueprint: StoredBlueprint, network: FlopNetwork, tmp_path: Path
) -> None:
    other, file = (
        trained(
            BlueprintRecipe(
                "other", "all: a / cap 1", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="cd"
            ),
            1,
        ),
        tmp_path / "a.safetensors",
    )
    network.save(file)
    with pytest.raises(sg.SubgameError, match=r"is not a network .* of the blueprint other"):
        FlopNetwork.load(file, other)
    FlopNetwork(blueprint, network.layers[:1]).save(file)
    with pytest.raises(sg.SubgameError, match="a damaged file of a network"):
        FlopNetwork.load(file, blueprint)
    flat = BlueprintRecipe(
        "flat", "all: a / cap 1", (None, 6), 600, ranks="9TJQKA", suits="cd", last="flop"
    )
    with pytest.raises(sg.SubgameError, match="flat has no buckets of a flop, a turn and a river"):
        train_flop_network(trained(flat, 1), 2)


def test_without_pytorch_training_says_what_to_install(
    blueprint: StoredBlueprint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(sg.SubgameError, match="need PyTorch, which is not installed"):
        train_flop_network(blueprint, 2)


def test_the_network_that_comes_with_the_package() -> None:
    """It is small, its error was measured, and it says more than who is ahead on a new flop."""
    blueprint = StoredBlueprint.load()
    network = FlopNetwork.of(blueprint)
    assert blueprint.path is not None
    assert blueprint.path.with_suffix(SUFFIX).stat().st_size < 1_000_000
    error, spread = (json.loads(network.notes[f"held out: {n}"]) for n in ("error", "spread"))
    assert all(e < 0.3 * s for e, s in zip(error, spread, strict=True))  # by continuation
    leaf, rng = blueprint.game.start().play("cr300ccc"), np.random.default_rng(5)
    dealt = deal(blueprint, 32, rng)
    flop, pairs = dealt.boards[0][:3], dealt.pairs
    result = network.values(flop, [leaf], 0, (pairs.buckets, pairs.buckets))[0, 0]
    sums = paid(blueprint, what_follows(blueprint, blueprint.decision(leaf)), dealt, rng)
    drawn = np.repeat(np.arange(sums.met.size), sums.met.ravel().astype(np.int64))
    rows = np.stack([sums.mean()[0, 0], result, pairs.equity[0]]).reshape(3, -1)[:, drawn]
    by_network, by_equity = np.corrcoef(rows)[0, 1:]
    assert by_network > 0.8
    assert by_network > by_equity + 0.1

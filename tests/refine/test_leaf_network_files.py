"""Leaf networks in files: what comes back is what was saved, and it is asked for nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from helpers import depth_limited, tree_of
from subgame.refine.continuations import biased
from subgame.refine.networks import Training
from subgame.refine.sequence.leaf_network import (
    LeafNetwork,
    load_leaf_networks,
    save_leaf_networks,
    train_leaf_network,
)
from subgame.refine.sequence.leaves import Rollouts, exact
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.tree.files import read_tensors, write_tensors

ROUND, CARD = "after round 1", "after the board card"
pytest.importorskip("torch")


@cache
def rough(name: str) -> sg.Strategy:
    return sg.solve(tree_of(name), "cfr+", iterations=20).strategy


@cache
def trained(player: int, name: str = "leduc-ranks") -> LeafNetwork:
    blueprint = rough(name)
    return train_leaf_network(
        tree_of(name),
        blueprint,
        at=ROUND,
        player=player,
        data=Rollouts(50, seed=1),
        continuations=biased(blueprint, 1 - player),
        layers=(16, 8),
        epochs=3,
        seed=2,
    )


def values(network: LeafNetwork, player: int) -> list[np.ndarray]:
    blueprint = rough("leduc-ranks")
    limited = depth_limited(
        blueprint.tree,
        blueprint,
        at=ROUND,
        player=player,
        values=network,
        continuations=network.continuations,
    )
    return [value.value for value in limited.values]


def test_both_players_networks_come_back(tmp_path: Path) -> None:
    tree, file = tree_of("leduc-ranks"), tmp_path / "leaves.safetensors"
    save_leaf_networks([trained(0), trained(1)], file, {"at": ROUND})
    again = load_leaf_networks(file, tree)
    assert list(again) == [0, 1]
    for player, network in again.items():
        first = trained(player)
        assert network.notes == {"at": ROUND}
        assert network.continuations.names == ("blueprint", "10 x c", "10 x r", "10 x f")
        assert network.shape == ((1, 4) if player == 0 else (4, 1))
        for name in ("training_error", "holdout_error", "data_error", "spread", "parameters"):
            assert getattr(network, name) == getattr(first, name)
        for one, two in zip(values(first, player), values(network, player), strict=True):
            np.testing.assert_array_equal(one, two)
    blueprint = rough("leduc-ranks")
    limited = depth_limited(
        tree, blueprint, at=ROUND, continuations=again[0].continuations, values=again[0]
    )
    assert np.isfinite(sg.exploitability(tree, sg.solve_limited(limited).strategy).mean)


def test_one_player_alone(tmp_path: Path) -> None:
    trained(1).save(tmp_path / "one.safetensors")
    assert list(load_leaf_networks(tmp_path / "one.safetensors", tree_of("leduc-ranks"))) == [1]
    with pytest.raises(sg.SubgameError, match="must contain one or two leaf networks"):
        save_leaf_networks([trained(1), trained(1)], tmp_path / "two.safetensors")


def test_many_layers_keep_their_order(tmp_path: Path) -> None:
    """A Sequential of more than ten parts, whose names do not sort as their numbers do."""
    tree = tree_of("kuhn")
    blueprint = sg.Strategy.uniform(tree)
    deep = train_leaf_network(
        tree, blueprint, at="depth 1", data=exact, layers=(3, 4, 5, 6, 7, 8), epochs=1
    )
    deep.save(tmp_path / "deep.safetensors")
    again = load_leaf_networks(tmp_path / "deep.safetensors", tree)[0]
    leaf = depth_limited(tree, blueprint, at="depth 1").leaves[0]
    np.testing.assert_array_equal(deep(leaf).value, again(leaf).value)


def test_errors_know_their_data() -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks")
    sure = train_leaf_network(tree, blueprint, at=ROUND, data=exact, layers=(4,), epochs=1)
    assert sure.data_error == 0
    plays = Rollouts(50, seed=1)
    limited = depth_limited(
        tree, blueprint, at=ROUND, continuations=trained(0).continuations, values=plays
    )
    errors = np.concatenate([value.error.ravel() for value in limited.values])
    assert trained(0).data_error == pytest.approx(np.sqrt((errors**2).mean()))
    target = np.concatenate([value.value.ravel() for value in limited.values])
    assert trained(0).spread == pytest.approx(target.std())


def test_progress_is_told_from_nothing_to_all() -> None:
    messages: list[tuple[str, float]] = []
    train_leaf_network(
        tree_of("leduc-ranks"),
        rough("leduc-ranks"),
        at=ROUND,
        data=Rollouts(2),
        layers=(4,),
        epochs=4,
        progress=lambda what, share: messages.append((what, share)),
    )
    for what, count in (("Playing on from the limit", 5), ("Training the network", 4)):
        shares = [share for said, share in messages if said == what]
        assert shares == pytest.approx(np.arange(1, count + 1) / count)


# What it was not trained for -----------------------------------------------------------------
def test_other_continuations_limits_and_games_are_refused() -> None:
    tree, blueprint, network = tree_of("leduc-ranks"), rough("leduc-ranks"), trained(0)
    other = sg.solve(tree, "cfr+", iterations=30).strategy
    with pytest.raises(sg.SubgameError, match="other continuations of player 0 below 'cc'"):
        depth_limited(tree, other, at=ROUND, continuations=network.continuations, values=network)
    milder = biased(blueprint, 1, factor=5)
    with pytest.raises(sg.SubgameError, match="other continuations of player 1 below"):
        depth_limited(tree, blueprint, at=ROUND, continuations=milder, values=network)
    with pytest.raises(sg.SubgameError, match="trained at another depth limit, which"):
        depth_limited(tree, blueprint, at=CARD, continuations=network.continuations, values=network)
    leduc = tree_of("leduc")
    same = sg.Strategy.uniform(leduc)
    with pytest.raises(sg.SubgameError, match=r"trained for .*leduc-ranks.*, not for .*leduc"):
        depth_limited(leduc, same, at=ROUND, continuations=biased(same, 1), values=network)


def test_a_part_of_the_limit_is_part_of_it() -> None:
    """Within a subgame only some of the histories are asked for."""
    tree, blueprint, network = tree_of("leduc-ranks"), rough("leduc-ranks"), trained(0)
    (within,) = sequence_subgames(tree, "r")
    limited = depth_limited(
        tree,
        blueprint,
        at=ROUND,
        continuations=network.continuations,
        values=network,
        within=within,
    )
    whole = dict(zip([s.name for s in sg.cut(tree, ROUND)], values(network, 0), strict=True))
    for leaf, result in zip(limited.leaves, limited.values, strict=True):
        np.testing.assert_allclose(result.value, whole[leaf.subgame.name], atol=1e-6)


def test_files_for_other_trees_and_damaged_files(tmp_path: Path) -> None:
    file, tree = tmp_path / "leaves.safetensors", tree_of("leduc-ranks")
    trained(0).save(file)
    with pytest.raises(sg.SubgameError, match="its game is leduc-ranks, that of this tree is kuhn"):
        load_leaf_networks(file, tree_of("kuhn"))
    rough("leduc-ranks").save(tmp_path / "strategy.safetensors")
    with pytest.raises(sg.SubgameError, match="not a file of kind subgame-leaf-network-1 but"):
        load_leaf_networks(tmp_path / "strategy.safetensors", tree)
    header, tensors = read_tensors(file)
    whole = {name: np.array(tensor) for name, tensor in tensors.items()}
    for gone in ("network0.0.weight", "network0.0.bias", "network0.top", "network0.probs1"):
        write_tensors(file, {k: v for k, v in whole.items() if k != gone}, header)
        with pytest.raises(sg.SubgameError, match="is a damaged leaf network"):
            load_leaf_networks(file, tree)
    short = {**whole, "network0.probs1": whole["network0.probs1"][:, :-1]}
    for changed, said in (
        (short, header),
        (whole, header | {"network0": "{}"}),
        (whole, header | {"network0": "not JSON"}),
    ):
        write_tensors(file, changed, said)
        with pytest.raises(sg.SubgameError, match="is a damaged leaf network"):
            load_leaf_networks(file, tree)
    write_tensors(file, whole, {k: v for k, v in header.items() if k != "network0"})
    with pytest.raises(sg.SubgameError, match="contains no leaf network"):
        load_leaf_networks(file, tree)


def test_functions_cannot_be_saved(tmp_path: Path) -> None:
    tree = tree_of("kuhn")
    network = train_leaf_network(
        tree,
        sg.Strategy.uniform(tree),
        at="depth 1",
        data=exact,
        layers=(2,),
        epochs=1,
        pot=lambda state: 2.0,
    )
    with pytest.raises(sg.SubgameError, match="features or a pot of your own cannot be saved"):
        network.save(tmp_path / "pot.safetensors")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"batch": -1}, "batch must be a whole number"),
        ({"layers": (8, 0)}, "layers must be whole numbers"),
        ({"rate": 0.0}, "rate must be a number above 0"),
        ({"rate": float("nan")}, "rate must be a number above 0"),
        ({"holdout": 1.0}, "holdout must be a share from 0 to below 1"),
    ],
)
def test_what_nothing_can_be_trained_by(change: dict[str, object], says: str) -> None:
    usual = {"layers": (8,), "epochs": 1, "batch": 1, "rate": 1e-3, "holdout": 0.0}
    with pytest.raises(sg.SubgameError, match=says):
        Training(**{**usual, **change})  # type: ignore[arg-type]

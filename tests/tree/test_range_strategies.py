"""Strategies over hold'em trees: probabilities in the kernels' layout, made and kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import subgame as sg
from holdem_games import GAMES
from subgame.tree.files import describe, write_tensors
from subgame.tree.ranges import probabilities
from subgame.tree.ranges.tree import RangeTree, compile_range_tree

NAMES = sorted(GAMES)


def compiled(name: str) -> RangeTree:
    tree = sg.compile(GAMES[name])
    assert isinstance(tree, RangeTree)
    return tree


def slowly(tree: RangeTree, p: int, weights: NDArray[Any]) -> NDArray[np.float32]:
    """Normalised decision by decision and hand by hand."""
    out = np.zeros(len(weights), np.float32)
    side = tree.players[p]
    for u in range(len(tree.units)):
        for j in range(len(tree.streets[tree.units[u].street].states[p])):
            for at in side.cells(u, j):
                total = float(weights[at].sum())
                out[at] = weights[at] / total if total > 0 else 1 / len(at)
    return out


def drawn(tree: RangeTree, p: int, seed: int) -> NDArray[np.float32]:
    """Weights, many of them zero."""
    rng = np.random.default_rng(seed)
    size = tree.players[p].num_sequences
    return ((rng.random(size) < 0.4) * rng.exponential(100, size)).astype(np.float32)


@pytest.mark.parametrize("chunk", [1, 100, 1 << 18])
@pytest.mark.parametrize("merge", [True, "boards", False])
@pytest.mark.parametrize("name", NAMES)
def test_normalised_as_by_a_plain_loop(
    name: str, merge: Any, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probabilities, "CHUNK", chunk)
    tree = compile_range_tree(GAMES[name], merge=merge)
    weights = [drawn(tree, p, p + 5) for p in (0, 1)]
    strategy = sg.Strategy.from_weights(tree, weights)
    for p in (0, 1):
        want = slowly(tree, p, weights[p].astype(np.float64))
        np.testing.assert_allclose(strategy.probs[p], want, rtol=1e-6)
        assert strategy.probs[p].dtype == np.float32
        assert tree.sums_error(p, want) < 1e-6


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_found_wherever_it_is(name: str) -> None:
    tree = compiled(name)
    strategy, rng = sg.Strategy.random(tree, 2), np.random.default_rng(3)
    for p, side in enumerate(tree.players):
        for i in rng.integers(len(side.names), size=20).tolist():
            probs = [array.copy() for array in strategy.probs]
            at = side.sequences(i)
            probs[p][at[0]] *= np.float32(0.5)
            want = float(1 - probs[p][at].sum())
            assert tree.sums_error(p, probs[p]) == pytest.approx(want, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_probabilities(name: str) -> None:
    tree = compiled(name)
    uniform, drawn_at_random = sg.Strategy.uniform(tree), sg.Strategy.random(tree, 1)
    for p, infoset, row in uniform.rows():
        assert set(row.values()) == {float(np.float32(1 / len(row)))}, (p, infoset)
    for _, _, row in drawn_at_random.rows():
        assert sum(row.values()) == pytest.approx(1, abs=1e-6)


def test_tables_are_round_trips() -> None:
    tree = compiled("turn")
    strategy = sg.Strategy.random(tree, 4)
    back = sg.Strategy.from_table(tree, strategy.table())
    for p in (0, 1):
        np.testing.assert_allclose(back.probs[p], strategy.probs[p], rtol=1e-6)


def test_a_table_for_some_hands() -> None:
    tree = compiled("turn")
    side = tree.players[0]
    name, actions = side.names[0], side.actions[0]
    row = {actions[0]: 0.25, actions[-1]: 0.75}
    strategy = sg.Strategy.from_table(tree, {f"player 0: {name}": row})
    assert strategy.row(0, 0) == dict.fromkeys(actions, 0.0) | row
    assert set(strategy.row(1, 0).values()) == {1 / len(tree.players[1].actions[0])}


def test_raw_weights_are_refused() -> None:
    tree = compiled("turn")
    one, two = (drawn(tree, p, 1) for p in (0, 1))
    with pytest.raises(sg.SubgameError, match="player 0 that are above 1"):
        sg.Strategy(tree, (one, two))


@pytest.mark.parametrize("schedule", ["dcfr", "cfr+(average=last)"])
def test_solving_gives_probabilities(schedule: str) -> None:
    result = sg.solve(compiled("turn"), schedule, iterations=20)
    for _, _, row in result.strategy.rows():
        assert sum(row.values()) == pytest.approx(1, abs=1e-6)


# Files ---------------------------------------------------------------------------------------
def test_files_are_round_trips(tmp_path: Path) -> None:
    tree, path = compiled("turn"), tmp_path / "file"
    strategy = sg.Strategy.random(tree, 5)
    strategy.save(path)
    back = sg.Strategy.load(path, compiled("turn"))
    for p in (0, 1):
        assert isinstance(back.probs[p], np.memmap)
        assert back.probs[p].tobytes() == strategy.probs[p].tobytes()


def test_files_of_the_first_format_hold_weights(tmp_path: Path) -> None:
    tree, path = compiled("turn"), tmp_path / "file"
    weights = [drawn(tree, p, 6) for p in (0, 1)]
    arrays = {f"player{p}": weights[p] for p in (0, 1)}
    write_tensors(path, arrays, {"schedule": "dcfr"} | describe(tree, "subgame-strategy-1"))
    back, want = sg.Strategy.load(path, tree), sg.Strategy.from_weights(tree, weights)
    assert back.notes == {"schedule": "dcfr"}
    for p in (0, 1):
        np.testing.assert_array_equal(back.probs[p], want.probs[p])
    write_tensors(path, arrays, describe(tree, "subgame-strategy-2"))
    with pytest.raises(sg.SubgameError, match=r"is damaged\. The strategy has probabilities"):
        sg.Strategy.load(path, tree)

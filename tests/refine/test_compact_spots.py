"""Solved spots without their last street, which is solved again where it is looked at."""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.refine.ranges.compact_spots import CompactEndgame, Packed, open_spot, save_compact
from subgame.spots.endgame import Endgame
from subgame.tree.files import read_tensors, write_tensors
from subgame.tree.ranges.tree import Merge

RANGES = ("AA,KT,QJ,TT", "AK,KK,QJ,JTs")
SMALL = Deck("9TJQKA", "hs")


@lru_cache
def solved(board: str, merge: Merge = "boards", iterations: int = 60) -> Endgame:
    """A spot of a small deck."""
    game = sg.holdem.endgame(board, 4, 8, RANGES, "all: 1x / cap 2", deck=SMALL)
    tree = sg.compile(game, merge=merge)
    result = sg.solve(tree, "dcfr", iterations=iterations)
    return Endgame.of(result.strategy)


def kept(spot: Endgame, folder: Path) -> CompactEndgame:
    """What is opened again."""
    save_compact(spot, folder / "kept.safetensors")
    result = open_spot(folder / "kept.safetensors")
    assert isinstance(result, CompactEndgame)
    return result


@pytest.mark.parametrize(
    ("board", "merge", "lines"),
    [
        ("Qs 9h Th Ks", False, ["", "c", "r4"]),
        ("Qs 9h Th Ks", True, ["", "c r4"]),
        ("Qs 9h Th", "boards", ["", "c", "c c / As", "r4 c / Kh c", "c c / Ah r4"]),
    ],
)
def test_streets_before_are_those_of_the_whole_file(
    board: str, merge: Merge, lines: list[str], tmp_path: Path
) -> None:
    """Frequencies, EV of every action and equity, on every street but the last."""
    whole = solved(board, merge)
    small = kept(whole, tmp_path)
    for line in lines:
        one, two = whole.decision(line), small.decision(line)
        order = [two.hand_names.index(name) for name in one.hand_names]
        np.testing.assert_allclose(two.probs[order], one.probs, atol=1e-6)
        np.testing.assert_allclose(two.action_ev[order], one.action_ev, atol=1e-4)
        np.testing.assert_allclose(two.hand_equity[order], one.hand_equity, atol=1e-9)
        assert two.ev == pytest.approx(one.ev, abs=1e-4)
    assert small.ev == whole.ev


@pytest.mark.parametrize("seed", range(4))
def test_solving_rivers_again_never_costs_more_than_its_tolerance(
    seed: int, tmp_path: Path
) -> None:
    """Theorem 1 of Burch et al. 2014, for strategies of every quality: random to solved."""
    game = sg.holdem.endgame("Qs 9h Th Ks", 4, 8, RANGES, "all: 1x / cap 2", deck=SMALL)
    tree = sg.compile(game, merge=False)
    rough = (
        sg.Strategy.random(tree, seed)
        if seed < 2
        else sg.solve(tree, "dcfr", iterations=20 if seed == 2 else 500).strategy
    )
    small = kept(Endgame.of(rough), tmp_path)
    again = small.whole()
    before, after = (sg.exploitability(tree, strategy) for strategy in (rough, again))
    for p in (0, 1):
        assert after.per_seat[p] <= before.per_seat[p] + 0.004 * 4  # 0.4 % of the pot
    line = "c c / As"
    alone, batch = small.decision(line), Endgame.of(again).decision(line)
    np.testing.assert_allclose(alone.probs, batch.probs, atol=0.02)  # it is the same solve


def test_the_property_bites(tmp_path: Path) -> None:
    """With values that are wrong by a pot, what is solved again is worse."""
    whole = solved("Qs 9h Th Ks", False)
    small = kept(whole, tmp_path)
    packed = [
        Packed(np.full_like(value.numbers, 2000), np.full_like(value.scales, 1.0), value.alive)
        for value in small.compact.values
    ]
    vars(small.compact)["values"] = tuple(packed)
    after = sg.exploitability(small.tree, small.whole()).mean
    assert after > sg.exploitability(whole.tree, whole.strategy).mean + 0.05 * 4


def test_a_flop_keeps_two_streets(tmp_path: Path) -> None:
    """The river of a flop: what is solved again is as good as what was forgotten.

    Its EV may differ: where the strategy was not yet solved, it is improved.
    """
    whole = solved("Qs 9h Th", "boards")
    small = kept(whole, tmp_path)
    line = "c c / As c c / Kh"
    one, two = whole.decision(line), small.decision(line)
    assert two.line_frequency == pytest.approx(one.line_frequency, abs=1e-6)
    before, after = (
        sg.exploitability(whole.tree, strategy).mean for strategy in (whole.strategy, small.whole())
    )
    assert after <= before + 0.004 * 4


def test_files_are_small_and_refused_when_damaged(tmp_path: Path) -> None:
    whole = solved("Qs 9h Th Ks", False)
    small, path = kept(whole, tmp_path), tmp_path / "kept.safetensors"
    whole.save(tmp_path / "whole.safetensors")
    assert path.stat().st_size < (tmp_path / "whole.safetensors").stat().st_size / 3
    small.save(tmp_path / "again.safetensors")
    assert (tmp_path / "again.safetensors").stat().st_size == path.stat().st_size
    assert pickle.loads(pickle.dumps(small)).decision().ev == small.decision().ev
    header, tensors = read_tensors(path)
    arrays = {name: np.array(values) for name, values in tensors.items()}
    for bad in (
        {"values0": arrays["values0"][:, :2]},
        {"rows1": arrays["rows1"][:5]},
        {"trunk0": 2 * arrays["trunk0"]},
        {"scales1": np.full_like(arrays["scales1"], np.nan)},
    ):
        write_tensors(path, arrays | bad, header)
        with pytest.raises(sg.SubgameError, match=r"kept.safetensors"):
            open_spot(path)


def test_what_cannot_be_left_out_is_refused(tmp_path: Path) -> None:
    river = sg.holdem.endgame("Qs 9h Th Ks As", 4, 8, RANGES, "1x / cap 1", deck=SMALL)
    spot = Endgame.of(sg.solve(sg.compile(river), "dcfr", iterations=3).strategy)
    with pytest.raises(sg.SubgameError, match="has no betting on a later street"):
        save_compact(spot, tmp_path / "kept.safetensors")
    locked = solved("Qs 9h Th Ks", False).lock("", {"AA": {"check": 1.0}}, iterations=3)
    with pytest.raises(sg.SubgameError, match="A spot with locks cannot be saved without"):
        save_compact(locked, tmp_path / "kept.safetensors")
    small = kept(solved("Qs 9h Th Ks", False), tmp_path)
    with pytest.raises(sg.SubgameError, match="is saved as it is"):
        small.save(tmp_path / "other.safetensors", half=True)

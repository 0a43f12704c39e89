"""Brown, Sandholm & Amos 2018: the reproduction of RPS+, and what it must show."""

from __future__ import annotations

from functools import cache

import pytest

from subgame.papers import KEYS, Report, reproduce

KEY = "brown2018-rps-plus"


@cache
def report() -> Report:
    return reproduce(KEY, quick=True)


def ours(start: str) -> dict[str, object]:
    return {
        line["quantity"]: line["ours"]
        for line in report().rows
        if line["quantity"].startswith(start)
    }


def test_every_number_of_the_paper() -> None:
    """Section 2: value 0, optimum 0.4 / 0.4 / 0.2, all leaves worth 0, hence indifferent."""
    compared = [line for line in report().rows if isinstance(line["paper"], int | float)]
    assert len(compared) == 1 + 3 + 3 + 3 * 3
    for line in compared:
        assert line["ours"] == pytest.approx(line["paper"], abs=1e-9), line["quantity"]
    assert report().data["largest_difference"] < 1e-9
    assert ours("Sec. 2: depth one, one value: any") == {
        "Sec. 2: depth one, one value: any strategy is optimal": True
    }
    (loss,) = ours("Sec. 2: depth one, one value: P1 loses").values()
    assert isinstance(loss, float)
    assert loss > 0.3


def test_more_values_are_better() -> None:
    for name in ("rps_plus", "leduc"):
        for way, curve in report().data[name].items():
            assert curve[-1] < 0.1 * curve[0], (name, way)
    assert len(report().data["rps_plus"]["self-generated"]) == 4
    assert report().data["rps_plus"]["biased"][-1] == pytest.approx(0, abs=1e-9)
    (gap,) = ours("Leduc: exploitability of the blueprint").values()
    assert isinstance(gap, float)
    assert report().data["leduc"]["self-generated"][-1] < gap


def test_it_is_registered_and_tells_of_its_progress() -> None:
    messages: list[float] = []
    made = KEYS[KEY].run(True, progress=lambda what, share: messages.append(share))
    assert made.command == f"subgame reproduce {KEY} --quick"
    assert messages == sorted(messages)
    assert messages[-1] == 1.0
    assert made.rows == report().rows

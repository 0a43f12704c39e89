"""Set-ups of other solvers on the page, and the ranges that it offers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from serving import serving

from subgame.games.holdem.imports import read_spot
from subgame.games.holdem.ranges import Range
from subgame.serve.app import STATIC
from subgame.serve.spots import Spot, imported
from subgame.tree.ranges.tree import compile_range_tree

RANGES = {"oop": "AA,KQs,76s", "ip": "QJ,99,AKo:0.5"}
WASM = json.dumps(
    {
        "startingPot": 60,
        "effectiveStack": 270,
        "rakePercent": 5,
        "rakeCap": 30,
        "donkOption": True,
        "oopTurnBet": "60",
        "oopTurnRaise": "2.5x",
        "oopTurnDonk": "33",
        "oopRiverBet": "50, a",
        "oopRiverRaise": "a",
        "oopRiverDonk": "25",
        "ipTurnBet": "50",
        "ipTurnRaise": "50",
        "ipRiverBet": "75",
        "addAllInThreshold": 150,
        "forceAllInThreshold": 20,
        "board": ["Qs", "Jh", "2h", "8d"],
        "range": [RANGES["oop"], RANGES["ip"]],
        "addedLines": "X>B12",
    }
)
TEXAS = f"""
set_pot 60
set_effective_stack 270
set_board Qs,Jh,2h,8d
set_range_oop {RANGES["oop"]}
set_range_ip {RANGES["ip"]}
set_bet_sizes oop,turn,bet,50
set_bet_sizes oop,turn,raise,60
set_bet_sizes ip,turn,bet,50
set_bet_sizes oop,river,bet,50
set_bet_sizes oop,river,donk,30
set_bet_sizes ip,river,bet,70
set_bet_sizes ip,river,allin
set_allin_threshold 0.67
"""
PIO = """
#Type#NoLimit
#Range0#AA:1.0,KQs:1.0
#Range1#QJ:1.0,99:0.5
#Board#Qs Jh 2h 8d
#Pot#60
#EffectiveStacks#270
#AllinThreshold#70
#TurnConfig.BetSize#50
#TurnConfig.RaiseSize#3x
#TurnConfigIP.BetSize#40
#RiverConfig.BetSize#75
#RiverConfigIP.BetSize#100
"""


@pytest.mark.parametrize("text", [WASM, TEXAS, PIO], ids=["wasm-postflop", "TexasSolver", "Pio"])
def test_the_page_has_the_spot_that_the_shell_reads(text: str) -> None:
    """The fields make the same tree as ``subgame endgame --import``."""
    fields = imported(text)
    one, two = read_spot(text).game(), Spot(**fields["spot"]).game()
    assert compile_range_tree(one).digest == compile_range_tree(two).digest
    assert [str(held) for held in one.ranges] == [str(held) for held in two.ranges]
    assert one.rules == two.rules


def test_what_has_no_field_is_said(tmp_path: Path) -> None:
    merged = json.loads(WASM) | {"mergingThreshold": 10}
    with serving(tmp_path, workers=0) as client:
        answer = client.post("/api/spots/import", json={"text": json.dumps(merged)}).json()
        assert answer["program"] == "wasm-postflop"
        assert any("merge" in sentence for sentence in answer["left_out"])
        refused = client.post("/api/spots/import", json={"text": "nothing"})
        assert "none of the known forms" in refused.json()["fields"]["text"]


def test_ranges_of_the_library_are_ranges() -> None:
    """Every one can be read, and both players have one in each pot."""
    library: dict[str, Any] = json.loads((STATIC / "preflop_ranges.json").read_text())
    assert [entry["stack"] for entry in library["stacks"]] == [10, 15, 20, 30, 50, 100, 200]
    for entry in library["stacks"]:
        names: dict[str, list[str]] = {seat: [] for seat in ("oop", "ip")}
        assert entry["exploitability"] <= 0.001
        for row in entry["ranges"]:
            assert Range.parse(row["text"]).combos >= 13
            names[row["seat"]].append(row["name"])
        assert names["oop"] == names["ip"]

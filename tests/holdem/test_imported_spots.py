"""Spots of other solvers: what is read, and sentences on what cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from subgame.errors import SubgameError
from subgame.games.holdem import Holdem
from subgame.games.holdem.imports import read_file, read_spot

WASM: dict[str, Any] = {
    "startingPot": 60,
    "effectiveStack": 770,
    "rakePercent": 5,
    "rakeCap": 30,
    "donkOption": 1,
    "oopFlopBet": "",
    "oopFlopRaise": "3x, a",
    "oopTurnBet": "60",
    "oopTurnRaise": "60",
    "oopTurnDonk": "33",
    "oopRiverBet": "2e, 50c",
    "oopRiverRaise": "",
    "oopRiverDonk": "",
    "ipFlopBet": "33, 2e200",
    "ipFlopRaise": "50",
    "ipTurnBet": "60, a",
    "ipTurnRaise": "2.5x",
    "ipRiverBet": "e",
    "ipRiverRaise": "a",
    "addAllInThreshold": 150,
    "forceAllInThreshold": 20,
    "mergingThreshold": 10,
    "addedLines": "X>B10>R50",
    "removedLines": "",
    "board": [43, 38, 2],
}
RUST = {
    "flop": "Td9d6h",
    "turn": "Qc",
    "river": "NOT_DEALT",
    "range": ["66+,A8s+", "QQ-22,AQs-A2s"],
    "starting_pot": 200,
    "effective_stack": 900,
    "rake_rate": 0.0,
    "flop_bet_sizes": [["60%, e, a", "2.5x"], {"bet": "60%", "raise": "2.5x"}],
    "turn_bet_sizes": [["60%", "2.5x"], ["60%, a", "2.5x"]],
    "river_bet_sizes": [["60%", ""], ["60%", ""]],
    "turn_donk_sizes": None,
    "river_donk_sizes": "50%",
    "add_allin_threshold": 1.5,
    "force_allin_threshold": 0.15,
    "merging_threshold": 0.1,
}
TEXAS = """set_pot 50
set_effective_stack 200
set_board Qs,Jh,2h,8d
set_range_ip AA,KK,99:0.75
set_range_oop QQ:0.5,JJ
set_bet_sizes oop,turn,bet,50
set_bet_sizes oop,turn,raise,60
set_bet_sizes oop,turn,allin
set_bet_sizes oop,river,donk,25
set_bet_sizes ip,turn,bet,50,100
set_bet_sizes ip,river,bet,75
set_allin_threshold 0.67
set_raise_limit 3
build_tree
set_thread_num 8
start_solve
"""
PIO = """#Type#NoLimit
set_threads 0
set_range OOP {numbers}
set_range IP AA,KK:0.5
set_board QsJh2h8d
set_eff_stack 100
set_isomorphism 1 0
set_pot 0 0 40
set_rake 0.05 3
add_line 20 60 60 100
add_line 0 20 20 20 60
add_line 0 20 20 60
add_line 0 0 30
remove_line 0 20 20 20
set_mes 1
build_tree
""".replace("{numbers}", " ".join(["0"] * 1325 + ["0.25"]))
SETTINGS = """#Type#NoLimit
#Range0#AA,KK
#Range1#QQ:0.5,AKs
#Board#Qs Jh 2h
#Pot#55
#EffectiveStacks#975
#AllinThreshold#67
#AddAllinOnlyIfLessThanThisTimesThePot#300
#MergeSimilarBets#True
#MergeSimilarBetsThreshold#12
#CapEnabled#True
#FlopConfig.RaiseSize#60
#FlopConfig.AddAllin#True
#TurnConfig.BetSize#70
#TurnConfig.DonkBetSize#30
#FlopConfigIP.BetSize#33, 150
#Rake.Enabled#True
#Rake.Fraction#0.05
#Rake.Cap#2
"""


def bets_at(game: Holdem, line: str = "") -> tuple[str, ...]:
    return tuple(a for a in game.actions(game.start().play(line)) if a[0] == "r")


def test_wasm_postflop() -> None:
    result = read_spot(json.dumps({"name": "BTN vs BB", "value": WASM}))
    game = result.game()
    assert (result.program, game.rules.pot, game.rules.stacks) == ("wasm-postflop", 60, (770, 770))
    assert (game.rules.rake, game.rules.rake_cap) == (0.05, 30)
    assert game.deck.name(game.board) == "QsJh2h"
    assert bets_at(game) == ()
    # a third of 60 and two equal shares to all-in: ((1 + 2 * 770 / 60)^(1/2) - 1) / 2 = 2.08, at
    # most 200 %; the added line's 10
    assert bets_at(game, "c") == ("r10", "r20", "r120")
    assert bets_at(game, "c r20") == ("r60", "r770")
    assert bets_at(game, "c r10") == ("r30", "r50", "r770")
    assert bets_at(game, "c r20 c /") == ("r33",)  # a donk bet of 33 % of 100
    assert bets_at(game, "c c /") == ("r36",)
    sizes = game.bets
    assert (sizes.add_all_in, sizes.force_all_in, sizes.merge) == (1.5, 0.2, 0.1)
    assert [str(size) for size in sizes.river.bets] == ["2e", "50"]
    assert sizes.river.donks == sizes.river.raises[0] == ()


def test_postflop_solver() -> None:
    result = read_spot(json.dumps(RUST))
    game = result.game()
    assert game.deck.name(game.board) == "Td9d6hQc"
    assert game.ranges[0].combos == 6 * 9 + 4 * 6 - 15  # less what the board blocks
    assert bets_at(game) == ("r120",)
    assert bets_at(game, "c") == ("r120", "r900")
    assert bets_at(game, "c r120") == ("r300",)
    assert bets_at(game, "c r120 c /") == ("r220",)  # the donk bet of the river
    assert (game.bets.add_all_in, game.bets.force_all_in, game.bets.merge) == (1.5, 0.15, 0.1)
    assert not game.rules.raked


def test_texas_solver(tmp_path: Path) -> None:
    file = tmp_path / "config.txt"
    file.write_text(TEXAS)
    result = read_file(file)
    game = result.game()
    assert bets_at(game) == ("r25", "r200")
    assert bets_at(game, "c") == ("r25", "r50")
    assert bets_at(game, "c r25") == ("r85", "r200")  # 25 + 60 % of 100
    assert bets_at(game, "r25") == ()
    assert bets_at(game, "c r25 c /") == ("r25",)  # the donk bet of the river
    assert game.bets.all_in == 0.67
    assert game.ranges[1].combos == pytest.approx(6 + 6 + 6 * 0.75)
    assert result.left_out == ["The command set_raise_limit was left out."]


def test_pio_script() -> None:
    result = read_spot(PIO)
    game = result.game()
    assert game.ranges[0].combos == 0.25
    assert bets_at(game) == ("r20",)
    assert bets_at(game, "r20") == ("r60",)
    assert bets_at(game, "r20 r60 c / ") == ("r40",)  # 100 in all, 60 of it on the turn
    assert bets_at(game, "c") == ("r20",)
    assert game.actions(game.start().play("c r20 c /")) == ("r40",)  # the check was removed
    assert bets_at(game, "c c /") == ("r30",)
    assert (game.rules.rake, game.rules.rake_cap) == (0.05, 3)
    assert result.left_out == ["The command set_mes was left out."]


def test_pio_settings() -> None:
    result = read_spot(SETTINGS)
    game = result.game()
    assert game.rules.pot == 55
    assert bets_at(game) == ("r975",)  # no bet size, but all-in is added
    assert bets_at(game, "c") == ("r18", "r83")
    assert bets_at(game, "c r18") == ("r73", "r975")  # 18 + 60 % of 91
    assert bets_at(game, "c r18 c /") == ("r27",)
    assert (game.bets.all_in, game.bets.merge) == (0.67, 0.12)
    assert (game.rules.rake, game.rules.rake_cap) == (0.05, 2)
    assert any("CapEnabled" in sentence for sentence in result.left_out)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has none of the known forms"),
        ("hello", "has none of the known forms"),
        ("{", "is not JSON"),
        ("[1]", "must be an object"),
        ("{}", "has no startingPot"),
        ('{"startingPot": -1, "effectiveStack": 10}', "startingPot must be a number of at least 0"),
        (json.dumps(WASM | {"ipFlopBet": "20c3r"}), "ipFlopBet must be sizes .* not '20c3r'"),
        (json.dumps(WASM | {"ipFlopBet": "3x"}), "ipFlopBet must be sizes .* not '3x'"),
        (json.dumps(WASM | {"addedLines": "(Root)"}), "addedLines must be lines"),
        (json.dumps(WASM | {"board": "QsJx"}), "there is no suit 'x'"),
        (json.dumps(RUST | {"range": ["AA"]}), "range must be two ranges"),
        (json.dumps(RUST | {"flop_bet_sizes": "50%"}), "flop_bet_sizes must be two entries"),
        (TEXAS + "set_bet_sizes oop", "set_bet_sizes must be a player"),
        (TEXAS + "set_bet_sizes oop,flop,limp,3", "must be bet, raise, donk or allin"),
        (TEXAS + "set_pot much", "set_pot must be a number"),
        (TEXAS + "set_range_ip AX", "In the range 'AX'"),
        (PIO + "add_line 20 30", "add_line 20 30: .*a raise must be to a total"),
        (PIO + "set_pot 5 5 40", "set_pot must be 0 0 and the pot"),
        (PIO + "set_range UTG AA", "followed by OOP or IP"),
        (SETTINGS + "#Pot#lots", "#Pot# must be a number"),
        ("set_board QsJh2h\nset_range_ip AA", None),
    ],
)
def test_malformed_files(text: str, says: str | None) -> None:
    if says is None:
        with pytest.raises(SubgameError, match="does not give the pot"):
            read_spot(text).game()
        return
    with pytest.raises(SubgameError, match=says):
        read_spot(text, "spot.txt")


def test_a_setting_of_a_street_that_is_not_taken_over_is_named() -> None:
    text = "#Pot#55\n#EffectiveStacks#975\n#Board#Qs Jh 2h\n#FlopConfig.BetSize#50\n"
    said = read_spot(f"{text}#FlopConfigIP.Dont3bet#True\n#TurnConfig.Dont3bet#False").left_out
    assert said == ["The setting #FlopConfigIP.Dont3bet# was left out."]

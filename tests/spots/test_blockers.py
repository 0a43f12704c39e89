"""Blockers: how the frequencies of a decision change with a card of the opponent's."""

from __future__ import annotations

import pytest

import subgame as sg
from subgame.spots.endgame import Endgame


def test_frequencies_are_those_of_the_hands_that_are_left() -> None:
    """Counted by hand from the table of the decision."""
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s,KQ:0.5", "KQ,T9"), "1x / cap 1")
    solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=50).strategy)
    for line in ("", "r100", "c r100"):
        here = solved.decision(line)
        rows, table = here.hand_table(), here.blockers()
        assert len(table) == 47
        for row in table:
            left = [
                hand for hand in rows if row["card"] not in (hand["hand"][:2], hand["hand"][2:])
            ]
            total = sum(hand["chance"] for hand in left)
            assert row["removed"] == pytest.approx(1 - total, abs=1e-9)
            for name in here.names:
                share = sum(hand["chance"] * hand[name] for hand in left) / total
                assert row[name] == pytest.approx(share, abs=1e-9)


def test_a_card_that_takes_out_every_hand_leaves_nothing() -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AsAh,AsKs", "KQ"), "1x / cap 1")
    here = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=5).strategy).decision()
    (row,) = [row for row in here.blockers() if row["card"] == "As"]
    assert row["removed"] == 1
    assert row["check"] != row["check"]  # nan

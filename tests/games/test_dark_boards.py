"""Dark hex, phantom tic-tac-toe and battleship beside OpenSpiel's games and plain recursion."""

from __future__ import annotations

from itertools import permutations, product

import pytest

import subgame as sg
from helpers import tree_of
from subgame.errors import SubgameError
from subgame.games.conformance import check
from subgame.games.dark_board import DarkHex, PhantomTicTacToe

SHIPS = "ship_sizes=[1],ship_values=[1],allow_repeated_shots=false"
SAME = {
    "dark-hex": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "battleship": f"battleship(board_width=2,board_height=2,num_shots=2,{SHIPS})",
    "battleship(rows=1, cols=3)": f"battleship(board_width=3,board_height=1,num_shots=2,{SHIPS})",
}
GAMES = [*SAME, "dark-hex(abrupt=false)", "phantom-ttt", "phantom-ttt(abrupt=true)"]


@pytest.mark.parametrize("name", GAMES)
def test_rules(name: str) -> None:
    check(sg.games.load(name))


@pytest.mark.parametrize("name", SAME)
def test_they_are_openspiels_games(name: str) -> None:
    pytest.importorskip("pyspiel")
    ours, theirs = tree_of(name), tree_of(f"openspiel:{SAME[name]}")
    assert [len(side.names) for side in ours.players] == [len(s.names) for s in theirs.players]
    assert len(ours.walked) == len(theirs.walked)
    assert sg.solve_lp(ours).value == pytest.approx(sg.solve_lp(theirs).value, abs=1e-9)
    one, two = (sg.exploitability(tree, sg.Strategy.uniform(tree)) for tree in (ours, theirs))
    assert one.per_seat == pytest.approx(two.per_seat, abs=1e-12)


def test_classical_dark_hex_has_openspiels_value() -> None:
    """OpenSpiel's information states count all tries there, so it has more infosets."""
    pytest.importorskip("pyspiel")
    ours = tree_of("dark-hex(abrupt=false)")
    theirs = tree_of("openspiel:dark_hex(num_rows=2,num_cols=2)")
    assert sg.solve_lp(ours).value == pytest.approx(sg.solve_lp(theirs).value, abs=1e-9)


@pytest.mark.parametrize(("rows", "cols"), [(2, 2), (2, 3), (3, 3)])
def test_one_player_wins_a_full_hex_board(rows: int, cols: int) -> None:
    """Hex has no draw (Nash), whoever owns which cell."""
    game = DarkHex(rows, cols)
    for cells in product("xo", repeat=rows * cols):
        board = "".join(cells)
        assert game.wins(board, 0) != game.wins(board, 1)


def test_lines_of_tic_tac_toe() -> None:
    """The eight lines of the usual board, and a player who fills one wins."""
    game = PhantomTicTacToe(3, 3, 3)
    wins = [
        trio
        for trio in product(range(9), repeat=3)
        if sorted(set(trio)) == list(trio)
        and game.wins("".join("x" if c in trio else "." for c in range(9)), 0)
    ]
    assert wins == [
        (0, 1, 2),
        (0, 3, 6),
        (0, 4, 8),
        (1, 4, 7),
        (2, 4, 6),
        (2, 5, 8),
        (3, 4, 5),
        (6, 7, 8),
    ]


def test_a_taken_cell_is_told_and_nothing_else() -> None:
    state = PhantomTicTacToe(2, 3, 3).new_initial_state()
    views = {state.child(cell).information_state(1) for cell in state.legal_actions()}
    assert views == {"o*"}
    state = state.child("4").child("4")
    assert (state.current_player(), state.information_state(1)) == (1, "o 4!*")
    assert "4" not in state.legal_actions()
    assert DarkHex().new_initial_state().child("0").child("0").current_player() == 0


def test_a_game_of_phantom_tic_tac_toe_ends() -> None:
    for order in permutations("012345"):
        state = PhantomTicTacToe(2, 3, 3).new_initial_state()
        for cell in order:
            if state.current_player() < 0:
                break
            state = state.child(cell)
        assert state.current_player() < 0


@pytest.mark.parametrize(
    "name",
    ["dark-hex(rows=0)", "phantom-ttt(line=9)", "battleship(ship=3)", "battleship(shots=9)"],
)
def test_refusals(name: str) -> None:
    with pytest.raises(SubgameError):
        sg.games.load(name)

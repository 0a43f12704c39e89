"""The endgames of Libratus: the hands in our order, the chips, and errors that name the line."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from subgame.errors import SubgameError
from subgame.games.holdem import DECK, libratus
from subgame.games.holdem.cards import RANKS

DATA = Path(__file__).parents[3] / "shared" / "data" / "libratus_endgames"
BOARD = "7s9h9cTc"

Write = Callable[..., Path]


def reach(likely: dict[str, float]) -> str:
    """One player's numbers in the order of the files; hands not named have 0."""
    cards = [rank + suit for rank in RANKS for suit in "shdc"]
    hands = [a + b for a, b in itertools.combinations(cards, 2)]
    assert hands[:5] == ["2s2h", "2s2d", "2s2c", "2s3s", "2s3h"]
    assert likely.keys() <= {*hands}
    return " ".join(str(likely.get(hand, 0.0)) for hand in hands)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes an endgame; a keyword replaces a line, None leaves it out."""

    def writer(**lines: str | None) -> Path:
        first, second = {"2s2h": 0.25, "AdAc": 1.0, "2sAc": 1e-9}, {"2s3s": 0.5, "7sAs": 0.5}
        text = {
            "round": "3",
            "board": BOARD,
            "pot": "500",
            "reach": f"{reach(first)} {reach(second)}",
        }
        path = tmp_path / "endgame.txt"
        options = {**text, **lines}
        path.write_text("\n".join(f"-{key} {value}" for key, value in options.items() if value))
        return path

    return writer


def test_a_file(write: Write) -> None:
    game = libratus.read(write(), "turn, river: 1x a")
    assert game.deck.name(game.board) == BOARD
    assert (game.rules.pot, game.rules.stacks, game.rules.blinds[1]) == (500, (19750, 19750), 100)
    assert game.start().actions(game.bets) == ("c", "r500", "r19750")
    result = [
        {DECK.hand_name(int(hand)): float(w[hand]) for hand in np.flatnonzero(w)}
        for w in game.weights()
    ]
    # the board's seven of spades blocks 7sAs
    assert result == [{"2s2h": 0.25, "AdAc": 1.0, "Ac2s": 1e-9}, {"3s2s": 0.5}]


def test_hands_are_a_permutation() -> None:
    assert sorted(libratus.hands()) == list(range(DECK.num_hands))
    assert [DECK.hand_name(int(hand)) for hand in libratus.hands()[[0, 3, 4, -1]]] == [
        "2s2h",
        "3s2s",
        "3h2s",
        "AdAc",
    ]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ({"round": "5"}, r"endgame.txt', line 1: a whole number from 2 to 4 is expected"),
        ({"round": "turn"}, "line 1: .* not 'turn'"),
        ({"round": "4"}, "line 2: round 4 is the river: The board .* must have 5 cards, not"),
        ({"board": "7s9h9cTx"}, "line 2: round 3 is the turn: In the board .* no suit 'x'"),
        ({"board": "7s9h9c9h"}, "line 2: .* this card was already given"),
        ({"pot": "5.5"}, "line 3: a whole number from 2 to 39800 is expected, not '5.5'"),
        ({"pot": "40000"}, "line 3: .* not '40000'"),
        ({"pot": "501"}, "line 3: the pot must be an even number of chips, not 501"),
        ({"reach": "0.5 0.5"}, "line 4: -reach has 2 numbers instead of 2,652"),
        ({"reach": "1 " * 2651 + "x"}, "line 4: 'x', number 2,652 of -reach, is not a probability"),
        ({"reach": "1.5 " * 2652}, "line 4: '1.5', number 1 of -reach, is not a probability"),
        ({"reach": "nan " * 2652}, "line 4: 'nan', number 1 of -reach"),
        ({"reach": "0 " * 2652}, "The range of the player out of position is empty"),
        ({"pot": None}, "has no line that starts with -pot"),
        ({"stack": "5"}, "line 5: '-stack' is not one of -round, -board, -pot, -reach"),
        ({"reach": "0\n-pot 5"}, "line 5: -pot was already given on line 3"),
    ],
)
def test_errors(write: Write, lines: dict[str, str | None], says: str) -> None:
    with pytest.raises(SubgameError, match=says):
        libratus.read(write(**lines))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SubgameError, match=r"nothing.txt; expected a Libratus endgame"):
        libratus.read(tmp_path / "nothing.txt")


@pytest.mark.skipif(not DATA.is_dir(), reason="the published endgames are not here")
@pytest.mark.parametrize(
    ("name", "street", "board", "combos"),
    [
        ("subgame1.txt", "turn", "7s9h9cTc", (486.204996, 465.314672)),
        ("subgame3.txt", "river", "4s8hTc9h2s", (319.508464, 293.801010)),
    ],
)
def test_the_published_files(
    name: str, street: str, board: str, combos: tuple[float, float]
) -> None:
    game = libratus.read(DATA / name)
    assert (game.rules.street, game.deck.name(game.board)) == (street, board)
    assert (game.rules.pot, game.rules.stacks) == (500, (19750, 19750))
    # All the weight of the file is on hands that the board leaves: the order is right.
    numbers = (DATA / name).read_text().split("-reach")[1].split()
    for held, start, total in zip(game.ranges, (0, 1326), combos, strict=True):
        assert np.isclose(held.combos, sum(map(float, numbers[start : start + 1326])))
        assert np.isclose(held.combos, total)

"""Gambit files: every feature of the format, every kind of error, and the way back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from subgame import games
from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.gambit import _probabilities
from subgame.games.kuhn import Kuhn
from subgame.interop import gambit

HEAD = 'EFG 2 R "title" { "A" "B" }\n'
ENDS = 't "" 1 "win" { 1, -1 }\nt "" 2 "loss" { -1, 1 }\n'

# Myerson's card game (1991, section 2.1): red or black, raise or fold, meet or pass.
POKER = """EFG 2 R "A simple \\"poker\\" game" { "Fred" "Alice" }
"One card, seen by Fred only."

c "ROOT" 1 "(0,1)" { "red" 1/2 "black" 0.500000 } 0
p "" 1 1 "red" { "Raise" "Fold" } 0
p "" 2 1 "Fred raised" { "Meet" "Pass" } 0
t "" 1 "Win big" { 2, -2 }
t "" 2 "Win" { 1 -1 }
t "" 2
p "" 1 2 "black" { "Raise" "Fold" } 0
p "" 2 1 0
t "" 3 "Lose big" { -2.0 +2e0 }
t "" 2 "Win" { 1, -1 }
t "" 4 { -1, 1 }
"""

Row = tuple[tuple[str, ...], int, object, object]


def walk(game: Game) -> Iterator[tuple[tuple[str, ...], State]]:
    stack: list[tuple[tuple[str, ...], State]] = [((), game.new_initial_state())]
    while stack:
        history, state = stack.pop()
        yield history, state
        for action in actions(state):
            stack.append(((*history, action), state.child(action)))


def actions(state: State) -> list[str]:
    player = state.current_player()
    if player == TERMINAL:
        return []
    if player == CHANCE:
        return [outcome for outcome, _ in state.chance_outcomes()]
    return list(state.legal_actions())


def rows(game: Game) -> list[Row]:
    """Everything the game says where somebody acts, history by history."""
    result: list[Row] = []
    for history, state in walk(game):
        player = state.current_player()
        if player == TERMINAL:
            result.append((history, player, state.returns(), None))
        elif player == CHANCE:
            result.append((history, player, tuple(state.chance_outcomes()), None))
        else:
            infoset = state.information_state(player)
            result.append((history, player, infoset, tuple(state.legal_actions())))
    return result


def at(game: Game, *history: str) -> State:
    state = game.new_initial_state()
    for action in history:
        state = state.child(action)
    return state


def test_a_whole_file() -> None:
    game = gambit.loads(POKER)
    assert game.title == game.name == 'A simple "poker" game'
    assert game.players == ("Fred", "Alice")
    assert game.comment == "One card, seen by Fred only."
    assert game.num_players == 2
    root = game.new_initial_state()
    assert root.label == "ROOT"
    assert root.current_player() == CHANCE
    assert root.chance_outcomes() == (("red", 0.5), ("black", 0.5))
    assert at(game, "red").information_state(0) == "red"
    assert at(game, "red").information_state(1) is None
    assert at(game, "red").public_state() is None
    assert at(game, "red").chance_outcomes() == ()
    for card, stake in (("red", 2.0), ("black", -2.0)):
        meeting = at(game, card, "Raise")
        assert meeting.current_player() == 1
        assert meeting.information_state(1) == "Fred raised"  # stated once, then by its number
        assert meeting.legal_actions() == ("Meet", "Pass")
        assert meeting.child("Meet").current_player() == TERMINAL
        assert meeting.child("Meet").returns() == (stake, -stake)
        assert meeting.child("Pass").returns() == (1.0, -1.0)
    assert at(game, "red", "Fold").returns() == (1.0, -1.0)  # the outcome, by its number alone
    assert at(game, "black", "Fold").returns() == (-1.0, 1.0)  # an outcome without a name
    assert at(game, "red", "Fold").legal_actions() == ()
    with pytest.raises(SubgameError, match="did you mean 'Raise'"):
        at(game, "red").child("raise")


def test_white_space_means_nothing_and_the_comment_may_be_missing() -> None:
    spread = "\r\n\t".join(POKER.replace('"One card, seen by Fred only."', "").split(" "))
    squeezed = spread.replace("\r\n\t", " ").replace("\n", " ")
    for text in (squeezed, squeezed.replace("{ ", "{").replace(" }", "}")):
        assert rows(gambit.loads(text)) == rows(gambit.loads(POKER))


def test_payoffs_add_up_along_the_path() -> None:
    text = (
        HEAD
        + """p "" 1 1 "" { "a" "b" } 1 "ante" { 1/3, -1/3 }
        c "" 1 "" { "x" 1 } 2 "more" { 1/3 -1/3 }
        t "" 1
        t "" 0
    """
    )
    game = gambit.loads(text)
    assert at(game, "a", "x").returns() == (1.0, -1.0)  # thirds are summed exactly
    assert at(game, "b").returns() == (1 / 3, -1 / 3)


@pytest.mark.parametrize(
    ("written", "value"),
    [("3", 3.0), ("-3/8", -0.375), ("+.5", 0.5), ("1.", 1.0), ("-1.5E-3", -0.0015), ("2e2", 200.0)],
)
def test_numbers(written: str, value: float) -> None:
    game = gambit.loads(HEAD + f't "" 1 "x" {{ {written}, 0 }}')
    assert game.new_initial_state().returns() == (value, 0.0)


def test_probabilities() -> None:
    for listed in (
        '"a" 1/3 "b" 1/3 "c" 1/3',
        '1/3 "a" 1/3 "b" 1/3 "c"',
        '"a" "b" "c" 1/3, 1/3, 1/3',
        '"a" 0.333333 "b" 0.333333 "c" 0.333333',
    ):
        text = f'{HEAD} c "" 1 "" {{ {listed} }} 0 t "" 0 t "" 0 t "" 0'
        root = gambit.loads(text).new_initial_state()
        assert root.chance_outcomes() == (("a", 1 / 3), ("b", 1 / 3), ("c", 1 / 3))


def test_names_tell_infosets_and_actions_apart() -> None:
    text = (
        HEAD
        + """p "" 1 1 "" { "a" "a" "" "b" } 0
        p "" 1 2 "x" { "a" } 0 p "" 2 1 "x" { "a" } 0 p "" 2 2 "only" { "a" } 0 t "" 0
        p "" 2 7 "(1,1)" { "a" } 0 t "" 0
        p "" 2 7 { "a" } 0 t "" 0
        p "" 2 3 { "a" } 0 p "" 2 3 "late" 0 t "" 0
    """
    )
    game = gambit.loads(text)
    names = {
        state.information_state(state.current_player())
        for _, state in walk(game)
        if state.current_player() >= 0
    }
    assert names == {"(1,1)'", "x(1,2)", "x(2,1)", "only", "(1,1)", "late"}
    assert game.new_initial_state().legal_actions() == ("a#1", "a#2", "#3", "b")


def test_other_numbers_of_players_are_read() -> None:
    text = 'EFG 2 R "" { "A" "B" "C" } p "" 3 1 "" { "a" } 0 t "" 1 "" { 1 2 3 }'
    game = gambit.loads(text)
    assert game.num_players == 3
    assert game.name == "efg"
    assert game.new_initial_state().current_player() == 2
    assert list(at(game, "a").returns()) == [1.0, 2.0, 3.0]


def test_a_deep_tree_needs_no_recursion() -> None:
    depth = 5_000
    body = "".join(f'p "" {n % 2 + 1} {n + 1} {{ "go" "stop" }} 0\n' for n in range(depth))
    game = gambit.loads(HEAD + body + 't "" 0\n' * (depth + 1))
    state = game.new_initial_state()
    for _ in range(depth):
        assert state.child("stop").current_player() == TERMINAL
        state = state.child("go")
    assert state.current_player() == TERMINAL
    text = gambit.dumps(game)
    assert text.count("\n") == 3 + 2 * depth + 1
    assert gambit.dumps(gambit.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: expected 'EFG 2 R'.* found the end of the file"),
        ('NFG 1 R "x" { "A" "B" }', "line 1, column 1: expected 'EFG 2 R'.* found 'NFG'"),
        ("EFG 3 R", "column 5: expected 'EFG 2 R'.* found '3'"),
        ("EFG 2 R { }", "column 9: expected the title in quotes, found '{'"),
        ('EFG 2 R "x', "column 9: expected a closing quote, found the end"),
        ('EFG 2 R "x" "A"', 'expected the players\' names in braces, found "A"'),
        ('EFG 2 R "x" { A }', "expected a player's name in quotes, found 'A'"),
        ('EFG 2 R "x" { }', "expected at least one player's name"),
        ('EFG 2 R "x" { "A" ', "expected '}' at the end of the list, found the end"),
        (HEAD, "line 2, column 1: expected a node .* found the end of the file"),
        (HEAD + 'p "" 1 1 "" { "a" "b" } 0\nt "" 0\n', "line 4.* a node .* found the end"),
        (HEAD + 'p "" 1 1 "" { "a" "b"', "expected '}' at the end of the list"),
        (HEAD + 'x "" 1', r"line 2, column 1: expected a node \(c, p or t\).* found 'x'"),
        (HEAD + "t 1", "column 3: expected the node's name in quotes, found '1'"),
        (HEAD + 'p "" 3 1 "" { "a" } 0', "column 6: .* player's number from 1 to 2, found '3'"),
        (HEAD + 'p "" 0 1 "" { "a" } 0', "player's number from 1 to 2, found '0'"),
        (HEAD + 'p "" A 1 "" { "a" } 0', "expected a player's number, found 'A'"),
        (HEAD + 'p "" 1 -1 "" { "a" } 0', "expected the number of player 1's infoset"),
        (HEAD + 'p "" 1 4 "" 0', "expected the actions of player 1's infoset 4 in braces"),
        (HEAD + 'p "" 1 1 "" { } 0', "expected at least one action of player 1's infoset 1"),
        (HEAD + 'p "" 1 1 "" { "a" 1/2 } 0', "expected an action's name in quotes, found '1/2'"),
        (
            HEAD + 'p "" 1 1 "" { "a" } 0\np "" 1 1 "" { "a" "b" } 0',
            r"line 3, column 13: expected player 1's infoset 1 .* as before \(a\), found a, b",
        ),
        (
            HEAD + 'c "" 1 "" { "a" 1/2 "b" } 0',
            "column 11: expected a probability for each of the 2 actions of event 1, found 1",
        ),
        (HEAD + 'c "" 1 "" { "a" 1/2 "b" 1/3 } 0', "sum to 1, found 1/2, 1/3"),
        (HEAD + 'c "" 1 "" { "a" 3/2 "b" -1/2 } 0', "not negative and sum to 1, found 3/2, -1/2"),
        (HEAD + 'c "" 1 "" { "a" half } 0', "expected a probability, found 'half'"),
        (
            HEAD + 'c "" 1 { "a" 1/2 "b" 1/2 } 0 t "" 0 c "" 1 { "a" 1/4 "b" 3/4 } 0',
            r"as before \(a 1/2, b 1/2\), found a 1/4, b 3/4",
        ),
        (HEAD + 't "" 1 x', "expected a payoff list in braces after outcome 1, .* found 'x'"),
        (HEAD + 't "" 1 "win"', "a payoff list in braces after outcome 1, .* found the end"),
        (HEAD + 't ""', "expected the number of the outcome, found the end of the file"),
        (HEAD + 't "" 1 "" { 1 }', "expected 2 payoffs of outcome 1, found 1"),
        (HEAD + 't "" 1 "" { 1, "x" }', 'expected a payoff, found "x"'),
        (HEAD + 't "" 1 "" { 1_0, 0 }', "expected a payoff, found '1_0'"),
        (HEAD + 't "" 1 "" { nan, 0 }', "expected a payoff, found 'nan'"),
        (HEAD + 't "" 1 "" { 1/0, 0 }', "expected a denominator other than zero"),
        (HEAD + 't "" 1 "" { 1e999, 0 }', "expected a number below 1e300"),
        (HEAD + 't "" 1 "" { 1e999999999, 0 }', "expected a payoff"),
        (HEAD + 't "" 0 "" { 1, -1 }', "expected no payoffs of outcome 0"),
        (
            HEAD + 'p "" 1 1 { "a" "b" } 0 t "" 1 { 1 -1 } t "" 1 { 2 -2 }',
            r"the payoffs of outcome 1 as before \(1, -1\), found 2, -2",
        ),
        (HEAD + 't "" 0\nt "" 0', "line 3, column 1: expected the end of the file.* found 't'"),
        (HEAD + 't "" 0 , ', "expected the end of the file"),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(SubgameError, match=message) as caught:
        gambit.loads(text, name="examples.efg")
    assert str(caught.value).startswith("examples.efg, line ")
    assert str(caught.value).endswith(".")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "poker.efg"
    path.write_text(POKER, encoding="utf-8-sig")  # some editors write a byte order mark
    game = gambit.load(path)
    assert game.name == "poker.efg"
    assert rows(games.load(str(game))) == rows(game)
    gambit.save(game, str(tmp_path / "again.efg"))
    assert rows(gambit.load(str(tmp_path / "again.efg"))) == rows(game)
    with pytest.raises(SubgameError, match=r"There is no file .*nowhere.efg; expected a G"):
        gambit.load(tmp_path / "nowhere.efg")
    with pytest.raises(SubgameError, match=r"is a folder, not a file; expected a Gambit file"):
        gambit.load(tmp_path)
    with pytest.raises(SubgameError, match=r"cannot be written: "):
        gambit.save(game, tmp_path / "nowhere" / "poker.efg")
    path.write_bytes(b'EFG 2 R\n "caf\xe9" { "A" "B" } t "" 0')
    with pytest.raises(SubgameError, match=r"poker.efg, line 2, column 6: .* the byte 0xe9\."):
        gambit.load(path)
    path.write_text(POKER + "more")
    with pytest.raises(SubgameError, match=r"^poker.efg, line 15, column 1: .* found 'more'\.$"):
        gambit.load(path)


def test_kuhn_comes_back() -> None:
    game = gambit.loads(gambit.dumps(Kuhn()))
    assert (game.title, game.players) == ("kuhn", ("Player 1", "Player 2"))
    assert rows(game) == rows(Kuhn())


def test_the_prologue_comes_back() -> None:
    game = gambit.loads(gambit.dumps(gambit.loads(POKER)))
    assert game.title == 'A simple "poker" game'
    assert game.players == ("Fred", "Alice")
    assert game.comment == "One card, seen by Fred only."
    assert rows(game) == rows(gambit.loads(POKER))


@dataclass(frozen=True, slots=True)
class OddState(State):
    """Awkward names, numbers and infosets that both players call the same."""

    past: tuple[str, ...] = ()

    def current_player(self) -> int:
        return (CHANCE, 0, 1, TERMINAL)[len(self.past)]

    def legal_actions(self) -> tuple[str, ...]:
        return ('say "hi"', "back\\", 'both\\"', "", "new\nline {}", "ünïcode")

    def chance_outcomes(self) -> list[tuple[str, float]]:
        return [(str(n), weight) for n, weight in enumerate((0.1, 0.2, 0.3, 0.25, 0.15))]

    def child(self, action: str) -> Self:
        return type(self)((*self.past, action))

    def returns(self) -> tuple[float, float]:
        won = math.pi * len("".join(self.past)) - 0.1 + 1e-9 * len(self.past[2])
        return won, -won

    def information_state(self, player: int) -> str:
        return self.past[0] if player == 0 else "1"


class Odd(Game):
    name = "odd"

    def new_initial_state(self) -> OddState:
        return OddState()


def test_awkward_games_come_back() -> None:
    game = gambit.loads(gambit.dumps(Odd()))
    names: dict[tuple[int, object], object] = {}
    empty = "#4"  # an action without a name gets its number
    for (history, player, said, acts), (first, who, answer, offered) in zip(
        rows(game), rows(Odd()), strict=True
    ):
        assert history == tuple(action or empty for action in first)
        assert player == who
        if player == TERMINAL:
            assert said == answer
        elif player != CHANCE:
            assert isinstance(offered, tuple)
            assert acts == tuple(action or empty for action in offered)
            assert names.setdefault((player, answer), said) == said  # the same partition
    assert len(set(names.values())) == len(names) == 6


def test_awkward_chances_come_back() -> None:
    # Tenths are floats that sum to one only after rounding; Gambit wants exactly one.
    chances = OddState().chance_outcomes()
    assert sum(_probabilities([chance for _, chance in chances])) == 1
    again = gambit.loads(gambit.dumps(Odd())).new_initial_state().chance_outcomes()
    assert [outcome for outcome, _ in again] == [outcome for outcome, _ in chances]
    for (_, read), (_, written) in zip(again, chances, strict=True):
        assert math.isclose(read, written, rel_tol=1e-15)
    irrational = [math.sqrt(2) / 2, 1 - math.sqrt(2) / 2 - 0.1, 0.1]
    assert sum(_probabilities(irrational)) == 1


@dataclass(frozen=True, slots=True)
class BrokenState(OddState):
    """One infoset with two action lists, and payoffs that are no numbers."""

    def legal_actions(self) -> tuple[str, ...]:
        return ("a", "b")[: 1 + len(self.past) % 2]

    def current_player(self) -> int:
        return 0 if len(self.past) < 2 else TERMINAL

    def returns(self) -> tuple[float, float]:
        return math.nan, math.nan

    def information_state(self, player: int) -> str:
        return "same"


def test_games_that_cannot_be_written() -> None:
    class Broken(Game):
        def __init__(self, root: State) -> None:
            self.root = root

        def new_initial_state(self) -> State:
            return self.root

    class Silent(BrokenState):
        def information_state(self, player: int) -> str:
            return None  # type: ignore[return-value]

    class Lopsided(BrokenState):
        def current_player(self) -> int:
            return CHANCE

        def chance_outcomes(self) -> list[tuple[str, float]]:
            return [("a", 0.5), ("b", 0.4)]

    with pytest.raises(SubgameError, match="'same' of player 1 offers a in one history and a, b"):
        gambit.dumps(Broken(BrokenState()))
    with pytest.raises(SubgameError, match="cannot contain the number nan"):
        gambit.dumps(Broken(BrokenState(("a", "a"))))
    with pytest.raises(SubgameError, match="does not say what player 1 knows"):
        gambit.dumps(Broken(Silent()))
    with pytest.raises(SubgameError, match=r"\[0.5, 0.4\] do not sum to 1"):
        gambit.dumps(Broken(Lopsided()))


def test_openspiel_reads_what_we_write_and_we_read_what_it_ships() -> None:
    pyspiel = pytest.importorskip("pyspiel")
    for text in (gambit.dumps(Kuhn()), pyspiel.get_kuhn_poker_efg_data()):
        theirs = pyspiel.load_efg_game(text)
        stack = [(theirs.new_initial_state(), gambit.loads(text).new_initial_state())]
        count = 0
        while stack:
            their, our = stack.pop()
            count += 1
            assert their.current_player() == our.current_player()
            if their.is_terminal():
                assert tuple(their.returns()) == our.returns()
                continue
            ids = their.legal_actions()
            assert len(ids) == len(our.legal_actions())
            if their.is_chance_node():
                chances = [chance for _, chance in our.chance_outcomes()]
                assert [chance for _, chance in their.chance_outcomes()] == chances
            pairs = zip(ids, our.legal_actions(), strict=True)
            stack.extend((their.child(i), our.child(action)) for i, action in pairs)
        assert count in (58, 55)  # theirs deals both cards at once

"""`Strategy`: made, read, shown, and kept in files that are refused when anything is amiss."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest

import subgame as sg
from helpers import SMALL, tree_of
from holdem_games import GAMES
from subgame.games.base import TERMINAL, Game, State
from subgame.games.kuhn import KuhnState
from subgame.tree.files import describe, write_tensors

# Making and reading one -------------------------------------------------------------------------


def assert_valid(strategy: sg.Strategy) -> None:
    """Probabilities at every infoset of both players."""
    rows = list(strategy.rows())
    assert len(rows) == strategy.tree.num_infosets
    for _, _, row in rows:
        assert min(row.values()) >= 0
        assert math.fsum(row.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_uniform_and_random_are_strategies(name: str) -> None:
    tree = tree_of(name)
    assert_valid(sg.Strategy.random(tree, 7))
    uniform = sg.Strategy.uniform(tree)
    assert_valid(uniform)
    for _, _, row in uniform.rows():
        assert set(row.values()) == {1 / len(row)}


def test_random_is_reproduced_by_its_seed() -> None:
    tree = tree_of("leduc")
    one, same, other = (sg.Strategy.random(tree, seed) for seed in (1, 1, 2))
    for p in (0, 1):
        assert one.probs[p].tobytes() == same.probs[p].tobytes()
        assert np.abs(one.probs[p] - other.probs[p]).max() > 0.5


def test_random_covers_the_simplex() -> None:
    """The first of three probabilities of a uniform draw has mean 1/3 and variance 1/18."""
    tree = tree_of("rps")
    drawn = [sg.Strategy.random(tree, seed)["P1 to move"]["Rock"] for seed in range(1000)]
    assert np.mean(drawn) == pytest.approx(1 / 3, abs=0.03)
    assert np.var(drawn) == pytest.approx(1 / 18, abs=0.01)


def test_weights_are_normalised_and_uniform_where_zero() -> None:
    tree = tree_of("rps")
    weights = np.array([1.0, 3.0, 0.0, 1.0])  # the root slot, then Rock, Paper, Scissors
    strategy = sg.Strategy.from_weights(tree, (weights, np.zeros(4)))
    assert strategy["P1 to move"] == {"Rock": 0.75, "Paper": 0.0, "Scissors": 0.25}
    assert set(strategy["P2 to move"].values()) == {1 / 3}
    assert tree.normalise(0, weights)[0] == 1


def test_reading_by_name() -> None:
    tree = tree_of("kuhn")
    strategy = sg.Strategy.from_table(tree, {"K": {"p": 0.25, "b": 0.75}, "Kp": {"b": 1.0}})
    assert strategy["K"] == {"p": 0.25, "b": 0.75}
    assert strategy["Kp"] == {"p": 0.0, "b": 1.0}, "actions left out are never played"
    assert strategy["Q"] == {"p": 0.5, "b": 0.5}, "infosets left out are played uniformly"
    assert repr(strategy) == "<Strategy over kuhn: 12 infosets>"


def test_table_is_a_round_trip() -> None:
    tree = tree_of("leduc")
    strategy = sg.Strategy.random(tree, 3)
    table = strategy.table()
    assert len(table) == 936
    back = sg.Strategy.from_table(tree, table)
    for p in (0, 1):
        np.testing.assert_allclose(back.probs[p], strategy.probs[p], rtol=1e-14)


def test_rows_are_in_the_order_of_the_game() -> None:
    names = [name for p, name, _ in sg.Strategy.uniform(tree_of("kuhn")).rows() if p == 0]
    assert names == ["J", "Jpb", "Q", "Qpb", "K", "Kpb"]


def test_strategy_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        sg.Strategy.uniform(tree_of("kuhn")).notes = {}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"Kbb": {"p": 1.0}}, "There is no infoset called 'Kbb'"),
        ({"K": {"q": 1.0}}, "There is no action at infoset 'K' called 'q'. Known: b, p."),
        ({"K": {"pb": 1.0}}, "There is no action at infoset 'K' called 'pb'. Known: b, p."),
        ({"K": {"p": math.nan, "b": 1.0}}, "The probabilities at infoset 'K' are {'p': nan"),
        ({"K": {"p": math.inf, "b": 0.0}}, "The probabilities at infoset 'K' are {'p': inf"),
        ({"K": {"p": 0.5, "b": 0.4}}, "The probabilities at infoset 'K' are {'p': 0.5, 'b': 0.4}"),
        ({"K": {"p": 1.5, "b": -0.5}}, "The probabilities at infoset 'K' are {'p': 1.5, "),
        ({"K": {}}, "The probabilities at infoset 'K' are {}; they must be at least 0 and sum to"),
        ({"K": {"p": "often"}}, "The probabilities at infoset 'K' are {'p': 'often'}"),
        ({"K": {"p": None}}, "The probabilities at infoset 'K' are {'p': None}"),
    ],
)
def test_bad_tables(table: Any, sentence: str) -> None:
    with pytest.raises(sg.SubgameError) as error:
        sg.Strategy.from_table(tree_of("kuhn"), table)
    assert str(error.value).startswith(sentence)
    assert str(error.value).endswith(".")


def test_nearest_infoset_is_suggested() -> None:
    with pytest.raises(sg.SubgameError) as error:
        sg.Strategy.from_table(tree_of("coin-toss"), {"Heds": {"Sell": 1.0}})
    assert str(error.value) == (
        "There is no infoset called 'Heds'; did you mean 'Heads'? Known: Heads, Play, Tails."
    )


def test_rounded_probabilities_are_normalised() -> None:
    """Tables are often written with six digits."""
    third = dict.fromkeys(("Rock", "Paper", "Scissors"), 0.333333)
    strategy = sg.Strategy.from_table(tree_of("rps"), {"P1 to move": third})
    assert math.fsum(strategy["P1 to move"].values()) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_unknown_infoset(name: str) -> None:
    with pytest.raises(sg.SubgameError, match=r"There is no infoset called 'nonsense'\. Known: "):
        sg.Strategy.uniform(tree_of(name))["nonsense"]


# Notebooks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Markup(State):
    """A game whose names are HTML."""

    done: bool = False

    def current_player(self) -> int:
        return TERMINAL if self.done else 0

    def legal_actions(self) -> Sequence[str]:
        return ("<b>bold</b>", "a & b")

    def child(self, action: str) -> Self:
        return type(self)(done=True)

    def returns(self) -> tuple[float, float]:
        return 1.0, -1.0

    def information_state(self, player: int) -> str:
        return '<script>"x"</script>'


class MarkupGame(Game):
    name = "<i>markup</i>"

    def new_initial_state(self) -> Markup:
        return Markup()


def test_html_is_escaped() -> None:
    shown = sg.Strategy.uniform(sg.compile(MarkupGame()))._repr_html_()
    for raw in ("<script>", "<b>", "a & b", "<i>"):
        assert raw not in shown
    assert "&lt;script&gt;&quot;x&quot;&lt;/script&gt;" in shown
    assert "&lt;b&gt;bold&lt;/b&gt; 0.500" in shown
    assert "Strategy over &lt;i&gt;markup&lt;/i&gt;" in shown


def test_html_shows_small_games_whole_and_cuts_large_ones() -> None:
    small = sg.Strategy.from_table(tree_of("kuhn"), {"Kpb": {"b": 1.0}})._repr_html_()
    assert small.count("<code>") == 12
    assert "more" not in small
    assert "<code>Kpb</code></td>" in small
    assert "b 1.000</td>" in small
    large = sg.Strategy.uniform(tree_of("leduc"))._repr_html_()
    assert large.count("<code>") == 60
    assert "876 more" in large


# Files ------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A strategy of Kuhn in a file."""
    path = tmp_path / "kuhn.safetensors"
    sg.Strategy.random(tree_of("kuhn"), 5).save(path)
    return path


WANTED = "; expected a strategy saved by solve --out."


def refusal(path: Path, tree: sg.PublicTree | None = None) -> str:
    """With what sentence a file is refused."""
    with pytest.raises(sg.SubgameError) as error:
        sg.Strategy.load(path, tree or tree_of("kuhn"))
    assert str(error.value).endswith(".")
    return str(error.value)


@pytest.mark.parametrize("name", SMALL)
def test_files_are_round_trips(name: str, tmp_path: Path) -> None:
    tree, path = tree_of(name), tmp_path / "a file"
    strategy = sg.Strategy.random(tree, 5)
    notes = {"schedule": "none", "écrit par": "“me”", "game": "a note of an awkward name"}
    sg.Strategy(tree, strategy.probs, notes).save(path)
    back = sg.Strategy.load(str(path), sg.compile(sg.games.load(name)))
    for p in (0, 1):
        assert isinstance(back.probs[p], np.memmap)
        assert back.probs[p].tobytes() == strategy.probs[p].tobytes()
    assert back.notes == {"schedule": "none", "écrit par": "“me”"}
    assert sg.exploitability(back.tree, back) == sg.exploitability(tree, strategy)


def test_notes_of_a_solve_are_kept(tmp_path: Path) -> None:
    tree = tree_of("kuhn")
    sg.solve(tree, "dcfr", iterations=3, seed=4).strategy.save(tmp_path / "s")
    back = sg.Strategy.load(tmp_path / "s", tree)
    assert back.notes == {"schedule": "dcfr", "iterations": "3", "seed": "4"}


def test_saving_over_a_mapped_file_leaves_who_mapped_it_alone(saved: Path) -> None:
    tree = tree_of("kuhn")
    mapped = sg.Strategy.load(saved, tree)
    before = mapped.probs[0].tobytes()
    sg.Strategy.uniform(tree).save(saved)
    assert mapped.probs[0].tobytes() == before
    assert sg.Strategy.load(saved, tree)["K"] == {"p": 0.5, "b": 0.5}
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_saving_where_it_cannot_be(tmp_path: Path) -> None:
    strategy = sg.Strategy.uniform(tree_of("kuhn"))
    with pytest.raises(sg.SubgameError, match=r"cannot be written: there is no folder .*nowhere\."):
        strategy.save(tmp_path / "nowhere" / "file")
    with pytest.raises(sg.SubgameError, match=r"is a folder, not a file\."):
        strategy.save(tmp_path)


def test_other_game_is_refused(saved: Path) -> None:
    assert refusal(saved, tree_of("leduc")) == (
        f"{saved} was made for another tree: its game is kuhn, that of this tree is leduc."
    )


class DearState(KuhnState):
    def returns(self) -> tuple[float, float]:
        won = super().returns()[0] * (2 if self.betting.endswith("bb") else 1)
        return won, -won


class RenamedState(KuhnState):
    def information_state(self, player: int) -> str:
        return super().information_state(player).replace("b", "B")


class ShortState(KuhnState):
    def current_player(self) -> int:
        return TERMINAL if self.betting == "pb" else super().current_player()


class Variant(Game):
    """Kuhn under its own name, with other states."""

    name = "kuhn"

    def __init__(self, state: Callable[[], State]) -> None:
        self.new_initial_state = state  # type: ignore[method-assign]

    def new_initial_state(self) -> State:
        raise NotImplementedError


@pytest.mark.parametrize("state", [DearState, RenamedState])
def test_other_tree_of_the_same_size_is_refused(saved: Path, state: type[State]) -> None:
    tree = sg.compile(Variant(state))
    mine, theirs = tree_of("kuhn").digest, tree.digest
    assert refusal(saved, tree) == (
        f"{saved} was made for another tree of kuhn: it has as many infosets, but other "
        f"names, actions or payoffs (tree {mine}, this one is {theirs})."
    )


def test_other_tree_of_another_size_is_refused(saved: Path) -> None:
    assert refusal(saved, sg.compile(Variant(ShortState))) == (
        f"{saved} was made for another tree: its number of infosets per player is 6 + 6, "
        "that of this tree is 3 + 6."
    )


def test_checkpoint_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    sg.solve(tree_of("kuhn"), iterations=1, checkpoint=path)
    assert refusal(path) == (
        f"{path} is not a file of kind subgame-strategy-2 but of kind subgame-checkpoint-1."
    )


def test_foreign_tensors_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"weights": np.zeros(3)}, str(tmp_path / "net"))
    assert refusal(tmp_path / "net").endswith("net is not a file of kind subgame-strategy-2.")


def test_truncated_files_are_refused(saved: Path, tmp_path: Path) -> None:
    """Wherever a copy broke off, from the empty file to the last byte."""
    whole, cut = saved.read_bytes(), tmp_path / "cut"
    for size in range(len(whole)):
        cut.write_bytes(whole[:size])
        assert refusal(cut) == f"{cut} is not a safetensors file, or was cut short{WANTED}"


def test_random_bytes_are_refused(tmp_path: Path) -> None:
    rng, path = random.Random(1), tmp_path / "noise"
    for size in (1, 7, 8, 9, 100, 5000):
        for _ in range(20):
            path.write_bytes(rng.randbytes(size))
            assert refusal(path) == f"{path} is not a safetensors file, or was cut short{WANTED}"


@pytest.mark.parametrize(
    "header",
    [
        "5",
        "[]",
        "null",
        '"text"',
        '{"a": 1}',
        '{"a": {}}',
        '{"__metadata__": 3}',
        "[" * 5000,
        '{"a": {"dtype": "F64", "shape": [1000000000000], "data_offsets": [0, 0]}}',
        '{"a": {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]}}',
        '{"a": {"dtype": "F64", "shape": [1], "data_offsets": [-8, 0]}}',
        '{"a": {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}',
        '{"a": {"dtype": "F64", "shape": ["x"], "data_offsets": [0, 8]}}',
    ],
)
def test_malformed_headers_are_refused(header: str, tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(16))
    assert refusal(path) == f"{path} is not a safetensors file, or was cut short{WANTED}"


def test_damaged_headers_are_refused_or_harmless(saved: Path, tmp_path: Path) -> None:
    """A changed byte never ends in anything but a sentence or a strategy."""
    whole, path, rng = saved.read_bytes(), tmp_path / "damaged", random.Random(2)
    end, refused = 8 + int.from_bytes(whole[:8], "little"), 0
    for at in range(end):
        path.write_bytes(whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :])
        try:
            assert_valid(sg.Strategy.load(path, tree_of("kuhn")))
        except sg.SubgameError:
            refused += 1
    assert refused > 0.8 * end


def test_missing_file_and_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"There is no file {tmp_path / 'none'}{WANTED}"
    assert refusal(tmp_path) == f"{tmp_path} is a folder, not a file{WANTED}"
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file" / "below").startswith(f"{tmp_path / 'file' / 'below'} cannot")


BAD = [
    ((math.nan, 1.0), "has probabilities of player 1 that are not finite."),
    ((math.inf, 0.0), "has probabilities of player 1 that are not finite."),
    ((-0.5, 1.5), "has probabilities of player 1 that are below 0."),
    ((1.7, 0.0), "has probabilities of player 1 that are above 1."),
    ((0.5, 0.4), "has probabilities of player 1 that do not sum to 1."),
    ((0.0, 0.0), "has probabilities of player 1 that do not sum to 1."),
]


def altered(tree: sg.PublicTree, values: tuple[float, float]) -> tuple[Any, Any]:
    """The uniform strategy's arrays, with other numbers at an infoset of player 1."""
    one, two = (probs.copy() for probs in sg.Strategy.uniform(tree).probs)
    two[tree.players[1].sequences(2)] = values
    return one, two


@pytest.mark.parametrize(("values", "complaint"), BAD)
def test_bad_probabilities_are_refused(values: tuple[float, float], complaint: str) -> None:
    for tree in (tree_of("kuhn"), sg.compile(GAMES["turn"])):
        with pytest.raises(sg.SubgameError) as error:
            sg.Strategy(tree, altered(tree, values))
        assert str(error.value) == f"The strategy {complaint}"


def test_rounding_is_no_fault() -> None:
    tree, board_tree = tree_of("kuhn"), sg.compile(GAMES["turn"])
    sg.Strategy(tree, altered(tree, (0.5 + 1e-7, 0.5)))
    sg.Strategy(board_tree, altered(board_tree, (0.5 + 1e-5, 0.5)))
    with pytest.raises(sg.SubgameError, match="do not sum to 1"):
        sg.Strategy(tree, altered(tree, (0.5 + 1e-5, 0.5)))


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    tree = tree_of("kuhn")
    one, two = sg.Strategy.uniform(tree).probs
    for probs, sentence in (
        ((one[:-1], two), "must have 13 probabilities of player 0, one per sequence; it has an"),
        ((one, two[:, None]), r"of player 1, one per sequence; it has an array of shape \(13, 1\)"),
        ((one, list(two)), "must have 13 probabilities of player 1"),
        ((one,), "probabilities of two players, not of 1"),
        (None, "probabilities of two players, not of None"),
        ((one, two.astype(np.float32)), "player 1 must be float64 in this tree, not float32"),
    ):
        with pytest.raises(sg.SubgameError, match=sentence):
            sg.Strategy(tree, probs)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["kuhn", "turn"])
def test_numbers_that_do_not_follow_one_another_are_refused(name: str) -> None:
    """The kernels of hold'em trees would read other numbers, of which every second is 0."""
    tree = tree_of("kuhn") if name == "kuhn" else sg.compile(GAMES["turn"])
    one, two = sg.Strategy.uniform(tree).probs
    wide = np.zeros(2 * len(one), one.dtype)
    wide[::2] = one
    with pytest.raises(sg.SubgameError, match="player 0 must lie in memory one after another"):
        sg.Strategy(tree, (wide[::2], two))
    made = sg.Strategy.from_weights(tree, (wide[::2], two))
    assert sg.exploitability(tree, made) == sg.exploitability(tree, sg.Strategy.uniform(tree))


@pytest.mark.parametrize("kind", ["U1", object, complex])
def test_weights_that_are_no_numbers_are_refused(kind: Any) -> None:
    for tree in (tree_of("kuhn"), sg.compile(GAMES["turn"])):
        one, two = (np.ones(side.num_sequences) for side in tree.players)
        with pytest.raises(sg.SubgameError, match="weights of player 1 must be real numbers, not"):
            sg.Strategy.from_weights(tree, (one, two.astype(kind)))


@pytest.mark.parametrize(("values", "complaint"), BAD)
def test_files_of_bad_probabilities_are_refused(
    values: tuple[float, float], complaint: str, tmp_path: Path
) -> None:
    tree, path = tree_of("kuhn"), tmp_path / "bad"
    for kind in ("subgame-strategy-1", "subgame-strategy-2"):
        arrays = {f"player{p}": array for p, array in enumerate(altered(tree, values))}
        write_tensors(path, arrays, describe(tree, kind))
        assert refusal(path) == f"{path} is damaged. The strategy {complaint}"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("player0", None),
        ("player0", np.ones(3)),
        ("player1", np.ones((13, 1))),
        ("player1", np.ones(13, np.float32)),
    ],
)
def test_missing_and_misshapen_tensors_are_refused(
    name: str, values: Any, saved: Path, tmp_path: Path
) -> None:
    from safetensors.numpy import load_file, save_file

    whole = saved.read_bytes()
    meta = json.loads(whole[8 : 8 + int.from_bytes(whole[:8], "little")])["__metadata__"]
    tensors = load_file(str(saved))
    del tensors[name]
    if values is not None:
        tensors[name] = values
    path = tmp_path / "misshapen"
    save_file(tensors, str(path), metadata=meta)
    said = refusal(path)
    assert said.startswith(f"{path} is damaged. The ")
    assert f" of player {name[-1]}" in said

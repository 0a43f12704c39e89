"""The compiler: it refuses broken rules in a sentence, and what it accepts it lays out rightly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import subgame as sg
from helpers import RANDOM, SMALL, tree_of
from subgame.errors import MemoryLimitError
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.memory import parse_bytes
from subgame.solve.evaluate import expected_value
from subgame.tree.sequence.tree import sequence_tree
from toy_game import Toy

# Refusals ---------------------------------------------------------------------------------------

TWICE = {"player": lambda h: (CHANCE, 0, 0, TERMINAL)[len(h)]}  # player 0 acts twice in a row

BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "forgets a card": (
        {**TWICE, "known": lambda h, p: f"then {h[1]}" if len(h) == 2 else " ".join(h)},
        "toy: infoset 'then l' of player 0 has imperfect recall: histories 'x l' and 'y l' are "
        "both in it, but there the player came from 'x' by l and from 'y' by l.",
    ),
    "forgets an action": (
        {**TWICE, "known": lambda h, p: f"{h[:1]} {len(h)}"},
        "toy: infoset '('x',) 2' of player 0 has imperfect recall: histories 'x l' and 'x r' are "
        "both in it, but there the player came from '('x',) 1' by l and from '('x',) 1' by r.",
    ),
    "absent-minded": (
        {**TWICE, "known": lambda h, p: " ".join(h[:1])},
        "toy: infoset 'x' of player 0 has imperfect recall: histories 'x' and 'x l' are both in "
        "it, but there the player came from no earlier choice and from 'x' by l.",
    ),
    "actions differ": (
        {"actions": lambda h: ("l", "r") if h[:1] == ("x",) else ("l", "m")},
        "toy: infoset 'P1 l' of player 1 offers ['l', 'r'] at history 'x l' "
        "but ['l', 'm'] at 'y l'.",
    ),
    "actions in another order": (
        {"actions": lambda h: ("l", "r") if h[:1] == ("x",) else ("r", "l")},
        "toy: infoset 'P1 r' of player 1 offers ['l', 'r'] at history 'x r' "
        "but ['r', 'l'] at 'y r'.",
    ),
    "no actions": (
        {"actions": lambda h: ()},
        "toy: infoset 'P0 x' of player 0 has the actions [] at history 'x'; "
        "there must be at least one and no two alike.",
    ),
    "an action twice": (
        {"actions": lambda h: ("l", "l")},
        "toy: infoset 'P0 x' of player 0 has the actions ['l', 'l'] at history 'x'; "
        "there must be at least one and no two alike.",
    ),
    "not zero-sum": (
        {"returns": lambda h: (1.0, 1.0 if h[-1] == "r" else -1.0)},
        "toy: history 'x l r' pays 1 and 1, which do not sum to zero; "
        "only zero-sum games can be solved.",
    ),
    "NaN payoff": (
        {"returns": lambda h: (math.nan, math.nan)},
        "toy: history 'x l l' pays nan and nan.",
    ),
    "infinite payoff": (
        {"returns": lambda h: (math.inf, -math.inf)},
        "toy: history 'x l l' pays inf and -inf.",
    ),
    "three payoffs": (
        {"returns": lambda h: (1.0, -1.0, 0.0)},
        "toy: history 'x l l' pays 3 players instead of two.",
    ),
    "chance sums to less": (
        {"outcomes": lambda h: (("x", 0.5), ("y", 0.25))},
        "toy: the chance probabilities at history the start are [0.5, 0.25] "
        "and sum to 0.75 instead of 1.",
    ),
    "chance below zero": (
        {"outcomes": lambda h: (("x", 1.5), ("y", -0.5))},
        "toy: the chance probabilities at history the start are [1.5, -0.5] ",
    ),
    "chance is NaN": (
        {"outcomes": lambda h: (("x", 1.0), ("y", math.nan))},
        "toy: the chance probabilities at history the start are [1.0, nan] ",
    ),
    "chance is infinite": (
        {"outcomes": lambda h: (("x", math.inf), ("y", -math.inf))},
        "toy: the chance probabilities at history the start are [inf, -inf] ",
    ),
    "chance has no outcome": (
        {"outcomes": lambda h: ()},
        "toy: the chance probabilities at history the start are [] and sum to 0 instead of 1.",
    ),
    "outcomes of one name": (
        {"outcomes": lambda h: (("x", 0.5), ("x", 0.5))},
        "toy: two chance outcomes at history the start have the same name.",
    ),
    "three players": (
        {"players": 3},
        "toy: the game has 3 players; only two-player games can be solved.",
    ),
    "a third player acts": (
        {"player": lambda h: (CHANCE, 0, 2, TERMINAL)[len(h)]},
        "toy: player 2 acts right after history 'x'; the acting player must be 0, 1, "
        "chance (-1) or the end (-4).",
    ),
    "public state at some histories only": (
        {"public": lambda h: None if h == ("x", "l") else "p"},
        "toy: public_state() answers at some histories and not at others ('x l'); "
        "answer everywhere, or return None everywhere to have it derived.",
    ),
    "public state missing at the start only": (
        {"public": lambda h: "p" if h else None},
        "toy: public_state() answers at some histories and not at others ('x'); "
        "answer everywhere, or return None everywhere to have it derived.",
    ),
    "infoset crosses public states": (
        {"public": lambda h: f"card {h[0]}" if h else ""},
        "toy: infoset 'P1 l' of player 1 crosses public states: history 'x l' is in 'card x' "
        "and 'y l' in 'card y'.",
    ),
    "no information state": (
        {"known": lambda h, p: None},
        "toy: player 0 acts at history 'x', but information_state gives no string there.",
    ),
    "information state is a number": (
        {"known": lambda h, p: len(h)},
        "toy: player 0 acts at history 'x', but information_state gives no string there.",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_broken_rules_are_named(fault: str) -> None:
    broken, sentence = BROKEN[fault]
    with pytest.raises(sg.SubgameError) as error:
        sg.compile(Toy(**broken))
    assert str(error.value).startswith(sentence)
    assert str(error.value).endswith(".")


def test_the_unbroken_toy_compiles() -> None:
    """So each refusal above is of the one rule that was replaced."""
    tree = sg.compile(Toy())
    assert [list(player.names) for player in tree.players] == [["P0 x", "P0 y"], ["P1 l", "P1 r"]]


def test_returning_to_an_earlier_public_name_is_a_new_public_state() -> None:
    tree = sequence_tree(sg.compile(Toy(public=lambda h: ("start", "a", "b", "a")[len(h)])))
    assert list(tree.node_names) == ["start", "a", "b", "a"]
    assert tree.node_parent.tolist() == [-1, 0, 1, 2]


@pytest.mark.parametrize("wrong", ["kuhn", None, 3, sg.games.load("kuhn").new_initial_state()])
def test_only_games_are_compiled(wrong: Any) -> None:
    with pytest.raises(sg.SubgameError, match=r"compile expects a Game such as .*, not \w+\."):
        sg.compile(wrong)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_memory_limit_is_quoted(name: str) -> None:
    """A game over the limit is refused however small it is."""
    sentence = (
        rf"{name}: the tree (of|has more than) [\d,]+ histories.* needs (at least )?.*B, "
        r"over the limit of 2.0 KiB\. A larger memory_limit allows it\."
    )
    with pytest.raises(MemoryLimitError, match=sentence):
        sg.compile(sg.games.load(name), memory_limit="2KiB")
    assert sg.compile(sg.games.load(name), memory_limit=None).digest == tree_of(name).digest


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4GiB", 2**32),
        ("4 GiB", 2**32),
        ("1.5mib", 1.5 * 2**20),
        ("500MB", 5e8),
        ("2kb", 2e3),
        ("100", 100),
        ("7B", 7),
        (100, 100),
        (1e9, 1e9),
        (None, math.inf),
    ],
)
def test_memory_limits(text: str | float | None, count: float) -> None:
    assert parse_bytes(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "",
        "much",
        "GiB",
        "4 elephants",
        "4PiB",
        "4GiBB",
        "-1GiB",
        "nanGiB",
        math.nan,
        -1,
        0,
        True,
        [],
    ],
)
def test_bad_memory_limits(text: Any) -> None:
    with pytest.raises(sg.SubgameError) as error:
        sg.compile(sg.games.load("kuhn"), memory_limit=text)
    assert str(error.value) == (
        f"memory_limit must be a number of bytes such as 4GiB or 500MB, not '{text}'."
    )


# Structure --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "infosets"),
    [("kuhn", (6, 6)), ("leduc", (468, 468)), ("liars-dice(dice=1, faces=6)", (12288, 12288))],
)
def test_number_of_infosets(name: str, infosets: tuple[int, int]) -> None:
    tree = tree_of(name)
    assert tuple(len(player.names) for player in tree.players) == infosets
    assert tree.num_infosets == sum(infosets)


Sequence_ = tuple[str, str] | None
"""A player's sequence by name: the last infoset and the action taken there, or neither."""


def terminals(game: Game) -> Iterator[tuple[Sequence_, Sequence_, float]]:
    """Both players' sequences and chance times payoff at every end, by plain recursion."""

    def walk(
        state: State, last: tuple[Sequence_, Sequence_], chance: float
    ) -> Iterator[tuple[Sequence_, Sequence_, float]]:
        player = state.current_player()
        if player == TERMINAL:
            yield *last, chance * state.returns()[0]
        elif player == CHANCE:
            for outcome, prob in state.chance_outcomes():
                yield from walk(state.child(outcome), last, chance * prob)
        else:
            infoset = state.information_state(player)
            assert infoset is not None
            for action in state.legal_actions():
                now = (infoset, action)
                both = (now, last[1]) if player == 0 else (last[0], now)
                yield from walk(state.child(action), both, chance)

    return walk(game.new_initial_state(), (None, None), 1.0)


def sequence_names(tree: sg.PublicTree, p: int) -> list[Sequence_]:
    """[q] each sequence of a player by name."""
    side = tree.players[p]
    out: list[Sequence_] = [None] * side.num_sequences
    for i, name in enumerate(side.names):
        for q, action in zip(side.sequences(i).tolist(), side.actions[i], strict=True):
            assert out[q] is None, "no two actions share a sequence"
            out[q] = (name, action)
    assert out.count(None) == 1, "all but the empty sequence belong to an infoset"
    return out


@pytest.mark.parametrize("name", SMALL + RANDOM[:30])
def test_sequence_form_entries(name: str) -> None:
    """The payoff matrix is the one that a plain recursion over the rules adds up."""
    tree = tree_of(name)
    wanted: dict[tuple[Sequence_, Sequence_], float] = defaultdict(float)
    for one, two, value in terminals(sg.games.load(name)):
        wanted[one, two] += value
    rows, cols = sequence_names(tree, 0), sequence_names(tree, 1)
    entries: dict[tuple[Sequence_, Sequence_], float] = defaultdict(float)
    for row, col, value in zip(*(x.tolist() for x in tree.entries[1:]), strict=True):
        entries[rows[row], cols[col]] += value
    assert entries.keys() <= wanted.keys()
    for key, value in wanted.items():
        assert entries[key] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", SMALL + RANDOM[:30])
def test_infosets_hang_below_their_own_sequences(name: str) -> None:
    """Each infoset's parent is the player's previous infoset and action, and lies before it."""
    tree = tree_of(name)
    parents: tuple[dict[str, Sequence_], dict[str, Sequence_]] = ({}, {})

    def walk(state: State, last: tuple[Sequence_, Sequence_]) -> None:
        player = state.current_player()
        if player == TERMINAL:
            return
        infoset = state.information_state(player) or "" if player >= 0 else ""
        if player >= 0:
            parents[player][infoset] = last[player]
        actions = (
            [outcome for outcome, _ in state.chance_outcomes()]
            if player == CHANCE
            else state.legal_actions()
        )
        for action in actions:
            now = (infoset, action)
            both = (now, last[1]) if player == 0 else (last[0], now) if player == 1 else last
            walk(state.child(action), both)

    walk(sg.games.load(name).new_initial_state(), (None, None))
    for p, side in enumerate(tree.players):
        names = sequence_names(tree, p)
        above = {name: names[q] for name, q in zip(side.names, side.plex.parent, strict=True)}
        assert above == parents[p]
        assert np.all(side.plex.parent < side.first)


def test_digest_is_stable_and_tells_games_apart() -> None:
    names = [*SMALL, *RANDOM[:20], "goofspiel(cards=3, returns=points)", "liars-dice(faces=4)"]
    digests = {name: tree_of(name).digest for name in names}
    assert len(set(digests.values())) == len(names)
    for name in names:
        assert sg.compile(sg.games.load(name)).digest == digests[name]


@pytest.mark.parametrize(
    "changed",
    [
        {"returns": lambda h: (1.0, -1.0) if h[0] == "x" else (2.0, -2.0)},
        {"actions": lambda h: ("l", "m")},
        {"known": lambda h, p: f"Player {p} {' '.join(h if p == 0 else h[1:])}"},
        {"outcomes": lambda h: (("x", 0.25), ("y", 0.75))},
    ],
    ids=["payoffs", "actions", "infosets", "chances"],
)
def test_digest_sees_every_change(changed: dict[str, Any]) -> None:
    assert sg.compile(Toy(**changed)).digest != sg.compile(Toy()).digest


def test_public_tree_is_frozen() -> None:
    tree = tree_of("kuhn")
    for part, field in (
        (tree, "game"),
        (tree, "players"),
        (tree.players[0], "names"),
        (tree.histories, "payoff"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(part, field, None)
    with pytest.raises(AttributeError):
        tree.terminals.scale = np.zeros(1)  # type: ignore[misc]


def test_progress_counts_histories() -> None:
    seen: list[int] = []
    tree = sg.compile(sg.games.load("phantom-ttt(abrupt=true)"), progress=seen.append)
    tree = sequence_tree(tree)
    assert tree.histories is not None
    assert seen == sorted(set(seen))
    assert len(seen) > 1
    assert max(np.diff([0, *seen])) <= 2 * 2048
    assert len(tree.histories) - 2048 < seen[-1] <= len(tree.histories)


@pytest.mark.parametrize("acts", [0, 1])
def test_a_player_who_never_acts(acts: int) -> None:
    """One player's best choice is the value; the other's strategy is empty."""
    game = Toy(
        player=lambda h: (CHANCE, acts, TERMINAL)[len(h)],
        known=lambda h, p: " ".join(h) if p == acts else "",
        returns=lambda h: (3.0, -3.0) if h in (("x", "l"), ("y", "r")) else (1.0, -1.0),
    )
    tree = sg.compile(game)
    assert len(tree.players[1 - acts].names) == 0
    best = 3 if acts == 0 else 1
    assert sg.solve_lp(tree).value == pytest.approx(best)
    assert sg.solve(tree, "pcfr+", iterations=100).value == pytest.approx(best, abs=1e-2)


def test_a_game_that_is_over_at_once() -> None:
    tree = sg.compile(Toy(player=lambda h: TERMINAL, returns=lambda h: (2.0, -2.0)))
    assert tree.num_infosets == 0
    strategy = sg.Strategy.uniform(tree)
    assert expected_value(tree, strategy) == 2
    assert sg.exploitability(tree, strategy).per_seat == (-2, 2)


def test_a_move_that_cannot_be_hashed_is_named_where_no_spot_check_comes() -> None:
    deep = Toy(
        player=lambda h: 0 if len(h) < 12 else TERMINAL,
        actions=lambda h: (["x"], "r") if h == ("r",) * 11 else ("l", "r"),
    )
    with pytest.raises(sg.SubgameError, match=r"action \['x'\] at infoset .* is not a string"):
        sg.compile(deep)


def test_more_outcomes_than_sixteen_bits_count() -> None:
    """More than a number of 16 bits can count; outcomes may also be lists."""
    size = 33_000
    total = size * (size + 1) / 2
    outcomes = [[f"{k}", (k + 1) / total] for k in range(size)]
    wide = Toy(
        player=lambda h: (CHANCE, 0, TERMINAL)[len(h)],
        outcomes=lambda h: outcomes,
        known=lambda h, p: "all alike" if p == 0 else None,
        returns=lambda h: (float(h[0]), -float(h[0])),
    )
    tree = sg.compile(wide)
    assert sg.solve(tree, iterations=1).value == pytest.approx(2 * (size - 1) / 3)

"""Public states that are derived, where a game does not say them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import pytest

import subgame as sg
from helpers import RANDOM, SMALL, tree_of
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.interop import gambit
from subgame.solve.evaluate import expected_value
from subgame.tree.sequence.tree import SequenceTree, sequence_tree
from toy_game import History, Toy, ToyState

SEEDS = range(50)


def states_of(game: Game) -> list[State]:
    """All states depth first, which is the order of a tree's histories."""
    out: list[State] = []

    def walk(state: State) -> None:
        out.append(state)
        player = state.current_player()
        if player == CHANCE:
            for outcome, _ in state.chance_outcomes():
                walk(state.child(outcome))
        elif player != TERMINAL:
            for action in state.legal_actions():
                walk(state.child(action))

    walk(game.new_initial_state())
    return out


def hidden(seed: int) -> str:
    """The random game that does not say its public states."""
    return f"random(seed={seed}, public=False)"


@pytest.mark.parametrize("seed", SEEDS)
def test_derived_public_states_are_closed(seed: int) -> None:
    """What a player knows at a history tells the public state, acting or not, until the end."""
    tree = tree_of(hidden(seed))
    assert tree.histories is not None
    states = states_of(sg.games.load(hidden(seed)))
    nodes = tree.histories.node.tolist()
    assert len(states) == len(nodes)
    for p in (0, 1):
        where: dict[str | None, set[int]] = defaultdict(set)
        for state, node in zip(states, nodes, strict=True):
            if state.current_player() != TERMINAL:
                where[state.information_state(p)].add(node)
        assert all(len(seen) == 1 for seen in where.values())
        for name, node in zip(tree.players[p].names, tree.players[p].node, strict=True):
            assert where[name] == {node}


def assert_public_tree(tree: SequenceTree) -> None:
    """Every step of the game stays in its public state or goes to one of its children."""
    h, above = tree.histories, tree.node_parent
    assert h is not None
    assert above[0] == -1
    assert np.all(above[1:] >= 0)
    assert np.all(above < np.arange(tree.num_nodes)), "parents come first"
    assert sorted(set(h.node.tolist())) == list(range(tree.num_nodes)), "none is empty"
    assert h.node[0] == 0
    before, after = h.node[h.parent[1:]], h.node[1:]
    stays = before == after
    assert np.array_equal(above[after[~stays]], before[~stays])


@pytest.mark.parametrize("seed", SEEDS)
def test_derived_public_states_form_a_tree(seed: int) -> None:
    assert_public_tree(tree_of(hidden(seed)))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_move_tells_the_public_state_of_an_end(seed: int) -> None:
    """One for each move that ends the game in a public state; chance's moves count as one."""
    h = tree_of(hidden(seed)).walked
    ends = h.player == TERMINAL
    move = np.where(h.player[h.parent] == CHANCE, -1, h.edge)[ends].tolist()
    came = zip(h.node[h.parent[ends]].tolist(), move, strict=True)
    pairs = set(zip(came, h.node[ends].tolist(), strict=True))
    assert len(pairs) == len({move for move, _ in pairs}) == len({node for _, node in pairs})
    assert not np.isin(h.node[~ends], h.node[ends]).any()


@dataclass(frozen=True)
class QuietState(State):
    """A state of another game that says what a player knows only where that player acts."""

    inner: State

    def current_player(self) -> int:
        return self.inner.current_player()

    def legal_actions(self) -> Sequence[str]:
        return self.inner.legal_actions()

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        return self.inner.chance_outcomes()

    def child(self, action: str) -> Self:
        return type(self)(self.inner.child(action))

    def returns(self) -> tuple[float, float]:
        return self.inner.returns()

    def information_state(self, player: int) -> str | None:
        return self.inner.information_state(player) if player == self.current_player() else None


class Quiet(Game):
    name = "quiet"

    def __init__(self, inner: Game) -> None:
        self.inner = inner

    def new_initial_state(self) -> State:
        return QuietState(self.inner.new_initial_state())


@pytest.mark.parametrize("name", SMALL + RANDOM[:50])
def test_derived_from_infosets_alone(name: str) -> None:
    """Knowing less, the public states are fewer; they are closed, a tree, and change no value."""
    quiet, tree = sequence_tree(sg.compile(Quiet(sg.games.load(name)))), tree_of(name)
    assert_public_tree(quiet)
    h = quiet.histories
    assert h is not None
    for p in (0, 1):
        side, here = quiet.players[p], h.player == p
        of_infoset = dict(zip(side.origin.tolist(), side.node.tolist(), strict=True))
        assert [of_infoset[i] for i in h.infoset[here].tolist()] == h.node[here].tolist()
        waiting = ~here & (h.player != TERMINAL)  # they know their last sequence
        known: dict[int, set[int]] = defaultdict(set)
        for sequence, node in zip(h.sequence[p][waiting], h.node[waiting], strict=True):
            known[int(sequence)].add(int(node))
        assert all(len(nodes) == 1 for nodes in known.values())
    strategy = sg.Strategy.random(tree, 1)
    same = sg.Strategy.from_table(quiet, strategy.table())
    assert sg.exploitability(quiet, same).per_seat == pytest.approx(
        sg.exploitability(tree, strategy).per_seat, abs=1e-10
    )


UNSEEN = {("x", "l"), ("x", "r"), ("y",)}
"""After x player 0 acts before player 1, after y player 1 acts at once and cannot tell."""


def unseen(known: Callable[[History], str | None]) -> dict[str, int]:
    """The public state of each inner history of that game, given what player 0 knows."""
    game = Toy(
        player=lambda h: CHANCE if not h else 0 if h == ("x",) else 1 if h in UNSEEN else TERMINAL,
        known=lambda h, p: known(h) if p == 0 else "?" if h in UNSEEN else f"sees {h}",
    )
    tree = sequence_tree(sg.compile(game))
    assert_public_tree(tree)
    assert tree.histories is not None
    nodes = zip(states_of(game), tree.histories.node.tolist(), strict=True)
    return {
        " ".join(state.history): node
        for state, node in nodes
        if isinstance(state, ToyState) and state.current_player() != TERMINAL
    }


def test_a_public_state_is_entered_from_one() -> None:
    """That of player 1 follows the deal and player 1's choice, so these two are joined."""
    assert unseen(" ".join) == {"": 0, "x": 0, "x l": 1, "x r": 1, "y": 1}


def test_a_public_state_is_not_entered_again() -> None:
    """If player 1 misses y too, it is one with the deal, and x leads from it back to it."""
    nodes = unseen(lambda h: None if h in ((), ("y",)) else " ".join(h))
    assert nodes == {"": 0, "x": 0, "x l": 0, "x r": 0, "y": 0}


@pytest.mark.parametrize("seed", SEEDS)
def test_derived_public_states_are_the_finest(seed: int) -> None:
    """Those that the game itself would declare are closed as well, so they are no finer."""
    derived, declared = tree_of(hidden(seed)).walked, tree_of(f"random(seed={seed})").walked
    going = derived.player != TERMINAL
    nodes = derived.node[going].tolist()
    pairs = set(zip(nodes, declared.node[going].tolist(), strict=True))
    assert len(pairs) == len(set(nodes))


def test_deriving_joins_no_more_than_it_must() -> None:
    """In the toy player 1 does not notice the deal, and sees every action of player 0."""
    tree = sequence_tree(sg.compile(Toy()))
    assert list(tree.node_names) == ["the start", "x l", "x l l", "x l r", "x r", "x r l", "x r r"]
    assert tree.node_parent.tolist() == [-1, 0, 1, 1, 0, 4, 4]


@pytest.mark.parametrize("seed", SEEDS)
def test_values_do_not_depend_on_the_public_states(seed: int) -> None:
    derived, declared = tree_of(hidden(seed)), tree_of(f"random(seed={seed})")
    one = sg.Strategy.random(derived, seed)
    two = sg.Strategy.from_table(declared, one.table())
    assert expected_value(derived, one) == pytest.approx(expected_value(declared, two), abs=1e-10)
    assert sg.exploitability(derived, one).per_seat == pytest.approx(
        sg.exploitability(declared, two).per_seat, abs=1e-10
    )


def test_kuhn_from_a_file_of_infosets_only(tmp_path: Path) -> None:
    """A Gambit file says what a player knows only where that player acts; that is enough."""
    gambit.save(sg.games.load("kuhn"), tmp_path / "kuhn.efg")
    game = gambit.load(tmp_path / "kuhn.efg")
    assert game.new_initial_state().information_state(0) is None
    tree = sg.compile(game)
    assert [len(player.names) for player in tree.players] == [6, 6]
    assert sg.solve_lp(tree).value == pytest.approx(-1 / 18, abs=1e-12)

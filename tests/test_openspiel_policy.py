"""Our exploitability of any policy is OpenSpiel's, for games loaded from there and for our own."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

import subgame as sg
from subgame import openspiel
from subgame.tree.sequence.tree import sequence_tree

pyspiel = pytest.importorskip("pyspiel")

GAMES = {
    "kuhn": "kuhn_poker",
    "leduc": "leduc_poker",
    "liars-dice(dice=1, faces=4)": "liars_dice(numdice=1,dice_sides=4)",
    "battleship(rows=1, cols=4, ship=2, shots=2)": (
        "battleship(board_width=4,board_height=1,ship_sizes=[2],ship_values=[1],num_shots=2,"
        "allow_repeated_shots=false)"
    ),
    "battleship(rows=2, cols=2, ship=2, shots=2)": (
        "battleship(board_width=2,board_height=2,ship_sizes=[2],ship_values=[1],num_shots=2,"
        "allow_repeated_shots=false)"
    ),
    "dark-hex": "dark_hex(num_rows=2,num_cols=2,gameversion=adh)",
    "goofspiel(cards=4)": "goofspiel(imp_info=True,num_cards=4,points_order=descending)",
}
CASES = [(name, home) for pair in GAMES.items() for name, home in zip(pair, "ab", strict=True)]


@pytest.mark.parametrize(("name", "home"), CASES)
def test_exploitability_is_openspiels(name: str, home: str) -> None:
    game = sg.games.load(name) if home == "a" else openspiel.load(name)
    tree = sg.compile(game)
    theirs = openspiel.pyspiel_game(tree)
    for strategy in (
        sg.Strategy.uniform(tree),
        sg.Strategy.random(tree, seed=7),
        sg.solve(tree, iterations=50).strategy,
    ):
        policy = openspiel.policy(strategy)
        wanted = pyspiel.exploitability(theirs, policy)
        assert sg.exploitability(tree, strategy).mean == pytest.approx(wanted, abs=1e-9)
        back = openspiel.strategy(tree, policy)
        for p in (0, 1):
            assert back.probs[p] == pytest.approx(strategy.probs[p], abs=1e-12)


@pytest.mark.parametrize(("ours", "theirs"), GAMES.items())
def test_both_loaders_give_one_game(ours: str, theirs: str) -> None:
    """One game by two loaders: as many infosets, the same value, the same CFR run."""
    one, two = sg.compile(sg.games.load(ours)), sg.compile(openspiel.load(theirs))
    assert [len(p.names) for p in one.players] == [len(p.names) for p in two.players]
    a, b = sg.solve(one, iterations=20), sg.solve(two, iterations=20)
    assert a.exploitability.per_seat == pytest.approx(b.exploitability.per_seat, abs=1e-9)


def test_a_python_policy_comes_in() -> None:
    policies = pytest.importorskip("open_spiel.python.policy")
    tree = sg.compile(openspiel.load("kuhn_poker"))
    strategy = openspiel.strategy(
        tree, policies.UniformRandomPolicy(pyspiel.load_game("kuhn_poker"))
    )
    assert sg.exploitability(tree, strategy).mean == pytest.approx(11 / 24)


def test_games_openspiel_lacks() -> None:
    tree = sg.compile(sg.games.load("coin-toss"))
    with pytest.raises(sg.SubgameError, match="no game that OpenSpiel has too called 'coin-toss'"):
        openspiel.policy(sg.Strategy.uniform(tree))


@pytest.mark.parametrize("name", list(GAMES.values())[1:])
def test_subgames_are_those_of_what_openspiel_tells(name: str) -> None:
    """While the game goes on, each string is that of one public state; re-solving is safe there."""
    tree = sequence_tree(sg.compile(openspiel.load(name)))
    where: dict[tuple[int, bool, str], set[int]] = defaultdict(set)
    states = [openspiel.pyspiel_game(tree).new_initial_state()]
    for node in tree.walked.node.tolist():  # depth first
        state = states.pop()
        if not state.is_terminal():
            for p in (0, 1):
                acts = state.current_player() == p
                where[p, acts, state.information_state_string(p)].add(node)
            states += [state.child(action) for action in state.legal_actions()[::-1]]
    assert not states
    assert {len(nodes) for nodes in where.values()} == {1}
    before = sg.solve(tree, "cfr+", iterations=3)
    parts = sg.cut(tree, "depth 2")
    for p in (0, 1):
        inside = [name for part in parts for name in part.tree.players[p].names]
        assert len(inside) == len(set(inside)) <= len(tree.players[p].names)
    after = sg.refine(tree, before.strategy, at="depth 2", technique="resolve", schedule="lp")
    gap = sg.exploitability(tree, after.strategy)
    assert np.all(np.array(gap.per_seat) <= np.array(before.exploitability.per_seat) + 1e-9)
    wanted = pyspiel.exploitability(openspiel.pyspiel_game(tree), openspiel.policy(after.strategy))
    assert gap.mean == pytest.approx(wanted, abs=1e-9)

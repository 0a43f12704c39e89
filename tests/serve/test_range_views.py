"""Hold'em on the page Games: its public tree, and what is played and won there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving import put, serving

import subgame as sg
from subgame.papers.coin_toss import action_values
from subgame.serve import worker
from subgame.serve.public_trees import catalogue, load_game, small, view_of
from subgame.serve.range_views import RangeView
from subgame.serve.store import Store
from subgame.serve.tree_views import around
from subgame.spots.lines import follow_line

SMALL = (
    "holdem(board=TdJcQdKc,ranks=TJQKA,suits=cd,pot=20,stack=30,big_blind=2,bets=postflop: 0.5x)"
)


@pytest.fixture(scope="module")
def view() -> RangeView:
    opened = view_of(load_game(Path(), SMALL))
    assert isinstance(opened, RangeView)
    return opened


@pytest.fixture(scope="module")
def values(view: RangeView) -> list[dict[str, dict[str, float]]]:
    """[player] what each action wins against the uniform strategy, history by history."""
    explicit = sg.compile(view.game, explicit=True)
    return [action_values(explicit, sg.Strategy.uniform(explicit), p) for p in (0, 1)]


@pytest.mark.parametrize("line", ["", "c r10", "c c / Ad", "r10 c / Ac c r20"])
def test_values_are_those_of_the_tree_of_all_histories(
    view: RangeView, values: list[dict[str, dict[str, float]]], line: str
) -> None:
    game, walk = view.game, view.find(line)
    strategies = view.strategies(sg.Strategy.uniform(view.tree), walk, "")
    p = walk.betting.player
    paid = float(walk.betting.staked[p] + walk.betting.bets[p])
    rows = strategies["infosets_here"]
    free = game.deck.size - len(walk.board)
    assert len(rows) == strategies["hands_in_all"] == free * (free - 1) // 2
    for row in rows:
        hand = game.deck.parse_hand(row["infoset"])
        known = values[p][game.infoset_name(hand, walk.board, walk.betting)]
        shown = [action["value"] - paid for action in row["actions"]]
        assert shown == pytest.approx(list(known.values()), abs=1e-6)
        best = max(known.values())
        marked = [action["best"] for action in row["actions"]]
        assert marked == [value > best - 1e-5 for value in known.values()]
    assert strategies["grid"]["classes"].keys() <= {"AA", "KK", "QQ", "JJ", "TT"} | {
        f"{high}{low}{kind}" for high in "AKQJ" for low in "KQJT" for kind in "so"
    }
    some = view.strategies(sg.Strategy.uniform(view.tree), walk, rows[0]["infoset"])
    assert [row["infoset"] for row in some["infosets_here"]] == [rows[0]["infoset"]]


def test_every_public_state_is_walked_once(view: RangeView) -> None:
    queue, seen = [view.find("")], []
    while queue:
        node = queue.pop()
        seen.append(view.facts(node)["id"])
        assert view.find(seen[-1]) == node
        for child in view.children(node):
            assert view.parent(child) == node
            queue.append(child)
    all_in = 2 * 6  # the tree deals six rivers after either all-in that is called on the turn
    assert len(seen) == len(set(seen)) == view.tree.num_nodes - all_in
    drawn = around(view, view.find("c c / Ad"))
    assert drawn["path"] == ["", "c", "c c", "c c / Ad"]
    assert {node["parent"] for node in drawn["nodes"] if node["name"] == "Ac"} == {"c c"}


def test_each_flop_is_dealt_once() -> None:
    view = view_of(load_game(Path(), small("nlfh-small")))
    boards = [view.find("c c")]
    for _ in range(3):
        boards = [child for board in boards for child in view.children(board)]
    assert len({frozenset(walk.board) for walk in boards}) == len(boards) == 120
    assert [view.facts(walk)["player"] for walk in boards] == [0] * 120


def test_games_of_holdem_open_or_say_what_does(tmp_path: Path) -> None:
    for row in catalogue():
        if row["holdem"]:
            assert view_of(load_game(tmp_path, row["small"])).about["holdem"]
    with pytest.raises(sg.SubgameError, match="too large to be drawn") as said:
        view_of(load_game(tmp_path, "hunl"))
    assert small("hunl") in str(said.value)


def test_a_game_of_holdem_is_solved_and_shown(
    tmp_path: Path, view: RangeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "limit_memory", lambda most: None)
    job = put(Store(tmp_path), kind="game", game=SMALL, schedule="pcfr+", iterations=20)
    worker.run(tmp_path, job)
    with serving(tmp_path, workers=0) as client:
        params: dict[str, Any] = {"game": SMALL, "strategy": job, "at": "c c / Ad"}
        page = client.get("/api/tree", params=params).json()
    solved = sg.solve(view.tree, "pcfr+", iterations=20)
    assert page["figures"]["exploitability"] == pytest.approx(solved.exploitability.mean)
    hand = page["infosets_here"][0]
    known = solved.strategy[
        view.game.infoset_name(
            view.game.deck.parse_hand(hand["infoset"]),
            follow_line(view.game, "c c / Ad").board,
            follow_line(view.game, "c c / Ad").betting,
        )
    ]
    shown = [action["probability"] for action in hand["actions"]]
    assert shown == pytest.approx(list(known.values()), abs=1e-6)

"""Rake and dead cards, against plain recursion on small decks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import subgame as sg
from brute_ranges import Brute
from subgame.errors import SubgameError
from subgame.games.holdem import Deck, Holdem, NoLimit, endgame, nlfh
from subgame.solve.evaluate import Exploitability, expected_value, head_to_head
from subgame.spots.endgame import Endgame, load, save

DECK = Deck("9TJQKA", "cd")
RANGES = ("AA,KQ,JT,Q9:0.5", "AK,QJ,T9s,KK,AcJd:0.5")
RAKE: dict[str, Any] = {"rake": (0.05, 3.0)}


def small(board: str = "Tc Jd Kc 9d", **more: Any) -> Holdem:
    options: dict[str, Any] = {"bets": "50% a / raise a", "deck": DECK} | more
    return endgame(board, 40, 60, RANGES, **options)


@pytest.mark.parametrize(
    ("more", "merge"),
    [
        (RAKE, "boards"),
        ({"dead": "Ad"}, False),
        ({"dead": "Ad Qc", "rake": 0.1}, "boards"),
        ({"rake": 0.05, "board": "TcJdKc9dQd"}, True),
    ],
)
def test_values_and_best_responses(more: dict[str, Any], merge: Any) -> None:
    game = small(**more)
    tree = sg.compile(game, merge=merge)
    strategy = sg.solve(tree, "dcfr", iterations=20).strategy
    gap = sg.exploitability(tree, strategy)
    brute = Brute(game, strategy)
    values = [brute.value(p, best=False) for p in (0, 1)]
    wins = [brute.value(p, best=True) for p in (1, 0)]
    assert gap.per_seat == pytest.approx(wins, abs=1e-5)
    assert expected_value(tree, strategy) == pytest.approx(values[0], abs=1e-5)
    if not game.rules.raked:
        assert gap.values is gap.gains is None
        assert sum(values) == pytest.approx(0, abs=1e-9)
        return
    assert gap.values == pytest.approx(values, abs=1e-5)
    assert gap.gains == pytest.approx([wins[1] - values[0], wins[0] - values[1]], abs=1e-5)
    assert float(gap) == pytest.approx(sum(gap.gains or ()) / 2)
    assert sum(values) < -1


def test_the_other_device_agrees() -> None:
    pytest.importorskip("torch")
    tree = sg.compile(small(**RAKE))
    strategy = sg.solve(tree, "dcfr", iterations=2).strategy
    one, two = (sg.exploitability(tree, strategy, device=device) for device in ("cpu", "torch"))
    assert one.per_seat == pytest.approx(two.per_seat, abs=1e-6)
    assert one.values == pytest.approx(two.values, abs=1e-6)
    other = sg.solve(tree, "dcfr", iterations=2, device="torch").strategy
    for side, mine, yours in zip(tree.players, strategy.probs, other.probs, strict=True):
        for cells, _ in side.decisions():
            np.testing.assert_allclose(mine[cells], yours[cells], atol=1e-5)


def test_solving_makes_both_gains_small() -> None:
    tree = sg.compile(small("TcJdKc9dQd", **RAKE))
    result = sg.solve(tree, "dcfr", target=0.01)
    assert result.exploitability.gains is not None
    assert max(result.exploitability.gains) < 0.02
    answer = result.as_dict()
    assert answer["zero_sum"] is False
    assert answer["gains"] == list(result.exploitability.gains)
    solved = Endgame.of(result.strategy)
    paid = 40 - sum(solved.ev)
    assert 40 * 0.05 <= paid <= 3
    assert sg.solve(sg.compile(small("TcJdKc9dQd")), iterations=1).exploitability.gains is None


def test_the_rake_is_capped_and_needs_a_flop() -> None:
    river = NoLimit((100, 100), (0, 1), "river", 40, rake=0.1, rake_cap=6).start()
    assert river.play("c c").net(0) == (16, -20)
    assert river.play("c c").net(-1) == (-2, -2)
    assert river.play("r20 f").net() == (16, -20)  # the uncalled bet is returned first
    assert river.play("r20 c").net(1) == (-40, 34)  # 8 without the cap
    preflop = NoLimit((100, 100), (1, 2), rake=0.1).start()
    assert preflop.play("f").net() == (1, -1)
    assert preflop.play("r100 f").net() == (-2, 2)
    assert preflop.play("r100 c").net(0) == (80, -100)
    assert preflop.play("c c / r2 f").net() == pytest.approx((1.6, -2))


def test_what_needs_a_zero_sum_game_is_refused(tmp_path: Any) -> None:
    game = small("TcJdKc9dQd", **RAKE)
    tree = sg.compile(game)
    strategy = sg.Strategy.uniform(tree)
    for call in (
        lambda: sg.refine(tree, strategy, at="root"),
        lambda: sg.cut(tree, "root"),
        lambda: sg.nest(tree, strategy),
        lambda: sg.depth_limited(tree, strategy, at="before the river"),
        lambda: sg.cfr_d(tree, at="after the turn"),
    ):
        with pytest.raises(SubgameError, match="has a rake, so it is not zero-sum"):
            call()
    with pytest.raises(SubgameError, match="only zero-sum games"):
        sg.compile(game, explicit=True)
    with pytest.raises(SubgameError, match="is not zero-sum"):
        head_to_head(tree, strategy, strategy)
    save(strategy, tmp_path / "spot.safetensors")
    assert load(tmp_path / "spot.safetensors").tree.digest == tree.digest


def test_the_float_pickles() -> None:
    import pickle

    gap = Exploitability((1.0, 2.0), (0.5, -1.0))
    assert pickle.loads(pickle.dumps(gap)).gains == gap.gains == (1.5, 2.0)
    assert float(gap) == 1.75


def test_dead_cards_are_never_dealt() -> None:
    game = small(dead="Ad")
    assert "Ad" not in {card for card, _ in _next_cards(game)}
    assert len(_next_cards(game)) == 12 - 4 - 1 - 4
    assert game.parameters["dead"] == "Ad"
    for dead, message in (("Tc", "The dead card Tc is on the board"), ("Ax", "no suit 'x'")):
        with pytest.raises(SubgameError, match=message):
            small(dead=dead)
    with pytest.raises(SubgameError, match=r"dead cards .* block every hand"):
        endgame("9c 9d Tc Td Jc", 40, 60, ("AA", "random"), deck=DECK, dead="Ac")
    assert nlfh().dead == ()


def _next_cards(game: Holdem) -> list[tuple[str, float]]:
    state = game.new_initial_state()
    for _ in range(2):
        state = state.child(state.chance_outcomes()[0][0])
    return state.child("c").child("c").chance_outcomes()

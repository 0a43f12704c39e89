"""Decisions of all streets: lines in words, boards in any suit, EV and equity by brute force."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import subgame as sg
from subgame.games.base import CHANCE
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.spots.browse import decision
from subgame.spots.decisions import Decision
from subgame.spots.endgame import Endgame
from subgame.spots.lines import follow_line, line_text
from subgame.tree.ranges.tree import compile_range_tree

SMALL = Deck("JQKA", "chs")
FLOP = sg.holdem.endgame(
    "Qs Kh As", 4, (6, 5), ("AA,KK:0.5,KQ", "QQ,AcKc,JJ:0.25"), "0.5x a / cap 2", deck=SMALL
)
FOUR = Deck("9TJQKA", "cdhs")
SUITS = sg.holdem.endgame(
    "QhKhAh", 4, 6, ("AA,KQ:0.5,T9", "QQ,JJ,KK,AK"), "0.5x / cap 1", deck=FOUR
)


@cache
def strategy(merge: Any = False) -> sg.Strategy:
    """A random one of the first game."""
    return sg.Strategy.random(compile_range_tree(FLOP, merge=merge), seed=4)


# Brute force ---------------------------------------------------------------------------------
def value(state: HoldemState, played: sg.Strategy, p: int) -> float:
    """Net chips of player `p`, history by history."""
    mover = state.current_player()
    if mover == CHANCE:
        return sum(
            share * value(state.child(card), played, p) for card, share in state.chance_outcomes()
        )
    if mover < 0:
        return state.returns()[p]
    return sum(
        share * value(state.child(action), played, p)
        for action, share in row(state, played).items()
        if share
    )


def row(state: HoldemState, played: sg.Strategy) -> dict[str, float]:
    p = state.current_player()
    return played[f"player {p}: {state.information_state(p)}"]


def at(game: Holdem, line: list[str], hands: tuple[int, int], played: sg.Strategy) -> Any:
    """The state after a line with two given hands, and each player's product of probabilities."""
    state, reach = HoldemState(game, hands, game.board, game.start()), [1.0, 1.0]
    for word in line:
        if state.current_player() >= 0:
            reach[state.current_player()] *= row(state, played)[word]
        state = state.child(word)
    return state, reach


def brute(game: Holdem, line: list[str], played: sg.Strategy) -> dict[str, dict[str, float]]:
    """Hand -> EV of each action and of the hand, equity and chance, over all pairs of hands."""
    deck, weights = game.deck, game.weights()
    sums: dict[int, dict[str, float]] = {}
    for one in np.flatnonzero(weights[0]).tolist():
        for two in np.flatnonzero(weights[1]).tolist():
            cards = {int(c) for hand in (one, two) for c in deck.hands[hand]}
            dealt = {c for word in line if word[0] not in "fcr" for c in deck.parse(word)}
            if len(cards) < 4 or cards & dealt:
                continue
            state, reach = at(game, line, (one, two), played)
            p = state.current_player()
            mine = (one, two)[p]
            met = weights[1 - p][(one, two)[1 - p]] * reach[1 - p]
            result = sums.setdefault(mine, {"met": 0.0, "equity": 0.0, "reach": 0.0})
            result["met"] += met
            result["reach"] = weights[p][mine] * reach[p]
            result["equity"] += met * share_won(state, p)
            paid = state.betting.staked[p] + state.betting.bets[p]
            for action in state.legal_actions():
                ev = value(state.child(action), played, p) + paid
                result[action] = result.get(action, 0.0) + met * ev
    return {
        deck.hand_name(hand): {
            "weight": result["reach"],
            **{key: result[key] / result["met"] for key in result if key not in ("met", "reach")},
        }
        for hand, result in sums.items()
        if result["met"] > 0
    }


def share_won(state: HoldemState, p: int) -> float:
    """The chance to win at the showdown, ties counting half, if there are no more bets."""
    if len(state.board) < 5:
        left = [c for c in range(state.game.deck.size) if c not in state._taken]
        new = [HoldemState(state.game, state.hands, (*state.board, c), state.betting) for c in left]
        return sum(share_won(child, p) for child in new) / len(new)
    from subgame.games.holdem.evaluate import rank_hands

    ranks = rank_hands(state.board, state.game.deck)
    mine, yours = (int(ranks[state.hands[q]]) for q in (p, 1 - p))
    return 0.5 if mine == yours else float(mine > yours)


@pytest.mark.parametrize(
    "line",
    ["c r2", "c r2 c / Jc", "c c / Jh r2 r5", "c r2 c / Jc c c / Js", "c r2 c Jc c c Js r3"],
)
def test_ev_equity_and_reach_are_those_of_every_history(line: str) -> None:
    played = strategy()
    result = decision(played, line)
    want = brute(FLOP, [word for word in line.split() if word != "/"], played)
    table = {row["hand"]: row for row in result.hand_table()}
    known = {name for name, row in table.items() if not np.isnan(row["ev"])}
    assert known == {name for name, row in want.items() if row["weight"] > 0}
    for name, row in want.items():
        if row["weight"] == 0:
            continue
        shown = table[name]
        assert shown["weight"] == pytest.approx(row["weight"], rel=1e-6)
        assert shown["equity"] == pytest.approx(row["equity"], abs=1e-6)
        for action, words in zip(result.actions, result.names, strict=True):
            assert shown[f"{words} ev"] == pytest.approx(row[action], abs=1e-5), (name, action)
        if share := round(shown["equity"] * result.betting.pot, 6):
            assert shown["eqr"] == pytest.approx(shown["ev"] / share, rel=1e-4)
        else:
            assert np.isnan(shown["eqr"])
    assert sum(result.ev) == pytest.approx(result.betting.pot, abs=1e-6)
    assert sum(result.equity) == pytest.approx(1, abs=1e-9)


def test_the_root_has_the_values_of_the_whole_solution() -> None:
    solved = Endgame.of(strategy())
    root = solved.decision()
    assert root.ev == pytest.approx(solved.ev, abs=1e-9)
    assert root.equity == pytest.approx(solved.equity, abs=1e-9)
    np.testing.assert_allclose(root.hand_ev, solved.hand_ev[0])
    assert root.line_frequency == 1


def test_dead_cards_never_come() -> None:
    """The equity of the first decision is that of the whole solution, and no row is of them."""
    game = sg.holdem.endgame(
        "Qs Kh As Jh", 4, 6, ("AA,KK,T9", "QQ,JJ,KK"), "0.5x / cap 1", deck=FOUR, dead="9c Tc"
    )
    spot = Endgame.of(sg.Strategy.uniform(compile_range_tree(game)))
    assert spot.decision().equity == pytest.approx(spot.equity)
    rows = spot.runouts("c c")
    assert {row["river"] for row in rows} & {"9c", "Tc"} == set()
    ahead = spot.decision("c c / 9d").ev[0]
    assert next(row["ev_oop"] for row in rows if row["river"] == "9d") == pytest.approx(ahead)


def test_how_often_a_line_is_played_is_the_product_of_its_frequencies() -> None:
    solved, often = Endgame.of(strategy()), 1.0
    for line, action in (("", "c"), ("c", "r2"), ("c r2", "c")):
        here = solved.decision(line)
        assert here.line_frequency == pytest.approx(often)
        often *= here.frequency[here.actions.index(action)]
    # The card that comes then depends on the hands that are left.
    assert solved.decision("c r2 c Jc").line_frequency == pytest.approx(often, rel=0.5)


# Suits ---------------------------------------------------------------------------------------
@cache
def solved(merge: Any) -> Endgame:
    tree = compile_range_tree(SUITS, merge=merge)
    return Endgame.of(sg.solve(tree, "dcfr", iterations=3).strategy)


@pytest.mark.parametrize("merge", ["boards", True])
@pytest.mark.parametrize(
    "line", ["c", "c c / Jd", "c c / Jc r2", "c r2 c / Ts c", "c c Jd c c Tc c", "c c 9c c c 9s c"]
)
def test_cards_of_any_suit_are_looked_up_where_suits_are_merged(merge: Any, line: str) -> None:
    want, result = solved(False).decision(line), solved(merge).decision(line)
    rows = [{row["hand"]: row for row in d.hand_table()} for d in (want, result)]
    assert rows[0].keys() == rows[1].keys()
    for name, row in rows[0].items():
        for key, number in row.items():
            if not isinstance(number, str):
                assert rows[1][name][key] == pytest.approx(number, abs=2e-4, nan_ok=True)
    assert result.frequency == pytest.approx(want.frequency, abs=1e-4)
    assert result.line_frequency == pytest.approx(want.line_frequency, abs=1e-4)


def test_every_suit_of_the_first_board_is_kept_apart() -> None:
    """Hearts can flush on this board, the other suits cannot: only they are exchanged."""
    one, two, other = (solved(True).decision(f"c c / J{suit} r2") for suit in "cdh")
    # The same frequencies on Jc and Jd, for the hand with the suits exchanged.
    assert one.table()["KsKd"] == pytest.approx(two.table()["KsKc"])
    assert one.frequency == pytest.approx(two.frequency)
    assert "JhJd" not in other.table()


# Words ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "short"),
    [
        ("", ""),
        ("check, bet 50, call / 3c, bet 100", "c r50 c / 3c r100"),
        ("cr50c/3cr100", "c r50 c / 3c r100"),
        ("x b50 c 3c 50% allin", "c r50 c / 3c r100 r850"),
        ("X, 0.5x, Call 50 / 10♥ k", "c r50 c / Th c"),
        ("all-in 900 call", "r900 c"),
        ("jam fold", "r900 f"),
        ("bet 50%, raise 50%, all-in", "r50 r150 r900"),
        ("b50 raise to 150 f", "r50 r150 f"),
        ("a c", "r900 c"),
    ],
)
def test_lines_as_players_write_them(line: str, short: str) -> None:
    game = sg.holdem.endgame("QsJh2h", 100, 900, bets="0.5x a")
    walk = follow_line(game, line)
    assert line_text(game, walk, short=True) == short
    again = follow_line(game, line_text(game, walk))  # what is shown is read again
    assert again == walk


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("r70", "The tree starts with the actions check .c., bet 50 .r50., .* not 'r70'"),
        ("call", "check .c., bet 50 .r50., .* not 'call'"),
        ("b50 check", "After 'r50' the tree has the actions fold .f., call 50 .c., .*'check'"),
        ("40%", "not '40%'"),
        ("checkmate", "not 'checkmate'"),
        ("x / 3c", "After 'c' the tree has .* not '3c'"),
        ("x x b50", "After 'c c' the turn comes: name the card before the next action"),
        ("x x Qs", "the card Qs is dealt twice"),
        ("x x 3c b50 f x", "the hand is over; 'x' cannot follow"),
    ],
)
def test_lines_that_are_not_there(line: str, words: str) -> None:
    game = sg.holdem.endgame("QsJh2h", 100, 900, bets="0.5x a")
    with pytest.raises(sg.SubgameError, match=words):
        follow_line(game, line)


def test_there_is_nothing_to_decide_before_a_card_and_after_the_end() -> None:
    with pytest.raises(sg.SubgameError, match="the turn comes; name it in the line"):
        decision(strategy(), "c c")
    with pytest.raises(sg.SubgameError, match="the hand is over, so there is nothing to decide"):
        decision(strategy(), "r2 f")


def test_a_spread_goes_from_the_weakest_hands_to_the_best() -> None:
    """With hands that are equally likely, a point for each is all of them in order."""
    game = sg.holdem.endgame("QhKhAh", 4, 6, ("AsAc,KsQs,Td9d", "JcJs"), "0.5x / cap 1", deck=FOUR)
    here = decision(sg.Strategy.uniform(compile_range_tree(game)), "")
    np.testing.assert_allclose(here.chance, 1 / 3)
    answer = here.spread(0, 3)
    np.testing.assert_allclose(answer["equity"], np.sort(here.hand_equity))
    np.testing.assert_allclose(answer["ev"], np.sort(here.hand_ev))
    assert here.spread(0, 6)["equity"][:2] == pytest.approx(min(here.hand_equity))
    assert here.spread(1, 4)["equity"] == pytest.approx([here.equity[1]] * 4)


# Tables --------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def turn() -> Decision:
    return Endgame.of(strategy()).decision("c r2 c / Jc")


def test_a_class_is_the_mean_of_its_hands(turn: Decision) -> None:
    hands, (group,) = turn.hand_table("KQ"), turn.class_table("KQo")
    offsuit = [hand for hand in hands if hand["class"] == "KQo"]
    assert 0 < len(offsuit) < len(hands)
    weights = np.array([hand["chance"] for hand in offsuit])
    for key in ("ev", "equity", "check", "check ev"):
        mean = np.average([hand[key] for hand in offsuit], weights=weights)
        assert group[key] == pytest.approx(mean)
    assert group["chance"] == pytest.approx(weights.sum())
    assert [hand["hand"] for hand in turn.hand_table("AhAc")] == ["AhAc"]
    with pytest.raises(sg.SubgameError, match="Hands are named as"):
        turn.hand_table("AK?")


def test_actions_lead_on(turn: Decision) -> None:
    rows = turn.action_table()
    assert [row["name"] for row in rows] == list(turn.names)
    assert sum(row["frequency"] for row in rows) == pytest.approx(1)
    assert sum(row["frequency"] * row["ev"] for row in rows) == pytest.approx(turn.ev[0])
    bet = Endgame.of(strategy()).decision(rows[1]["line"])
    assert bet.line == "c r2 c / Jc r3"
    assert bet.line_frequency == pytest.approx(turn.line_frequency * rows[1]["frequency"])


def test_everything_as_plain_data(turn: Decision) -> None:
    import json

    result = turn.as_dict()
    assert json.loads(json.dumps(result)) == result
    assert (result["board"], result["player"], result["pot"]) == ("QsKhAsJc", "oop", 8)
    assert result["words"] == "check, bet 2, call 2 / Jc"
    assert sum(result["ev"]) == pytest.approx(8)


def test_tables_are_saved_by_the_ending_of_their_name(turn: Decision, tmp_path: Any) -> None:
    table = turn.class_table()
    for name in ("t.csv", "t.json"):
        table.save(tmp_path / name)
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0].startswith("class,weight,chance,ev,equity,eqr,check,check ev")
    assert len(lines) == len(table) + 1
    with pytest.raises(sg.SubgameError, match=r"as .csv, .json or .parquet"):
        table.save(tmp_path / "t.txt")


@pytest.mark.parametrize(("module", "call"), [("pandas", "to_pandas"), ("pyarrow", "to_parquet")])
def test_without_optional_packages_a_sentence_says_so(
    turn: Decision, monkeypatch: pytest.MonkeyPatch, module: str, call: str, tmp_path: Any
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, module, None)
    arguments = [tmp_path / "t.parquet"] if call == "to_parquet" else []
    with pytest.raises(sg.SubgameError, match=f"not installed: pip install {module}"):
        getattr(turn.class_table(values=False), call)(*arguments)

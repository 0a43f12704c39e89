"""Ranges of players who folded: weights of hands and boards, beside enumeration and programs."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.engines.contract import Mode
from subgame.engines.factory import engine
from subgame.engines.pairs import PairEngine
from subgame.errors import FieldError, SubgameError
from subgame.games.base import CHANCE
from subgame.games.holdem.bunching import Bunching
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.game import Holdem, HoldemState
from subgame.games.holdem.ranges import Range
from subgame.solve.cfr import Cfr
from subgame.spots.endgame import Endgame
from subgame.tree.ranges.tree import compile_range_tree

DECK = Deck("TJQKA", "chs")
FOLDED = ["AA,KQ:0.3,JTs", "*:0.4,QQ", "TT,AK:0.7,QJo", "*"]
RIVER = ("Qs Jh Tc Kh Kc", 10, 20, ("AA,QQ,JTs,AQ:0.5", "KTs,JJ,AJ,TT:0.3"), "1x a / cap 2")
TURN = ("Qs Jh Tc Kh", 10, 10, ("AA,QQ:0.5", "JJ,AJs,KK"), "a / cap 1")


def weight(deck: Deck, folded: list[Range], taken: set[int]) -> float:
    """F of some cards, by enumeration."""
    if not folded:
        return 1.0
    held, total = folded[0].weights / folded[0].combos, 0.0
    for hand in np.flatnonzero(held).tolist():
        cards = {*deck.hands[hand].tolist()}
        if not cards & taken:
            total += float(held[hand]) * weight(deck, folded[1:], taken | cards)
    return total


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_weights_by_enumeration(players: int) -> None:
    deck, rng = Deck("JQKA", "chs") if players > 3 else DECK, np.random.default_rng(players)
    folded = [Range(rng.random(deck.num_hands).round(1), deck) for _ in range(players)]
    gone = (0, 5, 7)
    bunching = Bunching(deck, gone, folded)
    rest = [card for card in range(deck.size) if card not in gone]
    for m in (1, 2, 4):
        for cards in list(itertools.combinations(rest, m))[:: (1, 1, 7, 97, 29)[players]]:
            expected = weight(deck, folded, {*gone, *cards})
            assert bunching.of((0, *cards)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", ["river", "turn", "flop"])
def test_the_engine_is_that_of_other_trees(name: str) -> None:
    """Without folded ranges, the kernels' values, best responses and regrets."""
    tree = compile_range_tree(GAMES[name], merge=False)
    usual, pairs = engine(tree), PairEngine(tree)
    rng = np.random.default_rng(0)
    sigma = [tree.normalise(p, rng.random(tree.stored(p)).astype(np.float32)) for p in (0, 1)]
    for p in (0, 1):
        for run in (usual, pairs):
            assert run.roots(p).shape == (1, len(tree.players[p].slots))
        one, two = (run.plan(1 - p, sigma[1 - p]) for run in (usual, pairs))
        values = usual.values(p, sigma[p], one).roots, pairs.values(p, sigma[p], two).roots
        assert values[1] == pytest.approx(values[0], abs=1e-6)
        best = usual.respond(p, one).roots, pairs.respond(p, two).roots
        assert best[1] == pytest.approx(best[0], abs=1e-6)
    learned = []
    for run in (usual, pairs):
        cfr = Cfr(run)
        for p in (0, 1):
            cfr.pair[p].regret[:] = sigma[p] - 0.3
        rates = run.rates(np.tile([0.5, 0.25, 0.75], (2, 1)), 1)
        run.sweep(0, Mode.LEARN, cfr.pair, (rates[0], rates[0]), (run.roots(0), run.roots(1)))
        learned.append([run.behaviour(0, numbers) for numbers in cfr.pair[0][:2]])
    for one, two in zip(*learned, strict=True):
        for j, actions in tree.players[0].decisions():
            assert len(actions) == j.shape[1]
            assert two[j] == pytest.approx(one[j], abs=2e-4)


def deal(state: HoldemState, chance: float = 1.0) -> dict[tuple[str, ...], float]:
    """The probability of every deal of the two hands and the cards to come."""
    if state.current_player() >= 0:
        return deal(state.child("c"), chance)
    if state.current_player() != CHANCE:
        deck = state.game.deck
        names = (*(deck.hand_name(hand) for hand in state.hands), deck.name(state.board))
        return {names: chance}
    out: dict[tuple[str, ...], float] = {}
    for action, share in state.chance_outcomes():
        out |= deal(state.child(action), chance * share)
    return out


@pytest.mark.parametrize("count", [1, 2])
def test_deals_by_enumeration(count: int) -> None:
    """Every deal of the two hands, of the hands that were folded and of the river."""
    folded = FOLDED[:count]
    game = sg.holdem.endgame(*TURN, deck=DECK, folded=folded)
    one, two = game.weights()
    ranges = [Range.parse(text, DECK) for text in folded]
    expected = defaultdict[tuple[str, ...], float](float)
    for a, b in itertools.product(np.flatnonzero(one).tolist(), np.flatnonzero(two).tolist()):
        cards = {*DECK.hands[a].tolist(), *DECK.hands[b].tolist(), *game.board}
        if len(cards) < 8:
            continue
        for card in set(range(DECK.size)) - cards:
            names = DECK.hand_name(a), DECK.hand_name(b), DECK.name((*game.board, card))
            expected[names] += float(one[a] * two[b]) * weight(DECK, ranges, cards | {card})
    total = sum(expected.values())
    made = deal(game.new_initial_state())
    assert sum(made.values()) == pytest.approx(1)
    for dealt, likely in expected.items():
        assert made.get(dealt, 0.0) == pytest.approx(likely / total, rel=1e-5, abs=1e-9)


def spots() -> list[Holdem]:
    return [
        sg.holdem.endgame(*RIVER, deck=DECK, folded=FOLDED[:1]),
        sg.holdem.endgame(*RIVER, deck=DECK, folded=FOLDED[:3]),  # 15 cards: all are held
        sg.holdem.endgame(*TURN, deck=DECK, folded=FOLDED[:2], dead="Jc"),
    ]


@pytest.mark.parametrize("at", range(3))
def test_a_spot_has_the_value_of_the_linear_program(at: int) -> None:
    game = spots()[at]
    exact = sg.solve_lp(sg.compile(game, explicit=True)).value
    tree = sg.compile(game)
    solved = sg.solve(tree, "dcfr", iterations=300)
    assert solved.value == pytest.approx(exact, abs=1e-2)
    assert solved.exploitability.mean < 1e-2
    one, two = solved.exploitability.per_seat  # what best responses win against each player
    assert -one - 1e-5 <= exact <= two + 1e-5
    plain = sg.holdem.endgame(*(RIVER if at < 2 else TURN), deck=DECK)
    without = sg.solve(sg.compile(plain), "dcfr", iterations=300).value
    assert abs(without - exact) > 1e-2  # the folded hands matter here


def test_values_of_decisions_add_up() -> None:
    game = sg.holdem.endgame(*TURN, deck=DECK, folded=FOLDED[:2])
    solved = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=100).strategy)
    assert sum(solved.ev) == pytest.approx(10, abs=1e-4)
    assert sum(solved.equity) == pytest.approx(1, abs=1e-6)
    here = solved.decision("")
    assert here.ev == pytest.approx(solved.ev, abs=1e-4)
    assert here.equity == pytest.approx(solved.equity, abs=1e-6)
    later = solved.decision("c c / Ac")
    assert sum(later.ev) == pytest.approx(10, abs=1e-4)
    assert sum(later.equity) == pytest.approx(1, abs=1e-6)
    rows = Endgame.of(sg.Strategy.uniform(solved.tree)).runouts("c c", values=False)
    made, chances = deal(game.new_initial_state()), defaultdict[str, float](float)
    for names, chance in made.items():  # all hands check alike, so cards come as they are dealt
        chances[names[2][-2:]] += chance
    assert len(rows) == len(chances)
    for row in rows:
        assert row["chance"] == pytest.approx(chances[str(row["river"])], abs=1e-6)


def test_what_is_refused() -> None:
    with pytest.raises(FieldError, match="at most four on the river"):
        sg.holdem.endgame("QsJh2h8d", 10, 20, folded=["*"] * 4)
    with pytest.raises(FieldError, match="At most 4"):
        sg.holdem.endgame("QsJh2h8d", 10, 20, folded=["*"] * 5)
    game = sg.holdem.endgame(*RIVER, deck=DECK, folded=FOLDED[0])
    assert len(game.folded) == 1
    tree = sg.compile(game)
    for options in ({"schedule": "pcfr+"}, {"storage": "int16"}, {"schedule": "cfr-br"}):
        with pytest.raises(SubgameError, match=r"Folded|folded"):
            sg.solve(tree, iterations=2, **options)  # type: ignore[arg-type]
    strategy = sg.solve(tree, "dcfr", iterations=5).strategy
    with pytest.raises(SubgameError, match="folded"):
        sg.refine(tree, strategy, at="after the river", technique="resolve")

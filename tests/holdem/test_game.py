"""Hold'em as a game: deals, run-outs and showdowns, sizes of trees, and errors in a sentence."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import subgame as sg
from pokerkit_hands import act, random_rules, their_state
from subgame.errors import SubgameError
from subgame.games import load
from subgame.games.base import CHANCE, TERMINAL
from subgame.games.conformance import check
from subgame.games.holdem import (
    DECK,
    BetSizes,
    Betting,
    Deck,
    Holdem,
    NoLimit,
    Range,
    endgame,
    hunl,
    nlfh,
    nlth,
)
from subgame.games.holdem.counts import count_boards, count_nodes
from subgame.games.holdem.evaluate import rank_cards
from subgame.games.holdem.game import HoldemState
from subgame.games.holdem.isomorphism import card_permutations
from subgame.solve.evaluate import expected_value

SHORT = Deck("TJQKA", "hs")
EIGHT = Deck("JQKA", "hs")
NINE = Deck("QKA", "chs")

# The peer's node counts (postflop-solver: every size its own action, no merging, no all-in
# threshold), with the sizes that give them here.
RIVER_BETS = "river: 0.5x 1x a"
TURN_BETS = "turn, river: 0.5x 1x a"
FLOP_BETS = "postflop: 0.5x a"
SPOTS = [
    ("Qs Jh 2h 8d 3c", 100, 200, RIVER_BETS, 45),
    ("Qs Jh 2h 8d 3c", 100, 1000, RIVER_BETS, 177),
    ("Qs Jh 2h 8d", 100, 300, TURN_BETS, 11_733),
    ("Qs Jh 2h", 200, 900, FLOP_BETS, 710_986),
]

# Games that the generic compiler can walk: the oracles of the kernels.
SMALL = {
    "river": endgame("QsJhThKsAh", 4, 6, ("*", "AA,KK:0.5,QJ,JTs:0.3"), "all: 1x a", deck=SHORT),
    "turn": endgame("QsJhThKs", 4, (6, 4), ("*:0.7,AA", "AA,KJ,KTs,QJ:0.5"), "all: a", deck=SHORT),
    "flop": endgame("Qs Kh As", 4, 4, ("AA,KK:0.5,KQ", "QQ,AcKc"), "all: a / cap 1", deck=NINE),
    "nlfh": replace(
        nlfh(3, 1, 2, "preflop: a; flop: a", "JQKA", "hs"),
        ranges=(Range.parse("AA,KQ,QJ:0.5", EIGHT), Range.parse("KK,AJ:0.25,QJs", EIGHT)),
    ),
    "nlth": nlth(2, 1, 2, "all: none", "JQKA", "hs"),
}


@pytest.mark.parametrize(("board", "pot", "stack", "bets", "nodes"), SPOTS)
def test_trees_are_as_large_as_the_peers(
    board: str, pot: int, stack: int, bets: str, nodes: int
) -> None:
    assert count_nodes(endgame(board, pot, stack, bets=bets)) == nodes


def walk_betting(game: Holdem) -> list[Betting]:
    result, stack = [], [game.start()]
    while stack:
        betting = stack.pop()
        result.append(betting)
        stack += [betting.child(action) for action in game.actions(betting)]
    return result


def actions_on(game: Holdem, street: int) -> int:
    """The actions of a street, summed over its decision nodes."""
    return sum(
        len(game.actions(betting)) for betting in walk_betting(game) if betting.street == street
    )


def test_flop_holdem_is_as_stated() -> None:
    game = nlfh()
    assert (game.rules.stacks, game.rules.blinds, game.rules.last) == (
        (20000,) * 2,
        (50, 100),
        "flop",
    )
    start = game.start()
    assert game.actions(start) == ("f", "c", "r200", "r300")
    assert game.actions(start.play("r200")) == ("f", "c")
    assert game.actions(start.play("c")) == ("c", "r200", "r300")
    assert game.actions(start.play("c r300")) == ("f", "c")
    assert game.actions(start.play("cc/")) == ("c", "r100", "r200")
    assert game.actions(start.play("cc/ r100")) == ("f", "c", "r300", "r500")
    assert game.actions(start.play("cc/ c r200 r800")) == ("f", "c")
    assert start.play("cc/ r100 c").is_showdown
    assert actions_on(game, 1) == 190
    assert count_boards(game) == {0: 1, 1: 1755}


def test_other_whole_games() -> None:
    assert actions_on(nlth(), 2) == 72
    assert count_boards(nlth()) == {0: 1, 1: 1755, 2: 63193}
    assert nlth().start().play("cc/cc/cc").is_showdown
    full = hunl()
    assert full.start().play("cc/cc/cc/").street == 3
    assert (full.board, full.rules.last, full.deck) == ((), "river", DECK)
    assert full.weights()[0].sum() == 1326


def test_named_games_are_registered() -> None:
    for name in ("hunl", "nlfh", "nlth"):
        game = load(name)
        assert (game.name, isinstance(game, Holdem)) == (name, True)
        assert load(str(game)) == game
    small = load("nlfh(stack=4, small_blind=1, big_blind=2, ranks=JQKA, suits=hs)")
    assert small == nlfh(4, 1, 2, ranks="JQKA", suits="hs")
    assert load(str(small)) == small


# Small decks, walked in full.


@pytest.mark.parametrize("name", SMALL)
def test_conforms(name: str) -> None:
    report = check(SMALL[name])
    assert report.histories < 10_000
    assert report.public_states is not None


def histories(game: Holdem) -> list[tuple[HoldemState, float]]:
    """All histories with the probability of the chance moves on the way."""
    result, stack = [], [(game.new_initial_state(), 1.0)]
    while stack:
        state, chance = stack.pop()
        result.append((state, chance))
        if state.current_player() == CHANCE:
            outcomes = state.chance_outcomes()
            assert math.isclose(sum(p for _, p in outcomes), 1)
            assert min(p for _, p in outcomes) > 0
            stack += [(state.child(outcome), chance * p) for outcome, p in outcomes]
        else:
            stack += [(state.child(action), chance) for action in state.legal_actions()]
    return result


@pytest.mark.parametrize("name", SMALL)
def test_pairs_of_hands_are_dealt_by_their_weights(name: str) -> None:
    game = SMALL[name]
    w0, w1 = game.weights()
    joint = np.outer(w0, w1) * game.deck.disjoint
    dealt = np.zeros_like(joint)
    start = game.new_initial_state()
    for first, p in start.chance_outcomes():
        for second, q in start.child(first).chance_outcomes():
            pair = game.deck.parse_hand(first), game.deck.parse_hand(second)
            dealt[pair] += p * q
    assert np.allclose(dealt, joint / joint.sum(), atol=1e-15)
    assert np.array_equal(dealt > 0, joint > 0)


@pytest.mark.parametrize("name", SMALL)
def test_showdowns_pay_the_better_hand(name: str) -> None:
    game = SMALL[name]
    ends = [state for state, _ in histories(game) if state.current_player() == TERMINAL]
    wins: Counter[int] = Counter()
    for state in ends:
        staked = state.betting.at_stake
        if state.betting.is_showdown:
            assert len(state.board) == {"flop": 3, "turn": 4, "river": 5}[game.rules.last]
            cards = [[*state.board, *game.deck.hands[hand]] for hand in state.hands]
            mine, yours = rank_cards(cards, game.deck).tolist()
            sign = (mine > yours) - (mine < yours)
        else:
            sign = 1 if state.betting.folded == 1 else -1
        wins[sign] += 1
        assert state.returns() == (sign * staked, -sign * staked)
    assert min(wins[1], wins[-1]) > 0


def test_the_value_without_bets_is_the_equity() -> None:
    ranges = "AA,KK:0.5,AcKc", "QQ,AK:0.25,KQ"
    game = endgame("Qs Kh As", 10, 4, ranges, "all: none", deck=NINE)
    value = sum(
        chance * state.returns()[0]
        for state, chance in histories(game)
        if state.current_player() == TERMINAL
    )
    total = won = 0.0
    w0, w1 = game.weights()
    for a, b in itertools.product(range(game.deck.num_hands), repeat=2):
        if w0[a] * w1[b] and game.deck.disjoint[a, b]:
            cards = [game.deck.hands[hand].tolist() for hand in (a, b)]
            left = set(range(9)) - {*game.board, *cards[0], *cards[1]}
            for runout in itertools.combinations(left, 2):
                mine, yours = rank_cards([[*game.board, *runout, *c] for c in cards], NINE).tolist()
                won += w0[a] * w1[b] * 5 * ((mine > yours) - (mine < yours))
                total += w0[a] * w1[b]
    assert math.isclose(value, won / total)
    tree = sg.compile(game, explicit=True)
    assert math.isclose(expected_value(tree, sg.Strategy.uniform(tree)), value)


def test_the_generic_tools_work_on_it() -> None:
    tree = sg.compile(SMALL["turn"], explicit=True)
    blueprint = sg.solve(tree, sg.CFRPlus(), iterations=20)
    refined = sg.refine(tree, blueprint.strategy, at="after the river", technique=sg.Resolve())
    assert refined.after.mean <= blueprint.exploitability.mean + 1e-6
    assert math.isclose(
        sg.solve(tree, sg.CFRPlus(), iterations=300).value, sg.solve_lp(tree).value, abs_tol=1e-3
    )


# One hand, step by step.


def deal(game: Holdem, *steps: str) -> HoldemState:
    state = game.new_initial_state()
    for step in steps:
        state = state.child(step)
    return state


def test_streets_are_dealt_one_at_a_time() -> None:
    state = deal(hunl(), "AhKh", "7c7d")
    assert (state.current_player(), state.legal_actions()[:2]) == (1, ("f", "c"))
    flop = state.child("r300").child("c")
    assert flop.current_player() == CHANCE
    outcomes = flop.chance_outcomes()
    assert len(outcomes) == math.comb(48, 3)
    assert outcomes[0][0] == "2c2d2h"
    assert flop.legal_actions() == ()
    turn = flop.child("QsJh2h").child("r450").child("c")
    assert [len(s.chance_outcomes()) for s in (turn,)] == [45]
    assert turn.child("8d").current_player() == 0
    assert turn.child("8d").public_state() == "Qs Jh 2h 8d | r300c/r450c/"


def test_what_players_know() -> None:
    game = endgame("Qs Jh 2h", 100, 900, bets="postflop: 1x")
    state = deal(game, "AhKh", "7c7d", "r100", "c", "8d", "c")
    assert state.current_player() == 1
    assert state.information_state(0) == "AhKh | Qs Jh 2h 8d | r100c/c"
    assert state.information_state(1) == "7d7c | Qs Jh 2h 8d | r100c/c"
    assert state.public_state() == "Qs Jh 2h 8d | r100c/c"
    assert deal(game, "AhKh").information_state(1) == " | Qs Jh 2h | "
    assert game.infoset_name(DECK.parse_hand("KhAh"), game.board, game.start()) == (
        "AhKh | Qs Jh 2h | "
    )


def test_an_all_in_is_run_out() -> None:
    state = deal(hunl(), "AhKh", "7c7d", "r20000", "c")
    for cards in ("QsJh2h", "8d", "Th"):
        assert state.current_player() == CHANCE
        assert state.legal_actions() == ()
        state = state.child(cards)
    assert state.current_player() == TERMINAL
    assert state.returns() == (20000, -20000)
    assert deal(hunl(), "AhKh", "7c7d", "r20000", "c", "QsJh2h", "8d", "3c").returns()[1] == 20000
    tie = deal(hunl(), "AhKc", "AdKd", "r20000", "c", "QsJh2h", "8d", "3c")
    assert tie.returns() == (0, 0)


def test_a_fold_ends_the_hand() -> None:
    state = deal(hunl(), "AhKh", "7c7d", "r300", "f")
    assert (state.current_player(), state.returns()) == (TERMINAL, (-100, 100))


def test_off_tree_bets_and_impossible_deals() -> None:
    state = deal(hunl(), "AhKh", "7c7d")
    assert str(state.child("r251").betting) == "r251"
    for wrong in ("r150", "raise"):
        with pytest.raises(SubgameError):
            state.child(wrong)
    with pytest.raises(SubgameError, match="A card of 'AhQh' has already been dealt"):
        deal(hunl(), "AhKh", "AhQh")
    with pytest.raises(SubgameError, match="A card of '7cJh2h' has already been dealt"):
        deal(hunl(), "AhKh", "7c7d", "c", "c", "7cJh2h")


def test_frontiers() -> None:
    game = SMALL["flop"]
    cuts = game.frontiers()
    assert list(cuts) == [
        "before the turn",
        "after the turn",
        "before the river",
        "after the river",
    ]
    tops: Counter[str] = Counter()
    for state, _ in histories(game):
        closed = state.betting.street >= 2 or state.betting.is_showdown
        assert cuts["after the turn"](state) == (len(state.board) >= 4)
        assert cuts["before the turn"](state) == (closed and len(state.hands) == 2)
        tops.update(name for name, cut in cuts.items() if cut(state))
    assert min(tops.values()) > 0
    assert list(nlfh().frontiers()) == ["before the flop", "after the flop"]
    assert SMALL["river"].frontiers() == {}
    all_in = deal(hunl(), "AhKh", "7c7d", "r20000", "c")
    assert hunl().frontiers()["before the flop"](all_in)
    assert not hunl().frontiers()["before the turn"](all_in)
    assert hunl().frontiers()["before the turn"](all_in.child("QsJh2h"))


def test_play_may_start_in_the_middle() -> None:
    rules = NoLimit()
    first = rules.start().play("r300 c / r400")
    board = DECK.parse("QsJh2h")
    everything = Range.parse("random")
    game = Holdem(rules, BetSizes.parse("all: 1x"), board, (everything, everything), first=first)
    state = deal(game, "AhKh", "7c7d")
    assert (state.current_player(), state.legal_actions()) == (1, ("f", "c", "r1800"))
    assert state.information_state(1) == "7d7c | Qs Jh 2h | r300c/r400"
    with pytest.raises(SubgameError, match="On the flop the board has 3 cards; 'QsJh' has 2"):
        Holdem(rules, game.bets, board[:2], game.ranges, first=first)
    with pytest.raises(SubgameError, match="rules that differ from those of the game"):
        Holdem(NoLimit(blinds=(1, 2)), game.bets, board, game.ranges, first=first)


# What distinguishes games.


def test_games_are_values() -> None:
    game = SMALL["turn"]
    for twin in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):
        assert twin == game
        assert hash(twin) == hash(game)
    state = pickle.loads(pickle.dumps(game.new_initial_state()))
    assert state.chance_outcomes() == game.new_initial_state().chance_outcomes()
    assert pickle.loads(pickle.dumps(game.frontiers())).keys() == game.frontiers().keys()


def test_parameters_say_what_is_not_as_usual() -> None:
    game = endgame("QsJh2h8d", 100, (300, 200), ("*", "AA,A5s"), "turn: a")
    assert game.parameters == {
        "stack": "300/200",
        "board": "QsJh2h8d",
        "pot": 100,
        "big_blind": 1,
        "bets": "turn: a",
        "ip": "AA A5s",
    }
    long = endgame("QsJh2h8d", 100, 300, (np.linspace(0, 1, 1326), "*"), "turn: a")
    assert str(long.parameters["oop"]).startswith("1127 hands #")
    other = endgame("QsJh2h8d", 100, 300, (np.linspace(0.1, 1, 1326), "*"), "turn: a")
    assert str(long) != str(other)


def test_ranges_in_every_form() -> None:
    text = endgame("QsJh2h8d", 100, 300, ("AA,KK:0.5", "random"))
    weights = Range.parse("AA,KK:0.5").weights
    for arguments in (Range.parse("AA,KK:0.5"), weights, (8 * weights / 4).tolist()):
        assert np.allclose(
            endgame("QsJh2h8d", 100, 300, (arguments, "*")).weights()[0], text.weights()[0]
        )
    assert text == endgame(DECK.parse("QsJh2h8d"), 100, (300, 300), ("AA,KK:0.5", "*"))
    assert text.weights()[1].sum() == math.comb(48, 2)


@pytest.mark.parametrize(
    ("board", "ranges", "symmetric"),
    [
        ("Qs Jh 2h", ("*", "*"), 2),
        ("Qs Jh 2h", ("AA", "KK,AcKd,AdKc"), 2),
        ("Qs Jh 2h", ("AA", "KK,AcKd"), 1),
        ("Qs Jh 2c", ("*", "*"), 1),
        ("Qs Js 2s", ("*", "*"), 6),
        ("Qs Qh Qc", ("*", "*"), 6),
        ("Qs Qh 2s 2h", ("*", "*"), 4),
    ],
)
def test_symmetries(board: str, ranges: tuple[str, str], symmetric: int) -> None:
    game = endgame(board, 100, 300, ranges)
    assert len(game.symmetries) == symmetric
    assert game.symmetries[0] == 0


@pytest.mark.parametrize("board", ["", "Qs Kh As", "Qs Ks As", "Qs Qh Qc"])
def test_counts_of_boards(board: str) -> None:
    """Against the classes of all deals, found by applying every symmetry."""
    game = endgame(board, 4, 4, deck=NINE) if board else hunl(10, 1, 2, "all: a", "QKA", "chs")
    moves = card_permutations(NINE)[game.symmetries].tolist()
    first = len(game.board)
    for street, count in count_boards(game).items():
        classes = set()
        for cards in itertools.permutations(
            sorted({*range(9)} - {*game.board}), (0, 3, 4, 5)[street] - first
        ):
            flop = 0 if first else 3
            images = [tuple(move[card] for card in cards) for move in moves]
            classes.add(min((*sorted(image[:flop]), *image[flop:]) for image in images))
        assert count == len(classes)


# Errors.


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"board": "Qs Jx 2h"}, r"In the board 'Qs Jx 2h', at 'Jx' .*: there is no suit 'x'"),
        ({"board": "Qs Jh Qs"}, "at 'Qs' .*: this card was already given"),
        ({"board": (43, 38, 43)}, "The card Qs is given twice"),
        ({"board": (43, 38, 52)}, "Card 52 is not in this deck"),
        ({"board": "Qs Jh"}, "A board has 3, 4 or 5 cards; 'Qs Jh' has 2"),
        ({"board": "Qs Jh 2h 3h 4h 5h"}, "A board has 3, 4 or 5 cards; .* has 6"),
        ({"pot": 0}, "The pot must be a number of chips above 0, .* not 0"),
        ({"pot": 99.1234567}, "The pot must have at most 6 decimals of a chip, not 99.1234567"),
        ({"pot": "much"}, "The pot must be a number of chips above 0, .* not 'much'"),
        (
            {"stacks": 5},
            "A stack of 5 chips is below the smallest bet of 10 chips, so there is nothing",
        ),
        ({"stacks": (900, 0)}, "A stack of 0 chips is below the smallest bet"),
        ({"stacks": float("nan")}, "The stack must be a number of chips of at least 0, .* not nan"),
        ({"stacks": (1, 2, 3)}, "There are two players, so two stacks are expected, not 3"),
        ({"ranges": ("AA",)}, "There are two players, so two ranges are expected, not 1"),
        ({"ranges": ("AA", "KKK")}, "In the range 'KKK', at 'KKK'"),
        ({"ranges": ("", "KK")}, "The range is empty; write 'random'"),
        ({"ranges": ("AA", "KK:0")}, "The range of the player on the button is empty"),
        ({"ranges": ("QsJh,Qs2h", "*")}, "QsJh2h blocks every hand in the range of the player out"),
        ({"ranges": ("AhKh,AhKd", "AhQh,KcKh,AhAs")}, None),
        ({"ranges": ("AhKh,AhKd", "AhQh,AhAs")}, "In every pair of hands .* share a card"),
        ({"ranges": (np.ones(1325), "*")}, "1,326 weights, one for each hand; .* shape"),
        ({"ranges": (-np.ones(1326), "*")}, "player out of position must be finite numbers, none"),
        ({"ranges": (np.full(1326, np.nan), "*")}, "must be finite numbers"),
        ({"ranges": (Range.parse("*", SHORT), "*")}, "out of position belongs to another deck"),
        ({"bets": "flop: 5y"}, "In the bet sizes 'flop: 5y', at '5y'"),
        ({"bets": "folp: 1x"}, "there is no street 'folp'"),
        ({"last": "summer"}, "There is no street 'summer'"),
        ({"board": "Qs Jh 2h 8d", "last": "flop"}, "starts on the turn cannot have its last stre"),
    ],
)
def test_errors(changed: dict[str, Any], says: str | None) -> None:
    options = {"board": "Qs Jh 2h", "pot": 100, "stacks": 900, "big_blind": 10, **changed}
    if says is None:
        endgame(**options)
        return
    with pytest.raises(SubgameError, match=says):
        endgame(**options)


def test_a_deck_that_is_too_small() -> None:
    with pytest.raises(SubgameError, match="take 9 cards; the deck has 8"):
        hunl(10, 1, 2, ranks="JQKA", suits="hs")
    with pytest.raises(SubgameError, match="cannot have its last street on the preflop"):
        NoLimit(last="preflop")


# PokerKit deals the same cards and pays the same, whichever street is the last.


def play_a_hand(pokerkit: Any, rng: random.Random) -> tuple[str, bool]:
    """Both play the same random hand; the last street and whether there was a showdown."""
    last = rng.choice(["flop", "turn", "river"])
    rules = random_rules(rng, last)
    game = Holdem(rules, BetSizes(), (), (EVERYTHING, EVERYTHING))
    cards = [DECK.card_name(card) for card in rng.sample(range(52), 9)]
    holes, board = [cards[0] + cards[1], cards[2] + cards[3]], cards[4:]
    mine, theirs = deal(game, *holes), their_state(pokerkit, rules, holes)
    while mine.current_player() != TERMINAL:
        if mine.current_player() == CHANCE:
            count = 3 if not mine.board else 1
            dealt = "".join(board[:count])
            board = board[count:]
            mine = mine.child(dealt)
            theirs.burn_card("??")
            theirs.deal_board(dealt)
        else:
            mine = mine.child(act(mine.betting, theirs, rng))
    assert not theirs.status
    assert mine.returns() == tuple(theirs.payoffs)
    return last, mine.betting.is_showdown


EVERYTHING = Range.parse("random")


@pytest.mark.parametrize("hands", [200, pytest.param(100_000, marks=pytest.mark.slow)])
def test_hands_with_cards_against_pokerkit(hands: int) -> None:
    pokerkit = pytest.importorskip("pokerkit")
    rng = random.Random(17)
    seen = Counter(play_a_hand(pokerkit, rng) for _ in range(hands))
    assert len(seen) == 6

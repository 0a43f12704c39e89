"""Action translation: the mappings of Ganzfried & Sandholm 2013, and who plays by them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import subgame as sg
from subgame.games.base import CHANCE, TERMINAL
from subgame.games.holdem.rules import Bet
from subgame.games.holdem.translation import MAPPINGS, answer, mapping, translated
from subgame.games.no_limit import NoLimitState
from subgame.papers.no_limit_leduc_sizes import STACKS, TABLE_3, kuhn_table
from subgame.refine.verbs.translate import translate
from subgame.solve.evaluate import expected_value
from subgame.tree.sequence.tree import sequence_tree

RANDOMIZED = [name for name, made in MAPPINGS.items() if made.randomized]
KUHN = "no-limit-kuhn(stack=8, bets={})"
LEDUC = "no-limit-leduc(stack=5, bets={})"


@cache
def tree(name: str) -> sg.PublicTree:
    return sg.compile(sg.games.load(name))


@cache
def blueprint(name: str) -> sg.Strategy:
    return sg.solve(tree(name), "cfr+", iterations=500).strategy


# Mappings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPPINGS)
def test_known_sizes_are_kept_and_larger_bets_never_go_down(name: str) -> None:
    """Sec. 4: boundary constraints and monotonicity."""
    made = mapping(name)
    for a, b in ((0.0, 1.0), (0.5, 1.0), (1.0, 9.5)):
        shares = [made.lower(a, b, x) for x in np.linspace(a, b, 101)]
        assert shares[0] == 1
        assert shares[-1] == 0
        assert all(0 <= share <= 1 for share in shares)
        assert all(np.diff(shares) <= 1e-12)


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("arithmetic", (0.75, 0.751, 0.758, 0.789, 0.833)),
        ("geometric", (0, 0.012, 0.111, 0.429, 0.667)),
        ("geometric-squared", (0, 0.015, 0.131, 0.439, 0.641)),
        ("pseudo-harmonic", (0.6, 0.601, 0.612, 0.663, 0.733)),
    ],
)
def test_table_1(name: str, row: tuple[float, ...]) -> None:
    result = [mapping(name).lower(a, 1, 0.25) for a in (0, 0.001, 0.01, 0.05, 0.1)]
    # The paper's 0.012 and 0.131 are 0.0119 and 0.1308; it rounds 0.75075 to 0.751.
    assert result == pytest.approx(row, abs=6e-4)


def test_pseudo_harmonic_is_what_the_clairvoyance_game_asks_for() -> None:
    """Sec. 6: x is called with probability 1 / (1 + x), and the median follows."""
    for a, b, x in ((0, 1, 0.3), (0.5, 2, 0.9), (1, 9, 4)):
        share = mapping("pseudo-harmonic").lower(a, b, x)
        assert share / (1 + a) + (1 - share) / (1 + b) == pytest.approx(1 / (1 + x))
        median = (a + b + 2 * a * b) / (a + b + 2)
        assert mapping("pseudo-harmonic").lower(a, b, median) == pytest.approx(0.5)


@pytest.mark.parametrize("base", ["pseudo-harmonic", "geometric", "arithmetic"])
def test_deterministic_is_the_randomized_one_cut_at_one_half(base: str) -> None:
    for x in np.linspace(0.5, 3, 97):
        share = mapping(base).lower(0.5, 3, float(x))
        assert mapping(f"deterministic-{base}").lower(0.5, 3, float(x)) == (share > 0.5 + 1e-9)


def test_a_bet_at_the_median() -> None:
    """Sec. 5.1 takes it for the larger size; Table 3 must have taken it for the smaller one."""
    made = mapping("deterministic-arithmetic")
    assert made.lower(0, 1, 0.5) == 0
    assert replace(made, tie=1.0).lower(0, 1, 0.5) == 1


@pytest.mark.parametrize("name", RANDOMIZED)
def test_the_geometric_and_other_medians(name: str) -> None:
    median = {"arithmetic": 2.5, "pseudo-harmonic": 13 / 7}.get(name, 2.0)
    assert mapping(name).lower(1, 4, median) == pytest.approx(0.5)


def test_wrong_mappings_and_sizes() -> None:
    with pytest.raises(sg.SubgameError, match="did you mean 'geometric'"):
        mapping("geometrik")
    with pytest.raises(sg.SubgameError, match="0 <= A < B"):
        mapping("arithmetic").lower(1, 1, 1)


# Hearing and answering: the edges ------------------------------------------------------------

FCPA: list[Bet | None] = [None, Bet(0.0), Bet(1.0), Bet(5.5, all_in=True)]


def test_what_a_bet_is_taken_for() -> None:
    how = mapping("pseudo-harmonic")
    assert translated(FCPA, None, how) == {0: 1.0}
    assert translated(FCPA, Bet(0.0), how) == {1: 1.0}
    assert translated(FCPA, Bet(1 / 3), how) == pytest.approx({1: 0.5, 2: 0.5})
    assert translated(FCPA, Bet(9.0), how) == {3: 1.0}  # beyond all we know
    assert translated(FCPA, Bet(0.7, all_in=True), how) == {3: 1.0}  # all-in is all-in
    assert translated(FCPA[:2], Bet(2.0), how) == {1: 1.0}  # nobody can raise in our game any more


def test_what_is_answered() -> None:
    real: list[Bet | None] = [None, Bet(0.0), Bet(0.5), Bet(0.9), Bet(3.0, all_in=True)]
    assert [answer(intended, real) for intended in FCPA] == [0, 1, 3, 4]
    assert answer(Bet(1.0), [None, Bet(0.0)]) == 1  # no bet after all-in: a call
    assert answer(None, [Bet(0.0), Bet(1.0)]) == 0  # nothing to fold to: a check


# The translating player ----------------------------------------------------------------------


@pytest.mark.parametrize("name", MAPPINGS)
@pytest.mark.parametrize("game", [KUHN, LEDUC])
def test_without_off_tree_actions_nothing_changes(game: str, name: str) -> None:
    """The opponent keeps to our sizes: the strategy is as it was where we ever come."""
    strategy = blueprint(game.format("fcpa"))
    own = translate(strategy.tree, strategy, name)
    for p in (0, 1):
        reached = sg.exploitability(strategy.tree, own).per_seat[p]
        assert reached == pytest.approx(sg.exploitability(strategy.tree, strategy).per_seat[p])
        side = sequence_tree(strategy.tree).players[p]
        for i in range(len(side.names)):
            if side.plex.parent[i] == 0:  # the first choices are reached
                assert own.row(p, i) == pytest.approx(strategy.row(p, i), abs=1e-12)


@pytest.mark.parametrize("game", [KUHN, LEDUC])
@pytest.mark.parametrize("name", ["pseudo-harmonic", "deterministic-arithmetic"])
def test_own_sizes_lie_in_the_larger_tree_unchanged(game: str, name: str) -> None:
    """In the larger tree, along lines of the smaller one, the strategy is the blueprint."""
    strategy, large = blueprint(game.format("fcpa")), tree(game.format("all"))
    result = translate(large, strategy, name)
    for p, side in enumerate(sequence_tree(strategy.tree).players):
        for i, infoset in enumerate(side.names):
            if side.plex.parent[i] == 0:
                row = result.row(p, large.players[p].index[infoset])
                assert {a: row[a] for a in side.actions[i]} == pytest.approx(strategy.row(p, i))


@pytest.mark.parametrize("k", range(3))
def test_no_limit_kuhn_table_3(k: int) -> None:
    """All seven mappings at stacks 1, 3 and 5 (the rest: `subgame reproduce`)."""
    result = {line["quantity"]: line["ours"] for line in kuhn_table(STACKS[: k + 1])[7 * k :]}
    for name, printed in TABLE_3.items():
        assert result[f"Kuhn, stack {STACKS[k]}, {name}"] == pytest.approx(printed[k], abs=1e-9)


# An oracle: hands played with the coin flips in plain sight ------------------------------------


class Translator:
    """A translating player as one would write it for the table: state by state, no trees."""

    def __init__(self, strategy: sg.Strategy, name: str, seat: int) -> None:
        histories = strategy.tree.histories
        assert histories is not None
        self.strategy, self.how, self.seat = strategy, mapping(name), seat
        self.start = histories.game.new_initial_state()

    def value(self, real: NoLimitState, mine: NoLimitState, other: sg.Strategy) -> float:
        """What player 0 wins from here on average, over coin flips, chance and the other."""
        player = real.current_player()
        if player == TERMINAL:
            return real.returns()[0]
        if player == CHANCE:
            return sum(
                weight * self.value(real.child(card), self._dealt(mine, card), other)
                for card, weight in real.chance_outcomes()
            )
        actions = real.legal_actions()
        bets = [real.bet(action) for action in actions]
        if player == self.seat:
            return sum(
                weight * self.value(real.child(actions[k]), next_, other)
                for k, next_, weight in self._moves(mine, bets)
                if weight > 0
            )
        row = other.row(player, other.tree.players[player].index[real.information_state(player)])
        total = 0.0
        for action, said in zip(actions, bets, strict=True):
            for next_, weight in self._hears(mine, said):
                if weight * row[action] > 0:
                    after = self.value(real.child(action), next_, other)
                    total += weight * row[action] * after
        return total

    def _dealt(self, mine: NoLimitState, card: str) -> NoLimitState:
        return mine.child(card) if mine.current_player() == CHANCE else mine

    def _moves(
        self, mine: NoLimitState, bets: list[Bet | None]
    ) -> list[tuple[int, NoLimitState, float]]:
        if mine.current_player() != self.seat:
            return [(answer(Bet(0.0), bets), mine, 1.0)]
        side = self.strategy.tree.players[self.seat]
        row = self.strategy.row(self.seat, side.index[mine.information_state(self.seat)])
        return [(answer(mine.bet(a), bets), mine.child(a), weight) for a, weight in row.items()]

    def _hears(self, mine: NoLimitState, said: Bet | None) -> list[tuple[NoLimitState, float]]:
        if mine.current_player() != 1 - self.seat:
            return [(mine, 1.0)]
        actions = mine.legal_actions()
        taken = translated([mine.bet(a) for a in actions], said, self.how)
        return [(mine.child(actions[k]) if k >= 0 else mine, w) for k, w in taken.items()]

    def sample(self, real: NoLimitState, other: sg.Strategy, rng: np.random.Generator) -> float:
        """One hand: every choice drawn as it comes."""
        mine = self.start
        assert isinstance(mine, NoLimitState)
        while (player := real.current_player()) != TERMINAL:
            if player == CHANCE:
                cards, weights = zip(*real.chance_outcomes(), strict=True)
                card = cards[rng.choice(len(cards), p=weights)]
                real, mine = real.child(card), self._dealt(mine, card)
                continue
            actions = real.legal_actions()
            bets = [real.bet(action) for action in actions]
            if player == self.seat:
                moves = self._moves(mine, bets)
                k, mine, _ = moves[rng.choice(len(moves), p=[m[2] for m in moves])]
            else:
                side = other.tree.players[player]
                row = other.row(player, side.index[real.information_state(player)])
                k = int(rng.choice(len(actions), p=list(row.values())))
                taken = self._hears(mine, bets[k])
                mine = taken[rng.choice(len(taken), p=[w for _, w in taken])][0]
            real = real.child(actions[k])
        return real.returns()[0]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", ["pseudo-harmonic", "geometric", "deterministic-arithmetic"])
@pytest.mark.parametrize("game", [KUHN, "no-limit-leduc(stack=4, bets={})"])
def test_the_behaviour_strategy_is_the_translating_player(game: str, name: str, seat: int) -> None:
    """Every line with its coin flips, against a random opponent: the same value to 1e-10."""
    strategy, large = blueprint(game.format("fcpa")), tree(game.format("all"))
    other = sg.Strategy.random(large, seed=3)
    result = translate(large, strategy, name)
    pair = (result, other) if seat == 0 else (other, result)
    player = Translator(strategy, name, seat)
    real = sg.games.load(game.format("all")).new_initial_state()
    assert isinstance(real, NoLimitState)
    assert isinstance(player.start, NoLimitState)
    expected = player.value(real, player.start, other)
    assert expected_value(large, *pair) == pytest.approx(expected, abs=1e-10)


def test_sampled_hands_agree() -> None:
    strategy, large = blueprint(LEDUC.format("fcpa")), tree(LEDUC.format("all"))
    other, rng = sg.Strategy.random(large, seed=5), np.random.default_rng(1)
    player = Translator(strategy, "pseudo-harmonic", 1)
    real = sg.games.load(LEDUC.format("all")).new_initial_state()
    assert isinstance(real, NoLimitState)
    won = np.array([player.sample(real, other, rng) for _ in range(4000)])
    error = won.std() / np.sqrt(len(won))
    exact = expected_value(large, other, translate(large, strategy))
    assert abs(won.mean() - exact) < 4 * error


def test_games_that_do_not_fit_are_refused() -> None:
    kuhn = sg.compile(sg.games.load("kuhn"))
    with pytest.raises(sg.SubgameError, match="does not say how large its bets are"):
        translate(kuhn, sg.Strategy.uniform(kuhn))
    leduc = tree(LEDUC.format("all"))
    with pytest.raises(sg.SubgameError, match="is not a smaller version of the game: 'J' cannot"):
        translate(leduc, blueprint(KUHN.format("fcpa")))

"""AIVAT over both players' ranges: values beside a walk over every action, and no bias at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games.base import CHANCE
from subgame.games.holdem.evaluate import rank_hands
from subgame.games.holdem.rules import Betting
from subgame.play.agent import Agent, Always, Event, Policy
from subgame.play.aivat import CheckDown, Tally, ValueFunction
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.lbr import LocalBestResponse
from subgame.play.range_match import KNOWN, RangeHand, RangeMatch, Seats
from subgame.refine.ranges.reached import ReachedRanges

RECIPE = BlueprintRecipe(
    "tiny", "all: 1x / cap 1", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="cd"
)
GAME, DECK = RECIPE.game, RECIPE.game.deck
TURN = DECK.parse("JdTc9dQc")
TRUNK = [(1, "c"), (0, "c"), (CHANCE, "JdTc9d"), (0, "c"), (1, "c"), (CHANCE, "Qc")]
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def blueprints() -> list[StoredBlueprint]:
    trainer, made = Trainer(RECIPE), []
    for _ in range(3):
        trainer.advance(2)
        made.append(StoredBlueprint.of(trainer))
    return made


def pay(betting: Betting, board: tuple[int, ...]) -> Floats:
    """[hand, hand] what player 0 wins at the end of a hand; 0 for pairs that cannot be."""
    free = DECK.compatible(board)
    fits = DECK.disjoint & free[:, None] & free
    if not betting.is_showdown:
        return float(betting.net()[0]) * fits.astype(np.float64)
    ranks = rank_hands(board, DECK).astype(np.float64)
    payoffs = fits * float(betting.at_stake) * np.sign(ranks[:, None] - ranks)
    return np.asarray(payoffs, np.float64)


def walk(made: StoredBlueprint, betting: Betting, board: tuple[int, ...], both: Floats) -> float:
    """The sum of what player 0 wins over pairs of hands with weights `both`, in self-play."""
    if betting.is_over:
        return float((both * pay(betting, board)).sum())
    state = GAME.new_initial_state()
    here = type(state)(GAME, (0, 0), board[: (0, 3, 4, 5)[betting.street]], betting)
    actions, rows = made.range_strategy(here)
    total = 0.0
    for action, row in zip(actions, rows.T, strict=True):
        share = row[:, None] if betting.player == 0 else row[None, :]
        total += walk(made, betting.child(action), board, both * share)
    return total


def on_turn(history: str, both: tuple[Floats, Floats]) -> ReachedRanges:
    """A public state on the turn or the river, after checks before."""
    here = ReachedRanges.start(GAME)
    for _, action in TRUNK:
        here = here.child(action)
    for action in history.split():
        here = here.child(action)
    return here.with_reach(both)


def ranges(seed: int) -> tuple[Floats, Floats]:
    rng, free = np.random.default_rng(seed), DECK.compatible(TURN)
    one, two = (rng.random(DECK.num_hands) * free for _ in range(2))
    return one, two


@pytest.mark.parametrize("history", ["", "cc/cc/", "cc/cc/r200", "cc/cc/cc/r200"])
def test_sums_are_those_of_a_walk_over_every_action(
    blueprints: list[StoredBlueprint], history: str
) -> None:
    made, board = blueprints[1], (*TURN, *DECK.parse("Ac"))
    betting = GAME.start().play(history)
    one, two = ranges(1)
    sums = BlueprintValues(made).sums(betting, [board], (one, two))
    fits = DECK.disjoint * np.outer(one, two) * DECK.compatible(board)
    fits = fits * DECK.compatible(board)[:, None]
    assert sums.reach == pytest.approx(fits.sum(), rel=1e-5)
    assert sums.won == pytest.approx(walk(made, betting, board, fits), rel=1e-4)


def test_bets_are_taken_for_known_ones(blueprints: list[StoredBlueprint]) -> None:
    betting = GAME.start().play("cc/").child("r180")
    values = BlueprintValues(blueprints[0])
    hand = values.followed(betting)
    assert str(hand.real) == "cc/r180"
    assert str(hand.waiting) == "cc/r200"
    assert values.followed(betting.child("c")).waiting is not None


@pytest.mark.parametrize("p", [0, 1])
def test_values_of_hands_have_the_mean_of_the_range(
    blueprints: list[StoredBlueprint], p: int
) -> None:
    """So that `Aivat` may take them too, which asks for one hand at a time."""
    here = on_turn("c c Ac r200", ranges(3))
    for values in (BlueprintValues(blueprints[1]), CheckDown()):
        weight, of_hand = here.reach[p] * here.weight(p), values.here(here, p)
        held = np.flatnonzero(weight).tolist()
        mean = sum(weight[s] * of_hand(s) for s in held) / weight.sum()
        assert values.mean(here) == pytest.approx(mean if p == 0 else -mean, rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(("bet", "settled"), [("r400", True), ("r200", False)])
def test_where_little_is_behind_values_are_those_of_the_showdown(
    blueprints: list[StoredBlueprint], bet: str, settled: bool
) -> None:
    """100 chips are behind in a pot of 1,000, or 300 in one of 600, when the river comes."""
    here = on_turn(f"{bet} c", ranges(4))
    assert here.betting.at_stake == 600 - (100 if settled else 300)
    end, weights = here.betting.play("cc"), np.outer(*here.reach)
    won = met = 0.0
    for card in set(range(DECK.size)) - set(TURN):
        board = (*TURN, card)
        free = DECK.compatible(board)
        won += float((weights * pay(end, board)).sum())
        met += float((weights * DECK.disjoint * free[:, None] * free).sum())
    for value in (
        BlueprintValues(blueprints[1]).mean,
        BlueprintValues(blueprints[1]).mean_after_deal,
    ):
        assert (value(here) == pytest.approx(won / met, rel=1e-4)) == settled


class Scripted(RangeMatch):
    """A match in which actions and cards are given."""

    script: list[str]
    river: tuple[int, ...]

    def _choice(self, often: dict[str, float], random: Random) -> str:
        return self.script.pop(0)

    def _cards(self, here: ReachedRanges, random: Random) -> tuple[int, ...]:
        return self.river


def seated(agents: tuple[Agent, Agent]) -> tuple[Agent, Agent]:
    for seat, agent in enumerate(agents):
        agent.begin(seat, 0)
        for player, action in TRUNK:
            agent.observe(Event(player, action))
    return agents


def ends(
    match: RangeMatch,
    agents: tuple[Agent, Agent],
    line: list[str],
    at: ReachedRanges,
    both: Floats,
) -> Iterator[tuple[list[str], Floats, float]]:
    """All ways to the end: actions and cards, [hand, hand] how likely it is, what is paid."""
    real, left = at.betting, [card for card in range(DECK.size) if card not in at.board]
    some = both * DECK.compatible(at.board) * DECK.compatible(at.board)[:, None]
    if real.is_over:
        rivers = [(card,) for card in left] if real.is_showdown and len(at.board) == 4 else [()]
        paid = [float((some * pay(real, (*at.board, *cards))).sum()) for cards in rivers]
        yield line, some, sum(paid) / (len(left) - 4 if len(rivers) > 1 else 1)
        return
    if at.player == CHANCE:
        for card in left:
            name = DECK.name((card,))
            there = at.child(name)
            yield from ends(match, agents, [*line, name], there, some / (len(left) - 4))
        return
    p, betting = at.player, GAME.start().play("cc/cc/")
    for agent in seated(agents):
        here = betting
        for move in line:
            agent.observe(Event(CHANCE if move[0] not in "fcr" else here.player, move))
            here = here.child(move) if move[0] in "fcr" else here
    policy = match._policy(agents[p], at)
    for (action, (child, _)), row in zip(
        match._children(at, policy).items(), policy.probabilities.T, strict=True
    ):
        some = both * (row[:, None] if p == 0 else row)
        if some.any():
            yield from ends(match, agents, [*line, action], child, some)


@pytest.mark.parametrize(("responds", "checked"), [(False, False), (True, False), (False, True)])
def test_no_bias(blueprints: list[StoredBlueprint], responds: bool, checked: bool) -> None:
    """Summed over every public path from a turn on, it is exactly what two strategies win.

    The value function is that of a third strategy, or of checking to the end. The second player may
    be a local best response.
    """
    first, second, third = blueprints
    how = "deterministic-pseudo-harmonic"  # bets that are taken for others by chance have no path
    one, two = (BlueprintAgent(GAME, blueprint, how) for blueprint in (first, second))
    agents: tuple[Agent, Agent] = (one, LocalBestResponse(GAME, one, "fcpa") if responds else two)
    turned: tuple[Agent, Agent] = (
        BlueprintAgent(GAME, second, how),
        BlueprintAgent(GAME, first, how),
    )
    by_blueprint = BlueprintValues(third, boards=(2, 8, 1))
    values: ValueFunction = CheckDown() if checked else by_blueprint
    match, both = Scripted(GAME, agents, values), ranges(2)
    place = on_turn("", both)
    free = DECK.disjoint * np.outer(*both)
    seatings = [agents] if responds else [agents, turned]
    exact, mean, total = [0.0] * len(seatings), [0.0] * len(seatings), 0.0
    lines = dict[str, list[float]]()
    for k, seats in enumerate(seatings):
        for line, weight, paid in ends(match, seats, [], place, free):
            lines.setdefault(" ".join(line), [0.0, 0.0])[k] = weight.sum() / free.sum()
            exact[k] += paid / free.sum()
    for text, shares in lines.items():
        cards = [DECK.parse(move) for move in text.split() if move[0] not in "fcr"]
        match.river = cards[0] if cards else ()
        match.script = [move for move in text.split() if move[0] in "fcr"]
        hands = match._play(place, Random(1), [seated(seats) for seats in seatings])
        often = max(
            s / h.tally.weight for s, h in zip(shares, hands, strict=False) if h.tally.weight > 0
        )
        total += often
        mean = [m + often * hand.tally.estimate for m, hand in zip(mean, hands, strict=True)]
    assert total == pytest.approx(1)
    assert mean == pytest.approx(exact, rel=1e-4)


def test_no_variance_where_the_agents_play_as_the_values_say(
    blueprints: list[StoredBlueprint],
) -> None:
    """The corrections then add up to all luck: every path pays what the turn is worth.

    How much variance is left otherwise depends on how far the strategies are from the values'; no
    ratio is right for all.
    """
    made, betting, both = blueprints[1], GAME.start().play("cc/cc/"), ranges(2)
    agents = (BlueprintAgent(GAME, made), BlueprintAgent(GAME, made))
    match = RangeMatch(GAME, agents, BlueprintValues(made, boards=(2, 8, 1)))
    place = on_turn("", both)
    boards = [(*TURN, card) for card in range(DECK.size) if card not in TURN]
    fits = [DECK.disjoint * np.outer(*both) * np.outer(*[DECK.compatible(b)] * 2) for b in boards]
    worth = sum(walk(made, betting, *case) for case in zip(boards, fits, strict=True))
    worth /= sum(float(fit.sum()) for fit in fits)
    chips = set()
    for k in range(20):
        (hand,) = match._play(place, Random(k), [seated(agents)])
        assert hand.tally.estimate == pytest.approx(worth, rel=1e-4, abs=1e-2)
        chips.add(hand.chips)
    assert len(chips) > 2


def test_after_a_bet_that_is_folded_to_little_is_played_for(
    blueprints: list[StoredBlueprint],
) -> None:
    """Local best response makes large bets of which most are folded to: few of them are drawn."""
    place = on_turn("", ranges(3))
    bettor, pot = place.player, float(place.betting.pot)
    child = place.child(f"r{pot:.0f}")
    for kind, chips in (("fold", KNOWN * pot), ("call", 3 * pot)):
        answers = Always(kind)
        seats = answers, LocalBestResponse(GAME, answers, "fcpa")
        match = RangeMatch(GAME, seats, BlueprintValues(blueprints[0], boards=(2, 8, 1)))
        both = seats if child.player == 0 else seats[::-1]
        assert isinstance(both[bettor], LocalBestResponse)
        value = match._value_of_bet(child, child.betting.history[-1], both)
        assert value.chips == pytest.approx(chips)
        if kind == "fold":
            assert value.won == pytest.approx(pot / 2 if bettor == 0 else -pot / 2)


def test_an_all_in_that_lbr_faces_has_the_value_of_its_answer(
    blueprints: list[StoredBlueprint],
) -> None:
    """The best hand goes all-in and nobody else does: LBR folds all others, whatever values say."""
    board, river = (*TURN, *DECK.parse("Ac")), on_turn("c c Ac", ranges(3))
    strength = np.where(DECK.compatible(board), rank_hands(board, DECK), -1)
    best = int(strength.argmax())
    others = (strength >= 0) & (strength < strength[best]) & DECK.disjoint[best]
    here = river.with_reach((np.eye(DECK.num_hands)[best], others.astype(np.float64)))
    all_in, bettor = here.child("r500"), Always("raise")
    lbr = LocalBestResponse(GAME, bettor, "fc")
    seated((bettor, lbr))
    for player, action in ((0, "c"), (1, "c"), (CHANCE, "Ac")):
        lbr.observe(Event(player, action))
    lbr.reached = before = here
    match = RangeMatch(GAME, (bettor, lbr), BlueprintValues(blueprints[0], boards=(2, 8, 1)))
    value = match._values(here, {"r500": (all_in, 1.0)}, (bettor, lbr))["r500"]
    assert value.won == pytest.approx(here.betting.pot / 2)
    assert match._value(all_in).won > 1.5 * value.won
    assert lbr.reached is before  # a copy was asked


def test_the_same_agents_differ_by_nothing(blueprints: list[StoredBlueprint]) -> None:
    values = BlueprintValues(blueprints[2])
    same = RangeMatch(GAME, [BlueprintAgent(GAME, blueprints[0]) for _ in (0, 1)], values)
    assert all(same.pair(k).aivat == 0 and same.pair(k).street is None for k in range(3))
    other = RangeMatch(GAME, [BlueprintAgent(GAME, blueprints[k]) for k in (2, 0)], values)
    assert other.pair(0).street == 0


class Checks(BlueprintAgent):
    """The blueprint's agent, but on the flop it checks and calls."""

    def policy(self, infosets: Sequence[str], legal: Sequence[str]) -> Policy:
        policy = super().policy(infosets, legal)
        return policy if self.real.street == 0 else Policy(("c",), np.ones((len(infosets), 1)))


def test_weights_are_those_of_importance_sampling(blueprints: list[StoredBlueprint]) -> None:
    """Their mean is how often the agents come where they differ, by a walk before the flop."""

    class Weights(RangeMatch):
        def _play(
            self, here: ReachedRanges, random: Random, seatings: Sequence[Seats]
        ) -> list[RangeHand]:
            hands = []
            for seats in seatings:
                swapped = isinstance(seats[0], Checks)
                assert isinstance(seats[1], Checks) != swapped
                won, chips = (-1.0, -3.0) if swapped else (5.0, 2.0)  # to player 0
                hands.append(RangeHand(seats, here, Tally(won), chips))
            return hands

    made = blueprints[1]
    agents = BlueprintAgent(GAME, made), Checks(GAME, made)
    match = Weights(GAME, agents, BlueprintValues(made))
    pairs = [match.pair(k) for k in range(200)]
    for pair in pairs:
        one = 0.0 if pair.street is None else GAME.unit[1] * pair.weight
        assert (pair.aivat, pair.plain) == pytest.approx((one * 6 / 2, one * 5 / 2))

    def reached(betting: Betting, both: Floats) -> float:
        if betting.is_over or betting.street > 0:
            return 0.0 if betting.is_over else float(both.sum())
        state = type(GAME.new_initial_state())(GAME, (0, 0), (), betting)
        actions, rows = made.range_strategy(state)
        parts = rows.T[:, :, None] if betting.player == 0 else rows.T[:, None, :]
        return sum(
            reached(betting.child(a), both * part) for a, part in zip(actions, parts, strict=True)
        )

    exact = reached(GAME.start(), DECK.disjoint.astype(np.float64)) / DECK.disjoint.sum()
    weights = np.array([pair.weight * (pair.street is not None) for pair in pairs])
    assert len(set(weights.round(6).tolist())) > 1
    assert weights.mean() == pytest.approx(exact, abs=4 * weights.std() / 200**0.5)

"""Agents that solve while they play: their whole strategies are those of the verbs, exactly."""

from __future__ import annotations

from typing import Any

import pytest

import subgame as sg
from holdem_games import GAMES
from subgame.games import holdem
from subgame.games.no_limit import NoLimitKuhn
from subgame.play import StrategyAgent, Uniform, match
from subgame.play.agent import Event
from subgame.play.named import AgentOptions, blueprint_of, known_strategy, named_agents
from subgame.play.searching import LimitedAgent, NestedAgent


@pytest.fixture(scope="module")
def leduc() -> sg.Strategy:
    return sg.solve(sg.compile(sg.games.load("leduc-ranks")), iterations=20).strategy


def whole(agent: NestedAgent, tree: sg.PublicTree) -> sg.Strategy:
    strategy = known_strategy(tree, agent)
    assert strategy is not None
    return strategy


@pytest.mark.parametrize("technique", ["resolve", "maxmargin", "reach-maxmargin", "unsafe"])
def test_from_the_last_round_on_it_is_refine(leduc: sg.Strategy, technique: str) -> None:
    """Alternative payoffs, gifts and ranges followed along a hand are those of the whole tree."""
    agent = NestedAgent(leduc, technique=technique, iterations=40, seconds=None, allow_worse=True)
    verb = sg.refine(
        leduc.tree,
        leduc,
        at="after the board card",
        technique=technique,
        iterations=40,
        allow_worse=True,
    )
    played = sg.exploitability(leduc.tree, whole(agent, leduc.tree))
    assert played.per_seat == pytest.approx(verb.after.per_seat, abs=1e-5)
    assert played.mean < verb.before.mean


@pytest.mark.parametrize("technique", ["resolve", "reach-maxmargin"])
def test_off_tree_bets_are_answered_as_by_nest(technique: str) -> None:
    small, large = (NoLimitKuhn(bets=bets) for bets in ("fcpa", "all"))
    blueprint = sg.solve(sg.compile(small), iterations=100).strategy
    tree = sg.compile(large)
    agent = NestedAgent(blueprint, technique=technique, iterations=50, seconds=None)
    verb = sg.nest(tree, blueprint, technique=technique, iterations=50)
    played = sg.exploitability(tree, whole(agent, tree))
    assert played.per_seat == pytest.approx(verb.after.per_seat, abs=1e-5)


@pytest.mark.parametrize("technique", ["reach-maxmargin", "unsafe"])
def test_on_holdem_it_is_refine_up_to_rounding(technique: str) -> None:
    tree = sg.compile(GAMES["turn"], merge=False)
    blueprint = sg.solve(tree, iterations=5).strategy
    agent = NestedAgent(
        blueprint, technique=technique, iterations=100, seconds=None, allow_worse=True
    )
    verb = sg.refine(
        tree,
        blueprint,
        at="after the river",
        technique=technique,
        iterations=100,
        allow_worse=True,
    )
    played = sg.exploitability(tree, whole(agent, tree))
    assert played.mean == pytest.approx(verb.after.mean, rel=1e-3)
    assert played.mean < 0.9 * verb.before.mean


def test_boards_merged_by_suit_symmetry() -> None:
    """A blueprint keeps one board of each kind; the agent solves on any of them.

    Rounding decides ties of the first hand in early iterations; later it comes to one strategy. The
    second one has no ties.
    """
    game = holdem.nlfh(ranks="789", suits="cds", bets="all: a / cap 1", stack=300)
    blueprint = sg.solve(sg.compile(game, merge="boards"), iterations=3).strategy
    agents = []
    for board in ("8d 8c 7c", "8s 8d 7d"):
        agent = NestedAgent(blueprint, technique="unsafe", iterations=200, seconds=None)
        agent.begin(0, 0)
        for player, action in ((1, "c"), (0, "c"), (-1, board.replace(" ", ""))):
            agent.observe(Event(player, action))
        agents.append((agent, board))
    hands = ("9c7d", "9d9c"), ("9d7s", "9s9d")
    rows = [
        agent.policy([f"{hand} | {board} | cc/" for hand in held], ("c", "r200")).probabilities
        for (agent, board), held in zip(agents, hands, strict=True)
    ]
    assert rows[0][0] == pytest.approx(rows[1][0], abs=1e-3)
    assert rows[0][1] == pytest.approx(rows[1][1], abs=1e-6)
    assert agents[0][0].explained("9c7d | 8d 8c 7c | cc/").iterations == 200


def test_off_tree_bets_of_holdem() -> None:
    """A bet that the blueprint does not know is compiled and solved; both ranges are kept."""
    small, large = (
        holdem.endgame("QsJhThKs", 40, 60, bets=bets, deck=GAMES["turn"].deck)
        for bets in ("all: a", "all: 0.5x 1x a")
    )
    blueprint = sg.solve(sg.compile(small, merge="boards"), iterations=50).strategy
    agent = NestedAgent(blueprint, iterations=30)
    agent.begin(1, 0)
    agent.observe(Event(0, "r20"))
    policy = agent.policy(["AsAh | Qs Jh Th Ks | r20"], large.actions(large.start().play("r20")))
    assert policy.actions == ("f", "c", "r60")
    assert policy.probabilities.sum() == pytest.approx(1)
    why = agent.explained("AsAh | Qs Jh Th Ks | r20")
    assert why.margin is not None
    assert sum(why.ranges[1].values()) == pytest.approx(1)
    assert why.values["f"] == pytest.approx(-20)
    result = match(large, [agent, Uniform()], hands=6, seed=1)
    assert result.hands == 6
    assert "iterations" in agent.explain()


def test_a_depth_limit_and_then_the_end() -> None:
    """On hold'em and Leduc it loses less than the blueprint, for it also solves the first round."""
    tree = sg.compile(GAMES["turn"], merge="boards")
    blueprint = sg.solve(tree, iterations=10).strategy
    assert sg.exploitability(tree, blueprint).mean > 0.1
    agent = LimitedAgent(blueprint, iterations=100, seconds=None)
    assert sg.exploitability(tree, whole(agent, tree)).mean < 0.01


@pytest.mark.parametrize("technique", ["resolve", "maxmargin", "unsafe"])
def test_a_depth_limit_on_leduc_is_play_limited(leduc: sg.Strategy, technique: str) -> None:
    """The subgames below the limit have the alternative payoffs that the limit relied on."""
    how: dict[str, Any] = {"technique": technique, "schedule": "dcfr", "iterations": 60}
    played = sg.exploitability(
        leduc.tree, whole(LimitedAgent(leduc, seconds=None, **how), leduc.tree)
    )
    for p in (0, 1):
        verb = sg.play_limited(leduc.tree, leduc, at=["after round 1"], player=p, **how)
        assert played.per_seat[p] == pytest.approx(verb.after.per_seat[p], abs=1e-5)
    assert played.mean < sg.exploitability(leduc.tree, leduc).mean


def test_a_time_limit_is_kept_and_repeats(leduc: sg.Strategy) -> None:
    """With too little time for all iterations, what was found is played; twice the same."""
    agent = NestedAgent(leduc, iterations=None, seconds=0.05)
    agent.begin(0, 0)
    for player, action in ((0, "c"), (1, "c"), (-1, "K")):
        agent.observe(Event(player, action))
    first = agent.policy(["K:cc/K/"], ("c", "r"))
    assert (agent.policy(["K:cc/K/"], ("c", "r")).probabilities == first.probabilities).all()
    live = agent.live()
    assert live.solved is not None
    assert live.solved.stopped == "seconds"
    assert live.solved.iterations > 0


def test_agents_by_name(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    game = sg.games.load("kuhn")
    one, two = named_agents(game, ("nested:resolve", "blueprint"), AgentOptions(iterations=5))
    assert isinstance(one, NestedAgent)
    assert one.search.gadget.name == "resolve"
    assert isinstance(two, StrategyAgent)
    kept = blueprint_of(game)  # from the folder for caches
    assert kept.probs[0].tolist() == two.strategy.probs[0].tolist()
    assert match(game, [one, two], hands=20, aivat=True).aivat is not None
    agent = StrategyAgent(two.strategy)
    assert match(game, [agent, agent], hands=4).hands == 4  # one object in both seats


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"technique": "estimate"}, "estimates alternative payoffs"),
        ({"at": "after the flop"}, "after the board card"),
        ({"seconds": None, "iterations": None}, "seconds, iterations or both"),
        ({"seconds": -1}, "seconds must be a number above 0"),
    ],
)
def test_bad_input(leduc: sg.Strategy, options: dict[str, object], message: str) -> None:
    with pytest.raises(sg.SubgameError, match=message):
        NestedAgent(leduc, **options)  # type: ignore[arg-type]


def test_games_that_cannot_be_followed() -> None:
    tree = sg.compile(sg.games.load("goofspiel(cards=3)"))
    with pytest.raises(sg.SubgameError, match="does not say which moves both players see"):
        NestedAgent(sg.Strategy.uniform(tree))

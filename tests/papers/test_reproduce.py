"""The papers' experiments: what their quick versions must show, and what they are made of."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import block_array

import subgame as sg
from helpers import oracle_of, profile_of, strategy_of, tree_of
from oracle import Node, Oracle
from subgame.abstraction.lift import abstract_best_response, lift
from subgame.engines.factory import engine
from subgame.games import conformance
from subgame.games.leduc import LeducAbstract
from subgame.papers import KEYS, Report, reproduce
from subgame.papers.burch2014 import AT, Point, Resolving, doubling, slope
from subgame.papers.report import Found, figure, panel, row
from subgame.refine.verbs.decompose import compact
from subgame.solve.evaluate import expected_value
from subgame.solve.program import constraints
from subgame.tree.sequence.tree import sequence_tree


@cache
def quick(key: str) -> Report:
    return reproduce(key, quick=True)


@cache
def coarse() -> sg.PublicTree:
    return sg.compile(LeducAbstract())


@cache
def coarse_oracle() -> Oracle:
    return Oracle(LeducAbstract())


def our_figure(key: str, quantity: str) -> Any:
    """Our figure in the one row of a quick report whose quantity starts so."""
    rows = [line for line in quick(key).rows if line["quantity"].startswith(quantity)]
    assert len(rows) == 1, quantity
    return rows[0]["ours"]


# Every reproduction --------------------------------------------------------------------------
REPORTS = [key for key, reproduction in KEYS.items() if not reproduction.resumable]


@pytest.mark.parametrize("key", REPORTS)
def test_reports_are_complete(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if KEYS[key].needs_torch:
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    report = quick(key)
    assert report.key == key
    assert report.command.startswith(f"subgame reproduce {key}")
    assert all(set(line) == {"quantity", "paper", "ours", "note"} for line in report.rows)
    assert any(line["paper"] is not None for line in report.rows)
    assert report.notes
    table = report.text()
    assert report.paper.split(",")[0] in table
    assert "paper" in table
    endings, plot = ["json", "png", "svg"], Report.plot
    if key != REPORTS[0]:  # the same picture as .svg takes a second
        endings.pop()
        monkeypatch.setattr(Report, "plot", lambda self, path: plot(self, f"{path}.png"))
    files = report.save(tmp_path / "new" / "folder")
    assert [file.name for file in files] == [f"{key}.{ending}" for ending in endings]
    assert files[1].stat().st_size < 200_000
    stored = json.loads(files[0].read_text())
    assert stored["rows"] == json.loads(json.dumps(report.rows))
    for entry in ("command", "commit", "machine", "seed", "date", "settings", "data"):
        assert entry in stored
    assert stored["machine"]["numpy"] == np.__version__
    assert Report.load(files[0]).text() == table


def test_unknown_keys_and_seeds() -> None:
    with pytest.raises(sg.SubgameError, match="burch2014-fig3"):
        reproduce("burch2014-fig2")
    with pytest.raises(sg.SubgameError, match="at least 0"):
        reproduce("coin-toss", seed=-1)
    with pytest.raises(sg.SubgameError, match="coin-toss has no budget"):
        KEYS["coin-toss"].run(budget=1.0)
    with pytest.raises(sg.SubgameError, match="A quick run has no budget"):
        KEYS["burch2014-fig4"].run(True, budget=1.0)
    with pytest.raises(sg.SubgameError, match="above 0"):
        KEYS["burch2014-fig4"].run(budget=-1.0)


def test_commit_is_unknown_outside_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from subgame.papers.report import commit

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() == "unknown"
    monkeypatch.setenv("PATH", "")
    assert commit() == "unknown"


def test_a_picture_by_its_ending(tmp_path: Path) -> None:
    line = {"label": "a", "x": [1, 10], "y": [0.5, 0.1], "low": [0.4, 0.05], "high": [0.6, 0.2]}
    shown = panel("t", "x", "y", [line], scale="log", lines=[{"label": "here", "y": 0.3}])
    report = Report("k", "P", "w", [row("q", 1, 2)], {"panels": [shown, shown]}, "c", 0)
    assert report.plot(tmp_path / "one.pdf") == [tmp_path / "one.pdf"]
    assert (tmp_path / "one.pdf").stat().st_size > 0
    assert figure({"a": True, "b": 0.25}) == "a yes, b 0.25"


# Coin Toss -----------------------------------------------------------------------------------
def test_coin_toss_is_exact() -> None:
    report = quick("coin-toss")
    assert report.data["largest_difference"] < 1e-9
    compared = [line for line in report.rows if isinstance(line["paper"], int | float)]
    assert len(compared) >= 30
    for line in compared:
        assert line["ours"] == pytest.approx(line["paper"], abs=1e-9), line["quantity"]


def test_coin_toss_misprint_and_promises() -> None:
    assert our_figure("coin-toss", "Sec. 5: P1 gets, P2 Heads 3/4") == pytest.approx(0.5)
    assert our_figure("coin-toss", "Sec. 4.2: Resolve, smallest margin") >= -1e-9
    for name in ("Resolve", "Maxmargin"):
        assert our_figure("coin-toss", f"Sec. 5: Reach-{name}, smallest margin") >= -1e-9
        assert our_figure("coin-toss", f"Sec. 5: Reach-{name}, P1 gets") <= 0.5 + 1e-9
    assert our_figure("coin-toss", "Fig. 4: always Tails solves S1") is True
    assert our_figure("coin-toss", "Fig. 4: Reach-Maxmargin, split") <= 0.5 + 1e-9


# Burch et al. 2014 ---------------------------------------------------------------------------
def test_fig3_safe_falls_and_unsafe_does_not() -> None:
    curves = {
        name: [Point(*point) for point in points]
        for name, points in quick("burch2014-fig3").data["curves"].items()
    }
    assert our_figure("burch2014-fig3", "exploitability of the equilibrium") < 1e-8
    assert our_figure("burch2014-fig3", "subgames") == 5
    assert curves["safe CFR+"][-1].exploitability < 1e-3
    assert curves["safe CFR"][-1].exploitability < 0.02
    assert curves["safe PCS"][-1].exploitability < 0.05
    for label in ("PCS", "CFR", "CFR+"):
        assert all(point.exploitability > 0.02 for point in curves[f"unsafe {label}"])
    assert -0.8 < slope(curves["safe CFR"]) < -0.3
    assert -0.9 < slope(curves["safe PCS"]) < -0.3
    for levels in quick("burch2014-fig3").data["unsafe_levels"].values():
        assert all(level > 0.02 for level in levels.values())


@pytest.mark.parametrize("technique", [sg.Resolve(), sg.Unsafe(), sg.Maxmargin()])
@pytest.mark.parametrize("schedule", ["cfr", "pcfr+"])
def test_resolving_in_step_is_reconstructing(technique: sg.Gadget, schedule: str) -> None:
    tree = tree_of("leduc")
    kept = compact(tree, sg.solve(tree, iterations=100).strategy, at=AT)
    solving = Resolving(kept, tree, technique, schedule)
    solving.advance(40)
    points = solving.curve([60, 100])
    whole = kept.whole(tree, technique=technique, schedule=schedule, iterations=100)
    for ours, theirs in zip(solving.strategy().probs, whole.probs, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert points[-1].exploitability == pytest.approx(sg.exploitability(tree, whole).mean)
    assert points[0].seconds <= points[1].seconds


def test_fig4_more_iterations_are_better() -> None:
    report = quick("burch2014-fig4")
    grid = report.data["exploitability"]
    assert report.settings["cells"] == sum(len(line) for line in grid.values()) == 8
    (_, few), (_, many) = grid.items()
    assert many["200"] < few["200"]
    assert many["200"] < many["25"]
    assert many["200"] < 0.1


def test_cfr_d_holds_the_trunk_and_one_subgame() -> None:
    """Peak memory is that of the two, far below that of the whole game."""
    for name, peaks in quick("burch2014-cfr-d").data["peak_bytes"].items():
        assert peaks["cfr-d"] < 1.1 * (peaks["trunk"] + peaks["subgame"]), name
        assert peaks["cfr-d"] < 0.5 * peaks["whole"], name


def test_fig4_goes_on_from_what_was_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from subgame.papers import burch2014_fig4 as fig4

    kept = tmp_path / "cells"

    def run() -> Found:
        return fig4.run(True, 0, lambda what, share: None, keep=kept)

    monkeypatch.setattr(fig4, "ProcessPoolExecutor", lambda mp_context: ThreadPoolExecutor(1))
    first = run()
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(lines[1:]) + "\n")  # one line of the figure is not whole
    ran: list[int] = []

    def watched(n: int, *rest: Any) -> Any:
        ran.append(n)
        return line(n, *rest)

    line = fig4._line
    monkeypatch.setattr(fig4, "_line", watched)
    again = run()
    assert len(lines) == first.settings["cells"] == 8
    assert ran == [json.loads(lines[0])["subgame"]]
    assert again.data["exploitability"] == first.data["exploitability"]


def test_fig4_budget_chooses_the_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    from subgame.papers import burch2014_fig4 as fig4

    monkeypatch.setattr(fig4, "TRUNK", (2, 4))
    monkeypatch.setattr(fig4, "SUBGAME", (5, 10))
    monkeypatch.setattr(fig4, "RESOLVE", 100)
    monkeypatch.setattr(fig4, "ProcessPoolExecutor", lambda mp_context: ThreadPoolExecutor(2))
    least = KEYS["burch2014-fig4"].run(budget=1e-9)
    assert least.settings["cells"] == 1
    assert least.data["exploitability"]["2"]["10"] is None
    messages: list[tuple[str, float]] = []
    most = KEYS["burch2014-fig4"].run(
        progress=lambda what, share: messages.append((what, share)), budget=1e6
    )
    assert most.settings["cells"] == 4
    assert all(0 <= share <= 1 for _, share in messages)
    assert most.data["exploitability"]["2"]["5"] == least.data["exploitability"]["2"]["5"]


def test_fig5_holds_for_every_abstract_equilibrium() -> None:
    """Safe re-solving is no more exploitable (Theorem 1), unsafe does not lose to the original.

    Both hold up to the error of re-solving. The paper's other figures are those of one equilibrium:
    which technique wins more from the original, and how exploitable unsafe re-solving is.
    """
    report = quick("burch2014-fig5")
    assert len(report.data["trials"]) == 3
    for trial in report.data["trials"]:
        assert trial["gap"] < 2e-5
        assert trial["exploitability"]["safe"][-1] < trial["abstract"] + 0.005
        assert trial["head_to_head"]["unsafe"][-1] > -0.005


def lifted_plans(p: int) -> NDArray[np.int64]:
    """[q] the abstract sequence whose probability a sequence of the whole game has when lifted."""
    tree, plans = tree_of("leduc"), list[tuple[Any, Any]]()
    for seed in (1, 2):
        strategy = sg.Strategy.random(coarse(), seed)
        lifted = lift(strategy, tree).probs[p]
        plans.append((engine(tree).plan(p, lifted), engine(coarse()).plan(p, strategy.probs[p])))
    apart = sum(np.abs(fine[:, None] - rough) for fine, rough in plans)
    assert apart.min(1).max() < 1e-12
    return np.asarray(apart.argmin(1))


def test_no_abstract_equilibrium_is_less_exploitable_than_the_papers() -> None:
    """Over all equilibria of the abstract game, by one linear program for each player.

    Plans x are optimal in the abstract game; u bounds a best response in the whole one.
    """
    rough, fine = sequence_tree(coarse()), sequence_tree(tree_of("leduc"))
    least = []
    for p in (0, 1):
        small, large = constraints(rough, p), constraints(fine, p)
        size, (inner, outer) = small.payoff.shape[1], (c.bound.shape[1] for c in (small, large))
        payoff = large.payoff @ np.eye(size)[lifted_plans(p)]
        reach = [np.zeros(inner), np.zeros(outer)]
        for weights, side in zip(reach, (rough.players[1 - p], fine.players[1 - p]), strict=True):
            weights[: len(side.reach)] = side.reach
        value = sg.solve_lp(rough).value * (1 - 2 * p)
        solution = linprog(
            np.concatenate([np.zeros(size + inner), -reach[1]]),
            block_array(
                [
                    [-small.payoff, small.bound, None],
                    [-payoff, None, large.bound],
                    [np.zeros((1, size)), -reach[0][None], np.zeros((1, outer))],
                ]
            ),
            np.concatenate([np.zeros(len(payoff) + small.payoff.shape[0]), [1e-9 - value]]),
            block_array([[small.plan, np.zeros((len(small.start), inner + outer))]]),
            small.start,
            [(0, None)] * size + [(None, None)] * (inner + outer),
        )
        least.append(solution.fun)
    assert sum(least) / 2 == pytest.approx(0.38229, abs=1e-5)


# Abstractions --------------------------------------------------------------------------------
def test_the_abstract_game_is_a_game() -> None:
    assert conformance.check(LeducAbstract()).infosets == (288, 288)
    names = coarse().players[0].index
    assert "Js:cc/QK/" in names
    assert "Kh:cc/JQ/" in names
    assert "Qs:cc/Jh/" in names
    assert "Js:cc/Jh/" in names


def test_lift_plays_the_same_at_every_history() -> None:
    tree = tree_of("leduc")
    strategy = strategy_of(coarse(), coarse_oracle().random_profile(np.random.default_rng(3)))
    lifted = lift(strategy, tree)
    fine, rough = profile_of(lifted), profile_of(strategy)

    def compare(one: Node, other: Node) -> None:
        assert (one.player, one.actions, one.returns) == (
            other.player,
            other.actions,
            other.returns,
        )
        if one.player in (0, 1):
            assert fine[one.player][one.infoset] == rough[other.player][other.infoset]
        for action in one.actions:
            compare(one.children[action], other.children[action])

    compare(oracle_of("leduc").root, coarse_oracle().root)


def test_lift_keeps_the_value_and_shows_what_was_lost() -> None:
    tree, oracle = tree_of("leduc"), oracle_of("leduc")
    strategy = sg.solve_lp(coarse()).strategy
    lifted = lift(strategy, tree)
    assert lifted.notes["abstraction"] == "leduc-abstract"
    profile = profile_of(lifted)
    value = coarse_oracle().expected_value(profile_of(strategy))
    assert oracle.expected_value(profile) == pytest.approx(value, abs=1e-12)
    assert expected_value(tree, lifted) == pytest.approx(value, abs=1e-12)
    wins = [oracle.best_response_value(profile, 1 - p) for p in (0, 1)]
    gap = sg.exploitability(tree, lifted)
    assert gap.per_seat == pytest.approx(wins, abs=1e-12)
    assert gap > 0.38  # as of every equilibrium
    assert abs(sg.exploitability(coarse(), strategy)) < 1e-9


def test_abstract_best_response_is_best_within_the_abstraction() -> None:
    tree = tree_of("leduc")
    strategy = sg.solve(coarse(), iterations=50).strategy
    lifted, replies = lift(strategy, tree), abstract_best_response(strategy, tree)
    for p in (0, 1):
        both = (
            (replies.probs[0], lifted.probs[1]) if p == 0 else (lifted.probs[0], replies.probs[1])
        )
        value = expected_value(tree, sg.Strategy(tree, both)) * (1 if p == 0 else -1)
        within = sg.best_response(coarse(), strategy, p).value
        assert value == pytest.approx(within, abs=1e-12)
        assert value < sg.best_response(tree, lifted, p).value - 0.01


def test_estimates_from_the_abstraction_are_not_above_the_cbv() -> None:
    tree = tree_of("leduc")
    strategy = sg.solve(coarse(), iterations=200).strategy
    lifted, replies = lift(strategy, tree), abstract_best_response(strategy, tree)
    refined = sg.refine(tree, lifted, at=AT, technique="estimate", estimate=replies, iterations=200)
    lower = 0
    for part in refined.parts:
        assert np.all(part.alternatives <= part.cbv + 1e-9)
        lower += int((part.alternatives < part.cbv - 1e-6).sum())
    assert lower > 10
    assert refined.after < 0.5 * refined.before


def test_lift_refuses_what_is_no_abstraction() -> None:
    tree = tree_of("leduc")
    with pytest.raises(sg.SubgameError, match="histories"):
        lift(sg.Strategy.uniform(tree_of("kuhn")), tree)
    with pytest.raises(sg.SubgameError, match="distinguishes histories of infoset"):
        lift(sg.Strategy.uniform(tree), coarse())
    one, two = (f"random(seed={seed})" for seed in _alike())
    with pytest.raises(sg.SubgameError, match="differ at history"):
        lift(sg.Strategy.uniform(tree_of(one)), tree_of(two))
    bare = sg.cut(tree, AT)[0]
    gadget = (
        Resolving(compact(tree, sg.Strategy.uniform(tree), at=AT), tree, sg.Resolve(), "cfr")
        .games[0]
        .run.tree
    )
    with pytest.raises(sg.SubgameError, match="keeps no histories"):
        lift(sg.Strategy.uniform(gadget), bare.tree)


def _alike() -> tuple[int, int]:
    """Two random games with as many histories each."""
    seen: dict[int, int] = {}
    for seed in range(200):
        histories = tree_of(f"random(seed={seed})").histories
        assert histories is not None
        if len(histories) in seen:
            return seen[len(histories)], seed
        seen[len(histories)] = seed
    raise AssertionError("no two random games are of the same size")


def test_doubling() -> None:
    assert doubling(1, 8) == [1, 2, 4, 8]
    assert doubling(5, 5) == [5]
    assert slope([Point(1000, 0, 1.0), Point(4000, 0, 0.5)]) == pytest.approx(-0.5)

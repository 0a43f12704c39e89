"""The suite: its tasks are fixed, its scores are those of plain calls, an outside gadget ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.bench import suite
from subgame.bench.suite_tasks import RECIPE, TASKS, VERSION, Task
from subgame.errors import SubgameError
from subgame.papers.last_street import LastStreet
from subgame.refine.verbs.depth import play_limited
from subgame.refine.verbs.refine import refine_in_turn
from subgame.solve.evaluate import expected_value
from subgame.tree.ranges.tree import range_tree

cli = pytest.fixture(runner)

QUICK = ["coin-toss", "kuhn-uniform", "kuhn-10", "goofspiel-3", "dark-hex", "off-tree-kuhn"]

OWN = """
import subgame as sg
from subgame.refine.learners import Choice


class Wide(sg.Gadget):
    def learner(self, inputs, *, predictive=False):
        return WideLearner(inputs, predictive)


class WideLearner:
    def __init__(self, inputs, predictive):
        self.player = inputs.opponent
        self.fixed = inputs.opponent_reach + 0.1
        self.choice = Choice(inputs, "leave", predictive=predictive)

    def enter(self):
        return self.fixed + self.choice.enter()

    def observe(self, values, discounts):
        self.choice.observe(values, discounts)


def made():
    return sg.Resolve()


class Other:
    pass
"""


def test_tasks_are_named_once_and_have_fingerprints() -> None:
    names = [task.name for task in TASKS]
    assert len(set(names)) == len(names) >= 30
    assert set(suite.fingerprints()) == set(names)


LONG = ("dark-hex-2x3", "flop-buckets", "libratus-turn")
QUICKER = [task for task in TASKS if not task.gpu and task.name not in LONG]


@pytest.mark.parametrize("task", QUICKER, ids=lambda t: t.name)
def test_tasks_are_those_of_the_version(task: Task) -> None:
    if why := task.missing():
        pytest.skip(why)
    suite.check(task)


def test_another_task_of_the_same_name_is_refused() -> None:
    for other in (
        Task("kuhn-10", "kuhn", "cfr 11", "depth 1"),
        Task("kuhn-10", "leduc", "cfr 10", "after round 1"),
        Task("new", "kuhn", "cfr 10", "depth 1"),
    ):
        with pytest.raises(SubgameError, match=f"version {VERSION}"):
            suite.check(other)


def test_a_score_is_that_of_plain_calls() -> None:
    """Every number again, the best response by another function."""
    task = next(task for task in TASKS if task.name == "kuhn-10")
    row = suite.measure(task, sg.Maxmargin())
    tree = sg.compile(sg.games.load("kuhn"))
    blueprint = sg.solve(tree, "cfr", iterations=10).strategy
    made = sg.refine(
        tree,
        blueprint,
        at="depth 1",
        technique="maxmargin",
        schedule="cfr+",
        iterations=300,
        allow_worse=True,
    )
    wins = 0.0
    for p, sign in ((0, 1), (1, -1)):
        pair = list(sg.best_response(tree, blueprint, 1 - p).strategy.probs)
        pair[p] = made.strategy.probs[p]
        wins += sign * expected_value(tree, sg.Strategy(tree, (pair[0], pair[1]))) / 2
    assert row["before"] == sg.exploitability(tree, blueprint).mean
    assert row["after"] == pytest.approx(sg.exploitability(tree, made.strategy).mean, abs=1e-12)
    assert row["margin"] == pytest.approx(made.margin, abs=1e-12)
    assert row["against_response"] == pytest.approx(wins, abs=1e-9)


SPENT = {"cpu_seconds": 1.0, "seconds": 1.0}


def row(task: str, name: str, after: float) -> dict[str, Any]:
    return {"task": task, "technique": name, "before": 2.0, "after": after} | SPENT


def test_ranks() -> None:
    rows = [row("x", "a", 1.0), row("x", "b", 1.0), row("x", "c", 3.0), row("y", "c", 0.5)]
    rows.append({"task": "y", "technique": "a", "refused": "it does not apply"})
    lines = {line["technique"]: line for line in suite.summary(rows)}
    assert [lines[name]["mean_rank"] for name in "abc"] == [1.5, 1.5, 2.0]
    assert (lines["c"]["raised"], lines["c"]["worst"], lines["c"]["tasks"]) == (1, 1.5, 2)
    assert lines["c"]["left"] == pytest.approx((1.5 * 0.25) ** 0.5)
    assert [line["technique"] for line in suite.summary(rows)] == ["a", "b", "c"]


def test_safe_techniques_do_not_lose() -> None:
    """On the tasks of public states, up to what CFR leaves open."""
    for name in QUICK[:5]:
        (task,) = suite.named([name])
        for gadget in (sg.Resolve(), sg.Maxmargin(), sg.ReachMaxmargin()):
            score = suite.measure(task, gadget)
            assert score["after"] <= score["before"] + 0.01


def test_an_outside_gadget_ranks(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside_gadgets.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    file, picture = tmp_path / "suite.json", tmp_path / "suite.svg"
    words = ["--technique", "outside_gadgets:Wide", "--technique", "resolve"]
    answer = cli("suite", *words, "--task", "kuhn-10", "--out", str(file), "--plot", str(picture))
    assert "Wide" in answer.out
    said = json.loads(file.read_text())
    assert {line["technique"] for line in said["summary"]} == {"Wide", "resolve"}
    assert {"command", "commit", "machine", "version", "date"} <= said.keys()
    assert picture.read_text().startswith("<?xml")
    assert suite.form("outside_gadgets:made")[1] == sg.Resolve()
    for wrong in ("outside_gadgets:Other", "outside_gadgets:nothing", "no_such_module:X"):
        with pytest.raises(SubgameError):
            suite.form(wrong)


def test_what_does_not_apply_is_said() -> None:
    (task,) = suite.named(["off-tree-kuhn"])
    assert "expensive" in suite.measure(task, sg.Unsafe())["refused"]
    with pytest.raises(SubgameError, match="did you mean 'leduc-10"):
        suite.named(["leduc-11"])
    with pytest.raises(SubgameError, match="maxmargin"):
        suite.form("maxmargn")


def test_a_run_is_resumed(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the file are kept, others are made; those of another version are not kept."""
    file = tmp_path / "suite.json"
    words = ["--technique", "resolve", "--out", str(file), "--resume"]
    cli("suite", *words, "--task", "kuhn-10")
    made: list[tuple[str, str]] = []
    measure = suite.measure

    def counted(task: Task, gadget: sg.Gadget) -> dict[str, Any]:
        made.append((task.name, gadget.name))
        return measure(task, gadget)

    monkeypatch.setattr(suite, "measure", counted)
    before = json.loads(file.read_text())["rows"]
    cli("suite", *words, "--task", "kuhn-10", "--task", "coin-toss", "--technique", "maxmargin")
    said = json.loads(file.read_text())
    assert said["rows"][0] == before[0]
    assert [(row["task"], row["technique"]) for row in said["rows"]] == [
        (task, technique)
        for task in ("kuhn-10", "coin-toss")
        for technique in ("resolve", "maxmargin")
    ]
    assert ("coin-toss", "maxmargin") in made
    assert made.count(("kuhn-10", "resolve")) == 1  # to load the kernels, not as a row
    file.write_text(json.dumps(said | {"version": 1}))
    assert suite.rows_of(file) == []
    file.write_text("[]")
    with pytest.raises(SubgameError, match="is no file of the suite's results"):
        suite.rows_of(file)


def test_tasks_in_turn_are_those_of_the_verb() -> None:
    (task,) = suite.named(["dark-hex-in-turn"])
    tree = sg.compile(sg.games.load("dark-hex"))
    blueprint = sg.solve(tree, "cfr", iterations=8).strategy
    parts = sg.cut(tree, "after 2 turns", knowledge=1)
    options: dict[str, Any] = {"schedule": "cfr+", "iterations": 300, "allow_worse": True}
    made = refine_in_turn(tree, blueprint, at=parts, technique="maxmargin", **options)
    row = suite.measure(task, sg.Maxmargin())
    assert row["after"] == pytest.approx(made.after.mean, abs=1e-12)
    assert row["after"] < row["before"]


def test_limited_tasks_are_those_of_the_verb() -> None:
    (task,) = suite.named(["kuhn-limited"])
    tree = sg.compile(sg.games.load("kuhn"))
    blueprint = sg.solve(tree, "cfr", iterations=10).strategy
    seats = [
        play_limited(
            tree, blueprint, player=p, technique="maxmargin", schedule="cfr+", iterations=300
        ).after.per_seat[p]
        for p in (0, 1)
    ]
    row = suite.measure(task, sg.Maxmargin())
    assert row["before"] == sg.exploitability(tree, blueprint).mean
    assert row["after"] == pytest.approx(sum(seats) / 2, abs=1e-12)
    assert row["after"] < row["before"]


def test_tasks_in_buckets_are_scored_in_the_whole_game() -> None:
    """The best response by the engine without buckets, to the strategy that was solved."""
    pytest.importorskip("torch")
    game = "nlfh(stack=2000, bets=preflop: none; flop: 1x / cap 1, ranks=JQKA, suits=hs)"
    task = Task("small", game, "buckets 4 dcfr 3", "flop", 2)
    row = suite.measure(task, sg.Maxmargin())
    tree = range_tree(sg.compile(sg.games.load(game), merge="boards"))
    blueprint = Blueprint(abstract(tree, {"flop": 4}, RECIPE).buckets, "dcfr", device="torch")
    blueprint.advance(3)
    won = [
        blueprint.wins(p, LastStreet(blueprint, p).solve(sg.Maxmargin(), "cfr+", 2)) for p in (0, 1)
    ]
    assert row["before"] == pytest.approx(blueprint.exploitability().mean, rel=1e-6)
    assert row["after"] == pytest.approx(sum(won) / 2, rel=1e-4)
    assert task.buckets == 4
    assert task.device == "torch"


def test_tasks_that_cannot_be_run_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUBGAME_LIBRATUS", str(tmp_path))
    lines: list[str] = []
    tasks = suite.named(["libratus-river", "coin-toss"])
    result = suite.run(tasks, ["resolve"], lines.append)
    assert [task["name"] for task in result["tasks"]] == ["coin-toss"]
    assert "SUBGAME_LIBRATUS" in result["left_out"]["libratus-river"]
    assert "libratus-river is left out" in lines[0]
    gpu = suite.named([], gpu=True)
    assert gpu
    assert all(task.gpu and task.device == "cuda" for task in gpu)
    assert not any(task.gpu for task in suite.named([]))


def test_several_tasks_at_the_same_time(cli: Cli, tmp_path: Path) -> None:
    words = ["--technique", "resolve", "--task", "kuhn-10", "--task", "coin-toss"]
    results = []
    for jobs in ("1", "2"):
        file = tmp_path / f"{jobs}.json"
        cli("suite", *words, "--jobs", jobs, "--out", str(file))
        rows = json.loads(file.read_text())["rows"]
        results.append([{k: v for k, v in row.items() if "seconds" not in k} for row in rows])
    assert results[0] == results[1]

"""``subgame refine`` on saved hold'em spots: JSON, tables, files and what cannot be done."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Cli, runner
from test_cli_refine import KEYS

import subgame as sg
from holdem_games import GAMES
from subgame.refine.gadgets import TECHNIQUES
from subgame.spots.endgame import load, save


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@cache
def rough(name: str) -> sg.Strategy:
    return sg.solve(sg.compile(GAMES[name]), "cfr", iterations=5).strategy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saved spots, as ``subgame endgame --out`` writes them."""
    at = tmp_path_factory.mktemp("spots")
    for name in ("river", "turn", "suits"):
        save(rough(name), at / f"{name}.safetensors")
    kuhn = sg.compile(sg.games.load("kuhn"))
    sg.Strategy.uniform(kuhn).save(at / "kuhn.safetensors")
    return at


@pytest.mark.parametrize("name", [*TECHNIQUES])
def test_every_technique_says_what_the_library_does(cli: Cli, folder: Path, name: str) -> None:
    spot = str(folder / "river.safetensors")
    result = cli("refine", spot, "--technique", name, "--iterations", "40", "--json").json()
    strategy = rough("river")
    same = sg.refine(strategy.tree, strategy, at="root", technique=name, iterations=40)
    expected = json.loads(json.dumps(same.as_dict()))
    assert set(result) == KEYS
    for key in KEYS - {"seconds"}:
        assert result[key] == expected[key]
    assert len(result["margins"]) == sum(len(side.slots) for side in strategy.tree.players)
    assert all(sum(row.values()) == pytest.approx(1) for row in result["strategy"].values())


def test_a_safe_technique_solved_well_is_safe(cli: Cli, folder: Path) -> None:
    spot = str(folder / "river.safetensors")
    result = cli("refine", spot, "--technique", "maxmargin", "--gap", "0.001", "--json").json()
    assert min(result["margins"].values()) > -2e-3
    assert result["exploitability_after"] < 0.9 * result["exploitability_before"]


@pytest.mark.parametrize("at", ["after the river", "Qs Jh Th Ks | c"])
def test_parts_of_a_spot(cli: Cli, folder: Path, at: str) -> None:
    spot = str(folder / "turn.safetensors")
    options = ("--at", at, "--iterations", "30", "--technique", "resolve")
    result = cli("refine", spot, *options, "--player", "0", "--threads", "1", "--json").json()
    strategy = rough("turn")
    same = sg.refine(strategy.tree, strategy, at=at, technique="resolve", player=0, iterations=30)
    assert result["margins"] == pytest.approx(same.as_dict()["margins"])
    answer = cli("refine", spot, *options)
    assert answer.code == 0, answer.err
    assert "Frequencies of actions" not in answer.out
    assert "Qs Jh Th Ks" in answer.out


def test_a_refined_spot_is_saved_with_its_game(cli: Cli, folder: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "better.safetensors", tmp_path / "margins.png"
    answer = cli(
        "refine",
        str(folder / "river.safetensors"),
        "--technique",
        "unsafe",
        "--iterations",
        "30",
        "--out",
        str(out),
        "--plot",
        str(plot),
        "--json",
    )
    again = load(out)
    assert sg.exploitability(again.tree, again).mean == answer.json()["exploitability_after"]
    assert again.notes["refined"] == "unsafe at root"
    assert (again.notes["schedule"], again.notes["iterations"]) == ("dcfr", "30")
    shown = cli("endgame", str(out), "--json").json()
    assert shown["exploitability"] == pytest.approx(answer.json()["exploitability_after"])
    assert plot.stat().st_size > 0
    once_more = cli("refine", str(out), "--technique", "unsafe", "--iterations", "30", "--json")
    assert once_more.json()["exploitability_before"] == answer.json()["exploitability_after"]


def test_another_strategy_for_the_same_spot(cli: Cli, folder: Path) -> None:
    spot = str(folder / "river.safetensors")
    uniform = cli("refine", spot, "uniform", "--iterations", "10", "--json").json()
    tree = rough("river").tree
    expected = sg.exploitability(tree, sg.Strategy.uniform(tree)).mean
    assert uniform["exploitability_before"] == pytest.approx(expected)
    same = cli("refine", spot, spot, "--iterations", "10", "--json").json()
    assert same["exploitability_before"] == pytest.approx(
        sg.exploitability(tree, rough("river")).mean
    )


def test_games_that_are_registered(cli: Cli, tmp_path: Path) -> None:
    game = "nlfh(stack=3, small_blind=1, big_blind=2, ranks=JQKA, suits=hs)"
    out = str(tmp_path / "nlfh.safetensors")
    assert cli("solve", game, "--schedule", "dcfr", "--iterations", "3", "--out", out).code == 0
    answer = cli("refine", game, out, "--technique", "maxmargin", "--iterations", "100", "--json")
    assert answer.json()["schedule"] == "dcfr"
    assert answer.json()["exploitability_after"] < answer.json()["exploitability_before"]
    assert "pot" not in cli("refine", game, out, "--iterations", "3").out.partition("Margins")[0]
    evaluated = cli("exploit", game, out)
    assert evaluated.code == 0
    assert "exploitability" in evaluated.out


def test_a_thousand_hands_are_told_in_a_few_lines(cli: Cli, tmp_path: Path) -> None:
    game = sg.holdem.endgame("QsJh2h8d3c", 100, 100, bets="river: a / cap 1")
    spot = tmp_path / "spot.safetensors"
    save(sg.solve(sg.compile(game), "cfr", iterations=5).strategy, spot)
    answer = cli("refine", str(spot), "--technique", "maxmargin", "--iterations", "100")
    assert answer.code == 0, answer.err
    lines = answer.out.splitlines()
    assert len(lines) < 60
    assert max(map(len, lines[:-5])) <= 100  # commands to copy are not wrapped
    for words in (
        "1,081",
        "below 0",
        "median",
        "% of the pot",
        "OOP first to act on the river",
        "IP after OOP check",
        "all-in 100",
        "--json has them all",
        "--technique reach-maxmargin",
    ):
        assert words in answer.out
    result = cli("refine", str(spot), "--technique", "maxmargin", "--iterations", "100", "--json")
    margins = np.array(list(result.json()["margins"].values()))
    assert len(margins) == 2 * 1081
    for end in (margins.min(), margins.max()):
        assert f"{end:.6g}" in answer.out


def test_techniques_side_by_side(cli: Cli, folder: Path) -> None:
    spot = str(folder / "river.safetensors")
    options = ("refine", spot, "--iterations", "20", "--technique")
    answer = cli(*options, "unsafe, Maxmargin")
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines() if line.startswith("  ")]
    first = [row[0] for row in rows if row]
    assert first[first.index("technique") :][:4] == ["technique", "before", "unsafe", "maxmargin"]
    result = cli(*options, "unsafe,maxmargin", "--json").json()
    assert [row["technique"] for row in result["techniques"]] == ["unsafe", "maxmargin"]
    assert all(set(row) == KEYS for row in result["techniques"])
    every = cli(
        "refine",
        "coin-toss",
        "--blueprint",
        "paper",
        "--at",
        "Play",
        "--technique",
        "all",
        "--iterations",
        "20",
        "--json",
    ).json()["techniques"]
    assert len(every) == 11
    alone = cli(
        "refine",
        "coin-toss",
        "--blueprint",
        "paper",
        "--at",
        "Play",
        "--technique",
        "maxmargin",
        "--iterations",
        "20",
        "--json",
    ).json()
    same = next(row for row in every if row["technique"] == "maxmargin")
    assert same["exploitability_after"] == alone["exploitability_after"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("river --schedule lp", "The schedule lp does not solve hold'em; use dcfr, cfr+"),
        ("river --schedule pcs", "The schedule pcs does not solve"),
        ("river --schedule mccfr", "The schedule mccfr does not solve"),
        ("river --technique estimate --keep-safe", "--keep-safe does not work in hold'em"),
        ("river --keep-safe", "--keep-safe does not apply to resolve"),
        ("river --blueprint paper", "contains a strategy, so --blueprint cannot be given"),
        ("river --at after~the~turn", "root"),
        ("river --at 3", "root"),
        ("river --threads 0", "--threads must be a whole number of at least 1, not 0"),
        ("river --technique resolve,unsafe --out a.safetensors", "--out needs a single technique"),
        ("river --technique ,", "--technique is empty"),
        ("river --technique distributional --gap 1", "--gap does not apply to distributional"),
        ("river --memory-limit 1KB", "over the limit of"),
        ("turn --at before~the~river", "cut once cards are dealt: 'after the river'"),
        ("turn --at root --at after~the~river", "lies below another one"),
        ("suits --at after~the~turn", "differ only in suits"),
        ("kuhn", "give the game first: subgame refine kuhn"),
        ("missing", "There is no file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(cli: Cli, folder: Path, line: str, words: str) -> None:
    name, *options = line.split()
    arguments = [option.replace("~", " ") for option in options]
    answer = cli("refine", str(folder / f"{name}.safetensors"), *arguments)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.endswith(".\n")
    assert words in answer.err

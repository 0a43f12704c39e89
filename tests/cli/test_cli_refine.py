"""``subgame refine`` and ``subgame reproduce``: their JSON, their tables and their complaints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.refine.gadgets import TECHNIQUES
from subgame.tree.sequence.tree import sequence_tree

KEYS = {
    "game",
    "technique",
    "schedule",
    "strategy",
    "margins",
    "alternatives",
    "gifts",
    "exploitability_before",
    "exploitability_after",
    "exploitability_per_seat_before",
    "exploitability_per_seat_after",
    "bound",
    "kept",
    "seconds",
}
PAPER = ("refine", "coin-toss", "--blueprint", "paper", "--at", "Play")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def rough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rough") / "leduc.safetensors"
    tree = sg.compile(sg.games.load("leduc"))
    sg.solve(tree, "cfr+", iterations=30).strategy.save(file)
    return file


# refine --------------------------------------------------------------------------------------
def test_refine_json_of_the_paper(cli: Cli) -> None:
    answer = cli(*PAPER, "--technique", "maxmargin", "--json")
    assert answer.code == 0
    result = answer.json()
    assert set(result) == KEYS
    assert result["technique"] == "maxmargin"
    assert result["strategy"] == {
        "Play": pytest.approx({"Heads": 5 / 8, "Tails": 3 / 8, "Forfeit": 0}, abs=1e-6)
    }
    assert result["alternatives"] == pytest.approx({"Heads Play": 0, "Tails Play": 0.5}, abs=1e-9)
    assert result["margins"] == pytest.approx({"Heads Play": 0.25, "Tails Play": 0.25}, abs=1e-6)
    assert result["exploitability_after"] < result["exploitability_before"]


@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_technique(cli: Cli, name: str) -> None:
    result = cli(*PAPER, "--technique", name, "--iterations", "50", "--json").json()
    assert set(result) == KEYS
    assert result["technique"].removesuffix("-resolve") == name.removesuffix("-resolve")


def test_refine_a_file_and_save(cli: Cli, rough: Path, tmp_path: Path) -> None:
    out, plot = tmp_path / "fine.safetensors", tmp_path / "margins.png"
    answer = cli(
        "refine",
        "leduc",
        str(rough),
        "--at",
        "after round 1",
        "--technique",
        "maxmargin",
        "--schedule",
        "lp",
        "--out",
        str(out),
        "--plot",
        str(plot),
        "--json",
    )
    result = answer.json()
    assert result["exploitability_after"] < 0.5 * result["exploitability_before"]
    assert plot.stat().st_size > 0
    evaluated = cli("exploit", "leduc", str(out), "--json").json()
    assert evaluated["exploitability"] == pytest.approx(result["exploitability_after"], abs=1e-12)


def test_refine_one_player_in_several_subgames(cli: Cli) -> None:
    result = cli(
        "refine",
        "coin-toss-two",
        "--blueprint",
        "paper",
        "--at",
        "Play S1",
        "--at",
        "Play S2",
        "--player",
        "1",
        "--technique",
        "reach-maxmargin",
        "--no-split",
        "--scale",
        "0.5",
        "--schedule",
        "lp",
        "--json",
    ).json()
    assert result["gifts"]["Play S1 | Heads Play S1"] == pytest.approx(0.5)
    split = cli(
        "refine",
        "coin-toss-two",
        "--blueprint",
        "paper",
        "--at",
        "after Play",
        "--player",
        "1",
        "--technique",
        "reach-maxmargin",
        "--schedule",
        "lp",
        "--json",
    )
    assert split.json()["alternatives"]["Play S1 | Heads Play S1"] == pytest.approx(0.5)


def test_refine_by_number_form_and_tremble(cli: Cli) -> None:
    tree = sequence_tree(sg.compile(sg.games.load("coin-toss")))
    number = str(list(tree.node_names).index("Play"))
    base = ("refine", "coin-toss", "--blueprint", "paper", "--at", number, "--json")
    shaken = cli(*base, "--refined", "0.1", "--gap", "1e-3", "--schedule", "cfr+")
    assert shaken.code == 0
    entering = cli(*base, "--technique", "distributional", "--form", "respond", "--seconds", "0.2")
    assert entering.json()["technique"] == "distributional"


def test_refine_tells_people(cli: Cli, rough: Path) -> None:
    answer = cli("refine", "leduc", str(rough), "--at", "after round 1", "--technique", "unsafe")
    assert answer.code == 0
    for words in (
        "exploitability after",
        "higher",
        "smallest margin",
        "cbv + gift - value",
        "with larger margins",
        "Where to go next",
        "--technique maxmargin",
    ):
        assert words in answer.out
    assert "[" not in answer.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("refine", "coin-toss", "--at", "Play"), "Give exactly one strategy"),
        ((*PAPER, "uniform"), "Give exactly one strategy"),
        (("refine", "coin-toss", "uniform"), "Say where the subgames of coin-toss start"),
        (("refine", "coin-toss", "uniform", "--at", "Pley"), "did you mean 'Play'"),
        (("refine", "coin-toss", "uniform", "--at", "99"), "numbered 0 to"),
        (("refine", "coin-toss", "uniform", "--at", "Play", "--player", "0"), "nothing to refine"),
        ((*PAPER, "--technique", "maxmargn"), "did you mean 'maxmargin'"),
        (
            (*PAPER, "--technique", "maxmargin", "--scale", "2"),
            "--scale does not apply to maxmargin",
        ),
        ((*PAPER, "--technique", "reach-maxmargin", "--scale", "-1"), "--scale must be a number"),
        ((*PAPER, "--no-split"), "--no-split does not apply to resolve"),
        ((*PAPER, "--form", "hedge"), "--form does not apply"),
        ((*PAPER, "--technique", "distributional", "--form", "x"), "distributional form"),
        ((*PAPER, "--technique", "distributional", "--schedule", "lp"), "no linear program"),
        ((*PAPER, "--technique", "unsafe", "--refined", "0.1"), "no choice at the root"),
        ((*PAPER, "--refined", "0.7"), "--refined must be a probability below 1/2"),
        ((*PAPER, "--schedule", "cfr-br"), "only computes one player's strategy"),
        ((*PAPER, "--schedule", "cfx"), "schedule"),
        ((*PAPER, "--schedule", "lp", "--gap", "1"), "--gap does not apply"),
        ((*PAPER, "--iterations", "0"), "--iterations must be a whole number of at least 1"),
        ((*PAPER, "--gap", "-1"), "--gap must be a number above 0"),
        ((*PAPER, "--player", "2"), "--player must be 0 or 1"),
        ((*PAPER, "--out", "x.json"), ".safetensors"),
        ((*PAPER, "--plot", "x.xyz"), ".png"),
        ((*PAPER, "--plot", "no/such/x.png"), "no folder"),
        (("refine", "coin-toss", "--blueprint", "papr", "--at", "Play"), "did you mean 'paper'"),
        (("refine", "kuhn", "no.safetensors", "--at", "depth 1"), "no file"),
        (("refine", "no.safetensors"), "There is no file no.safetensors; expected a hold'em"),
        (("reproduce", "coin-tos"), "did you mean 'coin-toss'"),
        (("reproduce", "coin-toss", "--seed", "-1"), "--seed must be"),
        (("reproduce", "coin-toss", "--budget", "9"), "has no budget"),
    ],
)
def test_what_goes_wrong_is_one_sentence(cli: Cli, args: tuple[str, ...], words: str) -> None:
    answer = cli(*args)
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert words in answer.err


# reproduce -----------------------------------------------------------------------------------
def test_reproduce_lists_its_keys(cli: Cli) -> None:
    listed = cli("reproduce", "--json").json()["reproductions"]
    keys = {line["key"] for line in listed}
    assert {"coin-toss", "burch2014-fig3", "burch2014-fig4", "burch2014-fig5"} <= keys
    answer = cli("reproduce")
    assert all(line["key"] in answer.out for line in listed)
    assert "Where to go next" in answer.out


def test_reproduce_coin_toss(cli: Cli, tmp_path: Path) -> None:
    answer = cli("reproduce", "coin-toss", "--json", "--out", str(tmp_path / "new"))
    result = answer.json()
    assert answer.code == 0
    assert result["data"]["largest_difference"] < 1e-9
    stored = json.loads((tmp_path / "new" / "coin-toss.json").read_text())
    assert stored["rows"] == result["rows"]
    assert (tmp_path / "new" / "coin-toss.png").exists()
    assert "coin-toss.svg" in answer.err
    said = cli("reproduce", "coin-toss", "--quick")
    assert "Maxmargin, P2 Heads" in said.out
    assert "0.625" in said.out
    (tmp_path / "file").write_text("")
    refused = cli("reproduce", "coin-toss", "--out", str(tmp_path / "file" / "x"))
    assert (refused.code, refused.out) == (2, "")
    assert "not a folder" in refused.err


@pytest.mark.parametrize("command", ["refine", "reproduce"])
def test_help_teaches_by_examples(cli: Cli, command: str) -> None:
    answer = cli(command, "--help")
    assert "--json" in answer.out
    assert f"subgame {command} " in answer.out.partition("Examples")[2]

"""``subgame limit`` and ``subgame train``: JSON, tables, files and what cannot be done."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg
from helpers import tree_of
from subgame.refine.continuations import biased

LIMIT_KEYS = {
    "game",
    "limit",
    "players",
    "leaves",
    "continuations",
    "schedule",
    "infosets",
    "infosets_limited",
    "standard_error",
    "strategy",
    "exploitability_before",
    "exploitability_after",
    "exploitability_per_seat_before",
    "exploitability_per_seat_after",
    "seconds",
}
ROUND = "after round 1"
MOVES = ("limit", "rps-plus", "--blueprint", "equilibrium", "--at", "P2 to move")
SMALL = ("--layers", "16,16", "--epochs", "5", "--rollouts", "20")


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@cache
def rough(name: str) -> sg.Strategy:
    return sg.solve(tree_of(name), "cfr+", iterations=100).strategy


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("limits")
    for name in ("kuhn", "leduc-ranks"):
        rough(name).save(at / f"{name}.safetensors")
    return at


# limit ---------------------------------------------------------------------------------------
def test_one_value_is_not_enough_and_several_are(cli: Cli) -> None:
    """Brown, Sandholm & Amos 2018, Section 2: the equilibrium is 2 : 2 : 1."""
    one = cli(*MOVES, "--continuations", "none", "--json").json()
    assert set(one) == LIMIT_KEYS
    assert one["exploitability_before"] == pytest.approx(0, abs=1e-12)
    assert one["exploitability_after"] >= 0.5
    assert one["continuations"] == {"0": ["blueprint"], "1": ["blueprint"]}
    for way, count in (("bias", 4), ("self", 4), ("all", 3)):
        many = cli(*MOVES, "--continuations", way, "--player", "0", "--best-below", "--json").json()
        row = {"Rock": 0.4, "Paper": 0.4, "Scissors": 0.2}
        assert many["strategy"] == {"P1 to move": pytest.approx(row, abs=1e-9)}
        assert many["exploitability_after"] == pytest.approx(0, abs=1e-9)
        assert many["exploitability_best_below"] == pytest.approx(0, abs=1e-9)
        assert (many["players"], len(many["continuations"]["0"])) == ([0], count)
    few = cli(*MOVES, "--count", "2", "--player", "0", "--json").json()
    assert few["continuations"] == {"0": ["blueprint", "10 x Rock"]}
    assert few["exploitability_after"] > 0.1


def test_both_seats_are_the_librarys(cli: Cli, folder: Path, tmp_path: Path) -> None:
    tree, blueprint = tree_of("leduc-ranks"), rough("leduc-ranks")
    out = tmp_path / "limited.safetensors"
    result = cli(
        "limit",
        "leduc-ranks",
        str(folder / "leduc-ranks.safetensors"),
        "--at",
        ROUND,
        "--weaken",
        "--allow-worse",
        "--out",
        str(out),
        "--json",
    ).json()
    assert set(result) == LIMIT_KEYS | {"out"}
    assert result["limit"] == ["cc", "crc", "crrc", "rc", "rrc"]
    assert max(result["infosets_limited"]) < result["infosets"] / 2
    saved = sg.Strategy.load(out, tree)
    assert sg.exploitability(tree, saved).mean == pytest.approx(result["exploitability_after"])
    for p in (0, 1):
        limited = sg.depth_limited(
            tree,
            blueprint,
            at=ROUND,
            player=p,
            continuations=biased(blueprint, 1 - p),
            weaken=True,
        )
        solved = sg.solve_limited(limited)
        value = sg.exploitability(tree, solved.strategy).per_seat[p]
        assert result["exploitability_per_seat_after"][p] == pytest.approx(value, abs=1e-9)


def test_rollouts_and_cfr(cli: Cli, folder: Path) -> None:
    base = ("limit", "kuhn", str(folder / "kuhn.safetensors"), "--at", "depth 1", "--json")
    exact = cli(*base, "--continuations", "all").json()
    by_cfr = cli(*base, "--continuations", "all", "--schedule", "pcfr+", "--target", "5e-5").json()
    assert by_cfr["exploitability_after"] == pytest.approx(exact["exploitability_after"], abs=0.01)
    plays = ("--leaves", "rollout", "--rollouts", "400", "--seed")
    one, two, other = (cli(*base, *plays, seed).json() for seed in "334")
    assert 0 < one["standard_error"] < 0.2
    assert one["strategy"] == two["strategy"]
    assert one["standard_error"] != other["standard_error"]


def test_limit_tells_people(cli: Cli, folder: Path) -> None:
    file = str(folder / "leduc-ranks.safetensors")
    answer = cli("limit", "leduc-ranks", file, "--at", ROUND, "--best-below")
    assert (answer.code, answer.err) == (0, "")
    for words in (
        "solved down to 5 public states",
        "exploitability after",
        "with best play below",
        "continuations of player 1",
        "10 x f",
        "instead of",
        "more infosets above the limit",
        f"subgame train leduc-ranks {file} --at 'after round 1'",
    ):
        assert words in answer.out
    assert all(len(line) <= 100 or "  # " in line for line in answer.out.splitlines())


# train ---------------------------------------------------------------------------------------
def test_train_and_play_by_it(cli: Cli, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out, file = tmp_path / "leaves.safetensors", str(folder / "leduc-ranks.safetensors")
    train = ("train", "leduc-ranks", file, "--at", ROUND, "--out", str(out))
    options = (
        "--layers",
        "64,64",
        "--epochs",
        "150",
        "--batch",
        "8",
        "--rate",
        "0.003",
        "--rollouts",
        "1000",
    )
    made = cli(*train, *options, "--json").json()
    assert (made["game"], made["out"], made["layers"]) == ("leduc-ranks", str(out), [64, 64])
    assert [network["player"] for network in made["networks"]] == [0, 1]
    for network in made["networks"]:
        assert network["continuations"] == ["blueprint", "10 x c", "10 x r", "10 x f"]
        assert network["training_error"] < 0.1 * network["spread"]
        assert 0 < network["data_error"] < 0.2 * network["spread"]
        assert network["holdout_error"] is None
    base = ("limit", "leduc-ranks", file, "--json", "--best-below")
    learned = cli(*base, "--leaves", str(out)).json()
    again = cli(*base, "--leaves", str(out), "--at", ROUND).json()
    assert learned["strategy"] == again["strategy"]
    assert set(learned) == LIMIT_KEYS | {"exploitability_best_below"}
    played = cli(*base, "--at", ROUND, "--leaves", "rollout", "--rollouts", "1000").json()
    for key in ("exploitability_after", "exploitability_best_below"):
        assert learned[key] < played[key] + 0.05
    alone = cli(*base, "--leaves", str(out), "--player", "1").json()
    assert alone["players"] == [1]
    shown = cli("limit", "leduc-ranks", file, "--leaves", str(out))
    assert shown.code == 0
    assert "error of its training data" in shown.out
    assert "--at 'after round 1' --continuations self" in shown.out


def test_train_tells_people(cli: Cli, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "kuhn.safetensors"
    answer = cli(
        "train",
        "kuhn",
        "uniform",
        "--at",
        "depth 1",
        "--out",
        str(out),
        *SMALL,
        "--holdout",
        "0.3",
        "--continuations",
        "all",
        "--player",
        "0",
    )
    assert (answer.code, answer.err) == (0, "")
    for words in (
        "learned from rollouts",
        "held out",
        "parameters",
        f"Saved as {out}",
        f"subgame limit kuhn uniform --leaves {out}",
    ):
        assert words in answer.out
    refused = cli("limit", "kuhn", "uniform", "--leaves", str(out), "--player", "1")
    assert (refused.code, refused.out) == (2, "")
    assert "was only trained for player 0; train one with --player 1" in refused.err
    result = cli("limit", "kuhn", "uniform", "--leaves", str(out), "--json")
    assert result.json()["players"] == [0]


def test_a_network_is_for_its_own_game_limit_and_blueprint(
    cli: Cli, folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    out = str(tmp_path / "kuhn.safetensors")
    file = str(folder / "kuhn.safetensors")
    assert cli("train", "kuhn", file, "--at", "depth 1", "--out", out, *SMALL).code == 0
    for args, words in (
        (("leduc", "uniform"), "its game is kuhn, that of this tree is leduc"),
        (("kuhn", "uniform"), "trained for other continuations"),
        (("kuhn", file, "--at", "depth 2"), "was trained at 'depth 1', not at 'depth 2'"),
        (
            ("kuhn", file, "--continuations", "bias"),
            "contains its continuations, so --continuations",
        ),
        (("kuhn", file, "--count", "2"), "so --count cannot be given with it"),
    ):
        answer = cli("limit", *args, "--leaves", out)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert words in answer.err


def test_without_torch_one_sentence(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    answer = cli(
        "train", "kuhn", "uniform", "--at", "depth 1", "--out", str(tmp_path / "a.safetensors")
    )
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "need PyTorch, which is not installed" in answer.err
    assert not list(tmp_path.iterdir())


# What cannot be done -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("limit kuhn --at p", "Give exactly one strategy"),
        ("limit kuhn uniform", "--at is missing. Say where the subgames of kuhn start"),
        ("limit kuhn uniform --at q", "frontier or public state"),
        ("limit kuhn uniform --at p --leaves exat", "did you mean 'exact'"),
        (
            "limit kuhn uniform --at p --leaves no.safetensors",
            "expected a file of leaf",
        ),
        ("limit kuhn uniform --at p --continuations biased", "did you mean 'bias'"),
        ("limit kuhn uniform --at p --continuations all --count 2", "--count does not apply"),
        ("limit kuhn uniform --at p --count 0", "--count must be a whole number of at least 1"),
        ("limit kuhn uniform --at p --rollouts 10", "only applies to --leaves rollout"),
        (
            "limit kuhn uniform --at p --leaves rollout --rollouts 1",
            "--rollouts must be a whole number",
        ),
        ("limit kuhn uniform --at p --iterations 10", "--iterations does not apply"),
        ("limit kuhn uniform --at p --schedule cfr-br", "does not solve depth-limited games"),
        ("limit kuhn uniform --at p --schedule mccfr", "does not solve depth-limited games"),
        ("limit kuhn uniform --at p --schedule cfr+ --iterations 0", "--iterations must be"),
        (
            "limit kuhn uniform --at p --schedule cfr+ --target 0",
            "--target must be a number above 0",
        ),
        ("limit kuhn uniform --at p --penalty -1", "--penalty must be a number of at least 0"),
        ("limit kuhn uniform --at p --player 2", "--player must be 0 or 1"),
        ("limit kuhn uniform --at p --seed -1", "--seed must be a whole number"),
        ("limit kuhn uniform --at p --out a.txt", ".safetensors"),
        ("limit nlfh uniform --at root", "does not work on hold'em games such as nlfh"),
        ("train kuhn uniform --at p", "--out is missing. Say where to save the networks"),
        ("train kuhn uniform --at p --out no/a.safetensors", "there is no folder"),
        (
            "train kuhn uniform --at p --out a.safetensors --layers 8,x",
            "--layers must be whole",
        ),
        ("train kuhn uniform --at p --out a.safetensors --epochs 0", "--epochs must be a whole"),
        ("train kuhn uniform --at p --out a.safetensors --holdout 1", "--holdout must be a share"),
        ("train kuhn uniform --at p --out a.safetensors --rollouts 1", "--rollouts must be"),
        ("train kuhn uniform --at p --out a.safetensors --layers 0", "--layers must be whole"),
    ],
)
def test_what_goes_wrong_is_one_sentence(cli: Cli, line: str, words: str) -> None:
    answer = cli(*line.split())
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.endswith(".\n")
    assert words in answer.err


@pytest.mark.parametrize("command", ["limit", "train"])
def test_help_teaches_by_examples(cli: Cli, command: str) -> None:
    answer = cli(command, "--help")
    assert "--json" in answer.out
    assert f"subgame {command} " in answer.out.partition("Examples")[2]

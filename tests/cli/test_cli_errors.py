"""An error is one sentence on stderr, nothing on stdout, and exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg

BROKEN_EFG = 'EFG 2 R "t" { "A" "B" }\np "" 1 1 "x" { "l" "r" } 0\nt "" 1 "win" { 1, -1 }\n'
IMPERFECT_EFG = """EFG 2 R "forgets" { "A" "B" }
p "" 1 1 "x" { "l" "r" } 0
p "" 1 2 "y" { "l" "r" } 0
t "" 1 "win" { 1, -1 }
t "" 2 "loss" { -1, 1 }
p "" 1 2 "y" { "l" "r" } 0
t "" 1
t "" 2
"""
TABLES = {
    "nan": '{"K": {"p": NaN, "b": 1}}',
    "infinite": '{"K": {"p": Infinity, "b": 1}}',
    "sum": '{"K": {"p": 0.5, "b": 0.6}}',
    "negative": '{"K": {"p": -0.5, "b": 1.5}}',
    "infoset": '{"Kp": {"p": 0, "b": 1}, "Kpp": {"p": 1}}',
    "action": '{"K": {"pass": 1}}',
    "word": '{"K": {"p": "half", "b": 0.5}}',
    "huge": '{"K": {"p": 1' + "0" * 400 + "}}",
    "null": '{"K": {"p": null}}',
    "flat": '{"K": 1}',
    "list": "[1, 2]",
    "cut": '{"K": {"p": 0.5',
    "twice": '{"K": {"p": 1}, "K": {"b": 1}}',
    "deep": "[" * 100_000,
}


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that are wrong, each in its own way."""
    at = tmp_path_factory.mktemp("wrong")
    trees = {name: sg.compile(sg.games.load(name)) for name in ("kuhn", "leduc")}
    for name, tree in trees.items():
        sg.Strategy.uniform(tree).save(at / f"{name}.safetensors")
    whole = (at / "kuhn.safetensors").read_bytes()
    (at / "cut.safetensors").write_bytes(whole[:-20])
    (at / "stub.safetensors").write_bytes(whole[:5])
    (at / "empty.safetensors").write_bytes(b"")
    (at / "noise.safetensors").write_bytes(bytes(range(256)) * 8)
    sg.solve(trees["kuhn"], "cfr+", iterations=5, seed=3, checkpoint=at / "kuhn.ckpt")
    (at / "cut.ckpt").write_bytes((at / "kuhn.ckpt").read_bytes()[:-20])
    (at / "broken.efg").write_text(BROKEN_EFG)
    (at / "forgets.efg").write_text(IMPERFECT_EFG)
    for name, text in TABLES.items():
        (at / f"{name}.json").write_text(text)
    (at / "binary.json").write_bytes(b"\xff\xfe\x00")
    (at / "file").write_text("")
    return at


# Arguments ({} is the folder), and words that the sentence must contain.
WRONG = [
    # Games
    ("solve leducc", "did you mean 'leduc'?"),
    ("solve liars-dice(sides=3)", "'sides'"),
    ("solve liars-dice(faces=three)", "an integer"),
    ("solve liars-dice(faces=3", "is not a game"),
    ("solve liars-dice(faces=0)", "faces"),
    ("solve {}/missing.efg", "missing.efg; expected a Gambit file"),
    ("solve no-limit-kuhn(bets=5y)", "In the bet sizes '5y', at '5y' (character 1): a size is"),
    ("solve {}/broken.efg", "broken.efg, line"),
    ("solve {}/forgets.efg", "y"),
    ("exploit nothing uniform", "There is no game"),
    # Numbers
    ("solve kuhn --iterations -5", "--iterations must be a whole number of at least 1, not -5"),
    ("solve kuhn --iterations 0", "--iterations must be"),
    ("solve kuhn --iterations many", "--iterations"),
    ("solve kuhn --iterations 2.5", "--iterations"),
    ("solve kuhn --seconds 0", "--seconds must be a number above 0, not 0."),
    ("solve kuhn --seconds soon", "--seconds"),
    ("solve kuhn --target nan", "--target must be a number above 0, not nan"),
    ("solve kuhn --target -1", "--target must be"),
    ("solve kuhn --seed -1", "--seed must be"),
    ("exploit kuhn random --seed -1", "--seed must be"),
    ("solve kuhn --memory-limit 10B", "10"),
    ("solve kuhn --memory-limit lots", "--memory-limit must be a number of bytes"),
    # Schedules
    ("solve kuhn --schedule cfr++", "did you mean 'cfr+'"),
    ("solve kuhn --schedule dcfr(alfa=1)", "alfa"),
    ("solve kuhn --schedule dcfr(gamma=-1)", "gamma"),
    ("solve kuhn --schedule lp --iterations 10", "--iterations does not apply to the schedule lp"),
    ("solve kuhn --schedule lp --seed 1", "--seed does not apply to the schedule lp"),
    # Files to write
    ("solve kuhn --out {}/no/a.safetensors", "there is no folder"),
    ("solve kuhn --out {}", "is a folder"),
    ("solve kuhn --out {}/file/a.safetensors", "is not a folder"),
    ("solve kuhn --out {}/a.txt", ".safetensors"),
    ("solve kuhn --checkpoint {}/no/a.ckpt", "--checkpoint"),
    ("solve kuhn --plot {}/no/a.png", "--plot"),
    ("solve kuhn --plot {}/a.doc", ".png"),
    ("solve kuhn --out {}/a.safetensors --checkpoint {}/a.safetensors", "the same file"),
    ("solve kuhn --resume {}/kuhn.safetensors --out {}/kuhn.safetensors", "the same file"),
    ("solve kuhn --checkpoint {}/kuhn.safetensors", "is not a checkpoint saved by solve"),
    ("report --log {}/a.json --out {}/a.json", "--log and --out name the same file"),
    ("histories {}/kuhn.safetensors --out {}/kuhn.safetensors", "name the same file"),
    # Checkpoints
    ("solve kuhn --resume {}/missing.ckpt", "missing.ckpt; expected a checkpoint"),
    ("solve kuhn --resume {}/kuhn.safetensors --iterations 9", "subgame-checkpoint"),
    ("solve kuhn --resume {}/noise.safetensors", "not a safetensors file"),
    ("solve kuhn --resume {}/cut.ckpt --seed 3", "cut short"),
    ("solve kuhn --resume {}/kuhn.ckpt --seed 3 --schedule dcfr", "made by the schedule cfr+"),
    ("solve kuhn --resume {}/kuhn.ckpt --seed 4", "made with seed 3"),
    ("solve leduc --resume {}/kuhn.ckpt --seed 3", "made for another tree"),
    # Strategies
    ("exploit kuhn", "Give exactly one strategy"),
    ("exploit kuhn uniform --blueprint paper", "Give exactly one strategy"),
    ("exploit kuhn --blueprint paper", "The game kuhn has no published strategies"),
    ("exploit coin-toss --blueprint papers", "did you mean 'paper'?"),
    ("exploit kuhn {}/missing.safetensors", "There is no file"),
    ("exploit kuhn unifrom", "There is no file unifrom; expected a strategy"),
    ("exploit kuhn {}", "is a folder"),
    ("exploit kuhn {}/cut.safetensors", "cut short"),
    ("exploit kuhn {}/stub.safetensors", "cut short"),
    ("exploit kuhn {}/empty.safetensors", "cut short"),
    ("exploit kuhn {}/noise.safetensors", "not a safetensors file"),
    ("exploit kuhn {}/leduc.safetensors", "made for another tree: its game is leduc"),
    ("exploit kuhn {}/kuhn.ckpt", "subgame-strategy"),
    ("exploit kuhn {}/missing.json", "missing.json; expected a JSON file"),
    ("exploit kuhn {}/nan.json", "nan"),
    ("exploit kuhn {}/infinite.json", "sum to 1"),
    ("exploit kuhn {}/sum.json", "sum to 1"),
    ("exploit kuhn {}/negative.json", "at least 0"),
    ("exploit kuhn {}/infoset.json", "infoset called 'Kpp'"),
    ("exploit kuhn {}/action.json", "called 'pass'"),
    ("exploit kuhn {}/word.json", '"half", which is not a number'),
    ("exploit kuhn {}/huge.json", "not between 0 and 1"),
    ("exploit kuhn {}/null.json", "null, which is not a number"),
    ("exploit kuhn {}/flat.json", "'K'"),
    ("exploit kuhn {}/list.json", "must contain a JSON object"),
    ("exploit kuhn {}/cut.json", "line 1, column"),
    ("exploit kuhn {}/twice.json", "'K' twice"),
    ("exploit kuhn {}/deep.json", "deep.json"),
    ("exploit kuhn {}/binary.json", "UTF-8"),
    # The command line itself
    ("sovle kuhn", "did you mean 'solve'?"),
    ("solve kuhn --iteration 5", "Unknown option '--iteration'; did you mean '--iterations'?"),
    ("solve kuhn --iter 5", "did you mean '--iterations'?"),
    ("endgame --ante 5", "Unknown option '--ante'. See 'subgame endgame --help'."),
    ("solve nosuch", "There is no game called 'nosuch'. Known: "),
    ("solve kuhn --iterations", "--iterations"),
    ("solve", "Missing argument 'GAME'; see 'subgame solve --help'"),
    ("solve kuhn leduc", "leduc"),
    ("--jason games", "--jason"),
    ("games --jason", "did you mean '--json'?"),
]


@pytest.mark.parametrize(("line", "words"), WRONG, ids=[line for line, _ in WRONG])
def test_one_sentence_and_exit_code_2(cli: Cli, folder: Path, line: str, words: str) -> None:
    answer = cli(*(word.replace("{}", str(folder)) for word in line.split(" ")))
    assert answer.code == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert answer.err.endswith(".\n")
    assert words in answer.err
    assert "Traceback" not in answer.err


def test_errors_leave_no_file_behind(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "a.safetensors"
    assert cli("solve", "kuhn", "--iterations", "-5", "--out", str(out), "--json").code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("solve openspiel:kuhn_pocker", "did you mean 'kuhn_poker'?"),
        ("solve openspiel:kuhn_poker(players=3)", "3 players"),
        ("solve openspiel:kuhn_poker(gamblers=2)", "gamblers"),
        ("solve openspiel:", "There is no OpenSpiel game"),
    ],
)
def test_openspiel_errors(cli: Cli, line: str, words: str) -> None:
    pytest.importorskip("pyspiel")
    answer = cli(*line.split(" "))
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert words in answer.err


def test_a_missing_openspiel_says_how_to_get_it(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyspiel", None)
    answer = cli("solve", "openspiel:kuhn_poker")
    assert (answer.code, answer.out) == (2, "")
    assert "pip install" in answer.err


@pytest.mark.parametrize("device", ["cuda", "torch"])
def test_a_missing_pytorch_says_how_to_get_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    answer = cli("solve", "kuhn", "--device", device)
    assert (answer.code, answer.out) == (2, "")
    assert (
        "The devices cuda and torch need PyTorch, which is not installed; install it" in answer.err
    )


def test_a_write_protected_file_is_refused_before_solving(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anything
    answer = cli("solve", "kuhn", "--out", str(tmp_path / "a.safetensors"))
    assert (answer.code, answer.out) == (2, "")
    assert "write-protected" in answer.err


def test_a_json_strategy_may_be_complete(cli: Cli, tmp_path: Path) -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    file = tmp_path / "all.JSON"
    file.write_text(json.dumps(sg.Strategy.random(tree, 5).table()))
    assert cli("exploit", "kuhn", str(file), "--json").code == 0

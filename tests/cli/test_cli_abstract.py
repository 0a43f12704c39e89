"""``subgame abstract``: buckets from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg
from subgame.abstraction import Abstraction, abstract
from subgame.tree.ranges.tree import RangeTree

GAME = "nlfh(stack=1000, bets='preflop: none; flop: 1x / cap 1', ranks=TJQKA, suits=hs)"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


def test_buckets_are_those_of_python(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "made.npz"
    said = cli("abstract", GAME, "flop=6", "--seed", "3", "--out", str(file), "--json").json()
    tree = sg.compile(sg.games.load(GAME), merge="boards")
    assert isinstance(tree, RangeTree)
    want = abstract(tree, {"flop": 6}, sg.abstraction.Recipe(seed=3))
    assert said["quality"]["flop"]["distance"] == want.quality["flop"].distance
    assert said["exploitability"] is None
    kept = Abstraction.load(file, tree)
    assert (kept.buckets.groupings[1].of == want.buckets.groupings[1].of).all()
    assert "6" in cli("abstract", GAME, "flop=6").out


def test_solving_in_buckets(cli: Cli) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    few, many = (
        cli("abstract", GAME, f"flop={count}", "--iterations", "20", "--json").json()
        for count in (2, 40)
    )
    assert few["exploitability"] > many["exploitability"] > 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("kuhn", "flop=2"), "kuhn is not a hold'em game"),
        ((GAME, "flop"), "not 'flop'"),
        ((GAME, "flopp=2"), "did you mean 'flop'"),
        ((GAME, "flop=2", "--features", "ochss"), "did you mean"),
        ((GAME, "flop=2", "--device", "cpu"), "not cpu"),
        ((GAME, "flop=2", "--out", "no/such/folder.npz"), "cannot be written"),
    ],
)
def test_refusals(cli: Cli, args: tuple[str, ...], said: str) -> None:
    answer = cli("abstract", *args)
    assert answer.code != 0
    assert said in answer.err

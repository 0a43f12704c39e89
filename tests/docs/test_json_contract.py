"""The page of the JSON contract: commands print the fields that it lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

from subgame.cli import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs/json.md").read_text(encoding="utf-8")
SPOT = "--board QsJh2h8d3c --pot 100 --stack 200 --oop AA,KQ --ip QQ,AK --bets 1x --iterations 5"
CALLS = {
    "games": "games",
    "solve": "solve kuhn --iterations 5",
    "exploit": "exploit kuhn uniform",
    "endgame": f"endgame {SPOT}",
    "compare": "compare one.safetensors two.safetensors",
    "refine": "refine leduc uniform --at after-round-1 --technique resolve --iterations 2",
    "limit": "limit leduc uniform --at after-round-1",
    "match": "match uniform call --game leduc --hands 4 --aivat",
    "lbr": "lbr call --game leduc --hands 4",
    "preflop": "preflop --stack 5 --bets a --iterations 5",
    "pushfold": "pushfold --stack 10",
    "reproduce": "reproduce coin-toss",
}
"""A quick call of each command on the page."""


def fields() -> dict[str, list[str]]:
    """The fields that the page lists, by command; what is in parentheses lies deeper."""
    lines = re.findall(r"^\| `(\w+)[^`]*` \| (.*) \|$", PAGE, re.MULTILINE)
    shallow = {name: re.sub(r"\([^)]*\)|: list of.*|; with several.*", "", t) for name, t in lines}
    words = {name: re.findall(r"`([a-z]\w*)`", text) for name, text in shallow.items()}
    return {name: listed for name, listed in words.items() if name in COMMANDS}


@pytest.mark.parametrize("command", sorted(CALLS))
def test_a_command_prints_the_fields_of_the_page(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    cli: Cli = runner(capsys, monkeypatch)
    if command == "compare":
        for name in ("one", "two"):
            assert cli("endgame", *SPOT.split(), "--out", f"{name}.safetensors").code == 0
    words = [word.replace("after-round-1", "after round 1") for word in CALLS[command].split()]
    answer = cli(*words, "--json").json()
    assert len(fields()[command]) > 0
    assert set(fields()[command]) <= set(answer)


def test_every_command_of_the_page_is_called() -> None:
    assert set(fields()) == set(CALLS)

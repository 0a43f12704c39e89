"""What README and docs show can be typed as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

from subgame.cli import load

HOME = Path(__file__).parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in HOME.glob("docs/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Said on a page, and what is done instead for it to take seconds.
SHORTER = {
    "docs/flop-report.md": [
        ("--stack 975", "--stack 20"),
        ("--bets '0.33x 0.75x / raise 3r / cap 2'", "--bets '0.33x / cap 1'"),
        ("--oop '99-22,AJs-A2s,KTs+,QTs+,JTs,T9s,98s,AJo-ATo,KQo'", "--oop 'A5s,KQs,99'"),
        ("--ip '22+,A2s+,K9s+,QTs+,JTs,ATo+,KQo'", "--ip 'A5s,KQs,TT'"),
        ("--target 0.5%", "--target 20%"),
        ("--flops 25", "--flops few.txt"),
    ],
    "docs/nested.md": [("iterations=60", "iterations=2")],
    "docs/play.md": [
        ("--hands 200 --aivat", "--hands 10 --aivat --iterations 20"),
        ("--hands 50", "--hands 2 --iterations 20"),
        ("--hands 20", "--hands 2 --iterations 20"),
    ],
    "docs/depth-limited.md": [
        ("Rollouts(1000), epochs=100", "Rollouts(20), epochs=2"),
        ("--rollouts 1000", "--rollouts 20"),
        ("--out leaves", "--epochs 2 --rollouts 20 --layers 16 --out leaves"),
    ],
    "docs/endgames.md": [
        ("--stack 300 --no-merge", "--stack 50 --bets a --iterations 5 --no-merge"),
        ("reach-maxmargin --player 0", "reach-maxmargin --player 0 --iterations 2"),
        ("Qs Jh 2h 8d | r100", "Qs Jh 2h 8d | r50"),
        ("--gap 0.1", "--iterations 2"),
        ("--seconds 10", "--seconds 0.1"),
        ("unsafe,resolve,maxmargin", "unsafe,resolve"),
        ("--stack 1000 --target 0.1%", "--stack 1000 --iterations 20"),
        ("--stack 1000 --out spot", "--stack 1000 --iterations 20 --out spot"),
        ("--target 0.05%", "--iterations 30"),
        ("--folded 'random,22+:0,AT+:0' ", "--iterations 2 --oop 22+,AK --ip 99,AQ "),
    ],
}
CONNECTS = re.compile(r"^(acpc|slumbot) |=\d{5}")
"""Commands that need another program to connect to."""
TORCH = {"docs/abstraction.md", "docs/blueprints.md", "docs/depth-limited.md"}


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of the blocks of a page, in order."""
    text = (HOME / page).read_text(encoding="utf-8")
    for long, short in SHORTER.get(page, []):
        assert long in text
        text = text.replace(long, short)
    return BLOCK.findall(text)


def commands(page: str) -> list[list[str]]:
    """The words of each command on a page."""
    shown = [text for language, text in blocks(page) if not language]
    lines = "\n".join(shown).replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines if line.startswith("subgame ")]
    return [word[1:] for word in words]


def write_recipes(page: str, folder: Path) -> None:
    """Write the TOML files that a page shows, by their names."""
    for kind, text in blocks(page):
        if kind == "toml" and (result := re.search(r'^name = "(.*)"$', text, re.MULTILINE)):
            (folder / f"{result[1]}.toml").write_text(text)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text("AhKd2c 3\n8h8d7h\n", encoding="utf-8")
    return runner(capsys, monkeypatch)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_have_the_options_they_are_given(page: str) -> None:
    for name, *args in commands(page):
        load(name).make_context(name, list(args))  # raises a usage error


@pytest.mark.parametrize(
    "page", [*sorted(TORCH), "docs/endgames.md", "docs/flop-report.md", "docs/play.md"]
)
def test_commands_run_one_after_the_other(cli: Cli, page: str, tmp_path: Path) -> None:
    if page in TORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    write_recipes(page, tmp_path)
    for words in commands(page):
        if CONNECTS.search(shlex.join(words)):
            continue
        answer = cli(*words)
        assert answer.code == 0, f"{shlex.join(words)}: {answer.err}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(kind == "python" for kind, _ in blocks(page))]
)
def test_python_runs_one_after_the_other(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page in TORCH:
        pytest.importorskip("torch", reason="PyTorch is not installed (the extra 'gpu')")
    monkeypatch.chdir(tmp_path)
    write_recipes(page, tmp_path)
    names: dict[str, object] = {}
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, page, "exec"), names)

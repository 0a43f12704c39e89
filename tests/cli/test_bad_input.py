"""Input that no person types: a short clean sentence each, at once, and nothing for a terminal."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import Cli, runner

import subgame as sg

DIGITS = "9" * 5000
FEWER = "9" * 4000
"""Python reads this many digits, but no float is as large."""
ESCAPE = "x\x1b[31my\x07\x9b"
ENDGAME = "endgame --board QsJh2h8d3c --pot"


RECIPE = """
[game]
stack = 400
[bets]
all = "a"
[buckets]
flop = 2
turn = 2
river = 2
[training]
iterations = 1
"""
RECIPES = {
    "recipe": RECIPE,
    "digits": RECIPE.replace("400", DIGITS),
    "deep": f"name = {'[' * 50_000}",
    "nan": RECIPE.replace("400", "nan"),
    "text": RECIPE.replace("400", '"x"'),
    "huge": RECIPE.replace("400", "9" * 15),
    "seed": f"{RECIPE}seed = -1",
    "boards": f"{RECIPE}boards = 99999999999",
    "hours": f"{RECIPE}hours = inf",
    "buckets": re.sub("flop = [0-9]+", "flop = 1000000000", RECIPE),
}


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return runner(capsys, monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("bad")
    for ending in ("json", "efg", "safetensors", "txt"):
        os.mkfifo(at / f"pipe.{ending}")
        with (at / f"big.{ending}").open("wb") as file:
            file.truncate(10 * 2**30)
    (at / "huge-header.safetensors").write_bytes((10 * 2**30).to_bytes(8, "little"))
    (at / "digits.json").write_text(f'{{"K": {{"p": {DIGITS}}}}}')
    (at / "deep.json").write_text('{"K":' * 50_000)
    for name, text in RECIPES.items():
        (at / f"{name}.toml").write_text(text)
    (at / "null.efg").write_text('EFG 2 R "' + ESCAPE + '" { "A" "B" } oh')
    return at


SIZES = ",".join(f"{k}%" for k in range(1, 3_001))
LINES = ";".join(["1x", *(f"add,c,r{k}" for k in range(100, 3_100))])

# Arguments ({} is the folder), and words that the sentence must contain.
BAD = [
    # What took a minute before it was refused, or was accepted.
    ("solve liars-dice(faces=1000000)", "at most 1,000 bids, two for each die and face, not 2,000"),
    (f"solve liars-dice(dice={2**62})", "Liar's dice has at most 1,000 bids"),
    ("solve liars-dice(faces=500)", "A larger --memory-limit allows it."),
    ("solve goofspiel(cards=99999)", "Goofspiel has 1 to 1,000 cards each, not cards=99999"),
    ("solve no-limit-kuhn(stack=100000,bets=all)", "a stack of at most 500 chips, not 100,000"),
    ("solve no-limit-leduc(stack=100000,replies=all)", "a stack of at most 500 chips"),
    (f"{ENDGAME} 10 --stack 20 --bets {SIZES}", "a list has at most 200 sizes"),
    (f"{ENDGAME} 10 --stack 20 --bets {LINES}", "at most 200 lines can be added"),
    (f"solve kuhn --iterations {10**23}", "--iterations must be at most 1,000,000,000,000, not 1"),
    (f"match call raise --hands {10**23}", "--hands must be at most 1,000,000,000,000"),
    (f"limit kuhn uniform --at p --count {10**23}", "--count must be at most 1,000,000,000,000"),
    (f"blueprint {{}}/recipe.toml --iterations {10**23}", "--iterations must be at most 1,000,0"),
    ("blueprint {}/buckets.toml", "buckets.toml: buckets must be at most 32,767"),
    ("solve kuhn --seconds 1e400", "--seconds must be a number above 0, not inf"),
    ("refine leduc uniform --seconds inf", "--seconds must be a number above 0, not inf"),
    ("serve --seconds 1e300", "--seconds must be at most 100,000,000, not 1e+300"),
    (f"serve --workers {10**23}", "--workers must be at most 1,000,000,000,000"),
    ("solve kuhn --schedule dcfr(alpha=1e400)", "numbers must be finite or inf, not 1e400"),
    (f"solve kuhn --iterations {DIGITS}", "--iterations"),
    (f"solve kuhn --seed {FEWER}", "--seed must be a whole number from 0 to 2^63 - 1"),
    (f"solve liars-dice(faces={DIGITS})", "must be an integer, not '999999999..."),
    (f"solve liars-dice(faces={FEWER})", "must be below 2^63"),
    (f"solve random(seed={'(' * 5000}1{')' * 5000})", "'seed' of the game 'random' must be an"),
    (f"solve kuhn{'(' * 5000}", "is not a game"),
    (f"{ENDGAME} {DIGITS} --stack 100", "--pot"),
    (f"{ENDGAME} {FEWER}0 --stack 100", "must be at most 1,000,000,000,000 chips"),
    (f"{ENDGAME} 100 --stack 9999999999999", "must be at most 1,000,000,000,000 chips"),
    (f"{ENDGAME} 100 --stack {DIGITS}", "--stack: The stack must be a number of chips"),
    (f"{ENDGAME} 100 --stack 100 --bets raise{DIGITS}", "--bets"),
    (f"{ENDGAME} 100 --stack 100 --line r{DIGITS}", "The tree starts with the actions"),
    (f"train leduc uniform --out a.safetensors --layers {DIGITS}", "--layers must be whole"),
    (f"{ENDGAME} 100 --stack 100 --bets {FEWER}x", "must be a finite number"),
    (f"{ENDGAME} 100 --stack 100 --oop AA:{FEWER}", "a weight must be a number between 0 and 1"),
    (f"solve {ESCAPE}", r"called 'x\x1b[31my\x07\x9b'"),
    (f"{ESCAPE}", r"called 'x\x1b[31my\x07\x9b'"),
    (f"solve kuhn --{ESCAPE}", r"'--x\x1b[31my\x07\x9b'"),
    (f"solve kuhn --schedule {ESCAPE}", r"x\x1b[31my\x07\x9b"),
    (f"exploit kuhn {ESCAPE}.json", r"There is no file x\x1b[31my\x07\x9b.json"),
    (f"solve {ESCAPE}.py:Game", r"There is no file x\x1b[31my\x07\x9b.py"),
    ("solve a\0b.efg", "A file name cannot contain a null character"),
    ("exploit kuhn a\0b.json", "A file name cannot contain a null character"),
    ("exploit kuhn {}/digits.json", "digits.json contains a number that is too long"),
    ("exploit kuhn {}/deep.json", "nested too deeply"),
    ("exploit kuhn {}/pipe.json", "pipe.json is not a regular file"),
    ("exploit kuhn {}/pipe.safetensors", "pipe.safetensors is not a regular file"),
    ("solve {}/pipe.efg", "pipe.efg is not a regular file"),
    ("solve kuhn --resume {}/pipe.safetensors", "pipe.safetensors is not a regular file"),
    ("endgame {}/pipe.safetensors", "pipe.safetensors is not a regular file"),
    ("endgame {}/pipe.txt", "pipe.txt is not a regular file"),
    ("refine {}/pipe.safetensors", "pipe.safetensors is not a regular file"),
    ("limit kuhn uniform --at root --leaves {}/pipe.safetensors", "pipe.safetensors is not a reg"),
    ("reproduce burch2014-fig4 --quick --keep {}/pipe.txt", "pipe.txt is not a regular file"),
    ("exploit kuhn {}/big.json", "big.json has 10.0 GiB, which is more than 1.0 GiB"),
    ("solve {}/big.efg", "big.efg has 10.0 GiB"),
    ("endgame {}/big.txt", "big.txt has 10.0 GiB"),
    ("exploit kuhn {}/big.safetensors", "is not a safetensors file"),
    ("exploit kuhn {}/huge-header.safetensors", "is not a safetensors file"),
    ("exploit kuhn /dev/zero", "/dev/zero is not a regular file"),
    ("solve kuhn --resume /dev/zero", "/dev/zero is not a regular file"),
    ("endgame /dev/zero", "/dev/zero is not a regular file"),
    ("reproduce burch2014-fig4 --quick --keep /dev/zero", "/dev/zero is not a regular file"),
    ("endgame /", "/ is a folder, not a file"),
    (f"{ENDGAME} 10 --stack 20 --rake {DIGITS}", "--rake: The rake must be a share of the pot"),
    (f"{ENDGAME} 10 --stack 20 --rake-cap 5", "--rake-cap needs --rake"),
    (f"{ENDGAME} 10 --stack 20 --hand foo", "Hands are named as a hand (AhKh)"),
    ("pushfold --stack 1e308", "--stack must be a number of big blinds above 0 and at most"),
    ("pushfold --ante nan", "--ante must be at least 0 and below the stack, not nan"),
    ("pushfold --csv --json", "--csv and --json cannot be given together"),
    ("compare a b --csv --json", "--csv and --json cannot be given together"),
    (f"abstract nlfh flop={DIGITS}", "Buckets are given as STREET=COUNT"),
    ("match call raise --log /dev/zero", "/dev/zero cannot be written: it is not a regular file"),
    ("match call raise --log {}/big.txt", "big.txt is not a log of a match"),
    ("match call raise --hands 2 --dask nowhere", "There is no Dask scheduler at nowhere"),
    ("dealer call raise --game kuhn", "whole hands of hold'em such as hunl, not for kuhn"),
    ("acpc call localhost 99999999", "PORT must be from 1 to 65,535"),
    ("acpc call localhost 1 --reconnect nan", "--reconnect must be at least 0 seconds, not nan"),
    (f"acpc call {ESCAPE} 1", r"There is no dealer at x\x1b[31my\x07\x9b, port 1"),
    ("slumbot call --url http://[", "http://[/slumbot/api/new_hand cannot be reached"),
    ("report --pot 1 --stack 1 --log /dev/full", "/dev/full cannot be written: it is not a reg"),
    ("serve --seconds nan", "--seconds must be a number above 0, not nan"),
    ("serve --data /dev/null/x", "--data /dev/null/x cannot be written: Not a directory"),
    ("blueprint {}/digits.toml", "digits.toml: The recipe contains a number that is too long"),
    ("blueprint {}/deep.toml", "deep.toml: The recipe is nested too deeply"),
    ("blueprint {}/nan.toml", "nan.toml: stack must be a whole number, not nan"),
    ("blueprint {}/text.toml", "text.toml: stack must be a whole number, not 'x'"),
    ("blueprint {}/huge.toml", "huge.toml: The stack must be at most 1,000,000,000,000 chips"),
    ("blueprint {}/seed.toml", "seed.toml: seed must be a whole number from 0 to 2^63 - 1"),
    ("blueprint {}/boards.toml", "boards.toml: boards must be at most 1,000,000"),
    ("blueprint {}/hours.toml", "hours.toml: hours must be above 0, not inf"),
    ("blueprint {}/recipe.toml --hours inf", "--hours must be a number above 0, not inf"),
    ("blueprint {}/recipe.toml --minutes nan", "--minutes must be a number above 0, not nan"),
    ("blueprint {}/recipe.toml --threads 0", "--threads must be a whole number of at least 1"),
    ("blueprint {}/recipe.toml --out a.txt", "a file name that ends in .safetensors, not a.txt"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes among files")
@pytest.mark.parametrize(("line", "words"), BAD, ids=[f"{i}" for i in range(len(BAD))])
def test_bad_input_is_one_short_sentence(cli: Cli, folder: Path, line: str, words: str) -> None:
    answer = cli(*(word.replace("{}", str(folder)) for word in line.split(" ")))
    assert (answer.code, answer.out) == (2, "")
    said = answer.err.splitlines()[-1]  # a line of progress may come before it
    assert words in said
    assert said.endswith(".")
    assert len(said) < 2000
    assert said.isprintable()


def test_names_in_files_do_not_control_the_terminal(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "escape.efg"
    file.write_text(
        f'EFG 2 R "{ESCAPE}" {{ "A" "B" }} p "" 1 1 "{ESCAPE}" {{ "l{ESCAPE}" "r" }} 0 '
        't "" 1 "win" { 1, -1 } t "" 0'
    )
    answer = cli("solve", str(file), "--iterations", "2")
    assert answer.code == 0, answer.err
    assert r"x\x1b[31my" in answer.out
    assert not {"\x1b", "\x07", "\x9b"} & {*answer.out, *answer.err}


def test_a_byte_order_mark_is_ignored(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"K": {"p": 0, "b": 1}}', encoding="utf-8-sig")
    assert cli("exploit", "kuhn", str(file), "--json").code == 0


@pytest.mark.parametrize("module", ["subgame", "subgame.cli"])
def test_the_exit_code_of_the_module_is_that_of_the_command(module: str) -> None:
    words = [sys.executable, "-m", module, "nosuch"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 2


def test_game_names_must_be_strings() -> None:
    with pytest.raises(sg.SubgameError, match="must be a string, not int"):
        sg.games.load(3)  # type: ignore[arg-type]

"""A command ends its process at once, and still does what must be done at the end."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGINNINGS = {
    "alone": "",
    "beside a thread": "import threading; threading.Thread(target=sys.stdin.read).start()\n",
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize(("word", "code"), [("games", 0), ("nosuch", 2)])
def test_exit_code_output_and_exit_functions(beginning: str, word: str, code: int) -> None:
    """Output is written to the end, and what is registered for the end runs."""
    script = (
        f"import atexit, sys\n{BEGINNINGS[beginning]}"
        "atexit.register(print, 'the end')\n"
        f"sys.argv = ['subgame', {word!r}]\n"
        "from subgame.cli import run\nrun()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, input="")
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "the end"
    assert ("kuhn" in done.stdout) == (code == 0)
    assert ("no command" in done.stderr) == (code == 2)

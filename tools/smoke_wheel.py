"""Install a built wheel or sdist into an empty environment and use it as a new user would.

    python tools/smoke_wheel.py dist/*.whl
    python tools/smoke_wheel.py dist/*.tar.gz --steps version river

Every file is installed with the extra `web` into an environment of its own, in a temporary folder
outside the checkout, with a home folder that is empty. Then the steps run there, and a table says
how long each took. The exit code is 1 if one of them failed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[1] / "src"
SHIPPED = "subgame/engines/numba/shipped/"
PATIENCE = 1800
"""Seconds that a step may take: kernels are compiled, maybe on a busy machine."""

VERSIONS = """
import platform
from importlib.metadata import version
packages = [f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")]
print(", ".join([f"Python {platform.python_version()}", *packages]))
"""


class SmokeError(Exception):
    """A step that did not do what it should."""


class User:
    """Somebody with an empty environment, an empty home folder and no checkout."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python
        (folder / "home").mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        for key in ("VIRTUAL_ENV", "XDG_CACHE_HOME", "XDG_DATA_HOME"):
            kept.pop(key, None)
        self.environ = kept | {"HOME": str(folder / "home"), "TMPDIR": str(folder)}

    def install(self, file: Path, extra: str = "web", *more: str) -> str:
        """Make the environment and install the file with pip, and more packages."""
        place = self.folder / "env"
        if self.python == sys.executable:
            venv.create(place, with_pip=True)
        else:
            subprocess.run([self.python, "-m", "venv", place], check=True)
        python = str(place / "bin" / "python")
        pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, f"{file}[{extra}]", *more], check=True, cwd=self.folder)
        shown = subprocess.run(
            [python, "-c", VERSIONS], check=True, cwd=self.folder, stdout=subprocess.PIPE, text=True
        )
        return shown.stdout.strip()

    def subgame(self, *arguments: str) -> str:
        """The output of a command."""
        done = subprocess.run(
            [self.command, *arguments],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if done.returncode:
            raise SmokeError(
                f"subgame {' '.join(arguments)}: code {done.returncode}: {done.stderr}"
            )
        return done.stdout

    @property
    def command(self) -> str:
        return str(self.folder / "env" / "bin" / "subgame")


def version(user: User) -> str:
    return user.subgame("--version").strip()


def demo(user: User) -> str:
    user.subgame("demo")
    return ""


def river(user: User) -> str:
    """Solve a river to 0.1 % of the pot."""
    spot = ("--board", "QsJh2h8d3c", "--pot", "100", "--stack", "1000")
    solved = json.loads(user.subgame("endgame", *spot, "--target", "0.1%", "--json"))
    exploitability = float(solved["exploitability"])
    if not 0 <= exploitability <= 0.1:
        raise SmokeError(f"The river was solved to {exploitability} chips instead of 0.1.")
    return f"exploitability {exploitability:.3f} chips of 100"


def agent(user: User) -> str:
    """Three hands of the agent of heads-up no-limit hold'em against its blueprint."""
    played = ("match", "limited", "blueprint", "--game", "hunl", "--hands", "3", "--seconds", "1.5")
    result = json.loads(user.subgame(*played, "--json"))
    if result["hands"] != 3:
        raise SmokeError(f"{result['hands']} hands were played instead of 3.")
    return f"{result['hands']} hands"


def serve(user: User) -> str:
    """Start the workbench, ask it for a page and for its games, and stop it by Ctrl-C."""
    began = time.monotonic()
    server = subprocess.Popen(
        [user.command, "serve", "--port", "0", "--no-browser", "--data", str(user.folder / "data")],
        cwd=user.folder,
        env=user.environ | {"PYTHONUNBUFFERED": "1", "COLUMNS": "500"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = re.search(r"http://\S+/", server.stdout.readline())
        if address is None:
            raise SmokeError("subgame serve did not say its address.")
        page = _answer(address[0])
        after = time.monotonic() - began
        games = json.loads(_answer(f"{address[0]}api/games"))
        if b"<html" not in page.lower() or not games:
            raise SmokeError("subgame serve answered with something else than a page and games.")
        server.send_signal(signal.SIGINT)
        if code := server.wait(60):
            raise SmokeError(f"subgame serve ended with code {code}.")
    finally:
        server.kill()
        server.wait()
    return f"first page after {after:.1f} s"


def _answer(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=120) as response:
        return bytes(response.read())


STEPS: dict[str, Callable[[User], str]] = {
    step.__name__: step for step in (version, demo, river, agent, serve)
}


def contents(wheel: Path) -> str:
    """Check that a wheel has every file of the package, object code of kernels and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    shipped = {name for name in names if name.startswith(SHIPPED)}
    names -= shipped
    listed = subprocess.run(
        ["git", "ls-files", "subgame"], cwd=SOURCES, stdout=subprocess.PIPE, text=True, check=True
    )
    tracked = set(listed.stdout.splitlines())
    if names != tracked:
        raise SmokeError(
            f"Missing in the wheel: {sorted(tracked - names)}; "
            f"not in the repository: {sorted(names - tracked)}."
        )
    return f"{len(names)} files, {len(shipped)} of object code"


def smoke(file: Path, steps: list[str], python: str) -> bool:
    """Install one file and run the steps; print a row for each."""
    print(f"\n{file.name}, {file.stat().st_size / 1e6:.1f} MB, by {python}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="smoke-", ignore_cleanup_errors=True) as folder:
        user = User(Path(folder), python)
        runs = {"contents": partial(contents, file)} if file.suffix == ".whl" else {}
        runs["install"] = partial(user.install, file)
        runs |= {name: partial(STEPS[name], user) for name in steps}
        for name, run in runs.items():
            began = time.monotonic()
            try:
                said, good = run(), True
            except (SmokeError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                said, good = f"FAILED: {error}", False
            print(f"{name:10}{time.monotonic() - began:8.1f} s  {said}", flush=True)
            if not good:
                return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="+", type=Path, help="wheels and sdists")
    parser.add_argument("--steps", nargs="+", choices=[*STEPS], default=[*STEPS])
    parser.add_argument("--python", default=sys.executable, help="the interpreter to install into")
    options = parser.parse_args()
    results = [smoke(file.resolve(), options.steps, options.python) for file in options.files]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())

"""Everything that continues in a file of the user's, and processes that hold such a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import subgame as sg
from slumbot_stand_in import StandIn
from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.run import train
from subgame.games.holdem import Holdem, hunl
from subgame.papers import burch2014_fig4, moravcik2016_fig5
from subgame.papers.cells import cells_of
from subgame.play import Always, match
from subgame.play.protocols.client import Client
from subgame.play.protocols.remote import Remote
from subgame.play.protocols.slumbot import Slumbot, play_slumbot
from subgame.spots.flops import Flop
from subgame.spots.report import flop_report

TINY = BlueprintRecipe(
    "tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd", iterations=2
)


def _spot(flop: str) -> Holdem:
    return sg.holdem.endgame(flop, 20, 10, ("AA,KQs", "QQ,JTs"), "a / cap 1")


def _slumbot(path: Path) -> None:
    with StandIn() as there:
        play_slumbot(Always("call"), hunl(), 2, Slumbot(there.url), log=path)


def _solve(path: Path) -> None:
    tree = sg.compile(sg.games.load("kuhn"))
    sg.solve(tree, iterations=2, checkpoint=path, resume=path if path.exists() else None)


def _blueprint(path: Path) -> None:
    train(TINY, path.with_suffix(".safetensors"), checkpoint=path, resume=True)


def _fig4(path: Path) -> None:
    burch2014_fig4.run(True, 0, lambda what, share: None, keep=path)


def _fig5(path: Path) -> None:
    moravcik2016_fig5.run(True, 0, lambda what, share: None, keep=path, subgames=1, iterations=5)


def _cells(path: Path) -> None:
    with cells_of(path) as cells:
        cells.put("a | b", {"mbb/h": 1.0})


WRITERS: dict[str, Callable[[Path], object]] = {
    "match": lambda path: match("kuhn", ["uniform", "call"], 4, log=path),
    "slumbot": _slumbot,
    "acpc": lambda path: Client(Always("call"), hunl(), log=path).close(),
    "report": lambda path: flop_report([Flop("AhKd2c", 4)], _spot, target=50, log=path),
    "solve": _solve,
    "blueprint": _blueprint,
    "cells": _cells,
    "fig4": _fig4,
    "fig5": _fig5,
}
"""Each continues in the file if it is one of its own."""
FOREIGN: dict[str, Callable[[Path], object]] = {
    **WRITERS,
    "journal": lambda path: Remote(hunl(), "A", journal=path).expect(2),
}
"""The writers, and what writes besides."""

HOLDING = """
import sys
from subgame.tree.one_writer import OnlyWriter
with OnlyWriter(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def process(*words: object, waits_for: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process, once it has said what is waited for on stdout; killed at the end."""
    with subprocess.Popen(
        list(map(str, words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as running:
        try:
            assert running.stdout is not None
            while waits_for and waits_for not in (line := running.stdout.readline()):
                assert line, f"{words} ended without '{waits_for}'"
            yield running
        finally:
            running.kill()


@contextmanager
def holding(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes the file."""
    with process(sys.executable, "-c", HOLDING, path, waits_for="held") as running:
        yield running


def command(*words: object) -> list[str]:
    """A command of the package, for another process."""
    return [sys.executable, "-m", "subgame", *map(str, words)]

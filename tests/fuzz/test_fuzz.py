"""Inputs of all kinds, changed at random: no exception but the package's own.

``pytest -m fuzz`` tries a million of them, each in less than a second of CPU time.
"""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest
import targets
from targets import Target

import subgame as sg

NAMES = (
    *("ranges", "bets", "board", "line", "schedule", "game", "memory", "efg", "table", "libratus"),
    *("command", "strategy", "strategy alone", "checkpoint", "spot"),
)
CPU_MS = 150
"""Milliseconds that each reader may take in `make test`, by the costs in `targets`."""
TOTAL = int(os.environ.get("SUBGAME_FUZZ", "1000000"))
"""Inputs in all of the long run."""


def target(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    found = {each.name: each for each in (*targets.texts(folder), *targets.files(folder))}
    assert tuple(found) == NAMES
    monkeypatch.chdir(folder)
    if name == "command":
        monkeypatch.setattr(sg, "compile", targets.refuse)
    return found[name]


def attempt(each: Target, given: str | bytes) -> None:
    try:
        each.call(given)
    except sg.SubgameError:
        pass
    except Exception as error:
        pytest.fail(f"{each.name} raises {error!r} for {given!r:.2000}")


@pytest.mark.parametrize("name", NAMES)
def test_only_our_own_errors(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = target(name, tmp_path, monkeypatch)
    for seed in each.seeds:
        attempt(each, seed)
    count = min(1000, round(CPU_MS / each.cost))
    for given in itertools.islice(targets.inputs(each, 0), count):
        attempt(each, given)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", NAMES)
def test_a_million_inputs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cheaper a reader, the more inputs; as many as `SUBGAME_FUZZ` says over all readers."""
    each = target(name, tmp_path, monkeypatch)
    every = [*targets.texts(tmp_path), *targets.files(tmp_path)]
    share = each.cost**-0.5 / sum(one.cost**-0.5 for one in every)
    slowest = 0.0, b""
    for given in itertools.islice(targets.inputs(each, 1), round(TOTAL * share)):
        began = time.process_time()
        attempt(each, given)
        slowest = max(slowest, (time.process_time() - began, repr(given)[:500].encode()))
    assert slowest[0] < 1, slowest

"""Inputs of all kinds, changed at random: no exception but the package's own.

``pytest -m fuzz`` tries a million of them, each in less than a second of CPU time.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import targets
from targets import Target

import subgame as sg

NAMES = (
    *("acpc", "acpc log", "match log", "phh", "slumbot"),
    *("ranges", "bets", "board", "line", "locks", "imports", "schedule", "game", "memory", "efg"),
    *("table", "libratus"),
    *("command", "strategy", "strategy alone", "checkpoint", "spot"),
    *("log", "report log", "recipe"),
    *("buckets", "blueprint", "result card", "training", "preflop values", "flop network"),
    "compact",
)
CPU_MS = 150
"""Milliseconds that each reader may take in `make test`, by the costs in `targets`."""
OTHERS = ("", "null", "[null]", '{"a": 1}', "[[1]]", "[" + "9" * 400 + "]", "[" * 100_000)
"""What may be in a file's header in place of a text."""
TOTAL = int(os.environ.get("SUBGAME_FUZZ", "1000000"))
"""Inputs in all of the long run."""


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    folder = tmp_path_factory.mktemp("fuzz")
    makers = (targets.texts, targets.files, targets.logs, targets.trained)
    result = {target.name: target for make in makers for target in make(folder)}
    assert tuple(result) == NAMES
    return result


@pytest.fixture(params=NAMES)
def target(
    every: dict[str, Target],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Target:
    monkeypatch.chdir(tmp_path)
    if request.param == "command":
        monkeypatch.setattr(sg, "compile", targets.refuse)
    return every[request.param]


def attempt(target: Target, arguments: str | bytes) -> None:
    try:
        target.call(arguments)
    except sg.SubgameError:
        pass
    except Exception as error:
        pytest.fail(f"{target.name} raises {error!r} for {arguments!r:.2000}")


def test_only_our_own_errors(target: Target) -> None:
    for seed in target.seeds:
        attempt(target, seed)
    count = min(1000, round(CPU_MS / target.cost))
    for arguments in itertools.islice(targets.inputs(target, 0), count):
        attempt(target, arguments)


@pytest.mark.parametrize("name", ["checkpoint", "spot"])
def test_metadata_of_another_form(name: str, every: dict[str, Target]) -> None:
    """JSON in the header of a file is replaced by JSON that is not what it should be."""
    target = every[name]
    for seed in target.seeds:
        assert isinstance(seed, bytes)
        size = int.from_bytes(seed[:8], "little")
        header = json.loads(seed[8 : 8 + size])
        result = [key for key, text in header["__metadata__"].items() if text[:1] in ("[", "{")]
        for key, value in itertools.product(result, OTHERS):
            changed = header | {"__metadata__": header["__metadata__"] | {key: value}}
            raw = json.dumps(changed).encode()
            attempt(target, len(raw).to_bytes(8, "little") + raw + seed[8 + size :])


@pytest.mark.fuzz
def test_a_million_inputs(
    target: Target, every: dict[str, Target], record_property: Callable[[str, object], None]
) -> None:
    """The cheaper a reader, the more inputs; as many as `SUBGAME_FUZZ` says over all readers.

    ``--junitxml`` keeps how many there were and the slowest.
    """
    share = target.cost**-0.5 / sum(one.cost**-0.5 for one in every.values())
    inputs = math.ceil(TOTAL * share)
    slowest = 0.0, b""
    for arguments in itertools.islice(targets.inputs(target, 1), inputs):
        began = time.process_time()
        attempt(target, arguments)
        slowest = max(slowest, (time.process_time() - began, repr(arguments)[:500].encode()))
    record_property("inputs", inputs)
    record_property("slowest_s", round(slowest[0], 3))
    assert slowest[0] < 1, slowest

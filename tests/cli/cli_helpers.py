"""Runs the command line within the test's process and keeps what it said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import pytest

from subgame.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout; NaN and infinities are refused."""

        def refuse(text: str) -> NoReturn:
            raise AssertionError(f"{text} is not JSON")

        assert self.out.count("\n") == 1
        answer = json.loads(self.out, parse_constant=refuse)
        assert isinstance(answer, dict)
        return answer


Cli = Callable[..., Answer]


def runner(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*args: str) -> Answer:
        capsys.readouterr()
        code = main(args)
        said = capsys.readouterr()
        return Answer(code, said.out, said.err)

    return run

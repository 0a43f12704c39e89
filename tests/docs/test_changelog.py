"""The changelog: every name of the package on it exists."""

from __future__ import annotations

import re
from pathlib import Path

from test_papers_map import exists

import subgame as sg
from subgame.cli import COMMANDS

PAGE = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_name_exists() -> None:
    names = re.findall(r"`sg\.([\w.]+)`", PAGE)
    modules = re.findall(r"`(subgame\.[\w.]+)`", PAGE)
    commands = re.findall(r"`subgame (\w+)[^`]*`", PAGE)
    assert len(names) > 15
    assert len(modules) > 2
    assert len(commands) > 20
    assert [name for name in names if not hasattr(sg, name.partition(".")[0])] == []
    assert [name for name in modules if not exists(name)] == []
    assert set(commands) <= set(COMMANDS)

"""A spot is read alike from Python, from a command line and from a page."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("fastapi")

from subgame.cli.spot import Spot as Options
from subgame.errors import FieldError, SubgameError
from subgame.games.holdem.spots import SpotForm
from subgame.serve.spots import Spot as Page

GOOD: dict[str, Any] = {"board": "QsJh2h8d3c", "pot": 100.0, "oop": "AA,KQs", "ip": "QJ"}
OPTIONS = {"stacks": "stack", "added": "add_line", "removed": "remove_line"}


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("board", {"board": "QsJh"}),
        ("board", {"board": "QsJx2h"}),
        ("pot", {"pot": -1.0}),
        ("stacks.1", {"stacks": (100.0, 0.5)}),
        ("oop", {"oop": "AA,KQx"}),
        ("oop", {"oop": "QsJs"}),
        ("ip", {"ip": "AA:0"}),
        ("dead", {"dead": "8d"}),
        ("min_bet", {"min_bet": 0.0}),
        ("rake", {"rake": 1.5}),
        ("added", {"added": ["b50"]}),
        ("removed", {"removed": ["r77"]}),
    ],
)
def test_the_same_sentence_everywhere(field: str, change: dict[str, Any]) -> None:
    spot = {"stacks": (150.0, 150.0), **GOOD, **change}
    with pytest.raises(FieldError) as form:
        SpotForm(**spot, bets="river: none").game()
    with pytest.raises(FieldError) as page:
        Page(**spot).game()
    assert {*form.value.fields} == {*page.value.fields} == {field}
    assert form.value.fields == page.value.fields
    texts: dict[str, Any] = {
        OPTIONS.get(name, name): "/".join(map(str, value)) if name == "stacks" else value
        for name, value in spot.items()
    }
    for name in ("pot", "min_bet", "rake"):
        if name in texts:
            texts[name] = str(texts[name])
    with pytest.raises(SubgameError) as options:
        Options(**dict.fromkeys(Options.__dataclass_fields__) | texts | {"bets": "none"}).game(None)
    name = OPTIONS.get(field.split(".")[0], field).replace("_", "-")
    start = f"--{name}: {form.value.fields[field]}".split(", not ")[0]
    assert str(options.value).startswith(start)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(FieldError) as caught:
        SpotForm("Qs", 0, "5/x", "AA", "KQy", bets="5y", rake="much").game()
    assert {*caught.value.fields} == {"board", "pot", "stacks.1", "ip", "bets", "rake"}

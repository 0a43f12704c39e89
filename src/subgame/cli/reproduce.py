"""``subgame reproduce``: run the experiments of the papers again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.text import Text

from subgame.cli.arguments import JsonOption, argument, completing, grouped, opt
from subgame.cli.common import announce, emit, finish, save_files, stdout
from subgame.cli.progress import Meter, warm_up
from subgame.errors import SubgameError, did_you_mean


def _keys() -> Iterable[str]:
    from subgame.papers import KEYS

    return KEYS


@grouped
def reproduce_command(
    key: str | None = argument(
        "[KEY]",
        "The experiment. Without it, all experiments are listed.",
        None,
        autocompletion=completing(_keys),
    ),
    quick: bool = opt(False, None, "Run a smaller version, which takes a minute or two at most."),
    out: Path | None = opt(None, "FOLDER", "Write KEY.json, KEY.png and KEY.svg to FOLDER."),
    seed: int = opt(0, "N", "Seed of random choices."),
    budget: float | None = opt(
        None, "S", "CPU seconds for an experiment too large to run in full, such as burch2014-fig4."
    ),
    keep: Path | None = opt(
        None,
        "FILE",
        "Keep results in FILE as they come, and continue from it after an interruption.",
    ),
    setting: list[str] | None = opt(
        None, "NAME=VALUE", "Choose a setting of the experiment. Repeatable.", name="--set"
    ),
    json: JsonOption = False,
) -> None:
    """Reproduce an experiment of a paper and compare the figures.

    [bold]Examples[/]

    subgame reproduce

    subgame reproduce coin-toss

    subgame reproduce burch2014-fig3 --quick

    subgame reproduce burch2014-fig5 --out results

    subgame reproduce moravcik2016-fig5 --set subgames=20 --set iterations=500 --keep fig5.jsonl
    """
    from subgame.papers import KEYS

    if key is None:
        _list(json)
        return
    if key not in KEYS:
        raise did_you_mean("reproduction", key, KEYS)
    _check_folder(out)
    chosen = dict(_named(text) for text in setting or ())
    asked: dict[str, Any] = {"budget": budget, "keep": keep, "chosen": chosen}
    KEYS[key].options(quick, seed, **asked)
    if not quick and budget is None and "second" not in KEYS[key].takes:
        announce(f"{key} takes {KEYS[key].takes}. With --quick it takes a minute or two at most.")
    with Meter(key) as meter:
        warm_up(meter, "cfr")
        report = KEYS[key].run(quick, seed, meter.sharing(), **asked)
    if json:
        emit(report.as_dict())
    else:
        stdout().print(report.text(stdout().width), markup=False, end="", soft_wrap=True)
    written: list[Path] = []
    failure = save_files((out, lambda folder: written.extend(report.save(folder))))
    for file in written:
        announce(f"Wrote {file}")
    finish(failure)


def _named(text: str) -> tuple[str, str]:
    """The name and the value of a setting."""
    name, equals, value = text.partition("=")
    if not equals:
        raise SubgameError(f"--set needs NAME=VALUE, such as iterations=1000, not '{text}'.")
    return name, value


def _check_folder(out: Path | None) -> None:
    """Refuse a folder that cannot be written to, before any work is done."""
    if out is None:
        return
    near = next(folder for folder in (out, *out.parents) if folder.exists())
    if not near.is_dir():
        raise SubgameError(f"--out {out} cannot be written: {near} is not a folder.")
    if not os.access(near, os.W_OK):
        raise SubgameError(f"--out {out} cannot be written: {near} is write-protected.")


def _list(json: bool) -> None:
    from subgame.papers import KEYS

    names = ("key", "paper", "what", "takes")
    rows = [{name: getattr(key, name) for name in names} for key in KEYS.values()]
    if json:
        emit({"reproductions": rows})
        return
    console = stdout()
    from subgame.cli.console import next_steps, table

    shown = table("key", "paper", "experiment", "time", title="Experiments of the papers")
    for key, *rest in (row.values() for row in rows):
        shown.add_row(Text(key, "cyan"), *rest)
    console.print(shown)
    next_steps(
        console,
        ("subgame reproduce coin-toss", "run a first one, in a second"),
        ("subgame reproduce burch2014-fig3 --quick", "run a smaller version of a long one"),
        ("subgame reproduce burch2014-fig5 --out results", "write files and plots"),
    )

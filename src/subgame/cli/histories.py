"""``subgame histories``: hands of matches as other programs write them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from subgame.cli.arguments import JsonOption, argument, grouped, opt
from subgame.cli.common import (
    check_apart,
    check_readable,
    check_writable,
    emit,
    load_game,
    save_files,
    stdout,
)
from subgame.cli.match import GameOption
from subgame.cli.progress import Meter
from subgame.errors import check_regular

if TYPE_CHECKING:
    from subgame.play.match import Estimate
    from subgame.play.protocols.histories import History


@grouped
def histories_command(
    *,
    file: Path = argument(
        "FILE",
        "Hands: FILE.jsonl of a match, FILE.phhs or FILE.phh, or FILE.log of a dealer of the ACPC.",
    ),
    out: Path | None = opt(None, "FILE", "Write the hands as FILE.phhs, FILE.log or FILE.jsonl."),
    game: GameOption = "hunl",
    check: bool = opt(False, None, "Replay every hand through PokerKit."),
    aivat: bool = opt(
        False, None, "Estimate the result by AIVAT, from the strategy that the log has kept."
    ),
    policies: Path | None = opt(
        None, "FILE", "If FILE is the log of a dealer: the log that subgame acpc --aivat wrote."
    ),
    blueprint: Path | None = opt(
        None,
        "FILE",
        "The blueprint from which AIVAT takes its values.",
        "for hunl the one in the package",
    ),
    json: JsonOption = False,
) -> None:
    """Convert and check hand histories: logs of matches, PHH, ACPC.

    PHH is the format of PokerKit; a .phhs file has many hands. The .log of a dealer of the ACPC
    does not say which game was played, so --game must say it. Every hand that is read is checked by
    the rules of this package. Reading PHH and --check need PokerKit: pip install
    'subgame\\[histories]'.

    [bold]Examples[/]

    subgame match call raise --game hunl --hands 100 --log match.jsonl

    subgame histories match.jsonl --out match.phhs

    subgame histories match.jsonl --out match.log --check

    subgame histories slumbot.jsonl --aivat
    """
    check_readable("--policies", policies, "a log of subgame acpc --aivat")
    check_readable("--blueprint", blueprint, "a blueprint made by subgame blueprint")
    check_regular(file, "hands")
    check_writable("--out", out)
    check_apart(("FILE", file), ("--out", out))
    from subgame.play.protocols.acpc import whole_game
    from subgame.play.protocols.histories import (
        check_hands,
        estimated,
        read_history,
        with_policies,
        write_history,
    )

    with Meter("hands") as meter:
        progress = meter.counting("Replaying hands")
        history = read_history(file, whole_game(load_game(game)))
        checked = check_hands(history, progress) if check else 0
        history = history if policies is None else with_policies(history, policies)
        result = None
        if aivat:
            values = None if blueprint is None else str(blueprint)
            history, *result = estimated(history, values, progress)
        write = partial(write_history, history, progress=progress)
        failed = save_files((out, write))
    written = None if failed else out
    if json:
        said = {"checked": checked, "out": None if written is None else str(written)}
        emit(_summary(history) | said | _estimates(history, result))
    else:
        _show(history, check, written)
        if result is not None:
            _show_estimates(history, result)
    if failed is not None:
        raise failed


def _summary(history: History) -> dict[str, object]:
    """What was read, for JSON."""
    names, hands = list(history.names), len(history.hands)
    return {"game": str(history.game), "agents": names, "hands": hands}


def _estimates(history: History, result: list[Estimate] | None) -> dict[str, Any]:
    """The results for JSON; nothing without --aivat."""
    if result is None:
        return {}
    less, plain = result
    return {
        "unit": history.game.unit[0],
        "mean": plain.mean,
        "interval95": plain.interval95,
        "aivat_mean": less.mean,
        "aivat_interval95": less.interval95,
    }


def _show_estimates(history: History, result: list[Estimate]) -> None:
    less, plain = (f"{one.mean:+.4g} ± {one.interval95:.3g}" for one in result)
    unit, name = history.game.unit[0], history.names[0]
    stdout().print(Text(f"{name} wins {less} {unit} by AIVAT, {plain} {unit} in chips"))


def _show(history: History, check: bool, out: Path | None) -> None:
    said = f"{len(history.hands):,} hands between {' and '.join(history.names)}"
    said += ", replayed through PokerKit without a rule broken" if check else ""
    said += f", written to {out}" if out is not None else ""
    stdout().print(Text(said))

"""``subgame pushfold``: the Nash chart of push or fold for a stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subgame.cli.arguments import JsonOption, grouped, opt
from subgame.cli.common import check_form, emit, stdout

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from subgame.spots.pushfold import PushFold


@grouped
def pushfold_command(
    stack: float = opt(10.0, "BB", "Big blinds that each player has."),
    ante: float = opt(0.0, "BB", "Big blinds that each player adds as an ante."),
    small_blind: float = opt(0.5, "BB", "The small blind, in big blinds."),
    csv: bool = opt(False, None, "Print a table of all 169 classes as CSV instead."),
    json: JsonOption = False,
) -> None:
    """Show the equilibrium of push or fold before the flop, heads up.

    The small blind goes all-in or folds; the big blind calls or folds. Equities are exact: all
    boards and all pairs of hands. The charts show how often each class of hands is pushed and
    called. ++ is always, a number is a percentage, and a dot is never.

    [bold]Examples[/]

    subgame pushfold --stack 10

    subgame pushfold --stack 7.7 --ante 0.1 --csv > chart.csv
    """
    check_form(csv, json)
    from subgame.spots.pushfold import push_fold

    chart = push_fold(stack, small_blind=small_blind, ante=ante)
    if csv:
        print(chart.table().to_csv(), end="")
    elif json:
        emit(
            {
                "stack": chart.stack,
                "ante": ante,
                "value": chart.value,
                "exploitability": chart.exploitability,
                "push": chart.push,
                "call": chart.call,
                "push_ev": chart.push_ev,
                "call_ev": chart.call_ev,
            }
        )
    else:
        _print(stdout(), chart)


def _print(console: Console, solution: PushFold) -> None:
    from rich.text import Text

    for title, chart in (("Small blind: push", solution.push), ("Big blind: call", solution.call)):
        share = sum(often * _combos(name) for name, often in chart.items()) / 1326
        heading = f"{title}   {100 * share:.1f} % of hands, {solution.stack:g} big blinds"
        console.print(Text(heading, style="bold"))
        names = list(chart)
        for row in range(13):
            line = Text()
            for name in names[13 * row : 13 * row + 13]:
                line.append_text(_cell(name, chart[name]))
            console.print(line)
        console.print()
    console.print(
        f"  The small blind wins {solution.value:+.4f} big blinds a hand; a best response gains "
        f"{solution.exploitability:.1g}.",
        soft_wrap=True,
    )


def _combos(name: str) -> int:
    return {"s": 4, "o": 12}.get(name[2:], 6)


def _cell(name: str, often: float) -> Text:
    from rich.text import Text

    mark = "++" if often > 0.995 else " ." if often < 0.005 else f"{100 * often:2.0f}"
    style = "bold green" if often > 0.995 else "dim" if often < 0.005 else "yellow"
    return Text(f"{name:<3} {mark} ", style=style)

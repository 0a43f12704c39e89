"""``subgame compare``: two saved solutions side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from subgame.cli.arguments import JsonOption, argument, grouped, opt
from subgame.cli.common import check_form, check_spot, emit, stdout
from subgame.errors import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from subgame.spots.compare import Comparison, DecisionPair

PERCENT = 100


@grouped
def compare_command(
    one: Path = argument("A", "A spot saved by endgame --out.", show_default=True),
    two: Path = argument("B", "The spot to compare it with.", show_default=True),
    line: str = opt("", "ACTIONS", "Compare the decision after these actions and cards.", False),
    hand: str = opt("", "HANDS", "Only these hands: AhKh, AKs or a range.", False),
    action: str | None = opt(None, "NAME", "Show the differences of this action in the grid."),
    csv: bool = opt(False, None, "Print one line per hand as CSV instead."),
    json: JsonOption = False,
) -> None:
    """Compare two saved solutions of a hold'em spot.

    The output shows frequencies and EV in both, and the differences.

    The two may differ in ranges, stacks or bet sizes, or be a blueprint and its refinement. If they
    have the same tree, the output also shows what each player loses by playing A's strategy
    instead of B's against an opponent who plays B's.

    [bold]Examples[/]

    subgame compare blueprint.safetensors refined.safetensors

    subgame compare small-bets.safetensors big-bets.safetensors --line check --hand 77+

    subgame compare a.safetensors b.safetensors --csv > differences.csv
    """
    check_form(csv, json)
    check_spot(one)
    check_spot(two)

    from subgame.refine.ranges.compact_spots import open_spot
    from subgame.spots.compare import Comparison
    from subgame.spots.decisions import hands_in

    both = Comparison(open_spot(one), open_spot(two))
    pair = both.at(line)
    hands_in(pair.one.tree.holdem.deck, hand)
    if action is not None and action not in pair.actions:
        raise did_you_mean("action", action, pair.actions)
    if csv:
        print(pair.table(hand).to_csv(), end="")
    elif json:
        emit(
            {
                "line": pair.one.line,
                "same_tree": both.same_tree,
                "summary": list(both.summary()),
                "actions": list(pair.actions),
                "hands": list(pair.table(hand)),
                "classes": list(pair.table(hand, hands=False)),
            }
        )
    else:
        _print(stdout(), both, pair, hand, action)


def _print(
    console: Console, both: Comparison, pair: DecisionPair, hand: str, action: str | None
) -> None:
    from rich.text import Text

    from subgame.cli.console import table
    from subgame.cli.endgame_view import title

    console.print(title(pair.one))
    numbers = ("A", "B", "B - A")
    shown = table("action", *numbers, numbers=numbers, title="How often, over the whole range")
    changes = {}
    for name, places in pair.actions.items():
        a, b = (
            float(d.frequency[at]) if at >= 0 else 0.0
            for d, at in zip((pair.one, pair.two), places, strict=True)
        )
        changes[name] = abs(b - a)
        shown.add_row(name, *(f"{100 * x:.1f} %" for x in (a, b)), f"{100 * (b - a):+.1f}")
    console.print(shown)
    chosen = action or max(changes, key=lambda name: changes[name])
    console.print(Text(f"{chosen}: percentage points more often in B than in A", style="bold"))
    _grid(console, pair, chosen)
    console.print()
    if hand:
        _hands(console, pair, hand)
    columns = ("EV A", "EV B", "B - A", "equity A", "equity B", "A loses")
    values = table("player", *columns, numbers=columns, title="From the start of the spot")
    for row in both.summary():
        lost = f"{row['lost']:.3f}" if "lost" in row else "other tree"
        values.add_row(
            row["player"].upper(),
            f"{row['ev one']:,.2f}",
            f"{row['ev two']:,.2f}",
            f"{row['ev difference']:+,.2f}",
            *(f"{100 * row[f'equity {name}']:.1f} %" for name in ("one", "two")),
            lost,
        )
    console.print(values)


def _grid(console: Console, pair: DecisionPair, action: str) -> None:
    import numpy as np
    from rich.text import Text

    from subgame.games.holdem.ranges import class_names

    deck = pair.one.tree.holdem.deck
    names, change = class_names(deck), PERCENT * pair.difference(action)
    side = deck.num_ranks
    for row in range(side):
        line = Text()
        for k in range(row * side, row * side + side):
            if np.isnan(change[k]):
                line.append("   ·    ", style="dim")
                continue
            style = "red" if change[k] > 1 else "blue" if change[k] < -1 else "dim"
            line.append(f"{names[k]:<3}{change[k]:+4.0f} ", style=style)
        console.print(line)


def _hands(console: Console, pair: DecisionPair, hand: str) -> None:
    from subgame.cli.console import table

    columns = ["hand", "EV A", "EV B", *pair.actions]
    columns += ["loss"] if pair.same_actions else []
    shown = table(*columns, numbers=columns[1:], title="Frequencies in A and B; loss by those of A")
    for row in pair.table(hand):
        often = (
            f"{100 * row[f'{n} one']:.0f} / {100 * row[f'{n} two']:.0f} %" for n in pair.actions
        )
        loss = [f"{row['loss']:.3f}"] if "loss" in row else [""] * pair.same_actions
        shown.add_row(row["hand"], f"{row['ev one']:,.2f}", f"{row['ev two']:,.2f}", *often, *loss)
    console.print(shown)

"""The output of ``subgame refine``: exploitability, margins and the refined strategy.

In small games there is a line per root infoset. In hold'em root infosets are hands, a thousand or
more, so margins are shown as quantiles and for the hands where they are smallest and largest.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.common import seconds_text
from subgame.cli.console import (
    Facts,
    change_text,
    next_steps,
    number_text,
    one_line,
    strategy_table,
    table,
)
from subgame.cli.line import PLACE, Line
from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.refine.report import Part, Refinement
    from subgame.solve.evaluate import Exploitability
    from subgame.tree.strategy import Strategy

SHOWN = 12
"""Number of root infosets (in hold'em of subgames) shown, those with the smallest margins."""
SHOWN_ROWS = 6
"""Number of infosets of the refined strategy that are shown."""
WORST, BEST = 6, 3
"""Number of hands of different ranks shown, with the smallest and the largest margins."""
QUANTILES = (0.05, 0.5, 0.95)
SEATS = ("OOP", "IP")
MEANING = (
    ("cbv", "what the opponent could win here against the strategy before"),
    ("gift", "what the opponent gave up on the way here; reach techniques allow for it"),
    ("alternative", "what the gadget paid the opponent for not entering"),
    ("value", "what the opponent can win here now"),
    ("margin", "cbv + gift - value"),
)
OWN = ("--technique", "--split", "--scale", "--refined", "--form", "--keep-safe", "--out", "--plot")
"""Options that are not kept when another technique is suggested."""
SLACK = -1e-9
"""Margins below this are shown in red."""


def show(
    console: Console,
    founds: Sequence[Refinement],
    rough: Strategy,
    line: Line,
    out: Path | None,
    spot: Path | None,
) -> None:
    """Show one technique in full, or a line for each of several; `spot` is a saved spot."""
    from subgame.games.holdem.sizes import number
    from subgame.tree.ranges.tree import RangeTree

    first, tree = founds[0], rough.tree
    start = tree.holdem.start() if isinstance(tree, RangeTree) else None
    # Before the flop the pot is no measure.
    pot = number(start.pot) if start is not None and start.street else 0
    if len(founds) > 1:
        console.print(Text(f"{first.game}, refined with {len(founds)} techniques", style="bold"))
        console.print(_by_technique(founds, pot), end="")
        note = (
            "Exploitability: what a best response wins, mean of both seats.\n"
            "  Margin: how much less the opponent can win at a root infoset than before, gifts "
            "included.\n  Kept: parts where a safe technique keeps the blueprint."
        )
        console.print(Text(f"  {note}", style="dim"))
    else:
        console.print(Text(f"{first.game}, refined with {first.technique.name}", style="bold"))
        console.print(_summary(first, pot))
        if start is not None:
            _hands(console, first, rough)
        else:
            _infosets(console, first)
    _lead_on(console, founds, line, out, spot)


# Exploitability ------------------------------------------------------------------------------
def _share(value: float, pot: float) -> str:
    return f"{100 * value / pot:.3g} % of the pot" if pot else ""


def _summary(result: Refinement, pot: float) -> Table:
    grid = Facts()
    add, word = grid.add, change_text(result.before, result.after)
    before, after = max(result.before.mean, 0.0), max(result.after.mean, 0.0)
    note = "what a best response wins, mean of both seats"
    add("exploitability before", number_text(before), _share(before, pot), note)
    add("exploitability after", number_text(after), _share(after, pot), word)
    add("smallest margin", number_text(result.margin))
    if result.technique.is_safe:
        add("blueprint kept in", f"{len(result.kept)}", f"of {len(result.parts)} gadget games")
    solved = f"one per subgame and player, solved by {result.schedule}"
    add("gadget games", f"{len(result.parts)}", solved)
    add("time", seconds_text(result.seconds))
    return grid


def _by_technique(founds: Sequence[Refinement], pot: float) -> Table:
    """A line for the strategy before, and one for each technique."""
    share = ["% of pot"] if pot else []
    numbers = ["exploitability", *share, "smallest margin", "median", "kept", "time"]
    shown = table("technique", *numbers, numbers=numbers)
    for column in shown.columns:
        column.no_wrap = True

    def told(gap: Exploitability) -> list[str]:
        mean = max(gap.mean, 0.0)
        return [number_text(mean), *([f"{100 * mean / pot:.3g}"] if pot else [])]

    import numpy as np

    shown.add_row(Text("before", "dim"), *told(founds[0].before), end_section=True)
    for result in founds:
        margins = np.concatenate([part.margins[part.weight > 0] for part in result.parts])
        middle = float(np.median(margins)) if len(margins) else 0.0
        bad = "red" if result.margin < SLACK else ""
        shown.add_row(
            result.technique.name,
            *told(result.after),
            Text(number_text(result.margin), bad),
            f"{middle:.4g}",
            f"{len(result.kept)}" if result.technique.is_safe else "",
            seconds_text(result.seconds),
        )
    return shown


# Small games ---------------------------------------------------------------------------------
def _infosets(console: Console, result: Refinement) -> None:
    """The root infosets with the smallest margins, and the first rows of the strategy."""
    rows = sorted(result.rows(), key=lambda line: line["margin"])
    columns = ("subgame", "player", "infoset", "cbv", "gift", "alternative", "value", "margin")
    shown = table(*columns, numbers=["player", *columns[3:]], title="Root infosets of the opponent")
    for line in rows[:SHOWN]:
        bad = line["margin"] < SLACK
        cells = [Text(one_line(str(line[key]))) for key in columns[:3]]
        cells += [Text(number_text(line[key]), "red" if bad else "") for key in columns[3:]]
        shown.add_row(*cells)
    console.print(shown, end="")
    if len(rows) > SHOWN:
        console.print(Text(f"  … and {len(rows) - SHOWN:,} with larger margins", style="dim"))
    _explain(console, result)
    sides = result.strategy.tree.players
    names = [
        (part.player, name)
        for part in result.parts
        for name in part.subgame.tree.players[part.player].names
    ]
    first = names[:SHOWN_ROWS]
    plays = [(p, name, result.strategy.row(p, sides[p].index[name])) for p, name in first]
    console.print(strategy_table(plays, "plays now", len(names) - SHOWN_ROWS))


def _explain(console: Console, result: Refinement) -> None:
    for name, what in MEANING:
        console.print(Text(f"  {name:<12} {what}", style="dim"))
    console.print(Text(f"  {result.technique.promise}", style="dim"))


# Hold'em -------------------------------------------------------------------------------------
class Hand(NamedTuple):
    """A hand that the opponent may hold at the root of a part."""

    part: Part
    s: int
    margin: float


def _hands(console: Console, result: Refinement, rough: Strategy) -> None:
    """Margins as quantiles and of the extreme hands, and the frequencies of actions."""
    console.print(_quantiles(result), end="")
    left = len(result.parts) - SHOWN
    if left > 0:
        console.print(Text(f"  … and {left:,} with larger margins", style="dim"))
    columns = ("cbv", "gift", "alternative", "value", "margin")
    several = len({part.subgame.name for part in result.parts}) > 1
    names = (*(["subgame"] if several else []), "held by", "hand")
    shown = table(
        *names, *columns, numbers=columns, title="Hands with the smallest and the largest margins"
    )
    low, high = _ends(result, WORST, 1), _ends(result, BEST, -1)
    taken = {(id(part), s) for part, s, _ in low}
    high = [hand for hand in reversed(high) if (id(hand.part), hand.s) not in taken]
    for k, (part, s, margin) in enumerate([*low, *high]):
        numbers = (part.cbv, part.gifts, part.alternatives, part.values)
        bad = "red" if margin < SLACK else ""
        shown.add_row(
            *([part.subgame.name] if several else []),
            SEATS[1 - part.player],
            part.infosets[s],
            *(number_text(float(number[s])) for number in numbers),
            Text(number_text(margin), bad),
            end_section=k == len(low) - 1,
        )
    console.print(shown, end="")
    note = "One hand for each pair of ranks; --json has them all. Net chips: EV less half the pot."
    console.print(Text(f"  {note}", style="dim"))
    _explain(console, result)
    if result.parts[0].subgame.name == "root":
        console.print(_frequencies(result, rough))


def _quantiles(result: Refinement) -> Table:
    """Each gadget game's margins, those with the smallest first."""
    import numpy as np

    marks = [f"{100 * q:g} %" if q != 0.5 else "median" for q in QUANTILES]
    numbers = ("hands", "below 0", "smallest", *marks, "largest")
    shown = table(
        "subgame", "held by", *numbers, numbers=numbers, title="Margins of the opponent's hands"
    )
    for part in sorted(result.parts, key=lambda part: part.margin)[:SHOWN]:
        margins = part.margins[part.weight > 0]
        below = int((margins < SLACK).sum())
        points = np.quantile(margins, (0, *QUANTILES, 1)).tolist() if len(margins) else []
        cells = [Text(f"{x:.4g}", "red" if x < SLACK else "") for x in points]
        seat, counts = SEATS[1 - part.player], (f"{len(margins):,}", f"{below:,}")
        shown.add_row(part.subgame.name, seat, *counts, *cells)
    return shown


def _ends(result: Refinement, count: int, sign: int) -> list[Hand]:
    """The hands with the smallest (sign -1: largest) margins; one for each pair of ranks."""
    out = [hand for part in result.parts for hand in _of_different_ranks(part, count, sign)]
    return sorted(out, key=lambda hand: sign * hand.margin)[:count]


def _of_different_ranks(part: Part, count: int, sign: int) -> Iterator[Hand]:
    margins, seen = part.margins, set[str]()
    order = (sign * margins).argsort(kind="stable")
    for s in order[part.weight[order] > 0].tolist():
        ranks = part.infosets[s][0::2]  # a hand is named AhKd
        if ranks not in seen:
            seen.add(ranks)
            yield Hand(part, s, float(margins[s]))
        if len(seen) == count:
            return


def _frequencies(result: Refinement, rough: Strategy) -> Table:
    """The frequencies of the first actions, before and after."""
    from subgame.cli.endgame_view import title
    from subgame.spots.browse import decision

    start, lines = decision(rough).betting, [""]
    checked = start.child("c")
    if not checked.is_over and checked.street == start.street:
        lines.append("c")
    numbers = ("before", "now")
    shown = table("decision", "action", *numbers, numbers=numbers, title="Frequencies of actions")
    for line in lines:
        then, now = decision(rough, line), decision(result.strategy, line)
        often = zip(now.names, then.frequency.tolist(), now.frequency.tolist(), strict=True)
        for k, (name, before, after) in enumerate(often):
            cells = (f"{100 * share:.1f} %" for share in (before, after))
            last = k == len(now.names) - 1
            shown.add_row("" if k else title(now), name, *cells, end_section=last)
    return shown


def not_saved(
    out: Path | None, what: str, before: Exploitability, after: Exploitability
) -> SubgameError | None:
    """The error for a strategy that is worse than the one before, and so is not saved."""
    if out is None:
        return None
    return SubgameError(
        f"{out} was not saved, because {what} made the strategy more exploitable: {before:.4g} "
        f"before, {after:.4g} after. Give --allow-worse to save it all the same."
    )


# Next steps ----------------------------------------------------------------------------------
def _lead_on(
    console: Console, founds: Sequence[Refinement], line: Line, out: Path | None, spot: Path | None
) -> None:
    first = founds[0]
    for result in founds:
        if kept_in := result.kept_text:
            named = f"{result.technique.name}: " if len(founds) > 1 else ""
            console.print(Text(f"  {named}{kept_in}", "yellow"))
    if len(founds) > 1:
        best = min(founds, key=lambda result: result.after.mean).technique.name
        kept = line.again(f"--technique {best}", without=["--technique"])
        steps = [(kept, "show the best technique in full")]
    else:
        kept = line.again(without=["--out"])
        other = "maxmargin" if first.technique.name != "maxmargin" else "reach-maxmargin"
        steps = [
            (line.again(f"--technique {name}", without=[*OWN, *left_out]), what)
            for name, what, left_out in (
                (other, "try another technique", ()),
                ("all", "compare all techniques", _not_for_all(first)),
            )
        ]
    if out is None:
        steps.append((f"{kept} --out refined.safetensors", "save the refined strategy"))
    elif spot is not None:
        shown = line.then("endgame", shlex.quote(str(out)), ["--threads", *PLACE])
        steps.append((shown, "show it hand by hand"))
    else:
        files = shlex.join([line.arguments[0], str(out)])
        evaluate = line.then("exploit", files, PLACE)
        steps.append((evaluate, "see where it still loses most"))
    next_steps(console, *steps)


def _not_for_all(result: Refinement) -> Sequence[str]:
    """Options that some techniques refuse: distributional ones have no gap and no LP."""
    return ["--gap", "--schedule"] if result.schedule == "lp" else ["--gap"]

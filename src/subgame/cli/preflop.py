"""``subgame preflop``: preflop ranges heads up, with opens, 3-bets and calls of any size."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from subgame.cli.arguments import (
    DEVICE_HELP,
    JsonOption,
    check_memory,
    complete_device,
    grouped,
    option,
)
from subgame.cli.common import check_device, check_form, check_least, emit, iterations_text, stdout
from subgame.cli.progress import Meter, range_memory
from subgame.errors import SubgameError, human_bytes

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.spots.decisions import Decision
    from subgame.spots.preflop import PreflopDecision
    from subgame.spots.tables import Table

BETS = "2.5r / raise 3r a / cap 4"
FLOP_TARGET = 0.005
"""Big blinds, if there is betting on the flop."""


@dataclass(frozen=True)
class Tree:
    """The betting."""

    stack: Annotated[float, option("BB", "Big blinds that each player has.")] = 20.0
    small_blind: Annotated[float, option("BB", "The small blind, in big blinds.")] = 0.5
    bets: Annotated[
        str,
        option(
            "SIZES",
            "Opens, then raises: '2.5r / raise 3r a / cap 4' opens to 2.5 big blinds, raises to "
            "three times the last bet or all-in, with at most four raises.",
        ),
    ] = BETS
    flop: Annotated[
        str | None,
        option(
            "SIZES",
            "Bet on the flop with these sizes and compare hands there, as in flop hold'em. "
            "Needs much memory. Without it a call ends the hand, and equity shares the pot.",
        ),
    ] = None


@dataclass(frozen=True)
class Solving:
    """When to stop, and where it runs."""

    target: Annotated[
        float | None, option("BB", "Stop at this exploitability, in big blinds.", "0.001")
    ] = None
    iterations: Annotated[int | None, option("N", "Stop after N iterations.")] = None
    device: Annotated[str, option("NAME", DEVICE_HELP, True, autocompletion=complete_device)] = (
        "cpu"
    )
    memory_limit: Annotated[
        str, option("BYTES", "Refuse trees that need more, such as 500MB.", callback=check_memory)
    ] = "8GiB"


@dataclass(frozen=True)
class Found:
    """A decision, and how good the solution is."""

    decision: PreflopDecision | Decision
    rows: Table
    value: float
    exploitability: float
    iterations: int


@grouped
def preflop_command(
    *,
    tree: Tree,
    solving: Solving,
    line: Annotated[
        str, option("ACTIONS", "Show the decision after these actions: 'raise to 2.5'.", False)
    ] = "",
    csv: Annotated[
        bool, option(None, "Print one line per class of hands as CSV instead.", name="--csv")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Solve the betting before the flop, heads up, as a grid of hands.

    The small blind opens, the big blind answers, with raises of the sizes that --bets gives. A call
    ends the hand: the pot is shared by equity, exact over all boards, as if nobody bet later. Chips
    are big blinds.

    [bold]Examples[/]

    subgame preflop --stack 25

    subgame preflop --stack 100 --bets '2.5r / raise 3r 2.3r / cap 4' --line 'raise to 2.5'

    subgame preflop --stack 10 --bets 'a; remove c'
    """
    check_form(csv, json)
    check_least("iterations", solving.iterations)
    if tree.flop is None and solving.device != "cpu":
        raise SubgameError("--device is for betting on the flop, which --flop gives.")
    check_device(solving.device, None)

    from subgame.spots.lines import follow_to_decision
    from subgame.spots.preflop import SEATS, preflop_game

    game = preflop_game(tree.stack, tree.bets, tree.flop or "none", small_blind=tree.small_blind)
    if follow_to_decision(game, line).betting.street > 0:
        raise SubgameError("--line must end before the flop.")
    solution = _by_classes(tree, solving, line) if tree.flop is None else _flop(game, solving, line)
    decision = solution.decision
    if csv:
        print(solution.rows.to_csv(), end="")
    elif json:
        often = zip(decision.names, decision.frequency.tolist(), strict=True)
        emit(
            {
                "stack": tree.stack,
                "line": line,
                "player": SEATS[decision.betting.player],
                "value": solution.value,
                "exploitability": solution.exploitability,
                "iterations": solution.iterations,
                "frequency": dict(often),
                "classes": list(solution.rows),
            }
        )
    else:
        _print(solution, tree, line)


def _by_classes(tree: Tree, how: Solving, line: str) -> Found:
    from subgame.spots.preflop import solve_preflop

    with Meter("the preflop ranges") as meter:

        def step(iteration: int, gap: float) -> None:
            meter.update("Solving", f"{iterations_text(iteration)}, {gap:.2g} big blinds")

        solved = solve_preflop(
            tree.stack,
            tree.bets,
            small_blind=tree.small_blind,
            target=how.target,
            iterations=how.iterations,
            progress=step,
        )
    shown = solved.decision(line)
    rows, gap = shown.class_table(), solved.exploitability
    return Found(shown, rows, solved.value, gap, solved.iterations)


def _flop(game: Holdem, how: Solving, line: str) -> Found:
    import subgame as sg
    from subgame.spots.browse import Explorer
    from subgame.tree.ranges.tree import range_tree

    with Meter("flop hold'em") as meter:
        meter.update("Dealing the flops")
        tree = range_tree(sg.compile(game, merge="boards", memory_limit=how.memory_limit))
        needed = range_memory(tree, "dcfr", how.memory_limit)
        meter.say(f"{tree.num_nodes:,} nodes; solving needs {human_bytes(needed)} of memory.")
        limited = how.target is not None or how.iterations is not None
        result = sg.solve(
            tree,
            "dcfr",
            target=how.target if limited else FLOP_TARGET,
            iterations=how.iterations,
            device=how.device,
            progress=lambda step: meter.update(
                "Solving", iterations_text(step.iteration), step.share
            ),
        )
    shown = Explorer(result.strategy).decision(line)
    rows, gap = shown.class_table(values=False), float(result.exploitability)
    return Found(shown, rows, -result.value, gap, result.iterations)


def _print(solution: Found, tree: Tree, line: str) -> None:
    from rich.text import Text

    from subgame.cli import hand_grid
    from subgame.cli.console import next_steps
    from subgame.spots.lines import is_all_in
    from subgame.spots.preflop import SEATS

    console, here = stdout(), solution.decision
    seat = SEATS[here.betting.player].capitalize()
    after = f" after {here.words}" if here.words else ", first to act"
    title = Text.assemble((seat, "bold"), f"{after}, {tree.stack:g} big blinds")
    width = hand_grid.cell_width(console)
    console.print(hand_grid.draw(here, title, console, width))
    console.print()
    console.print(
        f"  The small blind wins {solution.value:+.4f} big blinds a hand; a best response gains "
        f"{solution.exploitability:.1g} after {iterations_text(solution.iterations)}.",
        soft_wrap=True,
    )
    again = f"subgame preflop --stack {tree.stack:g}"
    again += "" if tree.bets == BETS else f" --bets {shlex.quote(tree.bets)}"
    again += "" if tree.flop is None else f" --flop {shlex.quote(tree.flop)}"
    steps = []
    for action, name in zip(here.actions, here.names, strict=True):
        if action[0] == "r" and here.betting.child(action).player >= 0:
            deeper = ", ".join(filter(None, [line, name]))
            which = "all-in" if is_all_in(here.betting, action) else name
            steps.append((f"{again} --line {shlex.quote(deeper)}", f"show the answer to {which}"))
    if steps:
        next_steps(console, *steps[:2])

"""``subgame refine``: improve a strategy in its subgames, and say what that did."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from subgame.cli.common import (
    BlueprintOption,
    GameArgument,
    JsonOption,
    MemoryOption,
    Meter,
    SecondsOption,
    StrategyArgument,
    check_writable,
    compile_game,
    emit,
    load_game,
    next_steps,
    number_text,
    one_line,
    row_text,
    seconds_text,
    stdout,
    table,
    warm_up,
)
from subgame.cli.exploit import _blueprint, read_strategy
from subgame.errors import SubgameError
from subgame.refine.gadgets import TECHNIQUES, Gadget, technique
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.refine.refine import Refinement
    from subgame.tree.public_tree import PublicTree

USABLE = [name for name in NAMED if name not in ("cfr-br", "mccfr")]
SHOWN = 12
"""Root infosets that are shown, those with the smallest margins."""
SHOWN_ROWS = 6
"""Infosets of the refined strategy that are shown."""
MEANING = (
    ("cbv", "what the opponent could get there against the strategy as it was"),
    ("gift", "what she gave up on the way, which reach techniques may give back"),
    ("alternative", "what the technique paid her for staying out"),
    ("value", "what she can get there now"),
    ("margin", "cbv + gift - value: nowhere below 0 means no worse than before"),
)


def _complete_technique(incomplete: str) -> list[str]:
    return [name for name in TECHNIQUES if name.startswith(incomplete)]


def refine_command(
    game: GameArgument,
    strategy: StrategyArgument = None,
    blueprint: BlueprintOption = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="WHERE",
            help="Where subgames start: a frontier of the game ('after round 1' of leduc), a "
            "public state ('Play' of coin-toss), 'depth 2', 'before chance' or 'after chance'. "
            "Repeat it for several public states.",
            show_default=False,
        ),
    ] = None,
    technique_name: Annotated[
        str,
        typer.Option(
            "--technique",
            metavar="NAME",
            help=f"One of {', '.join(TECHNIQUES)}.",
            autocompletion=_complete_technique,
        ),
    ] = "resolve",
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help=f"One of {', '.join(USABLE)}, pcs (sampling public chance) or lp, which is exact.",
            show_default="pdcfr+, or cfr+ for distributional techniques",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option("--iterations", metavar="N", help="Stop each subgame after N iterations."),
    ] = None,
    seconds: SecondsOption = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap", metavar="E", help="Stop each subgame when its gadget game's NashConv is E."
        ),
    ] = None,
    player: Annotated[
        int | None,
        typer.Option("--player", metavar="0|1", help="Refine this player's half only."),
    ] = None,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--no-split",
            help="Reach techniques: divide gifts among subgames (safe), or not.",
            show_default="split",
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            "--scale",
            metavar="X",
            help="Reach techniques: multiply gifts by X (safe up to 1).",
            show_default="1",
        ),
    ] = None,
    refined: Annotated[
        float | None,
        typer.Option(
            "--refined",
            metavar="EPS",
            help="Have the opponent keep choosing everything at the root with this probability, "
            "so that what she should not do is answered well too.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            metavar="respond|hedge",
            help="Distributional techniques: how the opponent enters.",
            show_default="hedge",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="F.safetensors", help="Save the refined strategy."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="F.png", help="Draw the margins.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Which random strategy.")] = 0,
    memory_limit: MemoryOption = "8GiB",
    json: JsonOption = False,
) -> None:
    """Improve a strategy in its subgames, each re-solved on its own.

    A safe technique (resolve, maxmargin, reach-resolve, reach-maxmargin) leaves a best response no
    more to win than before; unsafe, estimate and distributional ones do not promise that, and
    often do better. Each subgame is solved for 1,000 iterations unless --iterations, --seconds or
    --gap says otherwise.

    [bold]Examples[/]

    subgame refine coin-toss --blueprint paper --at Play --technique maxmargin

    subgame solve leduc --iterations 30 --out rough.safetensors

    subgame refine leduc rough.safetensors --at 'after round 1' --technique reach-maxmargin

    subgame refine leduc rough.safetensors --at 'after round 1' --schedule lp --out fine.safetensors

    subgame refine leduc uniform --at 'after the board card' --technique unsafe --player 0 --json
    """
    if (strategy is None) == (blueprint is None):
        raise SubgameError(
            "Name one strategy: a file, the word uniform or random, or --blueprint NAME."
        )
    gadget = _gadget(technique_name, split, scale, refined, form)
    schedule = schedule or gadget.schedule
    exact = schedule.strip().lower() == "lp"
    _check(exact, gadget, schedule, iterations, seconds, gap, player)
    _check_files(out, plot)

    import subgame as sg

    rules = load_game(game)
    with Meter(str(rules)) as meter:
        tree = compile_game(rules, memory_limit, meter)
        if blueprint is not None:
            rough = _blueprint(rules, tree, blueprint)
        else:
            rough = read_strategy(tree, strategy or "", seed)
        subgames = sg.cut(tree, _where(tree, at))
        warm_up(meter, schedule)

        def progress(done: int, total: int) -> None:
            meter.update(f"Refining {rules}", f"{done} of {total} subgames", done / max(total, 1))

        found = sg.refine(
            tree, rough, at=subgames, technique=gadget, schedule="lp" if exact else schedule,
            player=player, iterations=iterations, seconds=seconds, gap=gap, progress=progress,
        )  # fmt: skip
    if not found.parts:
        raise SubgameError("There is nothing to refine there: the player has no choice left.")
    failure = _write(found, out, plot)
    if json:
        emit(found.as_dict())
    else:
        _show(found, game, blueprint, strategy, at or [], out)
    if failure:
        raise failure


# Before --------------------------------------------------------------------------------------
def _gadget(
    name: str, split: bool | None, scale: float | None, refined: float | None, form: str | None
) -> Gadget:
    """The technique with its options; those that would have no effect are refused."""
    name = name.strip().lower().replace("_", "-")
    made = technique(name)
    gifts = [key for key in TECHNIQUES if TECHNIQUES[key]().gifts != "none"]
    random = [key for key in TECHNIQUES if TECHNIQUES[key]().door == "random"]
    for option, value, fits in (
        ("--split", split, gifts), ("--scale", scale, gifts), ("--form", form, random)
    ):  # fmt: skip
        if value is not None and name not in fits:
            given = "--no-split" if option == "--split" and not value else option
            raise SubgameError(
                f"{given} has no meaning for {made.name}; it has for {', '.join(fits)}."
            )
    return replace(
        made,
        split=made.split if split is None else split,
        scale=made.scale if scale is None else scale,
        refined=made.refined if refined is None else refined,
        form=made.form if form is None else form,  # type: ignore[arg-type]
    )


def _check(
    exact: bool,
    gadget: Gadget,
    schedule: str,
    iterations: int | None,
    seconds: float | None,
    gap: float | None,
    player: int | None,
) -> None:
    """Refuse what the solver will refuse, before a game is read that may take a while."""
    from subgame.solve.solver import Limits

    limits = {"iterations": iterations, "seconds": seconds, "gap": gap}
    if player not in (None, 0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    if exact:
        for name, value in limits.items():
            if value is not None:
                raise SubgameError(
                    f"The schedule lp solves exactly in one go, so --{name} has no meaning for it."
                )
        if gadget.door == "random":
            raise SubgameError(
                f"{gadget.name} is no finite game, so there is no linear program for it; "
                "solve it by a CFR schedule."
            )
        return
    if parse(schedule).responder >= 0:
        raise SubgameError(
            "The schedule cfr-br only solves one half of a game, so it cannot refine; take another."
        )
    if gap is not None and not gap > 0:
        raise SubgameError(f"gap is a number above 0, not {gap:g}.")
    Limits(iterations, seconds, gap)


def _check_files(out: Path | None, plot: Path | None) -> None:
    check_writable("--out", out)
    check_writable("--plot", plot)
    if out is not None and plot is not None and out.absolute() == plot.absolute():
        raise SubgameError(f"--out and --plot name the same file, {out}; give each its own.")
    if out is not None and out.suffix != ".safetensors":
        raise SubgameError(f"--out wants a name that ends in .safetensors, not {out.name}.")
    if plot is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        if plot.suffix[1:].lower() not in FigureCanvasBase.get_supported_filetypes():
            raise SubgameError(
                f"--plot wants a name that ends in .png, .svg or .pdf, not {plot.name}."
            )


def _where(tree: PublicTree, at: Sequence[str] | None) -> str | int | list[str | int]:
    """What `subgame.cut` wants: names as they are, a number that names no public state as such."""
    if not at:
        frontiers = list(tree.histories.game.frontiers()) if tree.histories is not None else []
        known = [*frontiers, "depth 1", "after chance"]
        raise SubgameError(
            f"Say where the subgames of {tree.game} start, by --at: "
            f"{', '.join(repr(name) for name in known)} or a public state."
        )
    names = set(tree.node_names)
    places = [int(name) if name.isdecimal() and name not in names else name for name in at]
    return places[0] if len(places) == 1 else places


# After ---------------------------------------------------------------------------------------
def _write(found: Refinement, out: Path | None, plot: Path | None) -> SubgameError | None:
    """Write the files; what fails is told after the result, which is not to be lost for it."""
    from safetensors import SafetensorError

    path = out
    try:
        if out is not None:
            found.strategy.save(out)
        if plot is not None:
            from matplotlib.figure import Figure

            path, figure = plot, Figure(figsize=(8, 4.5))
            found.plot(figure.subplots())
            figure.savefig(plot, dpi=150)
    except (OSError, SafetensorError) as error:
        return SubgameError(f"{path} could not be written: {error}.")
    return None


def _show(
    found: Refinement,
    game: str,
    blueprint: str | None,
    strategy: str | None,
    at: Sequence[str],
    out: Path | None,
) -> None:
    console = stdout()
    console.print(Text(f"{found.game}, refined by {found.technique.name}", style="bold"))
    console.print(_summary(found))
    rows = sorted(found.rows(), key=lambda line: line["margin"])
    columns = ("subgame", "player", "infoset", "cbv", "gift", "alternative", "value", "margin")
    shown = table(*columns, numbers=["player", *columns[3:]],
                  title="Root infosets of the opponent")  # fmt: skip
    for line in rows[:SHOWN]:
        bad = line["margin"] < -1e-9
        cells = [Text(one_line(str(line[key]))) for key in columns[:3]]
        cells += [Text(number_text(line[key]), "red" if bad else "") for key in columns[3:]]
        shown.add_row(*cells)
    console.print(shown, end="")
    if len(rows) > SHOWN:
        console.print(Text(f"  … and {len(rows) - SHOWN:,} with larger margins", style="dim"))
    for name, what in MEANING:
        console.print(Text(f"  {name:<12} {what}", style="dim"))
    console.print(_strategy(found))
    _lead_on(console, found, game, blueprint, strategy, at, out)


def _summary(found: Refinement) -> Table:
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify)

    def add(name: str, value: str, note: str = "") -> None:
        grid.add_row(f"  {name}", Text(value, "bold"), Text(note, "dim"))

    change = found.after - found.before
    add("exploitability before", number_text(max(found.before, 0.0)), "what a best response wins, "
        "mean of both seats")  # fmt: skip
    word = "lower" if change < -1e-12 else "higher" if change > 1e-12 else "no change"
    add("exploitability after", number_text(max(found.after, 0.0)), word)
    add("smallest margin", number_text(found.margin))
    add("gadget games", f"{len(found.parts)}",
        f"one per subgame and player, solved by {found.schedule}")  # fmt: skip
    add("time", seconds_text(found.seconds))
    return grid


def _strategy(found: Refinement) -> Table:
    shown = table("player", "infoset", "plays now", numbers=["player"])
    names = [
        (part.player, name)
        for part in found.parts
        for name in part.subgame.tree.players[part.player].names
    ]
    for p, name in names[:SHOWN_ROWS]:
        side = found.strategy.tree.players[p]
        row = row_text(found.strategy.row(p, side.index[name]))
        shown.add_row(str(p), Text(one_line(name)), row)
    if len(names) > SHOWN_ROWS:
        shown.caption = Text(f"… and {len(names) - SHOWN_ROWS:,} infosets more", style="dim")
    return shown


def _lead_on(
    console: Console,
    found: Refinement,
    game: str,
    blueprint: str | None,
    strategy: str | None,
    at: Sequence[str],
    out: Path | None,
) -> None:
    source = f"--blueprint {shlex.quote(blueprint)}" if blueprint else shlex.quote(strategy or "")
    where = " ".join(f"--at {shlex.quote(name)}" for name in at)
    again = f"subgame refine {shlex.quote(game)} {source} {where}"
    other = "maxmargin" if found.technique.name != "maxmargin" else "reach-maxmargin"
    steps = [(f"{again} --technique {other}", "try another technique")]
    if out is None:
        steps.append((f"{again} --out refined.safetensors", "keep the refined strategy"))
    else:
        judge = f"subgame exploit {shlex.quote(game)} {shlex.quote(str(out))}"
        steps.append((judge, "see where it can still be beaten"))
    next_steps(console, steps)

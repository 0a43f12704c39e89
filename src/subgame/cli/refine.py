"""``subgame refine``: improve a strategy by solving its subgames again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subgame.cli.common import (
    GAME_HELP,
    SAVED,
    BlueprintOption,
    DeviceOption,
    JsonOption,
    MemoryOption,
    Meter,
    SecondsOption,
    StrategyArgument,
    check_device,
    check_least,
    check_picture,
    check_player,
    check_range_schedule,
    check_saved,
    compile_game,
    complete_game,
    emit,
    load_game,
    picture,
    range_memory,
    save_files,
    stdout,
    warm_up,
    warm_up_ranges,
)
from subgame.cli.exploit import check_one, named_strategy, read_strategy
from subgame.cli.line import Line
from subgame.cli.refine_view import not_saved, show
from subgame.cli.solve import INTERRUPTED
from subgame.errors import SubgameError
from subgame.refine.gadgets import TECHNIQUES, Gadget, technique
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.refine.refine import Refinement
    from subgame.refine.subgame import Subgame
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

USABLE = [name for name in NAMED if name not in ("cfr-br", "mccfr")]
ROOT = "root"
"""Where a hold'em tree is refined by default."""

GameOrSpot = Annotated[
    str,
    typer.Argument(
        metavar="GAME",
        help=GAME_HELP.replace(
            "; or a Gambit file FILE.efg.",
            "; a Gambit file FILE.efg; or a hold'em spot saved by endgame --out, which contains "
            "its strategy.",
        ),
        show_default=False,
        autocompletion=complete_game,
    ),
]


def _complete_technique(incomplete: str) -> list[str]:
    return [name for name in TECHNIQUES if name.startswith(incomplete)]


def refine_command(
    context: typer.Context,
    game: GameOrSpot,
    strategy: StrategyArgument = None,
    blueprint: BlueprintOption = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="WHERE",
            help="Where subgames start: a frontier of the game ('after round 1' in leduc), a "
            "public state ('Play' in coin-toss), 'depth 2', 'before chance' or 'after chance'. In "
            "hold'em: 'root', 'after the turn', 'after the river' or a public state such as "
            "'Qs Jh 2h 8d | r100c/'. Repeat --at for several public states.",
            show_default="root in hold'em",
        ),
    ] = None,
    technique_name: Annotated[
        str,
        typer.Option(
            "--technique",
            metavar="NAME",
            help=f"One of {', '.join(TECHNIQUES)}. Several, separated by commas, or all are "
            "compared in a table.",
            autocompletion=_complete_technique,
        ),
    ] = "resolve",
    schedule: Annotated[
        str | None,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help=f"One of {', '.join(USABLE)}, pcs (public chance sampling) or lp (exact).",
            show_default="pdcfr+; distributional: cfr+; hold'em: dcfr",
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
            "--gap",
            metavar="E",
            help="Stop each subgame when the NashConv of its gadget game is at most E.",
        ),
    ] = None,
    player: Annotated[
        int | None,
        typer.Option("--player", metavar="0|1", help="Refine only this player's strategy."),
    ] = None,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--no-split",
            help="Reach techniques: split gifts among subgames (safe) or not.",
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
            help="The opponent makes every choice at the root with at least this probability, so "
            "that the answer to mistakes is good too.",
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            metavar="FORM",
            help="Distributional techniques: how the opponent enters, respond or hedge.",
            show_default="hedge",
        ),
    ] = None,
    keep_safe: Annotated[
        bool,
        typer.Option(
            "--keep-safe",
            help="Estimate techniques: also keep the safety conditions of resolve.",
        ),
    ] = False,
    allow_worse: Annotated[
        bool,
        typer.Option(
            "--allow-worse",
            help="Play and save what was found even if it is more exploitable than before. "
            "Otherwise safe techniques keep the blueprint there, and the others are not saved.",
        ),
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", metavar="N", help="Number of CPU threads in hold'em.", show_default="all"
        ),
    ] = None,
    device: DeviceOption = "cpu",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the strategy as FILE.safetensors."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the margins as FILE.png.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Seed of the random strategy.")
    ] = 0,
    memory_limit: MemoryOption = "8GiB",
    json: JsonOption = False,
) -> None:
    """Improve a strategy by solving its subgames again.

    After a safe technique (resolve, maxmargin, reach-resolve, reach-maxmargin) a best response wins
    no more than before: subgames that were not solved accurately enough to show this keep STRATEGY.
    The unsafe, estimate and distributional techniques do not guarantee this, but often do better;
    nor does --no-split or a --scale above 1. Each subgame is solved for 1,000 iterations unless
    --iterations, --seconds or --gap is given.

    A hold'em spot saved by subgame endgame --out contains its game and its strategy: give only the
    file. It is refined at the root unless --at is given. The root infosets are the opponent's
    hands.

    [bold]Examples[/]

    subgame refine coin-toss --blueprint paper --at Play --technique maxmargin

    subgame solve leduc --iterations 30 --out rough.safetensors

    subgame refine leduc rough.safetensors --at 'after round 1' --gap 0.001

    subgame refine leduc rough.safetensors --at 'after round 1' --schedule lp

    subgame refine leduc uniform --at 'after the board card' --player 0 --json

    subgame endgame --board QsJh2h8d3c --pot 10 --stack 90 --out spot.safetensors

    subgame refine spot.safetensors --technique maxmargin --seconds 10

    subgame refine spot.safetensors --technique unsafe,resolve,maxmargin
    """
    spot = Path(game) if game.endswith(SAVED) else None
    if spot is None:
        check_one(strategy, blueprint)
    elif blueprint is not None:
        raise SubgameError(
            f"The file {spot} contains a strategy, so --blueprint cannot be given with it."
        )
    gadgets = [
        _gadget(name, split, scale, refined, form, keep_safe) for name in _names(technique_name)
    ]
    for gadget in gadgets:
        _check(gadget, schedule, iterations, seconds, gap, player)
    _check_files(out, plot, len(gadgets))
    check_least("threads", threads)
    check_device(device, threads)

    import subgame as sg

    with Meter(str(spot or game)) as meter:
        if spot is not None:
            _check_holdem(gadgets, schedule)
            rough = _read_spot(spot, strategy, seed, memory_limit)
        else:
            rules = load_game(game)
            meter.game = str(rules)
            if isinstance(rules, sg.holdem.Holdem):
                _check_holdem(gadgets, schedule)
            tree = compile_game(rules, memory_limit, meter)
            rough = named_strategy(rules, tree, strategy, blueprint, seed)
        subgames = sg.cut(rough.tree, where(rough.tree, at))
        hows = (schedule, memory_limit, threads, device)
        _prepare(rough.tree, subgames, gadgets, *hows, meter)
        found = []
        for gadget in gadgets:
            found.append(
                sg.refine(
                    rough.tree,
                    rough,
                    at=subgames,
                    technique=gadget,
                    schedule=schedule,
                    player=player,
                    iterations=iterations,
                    seconds=seconds,
                    gap=gap,
                    device=device,
                    progress=_progress(meter, gadget),
                    allow_worse=allow_worse,
                )
            )
            if any(part.stopped == "interrupted" for part in found[-1].parts):
                break
    if not found[0].parts:
        raise SubgameError(
            "There is nothing to refine: the player has no decision in these subgames."
        )
    refused, first = None, found[0]
    if out is not None and first.is_worse and not allow_worse:
        refused = not_saved(out, first.technique.name, first.before, first.after)
    failure = _write(first, spot, None if refused else out, plot) or refused
    if json:
        many = {"game": found[0].game, "techniques": [each.as_dict() for each in found]}
        emit(found[0].as_dict() if len(gadgets) == 1 else many)
    else:
        show(stdout(), found, rough, Line.of(context), None if failure else out, spot)
    if failure:
        raise failure
    if any(part.stopped == "interrupted" for part in found[-1].parts):
        raise typer.Exit(INTERRUPTED)


# Before --------------------------------------------------------------------------------------
def _names(text: str) -> list[str]:
    """The techniques that --technique names, each once."""
    names = [name.strip().lower().replace("_", "-") for name in text.split(",") if name.strip()]
    if names == ["all"]:
        names = [name for name in TECHNIQUES if name != "estimate"]  # the same as estimate-resolve
    if not names:
        raise SubgameError("--technique is empty; give a technique such as resolve.")
    return list(dict.fromkeys(names))


def _gadget(
    name: str,
    split: bool | None,
    scale: float | None,
    refined: float | None,
    form: str | None,
    keep_safe: bool,
) -> Gadget:
    """The technique with its options; options that would have no effect are refused."""
    made = technique(name)
    known = {key: TECHNIQUES[key]() for key in TECHNIQUES}
    gifts = [key for key, each in known.items() if each.gifts != "none"]
    random = [key for key, each in known.items() if each.entry == "random"]
    guessed = [key for key, each in known.items() if each.estimate and each.entry != "random"]
    for option, value, fits in (
        ("--split", split, gifts),
        ("--scale", scale, gifts),
        ("--form", form, random),
        ("--keep-safe", keep_safe or None, guessed),
    ):
        if value is not None and name not in fits:
            given = "--no-split" if option == "--split" and not value else option
            raise SubgameError(f"{given} does not apply to {made.name}, only to {', '.join(fits)}.")
    return replace(
        made,
        split=made.split if split is None else split,
        scale=made.scale if scale is None else scale,
        refined=made.refined if refined is None else refined,
        form=made.form if form is None else form,  # type: ignore[arg-type]
        keep_safe=keep_safe,
    )


def _check(
    gadget: Gadget,
    schedule: str | None,
    iterations: int | None,
    seconds: float | None,
    gap: float | None,
    player: int | None,
) -> None:
    """Check everything before the game is compiled, which may take a while."""
    from subgame.solve.solver import Limits

    limits = {"iterations": iterations, "seconds": seconds, "gap": gap}
    check_player(player)
    if schedule is not None and schedule.strip().lower() == "lp":
        for name, value in limits.items():
            if value is not None:
                raise SubgameError(
                    f"--{name} does not apply to the schedule lp, which solves a game exactly."
                )
        if gadget.entry == "random":
            raise SubgameError(
                f"{gadget.name} has no linear program, because its gadget game is not finite; "
                "use a CFR schedule."
            )
        return
    if schedule is not None and parse(schedule).responder >= 0:
        raise SubgameError(
            "The schedule cfr-br only computes one player's strategy, so it cannot refine; use "
            "another schedule."
        )
    if gap is not None and gadget.entry == "random":
        raise SubgameError(
            f"--gap does not apply to {gadget.name}, whose gadget game is not finite; use "
            "--iterations or --seconds."
        )
    Limits.to_gap(iterations, seconds, gap)


def _check_holdem(gadgets: Sequence[Gadget], schedule: str | None) -> None:
    """Refuse options that do not work on hold'em trees."""
    if schedule is not None:
        check_range_schedule(schedule)
    for gadget in gadgets:
        if gadget.keep_safe:
            raise SubgameError(
                f"--keep-safe does not work in hold'em, because {gadget.name} would need a second "
                "copy of the tree."
            )


def _check_files(out: Path | None, plot: Path | None, techniques: int) -> None:
    check_saved("--out", out)
    check_picture("--plot", plot)
    if techniques > 1 and (out is not None or plot is not None):
        option = "--plot" if out is None else "--out"
        raise SubgameError(f"{option} needs a single technique, not several.")
    if out is not None and plot is not None and out.absolute() == plot.absolute():
        raise SubgameError(f"--out and --plot name the same file, {out}; give two different files.")


def _read_spot(spot: Path, strategy: str | None, seed: int, memory_limit: str) -> Strategy:
    """A solution that ``subgame endgame --out`` saved, or another strategy for the same spot."""
    from subgame.solve.endgame import SAVED, load
    from subgame.tree.files import read_tensors

    said = read_tensors(spot, SAVED)[0]
    if "board" not in said and "game" in said:
        raise SubgameError(
            f"{spot} is a strategy of {said['game']} without the game; give the game first: "
            f"subgame refine {shlex.quote(said['game'])} {spot}."
        )
    saved = load(spot, memory_limit=memory_limit)
    return saved if strategy is None else read_strategy(saved.tree, strategy, seed)


def where(tree: PublicTree, at: Sequence[str] | None) -> str | int | list[str | int]:
    """The argument of `subgame.cut`: names, or numbers of public states."""
    from subgame.tree.ranges.tree import RangeTree
    from subgame.tree.sequence.tree import SequenceTree, histories_of

    if not at and isinstance(tree, RangeTree):
        return ROOT
    if not at:
        histories = histories_of(tree)
        frontiers = [] if histories is None else list(histories.game.frontiers())
        known = [*frontiers, "depth 1", "after chance"]
        raise SubgameError(
            f"--at is missing. Say where the subgames of {tree.game} start: "
            f"{', '.join(repr(name) for name in known)} or a public state."
        )
    numbers = isinstance(tree, SequenceTree)
    names = set(tree.node_names) if isinstance(tree, SequenceTree) else set()
    places = [
        int(name) if numbers and name.isdecimal() and name not in names else name for name in at
    ]
    return places[0] if len(places) == 1 else places


def _prepare(
    tree: PublicTree,
    subgames: Sequence[Subgame],
    gadgets: Sequence[Gadget],
    schedule: str | None,
    memory_limit: str,
    threads: int | None,
    device: str,
    meter: Meter,
) -> None:
    """Load the kernels, set the number of threads and check the memory."""
    from subgame.engines.factory import engine
    from subgame.refine.solve_gadget import default_schedule
    from subgame.tree.ranges.tree import RangeTree

    if not isinstance(tree, RangeTree):
        chosen = (schedule or default_schedule(gadget, tree) for gadget in gadgets)
        for name in dict.fromkeys(chosen):
            warm_up(meter, name, device)
        return
    range_memory(tree, schedule or "dcfr", memory_limit)
    if device == "cpu":  # a GPU's kernels are compiled for each betting tree
        warm_up_ranges(meter, schedule or "dcfr", technique=gadgets[0].name)
    if threads is not None:
        for each in {id(one): one for one in (tree, *(part.tree for part in subgames))}.values():
            engine(each, threads, device)


def _progress(meter: Meter, gadget: Gadget) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        what = f"Refining {meter.game} with {gadget.name}"
        meter.update(what, f"{done} of {total} subgames", done / max(total, 1))

    return progress


# After ---------------------------------------------------------------------------------------
def _write(
    found: Refinement, spot: Path | None, out: Path | None, plot: Path | None
) -> SubgameError | None:
    """Write the files; an error is returned, to be raised after the result is shown."""
    from subgame.solve.endgame import save

    def write(path: Path) -> None:
        made = replace(found.strategy, notes=_notes(found))
        made.save(path) if spot is None else save(made, path)

    return save_files((out, write), (plot, picture(found.plot, (8, 4.5))))


def _notes(found: Refinement) -> dict[str, str]:
    """How a refined strategy was made, for its file."""
    places = list(dict.fromkeys(part.subgame.name for part in found.parts))
    where = places[0] if len(places) == 1 else f"{len(places)} subgames"
    return {
        "refined": f"{found.technique.name} at {where}",
        "schedule": found.schedule,
        "iterations": str(max(part.iterations for part in found.parts)),
    }

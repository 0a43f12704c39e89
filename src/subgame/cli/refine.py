"""``subgame refine``: improve a strategy by solving its subgames again."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subgame.cli.arguments import GAME_HELP, SecondsOption, completing, game_argument, grouped, opt
from subgame.cli.common import (
    SAVED,
    check_player,
    check_spot,
    emit,
    finish,
    load_game,
    save_files,
    stdout,
)
from subgame.cli.line import Line
from subgame.cli.options import (
    Given,
    PlayerOption,
    Plotted,
    ThreadedPlace,
    check_exact,
    places,
    read_strategy,
)
from subgame.cli.progress import Meter, check_range_schedule, range_memory, warm_up, warm_up_gadget
from subgame.cli.refine_view import not_saved, show
from subgame.errors import SubgameError
from subgame.refine.gadgets import TECHNIQUES, Gadget, technique
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.refine.report import Refinement
    from subgame.refine.subgame import Subgame
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

USABLE = [name for name in NAMED if name not in ("cfr-br", "mccfr")]

GameOrSpot = Annotated[
    str,
    game_argument(
        GAME_HELP.replace("; or a game", "; a game").rstrip(".")
        + "; or a hold'em spot saved by endgame --out, which contains its strategy."
    ),
]
FITS: dict[str, Callable[[Gadget], bool]] = {
    "split": lambda gadget: gadget.gifts != "none",
    "scale": lambda gadget: gadget.gifts != "none",
    "form": lambda gadget: gadget.entry == "random",
    "keep_safe": lambda gadget: gadget.estimate and gadget.entry != "random",
}
"""The techniques that an option applies to."""


@dataclass(frozen=True)
class Techniques:
    """The techniques that are compared, and their options."""

    technique: str = opt(
        "resolve",
        "NAME",
        f"One of {', '.join(TECHNIQUES)}. Several, separated by commas, or all are "
        "compared in a table.",
        autocompletion=completing(lambda: TECHNIQUES),
    )
    split: bool | None = opt(
        None,
        None,
        "Reach techniques: split gifts among subgames (safe) or not.",
        "split",
        name="--split/--no-split",
    )
    scale: float | None = opt(
        None, "X", "Reach techniques: multiply gifts by X (safe up to 1).", "1"
    )
    refined: float | None = opt(
        None,
        "EPS",
        "The opponent makes every choice at the root with at least this probability, so "
        "that the answer to mistakes is good too.",
    )
    form: str | None = opt(
        None,
        "FORM",
        "Distributional techniques: how the opponent enters, respond or hedge.",
        "hedge",
    )
    keep_safe: bool = opt(
        False, None, "Estimate techniques: also keep the safety conditions of resolve."
    )

    def gadgets(self) -> list[Gadget]:
        """The gadgets that are asked for, each once."""
        text = self.technique
        names = [name.strip().lower().replace("_", "-") for name in text.split(",") if name.strip()]
        if names == ["all"]:  # estimate is the same as estimate-resolve
            names = [name for name in TECHNIQUES if name != "estimate"]
        if not names:
            raise SubgameError("--technique is empty; give a technique such as resolve.")
        return [self._gadget(name) for name in dict.fromkeys(names)]

    def _gadget(self, name: str) -> Gadget:
        """A gadget with its options; options that would have no effect are refused."""
        made = technique(name)
        options: dict[str, Any] = vars(self) | {"technique": None}
        options["keep_safe"] = self.keep_safe or None
        chosen = {key: value for key, value in options.items() if value is not None}
        for key, value in chosen.items():
            if key in FITS and not FITS[key](made):
                option = "no-split" if value is False else key.replace("_", "-")
                fit = ", ".join(name for name in TECHNIQUES if FITS[key](technique(name)))
                raise SubgameError(f"--{option} does not apply to {made.name}, only to {fit}.")
        return replace(made, **chosen)


@dataclass(frozen=True)
class GadgetStop:
    """When the solve of each gadget game stops."""

    iterations: int | None = opt(None, "N", "Stop each subgame after N iterations.")
    seconds: SecondsOption = None
    gap: float | None = opt(
        None,
        "E",
        "Stop each subgame when the certified gap of its gadget game, its NashConv, is at most E.",
    )


@dataclass(frozen=True)
class RefineOutput(Plotted):
    """What is written, and whether also if it is worse than the blueprint."""

    allow_worse: bool = opt(
        False,
        None,
        "Play and save what was found even if it is more exploitable than before. Otherwise "
        "safe techniques keep the blueprint there, and the others are not saved.",
    )


@dataclass(frozen=True)
class Solving:
    """Which subgames are solved, how, and for whom."""

    at: list[str] | None = opt(
        None,
        "WHERE",
        "Where subgames start: a frontier of the game ('after round 1' in leduc), a "
        "public state ('Play' in coin-toss), 'depth 2', 'before chance' or 'after chance'. In "
        "hold'em: 'root', 'after the turn', 'after the river' or a public state such as "
        "'Qs Jh 2h 8d | r100c/'. Repeat --at for several public states.",
        "root in hold'em",
    )
    schedule: str | None = opt(
        None,
        "NAME",
        f"One of {', '.join(USABLE)}, pcs (public chance sampling) or lp (exact).",
        "pdcfr+; distributional: cfr+; hold'em: dcfr",
    )
    player: PlayerOption = None


@grouped
def refine_command(
    *,
    context: typer.Context,
    game: GameOrSpot,
    source: Given,
    techniques: Techniques,
    solving: Solving,
    stop: GadgetStop,
    place: ThreadedPlace,
    output: RefineOutput,
) -> None:
    """Improve a strategy by solving its subgames again.

    After a safe technique (resolve, maxmargin, reach-resolve, reach-maxmargin) a best response wins
    no more than before: subgames that were not solved accurately enough to show this keep STRATEGY.
    The unsafe, estimate and distributional techniques do not guarantee this, but often do better.
    With --no-split or a --scale above 1 the reach techniques do not guarantee it either. Each
    subgame is solved for 1,000 iterations unless --iterations, --seconds or --gap is given.

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
    spot, schedule = Path(game) if game.endswith(SAVED) else None, solving.schedule
    _check_given(spot, source)
    gadgets = techniques.gadgets()
    check_player(solving.player)
    for gadget in gadgets:
        _check(gadget, schedule, stop)
    _check_written(gadgets, output)
    place.check()

    import subgame as sg

    with Meter(str(spot or game)) as meter:
        check = partial(_check_holdem, gadgets, schedule)
        if spot is not None:
            check()
            rough = _read_spot(spot, source, place.memory_limit)
        else:
            rough = _read_game(game, source, place.memory_limit, meter, check)
        subgames = sg.cut(rough.tree, places(rough.tree, solving.at))
        _prepare(rough.tree, subgames, gadgets, schedule, place, meter)
        results = []
        for gadget in gadgets:
            result = sg.refine(
                rough.tree,
                rough,
                at=subgames,
                technique=gadget,
                player=solving.player,
                schedule=schedule,
                device=place.device,
                progress=meter.counting(f"Refining {meter.game} with {gadget.name}", "subgames"),
                allow_worse=output.allow_worse,
                **vars(stop),
            )
            results.append(result)
            if any(part.stopped == "interrupted" for part in result.parts):
                break
    first = results[0]
    failure = _written(first, spot, output)
    if output.json:
        many = {"game": first.game, "techniques": [result.as_dict() for result in results]}
        emit(first.as_dict() if len(gadgets) == 1 else many)
    else:
        show(stdout(), results, rough, Line.of(context), None if failure else output.out, spot)
    finish(failure, *(part.stopped for part in results[-1].parts))


# Before --------------------------------------------------------------------------------------
def _check_given(spot: Path | None, source: Given) -> None:
    """Refuse a strategy that cannot be read, or one too many."""
    if spot is None:
        source.check()
    elif source.blueprint is not None:
        raise SubgameError(
            f"The file {spot} contains a strategy, so --blueprint cannot be given with it."
        )
    else:
        check_spot(spot)


def _check_written(gadgets: Sequence[Gadget], output: RefineOutput) -> None:
    """Refuse files that cannot be written, and one file for several techniques."""
    if len(gadgets) > 1 and (output.out is not None or output.plot is not None):
        option = "--plot" if output.out is None else "--out"
        raise SubgameError(f"{option} needs a single technique, not several.")
    output.check()


def _check(gadget: Gadget, schedule: str | None, stop: GadgetStop) -> None:
    """Check everything before the game is compiled, which may take a while."""
    from subgame.solve.limits import Limits

    if schedule is not None and schedule.strip().lower() == "lp":
        check_exact(vars(stop))
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
    if stop.gap is not None and gadget.entry == "random":
        raise SubgameError(
            f"--gap does not apply to {gadget.name}, whose gadget game is not finite; use "
            "--iterations or --seconds."
        )
    Limits.to_gap(**vars(stop))


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


def _read_game(
    game: str, source: Given, memory_limit: str, meter: Meter, check: Callable[[], None]
) -> Strategy:
    """The strategy for a game; `check` refuses what does not work on hold'em trees."""
    import subgame as sg

    rules = load_game(game)
    meter.game = str(rules)
    if isinstance(rules, sg.holdem.Holdem):
        check()
    return source.read(sg.compile(rules, memory_limit=memory_limit, progress=meter.histories))


def _read_spot(spot: Path, source: Given, memory_limit: str) -> Strategy:
    """A solution that ``subgame endgame --out`` saved, or another strategy for the same spot."""
    from subgame.games.holdem.spots import SAVED
    from subgame.spots.endgame import load
    from subgame.tree.files import read_tensors

    said = read_tensors(spot, SAVED)[0]
    if "board" not in said and "game" in said:
        raise SubgameError(
            f"{spot} is a strategy of {said['game']} without the game; give the game first: "
            f"subgame refine {shlex.quote(said['game'])} {spot}."
        )
    saved = load(spot, memory_limit=memory_limit)
    text = source.strategy
    return saved if text is None else read_strategy(saved.tree, text, source.seed)


def _prepare(
    tree: PublicTree,
    subgames: Sequence[Subgame],
    gadgets: Sequence[Gadget],
    schedule: str | None,
    place: ThreadedPlace,
    meter: Meter,
) -> None:
    """Load the kernels, set the number of threads and check the memory."""
    from subgame.engines.factory import engine
    from subgame.refine.behind import default_schedule
    from subgame.tree.ranges.tree import RangeTree

    if not isinstance(tree, RangeTree):
        chosen = (schedule or default_schedule(gadget, tree) for gadget in gadgets)
        for name in dict.fromkeys(chosen):
            warm_up(meter, name, place.device)
        return
    range_memory(tree, schedule or "dcfr", place.memory_limit)
    if place.device == "cpu":  # a GPU's kernels are compiled for each betting tree
        warm_up_gadget(meter, schedule or "dcfr", gadgets[0].name)
    if place.threads is not None:
        for solved in {id(one): one for one in (tree, *(part.tree for part in subgames))}.values():
            engine(solved, place.threads, place.device)


# After ---------------------------------------------------------------------------------------
def _written(result: Refinement, spot: Path | None, output: RefineOutput) -> SubgameError | None:
    """Save and draw a refinement; the error if that fails, or if it is worse than before."""
    if not result.parts:
        raise SubgameError(
            "There is nothing to refine: the player has no decision in these subgames."
        )
    refused, name = None, result.technique.name
    if result.is_worse and not output.allow_worse:
        refused = not_saved(output.out, name, result.before, result.after)
    saved = (None if refused else output.out, partial(_save, result, spot))
    return save_files(saved, (output.plot, output.drawing(result))) or refused


def _save(result: Refinement, spot: Path | None, path: Path) -> None:
    """Save the strategy with how it was made; that of a hold'em spot with its spot."""
    from subgame.spots.endgame import save

    places = list(dict.fromkeys(part.subgame.name for part in result.parts))
    where = places[0] if len(places) == 1 else f"{len(places)} subgames"
    notes = {
        "refined": f"{result.technique.name} at {where}",
        "schedule": result.schedule,
        "iterations": str(max(part.iterations for part in result.parts)),
    }
    strategy = replace(result.strategy, notes=notes)
    if spot is None:
        strategy.save(path)
    else:
        save(strategy, path)

"""``subgame limit``: solve a game down to a depth limit."""

from __future__ import annotations

import json as jsonlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer

from subgame.cli.common import (
    SAVED,
    BlueprintOption,
    GameArgument,
    JsonOption,
    MemoryOption,
    Meter,
    SecondsOption,
    StrategyArgument,
    check_least,
    check_player,
    check_readable,
    check_saved,
    compile_game,
    emit,
    load_game,
    save_files,
    stdout,
    warm_up,
)
from subgame.cli.exploit import check_one, named_strategy
from subgame.cli.limit_view import Found, show
from subgame.cli.line import Line
from subgame.cli.refine import where
from subgame.cli.refine_view import not_saved
from subgame.cli.solve import INTERRUPTED
from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.refine.depth.leaf_network import SAVED as SAVED_NETWORKS
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.refine.depth.continuations import Continuations
    from subgame.refine.depth.leaves import Evaluator
    from subgame.refine.subgame import Subgame
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

WAYS = ("bias", "self", "all", "none")
LEAVES = ("exact", "rollout")
LEAST_ROLLOUTS = 2
"""The least number of rollouts that has a standard error."""
SELF = 10
"""Default number of continuations from self-play, as in the paper's Fig. 2."""

AtOption = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="WHERE",
        help="The limit: a frontier of the game ('after round 1' in leduc), a public state, "
        "'depth 2', 'before chance' or 'after chance'. Repeat --at for several public states.",
        show_default=False,
    ),
]
WayOption = Annotated[
    str | None,
    typer.Option(
        "--continuations",
        metavar="KIND",
        help="The strategies that the opponent may choose from at the limit. bias: the blueprint "
        "biased towards each action. self: best responses found by self-play. all: every pure "
        "strategy. none: only the blueprint.",
        show_default="bias",
    ),
]
CountOption = Annotated[
    int | None,
    typer.Option(
        "--count",
        metavar="K",
        help="Offer at most K continuations, including the blueprint.",
        show_default=f"bias: all, self: {SELF}",
    ),
]
PlayerOption = Annotated[
    int | None,
    typer.Option("--player", metavar="0|1", help="Only this player; by default both."),
]


def limit_command(
    context: typer.Context,
    game: GameArgument,
    strategy: StrategyArgument = None,
    blueprint: BlueprintOption = None,
    at: AtOption = None,
    leaves: Annotated[
        str,
        typer.Option(
            "--leaves",
            metavar="KIND",
            help="The values at the limit: exact, rollout, or a file FILE.safetensors of networks "
            "saved by subgame train, which also contains the limit and the continuations.",
        ),
    ] = "exact",
    continuations: WayOption = None,
    count: CountOption = None,
    rollouts: Annotated[
        int | None,
        typer.Option(
            "--rollouts",
            metavar="N",
            help="With --leaves rollout: rollouts per history and pair of continuations.",
            show_default="1000",
        ),
    ] = None,
    player: PlayerOption = None,
    weaken: Annotated[
        bool,
        typer.Option(
            "--weaken",
            help="Lower the values of continuations that do better than the blueprint to the "
            "blueprint's value.",
        ),
    ] = False,
    penalty: Annotated[
        float,
        typer.Option(
            "--penalty",
            metavar="X",
            help="Subtract X from the value of every continuation but the blueprint.",
        ),
    ] = 0.0,
    schedule: Annotated[
        str,
        typer.Option(
            "--schedule",
            metavar="NAME",
            help=f"lp (exact), or one of {', '.join(n for n in NAMED if n != 'cfr-br')}.",
        ),
    ] = "lp",
    iterations: Annotated[
        int | None, typer.Option("--iterations", metavar="N", help="Stop after N iterations.")
    ] = None,
    seconds: SecondsOption = None,
    gap: Annotated[
        float | None,
        typer.Option(
            "--gap",
            metavar="E",
            help="Stop when the NashConv of the depth-limited game is at most E.",
        ),
    ] = None,
    best_below: Annotated[
        bool,
        typer.Option(
            "--best-below",
            help="Also evaluate the solution with best play below the limit instead of the "
            "blueprint. This solves a linear program of the whole game.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Save the strategy as FILE.safetensors."),
    ] = None,
    allow_worse: Annotated[
        bool,
        typer.Option(
            "--allow-worse", help="Save the strategy even if it is more exploitable than before."
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="Seed of rollouts and of the random strategy."),
    ] = 0,
    memory_limit: MemoryOption = "8GiB",
    json: JsonOption = False,
) -> None:
    """Solve a game down to a depth limit.

    In a game with hidden information one value per state at the limit is not enough. Instead, at
    each infoset at the limit, the opponent chooses one of several strategies for the rest of the
    game, called continuations (Brown, Sandholm & Amos 2018). The solution is played above the limit
    and STRATEGY below it. The exploitability of both together is measured in the whole game.

    [bold]Examples[/]

    subgame solve leduc --iterations 200 --out rough.safetensors

    subgame limit leduc rough.safetensors --at 'after round 1'

    subgame limit leduc rough.safetensors --at 'after round 1' --continuations self --best-below

    subgame limit rps-plus --blueprint equilibrium --at 'P2 to move' --continuations none

    subgame train leduc rough.safetensors --at 'after round 1' --out leaves.safetensors

    subgame limit leduc rough.safetensors --leaves leaves.safetensors
    """
    check_one(strategy, blueprint)
    network = Path(leaves) if leaves.endswith(SAVED) else None
    _check(leaves, network, continuations, count, rollouts, schedule, iterations, seconds, gap)
    check_player(player)
    check_least("seed", seed, 0)
    if not 0 <= penalty < math.inf:
        raise ArgumentError("penalty", f"must be a number of at least 0, not {penalty:g}.")
    check_saved("--out", out)

    import subgame as sg

    began = time.perf_counter()
    rules = load_game(game)
    refuse_holdem(rules)
    with Meter(str(rules)) as meter:
        tree = compile_game(rules, memory_limit, meter)
        rough = named_strategy(rules, tree, strategy, blueprint, seed)
        warm_up(meter, schedule)
        if network is not None:
            limit = Limit.trained(network, tree, rough, at, player)
        else:
            values: Evaluator = sg.exact
            if leaves == "rollout":
                values = sg.Rollouts(1000 if rollouts is None else rollouts, seed)
            limit = Limit.made(tree, rough, at, player, values, continuations, count, meter)
        meter.update(f"Solving {rules} down to the depth limit")
        solved = [
            sg.solve_limited(
                sg.depth_limited(
                    tree,
                    rough,
                    at=limit.subgames,
                    player=p,
                    continuations=limit.offered[p],
                    values=limit.values[p],
                    weaken=weaken,
                    penalty=penalty,
                ),
                schedule=schedule,
                iterations=iterations,
                seconds=seconds,
                gap=gap,
            )
            for p in limit.players
        ]
        found = Found.of(limit, solved, best_below, meter, began)
    refused = None
    if out is not None and found.is_worse and not allow_worse:
        refused = not_saved(out, "depth-limited solving", found.before, found.after)
    failure = save_files((None if refused else out, found.strategy.save)) or refused
    if json:
        emit(found.as_dict(leaves) | ({"out": str(out)} if out is not None and not failure else {}))
    else:
        show(stdout(), found, Line.of(context), leaves, None if failure else out)
    if failure:
        raise failure
    if any(each.result.stopped == "interrupted" for each in solved):
        raise typer.Exit(INTERRUPTED)


# Before --------------------------------------------------------------------------------------
def check_way(way: str | None, count: int | None) -> None:
    """Refuse unknown kinds of continuations."""
    if way is not None and way not in WAYS:
        raise did_you_mean("kind of continuations", way, WAYS)
    check_least("count", count)
    if count is not None and way in ("all", "none"):
        raise SubgameError(f"--count does not apply to --continuations {way}.")


def refuse_holdem(rules: Game) -> None:
    """Refuse hold'em, whose trees are too large for the tables of this command."""
    import subgame as sg

    if isinstance(rules, sg.holdem.Holdem):
        raise SubgameError(
            f"This command does not work on hold'em games such as {rules}; "
            "in Python, subgame.depth_limited solves them to a depth limit."
        )


def _check(
    leaves: str,
    network: Path | None,
    way: str | None,
    count: int | None,
    rollouts: int | None,
    schedule: str,
    iterations: int | None,
    seconds: float | None,
    gap: float | None,
) -> None:
    """Check everything before the game is compiled, which may take a while."""
    from subgame.solve.solver import Limits

    if network is None and leaves not in LEAVES:
        raise did_you_mean("kind of leaf values", leaves, [*LEAVES, "FILE.safetensors"])
    check_way(way, count)
    if network is not None:
        check_readable("--leaves", network, SAVED_NETWORKS)
        for option, given in (("--continuations", way), ("--count", count)):
            if given is not None:
                raise SubgameError(
                    f"The file {network} contains its continuations, so {option} cannot be given "
                    "with it."
                )
    if rollouts is not None and leaves != "rollout":
        raise SubgameError("--rollouts only applies to --leaves rollout.")
    check_least("rollouts", rollouts, LEAST_ROLLOUTS)
    limits = {"iterations": iterations, "seconds": seconds, "gap": gap}
    if schedule.strip().lower() != "lp":
        plan = parse(schedule)
        if plan.responder >= 0 or plan.sampling not in ("none", "public"):
            raise SubgameError(f"The schedule {schedule} does not solve depth-limited games.")
        Limits.to_gap(iterations, seconds, gap)
        return
    for name, value in limits.items():
        if value is not None:
            raise SubgameError(
                f"--{name} does not apply to the schedule lp, which solves a game exactly."
            )


@dataclass(frozen=True)
class Limit:
    """A depth limit and the continuations at it. Mappings are by the player that is solved for."""

    tree: PublicTree
    blueprint: Strategy
    subgames: Sequence[Subgame]
    values: Mapping[int, Evaluator]
    """The evaluator of the leaves in the player's tree."""
    offered: Mapping[int, Continuations | None]
    """The continuations of the player's opponent."""
    at: Sequence[str]
    """The limit as it was given."""

    @property
    def players(self) -> tuple[int, ...]:
        """The players that are solved for."""
        return tuple(self.values)

    @classmethod
    def made(
        cls,
        tree: PublicTree,
        blueprint: Strategy,
        at: Sequence[str] | None,
        player: int | None,
        values: Evaluator,
        way: str | None,
        count: int | None,
        meter: Meter,
    ) -> Self:
        """A limit with continuations of one of the kinds in `WAYS`."""
        import subgame as sg

        subgames = sg.cut(tree, where(tree, at))
        players = (0, 1) if player is None else (player,)
        offered: dict[int, Continuations | None] = {}
        for p in players:
            meter.update(f"Computing continuations of player {1 - p}")
            if way == "none":
                offered[p] = None
            elif way == "all":
                offered[p] = sg.all_pure(tree, at=subgames, player=1 - p)
            elif way == "self":
                offered[p] = sg.self_generated(
                    tree, blueprint, at=subgames, player=p, count=count or SELF
                )
            else:
                offered[p] = sg.biased(blueprint, 1 - p)[:count]
        return cls(tree, blueprint, subgames, dict.fromkeys(players, values), offered, at or ())

    @classmethod
    def trained(
        cls,
        path: Path,
        tree: PublicTree,
        blueprint: Strategy,
        at: Sequence[str] | None,
        player: int | None,
    ) -> Self:
        """The limit that a file of networks was trained for."""
        import subgame as sg

        networks = sg.load_leaf_networks(path, tree)
        learned_at = jsonlib.loads(next(iter(networks.values())).notes.get("at", "[]"))
        if at and list(at) != learned_at:
            raise SubgameError(f"{path} was trained {_places(learned_at)}, not {_places(at)}.")
        if player is not None and player not in networks:
            raise SubgameError(
                f"{path} was only trained for player {1 - player}; train one with --player "
                f"{player}."
            )
        players = tuple(networks) if player is None else (player,)
        return cls(
            tree,
            blueprint,
            sg.cut(tree, where(tree, learned_at)),
            {p: networks[p] for p in players},
            {p: networks[p].continuations for p in players},
            learned_at,
        )


def _places(at: Sequence[str]) -> str:
    return "at " + " and ".join(f"'{name}'" for name in at)

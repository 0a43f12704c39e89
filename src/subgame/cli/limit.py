"""``subgame limit``: solve a game down to a depth limit."""

from __future__ import annotations

import json as jsonlib
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import typer

from subgame.cli.arguments import GameArgument, MemoryOption, grouped, opt
from subgame.cli.common import (
    SAVED,
    check_least,
    check_player,
    check_readable,
    check_saved,
    emit,
    finish,
    load_game,
    save_files,
    stdout,
)
from subgame.cli.limit_view import Found, show
from subgame.cli.line import Line
from subgame.cli.options import Given, Output, PlayerOption, Stop, check_exact
from subgame.cli.progress import Meter, compiled, warm_up
from subgame.cli.refine import places
from subgame.cli.refine_view import not_saved
from subgame.errors import ArgumentError, SubgameError, did_you_mean
from subgame.solve.limits import check_seed
from subgame.solve.schedule import NAMED, parse

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.refine.continuations import Continuations
    from subgame.refine.limit import Evaluator
    from subgame.refine.subgame import Subgame
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

WAYS = ("bias", "self", "all", "none")
LEAVES = ("exact", "rollout")
LEAST_ROLLOUTS = 2
"""The least number of rollouts that has a standard error."""
SELF = 10
"""Default number of continuations from self-play, as in the paper's Fig. 2."""


@dataclass(frozen=True)
class Where:
    """A depth limit, and what the opponent may choose from there."""

    at: list[str] | None = opt(
        None,
        "WHERE",
        "The limit: a frontier of the game ('after round 1' in leduc), a public state, "
        "'depth 2', 'before chance' or 'after chance'. Repeat --at for several public states.",
        False,
    )
    continuations: str | None = opt(
        None,
        "KIND",
        "The strategies that the opponent may choose from at the limit. bias: the "
        "blueprint biased towards each action. self: best responses found by self-play. all: "
        "every pure strategy. none: only the blueprint.",
        "bias",
    )
    count: int | None = opt(
        None,
        "K",
        "Offer at most K continuations, including the blueprint.",
        f"bias: all, self: {SELF}",
    )
    player: PlayerOption = None

    def check(self) -> None:
        """Refuse unknown kinds of continuations and players."""
        if self.continuations is not None and self.continuations not in WAYS:
            raise did_you_mean("kind of continuations", self.continuations, WAYS)
        check_least("count", self.count)
        if self.count is not None and self.continuations in ("all", "none"):
            raise SubgameError(f"--count does not apply to --continuations {self.continuations}.")
        check_player(self.player)


@dataclass(frozen=True)
class Leaves:
    """The values at a depth limit."""

    leaves: str = opt(
        "exact",
        "KIND",
        "The values at the limit: exact, rollout, or a file FILE.safetensors of networks "
        "saved by subgame train, which also contains the limit and the continuations.",
    )
    rollouts: int | None = opt(
        None, "N", "With --leaves rollout: rollouts per history and pair of continuations.", "1000"
    )
    weaken: bool = opt(
        False,
        None,
        "Lower the values of continuations that do better than the blueprint to the "
        "blueprint's value.",
    )
    penalty: float = opt(
        0.0, "X", "Subtract X from the value of every continuation but the blueprint."
    )

    @property
    def network(self) -> Path | None:
        """The file of networks."""
        return Path(self.leaves) if self.leaves.endswith(SAVED) else None

    def check(self, where: Where) -> None:
        """Refuse what does not fit together."""
        if self.network is None and self.leaves not in LEAVES:
            raise did_you_mean("kind of leaf values", self.leaves, [*LEAVES, "FILE.safetensors"])
        if self.network is not None:
            from subgame.refine.sequence.leaf_network import SAVED as SAVED_NETWORKS

            check_readable("--leaves", self.network, SAVED_NETWORKS)
            for option in ("continuations", "count"):
                if getattr(where, option) is not None:
                    raise SubgameError(
                        f"The file {self.network} contains its continuations, so --{option} cannot "
                        "be given with it."
                    )
        if self.rollouts is not None and self.leaves != "rollout":
            raise SubgameError("--rollouts only applies to --leaves rollout.")
        check_least("rollouts", self.rollouts, LEAST_ROLLOUTS)
        if not 0 <= self.penalty < math.inf:
            raise ArgumentError("penalty", f"must be a number of at least 0, not {self.penalty:g}.")


@dataclass(frozen=True)
class LimitOutput(Output):
    """What is written, and whether also if it is worse than the blueprint."""

    allow_worse: bool = opt(
        False, None, "Save the strategy even if it is more exploitable than before."
    )


@dataclass(frozen=True)
class Solving:
    """How the game above the limit is solved and measured."""

    schedule: str = opt(
        "lp", "NAME", f"lp (exact), or one of {', '.join(n for n in NAMED if n != 'cfr-br')}."
    )
    best_below: bool = opt(
        False,
        None,
        "Also evaluate the solution with best play below the limit instead of the "
        "blueprint. This solves a linear program of the whole game.",
    )
    memory_limit: MemoryOption = "8GiB"


@grouped
def limit_command(
    *,
    context: typer.Context,
    game: GameArgument,
    source: Given,
    where: Where,
    leaves: Leaves,
    solving: Solving,
    stop: Stop,
    output: LimitOutput,
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
    source.check()
    where.check()
    leaves.check(where)
    schedule = solving.schedule
    _check_schedule(schedule, stop)
    check_seed(source.seed)
    check_saved("--out", output.out)
    began, network = time.perf_counter(), leaves.network
    rules = load_game(game)
    refuse_holdem(rules)

    import subgame as sg
    from subgame.refine.sequence.leaves import Rollouts, exact
    from subgame.solve.solver import whole_solves

    with compiled(rules, solving.memory_limit) as (meter, tree):
        rough = source.read(tree)
        warm_up(meter, schedule)
        if network is not None:
            limit = Limit.trained(network, tree, rough, where)
        else:
            values: Evaluator = exact
            if leaves.leaves == "rollout":
                values = Rollouts(leaves.rollouts or 1000, source.seed)
            limit = Limit.made(tree, rough, where, values, meter)
        meter.update(f"Solving {meter.game} down to the depth limit")
        solved = []
        with whole_solves() if len(limit.players) > 1 else nullcontext():
            for p in limit.players:
                limited = sg.depth_limited(
                    tree,
                    rough,
                    at=limit.subgames,
                    player=p,
                    continuations=limit.offered[p],
                    values=limit.values[p],
                    weaken=leaves.weaken,
                    penalty=leaves.penalty,
                )
                solved.append(sg.solve_limited(limited, schedule=schedule, **vars(stop)))
        result = Found.of(limit, solved, solving.best_below, meter, began)
    refused = not_saved(output, "depth-limited solving", result)
    failure = save_files((None if refused else output.out, result.strategy.save)) or refused
    out = None if failure else output.out
    if output.json:
        emit(result.as_dict(leaves.leaves), out)
    else:
        show(stdout(), result, Line.of(context), leaves.leaves, out)
    finish(failure, *(side.result.stopped for side in solved))


# Before --------------------------------------------------------------------------------------
def refuse_holdem(rules: Game) -> None:
    """Refuse hold'em, whose trees are too large for the tables of this command."""
    import subgame as sg

    if isinstance(rules, sg.holdem.Holdem):
        raise SubgameError(
            f"This command does not work on hold'em games such as {rules}; "
            "in Python, subgame.depth_limited solves them to a depth limit."
        )


def _check_schedule(schedule: str, stop: Stop) -> None:
    """Check how to solve before the game is compiled, which may take a while."""
    from subgame.solve.limits import Limits

    if schedule.strip().lower() == "lp":
        check_exact(vars(stop))
        return
    plan = parse(schedule)
    if plan.responder >= 0 or plan.sampling not in ("none", "public"):
        raise SubgameError(f"The schedule {schedule} does not solve depth-limited games.")
    Limits(**vars(stop))


@dataclass(frozen=True)
class Limit:
    """A depth limit and the continuations at it. Mappings are by the player that is solved for."""

    tree: PublicTree
    blueprint: Strategy
    subgames: Sequence[Subgame]
    values: Mapping[int, Evaluator]
    """The evaluator of the leaves in the player's tree."""
    offered: Mapping[int, Continuations]
    """The continuations of the player's opponent."""
    at: Sequence[str]
    """The limit as it was given."""

    @property
    def players(self) -> tuple[int, ...]:
        """The players that are solved for."""
        return tuple(self.values)

    @classmethod
    def made(
        cls, tree: PublicTree, blueprint: Strategy, where: Where, values: Evaluator, meter: Meter
    ) -> Self:
        """A limit with continuations of one of the kinds in `WAYS`."""
        import subgame as sg
        from subgame.refine.continuations import Continuations, biased
        from subgame.refine.sequence.continuations import all_pure

        subgames, way = sg.cut(tree, places(tree, where.at)), where.continuations
        players = (0, 1) if where.player is None else (where.player,)
        offered: dict[int, Continuations] = {}
        for p in players:
            meter.update(f"Computing continuations of player {1 - p}")
            if way == "none":
                offered[p] = Continuations.of(blueprint, 1 - p)
            elif way == "all":
                offered[p] = all_pure(tree, at=subgames, player=1 - p)
            elif way == "self":
                offered[p] = sg.self_generated(
                    tree, blueprint, at=subgames, player=p, count=where.count or SELF
                )
            else:
                offered[p] = biased(blueprint, 1 - p)[: where.count]
        by_player = dict.fromkeys(players, values)
        return cls(tree, blueprint, subgames, by_player, offered, where.at or ())

    @classmethod
    def trained(cls, path: Path, tree: PublicTree, blueprint: Strategy, where: Where) -> Self:
        """The limit that a file of networks was trained for."""
        import subgame as sg
        from subgame.refine.sequence.leaf_network import load_leaf_networks

        at, player = where.at, where.player
        networks = load_leaf_networks(path, tree)
        learned_at = jsonlib.loads(next(iter(networks.values())).notes.get("at", "[]"))
        if at and list(at) != learned_at:
            raise SubgameError(f"{path} was trained {_places(learned_at)}, not {_places(at)}.")
        if player is not None and player not in networks:
            raise SubgameError(
                f"{path} was only trained for player {1 - player}; train one with --player "
                f"{player}."
            )
        players = tuple(networks) if player is None else (player,)
        subgames, values = sg.cut(tree, places(tree, learned_at)), {p: networks[p] for p in players}
        offered = {p: network.continuations for p, network in values.items()}
        return cls(tree, blueprint, subgames, values, offered, learned_at)


def _places(at: Sequence[str]) -> str:
    return "at " + " and ".join(f"'{name}'" for name in at)

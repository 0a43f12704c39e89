"""Solving one subgame behind its gadget: by the learner, as a gadget game, or by linear program."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np

from subgame.engines.arrays import Array, Floats, as_numpy
from subgame.engines.contract import Engine, Numbers
from subgame.engines.factory import engine
from subgame.errors import SubgameError
from subgame.refine.accept import Acceptance
from subgame.refine.gadgets import Gadget
from subgame.refine.learners import Choice, GadgetInputs
from subgame.refine.subgame import Subgame, left
from subgame.solve.evaluate import Exploitability
from subgame.solve.lp import solve_lp
from subgame.solve.results import Result
from subgame.solve.schedule import Schedule, parse
from subgame.solve.solver import Limits, Run, complete, drive
from subgame.tree.public_tree import PublicTree, both, places, restrict
from subgame.tree.strategy import Strategy

LP = "lp"
T = TypeVar("T")


def default_schedule(gadget: Gadget, tree: PublicTree) -> str:
    """The schedule that is used where none is given.

    It is the one that suits the kind of tree; but CFR+ in place of a predictive one where the
    gadget never settles (random and custom entries), for there predictions fail.
    """
    usual = tree.usual_schedule
    return usual if gadget.is_finite or not parse(usual).predictive else "cfr+"


@dataclass(frozen=True)
class Technique:
    """A gadget with the schedule it is solved by and the limits of one solve."""

    gadget: Gadget
    schedule: Schedule | str
    """A CFR schedule, or "lp"."""
    limits: Limits

    @classmethod
    def of(
        cls, gadget: Gadget, tree: PublicTree, schedule: Schedule | str | None, limits: Limits
    ) -> Technique:
        """What the user asked for; without a schedule, the default one."""
        chosen = default_schedule(gadget, tree) if schedule is None else schedule
        return cls(gadget, LP if chosen == LP else parse(chosen), limits)


class GadgetOptions(TypedDict, total=False):
    """How gadget games are solved: until a limit is reached; 1,000 iterations if none is given."""

    schedule: Schedule | str | None
    """A CFR schedule, or ``"lp"``; by default the one that suits the gadget and the tree."""
    iterations: int | None
    """So many iterations of each gadget game."""
    gap: float | None
    """A certified gap of each gadget game of at most this: its NashConv, twice its exploitability.
    Only a gadget that is a finite game has one."""
    device: str | None
    """Where they are solved and results are evaluated, as in `solve`; a linear program runs on the
    CPU."""


class RefineOptions(GadgetOptions, total=False):
    """How gadget games are solved, with a time limit."""

    seconds: float | None
    """So many seconds for all gadget games together; each has the same share."""


@dataclass(frozen=True)
class Solving:
    """How gadget games are solved; see `RefineOptions`."""

    schedule: Schedule | str | None = None
    iterations: int | None = None
    seconds: float | None = None
    gap: float | None = None
    device: str | None = None

    def technique(self, gadget: Gadget, tree: PublicTree, games: int = 1) -> Technique:
        """A gadget with how it is solved, in a tree with so many gadget games."""
        if self.gap is not None and not gadget.is_finite:
            raise SubgameError(
                f"{gadget.name} is not a finite game, so it has no gap to reach. Give a number of "
                "iterations or seconds instead."
            )
        share = None if self.seconds is None else self.seconds / max(games, 1)
        limits = Limits.to_gap(self.iterations, share, self.gap)
        return Technique.of(gadget, tree, self.schedule, limits)


class Solved(NamedTuple):
    """A subgame solved behind a gadget."""

    result: Result
    """Of the gadget game: its exploitability is half its gap."""
    sigma: tuple[Floats, Floats]  # [q] both players' strategies over the subgame's own tree


def solve_gadget(
    how: Technique, subgame: Subgame, inputs: GadgetInputs, device: str | None = None
) -> Solved:
    """Solve a subgame behind its gadget.

    A finite gadget on a sequence tree is solved as a gadget game, in which many iterations are one
    call of a kernel (or by linear program). Everything else is solved by the gadget's learner.
    """

    def solve(stage: Gadget, inputs: GadgetInputs) -> Solved:
        if isinstance(how.schedule, str):
            result = _by_program(stage, subgame, inputs, device)
        else:
            result = complete(_run_of(stage, how.schedule, subgame, inputs, device), how.limits)
        return Solved(result, inside(result.strategy, subgame.tree))

    run = engine(subgame.tree, device=device)
    return solve_behind(how.gadget, inputs, solve, lambda solved: left(run, solved.sigma, inputs))


class Played(NamedTuple):
    """A subgame solved for play: nothing is measured."""

    sigma: tuple[Numbers, Numbers]  # [q] both players' strategies over the subgame's own tree
    iterations: int
    stopped: str
    share: float = 1.0
    """Of the solution in our strategy; the rest is what was followed before (`refine.accept`)."""


def play_gadget(
    how: Technique,
    subgame: Subgame,
    inputs: GadgetInputs,
    before: Numbers | None = None,
    now: Callable[[], float] = time.perf_counter,
) -> Played:
    """Solve a subgame behind its gadget in the given time, without measuring the result.

    Of the solution so much is played as loses nothing compared with `before`, [q] our strategy that
    it is to replace; without one, all of it.
    """
    if isinstance(how.schedule, str):
        raise SubgameError("Play needs a CFR schedule, which can be stopped at any time.")
    schedule, run = how.schedule, engine(subgame.tree)
    check = None if before is None else Acceptance(how.gadget, inputs, run, before, now)
    limits = how.limits
    if check is not None and limits.seconds is not None:
        limits = replace(limits, seconds=max(limits.seconds - check.seconds, limits.seconds / 2))

    def solve(stage: Gadget, inputs: GadgetInputs) -> Played:
        solving = _run_of(stage, schedule, subgame, inputs, None)
        stopped = drive(solving, limits, measured=False, now=now)
        return Played(inside(solving.strategy(), subgame.tree), solving.iteration, stopped)

    solved = solve_behind(how.gadget, inputs, solve, lambda played: left(run, played.sigma, inputs))
    if check is None:
        return solved
    us = 1 - inputs.opponent
    ours = check(solved.sigma[us])
    sigma = (ours.sigma, solved.sigma[1]) if us == 0 else (solved.sigma[0], ours.sigma)
    return solved._replace(sigma=sigma, share=ours.share)


def solve_behind(
    gadget: Gadget,
    inputs: GadgetInputs,
    solve: Callable[[Gadget, GadgetInputs], T],
    leaves: Callable[[T], Array],
) -> T:
    """Solve behind a gadget, stage by stage (`Gadget.stages`); gives the last stage's result.

    `solve` solves one stage. After each of the earlier ones every alternative is raised to what its
    result `leaves` the opponent, [s].
    """
    *before, last = gadget.stages
    for stage in before:
        inputs = inputs.raised(leaves(solve(stage, inputs)))
    return solve(last, inputs)


def _run_of(
    gadget: Gadget, solver: Schedule, subgame: Subgame, inputs: GadgetInputs, device: str | None
) -> Run:
    """A finite gadget on a sequence tree as a gadget game, everything else by its learner."""
    subgame.check_inputs(gadget, inputs)
    if not gadget.is_finite and solver.sampling != "none":
        raise SubgameError(f"{gadget.name} needs a schedule that does not sample.")
    if gadget.is_finite and not gadget.refined and (game := subgame.gadget_game(gadget, inputs)):
        return Run(game.tree, solver, device=device)
    return GadgetRun(subgame.tree, solver, gadget, inputs, device)


def _by_program(
    gadget: Gadget, subgame: Subgame, inputs: GadgetInputs, device: str | None
) -> Result:
    subgame.check_inputs(gadget, inputs)
    if not gadget.is_finite:
        raise SubgameError(
            f"{gadget.name} is not a finite game, so there is no linear program for it. Solve it "
            "by a CFR schedule."
        )
    game = subgame.gadget_game(gadget, inputs)
    if game is None:
        raise SubgameError(
            "There is no linear program for hold'em trees. Solve the gadget game by a CFR "
            "schedule, or compile a small deck with explicit=True."
        )
    return solve_lp(game.tree, tremble=game.tremble, device=device)


def inside(strategy: Strategy, tree: PublicTree) -> tuple[Floats, Floats]:
    """A strategy of a gadget game, or of a whole game, laid over the tree of a part of it."""
    whole, probs = strategy.tree.players, strategy.probs
    if strategy.tree is tree:
        return probs
    return both(lambda p: restrict(probs[p], places(tree.players[p], whole[p])))


class GadgetRun(Run):
    """A solve behind a gadget's learner, evaluated in the gadget game."""

    def __init__(
        self,
        tree: PublicTree,
        schedule: Schedule,
        gadget: Gadget,
        inputs: GadgetInputs,
        device: str | None = None,
        on: Engine | None = None,
        finish: Callable[[tuple[Numbers, Numbers]], Strategy] | None = None,
    ) -> None:
        """`device`, `on` and `finish` are those of `Run`."""
        self.inputs = inputs
        ours, theirs = (
            np.asarray(reach).reshape(tree.num_roots, -1)
            for reach in (inputs.our_reach, inputs.opponent_reach)
        )
        super().__init__(
            tree,
            schedule,
            device=device,
            on=on,
            finish=finish,
            learner=lambda run: gadget.learner(inputs.on(run), predictive=schedule.predictive),
            reach=(theirs, ours) if inputs.opponent == 0 else (ours, theirs),
        )

    def evaluate(self, played: tuple[Numbers, Numbers]) -> Exploitability:
        """NashConv / 2 of the gadget game, with the gadget's average entry."""
        run, learner, us = self.engine, self.cfr.learner, 1 - self.inputs.opponent
        o, ours = 1 - us, np.asarray(self.inputs.our_reach).reshape(run.tree.num_roots, -1)
        won = run.respond(o, run.plan(us, played[us], ours)).roots
        if isinstance(learner, Choice):
            most, entry, outside = learner.certify(won)
        else:  # nobody chooses, or there is no finite game
            entry = as_numpy(self.cfr.reach[o])
            most, outside = float((won * entry).sum()), 0.0
        back = run.respond(us, run.plan(o, played[o], entry)).roots
        wins = {us: most, o: float((back * ours).sum()) - outside}
        return Exploitability((wins[0], wins[1]))

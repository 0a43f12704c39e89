"""`refine` and `refine_in_turn`: improve a blueprint in its subgames."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Unpack

import numpy as np

from subgame.engines.arrays import Floats
from subgame.engines.factory import engine
from subgame.errors import SubgameError, did_you_mean
from subgame.refine.accept import Acceptance
from subgame.refine.behind import RefineOptions, Solving, Technique, solve_gadget
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.report import Part, Refinement
from subgame.refine.subgame import At, Subgame, Trunk, Vector, combine, left, vector
from subgame.refine.verbs.cut import subgames_of
from subgame.solve.evaluate import Exploitability, expected_value, exploitability
from subgame.solve.limits import check_options, made_of, with_options
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy


@with_options(RefineOptions)
def refine(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    technique: Gadget | str = "resolve",
    player: int | None = None,
    estimate: Strategy | None = None,
    alternatives: Mapping[str, Vector] | Vector | None = None,
    uncertainty: Mapping[str, Vector] | Vector | float | None = None,
    progress: Callable[[int, int], None] | None = None,
    allow_worse: bool = False,
    **options: Unpack[RefineOptions],
) -> Refinement:
    """Re-solve the subgames of a blueprint, each on its own, and put the results together.

    `at` is a frontier (see `subgame.cut`) or the subgames that `cut` gave. For each of them and
    for each player (or `player` alone) the technique's gadget game is solved by `schedule` until
    `iterations` per gadget, `seconds` in all, or a certified `gap`; 1,000 iterations if none is
    given. `RefineOptions` explains these and `device`. Each subgame is solved as if it were the
    only one: playing the result is playing whatever subgame is reached. Ctrl-C keeps the blueprint
    in what is not solved yet.

    Estimates come from `estimate`, a strategy whose opponent's value in the subgame is taken (a
    best response found in an abstraction, or the last CFR iterate; by default the blueprint
    itself), or from `alternatives`, numbers per root infoset of the opponent in the paper's
    normalised units (for several subgames a mapping from subgame to them). `uncertainty` is the
    standard deviation of the distributional techniques, by default the distance between the
    estimate and the blueprint's CBV.

    After a safe technique (`Gadget.is_safe`; with `alternatives` none is) a best response wins no
    more than before, however short the solve: what is not shown to be as good as the blueprint is
    not played, see `_safe_parts`. `Refinement.kept` says where. With `allow_worse` all that was
    found is played. After other techniques nothing is guaranteed; compare `before` and `after`.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("coin-toss"))
    >>> blueprint = sg.Strategy.published(tree, "paper")
    >>> refined = sg.refine(tree, blueprint, at="Play", technique=sg.Maxmargin(), schedule="lp")
    >>> {action: round(p, 6) for action, p in refined.strategy["Play"].items()}
    {'Heads': 0.625, 'Tails': 0.375, 'Forfeit': 0.0}
    """
    began = time.perf_counter()
    check_options(refine, options)
    gadget, solving = technique_named(technique), made_of(Solving, options)
    device = solving.device
    before = exploitability(tree, blueprint, device=device)
    if estimate is not None:
        expected_value(tree, estimate, device=device)  # refuses a strategy of another tree
    jobs = subgames_of(tree, at, player)
    how, tell = solving.technique(gadget, tree, len(jobs)), progress or (lambda done, of: None)
    trunk = cache(lambda o: Trunk(blueprint, o, estimate, device))
    parts = []
    for done, (subgame, p) in enumerate(jobs):
        tell(done, len(jobs))
        payoff = _pick(alternatives, subgame, "alternative payoff", 1 - p, jobs)
        spread = _spread(_pick(uncertainty, subgame, "uncertainty", 1 - p, jobs))
        parts.append(_refine_one(trunk(1 - p), subgame, how, payoff, spread))
        if parts[-1].stopped == "interrupted":  # Ctrl-C: what is left keeps the blueprint
            break
    tell(len(jobs), len(jobs))
    if gadget.is_safe and alternatives is None and not allow_worse:
        parts = _safe_parts(blueprint, parts, before, device)
    strategy = _combined(blueprint, parts)
    return Refinement(
        game=tree.game_name,
        technique=gadget,
        schedule=str(how.schedule),
        strategy=strategy,
        parts=tuple(parts),
        before=before,
        after=exploitability(tree, strategy, device=device),
        seconds=time.perf_counter() - began,
    )


@with_options(RefineOptions)
def refine_in_turn(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    player: int | None = None,
    **options: Any,
) -> Refinement:
    """Refine subgames one after another; each solution is part of the blueprint of the next.

    With a safe technique no step raises exploitability, also where subgames overlap (Zhang &
    Sandholm 2021: results of subgame solving are incorporated back into the blueprint). `options`
    are those of `refine`.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("dark-hex"))
    >>> parts = sg.cut(tree, "after 2 turns", knowledge=1)
    >>> result = refine_in_turn(tree, sg.Strategy.uniform(tree), at=parts, schedule="lp")
    >>> result.after.mean < result.before.mean
    True
    """
    began, strategy = time.perf_counter(), blueprint
    done = []
    for subgame, p in subgames_of(tree, at, player):
        done.append(refine(tree, strategy, at=[subgame], player=p, **options))
        strategy = done[-1].strategy
    if not done:
        raise SubgameError("No subgame has a decision of this player.")
    return replace(
        done[0],
        strategy=strategy,
        parts=tuple(part for result in done for part in result.parts),
        after=done[-1].after,
        seconds=time.perf_counter() - began,
    )


def _combined(blueprint: Strategy, parts: Sequence[Part]) -> Strategy:
    return combine(blueprint, ((part.subgame, part.player, part.sigma) for part in parts))


def _safe_parts(
    blueprint: Strategy, parts: list[Part], before: Exploitability, device: str | None
) -> list[Part]:
    """The parts with as much of the blueprint as is needed to show that nothing is lost.

    A part whose bound is 0 loses nothing, whatever is played in the other subgames (Burch et al.
    2014, Theorem 1; Brown & Sandholm 2017, Theorem 1), unless subgames overlap. Of the others, as
    many as possible with the smallest bounds are played, as long as the whole strategy, evaluated
    exactly, loses no more than the blueprint. The rest is mixed with the blueprint so that no
    margin is below 0 (`subgame.refine.accept`).
    """
    out = list(parts)
    for p in (0, 1):
        mine = [k for k, part in enumerate(parts) if part.player == p]
        doubtful = [k for k in mine if _is_doubtful(parts[k])]
        doubtful.sort(key=lambda k: parts[k].bound)
        slack = sum(parts[k].rounding for k in mine)
        count = len(doubtful)
        while doubtful[:count]:
            played = [parts[k] for k in mine if k not in doubtful[count:]]
            after = exploitability(blueprint.tree, _combined(blueprint, played), device=device)
            if after.per_seat[p] <= before.per_seat[p] + slack:
                break
            count //= 2
        trunk = Trunk(blueprint, 1 - p, device=device)
        for k in doubtful[count:]:
            out[k] = _mixed(trunk, parts[k])
    return out


def _mixed(trunk: Trunk, part: Part) -> Part:
    """A part with as much of what was found as loses nothing at any root infoset."""
    subgame, p = part.subgame, part.player
    before = subgame.restrict(trunk.blueprint, p)
    kept = replace(part, sigma=before, values=part.cbv, rejected=part.margin, share=0.0)
    if subgame.overlaps:
        return kept
    inputs, _ = trunk.inputs(subgame, replace(part.technique, gifts="none", estimate=False))
    run = engine(subgame.tree, device=trunk.device)
    sigma, share = Acceptance(replace(part.technique, estimate=False), inputs, run, before)(
        part.sigma
    )
    if share == 0:
        return kept
    mixed = replace(part, sigma=sigma, values=left(run, (sigma, sigma), inputs), share=share)
    return kept if _is_doubtful(mixed) else mixed


def _is_doubtful(part: Part) -> bool:
    """Whether only the whole strategy shows that nothing is lost by this part."""
    return part.subgame.overlaps or part.bound > part.rounding


def _pick(vectors: Any, subgame: Subgame, what: str, o: int, jobs: list[Any]) -> Floats | None:
    """The user's vector for one subgame, from whatever shape it was given in."""
    if vectors is None:
        return None
    if np.isscalar(vectors) and not isinstance(vectors, str):
        return vector(subgame, o, np.full(len(subgame.tree.players[o].slots), vectors), what)
    names = {job[0].name for job in jobs}
    if isinstance(vectors, Mapping) and subgame.name in vectors:
        for name in vectors:
            if name not in names:
                raise did_you_mean("subgame", str(name), names)
        vectors = vectors[subgame.name]
    elif len(names) > 1:
        raise SubgameError(
            f"There are several subgames: give the {what} as a mapping from subgame to numbers; "
            f"'{subgame.name}' is missing."
        )
    return vector(subgame, o, vectors, what)


def _spread(values: Floats | None) -> Floats | None:
    """Standard deviations, which must not be negative."""
    if values is not None and (values < 0).any():
        raise SubgameError(f"The uncertainty must be at least 0, not {values.min():g}.")
    return values


def _refine_one(
    trunk: Trunk,
    subgame: Subgame,
    how: Technique,
    alternatives: Floats | None,
    uncertainty: Floats | None,
) -> Part:
    """Solve one subgame behind its gadget, and measure what it leaves the opponent."""
    o, subgame = trunk.opponent, subgame.under(trunk)
    inputs, gifts = trunk.inputs(subgame, how.gadget, alternatives, uncertainty)
    played, solved = [subgame.restrict(trunk.blueprint, 1 - o)] * 2, None
    if (inputs.weight > 0).any():  # otherwise we never come here: the blueprint may stay
        solved = solve_gadget(how, subgame, inputs, trunk.device)
        played = list(solved.sigma)
    result = solved and solved.result
    return Part(
        technique=how.gadget,
        subgame=subgame,
        player=1 - o,
        sigma=played[1 - o],
        infosets=tuple(subgame.tree.players[o].slots),
        weight=inputs.weight,
        cbv=inputs.cbv,
        gifts=gifts,
        alternatives=inputs.alternative,
        values=left(engine(subgame.tree, device=trunk.device), played, inputs),
        gap=2 * float(result.exploitability) if result and how.gadget.is_finite else None,
        iterations=result.iterations if result else 0,
        seconds=result.seconds if result else 0.0,
        stopped=result.stopped if result else "never reached",
    )

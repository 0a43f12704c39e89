"""One technique on one task of the suite: what is scored, for each kind of task."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.bench.suite_tasks import Task, blueprint_of, bucketed, tree_of
from subgame.errors import SubgameError
from subgame.papers.last_street import LastStreet
from subgame.refine.gadgets import Gadget
from subgame.refine.verbs.depth import play_limited
from subgame.refine.verbs.refine import refine_in_turn
from subgame.solve.evaluate import best_response_strategy, expected_value
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree

SCHEDULE = "cfr+"
DIGITS, HOLDEM_DIGITS = 8, 3
"""Digits of a blueprint's exploitability that are the same on every machine."""
Score = dict[str, Any]


def measure(task: Task, gadget: Gadget) -> Score:
    """One technique on one task; {"refused": why} where it does not apply."""
    tree, began, worked = tree_of(task.game), time.perf_counter(), time.process_time()
    try:
        score = _scored(task)(task, tree, gadget)
    except SubgameError as error:
        return {"refused": str(error)}
    spent = time.process_time() - worked
    return score | {"cpu_seconds": spent, "seconds": time.perf_counter() - began}


def _scored(task: Task) -> Callable[[Task, PublicTree, Gadget], Score]:
    """What scores a task of this kind."""
    if task.buckets:
        return _last_street
    if task.limited:
        return _limited
    return _refined if task.at else _nested


def fingerprint(task: Task) -> dict[str, str]:
    """What `data/suite.json` should say of a task: its tree, what its blueprint loses."""
    if task.buckets:
        gap = _bucketed(task).exploitability().mean
    else:
        smaller = tree_of(task.smaller or task.game)
        gap = sg.exploitability(smaller, _blueprint(task), device=task.device).mean
    tree = tree_of(task.game)
    digits = HOLDEM_DIGITS if isinstance(tree, RangeTree) else DIGITS
    return {"tree": tree.digest, "blueprint": f"{gap:.{digits}g}"}


def _refined(task: Task, tree: PublicTree, gadget: Gadget) -> dict[str, Any]:
    blueprint = _blueprint(task)
    verb = refine_in_turn if task.in_turn else sg.refine
    result = verb(
        tree,
        blueprint,
        at=_subgames(task) if task.knowledge else task.at,
        technique=gadget,
        schedule=SCHEDULE,
        iterations=task.iterations,
        allow_worse=True,
    )
    wins = []
    for p in (0, 1):  # our seat; the opponent answers the blueprint best
        probs = list(result.strategy.probs)
        probs[1 - p] = best_response_strategy(tree, blueprint, 1 - p)
        value = expected_value(tree, sg.Strategy(tree, (probs[0], probs[1])))
        wins.append(value if p == 0 else -value)
    return {
        "before": result.before.mean,
        "after": result.after.mean,
        "margin": result.margin,
        "against_response": sum(wins) / 2,
    }


@lru_cache(maxsize=4)
def _blueprint(task: Task) -> sg.Strategy:
    return blueprint_of(tree_of(task.smaller or task.game), task.blueprint, task.device)


@lru_cache(maxsize=1)
def _bucketed(task: Task) -> Blueprint:
    _seat.cache_clear()  # which holds the last one on its device
    return bucketed(tree_of(task.game), task)


@lru_cache(maxsize=2)
def _seat(task: Task, p: int) -> LastStreet:
    """The subgames of one player."""
    return LastStreet(_bucketed(task), p)


@cache
def _subgames(task: Task) -> list[sg.Subgame]:
    return sg.cut(tree_of(task.game), task.at, knowledge=task.knowledge)


def _nested(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    options: Score = {"schedule": SCHEDULE, "iterations": task.iterations, "device": task.device}
    result = sg.nest(tree, _blueprint(task), technique=gadget, **options)
    return {"before": _translated(task), "after": result.after.mean, "margin": None}


@cache
def _translated(task: Task) -> float:
    """What a best response wins from the blueprint whose opponent's bets are translated."""
    tree, device = tree_of(task.game), task.device
    played = sg.translate(tree, _blueprint(task), "pseudo-harmonic", device=device)
    return sg.exploitability(tree, played, device=device).mean


def _limited(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    """The blueprint, played by solving to a depth limit after each action of the opponent."""
    options: Score = {"schedule": SCHEDULE, "iterations": task.iterations}
    blueprint = _blueprint(task)
    played = [play_limited(tree, blueprint, player=p, technique=gadget, **options) for p in (0, 1)]
    after = sum(result.after.per_seat[p] for p, result in enumerate(played)) / 2
    return {"before": played[0].before.mean, "after": after, "margin": None}


def _last_street(task: Task, tree: PublicTree, gadget: Gadget) -> Score:
    """All subgames after the last deal of a blueprint in buckets."""
    seats = [_seat(task, p) for p in (0, 1)]
    solved = [seat.evaluate(seat.plain(gadget), SCHEDULE, task.iterations) for seat in seats]
    return {
        "before": _lost(task),
        "after": sum(outcome.won for outcome in solved) / 2,
        "margin": min(outcome.margin for outcome in solved),
    }


@cache
def _lost(task: Task) -> float:
    """What a best response wins from a blueprint in buckets."""
    return _bucketed(task).exploitability().mean

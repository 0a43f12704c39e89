"""The tasks of the suite: fixed within a version, and never changed once they are in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import subgame as sg
from subgame.abstraction.lift import lift
from subgame.bench.holdem_spots import SPOTS
from subgame.games.leduc import LeducAbstract
from subgame.tree.public_tree import PublicTree

VERSION = 2


@dataclass(frozen=True)
class Task:
    """One task. `at` is the frontier; a task without one answers off-tree bets by `nest`."""

    name: str
    game: str
    blueprint: str
    """How it is made: "uniform", "random SEED", "published NAME", or a schedule and iterations.

    "coarse ..." is made by the rest of the recipe in Leduc's card abstraction."""
    at: str = ""
    iterations: int = 300
    knowledge: int | None = None
    """The order of knowledge by which the frontier is cut; None for public states."""
    smaller: str = ""
    """Of a task without frontier: the game of the blueprint."""
    in_turn: bool = False
    """Whether each subgame's solution is part of the blueprint of the next."""
    since: int = 1
    """The version of the suite in which the task was added."""


TWELVE = "no-limit-leduc(stack=12, bets={})"
LEDUC = "no-limit-leduc(stack=60, ante=10, bets=1x a, replies={})"
TASKS = (
    Task("coin-toss", "coin-toss", "published paper", "Play"),
    Task("kuhn-uniform", "kuhn", "uniform", "depth 1"),
    Task("kuhn-10", "kuhn", "cfr 10", "depth 1"),
    Task("leduc-uniform", "leduc", "uniform", "after round 1"),
    Task("leduc-random", "leduc", "random 1", "after round 1"),
    Task("leduc-3", "leduc", "cfr 3", "after round 1"),
    Task("leduc-10", "leduc", "cfr 10", "after round 1"),
    Task("leduc-30", "leduc", "cfr 30", "after round 1"),
    Task("leduc-100", "leduc", "cfr 100", "after round 1"),
    Task("leduc-board-10", "leduc", "cfr 10", "after the board card"),
    Task("leduc-board-100", "leduc", "cfr 100", "after the board card"),
    Task("leduc-knowledge-10", "leduc", "cfr 10", "after round 1", 100, knowledge=1),
    Task("liars-dice-3", "liars-dice(faces=3)", "cfr 10", "after the first bid"),
    Task("liars-dice-4-10", "liars-dice(faces=4)", "cfr 10", "after the first bid"),
    Task("liars-dice-4-100", "liars-dice(faces=4)", "cfr 100", "after the first bid"),
    Task("liars-dice-5", "liars-dice(faces=5)", "cfr 30", "after the first bid"),
    Task("goofspiel-3", "goofspiel(cards=3)", "uniform", "after trick 1"),
    Task("goofspiel-4-10", "goofspiel(cards=4)", "cfr 10", "after trick 1"),
    Task("goofspiel-4-100", "goofspiel(cards=4)", "cfr 100", "after trick 1"),
    Task("goofspiel-points", "goofspiel(cards=4, returns=points)", "cfr 10", "after trick 1"),
    Task("dark-hex", "dark-hex", "cfr 8", "after 2 turns"),
    Task("dark-hex-knowledge", "dark-hex", "cfr 8", "after 2 turns", knowledge=1),
    Task("dark-hex-2x3", "dark-hex(rows=2, cols=3)", "cfr 8", "after 4 turns", 100),
    Task("phantom-ttt", "phantom-ttt(abrupt=true)", "cfr 8", "after 2 turns"),
    Task("phantom-ttt-knowledge", "phantom-ttt(abrupt=true)", "cfr 8", "after 2 turns", 300, 1),
    Task("battleship", "battleship(rows=1, cols=4, ship=2, shots=3)", "cfr 8", "after the ships"),
    Task("river-equal", "river-45", "cfr+ 10", "root", 200),
    Task("river-single", "river-srp", "cfr+ 10", "root", 200),
    Task("river-3bet", "river-3bet", "cfr+ 10", "root", 200),
    Task("off-tree-kuhn", "no-limit-kuhn(bets=all)", "cfr+ 1000", smaller="no-limit-kuhn"),
    Task(
        "off-tree-leduc", LEDUC.format("0.5x 1x a"), "cfr+ 300", "", 200, None, LEDUC.format("1x a")
    ),
    Task("leduc-coarse", "leduc", "coarse cfr+ 300", "after round 1", since=2),
    Task("leduc-coarse-board", "leduc", "coarse cfr+ 300", "after the board card", since=2),
    Task("leduc-sizes", TWELVE.format("0.5x 1x a"), "cfr 10", "after round 1", since=2),
    Task(
        "off-tree-leduc-12",
        TWELVE.format("0.5x 1x a"),
        "cfr+ 300",
        iterations=200,
        smaller=TWELVE.format("fcpa"),
        since=2,
    ),
    Task("rhode-island", "rhode-island(ranks=4, suits=1)", "cfr 10", "after round 2", since=2),
    Task(
        "dark-hex-in-turn",
        "dark-hex",
        "cfr 8",
        "after 2 turns",
        knowledge=1,
        in_turn=True,
        since=2,
    ),
    Task(
        "goofspiel-in-turn",
        "goofspiel(cards=4)",
        "cfr 10",
        "after trick 1",
        iterations=100,
        knowledge=1,
        in_turn=True,
        since=2,
    ),
    Task("turn-3bet", "turn-3bet", "cfr+ 10", "root", 100, since=2),
)


@cache
def tree_of(game: str) -> PublicTree:
    """The tree of a game, or of a spot of `subgame bench holdem`."""
    return SPOTS[game].tree() if game in SPOTS else sg.compile(sg.games.load(game))


def blueprint_of(tree: PublicTree, recipe: str) -> sg.Strategy:
    """A blueprint by its recipe."""
    kind, _, rest = recipe.partition(" ")
    if kind == "coarse":
        return lift(blueprint_of(sg.compile(LeducAbstract()), rest), tree)
    if kind == "uniform":
        return sg.Strategy.uniform(tree)
    if kind == "random":
        return sg.Strategy.random(tree, seed=int(rest))
    if kind == "published":
        return sg.Strategy.published(tree, rest)
    return sg.solve(tree, kind, iterations=int(rest)).strategy

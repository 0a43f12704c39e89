"""The tasks of the suite: fixed within a version, and never changed once they are in one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import subgame as sg
from subgame.abstraction.blueprint import Blueprint
from subgame.abstraction.cards import abstract
from subgame.abstraction.lift import lift
from subgame.abstraction.recipe import Recipe
from subgame.bench.holdem_spots import SPOTS
from subgame.engines.torch.runtime import pick_device
from subgame.errors import SubgameError
from subgame.games.holdem import Holdem
from subgame.games.leduc import LeducAbstract
from subgame.papers.libratus_endgames import published
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import range_tree

VERSION = 3


@dataclass(frozen=True)
class Task:
    """One task. `at` is the frontier; a task without one answers off-tree bets by `nest`.

    Where the blueprint is in buckets, the subgames are those after the last deal.
    """

    name: str
    game: str
    blueprint: str
    """How it is made: "uniform", "random SEED", "published NAME", or a schedule and iterations.

    "coarse ..." is made by the rest of the recipe in Leduc's card abstraction, "buckets N ..." with
    N buckets on the last street of hold'em."""
    at: str = ""
    iterations: int = 300
    knowledge: int | None = None
    """The order of knowledge by which the frontier is cut; None for public states."""
    smaller: str = ""
    """Of a task without frontier: the game of the blueprint."""
    limited: bool = False
    """Whether each subgame is solved to a depth limit, after the opponent's next action."""
    gpu: bool = False
    """Whether the task is one for a GPU."""
    in_turn: bool = False
    """Whether each subgame's solution is part of the blueprint of the next."""
    since: int = 1
    """The version of the suite in which the task was added."""

    @property
    def buckets(self) -> int:
        """Buckets of the blueprint's last street; 0 if it has none."""
        kind, _, rest = self.blueprint.partition(" ")
        return int(rest.partition(" ")[0]) if kind == "buckets" else 0

    @property
    def device(self) -> str | None:
        """Where it is solved; None is the CPU by Numba."""
        return "cuda" if self.gpu else "torch" if self.buckets else None

    def missing(self) -> str:
        """Why the task cannot be run here; empty if it can."""
        try:
            if self.device is not None:
                pick_device(self.device)
            if self.game.startswith(LIBRATUS):
                published()
        except SubgameError as error:
            return str(error)
        return ""


LIBRATUS = "libratus "
RECIPE = Recipe(opponents=20, textures=2)
"""How hands are put into buckets: as in Tables 3 to 5 with 200 of them."""
TABLE_2 = "nlfh(bets=preflop: {0} / cap 1; flop: {0} / cap 3, ranks=6789TJQKA)"
"""The game of Brown & Sandholm 2017, Table 2, with 36 cards."""
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
    Task(
        "rhode-island",
        "rhode-island(ranks=4, suits=1, raises=1)",
        "cfr 10",
        "after round 2",
        iterations=100,
        since=2,
    ),
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
    Task("kuhn-limited", "kuhn", "cfr 10", limited=True, since=3),
    Task("leduc-limited", "leduc", "cfr 10", iterations=100, limited=True, since=3),
    Task("liars-dice-limited", "liars-dice(faces=3)", "cfr 10", limited=True, since=3),
    Task(
        "off-tree-leduc-pot",
        TWELVE.format("0.5x 1x a"),
        "cfr+ 300",
        iterations=200,
        smaller=TWELVE.format("0.5x a"),
        since=3,
    ),
    Task(
        "flop-buckets",
        "nlfh-small(stack=2000, ranks=TJQKA, suits=hs)",
        "buckets 20 dcfr 100",
        "flop",
        iterations=50,
        since=3,
    ),
    Task("libratus-river", LIBRATUS + "river", "uniform", "root", 200, since=3),
    Task("libratus-turn", LIBRATUS + "turn", "uniform", "root", 50, since=3),
    Task(
        "gpu-off-tree",
        TABLE_2.format("0.5x 0.75x 1x"),
        "cfr+ 400",
        iterations=100,
        smaller=TABLE_2.format("0.5x 1x"),
        gpu=True,
        since=3,
    ),
    Task("gpu-flop-small", "nlfh-small", "buckets 200 dcfr 400", "flop", 200, gpu=True, since=3),
    Task("gpu-flop-large", "nlfh-large", "buckets 200 dcfr 400", "flop", 100, gpu=True, since=3),
    Task(
        "gpu-turn",
        "nlth-no-limp(ranks=6789TJQKA)",
        "buckets 200 dcfr 100",
        "turn",
        50,
        gpu=True,
        since=3,
    ),
)


@lru_cache(maxsize=4)
def tree_of(game: str) -> PublicTree:
    """The tree of a game, of a spot of `subgame bench holdem` or of an endgame of Libratus."""
    if game in SPOTS:
        return SPOTS[game].tree()
    if game.startswith(LIBRATUS):
        return sg.compile(published()[game.removeprefix(LIBRATUS)][0])
    made = sg.games.load(game)
    # Nested solving and buckets want every hand for itself.
    return sg.compile(made, merge="boards") if isinstance(made, Holdem) else sg.compile(made)


def blueprint_of(tree: PublicTree, recipe: str, device: str | None = None) -> sg.Strategy:
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
    return sg.solve(tree, kind, iterations=int(rest), device=device).strategy


def bucketed(tree: PublicTree, task: Task) -> Blueprint:
    """A blueprint in buckets, on its device."""
    _, count, schedule, iterations = task.blueprint.split()
    street, device = ("flop", "turn")[len(range_tree(tree).streets) - 2], str(task.device)
    on = device if task.gpu else None
    made = abstract(range_tree(tree), {street: int(count)}, RECIPE, device=on)
    blueprint = Blueprint(made.buckets, schedule, device=device)
    blueprint.advance(int(iterations))
    return blueprint

"""RPS+: why one value per state is not enough, and how many are (Brown, Sandholm & Amos 2018).

The paper's example of Section 2 has the numbers; the same with Leduc shows in small what Fig. 2
shows for no-limit flop hold'em.

Notes:

* All depth-limited games are solved by linear programs, so equal means equal up to rounding.
* With one value per state everything is optimal in the depth-limited game; which strategy a solver
  returns is up to it, and so is what it loses in the game.
* The paper states that a sufficient number of strategies suffices (Proposition 1) and gives no
  figure for RPS+ with several values; 0.4, 0.4, 0.2 is its optimum of the game.
* Leduc is not in the paper. It is cut after the first betting round; the blueprint is CFR+'s. A
  trunk is evaluated by its best completion, a linear program over the whole game with the trunk
  fixed, which is what perfect safe re-solving of the second round would reach. The figure is how
  far that stays behind an equilibrium, mean of both seats.
"""

from __future__ import annotations

from functools import partial

import numpy as np

import subgame as sg
from subgame.papers.report import Found, Progress, Record, compared, panel, row, series
from subgame.refine.continuations import Continuations
from subgame.refine.continuations import biased as biased_continuations
from subgame.refine.sequence.continuations import all_pure
from subgame.refine.sequence.limit import DepthLimited
from subgame.refine.sequence.programs import best_completion
from subgame.refine.verbs.depth import LimitedSolution
from subgame.solve.evaluate import expected_value

OPTIMUM = {"Rock": 0.4, "Paper": 0.4, "Scissors": 0.2}
LIMIT, LEDUC = "P2 to move", "after round 1"
Rows = list[Record]


def run(quick: bool, seed: int, tell: Progress) -> Found:
    """RPS+ takes a moment; quick: Leduc without suits and with a rougher blueprint."""
    tell("RPS+", 0.0)
    rows, curve = _rps_plus()
    game, iterations, count = ("leduc-ranks", 300, 6) if quick else ("leduc", 2000, 16)
    tell(f"{game}, blueprint", 0.1)
    tree = sg.compile(sg.games.load(game))
    blueprint = sg.solve(tree, "cfr+", iterations=iterations).strategy
    curves = _leduc(tree, blueprint, count, tell)
    gap = sg.exploitability(tree, blueprint).mean
    rows += [
        row("Leduc: exploitability of the blueprint", None, gap),
        row("Leduc: trunk loses, one value", None, curves["self-generated"][0]),
        *(
            row(f"Leduc: trunk loses, {way}", None, curves[way][-1], f"{len(curves[way])} values")
            for way in ("biased", "self-generated")
        ),
    ]
    panels = [
        panel("RPS+ to depth one", "values per state", "P1 loses at most", _series(curve)),
        panel(
            "Leduc to the end of round 1",
            "values per state",
            "trunk loses at least",
            _series(curves),
            scale="log",
            lines=[{"label": "exploitability of the blueprint", "y": gap}],
        ),
    ]
    tell("done", 1.0)
    worst = compared(rows)[1]
    return Found(
        rows=rows,
        data={"panels": panels, "rps_plus": curve, "leduc": curves, "largest_difference": worst},
        settings={"schedule": "lp", "leduc": game, "blueprint_iterations": iterations},
    )


def _series(curves: dict[str, list[float]]) -> list[dict[str, object]]:
    return [series(label, dict(enumerate(y, 1))) for label, y in curves.items()]


def _rps_plus() -> tuple[Rows, dict[str, list[float]]]:
    """The rows of Section 2, and what P1 can lose by the number of values per state."""
    tree = sg.compile(sg.games.load("rps-plus"))
    whole = sg.solve_lp(tree)
    blueprint = sg.Strategy.published(tree, "equilibrium")
    rows = [row("Sec. 2: value of RPS+", 0, whole.value)]
    rows += [
        row(f"Sec. 2: optimal, {move}", share, whole.strategy["P1 to move"][move])
        for move, share in OPTIMUM.items()
    ]
    single = sg.depth_limited(tree, blueprint, at=LIMIT)
    assert isinstance(single, DepthLimited)
    values = {
        move: expected_value(single, sg.Strategy.from_table(single, {"P1 to move": {move: 1}}))
        for move in OPTIMUM
    }
    rows += [row(f"Fig. 1b: value of {move}", 0, value) for move, value in values.items()]
    strategy, one = sg.solve_limited(single).strategy, "Sec. 2: depth one, one value:"
    chosen = {move: share for move, share in strategy["P1 to move"].items() if share > 1e-9}
    note = "the solver's choice: " + ", ".join(f"{move} {p:g}" for move, p in chosen.items())
    any_will_do = bool(np.ptp(list(values.values())) < 1e-12)
    rows += [
        row(f"{one} any strategy is optimal", "yes", any_will_do),
        row(f"{one} P1 loses at most", None, _loss(tree, strategy), note),
    ]
    ways = {
        "all pure": all_pure(tree, at=LIMIT, player=1),
        "biased": biased_continuations(blueprint, 1),
        "self-generated": sg.self_generated(tree, blueprint, at=LIMIT, count=10),
    }

    def limited(continuations: Continuations) -> sg.Strategy:
        at_limit = sg.depth_limited(tree, blueprint, at=LIMIT, continuations=continuations)
        return sg.solve_limited(at_limit).strategy

    for way, continuations in ways.items():
        plays = limited(continuations)["P1 to move"]
        rows += [
            row(f"Sec. 4: {len(continuations)} values, {way}, {move}", share, plays[move])
            for move, share in OPTIMUM.items()
        ]
    curve = {
        way: [_loss(tree, limited(ways[way][:k])) for k in range(1, len(ways[way]) + 1)]
        for way in ("self-generated", "biased")
    }
    return rows, curve


def _loss(tree: sg.PublicTree, strategy: sg.Strategy) -> float:
    """What P1 loses against a best response; the value of RPS+ is 0."""
    return sg.exploitability(tree, strategy).per_seat[0]


def _leduc(
    tree: sg.PublicTree, blueprint: sg.Strategy, count: int, tell: Progress
) -> dict[str, list[float]]:
    """What the trunk loses at least by the number of values per state, mean of both seats."""
    subgames, value = sg.cut(tree, LEDUC), sg.solve_lp(tree).value
    losses: dict[str, list[list[float]]] = {"self-generated": [], "biased": []}
    for player in (0, 1):
        tell("Leduc, self-generated and biased", 0.2 + 0.4 * player)
        grown: list[LimitedSolution] = []
        sg.self_generated(
            tree, blueprint, at=subgames, player=player, count=count, watch=grown.append
        )
        theirs = biased_continuations(blueprint, 1 - player)
        limited = partial(sg.depth_limited, tree, blueprint, at=subgames, player=player)
        counts = range(1, len(theirs) + 1)
        biased = [sg.solve_limited(limited(continuations=theirs[:k])) for k in counts]
        for way, solved in (("self-generated", grown), ("biased", biased)):
            best = [
                best_completion(tree, trunk.strategy, at=subgames, player=player).value
                for trunk in solved
            ]
            losses[way].append([max(value * (1 - 2 * player) - worth, 0.0) for worth in best])
    return {way: _mean(*seats) for way, seats in losses.items()}


def _mean(one: list[float], two: list[float]) -> list[float]:
    """Both seats' curves on average; one that ended early stays where it ended."""
    size = max(len(one), len(two))
    long = [curve + curve[-1:] * (size - len(curve)) for curve in (one, two)]
    return [(a + b) / 2 for a, b in zip(*long, strict=True)]

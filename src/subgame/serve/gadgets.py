"""A gadget at work on any game: who enters the subgame, iteration by iteration, and what follows.

The learner of a technique is wrapped by one that writes down what it did, so that what is shown is
what the package computes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from subgame.errors import SubgameError, did_you_mean
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.learners import GadgetInputs

if TYPE_CHECKING:
    from subgame.engines.arrays import Array
    from subgame.refine.subgame import At, Subgame
    from subgame.solve.cfr import Learner
    from subgame.tree.public_tree import PublicTree
    from subgame.tree.strategy import Strategy

COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""Iterations after which a gadget's result is looked at."""
SCHEDULE = "cfr+"
MOST = 200_000
"""Sequences of the largest game whose gadgets are watched."""
LISTED = 200
"""Root infosets that are shown."""


def learning(
    tree: PublicTree,
    blueprint: Strategy,
    technique: Gadget | str,
    at: At | list[Subgame],
    player: int,
) -> list[dict[str, float]]:
    """What a best response wins, and the smallest margin, after so many iterations."""
    import subgame as sg

    out = []
    for count in COUNTS:
        result = sg.refine(
            tree,
            blueprint,
            at=at,
            technique=technique,
            schedule=SCHEDULE,
            iterations=count,
            player=player,
            allow_worse=True,
        )
        won = result.after.per_seat[player]
        out.append({"iteration": count, "best_response": won, "margin": result.margin})
    return out


def gadget_view(
    tree: PublicTree, blueprint: Strategy, technique: str, at: str, which: str, player: int
) -> dict[str, object]:
    """A gadget at the root of one subgame: `which` is its name, by default the first.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("coin-toss"))
    >>> view = gadget_view(tree, sg.Strategy.published(tree, "paper"), "resolve", "Play", "", 1)
    >>> view["infosets"], view["alternative"], view["steps"][0]["enter"]
    (['Heads Play', 'Tails Play'], [0.0, 0.5], [0.5, 0.5])
    """
    import subgame as sg

    if sum(side.num_sequences for side in tree.players) > MOST:
        raise SubgameError("The game is too large for its gadgets to be watched here.")
    subgames = {
        subgame.name: subgame for subgame in sg.cut(tree, at) if subgame.tree.players[player].names
    }
    if not subgames:
        raise SubgameError("The player has no decision in these subgames.")
    if which and which not in subgames:
        raise did_you_mean("subgame", which[:60], subgames)
    chosen, gadget = [subgames[which or next(iter(subgames))]], technique_named(technique)
    watched = Watched.over(gadget)
    result = sg.refine(
        tree,
        blueprint,
        at=chosen,
        technique=watched,
        schedule=SCHEDULE,
        iterations=COUNTS[-1],
        player=player,
    )
    rows = result.rows()[:LISTED]
    columns = {key: [row[key] for row in rows] for key in ("reach", "cbv", "gift", "alternative")}
    return {
        "technique": gadget.name,
        "promise": gadget.promise,
        "entry": gadget.entry,
        "subgames": list(subgames),
        "subgame": chosen[0].name,
        "player": player,
        "infosets": [row["infoset"] for row in rows],
        **columns,
        "steps": watched.log[: COUNTS[-1]],
        "before": result.before.per_seat[player],
        "results": learning(tree, blueprint, gadget, chosen, player),
    }


@dataclass(frozen=True)
class Watched(Gadget):
    """A gadget whose learner writes into `log` what it does on each iteration."""

    inner: Gadget = field(default_factory=lambda: Gadget("none", "blueprint"))
    log: list[dict[str, object]] = field(default_factory=list)

    @classmethod
    def over(cls, gadget: Gadget) -> Watched:
        """The same technique, watched."""
        kept = {key: getattr(gadget, key) for key in ("gifts", "split", "scale", "estimate")}
        return cls(gadget.name, "custom", inner=gadget, **kept)

    def learner(self, inputs: GadgetInputs, *, predictive: bool = False) -> Learner:
        return _Watching(self.inner.learner(inputs, predictive=predictive), inputs, self.log)


class _Watching:
    """A learner, or the blueprint's fixed reach, and what it did."""

    def __init__(
        self, inner: Learner | None, inputs: GadgetInputs, log: list[dict[str, object]]
    ) -> None:
        self.inner, self.inputs, self.log, self.player = inner, inputs, log, inputs.opponent
        self.entered: list[float] = []

    def enter(self) -> Array:
        from subgame.refine.learners import Choice

        reach = self.inputs.opponent_reach if self.inner is None else self.inner.enter()
        chosen = self.inner.strategy()[0] if isinstance(self.inner, Choice) else reach
        self.entered = chosen.ravel()[:LISTED].tolist()
        return reach

    def observe(self, values: Array, discounts: Array) -> None:
        from subgame.engines.arrays import normalise

        worth = normalise(values, self.inputs.weight)
        entry = {"enter": self.entered, "value": worth.ravel()[:LISTED].tolist()}
        self.log.append(entry)
        if self.inner is not None:
            self.inner.observe(values, discounts)

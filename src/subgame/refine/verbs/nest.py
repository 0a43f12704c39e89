"""Nested solving: every action nobody planned for is answered by solving what follows it.

Brown & Sandholm 2017, Sec. 6. We hold a blueprint of a smaller game; the opponent plays the larger
one. After an *off-tree* action a of the opponent, the rest of the game in the smaller abstraction
is solved behind a gadget and joins the blueprint. The next off-tree action is answered from there,
and so on.

* *inexpensive*: the subgame starts after a. The opponent's alternative payoff is CBV~(I), the best
  value in I within the abstraction as it then was (a excluded).
* *expensive*: it starts before a, with a added to the opponent's choices, so that the opponent's
  reach is defined and Unsafe works too. Only what follows a is kept: after other actions nothing
  would be solved.

All of it is laid over the larger tree as one `Strategy`, so its exploitability is exact.

**What it can cost.** Let the opponent's value in each solved subgame, with the smaller game's
actions alone, exceed CBV~ at root infoset s by e(s) (0 if it does not), and w(s) be pi_{-i}(s).
An off-tree action improves the opponent's best choice in I by at most w e plus what further
off-tree actions add below, and along the tree improvements at most add up. So a best response in
the larger game wins at most `before` in the smaller one plus the sum of all w e: `Nested.bound`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

from subgame.errors import SubgameError
from subgame.refine.answers import Answer, Method, check_nested
from subgame.refine.behind import GadgetOptions, Solving
from subgame.refine.gadgets import Gadget
from subgame.refine.gadgets import technique as technique_named
from subgame.refine.ranges.nested import RangeExpansion
from subgame.refine.sequence.nested import Expansion
from subgame.refine.verbs.cut import by_kind
from subgame.show.html import data_frame
from subgame.solve.evaluate import Exploitability, exploitability
from subgame.solve.limits import check_options, made_of, with_options
from subgame.tree.public_tree import PublicTree, both
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False)
class Nested:
    """A blueprint expanded by answers to all off-tree actions."""

    strategy: Strategy
    """Over the larger tree."""
    answers: tuple[Answer, ...]
    before: Exploitability
    """Of the blueprint, in the smaller game."""
    after: Exploitability
    """Of the expanded blueprint, in the larger one. Only the seat of `player` counts, if one was
    asked for: the other one plays uniformly after off-tree actions."""
    seconds: float

    player: int | None = None
    """The player whose blueprint was expanded; None for both."""

    @property
    def bound(self) -> float:
        """What `after` can exceed `before` by (see the module), as the mean of both seats."""
        return sum(self.bound_per_seat) / 2

    @property
    def bound_per_seat(self) -> tuple[float, float]:
        """The same for each seat."""
        return both(lambda p: sum((a.bound for a in self.answers if a.player == p), 0.0))

    def to_pandas(self) -> DataFrame:
        """A pandas data frame with a line per root infoset of each answered action."""
        return data_frame(
            {
                "public_state": answer.public,
                "action": answer.action,
                "player": answer.player,
                "depth": answer.depth,
                "infoset": name,
                "reach": float(answer.weight[s]),
                "cbv": float(answer.cbv[s]),
                "value": float(answer.values[s]),
                "iterations": answer.iterations,
            }
            for answer in self.answers
            for s, name in enumerate(answer.infosets)
        )

    def __repr__(self) -> str:
        p, game = self.player, self.strategy.tree.game_name
        count = f"<Nested in {game}: {len(self.answers)} off-tree actions answered"
        if p is None:
            return f"{count}, exploitability {float(self.before):.4g} -> {float(self.after):.4g}>"
        before, after = self.before.per_seat[p], self.after.per_seat[p]
        return (
            f"{count} for player {p}, from whom a best response wins {before:.4g} -> {after:.4g}; "
            f"player {1 - p} was not expanded>"
        )


@with_options(GadgetOptions)
def nest(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    technique: Gadget | str = "resolve",
    method: Method = "inexpensive",
    player: int | None = None,
    progress: Callable[[int], None] | None = None,
    **options: Unpack[GadgetOptions],
) -> Nested:
    """Play a blueprint of a smaller game in the larger game `tree`, by nested subgame solving.

    For both players, or for `player` alone, every off-tree action of the opponent that can be
    reached is answered in turn. With `player` only that seat of the result counts: the other one
    plays uniformly after off-tree actions. The smaller game (that of `blueprint.tree`) must name
    histories as the larger one does and know what follows actions it does not list, as hold'em and
    the games of `subgame.games.no_limit` with equal stacks do. `technique` is that of `refine`, and
    the rest of how to solve is `GadgetOptions`; `progress` is told the number of answers so far.
    After Ctrl-C what is not answered yet is answered uniformly.

    >>> import subgame as sg
    >>> small, large = (sg.compile(sg.games.load("no-limit-kuhn", bets=b)) for b in ("fcpa", "all"))
    >>> nested = nest(large, sg.solve(small, iterations=1000).strategy, technique="resolve")
    >>> len(nested.answers), round(nested.after.mean, 3)
    (4, 0.028)
    """
    began = time.perf_counter()
    if player not in (None, 0, 1):
        raise SubgameError(f"A player is 0 or 1, not {player}.")
    check_options(nest, options)
    gadget, solving = technique_named(technique), made_of(Solving, options)
    check_nested(gadget, method)
    how, device = solving.technique(gadget, tree), solving.device
    answers, tell = list[Answer](), progress or (lambda done: None)
    expansion = by_kind(tree, lambda _: Expansion, lambda _: RangeExpansion)
    grown = dict[int, Expansion | RangeExpansion]()
    for p in (0, 1) if player is None else (player,):
        grown[p] = expansion(blueprint, tree, p, how, method, device)
        for answer in grown[p].run():
            answers.append(answer)
            tell(len(answers))
    probs = [(grown[p] if p in grown else grown[1 - p]).sigma[p] for p in (0, 1)]
    notes = {**blueprint.notes, "nested": f"{gadget.name}, {method}"}
    strategy = Strategy(tree, (probs[0], probs[1]), notes)
    return Nested(
        strategy=strategy,
        answers=tuple(answers),
        before=exploitability(blueprint.tree, blueprint, device=device),
        after=exploitability(tree, strategy, device=device),
        seconds=time.perf_counter() - began,
        player=player,
    )

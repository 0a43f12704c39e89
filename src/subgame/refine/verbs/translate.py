"""Action translation: playing a strategy of a smaller game against bets that only a larger one has.

Ganzfried & Sandholm 2013 (see `subgame.games.holdem.translation`). A bet of the opponent is taken
for one that our game knows; then we do what our strategy says there.

The translating player follows a hand of the *smaller* game. Its pot drifts away from the real one,
so both sides are compared by fractions of their own pots:

* a check or call is a bet of 0; all-in is taken for all-in; what lies beyond the sizes we know is
  taken for the last of them;
* our own bets are made in the same fraction of the real pot: the nearest there is, all-in for
  all-in, a call where nobody can raise any more;
* where the abstract betting does not wait for the player who really acts (a raise taken for a call
  has ended the round there; an all-in that was none is called), the player checks and calls;
* where the next cards are dealt while the abstract round is still open (we raised where nobody
  really can any more), the opponent is taken to call there.
"""

from __future__ import annotations

from subgame.games.holdem.translation import ActionMapping, mapping
from subgame.refine.ranges.translation import translate_ranges
from subgame.refine.sequence.translation import translate_histories
from subgame.refine.verbs.cut import by_kind
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy


def translate(
    tree: PublicTree,
    strategy: Strategy,
    how: str | ActionMapping = "pseudo-harmonic",
    *,
    device: str | None = None,
) -> Strategy:
    """A strategy of a smaller game, played by translation in the larger game that `tree` is.

    The result is an ordinary behaviour strategy, exactly: the translating player's coin flips and
    choices are followed along every line, and at each infoset conditioned on the player's own
    actions so far (Kuhn's theorem), so `exploitability` of it is what translation really loses.
    Both players translate. Infosets that the translating player never reaches are played uniformly.

    >>> import subgame as sg
    >>> small, large = (sg.compile(sg.games.load("no-limit-kuhn", bets=b)) for b in ("fcpa", "all"))
    >>> translated = translate(large, sg.solve(small, iterations=1000).strategy)
    >>> round(sg.exploitability(large, translated).mean, 3)
    0.075
    """
    chosen = mapping(how)
    weights = by_kind(
        tree,
        lambda tree: translate_histories(tree, strategy, chosen),
        lambda tree: translate_ranges(tree, strategy, chosen, device),
    )
    notes = {**strategy.notes, "translated": f"from {strategy.tree.game_name} by {chosen.name}"}
    return Strategy.from_weights(tree, weights, notes)

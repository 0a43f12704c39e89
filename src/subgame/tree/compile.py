"""`compile`: from a game's rules to a `PublicTree` of the kind that suits it."""

from __future__ import annotations

from collections.abc import Callable

from subgame.errors import SubgameError
from subgame.games.base import Game
from subgame.games.holdem.game import Holdem
from subgame.memory import Allowance
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import Merge, compile_range_tree


def compile(
    game: Game,
    *,
    memory_limit: str | float | None = "8GiB",
    explicit: bool = False,
    merge: Merge = True,
    progress: Callable[[int], None] | None = None,
) -> PublicTree:
    """Compile a game's rules to the arrays that every solver reads.

    Hold'em is compiled board by board, for kernels of its own. With `explicit` it is walked history
    by history like any other game, which is possible for small decks.

    Hold'em trees use suit symmetry: boards that differ only by a permutation of equivalent suits
    are one board. Hands are merged as well where no flush is possible any more and the ranges treat
    the suits alike. Both are exact, and up to ten times faster. Subgames cannot be cut out of a
    tree with merged hands: `merge="boards"` merges boards only, `merge=False` merges nothing.

    Raises an error if the game has imperfect recall, infosets whose actions differ, payoffs that
    are not zero-sum, chance probabilities that do not sum to one or more than two players, or if it
    needs more than `memory_limit` or than the memory that is available. The error names the infoset
    and the two histories concerned. Hold'em without a limit (None) may need more than is available:
    a GPU may still solve it. A history may have at most 10,000 moves. A sample of histories is also
    checked for states that change, moves that are not strings and payoffs that differ between
    walks; `subgame.games.conformance.check` checks all of them.
    `progress` is called now and then with the number of histories walked so far.

    >>> import subgame as sg
    >>> sg.compile(sg.games.load("kuhn"))
    <PublicTree of kuhn: 9 public states, 6 + 6 infosets, 848 B>
    """
    if not isinstance(game, Game):
        raise SubgameError(
            "compile expects a Game such as subgame.games.load('leduc'), not "
            f"{type(game).__name__}."
        )
    if isinstance(game, Holdem) and not explicit:
        # Without a limit a GPU may solve what the host's memory cannot hold.
        allowed = Allowance.of(memory_limit, host=memory_limit is not None)
        return compile_range_tree(game, memory_limit=allowed, merge=merge, progress=progress)
    from subgame.tree.sequence.form import assemble, form_of
    from subgame.tree.sequence.spot_checks import refuse_large, spot_check
    from subgame.tree.sequence.walk import walk

    allowed, arrays = Allowance.of(memory_limit), game.arrays()
    if game.num_players == 2:
        refuse_large(game, arrays, allowed)
        if not game.reader().trusted:
            spot_check(game, arrays)
    return assemble(form_of(walk(game, allowed, progress, arrays=arrays)))

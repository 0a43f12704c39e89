"""Hands of whole hold'em graded by the agent, one at a time, whoever asks for them.

Hands at a table are graded in the background, while the next one is played.
"""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from queue import PriorityQueue
from typing import TYPE_CHECKING, Any

from subgame.errors import SubgameError
from subgame.serve.grades import Grade, solved_grade

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.play.hunl.grading import HandGrader
    from subgame.refine.reached import Move

KEPT = 2000
"""Graded hands that are remembered."""
LOGGER = logging.getLogger("subgame")
_solving = threading.Lock()
_known: OrderedDict[Any, list[Grade]] = OrderedDict()


@lru_cache(maxsize=1)
def grader() -> HandGrader:
    """Grades by the agent's blueprint and its solves."""
    from subgame.games import load
    from subgame.play.hunl.grading import HandGrader
    from subgame.play.hunl.turn import load_kernels
    from subgame.play.named import whole_blueprint

    game = load("hunl")
    blueprint = whole_blueprint(game)
    assert blueprint is not None
    load_kernels(blueprint.game.deck)
    return HandGrader(blueprint)


def graded_moves(game: Holdem, moves: Sequence[Move], seat: int) -> list[Grade]:
    """The decisions of the player in a seat; a hand that was graded before is not solved again."""
    held, rest = [action for _, action in moves[:2]], moves[2:]
    key = game.rules.stacks, *held, *((int(player), action) for player, action in rest), seat
    with _solving:
        if key not in _known:
            _known[key] = [solved_grade(row) for row in grader().grade(game, moves, seat)]
            while len(_known) > KEPT:
                _known.popitem(last=False)
        return _known[key]


def graded_or_why(game: Holdem, moves: Sequence[Move], seat: int) -> tuple[list[Grade], str]:
    """The same, or why there are no grades."""
    try:
        rows = graded_moves(game, moves, seat)
    except SubgameError as error:
        return [], error.sentence
    except MemoryError:
        return [], "There was not enough memory to solve it."
    return rows, "" if rows else "There was nothing to decide."


class Background:
    """A thread that does one thing after another, those first that cost least."""

    def __init__(self) -> None:
        self._waiting: PriorityQueue[tuple[int, int, Callable[[], None]]] = PriorityQueue()
        self._starting, self._started, self._count = threading.Lock(), False, count()

    def do(self, work: Callable[[], None], cost: int) -> None:
        """Do something when all that costs less is done, and what came before at the same cost."""
        self._waiting.put((cost, next(self._count), work))
        with self._starting:
            if not self._started:
                threading.Thread(target=self._run, daemon=True).start()
                self._started = True

    def _run(self) -> None:
        while True:
            work = self._waiting.get()[-1]
            try:
                work()
            except Exception:  # the next ones are still to be done
                LOGGER.exception("Work in the background has failed.")

"""What a person won at a table, and what each decision cost beside a solution's best action.

Hands of whole hold'em are graded by the agent, one at a time, whoever asks for them: those at a
table in the background, while the next one is played.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import count
from queue import PriorityQueue
from typing import TYPE_CHECKING, Any, TypedDict

from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.games.base import Game
    from subgame.games.holdem.game import Holdem
    from subgame.play.hunl.grading import GradedDecision, HandGrader
    from subgame.refine.reached import Move
    from subgame.serve.store import Row
    from subgame.spots.endgame import Endgame


DIGITS = 4
GOOD = 0.005
"""A decision that loses at most this share of the pot counts as right."""
TAKEN = 0.1
"""So does one that the agent itself takes this often: values of its solves have errors."""


class Grade(TypedDict):
    """A decision of the person, and what it cost."""

    street: str
    line: str
    at: str
    pot: float
    action: str
    best: str | None
    lost: float | None
    right: bool
    options: list[dict[str, object]]
    by: str
    """``spot``, or what the agent graded it by."""


def grades(solved: Endgame, moves: Sequence[tuple[int, str]], seat: int) -> list[Grade]:
    """The decisions of the player in a seat, each with the EV of every action and what was lost.

    EV is that of the solution, against the range that the opponent has there. A bet that the
    solution does not know is not graded, and neither is what follows it.
    """
    from subgame.spots.lines import follow_line

    hand, line, rows = moves[seat][1], "", list[Grade]()
    for player, action in moves[2:]:
        if player < 0:
            line = f"{line} / {action}".strip()
            continue
        try:
            if player == seat:
                rows.append(_grade(solved, line, hand, action))
            line = f"{line} {action}".strip()
            follow_line(solved.tree.holdem, line)
        except SubgameError:
            break
    return rows


def _grade(solved: Endgame, line: str, hand: str, action: str) -> Grade:
    from subgame.games.holdem.sizes import STREETS

    here = solved.decision(line)
    held = {hand[:2], hand[2:]}
    names = [{name[:2], name[2:]} for name in here.hand_names]
    if held not in names:
        raise LookupError(f"Nobody holds {hand} here.")
    k = names.index(held)
    values = here.action_ev[k].tolist()
    known = all(map(math.isfinite, values)) and action in here.actions
    best = max(range(len(values)), key=lambda j: values[j]) if known else None
    taken = here.actions.index(action) if action in here.actions else None
    lost = values[best] - values[taken] if best is not None and taken is not None else None
    pot = float(here.betting.pot)
    return {
        "street": STREETS[here.betting.street],
        "line": here.words,
        "at": here.line,
        "pot": pot,
        "action": action if taken is None else here.names[taken],
        "best": None if best is None else here.names[best],
        "lost": None if lost is None else round(lost, DIGITS),
        "right": lost is not None and lost <= GOOD * pot,
        "options": [
            {"name": name, "ev": round(ev, DIGITS) if math.isfinite(ev) else None, "share": share}
            for name, ev, share in zip(
                here.names, values, here.probs[k].round(DIGITS).tolist(), strict=True
            )
        ],
        "by": "spot",
    }


def solved_grade(decision: GradedDecision) -> Grade:
    """A decision of a hand of whole hold'em, as it is shown."""
    from subgame.games.holdem.sizes import STREETS
    from subgame.spots.lines import action_name

    betting, values = decision.betting, decision.values.tolist()
    names = [action_name(betting, action) for action in decision.actions]
    shares = decision.probabilities.round(DIGITS).tolist()
    pot, lost = float(betting.pot), decision.lost
    share = shares[decision.actions.index(decision.action)]
    return {
        "street": STREETS[betting.street],
        "line": str(betting),
        "at": "",
        "pot": pot,
        "action": action_name(betting, decision.action),
        "best": names[values.index(max(values))],
        "lost": round(lost, DIGITS),
        "right": lost <= GOOD * pot or share >= TAKEN,
        "options": [
            {"name": name, "ev": round(ev, DIGITS), "share": share}
            for name, ev, share in zip(names, values, shares, strict=True)
        ],
        "by": decision.by,
    }


def score(hands: Sequence[Row]) -> dict[str, float] | None:
    """The sum over the graded decisions of some hands; None if there are none."""
    graded: list[Grade] = [row for hand in hands for row in hand.get("grades", ())]
    rows = [(row, row["lost"]) for row in graded if row["lost"] is not None]
    if not rows:
        return None
    return {
        "decisions": len(rows),
        "right": sum(row["right"] for row, _ in rows),
        "lost": math.fsum(lost for _, lost in rows),
        "lost_pots": math.fsum(lost / row["pot"] for row, lost in rows) / len(rows),
    }


def result(row: Row, game: Game) -> dict[str, object]:
    """What the person has won so far, with a 95 % interval, the same by AIVAT, and its grades."""
    from subgame.play.match import Estimate

    unit, scale = game.unit
    won = [hand["won"] for hand in row["hands"]]

    def estimated(chips: list[float]) -> dict[str, float | None]:
        estimate = Estimate.of([won * scale for won in chips])
        known = math.isfinite(estimate.interval95)
        return {"mean": estimate.mean, "interval95": estimate.interval95 if known else None}

    without_luck = [hand["aivat"] for hand in row["hands"] if "aivat" in hand]
    counted = won and len(without_luck) == len(won)
    return {
        "hands": len(won),
        "chips": math.fsum(won),
        **estimated(won),
        "aivat": estimated(without_luck) if counted else None,
        "grades": score(row["hands"]),
        "unit": unit,
    }


def moves_of(hand: Row) -> list[Move]:
    """The moves of a hand that is over."""
    return [(int(player), str(action)) for player, action in hand["moves"]]


def own_seat(hand: Row) -> int:
    """The seat in which the person played a hand."""
    seat: int = hand["seats"].index(0)
    return seat


def past(hand: Row) -> dict[str, object]:
    """A hand that is over as the list of hands shows it."""
    seat, rows = own_seat(hand), hand.get("grades", [])
    known = [row["lost"] for row in rows if row["lost"] is not None]
    return {
        "number": hand["hand"] + 1,
        "seat": seat,
        "held": hand["moves"][seat][1],
        "won": hand["won"],
        "lost": math.fsum(known) if known else None,
        "grades": rows,
        "waits": "grades" not in hand,
        "why": hand.get("why", ""),
    }


# By the agent --------------------------------------------------------------------------------
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

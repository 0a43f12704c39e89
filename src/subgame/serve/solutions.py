"""What is shown of a solved spot: any decision of any street, the next cards, two solutions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.rules import Betting
    from subgame.spots.decisions import Decision
    from subgame.spots.endgame import Endgame
    from subgame.spots.lines import Walk

DIGITS = 5
"""Digits of the numbers that are sent to the page."""
KEPT = 4
"""Solutions that stay open."""


class Opened(NamedTuple):
    """A solution, and the lock of whoever reads it: what it computed last is kept in it."""

    solved: Endgame
    lock: threading.Lock


_opened: OrderedDict[tuple[Path, int], Opened] = OrderedDict()
_opening = threading.Lock()


def opened(path: Path, memory_limit: str) -> Opened:
    """A saved spot; its probabilities stay in the file until they are looked at."""
    from subgame.refine.ranges.compact_spots import open_spot

    key = (path, path.stat().st_mtime_ns)
    with _opening:
        if key not in _opened:
            # A worker wrote or checked it.
            solved = open_spot(path, memory_limit=memory_limit, check=False)
            _opened[key] = Opened(solved, threading.Lock())
        _opened.move_to_end(key)
        while len(_opened) > KEPT:
            _opened.popitem(last=False)
        return _opened[key]


def compact_file(path: Path, memory_limit: str) -> Path:
    """A file beside a saved spot that has the spot without its last street; made once."""
    from subgame.refine.ranges.compact_spots import save_compact

    small = path.with_name(f"without-rivers{path.suffix}")
    solved, lock = opened(path, memory_limit)
    with lock:
        if not small.exists() or small.stat().st_mtime_ns < path.stat().st_mtime_ns:
            save_compact(solved, small)
    return small


# Places in the tree --------------------------------------------------------------------------
def place_view(solved: Endgame, line: str, *, values: bool = False) -> dict[str, object]:
    """Where a line leads: to a decision, or to a card that is to come.

    `values` adds EV, equity and EQR, for which what follows is computed.
    """
    from subgame.games.holdem.sizes import STREETS, number
    from subgame.spots.lines import follow_line, line_text

    game = solved.tree.holdem
    walk = follow_line(game, line)
    betting = walk.betting
    place: dict[str, Any] = {
        "line": line_text(game, walk, short=True),
        "words": line_text(game, walk),
        "path": _path(game, walk),
        "street": STREETS[min(betting.street, len(STREETS) - 1)],
        "board": game.deck.name(walk.board),
        "ranks": game.deck.ranks[::-1],
        "pot": number(betting.pot),
        "behind": [number(chips) for chips in betting.behind],
        "locks": list(solved.tree.lock_texts),
    }
    if walk.needs_cards:
        gone = (*walk.board, *game.dead)
        free = [card for card in range(game.deck.size) if card not in gone]
        return {**place, "kind": "card", "cards": [game.deck.card_name(card) for card in free]}
    return {**place, "kind": "decision", **_decision(solved.decision(line), values)}


def _decision(decision: Decision, values: bool) -> dict[str, object]:
    """The actions, and the strategy of each hand."""
    import numpy as np

    from subgame.spots.hand_classes import DRAWS, draw, made_hand, made_order

    held = np.flatnonzero(decision.reach > 0)
    actions = []
    numbers: tuple[str, ...] = ("frequency", "of_pot", "ev")
    for row in decision.action_table(values=values):
        action = row["action"]
        actions.append(
            {
                "id": action,
                "name": row["name"],
                "line": row["line"],
                "next": _next(decision.betting, action),
                "kind": action_kind(decision.betting, action),
                **{key: _number(row[key]) for key in numbers if key in row},
            }
        )
    deck = decision.tree.holdem.deck
    board = deck.name(decision.board)
    held_names = [decision.hand_names[h] for h in held.tolist()]
    view: dict[str, Any] = {
        "player": decision.player,
        "frequency": _number(decision.line_frequency),
        "actions": actions,
        "hands": held_names,
        "made": [made_hand(name, board, deck) for name in held_names],
        "draws": [draw(name, board, deck) for name in held_names],
        "kinds": {"made": made_order(deck), "draws": DRAWS},
        "reach": _numbers(decision.reach[held]),
        "chance": _numbers(decision.chance[held], DIGITS + 2),
        "probs": _numbers(decision.probs[held]),
    }
    if values:
        blockers = decision.blockers()
        view["blockers"] = {
            "cards": blockers.column("card"),
            "removed": [_number(share) for share in blockers.column("removed")],
            "often": [[_number(row[name]) for name in decision.names] for row in blockers],
        }
        other = decision.range_table(1 - decision.player)
        names = {"weight": "reach", "chance": "chance", "ev": "hand_ev", "equity": "hand_equity"}
        view["values"] = {
            "opponent": {"hands": other.column("hand")}
            | {name: _numbers(np.array(other.column(key))) for key, name in names.items()},
            "ev": [_number(chips) for chips in decision.ev],
            "equity": [_number(share) for share in decision.equity],
            "hand_ev": _numbers(decision.hand_ev[held]),
            "hand_equity": _numbers(decision.hand_equity[held]),
            "action_ev": _numbers(decision.action_ev[held]),
            "spread": [
                {name: _numbers(values) for name, values in decision.spread(p).items()}
                for p in (0, 1)
            ],
        }
    return view


def _next(betting: Betting, action: str) -> str:
    after = betting.child(action)
    if after.is_over:
        return "fold" if action == "f" else "showdown"
    return "decision" if after.street == betting.street else "card"


def action_kind(betting: Betting, action: str) -> str:
    """What the page colours an action by: fold, check, call, bet, raise or all-in."""
    from subgame.spots.lines import is_all_in

    if action == "f":
        return "fold"
    if action == "c":
        return "call" if betting.to_call else "check"
    return "all-in" if is_all_in(betting, action) else "raise" if betting.to_call else "bet"


def _path(game: Holdem, walk: Walk) -> list[dict[str, object]]:
    """The actions and cards that lead here, each with the line before it."""
    from subgame.games.holdem.sizes import STREETS
    from subgame.spots.lines import Walk, action_name, line_text

    rows: list[dict[str, Any]] = []
    seen = len(game.board)
    ends = [*((k, step.board) for k, step in enumerate(walk.steps)), (len(walk.steps), walk.board)]
    for k, board in ends:
        while True:
            past = Walk(walk.steps[:k], board[:seen], walk.betting)
            row: dict[str, Any] = {"line": line_text(game, past, short=True)}
            if seen == len(board):
                break
            card, street = game.deck.card_name(board[seen]), STREETS[seen - 1]
            rows.append(row | {"card": card, "street": street})
            seen += 1
        if k < len(walk.steps):
            _, state, action = walk.steps[k]
            rows.append(row | {"player": state.player, "name": action_name(state, action)})
    return rows


# Reports -------------------------------------------------------------------------------------
def runouts_view(solved: Endgame, line: str) -> list[dict[str, object]]:
    """One row per card that can come after a line: chance, EV, equity, and frequencies."""
    rows = []
    for row in solved.runouts(line):
        (street, card), *rest = row.items()
        figures = {key: _number(value) for key, value in rest}
        often = {key: figures.pop(key) for key in [*figures] if key != "chance" and "_" not in key}
        rows.append({"street": street, "card": card, **figures, "often": often})
    return rows


def compared_view(one: Endgame, two: Endgame, line: str) -> dict[str, object]:
    """Two solutions at a decision: totals, and the differences by class of hands."""
    from subgame.spots.compare import Comparison

    both = Comparison(one, two)
    pair = both.at(line)
    table = pair.table(hands=False)
    return {
        "line": pair.one.line,
        "same_tree": both.same_tree,
        "summary": [{key: _plain(row[key]) for key in row} for row in both.summary()],
        "actions": list(pair.actions),
        "classes": [{key: _plain(row[key]) for key in row} for row in table],
    }


def _plain(value: object) -> object:
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | None:
    """A number for JSON, which has no nan."""
    return round(float(value), DIGITS) if value == value else None


def _numbers(values: NDArray[np.floating], digits: int = DIGITS) -> list[object]:
    """The same for an array."""
    import numpy as np

    rounded = np.round(values, digits).astype(object)
    rounded[np.isnan(values)] = None
    result: list[Any] = rounded.tolist()
    return result

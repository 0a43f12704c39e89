"""Reports on one solution: every card that can come next, and what is then played."""

from __future__ import annotations

from typing import Any

from subgame.errors import SubgameError
from subgame.games.holdem.sizes import STREETS
from subgame.spots.browse import Explorer
from subgame.spots.decisions import Decision
from subgame.spots.lines import SEATS, follow_line, line_text
from subgame.spots.tables import Table


def runouts(explorer: Explorer, line: str = "", *, values: bool = True) -> Table:
    """One row per card that can come after a line: its chance, EV, equity, and frequencies.

    The line must end where a card comes, such as ``check, bet 50, call``.
    """
    game = explorer.game
    walk = follow_line(game, line)
    said = line_text(game, walk, short=True)
    if walk.needs_cards != 1 or walk.betting.is_over:
        raise SubgameError(
            f"After '{said}' no single card comes on which somebody acts; name a line that ends a "
            "street, such as 'check, check'."
        )
    reach, rows = explorer.reach(walk), Table()
    for card in range(game.deck.size):
        if card in (*walk.board, *game.dead):
            continue
        free = game.deck.compatible((card,))
        one, two = (weights * free for weights in reach)
        chance = float(one @ game.facing((*walk.board, card), two))
        if chance <= 0:
            continue
        name = game.deck.card_name(card)
        here = explorer.decision(f"{said} / {name}")
        street = STREETS[here.betting.street]
        rows.append({street: name, "chance": chance, **decision_row(here, values=values)})
    total = sum(rows.column("chance"))
    for row in rows:
        row["chance"] /= total
    return rows


def decision_row(here: Decision, prefix: str = "", *, values: bool = True) -> dict[str, object]:
    """A decision in one row: EV and equity of both players, and the frequencies of the actions."""
    row: dict[str, Any] = {}
    if values:
        pairs = {"ev": here.ev, "equity": here.equity}
        row = {f"{key}_{SEATS[p]}": pair[p] for key, pair in pairs.items() for p in (0, 1)}
    often = zip(here.names, here.frequency.tolist(), strict=True)
    return row | {f"{prefix}{name}": share for name, share in often}

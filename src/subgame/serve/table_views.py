"""What is seen at a table of hold'em."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.rules import Betting
    from subgame.play.agent import Event


def named_actions(betting: Betting | None, legal: Sequence[str]) -> list[dict[str, str]]:
    """The legal actions with their names."""
    from subgame.spots.lines import action_name

    if betting is None:
        return [{"id": action, "name": action} for action in legal]
    return [{"id": action, "name": action_name(betting, action)} for action in legal]


def chips_and_cards(
    game: Holdem, events: Sequence[Event], betting: Betting, *, open: bool
) -> dict[str, object]:
    """The board and all chips; what may be bet if the person's turn is `open`."""
    from subgame.games.holdem.sizes import number

    deck, board = game.deck, list(game.board)
    for event in events:
        if event.player < 0:
            board += deck.parse(event.action)
    return {
        "board": [deck.card_name(card) for card in board],
        "pot": betting.pot,
        "bets": list(betting.bets),
        "behind": list(betting.behind),
        "to_call": betting.to_call,
        "least": betting.least_raise if open else None,
        "most": betting.most_raise if open else None,
        "big_blind": number(game.rules.blinds[1]),
    }


def line_of_play(game: Holdem, events: Sequence[Event], seat: int) -> list[dict[str, str]]:
    """What happened, as the person in a seat tells it."""
    from subgame.spots.lines import action_name

    betting, out = game.start(), list[dict[str, str]]()
    for event in events:
        if event.player < 0:
            out.append({"who": "board", "text": event.action})
            continue
        who = "you" if event.player == seat else "opponent"
        out.append({"who": who, "text": action_name(betting, event.action)})
        betting = betting.child(event.action)
    return out

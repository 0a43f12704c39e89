"""Hands that people bring along, graded by the spots that were solved here or by the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi import APIRouter, Request
from pydantic import Field

from subgame.errors import FieldError, SubgameError
from subgame.serve.api_jobs import parts
from subgame.serve.grades import graded_moves, grader, grades, score
from subgame.serve.solutions import opened
from subgame.serve.spots import Model
from subgame.serve.worker import STRATEGY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from subgame.games.holdem.game import Holdem
    from subgame.play.protocols.seen import SeenHand
    from subgame.refine.reached import Move
    from subgame.spots.endgame import Endgame


STACKS = 0.03
"""How far the effective stack may be from that of the solution, as a share of it."""
SIZES = 0.25
"""How far a bet may be from one of the solution's, as a share of it; all-in is always all-in."""


class Match(NamedTuple):
    """Where in a hand a solved spot begins."""

    street: int
    players: tuple[int, int]
    """Who is out of position, and who is in position."""
    scale: float
    """Chips of the solution for a chip of the hand."""


def matched(hand: SeenHand, spot: Mapping[str, str]) -> Match | None:
    """Where a solved spot, by its notes, begins in a hand: same board, pot and stacks in scale."""
    from subgame.games.holdem.cards import DECK

    wanted = DECK.parse(spot["board"])
    stack = min(float(chips) for chips in spot["stacks"].split("/"))
    for k, street in enumerate(hand.streets):
        board = DECK.parse(street.cards)
        alive = [p for p in range(len(hand.players)) if p not in street.folded]
        same = set(board[:3]) == set(wanted[:3]) and board[3:] == wanted[3:]
        if not same or len(alive) != 2 or street.pot <= 0:
            continue
        scale = float(spot["pot"]) / street.pot
        behind = scale * min(street.behind[p] for p in alive)
        if abs(behind - stack) <= STACKS * stack:
            return Match(k, (alive[0], alive[1]), scale)
    return None


def moves(hand: SeenHand, match: Match, game: Holdem) -> list[tuple[int, str]]:
    """The hand from the start of a solved spot on, in the solution's actions.

    A bet becomes the nearest one of the solution; where none is near, the bet itself is the last
    move, which nobody can grade.
    """
    rows = [(-1, hand.held[p]) for p in match.players]
    here, seen = game.start(), len(hand.streets[match.street].cards)
    for street in hand.streets[match.street :]:
        if street.cards[seen:]:
            rows.append((-1, street.cards[seen:]))
            seen = len(street.cards)
        for act in street.acts:
            if here.is_over:
                return rows
            action = act.action
            if action[0] == "r":
                action = _nearest(game, here, match.scale * float(action[1:])) or action
            rows.append((match.players.index(act.player), action))
            if action not in game.actions(here):
                return rows
            here = here.child(action)
    return rows


def _nearest(game: Holdem, here: Any, total: float) -> str | None:
    """The bet of the solution that is nearest to a total on the street; None if none is near."""
    from subgame.spots.lines import amount

    bets = [action for action in game.actions(here) if action[0] == "r"]
    before = float(max(here.bets))
    if not bets:
        return None
    best = min(bets, key=lambda bet: abs(amount(bet) - total))
    near = abs(amount(best) - total) <= SIZES * (amount(best) - before)
    return best if near or total >= 0.97 * float(here.all_in) else None


def graded(hand: SeenHand, player: str, solved: Endgame, match: Match) -> dict[str, Any]:
    """The decisions of a player in a hand, by the solution of the spot that it came to."""
    seat = match.players.index(hand.players.index(player))
    try:
        rows = grades(solved, moves(hand, match, solved.tree.holdem), seat)
        why = "" if rows else "There was nothing to decide."
    except LookupError:
        rows, why = [], "The hand is not in the range of the solution."
    return {"grades": rows, "lost": _lost(rows), "why": why, "seat": seat}


# By the agent --------------------------------------------------------------------------------
BLIND = 100
"""Chips of the big blind in the game that the agent plays."""


def agent_game(hand: SeenHand) -> tuple[Holdem, list[Move]]:
    """The game that the agent plays in which a hand can be followed, and the hand's moves there."""
    from subgame.games.holdem.spots import hunl

    first, scale = hand.streets[0], BLIND / hand.big_blind
    if len(hand.players) != 2:
        raise SubgameError("The agent knows only hands of two players.")
    if first.pot > 0:
        raise SubgameError("The agent knows no antes.")
    game = hunl(stack=max(BLIND, round(scale * min(first.behind))), bets="all: 1x")
    moves: list[Move] = [(p, hand.held[p]) for p in (0, 1)]
    here, seen = game.start(), 0
    for street in hand.streets:
        if street.cards[seen:]:
            moves.append((-1, street.cards[seen:]))
            seen = len(street.cards)
        for act in street.acts:
            if here.is_over:
                return game, moves
            action = act.action
            if action[0] == "r":  # what the other player cannot pay counts as a call or an all-in
                least, most = here.least_raise, here.most_raise
                total = round(scale * float(action[1:]))
                if least is None or most is None:
                    action = "c"
                else:
                    action = f"r{min(max(total, least), most)}"
            moves.append((act.player, action))
            here = here.child(action)
    return game, moves


def graded_by_agent(hand: SeenHand, player: str) -> dict[str, Any]:
    """The decisions of a player in a hand of two, by what the agent solves."""
    seat = hand.players.index(player)
    try:
        rows = graded_moves(*agent_game(hand), seat)
    except SubgameError as error:
        return {"why": f"No spot that you solved fits. {error.sentence}"}
    lost, rules = _lost(rows), grader().blueprint.game.rules
    depth = f"{round(float(min(rules.stacks)) / float(rules.blinds[1]))} big blinds"
    return {
        "grades": rows,
        "lost": lost,
        "lost_blinds": None if lost is None else lost / BLIND,
        "why": "" if rows else f"Stacks are not near {depth}, and it saw no turn.",
        "seat": seat,
        "solution_name": f"the agent, whose blueprint has {depth}",
    }


def _lost(rows: Iterable[Mapping[str, Any]]) -> float | None:
    known = [row["lost"] for row in rows if row["lost"] is not None]
    return sum(known) if known else None


def listed(hand: SeenHand, player: str) -> dict[str, Any]:
    """A hand as the list shows it."""
    p = hand.players.index(player) if player in hand.players else -1
    return {
        "number": hand.number,
        "held": hand.held[p] if p >= 0 else "",
        "board": hand.streets[-1].cards,
        "big_blind": hand.big_blind,
        "won": None if hand.won is None or p < 0 else hand.won[p],
        "solution": None,
        "grades": [],
        "lost": None,
        "why": "",
    }


def players(hands: Iterable[SeenHand]) -> list[str]:
    """Who played, those first whose cards are known most often."""
    shown: dict[str, int] = {}
    for hand in hands:
        for name, cards in zip(hand.players, hand.held, strict=True):
            shown[name] = shown.get(name, 0) + bool(cards)
    return sorted(shown, key=lambda name: -shown[name])


def why_not(hand: SeenHand, player: str, by_agent: bool = False) -> str:
    """Why a hand cannot be graded by any solution, or by the agent; empty if it could."""
    if player not in hand.players:
        return f"{player} did not play it."
    p = hand.players.index(player)
    if not hand.held[p]:
        return "The cards are not known."
    if not any(act.player == p for street in hand.streets for act in street.acts):
        return "There was nothing to decide."
    if by_agent:
        return ""
    flop = next((street for street in hand.streets if street.cards), None)
    if flop is None or p in flop.folded:
        return "It ended before the flop."
    if len(hand.players) - len(flop.folded) != 2:
        return "More than two players saw the flop."
    return ""


def total(hands: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The score of some graded hands, in pots and big blinds."""
    result = score(hands)
    if result is None:
        return None
    blinds = sum(hand["lost_blinds"] for hand in hands if hand.get("lost_blinds") is not None)
    return {**result, "lost_blinds": blinds}


def check_player(hands: Iterable[SeenHand], player: str) -> str:
    """The player that is meant; the first of `players` if none is named."""
    known = players(hands)
    if player and player not in known:
        raise SubgameError(f"Nobody in these hands is called {player[:40]}.")
    return player or known[0]


histories_router = APIRouter(tags=["histories"])
MOST = 50
"""Hands that are graded by one request."""


class Hands(Model):
    """Hands in PHH, and whose decisions are meant."""

    text: str = Field(max_length=900_000)
    player: str = Field(default="", max_length=40)


class Some(Hands):
    """Some of them. With `agent` hands are graded by its solves; that takes a while for each."""

    first: int = Field(default=0, ge=0)
    count: int = Field(default=10, ge=1, le=MOST)
    agent: bool = False


def _read(text: str) -> Any:
    from subgame.play.protocols.seen import read_seen

    try:
        return read_seen(text)
    except SubgameError as error:
        raise FieldError({"text": error.sentence}) from None


def by_agent(seen: list[SeenHand], player: str) -> dict[str, Any]:
    """Some hands, graded by the agent: one after another, whoever asks."""
    rows = []
    for hand in seen:
        row = listed(hand, player) | {"why": why_not(hand, player, by_agent=True)}
        if not row["why"]:
            row |= graded_by_agent(hand, player)
        rows.append(row)
    return {"hands": rows, "score": total(rows)}


@histories_router.post("/histories")
def hands(body: Hands, request: Request) -> dict[str, Any]:
    """The hands of a PHH, without grades."""
    seen = _read(body.text)
    player = check_player(seen, body.player)
    return {
        "players": players(seen),
        "player": player,
        "hands": [listed(hand, player) | {"why": why_not(hand, player)} for hand in seen],
    }


@histories_router.post("/histories/grades")
def grade(body: Some, request: Request) -> dict[str, Any]:
    """Some hands of a PHH, each of a player's decisions graded by a spot that was solved."""
    seen = _read(body.text)
    player = check_player(seen, body.player)
    if body.agent:
        return by_agent(seen[body.first : body.first + body.count], player)
    store, _, settings = parts(request)
    spots = [
        (row["id"], row["name"], row["result"]["spot"])
        for row in store.rows("jobs")
        if "spot" in (row.get("result") or {}) and (store.folder(row["id"]) / STRATEGY).exists()
    ]
    rows = []
    for hand in seen[body.first : body.first + body.count]:
        row = listed(hand, player) | {"why": why_not(hand, player)}
        rows.append(row)
        if row["why"]:
            continue
        fits = ((id, name, matched(hand, spot)) for id, name, spot in spots)
        fit: tuple[str, str, Match] | None = next(
            ((id, name, match) for id, name, match in fits if match), None
        )
        if fit is None:
            row["why"] = "No spot that you solved has its board, pot and stacks."
            continue
        id, name, match = fit
        solved, lock = opened(store.folder(id) / STRATEGY, settings.memory_limit)
        with lock:
            row |= graded(hand, player, solved, match) | {"solution": id, "solution_name": name}
        blinds = None if row["lost"] is None else row["lost"] / match.scale / hand.big_blind
        rows[-1] = row | {"lost_blinds": blinds}
    return {"hands": rows, "score": total(rows)}

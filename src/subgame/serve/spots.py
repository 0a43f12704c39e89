"""Hold'em spots: what the page Solve asks for and shows.

A spot comes as fields. What is wrong with one is said beside that field: `FieldError.fields`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from subgame.errors import SubgameError

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.ranges import Range
    from subgame.games.holdem.rules import Betting
    from subgame.solve.endgame import Endgame
    from subgame.tree.ranges.tree import RangeTree
    from subgame.tree.strategy import Strategy

T = TypeVar("T")
Street = Literal["flop", "turn", "river"]
RANGE = 20_000
"""Characters of the longest text of a range."""
PLAYERS = ("OOP", "IP")
SIZES = 10
"""Sizes of the bets of one street, and of its raises."""
DIGITS = 5
"""Digits of probabilities that are sent to the page."""
PATIENCE = 5.0
"""Seconds that counting the nodes of a spot may take."""
SCHEDULES = ("hs-dcfr", "dcfr", "cfr+", "pcfr+", "pdcfr+", "lcfr", "cfr")


class FieldError(SubgameError):
    """Something is wrong with fields of a form; `fields` says what, by the name of the field."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(" ".join(fields.values()))
        self.fields = fields


class Model(BaseModel):
    """A body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class StreetSizes(Model):
    """The sizes of one street, in the grammar of `subgame.holdem.BetSizes`."""

    bets: str = Field(default="", max_length=200)
    raises: str = Field(default="", max_length=200)


class Spot(Model):
    """A hold'em endgame."""

    board: str = Field(max_length=40, examples=["Qs Jh 2h 8d 3c"])
    pot: int = 100
    stacks: tuple[int, int] = (1000, 1000)
    oop: str = Field(default="random", max_length=RANGE)
    ip: str = Field(default="random", max_length=RANGE)
    min_bet: int = 1
    streets: dict[Street, StreetSizes] = Field(default_factory=dict)
    cap: int | None = Field(default=None, ge=0, le=20)
    all_in: float | None = Field(default=None, gt=0, le=1)

    def bets(self) -> str:
        """The sizes as one text."""
        parts = [
            f"{street}: {sizes.bets.strip() or 'none'}"
            + (f" / raise {sizes.raises.strip()}" if sizes.raises.strip() else "")
            for street, sizes in self.streets.items()
        ]
        parts += [] if self.cap is None else [f"cap {self.cap}"]
        parts += [] if self.all_in is None else [f"all-in {self.all_in:.4f}"]
        return "; ".join(parts)

    def game(self) -> Holdem:
        """The game; raises a `FieldError` with everything that is wrong."""
        from subgame import holdem

        fields: dict[str, str] = {}

        def read(field: str, parse: Callable[..., T], *text: str) -> T | None:
            try:
                return parse(*text)
            except SubgameError as error:
                fields[field] = error.sentence
                return None

        cards = read("board", holdem.cards.DECK.parse, self.board)
        if cards is not None and len(cards) not in (3, 4, 5):
            fields["board"] = f"A board has 3, 4 or 5 cards; here are {len(cards)}."
        for street, sizes in self.streets.items():
            for field, text in (("bets", sizes.bets), ("raises", sizes.raises)):
                if len(text.split()) > SIZES:
                    fields[f"{street}.{field}"] = f"At most {SIZES} sizes."
                elif any(mark in text for mark in ":;/\n"):
                    fields[f"{street}.{field}"] = "Write sizes separated by spaces: 0.5x 1x a."
                elif text.strip():
                    clause = text if field == "bets" else f"1x / raise {text}"
                    read(f"{street}.{field}", holdem.BetSizes.parse, clause, street)
        ranges = [read(seat, holdem.Range.parse, getattr(self, seat)) for seat in ("oop", "ip")]
        for seat, each in zip(("oop", "ip"), ranges, strict=True):
            if each is not None and not each.combos:
                fields[seat] = "The range is empty."
        fields |= self._chips()
        if fields:
            raise FieldError(fields)
        try:
            return holdem.endgame(
                self.board,
                self.pot,
                self.stacks,
                (self.oop, self.ip),
                self.bets(),
                big_blind=self.min_bet,
            )
        except SubgameError as error:
            raise FieldError({_field_of(error.sentence): error.sentence}) from None

    def _chips(self) -> dict[str, str]:
        wrong = {}
        if self.pot <= 0 or self.pot % 2:
            wrong["pot"] = "The pot must be a positive even number of chips."
        if self.min_bet < 1:
            wrong["min_bet"] = "The smallest bet must be at least 1 chip."
        for k, stack in enumerate(self.stacks):
            if stack < max(1, self.min_bet):
                wrong[f"stacks.{k}"] = "A stack must be at least the smallest bet."
        return wrong


def _field_of(sentence: str) -> str:
    """The field that a message of the rules is about."""
    if "out of position" in sentence:
        return "oop"
    if "button" in sentence or "ranges" in sentence:
        return "ip"
    return "stacks.0" if "stack" in sentence.lower() else "board"


def compiled(
    game: Holdem, memory_limit: str, progress: Callable[[int], None] | None = None
) -> RangeTree:
    """The tree of a spot."""
    from subgame.memory import Allowance
    from subgame.tree.ranges.tree import compile_range_tree

    return compile_range_tree(
        game, memory_limit=Allowance.of(memory_limit), merge=True, number=2.5, progress=progress
    )


def deadline(seconds: float) -> Callable[[int], None]:
    """A report of progress that ends the work when it takes too long."""
    end = time.monotonic() + seconds

    def watch(count: int) -> None:
        if time.monotonic() > end:
            raise SubgameError(
                f"The tree is too large to be counted within {seconds:g} seconds. Fewer sizes or a "
                "cap on raises make it smaller."
            )

    return watch


def quote(spot: Spot, schedule: str, memory_limit: str) -> dict[str, Any]:
    """The number of nodes and the memory that solving a spot needs, before it is started."""
    from subgame.solve.endgame import BYTES, memory_needed

    game = spot.game()
    tree = compiled(game, memory_limit, deadline(PATIENCE))
    return {
        "nodes": tree.num_nodes,
        "memory": {kind: memory_needed(tree, schedule, kind) for kind in ("float32", "int16")},
        "bytes_each": {kind: BYTES[kind] for kind in ("float32", "int16")},
        "combos": [float(each.combos) for each in game.ranges],
        "bets": str(game.bets),
    }


# Ranges --------------------------------------------------------------------------------------
def range_view(text: str) -> dict[str, Any]:
    """A range as the editor shows it: a weight by class of hands, its text and its size."""
    from subgame import holdem

    return _range_view(holdem.Range.parse(text))


def _range_view(made: Range) -> dict[str, Any]:
    from subgame.games.holdem.ranges import class_hands

    deck, classes = made.deck, {}
    for high in range(deck.num_ranks):
        for low in range(high + 1):
            for kind in "p" if high == low else "so":
                weights = made.weights[class_hands(high, low, kind, deck)]
                name = deck.ranks[high] + deck.ranks[low] + kind.replace("p", "")
                classes[name] = round(float(weights.mean()), 4)
    return {
        "text": str(made),
        "combos": round(float(made.combos), 4),
        "share": float(made.combos) / deck.num_hands,
        "classes": {name: weight for name, weight in classes.items() if weight},
    }


# Results -------------------------------------------------------------------------------------
def decision_view(strategy: Strategy, line: str) -> dict[str, Any]:
    """One decision: the actions, what follows them, and the strategy of each hand."""
    import numpy as np

    from subgame.games.holdem.bets import STREETS
    from subgame.solve.browse import decision

    found = decision(strategy, line)
    betting, game, p = found.betting, found.tree.holdem, found.player
    held = np.flatnonzero(found.reach > 0)
    actions = [
        {
            "id": action,
            "name": name,
            "frequency": float(often),
            "next": _next(betting, action),
            **_size(betting, action),
        }
        for action, name, often in zip(found.actions, found.names, found.frequency, strict=True)
    ]
    return {
        "line": " ".join(betting.history),
        "path": _path(game, betting),
        "player": p,
        "street": STREETS[betting.street],
        "board": game.deck.name(game.board),
        "pot": betting.pot,
        "to_call": betting.to_call,
        "behind": list(betting.behind),
        "actions": actions,
        "hands": [found.hand_names[h] for h in held.tolist()],
        "reach": np.round(found.reach[held], DIGITS).tolist(),
        "chance": np.round(found.chance[held], DIGITS + 2).tolist(),
        "probs": np.round(found.probs[held], DIGITS).tolist(),
    }


def _next(betting: Betting, action: str) -> str:
    after = betting.child(action)
    if after.is_over:
        return "fold" if action == "f" else "showdown"
    return "decision" if after.street == betting.street else "card"


def _size(betting: Betting, action: str) -> dict[str, Any]:
    """The kind of an action, and a bet's share of the pot once the bet before it is called."""
    from subgame.solve.lines import is_all_in

    if action == "f":
        return {"kind": "fold"}
    if action == "c":
        return {"kind": "call" if betting.to_call else "check"}
    bet = betting.bet(action)
    kind = "all-in" if is_all_in(betting, action) else "raise" if betting.to_call else "bet"
    return {"kind": kind, "of_pot": 0.0 if bet is None else bet.fraction}


def _path(game: Holdem, here: Betting) -> list[dict[str, Any]]:
    """The decisions that lead here, with the action that was taken at each."""
    from subgame.solve.lines import action_name

    betting, steps, line = game.start(), [], ""
    for action in here.history[len(betting.history) :]:
        steps.append(
            {
                "player": betting.player,
                "line": line,
                "action": action,
                "name": action_name(betting, action),
            }
        )
        line = f"{line} {action}".strip()
        betting = betting.child(action)
    return steps


def values_view(solved: Endgame) -> dict[str, Any]:
    """EV and equity of both players and of each of their hands at the root."""
    return {
        "ev": list(solved.ev),
        "equity": list(solved.equity),
        "pot": solved.pot,
        "hands": [
            {
                name: [row["weight"], _number(row["ev"]), _number(row["equity"])]
                for name, row in solved.hands(p).items()
            }
            for p in (0, 1)
        ],
    }


def _number(value: float) -> float | None:
    """A number for JSON, which has no nan."""
    return round(value, 6) if value == value else None

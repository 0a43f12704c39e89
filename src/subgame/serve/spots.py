"""Hold'em spots: what the page Solve asks for and shows.

A spot comes as fields. What is wrong with one is said beside that field: `FieldError.fields`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from subgame.errors import MemoryLimitError, SubgameError

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.ranges import Range
    from subgame.spots.flops import Flop
    from subgame.tree.ranges.tree import RangeTree

T = TypeVar("T")
Street = Literal["flop", "turn", "river"]
RANGE = 20_000
"""Characters of the longest text of a range."""
Line = Annotated[str, Field(max_length=200, pattern=r"^[^;:\n]*$")]
LINES = 40
"""Lines that are added, and that are removed."""
FLOPS = 40_000
"""Characters of the longest list of flops."""
SIZES = 10
"""Sizes of the bets of one street, and of its raises."""
PATIENCE = 5.0
"""Seconds of processor time that counting the nodes of a spot may take."""
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
    donks: str = Field(default="", max_length=200, description="Empty: as the other bets.")

    def clauses(self) -> dict[str, str]:
        """The part of the text that each field stands for."""
        return {
            "bets": self.bets.strip() or "none",
            "donks": f"/ donk {self.donks}" if self.donks.strip() else "",
            "raises": f"/ raise {self.raises}" if self.raises.strip() else "",
        }


class Spot(Model):
    """A hold'em endgame. The player in position has the sizes of both where it has none alone."""

    board: str = Field(max_length=40, examples=["Qs Jh 2h 8d 3c"])
    pot: float = 100
    stacks: tuple[float, float] = (1000, 1000)
    oop: str = Field(default="random", max_length=RANGE)
    ip: str = Field(default="random", max_length=RANGE)
    min_bet: float = 1
    streets: dict[Street, StreetSizes] = Field(default_factory=dict)
    ip_streets: dict[Street, StreetSizes] = Field(default_factory=dict)
    cap: int | None = Field(default=None, ge=0, le=20)
    all_in: float | None = Field(default=None, gt=0, le=1)
    force_all_in: float | None = Field(default=None, ge=0, le=100)
    add_all_in: float | None = Field(default=None, ge=0, le=100)
    added: list[Line] = Field(default_factory=list, max_length=LINES)
    removed: list[Line] = Field(default_factory=list, max_length=LINES)
    rake: float = 0.0
    rake_cap: float | None = None
    dead: str = Field(default="", max_length=120)

    def bets(self) -> str:
        """The sizes as one text."""
        parts = [
            f"{seat}{street}: {' '.join(sizes.clauses().values())}"
            for seat, streets in (("", self.streets), ("ip ", self.ip_streets))
            for street, sizes in streets.items()
        ]
        parts += [] if self.cap is None else [f"cap {self.cap}"]
        shares = {"all-in": self.all_in, "force-all-in": self.force_all_in}
        for name, share in (shares | {"add-all-in": self.add_all_in}).items():
            parts += [] if share is None else [f"{name} {share:.4f}"]
        parts += [f"add {line}" for line in self.added] + [
            f"remove {line}" for line in self.removed
        ]
        return "; ".join(parts)

    def on(self, board: str) -> Holdem:
        """The game on another board."""
        return self.model_copy(update={"board": board}).game()

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
        dead = read("dead", holdem.cards.DECK.parse, self.dead) if self.dead.strip() else ()
        if cards and dead and {*cards} & {*dead}:
            fields["dead"] = "A dead card is on the board."
        fields |= self._sizes()
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
                dead=self.dead,
                rake=(self.rake, math.inf if self.rake_cap is None else self.rake_cap),
            )
        except SubgameError as error:
            raise FieldError({_field_of(error.sentence): error.sentence}) from None

    def _sizes(self) -> dict[str, str]:
        """What is wrong with the sizes, by field."""
        from subgame import holdem
        from subgame.games.holdem.sizes import moves

        wrong = {}
        places = [("", each) for each in self.streets.items()]
        places += [("ip_streets.", each) for each in self.ip_streets.items()]
        for before, (street, sizes) in places:
            for field, clause in sizes.clauses().items():
                name, text = f"{before}{street}.{field}", getattr(sizes, field)
                if len(text.split()) > SIZES:
                    wrong[name] = f"At most {SIZES} sizes."
                elif any(mark in text for mark in ":;/\n"):
                    wrong[name] = "Write sizes separated by spaces: 0.5x 1x a."
                elif text.strip():
                    try:
                        holdem.BetSizes.parse(clause if field == "bets" else f"1x {clause}", street)
                    except SubgameError as error:
                        wrong[name] = error.sentence
            if before and sizes.donks.strip():
                wrong[f"{before}{street}.donks"] = "Only OOP makes donk bets."
        for field in ("added", "removed"):
            for line in getattr(self, field):
                if moves(line) is None:
                    wrong[field] = f"'{line}' is no line; write it as c r50 c / r120."
        return wrong

    def _chips(self) -> dict[str, str]:
        from subgame.games.holdem.chips import MOST_CHIPS

        amounts = {"pot": self.pot, "min_bet": self.min_bet}
        amounts |= {f"stacks.{k}": stack for k, stack in enumerate(self.stacks)}
        wrong = {}
        for field, chips in amounts.items():
            if not 0 < chips <= MOST_CHIPS:
                wrong[field] = f"The chips must be a number above 0 and at most {MOST_CHIPS:,}."
            elif field.startswith("stacks") and chips < self.min_bet:
                wrong[field] = "A stack must be at least the smallest bet."
        if not 0 <= self.rake < 1:
            wrong["rake"] = "The rake must be a share of the pot from 0 to below 1."
        if self.rake_cap is not None and not 0 <= self.rake_cap <= MOST_CHIPS:
            wrong["rake_cap"] = "The cap of the rake must be a number of chips, 0 or more."
        return wrong


WORDS = {
    "out of position": "oop",
    "button": "ip",
    "in position": "ip",
    "ranges": "ip",
    "cannot be added": "added",
    "cannot be removed": "removed",
    "The pot": "pot",
    "smallest bet": "min_bet",
    "big blind": "min_bet",
    "stack": "stacks.0",
    "dead": "dead",
}
"""Words of a message of the rules -> the field that it is about, the first that is found."""


def _field_of(sentence: str) -> str:
    return next((field for words, field in WORDS.items() if words in sentence), "board")


def compiled(
    game: Holdem, memory_limit: str, progress: Callable[[int], None] | None = None
) -> RangeTree:
    """The tree of a spot."""
    from subgame.memory import Allowance
    from subgame.tree.ranges.tree import compile_range_tree

    most = Allowance.of(memory_limit)
    try:
        return compile_range_tree(
            game, memory_limit=most, merge=True, number=2.5, progress=progress
        )
    except MemoryLimitError as error:
        said = error.sentence.removeprefix(f"{game}: ")
        raise FieldError({"memory": f"{said[0].upper()}{said[1:]}"}) from None


def deadline(seconds: float, given_up: Callable[[], bool]) -> Callable[[int], None]:
    """A report of progress that ends this thread's work when it takes too long or is given up."""
    end = time.thread_time() + seconds  # other work on the machine makes no tree too large

    def watch(count: int) -> None:
        if given_up():
            raise SubgameError("Nobody waits for this any more.")
        if time.thread_time() > end:
            raise FieldError(
                {"memory": f"The tree is too large to be counted within {seconds:g} seconds."}
            )

    return watch


def quote(
    spot: Spot, schedule: str, memory_limit: str, given_up: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """The number of nodes and the memory that solving a spot needs, before it is started.

    `given_up` says whether nobody waits for the answer any more.
    """
    from subgame.memory import Allowance
    from subgame.spots.endgame import BYTES, memory_needed

    game = spot.game()
    tree = compiled(game, memory_limit, deadline(PATIENCE, given_up))
    return {
        "nodes": tree.num_nodes,
        "memory": {kind: memory_needed(tree, schedule, kind) for kind in ("float32", "int16")},
        "limit": Allowance.of(memory_limit).bytes,
        "bytes_each": {kind: BYTES[kind] for kind in ("float32", "int16")},
        "combos": [float(each.combos) for each in game.ranges],
        "bets": str(game.bets),
    }


def chosen_flops(text: str) -> list[Flop]:
    """The flops of a report: ``all``, the size of a subset, or a list with one in each line."""
    from subgame.spots.flops import flops, parse_flops, subsets

    name = text.strip()
    try:
        if name.isdecimal() or name in ("all", *subsets()["subsets"]):
            return flops(name)
        return parse_flops(text.replace(";", "\n"), "the list")
    except SubgameError as error:
        raise FieldError({"flops": error.sentence}) from None


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

"""Hold'em spots: what the page Solve asks for and shows.

A spot comes as fields. What is wrong with one is said beside that field: `FieldError.fields`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from subgame.errors import FieldError, MemoryLimitError, SubgameError

if TYPE_CHECKING:
    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.ranges import Range
    from subgame.spots.flops import Flop
    from subgame.tree.ranges.tree import RangeTree

Street = Literal["flop", "turn", "river"]
DeckName = Literal["full", "short", "short-trips"]
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
    deck: DeckName = "full"
    folded: str = Field(
        default="", max_length=4 * RANGE, description="Ranges of players who folded, by semicolons."
    )

    def bets(self) -> str:
        """The sizes as one text, without lines."""
        parts = [
            f"{seat}{street}: {' '.join(sizes.clauses().values())}"
            for seat, streets in (("", self.streets), ("ip ", self.ip_streets))
            for street, sizes in streets.items()
        ]
        parts += [] if self.cap is None else [f"cap {self.cap}"]
        shares = {"all-in": self.all_in, "force-all-in": self.force_all_in}
        for name, share in (shares | {"add-all-in": self.add_all_in}).items():
            parts += [] if share is None else [f"{name} {share:.4f}"]
        return "; ".join(parts)

    def on(self, board: str) -> Holdem:
        """The game on another board."""
        return self.model_copy(update={"board": board}).game()

    def game(self) -> Holdem:
        """The game; raises a `FieldError` with everything that is wrong."""
        from subgame.games.holdem.cards import deck_named
        from subgame.games.holdem.spots import SpotForm

        wrong = self._sizes()
        form = SpotForm(
            self.board,
            self.pot,
            self.stacks,
            self.oop,
            self.ip,
            "none" if wrong else self.bets() or "none",
            self.added,
            self.removed,
            min_bet=self.min_bet,
            dead=self.dead,
            rake=self.rake,
            rake_cap=math.inf if self.rake_cap is None else self.rake_cap,
            deck=deck_named(self.deck),
            folded=self.folded,
        )
        return form.game(wrong)

    def _sizes(self) -> dict[str, str]:
        """What is wrong with the sizes, by field."""
        from subgame import holdem

        wrong = {}
        places = [("", street) for street in self.streets.items()]
        places += [("ip_streets.", street) for street in self.ip_streets.items()]
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
        return wrong


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
        "combos": [float(held.combos) for held in game.ranges],
        "bets": str(game.bets),
    }


def chosen_flops(text: str, deck: str = "full") -> list[Flop]:
    """The flops of a report: ``all``, the size of a subset, or a list with one in each line."""
    from subgame.games.holdem.cards import deck_named
    from subgame.spots.flops import flops, parse_flops, subsets

    name = text.strip()
    try:
        if name.isdecimal() or name in ("all", *subsets()["subsets"]):
            return flops(name, deck_named(deck))
        return parse_flops(text.replace(";", "\n"), "the list", deck_named(deck))
    except SubgameError as error:
        raise FieldError({"flops": error.sentence}) from None


# Set-ups of other solvers ----------------------------------------------------------------------
def imported(text: str) -> dict[str, Any]:
    """The set-up in a file of another solver, as the page has it, and what it could not take over.

    The readers are those of ``subgame endgame --import``.
    """
    from subgame.games.holdem.imports import read_spot

    made = read_spot(text, "The file")
    said, left = made.said, list(made.left_out)
    spot: dict[str, Any] = {key: said[key] for key in ("board", "oop", "ip") if key in said}
    for key in ("pot", "rake", "rake_cap"):
        spot |= {key: float(said[key])} if key in said else {}
    if "stack" in said:
        spot["stacks"] = (float(said["stack"]), float(said["stack"]))
    spot |= _sizes_of(said.get("bets", ""), left)
    missing = [key for key in ("board", "pot", "stack") if key not in said]
    left += [f"The file does not give the {key}." for key in missing]
    whole = Spot(**({"board": ""} | spot))
    return {"program": made.program, "spot": whole.model_dump(), "left_out": left}


def _sizes_of(bets: str, left: list[str]) -> dict[str, Any]:
    """The fields of `Spot` for a text of sizes; what they cannot hold is told to `left`."""
    result: dict[str, Any] = {"streets": {}, "ip_streets": {}, "added": [], "removed": []}
    options = {"all-in": "all_in", "force-all-in": "force_all_in", "add-all-in": "add_all_in"}
    for clause in filter(None, (part.strip() for part in bets.split(";"))):
        head, colon, sizes = clause.partition(":")
        seat, _, street = head.partition(" ")
        word, _, value = clause.partition(" ")
        if colon and street:
            parts = dict(zip(("bets", "donks", "raises"), ("", "", ""), strict=True))
            for part in map(str.strip, sizes.split("/")):
                kind, _, rest = part.partition(" ")
                name = {"donk": "donks", "raise": "raises"}.get(kind, "bets")
                parts[name] = part if name == "bets" else rest
            result["streets" if seat == "oop" else "ip_streets"][street] = parts
        elif word in options:
            result[options[word]] = float(value)
        elif word in ("add", "remove"):
            result["added" if word == "add" else "removed"].append(value)
        elif not colon:
            left.append(f"The page has no field for '{clause}'.")
    return result


# Ranges --------------------------------------------------------------------------------------
def range_view(text: str, deck: str = "full") -> dict[str, Any]:
    """A range as the editor shows it: a weight by class of hands, its text and its size."""
    from subgame import holdem
    from subgame.games.holdem.cards import deck_named

    return _range_view(holdem.Range.parse(text, deck_named(deck)))


def _range_view(made: Range) -> dict[str, object]:
    classes = {name: round(weight, 4) for name, weight in made.by_class().items()}
    return {
        "text": str(made),
        "combos": round(float(made.combos), 4),
        "share": float(made.combos) / made.deck.num_hands,
        "classes": {name: weight for name, weight in classes.items() if weight},
    }

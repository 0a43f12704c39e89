"""`BlueprintRecipe`: what a blueprint is trained for and how, from a TOML file.

>>> recipe = BlueprintRecipe.parse('''
... name = "tiny"
... [game]
... stack = 600
... ranks = "9TJQKA"
... suits = "cd"
... [bets]
... all = "1x a / cap 1"
... [buckets]
... flop = 10
... turn = 10
... river = 10
... [training]
... iterations = 20
... ''')
>>> recipe.game.actions(recipe.game.start())
('f', 'c', 'r300', 'r600')
>>> recipe.buckets, recipe.schedule
((None, 10, 10, 10), 'lcfr')
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import ArgumentError, SubgameError, did_you_mean, read_text
from subgame.games.holdem.cards import RANKS, SUITS
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.sizes import STREETS, read_chips
from subgame.games.holdem.spots import hunl, nlfh, nlth
from subgame.solve.limits import MOST
from subgame.solve.schedule import parse

if TYPE_CHECKING:
    from subgame.abstraction.recipe import Recipe

WANTED = "a recipe of a blueprint, NAME.toml"
DEFAULT = Path(__file__).parent.parent / "data" / "hunl-default.toml"
"""The recipe of the blueprint that comes with the package."""
NAMED = {name: DEFAULT.with_name(f"{name}.toml") for name in ("hunl-default", "hunl-large")}
"""Recipes of the package, by name."""
LOSSLESS = "lossless"
METHODS = ("public", "external")
MOST_BOARDS = 1_000_000
"""Boards per iteration, and pairs of hands per board."""
MOST_BUCKETS = 2**15 - 1
"""Buckets of a street, which are numbers of 16 bits."""
KINDS: dict[str, Any] = {
    **dict.fromkeys(("stack", "small_blind", "big_blind"), int),
    **dict.fromkeys(("boards", "pairs", "iterations", "seed"), int),
    **dict.fromkeys(("hours", "prune"), int | float),
    **dict.fromkeys(("name", "bets", "ranks", "suits", "last", "method", "schedule"), str),
}
"""Of the values of a recipe."""
SECTIONS = {
    "": ("name",),
    "game": ("stack", "small_blind", "big_blind", "ranks", "suits", "last"),
    "bets": ("all", "postflop", *STREETS, "cap", "all_in", "chip"),
    "buckets": (*STREETS[1:],),
    "training": ("method", "schedule", "boards", "pairs", "iterations", "hours", "seed", "prune"),
}


@dataclass(frozen=True)
class BlueprintRecipe:
    """A blueprint's game, buckets and training.

    >>> cards = {"ranks": "9TJQKA", "suits": "cd"}
    >>> recipe = BlueprintRecipe("tiny", "all: 1x / cap 1", (None, 6, 6, 6), 600, **cards)
    >>> recipe.game.deck.size
    12
    """

    name: str
    bets: str
    """Bet sizes in the grammar of `subgame.games.holdem.BetSizes`."""
    buckets: tuple[int | None, ...]
    """On each street. None before the flop, where every hand up to suit symmetry has its own; None
    on all streets ("lossless" in a file) keeps every hand on every board."""
    stack: int = 20000
    small_blind: int = 50
    big_blind: int = 100
    ranks: str = RANKS
    suits: str = SUITS
    last: str = "river"
    method: str = "public"
    """"public": boards are sampled, hands are exact. "external": all but one player is sampled."""
    schedule: str = "lcfr"
    boards: int = 32
    """Boards per iteration."""
    pairs: int = 1000
    """Pairs of hands per board, with external sampling."""
    iterations: int | None = None
    hours: float | None = None
    seed: int = 0
    prune: float = 0.01
    """Probabilities below this are stored as 0."""

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.method not in METHODS:
            raise did_you_mean("method of training", self.method, METHODS)
        counts = [count for count in self.buckets if count is not None]
        numbers = [("buckets", count) for count in counts]
        numbers += [(name, getattr(self, name)) for name in ("boards", "pairs", "iterations")]
        for name, value in numbers:
            whole = isinstance(value, int) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise ArgumentError(
                    name, f"must be a whole number of at least 1, not {value!r:.50}."
                )
        largest = {"boards": (self.boards, MOST_BOARDS), "pairs": (self.pairs, MOST_BOARDS)}
        largest |= {"buckets": (max(counts, default=1), MOST_BUCKETS)}
        for name, (value, most) in (largest | {"iterations": (self.iterations or 1, MOST)}).items():
            if value > most:
                raise ArgumentError(name, f"must be at most {most:,}, not {value:,}.")
        if not 0 <= self.seed < 2**63:
            raise ArgumentError("seed", "must be a whole number from 0 to 2^63 - 1.")
        if self.hours is not None and not 0 < self.hours < math.inf:
            raise ArgumentError("hours", f"must be above 0, not {self.hours}.")
        if not 0 <= self.prune < 0.5:
            raise ArgumentError("prune", f"must be from 0 to below 0.5, not {self.prune}.")
        parse(self.schedule)
        if self.buckets[0] is not None or (counts and None in self.buckets[1:]):
            raise SubgameError("Buckets are numbers on all later streets, or lossless on all.")
        if len(self.buckets) != self.game.rules.last_street + 1:
            raise SubgameError(
                f"A game that ends on the {self.last} has buckets on each street from the flop to "
                f"the {self.last}; {len(self.buckets) - 1} numbers were given."
            )

    def _check_kinds(self) -> None:
        """Refuse text where a number belongs and the reverse, which TOML lets through."""
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if value is None and name in ("iterations", "hours"):
                continue
            if not isinstance(value, kind) or isinstance(value, bool):
                wanted = "text" if kind is str else "a whole number" if kind is int else "a number"
                raise ArgumentError(name, f"must be {wanted}, not {value!r:.50}.")
        for name in ("stack", "small_blind", "big_blind"):
            read_chips(getattr(self, name), name.replace("_", " "))

    @cached_property
    def game(self) -> Holdem:
        """The game in which only the recipe's bets are made."""
        games = {"flop": nlfh, "turn": nlth, "river": hunl}
        if self.last not in games:
            raise did_you_mean("last street of a recipe", self.last, games)
        blinds = self.small_blind, self.big_blind
        return games[self.last](self.stack, *blinds, self.bets, self.ranks, self.suits)

    @property
    def clustering(self) -> Recipe:
        """How hands are put into buckets."""
        from subgame.abstraction.recipe import Recipe  # its package loads NumPy

        return Recipe("quantiles", seed=self.seed)

    @property
    def cards(self) -> int:
        """Board cards at the showdown."""
        return BOARD_CARDS[self.game.rules.last_street]

    @classmethod
    def load(cls, path: str | Path) -> BlueprintRecipe:
        """The recipe in a file; its name is the file's if it gives none."""
        text = read_text(path, WANTED)
        try:
            return cls.parse(text, Path(path).stem)
        except SubgameError as error:
            raise SubgameError(f"{path}: {error.sentence}") from None

    @classmethod
    def parse(cls, text: str, name: str = "blueprint") -> BlueprintRecipe:
        """A recipe from the text of a TOML file."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SubgameError(f"The recipe is not TOML: {error}.") from None
        except ValueError:  # of Python, not of TOML
            raise SubgameError("The recipe contains a number that is too long.") from None
        except RecursionError:
            raise SubgameError("The recipe is nested too deeply.") from None
        own = {key: value for key, value in content.items() if not isinstance(value, dict)}
        parts = {
            "": own,
            **{key: section for key, section in content.items() if isinstance(section, dict)},
        }
        for section, part in parts.items():
            if section not in SECTIONS:
                raise did_you_mean("section of a recipe", section, SECTIONS)
            for key in part:
                if key not in SECTIONS[section]:
                    where = f"[{section}]" if section else "a recipe"
                    raise did_you_mean(f"entry in {where}", key, SECTIONS[section])
        game = parts.get("game", {})
        last = game.get("last", "river")
        streets = STREETS[1 : STREETS.index(last) + 1] if last in STREETS else ()
        counts = parts.get("buckets", {})
        missing = [street for street in streets if street not in counts]
        if missing or "bets" not in parts:
            what = f"buckets on the {missing[0]}" if missing else "a section [bets]"
            raise SubgameError(f"The recipe has no {what}.")
        return cls(
            bets=_bets(parts["bets"]),
            buckets=(None, *(None if counts[s] == LOSSLESS else counts[s] for s in streets)),
            **{"name": name, **own, **game, **parts.get("training", {})},
        )

    def as_dict(self) -> dict[str, object]:
        """The recipe as plain values, as files keep it."""
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> BlueprintRecipe:
        """The recipe from plain values."""
        return cls(**{**values, "buckets": tuple(values["buckets"])})


def _bets(part: Mapping[str, Any]) -> str:
    """The bets as one text."""
    names = {"all_in": "all-in", "cap": "cap", "chip": "chip"}
    clauses = [f"{key}: {value}" for key, value in part.items() if key not in names]
    return "; ".join([*clauses, *(f"{names[key]} {part[key]}" for key in names if key in part)])


def limited(
    recipe: BlueprintRecipe, hours: float | None, iterations: int | None
) -> BlueprintRecipe:
    """The recipe with another end, if one is given."""
    if hours is None and iterations is None:
        return recipe
    return replace(recipe, hours=hours, iterations=iterations)

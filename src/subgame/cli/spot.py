"""The options of ``subgame endgame`` that describe a spot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from subgame.cli.arguments import opt
from subgame.cli.common import announce
from subgame.errors import FieldError, SubgameError, read_text

if TYPE_CHECKING:
    from subgame.games.holdem.bets import BetSizes
    from subgame.games.holdem.cards import Deck
    from subgame.games.holdem.game import Holdem
    from subgame.spots.locks import Lock

T = TypeVar("T")
BETS = "0.5x 1x a"
TREE = {"rich_help_panel": "Tree"}
"""For options of the betting tree, which help shows apart."""


@dataclass(frozen=True)
class Spot:
    """A hold'em spot."""

    board: str | None = opt(None, "CARDS", "3, 4 or 5 cards: QsJh2h or 'Qs Jh 2h 8d'.", False)
    pot: str | None = opt(None, "CHIPS", "Chips in the pot, such as 100 or 6.5.", False)
    stack: str | None = opt(None, "CHIPS", "Chips behind: 1000, or 1000/800 for OOP/IP.", False)
    oop: str | None = opt(
        None, "RANGE", "Range of the player out of position; @FILE reads it.", "random"
    )
    ip: str | None = opt(None, "RANGE", "Range of the player in position, or @FILE.", "random")
    dead: str | None = opt(
        None, "CARDS", "Cards that are out of the deck, such as those of players who folded.", False
    )
    folded: list[str] | None = opt(
        None,
        "RANGE",
        "Range of a player who folded, or @FILE: the hand is unknown, but its cards are gone "
        "(bunching). Repeatable: up to three, on the river four. Exact, but slower.",
    )
    deck: str | None = opt(
        None,
        "NAME",
        "full; short: 36 cards without 2 to 5, a flush beats a full house (6+ hold'em); or "
        "short-trips: three of a kind beat a straight, too.",
        "full",
    )
    rake: str | None = opt(
        None, "SHARE", "The share of the pot that the house takes, such as 5%.", "none"
    )
    rake_cap: str | None = opt(None, "CHIPS", "The most that the house takes from one pot.", "none")
    imported: Path | None = opt(
        None,
        "FILE",
        "Read the spot from a file of postflop-solver, wasm-postflop, TexasSolver or "
        "PioSOLVER. Options given here replace what it says.",
        False,
        name="--import",
    )
    bets: str | None = opt(
        None,
        "SIZES",
        "Sizes of bets and raises; subgame endgame --help explains them.",
        BETS,
        **TREE,
    )
    add_line: list[str] | None = opt(
        None,
        "ACTIONS",
        "Add the actions of this line, such as 'c r50 r175', to the tree. Repeatable.",
        **TREE,
    )
    remove_line: list[str] | None = opt(
        None, "ACTIONS", "Remove the last action of this line from the tree. Repeatable.", **TREE
    )
    min_bet: str | None = opt(
        None, "CHIPS", "The smallest bet that is allowed: the big blind.", "1", **TREE
    )
    lock: list[str] | None = opt(
        None,
        "LOCK",
        "Fix frequencies at a decision: 'check, bet 50: KK = call 75%, fold 25%'. Repeatable; "
        "@FILE reads one per line.",
        **TREE,
    )

    def game(self, file: Path | None) -> Holdem:
        """The spot that the options or a file describe."""
        from subgame.games.holdem import libratus
        from subgame.games.holdem.spot_form import SpotForm

        if file is not None:
            return libratus.read(file, self._sizes())
        spot = self.filled()
        for key in ("board", "pot", "stack"):
            if getattr(spot, key) is None:
                raise SubgameError(
                    f"--{key} is missing. Give --board, --pot and --stack, or a file."
                )
        if spot.rake_cap is not None and spot.rake is None:
            raise SubgameError("--rake-cap needs --rake, the share that it limits.")
        oop, ip = (_text(text) for text in (spot.oop, spot.ip))
        form = SpotForm(
            spot.board or "",
            spot.pot or "",
            spot.stack or "",
            oop,
            ip,
            BETS if spot.bets is None else spot.bets,
            spot.add_line or (),
            spot.remove_line or (),
            min_bet=spot.min_bet or "1",
            dead=spot.dead or "",
            rake=spot.rake or "0",
            rake_cap=math.inf if spot.rake_cap is None else spot.rake_cap,
            deck=spot.cards,
            folded=[_text(text) for text in spot.folded or ()],
        )
        game = _with_options(form.game)
        hint = game.bets.hint(float(game.rules.pot))
        if hint is not None:
            _say(hint)
        return game

    @property
    def cards(self) -> Deck:
        """The deck that the options give."""
        from subgame.games.holdem.cards import DECK, deck_named

        return DECK if self.deck is None else deck_named(self.deck)

    def locks(self) -> tuple[Lock, ...]:
        """The locks that the options give."""
        if not self.lock:
            return ()
        from subgame.spots.locks import read_locks

        try:
            return tuple(read_locks(self.lock))
        except SubgameError as error:
            raise SubgameError(f"--lock: {error.sentence}") from None

    def filled(self) -> Self:
        """With what a file of another program says where no option is given."""
        if self.imported is None:
            return self
        from subgame.games.holdem.imports import read_file

        spot = read_file(self.imported)
        for sentence in spot.left_out:
            _say(sentence)
        names = {option.name for option in fields(self) if getattr(self, option.name) is None}
        filled: dict[str, Any] = {k: text for k, text in spot.said.items() if k in names}
        return replace(self, imported=None, **filled)

    def _sizes(self) -> BetSizes:
        """The sizes of a file that has none."""
        from subgame.games.holdem import BetSizes

        text = BETS if self.bets is None else self.bets
        clauses = [f"add {line}" for line in self.add_line or ()]
        clauses += [f"remove {line}" for line in self.remove_line or ()]
        try:
            return BetSizes.parse("; ".join([text, *clauses]), "postflop")
        except SubgameError as error:
            raise SubgameError(f"--bets: {error.sentence}") from None


def _text(text: str | None) -> str:
    """The text of a range, which may be in a file."""
    if text is not None and text.startswith("@"):
        return read_text(text[1:], "a range")
    return "random" if text is None else text


@lru_cache(maxsize=256)
def _say(sentence: str) -> None:
    """A sentence on stderr, once: a report makes the same spot for many flops."""
    announce(sentence)


OPTIONS = {"stacks.0": "--stack", "stacks.1": "--stack", "added": "--add-line"}
OPTIONS |= {"removed": "--remove-line"}
"""The options of fields of a `SpotForm` that have another name."""


def _with_options(read: Callable[[], T]) -> T:
    """What a spot's fields give; errors name the options."""
    try:
        return read()
    except FieldError as error:
        said = [
            f"{OPTIONS.get(name, '--' + name.replace('_', '-'))}: {sentence}"
            for name, sentence in error.fields.items()
        ]
        raise SubgameError(" ".join(dict.fromkeys(said))) from None

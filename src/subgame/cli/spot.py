"""The options of ``subgame endgame``: the spot, what is shown of it and what is saved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from subgame.cli.arguments import opt
from subgame.cli.common import (
    announce,
    check_apart,
    check_checkpoint,
    check_form,
    check_readable,
    check_saved,
)
from subgame.errors import FieldError, SubgameError, did_you_mean, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subgame.games.holdem.bets import BetSizes
    from subgame.games.holdem.cards import Deck
    from subgame.games.holdem.game import Holdem
    from subgame.solve.solver import Run
    from subgame.spots.endgame import Endgame
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
        from subgame.games.holdem.spots import SpotForm

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


TABLES = ("hands", "classes", "actions", "ghosts")
WITHOUT_RIVERS = "without-rivers"
KINDS = ("state", "strategy", "half", WITHOUT_RIVERS)


@dataclass(frozen=True)
class Looking:
    """What is shown."""

    PANEL: ClassVar[str] = "Output"
    line: str | None = opt(
        None,
        "ACTIONS",
        "Also show the decision after these actions and cards: r50, 'check, bet 50' or "
        "'c r50 c / 3c'.",
    )
    hand: str | None = opt(
        None,
        "HANDS",
        "Show EV, equity, EQR and the EV of each action for a hand (AhKh), a class (AKs) or a "
        "range, at the decision of --line.",
    )
    ghosts: bool = opt(
        False,
        None,
        "Also show the decisions that are hardly ever reached, on the street of --line, and "
        "what play loses there if the opponent makes a mistake.",
    )
    csv: str | None = opt(
        None,
        "TABLE",
        "Print a table as CSV instead: hands, classes or actions of the decision, or ghosts.",
    )
    json: bool = opt(False, None, "Print one JSON object instead of tables.")

    def check(self) -> None:
        """Refuse unknown tables and two forms at once, before any work is done."""
        if self.csv is not None and self.csv not in TABLES:
            raise did_you_mean("table", self.csv, TABLES)
        check_form(self.csv, self.json)

    def check_hand(self, deck: Deck) -> None:
        """Refuse hands that cannot be read, before anything is solved."""
        if self.hand is not None:
            from subgame.spots.decisions import check_hands

            check_hands(deck, self.hand)


@dataclass(frozen=True)
class Keeping:
    """What is saved."""

    PANEL: ClassVar[str] = "Files"
    out: Path | None = opt(
        None, "FILE", "Save the spot and its strategy; FILE ends in .safetensors."
    )
    save: str = opt(
        "state",
        "KIND",
        "What --out saves: state, which can be solved further; strategy, a third as large; half, "
        "the strategy in 16 bits; or without-rivers, far smaller, whose rivers are solved again "
        "where they are looked at.",
        True,
    )
    checkpoint: Path | None = opt(
        None,
        "FILE",
        "Save the state of the solver now and then, at the end and on Ctrl-C. A checkpoint in FILE "
        "is replaced, another file is not.",
    )
    resume: Path | None = opt(
        None, "FILE", "Continue from a file of --checkpoint or --out, as FILE alone does."
    )

    def check(self) -> None:
        """Refuse files that cannot be written or read."""
        check_saved("--out", self.out)
        check_saved("--checkpoint", self.checkpoint)
        check_checkpoint(self.checkpoint)
        check_readable("--resume", self.resume, "a file saved by --checkpoint or --out")
        if self.save not in KINDS:
            raise did_you_mean("kind of file", self.save, KINDS)
        check_apart(("--out", self.out), ("--checkpoint", self.checkpoint))

    def check_kind(self, game: Holdem, locks: Sequence[object]) -> None:
        """Refuse a spot that cannot be saved so, before it is solved."""
        if self.out is not None and self.save == WITHOUT_RIVERS:
            from subgame.refine.ranges.compact_spots import check_compact

            check_compact(game, locks)

    def writer(self, solved: Endgame, run: Run) -> Callable[[Path], None]:
        """What writes the file of --out."""
        if self.save == WITHOUT_RIVERS:
            from subgame.refine.ranges.compact_spots import save_compact

            return partial(save_compact, solved)
        state = run if self.save == "state" else None
        return partial(solved.save, run=state, half=self.save == "half")

"""The options of ``subgame endgame`` that say what is shown and what is saved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from subgame.cli.arguments import opt
from subgame.cli.checks import check_apart, check_checkpoint, check_readable, check_saved
from subgame.cli.common import check_form
from subgame.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from subgame.games.holdem.cards import Deck
    from subgame.games.holdem.game import Holdem
    from subgame.solve.solver import Run
    from subgame.spots.endgame import Endgame

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

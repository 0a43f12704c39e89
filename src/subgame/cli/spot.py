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
from subgame.errors import SubgameError, read_text

if TYPE_CHECKING:
    from subgame.games.holdem.chips import Chips
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
        import subgame as sg

        if file is not None:
            return sg.holdem.libratus.read(file, self._sizes())
        spot = self.filled()
        for key in ("board", "pot", "stack"):
            if getattr(spot, key) is None:
                raise SubgameError(
                    f"--{key} is missing. Give --board, --pot and --stack, or a file."
                )
        sizes = spot._sizes()
        ranges = [spot._range(seat) for seat in ("oop", "ip")]
        pot = _chips("pot", spot.pot or "")
        blind = _chips("min-bet", spot.min_bet or "1", least=True)
        cap = math.inf if spot.rake_cap is None else float(_chips("rake-cap", spot.rake_cap))
        if spot.rake_cap is not None and spot.rake is None:
            raise SubgameError("--rake-cap needs --rake, the share that it limits.")
        hint = sizes.hint(float(pot)) if pot > 0 else None
        if hint is not None:
            _say(hint)
        return sg.holdem.endgame(
            spot.board or "",
            pot,
            _stacks(spot.stack or ""),
            ranges,
            sizes,
            big_blind=blind,
            dead=spot.dead or "",
            rake=(_share(spot.rake or "0"), cap),
        )

    def locks(self) -> tuple[Lock, ...]:
        """The locks that the options give."""
        if not self.lock:
            return ()
        from subgame.spots.locks import read_locks

        return tuple(_read("--lock", read_locks, self.lock))

    def filled(self) -> Self:
        """With what a file of another program says where no option is given."""
        if self.imported is None:
            return self
        from subgame.games.holdem.imports import read_file

        found = read_file(self.imported)
        for sentence in found.left_out:
            _say(sentence)
        known = {each.name for each in fields(self)}
        given: dict[str, Any] = {k: v for k, v in found.said.items() if k in known}
        told = {k: v for k, v in given.items() if getattr(self, k) is None}
        return replace(self, imported=None, **told)

    def _sizes(self) -> Any:
        from subgame.games.holdem import BetSizes

        text = BETS if self.bets is None else self.bets
        _read("--bets", BetSizes.parse, text, "postflop")
        for name, verb in (("add_line", "add"), ("remove_line", "remove")):
            for line in getattr(self, name) or ():
                text += f"; {verb} {line}"
                _read(f"--{verb}-line", BetSizes.parse, f"{verb} {line}", "postflop")
        return BetSizes.parse(text, "postflop")

    def _range(self, seat: str) -> str:
        """The text of a range, which can be read."""
        from subgame.games.holdem import Range

        text = getattr(self, seat)
        if text is not None and text.startswith("@"):
            text = read_text(text[1:], "a range")
        text = "random" if text is None else text
        _read(f"--{seat}", Range.check, text)
        return str(text)


@lru_cache(maxsize=256)
def _say(sentence: str) -> None:
    """A sentence on stderr, once: a report makes the same spot for many flops."""
    announce(sentence)


def _read(option: str, parse: Callable[..., T], *text: Any) -> T:
    """The value of an option that has a grammar of its own; errors name the option."""
    try:
        return parse(*text)
    except SubgameError as error:
        raise SubgameError(f"{option}: {error.sentence}") from None


def _chips(name: str, text: str, wrong: str = "", *, least: bool = False) -> Chips:
    from subgame.games.holdem.chips import read_chips

    wrong = wrong or f"--{name} must be a number of chips such as 100 or 6.5, not '{text}'."
    try:
        found = read_chips(text.strip(), name)
    except SubgameError as error:
        if "at most" in str(error):
            raise SubgameError(f"--{name}{str(error).removeprefix(f'The {name}')}") from None
        found = -1
    if found < 0 or (least and not found):
        raise SubgameError(wrong)
    return found


def _stacks(text: str) -> tuple[Chips, Chips]:
    wrong = f"--stack must be chips such as 1000, or two numbers as in 1000/800, not '{text}'."
    found = [_chips("stack", part, wrong) for part in text.split("/")]
    if len(found) > 2:
        raise SubgameError(wrong)
    return found[0], found[-1]


def _share(text: str) -> float:
    from subgame.games.holdem.sizes import NUMBER, share

    if not NUMBER.fullmatch(text.strip().removesuffix("%").strip()):
        raise SubgameError(f"--rake must be a share of the pot such as 5%, not '{text}'.")
    found = share(text.strip().replace(" ", ""))
    if not found < 1:
        raise SubgameError(f"--rake must be below 100% of the pot, not '{text}'.")
    return found

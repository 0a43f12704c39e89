"""The published endgames of Libratus (github.com/Sandholm-Lab/LibratusEndgames).

A file has four lines, each a key and its value:

| key | value |
| --- | --- |
| ``-round`` | 2, 3 or 4: flop, turn or river |
| ``-board`` | the public cards in order, ``7s9h9cTc`` |
| ``-pot`` | all the chips in the pot, half from each player |
| ``-reach`` | each hand's probability of reaching the endgame by the blueprint, 2 x 1,326 numbers |

The reach is first that of the player out of position, then that of the button. Their hands are
2s2h, 2s2d, 2s2c, 2s3s, ..., AdAc: ranks upwards, suits in the order shdc. Only this module
converts them to our order.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from subgame.errors import SubgameError, read_text
from subgame.games.holdem.bets import BetSizes
from subgame.games.holdem.cards import DECK, RANKS
from subgame.games.holdem.game import BOARD_CARDS, Holdem
from subgame.games.holdem.spots import endgame
from subgame.lazy import np

if TYPE_CHECKING:
    import numpy.typing as npt

STACK = 20000
BIG_BLIND = 100
SUITS = "shdc"
KEYS = ("-round", "-board", "-pot", "-reach")
WANTED = "a Libratus endgame: a text file with the lines -round, -board, -pot and -reach"
ROUNDS = {2: "flop", 3: "turn", 4: "river"}


@lru_cache(maxsize=1)
def hands() -> npt.NDArray[np.int64]:
    """Our index of each hand in the order of the files: [hand]."""
    cards = DECK.parse("".join(rank + suit for rank in RANKS for suit in SUITS))
    return DECK.hand_index(*np.array(list(itertools.combinations(cards, 2))).T)


def read(path: str | PathLike[str], bets: BetSizes | str = "postflop: 0.5x 1x a") -> Holdem:
    """The endgame in a file, with these bet sizes; both players started with 20,000 chips."""
    lines = _lines(Path(path))
    pot = _whole(path, *lines["-pot"], low=2, high=2 * (STACK - BIG_BLIND))
    if pot % 2:
        raise _fault(path, lines["-pot"][0], f"the pot must be an even number of chips, not {pot}")
    street = _whole(path, *lines["-round"], low=min(ROUNDS), high=max(ROUNDS))
    number, text = lines["-board"]
    try:
        board = DECK.parse(text, counts=(BOARD_CARDS[street - 1],), what="board")
    except SubgameError as error:
        why = f"round {street} is the {ROUNDS[street]}: {error.sentence}"
        raise _fault(path, number, why) from error
    ranges = _reach(path, *lines["-reach"])
    return endgame(board, pot, STACK - pot // 2, list(ranges), bets, big_blind=BIG_BLIND)


def _lines(path: Path) -> dict[str, tuple[int, str]]:
    """Each key with its line number and value."""
    text = read_text(path, WANTED)
    result: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        key, _, value = line.strip().partition(" ")
        if key not in KEYS:
            shown = key if len(key) <= 20 else f"{key[:17]}..."
            raise _fault(path, number, f"'{shown}' is not one of {', '.join(KEYS)}")
        if key in result:
            raise _fault(path, number, f"{key} was already given on line {result[key][0]}")
        result[key] = number, value
    for key in KEYS:
        if key not in result:
            raise SubgameError(f"The endgame '{path}' has no line that starts with {key}.")
    return result


def _whole(path: str | PathLike[str], number: int, text: str, *, low: int, high: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        reason = f"a whole number from {low} to {high} is expected, not '{text}'"
        raise _fault(path, number, reason)
    return value


def _reach(path: str | PathLike[str], number: int, text: str) -> npt.NDArray[np.float64]:
    """The two players' weights in our order of hands: [player, hand]."""
    words = text.split()
    if len(words) != 2 * DECK.num_hands:
        reason = f"-reach has {len(words):,} numbers instead of {2 * DECK.num_hands:,}"
        raise _fault(path, number, reason)
    theirs = np.empty(len(words))
    for i, word in enumerate(words):
        try:
            theirs[i] = float(word)
        except ValueError:
            theirs[i] = np.nan
        if not 0 <= theirs[i] <= 1:
            reason = f"'{word}', number {i + 1:,} of -reach, is not a probability"
            raise _fault(path, number, reason)
    ours = np.empty((2, DECK.num_hands))
    ours[:, hands()] = theirs.reshape(2, -1)
    return ours


def _fault(path: str | PathLike[str], number: int, reason: str) -> SubgameError:
    return SubgameError(f"In the endgame '{path}', line {number}: {reason.rstrip('.')}.")

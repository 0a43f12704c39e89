"""Node locking: some hands play fixed frequencies at some decisions, and the rest is solved.

A lock is a decision (a line as in `subgame.spots.lines`) with frequencies for some hands or all. It
is part of a tree: every solve and every best response then keeps to it. What a best response of the
locked player wins is thus measured within the lock.

    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s", "KQ"), "river: 1x / raise none")
    >>> tree = sg.compile(game, merge="boards")
    >>> calls = locked(tree, [Lock.parse("bet 100: KQ = call 100%")])
    >>> [round(sg.solve(spot, iterations=200).value, 1) for spot in (tree, calls)]
    [40.0, 70.0]

The text of a lock is ``LINE: HANDS = ACTION SHARE, …; HANDS = …``. HANDS is written as a range. In
a line ``*`` stands for any card: ``c c / * r50`` is this decision on every turn. The line of the
first decision is empty or the word start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.errors import SubgameError
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.isomorphism import hand_permutations
from subgame.games.holdem.ranges import Range
from subgame.lazy import np
from subgame.spots.lines import Walk, follow_line, follow_to_decision, line_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from subgame.tree.ranges.probabilities import Locked
    from subgame.tree.ranges.tree import Merge, RangeTree

Frequencies = Mapping[str, Mapping[str, float]]
"""Hands, written as a range -> action -> probability."""

_SHARE = re.compile(r"(?P<percent>\d+(\.\d*)?|\.\d+)\s*%|(?P<share>0?\.\d+|[01](\.0*)?)")
_WILD = re.compile(r"\*")
START = "start"


@dataclass(frozen=True)
class Lock:
    """The frequencies of some hands at one decision.

    >>> lock = Lock("check, bet 50", {"KK+": {"call": 1.0}, "QJs": {"fold": 0.25, "call": 0.75}})
    >>> print(lock)
    check, bet 50: KK+ = call 100%; QJs = fold 25%, call 75%
    >>> Lock.parse(str(lock)) == lock
    True
    """

    line: str
    hands: Frequencies

    @classmethod
    def parse(cls, text: str) -> Lock:
        """A lock from its text; see the module."""
        line, colon, rest = text.partition(":")
        if not colon or "=" not in rest:
            raise _wrong(text, "it must be LINE: HANDS = ACTION SHARE, …")
        line = line.strip()
        hands = dict(_entry(text, entry) for entry in rest.split(";") if entry.strip())
        return cls("" if line.lower() == START else line, hands)

    def __str__(self) -> str:
        said = [
            f"{hands} = " + ", ".join(f"{action} {_percent(p)}" for action, p in mix.items())
            for hands, mix in self.hands.items()
        ]
        return f"{self.line or START}: {'; '.join(said)}"


def read_locks(texts: Iterable[str]) -> list[Lock]:
    """Locks from texts, each a lock or ``@FILE`` with a lock on each line."""
    from subgame.errors import read_text

    result: list[Lock] = []
    for text in texts:
        lines = read_text(text[1:], "a file of locks").splitlines() if text[:1] == "@" else [text]
        result += [Lock.parse(line) for line in lines if line.strip() and line.lstrip()[0] != "#"]
    return result


def _entry(text: str, entry: str) -> tuple[str, dict[str, float]]:
    """``KK = fold 25%, call 75%``."""
    hands, equals, actions = entry.partition("=")
    if not equals or not hands.strip() or not actions.strip():
        raise _wrong(text, f"'{entry.strip()}' must be HANDS = ACTION SHARE, …")
    mix: dict[str, float] = {}
    parts = [part.strip() for part in actions.split(",")]
    for part in parts:
        action, _, share = part.rpartition(" ")
        known = _SHARE.fullmatch(share)
        if not known or not action:
            if len(parts) > 1:
                raise _wrong(text, f"'{part}' must be an action and its share, such as call 75%")
            action, known = part, _SHARE.fullmatch("1")
        assert known is not None
        value = float(known["percent"]) / 100 if known["percent"] else float(known["share"])
        mix[action.strip()] = value
    return hands.strip(), mix


def _percent(share: float) -> str:
    return f"{100 * share:.12g}%"


def _wrong(text: str, reason: str) -> SubgameError:
    example = "'check, bet 50: KK = call 75%, fold 25%; 99-66 = fold 100%'"
    return SubgameError(f"The lock '{text}' cannot be read: {reason}. An example is {example}.")


# From locks to trees ---------------------------------------------------------------------------
class _Place(NamedTuple):
    """Where a lock holds, and what the hands do there."""

    walk: Walk
    fixed: tuple[tuple[int, int], ...]  # (place on the board, card) that the line names
    mixes: NDArray[np.float64]  # [hand, action]; nan: free


def merging(game: Holdem, locks: Iterable[Lock]) -> Merge:
    """What may be merged by suit symmetry: boards, or nothing where locks tell suits apart."""
    for lock in locks:
        place = _place(game, lock)
        orders = hand_permutations(game.deck)[game.symmetries]
        alike = [np.array_equal(place.mixes[o], place.mixes, equal_nan=True) for o in orders]
        if len(game.symmetries) > 1 and (place.fixed or not all(alike)):
            return False
    return "boards"


def locked(tree: RangeTree, locks: Iterable[Lock]) -> RangeTree:
    """The tree in which these locks hold, and those it has; later ones replace earlier ones."""
    locks = [*map(Lock.parse, tree.lock_texts), *locks]
    symmetric = len(tree.units[0].symmetries) > 1 and merging(tree.holdem, locks) is False
    if tree.merged or symmetric:
        raise SubgameError(
            f"Hands or boards of {tree.game_name} that differ only in suits are one, so that they "
            f"cannot be locked; compile it with merge={False if symmetric else 'boards'!r}."
        )
    placed: tuple[dict[int, NDArray[Any]], dict[int, NDArray[Any]]] = ({}, {})
    for lock in locks:
        place = _place(tree.holdem, lock)
        cells = list(_cells(tree, place))
        if not cells:
            raise SubgameError(
                f"The lock '{lock}' holds for no hand that the player can have there."
            )
        for first, probs in cells:
            placed[place.walk.betting.player][int(first[0])] = np.stack([first, probs])
    one, two = (_joined(by_cell) for by_cell in placed)
    texts = tuple(map(str, locks))
    return replace(tree, locks=(one, two), lock_texts=texts, engines={})


def locked_spot(
    game: Holdem, locks: Iterable[Lock], memory_limit: str | float | None = "8GiB"
) -> RangeTree:
    """A spot compiled with locks; what they do not tell apart is merged by suit symmetry."""
    from subgame.tree.compile import compile
    from subgame.tree.ranges.tree import range_tree

    locks = list(locks)
    tree = compile(game, memory_limit=memory_limit, merge=merging(game, locks))
    return locked(range_tree(tree), locks)


def _joined(by_cell: dict[int, NDArray[Any]]) -> Locked | None:
    from subgame.tree.ranges.probabilities import Locked

    if not by_cell:
        return None
    cells, probs = np.concatenate([by_cell[key] for key in sorted(by_cell)], axis=1)
    return Locked(cells.astype(np.int64), probs.astype(np.float32))


def _place(game: Holdem, lock: Lock) -> _Place:
    board, wild, line = game.board, list[int](), lock.line
    while "*" in line:  # any card will do: the betting does not depend on it
        walk = follow_line(game, line.partition("*")[0])
        card = next(c for c in range(game.deck.size) if c not in (*walk.board, *game.dead))
        wild.append(len(walk.board))
        line = _WILD.sub(game.deck.card_name(card), line, count=1)
    walk = follow_to_decision(game, line)
    fixed = [(k, walk.board[k]) for k in range(len(board), len(walk.board)) if k not in wild]
    actions = game.actions(walk.betting)
    mixes = np.full((game.deck.num_hands, len(actions)), np.nan)
    for hands, mix in lock.hands.items():
        row = np.zeros(len(actions))
        for action, p in mix.items():
            row[actions.index(_action(game, walk, action))] += p
        if not (min(mix.values(), default=-1.0) >= 0 and abs(row.sum() - 1) < 1e-6):
            raise SubgameError(
                f"In the lock '{lock}' the shares of {hands} must be from 0 to 1 and add up to 1, "
                f"not to {row.sum():g}."
            )
        mixes[Range.parse(hands, game.deck).weights > 0] = row / row.sum()
    return _Place(walk, tuple(fixed), mixes)


def _action(game: Holdem, walk: Walk, text: str) -> str:
    """The action of the tree that a lock names; bet and raise alone name the only one."""
    bets = [action for action in game.actions(walk.betting) if action[0] == "r"]
    if text.strip().lower() in ("bet", "raise") and len(bets) == 1:
        return bets[0]
    followed = follow_line(game, f"{line_text(game, walk, short=True)} {text}")
    if len(followed.steps) != len(walk.steps) + 1:
        raise SubgameError(f"'{text}' is not an action, so it cannot be locked.")
    return followed.steps[-1].action


def _cells(tree: RangeTree, place: _Place) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The sequences of each hand that is locked, and their probabilities."""
    betting = place.walk.betting
    p, s = betting.player, betting.street - tree.holdem.start().street
    j = [state.history for state in tree.streets[s].states[p]].index(betting.history)
    for u in range(tree.units.first[s], tree.units.first[s + 1]):
        board = tree.units[u]
        if any(board.cards[k] != card for k, card in place.fixed):
            continue
        mixes = place.mixes[board.held(p)[0]]
        cells = tree.players[p].cells(u, j)
        for h in np.flatnonzero(~np.isnan(mixes[:, 0])).tolist():
            yield cells[h], mixes[h]

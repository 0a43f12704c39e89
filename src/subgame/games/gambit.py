r"""Reader and writer of Gambit's extensive-form files (`.efg`, version ``EFG 2 R``).

The format is the one Gambit documents under "The extensive game (.efg) file format"
(McKelvey, McLennan and Turocy, "Gambit: Software Tools for Game Theory"); this module was
written from that description. A prologue is followed by the nodes in prefix order.

The reader accepts more than the description, because published files need it. Names of infosets and
outcomes may be missing. Lists may contain commas. Labels may be empty or repeat (a number is added
to them). The sum of decimal probabilities may differ from one by their rounding.

    >>> game = loads('EFG 2 R "Pick" { "A" "B" } p "" 1 1 "x" { "l" "r" } 0 '
    ...              't "" 1 "win" { 1, -1 } t "" 0')
    >>> root = game.new_initial_state()
    >>> root.information_state(0), root.child("l").returns()
    ('x', (1.0, -1.0))
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, cast

from subgame.errors import SubgameError, check_regular, did_you_mean, unreadable
from subgame.games.actions import distinct
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.efg_scanner import Scanner, wrong


@dataclass(slots=True, eq=False)
class _Infoset:
    """An infoset, or an event of chance (player `CHANCE`), as its first node declares it."""

    player: int
    number: int
    label: str
    labels: tuple[str, ...]  # as written, to compare with a later declaration
    probabilities: tuple[Fraction, ...]
    actions: tuple[str, ...] = ()
    outcomes: tuple[tuple[str, float], ...] = ()
    name: str = ""  # given when all labels are known

    def __post_init__(self) -> None:
        numbers = [f"#{number}" for number in range(1, len(self.labels) + 1)]
        self.actions = distinct(self.labels, numbers)
        # Six-decimal files write thirds as 0.333333: what they mean sums to one.
        total = sum(self.probabilities, Fraction(0))
        floats = [float(probability / total) for probability in self.probabilities]
        self.outcomes = tuple(zip(self.actions, floats, strict=False))


@dataclass(slots=True, eq=False, repr=False)
class GambitState(State):
    """A node of the file's tree; `label` is the name that the file gives it.

    >>> import subgame as sg
    >>> state = loads(dumps(sg.games.load("coin-toss"))).new_initial_state()
    >>> state.child(state.chance_outcomes()[0][0]).legal_actions()
    ('Sell', 'Play')
    """

    label: str
    _infoset: _Infoset | None
    _paid: tuple[Fraction, ...]
    _children: list[Self] = field(default_factory=list)

    def current_player(self) -> int:
        return TERMINAL if self._infoset is None else self._infoset.player

    def legal_actions(self) -> tuple[str, ...]:
        return () if self._infoset is None else self._infoset.actions

    def chance_outcomes(self) -> tuple[tuple[str, float], ...]:
        return () if self._infoset is None else self._infoset.outcomes

    def child(self, action: str) -> Self:
        try:
            return self._children[self.legal_actions().index(action)]
        except ValueError:
            raise did_you_mean("action", action, self.legal_actions()) from None

    def returns(self) -> tuple[float, float]:
        """The sum of the outcomes on the path, one number for each player of the file."""
        return cast("tuple[float, float]", tuple(float(amount) for amount in self._paid))

    def information_state(self, player: int) -> str | None:
        infoset = self._infoset
        return infoset.name if infoset is not None and infoset.player == player else None


@dataclass(eq=False, repr=False)
class GambitGame(Game):
    """A game read from a file, with the `title`, `players` and `comment` of its prologue.

    >>> import subgame as sg
    >>> game = loads(dumps(sg.games.load("coin-toss")))
    >>> game.title, game.players
    ('coin-toss', ('Player 1', 'Player 2'))
    """

    title: str
    players: tuple[str, ...]
    comment: str
    _root: GambitState
    name: str = ""
    path: str = ""  # of the file that it was loaded from

    def __post_init__(self) -> None:
        self.num_players = len(self.players)

    def __str__(self) -> str:  # what `subgame.games.load` loads again, if it comes from a file
        return self.path or self.name

    def new_initial_state(self) -> GambitState:
        return self._root

    def __getstate__(self) -> dict[str, object]:
        """The fields, with the nodes in prefix order: a tree may be deeper than pickle recurses."""
        nodes, stack = [], [self._root]
        while stack:
            node = stack.pop()
            nodes.append((node.label, node._infoset, node._paid))
            stack += reversed(node._children)
        return {**self.__dict__, "_root": nodes}

    def __setstate__(self, fields: dict[str, Any]) -> None:
        nodes = iter(fields["_root"])
        self.__dict__.update(fields, _root=_linked(lambda _: GambitState(*next(nodes))))


def _linked(make: Callable[[GambitState | None], GambitState]) -> GambitState:
    """A tree from its nodes in prefix order; `make` makes the next node below a given one.

    A loop, because recursion limits the depth.
    """
    root = make(None)
    path = [root]  # the nodes that still lack children, each below the one before
    while path:
        node = path[-1]
        if len(node._children) == len(node.legal_actions()):
            path.pop()
            continue
        child = make(node)
        node._children.append(child)
        path.append(child)
    return root


def load(path: str | os.PathLike[str]) -> GambitGame:
    """The game in a file; it is named after the file.

    >>> import tempfile
    >>> import subgame as sg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "mine.efg")
    ...     _ = file.write_text(dumps(sg.games.load("rps")))
    ...     load(file).name
    'mine.efg'
    """
    path = Path(path)
    check_regular(path, "a Gambit file (.efg)")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error, "a Gambit file (.efg)") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, plain = f"the byte 0x{error.object[error.start]:02x}", error.object.decode("latin-1")
        raise wrong(path.name, plain, error.start, "UTF-8 text", byte) from None
    game = loads(text, name=path.name)
    game.path = str(path)
    return game


def loads(text: str, name: str = "") -> GambitGame:
    """The game in a text. `name` is the game's name, also in error messages.

    >>> import subgame as sg
    >>> game = loads(dumps(sg.games.load("kuhn")), "my-kuhn")
    >>> game.name, round(sg.solve_lp(sg.compile(game)).value, 3)
    ('my-kuhn', -0.056)
    """
    reader = _Reader(text, name or "efg text")
    title, players, comment = reader.prologue()
    return GambitGame(title, players, comment, reader.tree(), name or title or "efg")


def dumps(game: Game) -> str:
    """The game as a file's text, which `loads` reads back to the same game.

    The infosets are labelled with their `information_state`. All numbers are written as
    rationals, so payoffs come back to the last bit, and every node restates its lists, since
    not all programs accept that they are left out.

    >>> import subgame as sg
    >>> text = dumps(sg.games.load("coin-toss"))
    >>> text[:5]
    'EFG 2'
    >>> round(sg.solve_lp(sg.compile(loads(text))).value, 3)
    0.0
    """
    title, comment = str(game), ""
    players: Sequence[str] = [f"Player {seat + 1}" for seat in range(game.num_players)]
    if isinstance(game, GambitGame):
        title, players, comment = game.title, game.players, game.comment
    lines = [f"EFG 2 R {_quote(title)} {_list(map(_quote, players))}", _quote(comment), ""]
    writer = _NodeWriter()
    stack: list[State] = [game.new_initial_state()]
    while stack:
        state = stack.pop()
        line, actions = writer.node(state)
        lines.append(line)
        stack.extend(state.child(action) for action in reversed(actions))
    return "\n".join(lines) + "\n"


# -- reading ---------------------------------------------------------------------------------


class _Reader(Scanner):
    """Builds the nodes; keeps the infosets and outcomes declared so far."""

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self._nothing: tuple[Fraction, ...] = ()  # what each player is paid at first
        self._infosets: dict[tuple[int, int], _Infoset] = {}
        self._outcomes: dict[int, tuple[Fraction, ...]] = {}

    def prologue(self) -> tuple[str, tuple[str, ...], str]:
        """Title, players and comment."""
        # Early files held either decimals (D) or rationals (R).
        for accepted in (["EFG"], ["2"], ["R", "D"]):
            if self.token.kind != "word" or self.token.text not in accepted:
                raise self.expected("'EFG 2 R', with which Gambit's extensive games begin")
            self.next()
        title = self.quoted("the title in quotes")
        tokens = self.braces("the players' names in braces")
        for token in tokens:
            if token.kind != "quoted":
                raise self.expected("a player's name in quotes", token)
        if not tokens:
            raise self.expected("at least one player's name before this")
        self._nothing = (Fraction(0),) * len(tokens)
        return title, tuple(token.text for token in tokens), self.optional()

    def tree(self) -> GambitState:
        """The root of the whole tree, whose infosets are named.

        Infosets are named by their labels; repeated labels get Gambit's (player,number).
        """
        root = _linked(lambda above: self._node(above._paid if above else self._nothing))
        if self.token.kind != "end":
            raise self.expected("the end of the file after the last node of the tree")
        infosets = [infoset for infoset in self._infosets.values() if infoset.player != CHANCE]
        labels = [infoset.label for infoset in infosets]
        numbers = [f"({infoset.player + 1},{infoset.number})" for infoset in infosets]
        for infoset, name in zip(infosets, distinct(labels, numbers), strict=True):
            infoset.name = name
        return root

    def _node(self, paid: tuple[Fraction, ...]) -> GambitState:
        if self.token.kind != "word" or self.token.text not in ("c", "p", "t"):
            raise self.expected("a node (c, p or t), as the tree is not complete")
        kind = self.next().text
        label = self.quoted("the node's name in quotes")
        infoset = None
        if kind == "c":
            infoset = self._infoset(CHANCE)
        elif kind == "p":
            token = self.token
            player = self.integer("a player's number") - 1
            if not 0 <= player < len(self._nothing):
                raise self.expected(f"a player's number from 1 to {len(self._nothing)}", token)
            infoset = self._infoset(player)
        outcome = self._outcome()
        if outcome is not self._nothing:
            # Payoffs add up along the path; sharing the tuple saves most of the memory.
            first = paid is self._nothing
            paid = outcome if first else tuple(a + b for a, b in zip(paid, outcome, strict=True))
        return GambitState(label, infoset, paid)

    def _infoset(self, player: int) -> _Infoset:
        what = "event" if player == CHANCE else f"player {player + 1}'s infoset"
        number = self.integer(f"the number of {what}")
        label = self.optional()
        known = self._infosets.get((player, number))
        if known is None or self.is_mark("{"):
            start = self.token.start
            pairs = self._actions(player, f"{what} {number}")
            if known is None:
                known = self._infosets[player, number] = _Infoset(player, number, label, *pairs)
            elif (known.labels, known.probabilities) != pairs:
                before = _shown(known.labels, known.probabilities)
                again = f"{what} {number} with the same actions as before ({before})"
                raise self.wrong(start, again, _shown(*pairs))
        known.label = known.label or label
        return known

    def _actions(self, player: int, what: str) -> tuple[tuple[str, ...], tuple[Fraction, ...]]:
        start = self.token.start
        tokens = self.braces(f"the actions of {what} in braces, as it is new")
        # The i-th name goes with the i-th probability, whichever of the two is written first.
        labels = tuple(token.text for token in tokens if token.kind == "quoted")
        numbers = [token for token in tokens if token.kind != "quoted"]
        if not labels:
            raise self.wrong(start, f"at least one action of {what}", "none")
        if player != CHANCE:
            if numbers:
                raise self.expected("an action's name in quotes", numbers[0])
            return labels, ()
        chances = tuple(self.number(token, "a probability") for token in numbers)
        if len(chances) != len(labels):
            wanted = f"a probability for each of the {len(labels)} actions of {what}"
            raise self.wrong(start, wanted, len(chances))
        if min(chances) < 0 or abs(float(sum(chances)) - 1) > 1e-6 * len(labels):
            legal = f"probabilities of {what} that are not negative and sum to 1"
            raise self.wrong(start, legal, _shown(chances))
        return labels, chances

    def _outcome(self) -> tuple[Fraction, ...]:
        number = self.integer("the number of the outcome")
        self.optional()  # its name
        known = self._nothing if number == 0 else self._outcomes.get(number)
        if known is not None and not self.is_mark("{"):
            return known
        start = self.token.start
        tokens = self.braces(f"a payoff list in braces after outcome {number}, as it is new")
        payoffs = tuple(self.number(token, "a payoff") for token in tokens)
        if len(payoffs) != len(self._nothing):
            raise self.wrong(
                start, f"{len(self._nothing)} payoffs of outcome {number}", len(payoffs)
            )
        if known is None:
            known = self._outcomes[number] = payoffs
        elif known != payoffs:
            before = f"the payoffs of outcome {number} as before ({_shown(known)})"
            if number == 0:
                before = "no payoffs of outcome 0, which pays nothing"
            raise self.wrong(start, before, _shown(payoffs))
        return known


def _shown(items: Sequence[object], numbers: Sequence[Fraction] = ()) -> str:
    pairs = [f"{a} {b}" for a, b in zip(items, numbers, strict=True)] if numbers else items
    return ", ".join(map(str, pairs))


# -- writing ---------------------------------------------------------------------------------


class _NodeWriter:
    """Writes the lines of nodes; infosets and outcomes are numbered as they appear."""

    def __init__(self) -> None:
        self._events = 0
        self._infosets: dict[int, dict[str, tuple[int, tuple[str, ...]]]] = defaultdict(dict)
        self._outcomes: dict[tuple[float, ...], int] = {}

    def node(self, state: State) -> tuple[str, Sequence[str]]:
        """The node's line and the actions that lead to its children."""
        player = state.current_player()
        if player == TERMINAL:
            return f't "" {self._outcome(state.returns())}', ()
        if player == CHANCE:
            outcomes = state.chance_outcomes()
            self._events += 1
            chances = _probabilities([probability for _, probability in outcomes])
            items = [f"{_quote(o)} {p}" for (o, _), p in zip(outcomes, chances, strict=True)]
            return f'c "" {self._events} "" {_list(items)} 0', [action for action, _ in outcomes]
        actions = tuple(state.legal_actions())
        label = state.information_state(player)
        if label is None:
            raise SubgameError(
                f"The game does not say what player {player + 1} knows where that player acts."
            )
        known = self._infosets[player]
        number, before = known.setdefault(label, (len(known) + 1, actions))
        if before != actions:
            raise SubgameError(
                f"The infoset '{label}' of player {player + 1} offers {', '.join(before)} in one "
                f"history and {', '.join(actions)} in another."
            )
        listed = _list(map(_quote, actions))
        return f'p "" {player + 1} {number} {_quote(label)} {listed} 0', actions

    def _outcome(self, payoffs: tuple[float, ...]) -> str:
        if not any(payoffs):
            return "0"
        number = self._outcomes.setdefault(payoffs, len(self._outcomes) + 1)
        amounts = ", ".join(str(_rational(payoff)) for payoff in payoffs)
        return f'{number} "Outcome {number}" {{ {amounts} }}'


def _list(items: Sequence[str] | map[str]) -> str:
    return f"{{ {' '.join(items)} }}"


def _quote(label: str) -> str:
    escaped = label.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=4096)
def _rational(number: float) -> Fraction:
    """The simplest rational we find that is the same float: 1/3 rather than 0.333...

    >>> str(_rational(1 / 3)), str(_rational(-2.0))
    ('1/3', '-2')
    """
    try:
        exact = Fraction(number)
    except (ValueError, OverflowError):
        raise SubgameError(f"A Gambit file cannot contain the number {number}.") from None
    simple = exact.limit_denominator(10**6)
    return simple if float(simple) == number else exact


def _probabilities(numbers: Sequence[float]) -> list[Fraction]:
    """Rationals that sum to exactly one, as Gambit requires."""
    exact = [_rational(number) for number in numbers]
    short = 1 - sum(exact, Fraction(0))
    if not exact or abs(short) > 1e-9:
        raise SubgameError(f"The chance probabilities {list(numbers)} do not sum to 1.")
    if short:  # by the rounding of floats: the largest moves by its last bit at most
        largest = max(range(len(exact)), key=exact.__getitem__)
        exact[largest] += short
    return exact

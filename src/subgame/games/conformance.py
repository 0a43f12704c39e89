"""Checks that a game keeps the rules of `Game` and `State`, for the tests of its authors.

    >>> import subgame.games
    >>> from subgame.games import conformance
    >>> print(conformance.check(subgame.games.load("kuhn")))
    kuhn: 58 histories (30 terminal), 6 + 6 infosets, 9 public states, depth 5

The whole game is walked twice in lockstep. The first rule that is broken raises an error, which
names the infoset and the histories in question. A history is written as its actions, joined by
spaces.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, Game, State

TOLERANCE = 1e-9
PLAYERS = (0, 1)


@dataclass(frozen=True)
class Report:
    """What a conforming game consists of."""

    game: str
    histories: int
    terminals: int
    infosets: tuple[int, int]
    public_states: int | None
    depth: int

    def __str__(self) -> str:
        public = "derived" if self.public_states is None else self.public_states
        return (
            f"{self.game}: {self.histories} histories ({self.terminals} terminal), "
            f"{self.infosets[0]} + {self.infosets[1]} infosets, {public} public states, "
            f"depth {self.depth}"
        )


def check(game: Game, *, max_histories: int = 300_000) -> Report:
    """Walk the whole game; raise `SubgameError` at the first rule it breaks.

    >>> from subgame.games import load
    >>> report = check(load("kuhn"))
    >>> report.histories
    58
    """
    if game.num_players != 2:
        raise SubgameError(f"The game '{game}' has {game.num_players} players; it must have two.")
    suite = _Suite()
    stack = [suite.node(game.new_initial_state(), game.new_initial_state())]
    while stack:
        if suite.histories >= max_histories:
            raise SubgameError(
                f"The game '{game}' has more than {max_histories} histories; check a smaller "
                f"version of it or raise max_histories."
            )
        node = stack.pop()
        suite.visit(node)
        # Reversed, so that the first sibling is walked first and named first.
        stack.extend(reversed(list(suite.children(node))))
    suite.check_blueprints(game)
    arrays = game.arrays()
    if arrays is not None:
        from subgame.games.array_checks import check_arrays

        check_arrays(game, arrays)
    owners = [node.view.player for node in suite.acting.values()]
    public = len(suite.public) if suite.silent is None else None
    infosets = (owners.count(0), owners.count(1))
    return Report(str(game), suite.histories, suite.terminals, infosets, public, suite.depth)


class View(NamedTuple):
    """Everything a state returns; two views of one history must be equal."""

    player: int
    public: str | None
    known: tuple[str | None, str | None]
    choices: tuple[Any, ...]
    probabilities: tuple[float, ...]
    returns: tuple[float, ...]


class _Memory(NamedTuple):
    """The last thing a player saw or did, after those before it. Equal memories are one object."""

    before: _Memory | None = None
    event: str = ""

    def events(self) -> list[str]:
        """All that is remembered, in order."""
        events, at = [], self
        while at.before is not None:
            events.append(at.event)
            at = at.before
        return events[::-1]


NOTHING = _Memory()


class _Node(NamedTuple):
    state: State
    twin: State
    view: View
    path: tuple[str, ...] = ()
    memories: tuple[_Memory, ...] = (NOTHING, NOTHING)  # [player]

    def __str__(self) -> str:
        return f"'{' '.join(map(str, self.path))}'" if self.path else "the start"


def view_of(state: State) -> View:
    player, public = state.current_player(), state.public_state()
    if player == TERMINAL:  # what players know then has no effect, so it is not compared
        return View(player, public, (None, None), (), (), _numbers(state.returns()))
    known = state.information_state(0), state.information_state(1)
    if player != CHANCE:
        return View(player, public, known, tuple(state.legal_actions()), (), ())
    outcomes = tuple(state.chance_outcomes())
    choices, chances = tuple(item for item, _ in outcomes), _numbers(item for _, item in outcomes)
    return View(player, public, known, choices, chances, ())


def _numbers(values: Iterable[float]) -> tuple[float, ...]:
    """One object for every nan, so that a view equals itself and the nan gets reported."""
    return tuple(math.nan if value != value else value for value in values)


@dataclass(slots=True)
class _Suite:
    histories: int = 0
    terminals: int = 0
    depth: int = 0
    known: tuple[dict[str, _Node], dict[str, _Node]] = field(default_factory=lambda: ({}, {}))
    acting: dict[str, _Node] = field(default_factory=dict)
    public: dict[str, _Node] = field(default_factory=dict)
    silent: _Node | None = None
    memories: dict[tuple[int, str], _Memory] = field(default_factory=dict)

    def node(self, state: State, twin: State, parent: _Node | None = None, *path: str) -> _Node:
        """The history of two states that were reached in the same way."""
        node = _Node(state, twin, view_of(state), path)
        memories = (self._memory(player, node, parent) for player in PLAYERS)
        if view_of(twin) != node.view:
            raise SubgameError(
                f"The game is not deterministic: two walks to {node} differ in "
                f"{difference(node.view, view_of(twin))}."
            )
        return node._replace(memories=tuple(memories))

    def _memory(self, player: int, node: _Node, parent: _Node | None) -> _Memory:
        """What a player remembers at a history, after what was remembered at its parent."""
        memory, known = NOTHING if parent is None else parent.memories[player], node.view.known
        events = [f"doing '{node.path[-1]}'"] if parent and parent.view.player == player else []
        events += [] if known[player] is None else [f"seeing '{known[player]}'"]
        for event in events:
            if event != memory.event:
                new = _Memory(memory, event)
                memory = self.memories.setdefault((id(memory), event), new)
        return memory

    def visit(self, node: _Node) -> None:
        """Every check of one history."""
        self.histories += 1
        self.depth = max(self.depth, len(node.path))
        self._check_unchanged(node, "the walk of its siblings")
        self._check_public(node)
        view = node.view
        if view.player == TERMINAL:
            self.terminals += 1
            _check_returns(node)
            return
        if view.player not in (CHANCE, *PLAYERS):
            raise SubgameError(
                f"At {node} the acting player is {view.player!r}; it must be 0, 1, "
                f"CHANCE ({CHANCE}) or TERMINAL ({TERMINAL})."
            )
        _check_choices(node)
        for player in PLAYERS:
            self._check_known(node, player)
        if view.player != CHANCE:
            self._check_infoset(node)

    def children(self, node: _Node) -> Iterator[_Node]:
        for action in node.view.choices:
            child, twin = node.state.child(action), node.twin.child(action)
            self._check_unchanged(node, f"child('{action}')")
            yield self.node(child, twin, node, *node.path, action)

    def _check_unchanged(self, node: _Node, after: str) -> None:
        now = view_of(node.state)
        if now != node.view:
            raise SubgameError(
                f"The state at {node} changed its {difference(node.view, now)} after {after}; "
                f"child() must return a new state and leave the old one as it is."
            )

    def _check_public(self, node: _Node) -> None:
        public = node.view.public
        if public is None:
            self.silent = self.silent or node
        elif isinstance(public, str):
            self.public.setdefault(public, node)
        else:
            raise SubgameError(f"The public state at {node} is {public!r}; it must be a string.")
        if self.silent is not None and self.public:
            spoken = next(iter(self.public.values()))
            raise SubgameError(
                f"The public state is None at {self.silent} but not at {spoken}; a game must "
                f"define it at every state or at none."
            )

    def _check_known(self, node: _Node, player: int) -> None:
        """What a player knows is a string that determines their past and the public state."""
        known = node.view.known[player]
        acts = node.view.player == player
        if not (isinstance(known, str) or (known is None and not acts)):
            raise SubgameError(
                f"The information state of player {player} at {node} is {known!r}; it must be a "
                f"string{' where the player acts' if acts else ' or None'}."
            )
        if known is None:
            return
        first = self.known[player].setdefault(known, node)
        mine, other = node.memories[player], first.memories[player]
        if mine is not other:
            pairs = zip_longest(other.events(), mine.events(), fillvalue="nothing more")
            here, there = next((a, b) for a, b in pairs if a != b)
            raise SubgameError(
                f"Player {player} does not have perfect recall in infoset '{known}': after "
                f"{first} the player would remember {here}, after {node} {there}."
            )
        if node.view.public != first.view.public:
            raise SubgameError(
                f"Infoset '{known}' of player {player} crosses public states: it is "
                f"'{first.view.public}' after {first} and '{node.view.public}' after {node}."
            )

    def _check_infoset(self, node: _Node) -> None:
        player = node.view.player
        known = node.view.known[player]
        assert known is not None  # _check_known made sure of this
        first = self.acting.setdefault(known, node)
        if first.view.player != player:
            raise SubgameError(
                f"Infoset '{known}' belongs to both players: player {first.view.player} acts "
                f"there after {first}, player {player} after {node}."
            )
        if first.view.choices != node.view.choices:
            raise SubgameError(
                f"Infoset '{known}' of player {player} has different actions: "
                f"{_listed(first.view.choices)} after {first}, "
                f"{_listed(node.view.choices)} after {node}."
            )

    def check_blueprints(self, game: Game) -> None:
        """A blueprint gives every infoset a distribution over its actions."""
        for name, strategy in game.blueprints().items():
            for known, node in self.acting.items():
                row = strategy.get(known, {})
                total = math.fsum(row.values()) if min(row.values(), default=-1) >= 0 else 0
                if {*row} != {*node.view.choices} or abs(total - 1) > TOLERANCE:
                    raise SubgameError(
                        f"The blueprint '{name}' gives no probability distribution over "
                        f"{_listed(node.view.choices)} in infoset '{known}' (after {node})."
                    )
            for known in strategy.keys() - self.acting.keys():
                raise SubgameError(
                    f"The blueprint '{name}' has an infoset '{known}' that the game does not have."
                )


def _check_choices(node: _Node) -> None:
    """There is something to do, its names differ, and chance does it with probability one."""
    choices, probabilities = node.view.choices, node.view.probabilities
    what = "chance outcome" if node.view.player == CHANCE else "legal action"
    if not choices:
        raise SubgameError(f"There is no {what} at {node}, though the game is not over there.")
    for choice in choices:
        if not isinstance(choice, str):
            raise SubgameError(f"The {what} {choice!r} at {node} is not a string.")
        if choices.count(choice) > 1:
            raise SubgameError(f"The {what} '{choice}' occurs twice at {node}.")
    for choice, probability in zip(choices, probabilities, strict=False):
        if not probability >= 0:  # so that nan fails too
            raise SubgameError(
                f"The chance outcome '{choice}' at {node} has probability {probability}, which "
                f"is negative or not a number."
            )
    if node.view.player == CHANCE and not abs(math.fsum(probabilities) - 1) <= TOLERANCE:
        raise SubgameError(
            f"The chance probabilities at {node} sum to {math.fsum(probabilities)}, not to 1."
        )


def _check_returns(node: _Node) -> None:
    returns = node.view.returns
    if len(returns) != 2 or not all(math.isfinite(value) for value in returns):
        raise SubgameError(f"The returns at {node} are {returns}; they must be two finite numbers.")
    if abs(sum(returns)) > TOLERANCE * max(1.0, abs(returns[0])):
        raise SubgameError(
            f"The game is not zero-sum: the returns at {node} are {returns}, which sum to "
            f"{sum(returns)}."
        )


def _listed(choices: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(str, choices))}]"


def difference(one: View, other: View) -> str:
    """The first field in which two views differ, in words."""
    words = ("acting player", "public state", "information states", "actions", "chance", "returns")
    pairs = zip(words, one, other, strict=True)
    return next(f"{word} ({a!r} and {b!r})" for word, a, b in pairs if a != b)

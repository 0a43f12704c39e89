"""One tiny broken game per rule; each error names what is at fault."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import pytest

from subgame.errors import SubgameError
from subgame.games import CHANCE, TERMINAL, Game, State, load
from subgame.games.conformance import Report, check
from toy_game import History, ToyState
from toy_game import Rules as ToyRules


@dataclass(frozen=True)
class Rules(ToyRules):
    """The toy game with its public states named, in which player 1 knows only the action."""

    known: Callable[[History, int], Any] = lambda h, i: f"P{i} {' '.join(h if i == 0 else h[1:2])}"
    public: Callable[[History], Any] = lambda h: " ".join(h[1:2])
    blueprints: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)


class Tiny(Game):
    name = "tiny"

    def __init__(self, state: type[State] = ToyState, **broken: Any) -> None:
        self.rules = Rules(**broken)
        self.state: Any = state
        self.num_players = self.rules.players

    def new_initial_state(self) -> State:
        state: State = self.state(self.rules)
        return state

    def blueprints(self) -> dict[str, dict[str, dict[str, float]]]:
        return self.rules.blueprints


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "three players": ({"players": 3}, r"'tiny' has 3 players; it must have two"),
    "unknown player": (
        {"player": lambda h: (CHANCE, 0, 7, TERMINAL)[len(h)]},
        r"At 'x l' the acting player is 7; it must be 0, 1, CHANCE",
    ),
    "forgets a card": (
        {
            "player": lambda h: (CHANCE, 0, 0, TERMINAL)[len(h)],
            "known": lambda h, i: f"P{i} {' '.join(h[1:] if len(h) == 2 else h)}",
        },
        r"Player 0 does not have perfect recall in infoset 'P0 l': after 'x l' the player would "
        r"remember seeing 'P0 x', after 'y l' seeing 'P0 y'",
    ),
    "forgets an action": (
        {
            "player": lambda h: (CHANCE, 0, 0, TERMINAL)[len(h)],
            "known": lambda h, i: f"P{i} {h[:1]} {len(h)}",
            "public": lambda h: str(len(h)),
        },
        r"Player 0 does not have perfect recall in infoset .*: after 'x l' the player would "
        r"remember doing 'l', after 'x r' doing 'r'",
    ),
    "forgets having acted": (
        {
            "player": lambda h: (CHANCE, 0, 0, TERMINAL)[len(h)],
            "known": lambda h, i: f"P{i} {' '.join(h[:1])}",
            "public": lambda h: "",
        },
        r"perfect recall in infoset 'P0 x': after 'x' the player would remember nothing more, "
        r"after 'x l' doing 'l'",
    ),
    "forgets what was seen while waiting": (
        {
            "known": lambda h, i: (
                f"P1 then {h[1]}" if (len(h), i) == (2, 1) else f"P{i} {' '.join(h)}"
            ),
            "public": lambda h: "" if len(h) < 2 else f"{h[1:2]}",
        },
        r"Player 1 does not have perfect recall in infoset 'P1 then l': after 'x l' the player "
        r"would remember seeing 'P1 x', after 'y l' seeing 'P1 y'",
    ),
    "actions differ in an infoset": (
        {"actions": lambda h: ("l", "r") if h[0] == "x" or len(h) < 2 else ("l", "m", "r")},
        r"Infoset 'P1 l' of player 1 has different actions: \[l, r\] after 'x l', "
        r"\[l, m, r\] after 'y l'",
    ),
    "order of actions differs in an infoset": (
        {"actions": lambda h: ("l", "r") if h[0] == "x" or len(h) < 2 else ("r", "l")},
        r"Infoset 'P1 l' of player 1 has different actions: \[l, r\] after 'x l', "
        r"\[r, l\] after 'y l'",
    ),
    "an infoset of both players": (
        {
            "known": lambda h, i: "I" if h and len(h) == i + 1 else None,
            "public": lambda h: None,
        },
        r"Infoset 'I' belongs to both players: player 0 acts there after 'x', player 1 after 'x l'",
    ),
    "not zero-sum": (
        {"returns": lambda h: (1.0, -1.0 if h[0] == "x" else 0.5)},
        r"not zero-sum: the returns at 'y l l' are \(1.0, 0.5\), which sum to 1.5",
    ),
    "infinite returns": (
        {"returns": lambda h: (math.inf, -math.inf)},
        r"returns at 'x l l' are \(inf, -inf\); they must be two finite numbers",
    ),
    "nan returns": ({"returns": lambda h: (math.nan, 0.0)}, r"at 'x l l' are \(nan, 0.0\)"),
    "three returns": ({"returns": lambda h: (1.0, 0.0, -1.0)}, r"must be two finite numbers"),
    "negative probability": (
        {"outcomes": lambda h: (("x", 1.5), ("y", -0.5))},
        r"chance outcome 'y' at the start has probability -0.5",
    ),
    "nan probability": (
        {"outcomes": lambda h: (("x", 1.0), ("y", float("nan")))},
        r"chance outcome 'y' at the start has probability nan",
    ),
    "probabilities do not sum to one": (
        {"outcomes": lambda h: (("x", 0.5), ("y", 0.4))},
        r"chance probabilities at the start sum to 0.9, not to 1",
    ),
    "a chance outcome twice": (
        {"outcomes": lambda h: (("x", 0.5), ("x", 0.5))},
        r"chance outcome 'x' occurs twice at the start",
    ),
    "no chance outcome": ({"outcomes": lambda h: ()}, r"no chance outcome at the start"),
    "an action twice": (
        {"actions": lambda h: ("l", "l")},
        r"legal action 'l' occurs twice at 'x'",
    ),
    "no action": (
        {"actions": lambda h: ("l", "r") if len(h) < 2 else ()},
        r"no legal action at 'x l', though the game is not over",
    ),
    "an action that is a number": (
        {"actions": lambda h: (0, 1)},
        r"legal action 0 at 'x' is not a string",
    ),
    "no information state": (
        {"known": lambda h, i: None},
        r"information state of player 0 at 'x' is None; it must be a string where the player acts",
    ),
    "an information state that is a number": (
        {"known": lambda h, i: len(h)},
        r"information state of player 0 at the start is 0; it must be a string or None",
    ),
    "an infoset across public states": (
        {"public": lambda h: " ".join(h)},
        r"Infoset 'P1 ' of player 1 crosses public states: it is '' after the start and 'x' "
        r"after 'x'",
    ),
    "a public state at times": (
        {"public": lambda h: None if len(h) == 2 else ""},
        r"public state is None at 'x l' but not at the start",
    ),
    "a public state that is a number": (
        {"public": lambda h: 3},
        r"public state at the start is 3; it must be a string",
    ),
    "a blueprint without an infoset": (
        {"blueprints": {"paper": {"P0 x": {"l": 0.5, "r": 0.5}}}},
        r"gives no probability distribution over \[l, r\] in infoset 'P1 l' \(after 'x l'\)",
    ),
    "a blueprint that does not sum to one": (
        {"blueprints": {"paper": {"P0 x": {"l": 0.5, "r": 0.6}}}},
        r"blueprint 'paper' gives no probability distribution over \[l, r\] in infoset 'P0 x'",
    ),
    "a blueprint with a negative probability": (
        {"blueprints": {"paper": {"P0 x": {"l": 1.5, "r": -0.5}}}},
        r"blueprint 'paper' gives no probability distribution over \[l, r\] in infoset 'P0 x'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_games(what: str) -> None:
    broken, message = BROKEN[what]
    with pytest.raises(SubgameError, match=message):
        check(Tiny(**broken))


def test_a_sound_game() -> None:
    report = check(Tiny())
    assert report == Report("tiny", 15, 8, (2, 2), 3, 3)
    assert str(report) == (
        "tiny: 15 histories (8 terminal), 2 + 2 infosets, 3 public states, depth 3"
    )


def test_public_states_may_be_left_to_be_derived() -> None:
    assert check(Tiny(public=lambda h: None)).public_states is None


def test_players_need_not_be_told_what_they_know_while_waiting() -> None:
    def known(history: History, player: int) -> str | None:
        return Rules.known(history, player) if len(history) == player + 1 else None

    assert check(Tiny(known=known)).infosets == (2, 2)


def test_an_unknown_infoset_in_a_blueprint() -> None:
    even = {"l": 0.5, "r": 0.5}
    paper = dict.fromkeys(("P0 x", "P0 y", "P1 l", "P1 r"), even)
    assert check(Tiny(blueprints={"paper": paper})).infosets == (2, 2)
    with pytest.raises(
        SubgameError, match="blueprint 'paper' has an infoset 'P2' that the game does not have"
    ):
        check(Tiny(blueprints={"paper": paper | {"P2": even}}))


class MutatingState(ToyState):
    def child(self, action: str) -> Self:
        object.__setattr__(self, "history", (*self.history, action))
        return self


class SharingState(ToyState):
    """A child that writes into what its siblings share."""

    def child(self, action: str) -> Self:
        shared: dict[str, Any] = vars(self.rules)["blueprints"]
        if len(self.history) == 1:
            shared["last"] = action
        return super().child(action)

    def information_state(self, player: int) -> str | None:
        shared: dict[str, Any] = vars(self.rules)["blueprints"]
        known = super().information_state(player)
        return f"{known} {shared['last']}" if len(self.history) == 2 else known


def test_child_must_not_change_the_state() -> None:
    message = r"state at the start changed its acting player \(-1 and 0\) after child\('x'\)"
    with pytest.raises(SubgameError, match=message):
        check(Tiny(MutatingState))


def test_states_must_not_share_what_changes() -> None:
    message = r"state at 'x l' changed its information states .* after the walk of its siblings"
    with pytest.raises(SubgameError, match=message):
        check(Tiny(SharingState))


def test_a_game_of_chance_must_draw_the_same_twice() -> None:
    calls: list[int] = []

    def fickle(history: History) -> tuple[float, float]:
        calls.append(1)
        return float(len(calls)), -float(len(calls))

    with pytest.raises(SubgameError, match=r"not deterministic: two walks to 'x l l' differ in re"):
        check(Tiny(returns=fickle))


def test_deep_games_do_not_exhaust_the_stack() -> None:
    deep = Tiny(
        player=lambda h: 0 if len(h) < 3000 else TERMINAL,
        actions=lambda h: ("on",),
        known=lambda h, i: f"P{i} {len(h)}",
        public=lambda h: str(len(h)),
    )
    assert check(deep).depth == 3000


def test_a_game_that_is_too_large() -> None:
    with pytest.raises(SubgameError, match=r"'leduc' has more than 100 histories; check a smaller"):
        check(load("leduc"), max_histories=100)

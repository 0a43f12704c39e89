"""Games of OpenSpiel (Lanctot et al. 2019, arXiv:1908.09453). An optional extra.

Any two-player zero-sum game of OpenSpiel whose chance outcomes are listed can be loaded.
Simultaneous moves become two moves in turn; the second player does not see the first move.
`pyspiel` is imported only when something here is called: ``pip install subgame[openspiel]``.

    >>> game = load("kuhn_poker")  # doctest: +SKIP
    >>> game.new_initial_state().child("Deal:0").child("Deal:2").legal_actions()  # doctest: +SKIP
    ('Pass', 'Bet')
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cached_property
from random import Random
from typing import Any, Self, cast

from subgame.errors import SubgameError, did_you_mean
from subgame.games.actions import distinct
from subgame.games.base import CHANCE, TERMINAL, Ask, Game, State, StateReader

ONLY_ACTING = re.compile(r"(?<=\()\s*only_acting\s*=\s*True\s*,?|,\s*only_acting\s*=\s*True\s*")

PLAYOUTS, LONGEST = 8, 200
"""Random playouts that show how a game spells what its players know, and their most moves."""


class OpenSpielState(State):
    """A pyspiel state that is never changed; children are clones."""

    def __init__(self, pyspiel_state: Any, silent: set[int]) -> None:
        self.pyspiel_state = pyspiel_state
        # CHANCE and TERMINAL are the same numbers as OpenSpiel's.
        self._player: int = pyspiel_state.current_player()
        self._silent = silent

    def current_player(self) -> int:
        return self._player

    @cached_property
    def action_ids(self) -> dict[str, int]:
        """OpenSpiel's numbers of the legal actions, by their names."""
        ids = self.pyspiel_state.legal_actions()
        names = [self.pyspiel_state.action_to_string(self._player, action) for action in ids]
        return dict(zip(distinct(names, [f"#{i}" for i in ids]), ids, strict=True))

    def legal_actions(self) -> tuple[str, ...]:
        return tuple(self.action_ids)

    def chance_outcomes(self) -> list[tuple[str, float]]:
        if self._player != CHANCE:
            return []
        chances = dict(self.pyspiel_state.chance_outcomes())
        return [(name, chances[number]) for name, number in self.action_ids.items()]

    def child(self, action: str) -> Self:
        if action not in self.action_ids:
            raise did_you_mean("action", action, self.action_ids)
        return type(self)(self.pyspiel_state.child(self.action_ids[action]), self._silent)

    def returns(self) -> tuple[float, float]:
        return cast("tuple[float, float]", tuple(self.pyspiel_state.returns()))

    def information_state(self, player: int) -> str | None:
        acting = self._player
        if acting != player and acting in self._silent:
            return None
        try:
            return cast("str", self.pyspiel_state.information_state_string(player))
        except RuntimeError:  # pyspiel.SpielError
            if acting == player:
                raise
            # OpenSpiel reports each of these on stderr too, so a game is asked only once.
            self._silent.add(acting)
            return None


class OpenSpielReader(StateReader):
    """Reads pyspiel states and OpenSpiel's numbers of actions.

    Actions are named once for each list of them, as long as no two states name one differently.
    """

    public_of = None

    def __init__(self, game: OpenSpielGame) -> None:
        self._game, self.fixed = game, game.fixed
        # Games that somebody wrote in Python are checked as others are.
        self.trusted = type(game.pyspiel_game).__module__.startswith("pyspiel")
        self._named: dict[tuple[int, int], str] = {}
        self.spell = _history_string if game.spelled else None
        self.become = pyspiel_module().State.apply_action

    def opened(self, state: State) -> object:
        return cast("OpenSpielState", state).pyspiel_state.clone()

    def closed(self, opened: object) -> OpenSpielState:
        return OpenSpielState(opened, self._game.silent)

    def asks(self, both: bool) -> dict[int, tuple[Ask, Ask]]:
        ask = pyspiel_module().State.information_state_string
        if self.spell is not None:
            return dict.fromkeys((0, 1, CHANCE), (None, None))
        own = {0: (ask, None), 1: (None, ask), CHANCE: (None, None)}
        return {seat: own[seat] if seat in self._game.silent else (ask, ask) for seat in own}

    def history(self, state: State) -> list[int]:
        return cast("list[int]", cast("OpenSpielState", state).pyspiel_state.history())

    def refused(self, player: int) -> bool:
        new = player not in self._game.silent
        self._game.silent.add(player)  # OpenSpiel reports each of these on stderr too
        return new

    def names(self, opened: Any, player: int, keys: Sequence[int]) -> tuple[str, ...]:
        names = [opened.action_to_string(player, key) for key in keys]
        pairs = zip(keys, names, strict=True)
        before = [self._named.setdefault((player, key), name) for key, name in pairs]
        if names != before:
            self._game.fixed.discard(player)
        return distinct(names, [f"#{key}" for key in keys])

    def outcomes(self, opened: Any) -> Sequence[tuple[int, float]]:
        return sorted(opened.chance_outcomes())  # in the order of `legal_actions`


class OpenSpielGame(Game):
    """A game of OpenSpiel. `pyspiel_game` is its turn-based form."""

    def __init__(
        self, pyspiel_game: Any, name: str, parameters: dict[str, Any], only_acting: bool
    ) -> None:
        self.pyspiel_game = pyspiel_game
        self.name = name
        self._parameters = parameters | ({"only_acting": True} if only_acting else {})
        kind = pyspiel_game.get_type()
        self.perfect: bool = kind.information == type(kind).Information.PERFECT_INFORMATION
        # Acting players (or CHANCE, TERMINAL) at whose histories the others' strings are missing.
        self.silent: set[int] = {0, 1, CHANCE, TERMINAL} if only_acting else set()
        # Players (or CHANCE) none of whose moves is known to be named differently in two states.
        self.fixed: set[int] = {0, 1, CHANCE}

    @property
    def parameters(self) -> dict[str, object]:
        return dict(self._parameters)

    def __str__(self) -> str:  # what `subgame.games.load` loads again
        return f"openspiel:{_text({'name': self.name, **self._parameters}).removesuffix('()')}"

    def new_initial_state(self) -> OpenSpielState:
        return OpenSpielState(self.pyspiel_game.new_initial_state(), self.silent)

    @cached_property
    def spelled(self) -> bool:
        """Whether the players know all moves, and their strings are those of the history.

        The strings are compared at the histories of `PLAYOUTS` random playouts.
        """
        if not self.perfect or self.silent:
            return False
        rng = Random(0)
        for _ in range(PLAYOUTS):
            state = self.pyspiel_game.new_initial_state()
            for _ in range(LONGEST):
                text = _history_string(state.history())
                try:
                    if any(state.information_state_string(p) != text for p in (0, 1)):
                        return False
                except RuntimeError:  # only the acting player can be asked
                    return False
                if state.is_terminal():
                    break
                state.apply_action(rng.choice(state.legal_actions()))
        return True

    def reader(self) -> StateReader:
        return OpenSpielReader(self)


def load(game: Any, /, *, only_acting: bool = False, **parameters: Any) -> OpenSpielGame:
    """Load a game of OpenSpiel by its name, its name with parameters, or as a `pyspiel.Game`.

    Parameters may also be given as arguments: ``load("liars_dice", numdice=1, dice_sides=4)``.

    A player's `information_state` is OpenSpiel's string at every history. Some games have
    perfect recall only where the player acts: with two dice, liar's dice shows the first roll
    alone, then both of them sorted. ``only_acting=True`` leaves out all the other strings.
    """
    pyspiel = pyspiel_module()
    if isinstance(game, str):
        game, inside = ONLY_ACTING.subn("", game)  # an option of ours, not of OpenSpiel's
        only_acting = only_acting or inside > 0
        game = _load_by_name(pyspiel, game, parameters)
    elif not isinstance(game, pyspiel.Game):
        raise SubgameError(f"The game must be a name or a pyspiel.Game, not {game!r}.")
    elif parameters:
        raise SubgameError(f"The game '{game}' is already loaded, so no parameters can be given.")
    kind = game.get_type()
    name = kind.short_name
    _check(pyspiel, game, name)
    defaults = kind.parameter_specification
    chosen = {k: v for k, v in game.get_parameters().items() if defaults.get(k) != v}
    if kind.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    return OpenSpielGame(game, name, chosen, only_acting)


def pyspiel_module() -> Any:
    """The module, which has no type stubs and may be missing."""
    try:
        return importlib.import_module("pyspiel")
    except ImportError:
        raise SubgameError(
            "OpenSpiel is not installed; install it with: pip install 'subgame[openspiel]'."
        ) from None


def _load_by_name(pyspiel: Any, text: str, parameters: dict[str, Any]) -> Any:
    # Names are checked here, because OpenSpiel's own error lists all its games on stderr.
    name = text.partition("(")[0].strip()
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    if name not in kinds:
        raise did_you_mean("OpenSpiel game", name, kinds)
    try:
        compact = re.sub(r"\s*([(),=])\s*", r"\1", text)
        parameters = {**pyspiel.game_parameters_from_string(compact), **parameters}
        parameters.pop("name", None)
        known = kinds[name].parameter_specification
        for parameter in parameters:
            if parameter not in known:
                raise did_you_mean(f"parameter of {name}", parameter, known)
        return pyspiel.load_game(name, parameters)
    except (RuntimeError, TypeError) as error:  # pyspiel.SpielError is a RuntimeError
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise SubgameError(f"OpenSpiel cannot load '{text}': {reason}.") from None


def _check(pyspiel: Any, game: Any, name: str) -> None:
    """Raise an error if the game cannot be solved here."""
    kind, types, count = game.get_type(), pyspiel.GameType, game.num_players()
    reasons = {
        f"has {count} player{'s' if count != 1 else ''}, not two": count != 2,
        f"is not zero-sum but {kind.utility.name.lower().replace('_', '-')}": (
            kind.utility != types.Utility.ZERO_SUM
        ),
        "is a mean-field game": kind.dynamics == types.Dynamics.MEAN_FIELD,
        "samples its chance outcomes and does not list them": (
            kind.chance_mode == types.ChanceMode.SAMPLED_STOCHASTIC
        ),
        "does not say what its players know (it has no information state strings)": (
            not kind.provides_information_state_string
        ),
    }
    for reason, applies in reasons.items():
        if applies:
            raise SubgameError(f"OpenSpiel's '{name}' {reason}, so it cannot be solved here.")


def _text(value: object) -> str:
    """A parameter of OpenSpiel's as text; a game within a game is a dictionary.

    >>> _text({"name": "misere", "game": {"name": "kuhn_poker", "players": 2}})
    'misere(game=kuhn_poker(players=2))'
    >>> _text({"name": "misere", "game": {"name": "kuhn_poker"}})
    'misere(game=kuhn_poker())'
    """
    if not isinstance(value, dict):
        return str(value)
    inside = ", ".join(f"{key}={_text(item)}" for key, item in value.items() if key != "name")
    return f"{value['name']}({inside})"


def _history_string(actions: Sequence[int]) -> str:
    """What OpenSpiel's `State::HistoryString` says after these actions.

    >>> _history_string([4, 0, 8])
    '4, 0, 8'
    """
    return ", ".join(map(str, actions))

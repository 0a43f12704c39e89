"""Games by name: the built-in ones, those a program registers, and plugins.

A package offers a game by an entry point of the group ``subgame.games`` whose name is the game's
and whose object makes it: a `Game` subclass or a function. Its keyword parameters and their
defaults become the game's parameters. Plugins are loaded when asked for, never before, and
cannot replace a built-in game. `subgame.games.conformance.check` tests a game's rules.

    >>> import subgame.games
    >>> str(subgame.games.load("liars_dice(dice=1, faces=4)"))
    'liars-dice(dice=1, faces=4)'
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NamedTuple

from subgame.errors import SubgameError, did_you_mean
from subgame.games.base import CHANCE, TERMINAL, Game, State
from subgame.games.sources import InFile, elsewhere, in_file, in_one_line, read_file

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from subgame.games import conformance as conformance

__all__ = [
    "CHANCE",
    "TERMINAL",
    "Game",
    "Row",
    "State",
    "catalogue",
    "conformance",
    "load",
    "names",
    "register",
]

ENTRY_POINT_GROUP = "subgame.games"

ALIASES = {
    "kuhn-poker": "kuhn",
    "leduc-poker": "leduc",
    "rock-paper-scissors": "rps",
    "rock-paper-scissors-plus": "rps-plus",
    "rps+": "rps-plus",
}

# What a parameter must be, by the type of its default, and the words for it in an error.
KINDS: dict[type, tuple[type, str]] = {
    int: (Integral, "an integer"),
    float: (Real, "a number"),
    bool: (bool, "true or false"),
    str: (str, "a word"),
}

LARGEST = 2**63
"""Numbers as large as this are no parameters."""

Factory = Callable[..., Game]


class Row(NamedTuple):
    """A line of the catalogue. A parameter without a default has `inspect.Parameter.empty`.

    >>> row = next(row for row in catalogue() if row.name == "liars-dice")
    >>> row.parameters["faces"]
    6
    """

    name: str
    summary: str
    parameters: dict[str, Any]


_registered: dict[str, tuple[Factory | str, str]] = {}
"""What makes each game, or where that is (some take long to import), and its summary."""


def __getattr__(name: str) -> Any:
    """The modules of the package, which are imported when they are used."""
    if find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return import_module(f"{__name__}.{name}")


def register(name: str, factory: Factory | str, summary: str = "") -> None:
    """Make a game loadable by name; its parameters are the factory's keyword parameters.

    The factory can be given as ``"module:name"``, which is imported when the game is loaded.

    >>> from subgame.games.kuhn import Kuhn
    >>> register("my-kuhn", Kuhn, "Kuhn under another name")
    >>> load("my-kuhn").name
    'kuhn'
    """
    key = _canonical(name)
    if key in _registered:
        raise SubgameError(f"There already is a game called '{key}'; choose another name.")
    _registered[key] = factory, summary or _first_line(factory)


def names() -> list[str]:
    """The names of all games, plugins included (without loading them).

    >>> "kuhn" in names(), "hunl" in names()
    (True, True)
    """
    return sorted({*_registered, *_plugins()})


def load(name: str, **parameters: Any) -> Game:
    """The game of that name, e.g. ``load("liars-dice", faces=5)`` or ``load("leduc_poker")``.

    Parameters may also be part of the name: ``load("goofspiel(cards=3, order=random)")``. Games
    from elsewhere have names too: ``openspiel:leduc_poker``, ``my-game.efg`` and
    ``my_game.py:MyGame(cards=3)``.

    >>> load("leduc").name, load("liars-dice", faces=4).name == load("liars-dice(faces=4)").name
    ('leduc', True)
    """
    if not isinstance(name, str):
        raise SubgameError(f"The name of a game must be a string, not {type(name).__name__}.")
    if (reader := elsewhere(name)) is not None:
        return reader(**parameters)
    if (place := in_file(name)) is not None:
        return _load_file(place, parameters)
    name, inside = _parse(name)
    inside = _together(name, inside, parameters)
    key = _canonical(name)
    if key not in _registered and key not in _plugins():
        raise did_you_mean("game", name, names())
    factory, _ = _find(key)
    return _a_game(key, factory(**_checked(key, factory, inside)))


def _together(
    name: str, inside: dict[str, object], options: dict[str, object]
) -> dict[str, object]:
    """The parameters in the name and the others; none may be given twice."""
    for both in sorted(inside.keys() & options.keys()):
        raise SubgameError(f"The parameter '{both}' of the game '{name}' is given twice.")
    return {**inside, **options}


def _a_game(name: str, made: object) -> Game:
    if not isinstance(made, Game):
        raise SubgameError(
            f"The game '{name}' made an object of type {type(made).__name__}, not a subgame Game."
        )
    return made


def _load_file(place: InFile, parameters: dict[str, object]) -> Game:
    """A game in a Python file. It is called by its place, so that its name loads it again."""
    name = f"{place.file}:{place.name}"
    inside = _together(name, _parse(f"x{place.rest}", f"{name}{place.rest}")[1], parameters)
    factory = read_file(place)
    checked = _checked(name, factory, inside)
    try:
        made = factory(**checked)
    except SubgameError:
        raise
    except Exception as error:  # the code of a user may fail in any way
        raise SubgameError(f"{name} cannot make the game: {in_one_line(error)}.") from error
    game = _a_game(name, made)
    shown = "" if game.parameters or not checked else f"({_listed(checked)})"
    with contextlib.suppress(AttributeError):  # a frozen game keeps its own name
        game.name = name + shown
    return game


def _listed(parameters: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={value}" for key, value in parameters.items())


def catalogue() -> list[Row]:
    """Every game with a summary and its parameters, sorted by name.

    A plugin that cannot be loaded keeps its line; the summary then says what is wrong with it.

    >>> next(row.summary for row in catalogue() if row.name == "kuhn")
    'Three-card poker with one bet'
    """
    rows = []
    for name in names():
        try:
            factory, summary = _find(name)
            rows.append(Row(name, summary, _accepted(factory)[0]))
        except SubgameError as error:
            rows.append(Row(name, str(error), {}))
    return rows


def _canonical(name: str) -> str:
    key = name.strip().lower().replace("_", "-")
    return ALIASES.get(key, key)


def _plugins() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and rarely needed

    return {_canonical(point.name): point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _find(key: str) -> tuple[Factory, str]:
    """What makes a game, and its summary."""
    if key in _registered:
        factory, summary = _registered[key]
        if isinstance(factory, str):
            module, _, name = factory.partition(":")
            factory = getattr(import_module(module), name)
        return factory, summary
    point = _plugins()[key]
    try:
        factory = point.load()
    except Exception as error:  # a plugin may fail in any way at import
        raise SubgameError(
            f"The game '{key}' comes from the plugin '{point.value}', which cannot be loaded: "
            f"{type(error).__name__}: {error}."
        ) from error
    if not callable(factory):
        raise SubgameError(
            f"The game '{key}' comes from the plugin '{point.value}', which is neither a Game "
            f"subclass nor a function that makes one."
        )
    return factory, _first_line(factory)


def _first_line(factory: Factory | str) -> str:
    # inspect.getdoc would inherit the base class's docstring, which says nothing of this game.
    lines = (factory.__doc__ or "").strip().splitlines()
    return lines[0].rstrip(".") if lines else ""


def _parse(text: str, shown: str | None = None) -> tuple[str, dict[str, object]]:
    """``"name(key=value, ...)"`` as a name and parameters; an error shows the text as `shown`."""
    match = re.fullmatch(r"\s*([^()]*?)\s*(?:\((.*)\))?\s*", text)
    parameters: dict[str, Any] = {}
    for part in (match.group(2) or "").split(",") if match else [""]:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and key.isidentifier() and value and key not in parameters:
            parameters[key] = _value(value)
        elif match is None or part.strip():
            raise SubgameError(
                f"'{shown or text}' is not a game; write a name, or a name with parameters such as "
                f"'liars-dice(dice=1, faces=5)'."
            )
    return (match.group(1) if match else text), parameters


def _value(text: str) -> object:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text  # a bare word: order=random


def _accepted(factory: Factory) -> tuple[dict[str, object], bool]:
    """The factory's parameters with their defaults, and whether it takes any others too."""
    parameters = inspect.signature(factory).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {p.name: p.default for p in parameters if p.kind not in variadic}
    return named, any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def _checked(name: str, factory: Factory, options: Mapping[str, object]) -> dict[str, object]:
    """The parameters as the factory wants them, or an error that lists what it takes."""
    accepted, open_ended = _accepted(factory)
    required = {key for key, default in accepted.items() if default is inspect.Parameter.empty}
    listed = ", ".join(
        key if key in required else f"{key}={default}" for key, default in accepted.items()
    )
    takes = f"it takes {listed or 'no parameters'}."
    for key in sorted(required - options.keys()):
        raise SubgameError(f"The game '{name}' needs the parameter '{key}'; {takes}")
    checked = dict(options)
    for key, value in options.items():
        if key not in accepted and not open_ended:
            raise SubgameError(f"The game '{name}' has no parameter '{key}'; {takes}")
        kind: type = type(accepted.get(key))
        if kind not in KINDS:
            continue
        base, words = KINDS[kind]
        must = f"The parameter '{key}' of the game '{name}' must be"
        if not isinstance(value, base) or isinstance(value, bool) != (kind is bool):
            raise SubgameError(f"{must} {words}, not {value!r}; {takes}")
        if isinstance(value, int | float) and not -LARGEST < value < LARGEST:
            raise SubgameError(f"{must} below 2^63; {takes}")
        checked[key] = kind(value)  # NumPy's integers are numbers.Integral, not int
    return checked


for _row in """
battleship battleship:Battleship Hide a ship each and shoot in turn
coin-toss coin_toss:CoinToss Sell a coin or play it; Brown & Sandholm 2017, Fig. 1
coin-toss-two coin_toss:CoinTossTwo Coin Toss with two subgames; Brown & Sandholm 2017, Fig. 4
dark-hex dark_board:DarkHex Hex in which nobody sees the opponent's stones
goofspiel goofspiel:Goofspiel Bid cards for prizes, only who won is shown
holdem holdem.spots:spot A hold'em spot: the rest of a hand from a board on
hunl holdem.spots:hunl Heads-up no-limit Texas hold'em from the first blind
kuhn kuhn:Kuhn Three-card poker with one bet
leduc leduc:Leduc Six-card poker with two betting rounds
leduc-ranks leduc:LeducRanks Leduc without suits, which never matter: 288 infosets
liars-dice liars_dice:LiarsDice Bid on all dice or call the bidder a liar
no-limit-kuhn no_limit:NoLimitKuhn Kuhn with bets of any size; Ganzfried & Sandholm 2013
no-limit-leduc no_limit:NoLimitLeduc Leduc with bets of any size; Ganzfried & Sandholm 2013
nlfh holdem.spots:nlfh No-limit flop hold'em, two betting rounds; Brown & Sandholm 2017, App. G
nlth holdem.spots:nlth No-limit turn hold'em, three betting rounds; Brown & Sandholm 2017, App. G
nlfh-small holdem.spots:nlfh_small Small flop hold'em; Brown & Sandholm 2017, Table 3, sizes ours
nlfh-small-alt holdem.spots:nlfh_small_alt The same with two bets before the flop and one on it
nlfh-large holdem.spots:nlfh_large Large flop hold'em; Brown & Sandholm 2017, Table 4, sizes ours
nlth-no-limp holdem.spots:nlth_no_limp Turn hold'em; Brown & Sandholm 2017, Table 5, sizes ours
phantom-ttt dark_board:PhantomTicTacToe Tic-tac-toe in which nobody sees the opponent's stones
random random_game:RandomGame A small random game, the same for the same seed
rhode-island rhode_island:RhodeIsland Hold'em with one hidden card and two board cards
rps rock_paper_scissors:RockPaperScissors Rock-paper-scissors in turn, the first move hidden
rps-plus rock_paper_scissors:RockPaperScissorsPlus The same, Scissors count twice; Brown et al. 2018
""".strip().splitlines():
    _name, _factory, _summary = _row.split(maxsplit=2)
    register(_name, f"subgame.games.{_factory}", _summary)

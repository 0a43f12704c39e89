"""What a game is: rules only, no solving.

The verbs are OpenSpiel's (Lanctot et al. 2019): who acts, what may be done, what chance does,
what follows, what is paid. To them a game adds what each player knows and what everybody knows.
A whole game fits in about thirty lines; see `subgame.games.kuhn` for the smallest complete one.

    >>> import subgame as sg
    >>> state = sg.games.load("kuhn").new_initial_state()
    >>> state.current_player() == CHANCE
    True
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Sequence
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self, cast

if TYPE_CHECKING:
    from random import Random

    from subgame.games.arrays import GameArrays

CHANCE = -1
"""`State.current_player` where chance moves."""

TERMINAL = -4
"""`State.current_player` where the game is over."""


class State(ABC):
    """One history of a game. Immutable: `child` returns a new state and changes nothing.

    Players are 0 and 1. Actions and chance outcomes are strings, unique among their siblings.

    >>> import subgame as sg
    >>> state = sg.games.load("kuhn").new_initial_state().child("J").child("Q")
    >>> state.current_player(), state.legal_actions(), state.information_state(0)
    (0, ('p', 'b'), 'J')
    """

    __slots__ = ()

    @abstractmethod
    def current_player(self) -> int:
        """0 or 1, `CHANCE` or `TERMINAL`."""

    @abstractmethod
    def legal_actions(self) -> Sequence[str]:
        """What the acting player may do, the same everywhere in an infoset, in the same order."""

    @abstractmethod
    def child(self, action: str) -> Self:
        """The state after the acting player's action, or chance's outcome."""

    @abstractmethod
    def returns(self) -> tuple[float, float]:
        """What each player is paid at a terminal state; the two sum to zero."""

    @abstractmethod
    def information_state(self, player: int) -> str | None:
        """All that `player` knows here, as a string: equal strings are one infoset.

        It must contain everything the player has ever seen or done (perfect recall); the
        compiler checks that. It is always a string where `player` acts. Elsewhere it names what
        the player knows while the opponent or chance moves, or when the game is over: at the top
        of a subgame, histories of one string are one root infoset. ``None`` means that the game
        does not say: the player is then taken to know only their own last infoset and action
        (the augmented infoset of Burch et al. 2014, Def. 1).
        """

    def chance_outcomes(self) -> Sequence[tuple[str, float]]:
        """The outcomes of a chance state with their probabilities."""
        return ()

    def public_state(self) -> str | None:
        """What both players know here, as a string; a change in it is a step in the public tree.

        A game may return ``None`` for all its states. The public states are then derived from
        the information states: the finest split that no infoset crosses.
        """
        return None

    # For play. A game that is only solved needs none of these.

    def sample_chance(self, random: Random) -> str:
        """One outcome of a chance state, drawn by its probability."""
        draw = random.random()
        for outcome, probability in self.chance_outcomes():  # noqa: B007
            draw -= probability
            if draw < 0:
                break
        return outcome

    def allows(self, action: str) -> bool:
        """Whether the acting player may do this; games of any bet size allow more than they list.

        `legal_actions` lists the sizes that the game considers.
        """
        return action in self.legal_actions()

    def is_public(self, action: str) -> bool:
        """Whether both players see this action or chance outcome, so that agents are told of it.

        By default nothing is told: an agent's information state says all that the agent knows.
        """
        return False


Ask = Callable[[Any, int], str | None] | None
"""What a player knows at an opened state."""


def _known(state: State, player: int) -> str | None:
    return state.information_state(player)


class StateReader:
    """How a walk over all histories reads a game's states: in few calls for each history.

    A walk asks `opened` states for their `current_player`, `legal_actions` and `returns`, and calls
    `child` with keys of actions. Here these are the states themselves and the actions' names. A
    game that wraps another library's states can give them and their own keys instead
    (`Game.reader`), and name an action only where it is new.

    >>> import subgame as sg
    >>> game = sg.games.load("kuhn")
    >>> state = game.new_initial_state().child("J").child("Q")
    >>> [ask(state, p) for p, ask in enumerate(game.reader().asks(both=True)[0])]
    ['J', 'Q']
    """

    become: Callable[[Any, Any], None] | None = None
    """Turns an opened state into its child. A walk calls it where nothing needs the state again."""
    public_of: Callable[[Any], str | None] | None = methodcaller("public_state")
    """The public state of an opened state; None where no state has one."""
    trusted: bool = False
    """Whether states need no spot check: they do not change, and the game is deterministic."""
    spell: Callable[[Sequence[Any]], str] | None = None
    """How a game in which all moves are known says what is known, given their keys; or None."""
    fixed: Container[int] = (0, 1, CHANCE)
    """The players (or chance) whose moves are named alike wherever their keys are the same."""

    def opened(self, state: State) -> Any:
        """The state as the other methods take it."""
        return state

    def closed(self, opened: object) -> State:
        """The state that was opened, or a child of it."""
        return cast("State", opened)

    def asks(self, both: bool) -> dict[int, tuple[Ask, Ask]]:
        """For each acting player, how to ask for what the two players know; None if not at all.

        Unless `both`, only the acting player is asked. Nobody is asked where the game is over.
        """
        if both:
            return dict.fromkeys((0, 1, CHANCE), (_known, _known))
        return {0: (_known, None), 1: (None, _known), CHANCE: (None, None)}

    def history(self, state: State) -> Sequence[Any]:
        """The keys of the moves so far, for `spell`."""
        raise NotImplementedError

    def refused(self, player: int) -> bool:
        """Called when a question fails where `player` acts; True if a new walk would ask fewer."""
        return False

    def names(self, opened: Any, player: int, keys: Sequence[Any]) -> tuple[str, ...]:
        """The names of the actions or outcomes with these keys."""
        return tuple(keys)

    def outcomes(self, opened: Any) -> Sequence[tuple[Any, float]]:
        """The keys of a chance state's outcomes, with their probabilities."""
        return cast("State", opened).chance_outcomes()


class Game(ABC):
    """Rules. Subclasses give `name`, the `parameters` they were made with and the first state.

    >>> import subgame as sg
    >>> game = sg.games.load("liars-dice", dice=1, faces=4)
    >>> str(game), game.new_initial_state().current_player() == CHANCE
    ('liars-dice(dice=1, faces=4)', True)
    """

    name: str = ""
    num_players: int = 2
    parameter_names: tuple[str, ...] = ()
    """The parameters that a game keeps as attributes of the same names."""

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters this game was made with: ``{"dice": 1, "faces": 6}``."""
        return {name: getattr(self, name) for name in self.parameter_names}

    @abstractmethod
    def new_initial_state(self) -> State:
        """The initial state, before any action."""

    def reader(self) -> StateReader:
        """How a walk reads the states of this game."""
        return StateReader()

    def arrays(self) -> GameArrays | None:
        """The rules for many histories at once, with which a large game compiles fast; or None."""
        return None

    def frontiers(self) -> dict[str, Callable[[State], bool]]:
        """Named places to cut the game: a subgame starts where the function first answers true.

        The function may depend only on what both players know: ``{"after round 1": ...}``.
        """
        return {}

    def blueprints(self) -> dict[str, dict[str, dict[str, float]]]:
        """Strategies that the literature gives for this game: name -> infoset -> action -> prob."""
        return {}

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of results in play, and how many of it one chip is."""
        return "chips", 1.0

    def __str__(self) -> str:
        """The game's name with its parameters: ``liars-dice(dice=1, faces=6)``."""
        inside = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name

    def __repr__(self) -> str:
        return f"<Game {self}>"

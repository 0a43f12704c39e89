"""The one place where actions and amounts of chips are converted between notations.

Every protocol counts the chips of a bet in its own way:

| notation | fold | check | call | bet or raise | N counts |
| --- | --- | --- | --- | --- | --- |
| `games.holdem.rules` | ``f`` | ``c`` | ``c`` | ``rN`` | the player's chips on this street |
| ACPC 2.0.0 | ``f`` | ``c`` | ``c`` | ``rN`` | the player's chips in the whole hand |
| Slumbot | ``f`` | ``k`` | ``c`` | ``bN`` | the player's chips on this street |
| PHH, PokerKit | ``f`` | ``cc`` | ``cc`` | ``cbr N`` | the player's chips on this street |

All of them raise *to* N, never by N, and blinds count as chips of the first street.

    >>> from subgame.games.holdem.rules import NoLimit
    >>> river = NoLimit().start().play("r300 c / c c / c r600 r1800")
    >>> ACPC.line(river), SLUMBOT.line(river)
    ('r300c/cc/cr900r2100', 'b300c/kk/kb600b1800')
    >>> ACPC.read(river, "r4000"), SLUMBOT.read(river, "b3700"), PHH.read(river, "cbr 3700")
    ('r3700', 'r3700', 'r3700')
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from subgame.errors import SubgameError
from subgame.games.holdem.rules import Betting, NoLimit, total_of
from subgame.games.holdem.sizes import Chips, tidy


@dataclass(frozen=True)
class Notation:
    """How a protocol writes actions and lines of betting."""

    name: str
    check: str
    call: str
    bet: str
    """What stands before the amount of a bet or raise."""
    whole_hand: bool = False
    """Whether amounts count the player's chips of earlier streets too."""
    fold: str = "f"

    def write(self, betting: Betting, action: str) -> str:
        """An action of ours, taken at this betting, as the protocol writes it."""
        if action == "f":
            return self.fold
        if action == "c":
            return self.call if betting.to_call else self.check
        return f"{self.bet}{tidy(total_of(action) + self._before(betting))}"

    def read(self, betting: Betting, text: str) -> str:
        """The protocol's action at this betting as one of ours; its amount may be illegal.

        What is not an action in this notation is refused. The rules decide whether it is legal.
        """
        if text == self.fold:
            return "f"
        if text in (self.check, self.call):
            if self.check != self.call and (text == self.call) != (betting.to_call > 0):
                said = "call" if text == self.call else "check"
                raise SubgameError(
                    f"'{text}' is a {said} in the notation of {self.name}, but there is "
                    f"{'no ' if said == 'call' else 'a '}bet to call."
                )
            return "c"
        amount = text.removeprefix(self.bet)
        if amount == text or not re.fullmatch(r"[0-9]{1,15}", amount):
            raise SubgameError(
                f"'{shown(text)}' is not an action in the notation of {self.name}; the actions "
                f"are {self.fold}, {', '.join(dict.fromkeys((self.check, self.call)))} and "
                f"{self.bet}N."
            )
        return f"r{tidy(int(amount) - self._before(betting))}"

    def _before(self, betting: Betting) -> Chips:
        """What the acting player's amounts count besides the chips of this street."""
        return betting.staked[betting.player] if self.whole_hand else 0

    def line(self, betting: Betting) -> str:
        """The whole betting as the protocol writes it: ``r300c/cr900f``.

        After an all-in that was called, the streets without betting follow as bare slashes.
        """
        state, words = betting.rules.start(), list[str]()
        for action in betting.history:
            if action == "/":
                words.append(action)
            else:
                words.append(self.write(state, action))
                state = state.child(action)
        if betting.is_showdown:
            words += "/" * (betting.rules.last_street - betting.street)
        return "".join(words)

    def read_line(self, rules: NoLimit, text: str) -> Betting:
        """The betting that a line of the protocol tells of; illegal lines are refused."""
        state = rules.start()
        streets = text.split("/")
        if len(streets) > 1 + rules.last_street:
            raise SubgameError(f"The line '{shown(text)}' has more streets than the game.")
        for street, said in enumerate(streets):
            words = self._words().findall(said)
            if "".join(words) != said:
                raise SubgameError(
                    f"The line '{shown(text)}' has a part that is not an action of {self.name}."
                )
            for word in words:
                if state.is_over or state.street != street:
                    raise SubgameError(
                        f"In the line '{shown(text)}' the street ends before '{word}'."
                    )
                try:
                    state = state.child(self.read(state, word))
                except SubgameError as error:
                    raise SubgameError(
                        f"In the line '{shown(text)}', at '{shown(word)}': {error}"
                    ) from None
        reached = rules.last_street if state.is_showdown else state.street
        if len(streets) - 1 != reached:
            raise SubgameError(
                f"The line '{shown(text)}' is on street {len(streets)}, but its betting ends on "
                f"street {reached + 1}."
            )
        return state

    def _words(self) -> re.Pattern[str]:
        plain = "|".join(map(re.escape, dict.fromkeys((self.fold, self.check, self.call))))
        return re.compile(f"{re.escape(self.bet)}[0-9]+|{plain}")


ACPC = Notation("ACPC", check="c", call="c", bet="r", whole_hand=True)
SLUMBOT = Notation("Slumbot", check="k", call="c", bet="b")
PHH = Notation("PHH", check="cc", call="cc", bet="cbr ")


def nearest_legal(betting: Betting, action: str) -> str:
    """The action itself if it is legal; a raise of a wrong size becomes the nearest legal one.

    Everything else becomes a check or a call. This is what the dealer of the ACPC does (`dealer.c`,
    `isValidAction` with `tryFixing`).

    >>> first = NoLimit().start()
    >>> [nearest_legal(first, action) for action in ("r150", "r99999", "f", "x")]
    ['r200', 'r20000', 'f', 'c']
    """
    least, most = betting.least_raise, betting.most_raise
    if re.fullmatch(r"r-?[0-9]+", action) and least is not None and most is not None:
        return f"r{min(max(int(action[1:]), least), most)}"
    return "f" if action == "f" and betting.to_call else "c"


def shown(text: str, most: int = 60) -> str:
    """A text from outside as a message shows it: printable, and not too long.

    >>> shown("a" * 100, 10), shown("\\x00\\xff", 10)
    ('aaaaaaaaaa...', '\\\\x00\\\\xff')
    """
    plain = text.encode("ascii", "backslashreplace").decode("ascii")
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
    return plain if len(plain) <= most else f"{plain[:most]}..."

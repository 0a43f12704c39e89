"""`Decision`: what a player does at one place of a solution, hand by hand, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from subgame.errors import SubgameError, brief
from subgame.games.holdem.cards import Deck
from subgame.games.holdem.ranges import Range, class_names, class_of
from subgame.games.holdem.rules import Betting
from subgame.games.holdem.sizes import STREETS, number
from subgame.lazy import np
from subgame.show.grid import Square, grid, in_rows, legend
from subgame.show.html import block
from subgame.spots.hand_classes import looks
from subgame.spots.lines import SEATS, Walk, action_name, line_text, share_of_pot
from subgame.spots.tables import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from subgame.tree.ranges.tree import RangeTree

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Explored(Protocol):
    """A solution that answers for any place: `subgame.spots.browse.Explorer`."""

    @property
    def tree(self) -> RangeTree: ...

    def values(self, walk: Walk, reach: list[Floats]) -> tuple[Floats, tuple[Floats, Floats]]: ...

    def equities(self, board: tuple[int, ...], reach: list[Floats]) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True, eq=False)
class Decision:
    """The strategy of one player's hands at one decision, on any street.

    Axis h: the hands that the player can hold here, `hand_names`. EV, equity and EQR are computed
    when they are first asked for; they are nan where the opponent never plays this line with a hand
    that is possible together with the player's.
    """

    __repr__ = brief

    explorer: Explored = field(repr=False)
    walk: Walk = field(repr=False)
    actions: tuple[str, ...]  # the tree's names: f, c, r with the total on the street
    hands: Ints  # [h] in the deck's order
    probs: Floats  # [h, action]
    reach: Floats  # [h] the player's range times their earlier action probabilities
    chance: Floats  # [h] probability of each hand here, given both players' reach; sums to 1
    ranges: tuple[Floats, Floats] = field(repr=False)  # [hand] the reach of both players here

    # Where it is -----------------------------------------------------------------------------
    @property
    def tree(self) -> RangeTree:
        """The tree of the solution."""
        return self.explorer.tree

    @property
    def betting(self) -> Betting:
        """The state of the betting."""
        return self.walk.betting

    @property
    def board(self) -> tuple[int, ...]:
        """The cards on the board."""
        return self.walk.board

    @property
    def player(self) -> int:
        """The acting player: 0 is out of position."""
        return self.betting.player

    @property
    def line(self) -> str:
        """The line that leads here, in short: ``c r50 c / 3c``."""
        return line_text(self.tree.holdem, self.walk, short=True)

    @property
    def words(self) -> str:
        """The line in words: ``check, bet 50, call 50 / 3c``."""
        return line_text(self.tree.holdem, self.walk)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The actions in words: check, call 50, bet 50, raise to 150, all-in 200."""
        return tuple(action_name(self.betting, action) for action in self.actions)

    @cached_property
    def hand_names(self) -> list[str]:
        """[h] the names of the hands: AsAh."""
        return [self.tree.holdem.deck.hand_name(hand) for hand in self.hands.tolist()]

    @property
    def lines(self) -> list[str]:
        """[action] the line after each action."""
        return [f"{self.line} {action}".strip() for action in self.actions]

    # Numbers ---------------------------------------------------------------------------------
    @property
    def frequency(self) -> Floats:
        """[action] how often the player takes it, over all hands."""
        out: Floats = self.chance @ self.probs
        return out

    @cached_property
    def line_frequency(self) -> float:
        """How often the betting goes this way, given the cards that are dealt."""
        game, board = self.tree.holdem, self.board
        free = game.deck.compatible(board)
        first, second = (weights * free for weights in game.weights())
        every = float(first @ game.facing(board, second))
        here = float(self.ranges[0] @ game.facing(board, self.ranges[1]))
        return here / every if every > 0 else float("nan")

    @cached_property
    def _values(self) -> tuple[Floats, tuple[Floats, Floats]]:
        return self.explorer.values(self.walk, list(self.ranges))

    @cached_property
    def _equities(self) -> tuple[Floats, Floats]:
        return self.explorer.equities(self.board, list(self.ranges))

    @cached_property
    def action_ev(self) -> Floats:
        """[h, action] the EV of each action with each hand, in chips; folding is 0."""
        return self._values[0][self.hands]

    @cached_property
    def hand_ev(self) -> Floats:
        """[h] the EV of each hand, in chips."""
        return self._values[1][self.player][self.hands]

    @cached_property
    def hand_equity(self) -> Floats:
        """[h] the equity of each hand, from 0 to 1."""
        return self._equities[self.player][self.hands]

    @property
    def ev(self) -> tuple[float, float]:
        """The EV of both players here, in chips; they add up to the pot."""
        one, two = (self._mean(p, self._values[1][p]) for p in (0, 1))
        return one, two

    @property
    def equity(self) -> tuple[float, float]:
        """The equity of both players here, from 0 to 1; they add up to 1."""
        one, two = (self._mean(p, self._equities[p]) for p in (0, 1))
        return one, two

    def spread(self, p: int, points: int = 50) -> dict[str, Floats]:
        """[point] EV and equity over player `p`'s range here, from its weakest hands to its best.

        The range is cut into as many equal parts as there are points; each value is that of the
        hand in the middle of a part. It is empty if the range is.
        """
        likely = self._likely(p)
        result = {}
        for name, values in (("ev", self._values[1][p]), ("equity", self._equities[p])):
            some = np.flatnonzero((likely > 0) & ~np.isnan(values))
            order = some[np.argsort(values[some], kind="stable")]
            below = likely[order].cumsum()
            middles = (np.arange(points) + 0.5) / points * likely[order].sum()
            at = np.minimum(np.searchsorted(below, middles), max(len(order) - 1, 0))
            result[name] = values[order][at] if len(order) else values[order]
        return result

    def _likely(self, p: int) -> Floats:
        """[hand] how likely player `p` holds each hand here, up to a factor."""
        out: Floats = self.ranges[p] * self.tree.holdem.facing(self.board, self.ranges[1 - p])
        return out

    def _mean(self, p: int, values: Floats) -> float:
        """A mean over player `p`'s range here."""
        likely = self._likely(p)
        some = likely > 0
        return float(likely[some] @ values[some] / likely.sum()) if some.any() else float("nan")

    # Tables ----------------------------------------------------------------------------------
    def table(self) -> dict[str, dict[str, float]]:
        """Hand -> action -> probability, for the hands that the player can hold here."""
        return {
            self.hand_names[h]: dict(zip(self.actions, self.probs[h].tolist(), strict=True))
            for h in np.flatnonzero(self.reach > 0).tolist()
        }

    def hand_table(self, only: str = "", *, values: bool = True) -> Table:
        """One row per hand: class, weight, chance, EV, equity, EQR; frequency and EV by action.

        `only` keeps a hand (``AhKh``), a class (``AKs``, ``AK``) or a range (``77+,AK``). Without
        `values` the rows have only frequencies, which takes no time.
        """
        chosen = hands_in(self.tree.holdem.deck, only)[self.hands] & (self.reach > 0)
        return Table(self._row(np.array([h]), values) for h in np.flatnonzero(chosen).tolist())

    def class_table(self, only: str = "", *, values: bool = True) -> Table:
        """One row per class of hands (AKs), as `hand_table`; numbers are means over the class."""
        deck = self.tree.holdem.deck
        chosen = hands_in(deck, only)[self.hands] & (self.reach > 0)
        of = class_of(deck)[self.hands]
        rows = Table()
        for k, name in enumerate(class_names(deck)):
            inside = np.flatnonzero(chosen & (of == k))
            if len(inside):
                row = self._row(inside, values)
                rows.append({"class": name, **{key: row[key] for key in list(row)[2:]}})
        return rows

    def action_table(self, *, values: bool = True) -> Table:
        """One row per action: its name, size, frequency, EV, and the line after it."""
        rows = Table()
        for a, action in enumerate(self.actions):
            row: dict[str, Any] = {"action": action, "name": self.names[a]}
            if action[0] == "r":
                row["of_pot"] = share_of_pot(self.betting, action)
            row["frequency"] = float(self.frequency[a])
            if values:
                taken = self.chance * self.probs[:, a]
                row["ev"] = _weighted(taken, self.action_ev[:, a])
                row["equity"] = _weighted(taken, self.hand_equity)
                row["ev_if_always"] = _weighted(self.chance, self.action_ev[:, a])
            rows.append({**row, "line": self.lines[a]})
        return rows

    def range_table(self, p: int) -> Table:
        """One row per hand of player `p`'s range here, also of the one who waits: EV and equity."""
        likely, deck = self._likely(p), self.tree.holdem.deck
        total = likely.sum() or 1.0
        return Table(
            {
                "hand": deck.hand_name(hand),
                "weight": float(self.ranges[p][hand]),
                "chance": float(likely[hand] / total),
                "ev": float(self._values[1][p][hand]),
                "equity": float(self._equities[p][hand]),
            }
            for hand in np.flatnonzero(self.ranges[p] > 0).tolist()
        )

    def blockers(self) -> Table:
        """One row per card: how often each action is taken if the opponent holds the card.

        The opponent's card takes the hands that have it out of the acting player's range.
        """
        deck, rows = self.tree.holdem.deck, Table()
        for card in range(deck.size):
            if card in (*self.board, *self.tree.holdem.dead):
                continue
            left = self.chance * deck.compatible((card,))[self.hands]
            total = left.sum()
            often = left @ self.probs / total if total > 0 else np.full(len(self.names), np.nan)
            shares = dict(zip(self.names, often.tolist(), strict=True))
            removed = 1 - float(total) / (float(self.chance.sum()) or 1.0)
            rows.append({"card": deck.card_name(card), "removed": removed, **shares})
        return rows

    def _row(self, at: Ints, values: bool) -> dict[str, object]:
        """The row of some hands, as means weighted by how likely they are."""
        likely = self.chance[at] if self.chance[at].sum() > 0 else self.reach[at]
        hand = self.hand_names[int(at[0])]
        classes = class_names(self.tree.holdem.deck)
        row: dict[str, Any] = {
            "hand": hand,
            "class": classes[int(class_of(self.tree.holdem.deck)[self.hands[at[0]]])],
            "weight": float(self.reach[at].mean()),
            "chance": float(self.chance[at].sum()),
        }
        if values:
            ev, equity = (_weighted(likely, x[at]) for x in (self.hand_ev, self.hand_equity))
            row |= {"ev": ev, "equity": equity, "eqr": self._eqr(ev, equity)}
        for a, name in enumerate(self.names):
            row[name] = _weighted(likely, self.probs[at, a])
            if values:
                row[f"{name} ev"] = _weighted(likely, self.action_ev[at, a])
        return row

    def _eqr(self, ev: float, equity: float) -> float:
        """How much of the equity is won as EV; nan where there is none but rounding."""
        return ev / (equity * float(self.betting.pot)) if equity > 1e-9 else float("nan")

    def squares(self) -> list[list[Square]]:
        """The grid: pairs on the diagonal, suited hands above it, offsuit hands below.

        Weights are shares of the largest one.
        """
        deck, held = self.tree.holdem.deck, self.hands
        of, names = class_of(deck), class_names(deck)
        here, size = of[held], len(names)
        likely = np.bincount(here, self.chance, size)
        there = np.bincount(here, self.reach, size)
        many = np.bincount(of, deck.compatible(self.board), size)
        mixed = [np.bincount(here, self.chance * share, size) for share in self.probs.T]
        mix = np.divide(mixed, likely, out=np.zeros((len(mixed), size)), where=likely > 0)
        weight = np.divide(there, many, out=np.zeros(size), where=likely > 0)
        weights = (weight / (weight.max() or 1.0)).tolist()
        return in_rows([*map(Square, names, weights, mix.T.tolist())])

    def html(self, picture: str = "") -> str:
        """The grid, or another picture, and how often actions are taken, for notebooks."""
        colours = [look.colour for look in looks(self.actions, self.betting)]
        where = f"after {self.words}" if self.words else "at the root"
        title = f"{SEATS[self.player].upper()} {where}"
        drawn = picture or grid(self.squares(), colours, title)
        return block(title, drawn, legend(self.names, colours, self.frequency.tolist()))

    def _repr_html_(self) -> str:
        return self.html()

    def as_dict(self, only: str = "", *, values: bool = True) -> dict[str, Any]:
        """Everything about the decision as plain data, which JSON can hold."""
        deck, betting = self.tree.holdem.deck, self.betting
        result: dict[str, Any] = {
            "line": self.line,
            "words": self.words,
            "street": STREETS[betting.street],
            "board": deck.name(self.board),
            "player": SEATS[self.player],
            "pot": number(betting.pot),
            "to_call": betting.to_call,
            "behind": list(betting.behind),
            "reach": self.line_frequency,
        }
        if values:
            result["ev"], result["equity"] = list(self.ev), list(self.equity)
            result["eqr"] = [self._eqr(*pair) for pair in zip(self.ev, self.equity, strict=True)]
        result["actions"] = list(self.action_table(values=values))
        result["hands"] = list(self.hand_table(only, values=values))
        result["classes"] = list(self.class_table(only, values=values))
        return result


def _weighted(weights: Floats, values: Floats) -> float:
    """A mean over the values that are known; nan if there are none."""
    some = (weights > 0) & ~np.isnan(values)
    total = weights[some].sum()
    return float(weights[some] @ values[some] / total) if total > 0 else float("nan")


def hands_in(deck: Deck, only: str) -> NDArray[np.bool_]:
    """[hand] whether a hand is in the text of a hand, class or range; all if it is empty."""
    check_hands(deck, only)
    if not only.strip():
        return np.ones(deck.num_hands, dtype=np.bool_)
    return np.asarray(Range.parse(only, deck).weights > 0)


def check_hands(deck: Deck, only: str) -> None:
    """Raise an error if `hands_in` cannot read the text."""
    try:
        if only.strip():
            Range.check(only, deck)
    except SubgameError as error:
        raise SubgameError(
            f"Hands are named as a hand (AhKh), a class (AKs) or a range: {error.sentence}"
        ) from None

"""Evaluation: values, best responses and exploitability, exact in the compiled tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import as_numpy, normalise
from subgame.engines.contract import Engine, Mode, Numbers, Regrets, Response
from subgame.engines.factory import engine
from subgame.errors import SubgameError, brief
from subgame.show.html import data_frame
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

if TYPE_CHECKING:
    from pandas import DataFrame

Floats = NDArray[np.float64]


class Exploitability(float):
    """The mean over both seats of what a best response wins (NashConv / 2).

    It is a float. `per_seat[p]` is what a best response wins against player p's strategy. The mean
    of the two is the exploitability. At an equilibrium they are minus and plus the game's value.

    If the game is not zero-sum (hold'em with a rake), `values` are what both players win with the
    strategy. The float is then the mean of `gains`, what each would gain by a best response.
    """

    per_seat: tuple[float, float]
    values: tuple[float, float] | None

    def __new__(
        cls, per_seat: tuple[float, float], values: tuple[float, float] | None = None
    ) -> Exploitability:
        less = sum(values) if values is not None else 0.0
        made = super().__new__(cls, (per_seat[0] + per_seat[1] - less) / 2)
        made.per_seat, made.values = per_seat, values
        return made

    @property
    def gains(self) -> tuple[float, float] | None:
        """[p] what player p would gain by a best response; None where the game is zero-sum."""
        if self.values is None:
            return None
        return self.per_seat[1] - self.values[0], self.per_seat[0] - self.values[1]

    @property
    def mean(self) -> float:
        """The exploitability as a plain float."""
        return float(self)

    def __repr__(self) -> str:
        more = "" if self.values is None else f", values={self.values!r}"
        return f"Exploitability(mean={float(self)!r}, per_seat={self.per_seat!r}{more})"

    def __reduce__(self) -> tuple[type[Exploitability], tuple[Any, ...]]:
        return Exploitability, (self.per_seat, self.values)


class InfosetValue(NamedTuple):
    """A value at one infoset, in both units that the papers use."""

    counterfactual: float
    """Weighted by the reach of chance and the opponent (Burch et al. 2014)."""
    reach: float
    """That weight, pi_{-i}(I)."""
    normalised: float
    """The first divided by the second: the value conditional on reaching the infoset (Brown &
    Sandholm 2017)."""


@dataclass(frozen=True, eq=False)
class BestResponse:
    """A counterfactual best response of one player to the other's strategy."""

    __repr__ = brief

    player: int
    value: float
    """What it wins for `player` from the root."""
    strategy: Strategy
    """`player` plays the response, the opponent plays the given strategy."""
    values: dict[str, InfosetValue]
    """The counterfactual best-response value (CBV) at every infoset of `player`."""

    def to_pandas(self) -> DataFrame:
        """The values as a pandas data frame: infoset, counterfactual, reach and normalised."""
        rows = ({"infoset": name, **value._asdict()} for name, value in self.values.items())
        return data_frame(rows, ["infoset", *InfosetValue._fields])


def _own(tree: PublicTree, strategy: Strategy) -> Strategy:
    if not isinstance(strategy, Strategy):
        raise SubgameError(f"The strategy must be a Strategy, not {type(strategy).__name__}.")
    if strategy.tree is not tree and strategy.tree.digest != tree.digest:
        raise SubgameError(
            f"The strategy was made for another tree: for {strategy.tree!r}, not for {tree!r}."
        )
    return strategy


def exploitability(
    tree: PublicTree, strategy: Strategy, *, device: str | None = None
) -> Exploitability:
    """The exact exploitability of a strategy; `device` is as in `solve`.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> sg.exploitability(tree, sg.Strategy.uniform(tree)).mean
    0.4583333333333333
    """
    return exploitability_of(engine(tree, device=device), _own(tree, strategy).probs)


def exploitability_of(run: Engine, probs: tuple[Numbers, Numbers]) -> Exploitability:
    """The exploitability of a strategy as an engine stores it."""
    wins = run.responses(probs)
    if run.tree.zero_sum:
        return Exploitability(wins)
    return Exploitability(wins, (value_of(run, probs), value_of(run, probs, 1)))


def expected_value(
    tree: PublicTree,
    strategy: Strategy,
    opponent: Strategy | None = None,
    *,
    device: str | None = None,
) -> float:
    """What player 0 wins on average; with `opponent`, player 1 plays that strategy instead."""
    sigma0 = _own(tree, strategy).probs[0]
    sigma1 = _own(tree, opponent or strategy).probs[1]
    return value_of(engine(tree, device=device), (sigma0, sigma1))


def value_of(run: Engine, probs: tuple[Numbers, Numbers], p: int = 0) -> float:
    """What player `p` wins on average with a strategy as an engine stores it."""
    return total(run, p, run.values(p, probs[p], run.plan(1 - p, probs[1 - p])))


def total(run: Engine, p: int, response: Response) -> float:
    """Player `p`'s value of the whole tree: the sum of root values times reach at the roots."""
    return float((response.roots * as_numpy(run.roots(p))).sum())


class HeadToHead(NamedTuple):
    """What one strategy wins from another, in each seat and on average."""

    mean: float
    per_seat: tuple[float, float]


def head_to_head(tree: PublicTree, strategy: Strategy, opponent: Strategy) -> HeadToHead:
    """What `strategy` wins from `opponent` in each seat and on average.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> solved = sg.solve_lp(tree).strategy
    >>> head_to_head(tree, solved, sg.Strategy.uniform(tree)).mean > 0
    True
    """
    if not tree.zero_sum:
        raise SubgameError(
            f"{tree.game_name} is not zero-sum, so what one strategy wins is not what the other "
            "loses; compare expected values of each player instead."
        )
    first = expected_value(tree, strategy, opponent)
    second = -expected_value(tree, opponent, strategy)
    return HeadToHead((first + second) / 2, (first, second))


def best_response(
    tree: PublicTree, strategy: Strategy, player: int, *, device: str | None = None
) -> BestResponse:
    """The counterfactual best response of `player`, with its value at each infoset.

    Not on hold'em trees, where `exploitability` says what a best response wins.

    >>> import subgame as sg
    >>> tree = sg.compile(sg.games.load("kuhn"))
    >>> response = best_response(tree, sg.Strategy.uniform(tree), player=0)
    >>> response.value, response.strategy["Kpb"]
    (0.5, {'p': 0.0, 'b': 1.0})
    """
    from subgame.tree.sequence.tree import sequence_tree

    if player not in (0, 1):
        raise SubgameError(f"The player must be 0 or 1, not {player}.")
    tree = sequence_tree(tree)
    run, probs = engine(tree, device=device), _own(tree, strategy).probs
    plan = run.plan(1 - player, probs[1 - player])
    response = run.respond(player, plan)
    pure = response.strategy
    assert pure is not None
    assert response.infosets is not None
    both = (pure, probs[1].copy()) if player == 0 else (probs[0].copy(), pure)
    reach = counterfactual_reach(tree, player, plan)
    normalised = normalise(response.infosets, reach)
    rows = zip(response.infosets.tolist(), reach.tolist(), normalised.tolist(), strict=True)
    names = tree.players[player].names
    return BestResponse(
        player=player,
        value=total(run, player, response),
        strategy=Strategy(tree, both),
        values={name: InfosetValue(*row) for name, row in zip(names, rows, strict=True)},
    )


def best_response_strategy(
    tree: PublicTree, strategy: Strategy, player: int, device: str | None = None
) -> NDArray[Any]:
    """[q] a pure best response of `player` to the opponent's strategy, on any tree."""
    run = engine(tree, device=device)
    mine = run.regrets(player)._replace(average=None)
    theirs = Regrets(run.behaviour(1 - player, strategy.probs[1 - player]), None, None)
    rates = run.rates(np.ones((1, 3)), 1)[0]
    run.sweep(player, Mode.RESPOND, (mine, theirs), (rates, rates), (run.roots(0), run.roots(1)))
    return np.asarray(run.current(player, mine, rates))


def counterfactual_reach(tree: PublicTree, player: int, opponent_plan: Floats) -> Floats:
    """[i] pi_{-i}(I): the reach of chance and the opponent at each infoset of `player`."""
    from subgame.tree.sequence.tree import sequence_tree

    tree = sequence_tree(tree)
    side, h = tree.players[player], tree.walked
    here = h.player == player
    weight = h.chance[here] * opponent_plan[tree.located[1 - player][here]]
    by_origin = np.zeros(len(h.tables[player].names))
    np.add.at(by_origin, h.infoset[here], weight)
    return by_origin[side.origin]

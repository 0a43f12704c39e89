"""``subgame bench decisions``: what an agent's decisions lose, beside solutions to the end.

A situation is a line of whole hold'em up to a decision. Its last street was solved to the end of
the game by `tools/make_decisions.py`, with ranges that follow a blueprint and with many bet sizes.
Of the solution the data file keeps, for each hand that may be held, how likely it is and what
each action loses beside the best one, in shares of the pot. The agent is asked what it does with
every hand; its loss is the mean over the hands of the situation.

The agent follows ranges by itself, so a part of what it loses comes from other ranges. With
`causes` it is graded a second time with the ranges of the situation: what it loses then is lost by
the search itself, and the rest by its ranges. A bet that the solution does not have is graded as
the nearest one that it has.

A strategy says nothing of the range of one who bets as it hardly ever does. So lines are left out
that a solution, or the blueprint on the streets before, plays less often than `RARE`. By the same
rule a decision is not graded to which the agent does not come: on some street it plays as on the
line with less than `RARE` of the range with which it came to that street. With the ranges of the
situation that counts on the last street alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, unreadable
from subgame.games import load as load_game
from subgame.games.actions import kind_of
from subgame.games.base import CHANCE
from subgame.games.holdem.game import Holdem
from subgame.games.holdem.rules import total_of
from subgame.games.holdem.sizes import STREETS
from subgame.play.agent import Agent, Event, Policy, policy_of
from subgame.play.hunl.agent import HoldemAgent
from subgame.play.match import mixed_seed
from subgame.play.named import AgentOptions, named_agents
from subgame.play.searching import SearchAgent, actions_of
from subgame.refine.ranges.reached import ReachedRanges
from subgame.solve.workers import own_cores, stopping
from subgame.tree.files import replacing

if TYPE_CHECKING:
    from rich.table import Table

FORMAT = "subgame-decisions-2"
DATA = "decisions.npz"
CORES = 2
"""Cores of each process that grades."""
RARE = 1e-3
"""The share of a range that must go along with a line on each street."""
QUICK = 6
"""Every so many situations are graded with --quick."""
PLAIN = (
    *("name", "kind", "moves", "seat", "street"),
    *("pot", "actions", "exploitability", "frequency"),
)
"""Fields of a situation that a file has as text."""
MISTAKES = ("fold", "call", "raise", "size")
"""Folding, checking or calling, betting or raising at all, and the size of it."""
FEW = 64
"""Iterations below which a solve counts as short."""
CAUSES = ("ranges", "not solved", "few iterations", "size", "other")
"""Why something is lost: the agent came with other ranges; it had no solve or a short one; the size
of a bet; and what is left (values at depth limits, buckets, sizes of later bets)."""
ARRAYS = ("losses", "followed_losses", "weight")
"""Fields of a grade by hand, which are not written."""
LEAST = 1e-4
"""Shares of the pot that count as no loss in a file."""
Floats = NDArray[np.float64]
Row = dict[str, Any]
"""A grade, and other plain data."""


@dataclass(frozen=True, eq=False)
class Situation:
    """A decision with its solution. Axes: h = hand that may be held, a = action."""

    name: str
    kind: str
    """What is faced: a sixth of the pot, an overbet, ..."""
    moves: tuple[tuple[int, str], ...]
    """What both players saw: (player, or -1 for chance, and the action)."""
    seat: int
    street: str
    pot: float
    actions: tuple[str, ...]
    exploitability: float
    """Of the solution, in shares of the pot."""
    frequency: float
    """How often the solution comes here from the start of the street."""
    hands: NDArray[np.int64]  # [h] in the deck's order
    weight: Floats  # [h] sums to 1
    loss: Floats  # [h, a] beside the best action, in shares of the pot

    def losses(self, policy: Policy) -> Floats:
        """[h] what a policy for the hands of the situation loses, in shares of the pot."""
        taken = [nearest(self.actions, action) for action in policy.actions]
        lost: Floats = (policy.probabilities * self.loss[:, taken]).sum(1)
        return lost

    def mistakes(self, policy: Policy) -> dict[str, float]:
        """The mean loss by what is done wrongly; the parts add up to it.

        A raise loses what the best raise loses, and the rest by its size.
        """
        lost = dict.fromkeys(MISTAKES, 0.0)
        raises = [k for k, action in enumerate(self.actions) if kind_of(action) == "raise"]
        for action, often in zip(policy.actions, policy.probabilities.T, strict=True):
            k = nearest(self.actions, action)
            least = self.loss[:, raises].min(1) if k in raises else self.loss[:, k]
            lost[kind_of(self.actions[k])] += float(self.weight @ (often * least))
            lost["size"] += float(self.weight @ (often * (self.loss[:, k] - least)))
        return lost


def nearest(actions: Sequence[str], action: str) -> int:
    """The number of the action, or of the nearest bet, among those of a solution.

    >>> nearest(("f", "c", "r200", "r900"), "r300"), nearest(("c", "r200"), "f")
    (2, 0)
    """
    if action in actions:
        return actions.index(action)
    raises = [k for k, known in enumerate(actions) if kind_of(known) == "raise"]
    if kind_of(action) != "raise" or not raises:
        return actions.index("c")
    size = math.log(float(total_of(action)))
    return min(raises, key=lambda k: abs(math.log(float(total_of(actions[k]))) - size))


# Files ----------------------------------------------------------------------------------------
def write(path: Path, situations: Sequence[Situation], about: Row) -> None:
    """Write situations to a file; weights and losses to within 1 %, losses from 1e-4 on."""
    arrays: dict[str, NDArray[Any]] = {}
    heads = []
    for k, one in enumerate(situations):
        arrays[f"hands {k}"] = one.hands.astype(np.uint16)
        arrays[f"weight {k}"] = _short(one.weight / one.weight.max())
        arrays[f"loss {k}"] = _short(np.where(one.loss < LEAST, 0.0, one.loss))
        heads.append({name: getattr(one, name) for name in PLAIN})
    head = json.dumps({"format": FORMAT, **about, "situations": heads})
    with replacing(path) as new:
        np.savez_compressed(new, about=np.array(head), **arrays)  # type: ignore[arg-type]


def _short(numbers: Floats) -> NDArray[np.float16]:
    """Numbers in 16 bits, of which the last four are zero, so that they can be compressed."""
    bits = numbers.astype(np.float16).view(np.uint16)
    return ((bits + 8) & 0xFFF0).astype(np.uint16).view(np.float16)


def read(path: Path | None = None) -> tuple[list[Situation], Row]:
    """The situations of a file, by default those of the package; and how they were made."""
    if path is None:
        with as_file(files("subgame") / "data" / DATA) as own:
            return read(own)
    wanted = "situations made by tools/make_decisions.py"
    try:
        with np.load(path, allow_pickle=False) as data:
            about = json.loads(str(data["about"]))
            if about.pop("format") != FORMAT:
                raise unreadable(path, "has another format", wanted)
            heads = about.pop("situations")
            return [_situation(data, k, one) for k, one in enumerate(heads)], about
    except (OSError, KeyError, ValueError, TypeError, json.JSONDecodeError):
        raise unreadable(path, "has no situations", wanted) from None


def _situation(data: Any, k: int, fields: Row) -> Situation:
    weight = data[f"weight {k}"].astype(np.float64)
    plain = {name: fields[name] for name in ("name", "kind", "seat", "street", "pot")}
    return Situation(
        **plain,
        moves=tuple((int(player), str(action)) for player, action in fields["moves"]),
        actions=tuple(fields["actions"]),
        exploitability=float(fields["exploitability"]),
        frequency=float(fields["frequency"]),
        hands=data[f"hands {k}"].astype(np.int64),
        weight=weight / weight.sum(),
        loss=data[f"loss {k}"].astype(np.float64),
    )


# Grades ---------------------------------------------------------------------------------------
class Answer(NamedTuple):
    """What an agent does with each hand of a situation."""

    policy: Policy
    frequency: float
    """How much of its range on a street plays as it did on the line: the least of the streets."""

    @property
    def comes(self) -> bool:
        """Whether the agent comes to the situation by its own moves."""
        return self.frequency >= RARE


def asked(agent: Agent, game: Holdem, situation: Situation, *, follow: bool = False) -> Answer:
    """What an agent does at the end of a line.

    It decides at its own decisions on the way, too, as in play. To `follow` is to take the ranges
    of the situation instead: on the streets before, a searching agent plays its blueprint.
    """
    here, seat, moves = ReachedRanges.start(game), situation.seat, situation.moves
    frequency, own = 1.0, np.ones(game.deck.num_hands)
    began = own
    if isinstance(agent, HoldemAgent):
        agent.forget()
    agent.begin(seat, mixed_seed(1))
    dealt = max((k for k, (player, _) in enumerate(moves) if player == CHANCE), default=0)
    if follow and dealt and isinstance(agent, HoldemAgent):
        agent.decided.unsolved[seat, actions_of(moves[:dealt])] = "the blueprint is followed"
    for k, (player, action) in enumerate(moves):
        if player == seat and not (follow and k < dealt):
            own = own * _share(agent, here, action)
            left, before = (float(reach[_free(here)].sum()) for reach in (own, began))
            frequency = min(frequency, left / before if before > 0 else 0.0)
        agent.observe(Event(player, action))
        here = here.child(action)
        if follow and k == dealt and isinstance(agent, HoldemAgent):
            own = agent.followed().reach[seat]
        began = own if player == CHANCE else began
    return Answer(_policy(agent, here, situation.hands), frequency)


def _share(agent: Agent, here: ReachedRanges, action: str) -> Floats:
    """[hand of the deck] how likely an agent takes an action; 0 if it does not have it."""
    hands, share = _free(here), np.zeros(here.game.deck.num_hands)
    policy = _policy(agent, here, hands)
    if action in policy.actions:
        share[hands] = policy.probabilities[:, policy.actions.index(action)]
    return share


def _free(here: ReachedRanges) -> NDArray[np.int64]:
    """The hands that the board leaves."""
    return np.flatnonzero(here.game.deck.compatible(here.board))


def _policy(agent: Agent, here: ReachedRanges, hands: NDArray[np.int64]) -> Policy:
    names = here.names(here.player)
    policy = policy_of(agent, [names[hand] for hand in hands.tolist()], here.actions)
    if policy is None:
        raise SubgameError(f"The strategy of '{agent.name}' is not known, so it has no grades.")
    return policy


def graded(agent: Agent, game: Holdem, situation: Situation, *, follow: bool = False) -> Row:
    """What an agent loses in a situation, in shares of the pot, and with which hands most."""
    answer = asked(agent, game, situation, follow=follow)
    policy = answer.policy
    lost = situation.losses(policy)
    worst = int(np.argmax(lost * situation.weight))
    said = zip(policy.actions, policy.probabilities[worst].round(3).tolist(), strict=True)
    return {
        "name": situation.name,
        "kind": situation.kind,
        "street": situation.street,
        "cause": cause_of(agent, situation, game),
        "frequency": answer.frequency,
        "comes": answer.comes,
        "lost": float(situation.weight @ lost),
        "mistakes": situation.mistakes(policy),
        "worst_hand": game.deck.hand_name(int(situation.hands[worst])),
        "worst_lost": float(lost[worst]),
        "worst_answer": dict(said),
        "losses": lost,
        "weight": situation.weight,
    }


def cause_of(agent: Agent, situation: Situation, game: Holdem) -> str:
    """How the decision was made: without a solve, by a short one, or by a longer one."""
    if not isinstance(agent, SearchAgent):
        return "no search"
    here = ReachedRanges.start(game)
    for _, action in situation.moves:
        here = here.child(action)
    iterations = agent.explained(here.names(here.player)[int(situation.hands[0])]).iterations
    if not iterations:
        return "not solved"
    return "few iterations" if iterations < FEW else "solved"


def causes_of(own: Row, followed: Row) -> dict[str, float]:
    """A loss by cause, from the grades with the agent's ranges and with the situation's.

    The parts add up to what is lost with the agent's ranges.
    """
    causes = dict.fromkeys(CAUSES, 0.0)
    causes["ranges"] = own["lost"] - followed["lost"]
    causes["size"] = followed["mistakes"]["size"]
    cause = followed["cause"] if followed["cause"] in CAUSES else "other"
    causes[cause] += followed["lost"] - causes["size"]
    return causes


def summary(rows: Sequence[Row], what: str) -> Row:
    """The mean loss of some situations, and the 99th percentile over their hands.

    Of the situations to which the agent comes; their number is `graded`.
    """
    graded = [row for row in rows if row["comes"]]
    return {
        "what": what,
        "situations": len(rows),
        "graded": len(graded),
        **_losses(graded, "losses"),
        **{f"by {k}": _mean([row["mistakes"][k] for row in graded]) for k in MISTAKES},
        **_causes(rows),
    }


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _losses(rows: Sequence[Row], field: str) -> Row:
    """The mean and the 99th percentile over hands; none of no situations."""
    if not rows:
        return {"mean": None, "percentile99": None}
    lost = np.concatenate([row[field] for row in rows])
    weight = np.concatenate([row["weight"] for row in rows]) / len(rows)
    return {"mean": float(weight @ lost), "percentile99": percentile(lost, weight)}


def _causes(rows: Sequence[Row]) -> Row:
    """What is lost with the ranges of the situations, and by cause; empty if it is not known."""
    if not all("causes" in row for row in rows):
        return {}
    followed = [row for row in rows if row["followed_comes"]]
    losses = _losses(followed, "followed_losses")
    both = [row["causes"] for row in followed if row["comes"]]
    return {
        "followed graded": len(followed),
        "followed": losses["mean"],
        "followed percentile99": losses["percentile99"],
        "causes": {k: _mean([causes[k] for causes in both]) for k in CAUSES},
    }


def percentile(lost: Floats, weight: Floats, share: float = 0.99) -> float:
    """The loss that this share of the hands does not exceed."""
    order = np.argsort(lost)
    upto = np.searchsorted(np.cumsum(weight[order]), share)
    return float(lost[order][min(int(upto), len(lost) - 1)])


class Task(NamedTuple):
    """A situation and whose decision is graded; it can be sent to another process."""

    agent: str
    options: AgentOptions
    situation: Situation
    causes: bool = False

    def row(self) -> Row:
        """The grade."""
        agent, game = _player(self.agent, self.options)
        row = graded(agent, game, self.situation)
        if self.causes:
            followed = graded(agent, game, self.situation, follow=True)
            row["causes"], row["cause"] = causes_of(row, followed), followed["cause"]
            row["followed"], row["followed_losses"] = followed["lost"], followed["losses"]
            row["followed_comes"] = followed["comes"]
        return row


@lru_cache(maxsize=1)
def _player(agent: str, options: AgentOptions) -> tuple[Agent, Holdem]:
    game = load_game("hunl")
    assert isinstance(game, Holdem)
    return named_agents(game, (agent, "uniform"), options)[0], game


def run(
    *,
    only: str | None = None,
    quick: bool = False,
    progress: Callable[[str], None],
    agent: str = "limited",
    options: AgentOptions | None = None,
    file: Path | None = None,
    jobs: int = 1,
    causes: bool = False,
) -> Row:
    """Grade an agent; `only` is a street or a kind of situation.

    With several `jobs` as many processes grade, each on `CORES` cores. With `causes` each situation
    is graded twice, and what is lost is divided by cause.
    """
    situations, about = read(file)
    known = {one.street for one in situations} | {one.kind for one in situations}
    if only is not None and only not in known:
        raise SubgameError(f"There are no situations '{only}', but {', '.join(sorted(known))}.")
    chosen = [one for one in situations if only in (None, one.street, one.kind)]
    chosen = chosen[::QUICK] if quick else chosen
    options, rows = options or AgentOptions(), list[Row]()
    tasks = [Task(agent, options, one, causes) for one in chosen]
    with ExitStack() as stack:
        pool = stack.enter_context(stopping(own_cores(jobs, CORES))) if jobs > 1 else None
        for row in map(Task.row, tasks) if pool is None else pool.map(Task.row, tasks):
            rows.append(row)
            progress(_line(row))
    groups = [summary(rows, "all")]
    for key in ("street", "cause", "kind"):
        for name in sorted({str(row[key]) for row in rows}, key=_order):
            some = [row for row in rows if row[key] == name]
            groups.append(summary(some, name))
    kept = [{name: value for name, value in row.items() if name not in ARRAYS} for row in rows]
    return {
        "agent": agent,
        "seconds": options.seconds,
        "iterations": options.iterations,
        "made": about,
        "groups": groups,
        "situations": kept,
    }


def _line(row: Row) -> str:
    """A grade in words."""
    lost = f"loses {row['lost']:.2%} of the pot" if row["comes"] else "the agent does not come here"
    also = ""
    if "followed" in row:
        loss = f"{row['followed']:.2%}" if row["followed_comes"] else "nor"
        also = f" ({loss} with its ranges)"
    return f"{row['name']}: {lost}{also}, {row['cause']}"


def _order(name: str) -> tuple[int, str]:
    return (STREETS.index(name) if name in STREETS else len(STREETS)), name


def table(grades: Row) -> Table:
    """The grades as a table."""
    from rich import box
    from rich.table import Table

    title = f"What {grades['agent']} loses with {grades['seconds']:g} s a decision, in pots"
    shown = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    causes = "causes" in grades["groups"][0]
    more = ("with its ranges", "number", *CAUSES) if causes else ()
    for name in ("situations", "number", "mean", "99th percentile", *more):
        shown.add_column(name, justify="left" if name == "situations" else "right")
    for group in grades["groups"]:
        cells = [_share_text(group["mean"]), _share_text(group["percentile99"], 1)]
        if causes:
            cells += [_share_text(group["followed"]), f"{group['followed graded']}"]
            cells += [_share_text(part) for part in group["causes"].values()]
        shown.add_row(group["what"], f"{group['graded']}", *cells)
    return shown


def _share_text(share: float | None, digits: int = 2) -> str:
    return "" if share is None else f"{share:.{digits}%}"

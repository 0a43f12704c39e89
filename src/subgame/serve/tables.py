"""Tables: a person in the browser plays a game against an agent.

A table is a row in the store: the game, the opponent, the seed, the hands that are over and the
person's actions in the hand that is not. A hand runs in a thread that waits for the person's
actions. After a restart it is played again up to where it was, because agents draw by seeds only.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from queue import Queue
from random import SystemRandom
from typing import TYPE_CHECKING, Any, cast

from subgame.errors import SubgameError
from subgame.play.agent import Agent, Event, Watcher
from subgame.serve.grades import Background, graded_or_why, grades, moves_of, own_seat, past, result
from subgame.serve.store import Row, Store
from subgame.serve.table_views import (
    ITERATIONS,
    SEARCHING,
    SPOT,
    THINKS,
    chips_and_cards,
    fitting,
    line_of_play,
    named_actions,
    searching,
    title,
)
from subgame.serve.witness import Witness

if TYPE_CHECKING:
    from subgame.games.base import Game, State
    from subgame.games.holdem.game import Holdem
    from subgame.games.holdem.rules import Betting
    from subgame.play.aivat import Aivat, ValueFunction
    from subgame.serve.solutions import Opened
    from subgame.tree.strategy import Strategy

LIVE = 32
"""Tables that are kept in memory; others are played again when they are asked for."""
SOON = 1.0
"""Seconds that an answer waits for the opponent."""
PAST = 200
"""Hands that are over of which the page shows a list."""


class _LeftError(Exception):
    """The person's table is no longer kept in memory."""


class Seat(Watcher):
    """The person: waits for an action. `script` is what was done before a restart."""

    name = "you"

    def __init__(self, table: Live, script: Sequence[str]) -> None:
        self.table, self.script = table, list(script)
        self.events: list[Event] = []
        self.holds = ""
        """The person's cards in hold'em, once they are dealt."""

    def begin(self, seat: int, seed: int) -> None:
        super().begin(seat, seed)
        self.events.clear()
        self.holds = ""

    def watch(self, number: int, state: State) -> None:
        if not self.holds and hasattr(self.table.game, "deck"):
            self.holds = (state.information_state(self.seat) or "").partition(" | ")[0]

    def observe(self, event: Event) -> None:
        self.events.append(event)

    def act(self, infoset: str, legal: Sequence[str]) -> str:
        if self.script:
            return self.script.pop(0)
        return self.table.wait(infoset, tuple(legal))


class Live:
    """A table in memory: the thread that plays the hand, and what it waits for."""

    def __init__(self, tables: Tables, row: Row, game: Game, make: Callable[[], Agent]) -> None:
        self.tables, self.row, self.game, self.make = tables, row, game, make
        self.witness: Witness | None = None  # made by the thread: a blueprint may be solved first
        self.since = time.monotonic()
        self.seat = Seat(self, row["current"])
        self.answers: Queue[str | None] = Queue()
        self.lock = threading.Condition()
        self.asked: tuple[str, tuple[str, ...]] | None = None
        self.error, self.counting = "", False
        self.luck: Aivat | None = None
        self.values: ValueFunction | None = None
        self.thread: threading.Thread | None = None
        self.left = False
        """Whether another `Live` has the table."""
        if self.graded_by_agent:
            for record in row["hands"][-PAST:]:
                self._grade_later(record)
        self.begin()

    def begin(self) -> None:
        """Start the thread of the next hand, unless one is over and still looked at."""
        if self.row["state"] == "over":
            self._remember(self.row["hands"][-1])
            return
        self.thread = threading.Thread(target=self._play, args=[self.thread], daemon=True)
        self.thread.start()

    def _remember(self, hand: Row) -> None:
        """What the person saw of a hand that is over."""
        self.seat.begin(own_seat(hand), 0)
        state = self.game.new_initial_state()
        for player, action in hand["moves"]:
            if state.is_public(action):
                self.seat.observe(Event(player, action))
            state = state.child(action)

    def _play(self, before: threading.Thread | None) -> None:
        from subgame.play.match import play_hand
        from subgame.refine.verbs.cut import start_of

        if before is not None:
            before.join()  # it may still ask the agent for its strategy
        row = self.row
        try:
            if self.witness is None:
                every = hasattr(self.game, "deck") or row["opponent"] in SEARCHING
                self.witness = Witness(self.make(), start_of(self.game) if every else None)
            hand = play_hand(self.game, (self.seat, self.witness), len(row["hands"]), row["seed"])
        except _LeftError:
            return
        except (SubgameError, MemoryError) as error:
            with self.lock:
                ended = "The opponent ran out of memory."
                self.error = error.sentence if isinstance(error, SubgameError) else ended
                self.lock.notify_all()
            return
        with self.lock:
            for step in row["hands"][-1]["reveal"] if row["hands"] else ():
                step.pop("range", None)  # only that of the last hand is kept
            row["hands"].append(hand.record() | {"reveal": self.witness.steps})
            row["current"], row["state"], self.asked = [], "over", None
            self.counting = True
            self.tables.store.put("tables", row)
            self.lock.notify_all()
        self._count(self.witness)

    def _count(self, witness: Witness) -> None:
        """What the hands are worth by AIVAT, if the opponent knows its strategy.

        One that solves while it plays is held to what it said in the hand.
        """
        from subgame.play.aivat import Aivat, is_known, value_function
        from subgame.play.match import Hand

        agent, searching = witness.inner, self.row["opponent"] in SEARCHING
        with suppress(SubgameError, MemoryError):
            self.values = self.values or value_function(self.game, agent)
            if searching:
                self.luck = Aivat(self.game, witness.recalled, self.values)
            elif self.luck is None and is_known(self.game, agent):
                self.luck = Aivat(self.game, agent, self.values)
            for record in self.row["hands"][-1:] if searching else self.row["hands"]:
                if self.luck is not None and "aivat" not in record:
                    record["aivat"] = -self.luck.estimate(Hand.of(record), 1)
        with suppress(SubgameError, MemoryError):
            self._grade(self.row["hands"][-1])
        with self.lock:
            self.counting = False
            self.tables.store.put("tables", self.row)

    @cached_property
    def graded_by_agent(self) -> bool:
        """Whether hands are graded by what the agent solves: those of its own game."""
        from subgame.play.named import whole_blueprint

        return not self.row["game"].startswith(SPOT) and whole_blueprint(self.game) is not None

    def _grade(self, record: Row) -> None:
        """What each decision of the person cost: by the solved spot, or later by the agent."""
        solution = self.tables.solution(self.row["game"])
        if solution is not None:
            with solution.lock:
                record["grades"] = grades(solution.solved, moves_of(record), own_seat(record))
        elif self.graded_by_agent:
            self._grade_later(record)

    def _grade_later(self, record: Row) -> None:
        """Grade a hand in the background, unless it was; hands that saw fewer cards come first."""

        def work() -> None:
            if self.left:
                return
            rows, why = graded_or_why(cast("Holdem", self.game), moves_of(record), own_seat(record))
            with self.lock:
                record["grades"], record["why"] = rows, why
                if not self.left:
                    self.tables.store.put("tables", self.row)

        if "grades" not in record:
            self.tables.background.do(work, cost=sum(player < 0 for player, _ in moves_of(record)))

    def wait(self, infoset: str, legal: tuple[str, ...]) -> str:
        """Wait for the person's action; called by the thread of the hand."""
        with self.lock:
            self.asked = (infoset, legal)
            self.lock.notify_all()
        action = self.answers.get()
        if action is None:
            raise _LeftError
        return action

    def act(self, action: str) -> None:
        """The person acts."""
        with self.lock:
            if self.asked is None:
                raise SubgameError("It is not your turn.")
            legal = self.asked[1]
            if action not in legal and not self._allows(action):
                raise SubgameError(
                    f"'{action[:40]}' is not legal here; the actions are {', '.join(legal)}"
                    f"{self._bets()}."
                )
            self.asked, self.since = None, time.monotonic()
            self.row["current"] = [*self.row["current"], action]
            self.tables.store.put("tables", self.row)
            self.answers.put(action)

    def _allows(self, action: str) -> bool:
        if (betting := self.betting()) is None:
            return False
        with suppress(SubgameError):
            betting.child(action)
            return True
        return False

    def _bets(self) -> str:
        betting = self.betting()
        if betting is None or betting.least_raise is None:
            return ""
        return f" and r with a total from {betting.least_raise} to {betting.most_raise}"

    def next(self) -> None:
        """Deal the next hand."""
        with self.lock:
            if self.row["state"] != "over":
                raise SubgameError("The hand is not over.")
            self.row["state"], self.since = "playing", time.monotonic()
            self.tables.store.put("tables", self.row)
        self.seat = Seat(self, [])
        self.begin()

    def settle(self) -> None:
        """Wait a moment for the opponent."""
        with self.lock:
            self.lock.wait_for(
                lambda: self.asked or self.error or self.row["state"] == "over", SOON
            )

    def leave(self) -> None:
        """End the thread; the table stays in the store."""
        with self.lock:
            self.left = True
        self.answers.put(None)

    # What is shown ---------------------------------------------------------------------------
    def betting(self) -> Betting | None:
        """The betting so far, in games with bets of any size."""
        from subgame.games.holdem.rules import Betting

        betting = getattr(self.game.new_initial_state(), "betting", None)
        if not isinstance(betting, Betting):
            return None
        for event in self.seat.events:
            if event.player >= 0:
                betting = betting.child(event.action)
        return betting

    @property
    def grading(self) -> int:
        """How many hands wait for their grades."""
        hands = self.row["hands"][-PAST:] if self.graded_by_agent else ()
        return sum("grades" not in hand for hand in hands)

    def view(self) -> dict[str, Any]:
        """Everything that the page shows."""
        with self.lock:
            row = self.row
            over = row["state"] == "over"
            number = len(row["hands"]) - over
            state = "over" if over else "your turn" if self.asked else "thinking"
            shown: dict[str, Any] = {
                "id": row["id"],
                "game": row["game"],
                "title": row["title"],
                "opponent": row["opponent"],
                "opponent_name": row.get("opponent_name", row["opponent"]),
                "seed": row["seed"],
                "number": number + 1,
                "seat": number % 2,
                "state": state,
                "error": self.error,
                "result": result(row, self.game),
                "last": row["hands"][-1] if over else None,
                "counting": self.counting,
                "past": [past(hand) for hand in row["hands"][-PAST:]],
                "grading": self.grading,
            }
            if state == "thinking":
                shown["thinking"] = {
                    "seconds": round(time.monotonic() - self.since, 1),
                    "most": THINKS if row["opponent"] in SEARCHING and self.witness else None,
                    "preparing": self.witness is None,
                }
            if self.asked:
                infoset, legal = self.asked
                shown |= {"knows": infoset, "legal": named_actions(self.betting(), legal)}
            if (betting := self.betting()) is not None and hasattr(self.game, "deck"):
                game, seat = cast("Holdem", self.game), self.seat
                shown["holdem"] = {
                    "hands": self._hands(over),
                    **chips_and_cards(game, seat.events, betting, open=self.asked is not None),
                    "line": line_of_play(game, seat.events, seat.seat),
                }
            elif betting is not None and self.asked:
                shown["bets"] = {"least": betting.least_raise, "most": betting.most_raise}
            return shown

    def _hands(self, over: bool) -> list[str]:
        """Both players' cards as far as the person sees them."""
        if over:
            return [move[1] for move in self.row["hands"][-1]["moves"][:2]]
        hands = ["", ""]
        hands[self.seat.seat] = self.seat.holds
        return hands


class Tables:
    """All tables; the last ones that were used are in memory."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._live: OrderedDict[str, Live] = OrderedDict()
        self._lock = threading.RLock()
        self.background = Background()

    def open(self, game: str, opponent: str, seed: int | None = None) -> dict[str, object]:
        """A new table."""
        made, make = self._made(game, opponent)
        stored = opponent.startswith(SPOT)
        row = self.store.add(
            "tables",
            {
                "game": game,
                "title": title(game, made),
                "opponent": opponent,
                "opponent_name": make().name if stored else opponent,
                "seed": SystemRandom().randrange(2**31) if seed is None else seed,
                "hands": [],
                "current": [],
                "state": "playing",
            },
        )
        return self._keep(Live(self, row, made, make))

    def get(self, id: str) -> Live:
        """A table by its identifier; it is played again up to where it was if need be."""
        with self._lock:
            if (live := self._live.get(id)) is not None:
                self._live.move_to_end(id)
                return live
            row = self.store.get("tables", id)
            live = Live(self, row, *self._made(row["game"], row["opponent"]))
            self._keep(live)
            return live

    def act(self, id: str, action: str) -> dict[str, object]:
        """The person acts at a table."""
        live = self.get(id)
        live.settle()
        live.act(action)
        live.settle()
        return live.view()

    def next(self, id: str) -> dict[str, object]:
        """Deal the next hand at a table."""
        live = self.get(id)
        live.next()
        live.settle()
        return live.view()

    def view(self, id: str) -> dict[str, object]:
        """What is shown of a table."""
        live = self.get(id)
        live.settle()
        return live.view()

    def phh(self, id: str) -> str:
        """The hands of a table as PHH."""
        from subgame.play.match import Hand
        from subgame.play.protocols.acpc import whole_game
        from subgame.play.protocols.histories import History, write_phh

        live = self.get(id)
        hands = [Hand.of(record) for record in live.row["hands"]]
        names = ("you", live.view()["opponent_name"])
        return "".join(write_phh(History(whole_game(live.game), names, hands)))

    def close(self) -> None:
        """End all threads."""
        for live in self._live.values():
            live.leave()

    def _keep(self, live: Live) -> dict[str, object]:
        with self._lock:
            self._live[live.row["id"]] = live
            while len(self._live) > LIVE:
                self._live.popitem(last=False)[1].leave()
        live.settle()
        return live.view()

    def agents(self, game: str) -> list[str]:
        """The agents that can play a game."""
        return fitting(*self._game(game))

    def _game(self, game: str) -> tuple[Game, Strategy | None]:
        """A game by its name, and the solution if it is a spot's."""
        from subgame.serve.public_trees import load_game

        if not game.startswith(SPOT):
            return load_game(self.store.data, game), None
        strategy = self._strategy(game.removeprefix(SPOT))
        own = getattr(strategy.tree, "holdem", None)
        return own or load_game(self.store.data, strategy.tree.game_name), strategy

    def _made(self, game: str, opponent: str) -> tuple[Game, Callable[[], Agent]]:
        """The game by its name, and what makes the opponent."""
        from subgame.play.named import load_agent

        made, strategy = self._game(game)
        if opponent.startswith(SPOT):
            stored = self._stored(made, opponent.removeprefix(SPOT))
            return made, lambda: stored
        known = fitting(made, strategy)
        if opponent not in known:
            raise SubgameError(
                f"There is no agent called '{opponent[:40]}' for this game; the agents are "
                f"{', '.join(known)} and solutions."
            )
        if opponent in SEARCHING and strategy is not None:
            return made, partial(searching, opponent, strategy)
        return made, partial(load_agent, made, opponent, seconds=THINKS, iterations=ITERATIONS)

    def _strategy(self, job: str) -> Strategy:
        from subgame.serve.worker import STRATEGY, read_strategy

        row = self.store.get("jobs", job)
        if not (self.store.folder(job) / STRATEGY).exists():
            raise SubgameError("That job has no solution.")
        return read_strategy(self.store.data, job, row["task"])[0]

    def solution(self, game: str) -> Opened | None:
        """The solution of a spot of hold'em by the name of its game; None of other games."""
        from subgame.serve.solutions import opened
        from subgame.serve.worker import STRATEGY

        if not game.startswith(SPOT):
            return None
        row = self.store.get("jobs", game.removeprefix(SPOT))
        if "spot" not in (row.get("result") or {}):
            return None
        return opened(self.store.folder(row["id"]) / STRATEGY, row["task"]["memory_limit"])

    def _stored(self, game: Game, job: str) -> Agent:
        from subgame.play.strategies import BettingGame, StrategyAgent, Translated

        strategy = self._strategy(job)
        name = self.store.get("jobs", job)["name"]
        if strategy.tree.game_name == str(game):
            return StrategyAgent(strategy, name)
        own = getattr(strategy.tree, "holdem", None)
        if isinstance(own, BettingGame) and isinstance(game, BettingGame):
            return Translated(strategy, own, game, name=name)
        raise SubgameError(f"That solution was made for {strategy.tree.game_name}, not for {game}.")

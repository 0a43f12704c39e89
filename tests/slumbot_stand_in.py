"""A stand-in for Slumbot: it follows the public HTTP protocol and plays at random.

It is not Slumbot. Its rules, chips and results are PokerKit's, and it writes actions and amounts by
itself, so that it is independent of what is tested.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, Self

Change = Callable[[dict[str, Any], int], Any]
"""What is answered instead, from the right answer and the number of the request."""


class StandIn:
    """The server, in a thread; `requests` are what it was asked."""

    def __init__(self, prefix: str = "/slumbot/api", change: Change | None = None) -> None:
        self.rng, self.prefix, self.change = random.Random(3), prefix, change
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.results: list[int] = []
        self.hands = 0
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = stand_in.answer(self.path, body)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        name = path.removeprefix(f"{self.prefix}/")
        self.requests.append((name, body))
        if name == "new_hand":
            self._deal()
        elif name == "act" and body.get("token") == self.token:
            self._act(str(body["incr"]))
        else:
            return 404, {"error_msg": f"no request {path} with this token"}
        right = self._told()
        if self.change is None:
            return 200, right
        changed = self.change(right, len(self.requests))
        return changed if isinstance(changed, tuple) else (200, changed)

    def _deal(self) -> None:
        kit: Any = import_module("pokerkit")
        by_hand = ("RUNOUT_COUNT_SELECTION", "HOLE_DEALING", "CARD_BURNING", "BOARD_DEALING")
        automatic = tuple(
            automation for automation in kit.Automation if automation.name not in by_hand
        )
        self.state = kit.NoLimitTexasHoldem.create_state(
            automatic, True, 0, (50, 100), 100, 20000, 2
        )
        deck = [rank + suit for rank in "23456789TJQKA" for suit in "cdhs"]
        cards = self.rng.sample(deck, 9)
        self.holes, self.board = (cards[:2], cards[2:4]), cards[4:]
        for hole in self.holes:
            self.state.deal_hole("".join(hole))
        self.hands += 1
        self.position, self.line, self.shown = self.hands % 2, "", 0
        self.token = f"token-{self.hands}"  # it may change, and clients must follow
        self._bot()

    def _act(self, text: str) -> None:
        state, player = self.state, self.state.actor_index
        assert player == self.position
        if text == "f":
            state.fold()
        elif text in ("k", "c"):
            assert (text == "k") == (state.checking_or_calling_amount == 0)
            state.check_or_call()
        else:
            assert text[0] == "b"
            state.complete_bet_or_raise_to(int(text[1:]))
        self._note(text)
        self._bot()

    def _bot(self) -> None:
        state = self.state
        while state.actor_index == 1 - self.position:
            least = state.min_completion_betting_or_raising_to_amount
            most = state.max_completion_betting_or_raising_to_amount
            to_call = state.checking_or_calling_amount
            kinds = ["call"] * 3 + ["fold"] * bool(to_call) + ["bet", "min"] * (least is not None)
            kind = self.rng.choice(kinds)
            if kind == "fold":
                state.fold()
                self._note("f")
            elif kind == "call":
                state.check_or_call()
                self._note("c" if to_call else "k")
            else:
                amount = least if kind == "min" else self.rng.randint(least, most)
                state.complete_bet_or_raise_to(amount)
                self._note(f"b{amount}")

    def _note(self, text: str) -> None:
        """Write an action down; deal what follows, also after an all-in."""
        self.line += text
        while self.state.can_burn_card():
            self.state.burn_card("??")
            count = 1 if self.shown else 3
            self.state.deal_board("".join(self.board[self.shown : self.shown + count]))
            self.shown += count
            self.line += "/"

    def _told(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "old_action": "",
            "action": self.line,
            "client_pos": self.position,
            "hole_cards": self.holes[self.position],
            "board": self.board[: self.shown],
            "token": self.token,
        }
        if not self.state.status:
            won = int(self.state.payoffs[self.position])
            self.results.append(won)
            options |= {"bot_hole_cards": self.holes[1 - self.position], "winnings": won}
        return options

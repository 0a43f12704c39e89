"""The output of ``subgame endgame``: grids and figures as text, and the JSON object."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from subgame.cli.common import STOPPED, emit, iterations_text, seconds_text, stdout
from subgame.cli.console import next_steps
from subgame.cli.line import PLACE, Line
from subgame.errors import SubgameError, human_bytes
from subgame.games.holdem.cards import DECK

if TYPE_CHECKING:
    from subgame.cli.spot import Keeping, Looking
    from subgame.solve.evaluate import Exploitability
    from subgame.solve.results import Result
    from subgame.spots.decisions import Decision
    from subgame.spots.endgame import Endgame
    from subgame.spots.tables import Table as Rows

PLAYERS = ("OOP", "IP")
TABLES = {"hands": "hand_table", "classes": "class_table", "actions": "action_table"}
"""The tables that can be printed as CSV, and the methods that make them."""
GHOSTS = 12
"""Decisions that are listed of those that are hardly ever reached."""
FEW = 6
"""Classes up to which every hand is shown."""


class Saved(NamedTuple):
    """What a file says of the solve that made it, as a `Result` would."""

    schedule: str
    iterations: int
    exploitability: Exploitability
    seconds: float = math.nan
    stopped: str = "saved"


@dataclass(frozen=True)
class Shown:
    """A result with everything that is shown of it."""

    solved: Endgame
    result: Result | Saved
    memory: int
    decisions: Sequence[Decision]
    failure: SubgameError | None = None

    def as_dict(self) -> dict[str, object]:
        """The output of ``--json``."""
        from subgame.games.holdem.sizes import number
        from subgame.solve.results import gains_said

        solved, game = self.solved, self.solved.tree.holdem
        result, half = self.result, solved.pot / 2
        gap = result.exploitability
        best = [wins + half for wins in reversed(gap.per_seat)]
        first, *others = self.decisions
        answer: dict[str, Any] = {
            "board": game.deck.name(game.board),
            "pot": solved.pot,
            "stacks": [number(stack) for stack in game.rules.stacks],
            "bets": str(game.bets),
            "ev": list(solved.ev),
            "equity": list(solved.equity),
            "best_response_ev": best,
            "exploitability": gap.mean,
            "exploitability_percent": 100 * gap.mean / solved.pot,
            **gains_said(gap),
            "iterations": result.iterations,
            "seconds": result.seconds,
            "schedule": result.schedule,
            "stopped": result.stopped,
            "nodes": solved.tree.num_nodes,
            "memory_bytes": self.memory,
            **_actions(first),
            "root": first.table(),
        }
        for decision in others:
            actions = _actions(decision)
            if decision.line == "c":
                answer |= {f"ip_{name}": what for name, what in actions.items()}
                answer["ip"] = decision.table()
            else:
                where = {"after": decision.line, "player": PLAYERS[decision.player].lower()}
                answer["line"] = {**where, **actions, "strategy": decision.table()}
        answer["hands"] = {"oop": solved.hands(0), "ip": solved.hands(1)}
        return answer

    def write(self, looking: Looking, keeping: Keeping, line: Line) -> None:
        """The output of the command: JSON, CSV or text."""
        out = None if self.failure else keeping.out
        shown = self.decisions[-1] if looking.line else self.decisions[0]
        if looking.csv == "ghosts":
            print(self._ghosts(shown).to_csv(), end="")
        elif looking.csv is not None:
            only = {} if looking.csv == "actions" else {"only": looking.hand or ""}
            print(getattr(shown, TABLES[looking.csv])(**only).to_csv(), end="")
        elif looking.json:
            more: dict[str, Any] = {"out": str(out)} if out is not None else {}
            if looking.line or looking.hand:
                more["decision"] = shown.as_dict(looking.hand or "")
            if looking.ghosts:
                more["ghosts"] = list(self._ghosts(shown))
            emit(self.as_dict() | more)
        else:
            self.print(stdout(), line, out, looking)

    def print(self, console: Console, line: Line, out: Path | None, looking: Looking) -> None:
        """Print the grids, the figures and what to try next."""
        from subgame.cli import hand_grid

        side = len(self.solved.tree.holdem.deck.ranks)
        together = hand_grid.beside(console, side) and len(self.decisions) > 1
        width = hand_grid.MOST - 1 if together else hand_grid.cell_width(console, side)
        drawn = [hand_grid.draw(d, title(d), console, width) for d in self.decisions]
        if together:
            pair = Table.grid(padding=(0, 4, 0, 0))
            pair.add_row(*drawn[:2])
            drawn = [pair, *drawn[2:]]
        parts = [part for one in (self._heading(), *drawn) for part in (one, Text())]
        shown = self.decisions[-1] if looking.line else self.decisions[0]
        if looking.line or looking.hand:
            parts += [values_text(shown), Text()]
        if looking.hand:
            parts.append(hand_values(shown, looking.hand))
        if looking.ghosts:
            parts += [ghosts_text(self._ghosts(shown)), Text()]
        console.print(Group(*parts, self._figures(), Text(), self._summary()))
        self._lead_on(console, line, out)

    def _ghosts(self, shown: Decision) -> Rows:
        """Decisions that are hardly ever reached on the board of a decision."""
        deck, game = shown.tree.holdem.deck, shown.tree.holdem
        return self.solved.off_path(deck.name(shown.walk.board[len(game.board) :]))

    def _heading(self) -> Text:
        from subgame.cli.hand_grid import cards_text
        from subgame.games.holdem.sizes import STREETS

        game = self.solved.tree.holdem
        bets = str(game.bets.since(STREETS[game.start().street]))
        mine, yours = game.rules.stacks
        behind = f"{mine:,}" if mine == yours else f"{mine:,} and {yours:,}"
        spot = f"   pot {self.solved.pot:,}, {behind} behind   "
        return Text.assemble(cards_text(game.deck, game.board), spot, (bets, "dim"))

    def _figures(self) -> Table:
        """EV and equity of both players."""
        solved, grid = self.solved, Table.grid(padding=(0, 3, 0, 0))
        grid.add_column()
        for _ in PLAYERS:
            grid.add_column(justify="right")
        grid.add_column(style="dim")
        digits = 2 if solved.pot >= 10 else 4
        evs = [f"{ev:,.{digits}f}" for ev in solved.ev]
        shares = [f"{100 * share:.2f} %" for share in solved.equity]
        combos = [f"{side.reach.sum():,.6g}" for side in solved.tree.players]
        rows = [
            ("  EV", evs, f"chips, of a pot of {solved.pot:,}"),
            ("  equity", shares, "share of the pot with no further betting"),
            ("  range", combos, "hands in the range, by weight"),
        ]
        grid.add_row("", *(Text(name, style="bold") for name in PLAYERS), "")
        for name, values, note in rows:
            grid.add_row(name, *(Text(value, style="bold") for value in values), note)
        return grid

    def _summary(self) -> Table:
        grid, pot = Table.grid(padding=(0, 3, 0, 0)), self.solved.pot
        result, gains = self.result, self.result.exploitability.gains
        gap = max(result.exploitability.mean, 0.0)
        figure = f"{gap:.3g} chips, {100 * gap / pot:.3g} % of the pot"
        if gains is None:
            grid.add_row("  exploitability", Text(figure, style="bold"))
        else:
            by_player = (
                f"{name} {max(g, 0.0):.3g}" for name, g in zip(PLAYERS, gains, strict=True)
            )
            grid.add_row(
                "  best-response gain", Text(f"{', '.join(by_player)} chips", style="bold")
            )
            grid.add_row("", f"mean {figure}")
            grid.add_row("  rake", self._rake())
        deck = self.solved.tree.holdem.deck
        if deck != DECK:
            grid.add_row("  deck", f"{deck.size} cards, ranking {deck.ranking}")
        if self.solved.tree.holdem.folded:
            grid.add_row("  folded", f"{len(self.solved.tree.holdem.folded)} ranges (bunching)")
        why = STOPPED.get(result.stopped, "read from a file")
        done = f"{iterations_text(result.iterations)} of {result.schedule}"
        grid.add_row("  solved by", f"{done}; {why}")
        if not math.isnan(result.seconds):
            grid.add_row("  time", seconds_text(result.seconds))
        nodes = self.solved.tree.num_nodes
        grid.add_row("  memory", f"{human_bytes(self.memory)} for {nodes:,} nodes")
        return grid

    def _rake(self) -> str:
        """The rake, and what is paid of it on average; the EVs sum to the rest of the pot."""
        rules, solved = self.solved.tree.holdem.rules, self.solved
        cap = "" if math.isinf(rules.rake_cap) else f", at most {rules.rake_cap:g} chips"
        paid = max(0.0, solved.pot - sum(solved.ev))
        return (
            f"{100 * rules.rake:g} %{cap}; {paid:.3g} chips on average, so the game is not zero-sum"
        )

    def _lead_on(self, console: Console, line: Line, out: Path | None) -> None:
        first, steps = self.decisions[0], []
        again = line.again(without=["--line", "--out"])
        if out is not None:
            again = line.then("endgame", shlex.quote(str(out)), ["--threads", *PLACE])
        bets = [pair for pair in zip(first.actions, first.names, strict=True) if pair[0][0] == "r"]
        if bets and len(self.decisions) < 3:
            action, name = bets[0]
            steps.append(
                (f"{again} --line {action}", f"show IP's response to {_noun(action, name)}")
            )
        if out is not None:
            steps.append((again, "show it again without solving"))
        elif self.result.stopped != "saved":
            steps.append((f"{again} --out spot.safetensors", "save the solution"))
        if steps:
            next_steps(console, *steps)


def _noun(action: str, name: str) -> str:
    """A bet as one speaks of it.

    >>> _noun("r50", "bet 50"), _noun("r1000", "all-in 1,000")
    ('a bet of 50', 'an all-in')
    """
    from subgame.spots.lines import amount, chips_text

    return "an all-in" if name.startswith("all-in") else f"a bet of {chips_text(amount(action))}"


def title(decision: Decision) -> Text:
    """Who acts, and after which actions and cards."""
    from subgame.cli.hand_grid import cards_text
    from subgame.games.holdem.sizes import STREETS
    from subgame.spots.lines import action_name

    deck, walk = decision.tree.holdem.deck, decision.walk
    past, board = list[Text](), decision.tree.holdem.board
    for step in (*walk.steps, None):
        now = walk.board if step is None else step.board
        if len(now) > len(board):
            past.append(cards_text(deck, now[len(board) :]))
            board = now
        if step is not None:
            words = action_name(step.betting, step.action)
            past.append(Text(f"{PLAYERS[step.betting.player]} {words}"))
    street = STREETS[walk.betting.street]
    when = Text(" after ") if past else Text(f" first to act on the {street}")
    return Text.assemble((PLAYERS[decision.player], "bold"), when, Text(", ").join(past))


def ghosts_text(rows: Rows) -> Table:
    """What play loses at decisions that are hardly ever reached, the largest losses first."""
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_column()
    grid.add_column()
    grid.add_column(justify="right")
    grid.add_column(justify="right")
    heads = ("  hardly ever reached", "to act", "reached", "play loses")
    grid.add_row(*(Text(head, style="bold") for head in heads))
    for row in sorted(rows, key=lambda row: -row["loss"])[:GHOSTS]:
        lost = f"{row['loss']:.3g} chips, {row['loss_percent']:.2g} %"
        often = f"{100 * row['reach']:.1g} %"
        grid.add_row(f"  {row['line']}", row["player"].upper(), often, lost)
    if not rows:
        grid.add_row("  none", "", "", "")
    if len(rows) > GHOSTS:
        grid.add_row(f"  and {len(rows) - GHOSTS} more: --csv ghosts", "", "", "")
    return grid


def values_text(decision: Decision) -> Text:
    """Pot, reach, EV, equity and EQR at a decision, in a line."""
    from subgame.spots.lines import chips_text

    betting, text = decision.betting, Text("  here: ")
    text.append(f"pot {chips_text(betting.pot)}", "bold")
    if betting.to_call:
        text.append(f", {chips_text(betting.to_call)} to call")
    text.append(f", reached {100 * decision.line_frequency:.3g} %")
    for player, ev, share in zip(PLAYERS, decision.ev, decision.equity, strict=True):
        eqr = ev / (share * betting.pot) if share > 0 else math.nan
        text.append(f"; {player} ")
        text.append(f"EV {ev:,.2f}", "bold")
        text.append(f" (equity {100 * share:.1f} %, EQR {eqr:.2f})")
    return text


def hand_values(decision: Decision, only: str) -> Table:
    """EV, equity, EQR and actions of some hands: classes, and below them their hands if few."""
    from subgame.cli.console import table

    columns = ["hand", "weight", "equity", "EV", "EQR", *decision.names]
    made = table(*columns, numbers=columns[1:], title="Frequency of each action, and its EV")
    classes = decision.class_table(only)
    hands = decision.hand_table(only)
    for group in classes:
        inside = [hand for hand in hands if hand["class"] == group["class"]]
        rows = [(group["class"], group)] if len(inside) > 1 else []
        if len(classes) <= FEW:
            rows += [(f"  {row['hand']}" if rows else row["hand"], row) for row in inside]
        elif not rows:
            rows = [(group["class"], group)]
        for name, row in rows:
            numbers = (f"{row['weight']:.3g}", f"{100 * row['equity']:.1f} %", f"{row['ev']:,.2f}")
            mixed = (f"{100 * row[n]:.1f} %  {row[f'{n} ev']:,.2f}" for n in decision.names)
            made.add_row(name, *numbers, f"{row['eqr']:.2f}", *mixed)
    if not classes:
        made.add_row(Text(f"{PLAYERS[decision.player]} holds none of these hands here."))
    return made


def _actions(decision: Decision) -> dict[str, object]:
    """Each action in words, and how often it is taken."""
    columns = {"actions": decision.names, "frequency": decision.frequency.tolist()}
    return {
        name: dict(zip(decision.actions, values, strict=True)) for name, values in columns.items()
    }


def decisions(solved: Endgame, line: str | None) -> list[Decision]:
    """The first decision of each player, and the one that `line` asks for."""
    first = solved.decision()
    result = [first]
    after = first.betting.child("c")
    if not after.is_over and after.street == first.betting.street:
        result.append(solved.decision("c"))
    if line:
        asked = solved.decision(line)
        result = [decision for decision in result if decision.line != asked.line] + [asked]
    return result

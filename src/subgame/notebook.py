"""An endgame in a notebook, decision by decision.

`explore` shows the grid of a decision with a button for each action. It needs the extra `notebook`
(anywidget). Everything else in a notebook needs nothing: a `Strategy`, `Range`, `Result`,
`Refinement`, `Endgame` or tree at the end of a cell is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from subgame.errors import SubgameError
from subgame.games.holdem.rules import NOBODY
from subgame.games.holdem.sizes import STREETS
from subgame.show.html import Shaded, Value, beside, block, number, table, text
from subgame.spots.decisions import Decision
from subgame.spots.endgame import Endgame
from subgame.spots.hand_classes import looks
from subgame.spots.lines import follow_line, line_text

HERE = Path(__file__).parent
SCRIPTS = (HERE / "serve" / "static" / "lib" / "draw.js", HERE / "show" / "explorer.js")
"""The module that draws the grids of the workbench, and what uses it here."""
CANVAS = "<canvas style='width:100%;max-width:520px;aspect-ratio:1;display:block'></canvas>"
BUTTON = (
    "style='font:inherit;color:inherit;background:none;border:1px solid rgba(128,128,128,.5);"
    "border-radius:6px;padding:4px 10px;margin:0 6px 6px 0;cursor:pointer'"
)


def explore(endgame: Endgame, line: str = "") -> Any:
    """A widget that walks through an endgame; `line` is where it begins, such as ``c r50``.

    Its trait `line` is where it is. Setting it goes there, in Python as with the buttons.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise SubgameError(
            "The explorer needs anywidget, which is not installed: pip install 'subgame[notebook]'."
        ) from None

    class EndgameExplorer(anywidget.AnyWidget):
        _esm = script()
        line = traitlets.Unicode("").tag(sync=True)
        html = traitlets.Unicode("").tag(sync=True)
        cells = traitlets.Dict().tag(sync=True)

        @traitlets.validate("line")
        def _check(self, proposal: Any) -> str:
            pages(endgame, proposal["value"])  # raises an error, and the widget stays where it is
            return str(proposal["value"])

        @traitlets.observe("line")
        def _go(self, change: Any) -> None:
            with self.hold_sync():
                self.cells = cells(endgame, change["new"])
                self.html = pages(endgame, change["new"], CANVAS)

    return EndgameExplorer(line=line, html=pages(endgame, line, CANVAS), cells=cells(endgame, line))


def script() -> str:
    """The module of the widget."""
    return "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS)


def cells(endgame: Endgame, line: str) -> dict[str, Any]:
    """What the grid shows after a line, as the module of the workbench draws it."""
    walk = follow_line(endgame.tree.holdem, line)
    if walk.betting.is_over or walk.needs_cards:
        return {}
    decision = endgame.decision(line)
    colours = [list(look.colour) for look in looks(decision.actions, decision.betting)]
    return {
        square.name: {
            "parts": list(zip(colours, square.mix, strict=True))[::-1],
            "height": square.weight,
        }
        for row in decision.squares()
        for square in row
        if square.weight > 0
    }


def pages(endgame: Endgame, line: str = "", picture: str = "") -> str:
    """What the explorer shows after a line: the way here, the grid, and what can follow.

    `picture` stands where the grid is, if it is drawn otherwise.

    >>> import subgame as sg
    >>> game = sg.holdem.endgame("QsJh2h8d3c", 100, 200, ("AA,65s", "KQ"), "river: a")
    >>> endgame = Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=2).strategy)
    >>> "data-line='c'" in pages(endgame), "showdown" in pages(endgame, "r200 c")
    (True, True)
    """
    game = endgame.tree.holdem
    walk = follow_line(game, line)
    said, pot = line_text(game, walk), f"the pot is {number(float(walk.betting.pot))}"
    back = _button("", "start over") if line else ""
    if walk.betting.is_over:
        ended = "a showdown" if walk.betting.folded == NOBODY else "the hand is over"
        return block(f"After {said}: {ended}; {pot}.", back)
    if walk.needs_cards:
        short, deck = line_text(game, walk, short=True), game.deck
        names = [deck.card_name(card) for card in range(deck.size) if card not in walk.board]
        cards = "".join(_button(f"{short} / {name}", name) for name in names)
        return block(f"After {said} comes the {STREETS[walk.betting.street]}; {pot}.", cards, back)
    decision = endgame.decision(line)
    buttons = "".join(
        _button(after, name) for after, name in zip(decision.lines, decision.names, strict=True)
    )
    return block(_where(decision), buttons + back, beside(decision.html(picture), _hands(decision)))


def _where(decision: Decision) -> str:
    board = decision.tree.holdem.deck.name(decision.board)
    return f"{board}, pot {number(float(decision.betting.pot))}"


def _button(line: str, name: str) -> str:
    return f"<button data-line='{text(line, 400)}' {BUTTON}>{text(name)}</button>"


def _hands(decision: Decision) -> str:
    """The hands that are most likely here."""
    rows = sorted(decision.hand_table(values=False), key=lambda row: -float(row["chance"]))
    heads = ["hand", "chance, %", *decision.names]
    shown: list[list[Value]] = [
        [
            str(row["hand"]),
            100 * float(row["chance"]),
            *(Shaded(f"{100 * row[name]:.0f} %", row[name]) for name in decision.names),
        ]
        for row in rows[:12]
    ]
    return table(heads, shown, more=max(len(rows) - 12, 0))

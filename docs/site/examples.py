"""The pictures of the documentation that need a solve: python docs/site/examples.py writes them."""

from __future__ import annotations

import re

from pictures import FOLDER, PAPER

import subgame as sg
from subgame.show.charts import svg
from subgame.show.grid import grid
from subgame.spots.endgame import Endgame
from subgame.spots.hand_classes import looks

RANGES = ("66+,AJ+,KQ,A5s-A2s,JTs,T9s", "22+,A2s+,KTs+,QTs+,JTs,T9s,98s,AT+,KJ+,QJ")
LEFT, SIDE = 20, 392


def river() -> str:
    """Both players' first decisions on the river of the tutorial, side by side."""
    game = sg.holdem.endgame("Qs Jh 2h 8d 3c", 100, 200, RANGES, "0.5x 1x a")
    spot = Endgame.of(sg.solve(sg.compile(game), "dcfr", target=0.1).strategy)
    parts = [f"<rect width='860' height='500' rx='12' fill='{PAPER}'/>"]
    for k, line in enumerate(("", "check")):
        decision = spot.decision(line)
        x = LEFT + k * (SIDE + 30)
        colours = [look.colour for look in looks(decision.actions, decision.betting)]
        drawn = re.sub(r"^<svg[^>]*>|</svg>$", "", grid(decision.squares(), colours, "grid"))
        seat = ("OOP, at the root", "IP, after a check")[k]
        parts.append(f"<g transform='translate({x} 40)'>{drawn}</g>")
        parts.append(f"<text x='{x}' y='28' font-size='15'>{seat}</text>")
        for a, (name, share) in enumerate(zip(decision.names, decision.frequency, strict=True)):
            at = x + a * 98
            parts.append(
                f"<rect x='{at}' y='450' width='11' height='11' fill='{_hex(colours[a])}'/>"
            )
            parts.append(f"<text x='{at + 16}' y='460' font-size='12'>{name}</text>")
            parts.append(f"<text x='{at + 16}' y='477' font-size='12'>{100 * share:.0f} %</text>")
    title = "A river solved: what each hand does, out of position and in position"
    return svg(860, 500, title, *parts).replace("color:inherit", "color:#1f2937") + "\n"


def _hex(colour: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)


if __name__ == "__main__":
    (FOLDER / "river.svg").write_text(river(), encoding="utf-8")

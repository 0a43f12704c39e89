"""The drawings of the documentation: the public tree, its arrays, a sweep and a gadget, as SVG."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path

INK, FAINT, PAPER = "#1f2937", "#6b7280", "#fbfaf7"
ONE, TWO, CHANCE, PUBLIC = "#2563eb", "#c2410c", "#6b7280", "#0f766e"
"""Colours of player 0, player 1, chance and what is public."""
FONT = "font-family='system-ui, sans-serif'"


def text(
    x: float, y: float, words: str, colour: str = INK, size: int = 13, at: str = "middle"
) -> str:
    return (
        f"<text x='{x}' y='{y}' fill='{colour}' font-size='{size}' text-anchor='{at}' {FONT}>"
        f"{escape(words)}</text>"
    )


def line(x: float, y: float, u: float, v: float, colour: str = INK, dash: str = "") -> str:
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<line x1='{x}' y1='{y}' x2='{u}' y2='{v}' stroke='{colour}' stroke-width='1.5'{dashes}/>"
    )


def arrow(x: float, y: float, u: float, v: float, colour: str = INK) -> str:
    return line(x, y, u, v, colour).replace("/>", f" marker-end='url(#head{colour[1:]})'/>")


def box(
    x: float, y: float, w: float, h: float, colour: str = INK, fill: str = "none", dash: str = ""
) -> str:
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    return (
        f"<rect x='{x}' y='{y}' width='{w}' height='{h}' rx='8' fill='{fill}' stroke='{colour}' "
        f"stroke-width='1.5'{dashes}/>"
    )


def node(x: float, y: float, label: str, colour: str) -> str:
    """A decision: the name of who acts, in their colour."""
    circle = f"<circle cx='{x}' cy='{y}' r='15' fill='{colour}'/>"
    return circle + text(x, y + 4.5, label, "white", 12)


def cells(x: float, y: float, names: list[str], colour: str, w: float = 62, h: float = 28) -> str:
    """A row of an array, one cell per name."""
    parts = []
    for k, name in enumerate(names):
        parts.append(
            f"<rect x='{x + k * w}' y='{y}' width='{w}' height='{h}' fill='{colour}' "
            f"fill-opacity='0.12' stroke='{colour}'/>"
        )
        parts.append(text(x + (k + 0.5) * w, y + h / 2 + 4, name, INK, 12))
    return "".join(parts)


def svg(width: int, height: int, title: str, *parts: str) -> str:
    heads = "".join(
        f"<marker id='head{c[1:]}' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' "
        f"markerHeight='8' orient='auto'><path d='M0 0 L8 4 L0 8 z' fill='{c}'/></marker>"
        for c in (INK, ONE, TWO, CHANCE, PUBLIC)
    )
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' role='img'>"
        f"<title>{escape(title)}</title><defs>{heads}</defs>"
        f"<rect width='{width}' height='{height}' rx='12' fill='{PAPER}'/>{''.join(parts)}</svg>\n"
    )


# Drawings ------------------------------------------------------------------------------------
def public_tree() -> str:
    """Coin Toss history by history, and the same game by what is public."""
    parts = [text(200, 30, "histories", FAINT, 14), text(610, 30, "the public tree", FAINT, 14)]
    parts += [line(200, 60, 110, 115, CHANCE), line(200, 60, 290, 115, CHANCE)]
    parts += [
        text(138, 88, "Heads ½", FAINT, 12, "end"),
        text(262, 88, "Tails ½", FAINT, 12, "start"),
    ]
    parts.append(node(200, 60, "C", CHANCE))
    parts.append(box(74, 196, 252, 44, TWO, dash="5 4"))
    for x, sell in ((110, "½"), (290, "-½")):
        side = -62 if x == 110 else 62
        parts += [line(x, 115, x, 218, ONE), line(x, 115, x + side, 165, ONE)]
        parts.append(text(x + side, 182, sell, INK, 12))
        parts.append(text(x + side * 0.75, 138, "Sell", ONE, 12, "end" if side < 0 else "start"))
        parts.append(
            text(x + (8 if x == 110 else -8), 172, "Play", ONE, 12, "start" if x == 110 else "end")
        )
        parts.append(node(x, 115, "P1", ONE))
        for d, name in ((-52, "Heads"), (0, "Tails"), (52, "Forfeit")):
            right = (x == 110) == (name == "Heads") and name != "Forfeit"
            parts += [
                line(x, 218, x + d, 282, TWO),
                text(x + d, 314, "-1" if right else "1", INK, 12),
            ]
            parts.append(text(x + d, 299, name, TWO, 11))
        parts.append(node(x, 218, "P2", TWO))
    parts.append(text(200, 256, "one infoset of P2", TWO, 12))
    parts.append(line(408, 20, 408, 325, "#d1d5db", "3 4"))
    parts += [line(610, 96, 520, 150, PUBLIC), line(610, 96, 702, 150, PUBLIC)]
    parts += [line(702, 202, 702, 250, PUBLIC)]
    parts += [
        text(552, 118, "Sell", PUBLIC, 12, "end"),
        text(668, 118, "Play", PUBLIC, 12, "start"),
    ]
    for x, y, top, one, two in (
        (610, 44, "start", "the coin", "nothing"),
        (520, 150, "Sell (over)", "the coin", "Sell"),
        (702, 150, "Play", "the coin", "Play"),
        (702, 250, "a guess (over)", "the coin", "the guess"),
    ):
        parts.append(box(x - 82, y, 164, 52, PUBLIC, "white"))
        parts.append(text(x, y + 16, top, PUBLIC, 11))
        parts.append(text(x, y + 31, f"P1 knows: {one}", ONE, 11))
        parts.append(text(x, y + 46, f"P2 knows: {two}", TWO, 11))
    return svg(800, 335, "Coin Toss as histories and as a public tree", *parts)


def sweep() -> str:
    """One sweep: reach goes down, terminals are products, values go up."""
    parts = [text(400, 26, "one sweep for P1: P2's reach down, P1's values up", FAINT, 14)]
    parts += [cells(70, 50, ["1"], TWO), text(101, 44, "P2's reach [infoset]", TWO, 12)]
    parts += [
        arrow(101, 82, 101, 128, TWO),
        text(112, 110, "times P2's probabilities", FAINT, 12, "start"),
    ]
    parts += [
        cells(70, 132, ["Heads ¼", "Tails ¾", "Forf. 0"], TWO, 70),
        text(70, 176, "[sequence]", FAINT, 11, "start"),
    ]
    parts += [arrow(284, 147, 348, 147, TWO)]
    parts += [
        cells(352, 118, ["-½", "½", "½"], PUBLIC, 44),
        cells(352, 146, ["½", "-½", "½"], PUBLIC, 44),
    ]
    parts += [
        text(418, 108, "M: payoff × chance", PUBLIC, 12),
        text(418, 192, "terminals: v₀ = M r₁", INK, 13),
    ]
    parts += [arrow(488, 147, 552, 147, ONE)]
    parts += [
        cells(556, 132, ["Heads ¼", "Tails -¼"], ONE, 78),
        text(712, 176, "value of Play", FAINT, 11, "end"),
    ]
    parts += [arrow(634, 128, 634, 82, ONE), text(646, 110, "best action", FAINT, 12, "start")]
    parts += [
        cells(556, 50, ["Heads ¼", "Tails -¼"], ONE, 78),
        text(634, 44, "P1's values [infoset]", ONE, 12),
    ]
    parts += [
        text(
            400,
            226,
            "A value counts how often chance and P2 bring P1 there (½ for each side of the coin):",
            FAINT,
            12,
        )
    ]
    parts += [
        text(
            400,
            243,
            "divided by that, Play is worth ½ with Heads and -½ with Tails, the same as Sell.",
            FAINT,
            12,
        )
    ]
    return svg(800, 262, "Reach goes down, values go up", *parts)


def axes() -> str:
    """How both kinds of tree lie in memory."""
    parts = [
        text(195, 28, "sequence tree: any game", FAINT, 14),
        text(600, 28, "range tree: hold'em", FAINT, 14),
    ]
    names = ["J", "Q", "K"]
    for k, action in enumerate(("pass", "bet")):
        parts += [
            cells(110, 62 + 28 * k, names, ONE, 62),
            text(100, 81 + 28 * k, action, ONE, 12, "end"),
        ]
    parts += [
        text(203, 56, "infosets of one depth →", FAINT, 11),
        text(30, 96, "actions ↓", FAINT, 11, "start"),
    ]
    for k, action in enumerate(("pass", "bet")):
        parts += [
            cells(110, 150 + 28 * k, [f"{n} pb" for n in names], ONE, 62),
            text(100, 169 + 28 * k, action, ONE, 12, "end"),
        ]
    parts += [text(195, 232, "a block is [action, infoset]; one number per sequence", INK, 12)]
    parts += [text(195, 250, "(Kuhn poker, player 0: two blocks)", FAINT, 12)]
    parts.append(line(400, 20, 400, 265, "#d1d5db", "3 4"))
    for b in range(3):
        x, y = 470 + 22 * b, 54 + 18 * b
        parts.append(box(x, y, 190, 112, PUBLIC, "white"))
    parts += [text(500, 48, "boards ↘", PUBLIC, 12, "end")]
    for k, action in enumerate(("fold", "call", "raise")):
        parts += [cells(556, 102 + 26 * k, ["", "", "", "…", ""], TWO, 26, 24)]
        parts += [text(549, 118 + 26 * k, action, TWO, 10, "end")]
    parts += [
        text(621, 98, "hands, 16 in a tile →", FAINT, 11),
        text(600, 232, "[board][tile][action][16 hands]", INK, 12),
    ]
    parts += [text(600, 250, "the betting of a street is kept once for all its boards", FAINT, 12)]
    return svg(800, 275, "The axes of the two kinds of tree", *parts)


def gadget() -> str:
    """A subgame behind a gadget."""
    parts = [box(40, 40, 220, 60, PUBLIC, "white"), text(150, 66, "trunk", PUBLIC, 14)]
    parts += [text(150, 85, "our reach is fixed by the blueprint", FAINT, 11)]
    parts += [arrow(150, 100, 150, 140, PUBLIC)]
    parts.append(box(40, 144, 720, 76, ONE, "white", "5 4"))
    parts += [
        text(52, 164, "gadget", ONE, 14, "start"),
        text(52, 182, "plays for the", FAINT, 11, "start"),
        text(52, 196, "opponent", FAINT, 11, "start"),
    ]
    for k, (name, paid) in enumerate((("Heads", "0"), ("Tails", "½"))):
        x = 250 + 280 * k
        parts += [node(x, 182, "I", ONE), text(x - 24, 172, name, ONE, 13, "end")]
        parts += [line(x + 15, 182, x + 92, 182, ONE), text(x + 54, 174, "leave", ONE, 12)]
        parts += [
            box(x + 94, 166, 78, 34, ONE, "white"),
            text(x + 133, 187, f"gets {paid}", INK, 12),
        ]
        parts += [arrow(x, 198, x, 254, ONE), text(x + 10, 240, "enter", ONE, 12, "start")]
    parts.append(box(150, 258, 520, 62, TWO, "white"))
    parts += [text(410, 284, "subgame: we learn here", TWO, 14)]
    parts += [text(410, 304, "CFR; the opponent's reach is what the gadget chose", FAINT, 12)]
    parts += [
        text(
            410, 70, "alternative payoff: what a best response to the blueprint", FAINT, 12, "start"
        )
    ]
    parts += [
        text(410, 87, "gets there (CBV), here 0 with Heads and ½ with Tails;", FAINT, 12, "start")
    ]
    parts += [
        text(
            410,
            104,
            "margin: alternative payoff minus what entering brings now",
            FAINT,
            12,
            "start",
        )
    ]
    return svg(800, 340, "A gadget at the root of a subgame", *parts)


DRAWINGS: dict[str, Callable[[], str]] = {
    "public-tree": public_tree,
    "sweep": sweep,
    "axes": axes,
    "gadget": gadget,
}

FOLDER = Path(__file__).resolve().parents[1] / "pictures"

if __name__ == "__main__":  # python docs/site/pictures.py writes them
    for name, drawing in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(drawing(), encoding="utf-8")

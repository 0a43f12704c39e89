"""Every technique on the same hold'em game as a sequence tree and as a range tree, on every device.

The trees and kernels differ in everything (histories or boards and hands, float64 or float32, Numba
or PyTorch), so what they agree on is the technique.
"""

from __future__ import annotations

import importlib.util
from functools import cache

import numpy as np
import pytest

import subgame as sg
from subgame.games.holdem.cards import Deck
from subgame.refine.answers import Method
from subgame.refine.continuations import biased
from subgame.refine.gadgets import TECHNIQUES, Gadget
from subgame.refine.report import Refinement
from subgame.refine.verbs.nest import Nested

DECK = Deck("9TJQKA", "hs")
BOARD = "Qs 9h Th Ks"
RANGES = ("AA,KT,QJ,TT,J9,A9", "AK,KK,QJ,JTs,KT,A9")
"""Of weight 1: a weight is the player's reach in a range tree, and chance in a sequence tree."""
SMALL, LARGE = "all: 0.7x / cap 1", "all: 0.4x 0.7x / cap 1"
REFERENCE = ("sequence", "cpu")
KINDS = [("sequence", "torch"), ("ranges", "cpu"), ("ranges", "torch")]
"""Compared with the reference."""
AT = [f"{BOARD} Ah | cr28c/", f"{BOARD} Qh | cc/"]
ITERATIONS = 4
"""Few, so that rounding has not yet decided between equal actions. (A bet of the pot into a player
who folds half the time is equal to a check: the sizes here are others.)"""


def on(kind: str, device: str) -> None:
    if device == "torch" and importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed (the extra 'gpu')")


@cache
def compiled(kind: str, bets: str) -> sg.PublicTree:
    game = sg.holdem.endgame(BOARD, 40, 120, RANGES, bets, deck=DECK)
    return sg.compile(game, explicit=kind == "sequence", merge=False)


@cache
def blueprint(kind: str, bets: str = SMALL) -> sg.Strategy:
    """One random strategy on both trees: every action is taken, and no two are equal."""
    rough = sg.Strategy.random(compiled("ranges", bets), seed=7)
    if kind == "ranges":
        return rough
    tree = compiled("sequence", bets)
    known = sg.Strategy.uniform(tree).table()
    return sg.Strategy.from_table(tree, {k: v for k, v in rough.table().items() if k in known})


def same(one: sg.Strategy, other: sg.Strategy, digits: float) -> None:
    """The probabilities of all infosets that both trees have, `one` being a sequence tree's."""
    for p, side in enumerate(one.tree.players):
        index = other.tree.players[p].index
        for i, name in enumerate(side.names):
            want, got = one.row(p, i), other.row(p, index[name])
            assert list(want.values()) == pytest.approx(list(got.values()), abs=digits), name


@cache
def refined(kind: str, device: str, technique: Gadget) -> Refinement:
    return sg.refine(
        compiled(kind, SMALL),
        blueprint(kind),
        at=AT,
        technique=technique,
        schedule="cfr",
        iterations=ITERATIONS,
        player=1,
        device=device,
    )


OPTIONS: dict[str, Gadget] = {
    **{name: make() for name, make in TECHNIQUES.items()},
    "reach-maxmargin, not split": sg.ReachMaxmargin(split=False),
    "reach-resolve, twice": sg.ReachResolve(scale=2.0),
    "reach-maxmargin, all actions": sg.ReachMaxmargin(gifts="estimated"),
    "resolve, refined": sg.Resolve(refined=0.1),
    "lexicographic": sg.Maxmargin(lexicographic=True),
    "estimate, lexicographic": sg.Estimate(sg.Maxmargin(lexicographic=True)),
    "distributional, respond": sg.Distributional("respond"),
}


@pytest.mark.parametrize("technique", OPTIONS)
@pytest.mark.parametrize(("kind", "device"), KINDS)
def test_refine(kind: str, device: str, technique: str) -> None:
    on(kind, device)
    want = refined("sequence", "cpu", OPTIONS[technique])
    got = refined(kind, device, OPTIONS[technique])
    rows = {(row["subgame"], row["infoset"].split()[0]): row for row in got.rows()}
    for row in want.rows():
        other = rows[row["subgame"], row["infoset"].split()[0]]
        for key in ("cbv", "gift", "alternative"):
            assert other[key] == pytest.approx(row[key], abs=2e-6), (row, other)
        if row["reach"] > 0:
            assert other["margin"] == pytest.approx(row["margin"], abs=1e-4), (row, other)
    assert got.after.per_seat == pytest.approx(want.after.per_seat, abs=1e-4)


@cache
def nested(kind: str, device: str, technique: str, method: Method) -> Nested:
    return sg.nest(
        compiled(kind, LARGE),
        blueprint(kind),
        technique=OPTIONS[technique],
        method=method,
        schedule="cfr",
        iterations=ITERATIONS,
        player=0,
        device=device,
    )


NESTED: list[tuple[str, Method]] = [
    ("resolve", "inexpensive"),
    ("lexicographic", "inexpensive"),
    ("unsafe", "expensive"),
    ("maxmargin", "inexpensive"),
    ("reach-maxmargin", "inexpensive"),
    ("reach-resolve, twice", "inexpensive"),
    ("resolve", "expensive"),
]


@pytest.mark.parametrize(
    ("kind", "device", "technique", "method"),
    [
        (*where, *how)
        for where in KINDS
        for how in NESTED[: 3 if where == ("sequence", "torch") else None]
    ],
)
def test_nest(kind: str, device: str, technique: str, method: Method) -> None:
    """PyTorch solves all gadgets on sequence trees in `test_refine`; here it is the slowest."""
    on(kind, device)
    want, got = (nested(*setting, technique, method) for setting in (REFERENCE, (kind, device)))
    assert got.after.per_seat[0] == pytest.approx(want.after.per_seat[0], abs=1e-4)
    assert got.bound == pytest.approx(want.bound, abs=1e-4)


@cache
def translated(kind: str, device: str, how: str) -> sg.Strategy:
    known, larger = "all: 0.3x 0.8x / cap 1", "all: 0.3x 0.5x 0.8x / cap 1"
    return sg.translate(compiled(kind, larger), blueprint(kind, known), how, device=device)


@pytest.mark.parametrize("how", ["pseudo-harmonic", "nearest"])
@pytest.mark.parametrize(("kind", "device"), KINDS[1:])
def test_translate(kind: str, device: str, how: str) -> None:
    on(kind, device)
    same(translated(*REFERENCE, how), translated(kind, device, how), 1e-6)


def by_class(action: str) -> str:
    return {"f": "fold", "c": "call"}.get(action[0], "raise")


@cache
def limited(kind: str, device: str, p: int, technique: str | None) -> float:
    """What player `p`'s depth-limited strategy loses to a best response."""
    tree, rough = compiled(kind, SMALL), blueprint(kind)
    within = None if technique is None else sg.cut(tree, f"{BOARD} | c")[0]
    game = sg.depth_limited(
        tree,
        rough,
        at="before the river",
        player=p,
        continuations=biased(rough, 1 - p, classes=by_class),
        within=within,
        device=device,
    )
    result = sg.solve_limited(
        game, technique=technique, schedule="cfr", iterations=ITERATIONS, device=device
    ).strategy
    return sg.exploitability(result.tree, result).per_seat[p]


@pytest.mark.parametrize("technique", [None, "unsafe", "resolve", "maxmargin"])
@pytest.mark.parametrize("p", [0, 1])
@pytest.mark.parametrize(("kind", "device"), KINDS)
def test_depth_limited(kind: str, device: str, p: int, technique: str | None) -> None:
    on(kind, device)
    want, got = (limited(*setting, p, technique) for setting in (REFERENCE, (kind, device)))
    assert got == pytest.approx(want, abs=1e-4)


@cache
def decomposed(kind: str, device: str) -> tuple[float, float]:
    tree = compiled(kind, SMALL)
    result = sg.cfr_d(tree, at="after the river", iterations=5, subgame_iterations=4, device=device)
    whole = result.whole(tree, schedule="cfr", iterations=ITERATIONS)
    return sg.exploitability(tree, whole).per_seat


@pytest.mark.parametrize(("kind", "device"), KINDS[1:])
def test_cfr_d(kind: str, device: str) -> None:
    on(kind, device)
    assert decomposed(kind, device) == pytest.approx(decomposed(*REFERENCE), rel=0.01)


@pytest.mark.parametrize(("kind", "device"), KINDS)
def test_a_unique_solution_is_the_same_strategy(kind: str, device: str) -> None:
    """A polarised river: bet all strong hands and as many bluffs as the pot odds allow."""
    on(kind, device)
    game = sg.holdem.endgame(
        "Qs 9h Th Ks 9s", 4, 4, ("AsAh,TsJs", "KhAs"), "all: 1x / cap 1", deck=DECK
    )
    result = []
    for form, where in (("sequence", "cpu"), (kind, device)):
        tree = sg.compile(game, explicit=form == "sequence", merge=False)
        result.append(sg.solve(tree, "pcfr+", iterations=200, device=where).strategy)
    same(result[0], result[1], 1e-6)


@pytest.mark.parametrize("p", [0, 1])
def test_play_limited_on_ranges(p: int) -> None:
    """A random blueprint, solved to the river and from there to the end, loses less."""
    tree, rough = compiled("ranges", SMALL), blueprint("ranges")
    played = sg.play_limited(tree, rough, at=["before the river"], player=p, iterations=100)
    assert played.after.per_seat[p] < 0.5 * played.before.per_seat[p]


def test_the_game_is_worth_the_trouble() -> None:
    """Margins differ between techniques, and gifts are given: otherwise all would agree anyhow."""
    after = {
        name: refined("sequence", "cpu", gadget).after.mean for name, gadget in OPTIONS.items()
    }
    assert len({round(gift, 6) for gift in after.values()}) > 6
    gifts = [
        part.gifts
        for part in refined("sequence", "cpu", OPTIONS["reach-maxmargin, all actions"]).parts
    ]
    assert max(np.max(gift) for gift in gifts) > 0.01

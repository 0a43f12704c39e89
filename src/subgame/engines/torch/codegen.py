"""One street's betting written out as a GPU kernel: straight-line code, all of it in registers.

A player's rows and decisions form a tree. Going through it depth first, a decision's regrets
are read once, on the way down, and written once, on the way up; in between lie only the decisions
on one path. Reading runs `LOOK` decisions ahead of what is being worked on, so that enough of it
is under way. Every program does this for `BLOCK` hands of any boards: they do not meet here.

Betting below most roots of a street looks the same but for chips, so a kernel is written once per
*shape*; which rows and lanes it works on, and for what inputs, it reads from a small table. Strides
and widths are arguments, so that it serves any number of boards and of hands: flops of one report
share their kernels.

Kernels are written in Gluon, the language of Triton in which a program says which thread holds
which numbers. Here it is always the same: neighbours. Triton's own passes would find it out again
for every access, in time that grows with the square of the text and more. What is done with all
actions of a decision is a function (`functions`): a kernel then has one call for every decision
instead of a dozen lines. Triton reads the text in Python, which threads cannot do side by side.
"""

from __future__ import annotations

import hashlib
import linecache
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.engines.contract import Mode
from subgame.engines.rounding import LEAST, MIX, TOP
from subgame.engines.torch.layout import Betting, End, Infoset
from subgame.engines.torch.storage import AVERAGE, FACTORS, REGRET

RATES = {
    "positive": 0,
    "negative": 1,
    "base_positive": 4,
    "base_negative": 5,
    "fade_positive": 6,
    "fade_negative": 7,
    "fade": 8,
    "least": 9,
}
"""Columns of `engines.rounding.dithered` that kernels read; the iteration is read where needed."""
LEAST_SUM = float(np.finfo(np.float32).tiny)
"""Sums of weights below this are subnormal and count as zero, as in the CPU kernels."""
COUNTS = ("ES", "FIRST", "WIDE", "WIDE_O")
"""Integers that are no stride of neighbouring hands. Triton compiles a kernel again where some
integer is 1 or a multiple of 16; for these it is told not to."""
LOOK = 2
"""Decisions whose numbers are read ahead."""

FOLD = """
def fold(every, first, second, own, ok, meets, CANCELLED: tl.constexpr):
    total = tl.load(every, mask=ok)
    rest = total - tl.load(first, mask=ok) - tl.load(second, mask=ok)
    rest = rest + tl.load(own, mask=meets, other=0.0)
    return tl.where(tl.abs(rest) > CANCELLED * total, rest, 0.0)
"""
"""The opponent's reach with hands that share no card with ours; what rounding leaves is zero."""

DESCEND = """
def descend(
    weights, weights_scale, instant, instant_scale, entry, above, lanes, leaves, rates, table,
    chips, N, WS, SS, ES, LS, KS,
    BLOCK: tl.constexpr, DT: tl.constexpr, LAYOUT: tl.constexpr,
):
"""
SETTLE = """
def settle(
    weights, weights_scale, average, average_scale, instant, instant_scale, entry, above, shown,
    met, lanes, cards, same, below, result, rates, table, chips, N, FIRST, WS, SS, ES, LS,
    MS, XS, KS, RS, WIDE, WIDE_O,
    CARDS: tl.constexpr, CANCELLED: tl.constexpr,
    BLOCK: tl.constexpr, DT: tl.constexpr, LAYOUT: tl.constexpr,
):
"""
FOLDS = """hand = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK, layout=LAYOUT)
unit = (hand // WIDE).to(tl.int64)
line = met + unit * CARDS
every = line + (CARDS - 1)
first = line + tl.load(cards + 2 * at, mask=ok, other=0).to(tl.int64)
second = line + tl.load(cards + 2 * at + 1, mask=ok, other=0).to(tl.int64)
held = tl.load(same + at, mask=ok, other=32767).to(tl.int64)
theirs = lanes + unit * WIDE_O + held
meets = held < WIDE_O"""
"""Where a hand finds what folds need: sums over all hands and over those with a card of its own,
and the opponent's reach with the same hand, which the two sums take out twice."""


@dataclass(frozen=True)
class Shape:
    """The betting below one root, rows counted from 0, and the roots below which it is the same."""

    rows: int
    infosets: tuple[Infoset, ...]
    lanes: tuple[int, ...]  # [j] a row that ends the hand
    leaves: tuple[int, ...]  # [j] a row with cards to come
    ends: tuple[End, ...]  # [j] what is paid; lanes and chips are in the tables

    def columns(self) -> list[int]:
        """Where lanes, leaves and ends start in a line of the table, and its length."""
        return list(accumulate(map(len, (self.lanes, self.leaves, self.ends)), initial=2))


@dataclass
class Part:
    """A shape with its tables."""

    shape: Shape
    table: NDArray[np.int32]  # [root, column] root, first action, then lanes, leaves, lanes paid
    chips: NDArray[np.float64]  # [root, end]


def functions(n: int) -> str:
    """What is done with the `n` actions of a decision, written out for each.

    ``match`` is `arrays.regret_matching`. ``learn`` has the decision's value, then the new regrets
    and the instantaneous ones; these are of the free choice, without trembles.
    """

    def every(text: str, between: str = ", ") -> str:
        return between.join(text.replace("#", str(k)) for k in range(n))

    def lines(text: str) -> str:
        return every(text, "\n    ")

    return f"""
def read_{n}(at, step, ok, DT: tl.constexpr):
    return {every("tl.load(at + # * step, mask=ok).to(DT)")},

def read16_{n}(at, step, scale, SS, ok, DT: tl.constexpr):
    {lines("w# = tl.load(at + # * step, mask=ok).to(DT) * tl.load(scale + # * SS).to(DT)")}
    return {every("w#")},

def write_{n}(at, step, ok, {every("w#")}):
    {lines("tl.store(at + # * step, w#, mask=ok)")}

def foresee_{n}({every("w#")}, {every("i#")}, positive, negative):
    return {every("w# * tl.where(w# > 0, positive, negative) + i#")},

def match_{n}({every("w#")}, least):
    {lines("s# = tl.maximum(w#, 0.0)")}
    total = {every("s#", " + ")}
    some = total >= {LEAST_SUM!r}
    scale = tl.where(some, (1.0 - {n} * least) / total, 0.0)
    even = tl.where(some, least, {1 / n!r})
    return {every("s# * scale + even")},

def average_{n}(reach, fade, {every("s#")}, {every("a#")}):
    return {every("a# + (a# * fade + reach * s#)")},

def learn_{n}({every("s#")}, {every("v#")}, {every("w#")}, least, factors):
    base_positive, base_negative, fade_positive, fade_negative = factors
    mean = {every("s# * v#", " + ")}
    free = (mean - least * ({every("v#", " + ")})) / (1.0 - {n} * least)
    {lines("g# = v# - free")}
    {lines("b# = tl.where(w# > 0, base_positive, base_negative)")}
    {lines("f# = tl.where(w# > 0, fade_positive, fade_negative)")}
    return mean, {every("w# * b# + (w# * f# + g#)")}, {every("g#")}
"""


def names(letter: str, rows: Iterable[int]) -> str:
    """Numbers of some rows, one after another."""
    return ", ".join(f"{letter}{row}" for row in rows)


class Script:
    """Writes the kernels of one shape."""

    def __init__(self, bet: Shape, *, foreseen: bool, storage: str = "float32") -> None:
        self.bet, self.foreseen, self.storage = bet, foreseen, storage
        self.lines: list[str] = []
        self.loaded: set[int] = set()
        self.below, self.ends = (defaultdict[int, list[int]](list) for _ in range(2))
        """By row the decisions that hang below it, and what is paid into it."""
        for i, node in enumerate(bet.infosets):
            self.below[node.parent].append(i)
        for j, end in enumerate(bet.ends):
            self.ends[end.row].append(j)

    # The tree ------------------------------------------------------------------------------
    @cached_property
    def order(self) -> list[int]:
        """Decisions below our roots, depth first."""
        result: list[int] = []

        def visit(row: int) -> None:
            for i in self.below[row]:
                result.append(i)
                for below in self.bet.infosets[i].rows:
                    visit(below)

        visit(0)
        return result

    @property
    def matching(self) -> tuple[str, ...]:
        """The rates that a strategy depends on."""
        return ("positive", "negative", "least") if self.foreseen else ("least",)

    # Text ------------------------------------------------------------------------------------
    def put(self, line: str) -> None:
        self.lines.append(f"    {line}")

    def edge(self, block: str, row: int) -> str:
        return f"{block} + {row - 1} * step"

    def cell(self, column: int) -> str:
        return f"tl.load(table + {column}).to(tl.int64)"

    def start(self, own: tuple[str, ...], rates: Iterable[str], reach: bool) -> None:
        self.put("at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK, layout=LAYOUT)")
        self.put("ok = at < N")
        self.put(f"table += tl.program_id(1) * {self.bet.columns()[3]}")
        self.put(f"chips += tl.program_id(1) * {len(self.bet.ends)}")
        self.put(f"root = {self.cell(0)}")
        self.put("step = root * 0 + WS  # in 64 bits, because an action times it may need them")
        for name in own:
            self.put(f"{name} += {self.cell(1)} * WS + at")
            if self.storage == "int16":
                self.put(f"{name}_scale += {self.cell(1)} * SS + tl.program_id(0)")
        for name in rates:
            self.put(f"{name} = tl.load(rates + {RATES[name]}).to(DT)")
        if reach:
            self.put("source = tl.load(above + at, mask=ok, other=-1)")
            self.put("r0 = tl.load(entry + root * ES + source, mask=source >= 0, other=0.0).to(DT)")

    def read(self, i: int, *, played: bool = True, kept: bool = False, ends: bool = False) -> None:
        """Read what decision `i` needs, unless it is there."""
        if i in self.loaded:
            return
        self.loaded.add(i)
        node = self.bet.infosets[i]
        if played:
            self.load("w", "weights", node)
        if played and self.foreseen:
            self.load("i", "instant", node)
        if kept:
            self.load("a", "average", node)
        for row in node.rows if ends else ():
            self.paid(row)

    def load(self, letter: str, block: str, node: Infoset) -> None:
        """Read the actions of a block."""
        name, scale = "read", ""
        if self.storage == "int16":
            name, scale = "read16", f" {block}_scale + {node.first - 1} * SS, SS,"
        call = f"{name}_{node.actions}({self.edge(block, node.first)}, step,{scale} ok, DT)"
        self.put(f"{names(letter, node.rows)}, = {call}")

    def keep(self, block: str, letter: str, node: Infoset, salt: int | None) -> None:
        """Write the actions of a block."""
        if self.storage == "float32" or (self.storage == "bfloat16" and salt is None):
            where, values = self.edge(block, node.first), names(letter, node.rows)
            self.put(f"write_{node.actions}({where}, step, ok, {values})")
            return
        for row in node.rows:
            self.keep16(block, row, f"{letter}{row}", salt)

    def keep16(self, block: str, row: int, value: str, salt: int | None) -> None:
        """Write one action of a block in 16 bits, as `storage.Chance.keep` does."""
        where = self.edge(block, row)
        if salt is not None:
            part = ((row - 1) * FACTORS["action"] + salt * FACTORS["salt"]) % 2**32
            self.put(f"bits = key + {part}")
            for shift, factor in MIX:
                self.put(f"bits = (bits ^ (bits >> {shift})) * {factor}")
        if self.storage == "bfloat16":
            self.put(f"kept16 = ({value}).to(tl.uint32, bitcast=True) + (bits >> 16)")
            self.put("kept16 = ((kept16 >> 16) << 16).to(tl.float32, bitcast=True)")
            self.put(f"tl.store({where}, kept16, mask=ok)")
            return
        self.put(f"kept16 = tl.where(real, {value}, 0.0)")
        self.put(f"scale16 = tl.maximum(tl.max(tl.abs(kept16), 0), {LEAST!r}) * {1 / TOP!r}")
        noise = "0.5" if salt is None else f"(bits >> 8).to(tl.float32) * {2.0**-24!r}"
        self.put(f"kept16 = tl.floor(kept16 / scale16 + {noise})")
        self.put(f"tl.store({where}, kept16.to(tl.int16), mask=ok)")
        self.put(f"tl.store({block}_scale + {row - 1} * SS, scale16)")

    def paid(self, row: int) -> None:
        """Read what is paid into a row."""
        _, leaves, first, _ = self.bet.columns()
        terms = []
        for j in self.ends[row]:
            self.put(f"k{j} = {self.cell(first + j)}")
            if self.bet.ends[j].showdown:
                won = f"tl.load(shown + k{j} * LS, mask=ok)"
            else:
                self.put(f"to{j} = k{j} * MS")
                met = f"every + to{j}, first + to{j}, second + to{j}"
                won = f"fold({met}, theirs + k{j} * XS, ok, meets, CANCELLED)"
            terms.append(f"tl.load(chips + {j}).to(DT) * {won}")
        for j, leaf in enumerate(self.bet.leaves):
            if leaf == row:
                terms.append(f"tl.load(below + {self.cell(leaves + j)} * KS, mask=ok)")
        self.put(f"v{row} = {' + '.join(terms) or 'tl.zeros((BLOCK,), DT, layout=LAYOUT)'}")

    def match(self, node: Infoset) -> None:
        """s is the strategy of every action, with trembles."""
        weights, strategy = (names(letter, node.rows) for letter in "ws")
        if self.foreseen:
            instant = names("i", node.rows)
            call = f"foresee_{node.actions}({weights}, {instant}, positive, negative)"
            self.put(f"{strategy}, = {call}")
            weights = strategy
        self.put(f"{strategy}, = match_{node.actions}({weights}, least)")

    # Kernels ---------------------------------------------------------------------------------
    def descend(self, lanes: bool) -> str:
        """Reach down to lanes (or not) and leaves."""
        own = ("weights", "instant") if self.foreseen else ("weights",)
        self.start(own, self.matching, reach=True)
        first, second, _, _ = self.bet.columns()
        out = [("lanes", "LS", row, first + j) for j, row in enumerate(self.bet.lanes) if lanes]
        out += [("leaves", "KS", row, second + j) for j, row in enumerate(self.bet.leaves)]

        def give(row: int) -> None:
            for name, stride, here, column in out:
                if here == row:
                    where = f"{name} + {self.cell(column)} * {stride}"
                    self.put(f"tl.store({where}, r{row}, mask=ok)")

        self.put("lanes += at")
        self.put("leaves += at")
        give(0)
        for place, i in enumerate(self.order):
            for ahead in self.order[place : place + 1 + LOOK]:
                self.read(ahead)
            node = self.bet.infosets[i]
            self.match(node)
            for row in node.rows:
                self.put(f"r{row} = r{node.parent} * s{row}")
                give(row)
        return DESCEND + "\n".join(self.lines) + "\n"

    def settle(self, mode: int, average: bool) -> str:
        """Values up; regrets and average on the way."""
        used = {"weights": mode != Mode.BEST, "average": average, "instant": self.foreseen}
        rates = () if mode in (Mode.BEST, Mode.WITHIN) else self.matching
        if average:
            rates += ("fade",)
        own = tuple(name for name, is_used in used.items() if is_used)
        self.start(own, RATES if mode == Mode.LEARN else rates, reach=average)
        if mode == Mode.LEARN:
            self.put("factors = (base_positive, base_negative, fade_positive, fade_negative)")
        if self.storage == "int16" and mode in (Mode.LEARN, Mode.RESPOND):
            self.put("real = tl.load(above + at, mask=ok, other=-1) >= 0")
        if self.storage != "float32" and mode == Mode.LEARN:
            self.put("seed = tl.load(rates + 3).to(tl.int32).to(tl.uint32)")
            self.put(f"key = (at + FIRST).to(tl.uint32) + seed * {FACTORS['seed']}")
            self.put(f"key += tl.load(table + 1).to(tl.uint32) * {FACTORS['action']}")
        if not all(end.showdown for end in self.bet.ends):
            for line in FOLDS.splitlines():
                self.put(line)
        self.put("shown += at")
        self.put("below += at")
        self.paid(0)
        self._visit(0, mode, average)
        self.put("tl.store(result + root * RS + at, v0, mask=ok)")
        return SETTLE + "\n".join(self.lines) + "\n"

    def _visit(self, parent: int, mode: int, average: bool) -> None:
        """All decisions below a row."""
        for i in self.below[parent]:
            place = self.order.index(i)
            for ahead in self.order[place : place + 1 + LOOK]:
                self.read(ahead, played=mode != Mode.BEST, kept=average, ends=True)
            node = self.bet.infosets[i]
            rows = node.rows
            if mode not in (Mode.BEST, Mode.WITHIN):
                self.match(node)
            if average:
                played, kept = names("s", rows), names("a", rows)
                call = f"average_{node.actions}(r{parent}, fade, {played}, {kept})"
                self.put(f"{kept}, = {call}")
                self.keep("average", "a", node, AVERAGE)
            for row in rows:
                if average and self.below[row]:
                    self.put(f"r{row} = r{parent} * s{row}")
                self._visit(row, mode, average)
            if mode == Mode.LEARN:
                known, learnt = (", ".join(names(x, rows) for x in xs) for xs in ("svw", "wg"))
                self.put(f"m{i}, {learnt} = learn_{node.actions}({known}, least, factors)")
            elif mode == Mode.EVALUATE:
                self.put(f"m{i} = " + " + ".join(f"s{row} * v{row}" for row in rows))
            else:
                self.put(f"m{i} = v{node.first}")
                for row in rows[1:]:
                    self.put(f"m{i} = tl.maximum(m{i}, v{row})")
            if mode == Mode.WITHIN:  # the weights are the probabilities of locked hands, or 0
                total = " + ".join(f"w{row}" for row in rows)
                mean = " + ".join(f"w{row} * v{row}" for row in rows)
                self.put(f"m{i} = tl.where({total} > 0, {mean}, m{i})")
            self.put(f"v{parent} += m{i}")
            self._update(i, mode)

    def _update(self, i: int, mode: int) -> None:
        node = self.bet.infosets[i]
        if mode == Mode.LEARN:
            self.keep("weights", "w", node, REGRET)
            if self.foreseen:
                self.keep("instant", "g", node, None)
        elif mode == Mode.RESPOND:
            self.put("left = tl.full((BLOCK,), 1.0, DT, layout=LAYOUT)")
            for row in node.rows:
                self.put(f"c{row} = tl.where(m{i} > v{row}, 0.0, left)")
                self.put(f"left = left - c{row}")
            self.keep("weights", "c", node, None)


def parts(bet: Betting) -> list[Part]:
    """A street's roots, grouped by the shape of the betting below them."""
    shapes: dict[Shape, tuple[list[list[int]], list[list[float]]]] = {}
    root_of = bet.spread(list(range(bet.roots)))  # the root above each row
    for root in range(bet.roots):
        rows = [row for row in range(bet.roots, bet.rows) if root_of[row] == root]
        first = rows[0] if rows else bet.roots
        assert rows == list(range(first, first + len(rows)))
        local = {root: 0} | {row: 1 + k for k, row in enumerate(rows)}
        lanes = sorted((local[row], k) for k, row in enumerate(bet.lanes) if row in local)
        leaves = [(local[row], k) for k, row in enumerate(bet.leaves) if row in local]
        here = (end for end in bet.ends if end.row in local)
        ends = sorted(here, key=lambda end: (end.row, end.showdown))
        shape = Shape(
            1 + len(rows),
            tuple(
                Infoset(local[node.parent], local[node.first], node.actions)
                for node in bet.infosets
                if node.parent in local
            ),
            tuple(row for row, _ in lanes),
            tuple(row for row, _ in leaves),
            tuple(End(local[end.row], 0, end.showdown, 0.0) for end in ends),
        )
        line = [root, first - bet.roots, *(k for _, k in lanes), *(k for _, k in leaves)]
        table, chips = shapes.setdefault(shape, ([], []))
        table.append(line + [end.lane for end in ends])
        chips.append([end.scale for end in ends] or [0.0])
    return [
        Part(shape, np.array(table, np.int32), np.array(chips, np.float64))
        for shape, (table, chips) in shapes.items()
    ]


def build(source: str, name: str, sizes: Iterable[int], triton: Any) -> Any:
    """A kernel from its text, which may call functions for decisions of some `sizes`.

    `triton` is the module `triton_kernels`, which need not be there otherwise.
    """
    called = {"tl": triton.gl, "__name__": "subgame.written"}
    for text in (FOLD, *map(functions, sizes)):
        if text not in triton.WRITTEN:
            made = _read(text, "functions", dict(called))
            triton.WRITTEN[text] = {
                key: triton.gluon.jit(function) for key, function in made.items()
            }
        called |= triton.WRITTEN[text]
    kernel = _read(source, name, called)[name]
    return triton.gluon.jit(
        kernel, do_not_specialize=COUNTS, do_not_specialize_on_alignment=("rates",)
    )


def _read(source: str, name: str, scope: dict[str, Any]) -> dict[str, Any]:
    """The functions of a text, which Triton reads again by way of `linecache`."""
    text = source.lstrip("\n")
    file = f"<subgame {name} {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    functions: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope, functions)
    return functions

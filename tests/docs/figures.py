"""Figures of the documentation: what counts as one, and where it comes from.

`figures.toml` binds every figure of some pages to where it comes from, so that a changed digit is
noticed. That is one of

    bench: /benchmarks/0/ours            a number of a result file
    demo: /notes/0#2                     the second number of a text in it
    bench: /rows/0/ours over /rows/1/ours        a ratio, or how far it is from 1
    bench: /rows/0/ours minus /rows/1/ours       a difference; a sum by "plus", a product by "times"
    src/subgame/spots/stop.py            a setting, in a source or a test
    src/subgame/data/flops.json bytes    the size of a file
    code beside it                       an example, in code of the same paragraph

After a change of such a page or file,

    python tests/docs/figures.py README.md docs/comparison.md

binds the pages again and shows which figures are new: look whether each has the right place.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

HOME = Path(__file__).parents[2]
RESULTS = HOME / "docs" / "results"
BOUND = Path(__file__).with_name("figures.toml")
FILES = {
    path.stem: path
    for folder in (HOME / "src" / "subgame" / "data", RESULTS)
    for path in folder.glob("*.json")
}
"""Files with figures, by name: results, and data of the package."""
CODE = re.compile(
    r"^```.*?^```$|`[^`\n]*(?:\n[^`\n]+)?`|\]\([^)]*\)|<!--.*?-->", re.MULTILINE | re.DOTALL
)
UNITS = "ms|µs|ns|s|seconds?|minutes?|hours?|mbb/h|[GMK]i?B|times|%|CPU seconds"
NUMBER = re.compile(
    r"(?<![\w.,/#-])(?P<number>\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?(?:e-?\d{1,2})?)(?![\w,]*\d)"
    rf"(?P<unit>\s?(?:{UNITS})(?![\w/]))?"
)
SAME = re.compile(rf"(?:\s?(?:/|to|and|±|,)\s?[\d.,]*\d)+\s?(?P<unit>{UNITS})(?![\w/])")
VERSIONS = re.compile(
    r"(?:Python|NumPy|SciPy|Numba|PyTorch|JupyterLab|rustc|version|WCAG)\s(?:must\sbe\s)?[\d.]+"
    r"(?:(?:,|\sto|\sand)\s[\d.]+)*|\d+\.\d+\.\d[\d.]*"
    r"|Sec(?:\.|tion)\s[\d.]*\d|95\s%\sinterval"
)
"""Versions, sections of papers and the level of intervals, which are no figures."""
TIME = {
    "ns": 1e9,
    "µs": 1e6,
    "ms": 1e3,
    "s": 1.0,
    "second": 1.0,
    "minute": 1 / 60,
    "hour": 1 / 3600,
}
"""Seconds in a unit of time; files have seconds, or the unit itself."""
SIZE = {"KiB": 2**-10, "MiB": 2**-20, "GiB": 2**-30, "KB": 1e-3, "MB": 1e-6, "GB": 1e-9}
LONG = 60
"""Entries of a list that is a series, and not looked at: a page shows none of it."""


BESIDE = "code beside it"
ASIDE = re.compile(r"/(machine|date|commit|seconds|made|command)\b")
"""Places that pages seldom show."""


class Figure(NamedTuple):
    """A measured number as a page shows it."""

    text: str
    value: float
    digits: int
    """Decimals that are shown."""
    unit: str
    around: str


def figures(text: str) -> Iterator[Figure]:
    """Numbers with decimals or with a unit of measurement, outside of code.

    >>> [f.text for f in figures("In 2017, 1.5 chips in 20 s on 8 cores; `x 3.5`; 7,300 mbb/h.")]
    ['1.5', '20 s', '7,300 mbb/h']
    """
    plain = CODE.sub(lambda match: "]" if match[0].startswith("]") else " code ", text)
    plain = VERSIONS.sub("version", plain)
    for match in NUMBER.finditer(plain):
        number = match["number"]
        if not match["unit"] and "." not in number and "e" not in number:
            continue
        mantissa, _, power = number.partition("e")
        digits = len(mantissa.partition(".")[2]) - int(power or 0)
        around = " ".join(plain[max(match.start() - 60, 0) : match.end() + 30].split())
        after = SAME.match(plain, match.end())  # "4.8 / 17.4 s": both are seconds
        unit = (match["unit"] or (after["unit"] if after else "") or "").strip()
        yield Figure(match[0].strip(), float(number.replace(",", "")), digits, unit, around)


def named_files(text: str) -> list[str]:
    """The result files and the tests that a text names, by link or in code."""
    linked = re.findall(r"([\w+.-]+)\.json\b", text)
    quoted = re.findall(r"`([\w+.-]+)`", text)
    return sorted({*linked, *quoted} & {*FILES}) + sorted(
        set(re.findall(r"`(tests/[\w/]+\.py)", text))
    )


@cache
def numbers(stem: str) -> frozenset[float]:
    """Every number in a result file, also those in its texts; or in a test."""
    if stem.endswith(".py"):
        return frozenset(_numbers((HOME / stem).read_text(encoding="utf-8")))
    return frozenset(place.value for place in places(stem))


class Place(NamedTuple):
    """A number of a result file."""

    name: str
    value: float
    words: frozenset[str]
    """What describes it: the names on the path, and texts beside it."""


@cache
def places(stem: str) -> tuple[Place, ...]:
    """Every number of a result file; a text with several, and a name, have ``#1``, ``#2``..."""
    return tuple(_places(json.loads(FILES[stem].read_text(encoding="utf-8")), "", frozenset()))


@cache
def by_place(stem: str) -> dict[str, float]:
    """Place -> number."""
    return {place.name: place.value for place in places(stem)}


def _places(content: Any, at: str, words: frozenset[str]) -> Iterator[Place]:
    if isinstance(content, dict):
        texts = [value for value in content.values() if isinstance(value, str) and len(value) < 90]
        words |= _words(" ".join(texts))
        for key, value in content.items():
            yield from _in_text(key, f"{at}/{key} (name)", words)
            yield from _places(value, f"{at}/{key}", words | _words(key))
    elif isinstance(content, list):
        for k, value in enumerate(content if len(content) <= LONG else ()):
            yield from _places(value, f"{at}/{k}", words)
    elif isinstance(content, str):
        yield from _in_text(content, at, words)
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield Place(at, abs(float(content)), words)


def _in_text(text: str, at: str, words: frozenset[str]) -> Iterator[Place]:
    values = [*_numbers(text)]
    for k, value in enumerate(values, 1):
        yield Place(f"{at}#{k}" if len(values) > 1 else at, value, words | _words(text))


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]{3,}|\d[\d,]+", text.lower()))


def _numbers(text: str) -> Iterator[float]:
    for word in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text):
        yield float(word.replace(",", ""))


def factors(unit: str) -> tuple[float, ...]:
    """From the units that files have to that of a page.

    >>> factors("%"), factors("minutes"), factors("GiB")[:2]
    ((1.0, 100.0), (1.0, 0.016666666666666666), (1.0, 9.313225746154785e-10))
    """
    if unit == "%":
        return 1.0, 100.0
    if unit in SIZE:  # of bytes, or of mebibytes
        return 1.0, SIZE[unit], SIZE[unit] * 2**20, SIZE[unit] * 1e6
    time = TIME.get(unit.removeprefix("CPU ")) or TIME.get(unit.removeprefix("CPU ").rstrip("s"))
    if unit in ("µs", "ms", "s"):  # of seconds, of milliseconds
        return 1.0, TIME[unit], TIME[unit] / 1e3
    return (1.0, time) if time and time != 1 else (1.0,)


def is_shown_as(figure: Figure, number: float) -> bool:
    """Whether a number of a file, rounded and in its unit, is this figure."""
    half = 0.501 * 10.0**-figure.digits
    return any(abs(number * factor - figure.value) <= half for factor in factors(figure.unit))


def blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Paragraphs, lines of tables and items of lists, each with the result files for it.

    These are the files that it names, or else those of its section, or else those of the page; and
    the tests that the page names.
    """
    whole = named_files(text)
    tests = [name for name in whole if name.endswith(".py")]
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        near = named_files(section) or whole
        fenceless = re.sub(r"^```.*?^```$", "", section, flags=re.MULTILINE | re.DOTALL)
        for block in re.split(r"\n(?=\||- |\n)", fenceless):
            yield block, [*(named_files(block) or near), *tests]


# Figures that are bound to a place -----------------------------------------------------------
def sentences(page: str, text: str) -> str:
    """What is bound of a page: of those that are made from files, all but the tables."""
    made = re.fullmatch(r"docs/results/\w+\.md", page) and not page.endswith("README.md")
    return re.sub(r"^\|.*\n", "", text, flags=re.MULTILINE) if made else text


def on_page(page: str) -> list[tuple[Figure, str, list[str]]]:
    """The figures of a page, each with the text around it and the files for it."""
    text = sentences(page, (HOME / page).read_text(encoding="utf-8"))
    return [(f, block, stems) for block, stems in blocks(text) for f in figures(block)]


def bound() -> dict[str, list[str]]:
    """Page -> its figures in their order, each as ``figure = where``; see the module."""
    return dict(tomllib.loads(BOUND.read_text(encoding="utf-8")))


JOINED: dict[str, Callable[[float, float], list[float]]] = {
    "over": lambda x, y: [x / y, abs(x / y - 1)],
    "minus": lambda x, y: [abs(x - y)],
    "plus": lambda x, y: [x + y],
    "times": lambda x, y: [x * y],
}
"""How a figure is computed from two numbers of a file."""


def is_at(figure: Figure, where: str, block: str = "") -> bool:
    """Whether the place that it is bound to, as the module says, has a figure of a paragraph."""
    stem, _, place = where.partition(": ")
    if where == BESIDE:
        values = [number for code in CODE.findall(block) for number in _numbers(code)]
    elif stem.endswith(" bytes"):
        values = [float((HOME / stem.removesuffix(" bytes")).stat().st_size)]
    elif stem.endswith(".py"):
        values = [*numbers(stem)]
    else:
        one, how, two = [*re.split(rf" ({'|'.join(JOINED)}) (?=/)", place, maxsplit=1), "", ""][:3]
        known = by_place(stem) if stem in FILES else {}
        if one not in known or (how and two not in known):
            values = []
        else:
            values = JOINED[how](known[one], known[two]) if how else [known[one]]
    return any(is_shown_as(figure, number) for number in values)


def suggested(figure: Figure, block: str, stems: Iterable[str], last: str = "") -> str:
    """The number that is a figure and is described in the words around it, near the `last` one."""
    if is_at(figure, BESIDE, block):
        return BESIDE
    words, options = _words(block), [(-50.0, "nowhere")]
    for stem in stems:
        if stem.endswith(".py"):
            options += [(-3, stem)] * is_at(figure, stem)
            continue
        for place in places(stem):
            if is_shown_as(figure, place.value):
                where = f"{stem}: {place.name}"
                near = last.rpartition("/")[0] == where.rpartition("/")[0]
                far = 5 * ("(name)" in where) + 9 * bool(ASIDE.search(where))
                score = 3 * len(words & place.words) - len(place.words) / 9 + 4 * near - far
                options.append((score, where))
    return max(options, key=lambda option: option[0])[1]


def bind(pages: Iterable[str]) -> None:
    """Write `BOUND` again for some pages; what was bound and still holds is kept."""
    kept = bound() if BOUND.exists() else {}
    for page in pages:
        old, lines = list(kept.get(page, ())), list[str]()
        for figure, block, stems in on_page(page):
            same = [line for line in old if line.partition(" = ")[0] == figure.text]
            held = [line for line in same if is_at(figure, line.partition(" = ")[2], block)]
            last = lines[-1].partition(" = ")[2] if lines else ""
            line = held[0] if held else f"{figure.text} = {suggested(figure, block, stems, last)}"
            if held:
                old.remove(line)
            else:
                print(f"{page}: {line}    ({figure.around})")
            lines.append(line)
        kept[page] = lines
    parts = [
        f"{json.dumps(page)} = [\n"
        + "".join(f"  {json.dumps(line, ensure_ascii=False)},\n" for line in lines)
        + "]\n"
        for page, lines in sorted(kept.items())
    ]
    BOUND.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    bind(sys.argv[1:])

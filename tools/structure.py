"""Measures the structure of the package: `python tools/structure.py [--json] [SOURCES]`.

It reads the sources and counts: files and lines by package, circles of imports, casts to kinds of
trees and engines above the engines, private names that other packages use, long functions, long
parameter lists, lines of signatures that contain ``Any``, exported names, and names that say little
of what they name, also in tests, tools and JavaScript. Imports inside functions count like all
others. Imports for type checkers are counted apart. SOURCES is the package, or the folder that
contains it.
`tests/test_structure.py` holds the limits.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

KINDS = {"RangeEngine", "RangeTree", "SequenceEngine", "SequenceTree", "StreetEngine"}
"""Types whose casts hide a kind that a type checker should see."""
VAGUE = {"found", "each", "given", "told", "heard", "mind", "meant"}
"""Names that say nothing about what a variable is."""
LONG, WIDE = 60, 8
"""The most lines and the most parameters of a function."""
ROOT = Path(__file__).parent.parent / "src" / "subgame"
BINDINGS = re.compile(
    r"\b(?:const|let|var|function)\s+(\w+)|\b(\w+)\s*=>|[(,]\s*(\w+)(?=[^()]*\)\s*=>)"
)
"""Names that JavaScript binds: constants, variables, functions, parameters of arrow functions."""
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, eq=False)
class Module:
    """One source file."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        """The package below the root to which the module belongs; "" for the top."""
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 and (len(parts) > 2 or self.is_package) else ""

    @property
    def is_package(self) -> bool:
        return self.path.name == "__init__.py"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the file."""
        return list(ast.walk(self.tree))

    @cached_property
    def for_types(self) -> set[ast.AST]:
        """The nodes that only type checkers see."""
        conditions = (node for node in self.nodes if isinstance(node, ast.If))
        guarded = (node for node in conditions if "TYPE_CHECKING" in ast.unparse(node.test))
        return {inner for node in guarded for inner in ast.walk(node)}

    def functions(self) -> Iterator[Function]:
        return (node for node in self.nodes if isinstance(node, Function))

    def place(self, node: ast.AST) -> str:
        return f"{self.name}:{getattr(node, 'lineno', 1)}"


@dataclass
class Structure:
    """The measures of all modules below a folder."""

    root: Path
    modules: dict[str, Module] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in sorted(self.root.rglob("*.py")):
            parts = [self.root.name, *path.relative_to(self.root).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text(encoding="utf-8")
            self.modules[name] = Module(name, path, text, ast.parse(text))

    def imports(self, module: Module, *, for_types: bool) -> set[str]:
        """The modules of this package that a module imports, at the top or inside functions.

        Those that ``import_module`` is given by name count, too.
        """
        targets: set[str] = set()
        for node in module.nodes:
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                targets.update(ast.unparse(arg).strip("'\"") for arg in node.args)
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if not for_types and node in module.for_types:
                continue
            if isinstance(node, ast.Import):
                targets.update(alias.name for alias in node.names)
            elif not node.level and node.module:
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    targets.add(inner if inner in self.modules else node.module)
        above = {module.name, *parents(module.name)}
        return {name for name in targets if name in self.modules and name not in above}

    def circles(self, *, for_types: bool = False) -> list[list[str]]:
        """Groups of modules that import one another, directly or through others."""
        graph = {
            name: self.imports(module, for_types=for_types) for name, module in self.modules.items()
        }
        return sorted(sorted(group) for group in components(graph) if len(group) > 1)

    @cached_property
    def casts(self) -> list[str]:
        """Casts to a kind of tree or engine above the engines."""
        return [
            f"{module.place(node)} {ast.unparse(node.args[0])}"
            for module in self.modules.values()
            if module.package not in {"engines", "tree"}
            for node in module.nodes
            if isinstance(node, ast.Call)
            and ast.unparse(node.func).endswith("cast")
            and node.args
            and ast.unparse(node.args[0]).strip("'\"") in KINDS
        ]

    @cached_property
    def private(self) -> list[str]:
        """Private attributes of objects whose class no file of the same package defines."""
        own: dict[str, set[str]] = defaultdict(set)
        for module in self.modules.values():
            own[module.package] |= defined(module.nodes)
        places = []
        for module in self.modules.values():
            for node in module.nodes:
                if not isinstance(node, ast.Attribute) or not is_private(node.attr):
                    continue
                if node.attr not in own[module.package]:
                    places.append(f"{module.place(node)} {ast.unparse(node)}")
        return places

    @cached_property
    def vague(self) -> list[str]:
        """Variables, parameters and attributes with a name of `VAGUE`, by module and line."""
        return sorted(
            f"{module.place(node)} {name}"
            for module in self.modules.values()
            for node in module.nodes
            if (name := bound_name(node)) in VAGUE
        )

    @property
    def vague_elsewhere(self) -> dict[str, list[str]]:
        """Where such names are in tests, in tools, benchmarks and docs, and in JavaScript."""

        def in_python(*folders: str) -> list[str]:
            places = (self.root.parents[1] / name for name in folders)
            files = (path for place in places for path in place.rglob("*.py"))
            trees = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in files)
            return [
                f"{path.name}:{getattr(node, 'lineno', 1)} {name}"
                for path, tree in trees
                for node in ast.walk(tree)
                if (name := bound_name(node)) in VAGUE
            ]

        pages = (path for path in self.root.rglob("*.js") if "vendor" not in path.parts)
        return {
            "tests": in_python("tests"),
            "tools, benchmarks and docs": in_python("tools", "benchmarks", "docs"),
            "JavaScript": [
                f"{path.name} {name}"
                for path in pages
                for match in BINDINGS.finditer(path.read_text(encoding="utf-8"))
                for name in match.groups()
                if name in VAGUE
            ],
        }

    @cached_property
    def long(self) -> list[tuple[int, str]]:
        """Functions of more than `LONG` lines, longest first."""
        return self._largest(LONG, lambda node: (node.end_lineno or 0) - node.lineno + 1)

    @cached_property
    def long_code(self) -> list[tuple[int, str]]:
        """Functions of more than `LONG` lines without docstrings, the help of commands."""
        return self._largest(LONG, code_lines)

    @cached_property
    def wide(self) -> list[tuple[int, str]]:
        """Functions with more than `WIDE` parameters, widest first."""
        return self._largest(WIDE, lambda node: len(parameters(node)))

    def _largest(self, limit: int, measure: Callable[[Function], int]) -> list[tuple[int, str]]:
        sizes = (
            (measure(node), f"{module.place(node)} {node.name}")
            for module in self.modules.values()
            for node in module.functions()
        )
        return sorted((size for size in sizes if size[0] > limit), reverse=True)

    @property
    def anys(self) -> int:
        """Lines of signatures that contain ``Any``."""
        count = 0
        for module in self.modules.values():
            lines = module.text.splitlines()
            for node in module.functions():
                signature = lines[node.lineno - 1 : node.body[0].lineno - 1]
                count += sum("Any" in line for line in signature)
        return count

    @property
    def exported(self) -> list[str]:
        """The names in ``__all__`` of the whole package."""
        for node in self.modules[self.root.name].tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return list(ast.literal_eval(node.value))
        return []

    def measures(self) -> dict[str, object]:
        """All measures by name."""
        circles, typed = self.circles(), self.circles(for_types=True)
        lines = Counter[str]()
        for module in self.modules.values():
            lines[module.package or "(top)"] += len(module.text.splitlines())
        return {
            "files": len(self.modules),
            "lines": sum(lines.values()),
            "lines by package": dict(lines.most_common()),
            "circles": len(circles),
            "files in circles": sum(map(len, circles)),
            "circles with imports for type checkers": len(typed),
            "files in those": sum(map(len, typed)),
            "casts to kinds above the engines": len(self.casts),
            "private names of other packages": len(self.private),
            "vague names": len(self.vague),
            "vague names elsewhere": {
                where: len(names) for where, names in self.vague_elsewhere.items()
            },
            f"functions over {LONG} lines": len(self.long),
            f"functions over {LONG} lines without their docstrings": len(self.long_code),
            "longest function": max((size for size, _ in self.long), default=LONG),
            f"functions with over {WIDE} parameters": len(self.wide),
            "longest parameter list": max((size for size, _ in self.wide), default=WIDE),
            "names that the package exports": len(self.exported),
            "lines of signatures with Any": self.anys,
        }


def parents(name: str) -> Iterator[str]:
    """The packages that contain a module."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def parameters(node: Function) -> list[ast.arg]:
    """The parameters of a function, without ``self``."""
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [arg for arg in args if arg.arg not in {"self", "cls"}]


def code_lines(node: Function) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    is_docstring = ast.get_docstring(node, clean=False) is not None
    lines = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return (node.end_lineno or 0) - node.lineno + 1 - lines


def bound_name(node: ast.AST) -> str:
    """The name that a node binds as a variable, parameter or attribute; "" for all others."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        return node.attr
    return node.arg if isinstance(node, ast.arg) else ""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in NAMED_TUPLES


NAMED_TUPLES = {"_replace", "_fields", "_asdict", "_make", "_exit"}
"""Public names of the standard library that begin with an underscore."""


def defined(nodes: Iterable[ast.AST]) -> set[str]:
    """Private names that a file defines: functions, classes, variables, attributes, slots."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return names


def components(graph: dict[str, set[str]]) -> Iterator[list[str]]:
    """The strongly connected components of a graph (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []

    def visit(start: str) -> Iterator[list[str]]:
        index[start] = low[start] = len(index)
        stack.append(start)
        for target in sorted(graph[start]):
            if target not in index:
                yield from visit(target)
                low[start] = min(low[start], low[target])
            elif target in stack:
                low[start] = min(low[start], index[target])
        if low[start] == index[start]:
            at = stack.index(start)
            yield stack[at:]
            del stack[at:]

    for name in graph:
        if name not in index:
            yield from visit(name)


def shown(title: str, places: Iterable[object], most: int = 12) -> None:
    for _, place in zip(range(most), places, strict=False):
        print(f"  {title}: {place}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true", help="print the measures as JSON")
    options = parser.parse_args()
    root = options.sources.resolve()
    structure = Structure(root / ROOT.name if (root / ROOT.name).is_dir() else root)
    measures = structure.measures()
    if options.json:
        print(json.dumps(measures, indent=1))
        return
    for name, value in measures.items():
        print(f"{name}: {value}")
    shown("circle", structure.circles())
    shown("circle with types", structure.circles(for_types=True))
    shown("cast", structure.casts)
    shown("private", structure.private)
    shown("vague", structure.vague)
    shown("vague", itertools.chain.from_iterable(structure.vague_elsewhere.values()))
    shown("long", structure.long)
    shown("wide", structure.wide)


if __name__ == "__main__":
    main()

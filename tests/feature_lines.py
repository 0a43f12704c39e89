"""Lines of code by feature, now and at the commit before the redesign.

``python tests/feature_lines.py`` writes the table to ``docs/results/redesign.json`` and prints it.
A line of code is one that holds a token: blank lines, comments and docstrings do not count. The
sources of before are laid out by the formatter of today, also where marks kept it from them.
Statements do not depend on the layout; imports are not counted among them.

The notes that reports print are text, too: they were constants `NOTES` and are docstrings now.

Every file, or a definition in it, belongs to one feature. A feature that was there before is
compared like with like; what came later is listed apart. The first pattern that fits decides.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "subgame"
RESULT = ROOT / "docs" / "results" / "redesign.json"
BEFORE = "2749427"
SKIPPED = r"#\s*fmt:\s*(skip|off|on)"
TREES = {"PublicTree", "RangeTree", "SequenceTree", "BoardTree"}

NEW = {
    "play: agents, matches, protocols, LBR, AIVAT": "play/* refine/live/* cli/match.py cli/play.py "
    "cli/lbr.py cli/dealer.py cli/acpc.py cli/slumbot.py cli/histories.py bench/play.py "
    "refine/solve_gadget.py:play_gadget refine/solve_gadget.py:Played games/actions.py "
    "agent_names.py *:sample_chance refine/depth/rollouts.py refine/depth/preflop*.py "
    "refine/depth/blueprint_below.py refine/depth/flop_*.py cli/train_holdem.py "
    "*:is_public *:allows games/base.py:Game.unit games/holdem/game.py:Holdem.unit "
    "games/holdem/game.py:Holdem._next_hand games/holdem/game.py:Holdem._cumulative",
    "the workbench in a browser": "serve/* cli/serve.py",
    "trained blueprints on sampled boards": "blueprints/* engines/sampled.py "
    "engines/numba/sampled*.py engines/torch/sampled.py engines/*/strengths.py "
    "tree/betting_arrays.py cli/blueprint.py",
    "card abstraction": "abstraction/* !abstraction/lift.py cli/abstract.py",
    "solved spots: lines, tables, locks, reports, push or fold, imports": "solve/browse.py "
    "solve/compare.py solve/decisions.py solve/flops.py solve/hand_classes.py solve/lines.py "
    "solve/locks.py solve/pages.py solve/pushfold.py solve/report.py solve/runouts.py "
    "solve/tables.py games/holdem/imports.py games/holdem/equity.py "
    "solve/preflop.py solve/off_path.py cli/preflop.py engines/torch/held.py "
    "solve/endgame.py:of_run solve/endgame.py:off_path solve/endgame.py:runouts "
    "cli/compare.py cli/report.py cli/pushfold.py tree/ranges/below.py "
    "tree/ranges/locked.py tree/ranges/find.py tree/ranges/names.py bench/flop_subsets.py "
    "bench/preflop_data.py solve/endgame.py:Endgame.lock solve/endgame.py:_stored_values "
    "cli/endgame_view.py:values_text cli/endgame_view.py:hand_values "
    "cli/endgame_options.py:Looking games/holdem/bets.py:BetSizes.amended "
    "games/holdem/game.py:Holdem._check_lines games/holdem/game.py:Holdem.gone "
    "games/holdem/ranges.py:class_at cli/common.py:check_form "
    "cli/endgame.py:parse_tremble cli/endgame.py:TREMBLING cli/endgame.py:Solving.with_trembles "
    "cli/endgame.py:_state_of cli/endgame_view.py:Shown._ghosts cli/endgame_view.py:ghosts_text "
    "cli/endgame_view.py:GHOSTS cli/spot.py:Spot.locks cli/spot.py:Spot.filled cli/spot.py:_say",
    "bets and ranges as players write them": "games/holdem/bets.py:_GEOMETRIC "
    "games/holdem/bets.py:_MOVES games/holdem/bets.py:USUAL games/holdem/bets.py:share "
    "games/holdem/bets.py:BetSizes.since games/holdem/bets.py:BetSizes.hint "
    "games/holdem/bets.py:moves games/holdem/bets.py:_next_moves games/holdem/rules.py:_merged "
    "games/holdem/rules.py:Betting.is_donk "
    "games/holdem/bets_text.py:Parser._line games/holdem/bets_text.py:_LINES "
    "games/holdem/ranges.py:_GROUP games/holdem/ranges.py:_NUMBERS "
    "games/holdem/ranges.py:_Item.percent games/holdem/ranges.py:_Item.open_or_close "
    "games/holdem/ranges.py:_Item.end games/holdem/ranges.py:_Item.unclosed",
    "rake and parts of chips": "games/holdem/chips.py games/holdem/rules.py:Betting.rake "
    "games/holdem/rules.py:NoLimit.raked games/holdem/rules.py:_unit games/holdem/rules.py:_chips "
    "cli/endgame_view.py:Shown._rake cli/spot.py:_share",
    "notebooks": "show/* notebook.py *:_repr_html_ *:to_pandas *:as_html tree/*:drawn "
    "!tree/strategy.py:Strategy._repr_html_ "
    "errors.py:brief errors.py:SHORT games/base.py:Game.__repr__ "
    "games/holdem/ranges.py:Range.__repr__",
    "games from files, and by text alone": "games/sources.py games/__init__.py:_load_file "
    "games/__init__.py:_a_game games/holdem/spots.py:spot tree/strategy.py:_named_tree "
    "interop/gambit.py:GambitGame.__str__ interop/openspiel.py:OpenSpielGame.__str__",
    "games in other processes (pickles), OpenSpiel's states read in few calls": "frozen.py "
    "interop/gambit.py:GambitGame.__getstate__ interop/gambit.py:GambitGame.__setstate__ "
    "interop/gambit.py:_linked interop/openspiel.py:OpenSpielReader "
    "interop/openspiel.py:OpenSpielGame.reader tree/public_tree.py:PublicTree.__getstate__ "
    "tree/sequence/histories.py:spelled "
    "games/base.py:StateReader games/base.py:Game.reader games/base.py:Ask games/base.py:_known "
    "interop/openspiel.py:OpenSpielGame.spelled interop/openspiel.py:_history_string",
    "refusals, memory limits, nothing lost": "memory.py:Allowance _interrupt.py "
    "errors.py:check_regular "
    "tree/files.py:rescue tree/files.py:replacing tree/ranges/betting_tree.py:check_size "
    "tree/sequence/spot_checks.py tree/sequence/size.py *:check_memory solve/solver.py:_save "
    "tree/strategy.py:Strategy.__post_init__ tree/strategy.py:_check_shape "
    "refine/refine.py:_safe_parts refine/refine.py:Refinement.is_worse "
    "refine/report.py:kept_text cli/refine_view.py:not_saved errors.py:CONTROL "
    "errors.py:LARGEST errors.py:printable errors.py:read_text errors.py:NotSavedWarning "
    "games/__init__.py:LARGEST cli/__init__.py:LONGEST cli/__init__.py:LONGEST_LINE "
    "cli/__init__.py:_warn cli/__init__.py:_shorter cli/console.py:SafeConsole "
    "cli/common.py:save_files cli/common.py:check_spot papers/burch2014_fig4.py:stopping "
    "cli/refine.py:RefineOutput cli/limit.py:LimitOutput",
    "long runs: rounding, stalls, checks while solving": "engines/rounding.py "
    "solve/solver.py:Run.stalled solve/solver.py:Run.rough solve/solver.py:Run.can_check "
    "solve/solver.py:Run.place_for_check",
    "a fast start: what is imported and compiled when it is used": ""
    "engines/numba/compiling.py:njit engines/numba/compiling.py:LenientCache "
    "engines/numba/compiling.py:_cache engines/numba/native.py engines/numba/objects.py "
    "engines/numba/first_use.py lazy.py __init__.py:_MODULES __init__.py:_NAMES "
    "__init__.py:_HOME __init__.py:__getattr__ __init__.py:__dir__ holdem.py:__getattr__ "
    "games/__init__.py:__getattr__ games/holdem/ranges.py:Range.check cli/__init__.py:load_help "
    "cli/__init__.py:Commands.list_commands cli/__init__.py:Commands.get_command "
    "cli/__init__.py:Commands.format_help cli/progress.py:EVALUATION",
    "more gadgets": "refine/learners.py:Mixture refine/learners.py:doubt "
    "refine/gadgets.py:_Combined refine/gadgets.py:_combined refine/gadgets.py:Combined "
    "refine/gadgets.py:Adaptive refine/gadgets.py:Gadget.stages "
    "refine/gadgets.py:GadgetInputs.raised refine/solve_gadget.py:_last_stage",
    "hold'em in all verbs and on the CPU: depth limits, CFR-D, translation, wider ranges": ""
    "engines/numba/range_rows.py refine/decompose_ranges.py refine/last_street.py "
    "refine/depth/ranges.py refine/depth/play_ranges.py refine/depth/street.py:GivenLeaves "
    "refine/nested/translate_ranges.py",
    "more experiments": "papers/brown2017_tables.py papers/brown2017_hours.py papers/cells.py "
    "papers/brown2018_agent.py papers/brown2018_preflop.py papers/flop_agent.py "
    "papers/moravcik2016_fig5.py "
    "papers/__init__.py:Reproduction._choice papers/__init__.py:BUCKETED "
    "papers/__init__.py:AGENTS papers/__init__.py:MARGINS papers/__init__.py:FLOP_AGENT "
    "cli/reproduce.py:_named games/holdem/named.py",
    "benchmarks of the start, of players' spots, of a peer that is run": "bench/startup.py "
    "bench/holdem_spots.py:REAL bench/holdem.py:ask bench/holdem.py:from_the_shell",
}
"""Features that came after `BEFORE`, as patterns of files and of definitions in them."""

MOVED = {
    "trees and strategies": "games/holdem/equity.py:dense_ranks",
    "endgames": "solve/lines.py:follow_line solve/lines.py:action_name "
    "solve/browse.py:Explorer.probs solve/browse.py:decision solve/hand_classes.py:looks "
    "solve/decisions.py:Decision.player solve/decisions.py:Decision.names "
    "solve/decisions.py:Decision.frequency solve/decisions.py:Decision.table",
}
"""Definitions that were there before, now in files of features that came later."""

SHARED = {
    "games and rules": ("games/*", "games/*"),
    "trees and strategies": ("tree/*", "tree/* memory.py"),
    "engines on a GPU": ("gpu/* !gpu/check* !gpu/growth.py !gpu/measure.py", "engines/torch/*"),
    "engines on the CPU": (
        "solve/engine.py solve/kernels.py solve/halves.py solve/range_* solve/simd.py "
        "solve/sampling.py solve/compiling.py",
        "engines/*",
    ),
    "endgames": (
        "solve/endgame.py cli/endgame* cli/hand_grid.py",
        "solve/endgame.py cli/endgame* cli/spot.py cli/hand_grid.py",
    ),
    "solving and evaluation": ("solve/*", "solve/*"),
    "depth limits": (
        "refine/depth.py refine/*limited* refine/continuations.py refine/lea*.py",
        "refine/depth/*",
    ),
    "nested solving and translation": ("refine/nested* refine/translation.py", "refine/nested/*"),
    "subgames, gadgets, refinement, CFR-D": ("refine/*", "refine/* abstraction/lift.py"),
    "commands": ("cli/*", "cli/*"),
    "papers": ("papers/*", "papers/*"),
    "benchmarks and checks": ("bench* gpu/*", "bench/*"),
    "OpenSpiel and Gambit": ("openspiel.py gambit.py", "interop/* openspiel.py gambit.py"),
    "the package": ("*", "*"),
}
"""Features of both: patterns of files before and now."""

NEW |= {
    "hold'em in all verbs: where they find it, and single streets on the CPU": ""
    "refine/kinds.py:RangeKind.translated refine/kinds.py:RangeKind.limited "
    "refine/kinds.py:RangeKind.played refine/kinds.py:RangeKind.decomposed "
    "engines/numba/ranges.py:stage engines/numba/ranges.py:enter engines/numba/ranges.py:rise "
    "engines/numba/ranges.py:_above engines/numba/ranges.py:_check_plain "
    "engines/numba/ranges.py:row_reach "
    "engines/numba/ranges.py:row_values engines/numba/ranges.py:opposing "
    "engines/numba/ranges.py:_wide engines/numba/range_scratch.py:Rows "
    "engines/numba/range_kernels.py:copy_rows engines/numba/range_kernels.py:sweep_boards "
    "engines/torch/layout.py:some",
    "play: where agents begin": "refine/kinds.py:start refine/kinds.py:limit_at",
    "solved spots: infosets by name, values of a first street": "tree/ranges/tree.py:finder "
    "tree/ranges/tree.py:lookup tree/ranges/tree.py:number tree/sequence/tree.py:lookup "
    "tree/public_tree.py:lookup engines/numba/ranges.py:first_street",
    "rake, locks and trembles in a solve": "solve/evaluate.py:gains solve/results.py:gains_said "
    "solve/solver.py:_steady tree/*:zero_sum tree/*:not_plain tree/*:has_locks "
    "engines/numba/ranges.py:_hold",
    "long runs: measurements within iterations, and those that are left out": ""
    "solve/limits.py:_expected solve/cfr.py:can_check engines/numba/ranges.py:can_check "
    "engines/numba/ranges.py:_place_reach",
    "what a refinement guarantees; Ctrl-C in work of several solves": ""
    "refine/gadgets.py:promise refine/refine.py:kept refine/refine.py:rounding "
    "solve/solver.py:whole_solves",
    "memory of sequence trees on a device, of betting before it is laid out": ""
    "engines/torch/memory.py:sequence_bytes engines/torch/sequence.py:estimate "
    "tree/ranges/deal.py:cost_of_action",
}
"""Later features inside the files of trees, engines, solving and refinement."""


@cache
def code_lines(text: str) -> frozenset[int]:
    """The numbers of the lines that hold code; strings that stand alone are docstrings.

    >>> sorted(code_lines('A = 1\\n"What A is."\\ndef b(): ...'))
    [1, 3]
    """
    docs: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if _is_text(node):
            docs.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    held: set[int] = set()
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*nothing, tokenize.ENDMARKER):
            held.update(range(token.start[0], token.end[0] + 1))
    return frozenset(held - docs)


def _is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a statement is a string that stands alone."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def definitions(text: str) -> Iterator[tuple[str, set[int]]]:
    """Constants, functions, classes and methods with their lines, a class before its methods."""

    def inside(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, set[int]]]:
        for node in body:
            last = (node.end_lineno or node.lineno) + 1
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                yield prefix + node.name, set(range(first, last))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                yield prefix + node.targets[0].id, set(range(node.lineno, last))
            if isinstance(node, ast.ClassDef):
                yield from inside(node.body, f"{node.name}.")

    return inside(ast.parse(text).body, "")


def fits(name: str, patterns: str) -> bool:
    """Whether one of the patterns fits and none that begins with ``!``.

    >>> fits("gpu/check.py", "gpu/* !gpu/check*"), fits("a.py:B.to_pandas", "*:to_pandas")
    (False, True)
    """
    words = patterns.split()
    path, _, inner = name.partition(":")
    names = [name, f"{path}:{inner.rpartition('.')[2]}"] if inner else [name]
    fitting = [word for word in words if (":" in word) == bool(inner)]
    return any(fnmatch(each, word) for each in names for word in fitting) and not any(
        fnmatch(name, word[1:]) for word in words if word.startswith("!")
    )


def statements(text: str) -> frozenset[int]:
    """The numbers of the lines on which statements begin, without imports and docstrings."""
    return frozenset(
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt)
        and not isinstance(node, ast.Import | ast.ImportFrom)
        and not _is_text(node)
    )


COUNTS: dict[str, Callable[[str], frozenset[int]]] = {"lines": code_lines, "statements": statements}


def counted(package: Path, *, before: bool) -> dict[str, Counter[str]]:
    """By feature: lines of code, and statements."""
    out: dict[str, Counter[str]] = {name: Counter() for name in COUNTS}
    for file in sorted(package.rglob("*.py")):
        path, text = file.relative_to(package).as_posix(), file.read_text(encoding="utf-8")
        parts = [
            (feature, lines)
            for name, lines in ([] if before else definitions(text))
            for feature, patterns in (*MOVED.items(), *NEW.items())
            if fits(f"{path}:{name}", patterns)
        ]
        later = [] if before else [name for name, patterns in NEW.items() if fits(path, patterns)]
        known = [name for name, pair in SHARED.items() if fits(path, pair[0 if before else 1])]
        notes = {n for name, lines in definitions(text) if name == "NOTES" for n in lines}
        for kind, count in COUNTS.items():
            left = count(text) - notes
            for feature, lines in parts:
                out[kind][feature] += len(lines & left)
                left -= lines
            out[kind][(later or known)[0]] += len(left)
    return out


def nodes(path: Path) -> Iterator[ast.AST]:
    """Everything in a file."""
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def parameters(function: ast.FunctionDef) -> list[str]:
    """The names of what a function is given."""
    given = function.args
    names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def matches(package: Path, text: str) -> list[str]:
    """The lines of a package, as ``FILE:LINE``, that match a regular expression."""
    pattern = re.compile(text)
    return [
        f"{path.relative_to(package).as_posix()}:{number}"
        for path in package.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def kind_checks(package: Path) -> list[str]:
    """Where the kind of a tree is asked for, above the trees and the engines."""
    return [
        f"{path.relative_to(package).as_posix()}:{node.lineno}"
        for path in package.rglob("*.py")
        if path.relative_to(package).parts[0] not in ("tree", "engines", "gpu")
        for node in nodes(path)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and TREES & {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    ]


def shape(package: Path) -> dict[str, int]:
    """What `test_structure` bounds, and lines of code by package."""
    files = sorted(package.rglob("*.py"))
    functions = [
        node
        for path in files
        if path.name != "triton_kernels.py"
        for node in nodes(path)
        if isinstance(node, ast.FunctionDef)
    ]
    lines: Counter[str] = Counter()
    for path in files:
        parts = path.relative_to(package).parts
        lines[parts[0] if len(parts) > 1 else "."] += len(code_lines(path.read_text("utf-8")))
    return {
        "longest file": max(len(path.read_text("utf-8").splitlines()) for path in files),
        "longest parameter list": max(len(parameters(each)) for each in functions),
        "checks of the kind of a tree above the engines": len(kind_checks(package)),
        "type: ignore": len(matches(package, r"#\s*type:\s*ignore")),
        "fmt: skip": len(matches(package, SKIPPED)),
        **{f"lines in {name}": count for name, count in sorted(lines.items())},
    }


IMPLEMENTATIONS = {
    "the gadget's learner": (4, "refine/learners.py"),
    "gifts": (3, "refine/payoffs.py: carried_gift, received_gift"),
    "regret matching (now: outside kernels)": (7, "engines/arrays.py: regret_matching"),
    "normalisation by the reach of the others": (3, "engines/arrays.py: normalise"),
    "copying the strategy of a part": (7, "tree/parts.py: restrict, embed"),
}
"""How often before, as the plan of the redesign counted them, and where it stands now."""


def sources(commit: str, into: Path) -> tuple[Path, int]:
    """The package at a commit, laid out by the formatter of today, and the marks against it."""
    packed = subprocess.run(
        ["git", "archive", commit, "src/subgame"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        files.extractall(into, filter="data")
    package = into / "src" / "subgame"
    skipped = len(matches(package, SKIPPED))
    for path in package.rglob("*.py"):
        path.write_text(re.sub(rf" *{SKIPPED}", "", path.read_text("utf-8")), encoding="utf-8")
    config = str(ROOT / "pyproject.toml")
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--config", config, str(into)]
    subprocess.run(command, check=True)
    return package, skipped


def table() -> dict[str, object]:
    """Like with like, and what came later."""
    with tempfile.TemporaryDirectory() as folder:
        old, skipped = sources(BEFORE, Path(folder))
        was, shaped = counted(old, before=True), shape(old) | {"fmt: skip": skipped}
    now = counted(PACKAGE, before=False)
    shared = {
        name: {kind: {"before": was[kind][name], "now": now[kind][name]} for kind in COUNTS}
        for name in SHARED
    }
    total = {
        kind: {when: sum(row[kind][when] for row in shared.values()) for when in ("before", "now")}
        for kind in COUNTS
    }
    return {
        "what": "lines that hold code, formatted alike; statements without imports",
        "command": "python tests/feature_lines.py",
        "before": BEFORE,
        "features of both": shared | {"all of them": total},
        "features that came later": {
            name: {kind: now[kind][name] for kind in COUNTS} for name in NEW
        },
        "all now": {kind: sum(now[kind].values()) for kind in COUNTS},
        "shape": {"before": shaped, "now": shape(PACKAGE)},
        "implementations": {
            name: {"before": many, "now": 1, "where": where}
            for name, (many, where) in IMPLEMENTATIONS.items()
        },
    }


def main() -> None:
    """Write the table to the result and print it."""
    found = table()
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    result["lines by feature"] = found
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

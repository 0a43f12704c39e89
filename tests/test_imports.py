"""What is imported only when it is used, and that nothing of it is missing."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import subgame as sg
from subgame import cli
from subgame.bench.startup import ERRORS

PLUGINS = "importlib.metadata"
"""Lists the games of plugins, where a game is not one of ours."""
SLOW = {"numpy", "numba", "scipy", "matplotlib", "torch", PLUGINS}
MORE_ERRORS = """
match nosuch uniform
play kuhn --against nosuch
exploit kuhn nosuch.json
exploit kuhnn uniform
abstract leduc flop=2
endgame pyproject.toml
endgame --board QsJh2h8d3c --pot 100 --stack 1000 --oop 22+,AKs,A5s-A2s,[50]AhKh[/50] --ip AA,KQx
report --flops nosuch
reproduce coin-toss --seed -1
solve nosuch.efg
""".strip().splitlines()


def loaded_after(code: str) -> set[str]:
    """The slow modules that a fresh process has loaded after running `code`."""
    script = f"import sys\n{code}\nprint(*({SLOW!r} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_the_package_loads_nothing_slow() -> None:
    assert loaded_after("import subgame") == set()


def test_commands_load_nothing_slow_before_they_run() -> None:
    """Their help and the errors in their options are shown at once."""
    assert (
        loaded_after("from subgame import cli\nfor name in cli.COMMANDS: cli.load(name)") == set()
    )


def test_matplotlib_is_loaded_only_to_draw() -> None:
    """Its first import builds a cache of fonts, which takes a while and says so."""
    modules = "solve.solver solve.evaluate refine.verbs.refine refine.verbs.nest play.match"
    code = "".join(f"import subgame.{module}\n" for module in modules.split())
    assert "matplotlib" not in loaded_after(code)


def test_errors_in_a_command_line_load_nothing_slow() -> None:
    """Except for a line that the tree lacks: the ranges of a spot are arrays."""
    errors = [error for error in ERRORS if "--line" not in error] + MORE_ERRORS
    script = (
        "import sys\nfrom subgame.cli import main\n"
        "for line in sys.stdin.read().splitlines():\n"
        f"    print(main(line.split()), *({SLOW!r} & sys.modules.keys()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input="\n".join(errors), capture_output=True, text=True
    )
    answers = dict(zip(errors, done.stdout.splitlines(), strict=True))
    wrong = {error: said for error, said in answers.items() if said not in ("2", "2 " + PLUGINS)}
    assert wrong == {}, done.stderr


def test_a_river_from_the_shell_imports_no_sequence_trees() -> None:
    """Each module takes time from the shell, and a river needs neither these nor Numba's."""
    script = (
        "import sys\nfrom subgame.cli import main\n"
        "main('endgame --board AsKsQs7d2c --pot 10 --stack 10 --oop AA,KK --ip QQ,JJ'.split())\n"
        "print([name for name in sys.modules if name.startswith('subgame.tree.sequence.')])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stderr


def test_type_checkers_and_python_see_the_same_names() -> None:
    tree = ast.parse(Path(inspect.getfile(sg)).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {*sg._MODULES.split(), *sg._HOME}
    assert imported <= set(dir(sg))
    assert set(sg.__all__) <= imported
    for name in imported:
        assert getattr(sg, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'subgame' has no attribute 'slove'"):
        sg.slove  # noqa: B018


def test_a_verb_is_a_package_and_a_function() -> None:
    from subgame.refine.verbs import refine as module
    from subgame.solve.solver import solve

    assert inspect.signature(sg.solve) == inspect.signature(solve)
    assert sg.solve.__doc__ == solve.__doc__
    assert sg.refine.__doc__ == module.refine.__doc__
    assert pickle.loads(pickle.dumps(sg.Resolve())) == sg.Resolve()


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_the_list_of_commands_has_their_first_sentences(name: str) -> None:
    assert cli.load(name).help.split("\n\n")[0] == cli.COMMANDS[name]

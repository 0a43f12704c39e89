"""The command `subgame`: the package from a terminal.

Results go to stdout, progress and errors to stderr. With ``--json`` the result is one JSON object.
An error is one sentence and exit code 2; after Ctrl-C the exit code is 130.
"""

from __future__ import annotations

import atexit
import contextlib
import inspect
import io
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperCommand, TyperGroup

from subgame import _interrupt
from subgame.errors import (
    MemoryLimitError,
    NotSavedWarning,
    SubgameError,
    UnlockedWarning,
    did_you_mean,
    nearest,
    printable,
)
from subgame.memory import available

__all__ = ["app", "main", "run"]

LONGEST = 400
"""Letters of the longest word in a message; longer ones are shortened."""
MEMORY = "--memory-limit"
SCARCE = 2**28
"""Bytes of memory below which libraries fail to load, some by ending the process."""
LONGEST_LINE = 2000
"""Letters of the longest message."""

# Typer brings its own copy of Click or uses the one installed, depending on its version; the base
# of its BadParameter is the right UsageError in both.
UsageError = cast("type[Exception]", typer.BadParameter.__base__)
_show_warning = warnings.showwarning


class NoResultError(Exception):
    """Ctrl-C was pressed before there was a result."""


GROUPS = {
    "Start here": {
        "demo": "Show a poker spot and a safe refinement, in about a minute.",
        "games": "List the games with their parameters and defaults.",
        "serve": "Open the workbench in a browser: solve, look at solutions, play.",
    },
    "Study poker: hold'em spots and ranges": {
        "endgame": "Solve a hold'em spot on the flop, turn or river, hand by hand.",
        "report": "Report on many flops, or on every next card of a solved spot.",
        "compare": "Compare two saved solutions of a hold'em spot.",
        "preflop": "Solve the betting before the flop, heads up, as a grid of hands.",
        "pushfold": "Show the equilibrium of push or fold before the flop, heads up.",
    },
    "Solve any game, measure and improve strategies": {
        "solve": "Solve a game and measure how exploitable the strategy is.",
        "exploit": "Measure exactly what a best response wins against a strategy.",
        "refine": "Improve a strategy by solving its subgames again.",
        "limit": "Solve a game down to a depth limit.",
    },
    "Play: agents, matches and protocols": {
        "play": "Play a game against an agent.",
        "match": "Let two agents play a match, and estimate which one is better.",
        "lbr": "Measure what local best response wins against an agent.",
        "gauntlet": "Let an agent play many opponents, and show what it wins from each.",
        "dealer": "Deal a hold'em match to programs, by the ACPC protocol.",
        "acpc": "Let an agent play at a dealer of the ACPC protocol.",
        "slumbot": "Let an agent play against Slumbot, over its HTTP API.",
        "gtowizard": "Let an agent play GTO Wizard's benchmark, over its HTTP API.",
        "histories": "Convert and check hand histories: logs of matches, PHH, ACPC.",
    },
    "Train: blueprints of whole hold'em": {
        "blueprint": "Train a blueprint of a whole hold'em game by a recipe.",
        "abstract": "Put the hands of a hold'em game into buckets, and show how good they are.",
        "train": "Train networks for the values at a depth limit, one per player.",
    },
    "Check: papers and speed": {
        "reproduce": "Reproduce an experiment of a paper and compare the figures.",
        "suite": "Compare subgame techniques on fixed tasks.",
        "bench": "Measure the speed of this package and compare it with others.",
    },
}
"""Commands by what they are for, with the first sentence of their help."""
COMMANDS = {name: text for group in GROUPS.values() for name, text in group.items()}
"""A command's module is imported when it is called."""


class Commands(TyperGroup):
    """The group of commands, with its own messages for an unknown command and for Ctrl-C."""

    listing = False

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if not self.listing:
            return load(cmd_name)
        panel = next(title for title, commands in GROUPS.items() if cmd_name in commands)
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name], rich_help_panel=panel)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.listing = True
        super().format_help(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and args[0] not in COMMANDS:
            raise did_you_mean("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise NoResultError from None


app = typer.Typer(
    cls=Commands,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command has [bold]--help[/] with examples, and most have [bold]--json[/] for "
    "programs.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"subgame {version('subgame')}")
        raise typer.Exit


@app.callback()
def subgame(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Solve and play two-player zero-sum imperfect-information games, such as poker."""


def flowing(text: str) -> str:
    r"""A docstring with each paragraph on one line, which Rich breaks where the terminal ends.

    >>> flowing("One\n    two.\n\n    Three.\n    ")
    'One two.\n\nThree.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def load(name: str) -> Any:
    """A command by its name, as Typer runs it."""
    if "numpy" not in sys.modules and available() < SCARCE:
        raise MemoryError
    function = getattr(import_module(f"subgame.cli.{name}"), f"{name}_command")
    alone = typer.Typer(rich_markup_mode="rich", add_completion=False)
    alone.command(name, help=flowing(function.__doc__))(function)
    return typer.main.get_command(alone)


def load_help() -> None:
    """Import what Typer shows help with, without Rich's Markdown and tracebacks.

    Our help uses neither, and they would take a twelfth of a second.
    """
    absent = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    absent = {module: name for module, name in absent.items() if module not in sys.modules}
    for module, name in absent.items():
        sys.modules[module] = ModuleType(module)
        setattr(sys.modules[module], name, type(name, (), {}))
    try:
        import_module("typer.rich_utils")
    finally:
        for module in absent:
            del sys.modules[module]


def leave_out_texts() -> None:
    """Spare Rich its names such as ``:smile:``, and NumPy its docstrings, which no command shows.

    Each takes a hundredth of a second or two. Other libraries do without them, as they do under
    ``python -OO``.
    """
    contents: dict[str, dict[str, object]] = {
        "rich._emoji_codes": {"EMOJI": {}},
        "numpy._core._add_newdocs": {},
        "numpy._core._add_newdocs_scalars": {},
    }
    for name, content in contents.items():
        if name not in sys.modules:
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name]).update(content)


def let_threads_sleep() -> None:
    """Have NumPy's threads wait without computing.

    OpenBLAS has them spin for a tenth of a second after NumPy is imported and after each use. Now
    it is 2^16 cycles.
    """
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    leave_out_texts()
    let_threads_sleep()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for characters a terminal lacks
    words = list(sys.argv[1:] if args is None else args)
    warnings.showwarning = _warn
    words = words or ["--help"]
    try:
        _interrupt.release()
        if words[-1] in ("-h", "--help"):
            load_help()
        code = app(words, prog_name="subgame", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (NoResultError, KeyboardInterrupt, typer.Abort):
        return _fail(_interrupt.MESSAGE, _interrupt.CODE)
    except BrokenPipeError:  # `subgame games | head -1`: the reader has stopped, which is fine
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        return _fail(_usage(error))
    except MemoryLimitError as error:
        return _fail(error.on_command_line if _takes(words[0], MEMORY) else error.needs)
    except SubgameError as error:
        return _fail(error.on_command_line)
    except (ImportError, OSError, MemoryError) as error:
        if isinstance(error, MemoryError) or available() < SCARCE:  # no library can be loaded
            return _fail("There is not enough memory; close other programs, or ask for less.")
        if isinstance(error, ImportError):
            raise
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}.")


def run() -> NoReturn:
    """Run the command line as a process of its own, and end it."""
    leave(main())


def leave(code: int) -> NoReturn:
    """End the process. Memory goes back as a whole: object by object it takes a tenth of a second.

    Where other threads run, and under ``python -i``, Python ends it as usual.
    """
    if threading.active_count() > 1 or sys.flags.inspect:
        sys.exit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody reads them
        sys.exit(code)
    os._exit(code)


def _takes(command: str, option: str) -> bool:
    return command in COMMANDS and any(option in param.opts for param in load(command).params)


def _warn(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Our own warnings as one line on stderr, all others as Python shows them."""
    if issubclass(category, (NotSavedWarning, UnlockedWarning)):
        _fail(str(message))
    else:
        _show_warning(message, category, *where, **more)


def _fail(sentence: str, code: int = 2) -> int:
    """One line on stderr, in which long words are shortened and nothing controls the terminal."""
    words = [word if len(word) <= LONGEST else _shorter(word) for word in sentence.split()]
    line = printable(" ".join(words))
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}"
    print(line, file=sys.stderr)
    return code


def _shorter(word: str) -> str:
    """The ends of a long word: input that is repeated in a message may be of any length.

    >>> _shorter("9" * 5000 + ".")
    '9999999999...(5,001 characters)...999999999.'
    """
    return f"{word[:10]}...({len(word):,} characters)...{word[-10:]}"


def _usage(error: Exception) -> str:
    """A usage error of Typer's as a sentence, with the nearest option if one was misspelt."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "subgame"
    wrong = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and context is not None:
        shown = [param for param in context.command.params if not getattr(param, "hidden", False)]
        known = [name for option in shown for name in option.opts]
        options = [name for name in known if name.startswith("--")]
        near = nearest(str(wrong), [*options, "--help"])
        hint = "." if near is None else f"; did you mean '{near}'?"
        return f"Unknown option '{wrong}'{hint} See '{path} --help'."
    said = cast("typer.BadParameter", error).format_message().strip().rstrip(".")
    return f"{said}; see '{path} --help'."

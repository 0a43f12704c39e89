"""The command `subgame`: the package from a terminal.

Results go to stdout, progress and errors to stderr. With ``--json`` the result is one JSON object.
An error is one sentence and exit code 2; after Ctrl-C the exit code is 130.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from subgame.cli.abstract import abstract_command
from subgame.cli.bench import bench_command
from subgame.cli.demo import demo_command
from subgame.cli.endgame import endgame_command
from subgame.cli.exploit import exploit_command
from subgame.cli.games import games_command
from subgame.cli.limit import limit_command
from subgame.cli.refine import refine_command
from subgame.cli.reproduce import reproduce_command
from subgame.cli.solve import solve_command
from subgame.cli.train import train_command
from subgame.errors import ArgumentError, SubgameError, did_you_mean, nearest

__all__ = ["app", "main"]

# Typer brings its own copy of Click or uses the one installed, depending on its version; the base
# of its BadParameter is the right UsageError in both.
UsageError = cast("type[Exception]", typer.BadParameter.__base__)


class NoResultError(Exception):
    """Ctrl-C was pressed before there was a result."""


class Commands(TyperGroup):
    """The group of commands, with its own messages for an unknown command and for Ctrl-C."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
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
    epilog="New here? [bold]subgame demo[/] shows what the package does. [bold]subgame games[/] "
    "lists the games. [bold]subgame solve kuhn[/] solves a first one.",
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
    """Solve two-player zero-sum imperfect-information games and evaluate strategies."""


def flowing(text: str) -> str:
    r"""A docstring with each paragraph on one line, which Rich breaks where the terminal ends.

    >>> flowing("One\n    two.\n\n    Three.\n    ")
    'One two.\n\nThree.'
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


COMMANDS: dict[str, Callable[..., None]] = {
    "games": games_command,
    "solve": solve_command,
    "exploit": exploit_command,
    "endgame": endgame_command,
    "refine": refine_command,
    "limit": limit_command,
    "abstract": abstract_command,
    "train": train_command,
    "reproduce": reproduce_command,
    "demo": demo_command,
    "bench": bench_command,
}
for _name, _command in COMMANDS.items():
    app.command(_name, help=flowing(_command.__doc__ or ""))(_command)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for characters a terminal lacks
    words = list(sys.argv[1:] if args is None else args)
    try:
        code = app(words or ["--help"], prog_name="subgame", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (NoResultError, typer.Abort):
        return _fail("Interrupted before there was a result.", 130)
    except BrokenPipeError:  # `subgame games | head -1`: the reader has stopped, which is fine
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as error:
        return _fail(_usage(error))
    except ArgumentError as error:
        return _fail(f"{error.option} {error.wants}")
    except SubgameError as error:
        return _fail(error.sentence)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}.")
    except MemoryError:
        return _fail("There is not enough memory. --memory-limit refuses games that need too much.")


def _fail(sentence: str, code: int = 2) -> int:
    """One line on stderr."""
    print(" ".join(sentence.split()), file=sys.stderr)
    return code


def _usage(error: Exception) -> str:
    """A usage error of Typer's as a sentence, with the nearest option if one was misspelt."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "subgame"
    wrong = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and context is not None:
        shown = [each for each in context.command.params if not getattr(each, "hidden", False)]
        known = [name for option in shown for name in option.opts]
        options = [name for name in known if name.startswith("--")]
        near = nearest(str(wrong), [*options, "--help"])
        hint = "." if near is None else f"; did you mean '{near}'?"
        return f"Unknown option '{wrong}'{hint} See '{path} --help'."
    said = cast("typer.BadParameter", error).format_message().strip().rstrip(".")
    return f"{said}; see '{path} --help'."

"""Ctrl-C while the command line is still being loaded: one line and exit code 130.

The imports take a moment. `KeyboardInterrupt` in the middle of them would be a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

MESSAGE = "Interrupted before there was a result."
CODE = 130
COMMANDS = {"subgame", "subgame.exe"}
MODULES = {"subgame", "subgame.cli"}


def is_command() -> bool:
    """Whether this process runs the command `subgame`, rather than a program that imports it."""
    words = sys.orig_argv[:]
    if os.path.basename(sys.argv[0] if sys.argv else "") in COMMANDS:
        return True
    return "-m" in words[:-1] and words[words.index("-m") + 1] in MODULES


def exit_at_once(number: int, frame: FrameType | None) -> None:
    """Say so and end the process, without the clean-up of modules that are half imported."""
    os.write(2, f"{MESSAGE}\n".encode())
    os._exit(CODE)


def release() -> None:
    """From now on Ctrl-C raises `KeyboardInterrupt` again."""
    if in_main_thread() and signal.getsignal(signal.SIGINT) is exit_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def in_main_thread() -> bool:
    """Whether signals can be handled here."""
    return threading.current_thread() is threading.main_thread()


def guard() -> None:
    """Until `release`, end the process at once on Ctrl-C, if it is the command."""
    if not (in_main_thread() and is_command()):
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_at_once)


guard()

"""Ctrl-C and examples of modules, for all tests."""

import signal
from importlib.util import find_spec

# Without PyTorch the examples of modules that need it are not run.
collect_ignore = [] if find_spec("torch") else ["src/subgame/abstraction/blueprint.py"]

# A shell has processes in the background ignore Ctrl-C; tests of it hold there, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

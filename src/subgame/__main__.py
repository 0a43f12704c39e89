"""``python -m subgame``, and the command ``subgame``."""

import gc
from typing import NoReturn

COLLECT = 100_000
"""Objects that are made before Python looks for circles among them. By default it is 700, so that
it looks a hundred times while modules are imported; with this it never does for a river."""


def run() -> NoReturn:
    """Run the command line as a process of its own, and end it."""
    gc.set_threshold(COLLECT)
    from subgame.cli import run as command_line

    command_line()


if __name__ == "__main__":
    run()

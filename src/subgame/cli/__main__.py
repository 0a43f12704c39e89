"""``python -m subgame.cli``."""

from subgame.cli import run

run()

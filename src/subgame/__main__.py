"""``python -m subgame``: the command line."""

from subgame.cli import run

if __name__ == "__main__":
    run()

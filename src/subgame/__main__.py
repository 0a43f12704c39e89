"""``python -m subgame``: the command line."""

from subgame.cli import main

if __name__ == "__main__":
    main()

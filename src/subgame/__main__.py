"""``python -m subgame``: the command line."""

import sys

from subgame.cli import main

if __name__ == "__main__":
    sys.exit(main())

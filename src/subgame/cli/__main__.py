"""``python -m subgame.cli``."""

import sys

from subgame.cli import main

sys.exit(main())

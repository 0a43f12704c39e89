"""``python benchmarks/gpu_check [PART ...]``: see `check`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gpu_check.check import main

main()

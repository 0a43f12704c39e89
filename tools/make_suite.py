"""Write the fingerprints of the suite's tasks: ``python tools/make_suite.py``, for a version."""

from __future__ import annotations

import json
from pathlib import Path

from subgame.bench.suite import fingerprint
from subgame.bench.suite_tasks import TASKS

FILE = Path(__file__).parents[1] / "src" / "subgame" / "data" / "suite.json"


def main() -> None:
    FILE.write_text(
        json.dumps({task.name: fingerprint(task) for task in TASKS}, indent=1) + "\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

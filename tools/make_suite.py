"""Write the fingerprints of the suite's tasks: ``python tools/make_suite.py [TASK ...]``.

Without names, those of all tasks that can be run here; others stay as they are.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from subgame.bench.suite import fingerprint
from subgame.bench.suite_tasks import TASKS

FILE = Path(__file__).parents[1] / "src" / "subgame" / "data" / "suite.json"


def main(names: list[str]) -> None:
    said = json.loads(FILE.read_text(encoding="utf-8"))
    for task in TASKS:
        if (task.name in names or not names) and not task.missing():
            said[task.name] = fingerprint(task)
            print(task.name, said[task.name], flush=True)
    ordered = {task.name: said[task.name] for task in TASKS if task.name in said}
    FILE.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

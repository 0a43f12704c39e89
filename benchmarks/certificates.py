"""Exact equilibria of four games, each checked by `tools/check_certificate.py`.

python benchmarks/certificates.py [--out FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import subgame as sg
from subgame.papers.report import commit, machine
from subgame.solve.exact import certify
from subgame.tree.sequence.tree import sequence_tree

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
from check_certificate import check

GAMES = ("kuhn", "coin-toss", "leduc", "liars-dice")


def row(name: str) -> dict[str, Any]:
    """One game: its value, and CPU seconds of solving and of checking."""
    tree = sequence_tree(sg.compile(sg.games.load(name)))
    began = time.process_time()
    certificate = certify(tree)
    solved = time.process_time()
    value = check(certificate.as_dict())
    assert value == certificate.value
    return {
        "game": name,
        "infosets": tree.num_infosets,
        "value": str(value),
        "as_float": float(value),
        "largest_denominator_digits": max(
            len(str(weight.denominator)) for plan in certificate.plans for weight in plan
        ),
        "cpu_seconds_solve": round(solved - began, 2),
        "cpu_seconds_check": round(time.process_time() - solved, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    options = parser.parse_args()
    rows = []
    for name in GAMES:
        rows.append(row(name))
        print(rows[-1], flush=True)
    about = {"command": "python benchmarks/certificates.py", "commit": commit()}
    result = about | {"machine": machine(), "seed": 0, "rows": rows}
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

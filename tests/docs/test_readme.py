"""What README says of its first example."""

from __future__ import annotations

import subgame as sg


def test_a_safe_refinement_halves_exploitability_and_an_unsafe_one_raises_it() -> None:
    leduc = sg.compile(sg.games.load("leduc"))
    rough = sg.solve(leduc, "cfr+", iterations=30).strategy
    safe = sg.refine(leduc, rough, at="after round 1", technique=sg.Maxmargin())
    unsafe = sg.refine(leduc, rough, at="after round 1", technique=sg.Unsafe())
    assert safe.after.mean < safe.before.mean / 2
    assert unsafe.after.mean > unsafe.before.mean

"""Exact equilibria: known values, and certificates that an outside checker accepts."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import check_certificate
import subgame as sg
from check_certificate import check
from helpers import RANDOM, tree_of
from subgame.errors import SubgameError
from subgame.games.base import CHANCE, TERMINAL, State
from subgame.solve.exact import Certificate, certify, eliminate, fraction

VALUES = {
    "kuhn": Fraction(-1, 18),  # Kuhn 1950
    "coin-toss": Fraction(0),  # Brown & Sandholm 2017, Section 2
    "rps-plus": Fraction(0),
    "liars-dice(faces=3)": Fraction(1, 9),
    "liars-dice(faces=4)": Fraction(1, 16),
}


def certificate_of(name: str) -> Certificate:
    certificate = sg.solve_lp(tree_of(name), exact=True).certificate
    assert certificate is not None
    return certificate


@pytest.mark.parametrize("name", VALUES)
def test_exact_values(name: str) -> None:
    certificate = certificate_of(name)
    assert certificate.value == VALUES[name]
    assert check(certificate.as_dict()) == VALUES[name]


def test_leduc_has_a_rational_value() -> None:
    """The value in the literature is -0.085606424078."""
    certificate = certificate_of("leduc")
    assert check(certificate.as_dict()) == certificate.value
    assert float(certificate.value) == pytest.approx(-0.0856064240780, abs=1e-12)


@pytest.mark.slow
def test_one_die_of_liars_dice() -> None:
    """Player 0 loses 7/258; OpenSpiel's game has the same value, -0.0271317829."""
    certificate = certificate_of("liars-dice")
    assert check(certificate.as_dict()) == certificate.value == Fraction(-7, 258)


@pytest.mark.parametrize("name", RANDOM[:40])
def test_random_games_are_certified_or_refused(name: str) -> None:
    """Payoffs of random games are any numbers, so some are no fractions; none is wrong."""
    tree = tree_of(name)
    try:
        certificate = certify(tree)
    except SubgameError as error:
        assert "denominator" in str(error)  # noqa: PT017
        return
    assert check(certificate.as_dict()) == certificate.value
    assert float(certificate.value) == pytest.approx(sg.solve_lp(tree).value, abs=1e-7)


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_payoffs_are_those_of_the_rules(name: str) -> None:
    """By the last infoset and action of both players, from the states, in fractions."""
    want: dict[Any, Fraction] = defaultdict(Fraction)

    def walk(state: State, last: tuple[Any, Any], chance: Fraction) -> None:
        p = state.current_player()
        if p == TERMINAL:
            want[last] += chance * Fraction(state.returns()[0])
        elif p == CHANCE:
            outcomes = state.chance_outcomes()
            for action, _ in outcomes:
                walk(state.child(action), last, chance / len(outcomes))
        else:
            for action in state.legal_actions():
                step = (state.information_state(p), action)
                walk(state.child(action), (step, last[1]) if p == 0 else (last[0], step), chance)

    walk(sg.games.load(name).new_initial_state(), (None, None), Fraction(1))
    data = certificate_of(name).as_dict()
    names: list[dict[int, Any]] = []
    for side in data["players"]:
        names.append({0: None})
        for infoset, _, sequences, actions in side["infosets"]:
            names[-1] |= {q: (infoset, a) for q, a in zip(sequences, actions, strict=True)}
    made = {(names[0][row], names[1][col]): Fraction(v) for row, col, v in data["payoffs"]}
    assert {k: v for k, v in made.items() if v} == {k: v for k, v in want.items() if v}


def wrong(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Certificates that must be refused, and words of the reason."""
    out = []
    changes: list[tuple[str, Callable[[Any], None]]] = [
        ("no equilibrium", lambda c: c.update(value="-1/17")),
        ("no equilibrium", lambda c: c["payoffs"][0].__setitem__(2, "1000")),
        ("no probabilities", lambda c: c["players"][0]["plan"].__setitem__(0, "2")),
        ("does not add up", lambda c: c["players"][1]["plan"].__setitem__(-1, "1/7")),
        ("not in a tree", lambda c: c["players"][0]["infosets"].reverse()),
    ]
    for reason, change in changes:
        bad = copy.deepcopy(data)
        change(bad)
        out.append((reason, bad))
    other = copy.deepcopy(data)  # a plan that adds up, but is not optimal: always the first action
    plan = ["0"] * len(other["players"][0]["plan"])
    plan[0] = "1"
    for _, parent, sequences, _ in other["players"][0]["infosets"]:
        plan[sequences[0]] = plan[parent]
    other["players"][0]["plan"] = plan
    return [*out, ("no equilibrium", other)]


@pytest.mark.parametrize("kind", range(6))
def test_the_checker_refuses_a_wrong_certificate(kind: int) -> None:
    data = certificate_of("kuhn").as_dict()
    reason, bad = wrong(data)[kind]
    with pytest.raises(ValueError, match=reason):
        check(bad)


def test_the_checker_needs_nothing_but_python(tmp_path: Path) -> None:
    file = tmp_path / "kuhn.json"
    certificate_of("kuhn").save(file)
    command = [sys.executable, "-I", "-S", check_certificate.__file__, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("The value is -1/18;")
    data = json.loads(file.read_text())
    file.write_text(json.dumps(data | {"value": "0"}))
    assert subprocess.run(command, capture_output=True, check=False).returncode != 0


def test_the_strategy_is_that_of_the_certificate() -> None:
    result = sg.solve_lp(tree_of("leduc"), exact=True)
    assert result.exploitability < 1e-14
    assert result.as_dict()["exact_value"].startswith("-")


def test_refusals() -> None:
    with pytest.raises(SubgameError, match="no trembles"):
        sg.solve_lp(tree_of("kuhn"), exact=True, tremble=(0, 0.1))
    with pytest.raises(SubgameError, match="denominator"):
        fraction(2**0.5)
    part = sg.cut(tree_of("leduc"), "after round 1")[0].tree
    with pytest.raises(SubgameError, match="whole game"):
        sg.solve_lp(part, exact=True)
    with pytest.raises(SubgameError, match="contradict"):
        eliminate([{-1: Fraction(1)}], tree_of("kuhn").players[0].reach)

"""What ``import subgame as sg`` offers, and what `help` says of it."""

from __future__ import annotations

import inspect
import pydoc
import subprocess
import sys

import pytest

import subgame as sg
from subgame.play.agent import Uniform
from subgame.play.match import play_hand
from subgame.refine.gadgets import TECHNIQUES

VERBS = ["solve", "refine", "nest", "depth_limited", "solve_limited", "cfr_d", "self_generated"]


def test_dir_shows_the_exported_names_and_no_others() -> None:
    code = "import subgame as sg; print(*[n for n in dir(sg) if n[0] != '_'])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == sorted(sg.__all__)
    for name in sg.__all__:
        assert getattr(sg, name) is not None
    for name in ("Any", "import_module", "Endgame", "CHANCE"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(sg, name)


def test_every_technique_has_a_gadget() -> None:
    """The command line knows their names, so Python has the functions that make them."""
    made = {
        getattr(sg, name)().name
        for name in sg.__all__
        if getattr(getattr(sg, name), "__module__", "") == "subgame.refine.gadgets"
        and inspect.isfunction(getattr(sg, name))
    }
    named = {*TECHNIQUES} - {"estimate", "estimate-maxmargin"}
    assert {"combined", "adaptive", "resolve", "maxmargin"} <= named <= made
    assert sg.Estimate().name == "estimate-resolve"  # what "estimate" is short for


@pytest.mark.parametrize("name", VERBS)
def test_help_shows_a_verb_with_its_options(name: str) -> None:
    verb = getattr(sg, name)
    text = pydoc.plain(pydoc.render_doc(verb))
    assert f"{name}(" in text
    assert "ForwardRef" not in text
    first = (inspect.getdoc(verb) or "").splitlines()[0]
    assert len(first) > 20
    assert first in text
    parameters = inspect.signature(verb).parameters
    assert not any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values())


def test_options_are_shown_with_their_defaults() -> None:
    parameters = inspect.signature(sg.solve).parameters
    assert parameters["storage"].default == "float32"
    assert parameters["iterations"].annotation == int | None
    assert inspect.signature(sg.depth_limited).parameters["weaken"].default is False


def test_a_package_is_a_verb_and_a_package() -> None:
    """In a fresh process, in either order."""
    lines = [
        "import subgame as sg; assert callable(sg.refine)",
        "import subgame.refine.gadgets; assert subgame.refine.gadgets.Resolve().name == 'resolve'",
        "import subgame.refine.gadgets as one; from subgame.refine import gadgets as two",
    ]
    for order in (lines, lines[::-1]):
        code = "\n".join([*order, "assert one is two", "assert callable(subgame.refine)"])
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_refine_and_nest_have_one_default_and_one_bound() -> None:
    one, two = (inspect.signature(verb).parameters["technique"] for verb in (sg.refine, sg.nest))
    assert one.default == two.default == "resolve"
    small, large = (
        sg.compile(sg.games.load("no-limit-kuhn", stack=3, bets=b)) for b in ("fcpa", "all")
    )
    rough = sg.solve(small, iterations=20).strategy
    nested = sg.nest(large, rough, iterations=20)
    refined = sg.refine(small, rough, at="depth 1", iterations=20, allow_worse=True)
    for result in (nested, refined):
        assert result.bound == sum(result.bound_per_seat) / 2
        for p in (0, 1):
            most = result.before.per_seat[p] + result.bound_per_seat[p]
            assert result.after.per_seat[p] <= most + 1e-9


def test_nesting_one_player_says_that_the_other_is_not_expanded() -> None:
    small, large = (
        sg.compile(sg.games.load("no-limit-kuhn", stack=3, bets=b)) for b in ("fcpa", "all")
    )
    nested = sg.nest(large, sg.solve(small, iterations=20).strategy, player=0, iterations=20)
    assert nested.player == 0
    shown = repr(nested)
    assert "for player 0" in shown
    assert "player 1 was not expanded" in shown
    assert f"{nested.after.per_seat[0]:.4g}" in shown
    assert f"{nested.after.mean:.4g}" not in shown


def test_hands_say_who_sits_where() -> None:
    assert "even number" in (play_hand.__doc__ or "")
    for number in range(4):
        hand = play_hand(sg.games.load("kuhn"), (Uniform(), Uniform()), number)
        assert hand.seats == ((0, 1), (1, 0))[number % 2]


def test_a_tree_names_its_game() -> None:
    tree = sg.compile(sg.games.load("liars-dice", dice=1, faces=3))
    assert tree.game_name == "liars-dice(dice=1, faces=3)"
    assert not hasattr(tree, "game")

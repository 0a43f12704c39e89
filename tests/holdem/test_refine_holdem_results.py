"""What a refinement of a hold'em tree tells, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import subgame as sg
from holdem_refining import EVERY, THREE, board_tree
from subgame.papers import reproduce
from subgame.refine.gadgets import Gadget


@pytest.mark.parametrize("gadget", EVERY, ids=lambda g: f"{g.name}-{g.form}-{g.refined}")
def test_every_technique_gives_its_account(gadget: Gadget) -> None:
    tree = board_tree("weights")
    blueprint = sg.solve(tree, "cfr", iterations=5).strategy
    refined = sg.refine(tree, blueprint, at="root", technique=gadget, iterations=50)
    assert [part.player for part in refined.parts] == [0, 1]
    for part in refined.parts:
        assert part.infosets == tuple(tree.players[1 - part.player].slots)
        assert part.iterations == 50
        assert (part.gap is None) == (gadget.entry == "random")
        assert (part.gifts == 0).all()
    said = json.loads(json.dumps(refined.as_dict()))
    assert len(said["margins"]) == sum(len(side.slots) for side in tree.players)
    assert all(sum(row.values()) == pytest.approx(1) for row in said["strategy"].values())
    name = tree.players[1].names[0]
    assert said["strategy"][name] == pytest.approx(refined.strategy[name])
    assert "smallest margin" in refined.text(limit=3)


def test_stopping_by_gap_and_by_seconds() -> None:
    tree = board_tree("river")
    blueprint = sg.Strategy.random(tree, seed=0)
    refined = sg.refine(tree, blueprint, at="root", technique="maxmargin", gap=0.01)
    assert {part.stopped for part in refined.parts} == {"target"}
    assert all(part.gap is not None and part.gap <= 0.01 for part in refined.parts)
    quick = sg.refine(tree, blueprint, at="root", technique="resolve", seconds=0.2)
    assert {part.stopped for part in quick.parts} == {"seconds"}


def test_boards_that_are_one_are_refined_at_the_root() -> None:
    game = sg.holdem.endgame("Qs Ks As", 4, 4, ("AA,KK", "QQ,AK"), "all: a / cap 1", deck=THREE)
    tree = sg.compile(game)
    blueprint = sg.solve(tree, "cfr", iterations=3).strategy
    for method in ("resolve", "maxmargin"):
        refined = sg.refine(tree, blueprint, at="root", technique=method, iterations=500)
        assert refined.after.mean <= refined.before.mean + refined.bound + 1e-6
        assert refined.margin > -1e-3
    with pytest.raises(sg.SubgameError, match=r"differ only in suits .* refine at root"):
        sg.cut(tree, "after the turn")
    slots = tree.players[1].slots
    with pytest.raises(sg.SubgameError, match="differ between hands that differ only in suits"):
        sg.refine(
            tree,
            blueprint,
            at="root",
            technique="estimate",
            player=0,
            alternatives=np.arange(len(slots), dtype=float),
        )


def test_endgames_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBGAME_LIBRATUS", str(tmp_path))
    with pytest.raises(sg.SubgameError, match=r"not part of the package.* set SUBGAME_LIBRATUS"):
        reproduce("libratus-endgames")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"technique": sg.Estimate(keep_safe=True)}, "cannot keep Resolve's conditions"),
        ({"schedule": "lp"}, "no linear program for hold'em trees"),
        ({"schedule": "mccfr"}, "solved without sampling"),
        ({"at": "before the river"}, "cut once cards are dealt: 'after the river'"),
        ({"at": "after the rivers"}, "after the river"),
        ({"at": "Qs Jh Th Ks | cc"}, "no public state .* where somebody acts"),
        ({"at": "Qs Jh Th Kh | "}, "no public state .* where somebody acts"),
        ({"at": 3}, "is named: root, after the river"),
        ({"at": ["root", "Qs Jh Th Ks | c"]}, "lies below another one"),
        ({"technique": "distributional", "gap": 0.1}, "is not a finite game"),
        ({"technique": "estimate", "alternatives": {"AsAh": 1.0}}, "root infoset"),
    ],
)
def test_refusals(options: dict[str, object], says: str) -> None:
    tree = board_tree("turn")
    arguments = {"at": "root", "technique": "resolve", "iterations": 5, **options}
    if "gap" in options:
        arguments.pop("iterations")
    with pytest.raises(sg.SubgameError, match=says):
        sg.refine(tree, sg.Strategy.uniform(tree), **arguments)  # type: ignore[arg-type]

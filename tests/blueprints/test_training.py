"""Training: an exact answer, the same bytes, checkpoints, processes, files, agents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import subgame as sg
from recipes import FLOP
from subgame.blueprints.compare import head_to_head, learned_response
from subgame.blueprints.recipe import NAMED, BlueprintRecipe
from subgame.blueprints.run import join_group, train
from subgame.blueprints.stored import DEFAULT, UNITS, StoredBlueprint, rounded
from subgame.blueprints.training import Trainer, memory
from subgame.errors import MemoryLimitError, SubgameError
from subgame.games.holdem import hunl
from subgame.games.holdem.game import HoldemState
from subgame.play import match
from subgame.play.blueprint_agent import BlueprintAgent
from subgame.play.lbr import LocalBestResponse
from subgame.play.named import known_strategy
from subgame.solve.evaluate import head_to_head as value_between
from subgame.tree.ranges.tree import RangeTree, range_tree

HUNL = BlueprintRecipe(
    "tiny", "all: 1x a / cap 1", (None, 6, 6, 6), 600, ranks="9TJQKA", suits="cd", boards=2
)
SHARED = replace(HUNL, boards=9)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def trainer() -> Trainer:
    made = Trainer(HUNL)
    made.advance(20)
    return made


@pytest.fixture(scope="module")
def blueprint(trainer: Trainer) -> StoredBlueprint:
    return StoredBlueprint.of(trainer)


@pytest.fixture(scope="module")
def flop_tree() -> RangeTree:
    return range_tree(sg.compile(FLOP.game, merge="boards"))


def known(tree: RangeTree, blueprint: StoredBlueprint) -> sg.Strategy:
    """A blueprint as a strategy over the whole tree."""
    result = known_strategy(tree, BlueprintAgent(blueprint.game, blueprint).inner)
    assert result is not None
    return result


@pytest.fixture(scope="module")
def flop_blueprint() -> StoredBlueprint:
    trainer = Trainer(FLOP)
    trainer.advance(80)
    return StoredBlueprint.of(trainer)


def test_without_loss_of_cards_exploitability_goes_to_zero(
    flop_tree: RangeTree, flop_blueprint: StoredBlueprint
) -> None:
    uniform = sg.Strategy.uniform(flop_tree)
    assert sg.exploitability(flop_tree, uniform).mean > FLOP.big_blind
    strategy = known(flop_tree, flop_blueprint)
    assert sg.exploitability(flop_tree, strategy).mean < 0.12 * FLOP.big_blind
    # What it wins from a blueprint that was not trained, on sampled boards and on all of them.
    before = StoredBlueprint.of(Trainer(FLOP))
    result = head_to_head(flop_blueprint, before, 300, seed=1)
    exact = value_between(flop_tree, strategy, uniform).mean * FLOP.game.unit[1]
    assert exact > 100
    assert abs(result.mean - exact) < 1.5 * result.interval95
    assert head_to_head(before, before, 3).mean == pytest.approx(0, abs=1e-6)
    # The same from one with other buckets.
    coarse = Trainer(replace(FLOP, buckets=(None, 3)))
    coarse.advance(20)
    other = StoredBlueprint.of(coarse)
    result = head_to_head(flop_blueprint, other, 300, seed=1)
    exact = value_between(flop_tree, strategy, known(flop_tree, other)).mean * FLOP.game.unit[1]
    assert abs(result.mean - exact) < 1.5 * result.interval95
    assert abs(exact) > 2 * result.interval95


def test_only_blueprints_with_the_same_bets_are_compared(blueprint: StoredBlueprint) -> None:
    other = StoredBlueprint.of(Trainer(replace(HUNL, bets="all: a / cap 1")))
    with pytest.raises(SubgameError, match="same bets"):
        head_to_head(blueprint, other, 1)


def test_external_sampling_goes_the_same_way(
    flop_tree: RangeTree, flop_blueprint: StoredBlueprint
) -> None:
    trainer = Trainer(replace(FLOP, method="external"))
    trainer.advance(60)
    result = known(flop_tree, StoredBlueprint.of(trainer))
    assert sg.exploitability(flop_tree, result).mean < 0.4 * FLOP.big_blind


def test_one_seed_gives_the_same_bytes_and_a_checkpoint_goes_on(tmp_path: Path) -> None:
    one, two = Trainer(HUNL), Trainer(HUNL)
    one.advance(3)
    two.advance(3)
    assert (one.regret == two.regret).all()
    assert (one.average == two.average).all()
    two.save(tmp_path / "kept")
    one.advance(2)
    three = Trainer.load(tmp_path / "kept", replace(HUNL, iterations=99))
    three.advance(2)
    assert one.regret.tobytes() == three.regret.tobytes()
    assert one.average.tobytes() == three.average.tobytes()
    assert three.iterations == 5
    other = Trainer(replace(HUNL, seed=1), cards=one.cards)
    other.advance(5)
    assert (one.regret != other.regret).any()
    with pytest.raises(SubgameError, match="checkpoint of another recipe"):
        Trainer.load(tmp_path / "kept", replace(HUNL, seed=1))


def test_an_interrupted_run_loses_nothing(tmp_path: Path) -> None:
    recipe = replace(HUNL, iterations=6)
    whole = train(recipe, tmp_path / "whole")

    def stop(what: str, note: str, share: float | None) -> None:
        if "Training" in what and (share or 0) > 0.3:
            raise KeyboardInterrupt

    paths = {"checkpoint": tmp_path / "half.ckpt", "out": tmp_path / "half"}
    half = train(recipe, **paths, progress=stop)  # type: ignore[arg-type]
    assert half.card["stopped"] == "interrupted"
    assert 0 < half.card["iterations"] < 6
    rest = train(recipe, **paths, resume=True)  # type: ignore[arg-type]
    for a, b in zip(whole.probabilities, rest.probabilities, strict=True):
        assert (a == b).all()
    assert rest.card["iterations"] == 6
    with pytest.raises(SubgameError, match="does not say when training ends"):
        train(HUNL, tmp_path / "endless")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_killed_run_loses_at_most_one_checkpoint_interval(tmp_path: Path) -> None:
    recipe = replace(HUNL, iterations=6)
    whole = train(recipe, tmp_path / "whole")
    kept, out, answer = (tmp_path / name for name in ("kept", "out", "told"))

    def killed() -> None:
        """Dies while the second checkpoint is being written."""
        move, done = os.replace, list[object]()

        def moved(*names: Any) -> None:
            if done:
                os.kill(os.getpid(), signal.SIGKILL)
            done.append(names)
            move(*names)

        def tell(what: str, note: str, share: float | None) -> None:
            if "Training" in what:
                answer.write_text(str(round(6 * (share or 0))))

        pytest.MonkeyPatch().setattr(os, "replace", moved)
        train(recipe, out, checkpoint=kept, minutes=0, progress=tell)

    child = get_context("fork").Process(target=killed)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    before = Trainer.load(kept, recipe)
    assert 0 < before.iterations < 6
    assert before.iterations == int(answer.read_text())  # all but the interval after it
    assert not out.exists()
    rest = train(recipe, out, checkpoint=kept, resume=True)
    for a, b in zip(whole.probabilities, rest.probabilities, strict=True):
        assert a.tobytes() == b.tobytes()


def test_who_learns_in_the_buckets_comes_near_the_best_response(flop_tree: RangeTree) -> None:
    trainer = Trainer(FLOP)
    before = StoredBlueprint.of(trainer)  # plays all actions alike, and every hand has a bucket
    exact = sg.exploitability(flop_tree, known(flop_tree, before)).mean * FLOP.game.unit[1]
    result = learned_response(before, trainer, 40)
    assert result.mean < exact + 1.5 * result.interval95
    assert result.mean > 0.9 * exact
    assert learned_response(before, trainer, 1).mean < result.mean


def test_memory_is_refused_before_it_is_used(trainer: Trainer) -> None:
    assert memory(HUNL, trainer.tree, "cpu", 2) > memory(HUNL, trainer.tree, "cpu", 1)
    assert memory(HUNL, trainer.tree, "cuda", 2) == memory(HUNL, trainer.tree, "cuda", 1)
    with pytest.raises(MemoryLimitError, match="Training tiny needs"):
        Trainer(HUNL, memory_limit="10KiB")


CHILD = """
import sys
import torch.distributed as group
from subgame.blueprints.training import Trainer
from test_training import SHARED

def run(rank, store):
    group.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    made = Trainer(SHARED)
    made.advance(2)
    group.destroy_process_group()
    return made

if __name__ == "__main__":
    run(1, sys.argv[1])
"""


def test_two_processes_are_one_within_rounding(tmp_path: Path, trainer: Trainer) -> None:
    pytest.importorskip("torch")
    folder = Path(__file__).parent
    code = textwrap.dedent(CHILD)
    path = [str(folder), str(folder.parent), *sys.path]
    child = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}", str(tmp_path / "s")]
    )
    space: dict[str, object] = {"__name__": "parent", "test_training": sys.modules[__name__]}
    sys.path.insert(0, str(folder))
    try:
        exec(code, space)
        two = space["run"](0, str(tmp_path / "s"))  # type: ignore[operator]
    finally:
        sys.path.remove(str(folder))
        assert child.wait(600) == 0
    one = Trainer(SHARED, cards=trainer.cards)
    one.advance(2)
    assert np.abs(one.regret).max() > 10
    np.testing.assert_allclose(two.regret, one.regret, rtol=1e-3, atol=0.05)
    np.testing.assert_allclose(two.average, one.average, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("device", "expected", "backend"), [("cuda", "cuda:3", "nccl"), ("torch", "torch", "gloo")]
)
def test_processes_of_torchrun_join_by_nccl_on_gpus(
    device: str, expected: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    assert join_group(device) == device  # not started by torchrun
    messages: list[str] = []
    monkeypatch.setattr(torch.cuda, "set_device", messages.append)
    monkeypatch.setattr(torch.distributed, "init_process_group", messages.append)
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert join_group(device) == expected
    assert messages == ([expected] if device == "cuda" else []) + [backend]


# Files and agents.


def test_units_add_up_and_are_near() -> None:
    rng = np.random.default_rng(2)
    sigma = rng.dirichlet([0.3] * 5, size=(40, 7)).transpose(0, 2, 1).astype(np.float32)
    units = rounded(sigma, 0.0)
    assert (units.sum(1, dtype=int) == UNITS).all()
    assert np.abs(units / UNITS - sigma).max() < 1 / UNITS
    pruned = rounded(sigma, 0.05)
    assert (pruned[sigma < 0.05] == 0).all()
    assert (pruned.sum(1, dtype=int) == UNITS).all()


@pytest.mark.parametrize("actions", [1, 2, 3, 6])
def test_units_go_to_the_largest_remainders_and_of_equal_ones_to_the_first(actions: int) -> None:
    rng = np.random.default_rng(actions)
    weights = rng.integers(1, 4, size=(40, actions, 7)).astype(np.float32)  # with many ties
    sigma = weights / weights.sum(1, keepdims=True)
    units = rounded(sigma, 0.0)
    for decision, bucket in np.ndindex(40, 7):
        exact = sigma[decision, :, bucket].astype(np.float64)
        exact = exact / exact.sum() * UNITS
        wanted = np.floor(exact + 1e-9)
        order = sorted(range(actions), key=lambda a: (wanted[a] - exact[a], a))
        for action in order[: UNITS - int(wanted.sum())]:
            wanted[action] += 1
        assert units[decision, :, bucket].tolist() == wanted.tolist()


def test_a_file_holds_all_that_is_needed(
    tmp_path: Path, trainer: Trainer, blueprint: StoredBlueprint
) -> None:
    blueprint.save(tmp_path / "tiny.safetensors")
    read = StoredBlueprint.load(tmp_path / "tiny.safetensors")
    assert isinstance(read.probabilities[3], np.memmap)
    assert read.recipe == HUNL
    assert read.card["iterations"] == 20
    state = HUNL.game.new_initial_state()
    for action in ("9cKd", "TcTd", "c", "c", "AdQd9d", "c", "r200"):
        state = state.child(action)
    actions, result = read.range_strategy(state)
    exact = trainer.engine.strategy(trainer.average)
    d = trainer.tree.find(state.betting)
    assert d is not None
    assert actions == trainer.tree.actions(d) == HUNL.game.actions(state.betting)
    rows = trainer.engine.street(exact, 1)[trainer.tree.row[d] :][: len(actions)]
    free = np.flatnonzero(HUNL.game.deck.compatible(state.board))
    bucket = trainer.cards.of(state.board)[free]
    assert np.abs(result[free] - rows[:, bucket].T).max() < HUNL.prune + 1 / UNITS
    assert np.allclose(result.sum(1), 1)
    with pytest.raises(SubgameError, match="does not know the betting 'r250'"):
        read.decision(HUNL.game.start().play("r250"))


def test_a_card_may_lie_beside_the_file(tmp_path: Path, blueprint: StoredBlueprint) -> None:
    blueprint.save(tmp_path / "tiny.safetensors")
    card = tmp_path / "tiny.card.json"
    card.write_text(json.dumps({"measured": 1, "seconds of training": blueprint.card["seconds"]}))
    assert StoredBlueprint.load(tmp_path / "tiny.safetensors").card == {
        **blueprint.card,
        "measured": 1,
    }
    card.write_text('{"measured": 1, "seconds of training": -1}')  # that of an older training
    assert "measured" not in StoredBlueprint.load(tmp_path / "tiny.safetensors").card
    card.write_text("{")
    with pytest.raises(SubgameError, match=r"tiny\.card\.json is damaged; expected the result"):
        StoredBlueprint.load(tmp_path / "tiny.safetensors")


def test_the_default_card_says_what_the_result_files_say() -> None:
    made = StoredBlueprint.load()
    learned = made.card["learned response, wins from it in its buckets, mbb/h"]
    kept = json.loads((ROOT / learned["result"]).read_text())
    assert (kept["iterations"], kept["seconds"]) == (made.card["iterations"], made.card["seconds"])
    response = kept["learned response, mbb/h"]["found"][-1]
    assert learned["iterations a seat"] == response["iterations a seat"]
    (won,) = [entry for name, entry in made.card.items() if name.startswith("wins from")]
    for said, result in (
        (learned, response),
        (won, kept["head-to-head with the first one, mbb/h"]),
    ):
        for name in ("mean", "interval95"):
            assert said[name] == round(result[name], 1)


def test_recipes_of_the_package() -> None:
    """Each has the name by which the command knows it; a larger one has more of everything."""
    recipes = {name: BlueprintRecipe.load(path) for name, path in NAMED.items()}
    assert all(recipe.name == name for name, recipe in recipes.items())
    small, large = (recipes[name] for name in ("hunl-default", "hunl-large"))
    assert small.game.rules == large.game.rules
    for few, many in zip(small.buckets[1:], large.buckets[1:], strict=True):
        assert few is not None
        assert many is not None
        assert many > few


def test_the_default_blueprint_comes_with_the_package() -> None:
    default = StoredBlueprint.load()
    assert DEFAULT.stat().st_size < 25e6
    assert default.recipe == BlueprintRecipe.load(DEFAULT.with_suffix(".toml"))
    assert default.cards.counts == tuple(default.card["buckets"])
    start = default.game.new_initial_state()
    actions, result = default.range_strategy(start)
    assert actions == ("f", "c", "r200", "r300")
    deck = default.game.deck
    assert result[deck.parse_hand("7s2h"), 0] > 0.9
    assert result[deck.parse_hand("AsAh"), 2:].sum() > 0.9
    flop = start.child("7s2h").child("AsAh").child("c").child("c").child("KsQd4c")
    bet = HoldemState(default.game, flop.hands, flop.board, flop.betting.play("c r100"))
    actions, result = default.range_strategy(bet)
    assert actions[:2] == ("f", "c")
    assert result[deck.parse_hand("KhKc"), 0] < 0.05  # three kings do not fold
    assert BlueprintAgent(hunl()).blueprint.recipe.name == "hunl-default"


def test_the_agent_translates_bets(blueprint: StoredBlueprint) -> None:
    game = hunl(600, bets="all: 0.4x 1.2x a", ranks="9TJQKA", suits="cd")
    agent = BlueprintAgent(game, blueprint)
    before = set(blueprint.cards.kept)
    result = match(game, [agent, "uniform"], hands=60, seed=1)
    assert result.hands == 60
    # Buckets of one hand; of all hands only where the blueprint has no answer to a bet.
    assert len(set(blueprint.cards.kept) - before) < 10
    # In its own game it plays the rows of the file, for one hand and for all of them.
    agent = BlueprintAgent(HUNL.game, blueprint)
    agent.begin(1, 0)
    names = [HUNL.game.infoset_name(hand, (), HUNL.game.start()) for hand in range(66)]
    policy = agent.policy(names, HUNL.game.actions(HUNL.game.start()))
    start = HoldemState(HUNL.game, (), (), HUNL.game.start())
    actions, expected = blueprint.range_strategy(start)
    assert policy.actions == actions
    assert np.allclose(policy.probabilities, expected)
    with pytest.raises(SubgameError, match="cannot play hunl"):
        BlueprintAgent(hunl(), blueprint)


def test_local_best_response_knows_the_agent(blueprint: StoredBlueprint) -> None:
    agent = BlueprintAgent(HUNL.game, blueprint)
    lbr = LocalBestResponse(HUNL.game, agent, "fc")
    assert match(HUNL.game, [lbr, agent], hands=20, seed=2).hands == 20


# Recipes.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[buckets]", "[bucket]"), "did you mean 'buckets'"),
        (("flop = 6", "flopp = 6"), "did you mean 'flop'"),
        (("flop = 6\n", ""), "no buckets on the flop"),
        (("turn = 6\n", "turn.x = 6\n"), "buckets must be a whole number"),
        (("turn = 6\n", "turn = true\n"), "buckets must be a whole number"),
        (("flop = 6", "flop = 0"), "at least 1, not 0"),
        (("flop = 6", "flop = 'lossless'"), "lossless on all"),
        (("public", "publik"), "did you mean 'public'"),
        (("lcfr", "lcfrr"), "did you mean 'lcfr'"),
        (("[bets]", "[bets"), "not TOML"),
        (("hours = 1", "hours = -1"), "above 0, not -1"),
    ],
)
def test_what_a_recipe_cannot_be(change: tuple[str, str], message: str) -> None:
    text = """
    [bets]
    all = "1x"
    [buckets]
    flop = 6
    turn = 6
    river = 6
    [training]
    method = "public"
    schedule = "lcfr"
    hours = 1
    """
    assert BlueprintRecipe.parse(text).buckets == (None, 6, 6, 6)
    with pytest.raises(SubgameError, match=message):
        BlueprintRecipe.parse(text.replace(*change))

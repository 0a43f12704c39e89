"""A blueprint larger than the shipped one: its training, a learner in its buckets, and a match.

    python benchmarks/large_blueprint.py train --until 300 900 --seconds 1200
    python benchmarks/large_blueprint.py learner --marks 100 300 900 --seconds 400
    python benchmarks/large_blueprint.py match --deals 2000 --jobs 3 --seconds 600

The stages write parts of one result, ``--out``, each when it is done and after each step.

* train: ``subgame blueprint`` with --resume, a process for each piece; a piece ends when the
  training has taken so many seconds altogether. Called again, the stage goes on with more pieces.
* learner: what an opponent wins who learns in the buckets of the blueprint, as by
  `subgame.blueprints.compare.learned_response`, after some numbers of iterations a seat; and the
  same for the shipped blueprint. Both learn and are evaluated on the same boards. If the first
  piece is kept, what the blueprint wins from it is exact over hands on these boards.
* match: the blueprint against the shipped one, each with action translation, by AIVAT with values
  of the shipped one. A deal is played in both seatings and is one observation.

``--seconds`` bounds a stage: a piece is interrupted then, which saves it; no mark and no deal
begins that would end later. Times are wall-clock seconds. ``--recipe`` and ``--against`` replace
the large recipe and the shipped blueprint, for a trial on a small machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subgame.blueprints.compare import facing, learn, mean_of, table_of, values
from subgame.blueprints.recipe import NAMED, BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import Trainer
from subgame.games.holdem import hunl
from subgame.papers.report import provenance
from subgame.play.blueprint_agent import BlueprintAgent, loaded
from subgame.play.blueprint_values import BlueprintValues
from subgame.play.match import Estimate
from subgame.play.range_match import Pair, RangeMatch
from subgame.solve.workers import done_in_turn, own_cores, stopping
from subgame.tree.betting_arrays import BettingArrays
from subgame.tree.files import replacing

HOME = Path(__file__).resolve().parents[1]
RESULT = HOME / "docs" / "results" / "blueprint-hunl-large.json"
VERSIONS = ("numpy", "numba", "torch")
SEED = 0
"""Of the match; the boards are those of the recipes' own seeds."""
BATCHES = 32
"""Iterations' worth of boards that learners are evaluated on."""
OTHER = 0.3
"""Share of the learners' time that is kept for the other blueprint, which is smaller."""
GRACE = 180.0
"""Seconds that an interrupted piece has to save its checkpoint."""
EVERY = 30.0
"""Seconds between two times that the result of a match is written."""
Json = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Stage:
    """One stage, how long it may take and where its figures go."""

    name: str
    out: Path
    blueprint: Path
    against: Path | None
    device: str
    seconds: float
    began: float

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.seconds - (time.monotonic() - self.began)

    @property
    def first(self) -> Path:
        """The blueprint after the first piece of the training."""
        return self.blueprint.with_name(f"{self.blueprint.stem}-first.safetensors")

    def known(self) -> Json:
        """What the result has of this stage."""
        part: Json = self._whole().get(self.name, {})
        return part

    def keep(self, part: Json) -> None:
        """Write the figures of this stage; those of other stages stay."""
        words = shlex.join(["python", "benchmarks/large_blueprint.py", *sys.argv[1:]])
        whole = self._whole() | {self.name: provenance(words, VERSIONS) | part}
        with replacing(self.out) as new:
            new.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")

    def _whole(self) -> Json:
        title = "A larger blueprint: training, a learner in its buckets, and a match"
        if not self.out.exists():
            return {"title": title}
        whole: Json = json.loads(self.out.read_text(encoding="utf-8"))
        return whole


# Training -------------------------------------------------------------------------------------
def train(stage: Stage, recipe: Path, until: list[float]) -> None:
    """Train piece by piece, each by a process of its own, and write what each took."""
    part = {**_size(recipe), "pieces": stage.known().get("pieces", [])}
    for seconds in until:
        command = [
            "blueprint",
            str(recipe),
            "--device",
            stage.device,
            "--resume",
            "--memory-limit",
            "100GiB",
        ]
        command += ["--hours", f"{seconds / 3600:.6g}", "--out", str(stage.blueprint), "--json"]
        row = _piece(stage, command)
        before = part["pieces"][-1] if part["pieces"] else {"iterations": 0, "seconds": 0.0}
        count = row["iterations"] - before["iterations"]
        if count > 0:
            row["seconds an iteration"] = (row["seconds"] - before["seconds"]) / count
        part["pieces"].append(row)
        stage.keep(part)
        print(json.dumps(row), flush=True)
        if not stage.first.exists():
            shutil.copy(stage.blueprint, stage.first)
        if row.get("stopped"):
            return


def _size(recipe: Path) -> Json:
    """What the recipe asks for."""
    wanted = BlueprintRecipe.load(NAMED.get(recipe.name, recipe))
    tree = BettingArrays.of(wanted.game)
    decisions = np.bincount(tree.street, minlength=len(tree.rows)).tolist()
    size: Json = {"recipe": wanted.as_dict(), "seed": wanted.seed}
    return size | {"decisions": decisions, "actions": list(tree.rows)}


def _piece(stage: Stage, command: list[str]) -> Json:
    """Run one command; it is interrupted when the time of the stage is over."""
    measured = stage.blueprint.with_suffix(".measured.json")
    measured.unlink(missing_ok=True)
    words = [sys.executable, __file__, "piece", str(measured), *command]
    began = time.perf_counter()
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        try:
            text = child.communicate(timeout=max(1.0, stage.left))[0]
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            try:
                text = child.communicate(timeout=GRACE)[0]
            except subprocess.TimeoutExpired:
                child.kill()
                raise
    if not text.strip():
        raise SystemExit(f"A piece of the training ended with {child.returncode}, without result.")
    card = {name: value for name, value in json.loads(text).items() if name != "out"}
    row: Json = {"command": shlex.join(["subgame", *command]), **card}
    checkpoint = stage.blueprint.with_suffix(".ckpt")
    sizes = {
        "bytes": stage.blueprint.stat().st_size,
        "bytes of checkpoint": checkpoint.stat().st_size,
    }
    row |= {"seconds of the command": time.perf_counter() - began, **sizes}
    row |= json.loads(measured.read_text(encoding="utf-8"))
    measured.unlink()
    return row


def piece(out: Path, command: list[str]) -> None:
    """``subgame`` with these arguments; what its steps took goes to a file."""
    took: defaultdict[str, list[float]] = defaultdict(list)
    _timed(Trainer, "__init__", "buckets and tables", took)
    _timed(Trainer, "load", "reading the checkpoint, with buckets and tables", took)
    _timed(Trainer, "save", "writing the checkpoint", took)
    _timed(StoredBlueprint, "of", "rounding the blueprint", took)
    _timed(StoredBlueprint, "save", "writing the blueprint", took)
    from subgame.cli import main as command_line

    code = command_line(command)
    figures: Json = {"seconds of steps": took}
    figures["peak bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        figures["GPU"] = torch.cuda.get_device_name()
        figures["peak bytes on the GPU, in arrays"] = torch.cuda.max_memory_allocated()
        figures["peak bytes on the GPU, reserved"] = torch.cuda.max_memory_reserved()
    out.write_text(json.dumps(figures), encoding="utf-8")
    raise SystemExit(code)


def _timed(owner: Any, name: str, what: str, took: defaultdict[str, list[float]]) -> None:
    """Let a method keep the seconds that it takes."""
    stored = vars(owner)[name]
    method: Callable[..., Any] = getattr(stored, "__func__", stored)

    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        try:
            return method(*arguments, **options)
        finally:
            took[what].append(time.perf_counter() - began)

    setattr(owner, name, classmethod(timed) if isinstance(stored, classmethod) else timed)


# A learner --------------------------------------------------------------------------------------
def learner(stage: Stage, marks: list[int]) -> None:
    """Let an opponent learn against the large blueprint, then against the other one."""
    part: Json = {"blueprints": {}}
    for path, reserved in ((stage.blueprint, OTHER * stage.left), (stage.against, 0.0)):
        made, began = StoredBlueprint.load(path), time.perf_counter()
        trainer = Trainer(made.recipe, device=stage.device, cards=made.cards)
        row: Json = {"seed": made.recipe.seed, "iterations of training": made.card["iterations"]}
        row["seconds for the buckets of all boards"] = time.perf_counter() - began
        part["blueprints"][made.recipe.name] = row
        if path == stage.blueprint and stage.first.exists():
            row["wins from its first piece, mbb/h"] = _progress(trainer, made, stage.first)
        until = time.monotonic() + stage.left - reserved
        row["learner wins, mbb/h"] = _learned(trainer, made, marks, until)
        stage.keep(part)
        print(json.dumps({made.recipe.name: row}), flush=True)
        del trainer


def _progress(trainer: Trainer, made: StoredBlueprint, first: Path) -> Json:
    """What a blueprint wins from an earlier stage of its training, on boards of no training."""
    engine, before = trainer.engine, StoredBlueprint.load(first)
    now, then = table_of(engine, made), table_of(engine, before)
    won = [values(trainer, facing(engine, p, now, then), p, BATCHES) for p in (0, 1)]
    result = mean_of((won[0] + won[1]) / 2 * made.game.unit[1])
    return {"iterations of the first piece": before.card["iterations"], **result._asdict()}


def _learned(trainer: Trainer, made: StoredBlueprint, marks: list[int], until: float) -> list[Json]:
    """What an opponent wins after so many iterations a seat; without marks that would end late."""
    engine = trainer.engine
    fixed, regret = table_of(engine, made), [engine.zeros(), engine.zeros()]
    rows, done, began, pace = list[Json](), 0, time.perf_counter(), 0.0
    for mark in marks:
        if pace * (mark - done) > until - time.monotonic():
            break
        started, won = time.perf_counter(), list[Floats]()
        for p in (0, 1):
            sigma = learn(trainer, p, fixed, regret[p], done, mark - done)
            won.append(values(trainer, sigma, p, BATCHES))
        pace = (time.perf_counter() - started) / (mark - done)
        done = mark
        result = mean_of((won[0] + won[1]) / 2 * made.game.unit[1])
        row = {"iterations a seat": mark, "boards learned on a seat": mark * trainer.recipe.boards}
        rows.append(row | result._asdict() | {"seconds": time.perf_counter() - began})
        print(json.dumps(rows[-1]), flush=True)
    return rows


# A match ----------------------------------------------------------------------------------------
class Deal(NamedTuple):
    """One deal of the match; it can be sent to another process."""

    blueprint: Path
    against: Path | None
    number: int

    def play(self) -> tuple[Pair, float]:
        """Play it, in both seatings; also the CPU seconds that it took."""
        contest = _contest(self.blueprint, self.against)
        began = time.process_time()
        return contest.pair(self.number), time.process_time() - began


@lru_cache(maxsize=1)
def _contest(blueprint: Path, against: Path | None) -> RangeMatch:
    """The match, made once in each process."""
    large, other = loaded(blueprint), loaded(against)
    made_for = other.recipe
    blinds = made_for.small_blind, made_for.big_blind
    game = hunl(made_for.stack, *blinds, ranks=made_for.ranks, suits=made_for.suits)
    agents = [BlueprintAgent(game, large), BlueprintAgent(game, other)]
    return RangeMatch(game, agents, BlueprintValues(other), seed=SEED)


def match(stage: Stage, deals: int, jobs: int) -> None:
    """Play the deals in turn, over processes; none begins when the time is over."""
    tasks = [Deal(stage.blueprint, stage.against, number) for number in range(deals)]
    pairs, spent, written = list[Pair](), 0.0, time.monotonic()
    with stopping(own_cores(jobs)) as pool:
        for _, (pair, seconds) in done_in_turn(Deal.play, tasks, pool, lambda: stage.left > 0):
            pairs.append(pair)
            spent += seconds
            if time.monotonic() - written > EVERY:
                stage.keep(_played(stage, pairs, deals, spent))
                written = time.monotonic()
    part = _played(stage, pairs, deals, spent)
    stage.keep(part)
    print(json.dumps(part), flush=True)


def _played(stage: Stage, pairs: list[Pair], planned: int, spent: float) -> Json:
    one, two = (loaded(path).recipe.name for path in (stage.blueprint, stage.against))
    part: Json = {"seed": SEED, "agents": [one, two], "deals": len(pairs), "planned": planned}
    part["iterations of training"] = loaded(stage.blueprint).card["iterations"]
    for name, kind in (("AIVAT", "aivat"), ("chips alone", "plain")):
        estimate = Estimate.of([getattr(pair, kind) for pair in pairs])
        figures = {"mean": estimate.mean, "interval95": estimate.interval95}
        part[f"{one} wins, mbb/h, {name}"] = figures if len(pairs) > 1 else None
    return part | {"CPU seconds of deals": spent, "seconds": stage.seconds - stage.left}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    stages = parser.add_subparsers(dest="stage", required=True)
    for name in ("train", "learner", "match"):
        stage = stages.add_parser(name)
        stage.add_argument("--seconds", type=float, default=600.0, help="the stage's bound")
        stage.add_argument("--blueprint", type=Path, default=Path("hunl-large.safetensors"))
        stage.add_argument("--against", type=Path, help="instead of the shipped blueprint")
        stage.add_argument("--device", default="cuda")
        stage.add_argument("--out", type=Path, default=RESULT)
    train_stage, learner_stage, match_stage = stages.choices.values()
    train_stage.add_argument("--recipe", type=Path, default=Path("hunl-large"))
    train_stage.add_argument("--until", type=float, nargs="+", default=[300.0, 900.0])
    learner_stage.add_argument("--marks", type=int, nargs="+", default=[100, 300, 900])
    match_stage.add_argument("--deals", type=int, default=2000)
    match_stage.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def main() -> None:
    if sys.argv[1:2] == ["piece"]:
        piece(Path(sys.argv[2]), sys.argv[3:])
    chosen = _options()
    paths = chosen.out, chosen.blueprint, chosen.against
    stage = Stage(chosen.stage, *paths, chosen.device, chosen.seconds, time.monotonic())
    if chosen.stage == "train":
        train(stage, chosen.recipe, chosen.until)
    elif chosen.stage == "learner":
        learner(stage, chosen.marks)
    else:
        match(stage, chosen.deals, chosen.jobs)


if __name__ == "__main__":
    main()

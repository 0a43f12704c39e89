"""`train`: a whole training run, with checkpoints, on one process or on several."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from subgame.blueprints.recipe import BlueprintRecipe
from subgame.blueprints.stored import StoredBlueprint
from subgame.blueprints.training import FORMAT, WANTED, Trainer, group, together
from subgame.errors import SubgameError
from subgame.tree.files import check_replaceable, check_writable, read_tensors
from subgame.tree.one_writer import only_writer

STEP = 2.0
"""Seconds between two looks at the clock, about."""
Progress = Callable[[str, str, float | None], None]
"""Told what is done, a note, and which share of it is done."""


def train(
    recipe: BlueprintRecipe,
    out: str | Path,
    *,
    checkpoint: str | Path | None = None,
    minutes: float = 10.0,
    resume: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> StoredBlueprint:
    """Train a recipe, write its blueprint to the file `out` and return it.

    Every so many `minutes`, at the end and on Ctrl-C all that is needed to go on is written to
    `checkpoint`, by one process at a time. With `resume` the run goes on from there, if that file
    exists; without it a checkpoint that exists is refused, not replaced. `options` are those of
    `Trainer`: device, threads, memory_limit. In a group of processes (``torchrun``), the first
    one writes.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> recipe = BlueprintRecipe(
    ...     "tiny", "all: a / cap 1", (None, 6, 6, 6), 400, ranks="9TJQKA", suits="cd", iterations=2
    ... )
    >>> made = train(recipe, folder / "tiny.safetensors", checkpoint=folder / "tiny.ckpt")
    >>> made.card["iterations"], sorted(path.name for path in folder.iterdir())
    (2, ['tiny.ckpt', 'tiny.safetensors'])
    """
    if recipe.iterations is None and recipe.hours is None:
        raise SubgameError(
            f"The recipe {recipe.name} does not say when training ends; give iterations or hours."
        )
    kept = None if checkpoint is None else Path(checkpoint)
    check_writable(Path(out))
    if kept is not None:
        check_training(kept, resume)
    tell = progress or (lambda what, note, share: None)
    options["progress"] = lambda what, share: tell(what, "", share)
    with only_writer(kept if group()[0] == 0 else None):
        return _trained(recipe, Path(out), kept, minutes, resume, tell, options)


def check_training(kept: Path, resume: bool) -> None:
    """Refuse a file for checkpoints that is something else, or a training that would be lost."""
    check_replaceable(kept, FORMAT, WANTED)
    if not resume and kept.exists() and kept.stat().st_size:
        count = int(read_tensors(kept, WANTED)[0].get("iterations", "0"))
        raise SubgameError(
            f"{kept} has a training of {count:,} iterations. Continue it with --resume "
            "(resume=True), or remove it to begin anew."
        )


def _trained(
    recipe: BlueprintRecipe,
    out: Path,
    kept: Path | None,
    minutes: float,
    resume: bool,
    tell: Progress,
    options: dict[str, Any],
) -> StoredBlueprint:
    if resume and kept is not None and kept.exists():
        trainer = Trainer.load(kept, recipe, **options)
    else:
        trainer = Trainer(recipe, **options)
    stopped = ""
    try:
        _run(trainer, kept, minutes, tell)
    except KeyboardInterrupt:
        stopped = "interrupted"
    made = StoredBlueprint.of(trainer, {"stopped": stopped} if stopped else None)
    if group()[0] == 0:
        if kept is not None:
            trainer.save(kept)
        made.save(out)
    return made


def _run(trainer: Trainer, kept: Path | None, minutes: float, tell: Progress) -> None:
    recipe, count, saved = trainer.recipe, 1, time.monotonic()
    while True:
        share = together(progress_of(trainer))
        note = f"{trainer.iterations:,} iterations, {trainer.iterations * recipe.boards:,} boards"
        tell(f"Training {recipe.name}", note, min(share, 1.0))
        if share >= 1:
            return
        begin = time.perf_counter()
        left = count if recipe.iterations is None else recipe.iterations - trainer.iterations
        trainer.advance(max(1, min(count, left)))
        took = time.perf_counter() - begin
        count = max(1, int(together(count * min(2.0, STEP / max(took, 1e-6)))))
        if kept is not None and time.monotonic() - saved >= 60 * minutes:
            if group()[0] == 0:
                trainer.save(kept)
            saved = time.monotonic()


def progress_of(trainer: Trainer) -> float:
    """Which share of a training is done; 1 or more at its end."""
    recipe = trainer.recipe
    by_count = trainer.iterations / recipe.iterations if recipe.iterations else 0.0
    by_time = trainer.seconds / (3600 * recipe.hours) if recipe.hours else 0.0
    return max(by_count, by_time)


def join_group(device: str) -> str:
    """Join the processes that ``torchrun`` started, if it did; returns this process's device."""
    if "WORLD_SIZE" not in os.environ:
        return device
    import torch.distributed

    if device == "cuda":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)  # else all processes would share objects on the first GPU
    torch.distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return device

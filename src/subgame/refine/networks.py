"""How networks of values at a depth limit are trained (Brown, Sandholm & Amos 2018, Sec. 6.2).

The paper's network has 34 inputs, four outputs and hidden layers of 256, 128, 128 and 128 units,
and is trained by Adam on the Huber loss; so are ours, with other inputs. PyTorch is imported only
when a network is trained or asked (``pip install subgame[gpu]``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypedDict

import numpy as np

from subgame.errors import ArgumentError

Progress = Callable[[str, float], None]
"""Told what is being done and which share of it is done."""
LAYERS = (256, 128, 128, 128)
"""The paper's hidden layers."""
STEPS = 100
"""Training steps after which progress is told, at the latest."""


def torch() -> Any:
    """PyTorch, or a sentence on how to get it."""
    from subgame.engines.torch.runtime import load_torch

    return load_torch("Leaf networks")


class TrainOptions(TypedDict, total=False):
    """How a leaf network is trained."""

    layers: Sequence[int]
    """Units of the hidden layers, by default the paper's."""
    epochs: int
    """Passes through the data, by default 500."""
    batch: int
    """Histories per step, by default 32."""
    rate: float
    """The learning rate at first, by default 1e-3; it falls to nothing by a cosine."""
    holdout: float
    """The share of the histories that is kept back to measure the error, by default 0.1. The values
    then carry that error as their standard error."""
    seed: int
    """Of rollouts, weights and batches."""


@dataclass(frozen=True)
class Training:
    """How a leaf network is trained; see `TrainOptions`."""

    layers: Sequence[int] = LAYERS
    epochs: int = 500
    batch: int = 32
    rate: float = 1e-3
    holdout: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (("epochs", self.epochs), ("batch", self.batch))
        for name, value in (*counts, *(("layers", n) for n in self.layers)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                kind = "whole numbers" if name == "layers" else "a whole number"
                raise ArgumentError(name, f"must be {kind} of at least 1, not {value}.")
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise ArgumentError("rate", f"must be a number above 0, not {self.rate}.")
        if not 0 <= self.holdout < 1:
            raise ArgumentError(
                "holdout", f"must be a share from 0 to below 1, not {self.holdout}."
            )


def perceptron(t: Any, sizes: Sequence[int]) -> Any:
    """Linear layers with rectified units between them."""
    parts = []
    for inside, outside in pairwise(sizes):
        parts += [t.nn.Linear(inside, outside), t.nn.ReLU()]
    return t.nn.Sequential(*parts[:-1])


class Examples(NamedTuple):
    """What a network learns from."""

    some: Callable[[Any], tuple[Any, Any]]
    """From the numbers of some examples to their inputs and targets, as tensors."""
    size: int
    """How many examples there are."""
    widths: tuple[int, int]
    """How many inputs and targets an example has."""


def trained(examples: Examples, training: Training, tell: Progress, delta: float = 1.0) -> Any:
    """A network that has learned its examples, the same for the same seed.

    By Adam on the Huber loss, which is linear from errors of `delta` on.
    """
    t = torch()
    with t.random.fork_rng(devices=[]):
        t.manual_seed(training.seed)
        net = perceptron(t, (examples.widths[0], *training.layers, examples.widths[1]))
        _fit(t, net, examples, training, tell, delta)
    return net


def _fit(
    t: Any, net: Any, examples: Examples, training: Training, tell: Progress, delta: float
) -> None:
    """Adam, the rate falling to nothing by a cosine."""
    adam, epochs = t.optim.Adam(net.parameters(), lr=training.rate), training.epochs
    steps = -(-examples.size // training.batch)
    fading = t.optim.lr_scheduler.CosineAnnealingLR(adam, epochs * steps)
    loss, threads, done = t.nn.HuberLoss(delta=delta), t.get_num_threads(), 0
    t.set_num_threads(1)  # batches are so small that more threads only wait for each other
    try:
        for _ in range(epochs):
            for part in t.randperm(examples.size).split(training.batch):
                adam.zero_grad()
                inputs, wanted = examples.some(part)
                loss(net(inputs), wanted).backward()
                adam.step()
                fading.step()
                done += 1
                if done % steps == 0 or done % STEPS == 0:
                    tell("Training the network", done / (epochs * steps))
    finally:
        t.set_num_threads(threads)

"""Values at a depth limit from a small network (Brown, Sandholm & Amos 2018, Sec. 6.2).

A description of a history goes in, its value for every pair of continuations comes out. The
paper's network has 34 inputs, four outputs and hidden layers of 256, 128, 128 and 128 units, and
is trained by Adam on the Huber loss; so is ours, with the inputs up to the game. PyTorch is
imported only when a network is trained or asked (``pip install subgame[gpu]``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError
from subgame.games.base import State
from subgame.refine.continuations import Continuations
from subgame.refine.depth import depth_limited
from subgame.refine.leaves import Evaluator, Leaf, LeafValues, Rollouts
from subgame.refine.subgame import At, Subgame
from subgame.tree.public_tree import PublicTree
from subgame.tree.strategy import Strategy

Floats = NDArray[np.float64]
Features = Callable[[State], Sequence[float]]
LAYERS = (256, 128, 128, 128)
"""The paper's hidden layers."""


def torch() -> Any:
    """PyTorch, or a sentence on how to get it."""
    try:
        return import_module("torch")
    except ImportError:
        raise SubgameError(
            "Leaf networks need PyTorch, which is not installed; pip install 'subgame[gpu]'."
        ) from None


@dataclass(frozen=True, eq=False)
class LeafNetwork:
    """A trained network; give it to `depth_limited` as ``values=``."""

    net: Any  # torch.nn.Module
    features: Features | None
    pot: Callable[[State], float] | None
    length: int  # of the paths that it knows, where they are its features
    scale: float
    shape: tuple[int, int]  # how many continuations of each player
    training_error: float
    """Root mean square of the errors on the histories it was trained on, in the game's units."""
    holdout_error: float
    """The same on histories kept from it; not a number if none were."""

    def __call__(self, leaf: Leaf) -> LeafValues:
        shape = (len(leaf.sigma[0]), len(leaf.sigma[1]))
        if shape != self.shape:
            raise SubgameError(
                f"The network was trained for {self.shape[0]} x {self.shape[1]} continuations, "
                f"not for {shape[0]} x {shape[1]}."
            )
        t = torch()
        with t.no_grad():
            given = t.as_tensor(_inputs(leaf, self.features, self.length), dtype=t.float32)
            out = self.net(given).double().numpy()
        value = out.reshape(-1, *shape) * (self.scale * _pots(leaf, self.pot))[:, None, None]
        error = self.training_error if np.isnan(self.holdout_error) else self.holdout_error
        return LeafValues(value, np.full(value.shape, error))


def train_leaf_network(
    tree: PublicTree,
    blueprint: Strategy,
    *,
    at: At | Sequence[Subgame],
    player: int = 0,
    continuations: Continuations | None = None,
    own: Continuations | None = None,
    data: Evaluator | None = None,
    features: Features | None = None,
    pot: Callable[[State], float] | None = None,
    layers: Sequence[int] = LAYERS,
    epochs: int = 500,
    batch: int = 32,
    rate: float = 1e-3,
    holdout: float = 0.1,
    seed: int = 0,
) -> LeafNetwork:
    """Train a network to value the histories at a depth limit for these continuations.

    The targets are `data`, by default 1,000 `Rollouts` per history and pair. `features` describe
    a state by numbers; by default each action and outcome on the way is one of them. With `pot`
    values are learned as shares of it, as in the paper. A share `holdout` of the histories is kept
    back to measure the error, which the values then carry as their standard error.
    """
    if not 0 <= holdout < 1:
        raise SubgameError(f"holdout is a share from 0 to below 1, not {holdout}.")
    t = torch()
    limited = depth_limited(
        tree, blueprint, at=at, player=player, continuations=continuations, own=own,
        values=data or Rollouts(1000, seed),
    )  # fmt: skip
    length = max(len(_path(leaf, h)) for leaf in limited.leaves for h in leaf.subgame.top)
    inputs = np.concatenate([_inputs(leaf, features, length) for leaf in limited.leaves])
    share = np.concatenate([_pots(leaf, pot) for leaf in limited.leaves])
    target = np.concatenate([found.value for found in limited.values])
    shape = (target.shape[1], target.shape[2])
    target = target.reshape(len(target), -1) / share[:, None]
    scale = float(np.abs(target).max(initial=0.0)) or 1.0
    kept = np.random.default_rng(seed).permutation(len(inputs))
    tested, learned = np.split(kept, [int(holdout * len(inputs))])
    with t.random.fork_rng(devices=[]):
        t.manual_seed(seed)
        net = _perceptron(t, (inputs.shape[1], *layers, target.shape[1]))
        _fit(t, net, inputs[learned], target[learned] / scale, epochs, batch, rate)
    with t.no_grad():
        out = net(t.as_tensor(inputs, dtype=t.float32)).double().numpy() * scale
    miss = ((out - target) * share[:, None]) ** 2
    return LeafNetwork(
        net, features, pot, length, scale, shape,
        training_error=float(np.sqrt(miss[learned].mean())),
        holdout_error=float(np.sqrt(miss[tested].mean())) if len(tested) else float("nan"),
    )  # fmt: skip


def _perceptron(t: Any, sizes: Sequence[int]) -> Any:
    """Linear layers with rectified units between them."""
    parts = []
    for inside, outside in pairwise(sizes):
        parts += [t.nn.Linear(inside, outside), t.nn.ReLU()]
    return t.nn.Sequential(*parts[:-1])


def _fit(
    t: Any, net: Any, inputs: Floats, target: Floats, epochs: int, batch: int, rate: float
) -> None:
    """Adam on the Huber loss, the rate falling to nothing by a cosine."""
    x, y = (t.as_tensor(array, dtype=t.float32) for array in (inputs, target))
    adam = t.optim.Adam(net.parameters(), lr=rate)
    fading = t.optim.lr_scheduler.CosineAnnealingLR(adam, epochs)
    loss = t.nn.HuberLoss()
    for _ in range(epochs):
        for part in t.randperm(len(x)).split(batch):
            adam.zero_grad()
            loss(net(x[part]), y[part]).backward()
            adam.step()
        fading.step()


def _path(leaf: Leaf, h: int) -> list[str]:
    home = leaf.subgame.whole.histories
    assert home is not None  # a subgame's whole tree was cut by its histories
    return home.path(int(h))


def _inputs(leaf: Leaf, features: Features | None, length: int) -> Floats:
    """[h, feature] the histories of a leaf as numbers."""
    if features is not None:
        return np.array([features(state) for state in leaf.states()], dtype=np.float64)
    home = leaf.subgame.whole.histories
    assert home is not None
    number = {label: k for k, label in enumerate(home.labels)}
    out = np.zeros((len(leaf.first), length, len(number)))
    for j, h in enumerate(leaf.subgame.top.tolist()):
        path = _path(leaf, h)
        if len(path) > length:
            raise SubgameError(f"The network knows no histories of {len(path)} steps.")
        for step, label in enumerate(path):
            out[j, step, number[label]] = 1.0
    return out.reshape(len(out), -1)


def _pots(leaf: Leaf, pot: Callable[[State], float] | None) -> Floats:
    """[h] what values are a share of; one if nothing is said."""
    if pot is None:
        return np.ones(len(leaf.first))
    out = np.array([pot(state) for state in leaf.states()], dtype=np.float64)
    if not (np.all(np.isfinite(out)) and out.min() > 0):
        raise SubgameError(f"A pot is a number above 0, not {out.min()}.")
    return out

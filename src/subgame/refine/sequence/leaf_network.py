"""Values at a depth limit from a small network (Brown, Sandholm & Amos 2018, Sec. 6.2).

A description of a history goes in, its value for every pair of continuations comes out. The
paper's network has 34 inputs, four outputs and hidden layers of 256, 128, 128 and 128 units, and
is trained by Adam on the Huber loss; so is ours, with the inputs up to the game. PyTorch is
imported only when a network is trained or asked (``pip install subgame[gpu]``).

A saved network brings its continuations along and says which tree, which limit and which player
it is for, so that it is never asked about anything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from subgame.engines.arrays import Floats, Ints
from subgame.errors import DAMAGED, SubgameError, brief
from subgame.games.base import State
from subgame.refine.continuations import Continuations
from subgame.refine.limit import Evaluator, LeafValues, Limit
from subgame.refine.networks import (
    Examples,
    Progress,
    Training,
    TrainOptions,
    perceptron,
    torch,
    trained,
)
from subgame.refine.sequence.leaves import Leaf, Rollouts
from subgame.refine.sequence.limit import limited_tree
from subgame.refine.sequence.subgames import sequence_subgames
from subgame.refine.subgame import At, Subgame
from subgame.solve.limits import check_options, made_of, with_options
from subgame.tree.files import check_made_for, describe, read_tensors, write_tensors
from subgame.tree.public_tree import PublicTree
from subgame.tree.sequence.tree import sequence_tree
from subgame.tree.strategy import Strategy

Features = Callable[[State], Sequence[float]]
FORMAT = "subgame-leaf-network-1"
SAVED = "a file of leaf networks saved by subgame train"
SAME = 1e-9
"""Continuations that differ by no more than this are the same."""
ERRORS = ("spread", "data_error", "training_error", "holdout_error")
"""What a network knows about its errors."""


@dataclass(frozen=True, eq=False)
class LeafNetwork:
    """A trained network; give it to `depth_limited` as ``values=``."""

    __repr__ = brief

    net: Any  # torch.nn.Module
    features: Features | None
    pot: Callable[[State], float] | None
    length: int  # of the paths that it knows, where they are its features
    scale: float
    player: int
    """Whose depth-limited tree it is for: the other one chooses among continuations."""
    pair: tuple[Continuations, Continuations]
    """Both players' continuations that it was trained for."""
    top: Ints
    """The histories at the limit that it was trained at, by number."""
    spread: float
    """Standard deviation of the values it was trained on: what its errors are to be seen beside."""
    data_error: float
    """Root mean square of those values' own standard errors, which nothing below can tell; 0 if
    they were exact."""
    training_error: float
    """Root mean square of the errors on the histories it was trained on, in the game's units."""
    holdout_error: float
    """The same on histories kept from it; not a number if none were."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """How it was made, as its file says."""

    @property
    def shape(self) -> tuple[int, int]:
        """How many continuations of each player it knows."""
        return len(self.pair[0]), len(self.pair[1])

    @property
    def continuations(self) -> Continuations:
        """What `depth_limited` wants as ``continuations=``."""
        return self.pair[1 - self.player]

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(parameter.numel() for parameter in self.net.parameters())

    def __call__(self, leaf: Leaf) -> LeafValues:
        self._check(leaf)
        t = torch()
        with t.no_grad():
            inputs = t.as_tensor(_inputs(leaf, self.features, self.length), dtype=t.float32)
            out = self.net(inputs).double().numpy()
        share = self.scale * _pots(leaf, self.pot)
        value = out.reshape(-1, *self.shape) * share[:, None, None]
        error = self.training_error if np.isnan(self.holdout_error) else self.holdout_error
        return LeafValues(value, np.full(value.shape, error))

    def _check(self, leaf: Leaf) -> None:
        """Refuse what it was not trained for."""
        shape = (len(leaf.sigma[0]), len(leaf.sigma[1]))
        if shape != self.shape:
            raise SubgameError(
                f"The network was trained for {self.shape[0]} x {self.shape[1]} continuations, "
                f"not for {shape[0]} x {shape[1]}."
            )
        home, whole = self.pair[0].tree, leaf.subgame.whole
        if whole is not home and whole.digest != home.digest:
            raise SubgameError(f"The network was trained for {home!r}, not for {whole!r}.")
        for p, known in enumerate(self.pair):
            slots = len(leaf.subgame.tree.players[p].slots)
            inside = known.probs[:, leaf.subgame.places[p]]
            if not np.allclose(inside[:, slots:], leaf.sigma[p][:, slots:], rtol=0, atol=SAME):
                raise SubgameError(
                    f"The network was trained for other continuations of player {p} below "
                    f"'{leaf.subgame.name}' than these, or for another blueprint."
                )
        if self.features is None and not np.isin(leaf.subgame.top, self.top).all():
            raise SubgameError(
                f"The network was trained at another depth limit, which '{leaf.subgame.name}' is "
                "no part of."
            )

    def save(self, path: str | Path) -> None:
        """Write a safetensors file with the network and what it is for."""
        save_leaf_networks([self], path)


@with_options(TrainOptions, Training)
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
    progress: Progress | None = None,
    **options: Unpack[TrainOptions],
) -> LeafNetwork:
    """Train a network to value the histories at a depth limit for these continuations.

    The targets are `data`, by default 1,000 `Rollouts` per history and pair. `features` describe
    a state by numbers; by default each action and outcome on the way is one of them. With `pot`
    values are learned as shares of it, as in the paper. `TrainOptions` say how it is trained.
    `progress` is told how far the rollouts and then the epochs are.
    """
    check_options(train_leaf_network, options)
    training, t = made_of(Training, options), torch()
    tell = progress or (lambda what, share: None)
    subgames = sequence_subgames(tree, at)
    watched = _watched(data or Rollouts(1000, training.seed), len(subgames), tell)
    limit = Limit(blueprint, subgames, player, continuations, own, values=watched)
    limited = limited_tree(sequence_tree(tree), limit)
    top = np.concatenate([leaf.subgame.top for leaf in limited.leaves]).astype(np.int64)
    length = max(len(limited.whole.walked.path(h)) for h in top.tolist())
    inputs = np.concatenate([_inputs(leaf, features, length) for leaf in limited.leaves])
    share = np.concatenate([_pots(leaf, pot) for leaf in limited.leaves])
    target = np.concatenate([values.value for values in limited.values])
    spread = float(target.std())
    blur = np.concatenate([values.error for values in limited.values])
    target = target.reshape(len(target), -1) / share[:, None]
    scale = float(np.abs(target).max(initial=0.0)) or 1.0
    kept = np.random.default_rng(training.seed).permutation(len(inputs))
    tested, learned = np.split(kept, [int(training.holdout * len(inputs))])
    x, y = (t.as_tensor(array[learned], dtype=t.float32) for array in (inputs, target / scale))
    examples = Examples(lambda part: (x[part], y[part]), len(x), (x.shape[1], y.shape[1]))
    net = trained(examples, training, tell)
    with t.no_grad():
        out = net(t.as_tensor(inputs, dtype=t.float32)).double().numpy() * scale
    miss = ((out - target) * share[:, None]) ** 2
    one, two = limit.pair
    return LeafNetwork(
        net,
        features,
        pot,
        length,
        scale,
        player,
        (one, two),
        top,
        spread,
        data_error=float(np.sqrt((blur**2).mean())),
        training_error=float(np.sqrt(miss[learned].mean())),
        holdout_error=float(np.sqrt(miss[tested].mean())) if len(tested) else float("nan"),
    )


def _watched(data: Evaluator, total: int, tell: Progress) -> Evaluator:
    """The same values, with a word on how many leaves are done."""
    done = count(1)

    def value(leaf: Leaf) -> LeafValues:
        values = data(leaf)
        tell("Playing on from the limit", next(done) / total)
        return values

    return value


def _inputs(leaf: Leaf, features: Features | None, length: int) -> Floats:
    """[h, feature] the histories of a leaf as numbers."""
    if features is not None:
        return np.array([features(state) for state in leaf.states()], dtype=np.float64)
    whole = leaf.subgame.whole.walked
    number = {label: k for k, label in enumerate(whole.labels)}
    out = np.zeros((len(leaf.first), length, len(number)))
    for j, h in enumerate(leaf.subgame.top.tolist()):
        path = whole.path(h)
        if len(path) > length:
            raise SubgameError(f"The network was not trained on histories of {len(path)} steps.")
        for step, label in enumerate(path):
            out[j, step, number[label]] = 1.0
    return out.reshape(len(out), -1)


def _pots(leaf: Leaf, pot: Callable[[State], float] | None) -> Floats:
    """[h] what values are a share of; one if nothing is said."""
    if pot is None:
        return np.ones(len(leaf.first))
    out = np.array([pot(state) for state in leaf.states()], dtype=np.float64)
    if not (np.all(np.isfinite(out)) and out.min() > 0):
        raise SubgameError(f"A pot must be a number above 0, not {out.min()}.")
    return out


def save_leaf_networks(
    networks: Sequence[LeafNetwork], path: str | Path, notes: Mapping[str, str] | None = None
) -> None:
    """Write networks for one tree, at most one for each player, into one safetensors file."""
    if not networks or len({network.player for network in networks}) < len(networks):
        raise SubgameError("A file must contain one or two leaf networks, for different players.")
    tree = networks[0].pair[0].tree
    tensors: dict[str, NDArray[Any]] = {}
    said = {**(notes or networks[0].notes), **describe(tree, FORMAT)}
    for network in networks:
        if network.features is not None or network.pot is not None:
            raise SubgameError(
                "A network with features or a pot of your own cannot be saved, since they are "
                "functions; train it without them."
            )
        mark = f"network{network.player}"
        for name, weights in network.net.state_dict().items():
            tensors[f"{mark}.{name}"] = weights.numpy()
        tensors[f"{mark}.top"] = network.top
        for p, known in enumerate(network.pair):
            tensors[f"{mark}.probs{p}"] = np.ascontiguousarray(known.probs)
        numbers = {name: getattr(network, name) for name in ("length", "scale", *ERRORS)}
        said[mark] = json.dumps(
            {
                **{name: None if np.isnan(number) else number for name, number in numbers.items()},
                "names": [known.names for known in network.pair],
                "blueprint_first": [known.blueprint_first for known in network.pair],
            }
        )
    write_tensors(path, tensors, said)


def load_leaf_networks(path: str | Path, tree: PublicTree) -> dict[int, LeafNetwork]:
    """The networks of a file by player; refuses a file made for another tree."""
    header, tensors = read_tensors(path, SAVED)
    check_made_for(path, header, tree, FORMAT)
    t = torch()
    there = [player for player in (0, 1) if f"network{player}" in header]
    try:
        networks = {player: _read(t, tree, player, header, tensors) for player in there}
    except (*DAMAGED, RuntimeError):
        raise SubgameError(f"{path} is a damaged leaf network.") from None
    if not networks:
        raise SubgameError(f"{path} contains no leaf network.")
    return networks


def _read(
    t: Any, tree: PublicTree, player: int, header: Mapping[str, str], tensors: Mapping[str, Any]
) -> LeafNetwork:
    """One network of a file; raises if something is missing or has another shape."""
    mark = f"network{player}"
    said = json.loads(header[mark])
    inside = {
        name.removeprefix(f"{mark}."): np.array(tensor)
        for name, tensor in tensors.items()
        if name.startswith(f"{mark}.")
    }
    pair = []
    for p in (0, 1):
        probs, names = inside.pop(f"probs{p}"), tuple(map(str, said["names"][p]))
        if probs.shape != (len(names), tree.players[p].num_sequences):
            raise ValueError
        pair.append(Continuations(tree, p, names, probs, bool(said["blueprint_first"][p])))
    top = inside.pop("top").astype(np.int64)
    weights = {name: t.as_tensor(array) for name, array in inside.items()}
    numbers = sorted(int(name.removesuffix(".weight")) for name in weights if "weight" in name)
    layers = [weights[f"{k}.weight"] for k in numbers]
    net = perceptron(t, (layers[0].shape[1], *(layer.shape[0] for layer in layers)))
    net.load_state_dict(weights)
    if len(pair[0]) * len(pair[1]) != layers[-1].shape[0]:
        raise ValueError
    own = {*describe(tree, FORMAT), "network0", "network1"}
    notes = {key: value for key, value in header.items() if key not in own}
    errors = {name: float("nan" if said[name] is None else said[name]) for name in ERRORS}
    length, scale, both = int(said["length"]), float(said["scale"]), (pair[0], pair[1])
    return LeafNetwork(net, None, None, length, scale, player, both, top, notes=notes, **errors)

"""`Strategy`: probabilities laid over a `PublicTree`. Saved, memory-mapped, shown as a table."""

from __future__ import annotations

import html
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subgame.errors import SubgameError, did_you_mean, unreadable
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree
from subgame.tree.sequence.tree import Treeplex, sequence_tree

Floats = NDArray[np.float64]
FORMAT = "subgame-strategy-1"
SAVED = "a strategy saved by solve --out"
SLACK = 1e-5
"""Written probabilities may miss one by this much (thirds of six digits); they are normalised."""
EXACT = 1e-9
"""By how much those in a file may; they are used as they are."""


@dataclass(frozen=True, eq=False)
class Strategy:
    """A behaviour strategy for both players. ``probs[p][q]``: probability of sequence q."""

    tree: PublicTree
    probs: tuple[Floats, Floats]
    notes: Mapping[str, str] = field(default_factory=dict)
    """Where it comes from: schedule, iterations, seed."""

    # Making one ------------------------------------------------------------------------------
    @classmethod
    def uniform(cls, tree: PublicTree) -> Strategy:
        """Every action equally likely."""
        if isinstance(tree, RangeTree):
            return cls.from_weights(tree, tuple(np.ones(p.num_sequences) for p in tree.players))
        probs = []
        for player in sequence_tree(tree).players:
            p = np.ones(player.num_sequences)
            for b, actions in enumerate(player.plex.block_actions):
                lo, hi = player.plex.block_infoset[b : b + 2]
                start = player.plex.block_sequence[b]
                p[start : start + actions * (hi - lo)] = 1 / actions
            probs.append(p)
        return cls(tree, (probs[0], probs[1]))

    @classmethod
    def random(cls, tree: PublicTree, seed: int = 0) -> Strategy:
        """Drawn uniformly from each infoset's simplex."""
        rng = np.random.default_rng(seed)
        return cls.from_weights(
            tree, tuple(rng.exponential(size=p.num_sequences) for p in tree.players)
        )

    @classmethod
    def from_weights(cls, tree: PublicTree, weights: tuple[Floats, ...]) -> Strategy:
        """Weights normalised per infoset; uniform where they sum to zero."""
        if isinstance(tree, RangeTree):
            first, second = (np.asarray(weight, dtype=np.float32) for weight in weights)
            return cls(tree, (first, second))  # type: ignore[arg-type]
        probs = [
            normalise(player, weight)
            for player, weight in zip(sequence_tree(tree).players, weights, strict=True)
        ]
        return cls(tree, (probs[0], probs[1]))

    @classmethod
    def from_table(cls, tree: PublicTree, table: Mapping[str, Mapping[str, float]]) -> Strategy:
        """From infoset -> action -> probability. Infosets left out are played uniformly."""
        out = cls.uniform(tree)
        told: dict[tuple[int, int], Mapping[str, float]] = {}
        for name, row in table.items():
            for p, i in out._find(name):
                first = (p, int(tree.players[p].sequences(i)[0]))
                if told.setdefault(first, row) != row:
                    raise SubgameError(
                        f"The infoset '{name}' is one with another that is given other "
                        "probabilities: hands that differ only in suits are one in this tree. "
                        "Compile it with merge=False."
                    )
                out.set_row(p, i, row)
        return out

    def _find(self, name: str) -> list[tuple[int, int]]:
        """(player, infoset number) of a name; both players' if they share it."""
        seats = list(enumerate(self.tree.players))
        shape = re.fullmatch(r"player ([01]): (.*)", name, re.DOTALL)
        if shape and not any(name in side.index for _, side in seats):
            seats, name = [seats[int(shape[1])]], shape[2]
        found = [(p, side.index[name]) for p, side in seats if name in side.index]
        if not found:
            raise did_you_mean("infoset", name, (n for t in self.tree.players for n in t.names))
        return found

    def set_row(self, p: int, i: int, row: Mapping[str, float]) -> None:
        """Write one infoset's probabilities into this strategy's own arrays."""
        player = self.tree.players[p]
        name, actions = player.names[i], player.actions[i]
        for action in row:
            if action not in actions:
                raise did_you_mean(f"action at infoset '{name}'", str(action), actions)
        try:
            values = np.array([float(row.get(action, 0.0)) for action in actions])
        except (TypeError, ValueError):
            values = np.full(len(actions), np.nan)
        if not (np.all(values >= 0) and abs(values.sum() - 1) <= SLACK):
            raise SubgameError(
                f"The probabilities at infoset '{name}' are {dict(row)}; "
                "they must be at least 0 and sum to 1."
            )
        self.probs[p][player.sequences(i)] = values / values.sum()

    # Reading it ------------------------------------------------------------------------------
    def __getitem__(self, infoset: str) -> dict[str, float]:
        """The probabilities at an infoset: ``strategy["Kpb"]["b"]``."""
        found = self._find(infoset)
        if len(found) > 1:
            raise SubgameError(
                f"Both players have an infoset '{infoset}'; ask for 'player 0: {infoset}' or "
                f"'player 1: {infoset}'."
            )
        return self.row(*found[0])

    def row(self, p: int, i: int) -> dict[str, float]:
        """The probabilities of player `p` at her infoset number `i`."""
        player = self.tree.players[p]
        values = self.probs[p][player.sequences(i)]
        if isinstance(self.tree, RangeTree):
            values = values.astype(np.float64)
            total = values.sum()
            values = values / total if total > 0 else np.full(len(values), 1 / len(values))
        return dict(zip(player.actions[i], values.tolist(), strict=True))

    def rows(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset, probabilities), in the game's own order."""
        for p, player in enumerate(self.tree.players):
            for i in np.argsort(player.origin, kind="stable").tolist():
                yield p, player.names[i], self.row(p, i)

    def table(self) -> dict[str, dict[str, float]]:
        """Infoset -> action -> probability, for both players.

        A name that both players use is told apart as ``player 0: name`` and ``player 1: name``.
        """
        shared = self.tree.players[0].index.keys() & self.tree.players[1].index.keys()
        return {
            f"player {p}: {name}" if name in shared else name: row for p, name, row in self.rows()
        }

    def __repr__(self) -> str:
        return f"<Strategy over {self.tree.game}: {self.tree.num_infosets:,} infosets>"

    def _repr_html_(self) -> str:
        """A table for notebooks: one row per infoset, darker cells are likelier."""
        limit, out = 60, []
        for count, (p, name, row) in enumerate(self.rows()):
            if count == limit:
                out.append(f"<tr><td colspan=9>… {self.tree.num_infosets - limit:,} more</td></tr>")
                break
            cells = "".join(
                f'<td style="background:rgba(37,99,235,{prob:.2f});'
                f'color:{"white" if prob > 0.5 else "inherit"}">'
                f"{html.escape(action)} {prob:.3f}</td>"
                for action, prob in row.items()
            )
            out.append(f"<tr><td>{p}</td><td><code>{html.escape(name)}</code></td>{cells}</tr>")
        head = "<tr><th>player</th><th>infoset</th><th colspan=7>actions</th></tr>"
        title = html.escape(repr(self).strip("<>"))
        return f"<table><caption>{title}</caption>{head}{''.join(out)}</table>"

    # Files -----------------------------------------------------------------------------------
    def save(self, path: str | Path) -> None:
        """Write a safetensors file that carries its game, its tree's hash and its notes."""
        tensors = {f"player{p}": np.ascontiguousarray(probs) for p, probs in enumerate(self.probs)}
        write_tensors(path, tensors, dict(self.notes) | describe(self.tree, FORMAT))

    @classmethod
    def load(cls, path: str | Path, tree: PublicTree) -> Strategy:
        """Memory-map a saved strategy; refuses a file made for another tree."""
        header, mapped = read_tensors(path, SAVED)
        check_made_for(path, header, tree, FORMAT)
        probs = []
        for p, player in enumerate(tree.players):
            values = mapped.get(f"player{p}", np.zeros(0, np.int32))
            dtype = np.float32 if isinstance(tree, RangeTree) else np.float64
            if values.shape != (player.num_sequences,) or values.dtype != dtype:
                raise SubgameError(f"{path} does not hold the probabilities of player {p}.")
            probs.append(values)
            if not np.all(np.isfinite(values)) or np.any(values < 0):
                raise SubgameError(
                    f"{path} contains probabilities of player {p} that are negative or not finite."
                )
            if (
                isinstance(player, Treeplex)
                and np.abs(sums(player, values) - 1).max(initial=0) > EXACT
            ):
                raise SubgameError(
                    f"{path} holds probabilities of player {p} that do not sum to 1."
                )
        own = describe(tree, FORMAT)
        return cls(tree, (probs[0], probs[1]), {k: v for k, v in header.items() if k not in own})


def sums(player: Treeplex, weights: Floats) -> Floats:
    """[i] the sum of each infoset's weights."""
    return np.bincount(
        player.infoset_of[len(player.slots) :],
        weights=weights[len(player.slots) :],
        minlength=len(player.names),
    ).astype(np.float64)


def normalise(player: Treeplex, weights: Floats) -> Floats:
    """Probabilities proportional to weights; uniform where they sum to zero."""
    out = np.ones(player.num_sequences)
    slots = len(player.slots)
    owner = player.infoset_of[slots:]
    total = sums(player, weights)
    size = np.bincount(owner, minlength=len(player.names))
    with np.errstate(divide="ignore", invalid="ignore"):
        out[slots:] = np.where(total[owner] > 0, weights[slots:] / total[owner], 1 / size[owner])
    return out


def describe(tree: PublicTree, kind: str) -> dict[str, str]:
    """What a stored file says about the tree it was made for."""
    one, two = tree.players
    return {
        "format": kind,
        "game": tree.game,
        "tree": tree.digest,
        "infosets": f"{len(one.names)} + {len(two.names)}",
        "sequences": f"{one.num_sequences} + {two.num_sequences}",
    }


def check_made_for(
    path: str | Path, header: Mapping[str, str], tree: PublicTree, kind: str
) -> None:
    """Refuse a file of another kind or for another tree, saying how they differ."""
    own = describe(tree, kind)
    if header.get("format") != kind:
        raise SubgameError(
            f"{path} is not a file of kind {kind}"
            + (f" but of kind {header['format']}." if "format" in header else ".")
        )
    for key in ("game", "infosets", "sequences"):
        if header.get(key) != own[key]:
            what = "game" if key == "game" else f"number of {key} per player"
            raise SubgameError(
                f"{path} was made for another tree: its {what} is {header.get(key)}, "
                f"that of this tree is {own[key]}."
            )
    if header.get("tree") != own["tree"]:
        raise SubgameError(
            f"{path} was made for another tree of {tree.game}: as many infosets, but other names, "
            f"actions or payoffs (tree {header.get('tree')}, this one is {own['tree']})."
        )


def check_writable(path: Path) -> None:
    """Refuse a place where no file can be written, before the work is done."""
    if path.is_dir():
        raise SubgameError(f"{path} is a folder, not a file.")
    if not path.parent.is_dir():
        raise SubgameError(f"{path} cannot be written: there is no folder {path.parent}.")


def write_tensors(
    path: str | Path, tensors: Mapping[str, NDArray[Any]], metadata: dict[str, str]
) -> None:
    """Write a safetensors file; an old one, and whoever has it mapped, is kept until it is done."""
    from safetensors.numpy import save_file

    path = Path(path)
    check_writable(path)
    beside = path.with_name(path.name + ".part")
    try:
        save_file(dict(tensors), str(beside), metadata=metadata)
        os.chmod(beside, 0o666 & ~_umask())  # safetensors makes files for their owner alone
        os.replace(beside, path)
    except Exception as error:  # safetensors raises its own kind on a full disk
        beside.unlink(missing_ok=True)
        raise SubgameError(f"{path} cannot be written: {error}.") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_tensors(
    path: str | Path, wanted: str = "a file saved by subgame"
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Metadata and memory-mapped arrays of a safetensors file; errors say what is `wanted`."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 0 < size <= path.stat().st_size - 8:
                raise ValueError
            header = json.loads(file.read(size))
        kinds = {
            "F64": np.float64,
            "F32": np.float32,
            "I64": np.int64,
            "I32": np.int32,
            "U8": np.uint8,
        }
        meta = header.pop("__metadata__", {})
        out: dict[str, NDArray[Any]] = {}
        for name, info in header.items():
            lo, hi = info["data_offsets"]
            shape, dtype = tuple(info["shape"]), np.dtype(kinds[info["dtype"]])
            whole = hi - lo == dtype.itemsize * math.prod(shape)
            if not whole or not 0 <= lo <= hi <= path.stat().st_size - 8 - size:
                raise ValueError
            if hi == lo:
                out[name] = np.zeros(shape, dtype)
            else:
                out[name] = np.memmap(path, dtype, "r", offset=8 + size + lo, shape=shape)
        return {str(key): str(value) for key, value in meta.items()}, out
    except OSError as error:
        raise unreadable(path, error, wanted) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        why = "is not a safetensors file, or was cut short"
        raise unreadable(path, why, wanted) from None

"""`engine`: the engine of a tree on a device. Kernels are loaded only when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from subgame.engines.devices import CPU, check_device
from subgame.engines.numba.ranges import NumbaRangeEngine
from subgame.engines.pairs import PairEngine
from subgame.errors import ArgumentError, SubgameError
from subgame.tree.public_tree import PublicTree
from subgame.tree.ranges.tree import RangeTree

if TYPE_CHECKING:
    from subgame.engines.contract import Engine, RangeEngine, SequenceEngine
    from subgame.tree.sequence.tree import SequenceTree


@overload
def engine(
    tree: RangeTree,
    threads: int | None = None,
    device: str | None = None,
    storage: str = "float32",
) -> RangeEngine: ...


@overload
def engine(
    tree: SequenceTree,
    threads: int | None = None,
    device: str | None = None,
    storage: str = "float32",
) -> SequenceEngine: ...


@overload
def engine(
    tree: PublicTree,
    threads: int | None = None,
    device: str | None = None,
    storage: str = "float32",
) -> Engine: ...


def engine(
    tree: PublicTree,
    threads: int | None = None,
    device: str | None = None,
    storage: str = "float32",
) -> Engine:
    """The engine of a tree on a device; later calls return the same engine.

    Devices: ``"cpu"``, the default, uses Numba. ``"cuda"`` or ``"cuda:1"`` uses a GPU through
    PyTorch and Triton. ``"torch"`` runs the GPU's code on the CPU through PyTorch; it is slower,
    but needs no Numba. Only hold'em trees on the CPU use more than one thread, and only hold'em
    trees can have a `storage` other than float32.
    """
    if not isinstance(tree, PublicTree):
        raise SubgameError(
            "The tree must be a PublicTree, as subgame.compile(game) makes it, not "
            f"{type(tree).__name__}."
        )
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ArgumentError("threads", f"must be a whole number of at least 1, not {threads}.")
    name = check_device(device)
    if name != CPU and threads is not None:
        raise SubgameError(f"threads can be given only for the device cpu, not for {name}.")
    if storage != "float32" and not isinstance(tree, RangeTree):
        raise SubgameError(
            f"Only hold'em trees can have the storage {storage}; this tree must have float32."
        )
    if tree.has_locks and storage != "float32":
        raise SubgameError(
            f"{tree.game_name} has locked decisions, which can be solved only with the storage "
            f"float32, not with {storage}."
        )
    key = name if storage == "float32" else f"{name}, {storage}"
    result: Engine | None = tree.engines.get(key)
    if result is None:
        result = tree.engines[key] = _made(tree, name, storage)
    if isinstance(result, NumbaRangeEngine) and threads is not None:
        result.set_threads(threads)
    return result


def _made(tree: PublicTree, device: str, storage: str) -> Engine:
    if isinstance(tree, RangeTree) and tree.holdem.folded:
        if device != CPU or storage != "float32":
            raise SubgameError(
                f"{tree.game_name} has folded ranges, which are solved on the device cpu with the "
                "storage float32 only."
            )
        return PairEngine(tree)
    if device != CPU:
        from subgame.engines.torch import engine_on

        return engine_on(tree, device, storage)
    if isinstance(tree, RangeTree):
        return NumbaRangeEngine(tree, None, storage)
    from subgame.engines.numba.sequence import NumbaSequenceEngine
    from subgame.tree.sequence.tree import sequence_tree

    return NumbaSequenceEngine(sequence_tree(tree))

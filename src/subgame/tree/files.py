"""Safetensors files that record which tree they were made for."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subgame.errors import DAMAGED, SubgameError, check_regular, unreadable
from subgame.lazy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from subgame.tree.public_tree import PublicTree

KINDS = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "I64": "i8",
    "I32": "i4",
    "I16": "i2",
    "I8": "i1",
    "U8": "u1",
}
"""Types of numbers in files, by NumPy's names."""
CHECKPOINT, SAVED_CHECKPOINT = "subgame-checkpoint-1", "a checkpoint saved by solve --checkpoint"
"""The format of a run that can go on, and what messages call it."""
HEADER = 100_000_000
"""Bytes of the largest header, as in the safetensors library."""


def describe(tree: PublicTree, kind: str) -> dict[str, str]:
    """The metadata that a file records about the tree it was made for."""
    one, two = tree.players
    return {
        "format": kind,
        "game": tree.game_name,
        "tree": tree.digest,
        "infosets": f"{len(one.names)} + {len(two.names)}",
        "sequences": f"{one.num_sequences} + {two.num_sequences}",
    }


def check_made_for(
    path: str | Path, header: Mapping[str, str], tree: PublicTree, kind: str
) -> None:
    """Raise an error if a file is of another kind or for another tree; it says how they differ."""
    from subgame.tree.sequence.tree import SequenceTree

    own = describe(tree, kind)
    if header.get("format") != kind:
        raise SubgameError(
            f"{path} is not a file of kind {kind}"
            + (f" but of kind {header['format']}." if "format" in header else ".")
        )
    if header.get("tree") == own["tree"] and isinstance(tree, SequenceTree):
        return  # the same tree and names; its game may be called by another path
    for key in ("game", "infosets", "sequences"):
        if header.get(key) != own[key]:
            what = "game" if key == "game" else f"number of {key} per player"
            raise SubgameError(
                f"{path} was made for another tree: its {what} is {header.get(key)}, "
                f"that of this tree is {own[key]}."
            )
    if header.get("tree") != own["tree"]:
        raise SubgameError(
            f"{path} was made for another tree of {tree.game_name}: it has as many infosets, but "
            f"other names, actions or payoffs (tree {header.get('tree')}, this one is "
            f"{own['tree']})."
        )


def check_writable(path: Path) -> None:
    """Raise an error, before the work is done, if no file can be written at `path`."""
    if path.is_dir():
        raise SubgameError(f"{path} is a folder, not a file.")
    if not path.parent.is_dir():
        raise SubgameError(f"{path} cannot be written: there is no folder {path.parent}.")


def check_replaceable(path: Path, kind: str, wanted: str) -> None:
    """Raise an error if a file exists at `path` that is not of this format, of any version.

    It is for files whose names the user did not choose, and for those that a run may continue: only
    what is recognisably ours is replaced.
    """
    check_writable(path)
    if not path.exists() or (path.is_file() and not path.stat().st_size):
        return
    try:
        there = read_tensors(path, wanted)[0].get("format", "")
        own = there.rpartition("-")[0] == kind.rpartition("-")[0]
    except SubgameError:
        own = False
    if not own:
        raise SubgameError(
            f"{path} exists and is not {wanted}, so it is not replaced. Move it away, or give "
            "another file."
        )


def check_checkpoint(path: str | Path) -> None:
    """Refuse a file for the checkpoints of a solve that is something else."""
    check_replaceable(Path(path), CHECKPOINT, SAVED_CHECKPOINT)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A new file in the folder of `path`, to write to; it replaces `path` once it is complete.

    Until then an old file stays as it is, also if writing fails. Several processes may write the
    same file: each has its own new file, and the last one to finish wins. All errors of the file
    system become one sentence.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "a.txt") as new:
    ...     _ = new.write_text("done")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    import tempfile

    from safetensors import SafetensorError

    path, new = Path(path), None
    check_writable(path)
    try:
        ending = f".part{path.suffix}"  # some writers go by the suffix
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=ending)
        os.close(handle)
        new = Path(name)
        yield new
        os.chmod(name, 0o666 & ~_umask())  # mkstemp lets only the owner read
        os.replace(name, path)
    except (OSError, SafetensorError) as error:  # the latter on a full disk
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise SubgameError(f"{path} cannot be written: {why}.") from None
    finally:
        if new is not None:
            new.unlink(missing_ok=True)


def rescue(path: str | Path, write: Callable[[Path], object]) -> str:
    """Write a file; if that fails, write it to the folder for temporary files instead.

    Returns what went wrong, and where the file is now; "" if nothing did. Nothing is raised for a
    full disk, so that what was computed is not lost.
    """
    import tempfile

    path = Path(path)
    try:
        write(path)
    except SubgameError as error:
        try:
            other = Path(tempfile.mkdtemp(prefix="subgame-")) / path.name
            write(other)
        except (SubgameError, OSError):
            return str(error)
        return f"{error} It was saved as {other} instead."
    return ""


def write_tensors(
    path: str | Path, tensors: Mapping[str, NDArray[np.generic]], metadata: dict[str, str]
) -> None:
    """Write a safetensors file; see `replacing`.

    A process that has the old file memory-mapped can still read it.
    """
    from safetensors.numpy import save_file

    with replacing(path) as new:
        save_file(dict(tensors), new, metadata=metadata)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def read_tensors(
    path: str | Path, wanted: str = "a file saved by subgame"
) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Metadata and memory-mapped arrays of a safetensors file; errors name the file `wanted`."""
    path = Path(path)
    check_regular(path, wanted, math.inf)
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            if not 0 < size <= min(path.stat().st_size - 8, HEADER):
                raise ValueError
            header = json.loads(file.read(size).decode())  # bytes could be UTF-16
        meta = header.pop("__metadata__", {})
        out: dict[str, NDArray[Any]] = {}
        for name, info in header.items():
            lo, hi = info["data_offsets"]
            shape, dtype = tuple(info["shape"]), np.dtype(KINDS[info["dtype"]])
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
    except DAMAGED:
        why = "is not a safetensors file, or was cut short"
        raise unreadable(path, why, wanted) from None


def check_finite(
    path: str | Path,
    tensors: Mapping[str, NDArray[np.generic]],
    wanted: str = "a file saved by subgame",
) -> None:
    """Raise an error if a number of a file is not finite: it is damaged."""
    for name, values in tensors.items():
        ends = (values.min(), values.max()) if values.size else ()
        if not np.all(np.isfinite(ends)):
            why = f"is damaged (the numbers '{name}' are not all finite)"
            raise unreadable(path, why, wanted)

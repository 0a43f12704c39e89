"""The names of devices, and of the ways to store numbers on them."""

from __future__ import annotations

from typing import Literal, get_args

from subgame.errors import SubgameError, did_you_mean

CPU = "cpu"
DEVICES = ("cpu", "cuda", "torch")
Storage = Literal["float32", "bfloat16", "int16"]
"""How regrets and averages of hold'em may be stored; bfloat16 not on the CPU."""
STORAGES: tuple[Storage, ...] = get_args(Storage)


def no_device(name: str) -> SubgameError:
    """The error for a name that is no device."""
    return SubgameError(
        f"There is no device '{name}'; the device must be cpu, cuda (a GPU; cuda:1 is the second) "
        "or torch (the GPU's code, run on the CPU)."
    )


def check_device(device: str | None) -> str:
    """The device's name; an error if there is no such device."""
    name = CPU if device is None else str(device)
    kind = name.partition(":")[0]
    if name != CPU and kind not in DEVICES:
        raise no_device(name)
    return name


def check_storage(storage: str) -> Storage:
    """The storage's name; an error if there is no such storage."""
    if storage not in STORAGES:
        raise did_you_mean("storage", str(storage), STORAGES)
    return storage

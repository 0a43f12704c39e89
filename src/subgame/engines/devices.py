"""The names of devices, and of the ways to store numbers on them."""

from __future__ import annotations

from subgame.errors import SubgameError, did_you_mean

CPU = "cpu"
DEVICES = ("cpu", "cuda", "torch")
STORAGES = ("float32", "int16", "bfloat16")
"""How regrets and averages of hold'em may be stored; the last one not on the CPU."""


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


def check_storage(storage: str) -> None:
    """Raise an error if there is no such storage."""
    if storage not in STORAGES:
        raise did_you_mean("storage", storage, STORAGES)

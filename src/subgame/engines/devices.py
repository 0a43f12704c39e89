"""The names of devices."""

from __future__ import annotations

from subgame.errors import SubgameError

CPU = "cpu"
DEVICES = ("cpu", "cuda", "torch")


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

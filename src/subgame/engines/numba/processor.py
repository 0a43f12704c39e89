"""The processor of this machine, as far as machine code depends on it, without importing LLVM."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

INFORMATION = Path("/proc/cpuinfo")
FIELDS = (
    *("vendor_id", "cpu family", "model", "model name", "stepping", "flags"),
    *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision", "Features"),
)
"""What Linux says of a processor and does not change while it runs."""
LINUX = {"bmi": "bmi1", "lzcnt": "abm", "lse": "atomics"}
"""Features that Linux calls otherwise than LLVM."""


@lru_cache(maxsize=1)
def fields() -> dict[str, str]:
    """What Linux says of the first core; nothing elsewhere."""
    result = {}
    try:
        with INFORMATION.open() as lines:
            for line in lines:
                name, _, text = line.partition(":")
                if not text:  # the next core
                    break
                if name.strip() in FIELDS:
                    result[name.strip()] = text.strip()
    except OSError:
        return {}
    return result


def described() -> str:
    """What machine code depends on: LLVM's host on other systems than Linux."""
    if sys.platform == "linux" and fields():
        return f"{sys.platform} {os.uname().machine} {sorted(fields().items())}"
    from llvmlite import binding

    features = sorted(binding.get_host_cpu_features().items())
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {features}"


def runs(architecture: str, features: tuple[str, ...]) -> bool:
    """Whether this is Linux on a processor with some features, by LLVM's names of them."""
    if sys.platform != "linux" or os.uname().machine != architecture:
        return False
    known = {*fields().get("flags", "").split(), *fields().get("Features", "").split()}
    return all(LINUX.get(feature, feature) in known for feature in features)


def version(package: str) -> str:
    """The file with the version of a package, which is not imported."""
    spec = find_spec(package)
    return Path(str(spec and spec.origin)).with_name("_version.py").read_text(encoding="utf-8")

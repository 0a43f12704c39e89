"""The build hook: object code of the kernels goes into wheels (see `tools/build_kernels.py`).

It needs Numba and NumPy at build time: build with ``python -m build --no-isolation`` in an
environment that has them. Without them the wheel has no object code, and kernels are compiled on
first use. ``SUBGAME_KERNELS=no`` leaves the object code out; ``SUBGAME_KERNELS=require`` makes it
an error if it cannot be built.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernels into a temporary folder that the wheel includes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before a wheel or an sdist is made."""
        wanted = os.environ.get("SUBGAME_KERNELS", "")
        if self.target_name != "wheel" or version == "editable" or wanted == "no":
            return
        missing = [name for name in ("numba", "numpy") if find_spec(name) is None]
        if missing:
            said = f"no object code of kernels is built: {', '.join(missing)} is not installed."
            if wanted == "require":
                raise RuntimeError(said)
            self.app.display_warning(said)
            return
        root = Path(self.root)
        self._folder = tempfile.TemporaryDirectory()
        subprocess.run(
            [sys.executable, str(root / "tools" / "build_kernels.py"), self._folder.name],
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            check=True,
        )
        build_data["force_include"][self._folder.name] = "subgame/engines/numba/shipped"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after it is made."""
        folder = getattr(self, "_folder", None)
        if folder is not None:
            folder.cleanup()

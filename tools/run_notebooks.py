"""Run the notebooks as somebody with a new machine would.

    python tools/run_notebooks.py dist/*.whl

The wheel is installed with the extra `notebook` into an empty environment, with an empty home
folder. Every notebook of ``docs/notebooks`` is executed in an empty folder. The exit code is 1 if a
cell of one of them failed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from smoke_wheel import User

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": "."}}).execute()
"""


def run(user: User, path: Path) -> bool:
    """Execute one notebook and say how long it took, or what failed."""
    folder = user.folder / path.stem
    folder.mkdir()
    began = time.monotonic()
    done = subprocess.run(
        [str(user.folder / "env" / "bin" / "python"), "-c", EXECUTE, str(path)],
        cwd=folder,
        env=user.environ,
        capture_output=True,
        text=True,
    )
    print(f"{path.name:28}{time.monotonic() - began:8.1f} s", flush=True)
    if done.returncode:
        print(done.stderr[-3000:], flush=True)
    return not done.returncode


def main(wheel: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="notebooks-", ignore_cleanup_errors=True) as folder:
        user = User(Path(folder), sys.executable)
        print(user.install(wheel, "notebook", "nbclient", "ipykernel"), flush=True)
        results = [run(user, path) for path in sorted(NOTEBOOKS.glob("*.ipynb"))]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))

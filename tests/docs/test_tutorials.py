"""Tutorials and concepts are true: their code runs, and prints what they say."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from cli_helpers import runner

HOME = Path(__file__).parents[2]
PAGES = ["docs/concepts.md", *(f"docs/tutorials/{p.name}" for p in HOME.glob("docs/tutorials/*"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("page", sorted(PAGES))
def test_a_page_prints_what_it_says(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Blocks that begin with the name of a file are written to it."""
    if "to_pandas" in (text := (HOME / page).read_text(encoding="utf-8")):
        pytest.importorskip("pandas", reason="pandas is not installed (the extra 'notebook')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    cli = runner(capsys, monkeypatch)
    names: dict[str, object] = {}
    examples = 0
    for kind, block in BLOCK.findall(text):
        if kind == "python":
            first = re.match(r"# (\w+\.py)\n", block)
            assert first, "code without output belongs in a file"
            Path(first[1]).write_text(block, encoding="utf-8")
        elif kind == "pycon":
            test = doctest.DocTestParser().get_doctest(block, names, page, page, 0)
            said: list[str] = []
            done = doctest.DocTestRunner(optionflags=FLAGS).run(
                test, out=said.append, clear_globs=False
            )
            names.update(test.globs)
            examples += done.attempted
            assert not done.failed, "".join(said)
        else:
            for line in block.splitlines():
                assert line.startswith("subgame ")
                answer = cli(*shlex.split(line)[1:])
                assert answer.code == 0, f"{line}: {answer.err}"
    assert examples > 5

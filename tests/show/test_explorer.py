"""The explorer of endgames in notebooks: its traits, and its script in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subgame as sg
from subgame.notebook import CANVAS, cells, explore, pages, script
from subgame.spots.endgame import Endgame
from subgame.spots.hand_classes import looks

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAGE = """<meta charset="utf-8"><div id="here"></div><pre id="out"></pre><script type="module">
const listeners = {}, said = [];
const values = {
  html: "<button data-line='c r100'><b>bet</b></button><canvas style='width:260px'></canvas>",
  cells: { KK: { parts: [[[255, 0, 0], 1]], height: 1 } } };
const model = {
  get: (name) => values[name], set: (name, value) => said.push([name, value]),
  save_changes: () => said.push(["saved", true]),
  on: (name, call) => { listeners[name] = call; }, off: (name) => { delete listeners[name]; },
};
const source = new Blob([SOURCE], { type: "text/javascript" });
const { default: widget } = await import(URL.createObjectURL(source));
const el = document.getElementById("here"), stop = widget.render({ model, el });
el.querySelector("b").click();
const pen = el.querySelector("canvas").getContext("2d");
const dot = (x, y) => [...pen.getImageData(x, y, 1, 1).data];
const drawn = [dot(37, 37), dot(57, 37)];
values.html = "<i>after</i>";
listeners["change:html"]();
stop();
el.querySelector("i").click();
document.getElementById("out").textContent =
  JSON.stringify({ said, drawn, shown: el.innerHTML, left: Object.keys(listeners) });
</script>"""


@pytest.fixture(scope="module")
def turn() -> Endgame:
    game = sg.holdem.endgame("QsJh2h8d", 100, 200, ("AA,65s", "KQ,22"), "1x a")
    return Endgame.of(sg.solve(sg.compile(game), "dcfr", iterations=2).strategy)


def lines(shown: str) -> list[str]:
    return re.findall(r"data-line='([^']*)'", shown)


def test_every_button_leads_on(turn: Endgame) -> None:
    """From the root down to the end of the hand, along the first button and one of the last."""
    seen = []
    for pick in (0, -2):
        line = ""
        while len(result := lines(pages(turn, line))) > 1:
            line = result[pick]
        seen.append(line)
        assert result == [""]  # to start over
    assert seen == ["c c / 2c c c", "r100 r200 c"]
    assert len(lines(pages(turn, "c c"))) == 48 + 1
    assert "showdown" in pages(turn, seen[0])
    assert "the hand is over" in pages(turn, "r200 f")


def test_traits_follow_each_other(turn: Endgame) -> None:
    pytest.importorskip("anywidget", reason="anywidget is not installed (the extra 'notebook')")
    widget = explore(turn)
    assert widget.html == pages(turn, "", CANVAS)
    widget.line = "r100"
    assert widget.html == pages(turn, "r100", CANVAS)
    assert widget.cells == cells(turn, "r100")
    assert "call 100" in widget.html
    with pytest.raises(sg.SubgameError, match="r7"):
        widget.line = "r7"
    assert (widget.line, widget.html) == ("r100", pages(turn, "r100", CANVAS))
    assert explore(turn, "r100").html == pages(turn, "r100", CANVAS)
    assert "export default" in str(widget._esm)


def test_the_grid_has_what_the_classes_do(turn: Endgame) -> None:
    decision = turn.decision("r100")
    colours = [list(look.colour) for look in looks(decision.actions, decision.betting)]
    table = {row["class"]: row for row in decision.class_table(values=False)}
    result = cells(turn, "r100")
    assert set(result) == set(table)
    for name, cell in result.items():
        parts = [
            [colour, table[name][a]] for colour, a in zip(colours, decision.names, strict=True)
        ]
        for (one, share), (two, wanted) in zip(cell["parts"], parts[::-1], strict=True):
            assert one == two
            assert share == pytest.approx(wanted)
    assert cells(turn, "c c") == {}  # a card comes


def test_without_anywidget_an_error_says_what_to_install(
    turn: Endgame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(sg.SubgameError, match=r"subgame\[notebook\]"):
        explore(turn)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_script_shows_and_tells(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(PAGE.replace("SOURCE", json.dumps(script())))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    command = [str(CHROMIUM), *flags, "--virtual-time-budget=5000", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    match = re.search(r'<pre id="out">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match
    said = json.loads(match[1].replace("&lt;", "<").replace("&gt;", ">"))
    assert said["drawn"][0] == [255, 0, 0, 255]  # the kings, and not what is beside them
    assert said["drawn"][1] != said["drawn"][0]
    assert said["said"] == [["line", "c r100"], ["saved", True]]
    assert (said["shown"], said["left"]) == ("<i>after</i>", [])

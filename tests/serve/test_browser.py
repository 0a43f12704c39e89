"""The pages in headless Chromium. Without Chromium these tests are skipped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed (the extra 'web')")
pytest.importorskip("websockets", reason="websockets is not installed (the extra 'web')")

from browser import FOUND, Browser
from serving import listening

pytestmark = pytest.mark.skipif(FOUND is None, reason="Chromium is not installed")
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"


SHADES = """(() => { const c = document.querySelector('canvas.grid');
  const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
  return all.reduce((sum, value, k) => (sum * 31 + value * (k % 7)) % 1000003, 7); })()"""
"""A number for what a grid shows."""


class Page(NamedTuple):
    """A browser and the address of the server."""

    browser: Browser
    home: str

    def open(self, path: str) -> None:
        self.browser.errors.clear()
        self.browser.open(self.home + path)

    def check(self) -> None:
        """No script failed, nothing is wider than the window, and axe-core finds no fault."""
        assert self.browser.errors == []
        run = self.browser.run
        assert run("document.documentElement.scrollWidth - innerWidth") <= 0
        if not run("!!window.axe"):
            run(f"(() => {{ {AXE} }})()")
        time.sleep(0.1)
        found = run(
            f"axe.run(document, {RULES}).then(r => r.violations.map(v => v.id + ': ' + "
            "v.nodes.map(n => n.html.slice(0, 120) + n.failureSummary).slice(0, 3).join('; ')))"
        )
        assert not found, "\n".join(found)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    data = tmp_path_factory.mktemp("data")
    with listening(data, workers=1) as home, Browser() as browser:
        yield Page(browser, home)


def test_coin_toss_is_stepped_through_by_keys(page: Page) -> None:
    browser = page.browser
    page.open("/")
    browser.says("A coin that only one player sees")
    browser.says("Next: Blueprint")
    wins = []
    for step in ("blueprint", "unsafe", "resolve", "maxmargin", "reach-maxmargin", "optimum"):
        browser.run("document.querySelector('[rel=next]').focus()")
        browser.press("ArrowRight")
        browser.until(f"location.search === '?step={step}'")
        name = step.partition("-")[0].capitalize()
        browser.until(f"document.querySelector('.meter-row.here').innerText.startsWith('{name}')")
        wins.append(
            float(
                browser.until("document.querySelector('.meter-row.here .meter-value')?.innerText")
            )
        )
    assert wins == [0.5, 0.75, 0.5, 0.375, 0.25, 0.0]  # Brown & Sandholm 2017, Sec. 4 and 5
    browser.press("ArrowLeft")
    browser.until("location.search === '?step=reach-maxmargin'")
    browser.run("document.querySelector('button.theme').click()")  # dark
    page.check()
    browser.run("document.querySelector('button.theme').click()")


def test_a_tree_is_walked_by_keys(page: Page) -> None:
    browser = page.browser
    page.open("/games/kuhn?strategy=uniform")
    browser.says("Player 1 acts")
    browser.run("document.querySelector('.tree').focus()")
    browser.press("ArrowRight")
    browser.says("Player 2 acts")
    browser.press("ArrowDown")
    browser.until("document.querySelector('.path [aria-current]').innerText === 'b'")
    assert "exploitability 0.4583" in browser.text()
    browser.fill("watch-technique", "resolve")
    browser.says("At each root infoset the opponent enters")
    browser.run("document.getElementById('iteration').focus()")
    browser.press("ArrowRight")
    browser.until("location.search.includes('iteration=2')")
    browser.says("Iteration 2 of 128")
    page.check()


def test_a_mistake_is_answered_beside_its_field(page: Page) -> None:
    browser = page.browser
    page.open("/solve")
    browser.says("in 32 bits")
    for field, wrong, said in (
        ("pot", "0", "must be a number of chips above 0"),
        ("river_b", "0.5x lots", "a size is a share of the pot"),
        ("s0", "many", "must be a number of chips"),
        ("removed", "r77", "cannot be removed"),
        ("oop", "AA,KQx", "this is neither a hand"),
    ):
        right = browser.run(f"document.getElementById({field!r}).value")
        browser.fill(field, wrong)
        browser.until(f"document.getElementById('{field}-error')?.innerText.includes({said!r})")
        browser.fill(field, right)
        browser.until(f"!document.getElementById('{field}-error')")
    page.check()


def test_a_spot_is_set_up_solved_walked_locked_saved_and_reloaded(page: Page) -> None:
    browser = page.browser
    page.open(
        "/solve?board=Qs+Jh+2h+8d&turn_b=0.5x&turn_r=a&river_b=0.5x+a&river_r=a&river_ib=1x"
        "&split=1&rake=5&s0=200&s1=200&oop=AA%2CKK%2C65s&ip=KQ%2CQJ&target=2"
    )
    browser.says("in 32 bits")
    browser.fill("name", "My turn")
    browser.run("document.querySelector('canvas.grid').focus()")
    browser.press("ArrowRight", "ArrowRight", " ")  # paints AKs, by keys
    browser.until("document.getElementById('oop').value.includes('AKs')")
    browser.says("in 32 bits")
    browser.click("Solve", "button.primary")
    browser.says("OOP to act")
    browser.click("check", "a.option")
    browser.says("IP to act")
    browser.click("check", "a.option")
    browser.click("see all of them")
    browser.says("Every river")
    browser.run("document.querySelector('.shaded-deck a.pick').focus()")
    browser.press("ArrowRight", "ArrowDown", "Enter")  # the king of spades, then of hearts
    browser.says("this line is played")
    browser.click("check", "a.option")
    browser.says("IP to act")
    browser.run("document.querySelector('canvas.grid').focus()")
    browser.press("ArrowDown")
    browser.until("location.search.includes('hand=')")
    address = browser.run("location.href")
    assert "line=c+c+%2F+Kh+c" in address
    browser.open(address)
    browser.says("IP to act")
    browser.says("EQR")
    browser.click("How equity and EV are spread")
    browser.until("document.querySelector('.explorer .curve canvas')")
    assert browser.run("document.querySelector('h1').innerText") == "My turn"
    strong = browser.run(SHADES)
    browser.fill("suits", "single")
    browser.until("location.search.includes('suits=single')")
    browser.until(f"{SHADES} !== {strong}")  # every hand is drawn for itself
    browser.run("document.getElementById('both').click()")
    browser.until("document.querySelectorAll('.explore-body.two canvas.grid').length === 2")
    browser.fill("bars", "absolute")
    browser.until("location.search.includes('bars=absolute')")
    size = browser.run(
        "fetch(document.querySelector('a[download]').href).then(r => r.blob()).then(b => b.size)"
    )
    assert size > 1000
    browser.resize(390, 800, phone=True)
    page.check()
    browser.resize(1280, 900)
    browser.click("Change the set-up")
    browser.until("document.getElementById('split')?.checked")
    wanted = {"board": "Qs Jh 2h 8d", "river_ib": "1x", "rake": "5", "s0": "200", "ip": "KQ,QJ"}
    given = "Object.fromEntries(new URLSearchParams(location.search))"
    assert wanted.items() <= browser.run(given).items()
    browser.open(address.partition("?")[0] + "?hand=AA")
    browser.click("Lock hands here")
    browser.fill("share-c", "30")
    browser.click("Add the lock")
    browser.says("must add up to 100%")
    browser.fill("share-r50", "70")
    browser.click("Add the lock")
    browser.until("document.getElementById('locks').value === 'start: AA = check 30%, bet 50 70%'")
    browser.fill("lock-seconds", "1")
    browser.click("Solve with these locks")
    browser.until("document.querySelector('#diff')")  # beside the solution without locks
    browser.says("My turn: locked")
    page.check()


@pytest.mark.slow
def test_a_report_over_flops_is_made_sorted_and_filtered(page: Page) -> None:
    browser = page.browser
    page.open(
        "/solve?pot=20&s0=10&s1=10&oop=AA%2CKQs&ip=QQ%2CJTs&cap=1&target=20&flop_b=a&turn_b=a"
    )
    browser.click("Many flops")
    browser.says("25 flops, each")
    browser.fill("flops-set", "list")
    browser.fill("flops", "Ah Kd 2x")
    browser.until(
        "document.getElementById('flops-error')?.innerText.includes('Line 1 of the list')"
    )
    browser.fill("flops", "Ah Kd 2c 4\n8h 8d 7h")
    browser.says("2 flops, each")
    browser.click("Solve the flops")
    browser.until("document.querySelectorAll('.flops tbody tr').length === 3")
    browser.until("document.querySelector('.badge.done')")
    first = "document.querySelector('.flops tbody tr:nth-child(2) td:nth-child(3)').innerText"
    assert browser.run(first) == "unpaired"  # aces hit that flop: by EV it is the first
    browser.click("OOP EV", ".flops button")
    browser.until(f"{first} === 'paired'")
    browser.click("paired", ".texture")
    browser.until("document.querySelectorAll('.flops tbody tr').length === 2")
    page.check()


def test_a_job_is_cancelled(page: Page) -> None:
    browser = page.browser
    page.open("/solve?board=Qs+Jh+2h+8d&target=0.001&seconds=600")
    browser.says("in 32 bits")
    browser.click("Solve", "button.primary")
    browser.click("Cancel")
    browser.until("document.querySelector('.badge.cancelled')")
    assert page.browser.errors == []


def test_a_hand_is_played_by_keys(page: Page) -> None:
    browser = page.browser
    page.open("/play?game=kuhn&opponent=call")
    browser.click("Sit down")
    browser.until("location.pathname.startsWith('/play/')")
    for _ in range(4):
        state = browser.until(
            "document.querySelector('.outcome') ? 'over' : document.querySelector('.actions') && 1"
        )
        if state == "over":
            break
        browser.run("document.activeElement.blur()")
        browser.press("2")
        browser.until("!document.querySelector('.actions button:disabled')")
    browser.says("What call had in mind")
    browser.says("in 1 hand")
    page.check()
    browser.open(browser.run("location.href"))
    browser.says("What call had in mind")


@pytest.mark.parametrize(
    "path",
    [
        "/solve",
        "/play",
        pytest.param("/reference", marks=pytest.mark.slow),
        pytest.param("/games", marks=pytest.mark.slow),
        pytest.param("/games/coin-toss", marks=pytest.mark.slow),
        pytest.param("/jobs", marks=pytest.mark.slow),
    ],
)
def test_pages_fit_a_phone(page: Page, path: str) -> None:
    page.browser.resize(390, 800, phone=True)
    page.open(path)
    page.browser.until("!document.querySelector('.wait') && document.querySelector('h1')")
    page.check()
    page.browser.resize(1280, 900)

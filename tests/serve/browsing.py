"""What the tests in a browser share: pages, what is wrong with them, keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chromium import DESKTOP, chromium, listen
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect
from serving import listening

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
FAULTS = """() => axe.run(document, {resultTypes: ['violations'],
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})
  .then(found => found.violations.map(v => v.id + ': ' +
    v.nodes.slice(0, 3).map(n => n.html.slice(0, 120) + n.failureSummary).join('; ')))"""


LOOKS = 20
"""How often a page with a fault is looked at."""


class Site(NamedTuple):
    """A browser, and the address of the server."""

    browser: Browser
    home: str

    @contextmanager
    def page(self, size: ViewportSize, *, phone: bool = False) -> Iterator[tuple[Page, list[str]]]:
        """A page in a window of a size, and what went wrong in it."""
        context = self.browser.new_context(
            base_url=self.home, viewport=size, is_mobile=phone, reduced_motion="reduce"
        )
        page = context.new_page()
        yield page, listen(page)
        context.close()


@contextmanager
def served(data: Path) -> Iterator[Site]:
    """A server with one worker, and a browser."""
    with listening(data, workers=1) as home, chromium() as browser:
        yield Site(browser, home)


@contextmanager
def without_errors(opened: tuple[Page, list[str]]) -> Iterator[Page]:
    """One page for all tests. No script may fail in it, and nothing may be refused."""
    page, errors = opened
    page.set_viewport_size(DESKTOP)
    yield page
    assert errors == []


def check(page: Page) -> None:
    """Nothing is wider than the window, and axe-core finds no fault (contrast is one).

    What is still being drawn is looked at again: only faults that stay count.
    """
    if not page.evaluate("!!window.axe"):
        page.evaluate(AXE)
    for _ in range(LOOKS):
        faults = page.evaluate(FAULTS)
        size = page.viewport_size  # the window of a phone would grow with the page
        if size and page.evaluate("document.documentElement.scrollWidth") > size["width"]:
            faults.append("something is wider than the window")
        if not faults:
            return
        page.wait_for_timeout(500)
    raise AssertionError("\n".join(faults))


def says(page: Page, text: str) -> None:
    """Wait until a text can be read."""
    expect(page.get_by_text(text).first).to_be_visible()


def tab(page: Page, to: Locator) -> None:
    """Press the tabulator until something has the focus."""
    to.wait_for()
    for _ in range(100):
        if to.evaluate("each => each === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{to} is not reached by the tabulator")


def address(page: Page, part: str) -> None:
    """Wait until the address has a part."""
    expect(page).to_have_url(re.compile(re.escape(part)))

"""Pictures of the pages for the documentation: ``python tools/page_pictures.py`` takes them.

It takes a minute. The hands at the table are dealt by chance, so that picture differs every time.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "serve"))

from chromium import chromium  # noqa: E402
from serving import listening  # noqa: E402

DOCS = ROOT / "docs"
SPOT = "board=Qs+Jh+2h+8d&turn_b=0.5x&turn_r=2.5r+a&river_b=0.5x+1x&river_r=a&cap=3&target=0.8"
HOLDEM = "/games/nlfh-small(ranks%3DTJQKA%2Csuits%3Dcd)?at=c+c+%2F+Ad+Kd+Qc"
WIDTH = 1280


def picture(page: Page, name: str, high: int) -> None:
    """Save what is seen in a window of a height."""
    page.set_viewport_size({"width": WIDTH, "height": high})
    page.wait_for_timeout(600)
    page.screenshot(path=DOCS / f"serve-{name}.png")


def games(page: Page) -> None:
    """A game of hold'em on ten cards, solved, after two checks and a flop."""
    page.goto(HOLDEM)
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_text("Look at the strategy").click()
    page.locator(".options").wait_for()
    page.keyboard.press("Home")
    picture(page, "games", 1180)


def solve(page: Page) -> None:
    """A turn spot, and every river after two checks."""
    page.goto(f"/solve?{SPOT}")
    page.get_by_text("in 32 bits").wait_for()
    page.get_by_role("button", name="Solve", exact=True).click()
    page.locator(".badge.done").wait_for()
    job = page.url.partition("?")[0]
    page.goto(f"{job}?hand=AKs")
    page.locator(".here-facts", has_text="EQR").wait_for()
    picture(page, "solve", 800)
    page.goto(f"{job}?line=c+c&report=ev_oop")
    page.get_by_text("Every river").wait_for()
    picture(page, "cards", 880)


def play(page: Page) -> None:
    """A hand of hunl that was called down to the river."""
    page.goto("/play?game=hunl&opponent=blueprint")
    page.get_by_role("button", name="Sit down").click()
    over = page.locator(".outcome")
    calls = page.locator(".actions button:enabled", has_text=re.compile("check|call"))
    hand = 1
    while True:
        over.or_(calls.first).first.wait_for()
        if not over.is_visible():
            calls.first.click()
        elif page.locator(".middle .card.empty").count():  # folded before the river
            hand += 1
            page.get_by_role("button", name="Next hand").click()
            page.locator(".facts", has_text=re.compile(rf"hand {hand}\b")).wait_for()
        else:
            break
    page.get_by_role("region", name="Grades of this hand").wait_for()
    picture(page, "play", 1760)


def main() -> None:
    """Take all of them but the report's, whose flops take half an hour."""
    with (
        tempfile.TemporaryDirectory() as data,
        listening(Path(data), workers=1) as home,
        chromium() as browser,
    ):
        page = browser.new_page(base_url=home, viewport={"width": WIDTH, "height": 900})
        page.set_default_timeout(120_000)
        page.goto("/games?step=reach-maxmargin")
        page.locator(".meter-row.here").wait_for()
        picture(page, "coin-toss", 700)
        games(page)
        solve(page)
        play(page)


if __name__ == "__main__":
    main()

"""The system's Chromium, headless, driven by Playwright. Nothing is downloaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

FOUND = os.environ.get("SUBGAME_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = (
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing from elsewhere
)
WAIT = 240_000
"""Milliseconds that a page has for what is waited for."""
DESKTOP: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 800}


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT)
    with sync_playwright() as made:
        browser = made.chromium.launch(executable_path=FOUND, args=OPTIONS)
        yield browser
        browser.close()


def listen(page: Page) -> list[str]:
    """The list to which failed scripts and refused resources of a page are added."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(error.message))
    page.on(
        "console",
        lambda said: (
            errors.append(said.text)
            if said.type == "error" and "/api/" not in said.location["url"]
            else None
        ),
    )
    page.set_default_timeout(WAIT)
    return errors

"""Headless Chromium, driven by its DevTools protocol: addresses, keys, clicks and pictures."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect

FOUND = os.environ.get("SUBGAME_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing from elsewhere
)
TRYING = (
    "(() => { try { const v = %s; return v instanceof Node || v; } catch { return false; } })()"
)
WAIT = 60.0
"""Seconds that a page has for what a test waits for."""
KEYS = {
    "Tab": 9,
    "Enter": 13,
    " ": 32,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


class Browser:
    """One page. `errors` are uncaught errors and refused resources; a test wants none."""

    def __init__(self, wide: int = 1280, high: int = 900) -> None:
        assert FOUND is not None
        self.folder = tempfile.mkdtemp(prefix="subgame-chromium-")
        self.process = subprocess.Popen(
            [FOUND, *OPTIONS, f"--user-data-dir={self.folder}", "about:blank"],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if at := re.search(r"ws://127\.0\.0\.1:(\d+)/\S+", line):
                break
        else:
            raise RuntimeError("Chromium did not start.")
        self.errors: list[str] = []
        self._count, self._session = 0, ""
        self.socket: ClientConnection = connect(at[0], max_size=2**26).__enter__()
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(wide, high)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol."""
        self._count += 1
        said: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            said["sessionId"] = self._session
        self.socket.send(json.dumps(said))
        while True:
            heard = json.loads(self.socket.recv(timeout=30))
            if heard.get("id") == self._count:
                assert "error" not in heard, heard
                return heard["result"]
            if heard.get("method") == "Runtime.exceptionThrown":
                detail = heard["params"]["exceptionDetails"]
                self.errors.append(detail.get("exception", {}).get("description", detail["text"]))
            if heard.get("method") == "Log.entryAdded":
                entry = heard["params"]["entry"]
                if entry["level"] == "error" and "/api/" not in entry.get("url", ""):
                    self.errors.append(entry["text"])

    def run(self, script: str) -> Any:
        """The value of an expression, or of the promise that it is."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, address: str) -> None:
        """Go to an address."""
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && !!document.querySelector('main')")

    def until(self, condition: str, most: float = WAIT) -> Any:
        """Wait until an expression is true."""
        end = time.monotonic() + most
        while time.monotonic() < end:
            if found := self.run(TRYING % condition):
                return found
            time.sleep(0.03)
        raise AssertionError(f"never {condition}: {self.text()[:300]}")

    def text(self, of: str = "main") -> str:
        """What can be read."""
        return str(self.run(f"document.querySelector({of!r})?.innerText"))

    def says(self, text: str, most: float = WAIT) -> None:
        """Wait until a text can be read."""
        self.until(f"document.body.innerText.includes({json.dumps(text)})", most)

    def click(self, text: str, kind: str = "button, a, summary, label") -> None:
        """Click what has this text."""
        begins = f"e.innerText.trim().startsWith({json.dumps(text)})"
        find = f"[...document.querySelectorAll({kind!r})].find(e => {begins} && !e.disabled)"
        self.until(f"(() => {{ const found = {find}; found?.click(); return !!found; }})()")

    def fill(self, id: str, text: str) -> None:
        """Write into a field."""
        self.run(
            f"(() => {{ const e = document.getElementById({id!r}); e.value = {json.dumps(text)}; "
            "e.dispatchEvent(new Event('input', {bubbles: true})); "
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def press(self, *keys: str) -> None:
        """Press keys."""
        for key in keys:
            code = {"key": key, "code": "Space" if key == " " else key}
            number = KEYS.get(key, ord(key[0].upper()))
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            more = {"text": text} if text else {}
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown",
                windowsVirtualKeyCode=number,
                **code,
                **more,
            )
            self.call("Input.dispatchKeyEvent", type="keyUp", windowsVirtualKeyCode=number, **code)

    def resize(self, wide: int, high: int, *, phone: bool = False, scale: float = 1) -> None:
        """Change the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=wide,
            height=high,
            deviceScaleFactor=scale,
            mobile=phone,
        )

    def theme(self, name: str) -> None:
        """Light or dark."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen; `whole` is the page below the window, too."""
        made = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(made["data"]))

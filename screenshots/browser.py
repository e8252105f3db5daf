"""Chromium without a screen and without a network, over its debugging pipe: what a page holds, asks for, and
looks like."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
INSTALL = "apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
DEADLINE_SEC = 60.0
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # which root cannot have
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """There is no browser, or it does not do what it is asked."""


def find_browser() -> str:
    """Its path. BrowserError with the line that installs one."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    raise BrowserError(f"there is no Chromium: {INSTALL}")


class Page:
    """The one tab. requests: every URL that was asked for; complaints: what the console holds of errors and
    warnings."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self._loaded = False
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._send(f"{domain}.enable")

    def open(
        self, path: Path, width: int = 1280, height: int = 900, scheme: str = "light", media: str = ""
    ) -> None:
        """Show a file in a window of this size, as for an operating system of this colour scheme. media:
        ``print`` is as on paper."""
        self.requests.clear()
        self.complaints.clear()
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("Emulation.setEmulatedMedia", media=media, features=features)
        self._loaded = False
        self._send("Page.navigate", url=path.resolve().as_uri())
        ends = time.monotonic() + DEADLINE_SEC
        while not self._loaded:
            self._next(ends)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self._send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise BrowserError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def picture(self, *, whole: bool = False) -> bytes:
        """A PNG of the window, or of the whole page."""
        asked: dict[str, Any] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self._send("Page.getLayoutMetrics")["cssContentSize"]
            asked["clip"] = {**size, "scale": 1}
        return b64decode(self._send("Page.captureScreenshot", **asked)["data"])

    def _send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._to, json.dumps(asked).encode() + b"\0")
        ends = time.monotonic() + DEADLINE_SEC
        while True:
            told = self._next(ends)
            if told.get("id") == self._number:
                if "error" in told:
                    raise BrowserError(f"{method}: {told['error']}")
                result: dict[str, Any] = told["result"]
                return result

    def _next(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._from], [], [], max(0.0, ends - time.monotonic()))[0]:
                raise BrowserError(f"the browser said nothing for {DEADLINE_SEC:g} s")
            read = os.read(self._from, 1 << 20)
            if not read:
                raise BrowserError("the browser has ended")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        self._note(told.get("method"), told.get("params", {}))
        return told

    def _note(self, method: str | None, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])


@contextmanager
def browser() -> Iterator[Page]:
    """A browser of its own, which is gone at the end. BrowserError where there is none."""
    program = find_browser()
    in_reader, in_writer = os.pipe()
    out_reader, out_writer = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The pipe is at 3 and 4 in the browser, whatever these are here.
        shell = f'exec "$0" "$@" 3<&{in_reader} 4>&{out_writer}'
        process = subprocess.Popen(
            ["/bin/bash", "-c", shell, program, *_OPTIONS, f"--user-data-dir={profile}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(in_reader, out_writer),
            start_new_session=True,
        )
        os.close(in_reader)
        os.close(out_writer)
        try:
            yield Page(in_writer, out_reader)
        finally:
            os.close(in_writer)  # it ends when its pipe does
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait(10)
            os.close(out_reader)

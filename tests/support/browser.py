"""A headless Chromium that is worked as a reader works it: real keys, real pointer, pictures of what is seen.

It speaks the DevTools protocol over two pipes, so that no port is opened and nothing is installed for it.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe",
    "--disable-dev-shm-usage",
)  # fmt: skip
_ANSWER_S = 60.0
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35}


class Browser:
    """One tab. ``console`` and ``requests`` tell what the page wrote and what it asked for besides itself."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._unread = b""
        self._count = 0
        self._session: str | None = None
        self.console: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Do what the protocol calls so, and wait for the answer."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._read_until(lambda answer: answer.get("id") == number, method)

    def _read_until(self, wanted: Any, what: str) -> dict[str, Any]:
        end = time.monotonic() + _ANSWER_S
        while time.monotonic() < end:
            while b"\0" in self._unread:
                raw, _, self._unread = self._unread.partition(b"\0")
                answer = json.loads(raw)
                self._note(answer)
                if wanted(answer):
                    assert "error" not in answer, (what, answer["error"])
                    return dict(answer.get("result", answer.get("params", {})))
            self._unread += os.read(self._from, 1 << 20)
        raise TimeoutError(what)

    def _note(self, event: dict[str, Any]) -> None:
        method, told = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", a.get("description"))) for a in told["args"]))
        elif method == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.console.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.console.append(told["entry"]["text"])
        elif method == "Network.requestWillBeSent" and told.get("type") != "Document":
            url = told["request"]["url"]
            if not url.startswith(("blob:", "data:")):
                self.requests.append(url)

    def window(self, width: int, height: int) -> None:
        """Its size in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def media(self, *, kind: str = "screen", dark: bool = False, still: bool = False) -> None:
        """What the reader's system prefers."""
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", media=kind, features=features)

    def open(self, page: Path, *, scripts: bool = True) -> None:
        """Show a file from disk."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=page.as_uri())
        self._read_until(lambda event: event.get("method") == "Page.loadEventFired", "load")

    def run(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str, *, at_most_s: float = 30.0) -> None:
        """Wait for the page to make the expression true."""
        end = time.monotonic() + at_most_s
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.05)

    def press(self, key: str, *, shift: bool = False) -> None:
        """A key, down and up."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = _KEYS.get(key, ord(key[0].upper()))
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                modifiers=8 if shift else 0, **({"text": text} if text and kind == "keyDown" else {}),
            )  # fmt: skip

    def point(self, x: float, y: float, kind: str = "mouseMoved", *, clicks: int = 0) -> None:
        """The pointer at a place of the window."""
        button = "left" if kind != "mouseMoved" or clicks else "none"
        self.call(
            "Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=int(button == "left"),
            clickCount=clicks,
        )  # fmt: skip

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at one place, let go at another."""
        self.point(*start)
        self.point(*start, "mousePressed", clicks=1)
        self.point((start[0] + end[0]) / 2, end[1], clicks=1)
        self.point(*end, clicks=1)
        self.point(*end, "mouseReleased", clicks=1)

    def picture(self, path: Path, *, whole: bool = False) -> Path:
        """A PNG of the window, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path

    def printed(self, path: Path) -> Path:
        """The page as PDF, as a reader would print it."""
        self.call("Emulation.setEmulatedMedia", media="")
        answer = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        path.write_bytes(base64.b64decode(answer["data"]))
        return path


@contextmanager
def browser(width: int = 1400, height: int = 1000) -> Iterator[Browser]:
    """A browser with one empty tab and a profile of its own."""
    page_reads, we_write = os.pipe()
    we_read, page_writes = os.pipe()
    with tempfile.TemporaryDirectory(prefix="openpts-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{page_reads} 4>&{page_writes}', "-", str(CHROMIUM), *_FLAGS,
             f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(page_reads, page_writes), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(page_reads)
        os.close(page_writes)
        try:
            tab = Browser(we_write, we_read)
            tab.window(width, height)
            yield tab
        finally:
            process.terminate()
            process.wait(20)
            os.close(we_write)
            os.close(we_read)

"""`openpts publish` as it is typed, and a browser that opens what it wrote."""

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import TimeoutError as NeverThere

from openpts.errors import OpenptsError
from openpts_web.cli.publish import publish

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip


def called(*words: object) -> tuple[int, str]:
    """The exit code, and all that is said."""
    result = CliRunner().invoke(publish, list(map(str, words)), standalone_mode=False)
    if isinstance(result.exception, OpenptsError):
        return result.exception.exit_code, str(result.exception)
    assert result.exception is None, result.exception
    return result.return_value or 0, result.output


def published(*words: object) -> str:
    code, said = called(*words)
    assert code == 0, said
    return said


class Tab:
    """A page with all that it asked for and complained of."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))

    def show(self, hash_: str = "#/", until: str = "#words") -> Page:
        self.page.goto(self.address + hash_)
        try:
            self.page.wait_for_selector(until, timeout=60_000)
        except NeverThere as error:
            raise AssertionError(f"{self.page.inner_text('main')[:2000]} {self.complaints}") from error
        return self.page

    def query(self, sql: str) -> tuple[list[str], list[list[Any]]]:
        answer = self.page.evaluate("(sql) => database.query(sql)", sql)
        return answer["columns"], answer["rows"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser for all tests of a module: Playwright has one event loop in a thread."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def tab(browser: Browser, folder: Path, *, as_file: bool = False, **settings: Any) -> Iterator[Tab]:
    """A page with nothing kept from others; ``as_file``: opened from the disk, without a server."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://127.0.0.1:{server.server_port}/index.html"
        with browser.new_context(**settings) as context:
            yield Tab(context.new_page(), (folder / "index.html").as_uri() if as_file else host)
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class's name
        pass

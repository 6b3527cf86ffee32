from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, Browser, browser
from tests.support.report_page import written
from tests.support.sample_figures import gallery


@pytest.fixture(scope="session")
def shared_tab() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with browser() as tab:
        yield tab


@pytest.fixture
def tab(shared_tab: Browser) -> Iterator[Browser]:
    """The browser as a new reader has it; whatever a page did in it, it made no request and said nothing."""
    shared_tab.window(1400, 1000)
    shared_tab.media()
    shared_tab.console.clear()
    shared_tab.requests.clear()
    yield shared_tab
    assert shared_tab.console == []
    assert shared_tab.requests == []
    shared_tab.run("localStorage.clear()")


@pytest.fixture(scope="session")
def gallery_page(tmp_path_factory) -> Path:
    return written(gallery(), tmp_path_factory.mktemp("gallery"))

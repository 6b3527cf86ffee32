"""The manual as a site: links and anchors lead somewhere, and it is read and searched without a network."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from docs.command_line import HEAD
from docs.conformance_page import write_pages
from docs.reference import page as reference
from docs.simulated_curves import CURVES
from tests import ROOT
from tests.support.browser import CHROMIUM
from tests.support.manual import PAGES

_FROM_ELSEWHERE: Final = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//[^>]*")
_LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
_OUTSIDE: Final = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("packages/*/README.md"), *ROOT.glob("examples/*/README.md")]
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Built as `make docs` does, with empty pictures in place of those that take long."""
    folder = tmp_path_factory.mktemp("manual")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("curves", "__pycache__"))
    for pages in ROOT.glob("packages/*/docs"):
        shutil.copytree(pages, folder / pages.relative_to(ROOT))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (folder / "docs" / "command-line.md").write_text(HEAD, encoding="utf-8")
    (folder / "docs" / "reference.md").write_text(reference(), encoding="utf-8")
    write_pages(folder / "docs")
    (folder / "docs" / "curves").mkdir()
    for name in CURVES:
        (folder / "docs" / "curves" / f"{name}.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder / "build" / "docs"


def _linked(page: Path) -> set[str]:
    return set(_LINK.findall(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", _OUTSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_read_in_the_repository_alone_links_to_what_is_there(page: Path) -> None:
    assert [link for link in sorted(_linked(page)) if not (page.parent / link).exists()] == []
    if page.parent.parent.name == "packages":
        own = {f"docs/{one.name}" for one in page.parent.glob("docs/*.md")}
        assert {link for link in _linked(page) if link.startswith("docs/")} == own


def test_no_page_loads_anything_from_elsewhere(site) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    assert {page.name for page in PAGES} - {"README.md"} <= {
        f"{page.stem}.md" for page in site.glob("*.html")
    }
    assert [page.name for page in pages if _FROM_ELSEWHERE.search(page.read_text(encoding="utf-8"))] == []


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_search_on_a_disk_finds_the_page(site) -> None:
    flags = ("--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom")
    page = f"{(site / 'search.html').as_uri()}?q=SLC+cache"
    shown = subprocess.run(
        [CHROMIUM or "", *flags, page], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    found = re.findall(r'<article><h3><a href="([^"#]*)', shown)
    assert "./how-to.html" in found
    assert "./many-drives.html" not in found

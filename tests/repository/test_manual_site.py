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
from docs.manual_site import assemble
from docs.reference import page as reference
from docs.simulated_curves import CURVES
from tests import ROOT
from tests.support.browser import CHROMIUM, browser
from tests.support.manual import PAGES

_FROM_ELSEWHERE: Final = re.compile(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?:https?:)?//[^>]*")
_CUT: Final = """(() => {
  const edge = document.querySelector("article").getBoundingClientRect().right;
  const links = [...document.querySelectorAll("article a")];
  return links.filter((link) => link.getBoundingClientRect().right > edge).map((link) => link.textContent);
})()"""
_RESULTS: Final = """[...document.querySelectorAll("*")].filter((one) => one.shadowRoot)
  .flatMap((one) => [...one.shadowRoot.querySelectorAll("a")].map((link) => link.href))"""
_FIELD: Final = (
    """[...document.querySelectorAll("*")].some((one) => one.shadowRoot?.querySelector("input"))"""
)
_LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
_ANCHOR: Final = re.compile(r"\]\((?!https?:)([^)#\s]+\.md)#([^)\s]+)\)")
_OUTSIDE: Final = sorted(
    [
        ROOT / "tests/README.md",
        *ROOT.glob("*.md"),
        *ROOT.glob("packages/*/README.md"),
        *ROOT.glob("examples/*/README.md"),
    ]
)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Built as `make docs` does, with empty pictures in place of those that take long."""
    folder = tmp_path_factory.mktemp("manual")
    manual = folder / "build" / "manual"
    assemble(manual)
    (manual / "command-line.md").write_text(HEAD, encoding="utf-8")
    (manual / "reference.md").write_text(reference(), encoding="utf-8")
    write_pages(manual)
    (manual / "curves").mkdir(exist_ok=True)
    for name in CURVES:
        (manual / "curves" / f"{name}.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout
    return folder / "build" / "docs"


def _headings(page: Path) -> set[str]:
    """The anchors of a page: its headings in small letters, with hyphens."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w-]", "", head.lower().replace(" ", "-")) for head in heads}


def _linked(page: Path) -> set[str]:
    return set(_LINK.findall(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", _OUTSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_read_in_the_repository_alone_links_to_what_is_there(page: Path) -> None:
    assert [link for link in sorted(_linked(page)) if not (page.parent / link).exists()] == []
    anchors = _ANCHOR.findall(page.read_text(encoding="utf-8"))
    assert [one for one in anchors if one[1] not in _headings(page.parent / one[0])] == []
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
@pytest.mark.full_matrix(most=1)
@pytest.mark.parametrize("width", [1280, 390])
def test_the_front_page_fits_and_its_search_on_a_disk_finds_the_page(site, width) -> None:
    with browser(width, 1000) as shown:
        shown.window(width, 1000)
        shown.open(site / "index.html")
        shown.until("document.querySelector('.md-search__button')")
        assert shown.run(_CUT) == []
        shown.run("document.querySelector('.md-search__button').click()")
        shown.until(_FIELD)
        for key, typed in zip("slc", ("s", "sl", "slc"), strict=True):  # each answered before the next
            shown.press(key)
            shown.until(f"{_RESULTS}.some((link) => link.includes('?h={typed}'))")
        assert any("/fill.html?h=slc" in link for link in shown.run(_RESULTS))
        assert [one for one in shown.requests if not one.startswith("file:")] == []

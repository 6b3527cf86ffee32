"""Working the HTML of a report in a browser: what a reader does, and what is then to be seen."""

import json
from pathlib import Path
from typing import Any

import msgspec

from openpts_pages.html import render_html
from openpts_pages.model import Figure, Report, Table
from openpts_pages.plots.svg import draw_figures
from tests.support.browser import Browser

# What the page would save, instead of a dialog: name and content of each file.
CATCH_FILES = """
  window.files = [];
  window.urlOf ??= URL.createObjectURL.bind(URL);
  URL.createObjectURL = (blob) => { window.files.push(blob); return window.urlOf(blob); };
  HTMLAnchorElement.prototype.click = function () { window.files.at(-1).saved = this.download; };
"""

TICKS = """[...document.querySelectorAll('#%s .live .role-axis')].flatMap((axis) => {
  const texts = [...axis.querySelectorAll('.role-axis-label text')];
  const bottoms = texts.map((text) => Math.round(text.getBoundingClientRect().bottom));
  const isAcross = new Set(bottoms).size === 1;
  const seen = texts.filter((text) => getComputedStyle(text).opacity > 0).map((text) => text.textContent);
  return seen.length > 1 && isAcross === ('%s' === 'x') ? seen : [];
})"""


def written(report: Report, folder: Path, *, embed_full: bool = False) -> Path:
    path = folder / "report.html"
    path.write_text(render_html(report, draw_figures(report), embed_full=embed_full), encoding="utf-8")
    return path


def changed(report: Report, **changes: dict[str, Any]) -> Report:
    """The report with fields of the figures or tables of these ids replaced."""
    pages = tuple(
        msgspec.structs.replace(
            page,
            blocks=tuple(
                msgspec.structs.replace(block, **changes[block.id])
                if isinstance(block, Figure | Table) and block.id in changes
                else block
                for block in page.blocks
            ),
        )
        for page in report.sections[0].pages
    )
    return msgspec.structs.replace(
        report, sections=(msgspec.structs.replace(report.sections[0], pages=pages), *report.sections[1:])
    )


def show(tab: Browser, page: Path) -> None:
    tab.open(page)
    tab.until("document.documentElement.dataset.ready === 'yes'")


def alive(tab: Browser, figure: str) -> None:
    """Bring a plot into sight and wait until it is drawn."""
    tab.run(f"document.getElementById('{figure}').scrollIntoView({{ block: 'center' }})")
    tab.until(f"document.getElementById('{figure}').dataset.live")


def press(tab: Browser, selector: str) -> None:
    """A click, as by a reader; what it starts may take a moment."""
    tab.run(f"document.querySelector({json.dumps(selector)}).click()")


def box(tab: Browser, figure: str) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the plot's own area."""
    area = f"document.querySelector('#{figure} .live .mark-group.role-frame.root .background')"
    left, top, right, bottom = tab.run(
        f"(r => [r.left, r.top, r.right, r.bottom])({area}.getBoundingClientRect())"
    )
    return left, top, right, bottom


def hover(tab: Browser, figure: str, across: float, down: float = 0.5) -> list[str]:
    """The lines of the tooltip at a place of the plot, given as shares of its area."""
    left, top, right, bottom = box(tab, figure)
    tab.point(left + (right - left) * across, top + (bottom - top) * down)
    text = tab.run(f"document.querySelector('#{figure} .tip')?.innerText ?? ''")
    return [line for line in text.split("\n") if line]


def zoom(tab: Browser, figure: str, start: float, end: float) -> None:
    """Drag over a share of the plot."""
    left, top, right, bottom = box(tab, figure)
    before = ticks(tab, figure, "x")
    middle = (top + bottom) / 2
    tab.drag((left + (right - left) * start, middle), (left + (right - left) * end, middle))
    tab.until(f"{json.dumps(before)} !== {TICKS % (figure, 'x')}.join('|')")


def ticks(tab: Browser, figure: str, axis: str) -> str:
    """The numbers along an axis, the upright line ones for y."""
    return str(tab.run(f"{TICKS % (figure, axis)}.join('|')"))


def readout(tab: Browser, figure: str) -> str:
    return str(tab.run(f"document.querySelector('#{figure} .readout').textContent"))


def lines(tab: Browser, figure: str) -> int:
    return int(tab.run(f"document.querySelectorAll('#{figure} .live .mark-line path').length"))


def saved(tab: Browser, selector: str) -> tuple[str, str]:
    """Name and text of the file that a button saves; of a PNG the text is its bytes as Latin-1."""
    tab.run(CATCH_FILES)
    press(tab, selector)
    tab.until("window.files.some(file => file.saved)")
    script = (
        "(async f => [f.saved, [...new Uint8Array(await f.arrayBuffer())]])(window.files.find(f => f.saved))"
    )
    name, content = tab.run(script)
    return name, bytes(content).decode("latin-1" if name.endswith("png") else "utf-8")

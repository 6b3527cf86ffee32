"""A small report with one figure and one table of each kind, and its looks when it was last looked at.

``python -m tests.support.golden_report`` writes hashes and pictures anew: look at the pictures before they
are committed. Bytes are those of one version of the renderers; under another only pictures are compared.
"""

import gzip
import hashlib
import json
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final
from unittest import mock

import numpy as np

from openpts_pages import html
from openpts_pages.model import (
    SCHEMA_VERSION,
    Cell,
    Column,
    Figure,
    Header,
    HeaderGroup,
    HeaderRow,
    Page,
    Repeat,
    Report,
    Row,
    Section,
    Series,
    Table,
    Verdict,
)
from openpts_pages.pdf import render_pdf
from openpts_pages.plots.svg import draw_figures
from openpts_pages.ticks import linear_axis
from tests import DATA
from tests.support.sample_figures import (
    category_axis,
    confidence,
    demand_bars,
    demand_intensity,
    processor_use,
    write_saturation,
)

FOLDER: Final = DATA / "golden"
HASHES: Final = FOLDER / "hashes.json"
DPI: Final = 40
_MIXES: Final = ("0/100", "65/35", "100/0")
_SIZES: Final = (4, 64, 1024)


def golden_report() -> Report:
    """Front, a test of the specification, one beyond it, and what stands behind them."""
    kinds = [
        write_saturation(),
        demand_intensity(),
        confidence(),
        demand_bars(whiskers=True),
        processor_use(),
    ]
    pages = [Page(f"page-{figure.id}", figure.title, (figure, table), True) for figure, table in kinds]
    pages.append(Page("page-cells", "Cells in two more ways", (*_heat(), *_strip())))
    return Report(
        schema_version=SCHEMA_VERSION,
        title="SIMULATED SSD Performance Test Report: golden",
        subtitle="A drive that there is not - PTS-E 2.0.1",
        run_name="golden - 0001",
        report_date="2025-01-14T15:02:00Z",
        red_line="SIMULATED - not a measurement of a drive",
        footer="Golden report  |  0001",
        front=(Page("summary", "Executive summary", (_words(), *_small_figures())),),
        sections=(
            Section("golden", "Golden Test", _header("Golden", True), ("NOT STEADY",), tuple(pages)),
            Section("beyond", "Methodology", _header("Methodology", False), (), (_matrix_page(),)),
        ),
        back=(Page("glossary", "Glossary", (Verdict("n 9s: so many nines."), Repeat("matrix"))),),
        deviation_count=2,
    )


def _header(title: str, of_specification: bool) -> Header:
    rows = (HeaderRow("Ref Test Platform", "not SNIA RTP"), HeaderRow("S/N", "A-LONG-SERIAL-NUMBER-0001"))
    groups = tuple(HeaderGroup(tint, tint, rows) for tint in ("platform", "dut", "setup", "test"))
    return Header(
        "2025-01-14 12:00 UTC", "2025-01-14 15:02 UTC", f"{title} Test - Report Page", title, "PTS-E 2.0.1",
        "Vendor", "A drive that there is not", "not stated", groups, of_specification,
    )  # fmt: skip


def _words() -> Table:
    """Left-aligned words of all tones, a claim that was not kept, and links."""
    rows = (
        Row(Cell("Steady"), (Cell("reached", tone="pass"), Cell("5.0 %", 5.0, note="limit 20 %"))),
        Row(Cell("Window"), (Cell("not reached", tone="fail"), Cell("n/a (2 Rounds)", tone="missing"))),
        Row(Cell("Claim"), (Cell("1,000,000 IOPS", 1e6, struck=True), Cell("", link="page-wsat"))),
        Row(Cell("Where"), (Cell("the matrix", link="page-matrix"), Cell("", link="glossary"))),
    )
    columns = (Column("What", align="left", width=2), Column("How much", align="center", width=0))
    return Table("words", "Words", Column("Item", align="left"), columns, rows, note="Words of all tones.")


def _matrix_page() -> Page:
    rounds = tuple(Column(f"R{n}", n) for n in range(1, 26))
    values = [(size, [1e5 / size + n for n in range(25)]) for size in _SIZES]
    rows = tuple(Row(Cell(str(size), size), tuple(Cell(f"{v:,.1f}", v) for v in row)) for size, row in values)
    many = Table("matrix", "A wide matrix", Column("Block size (KiB)"), rounds, rows, group="Rounds")
    unprinted = Table("long", "Too long for paper", Column("x"), (Column("y"),), (), printed=False)
    return Page("page-matrix", "Tables", (Verdict("Met: 5.0 % (limit 20 %).", "pass"), many, unprinted))


def _small_figures() -> tuple[Figure | Table, ...]:
    """Three that stand side by side, with their tables behind them."""
    figures = [
        Figure(
            f"small-{n}", "X-1", f"Small {n}", "lines", f"small-{n}-values", linear_axis("x", 0, 3),
            linear_axis("y", 0, 9), "rises", series=(Series("", "column", (0,), n, style="line"),),
            width_px=240, height_px=200,
        )
        for n in range(3)
    ]  # fmt: skip
    rows = tuple(Row(Cell(str(x), x), (Cell(str(x * x), x * x),)) for x in range(4))
    tables = [Table(figure.table_id, figure.title, Column("x"), (Column("y"),), rows) for figure in figures]
    return (*figures, *tables)


def _cells(table_id: str) -> Table:
    mixes = tuple(Column(mix) for mix in _MIXES)
    values = [(size, [4e5 / size, 5e5 / size, 7e5 / size]) for size in _SIZES]
    rows = tuple(Row(Cell(str(size), size), tuple(Cell(f"{v:,.0f}", v) for v in row)) for size, row in values)
    return Table(table_id, table_id, Column("Block size (KiB)"), mixes, rows, group="R/W mix %")


def _heat() -> tuple[Figure | Table, ...]:
    sizes = tuple(str(size) for size in _SIZES)
    figure = Figure(
        "heat", "X-2", "Heat", "heat", "heat-values", category_axis("R/W mix %", _MIXES),
        category_axis("Block size (KiB)", sizes), "small blocks are many", detail_table_id="heat-details",
        height_px=200,
    )  # fmt: skip
    return figure, _cells("heat-values"), _cells("heat-details")


def _strip() -> tuple[Figure | Table, ...]:
    figure = Figure(
        "strip", "X-3", "Strip", "strip", "strip-values",
        category_axis("Block size (KiB)", tuple(str(size) for size in _SIZES)),
        linear_axis("IOPS", 0, 180_000), "points of each size",
        series=(Series("0/100", "row", (0, 1, 2), 0, style="points"),), height_px=240,
    )  # fmt: skip
    return figure, _cells("strip-values")


def versions() -> str:
    """What the bytes depend on besides ourselves."""
    return f"vl-convert {version('vl-convert-python')}, typst {version('typst')}"


def rendered() -> tuple[dict[str, str], bytes]:
    """SHA-256 of each drawing, of the HTML and of the PDF; and the PDF."""
    report = golden_report()
    drawings = draw_figures(report)
    with mock.patch.object(html, "packed", _digest):  # whose bytes would depend on the machine's zlib
        page = html.render_html(report, drawings)
    pdf = render_pdf(report, drawings)
    found = {f"{name}.svg": _digest(svg) for name, svg in drawings.items()}
    return {**found, "report.html": _digest(page), "report.pdf": _digest(pdf)}, pdf


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def pictures(pdf: bytes) -> list[np.ndarray]:
    """The pages in grey, as poppler sees them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "golden.pdf"
        path.write_bytes(pdf)
        subprocess.run(
            ["pdftoppm", "-gray", "-r", str(DPI), path, Path(folder) / "page"],
            check=True,
            stderr=subprocess.PIPE,
        )
        return [_grey(page.read_bytes()) for page in sorted(Path(folder).glob("page-*.pgm"))]


def stored_pictures() -> list[np.ndarray]:
    """The pages as they were when they were last looked at."""
    return [_grey(gzip.decompress(path.read_bytes())) for path in sorted(FOLDER.glob("page-*.pgm.gz"))]


def _grey(pgm: bytes) -> np.ndarray:
    _, size, _, pixels = pgm.split(b"\n", 3)
    width, height = map(int, size.split())
    return np.frombuffer(pixels, np.uint8).reshape(height, width)


def _pgm(picture: np.ndarray) -> bytes:
    height, width = picture.shape
    return b"P5\n%d %d\n255\n" % (width, height) + picture.tobytes()


def renew() -> None:
    """Store what is rendered now."""
    hashes, pdf = rendered()
    HASHES.write_text(json.dumps({"versions": versions(), "sha256": hashes}, indent=1) + "\n")
    for path in FOLDER.glob("page-*.pgm.gz"):
        path.unlink()
    for number, picture in enumerate(pictures(pdf), start=1):
        (FOLDER / f"page-{number:02}.pgm.gz").write_bytes(gzip.compress(_pgm(picture), mtime=0))


if __name__ == "__main__":
    renew()

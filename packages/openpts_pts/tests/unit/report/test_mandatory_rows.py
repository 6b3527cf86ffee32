"""Every page that the design of reports makes mandatory is there, for each test and both classes.

The rows were written from the design, not from the code: title, axes, and of CBW and DIRTH the text above.
"""

from functools import cache

import msgspec
import pytest
from msgspec.structs import replace

from openpts.errors import RecordError
from openpts.fields.conditions import Conditions
from openpts.procedures.kit.standing import Standing
from openpts.procedures.registry import PROCEDURES, procedure_of
from openpts.report.build import build_report
from openpts.report.run_part import missing_plots
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.verdict import Deviation
from openpts_pages.model import Figure, Page, Report, Section, Table
from tests.support.made_up_run import made_up_run

CLASSES = (DriveClass.ENTERPRISE, DriveClass.CLIENT)
IOPS_WINDOW = "IOPS Steady State Measurement Window"
IOPS_CONVERGENCE = "IOPS Steady State Convergence Plot - All Block Sizes"
TABULAR = "ALL RW Mix & BS - Tabular Data"

# (number, title of the page, x, y): y empty for tables, both empty for columns in 3D.
IOPS = [
    ("Plot A.1", IOPS_CONVERGENCE, "Round", "IOPS"),
    ("Plot A.1b", f"{IOPS_CONVERGENCE} - RW 65/35", "Round", "IOPS"),
    ("Plot A.1c", f"{IOPS_CONVERGENCE} - RW 100/0", "Round", "IOPS"),
    ("Plot A.2", IOPS_WINDOW, "Round", "% of window average"),
    ("Plot A.3", f"{IOPS_WINDOW} - RND/4KiB RW0", "Round", "IOPS"),
    ("Plot A.4", f"{IOPS_WINDOW} - RND/64KiB RW65", "Round", "IOPS"),
    ("Plot A.5", f"{IOPS_WINDOW} - RND/1024KiB RW100", "Round", "IOPS"),
    ("Plot A.6", f"IOPS - {TABULAR}", "", ""),
    ("Plot A.7", "IOPS - All RW Mix & BS - 2D Plot", "Block size (KiB)", "IOPS"),
    ("Plot A.8", "IOPS - All RW Mix & BS - 3D Columns", "Block size (KiB)", "IOPS"),
]
MB = "Throughput (MB/s)"


def throughput(size: str, tabular: str, bars: str, of_class: str) -> list[tuple[str, str, str, str]]:
    return [
        ("Plot 8-1", f"Throughput Test - SS Convergence - Write {size}KiB", "Round", MB),
        ("Plot 8-2", f"Throughput Test - SS Convergence - Read {size}KiB", "Round", MB),
        ("Plot 8-3", f"Steady State Measurement Window - SEQ/{size} KiB", "Round", MB),
        (tabular, f"{of_class} Throughput - {TABULAR}", "", ""),
        (bars, "Throughput - ALL RW Mix & BS - 2D Plot", "R/W mix %", MB),
    ]


CLP = "Response Time Histogram - Confidence Level Plot - RND 4KiB RW0"
LAT = [
    ("Plot 9-1", "Steady State Convergence Plot - Average Latency - 100% Writes", "Round", "(ms)"),
    ("Plot 9-2", "Steady State Measurement Window - RND/4KiB", "Round", "(ms)"),
    ("Plot 9-3", f"Ave, 5 9s, Max Response Times & IOPS - {TABULAR}", "", ""),
    ("Plot 9-4", CLP, "(ms)", "count"),
]
WSAT = [
    ("Plot 10-1", "WSAT IOPS v Time - RND 4KiB RW0", "Time", "IOPS"),
    ("Plot 10-2", "WSAT IOPS v TGBW - RND 4KiB RW0", "GB written", "IOPS"),
    ("Plot 10-3", "WSAT IOPS v Total Drive Writes/Fills - RND 4KiB RW0", "fills", "IOPS"),
    ("Plot 10-4", f"WSAT {CLP}", "(ms)", "count"),
]
HIR = [
    ("Plot 11-1", "HIR IOPS v Time - Pre-conditioning", "Time", "IOPS"),
    ("Plot 11-2", "HIR Pre-conditioning Steady State Measurement Plot", "Round", "IOPS"),
    ("Plot 11-3", "IOPS v Time for All Wait States", "Time", "IOPS"),
]
XSR = [
    ("Plot 12-1", "XSR Throughput v Time - All Access Groups", "Time", MB),
    ("Plot 12-1.1", "XSR enlarged: SEQ 1024 KiB to RND 8 KiB", "Time from the change", MB),
    ("Plot 12-1.2", "XSR enlarged: RND 8 KiB to SEQ 1024 KiB", "Time from the change", MB),
    ("Plot 12-2", "XSR Throughput, ART & MRT v Time", "Time", MB),
    ("Plot 12-3", "XSR Table: TP, ART, MRT and BW Recovery Time", "", ""),
]


def demand(first: int, prewrites: str, cpu: str, over: str) -> list[tuple[str, str, str, str]]:
    titles = [
        ("PC IOPS Plot", over, "IOPS"),
        ("PC Steady State Plot", "Round", "IOPS"),
        (prewrites, "Time", "IOPS"),
        ("DV IOPS Plot, TC=Tracking", "Round", "IOPS"),
        ("DV Steady State Plot, Tracking Variable", "Round", "IOPS"),
        ("Demand Variation Plot", "QD", "IOPS"),
        ("Demand Intensity Plot", "IOPS", "Average response time (ms)"),
        (cpu, "QD", "CPU Sys (%)"),
        ("MaxIOPS Prewrites", "Time", "IOPS"),
        ("Max IOPS Histogram", "(ms)", "Count (A.U.)"),
        ("MidIOPS Prewrites", "Time", "IOPS"),
        ("Mid IOPS Histogram", "(ms)", "Count (A.U.)"),
        ("MinIOPS Prewrites", "Time", "IOPS"),
        ("Min IOPS Histogram", "(ms)", "Count (A.U.)"),
        ("IOPS v Total OIO", "Total OIO", "IOPS"),
    ]
    section, number = divmod(first, 100)
    return [(f"Plot {section}-{number + n}", *title) for n, title in enumerate(titles)]


ROWS: dict[str, list[list[tuple[str, str, str, str]]]] = {
    "iops": [IOPS],
    "lat": [LAT],
    "wsat": [WSAT],
    "hir": [HIR],
    "xsr": [XSR],
    "cbw": [demand(1304, "Btw-Round Prewrites Plot", "System CPU Utilization Plot", "Round")],
    "dirth": [demand(1402, "Inter-Round Pre Writes Plot", "CPU Utilization Plot", "Time")],
}


@cache
def report_of(name: str, drive_class: DriveClass) -> Report:
    return build_report(made_up_run(name, drive_class), "2026-02-03T04:05:06Z")


def rows_of(name: str, drive_class: DriveClass) -> list[list[tuple[str, str, str, str]]]:
    if name != "tp":
        return ROWS[name]
    of_class = "Enterprise" if drive_class is DriveClass.ENTERPRISE else "Client"
    sizes = (("1024", "Plot 8-4", "Plot 8-6"), ("128", "Plot 8-5", "Plot 8-7"))
    return [throughput(*size, of_class) for size in sizes]


def shown(page: Page, number: str) -> Figure | Table:
    (found,) = [
        block
        for block in page.blocks
        if (isinstance(block, Figure) and block.number == number)
        or (isinstance(block, Table) and block.title.startswith(f"{number} - "))
    ][:1]
    return found


@pytest.mark.full_matrix(most=8)
@pytest.mark.proves("PTS-FLOW-07..10", "PTS-IOPS-21..23", "PTS-IOPS-28", "PTS-IOPS-30", "PTS-IOPS-33..34")
@pytest.mark.proves("PTS-TP-17..18", "PTS-TP-24..25", "PTS-TP-27", "PTS-TP-31..32", "PTS-LAT-22..23")
@pytest.mark.proves("PTS-LAT-29", "PTS-LAT-31", "PTS-LAT-37", "PTS-WSAT-26..28", "PTS-WSAT-30")
@pytest.mark.proves("PTS-HIR-21..25", "PTS-XSR-18..21", "PTS-XSR-23", "PTS-CBW-44..59", "PTS-DIRTH-36..51")
@pytest.mark.parametrize("drive_class", CLASSES)
@pytest.mark.parametrize("name", [*ROWS, "tp"])
def test_every_mandatory_row_has_its_page_with_its_plot(name, drive_class) -> None:
    report = report_of(name, drive_class)
    for section, rows in zip(report.sections, rows_of(name, drive_class), strict=True):
        pages = {page.title: page for page in section.pages}
        assert [title for title in pages if title in {row[1] for row in rows}] == [row[1] for row in rows]
        for number, title, x, y in rows:
            found = shown(pages[title], number)
            assert pages[title].mandatory, title
            if isinstance(found, Figure):
                assert x in found.x.title, title
                assert y in found.y.title, title
                assert found.table_id in report.tables()
            else:
                assert (x, y) == ("", "")
    assert missing_plots(report.sections) == []


def test_the_window_of_write_saturation_is_mandatory_where_steady_state_may_end_it() -> None:
    def stop_when_steady(conditions: Conditions) -> Conditions:
        return msgspec.structs.replace(conditions, stop_when_steady=True)

    report = build_report(made_up_run("wsat", adjust=stop_when_steady), "2026-02-03T04:05:06Z")
    (page,) = [page for page in report.pages() if page.id == "wsat-window"]
    assert page.mandatory
    assert page.title == "WSAT Steady State Measurement Window - RND 4KiB RW0"
    assert isinstance(shown(page, "Plot 10-9"), Figure)


def without(report: Report, page_id: str) -> Report:
    def cut(section: Section) -> Section:
        return msgspec.structs.replace(section, pages=tuple(p for p in section.pages if p.id != page_id))

    return msgspec.structs.replace(report, sections=tuple(cut(section) for section in report.sections))


@pytest.mark.parametrize("name", [*ROWS, "tp"])
def test_each_page_that_is_taken_away_is_missed_by_its_number(name) -> None:
    report = report_of(name, DriveClass.ENTERPRISE)
    for section in report.sections:
        plots = PROCEDURES[name].required
        required = plots.get(section.test) or plots[name]
        assert required
        for plot in required:
            missing = missing_plots(without(report, f"{section.test}-{plot.key}").sections)
            assert missing == [f"{section.title}: {plot.number} is missing"]


def test_a_page_with_a_plot_of_another_number_does_not_count() -> None:
    report = report_of("hir", DriveClass.ENTERPRISE)
    (section,) = report.sections

    def renumber(page: Page) -> Page:
        blocks = tuple(
            msgspec.structs.replace(block, number="Plot 1") if isinstance(block, Figure) else block
            for block in page.blocks
        )
        return msgspec.structs.replace(page, blocks=blocks)

    pages = tuple(renumber(page) if page.id == "hir-3" else page for page in section.pages)
    other = msgspec.structs.replace(report, sections=(msgspec.structs.replace(section, pages=pages),))
    assert missing_plots(other.sections) == ["HIR Test: Plot 11-3 is missing"]


def test_no_report_is_made_that_lacks_one(monkeypatch) -> None:
    content = procedure_of("hir").report(made_up_run("hir"))

    def cut(standing: Standing, report_date: str) -> tuple[Section, ...]:
        (section,) = content.sections(standing, report_date)
        return (replace(section, pages=tuple(page for page in section.pages if page.id != "hir-3")),)

    lacking = replace(content, sections=cut)
    monkeypatch.setattr(PROCEDURES["hir"].part("report"), "report", lambda _run: lacking)
    with pytest.raises(RecordError, match="Plot 11-3 is missing"):
        build_report(made_up_run("hir"), "2026-11-21T08:00:00Z")


def test_a_run_that_tracked_less_still_has_its_report() -> None:
    """The operator may track one variable: then there is one window plot, and the ledger says so."""

    def track_one(conditions: Conditions) -> Conditions:
        return replace(conditions, tracking=conditions.tracking[:1])

    run = made_up_run("iops", adjust=track_one)
    entry = Deviation("PTS-IOPS-17", "7.1", "three variables", "one", "steady state is judged by less")
    report = build_report(replace(run, ledger=(entry,)), "2026-11-21T08:00:00Z")
    windows = {figure.number for figure in report.figures()} & {"Plot A.3", "Plot A.4", "Plot A.5"}
    assert windows == {"Plot A.3"}

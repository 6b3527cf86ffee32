"""Each plot and table that the specification demands of a test is in its report."""

from functools import cache

import pytest

from openpts.pages.model import Figure, Page, Report, Table
from openpts.report.build import build_report
from tests.support.made_up_run import made_up_run, restless_rate

REPORT_DATE = "2026-02-03T04:05:06Z"


@cache
def report_of(name: str, *, steady: bool = True) -> Report:
    run = made_up_run(name) if steady else made_up_run(name, rate=restless_rate)
    return build_report(run, REPORT_DATE)


def page_of(name: str, page_id: str) -> Page:
    (page,) = [page for page in report_of(name).pages() if page.id == page_id]
    return page


def figure_of(name: str, number: str) -> Figure:
    return next(figure for figure in report_of(name).figures() if figure.number == number)


def table_of(name: str, table_id: str) -> Table:
    return report_of(name).tables()[table_id]


def assert_plot(name: str, number: str, x: str, y: str, page_id: str) -> None:
    figure = figure_of(name, number)
    assert x in figure.x.title
    assert y in figure.y.title
    page = page_of(name, page_id)
    assert figure in page.blocks
    assert page.mandatory


def series_of(name: str, number: str) -> list[str]:
    return [series.label for series in figure_of(name, number).series]


@pytest.mark.proves("PTS-IOPS-21..23", "PTS-IOPS-28", "PTS-IOPS-30", "PTS-IOPS-33", "PTS-IOPS-34")
@pytest.mark.parametrize(
    ("number", "page_id", "x", "y"),
    [
        ("Plot A.1", "iops-a1-rw0", "Round", "IOPS"),
        ("Plot A.1b", "iops-a1-rw65", "Round", "IOPS"),
        ("Plot A.1c", "iops-a1-rw100", "Round", "IOPS"),
        ("Plot A.3", "iops-a3", "Round", "IOPS"),
        ("Plot A.4", "iops-a4", "Round", "IOPS"),
        ("Plot A.5", "iops-a5", "Round", "IOPS"),
        ("Plot A.7", "iops-a7", "Block size", "IOPS"),
        ("Plot A.8", "iops-a8", "Block size", ""),
    ],
)
def test_iops(number: str, page_id: str, x: str, y: str) -> None:
    assert_plot("iops", number, x, y, page_id)


@pytest.mark.proves("PTS-IOPS-28", "PTS-IOPS-33..34", "PTS-IOPS-37")
def test_pages_of_iops_have_their_series_and_come_in_the_order_of_the_sample() -> None:
    numbers = [figure.number for figure in report_of("iops").figures()]
    plots = [f"Plot A.{name}" for name in ("1", "1b", "1c", "2", "3", "4", "5", "7", "8")]
    assert [number for number in numbers if number in plots] == plots
    sizes = [f"RND {size} KiB" for size in ("0.5", "4", "8", "16", "32", "64", "128", "1024")]
    assert series_of("iops", "Plot A.1") == sizes
    mixes = [f"R/W {mix}" for mix in ("0/100", "5/95", "35/65", "50/50", "65/35", "95/5", "100/0")]
    assert series_of("iops", "Plot A.7") == series_of("iops", "Plot A.8") == mixes
    assert figure_of("iops", "Plot A.8").kind == "columns3d"


@pytest.mark.proves("PTS-IOPS-31", "PTS-IOPS-20")
def test_the_table_of_iops_has_all_elements_in_their_order() -> None:
    table = table_of("iops", "iops-iops-table")
    assert [row.head.text for row in table.rows] == ["0.5", "4", "8", "16", "32", "64", "128", "1024"]
    assert [column.label for column in table.columns] == [
        "0/100",
        "5/95",
        "35/65",
        "50/50",
        "65/35",
        "95/5",
        "100/0",
    ]
    assert {cell.text for row in table.rows for cell in row.cells} == {"20,000.0"}


@pytest.mark.proves("PTS-IOPS-24..25", "PTS-TP-20..21", "PTS-LAT-25..26", "PTS-FLOW-05")
@pytest.mark.parametrize("name", ["iops", "tp", "lat"])
def test_without_steady_state_every_page_says_so_and_shows_the_last_five_rounds(name: str) -> None:
    for section in report_of(name, steady=False).sections:
        assert "STEADY STATE NOT REACHED - last five Rounds shown" in section.alerts
        rows = [row.value for group in section.header.groups for row in group.rows]
        assert "NOT REACHED" in rows


@pytest.mark.proves("PTS-TP-17..18", "PTS-TP-24..25", "PTS-TP-27", "PTS-TP-31..32")
@pytest.mark.parametrize(
    ("number", "page_id", "x"),
    [
        ("Plot 8-1", "tp-1024-write", "Round"),
        ("Plot 8-2", "tp-1024-read", "Round"),
        ("Plot 8-3", "tp-1024-window", "Round"),
        ("Plot 8-6", "tp-1024-bars", "R/W mix"),
        ("Plot 8-7", "tp-128-bars", "R/W mix"),
    ],
)
def test_throughput(number: str, page_id: str, x: str) -> None:
    assert_plot("tp", number, x, "MB/s", page_id)


@pytest.mark.proves("PTS-LAT-22..23", "PTS-LAT-29", "PTS-LAT-31", "PTS-LAT-37")
@pytest.mark.parametrize(
    ("number", "page_id", "x", "y"),
    [
        ("Plot 9-1", "lat-convergence-rw0", "Round", "(ms)"),
        ("Plot 9-2", "lat-window-1", "Round", "(ms)"),
        ("Plot 9-4", "lat-clp", "(ms)", "count"),
    ],
)
def test_latency(number: str, page_id: str, x: str, y: str) -> None:
    assert_plot("lat", number, x, y, page_id)


@pytest.mark.proves("PTS-LAT-24", "PTS-LAT-32", "PTS-LAT-33..36")
def test_the_table_of_latencies_has_four_blocks_of_nine() -> None:
    table = table_of("lat", "lat-table-values")
    assert [column.label for column in table.columns[1:]] == ["0.5 KiB", "4 KiB", "8 KiB"]
    rows = table.rows[:12]
    assert [row.cells[0].text for row in rows] == ["RW 0", "RW 65", "RW 100"] * 4
    heads = [row.head.text for row in rows if row.head.text]
    assert heads == ["IOPS", "ART (ms)", "99.999 % (ms)", "MRT (ms)"]
    # one I/O outstanding at 20,000 a second: 50 us each
    texts = [{cell.text for cell in row.cells[1:]} for row in rows]
    assert texts == [{"20,000.0"}] * 3 + [{"0.0500"}] * 9


@pytest.mark.proves("PTS-LAT-30")
def test_the_verification_record_of_latency_is_in_ms() -> None:
    texts = " ".join(
        text
        for row in table_of("lat", "lat-window-1-data").rows
        for text in (row.head.text, *(cell.text for cell in row.cells))
    )
    assert "0.0500" in texts
    assert "pass" in texts


@pytest.mark.proves("PTS-LAT-16", "PTS-LAT-38", "PTS-WSAT-19", "PTS-WSAT-30..31")
@pytest.mark.parametrize("name", ["lat", "wsat"])
def test_confidence_levels_stand_beside_their_response_times(name: str) -> None:
    table = table_of(name, f"{name}-clp-levels")
    rows = {row.head.text: [cell.text for cell in row.cells] for row in table.rows}
    assert rows["5 nines"][1] == "99.999"
    assert rows["Maximum (MRT)"][1] == "100"
    assert float(rows["Average (ART)"][0]) == float(rows["5 nines"][0]) == float(rows["Maximum (MRT)"][0])
    texts = " ".join(block.text for block in page_of(name, f"{name}-clp").blocks if hasattr(block, "text"))
    assert "20,000" in texts


@pytest.mark.proves("PTS-PRG-04", "PTS-HDR-08", "PTS-IOPS-26..27", "PTS-TP-22..23", "PTS-LAT-27..28")
@pytest.mark.proves("PTS-WSAT-25", "PTS-HIR-20", "PTS-XSR-17", "PTS-CBW-43", "PTS-DIRTH-35")
@pytest.mark.parametrize("name", ["iops", "tp", "lat", "wsat", "hir", "xsr", "cbw", "dirth"])
def test_the_purge_is_reported_and_the_header_tells_of_preconditioning(name: str) -> None:
    report = report_of(name)
    purges = [table for table_id, table in report.tables().items() if table_id.endswith("-purge")]
    assert purges
    for table in purges:
        assert "NVMe Format" in {cell.text for row in table.rows for cell in row.cells}
    for section in report.sections:
        rows = {row.label: row.value for group in section.header.groups for row in group.rows}
        assert rows["Purge Method"] == "NVMe Format"
        assert any(label.startswith("Pre Condition 1") for label in rows)
        assert any(label.startswith("Pre Condition 2") for label in rows)


@pytest.mark.proves("PTS-WSAT-26..28", "PTS-WSAT-30")
@pytest.mark.parametrize(
    ("number", "page_id", "x", "y"),
    [
        ("Plot 10-1", "wsat-iops-time", "Time", "IOPS"),
        ("Plot 10-2", "wsat-iops-tgbw", "GB", "IOPS"),
        ("Plot 10-3", "wsat-iops-fills", "fills", "IOPS"),
        ("Plot 10-4", "wsat-clp", "(ms)", "count"),
    ],
)
def test_write_saturation(number: str, page_id: str, x: str, y: str) -> None:
    assert_plot("wsat", number, x, y, page_id)


@pytest.mark.proves("PTS-WSAT-29")
def test_bandwidth_stands_over_time_amount_and_fills_as_well() -> None:
    plots = [figure for figure in report_of("wsat").figures() if "MB/s" in figure.y.title]
    assert [figure.x.title.split()[0] for figure in plots] == ["Time", "Total", "Total"]
    assert ["GB" in figure.x.title for figure in plots] == [False, True, False]
    assert "fills" in plots[2].x.title


@pytest.mark.proves("PTS-HIR-21..25")
@pytest.mark.parametrize(
    ("number", "page_id", "x"),
    [
        ("Plot 11-1", "hir-1", "Time"),
        ("Plot 11-2", "hir-2", "Round"),
        ("Plot 11-3", "hir-3", "Time"),
        *((f"Plot X-HIR-WS{n}", f"hir-ws{n}", "Time") for n in (1, 2, 3, 5, 10)),
    ],
)
def test_host_idle_recovery(number: str, page_id: str, x: str) -> None:
    assert_plot("hir", number, x, "IOPS", page_id)


@pytest.mark.proves("PTS-HIR-26", "PTS-HIR-28")
def test_wait_states_stand_beside_the_baseline_and_their_returns() -> None:
    states = [f"WS {number}" for number in (1, 2, 3, 5, 10)]
    secondary = table_of("hir", "hir-4-values")
    assert [column.label for column in secondary.columns] == ["Baseline", *states]
    beside = table_of("hir", "hir-x1-values")
    assert [row.head.text for row in beside.rows] == states
    assert {"IOPS", "Gain v baseline (%)", "Return: IOPS"} <= {column.label for column in beside.columns}


@pytest.mark.proves("PTS-XSR-18..21", "PTS-XSR-23")
@pytest.mark.parametrize(
    ("number", "page_id"),
    [
        ("Plot 12-1", "xsr-1"),
        ("Plot X-XSR-G1", "xsr-group-1"),
        ("Plot X-XSR-G2", "xsr-group-2"),
        ("Plot X-XSR-G3", "xsr-group-3"),
        ("Plot 12-1.1", "xsr-transition-1"),
        ("Plot 12-1.2", "xsr-transition-2"),
        ("Plot 12-2", "xsr-4"),
    ],
)
def test_cross_stimulus_recovery(number: str, page_id: str) -> None:
    assert_plot("xsr", number, "Time", "MB/s", page_id)


TCS = [f"TC {tc}" for tc in (32, 16, 8, 6, 4, 2, 1)]
HISTOGRAM = ("Response time (ms)", "Count", ["I/Os, MRT = 1.00 ms"])


@pytest.mark.proves("PTS-CBW-44..59", "PTS-DIRTH-36..51")
@pytest.mark.parametrize("name", ["cbw", "dirth"])
@pytest.mark.parametrize(
    ("number", "x", "y", "series"),
    [
        (2, "Tracking Round", "IOPS", ["IOPS", "Best linear fit"]),
        (3, "Time in pre-writes", "IOPS", [f"Round {number}" for number in range(1, 6)]),
        (4, "Round", "IOPS", [f"QD {qd}" for qd in (32, 16, 8, 6, 4, 2, 1)]),
        (5, "Round", "IOPS", ["IOPS", "Best linear fit"]),
        (6, "QD", "IOPS", TCS),
        (7, "IOPS", "(ms)", TCS[::-1]),
        (8, "QD", "CPU Sys (%)", TCS[::-1]),
        (9, "Time (min)", "IOPS", ["IOPS"]),
        (10, *HISTOGRAM),
        (11, "Time (min)", "IOPS", ["IOPS"]),
        (12, *HISTOGRAM),
        (13, "Time (min)", "IOPS", ["IOPS"]),
        (14, *HISTOGRAM),
        (15, "Total OIO", "IOPS", ["Mean of the points", "Least to largest"]),
    ],
)
def test_demand(name: str, number: int, x: str, y: str, series: list[str]) -> None:
    plot = f"Plot 13-{number + 3}" if name == "cbw" else f"Plot 14-{number + 1}"
    assert_plot(name, plot, x, y, f"{name}-{number}")
    assert series_of(name, plot) == series


@pytest.mark.proves("PTS-CBW-44", "PTS-CBW-46", "PTS-CBW-50..51", "PTS-CBW-53", "PTS-CBW-59")
@pytest.mark.proves("PTS-DIRTH-36", "PTS-DIRTH-38", "PTS-DIRTH-42..43", "PTS-DIRTH-45", "PTS-DIRTH-51")
def test_plots_of_demand_are_drawn_as_the_specification_has_them() -> None:
    assert_plot("cbw", "Plot 13-4", "Tracking Round", "IOPS", "cbw-1")
    assert_plot("dirth", "Plot 14-2", "Time (min)", "IOPS", "dirth-1")
    for name, plot in (("cbw", "Plot 13-{}"), ("dirth", "Plot 14-{}")):
        shift = 3 if name == "cbw" else 1
        figures = [figure_of(name, plot.format(number + shift)) for number in range(1, 16)]
        assert {series.style for series in figures[2].series} == {"points"}
        labels = [mark.label.split()[0] for mark in figures[6].marks]
        assert labels == ["MaxIOPS", "MinIOPS", "MidIOPS"]
        assert [figures[7].kind, figures[14].kind] == ["columns3d", "bars"]
        assert [series.style for series in figures[9].series] == ["bars"]


def test_the_gain_of_a_wait_state_has_its_range_and_its_accesses_stand_side_by_side() -> None:
    figure = figure_of("hir", "Plot X-HIR-1")
    assert figure.x.labels == ("5 s", "10 s", "15 s", "25 s", "50 s")
    columns = [column.label for column in table_of("hir", figure.table_id).columns]
    mean, percentiles = figure.series
    assert columns[mean.lines[0]] == "Gain v baseline (%)"
    assert [columns[line] for line in percentiles.lines] == ["at the 5th (%)", "at the 95th (%)"]
    # accesses as fast as the baseline gain nothing
    gains = {row.cells[4].text for row in table_of("hir", figure.table_id).rows}
    assert gains <= {"0.0", "+0.1", "-0.1"}
    panels = [figure_of("hir", f"Plot X-HIR-2{letter}") for letter in "abcde"]
    assert len({panel.y for panel in panels}) == 1
    assert {panel.zoom_group for panel in panels} == {"hir-cycles"}
    assert len(table_of("hir", "hir-x2-values").rows) == 360


@pytest.mark.proves("PTS-XSR-22")
def test_recovery_is_told_by_five_rules_beside_that_of_the_specification() -> None:
    rules = [row.head.text for row in table_of("xsr", "xsr-recovery").rows]
    assert len(rules) == 5
    assert rules[-1].startswith("Highest median of 5 minutes")

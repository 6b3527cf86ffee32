"""Reports of CBW and DIRTH on a drive whose figures follow by hand: 100 us an I/O, at most 100,000 IOPS."""

from collections.abc import Callable
from functools import cache

import pytest

from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import ActiveRange
from openpts_pages.model import Figure, Page, Report, Section, Table
from tests.support.made_up_demand import (
    demand_run,
    with_capture,
    with_shares_off,
    without_cpu,
    without_shares,
)
from tests.support.made_up_run import ended_after
from tests.support.page_transcript import transcript_of

# Five tracking rounds of preconditioning: minute 1, then pairs of 29 minutes and a minute.
WDPC_STEPS = 9
ROUND_STEPS = 1 + 9

DATE = "2025-01-15T04:02:00Z"


@cache
def whole(test: str) -> Run:
    """Made when it is needed: each worker that collects tests would make it."""
    return demand_run(test)


def made(run: Run) -> Report:
    return build_report(run, DATE)


def section_of(report: Report) -> Section:
    (section,) = report.sections
    return section


def page(report: Report, page_id: str) -> Page:
    return next(page for page in report.pages() if page.id == page_id)


def figure(report: Report, number: str) -> Figure:
    return next(figure for figure in report.figures() if figure.number == number)


def rows(table: Table) -> dict[str, list[str]]:
    return {row.head.text: [cell.text for cell in row.cells] for row in table.rows}


@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_the_header_shows_cache_and_range_of_the_client_option(drive_class) -> None:
    report = made(demand_run("cbw", drive_class, active_range=ActiveRange(0, 75)))
    header = section_of(report).header
    assert header.revision == drive_class.revision
    ranges = [row.value for group in header.groups[2:] for row in group.rows if row.label == "AR"]
    assert ranges == ["75 %", "75 %"]


@pytest.mark.proves("PTS-CBW-29..32", "PTS-CBW-34..36", "PTS-CBW-62")
@pytest.mark.proves("PTS-DIRTH-21..24", "PTS-DIRTH-26..28")
def test_operating_points_are_those_of_the_hand() -> None:
    """1024 outstanding wait 10.24 ms; 16 are the fewest that get 100,000 IOPS."""
    figures = summarize(demand_run("dirth"))
    expected_iops = {1: 10_000, 4: 40_000}
    for point in figures["operating_points"]:
        toio = point["tc"] * point["qd"]
        assert point["iops"] == pytest.approx(expected_iops.get(toio, 100_000))
        assert point["art_ms"] == pytest.approx(toio / expected_iops.get(toio, 100_000) * 1000, rel=1e-4)
        assert point["cpu_sys_pct"] == pytest.approx(3 + toio / 100)
    chosen = figures["chosen_points"]
    assert chosen["below_art_limit"]
    assert [(chosen[name]["tc"], chosen[name]["qd"]) for name in ("max", "min")] == [(4, 4), (1, 1)]
    assert [(mid["tc"], mid["qd"]) for mid in chosen["mid"]] == [(4, 1)]
    assert chosen["mid_targets_iops"] == [pytest.approx(55_000)]
    assert [(h["point"], h["tc"], h["qd"]) for h in figures["histograms"]] == [
        ("MaxIOPS", 4, 4),
        ("MidIOPS", 4, 1),
        ("MinIOPS", 1, 1),
    ]
    # twice the 0.1 ms of a single I/O is exceeded by 32 outstanding ones, which share 100,000 IOPS
    assert figures["knee_toio"] == 32


@pytest.mark.proves("PTS-CBW-39", "PTS-CBW-58", "PTS-DIRTH-31", "PTS-DIRTH-50")
def test_the_histogram_reaches_to_its_largest_response_time() -> None:
    report = made(whole("cbw"))
    drawn = figure(report, "Plot 13-13")
    largest_ms = 0.16
    assert drawn.x.domain[1] >= largest_ms
    assert drawn.series[0].label == "I/Os, MRT = 0.160 ms"
    counted = [cell.value for row in report.tables()[drawn.table_id].rows for cell in row.cells[:1]]
    assert sum(value for value in counted if value is not None) == 100_000 * 600


def restless(phase: Phase) -> Callable[[Phase, int], float]:
    return lambda of, number: 1.5 if of is phase and number % 2 else 1.0


CASES: dict[str, tuple[Callable[[], Run], list[str]]] = {
    "shares that are off": (lambda: with_shares_off(whole("cbw")), ["cbw-pattern"]),
    "shares not counted": (lambda: without_shares(whole("cbw")), ["cbw-pattern"]),
    # 9 steps of preconditioning, 5 rounds of 10 steps, then pre-write and histogram in turn
    "capture files": (lambda: whole("cbw"), ["cbw-10", "cbw-12", "cbw-14"]),
    "a capture that lost some": (lambda: with_capture(whole("cbw"), "17 I/Os are in no file"), ["cbw-10"]),
    "no CPU figures": (lambda: without_cpu(whole("cbw")), ["cbw-8"]),
    "preconditioning never steady": (lambda: demand_run("cbw", factor=restless(Phase.WDPC)), ["cbw-1"]),
    "rounds never steady": (lambda: demand_run("dirth", factor=restless(Phase.ROUND)), ["dirth-4"]),
    "a histogram not completed": (
        lambda: ended_after(whole("cbw"), WDPC_STEPS + 5 * ROUND_STEPS + 1),
        ["cbw-10", "cbw-14"],
    ),
    "sizes that the device can't do": (
        lambda: demand_run("cbw", skipped_block_sizes_bytes=(512, 1536)),
        ["cbw-5"],
    ),
    "no point below the limit": (lambda: demand_run("cbw", latency_us=6_000), ["cbw-7", "cbw-12"]),
    "several points between": (
        lambda: demand_run("dirth", mid_points=2, qds=(32, 8, 2, 1)),
        ["dirth-11.1", "dirth-12.1", "dirth-11.2", "dirth-12.2"],
    ),
}


@pytest.mark.proves("PTS-CBW-33", "PTS-DIRTH-25")
@pytest.mark.parametrize("case", CASES)
def test_what_is_on_a_page(case, transcript) -> None:
    run, pages = CASES[case]
    assert transcript_of(made(run()), *pages) == transcript


@pytest.mark.parametrize(("test", "state"), [("cbw", StepState.INTERRUPTED), ("dirth", StepState.FAILED)])
@pytest.mark.parametrize(
    "last_step", [0, 4, WDPC_STEPS, WDPC_STEPS + 5, *(WDPC_STEPS + 5 * ROUND_STEPS + n for n in (0, 4))]
)
def test_a_run_that_ended_anywhere_has_a_whole_report(test, state, last_step) -> None:
    report = made(ended_after(whole(test), last_step, state))
    section = section_of(report)
    assert section.alerts[0].startswith(state.name)
    mandatory = [page.title for page in section.pages if page.mandatory]
    assert len(mandatory) == 16  # purge report and the 15 plots
    tables = report.tables()
    for drawn in report.figures():
        values = [cell.value for row in tables[drawn.table_id].rows for cell in row.cells]
        assert any(value is not None for value in values)
    if last_step < WDPC_STEPS + ROUND_STEPS:
        assert not any(drawn.kind == "bars" for drawn in report.figures())


def test_a_piece_of_a_minute_is_told_but_not_plotted() -> None:
    """27.488 GB, a tenth of the capacity, take 319.623 s at 11,000 I/Os of 7,818.24 bytes a second."""
    report = made(demand_run("cbw", limit_iops=11_000))
    drawn = figure(report, "Plot 13-6")
    table = report.tables()[drawn.table_id]
    pieces = [cell for row in table.rows for cell in row.cells[:5] if cell.note]
    assert [cell.note for cell in pieces] == ["in 19.623 s"] * 5
    assert all(cell.value is None for cell in pieces)


def test_a_thread_count_has_one_color_in_all_plots() -> None:
    report = made(whole("dirth"))
    drawn = [figure(report, number) for number in ("Plot 14-7", "Plot 14-8", "Plot 14-9")]
    colors = [{series.label: series.color for series in one.series} for one in drawn]
    assert colors[0] == colors[1] == colors[2]
    assert set(colors[0]) == {"TC 1", "TC 4", "TC 32"}


def test_each_round_s_pre_writes_have_a_color() -> None:
    drawn = figure(made(whole("cbw")), "Plot 13-6")
    assert [series.label for series in drawn.series] == [f"Round {number}" for number in range(1, 6)]
    assert len({series.color for series in drawn.series}) == 5

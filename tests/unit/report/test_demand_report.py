"""Reports of CBW and DIRTH on a drive whose figures follow by hand: 100 us an I/O, at most 100,000 IOPS."""

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from openpts.pages.model import Figure, Page, Report, Section, Table, Verdict, points_of
from openpts.record.reader import read_run
from openpts.report.build import build_report
from openpts.report.summary import summarise
from openpts.report.times import default_date
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import CaptureReport
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import ActiveRange
from tests.support.made_up_run import made_up_run
from tests.support.page_words import words
from tests.support.synthetic_demand import SyntheticDemand, write_synthetic_demand

# Five tracking rounds of preconditioning: minute 1, then pairs of 29 minutes and a minute.
WDPC_STEPS = 9
ROUND_STEPS = 1 + 9
PLOTS = {
    "cbw": [f"Plot 13-{number}" for number in range(4, 19)],
    "dirth": [f"Plot 14-{number}" for number in range(2, 17)],
}

Make = Callable[[SyntheticDemand], Report]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    def make(wanted: SyntheticDemand) -> Report:
        run = read_run(write_synthetic_demand(tmp_path / "run", wanted))
        return build_report(run, default_date(run))

    return make


def section_of(report: Report) -> Section:
    (section,) = report.sections
    return section


def page(report: Report, page_id: str) -> Page:
    return next(page for page in report.pages() if page.id == page_id)


def figure(report: Report, number: str) -> Figure:
    return next(figure for figure in report.figures() if figure.number == number)


def said(report: Report, page_id: str) -> str:
    return " ".join(block.text for block in page(report, page_id).blocks if isinstance(block, Verdict))


def rows(table: Table) -> dict[str, list[str]]:
    return {row.head.text: [cell.text for cell in row.cells] for row in table.rows}


@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_all_plots_are_there_in_the_order_of_the_specification(made: Make, test: str) -> None:
    report = made(SyntheticDemand(test))
    numbers = [drawn.number for drawn in report.figures()]
    assert [number for number in numbers if number in PLOTS[test]] == PLOTS[test]
    assert section_of(report).alerts == ()
    tables = report.tables()
    for drawn in report.figures():
        if drawn.kind == "lines":
            assert all(points_of(series, tables[drawn.table_id]) for series in drawn.series), drawn.number


@pytest.mark.proves("PTS-HDR-07")
def test_the_header_has_the_fields_of_the_sample(made: Make) -> None:
    header = section_of(made(SyntheticDemand("dirth"))).header
    assert header.title == "DIRTH - OLTP - RND 8 KiB 65:35 RW"
    setup, test = (group.rows for group in header.groups[2:])
    assert [(row.label, row.value) for row in setup] == [
        ("Data Pattern", "RND"),
        ("AR", "100 %"),
        ("Pre Condition 1", "RND 8 KiB"),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", "TC 32 / QD 32"),
        ("SS Rounds", "1 - 5"),
        ("Pre Condition 2", "Inter Rnd Pre Write"),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", "TC 32 / QD 32"),
        ("Duration", "30 min 0 s or 10 % Cap."),
    ]
    assert [(row.label, row.value) for row in test] == [
        ("Data Pattern", "RND"),
        ("AR", "100 %"),
        ("Test Stimulus 1", "RND 8 KiB"),
        ("R/W %", "65/35"),
        ("TC / QD", "TC 1-32, QD 1-32"),
        ("TC & QD Loops", "High to Low TOIO"),
        ("Min IOPS Point", "TC 1 / QD 1"),
        ("Mid IOPS Point", "TC 4 / QD 1"),
        ("Max IOPS Point", "TC 4 / QD 4"),
        ("Steady State", "1 - 5"),
    ]


@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_the_header_shows_cache_and_range_of_the_client_option(made: Make, drive_class: DriveClass) -> None:
    report = made(SyntheticDemand("cbw", drive_class, {"active_range": ActiveRange(0, 75)}))
    header = section_of(report).header
    assert header.revision == drive_class.revision
    ranges = [row.value for group in header.groups[2:] for row in group.rows if row.label == "AR"]
    assert ranges == ["75 %", "75 %"]


@pytest.mark.proves("PTS-CBW-29..32", "PTS-CBW-34..36", "PTS-CBW-62")
@pytest.mark.proves("PTS-DIRTH-21..24", "PTS-DIRTH-26..28")
def test_operating_points_are_those_of_the_hand(tmp_path: Path) -> None:
    """1024 outstanding wait 10.24 ms; 16 are the fewest that get 100,000 IOPS."""
    run = read_run(write_synthetic_demand(tmp_path / "run", SyntheticDemand("dirth")))
    figures = summarise(run)
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


def test_rings_and_limit_stand_in_the_demand_intensity_plot(made: Make) -> None:
    drawn = figure(made(SyntheticDemand("cbw")), "Plot 13-10")
    assert [(mark.label, round(mark.x), round(mark.y, 3)) for mark in drawn.marks] == [
        ("MaxIOPS TC 4 / QD 4", 100_000, 0.16),
        ("MinIOPS TC 1 / QD 1", 10_000, 0.1),
        ("MidIOPS TC 4 / QD 1", 40_000, 0.1),
    ]
    assert [(rule.label, rule.value) for rule in drawn.rules] == [("5 ms", 5.0)]


@pytest.mark.proves("PTS-CBW-33", "PTS-DIRTH-25")
def test_without_a_point_below_the_limit_every_page_says_so(made: Make) -> None:
    report = made(SyntheticDemand("cbw", latency_us=6_000))
    assert section_of(report).alerts == ("NO OPERATING POINT WITH AN AVERAGE RESPONSE TIME BELOW 5 ms",)
    assert "No operating point has an ART below 5.00 ms" in said(report, "cbw-7")
    assert "MidIOPS histogram: n/a (no other operating point lies strictly between" in said(report, "cbw-12")


def test_several_points_between_have_pages_of_their_own(made: Make) -> None:
    report = made(SyntheticDemand("dirth", changes={"mid_points": 2, "qds": (32, 8, 2, 1)}))
    titles = [page.id for page in section_of(report).pages]
    assert [one for one in titles if one.startswith(("dirth-11", "dirth-12"))] == [
        "dirth-11.1",
        "dirth-12.1",
        "dirth-11.2",
        "dirth-12.2",
    ]
    assert all("n/a" not in said(report, one) for one in ("dirth-12.1", "dirth-12.2"))


@pytest.mark.proves("PTS-CBW-39", "PTS-CBW-58", "PTS-DIRTH-31", "PTS-DIRTH-50")
def test_the_histogram_reaches_to_its_largest_response_time(made: Make) -> None:
    report = made(SyntheticDemand("cbw"))
    drawn = figure(report, "Plot 13-13")
    largest_ms = 0.16
    assert drawn.x.domain[1] >= largest_ms
    assert drawn.series[0].label == "I/Os, MRT = 0.160 ms"
    counted = [cell.value for row in report.tables()[drawn.table_id].rows for cell in row.cells[:1]]
    assert sum(value for value in counted if value is not None) == 100_000 * 600


@pytest.mark.proves("PTS-CBW-11")
def test_the_shares_are_told_by_kind_and_part(made: Make) -> None:
    report = made(SyntheticDemand("cbw"))
    assert "distributions in 65 measurement periods hold" in said(report, "cbw-pattern")
    sizes = rows(report.tables()["cbw-pattern-sizes"])
    assert sizes["4 KiB"][:2] == ["67.00", "67.000"]
    assert sizes["0.5 KiB"][:2] == ["4.00", "4.000"]
    zones = rows(report.tables()["cbw-pattern-zones"])
    assert [(name, cells[0]) for name, cells in zones.items()] == [
        ("LBA Group A (0 to 5 %)", "50.00"),
        ("LBA Group B (5 to 20 %)", "30.00"),
        ("LBA Group C (20 to 100 %)", "20.00"),
    ]
    reads = rows(report.tables()["cbw-pattern-reads"])
    assert reads["Rounds"] == ["40", "40.000"]
    assert reads["Pre-writes of rounds"] == ["0", "0.000"]


def test_a_single_size_has_no_shares_to_check(made: Make) -> None:
    report = made(SyntheticDemand("dirth"))
    assert "dirth-pattern" not in [one.id for one in section_of(report).pages]


def restless(phase: Phase) -> Callable[[Phase, int], float]:
    return lambda of, number: 1.5 if of is phase and number % 2 else 1.0


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        pytest.param(SyntheticDemand("cbw", moved=0.01), ["cbw-pattern"], id="shares that are off"),
        pytest.param(SyntheticDemand("cbw", moved=None), ["cbw-pattern"], id="shares not counted"),
        # 9 steps of preconditioning, 5 rounds of 10 steps, then pre-write and histogram in turn
        pytest.param(SyntheticDemand("cbw"), ["cbw-10", "cbw-12", "cbw-14"], id="capture files"),
        pytest.param(
            SyntheticDemand("cbw", capture=CaptureReport("capture", files=1, lost="17 I/Os are in no file")),
            ["cbw-10"],
            id="a capture that lost some",
        ),
        pytest.param(SyntheticDemand("cbw", cpu=False), ["cbw-8"], id="no CPU figures"),
        pytest.param(
            SyntheticDemand("cbw", factor=restless(Phase.WDPC)), ["cbw-1"], id="preconditioning never steady"
        ),
        pytest.param(
            SyntheticDemand("dirth", factor=restless(Phase.ROUND)), ["dirth-4"], id="rounds never steady"
        ),
        pytest.param(
            SyntheticDemand("cbw", last_step=WDPC_STEPS + 5 * ROUND_STEPS + 1),
            ["cbw-10", "cbw-14"],
            id="a histogram not completed",
        ),
        pytest.param(
            SyntheticDemand("cbw", changes={"skipped_block_sizes_bytes": (512, 1536)}),
            ["cbw-5"],
            id="sizes that the device can't do",
        ),
    ],
)
def test_what_a_page_says(
    made: Make, snapshot: SnapshotAssertion, wanted: SyntheticDemand, pages: list[str]
) -> None:
    assert words(made(wanted), *pages) == snapshot


@pytest.mark.parametrize("test", ["cbw", "dirth"])
@pytest.mark.parametrize("state", [StepState.INTERRUPTED, StepState.FAILED])
@pytest.mark.parametrize(
    "last_step",
    [
        0,
        1,
        4,
        WDPC_STEPS,
        WDPC_STEPS + 1,
        WDPC_STEPS + 5,
        WDPC_STEPS + 2 * ROUND_STEPS,
        WDPC_STEPS + 5 * ROUND_STEPS,
        WDPC_STEPS + 5 * ROUND_STEPS + 1,
        WDPC_STEPS + 5 * ROUND_STEPS + 4,
    ],
)
def test_a_run_that_ended_anywhere_has_a_whole_report(
    made: Make, test: str, state: StepState, last_step: int
) -> None:
    report = made(SyntheticDemand(test, last_step=last_step, last_state=state))
    section = section_of(report)
    assert section.alerts[0].startswith(state.name)
    mandatory = [page.title for page in section.pages if page.mandatory]
    assert len(mandatory) == 16  # purge report and the 15 plots
    tables = report.tables()
    for drawn in report.figures():
        values = [cell.value for row in tables[drawn.table_id].rows for cell in row.cells]
        assert any(value is not None for value in values)
    if last_step < WDPC_STEPS + ROUND_STEPS:
        assert "no Round was completed" in " ".join(row.value for row in section.header.groups[3].rows)
        assert not any(drawn.kind == "bars" for drawn in report.figures())


def test_a_piece_of_a_minute_is_told_but_not_plotted(made: Make) -> None:
    """192.038 GB, a tenth of the capacity, take 491.257 s at 50,000 I/Os of 7,818.24 bytes a second."""
    report = made(SyntheticDemand("cbw", limit_iops=50_000))
    drawn = figure(report, "Plot 13-6")
    table = report.tables()[drawn.table_id]
    pieces = [cell for row in table.rows for cell in row.cells[:5] if cell.note]
    assert [cell.note for cell in pieces] == ["in 11.257 s"] * 5
    assert all(cell.value is None for cell in pieces)


def test_a_thread_count_has_one_colour_in_all_plots(made: Make) -> None:
    report = made(SyntheticDemand("dirth"))
    drawn = [figure(report, number) for number in ("Plot 14-7", "Plot 14-8", "Plot 14-9")]
    colors = [{series.label: series.color for series in one.series} for one in drawn]
    assert colors[0] == colors[1] == colors[2]
    assert set(colors[0]) == {"TC 1", "TC 4", "TC 32"}


@pytest.mark.proves("PTS-CBW-59", "PTS-DIRTH-51")
def test_each_toio_has_its_points_their_mean_and_their_range() -> None:
    report = build_report(made_up_run("cbw"), "2026-02-03T04:05:06Z")
    drawn = figure(report, "Plot 13-18")
    by_toio = rows(report.tables()[drawn.table_id])
    assert list(by_toio) == (
        [
            "1",
            "2",
            "4",
            "6",
            "8",
            "12",
            "16",
            "24",
            "32",
            "36",
            "48",
            "64",
            "96",
            "128",
            "192",
            "256",
            "512",
            "1,024",
        ]
    )
    # 32 = 32x1 = 16x2 = 8x4 = 4x8 = 2x16 = 1x32, 36 = 6x6, 48 = 8x6 = 6x8
    assert [by_toio[toio][0] for toio in ("1", "32", "36", "48", "1,024")] == ["1", "6", "1", "2", "1"]
    assert sum(int(cells[0]) for cells in by_toio.values()) == 49
    assert by_toio["8"][1:4] == ["8,000"] * 3
    mean, points = drawn.series
    assert (mean.style, mean.lines, points.style, points.lines) == ("bars", (1,), "range", (2, 3))


def test_each_round_s_pre_writes_have_a_colour(made: Make) -> None:
    drawn = figure(made(SyntheticDemand("cbw")), "Plot 13-6")
    assert [series.label for series in drawn.series] == [f"Round {number}" for number in range(1, 6)]
    assert len({series.color for series in drawn.series}) == 5


@pytest.mark.proves("PTS-CBW-58", "PTS-DIRTH-50", "PTS-DIRTH-53")
@pytest.mark.parametrize("test", ["cbw", "dirth"])
def test_a_histogram_states_its_figures_beside_its_bars(made: Make, test: str) -> None:
    told = said(made(SyntheticDemand(test)), f"{test}-10")
    assert "MRT 0.160 ms, ART 0.160 ms, 5 9s 0.160 ms, 100,000.0 IOPS" in told
    assert "N = 60,000,000" in told

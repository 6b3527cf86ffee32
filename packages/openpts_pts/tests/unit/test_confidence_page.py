"""Confidence level plots: what is drawn is what was counted, and no nine is claimed without its I/Os."""

import numpy as np
import pytest
from msgspec.structs import replace

from openpts.analysis.latency import ResponseTimes, response_times
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase
from openpts_pages.kit import PlotName
from openpts_pages.model import Cell, Figure, Page, Table, Verdict, points_of
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.shared.confidence_page import Applied, confidence_page
from openpts_pts.tests.unit.test_idle_recovery import MINUTE_NS, group
from openpts_pts.xsr import CrossStimulusConditions
from openpts_pts.xsr.report import CrossStimulusReport, analyze_cross_stimulus
from tests.support.interval_samples import step_of
from tests.support.made_up_run import made_up_run

NAME = PlotName("clp", "Plot 9-4", "Response Time Histogram")
LATENCIES = np.random.default_rng(8).lognormal(11, 0.9, 130_000).astype(int).tolist()


def times_of(count: int) -> ResponseTimes:
    return response_times([step_of([LATENCIES[:count]])])


def page_of(count: int, nines: int | None = None) -> Page:
    return confidence_page(times_of(count), Applied("RND 4 KiB RW0", "TC 1 / QD 1", nines), NAME)


def parts(page: Page) -> tuple[Figure, dict[str, Table], list[Verdict]]:
    (figure,) = [block for block in page.blocks if isinstance(block, Figure)]
    tables = {block.id: block for block in page.blocks if isinstance(block, Table)}
    return figure, tables, [block for block in page.blocks if isinstance(block, Verdict)]


def level(page: Page, item: str) -> tuple[Cell, ...]:
    _, tables, _ = parts(page)
    (row,) = [row for row in tables["clp-levels"].rows if row.head.text == item]
    return row.cells


@pytest.mark.proves("PTS-LAT-37", "PTS-WSAT-30")
def test_bars_hold_every_io_up_to_the_maximum_and_levels_are_their_sum() -> None:
    figure, tables, _ = parts(page_of(130_000))
    table = tables[figure.table_id]
    bars, levels = (points_of(series, table) for series in figure.series)
    assert sum(ios for _, ios in bars) == 130_000
    largest_ms = max(LATENCIES) / NS_PER_MS
    assert table.rows[-2].head.value < largest_ms <= table.rows[-1].head.value
    for edge_ms, level_pct in levels:
        share = 100 * sum(ns <= edge_ms * NS_PER_MS for ns in LATENCIES) / 130_000
        assert share - 0.1 <= level_pct <= share + 1e-9  # a bucket across the edge counts behind it
    assert (figure.y2 and figure.y2.scale, figure.x.scale) == ("nines", "log")
    assert all(level_pct < figure.y2.domain[1] for _, level_pct in levels)


@pytest.mark.proves("PTS-LAT-38", "PTS-WSAT-31")
def test_the_required_response_times_are_marked() -> None:
    figure, _, _ = parts(page_of(130_000))
    assert [rule.label.split()[0] for rule in figure.rules] == ["ART", "3", "4", "5", "MRT"]
    assert all(rule.axis == "x" for rule in figure.rules)
    assert figure.rules[0].value == pytest.approx(np.mean(LATENCIES) / NS_PER_MS)
    assert figure.rules[-1].value == max(LATENCIES) / NS_PER_MS


@pytest.mark.parametrize(("count", "note"), [(130_000, "low n, N = 130,000"), (99_999, "= MRT, N = 99,999")])
def test_five_nines_take_a_hundred_thousand_ios(count, note) -> None:
    value, share = level(page_of(count), "5 nines")
    assert value.note == note
    assert (share.text == "99.999") == (count >= 100_000)
    figure, _, _ = parts(page_of(count))
    assert any(rule.label.startswith("5 9s") for rule in figure.rules) == (count >= 100_000)


@pytest.mark.proves("PTS-LAT-19", "PTS-LAT-21", "PTS-LAT-39", "PTS-WSAT-22", "PTS-WSAT-32")
@pytest.mark.parametrize(("nines", "tone"), [(4, "pass"), (7, "fail")])
def test_nines_asked_for_are_told_with_their_ios(nines, tone) -> None:
    page = page_of(130_000, nines)
    told = [v for v in parts(page)[2] if "nines need" in v.text]
    assert [verdict.tone for verdict in told] == [tone]
    value, _ = level(page, f"{nines} nines")
    assert (value.text == "n/a") == (tone == "fail")


def test_a_histogram_that_never_began_says_so() -> None:
    page = confidence_page(None, Applied("RND 4 KiB RW0", "TC 1 / QD 1"), NAME)
    (sentence,) = page.blocks
    assert isinstance(sentence, Verdict)
    assert sentence.tone == "fail"
    assert page.mandatory


def test_a_transition_shows_ten_minutes_before_it_and_sixty_after_it() -> None:
    rates = ([500] * 100, [90] * 50, [100, 250, *[480] * 78])
    starts_ns = (0, 100 * MINUTE_NS, 150 * MINUTE_NS)
    groups = [group(start_ns, rate) for start_ns, rate in zip(starts_ns, rates, strict=True)]
    conditions = PTS["xsr"].standard_conditions(DriveClass.ENTERPRISE, 1)
    assert isinstance(conditions, CrossStimulusConditions)
    results = analyze_cross_stimulus(groups, MINUTE_NS)
    page = CrossStimulusReport(conditions, groups, results).transition(2)
    (figure,) = (block for block in page.blocks if isinstance(block, Figure))
    (table,) = (block for block in page.blocks if isinstance(block, Table))
    intervals, minutes = figure.series
    expected = [(n - 9.5, 90.0) for n in range(10)] + [(0.5, 100.0), (1.5, 250.0)]
    expected += [(n + 0.5, 480.0) for n in range(2, 60)]
    for series in (intervals, minutes):  # its intervals are minutes
        points = points_of(series, table)
        assert [x for x, _ in points] == pytest.approx([x for x, _ in expected])
        assert [y for _, y in points] == pytest.approx([y for _, y in expected])
    assert figure.x.domain == (-10, 60)
    # 95 % of group 1's 500 MB/s are first reached in the third minute
    (mark,) = figure.marks
    assert (mark.x, mark.y) == pytest.approx((3, 475))


REPORT_DATE = "2026-02-03T04:05:06Z"


@pytest.mark.proves("PTS-HIR-26")
def test_the_baseline_is_the_average_of_the_window_wherever_it_stands() -> None:
    """The last tracked minute took 3 s longer for its I/Os: pooled, it would weigh more than the others."""
    run = made_up_run("hir")
    last = run.phase(Phase.WDPC)[-1]
    slower = replace(last.sample, elapsed_ns=last.sample.elapsed_ns * 21 // 20)
    steps = tuple(replace(step, sample=slower) if step is last else step for step in run.steps)
    run = replace(run, steps=steps)
    figures = summarize(run)
    tracked = figures["steady_state"]["tracked_iops"]
    baseline = sum(tracked) / len(tracked)
    assert len(tracked) == 5
    assert figures["baseline"]["iops"] == pytest.approx(baseline, rel=1e-12)
    report = build_report(run, REPORT_DATE)
    tables = report.tables()
    data = {row.head.text: row.cells for row in tables["hir-2-data"].rows}
    window = data["Measurement Window"][2].value
    over_time = [figure for figure in report.figures() if figure.y.title == "IOPS"]
    rules = {rule.value for figure in over_time for rule in figure.rules if rule.label == "Baseline"}
    secondary = tables["hir-4-values"].rows[0].cells[0].value
    assert len(rules) == 1
    assert [window, secondary, *rules] == pytest.approx([baseline] * 3, rel=1e-12)


def test_starts_of_tracked_minutes_are_those_of_the_record() -> None:
    """The steps come a quarter of a second later each, as after answers that were late."""
    run = made_up_run("hir")
    late_ns = {step: place * NS_PER_S // 4 for place, step in enumerate(run.phase(Phase.WDPC))}
    steps = tuple(
        replace(step, sample=replace(step.sample, started_ns=step.sample.started_ns + late_ns.get(step, 0)))
        for step in run.steps
    )
    rows = build_report(replace(run, steps=steps), REPORT_DATE).tables()["hir-1-rounds"].rows
    (starts,) = (row.cells for row in rows if row.head.text.startswith("Start ("))
    assert [cell.text for cell in starts] == ["0.000", "1,800.500", "3,601.000", "5,401.500", "7,202.000"]

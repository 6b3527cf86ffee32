"""The report of host idle recovery: what it holds its wait states against."""

import pytest
from msgspec.structs import replace

from openpts.report.build import build_report
from openpts.report.summary import summarize
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import Phase
from tests.support.made_up_run import made_up_run

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

"""The lifetime report of a drive whose log goes on as NVMe's does, in whole per cent."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import pytest
from msgspec.structs import replace as with_fields

from openpts.pages.model import Report, Verdict
from openpts.record.manifest import RunState
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarise
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run

DATE = "2026-02-03T04:05:06Z"


def run_of(log: list[Mapping[str, float]] | None, cycles: int = 30) -> Run:
    """``log`` None: one that grows by 0.7 % of the life a cycle, told in whole per cent, at a WAF of 1.5."""
    reads = count()

    def health(_phase: Phase, _number: int) -> HealthReading:
        done = next(reads)
        if log is not None:
            return HealthReading("a log", log[min(done, len(log) - 1)])
        return HealthReading(
            "a log",
            {
                "percentage_used_pct": float(int(10 + 0.7 * done)),
                "available_spare_pct": 100.0,
                "media_errors": 0.0,
                "host_write_bytes": float(done * CAPACITY_BYTES),
                "nand_write_bytes": 1.5 * done * CAPACITY_BYTES,
            },
        )

    def rate(stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return 8000 if stimulus.operations.write else 16_000

    return made_up_run(
        "lifetime", rate=rate, health=health, adjust=lambda c: with_fields(c, drive_cycles=cycles)
    )


def verdicts(report: Report, page_id: str) -> list[str]:
    (page,) = [page for page in report.pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


@pytest.fixture(scope="module")
def worn() -> Run:
    return run_of(None)


def test_speeds_and_times_of_a_cycle(worn: Run) -> None:
    figures = summarise(worn)
    first = figures["cycles"][0]
    assert first["write_bytes_per_s"] == pytest.approx(8000 * 131_072)
    assert first["read_bytes_per_s"] == pytest.approx(16_000 * 131_072)
    assert first["write_s"] == pytest.approx(CAPACITY_BYTES / (8000 * 131_072))
    assert figures["write_amplification"] == pytest.approx(1.5)
    assert (figures["whole_cycles"], figures["io_errors"], figures["compared"]) == (30, 0, True)


def test_rows_are_five_per_cent_of_wear(worn: Run) -> None:
    rows = build_report(worn, DATE).tables()["lifetime-stretches-table"].rows
    # used before cycle n: int(10 + 0.7 (n - 1)) %, so 15 from cycle 9 on, 20 from 16, 25 from 23, 30 from 30
    assert [row.head.text for row in rows] == ["1 - 8", "9 - 15", "16 - 22", "23 - 29", "30"]
    assert [row.cells[8].value for row in rows] == pytest.approx([1.5] * 5)


def test_the_forecast_is_an_interval_in_words_and_in_the_figure(worn: Run) -> None:
    forecast = summarise(worn)["rated_life_used_after_cycles"]
    # 90 % at 0.7 % a cycle, and the log is rounded down: half a per cent later
    assert forecast["likely"] == pytest.approx((90 + 0.5) / 0.7, rel=0.01)
    assert forecast["earliest"] < forecast["likely"] < forecast["latest"]
    report = build_report(worn, DATE)
    (text,) = verdicts(report, "lifetime-forecast")
    assert f"95 % interval {forecast['earliest']:.0f} to {forecast['latest']:.0f}" in text
    figure = next(f for f in report.figures() if f.id == "lifetime-forecast-plot")
    assert [series.label for series in figure.series if "interval" in series.label] == [
        "95 % interval, upper end",
        "95 % interval, lower end",
    ]


def test_a_log_too_coarse_for_a_handful_leaves_no_upper_end() -> None:
    steps = [{"percentage_used_pct": float(used)} for used in (3, 3, 3, 4, 4, 3)]
    (text,) = verdicts(build_report(run_of(steps, 5), DATE), "lifetime-forecast")
    assert "to no upper end)" in text


def test_a_log_that_stands_still_has_no_forecast() -> None:
    (text,) = verdicts(build_report(run_of([{"percentage_used_pct": 3.0}], 5), DATE), "lifetime-forecast")
    assert text == "Rated life: 3 % used after 5 cycles; no forecast (the wear did not rise)."


def test_a_drive_without_a_log_has_speeds_all_the_same() -> None:
    report = build_report(run_of([{}], 5), DATE)
    course = verdicts(report, "lifetime-course")
    assert course[1].startswith(
        "I/Os that failed or returned other data than was written: 0; media errors counted by the drive: not"
    )
    assert course[2] == "Wear and spare: not reported (the drive's log does not report them)."
    assert (
        "n/a (the drive's log does not report the share of the rated life)"
        in verdicts(report, "lifetime-forecast")[0]
    )
    assert {figure.id for figure in report.figures()} == {
        "lifetime-write",
        "lifetime-read",
        "lifetime-seconds",
    }


def test_a_run_that_broke_off_says_so(worn: Run) -> None:
    nothing = replace(worn, steps=(), health=(), manifest=replace(worn.manifest, cycles=()))
    report = build_report(nothing, DATE)
    assert verdicts(report, "lifetime-course") == [
        "MB/s, Seconds per Cycle and Wear v Full Drive Cycles: n/a (no cycle was begun)."
    ]
    manifest = replace(worn.manifest, cycles=(), state=RunState.INTERRUPTED, state_reason="Ctrl-C")
    phase = replace(worn, steps=worn.steps[:9], manifest=manifest)
    ended = verdicts(build_report(phase, DATE), "lifetime-course")[0]
    assert ended.startswith("4 whole drive cycles, 1.37 TB written in ")
    assert ended.endswith("The run was interrupted before its end: Ctrl-C.")

"""The thermal report of drives whose log tells temperatures and counters, as an NVMe drive's does."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from msgspec.structs import replace as with_fields

from openpts.pages.model import Report, Verdict
from openpts.procedures.extended.thermal.script import COLD
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.summary import summarise
from openpts.units import KIB
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.stimulus import Stimulus
from tests.support.made_up_run import made_up_run

DATE = "2026-02-03T04:05:06Z"
SPEED = 10_000 * 128 * KIB

Values = Callable[[Phase, int, int], Mapping[str, float]]
"""What the log says by part, number, and how often it was read there before."""


def run_of(values: Values) -> Run:
    read: dict[tuple[Phase, int], int] = {}

    def health(phase: Phase, number: int) -> HealthReading:
        before = read.get((phase, number), 0)
        read[phase, number] = before + 1
        return HealthReading("NVMe log page 02h", values(phase, number, before))

    def rate(_stimulus: Stimulus, _phase: Phase, _number: int) -> float:
        return 10_000

    return made_up_run("thermal", rate=rate, health=health)


def counting(phase: Phase, number: int, before: int) -> Mapping[str, float]:
    """The cold run warms the drive by 2 K a minute; it throttles for 30 s of each from the fourth on."""
    if (phase, number) == (Phase.LOAD, COLD):
        return {
            "temperature_c": 40.0 + 2 * before,
            "throttled_s": float(max(0, before - 3) * 30),
            "warning_limit_c": 60.0,
        }
    return {"temperature_c": 40.0, "throttled_s": 0.0}


def verdicts(report: Report, page_id: str) -> list[str]:
    (page,) = [page for page in report.pages() if page.id == page_id]
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


@pytest.fixture(scope="module")
def throttled() -> Run:
    return run_of(counting)


def test_a_counter_that_rises_is_the_drives_own_word(throttled: Run) -> None:
    cold = summarise(throttled)["loads"]["cold_run"]
    assert cold["evidence"] == "drive"
    assert cold["first_throttle_s"] == 180
    assert cold["written_before_throttle_bytes"] == 180 * SPEED
    # three minutes before it, and six until the run ended
    assert cold["throttled_share"] == pytest.approx(6 / 9)
    assert cold["before_bytes_per_s"] == cold["throttled_bytes_per_s"] == SPEED
    assert (cold["temperature_at_start_c"], cold["highest_temperature_c"]) == (40, 58)


def test_throttling_that_cost_nothing_is_said_to(throttled: Run) -> None:
    cold, warm, rule = verdicts(build_report(throttled, DATE), "thermal-course")
    assert cold.startswith(
        "Cold run: throttled, as the drive reports. It began after 3 min 0 s and 235.9 GB; "
        "66.7 % of the time with I/O was throttled, which cost no speed "
        "(1,311 MB/s before, 1,311 MB/s throttled)"
    )
    assert warm == "Warm run: no throttling seen in 30 min 0 s; highest temperature 40 °C."
    assert rule.startswith("Rule: the drive's own report decides")


def test_what_the_log_counted_stands_beside_it(throttled: Run) -> None:
    report = build_report(throttled, DATE)
    rows = {row.head.text: row.cells for row in report.tables()["thermal-results-runs"].rows}
    counted = rows["Time throttled, counted by the drive (s)"]
    assert [cell.value for cell in counted] == [180, 0, 0]
    assert [cell.note for cell in rows["Throttle events counted by the drive"]] == ["not in the log"] * 3
    rules = next(f for f in report.figures() if f.id == "thermal-course-temperature").rules
    assert [rule.value for rule in rules] == [60]


@pytest.mark.parametrize(("phase", "pages"), [(Phase.LOAD, 5), (Phase.REST, 5)])
def test_a_run_that_broke_off_says_what_was_not_measured(throttled: Run, phase: Phase, pages: int) -> None:
    """Cut before the first step of the part."""
    first = next(n for n, step in enumerate(throttled.steps) if step.place.phase is phase)
    manifest = replace(throttled.manifest, cycles=())
    report = build_report(replace(throttled, steps=throttled.steps[:first], manifest=manifest), DATE)
    (section,) = report.sections
    assert len(section.pages) == pages
    assert "n/a (no run was measured)" in verdicts(report, "thermal-course")[0]
    assert "n/a (it was not measured)" in verdicts(report, "thermal-duty")[0]
    figures: dict[str, Any] = summarise(replace(throttled, steps=()))
    assert set(figures["loads"].values()) == {None}


def test_the_idle_time_of_a_duty_cycle_has_no_speed(throttled: Run) -> None:
    rows = build_report(throttled, DATE).tables()["thermal-duty-speed-values"].rows
    rates = [row.cells[0].value for row in rows]
    assert rates[:4] == [pytest.approx(SPEED / 1e6), 0, 0, pytest.approx(SPEED / 1e6)]
    # from the end of the first minute of writes to the end of two minutes without
    assert [row.head.value for row in rows[:4]] == pytest.approx([1, 1, 3, 4])


def test_what_the_operator_states_can_do_nothing() -> None:
    """Cooling is any text: a terminal's escape, a line break, a direction of writing are written out."""
    hostile = "fan\x1b[31m\n\u202e<b>"
    run = made_up_run("thermal", adjust=lambda conditions: with_fields(conditions, airflow=hostile))
    report = build_report(run, DATE)
    texts = [cell.text for table in report.tables().values() for row in table.rows for cell in row.cells]
    texts += [row.value for group in report.sections[0].header.groups for row in group.rows]
    assert sum(text == r"fan\x1b[31m\n\u202e<b>" for text in texts) >= 3
    assert not any("\x1b" in text or "\u202e" in text for text in texts)

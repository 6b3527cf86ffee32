"""What the reports of the lifetime and thermal tests tell."""

import pytest
from msgspec.structs import replace as with_fields

from openpts.record.reader import Run, in_visible_texts
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.units import KIB
from openpts_practice.tests.unit.report.known_drives import counting, thermal_run, wearing_run
from tests.support.made_up_run import CAPACITY_BYTES, made_up_run

DATE = "2026-02-03T04:05:06Z"


@pytest.fixture(scope="module")
def worn() -> Run:
    return wearing_run(None)


@pytest.mark.proves("HYP-LIFE-04")
def test_speeds_and_times_of_a_cycle(worn) -> None:
    figures = summarize(worn)
    first = figures["cycles"][0]
    assert first["write_bytes_per_s"] == pytest.approx(8000 * 131_072)
    assert first["read_bytes_per_s"] == pytest.approx(16_000 * 131_072)
    assert first["write_s"] == pytest.approx(CAPACITY_BYTES / (8000 * 131_072))
    assert figures["write_amplification"] == pytest.approx(1.5)
    assert (figures["whole_cycles"], figures["io_errors"], figures["compared"]) == (30, 0, True)


def test_the_forecast_is_an_interval(worn) -> None:
    forecast = summarize(worn)["rated_life_used_after_cycles"]
    # 90 % at 0.7 % a cycle, and the log is rounded down: half a per cent later
    assert forecast["likely"] == pytest.approx((90 + 0.5) / 0.7, rel=0.01)
    assert forecast["earliest"] < forecast["likely"] < forecast["latest"]


SPEED = 10_000 * 128 * KIB


@pytest.fixture(scope="module")
def throttled() -> Run:
    return thermal_run(counting)


def test_a_counter_that_rises_is_the_drives_own_word(throttled) -> None:
    cold = summarize(throttled)["loads"]["cold_run"]
    assert cold["evidence"] == "drive"
    assert cold["first_throttle_s"] == 180
    assert cold["written_before_throttle_bytes"] == 180 * SPEED
    # three minutes before it, and six until the run ended
    assert cold["throttled_share"] == pytest.approx(6 / 9)
    assert cold["before_bytes_per_s"] == cold["throttled_bytes_per_s"] == SPEED
    assert (cold["temperature_at_start_c"], cold["highest_temperature_c"]) == (40, 58)


def test_what_the_operator_states_can_do_nothing() -> None:
    """Cooling is any text: a terminal's escape, a line break, a direction of writing are written out."""
    hostile = "fan\x1b[31m\n\u202e<b>"
    run = in_visible_texts(
        made_up_run("thermal", adjust=lambda conditions: with_fields(conditions, airflow=hostile))
    )
    report = build_report(run, DATE)
    texts = [cell.text for table in report.tables().values() for row in table.rows for cell in row.cells]
    texts += [row.value for group in report.sections[0].header.groups for row in group.rows]
    assert sum(text == r"fan\x1b[31m\n\u202e<b>" for text in texts) >= 3
    assert not any("\x1b" in text or "\u202e" in text for text in texts)

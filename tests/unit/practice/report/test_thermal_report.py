"""The thermal report of drives whose log tells temperatures and counters, as an NVMe drive's does."""

import pytest
from msgspec.structs import replace as with_fields

from openpts.record.reader import Run, in_visible_texts
from openpts.report.build import build_report
from openpts.report.summary import summarize
from openpts.units import KIB
from tests.support.made_up_run import made_up_run
from tests.unit.practice.report.known_drives import counting, thermal_run

DATE = "2026-02-03T04:05:06Z"
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

"""Device health and conditions of a run: what is known is told, what is not is said to be so."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as with_changes

from openpts.pages.model import Verdict
from openpts.record.health import HealthRecord, Occasion
from openpts.record.reader import Run
from openpts.report.health_page import health_alerts, health_page
from openpts.report.host_page import host_page
from openpts.report.run_conditions_page import run_conditions_page
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import CpuShares
from tests.support.page_blocks import NO_SETTINGS, rows, tables, texts, verdicts, with_host


def with_health(run: Run, before: dict[str, float], after: dict[str, float] | None) -> Run:
    def record(occasion: Occasion, values: dict[str, float]) -> HealthRecord:
        reading = HealthReading("a log", values)
        return HealthRecord(occasion, 0, None, None, "2026-01-01T00:00:00.000+00:00", None, reading)

    last = () if after is None else (record(Occasion.AFTER, after),)
    return replace(run, health=(record(Occasion.BEFORE, before), *last))


BEFORE: dict[str, float] = {
    "temperature_c": 30,
    "host_write_bytes": 5e12,
    "host_read_bytes": 1e12,
    "nand_write_bytes": 6e12,
    "media_errors": 1,
    "percentage_used_pct": 3,
    "unsafe_shutdowns": 4,
    "power_cycles": 9,
}
AFTER = BEFORE | {
    "temperature_c": 55,
    "host_write_bytes": 7e12,
    "nand_write_bytes": 11e12,
    "percentage_used_pct": 4,
}


def test_a_record_without_readings_says_so(bare: Run) -> None:
    assert verdicts(health_page(bare)) == ["not reported (the record holds no reading of the device's log)."]
    assert health_alerts(bare) == ()


def test_a_log_that_nobody_can_read_gives_its_reason(bare: Run) -> None:
    assert verdicts(health_page(with_health(bare, {}, {}))) == ["not reported (a log)."]


def test_the_difference_of_two_readings_is_what_the_run_did(bare: Run) -> None:
    page = health_page(with_health(bare, BEFORE, AFTER))
    log = rows(tables(page)["device-health"])
    assert texts(log["Host written (GB)"]) == ["5,000.0", "7,000.0", "+2,000.0"]
    assert texts(log["Temperature (°C)"]) == ["30", "55", "+25"]
    assert texts(log["Media and data integrity errors"]) == ["1", "1", "0"]
    summary = rows(tables(page)["device-health-summary"])
    assert texts(summary["Host wrote"]) == ["2,000.0 GB"]
    assert texts(summary["Host read"]) == ["0.0 GB"]
    assert texts(summary["Written to the media"]) == ["5,000.0 GB"]
    # 5 TB to the media for the 2 TB of the host
    assert texts(summary["Write amplification (WAF)"]) == ["2.50"]
    assert texts(summary["Rated life used by this run"]) == ["1 %"]
    assert verdicts(page) == [
        "The device's log counted no error and no reset during the run; it does not count throttling."
    ]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (
            "media_errors power_cycles throttle_events",
            "counted no error, no reset and no throttling during the run",
        ),
        ("grown_defects", "counted no error during the run; it does not count resets or throttling"),
        ("temperature_c", "does not count errors, resets or throttling"),
    ],
)
def test_what_a_log_does_not_count_did_not_fail_to_happen(names: str, text: str, bare: Run) -> None:
    values = dict.fromkeys(names.split(), 0.0)
    assert verdicts(health_page(with_health(bare, values, values))) == [f"The device's log {text}."]


def test_a_spare_of_0_with_a_threshold_of_0_is_no_alarm(bare: Run) -> None:
    # drives without spare blocks say so, emulated ones too; the drive itself judges by its critical warning
    spare = {"available_spare_pct": 0.0, "available_spare_threshold_pct": 0.0, "critical_warning": 0.0}
    assert health_alerts(with_health(bare, BEFORE | spare, AFTER | spare)) == ()


def test_no_write_amplification_without_writes_or_without_a_count_of_the_media(bare: Run) -> None:
    nothing_written = BEFORE | {"nand_write_bytes": 7e12}
    no_count = {name: value for name, value in AFTER.items() if name != "nand_write_bytes"}
    for after in (nothing_written, no_count):
        summary = rows(tables(health_page(with_health(bare, BEFORE, after)))["device-health-summary"])
        assert texts(summary["Write amplification (WAF)"]) == ["not reported"]


@pytest.mark.parametrize(
    ("changed", "alert"),
    [
        ({"media_errors": 2}, "device health: 1 media error during the run"),
        ({"media_errors": 1235}, "device health: 1,234 media errors during the run"),
        ({"unsafe_shutdowns": 5}, "device health: 1 unsafe shutdown during the run"),
        ({"power_cycles": 11}, "device health: 2 power cycles during the run"),
        ({"critical_warning": 4}, "device health: critical warning of the drive's log set"),
        ({"read_only": 1}, "device health: drive is read-only"),
        ({"failure_foretold": 1}, "device health: the drive predicts its own failure"),
    ],
)
def test_an_error_or_a_reset_is_a_red_line(changed: dict[str, float], alert: str, bare: Run) -> None:
    run = with_health(bare, BEFORE, AFTER | changed)
    assert health_alerts(run) == (alert,)
    (shown,) = (block for block in health_page(run).blocks if isinstance(block, Verdict))
    assert (shown.text.lower(), shown.tone) == (f"{alert}.".lower(), "fail")


def test_throttling_is_a_red_line(bare: Run) -> None:
    run = with_health(bare, BEFORE | {"throttle_events": 0}, AFTER | {"throttle_events": 3})
    assert health_alerts(run) == ("device health: 3 times throttled by heat during the run",)


def test_errors_of_the_link_are_a_red_line_those_of_before_are_none(bare: Run) -> None:
    run = with_host(
        bare,
        {"aer": "correctable 2, nonfatal 1, fatal 0"},
        {"aer": "correctable 5, nonfatal 1, fatal 1"},
    )
    assert health_alerts(run) == (
        "PCIe link: 3 correctable errors during the run",
        "PCIe link: 1 fatal error during the run",
    )


def test_a_counter_that_goes_back_has_no_difference(bare: Run) -> None:
    page = health_page(with_health(bare, BEFORE, AFTER | {"host_write_bytes": 1e12}))
    cell = rows(tables(page)["device-health"])["Host written (GB)"].cells[2]
    assert (cell.text, cell.note) == ("n/a", "the counter decreased")
    assert texts(rows(tables(page)["device-health-summary"])["Host wrote"]) == ["not reported"]


def test_a_run_that_was_killed_has_no_second_reading(bare: Run) -> None:
    page = health_page(with_health(bare, BEFORE, None))
    assert verdicts(page) == ["not reported (the log was not read after the run)."]
    assert texts(rows(tables(page)["device-health"])["Power cycles"]) == ["9", "not reported", "n/a"]


def test_a_drive_that_has_gone_is_not_said_to_be_well(bare: Run) -> None:
    page = health_page(with_health(bare, BEFORE, {}))
    assert verdicts(page) == ["not reported (the log after the run: a log)."]
    run = with_health(bare, {}, AFTER)
    assert verdicts(health_page(run)) == ["not reported (the log before the run: a log)."]


def test_gaps_of_each_part_with_median_and_longest(bare: Run) -> None:
    gaps_ms = {Phase.ACCESS_GROUP: [1, 2, 9]}
    steps = []
    for number, step in enumerate(bare.steps):
        gap_ns = None if number == 0 else 10**6 * gaps_ms[Phase.ACCESS_GROUP][(number - 1) % 3]
        steps.append(replace(step, sample=with_changes(step.sample, gap_ns=gap_ns)))
    run = replace(bare, steps=tuple(steps[:4]))
    page = run_conditions_page(run)
    (row,) = tables(page)["run-conditions-gaps"].rows
    assert row.head.text == "Access group"
    assert [cell.value for cell in row.cells[:3]] == [3, 2.0, 9.0]
    assert str(steps[3].place) in row.cells[3].text
    assert verdicts(page)[1].startswith("Longest gap without I/O: 9.0")


def test_processor_time_is_weighed_by_the_steps_lengths(bare: Run) -> None:
    long, short = bare.steps[0], bare.steps[1]
    seconds = 10**9
    run = replace(
        bare,
        steps=(
            replace(
                long,
                sample=with_changes(long.sample, elapsed_ns=3 * seconds, cpu=CpuShares(10, 20, 0, seconds)),
            ),
            replace(
                short,
                sample=with_changes(short.sample, elapsed_ns=seconds, cpu=CpuShares(50, 60, 8, seconds)),
            ),
        ),
    )
    whole = rows(tables(run_conditions_page(run))["run-conditions-cpu"])["Whole run"]
    # user (3 x 10 + 50) / 4, sys (3 x 20 + 60) / 4 and 60, I/O wait 8 / 4 and 8, 2 s of 4 s
    assert [cell.value for cell in whole.cells] == pytest.approx([20, 30, 60, 2, 8, 0.5])


def test_a_run_without_anything_beside_its_steps_says_so(bare: Run) -> None:
    run = replace(bare, steps=())
    assert verdicts(run_conditions_page(run)) == [
        NO_SETTINGS,
        "Gaps between steps: n/a (no step followed another).",
        "Processor time: n/a (not reported by the engine).",
        "Telemetry: not reported (nothing was sampled beside the I/O).",
    ]


def test_what_an_earlier_run_had_left_behind_is_said(bare: Run) -> None:
    manifest = replace(bare.manifest, healed=("the write cache of /dev/sda is WCE again",))
    page = run_conditions_page(replace(bare, manifest=manifest))
    assert "Before the run: the write cache of /dev/sda is WCE again." in verdicts(page)


def test_the_pages_do_not_depend_on_the_folder(bare: Run) -> None:
    moved = replace(bare, folder=Path("elsewhere"))
    for page_of in (host_page, health_page, run_conditions_page):
        assert page_of(moved) == page_of(bare)


def test_wear_counted_in_whole_per_cents_is_not_said_more_exactly(bare: Run) -> None:
    def worn(before: float, after: float) -> str:
        page = health_page(with_health(bare, {"percentage_used_pct": before}, {"percentage_used_pct": after}))
        (table,) = [block for block in page.blocks if getattr(block, "id", "") == "device-health-summary"]
        (row,) = [row for row in table.rows if row.head.text == "Rated life used by this run"]
        return row.cells[0].text

    assert worn(3, 3) == "unchanged (counted in whole per cents)"
    assert worn(3, 5) == "2 %"
    assert worn(0.25, 0.5) == "0.25 %"

"""Device health and conditions of a run: what is known is told, what is not is said to be so."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from openpts.pages.model import Verdict
from openpts.record.health import HealthRecord, ReadingPoint
from openpts.record.reader import Run
from openpts.report.health_page import health_alerts, health_page
from openpts.report.host_page import host_page
from openpts.report.run_conditions_page import run_conditions_page
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import CpuShares
from tests.support.page_blocks import rows, tables, verdicts, with_host
from tests.support.page_transcript import lines_of


def with_health(run: Run, before: dict[str, float], after: dict[str, float] | None) -> Run:
    def record(occasion: ReadingPoint, values: dict[str, float]) -> HealthRecord:
        reading = HealthReading("a log", values)
        return HealthRecord(occasion, 0, None, None, "2026-01-01T00:00:00.000+00:00", None, reading)

    last = () if after is None else (record(ReadingPoint.AFTER, after),)
    return replace(run, health=(record(ReadingPoint.BEFORE, before), *last))


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


def used(pct: float) -> dict[str, float]:
    return {"percentage_used_pct": pct}


LOGS: dict[str, tuple[dict[str, float], dict[str, float] | None]] = {
    "not readable": ({}, {}),
    # 5 TB to the media for the 2 TB of the host: a write amplification of 2.5
    "two readings": (BEFORE, AFTER),
    "no reading after the run": (BEFORE, None),
    "gone after the run": (BEFORE, {}),
    "not readable before the run": ({}, AFTER),
    "nothing written": (BEFORE, BEFORE | {"nand_write_bytes": 7e12}),
    "no count of the media": (BEFORE, {k: v for k, v in AFTER.items() if k != "nand_write_bytes"}),
    "a counter that decreased": (BEFORE, AFTER | {"host_write_bytes": 1e12}),
    "errors, resets and throttling counted": ({"media_errors": 0, "power_cycles": 0, "throttle_events": 0},)
    * 2,
    "only defects counted": ({"grown_defects": 0},) * 2,
    "nothing counted": ({"temperature_c": 0},) * 2,
    # counted in whole per cents, and not told more exactly
    "wear unchanged": (used(3), used(3)),
    "wear of 2 %": (used(3), used(5)),
    "wear of a quarter": (used(0.25), used(0.5)),
}


@pytest.mark.parametrize("case", LOGS)
def test_what_is_told_of_a_log(case: str, bare: Run, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(lines_of(health_page(with_health(bare, *LOGS[case])))) == snapshot


def test_without_anything_beside_the_steps_each_page_says_so(bare: Run, snapshot: SnapshotAssertion) -> None:
    assert health_alerts(bare) == ()
    manifest = replace(bare.manifest, healed=("the write cache of /dev/sda is WCE again",))
    run = replace(bare, steps=(), manifest=manifest)
    pages = (health_page(run), run_conditions_page(run))
    assert "\n".join(line for page in pages for line in lines_of(page)) == snapshot


def test_a_spare_of_0_with_a_threshold_of_0_is_no_alarm(bare: Run) -> None:
    # drives without spare blocks say so, emulated ones too; the drive itself judges by its critical warning
    spare = {"available_spare_pct": 0.0, "available_spare_threshold_pct": 0.0, "critical_warning": 0.0}
    assert health_alerts(with_health(bare, BEFORE | spare, AFTER | spare)) == ()


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
        bare, {"aer": "correctable 2, nonfatal 1, fatal 0"}, {"aer": "correctable 5, nonfatal 1, fatal 1"}
    )
    assert health_alerts(run) == (
        "PCIe link: 3 correctable errors during the run",
        "PCIe link: 1 fatal error during the run",
    )


def test_gaps_of_each_part_with_median_and_longest(bare: Run) -> None:
    gaps_ms = {Phase.ACCESS_GROUP: [1, 2, 9]}
    steps = []
    for number, step in enumerate(bare.steps):
        gap_ns = None if number == 0 else 10**6 * gaps_ms[Phase.ACCESS_GROUP][(number - 1) % 3]
        steps.append(replace(step, sample=replace(step.sample, gap_ns=gap_ns)))
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
                long, sample=replace(long.sample, elapsed_ns=3 * seconds, cpu=CpuShares(10, 20, 0, seconds))
            ),
            replace(
                short, sample=replace(short.sample, elapsed_ns=seconds, cpu=CpuShares(50, 60, 8, seconds))
            ),
        ),
    )
    whole = rows(tables(run_conditions_page(run))["run-conditions-cpu"])["Whole run"]
    # user (3 x 10 + 50) / 4, sys (3 x 20 + 60) / 4 and 60, I/O wait 8 / 4 and 8, 2 s of 4 s
    assert [cell.value for cell in whole.cells] == pytest.approx([20, 30, 60, 2, 8, 0.5])


def test_the_pages_do_not_depend_on_the_folder(bare: Run) -> None:
    moved = replace(bare, folder=Path("elsewhere"))
    for page_of in (host_page, health_page, run_conditions_page):
        assert page_of(moved) == page_of(bare)

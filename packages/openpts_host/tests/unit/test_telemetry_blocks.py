"""What the conditions page makes of values that were stored when they changed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.procedures.kit.header import purge_method
from openpts.record.health import HealthRecord, ReadingPoint, TelemetryPoint, TelemetrySeries
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_conditions_page import run_conditions_page
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, HealthReading, PurgeAttempt
from openpts.vocabulary.sample import CpuShares, Phase
from openpts_drives.health.health_page import health_alerts, health_page
from openpts_host.host_page import host_page
from openpts_host.telemetry_blocks import (
    mean_over_time,
    quantity,
    rows_of_time,
    telemetry_blocks,
    telemetry_page,
    value_at,
)
from openpts_pages.model import Block, Figure, Table, Verdict, points_of
from tests.support.made_up_run import made_up_run
from tests.support.page_blocks import rows, tables, verdicts, with_host
from tests.support.page_transcript import lines_of, transcript_of
from tests.support.synthetic_run import purge_report


def start_ns(run: Run) -> int:
    return run.steps[0].sample.started_ns


def end_ns(run: Run) -> int:
    return max(step.sample.started_ns + step.sample.elapsed_ns for step in run.steps)


def blocks(run: Run, **values: list[tuple[float, float]]) -> tuple[Block, ...]:
    """With values by name at seconds from the start of the run."""
    sampled = tuple(
        TelemetryPoint(start_ns(run) + round(at_s * NS_PER_S), name, value)
        for name, series in values.items()
        for at_s, value in series
    )
    return telemetry_blocks(replace(run, sampled=sampled))


def table(found: tuple[Block, ...], name: str) -> Table:
    (one,) = (block for block in found if isinstance(block, Table) and block.id == f"run-conditions-{name}")
    return one


def figures(found: tuple[Block, ...]) -> dict[str, Figure]:
    return {block.number: block for block in found if isinstance(block, Figure)}


def sentences(found: tuple[Block, ...]) -> dict[str, str]:
    return {block.text: block.tone for block in found if isinstance(block, Verdict)}


def test_names_become_words_with_their_unit(golden) -> None:
    names = (
        *("temperature_c", "temperature_sensor_1_c", "cpu_engine_busy_pct", "cpu_all_lowest_clock_mhz"),
        *("others_read_bytes_per_s", "others_ios_per_s", "interrupts_per_s", "power_package_0_dram_w"),
        *("link_gt_per_s", "link_width", "aer_port_fatal_errors", "something new"),
    )
    assert {name: quantity(name).heading for name in names} == golden


def test_the_mean_counts_each_value_for_as_long_as_it_held() -> None:
    assert mean_over_time(TelemetrySeries((0, 90, 100), (10.0, 20.0, 20.0))) == pytest.approx(
        (90 * 10 + 20 * 20) / 110
    )
    assert mean_over_time(TelemetrySeries((0, 1, 2), (1.0, 2.0, 6.0))) == 3
    assert mean_over_time(TelemetrySeries((5,), (7.0,))) == 7


def test_rows_without_a_stored_value_have_the_one_that_held_unless_it_is_too_old() -> None:
    second = NS_PER_S
    series = TelemetrySeries((0, 3 * second, 2000 * second), (1.0, 5.0, 9.0))
    found = dict(rows_of_time(series, 0, second))
    assert [list(found[number]) for number in range(5)] == [[1], [1], [1], [5], [5]]
    assert list(found[1203]) == [5]
    assert 1204 not in found
    assert list(found[2000]) == [9]
    assert value_at(series, -1) is None
    assert value_at(series, 4 * second) == 5


@pytest.mark.proves("HYP-TMP-02")
def test_a_meter_of_the_operators_is_drawn_beside_the_sensor_with_the_difference(bare: Run) -> None:
    """The sensor at 50, then 60 °C; the meter at 52, 58 and 75 °C: 2, 8 and 15 K above, 8.3 K on average."""
    found = blocks(
        bare,
        temperature_c=[(0, 50), (60, 60), (100, 60)],
        temperature_external_c=[(10, 52), (50, 58), (90, 75)],
    )
    assert "Operator's meter less the drive's sensor: +15.0 K at most, +8.3 K on average." in sentences(found)
    drawn = figures(found)["X-RUN-1"]
    assert [series.label for series in drawn.series] == ["Lowest", "Highest", "Mean", "Operator's meter"]
    meter = points_of(drawn.series[3], table(found, "temperature-values"))
    assert {value for _, value in meter} == {52, 58, 75}
    alone = sentences(blocks(bare, temperature_external_c=[(10, 52), (50, 58)]))
    assert any("n/a (the drive reported no temperature)" in text for text in alone)


def test_processors_are_plotted_in_groups_and_listed_one_by_one(bare, golden) -> None:
    single = {f"cpu_{cpu}_busy_pct": [(0.0, float(cpu)), (100.0, float(cpu))] for cpu in range(20)}
    found = blocks(
        bare,
        cpu_engine_busy_pct=[(0, 80), (50, 40), (100, 40)],
        cpu_others_busy_pct=[(0, 5), (100, 5)],
        cpu_3_sys_pct=[(0, 1.5), (100, 1.5)],
        **single,
    )
    summary = {row.head.text for row in table(found, "telemetry").rows}
    assert summary == {"The engine's processors, busy (%)", "Other processors, busy (%)"}
    listed = table(found, "processors")
    assert [row.head.text for row in listed.rows] == [str(cpu) for cpu in range(19, 3, -1)]
    assert listed.note == golden
    plot = figures(found)["X-RUN-2"]
    values = table(found, "processors-values")
    engine, others = (points_of(series, values) for series in plot.series)
    assert [value for _, value in engine[:50]] == [80] * 50
    assert [value for _, value in engine[51:101]] == [40] * 50
    assert {value for _, value in others} == {5}
    assert plot.y.domain == (0, 100)


def test_io_on_other_drives_has_a_panel_only_if_there_was_any(bare) -> None:
    quiet = [(0.0, 0.0), (100.0, 0.0)]
    assert "X-RUN-3" not in figures(blocks(bare, others_read_bytes_per_s=quiet))
    found = blocks(
        bare, others_read_bytes_per_s=quiet, others_write_bytes_per_s=[(0, 0), (10, 25e6), (100, 0)]
    )
    (written,) = figures(found)["X-RUN-3"].series
    assert written.label == "written"
    assert points_of(written, table(found, "others-values"))[15][1] == 25


def test_all_panels_share_their_time(bare) -> None:
    found = blocks(
        bare,
        temperature_c=[(0, 40), (50, 45)],
        cpu_all_busy_pct=[(0, 80), (100, 80)],
        power_external_w=[(20, 4.5), (70, 9)],
    )
    plots = figures(found)
    assert list(plots) == ["X-RUN-1", "X-RUN-2", "X-RUN-4"]
    assert len({plot.x for plot in plots.values()}) == 1
    assert {plot.zoom_group for plot in plots.values()} == {"run-conditions"}


def test_a_link_that_stays_is_said_and_one_that_changes_is_marked(bare, golden) -> None:
    steady = {"link_gt_per_s": [(0.0, 16.0), (100.0, 16.0)], "link_width": [(0.0, 4.0), (100.0, 4.0)]}
    said = sentences(blocks(bare, **steady))
    assert said == {"The PCIe link was 16 x4 (GT/s, lanes) all the time; errors on it: not reported.": "pass"}
    said = sentences(blocks(bare, **steady, aer_correctable_errors=[(0, 7), (100, 7)]))
    assert said == golden
    found = blocks(
        bare,
        temperature_c=[(0, 40), (100, 41)],
        link_gt_per_s=[(0, 16), (30, 2.5), (100, 2.5)],
        link_width=[(0, 4), (100, 4)],
        aer_correctable_errors=[(0, 7), (29, 12), (100, 12)],
    )
    assert sentences(found) == {"The PCIe link changed, or errors were counted on it: 2 times.": "fail"}
    events = [(row.head.value, row.cells[0].text) for row in table(found, "link").rows]
    assert events == [(29, "PCIe errors, correctable errors: 5 more"), (30, "PCIe link (GT/s): 16 to 2.5")]
    rules = figures(found)["X-RUN-1"].rules
    assert [(rule.value, rule.axis) for rule in rules] == [(29, "x"), (30, "x")]


def foreign(run: Run, *values: tuple[float, float]) -> dict[str, str]:
    return sentences(blocks(run, foreign_bytes=list(values)))


def test_io_of_others_on_the_device_is_what_grew_during_the_steps(bare, golden) -> None:
    last_s = (end_ns(bare) - start_ns(bare)) / NS_PER_S
    # the purge before the first step, and readers after the last one, are not counted
    (clean,) = foreign(bare, (-5, 0), (1, 5e9), (last_s / 2, 5e9), (last_s + 10, 9e9)).items()
    assert clean[1] == "pass"
    assert clean[0] == golden
    (dirty,) = foreign(bare, (-5, 0), (1, 5e9), (last_s / 2, 7e9), (last_s + 10, 9e9)).items()
    assert dirty == ("I/O of others on the device under test: 2.00 GB, by the kernel's count.", "fail")
    (uncounted,) = foreign(bare, (0, 0), (last_s / 2, -9e12))
    assert uncounted == golden


def test_telemetry_is_summed_up_and_plotted_from_the_start_of_the_run(bare) -> None:
    start_ns = bare.steps[0].sample.started_ns
    sampled = tuple(
        TelemetryPoint(start_ns + n * 10**9, name, value + n)
        for n in range(5)
        for name, value in (("temperature_c", 30.0), ("temperature_sensor_2_c", 50.0))
    )
    page = telemetry_page(replace(bare, sampled=sampled))
    summary = rows(tables(page)["run-conditions-telemetry"])
    assert [cell.value for cell in summary["Temperature (°C)"].cells] == [5, 30, 32, 34]
    assert [cell.value for cell in summary["Temperature, sensor 2 (°C)"].cells] == [5, 50, 52, 54]
    (figure,) = (block for block in page.blocks if isinstance(block, Figure))
    table = tables(page)[figure.table_id]
    mean = points_of(figure.series[-1], table)
    assert [value for _, value in mean] == [30, 31, 32, 33, 34]
    # each in the middle of its second, in the unit of the axis
    assert [x for x, _ in mean] == pytest.approx([0.5, 1.5, 2.5, 3.5, 4.5])


def test_a_long_series_is_plotted_in_few_rows_that_keep_its_extremes(bare) -> None:
    start_ns = bare.steps[0].sample.started_ns
    count = 20_000
    sampled = tuple(
        TelemetryPoint(start_ns + n * 10**9, "temperature_c", 80.0 if n == 12_345 else 40.0)
        for n in range(count)
    )
    page = telemetry_page(replace(bare, sampled=sampled))
    table = tables(page)["run-conditions-temperature-values"]
    assert len(table.rows) < 2000
    assert max(row.cells[2].value or 0 for row in table.rows) == 80
    assert min(row.cells[1].value or 0 for row in table.rows) == 40


@pytest.mark.parametrize(
    ("throttled", "told"),
    [
        ([0, 0, 0, 0], "Heat slowed the device down in none of the samples."),
        ([0, 1, 0, 0], "Heat slowed the device down in 25.0 % of the samples."),
    ],
)
def test_throttling_is_told_as_a_share(throttled, told, bare) -> None:
    sampled = tuple(TelemetryPoint(n, "throttled", value) for n, value in enumerate(throttled))
    assert told in verdicts(telemetry_page(replace(bare, sampled=sampled)))


def test_a_single_sample_is_no_series(bare) -> None:
    page = telemetry_page(replace(bare, sampled=(TelemetryPoint(5, "temperature_c", 41.0),)))
    assert not any(isinstance(block, Figure) for block in page.blocks)
    assert "run-conditions-telemetry" in tables(page)


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
def test_what_is_told_of_a_log(case, bare, snapshot) -> None:
    assert "\n".join(lines_of(health_page(with_health(bare, *LOGS[case])))) == snapshot


def test_without_anything_beside_the_steps_each_page_says_so(bare, snapshot) -> None:
    assert health_alerts(bare) == ()
    manifest = replace(bare.manifest, healed=("the write cache of /dev/sda is WCE again",))
    run = replace(bare, steps=(), manifest=manifest)
    pages = (health_page(run), run_conditions_page(run, further=telemetry_blocks(run)))
    assert "\n".join(line for page in pages for line in lines_of(page)) == snapshot


def test_a_spare_of_0_with_a_threshold_of_0_is_no_alarm(bare) -> None:
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
def test_an_error_or_a_reset_is_a_red_line(changed, alert, bare) -> None:
    run = with_health(bare, BEFORE, AFTER | changed)
    assert health_alerts(run) == (alert,)
    (shown,) = (block for block in health_page(run).blocks if isinstance(block, Verdict))
    assert (shown.text.lower(), shown.tone) == (f"{alert}.".lower(), "fail")


def test_throttling_is_a_red_line(bare) -> None:
    run = with_health(bare, BEFORE | {"throttle_events": 0}, AFTER | {"throttle_events": 3})
    assert health_alerts(run) == ("device health: 3 times throttled by heat during the run",)


def test_errors_of_the_link_are_a_red_line_those_of_before_are_none(bare) -> None:
    run = with_host(
        bare, {"aer": "correctable 2, nonfatal 1, fatal 0"}, {"aer": "correctable 5, nonfatal 1, fatal 1"}
    )
    assert health_alerts(run) == (
        "PCIe link: 3 correctable errors during the run",
        "PCIe link: 1 fatal error during the run",
    )


def test_gaps_of_each_part_with_median_and_longest(bare) -> None:
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


def test_processor_time_is_weighed_by_the_steps_lengths(bare) -> None:
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
    whole = rows(tables(run_conditions_page(run))["run-conditions-cpu"])["All of the run"]
    # user (3 x 10 + 50) / 4, sys (3 x 20 + 60) / 4 and 60, I/O wait 8 / 4 and 8, 2 s of 4 s
    assert [cell.value for cell in whole.cells] == pytest.approx([20, 30, 60, 2, 8, 0.5])


def test_the_pages_do_not_depend_on_the_folder(bare) -> None:
    moved = replace(bare, folder=Path("elsewhere"))
    for page_of in (host_page, health_page, run_conditions_page):
        assert page_of(moved) == page_of(bare)


FULL = replace(
    purge_report(),
    name="nvme-format",
    attempts=(PurgeAttempt("nvme-sanitize-block", "has no Sanitize"),),
    status={
        "utilisation": Fact("0 B = 0.0%", "NUSE of NSZE"),
        "reads_as": Fact(None, "DLFEAT 0x0"),
        "sanitize_status": Fact("never sanitized", "Sanitize Status log (81h)"),
    },
    status_before={"utilisation": Fact("900 GB = 90.0%", "NUSE of NSZE")},
    other_samples=61,
    blank_samples=125,
)
PURGES = {
    "all that is known": FULL,
    "an older record": purge_report(),
    "only written over": replace(FULL, ran=False, name="overwrite", method="one pass"),
}
RUN = made_up_run("iops")


@pytest.mark.proves("PTS-PRG-02")
@pytest.mark.parametrize("case", PURGES)
def test_what_is_told_of_a_purge(case, transcript) -> None:
    run = replace(RUN, manifest=replace(RUN.manifest, purges=(PURGES[case],)))
    assert transcript_of(build_report(run, "2026-02-03T04:05:06Z"), "iops-preparation") == transcript


def test_a_drive_that_was_only_written_over_was_not_purged() -> None:
    manifest = replace(RUN.manifest, purges=(PURGES["only written over"],))
    assert purge_method(manifest) == "NOT RUN (one pass)"

"""Host audit, conditions and device health: what is known is judged, what is not is said to be so."""

from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as with_changes

from openpts.record.health import HealthRecord, Occasion, TelemetryPoint
from openpts.record.reader import Run
from openpts.report.health_page import health_alerts, health_page
from openpts.report.host_page import host_page
from openpts.report.model import Cell, Figure, Page, Row, Table, Verdict, points_of
from openpts.report.run_conditions_page import run_conditions_page
from openpts.vocabulary.facts import Fact, Facts, SimulationFacts
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.host_advice.table import ADVICE
from openpts.vocabulary.part import Part
from openpts.vocabulary.sample import CpuShares
from openpts.vocabulary.scenario import Scenario
from openpts.vocabulary.tuning import ChangeReport
from tests.support.made_up_run import made_up_run

HOSTILE = "<b>\"'; #import \x1b[31m \u202e 漢" + "x" * 500

NO_SETTINGS = "Host Set-up Audit: not reported (the record holds no settings of the host)."
SIMULATED = "Host Set-up Audit: n/a (the drive is simulated: the host's set-up does not bear on its figures)."


@pytest.fixture(scope="module")
def bare() -> Run:
    """A run whose record has nothing of its surroundings."""
    return made_up_run("xsr")


def tables(page: Page) -> dict[str, Table]:
    return {block.id: block for block in page.blocks if isinstance(block, Table)}


def verdicts(page: Page) -> list[str]:
    return [block.text for block in page.blocks if isinstance(block, Verdict)]


def rows(table: Table) -> dict[str, Row]:
    return {row.head.text: row for row in table.rows}


def texts(row: Row) -> list[str]:
    return [cell.text for cell in row.cells]


def with_host(run: Run, before: dict[str, str], after: dict[str, str] | None = None) -> Run:
    def facts(values: dict[str, str]) -> Facts:
        return {key: Fact(value, "a file") for key, value in values.items()}

    manifest = replace(run.manifest, host_before=facts(before), host_after=facts(after or {}))
    return replace(run, manifest=manifest)


def with_health(run: Run, before: dict[str, float], after: dict[str, float] | None) -> Run:
    def record(occasion: Occasion, values: dict[str, float]) -> HealthRecord:
        reading = HealthReading("a log", values)
        return HealthRecord(occasion, 0, None, None, "2026-01-01T00:00:00.000+00:00", None, reading)

    last = () if after is None else (record(Occasion.AFTER, after),)
    return replace(run, health=(record(Occasion.BEFORE, before), *last))


# ---- host audit


def test_a_record_without_settings_says_so(bare: Run) -> None:
    assert verdicts(host_page(bare)) == [NO_SETTINGS]


def test_nothing_of_a_host_bears_on_a_simulated_drive(bare: Run) -> None:
    simulation = SimulationFacts("tlc", "a drive", "page-mapped", 1, 10**9, 1, ())
    target = replace(bare.manifest.target, simulation=simulation)
    run = replace(bare, manifest=replace(bare.manifest, target=target))
    page = host_page(run)
    assert not tables(page)
    assert verdicts(page) == [SIMULATED]
    # the audit has no page then, and another one says why
    assert verdicts(run_conditions_page(run))[0] == SIMULATED


def test_each_item_stands_in_the_audit_also_where_nothing_is_known(bare: Run) -> None:
    audit = rows(tables(host_page(with_host(bare, {"turbo": "on"}, {"turbo": "on"})))["host-audit"])
    assert list(audit) == [advice.title for advice in ADVICE]
    assert texts(audit["Turbo"]) == ["on", "unchanged", "on", "on", "both"]
    assert texts(audit["Swap"])[:2] == ["not reported", "not reported"]
    assert texts(audit["Swap"])[-1] == "n/a"
    assert not any(text in {"", "0"} for row in audit.values() for text in texts(row)[:2])


@pytest.mark.parametrize(
    ("key", "value", "right_for"),
    [
        ("governor", "performance", "synthetic"),
        ("governor", "performance (3 of 4), powersave (1 of 4)", "real-world"),
        ("turbo", "off", "neither"),
        ("smt", "on", "both"),
        ("smt", "off", "neither"),
        ("smt", "none (cores have one thread)", "both"),
        ("c_states", "down to C1, 1 us to wake", "both"),
        ("c_states", "down to C1, 1 us to wake, deeper states are off", "synthetic"),
        ("c_states", "down to POLL, 0 us to wake, held there by a limit of 2 us", "synthetic"),
        ("c_states", "down to C1, 1 us to wake (1 of 2), down to C6, 133 us to wake (1 of 2)", "real-world"),
        ("mitigations", "on (3 mitigated, 2 vulnerable)", "both"),
        ("mitigations", "off (0 mitigated, 9 vulnerable)", "synthetic"),
        ("numa_node", "the machine has one node", "both"),
        ("numa_node", "node 0 of 1, processors 0-3", "both"),
        ("numa_node", "node 1 of 2", "told only"),
        ("numa_node", "node 1 of 2, processors 2-3,6-7", "real-world"),
        ("scheduler", "none", "both"),
        ("scheduler", "mq-deadline", "real-world"),
        ("nomerges", "0", "real-world"),
        ("nomerges", "2", "synthetic"),
        ("max_sectors_kb", "1024 KiB of 2048 KiB", "both"),
        ("max_sectors_kb", "512 KiB of 2048 KiB", "neither"),
        ("max_sectors_kb", "512 KiB of 512 KiB", "told only"),
        ("max_sectors_kb", "512 KiB", "neither"),
        ("rq_affinity", "0", "neither"),
        ("poll_queues", "0", "both"),
        ("link", "Gen 4 x4 of Gen 4 x4", "both"),
        ("link", "Gen 4 x4 of Gen 5 x4", "neither"),
        ("link", "Gen 3 x4 of Gen 3 x4, behind the bridge 0000:00:03.1 at Gen 3 x2", "neither"),
        ("aspm", "policy default; on: L1", "real-world"),
        ("aspm", "policy default; off on this link", "both"),
        ("aspm", "policy performance; off on this link", "synthetic"),
        ("apst", "off", "synthetic"),
        ("apst", "on, up to 100000 us", "real-world"),
        ("iommu", "translates (DMA-FQ)", "real-world"),
        ("iommu", "passes through", "both"),
        ("aer", "correctable 0, nonfatal 0, fatal 0", "both"),
        ("aer", "correctable 2, nonfatal 0, fatal 0", "neither"),
        ("load", "0.99 5.00 5.00", "both"),
        ("load", "1.00 0.00 0.00", "neither"),
        ("load", "a lot", "told only"),
        ("pressure", "cpu 0.99 %, io 0.00 %", "both"),
        ("pressure", "cpu 0.00 %, io 1.00 %", "neither"),
        ("swap", "none", "both"),
        ("swap", "0.0 GB in use of 2.0 GB", "real-world"),
        ("swap", "1.0 GB in use of 2.0 GB", "neither"),
        ("virtualization", "virtual machine (KVM)", "neither"),
        ("clock_source", "tsc", "both"),
        ("clock_source", "hpet", "neither"),
        ("clock_sync", "not synchronized", "told only"),
    ],
)
def test_what_a_value_is_right_for(key: str, value: str, right_for: str, bare: Run) -> None:
    page = host_page(with_host(bare, {key: value}, {key: value}))
    (title,) = (advice.title for advice in ADVICE if advice.key == key)
    assert texts(rows(tables(page)["host-audit"])[title])[-1] == right_for
    assert (f"Right for neither: {title}." in verdicts(page)) == (right_for == "neither")


def test_a_setting_that_changes_during_the_run_is_told_a_state_may(bare: Run) -> None:
    before = {"governor": "performance", "load": "0.10 0.10 0.10"}
    page = host_page(with_host(bare, before, {"governor": "powersave", "load": "0.90 0.90 0.90"}))
    audit = rows(tables(page)["host-audit"])
    assert audit["Frequency governor"].cells[1] == Cell("powersave", note="changed", tone="fail")
    assert audit["Load average"].cells[1] == Cell("0.90 0.90 0.90")
    assert "Changed during the run: Frequency governor." in verdicts(page)


@pytest.mark.parametrize(
    ("processors", "right_for"),
    [
        ("2, 3, 6", "both"),
        ("2, 4", "neither"),
        ("not pinned", "real-world"),
    ],
)
def test_threads_belong_on_the_node_of_the_drive(processors: str, right_for: str, bare: Run) -> None:
    manifest = replace(bare.manifest, engine={"processors": Fact(processors, "an engine")})
    node = {"numa_node": "node 1 of 2, processors 2-3,6-7"}
    page = host_page(with_host(replace(bare, manifest=manifest), node, node))
    told = texts(rows(tables(page)["host-audit"])["NUMA node of the drive"])
    assert told[0] == f"node 1 of 2, processors 2-3,6-7; threads: {processors}"
    assert told[-1] == right_for


@pytest.mark.parametrize("advice", ADVICE, ids=lambda advice: advice.key)
def test_no_text_from_a_machine_breaks_the_audit(advice: object, bare: Run) -> None:
    key = getattr(advice, "key", "")
    page = host_page(with_host(bare, {key: HOSTILE}, {key: HOSTILE}))
    shown = [cell.text for row in tables(page)["host-audit"].rows for cell in row.cells]
    assert not any("\x1b" in text or "\u202e" in text or len(text) > 300 for text in shown)


# ---- health

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
        ({"failure_foretold": 1}, "device health: the drive foretells its own failure"),
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
    assert (cell.text, cell.note) == ("n/a", "the counter went back")
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


# ---- conditions


def test_gaps_of_each_part_with_median_and_longest(bare: Run) -> None:
    gaps_ms = {Part.ACCESS_GROUP: [1, 2, 9]}
    steps = []
    for number, step in enumerate(bare.steps):
        gap_ns = None if number == 0 else 10**6 * gaps_ms[Part.ACCESS_GROUP][(number - 1) % 3]
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
        "Gaps between steps: n/a (no step followed another one).",
        "Processor time: n/a (the engine does not tell it).",
        "Telemetry: not reported (nothing was sampled beside the I/O).",
    ]


def test_telemetry_is_summed_up_and_plotted_from_the_start_of_the_run(bare: Run) -> None:
    start_ns = bare.steps[0].sample.started_ns
    sampled = tuple(
        TelemetryPoint(start_ns + n * 10**9, name, value + n)
        for n in range(5)
        for name, value in (("temperature_c", 30.0), ("temperature_sensor_2_c", 50.0))
    )
    page = run_conditions_page(replace(bare, sampled=sampled))
    summary = rows(tables(page)["run-conditions-telemetry"])
    assert [cell.value for cell in summary["Temperature (°C)"].cells] == [5, 30, 32, 34]
    assert [cell.value for cell in summary["Temperature, sensor 2 (°C)"].cells] == [5, 50, 52, 54]
    (figure,) = (block for block in page.blocks if isinstance(block, Figure))
    table = tables(page)[figure.table_id]
    mean = points_of(figure.series[-1], table)
    assert [value for _, value in mean] == [30, 31, 32, 33, 34]
    # each in the middle of its second, in the unit of the axis
    assert [x for x, _ in mean] == pytest.approx([0.5, 1.5, 2.5, 3.5, 4.5])


def test_a_long_series_is_plotted_in_few_rows_that_keep_its_extremes(bare: Run) -> None:
    start_ns = bare.steps[0].sample.started_ns
    count = 20_000
    sampled = tuple(
        TelemetryPoint(start_ns + n * 10**9, "temperature_c", 80.0 if n == 12_345 else 40.0)
        for n in range(count)
    )
    page = run_conditions_page(replace(bare, sampled=sampled))
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
def test_throttling_is_told_as_a_share(throttled: list[int], told: str, bare: Run) -> None:
    sampled = tuple(TelemetryPoint(n, "throttled", value) for n, value in enumerate(throttled))
    assert told in verdicts(run_conditions_page(replace(bare, sampled=sampled)))


def test_what_an_earlier_run_had_left_behind_is_said(bare: Run) -> None:
    manifest = replace(bare.manifest, healed=("the write cache of /dev/sda is WCE again",))
    page = run_conditions_page(replace(bare, manifest=manifest))
    assert "Before the run: the write cache of /dev/sda is WCE again." in verdicts(page)


def test_a_single_sample_is_no_series(bare: Run) -> None:
    page = run_conditions_page(replace(bare, sampled=(TelemetryPoint(5, "temperature_c", 41.0),)))
    assert not any(isinstance(block, Figure) for block in page.blocks)
    assert "run-conditions-telemetry" in tables(page)


# ---- the scenario


def declared(run: Run, scenario: Scenario | None, *tuning: ChangeReport) -> Run:
    return replace(run, manifest=replace(run.manifest, scenario=scenario, tuning=tuning))


def test_the_set_up_is_judged_by_what_the_run_was_declared_to_show(bare: Run) -> None:
    run = with_host(
        bare, {"governor": "powersave", "turbo": "on", "nomerges": "0", "scheduler": "mq-deadline"}
    )
    synthetic = host_page(declared(run, Scenario.SYNTHETIC)).blocks[0]
    assert isinstance(synthetic, Verdict)
    assert synthetic.tone == "fail"
    # merging moves results by little
    assert synthetic.text == (
        "Scenario: synthetic, which tests the drive. Against it: Frequency governor, I/O scheduler."
    )
    real_world = host_page(declared(run, Scenario.REAL_WORLD)).blocks[0]
    assert isinstance(real_world, Verdict)
    assert (real_world.text, real_world.tone) == (
        "Scenario: real-world, which tests the platform. No setting that is known stands against it.",
        "pass",
    )


def test_a_record_from_before_scenarios_declares_none(bare: Run) -> None:
    run = declared(with_host(bare, {"governor": "powersave"}), None)
    assert not any("Scenario" in text for text in verdicts(host_page(run)))


def test_what_was_set_for_the_run_is_told_and_what_could_not_be(bare: Run) -> None:
    refused = "the kernel refuses this value here"
    tuning = (
        ChangeReport("scheduler", "/sys/block/sda/queue/scheduler", "mq-deadline", "none"),
        ChangeReport("governor", "/sys/x/scaling_governor", "powersave", "performance", refused),
        ChangeReport("c_states", "/dev/cpu_dma_latency", None, "2 us to wake at most"),
        ChangeReport(HOSTILE, HOSTILE, HOSTILE, HOSTILE, HOSTILE),
    )
    run = declared(with_host(bare, {"scheduler": "none"}), Scenario.SYNTHETIC, *tuning)
    told = rows(tables(host_page(run))["host-audit-tuning"])
    assert texts(told["I/O scheduler"])[:3] == ["mq-deadline", "none", "set"]
    assert texts(told["Frequency governor"])[2] == f"not set: {refused}"
    assert texts(told["Sleep states (C-states)"])[0] == "-"
    assert all(text.isprintable() for row in told.values() for text in (row.head.text, *texts(row)))


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

    assert worn(3, 3) == "no per cent more than before (counted in whole per cents)"
    assert worn(3, 5) == "2 %"
    assert worn(0.25, 0.5) == "0.25 %"

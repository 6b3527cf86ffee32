"""What a simulated drive drew and wrote, as a report has it, against the drive's own counters."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec import structs
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.units import MIB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import DRIVE_ENERGY, DRIVE_HOST_WRITES, DRIVE_MEDIA_WRITES, Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pages.model import Verdict
from openpts_practice.fill import FillConditions
from openpts_work.content import with_drive_work
from openpts_work.work import DriveWork
from tests.support.one_point import run_one_point
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

BATTERY_WH = 50.0
IDLE_W = 0.4
"""Of the preset client-qlc."""


def shortened(conditions: Conditions) -> Conditions:
    """Less than half of the drive filled, in few steps: beyond its cache, which rests then empty."""
    assert isinstance(conditions, FillConditions)
    return structs.replace(
        conditions,
        active_range=replace(conditions.active_range, end_pct=40),
        step_pct=10,
        levels_pct=(50.0,),
        battery_wh=BATTERY_WH,
    )


@pytest.fixture(scope="module")
def fill(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run_whole("fill", DriveClass.CLIENT, tmp_path_factory.mktemp("fill") / "run", shortened)


@pytest.mark.proves("LSI-GEN-04")
def test_joules_are_those_of_the_drives_own_log(fill: Run) -> None:
    """From reading to reading; what a purge takes is in no step, but in the next reading.

    Of a few seconds the log says too little: a scaled drive's clock stops with its last answer.
    """
    meter = DriveWork(fill).meter
    assert meter is not None
    compared = 0
    for before, after in pairwise(fill.health):
        if before.phase is not None and before.t_ns is not None and after.t_ns is not None:
            grown = after.reading.values["energy_j"] - before.reading.values["energy_j"]
            if after.t_ns - before.t_ns > 60e9:
                drawn = meter[0].drawn(before.t_ns, after.t_ns)
                assert drawn.joules == pytest.approx(grown, rel=0.01)
                compared += 1
    assert compared == 2


def test_all_energy_of_the_run_is_in_its_parts(fill: Run) -> None:
    values = [one.reading.values["energy_j"] for one in fill.health]
    total = sum(part.joules or 0 for part in DriveWork(fill).parts)
    assert total == pytest.approx(values[-1] - values[0], rel=0.01)


@pytest.mark.proves("LSI-GEN-04")
def test_an_idle_drive_draws_its_idle_power_and_a_battery_lasts_by_it(fill: Run) -> None:
    measures = summarize(fill)["measures"]
    long_rest = "energy.rest_4_idle"
    assert measures[f"{long_rest}.mean_w"]["value"] == pytest.approx(IDLE_W, rel=0.01)
    assert measures[f"{long_rest}.battery_h"]["value"] == pytest.approx(BATTERY_WH / IDLE_W, rel=0.01)


def test_figures_of_a_part_follow_from_joules_time_and_ios(fill: Run) -> None:
    (part,) = [part for part in DriveWork(fill).parts if part.name.startswith("Fill 1")]
    measures = summarize(fill)["measures"]
    of = {name.rsplit(".", 1)[1]: one["value"] for name, one in measures.items() if "fill_1_seq" in name}
    joules, seconds = of["joules"], part.elapsed_ns / 1e9
    samples = [step.sample for step in part.steps]
    assert of["mean_w"] == pytest.approx(joules / seconds)
    assert of["j_per_gb_written"] == pytest.approx(joules / (sum(s.write.bytes for s in samples) / 1e9))
    assert of["iops_per_w"] == pytest.approx(sum(s.ios for s in samples) / joules)
    assert of["gb_per_kwh"] == pytest.approx(3.6e6 / of["j_per_gb_written"])
    assert "j_per_gb_read" not in of


@pytest.mark.proves("HYP-BG-01")
def test_background_bytes_are_those_that_the_log_counted_around_each_rest(fill: Run) -> None:
    """Once as the simulated drive reports them by step, once from readings of the log, as of a real drive."""
    counter = fill.telemetry_series[DRIVE_MEDIA_WRITES]
    without = replace(
        fill, sampled=tuple(p for p in fill.sampled if p.name not in {DRIVE_MEDIA_WRITES, DRIVE_HOST_WRITES})
    )
    by_step, by_log = (
        [stretch for stretch in DriveWork(run).stretches if stretch.is_rest] for run in (fill, without)
    )
    assert [rest.idle_ns for rest in by_step] == [rest.idle_ns for rest in by_log]
    assert [rest.idle_ns / 1e9 for rest in by_log] == [30, 300, 1800]
    assert by_log[0].media_bytes > 1e8
    for ours, model in zip(by_step, by_log, strict=True):
        assert ours.media_bytes == pytest.approx(model.media_bytes, rel=0.01)
    assert counter.values[-1] == pytest.approx(sum(s.media_bytes for s in DriveWork(fill).stretches))


@pytest.mark.proves("LSI-GEN-04")
def test_foreground_and_background_make_the_write_amplification(fill: Run) -> None:
    measures = summarize(fill)["measures"]
    work = DriveWork(fill)
    media = sum(stretch.media_bytes for stretch in work.stretches)
    rests = sum(stretch.media_bytes for stretch in work.stretches if stretch.is_rest)
    logs = [one.reading.values for one in fill.health]
    host, nand = (logs[-1][name] - logs[0][name] for name in ("host_write_bytes", "nand_write_bytes"))
    assert measures["media.write_amplification"]["value"] == pytest.approx(nand / host, rel=0.01)
    assert measures["media.foreground_pct"]["value"] == pytest.approx(100 * (1 - rests / media))


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A drive of which one page stands for thousands: much is outstanding at the end of each step."""
    return read_run(
        run_one_point(
            "enterprise-tlc?capacity=1600GB&scale=450",
            tmp_path_factory.mktemp("scaled") / "run",
            point=TrackingVariable(AccessPattern.RANDOM, MIB, 0),
            max_rounds=1,
        ).folder
    )


@pytest.mark.parametrize("source", ["the drive's counters", "its log alone"])
def test_a_scaled_drives_write_amplification_is_that_of_its_own_log(scaled: Run, source: str) -> None:
    """I/Os outstanding at the end of a step are in the log and in no step's figures."""
    run = scaled
    if source == "its log alone":
        run = replace(run, sampled=tuple(one for one in run.sampled if "write_bytes" not in one.name))
    logs = [one.reading.values for one in run.health]
    host, media = (logs[-1][name] - logs[0][name] for name in ("host_write_bytes", "nand_write_bytes"))
    assert host > 1.02 * sum(step.sample.write.bytes for step in run.steps)
    measures = summarize(run)["measures"]
    assert measures["media.write_amplification"]["value"] == media / host
    work = DriveWork(run)
    assert sum(stretch.media_bytes for stretch in work.stretches) == pytest.approx(media)
    assert sum(stretch.host_bytes for stretch in work.stretches) == pytest.approx(host, rel=1e-4)


def test_a_report_states_one_write_amplification(scaled: Run) -> None:
    report = build_report(scaled, default_date(scaled))
    (verdict,) = [
        block.text
        for page in report.pages()
        for block in page.blocks
        if isinstance(block, Verdict) and block.text.startswith("Write amplification")
    ]
    summary = {row.head.text: row.cells[0].text for row in report.tables()["device-health-summary"].rows}
    assert verdict.startswith(f"Write amplification {summary['Write amplification (WAF)']}: the host wrote")


@pytest.mark.proves("HYP-BG-01")
def test_the_end_of_the_cache_is_a_dip_that_lasts(fill: Run, golden: Golden) -> None:
    tables = build_report(fill, default_date(fill)).tables()
    first, *_ = tables["fill-dips"].rows
    assert first.cells[0].text.startswith("Fill 1")
    assert first.cells[-1].text == golden


def test_a_record_without_meter_and_counters_has_none_of_the_pages(fill: Run) -> None:
    ours = {DRIVE_ENERGY, DRIVE_MEDIA_WRITES, DRIVE_HOST_WRITES}
    bare = replace(fill, sampled=tuple(p for p in fill.sampled if p.name not in ours), health=())
    content = PROCEDURES["fill"].part("report").report(bare)
    assert with_drive_work(content, bare).measures == content.measures


@pytest.mark.proves("PTS-IOPS-35")
def test_secondary_tables_have_the_power_of_the_window_by_element(tmp_path: Path) -> None:
    """Against the drive's own counter of joules, before and after each step of the window."""
    point = TrackingVariable(AccessPattern.RANDOM, 4096, 65)
    run_one_point(
        "enterprise-tlc?capacity=4GB&state=worn-in", tmp_path / "run", max_rounds=5, step_s=0.2, point=point
    )
    run = read_run(tmp_path / "run")
    counter = run.telemetry_series[DRIVE_ENERGY]
    at = dict(zip(counter.t_ns, counter.values, strict=True))
    samples = [step.sample for number in range(1, 6) for step in run.phase(Phase.ROUND, number=number)]
    starts = [max(t for t in at if t <= sample.started_ns + 1) for sample in samples]
    ends = [sample.started_ns + sample.elapsed_ns for sample in samples]
    joules = sum(at[end] - at[start] for start, end in zip(starts, ends, strict=True))
    seconds = sum(sample.elapsed_ns for sample in samples) / 1e9
    tables = build_report(run, default_date(run)).tables()
    power, per_w = (
        next(cell.value for row in tables[name].rows for cell in row.cells if cell.value is not None)
        for name in ("iops-power", "iops-iops-per-w")
    )
    assert power == pytest.approx(1000 * joules / seconds)
    assert per_w == pytest.approx(sum(sample.ios for sample in samples) / joules)


@pytest.mark.proves("LSI-GEN-04")
def test_the_deck_s_drive_draws_what_is_published_of_its_kind(tmp_path: Path) -> None:
    """600 mW idle (Intel 520, 325968-001US), 3.0 W active (OCZ Vertex 3, by a review): both an SF-2281."""
    run = run_whole("fill", DriveClass.CLIENT, tmp_path / "run", shortened, "sim:sata-reduction")
    measures = summarize(run)["measures"]
    of = {name.removeprefix("energy."): one["value"] for name, one in measures.items() if "energy" in name}
    assert of["rest_4_idle.mean_w"] == pytest.approx(0.6, rel=0.01)
    assert of["rest_4_idle.battery_h"] == pytest.approx(50 / 0.6, rel=0.01)
    (written_w,) = [value for name, value in of.items() if name.startswith("fill_1_seq") and "mean_w" in name]
    assert written_w == pytest.approx(3.0, rel=0.03)


def test_a_battery_without_a_meter_has_the_reason_in_the_report(tmp_path: Path) -> None:
    run = run_whole("fill", DriveClass.CLIENT, tmp_path / "run", shortened, "sim:tlc")
    sections = build_report(run, default_date(run)).sections
    (page,) = [page for section in sections for page in section.pages if page.id == "fill-energy"]
    (verdict,) = page.blocks
    assert isinstance(verdict, Verdict)
    assert verdict.text == "Battery 50 Wh: no hours, the preset tlc has no power model."

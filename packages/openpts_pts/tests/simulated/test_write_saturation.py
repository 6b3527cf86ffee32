"""Write saturation at full length on drives whose course is published or written down."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts.fields.conditions import Conditions
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run, read_run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import ReportSource, default_date
from openpts.report.write import ReportOptions, write_report
from openpts.runner.settings import Adjust
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.workload import WORKLOADS
from openpts_pages.model import Report
from openpts_pts.wsat import WriteSaturationConditions
from tests.support.oracle_presets import CAPACITY_BYTES, write_oracle
from tests.support.whole_tests import classes, run_whole


def adjusted(**changes: object) -> Adjust:
    def adjust(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, WriteSaturationConditions)
        return replace(conditions, **changes)

    return adjust


def saturation_s(run: Run) -> float:
    return sum(step.sample.elapsed_ns for step in run.phase(Phase.SATURATION)) / NS_PER_S


@pytest.mark.proves("PTS-WSAT-01..02", "PTS-WSAT-07..08", "PTS-WSAT-18..19")
@pytest.mark.parametrize("drive_class", classes(sampled=DriveClass.ENTERPRISE))
@pytest.mark.slow
def test_a_purged_drive_falls_from_its_plateau(tmp_path: Path, drive_class: DriveClass) -> None:
    run = run_whole("wsat", drive_class, tmp_path / "run")
    assert not run.manifest.shortened
    assert not run.phase(Phase.WIPC)
    (cycle,) = run.manifest.cycles
    assert cycle.outcome.ended_by == "4 x user capacity written"
    (figures,) = summarize(read_run(run.folder, interval_histograms=True))["workloads"]
    assert figures["drive_fills"] == pytest.approx(4, rel=1e-3)
    zones = figures["zones"]
    # the client drive's cache is full within the first minute: no plateau, but a rate before the fall
    falls_at_once = drive_class is DriveClass.CLIENT
    assert (zones["plateau_minutes"] == 0) is (zones["plateau_iops"] is None) is falls_at_once
    assert zones["cache_iops" if falls_at_once else "plateau_iops"] > 1.5 * zones["final_iops"]
    histogram = sum(step.sample.elapsed_ns for step in run.phase(Phase.HISTOGRAM))
    assert histogram == pytest.approx(1200 * NS_PER_S, rel=0.01)
    # TC x QD are outstanding all the time: their mean response time follows from the rate (Little's law)
    times, conditions = figures["histogram"], run.manifest.conditions
    assert isinstance(conditions, WriteSaturationConditions)
    outstanding = times["iops"] * times["art_ms"] / 1000
    assert outstanding == pytest.approx(conditions.tc * conditions.qd, rel=0.02)
    build_report(run, default_date(run))


@pytest.mark.proves("PTS-WSAT-11", "PTS-WSAT-33")
def test_the_written_report_has_the_five_nines_of_the_minutes(tmp_path: Path) -> None:
    """At this scale 200,000 IOPS leave some 180,000 recorded response times a minute."""
    run = run_whole(
        "wsat", DriveClass.ENTERPRISE, tmp_path / "run", adjusted(drive_fills=0.3, histogram_ns=60 * NS_PER_S)
    )
    source = ReportSource.of((run.folder,))
    written = write_report(source, options=ReportOptions(html=False, pdf=False, csv=False))
    model = msgspec.json.decode(written.json.read_bytes(), type=Report)
    (table,) = [t for t in model.tables().values() if "99.999 % (ms)" in {c.label for c in t.columns}][:1]
    tail = [column.label for column in table.columns].index("99.999 % (ms)")
    values = [row.cells[tail].value for row in table.rows]
    art = [column.label for column in table.columns].index("ART (ms)")
    assert len([value for value in values if value is not None]) >= len(values) - 1  # but the last piece
    for row in table.rows[:-1]:
        assert (row.cells[art].value or 0) < (row.cells[tail].value or 0)


@pytest.mark.slow
@pytest.mark.proves("PTS-WSAT-08..09")
def test_six_hours_end_it_and_steady_state_is_told(tmp_path: Path) -> None:
    """4 KiB at 10 a second: 6 hours write 885 MB, so the capacity of a larger drive is not reached."""
    preset = write_oracle(tmp_path, [10.0])
    run = run_whole(
        "wsat", DriveClass.ENTERPRISE, tmp_path / "run", adjusted(drive_fills=8.0), target=f"sim:{preset}"
    )
    (cycle,) = run.manifest.cycles
    assert (cycle.outcome.ended_by, cycle.outcome.last_round) == ("6 h 0 min elapsed", 12)
    assert saturation_s(run) == pytest.approx(6 * 3600, rel=0.01)
    # 1 x capacity is written after 6554 s: in the tracked minute that ends at 7260 s, the fifth
    assert cycle.outcome.steady_round == 5


@pytest.mark.proves("PTS-WSAT-09")
def test_steady_state_ends_it_on_request(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [10.0])
    stop = adjusted(drive_fills=8.0, stop_when_steady=True)
    run = run_whole("wsat", DriveClass.CLIENT, tmp_path / "run", stop, target=f"sim:{preset}")
    (cycle,) = run.manifest.cycles
    assert cycle.outcome.ended_by == "steady state in tracking round 5"
    assert saturation_s(run) == pytest.approx(7260, rel=0.01)


@pytest.mark.proves("PTS-WSAT-12..17")
def test_all_workloads_one_after_the_other(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [400.0])
    workloads = adjusted(workloads=tuple(WORKLOADS.values()), longest_ns=300 * NS_PER_S)
    run = run_whole("wsat", DriveClass.ENTERPRISE, tmp_path / "run", workloads, target=f"sim:{preset}")
    assert len(run.manifest.purges) == len(run.manifest.cycles) == len(WORKLOADS)
    for figures, workload in zip(summarize(run)["workloads"], WORKLOADS.values(), strict=True):
        assert figures["workload"] == workload.name
        if figures["ended_by"] == "4 x user capacity written":
            # reads and writes have their own sizes in a mix: the share of writes is that of the accesses
            assert figures["written_bytes"] == pytest.approx(4 * CAPACITY_BYTES, rel=0.03)
        else:
            assert figures["elapsed_s"] == pytest.approx(300, rel=0.02)
    build_report(run, default_date(run))


def test_the_short_form_comes_to_the_end_of_the_curve(tmp_path: Path) -> None:
    target = "sim:enterprise-tlc?capacity=200GB&scale=100"
    short = run_whole("wsat", DriveClass.ENTERPRISE, tmp_path / "short", adjusted(within_pct=5), target)
    (cycle,) = short.manifest.cycles
    assert cycle.outcome.steady_round is not None
    # minutes in a row, until they are known
    assert saturation_s(short) == pytest.approx(60 * cycle.outcome.last_round, rel=0.02)
    assert {"PTS-WSAT-02"} <= {one.rule_id for one in short.ledger}
    measures = summarize(read_run(short.folder))["measures"]
    found, histogram = (measures[f"rnd_4_kib_rw0.{key}_iops"] for key in ("steady", "histogram"))
    assert "rnd_4_kib_rw0.plateau_iops" not in measures
    assert {one["name"] for one in found["uncertainty"]["components"]} >= {"scatter", "state of the drive"}
    # the same drive as long random writing has left it
    worn_in, minute_ns = f"{target}&state=worn-in", 60 * NS_PER_S
    from_then_on = adjusted(drive_fills=1, tracking_period_ns=minute_ns, histogram_ns=minute_ns)
    long = run_whole(
        "wsat", DriveClass.ENTERPRISE, tmp_path / "long", from_then_on, worn_in, PurgeChoice.NONE
    )
    (true,) = summarize(long)["workloads"]
    known = pytest.approx(true["tracked_iops"][-1], abs=2 * found["uncertainty"]["expanded"])
    assert found["value"] == known
    assert histogram["value"] == known
    rows = build_report(short, default_date(short)).tables()["wsat-preparation-short"].rows
    amount = {row.head.text: row.cells[0].text for row in rows}["Written in all"]
    written = sum(step.sample.write.bytes for step in short.steps) / short.manifest.target.user_capacity_bytes
    # 188,000 IOPS write four times 200 GB within six hours
    assert amount == f"{written:.2f} x user capacity; at full length at least 4.00 x user capacity"


@pytest.mark.slow
def test_where_the_pass_does_not_hold_the_short_form_goes_on_until_four_drive_fills(tmp_path: Path) -> None:
    target = "sim:pslc?capacity=2GB&scale=1"
    changes = {"within_pct": 5, "minute_ns": NS_PER_S, "histogram_ns": NS_PER_S}
    run = run_whole("wsat", DriveClass.ENTERPRISE, tmp_path / "run", adjusted(**changes), target)
    (cycle,) = run.manifest.cycles
    assert cycle.outcome.ended_by == "4 x user capacity written"
    measures = summarize(run)["measures"]
    # it didn't begin with a purged drive
    assert "rnd_4_kib_rw0.plateau_iops" not in measures
    assert "full length" in str(build_report(run, default_date(run)).tables()["wsat-preparation-short"])


def test_the_short_form_is_for_random_writes_to_all_lbas() -> None:
    conditions = PROCEDURES["wsat"].standard_conditions(DriveClass.ENTERPRISE, seed=1)
    sequential = replace(conditions, within_pct=5, workloads=(WORKLOADS["vod"],))
    ((names, text),) = sequential.contradictions(set())
    assert names == ("short", "workloads")
    assert "random writes" in text
    assert not list(replace(conditions, within_pct=5).contradictions(set()))
    ((names, _),) = conditions.contradictions({"flash_holds"})
    assert names == ("flash_holds", "short")

"""Profiles and the preconditioning comparison on drives that follow a script and on those of the presets."""

from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from msgspec.structs import replace
from scipy.stats import sem

from openpts.fields.conditions import Conditions, at_time_scale
from openpts.procedures.registry import PROCEDURES
from openpts.record.reader import Run
from openpts.report.build import build_report
from openpts.report.run_part import summarize
from openpts.report.sources import default_date
from openpts.runner.settings import Adjust
from openpts.units import NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.sample import Phase, StepState
from openpts_practice.rows.benchmarks import BenchmarksConditions
from openpts_practice.rows.conditions import FreeSpace
from openpts_practice.rows.precon import DriveState, PreconConditions
from openpts_practice.rows.precon.report import PreconReport
from openpts_practice.rows.profiles import BENCHMARKS, SHORT
from tests.support.oracle_presets import write_oracle
from tests.support.transcript import Golden
from tests.support.whole_tests import run_whole

BLOCK_MB = 1048576 / 1e6


def of(*names: str) -> Adjust:
    def chosen(conditions: Conditions) -> Conditions:
        assert isinstance(conditions, BenchmarksConditions)
        return replace(conditions, benchmarks=tuple(BENCHMARKS[name] for name in names))

    return chosen


def test_a_row_shows_the_best_of_its_passes_and_no_warm_up(tmp_path: Path) -> None:
    """The warm-up is the fastest step of its row."""
    # the file, then reads and writes: a warm-up and three passes each; the pause between them is no step
    rates = [5000.0, 9000.0, 1000.0, 3000.0, 2000.0, 9000.0, 400.0, 300.0, 500.0]
    preset = write_oracle(tmp_path, rates)
    run = run_whole(
        "benchmarks", DriveClass.CLIENT, tmp_path / "run", of("crystaldiskmark-demo"), f"sim:{preset}"
    )
    (benchmark,) = summarize(run)["benchmarks"]
    read, write = benchmark["rows"]
    assert read["passes"] == write["passes"] == 3
    (shown,) = read["shown"]
    assert shown["unit"] == "MB/s"
    assert [shown[key] / BLOCK_MB for key in ("value", "median", "min", "max")] == pytest.approx(
        [3000, 2000, 1000, 3000], rel=2e-3
    )
    assert [write["shown"][0][key] / BLOCK_MB for key in ("min", "median", "max")] == pytest.approx(
        [300, 400, 500], rel=0.02
    )
    build_report(run, default_date(run))


def settling(tmp_path: Path, **changes: Any) -> Run:
    """Passes of a read row whose RSE is below 5 % with the fifth, and of a write row that never settles."""
    file, warm_up = [5000.0], [9000.0]
    preset = write_oracle(tmp_path, [*file, *warm_up, *SETTLES, *warm_up, *NEVER_SETTLES])

    def adjust(conditions: Conditions) -> Conditions:
        return replace(of("crystaldiskmark-demo")(conditions), until_rse_pct=5.0, **changes)

    return run_whole("benchmarks", DriveClass.CLIENT, tmp_path / "run", adjust, f"sim:{preset}")


SETTLES = [500.0, 420.0, 480.0, 470.0, 475.0]
NEVER_SETTLES = [400.0, 300.0, 500.0, 700.0, 300.0, 600.0, 420.0]


@pytest.mark.proves("SOL-STAT-09", "SOL-STAT-05")
def test_passes_are_added_two_at_a_time_until_they_agree_and_a_set_that_never_does_is_discarded(
    tmp_path: Path,
) -> None:
    run = settling(tmp_path)
    (benchmark,) = summarize(run)["benchmarks"]
    read, write = (row["shown"][0] for row in benchmark["rows"])
    for row, rates in ((read, SETTLES), (write, NEVER_SETTLES)):
        assert [value / BLOCK_MB for value in row["values"]] == pytest.approx(rates, rel=5e-3)
        assert row["rse_pct"] == pytest.approx(100 * sem(rates) / mean(rates), rel=0.05)
    assert sem(SETTLES[:3]) / mean(SETTLES[:3]) > 0.05 > sem(SETTLES) / mean(SETTLES)
    assert (read["quality"], write["quality"]) == ("accepted", "discarded")
    assert [len(run.phase(Phase.PROFILE, number=number)) for number in (1, 2)] == [6, 9]
    measures = list(summarize(run)["measures"].values())
    assert [one["value"] is None for one in measures] == [False, True]
    assert [len(one["repeats"]["values"]) for one in measures] == [5, 7]
    report = build_report(run, default_date(run))
    (shown,) = report.tables()["benchmarks-1-mb-per-s"].rows
    assert shown.cells[1].value is None
    assert [cell.struck for cell in report.tables()["benchmarks-1-definition-each"].rows[1].cells[:7]] == [
        True
    ] * 7


@pytest.mark.proves("SOL-STAT-06")
def test_a_set_is_discarded_with_the_most_passes_asked_for(tmp_path: Path) -> None:
    (benchmark,) = summarize(settling(tmp_path, most_passes=3))["benchmarks"]
    assert [(row["passes"], row["shown"][0]["quality"]) for row in benchmark["rows"]] == [
        (3, "discarded"),
        (3, "discarded"),
    ]


@pytest.mark.proves("SOL-STAT-04")
def test_passes_that_lie_apart_are_not_shown_without_a_word(tmp_path: Path, golden: Golden) -> None:
    """An RSE of 21.8 % of three passes, as many as the benchmark makes."""
    rates = [784.7, 351.3, 583.6]
    preset = write_oracle(tmp_path, [5000.0, 9000.0, *rates, 9000.0, *rates])
    target = f"sim:{preset}"
    run = run_whole("benchmarks", DriveClass.CLIENT, tmp_path / "run", of("crystaldiskmark-demo"), target)
    (row,) = build_report(run, default_date(run)).tables()["benchmarks-1-mb-per-s"].rows
    assert {cell.tone for cell in row.cells} == {"fail"}
    assert [cell.note for cell in row.cells] == golden


def small(conditions: Conditions) -> Conditions:
    """A drive of 256 MiB is written full in seconds."""
    assert isinstance(conditions, PreconConditions)
    return replace(
        conditions, minute_ns=NS_PER_S // 10, tracking_period_ns=NS_PER_S, longest_pass_ns=NS_PER_S // 2
    )


def test_a_drive_without_a_past_is_the_same_in_each_state(tmp_path: Path) -> None:
    preset = write_oracle(tmp_path, [10_000.0], by="seconds")
    run = run_whole("precon", DriveClass.ENTERPRISE, tmp_path / "run", small, f"sim:{preset}")
    figures = summarize(run)
    for course in figures["courses"].values():
        assert course["first_minute_iops"] == pytest.approx(10_000, rel=2e-3)
        assert course["factor"] == pytest.approx(1, rel=2e-3)
    assert figures["courses"]["fresh"]["steady_after_drive_fills"] >= 2
    assert figures["courses"]["random"]["steady_after_drive_fills"] < 2
    assert all(abs(row["loss_random_pct"]) < 1 > abs(row["loss_sequential_pct"]) for row in figures["rows"])


@pytest.mark.proves("LSI-GEN-02", "LSI-PRE-03")
@pytest.mark.slow
def test_a_drive_that_collects_garbage_has_another_past_in_each_state(tmp_path: Path) -> None:
    run = run_whole("precon", DriveClass.ENTERPRISE, tmp_path / "run")
    assert not run.manifest.shortened
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps)
    (comparison,) = PreconReport.of(run).comparisons
    fresh, sequential, random = (comparison.courses[state] for state in DriveState)
    assert fresh.factor is not None
    assert fresh.factor > 2
    assert random.factor == pytest.approx(1, abs=0.1)
    # where random writes settle does not depend on where they came from
    assert sequential.steady_iops == pytest.approx(fresh.steady_iops, rel=0.1)
    assert random.steady_iops == pytest.approx(fresh.steady_iops, rel=0.1)
    rows = {row["row"]: row for row in summarize(run)["rows"]}
    assert rows["RND 4 KiB QD32 Write"]["loss_random_pct"] > 50
    assert rows["SEQ 128 KiB QD32 Write"]["loss_random_pct"] > 30
    assert abs(rows["SEQ 128 KiB QD32 Write"]["loss_sequential_pct"]) < 5
    assert rows["SEQ 128 KiB QD32 Write"]["counts"] == "sequential"
    assert [cycle.title for cycle in run.manifest.cycles] == ["FOB", "after SEQ", "after RND"]
    pages = {page.id for page in build_report(run, default_date(run)).pages() if page.mandatory}
    assert pages >= {"precon-time", "precon-fills", "precon-rows", "precon-loss", "precon-order"}


def test_data_that_can_be_compressed_is_a_state_of_its_own(tmp_path: Path) -> None:
    """A twentieth of the drive is left free; rows without data of their own write that of the state."""
    write = replace(SHORT, rows=SHORT.rows[-1:])

    def varied(conditions: Conditions) -> Conditions:
        changed = small(conditions)
        assert isinstance(changed, PreconConditions)
        return replace(
            changed,
            benchmarks=(write,),
            entropies_pct=(0.0, 100.0),
            leave_free=FreeSpace(1, place_pct=5),
            steady_after_drive_fills=1,
            drive_fills=2,
            recondition_passes=0.1,
        )

    run = run_whole(
        "precon", DriveClass.ENTERPRISE, tmp_path / "run", varied, "sim:sata-reduction?capacity=1GB"
    )
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps)
    none, full = summarize(run)["levels"]
    assert (none["entropy_pct"], full["entropy_pct"]) == (0, 100)
    assert none["courses"]["random"]["steady_iops"] > 1.1 * full["courses"]["random"]["steady_iops"]
    target = run.manifest.target
    for step in run.steps:
        assert step.sample.step.stimulus is not None
        where = step.sample.step.stimulus.active_range
        _, end = where.bytes_of(target.user_capacity_bytes, target.sector_bytes)
        assert end == pytest.approx(0.95 * target.user_capacity_bytes, abs=2**20)
    (benchmark,) = full["benchmarks"]
    times = benchmark["times"]
    assert run.manifest.started_at[:19] <= times["fresh"]["started_at"] < times["random"]["ended_at"]
    pages = {page.id for page in build_report(run, default_date(run)).pages()}
    assert pages >= {"precon-rows-e0", "precon-rows-e100", "precon-entropy"}


@pytest.mark.long("two drives, one of them written twice before its row")
def test_rows_after_one_pass_are_of_the_state_that_it_leaves(tmp_path: Path) -> None:
    """Random writes over all of the drive are slower than on a purged one: they meet collection."""
    rates = {}
    for one_pass in (True, False):

        def adjust(conditions: Conditions, one_pass: bool = one_pass) -> Conditions:
            assert isinstance(conditions, BenchmarksConditions)
            rows = tuple(
                replace(row, span_bytes=None) for row in SHORT.rows if row.random_pct and row.read_pct < 50
            )
            changed = replace(SHORT, rows=rows[-1:])
            short = replace(conditions, benchmarks=(changed,), one_pass=one_pass, most_passes=1)
            return at_time_scale(short, 1 / 100)

        target = "sim:enterprise-tlc?capacity=1GB"
        run = run_whole("benchmarks", DriveClass.ENTERPRISE, tmp_path / str(one_pass), adjust, target)
        rates[one_pass] = run.phase(Phase.PROFILE)[-1].sample.iops
        found = [verdict.text for verdict in PROCEDURES["benchmarks"].report(run).verdicts]
        assert any("after one pass of the short form" in text for text in found) is one_pass
    assert rates[True] < 0.7 * rates[False]

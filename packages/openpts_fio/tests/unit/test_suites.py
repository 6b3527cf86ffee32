"""Suites of FioSynth: what is read of them, how they are scaled, and what their script asks for."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.conditions import at_time_scale
from openpts.parameters.overrides import Overrides, conditions_of, contradictions
from openpts.planning.dry_run import AssumedDrive, Ending, dry_run
from openpts.procedures.kit.ledger import deviations
from openpts.units import GB, NS_PER_S, TB
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.limit import JudgedLimit, Judgement, worst
from openpts.vocabulary.sample import HostStall, Phase, StepState
from openpts.vocabulary.stimulus import OperationWeights
from openpts_fio.workload.job import (
    FioJob,
    LimitedFigure,
    LimitedOperation,
    SuiteLimit,
    WorkloadSuite,
    by_name,
)
from openpts_fio.workload.results import judge_limit
from openpts_fio.workload.script import RULES, script, standard_conditions
from openpts_fio.workload.steps import reason_left_out
from openpts_fio.workload.suite_file import read_suite
from tests.support.interval_samples import step_of
from tests.support.subject_files import CLONE

PEERS = Path(os.environ.get("OPENPTS_PEERS", "none")) / "fiosynth"
SUITES = sorted(path.name for path in (PEERS / "wkldsuites").iterdir()) if PEERS.is_dir() else []


def conditions_of_suite(suite: WorkloadSuite, **changes: Any) -> Any:
    standard = standard_conditions(DriveClass.ENTERPRISE, 1)
    return replace(
        standard,
        suite=suite,
        cycles=suite.run_cycles,
        precondition_cycles=suite.precondition_cycles,
        **changes,
    )


def written(folder: Path, **changes: Any) -> Path:
    """A clone with the suite `Two`, changed."""
    (folder / "wkldsuites").mkdir()
    (folder / "jobfiles").symlink_to(CLONE / "jobfiles")
    suite = json.loads((CLONE / "wkldsuites" / "Two").read_text())
    (folder / "wkldsuites" / "Two").write_text(json.dumps({**suite, **changes}))
    return folder


def test_targets_are_limits_with_their_units() -> None:
    light, heavy = read_suite(CLONE, "Two").workloads
    assert [str(limit) for limit in light.limits] == [
        "read IOPS at least 900 IOPS",
        "write throughput at least 1,000 MB/s",
        "read P99 response time at most 20 ms",
        "read P99.99999 response time at most 30 ms",
        "read maximum response time at most 0.001 ms",
    ]
    assert light.per_tb
    assert heavy.limits == ()


def test_a_target_that_is_not_known_is_kept_by_name(tmp_path) -> None:
    suite = json.loads((CLONE / "wkldsuites" / "Two").read_text())["def"]
    suite[0]["targets"] = {
        "power": {"read": {"MAX": 5}},
        "latency": {"flush": {"MAX": 1}, "read": {"P0x": 1}},
    }
    (light, _) = read_suite(written(tmp_path, **{"def": suite}), "Two").workloads
    assert light.limits == ()
    assert light.unread == ("power read MAX", "latency flush MAX", "latency read P0x")


# as FioSynth's own getJobVars computes them for a drive of 7.68 TB: its multiplier is 7.7
@pytest.mark.parametrize(
    ("scales", "capacity_bytes", "values"),
    [
        ("N", 7680 * GB, {"RRATE": "1000", "DEPTH": "8", "W1THINK": "20000", "OFFSET2": "77"}),
        ("Y", 7680 * GB, {"RRATE": "7700", "DEPTH": "61", "W1THINK": "2597", "OFFSET2": "77"}),
        ("Y", 3 * TB, {"RRATE": "3000", "W1THINK": "6666"}),
        ("Y", 60 * GB, {"RRATE": "100", "DEPTH": "1", "W1THINK": "200000", "OFFSET2": "1"}),
        ("Y", TB, {"INCREMENT": "29802", "IOENGINE": "io_uring", "JOBS": "1", "RAMPTIME": "2"}),
    ],
)
def test_values_are_scaled_as_fiosynth_does(tmp_path, scales, capacity_bytes, values) -> None:
    suite = read_suite(written(tmp_path, scale_by_capacity=scales), "Two")
    found = by_name(suite.job(suite.workloads[0], capacity_bytes, 1).values)
    assert {name: found[name] for name in values} == values
    assert 0 <= int(found["OFFSET1"]) <= int(found["INCREMENT"])


@pytest.mark.parametrize(("scales", "mb_per_s"), [("N", 1000), ("Y", 7700)])
def test_rates_per_tb_are_those_of_the_capacity(tmp_path, scales, mb_per_s) -> None:
    suite = read_suite(written(tmp_path, scale_by_capacity=scales), "Two")
    limits = suite.limits_of(suite.workloads[0], 7680 * GB)
    assert limits[1].value == pytest.approx(mb_per_s * 1e6)
    assert limits[2].value == 20e6


def test_templates_without_a_job_get_one(tmp_path) -> None:
    suite = read_suite(written(tmp_path, devices_in_global="N"), "Two")
    assert suite.job(suite.workloads[0], TB, 1).lines[-1] == "[drive]"


def phases(conditions: Any) -> list[tuple[Phase, int]]:
    planned = dry_run(script(conditions, 2 * GB), 2 * GB, AssumedDrive(), Ending.LONGEST)
    return [(one.apply.phase, one.apply.number) for one in planned]


def test_the_drive_is_prepared_once_or_before_each_cycle(tmp_path) -> None:
    once = read_suite(CLONE, "Two")
    assert phases(conditions_of_suite(once)) == [
        (Phase.CONDITIONING, 1),
        *((Phase.PROFILE, number) for number in (1, 2, 3, 4)),
    ]
    again = read_suite(written(tmp_path, precondition_first_cycle_only="N", precondition_cycles=2), "Two")
    assert [
        number for phase, number in phases(conditions_of_suite(again)) if phase is Phase.CONDITIONING
    ] == [1, 2, 3, 4]


def test_all_is_trimmed_before_each_workload_that_prepares() -> None:
    suite = read_suite(CLONE, "Two")
    first = dry_run(script(conditions_of_suite(suite), 2 * GB), 2 * GB, AssumedDrive(), Ending.LONGEST)[0]
    clearing, fill = first.apply.steps
    assert clearing.stimulus.operations == OperationWeights(trim=1)
    assert fill.stimulus.active_range.end_pct == pytest.approx(50, abs=0.01)


def test_time_scale_shortens_lengths_and_cycles_and_no_amount() -> None:
    suite = read_suite(CLONE, "Two")
    scaled = at_time_scale(conditions_of_suite(suite), 1 / 100)
    planned = dry_run(script(scaled, 2 * GB), 2 * GB, AssumedDrive(), Ending.LONGEST)
    assert [one.apply.phase for one in planned] == [Phase.CONDITIONING, Phase.PROFILE, Phase.PROFILE]
    (workload,) = planned[1].apply.steps
    # 20 s, 2 s and 1 s; but no step is shorter than the minute, which is 0.6 s now
    assert (workload.stop.duration_ns, workload.ramp_ns) == (600_000_000, 20_000_000)  # type: ignore[union-attr]
    assert [stream.delay_ns for stream in workload.streams] == [0, 10_000_000]


def test_a_longest_step_ends_what_an_amount_would() -> None:
    suite = read_suite(CLONE, "Two")
    slow = AssumedDrive(write_bytes_per_s=1e6, write_iops=100)
    conditions = conditions_of_suite(suite, longest_step_ns=3 * 10**9)
    planned = dry_run(script(conditions, 2 * GB), 2 * GB, slow, Ending.LONGEST)
    _, fill = planned[0].durations_ns
    assert fill == 3 * 10**9
    assert planned[1].durations_ns == (5 * 10**9,)  # with its ramp


@pytest.mark.parametrize(
    ("name", "changes", "complaint"),
    [
        ("Tow", {}, "wkldsuites has no suite 'Tow': did you mean Two?"),
        ("../Two", {}, "has no suite '../Two'"),
        ("Two", {"def": []}, "a suite has a workload and a run cycle at least"),
        ("Two", {"run_cycles": "3"}, "expected a whole number, got a text, at run_cycles"),
    ],
)
def test_what_is_wrong_with_a_clone(tmp_path, name, changes, complaint) -> None:
    with pytest.raises(UsageError) as refused:
        read_suite(written(tmp_path, **changes), name)
    assert complaint in str(refused.value)


def test_a_folder_that_is_no_clone_and_a_file_that_is_no_suite(tmp_path) -> None:
    with pytest.raises(UsageError, match="is not a clone of FioSynth"):
        read_suite(tmp_path, "Two")
    (tmp_path / "wkldsuites").mkdir()
    (tmp_path / "wkldsuites" / "Two").write_text("{")
    with pytest.raises(UsageError, match="Two is not JSON"):
        read_suite(tmp_path, "Two")


def lacking(name: str) -> set[str]:
    """Templates that a suite names and the clone at hand does not have."""
    suite = json.loads((PEERS / "wkldsuites" / name).read_text())
    used = {one["template"] for part in ("pre", "def") for one in suite.get(part, ())}
    return {template for template in used if not (PEERS / "jobfiles" / template).exists()}


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"job": str(CLONE / "wkldsuites" / "Two"), "stream": "reader"}, "a suite has its own preparation"),
        ({"job": str(CLONE / "wkldsuites" / "Two"), "max_rounds": 7}, ""),
        ({"job": str(CLONE / "jobfiles" / "alone.fio"), "cycles": 2}, "a job file has no cycles"),
    ],
)
def test_what_is_of_the_other_kind_of_load_is_refused(given, refused) -> None:
    """What `--quick` gives is for both."""
    named, standard = (
        Overrides(given, {name: name for name in given}),
        standard_conditions(DriveClass.ENTERPRISE, 1),
    )
    conditions = conditions_of(named, standard)
    found = "; ".join(contradictions(named, conditions))
    assert refused in found
    assert bool(refused) is bool(found)
    assert refused or not deviations(conditions, standard, RULES)


def planned_workloads(conditions: Any) -> list[int]:
    steps = dry_run(script(conditions, 2 * TB), 2 * TB, AssumedDrive(), Ending.SHORTEST)
    return [one.apply.number for one in steps if one.apply.phase is Phase.PROFILE]


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_is_planned_but_for_the_templates_that_it_lacks(name) -> None:
    suite = read_suite(PEERS, name)
    assert [one.unread for one in suite.workloads if one.unread] == []
    conditions = at_time_scale(conditions_of_suite(suite), 1 / 600)
    kept = [number for number, one in enumerate(suite.workloads, 1) if one.template not in lacking(name)]
    if lacking(name):
        with pytest.raises(UsageError) as refused:
            planned_workloads(conditions)
        assert any(template in str(refused.value) for template in lacking(name))
    if not kept or {one.template for one in suite.preparation} & lacking(name):
        return
    cycles = range(0, conditions.cycles * len(suite.workloads), len(suite.workloads))
    planned = planned_workloads(replace(conditions, leave_out_refused=True))
    assert planned == [number + cycle for cycle in cycles for number in kept]


def test_a_workload_that_can_not_be_run_is_left_out_by_option(tmp_path) -> None:
    """Its limits have no verdict, and say why."""
    workloads = json.loads((CLONE / "wkldsuites" / "Two").read_text())["def"]
    missing = {**workloads[0], "template": "no.fio", "alias": "lost"}
    suite = read_suite(written(tmp_path, **{"def": [workloads[0], missing, workloads[1]]}), "Two")
    with pytest.raises(UsageError) as refused:
        planned_workloads(conditions_of_suite(suite))
    assert str(refused.value) == (
        "workload lost: the clone has no template no.fio in jobfiles: complete the clone; "
        "1 of 4 workloads of Two can't be run: --leave-out-refused runs the other 2"
    )
    conditions = conditions_of_suite(suite, leave_out_refused=True)
    assert planned_workloads(conditions) == [1, 3, 4, 6]
    why = reason_left_out(conditions, suite.workloads[1], 2 * TB)
    found = judge_limit(limit(LimitedFigure.IOPS, 1), "lost", [], left_out=why)
    assert (found.judgement, found.reason) == (NO_VERDICT, why)
    alone = replace(suite, workloads=suite.workloads[1:2])
    with pytest.raises(UsageError, match="no workload is left"):
        planned_workloads(conditions_of_suite(alone, leave_out_refused=True))


PASS, FAIL, NO_VERDICT = Judgement.PASS, Judgement.FAIL, Judgement.NO_VERDICT
MS = 1_000_000
# two seconds of 100 writes of 4 KiB each: one of them takes 5 ms, one 20 ms, the others 1 ms
SAMPLE = step_of([[MS] * 99 + [5 * MS], [MS] * 99 + [20 * MS]])


def limit(figure: LimitedFigure, value: float, operation: str = "write", percentile: float = 0) -> SuiteLimit:
    return SuiteLimit(LimitedOperation(operation), figure, value, percentile)


@pytest.mark.parametrize(
    ("figure", "value", "percentile", "judgement"),
    [
        (LimitedFigure.IOPS, 100, 0, PASS),
        (LimitedFigure.IOPS, 100.1, 0, FAIL),
        (LimitedFigure.THROUGHPUT, 409_600, 0, PASS),
        (LimitedFigure.THROUGHPUT, 409_601, 0, FAIL),
        (LimitedFigure.MEAN_LATENCY, 1.115 * MS, 0, PASS),
        (LimitedFigure.MEAN_LATENCY, 1.114 * MS, 0, FAIL),
        (LimitedFigure.MAX_LATENCY, 20 * MS, 0, PASS),
        (LimitedFigure.MAX_LATENCY, 20 * MS - 1, 0, FAIL),
        (LimitedFigure.PERCENTILE, 1.01 * MS, 99, PASS),
        (LimitedFigure.PERCENTILE, 0.99 * MS, 99, FAIL),
        (LimitedFigure.PERCENTILE, 1 * MS, 99.9, NO_VERDICT),
    ],
)
def test_figures(figure, value, percentile, judgement) -> None:
    assert judge_limit(limit(figure, value, percentile=percentile), "load", [SAMPLE]).judgement is judgement


def test_steps_of_a_measurement_count_together() -> None:
    quick, slow = step_of([[MS] * 300]), step_of([[MS] * 100])
    found = judge_limit(limit(LimitedFigure.IOPS, 200), "load", [quick, slow])
    assert (found.value, found.judgement) == (200, PASS)


@pytest.mark.parametrize(
    ("samples", "figure", "operation", "reason"),
    [
        ([], LimitedFigure.IOPS, "write", "not measured"),
        (
            [structs.replace(SAMPLE, state=StepState.INTERRUPTED)],
            LimitedFigure.IOPS,
            "write",
            "the measurement did not come to its end",
        ),
        (
            [structs.replace(SAMPLE, standstills=(HostStall(0, 10),))],
            LimitedFigure.MAX_LATENCY,
            "write",
            "openpts itself stood still while it was measured",
        ),
        ([SAMPLE], LimitedFigure.MAX_LATENCY, "read", "no read was measured"),
        ([SAMPLE], LimitedFigure.IOPS, "read", "the workload issues no reads"),
    ],
)
def test_what_can_not_be_judged(samples, figure, operation, reason) -> None:
    found = judge_limit(limit(figure, 1, operation), "load", samples)
    assert (found.judgement, found.reason, found.value) == (NO_VERDICT, reason, None)


def test_a_rate_of_nothing_is_reached_by_nothing() -> None:
    assert judge_limit(limit(LimitedFigure.THROUGHPUT, 0, "trim"), "load", [SAMPLE]).judgement is PASS


def test_unissued_ios_leave_a_failure_and_take_a_pass() -> None:
    sample = structs.replace(SAMPLE, unissued=7)
    judged: dict[float, Any] = {
        ms: judge_limit(limit(LimitedFigure.MAX_LATENCY, ms * MS), "load", [sample]).judgement
        for ms in (19, 21)
    }
    assert judged == {19: FAIL, 21: NO_VERDICT}


def test_the_worst_of_several_cycles() -> None:
    low, high = (
        JudgedLimit("load: read IOPS", "at least 100 IOPS", PASS, at_least=100, value=value)
        for value in (101, 500)
    )
    quick, slow = (
        JudgedLimit("load: read maximum response time", "at most 10 ms", PASS, at_most=10, value=value)
        for value in (1, 9)
    )
    doubt, failed = replace(slow, value=None, judgement=NO_VERDICT), replace(slow, judgement=FAIL)
    assert worst([high, low]) is low
    assert worst([quick, slow]) is slow
    assert worst([slow, doubt]) is doubt
    assert worst([doubt, failed, slow]) is failed


CAPACITY_BYTES = 4 * GB
JOB = FioJob("load.fio", ("[load]", "rw=randwrite", "bs=4k", "time_based", "runtime=60s"), ())


@pytest.mark.parametrize(("ending", "until_steady"), [(Ending.SHORTEST, 5), (Ending.LONGEST, 25)])
def test_further_rounds_follow_behind_steady_state(ending, until_steady) -> None:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), job=JOB, further_rounds=7)
    planned = dry_run(script(conditions, CAPACITY_BYTES), CAPACITY_BYTES, AssumedDrive(), ending)
    rounds = [one.apply.number for one in planned if one.apply.phase is Phase.ROUND]
    assert rounds == list(range(1, until_steady + 8))


def test_the_job_moves_what_is_asked_before_its_rounds() -> None:
    conditions = replace(standard_conditions(DriveClass.ENTERPRISE, 1), job=JOB, load_fills=0.5)
    planned = dry_run(script(conditions, CAPACITY_BYTES), CAPACITY_BYTES, AssumedDrive(), Ending.SHORTEST)
    (load,) = [one for one in planned if one.apply.phase is Phase.LOAD]
    assert sum(load.written_bytes) == pytest.approx(0.5 * CAPACITY_BYTES, rel=1e-6)
    first = next(one for one in planned if one.apply.phase is Phase.ROUND)
    assert sum(first.durations_ns) == 60 * NS_PER_S

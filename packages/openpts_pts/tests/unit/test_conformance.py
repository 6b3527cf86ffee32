"""A run as specified deviates nowhere, and whatever is changed in its record shows under its ID."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from openpts.record.manifest import RunState
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import CaptureReport, People, SimulationFacts, TargetKind
from openpts.vocabulary.sample import NOTHING, Interval, Phase, Sample, StepState
from openpts.vocabulary.stimulus import ActiveRange, Duration, Stream, ZeroData
from openpts.vocabulary.verdict import Deviation
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.conformance import conformance
from openpts_pts.conformance.catalogue import TESTS, Level, by_id, catalogue
from openpts_pts.conformance.conformance import (
    CASES,
    CHECKS,
    Conformance,
    ReasonKind,
    conformance_of,
    count_line,
    proofs,
    reasons,
)
from openpts_pts.evidence.finding import Finding, Status, met
from tests.support.made_up_run import made_up_run, restless_rate


def standing(run: Run) -> dict[str, Conformance]:
    return {each.requirement.id: each for each in conformance_of(run)}


def with_status(run: Run, status: Status) -> set[str]:
    return {id_ for id_, each in standing(run).items() if each.status is status}


def changed(run: Run, phase: Phase, change: Callable[[Sample], Sample], number: int | None = None) -> Run:
    """The run with another record of the steps of a part."""
    return replace(
        run,
        steps=tuple(
            replace(step, sample=change(step.sample))
            if step.place.phase is phase and number in {None, step.place.number}
            else step
            for step in run.steps
        ),
    )


def restimulated(sample: Sample, **changes: object) -> Sample:
    step = sample.step
    assert step.stimulus is not None
    changed = Stream(replace(step.stimulus, **changes))
    return replace(sample, step=replace(step, streams=(changed,)))


def other_load(**changes: object) -> Callable[[Sample], Sample]:
    return lambda sample: restimulated(sample, **changes)


def shorter(sample: Sample) -> Sample:
    """Half as long, by plan and in fact."""
    stop = sample.step.stop
    if isinstance(stop, Duration):
        stop = Duration(stop.duration_ns // 2)
    return replace(sample, step=replace(sample.step, stop=stop), elapsed_ns=sample.elapsed_ns // 2)


def cut_after(run: Run, keep: Callable[[StepRecord], bool], state: RunState = RunState.INTERRUPTED) -> Run:
    """The run as it would stand if it had been stopped after the steps that are kept."""
    steps = tuple(step for step in run.steps if keep(step))
    manifest = replace(run.manifest, state=state, state_reason="stopped by the operator", cycles=())
    return replace(run, steps=steps, manifest=manifest)


@pytest.mark.parametrize("drive_class", list(DriveClass))
@pytest.mark.parametrize("name", TESTS)
def test_a_run_as_specified_deviates_nowhere(name, drive_class) -> None:
    run = made_up_run(name, drive_class)
    assert with_status(run, Status.DEVIATED) == set()
    assert with_status(run, Status.NOT_REACHED) == set()


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("name", TESTS)
def test_each_status_says_by_what_and_binds_the_test_alone(name) -> None:
    found = standing(made_up_run(name))
    assert list(found) == [requirement.id for requirement in catalogue()]
    for id_, each in found.items():
        if each.status is Status.MET:
            assert id_ in CHECKS, id_
        if each.status is Status.BUILT_IN:
            assert id_ not in CHECKS, id_
        if each.status in {Status.MET, Status.UNVERIFIED}:
            assert each.finding.note, id_
        assert each.finding.tests == (proofs()[id_] if each.status is Status.BUILT_IN else ()), id_
        if name not in each.requirement.tests:
            assert each.status is Status.NOT_APPLICABLE


def test_each_requirement_is_shown_in_one_way() -> None:
    ids = set(by_id())
    proven = ids & set(proofs())
    assert set(CHECKS) | set(CASES) | proven | set(reasons()) == ids
    assert set(CASES) <= proven
    assert not set(CASES) & set(CHECKS)
    settled = set(CHECKS) | proven
    in_part = {id_ for id_, reason in reasons().items() if reason.kind is ReasonKind.PARTLY}
    assert in_part <= settled
    assert not (set(reasons()) - in_part) & settled


def test_every_shall_is_checked_or_proven() -> None:
    shalls = {requirement.id for requirement in catalogue() if requirement.level is Level.SHALL}
    assert shalls <= set(proofs()), "mark a test with @pytest.mark.proves"


def test_a_requirement_without_check_test_and_reason_is_not_verifiable(monkeypatch) -> None:
    monkeypatch.setattr(conformance, "proofs", dict)
    found = standing(made_up_run("iops"))
    assert not [each for each in found.values() if each.status is Status.BUILT_IN]
    assert found["PTS-IOPS-33"].status is Status.UNVERIFIED
    assert found["PTS-GEN-08"].status is Status.NOT_APPLICABLE


def test_what_the_ledger_has_is_deviated_with_both_values() -> None:
    entry = Deviation("PTS-IOPS-14", "7.2", "1 min per step", "2 s per step", "caches weigh more")
    found = standing(replace(made_up_run("iops"), ledger=(entry,)))["PTS-IOPS-14"].finding
    assert found.status is Status.DEVIATED
    assert (found.required, found.used) == ("1 min per step", "2 s per step")


def test_what_is_disclosed_fulfils_the_rule_of_disclosure() -> None:
    entry = Deviation("PTS-GEN-01", "1.1", "as specified", "durations and repetitions x 1/60", "less data")
    found = standing(replace(made_up_run("iops"), ledger=(entry,)))["PTS-GEN-01"].finding
    assert found.status is Status.BUILT_IN


@pytest.mark.parametrize(
    ("name", "phase", "number", "change", "expected"),
    [
        ("iops", Phase.ROUND, None, shorter, {"PTS-IOPS-14"}),
        ("iops", Phase.ROUND, None, other_load(tc=8), {"PTS-IOPS-09", "PTS-THR-03"}),
        ("iops", Phase.ROUND, 1, other_load(data=ZeroData()), {"PTS-DAT-01", "PTS-IOPS-10"}),
        ("iops", Phase.WIPC, None, other_load(data=ZeroData()), {"PTS-DAT-01", "PTS-IOPS-06"}),
        ("iops", Phase.WIPC, None, other_load(random_pct=100), {"PTS-IOPS-07"}),
        (
            "iops",
            Phase.ROUND,
            1,
            other_load(active_range=ActiveRange(0, 50)),
            {"PTS-DEF-01", "PTS-GEN-04", "PTS-IOPS-01"},
        ),
        (
            "iops",
            Phase.ROUND,
            1,
            lambda s: replace(s, gap_ns=5 * 10**9),
            {"PTS-PRE-05", "PTS-PRE-06", "PTS-TOOL-10"},
        ),
        ("tp", Phase.ROUND, None, other_load(tc=2), {"PTS-TP-05", "PTS-TP-09", "PTS-TP-16", "PTS-THR-03"}),
        ("tp", Phase.ROUND, None, shorter, {"PTS-TP-12"}),
        ("lat", Phase.ROUND, None, other_load(qd=2), {"PTS-LAT-04", "PTS-THR-03"}),
        (
            "lat",
            Phase.HISTOGRAM,
            None,
            lambda s: replace(s, write=NOTHING),
            {"PTS-LAT-19", "PTS-LAT-20", "PTS-LAT-21"},
        ),
        ("wsat", Phase.HISTOGRAM, None, shorter, {"PTS-WSAT-18"}),
        ("wsat", Phase.SATURATION, None, other_load(tc=8), {"PTS-THR-03", "PTS-WSAT-18"}),
        ("hir", Phase.WAIT_STATE, 10, shorter, {"PTS-HIR-16"}),
        ("hir", Phase.RETURN_TO_BASELINE, 3, shorter, {"PTS-HIR-17"}),
        ("xsr", Phase.ACCESS_GROUP, 3, other_load(tc=2), {"PTS-XSR-12"}),
        ("xsr", Phase.ACCESS_GROUP, 2, lambda s: replace(s, gap_ns=10**10), {"PTS-XSR-15", "PTS-TOOL-10"}),
        ("cbw", Phase.ROUND, 2, shorter, {"PTS-CBW-24"}),
        ("cbw", Phase.ROUND_PREWRITE, 2, shorter, {"PTS-CBW-22"}),
        ("cbw", Phase.WDPC, None, other_load(tc=16), {"PTS-CBW-14"}),
        ("cbw", Phase.HISTOGRAM, 3, shorter, {"PTS-CBW-38"}),
        ("cbw", Phase.ROUND, 1, lambda s: replace(s, ios_by_zone=(4000, 4000, 2000)), {"PTS-CBW-11"}),
        ("cbw", Phase.ROUND, 1, lambda s: replace(s, cpu=None), {"PTS-CBW-26", "PTS-CBW-30", "PTS-CBW-51"}),
        ("cbw", Phase.HISTOGRAM, 1, other_load(tc=32, qd=32), {"PTS-CBW-36"}),
        ("cbw", Phase.HISTOGRAM, 2, other_load(tc=2), {"PTS-CBW-34", "PTS-CBW-40"}),
        ("dirth", Phase.HISTOGRAM_PREWRITE, 2, shorter, {"PTS-DIRTH-29"}),
        (
            "dirth",
            Phase.HISTOGRAM,
            1,
            other_load(tc=2, qd=2),
            {"PTS-DIRTH-24", "PTS-DIRTH-28", "PTS-DIRTH-33"},
        ),
    ],
)
def test_another_record_deviates_under_its_ids(name, phase, number, change, expected) -> None:
    assert with_status(changed(made_up_run(name), phase, change, number), Status.DEVIATED) >= expected


@pytest.mark.proves("PTS-DIRTH-03")
@pytest.mark.parametrize("workload", [WORKLOADS["vod"], WORKLOADS["composite"]])
def test_a_workload_that_the_specification_offers_deviates_in_nothing(workload) -> None:
    run = made_up_run("dirth", adjust=lambda conditions: replace(conditions, workload=workload))
    assert with_status(run, Status.DEVIATED) == set()
    found = standing(run)
    assert found["PTS-DIRTH-02"].status is Status.NOT_APPLICABLE
    assert found["PTS-DIRTH-03"].status is Status.MET


def test_measured_lengths_are_judged_also_of_a_simulated_drive() -> None:
    """At a scale of 67, a drain of 5 ms would appear as 0.34 s of each 5 s."""

    def drained(sample: Sample) -> Sample:
        return replace(sample, elapsed_ns=sample.elapsed_ns + 67 * 5_000_000)

    run = changed(made_up_run("hir"), Phase.RETURN_TO_BASELINE, drained)
    assert "PTS-HIR-17" in with_status(run, Status.DEVIATED)
    facts = SimulationFacts("a", "a drive", "a model", scale=67, simulated_bytes=1, seed=1, assumed=())
    simulated = replace(
        run, manifest=replace(run.manifest, target=replace(run.manifest.target, simulation=facts))
    )
    assert "PTS-HIR-17" in with_status(simulated, Status.DEVIATED)


@pytest.mark.parametrize(
    ("name", "first", "second", "expected"),
    [
        ("iops", 0, 1, {"PTS-IOPS-13", "PTS-IOPS-19", "PTS-GEN-09"}),
        ("iops", 7, 8, {"PTS-IOPS-12", "PTS-IOPS-19", "PTS-GEN-09"}),
        ("lat", 0, 1, {"PTS-LAT-10", "PTS-GEN-09"}),
        ("tp", 0, 1, {"PTS-TP-11", "PTS-GEN-09"}),
        ("cbw", 1, 2, {"PTS-CBW-25", "PTS-GEN-09"}),
        ("dirth", 0, 48, {"PTS-DIRTH-16"}),
    ],
)
def test_elements_in_another_order_deviate(name, first, second, expected) -> None:
    run = made_up_run(name)
    steps = list(run.steps)
    start = next(i for i, step in enumerate(steps) if step.place.phase is Phase.ROUND)
    steps[start + first], steps[start + second] = steps[start + second], steps[start + first]
    assert with_status(replace(run, steps=tuple(steps)), Status.DEVIATED) == expected


def test_wait_states_in_another_order_deviate() -> None:
    run = made_up_run("hir")
    late = [step for step in run.steps if step.place.number == 10 and step.place.phase is Phase.WAIT_STATE]
    others = [step for step in run.steps if step not in late]
    moved = replace(run, steps=(*late, *others))
    assert {"PTS-HIR-11", "PTS-GEN-09"} <= with_status(moved, Status.DEVIATED)


def test_tracked_minutes_at_other_distances_deviate() -> None:
    run = changed(made_up_run("cbw"), Phase.WDPC, lambda s: replace(s, started_ns=s.started_ns * 2))
    assert {"PTS-CBW-18"} <= with_status(run, Status.DEVIATED)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"people": People()}, {"PTS-RPT-03"}),
        ({"purges": ()}, {"PTS-PRG-01", "PTS-IOPS-02", "PTS-FLOW-01", "PTS-GEN-07"}),
        ({"write_caches": ()}, {"PTS-IOPS-03", "PTS-IOPS-08", "PTS-FLOW-02"}),
    ],
)
def test_what_the_manifest_lacks_deviates(change, expected) -> None:
    run = made_up_run("iops")
    lacking = replace(run, manifest=replace(run.manifest, **change))
    assert with_status(lacking, Status.DEVIATED) == expected


def test_a_cache_in_the_other_state_deviates() -> None:
    run = made_up_run("iops")
    found = tuple(replace(report, actual="WCE") for report in run.manifest.write_caches)
    other = replace(run, manifest=replace(run.manifest, write_caches=found))
    assert with_status(other, Status.DEVIATED) == {"PTS-GEN-04", "PTS-CACHE-01", "PTS-IOPS-01", "PTS-IOPS-08"}


def test_a_file_is_no_device() -> None:
    run = made_up_run("iops")
    target = replace(run.manifest.target, kind=TargetKind.FILE)
    on_file = replace(run, manifest=replace(run.manifest, target=target))
    assert with_status(on_file, Status.DEVIATED) == {"PTS-GEN-05"}


@pytest.mark.parametrize(
    ("capture", "used"),
    [
        (None, "the capture was never completed"),
        (CaptureReport("capture", lost="12 I/Os are in no file"), "12 I/Os are in no file"),
    ],
)
def test_completion_times_that_are_in_no_file_deviate(capture, used) -> None:
    run = made_up_run("cbw")
    lost = replace(run, manifest=replace(run.manifest, capture=capture))
    assert with_status(lost, Status.DEVIATED) == {"PTS-CBW-38"}
    assert standing(lost)["PTS-CBW-38"].finding.used == used


def test_marks_that_a_purge_left_deviate() -> None:
    run = made_up_run("iops")
    (purge,) = run.manifest.purges
    left = replace(run, manifest=replace(run.manifest, purges=(replace(purge, changed_samples=3),)))
    assert with_status(left, Status.DEVIATED) == {"PTS-DEF-10"}


def test_a_run_without_steady_state_reaches_none() -> None:
    run = made_up_run("iops", rate=restless_rate)
    assert with_status(run, Status.NOT_REACHED) == {
        "PTS-GEN-06",
        "PTS-SS-01",
        "PTS-SS-03",
        "PTS-SS-04",
        "PTS-SS-05",
    }
    found = standing(run)
    assert found["PTS-IOPS-25"].status is Status.BUILT_IN
    assert found["PTS-IOPS-18"].finding == met("not steady, ended with round 25")
    assert found["PTS-IOPS-11"].finding.note == "ended with round 25, not steady"
    assert found["PTS-FLOW-04"].status is Status.NOT_APPLICABLE


def test_idle_recovery_stops_without_steady_state() -> None:
    found = standing(made_up_run("hir", rate=restless_rate))
    assert found["PTS-HIR-10"].status is Status.MET
    for number in range(11, 19):
        assert found[f"PTS-HIR-{number}"].status is Status.NOT_REACHED
    assert found["PTS-GEN-09"].status is Status.NOT_REACHED


@pytest.mark.full_matrix(most=4)
@pytest.mark.parametrize("name", TESTS)
def test_what_an_interrupted_run_never_reached_is_not_met(name) -> None:
    whole = made_up_run(name)
    empty = standing(cut_after(whole, lambda step: False))
    for id_, each in empty.items():
        if each.requirement.needs.what not in {"record", "purge", "cache"}:
            assert each.status in {Status.NOT_REACHED, Status.NOT_APPLICABLE}, id_


def test_an_interrupted_run_has_no_results_but_its_rounds() -> None:
    run = cut_after(made_up_run("iops"), lambda s: s.place.phase is Phase.WIPC or s.place.number <= 2)
    found = standing(run)
    assert found["PTS-IOPS-12"].status is Status.MET
    assert found["PTS-IOPS-07"].status is Status.MET
    for id_ in ("PTS-IOPS-11", "PTS-IOPS-16", "PTS-IOPS-31", "PTS-FLOW-10", "PTS-SS-03"):
        assert found[id_].status is Status.NOT_REACHED, id_


@pytest.mark.parametrize("rounds", [1, 3])
def test_a_round_that_a_kill_cut_off_has_no_wrong_order(rounds) -> None:
    run = cut_after(
        made_up_run("iops"),
        lambda s: (
            s.place.phase is Phase.WIPC
            or s.place.number < rounds
            or (s.place.number == rounds and s.place.position < 40)
        ),
    )
    run = replace(run, manifest=replace(run.manifest, state=RunState.RUNNING, state_reason=None))
    found = standing(run)
    assert found["PTS-IOPS-07"].status is Status.MET
    reached = Status.MET if rounds > 1 else Status.NOT_REACHED
    for id_ in ("PTS-GEN-09", "PTS-IOPS-13", "PTS-IOPS-19"):
        assert found[id_].status is reached, id_


def test_a_step_that_was_broken_off_counts_for_nothing() -> None:
    run = made_up_run("iops")
    *before, last = run.steps
    broken = replace(last, sample=replace(last.sample, state=StepState.INTERRUPTED))
    found = standing(replace(run, steps=(*before, broken)))
    assert found["PTS-PRE-05"].status is Status.DEVIATED
    assert found["PTS-IOPS-11"].status is Status.MET


def counted(**statuses: int) -> list[Conformance]:
    """So many shall-requirements of each status."""
    shall = by_id()["PTS-IOPS-14"]
    return [
        Conformance(shall, Finding(Status[name], "because"))
        for name, count in statuses.items()
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("statuses", "line"),
    [
        ({"MET": 3}, "3 of 3 shall-requirements checked on the record are met"),
        (
            {
                "MET": 3,
                "DEVIATED": 2,
                "BUILT_IN": 100,
                "UNVERIFIED": 9,
                "NOT_REACHED": 5,
                "NOT_APPLICABLE": 7,
            },
            "3 of 5 shall-requirements checked on the record are met; 2 deviated",
        ),
        ({"BUILT_IN": 4}, "no shall-requirement could be checked on the record"),
    ],
)
def test_only_checks_of_the_record_are_counted(statuses, line) -> None:
    assert count_line(counted(**statuses)) == line


def miscounted(sample: Sample) -> Sample:
    """A tenth of the I/Os more were reads than were ordered."""
    moved = sample.ios // 10
    read, write = sample.read, sample.write
    size = sample.bytes // sample.ios
    return replace(
        sample,
        read=replace(read, ios=read.ios + moved, bytes=read.bytes + moved * size),
        write=replace(write, ios=write.ios - moved, bytes=write.bytes - moved * size),
    )


def doubled(sample: Sample) -> Sample:
    """Twice the bytes in the same I/Os."""
    read, write = (replace(each, bytes=2 * each.bytes) for each in (sample.read, sample.write))
    return replace(sample, read=read, write=write)


@pytest.mark.parametrize(
    ("name", "phase", "change", "expected"),
    [
        ("iops", Phase.ROUND, miscounted, {"PTS-IOPS-12", "PTS-IOPS-19", "PTS-TOOL-06"}),
        ("iops", Phase.ROUND, doubled, {"PTS-IOPS-13", "PTS-IOPS-16", "PTS-IOPS-19", "PTS-TOOL-08"}),
        ("iops", Phase.WIPC, doubled, {"PTS-IOPS-07", "PTS-TOOL-08"}),
        ("lat", Phase.ROUND, doubled, {"PTS-LAT-10", "PTS-LAT-13", "PTS-TOOL-08"}),
        ("cbw", Phase.ROUND, miscounted, {"PTS-CBW-07", "PTS-TOOL-06"}),
        ("cbw", Phase.HISTOGRAM, miscounted, {"PTS-CBW-38", "PTS-TOOL-06"}),
        ("xsr", Phase.ACCESS_GROUP, doubled, {"PTS-XSR-01", "PTS-TOOL-08"}),
    ],
)
def test_what_the_counts_show_decides_and_not_what_was_ordered(name, phase, change, expected) -> None:
    found = with_status(changed(made_up_run(name), phase, change), Status.DEVIATED)
    assert expected <= found


def test_figures_that_were_not_kept_deviate() -> None:
    def bare(sample: Sample) -> Sample:
        return replace(sample, write=replace(sample.write, histogram=b""))

    assert with_status(changed(made_up_run("lat"), Phase.HISTOGRAM, bare), Status.DEVIATED) >= {"PTS-LAT-16"}
    silent = changed(made_up_run("iops"), Phase.ROUND, lambda s: replace(s, read=NOTHING, write=NOTHING))
    assert {"PTS-IOPS-15", "PTS-TOOL-11"} <= with_status(silent, Status.DEVIATED)


def test_a_cycle_whose_cache_was_not_looked_at_deviates() -> None:
    run = made_up_run("tp")
    one = replace(run, manifest=replace(run.manifest, write_caches=run.manifest.write_caches[:1]))
    assert with_status(one, Status.DEVIATED) == {"PTS-TP-04", "PTS-FLOW-02"}


def test_more_outstanding_than_ordered_deviates() -> None:
    def holding(in_flight: int) -> Callable[[Sample], Sample]:
        interval = Interval(
            read=NOTHING, write=NOTHING, elapsed_ns=10**9, cpu=None, index=0, in_flight=in_flight, errors=0
        )
        return lambda sample: replace(sample, intervals=(interval,))

    run = made_up_run("iops")
    assert standing(run)["PTS-DEF-13"].status is Status.UNVERIFIED
    full, crowded = (changed(run, Phase.ROUND, holding(4 * 32 + more)) for more in (0, 1))
    assert standing(full)["PTS-DEF-13"].status is Status.MET
    assert with_status(crowded, Status.DEVIATED) == {"PTS-DEF-13"}

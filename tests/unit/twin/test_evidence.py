"""What runs show of a drive, of runs that never were."""

import pytest
from msgspec.structs import replace

from openpts.analysis.latency import encode_counts
from openpts.errors import UsageError
from openpts.vocabulary.facts import Fact
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import NOTHING, Interval, OperationSample
from openpts_twin.twin.evidence import evidence_of, figures_of, share_until
from tests.support.made_up_run import CAPACITY_BYTES, telling_run


def test_runs_of_one_drive_are_taken_together_with_their_first_round() -> None:
    runs = [telling_run("iops"), telling_run("lat")]
    evidence = evidence_of(runs)
    assert [part.test for part in evidence.parts] == ["iops", "lat"]
    assert evidence.capacity_bytes == CAPACITY_BYTES
    assert evidence.scale == 1
    of_round = [step for step in runs[0].steps if step.place.phase is Phase.ROUND and step.place.number == 1]
    before = [step for step in runs[0].steps if step.place.phase is not Phase.ROUND]
    assert len(evidence.parts[0].steps) == len(of_round) + len(before)
    assert evidence.parts[0].measured[-1]["rate"] == of_round[-1].sample.iops


def test_what_writes_nothing_at_random_comes_behind_a_fill_that_is_as_its_own() -> None:
    """One fill less to replay; what was measured stays with its step."""
    runs = [telling_run("lat"), telling_run("tp")]
    alone = [evidence_of([run]).parts for run in runs]
    (lat,), (tp,) = alone
    together = evidence_of(runs).parts
    assert [part.test for part in together] == ["lat, tp"]
    assert together[0].steps == (lat.steps[0], *tp.steps[1:], *lat.steps[1:])
    assert together[0].measured == (lat.measured[0], *tp.measured[1:], *lat.measured[1:])


def test_steps_behind_a_round_that_is_left_out_are_left_out() -> None:
    """They were measured in the state that the later rounds leave."""
    run = telling_run("lat")
    assert run.steps[-1].place.phase is Phase.HISTOGRAM
    assert run.steps[-1].sample.step not in evidence_of([run]).parts[0].steps


def test_the_course_of_a_long_write_has_the_rates_of_its_parts() -> None:
    """Intervals of equal length, of which the first tenth is ten times as fast."""
    sample = next(step.sample for step in telling_run("tp").steps if step.place.phase is Phase.WIPC)
    moved = [10**9] * 100 + [10**8] * 1000

    def written(amount_bytes: int) -> OperationSample:
        return OperationSample(1, amount_bytes, 1000, 1000, 1000, encode_counts([(1000, 1)]))

    intervals = tuple(
        Interval(
            read=NOTHING, write=written(each), elapsed_ns=10**9, cpu=None, index=number, in_flight=1, errors=0
        )
        for number, each in enumerate(moved)
    )
    writes = written(sum(moved))
    sample = replace(sample, read=NOTHING, write=writes, intervals=intervals)
    course = {
        share_until(int(name.split()[1]) + 1): rate
        for name, rate in figures_of(sample, CAPACITY_BYTES).items()
        if name.startswith("rate ")
    }
    assert len(course) > 20
    assert all(
        rate == pytest.approx(1.0 if until < 0.5 else 0.1, rel=0.01)
        for until, rate in course.items()
        if abs(until - 0.5) > 0.05
    )


def test_runs_of_two_drives_are_refused_by_name() -> None:
    one, other = telling_run("iops"), telling_run("tp")
    dut = {**other.manifest.dut, "serial": Fact("ANOTHER", "nvme id-ctrl")}
    other = replace(other, manifest=replace(other.manifest, dut=dut))
    with pytest.raises(UsageError, match=r"is of another drive than .*ANOTHER.*: fit each drive by itself"):
        evidence_of([one, other])


def test_a_percentile_that_too_few_ios_tell_is_no_figure() -> None:
    sample = telling_run("iops").steps[-1].sample

    def shown(ios: int) -> set[str]:
        reads = OperationSample(ios, ios * 4096, ios * 1000, 1000, 1000, encode_counts([(1000, ios)]))
        return set(figures_of(replace(sample, read=reads, write=NOTHING), CAPACITY_BYTES))

    assert shown(10_000) == {"rate", "read mean", "read p50", "read p99", "read p99.9"}
    assert shown(9_999) == {"rate", "read mean", "read p50", "read p99"}
    assert shown(999) == {"rate", "read mean", "read p50"}

"""Drive cycles and stretches of wear from made-up steps."""

import pytest
from msgspec.structs import replace

from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.sample import NOTHING, IoErrors, IoFailure, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount
from openpts_practice.lifetime.results import SPEED, DriveCycle, drive_cycle, stretches, wear_points


def sample(read_pct: int, length_s: int, amount: int, slowest_ns: int) -> Sample:
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, read_pct, 1, 32, ActiveRange())
    done = OperationSample(10, amount, 10, 1, slowest_ns, b"")
    return Sample(
        step=Step.of(stimulus, ByteAmount(amount)),
        state=StepState.COMPLETE,
        ended_by="amount",
        started_ns=0,
        elapsed_ns=length_s * NS_PER_S,
        gap_ns=0,
        read=done if read_pct else NOTHING,
        write=NOTHING if read_pct else done,
        interval_ns=NS_PER_S,
        intervals=(),
        cpu=None,
        failure=None,
    )


def cycle(number: int, wear: float, **log: float) -> DriveCycle:
    samples = [sample(0, 10, 1000, 50), sample(0, 30, 2000, 90), sample(100, 5, 3000, 20)]
    return drive_cycle(number, samples, {"percentage_used_pct": wear, **log})


def test_a_cycle_puts_its_steps_together() -> None:
    found = cycle(3, 1.0)
    assert (found.write.bytes, SPEED.of(found.write), found.write.max_latency_ns) == (3000, 75, 90)
    assert (found.read.bytes, SPEED.of(found.read), found.read.max_latency_ns) == (3000, 600, 20)
    assert (found.errors, found.failure, found.complete) == (0, None, True)


def test_a_cycle_whose_reads_are_missing_is_not_complete() -> None:
    """A run that was stopped between two steps: each of them is."""
    assert not drive_cycle(1, [sample(0, 10, 1000, 50)], {}).complete
    assert not drive_cycle(1, [sample(0, 10, 2000, 50), sample(100, 5, 1000, 20)], {}).complete
    assert drive_cycle(1, [sample(0, 10, 2000, 50), *[sample(100, 5, 1000, 20)] * 2], {}).complete


def test_reads_that_failed_and_did_not_end_it_leave_a_cycle_complete() -> None:
    """The last read of a range may be shorter than the others."""
    written = sample(0, 10, 1000 * KIB, 50)
    lost = IoErrors("read", "no", 2, (0, 131_072))
    failure = IoFailure("read", 0, 128 * KIB, "no")
    reads = replace(sample(100, 5, 744 * KIB, 20), errors=(lost,), failure=failure)
    found = drive_cycle(1, [written, reads], {})
    assert (found.complete, found.written, found.errors, found.failure) == (True, True, 2, None)
    fewer = replace(reads, errors=(replace(lost, count=1),))
    assert not drive_cycle(1, [written, fewer], {}).complete


def test_a_cycle_that_failed_has_no_read_and_counts_its_errors() -> None:
    failure = IoFailure("write", 4096, 512, "no")
    bad = replace(
        sample(0, 2, 100, 9),
        state=StepState.FAILED,
        failure=failure,
        errors=(IoErrors("write", "no", 3, (1,)), IoErrors("read", "no", 1, (1,))),
    )
    found = drive_cycle(1, [sample(0, 10, 1000, 50), bad], {})
    assert (found.complete, found.errors, found.failure) == (False, 4, failure)
    assert SPEED.of(found.read) is None
    assert wear_points([found], {"percentage_used_pct": 7.0}) == ((0, 7.0),)


def test_a_run_of_little_wear_is_told_cycle_by_cycle() -> None:
    cycles = [cycle(n, n * 0.9) for n in range(1, 6)]
    found = stretches(cycles, {"percentage_used_pct": 0.0})
    assert [(s.first, s.last, s.wear_pct) for s in found] == [(n, n, n * 0.9) for n in range(1, 6)]


def test_a_stretch_spans_five_per_cent_of_wear() -> None:
    # 2 % a cycle from 10 % on: cycles 1 to 3 begin below 15 %, 4 and 5 below 20 %, 6 to 8 below 25 %
    before = {"percentage_used_pct": 10.0, "media_errors": 1.0}
    cycles = [cycle(n, 10 + 2 * n, media_errors=float(n), available_spare_pct=100 - n) for n in range(1, 9)]
    found = stretches(cycles, before)
    assert [(s.first, s.last) for s in found] == [(1, 3), (4, 5), (6, 8)]
    assert [s.wear_pct for s in found] == [16, 20, 26]
    assert [s.media_errors for s in found] == [2, 2, 3]
    assert [s.spare_pct for s in found] == [97, 95, 92]
    assert SPEED.of(found[0].write) == 75
    assert found[0].write.bytes == 9000
    assert found[2].write_amplification is None


def test_wear_points_begin_before_the_first_cycle() -> None:
    cycles = [cycle(1, 0.5), cycle(2, 1.25)]
    assert wear_points(cycles, {"percentage_used_pct": 0.25}) == ((0, 0.25), (1, 0.5), (2, 1.25))
    assert wear_points([], {}) == ()


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_log_that_lacks_wear_at_any_time_is_told_cycle_by_cycle(missing: int) -> None:
    cycles = [cycle(n, 10.0 * n) for n in (1, 2)]
    logs = [{"percentage_used_pct": 0.0}, *(c.log for c in cycles)]
    logs[missing] = {}
    cycles = [replace(c, log=logs[n]) for n, c in enumerate(cycles, start=1)]
    assert len(stretches(cycles, logs[0])) == 2

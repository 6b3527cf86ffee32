"""When I/Os arrive, and the time between steps, proven from what the block layer saw.

Machines that run tests are busy: figures are medians, and limits leave a millisecond where an idle
machine needs some microseconds. What must never happen, an I/O too early, is held without exception. What
others that run can spoil has several attempts: what the engine does wrong, it does in all of them.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from openpts.units import KIB, MIB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.stimulus import (
    BlockSize,
    Burst,
    ClosedLoop,
    Duration,
    DutyCycle,
    FixedRate,
    IoCount,
    OperationWeights,
    Pacing,
    Poisson,
    Step,
    Stimulus,
    ThinkTime,
)
from tests.support.traced_engine import UNLIKELY, TracedRun, run_traced

CAPACITY = 80 * MIB
ATTEMPTS = 8
PAUSE_S = 0.5


def in_some_attempt(test: Callable[..., None]) -> Callable[..., None]:
    @wraps(test)
    def attempted(**arguments: object) -> None:
        for _ in range(ATTEMPTS - 1):
            try:
                return test(**arguments)
            except AssertionError:
                time.sleep(PAUSE_S)
        return test(**arguments)

    return attempted


@pytest.fixture
def drive(traceable: None, attach_memory: Callable[[int], Path]) -> Iterator[Path]:
    """With the engine ahead of all else that runs: its threads inherit the priority of ours."""
    before = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, -20)
    yield attach_memory(CAPACITY)
    os.setpriority(os.PRIO_PROCESS, 0, before)


def _reads(pacing: Pacing, tc: int = 1, qd: int = 1, size: int = 4 * KIB) -> Stimulus:
    return Stimulus(
        random_pct=100,
        block_sizes=(BlockSize(size),),
        operations=OperationWeights(read=1),
        tc=tc,
        qd=qd,
        pacing=pacing,
    )


def _arrivals_ns(run: TracedRun) -> NDArray[np.int64]:
    return np.asarray(run.queued["time_ns"])


@pytest.mark.parametrize(
    ("ios_per_s", "tc", "qd"),
    [(3000, 3, 8), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((1000, 1, 8), (5000, 1, 32)))],
)
@in_some_attempt
def test_a_fixed_rate_keeps_its_grid(drive: Path, ios_per_s: float, tc: int, qd: int) -> None:
    run = run_traced(drive, Step.of(_reads(FixedRate(ios_per_s), tc, qd), IoCount(int(ios_per_s))))
    arrivals_ns = _arrivals_ns(run)
    half = len(arrivals_ns) // 2
    typical_ns = np.median(arrivals_ns[half:] - arrivals_ns[: len(arrivals_ns) - half])
    assert half / typical_ns * NS_PER_S == pytest.approx(ios_per_s, rel=0.005)
    assert np.median(np.diff(arrivals_ns)) == pytest.approx(NS_PER_S / ios_per_s, rel=0.2)
    planned_ns = np.arange(len(arrivals_ns)) * NS_PER_S / ios_per_s
    after_plan_ns = arrivals_ns - planned_ns
    # The grid begins where the most punctual I/O says; one that is early would make all others late.
    assert np.median(after_plan_ns) - after_plan_ns.min() < NS_PER_MS / 2


@pytest.mark.slow
def test_a_fixed_rate_for_a_time_gives_as_many_ios_as_fit(drive: Path) -> None:
    """On a machine that stalls at the end, some are left over; they are told."""
    run = run_traced(drive, Step.of(_reads(FixedRate(2000), qd=16), Duration.seconds(0.5)))
    assert abs(len(run.queued) + run.samples[0].unissued - 1000) <= 1


@in_some_attempt
def test_poisson_arrivals_are_exponentially_apart(drive: Path) -> None:
    ios_per_s, seconds = 100, 4  # so far apart that a busy machine's lateness is a small part of it
    run = run_traced(drive, Step.of(_reads(Poisson(ios_per_s), qd=32), Duration.seconds(seconds)))
    apart_s = np.diff(_arrivals_ns(run)) / NS_PER_S
    assert abs(len(apart_s) - seconds * ios_per_s) < 6 * np.sqrt(seconds * ios_per_s)
    assert stats.kstest(apart_s, stats.expon(scale=1 / ios_per_s).cdf).pvalue > UNLIKELY
    # An I/O that comes soon after the one before says nothing about the next.
    assert stats.spearmanr(apart_s[:-1], apart_s[1:]).pvalue > UNLIKELY


def _bursts(arrivals_ns: NDArray[np.int64], silence_ns: float) -> list[NDArray[np.int64]]:
    """Arrivals cut at every silence."""
    return np.split(arrivals_ns, np.flatnonzero(np.diff(arrivals_ns) > silence_ns) + 1)


@pytest.mark.parametrize(
    ("ios", "period_ms", "tc", "qd"),
    [
        (50, 25, 2, 32),
        (2, 20, 4, 4),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((16, 20, 1, 16), (6, 20, 4, 4))),
    ],
)
@in_some_attempt
def test_bursts_have_their_size_and_period(drive: Path, ios: int, period_ms: int, tc: int, qd: int) -> None:
    pacing = Burst(ios, period_ms * NS_PER_MS)
    run = run_traced(drive, Step.of(_reads(pacing, tc, qd), IoCount(20 * ios)))
    bursts = _bursts(_arrivals_ns(run), period_ms * NS_PER_MS / 2)
    # All of them on an idle machine; where it stalls, bursts run into each other.
    assert np.mean([len(burst) == ios for burst in bursts]) > 0.7
    starts_ns = np.array([burst[0] for burst in bursts])
    assert np.median(np.diff(starts_ns)) == pytest.approx(period_ms * NS_PER_MS, abs=NS_PER_MS)
    # A late burst does not delay the ones after it.
    assert starts_ns[-1] - starts_ns[0] == pytest.approx(19 * period_ms * NS_PER_MS, abs=5 * NS_PER_MS)


def _gaps_ns(parts: Sequence[TracedRun]) -> NDArray[np.int64]:
    """From the last completion of a step to the first arrival of the next."""
    return np.array(
        [after.queued["time_ns"][0] - before.completed["time_ns"][-1] for before, after in pairwise(parts)]
    )


def _duty_cycles(on_ms: int, off_ms: int, length_ms: int) -> Step:
    pacing = DutyCycle(on_ms * NS_PER_MS, off_ms * NS_PER_MS)
    return Step.of(_reads(pacing, qd=4), Duration(length_ms * NS_PER_MS))


@in_some_attempt
def test_duty_cycles_switch_on_and_off_in_time(drive: Path) -> None:
    on_ms, off_ms, cycles = 10, 15, 30
    run = run_traced(drive, _duty_cycles(on_ms, off_ms, (on_ms + off_ms) * cycles - off_ms // 2))
    bursts = _bursts(_arrivals_ns(run), off_ms * NS_PER_MS / 2)
    starts_ns = np.array([burst[0] for burst in bursts])
    ends_ns = np.array([burst[-1] for burst in bursts])
    # Where a busy machine stalls, a burst is seen as two; where it does for as long as a burst, as none.
    assert cycles - 3 <= len(bursts) <= cycles + 3
    # A busy machine wakes the engine late, which shortens one and lengthens the other.
    switched_on_ns = np.quantile(ends_ns - starts_ns, 0.9)
    switched_off_ns = np.quantile(starts_ns[1:] - ends_ns[:-1], 0.1)
    assert switched_on_ns == pytest.approx(on_ms * NS_PER_MS, abs=NS_PER_MS)
    assert switched_off_ns == pytest.approx(off_ms * NS_PER_MS, abs=NS_PER_MS)
    assert np.median(np.diff(starts_ns)) == pytest.approx((on_ms + off_ms) * NS_PER_MS, abs=NS_PER_MS)


@in_some_attempt
def test_steps_of_whole_duty_cycles_end_in_silence(drive: Path) -> None:
    run = run_traced(drive, *[_duty_cycles(on_ms=5, off_ms=20, length_ms=100)] * 6)
    silences_ns = _gaps_ns(run.by_step())
    assert np.median(silences_ns) == pytest.approx(20 * NS_PER_MS, abs=NS_PER_MS)
    assert silences_ns.min() > 15 * NS_PER_MS


def test_idle_gaps_are_silent_for_as_long_as_asked(drive: Path) -> None:
    busy, idle = Step.of(_reads(ClosedLoop(), qd=4), IoCount(200)), Step.of(None, Duration(30 * NS_PER_MS))
    run = run_traced(drive, *[busy, idle] * 8, busy)
    bursts = [part for part in run.by_step() if len(part.queued)]
    silences_ns = _gaps_ns(bursts)
    assert len(silences_ns) == 8
    assert np.median(silences_ns) == pytest.approx(30 * NS_PER_MS, abs=NS_PER_MS)
    assert silences_ns.min() >= 30 * NS_PER_MS


def test_an_io_is_thought_about_after_each_completion(drive: Path) -> None:
    """One at a time, so that the next arrival answers the completion before it."""
    think_ns = 2 * NS_PER_MS
    run = run_traced(drive, Step.of(_reads(ThinkTime(think_ns)), IoCount(200)))
    thought_ns = _arrivals_ns(run)[1:] - run.completed["time_ns"][:-1]
    assert thought_ns.min() >= think_ns
    assert np.median(thought_ns) < think_ns + NS_PER_MS


@in_some_attempt
def test_thinking_ios_do_not_wait_for_each_other(drive: Path) -> None:
    """Four of them make four times the rate of one."""
    run = run_traced(drive, Step.of(_reads(ThinkTime(5 * NS_PER_MS), qd=4), Duration.seconds(0.5)))
    assert 4 * 60 < len(run.queued) <= 4 * 100


def test_of_several_each_is_thought_about(drive: Path) -> None:
    run = run_traced(drive, Step.of(_reads(ThinkTime(5 * NS_PER_MS), qd=4), Duration.seconds(0.5)))
    arrivals_ns = _arrivals_ns(run)
    assert (arrivals_ns[4:] - arrivals_ns[:-4]).min() >= 5 * NS_PER_MS


@in_some_attempt
def test_steps_end_in_time(drive: Path) -> None:
    step = Step.of(_reads(ClosedLoop(), qd=2), Duration(40 * NS_PER_MS))
    parts = run_traced(drive, *[step] * 8).by_step()
    lengths_ns = [int(np.ptp(part.queued["time_ns"])) for part in parts]
    assert np.median(lengths_ns) == pytest.approx(40 * NS_PER_MS, abs=NS_PER_MS)


@in_some_attempt
def test_a_step_ends_in_time_however_seldom_its_ios(drive: Path) -> None:
    seldom = Step.of(_reads(FixedRate(10), tc=4), Duration(250 * NS_PER_MS))
    parts = run_traced(drive, *[seldom, Step.of(_reads(ClosedLoop()), IoCount(10))] * 3).by_step()
    beginnings_ns = np.array([part.queued["time_ns"][0] for part in parts])
    assert [len(part.queued) for part in parts] == [3, 10] * 3
    assert np.median(np.diff(beginnings_ns)[::2]) == pytest.approx(250 * NS_PER_MS, abs=5 * NS_PER_MS)


@pytest.mark.parametrize("pacing", [FixedRate(10), Poisson(10), Burst(4, 100 * NS_PER_MS)])
@in_some_attempt
def test_a_step_ends_with_its_last_io_not_when_another_would_be_due(drive: Path, pacing: Pacing) -> None:
    run = run_traced(
        drive, *[Step.of(_reads(pacing, qd=4), IoCount(4)), Step.of(_reads(ClosedLoop()), IoCount(10))] * 3
    )
    assert np.median(_gaps_ns(run.by_step())[::2]) < 5 * NS_PER_MS


@pytest.fixture
def alternating(drive: Path) -> TracedRun:
    """50 steps of reads of 64 and of 32 KiB in turn, one at a time."""
    steps = [Step.of(_reads(ClosedLoop(), size=size), IoCount(100)) for size in (64 * KIB, 32 * KIB)]
    return run_traced(drive, *steps * 25)


def test_a_step_begins_when_all_ios_of_the_one_before_are_answered(alternating: TracedRun) -> None:
    sizes = [set(part.lengths) for part in alternating.by_step()]
    assert sizes == [{64 * KIB}, {32 * KIB}] * 25
    assert [len(part.completed) for part in alternating.by_step()] == [100] * 50


@pytest.mark.proves("PTS-TOOL-10", "PTS-PRE-05", "PTS-PRE-06", "PTS-XSR-15")
def test_no_idle_time_lies_between_steps(alternating: TracedRun) -> None:
    parts = alternating.by_step()
    turnaround_ns = np.concatenate(
        [part.queued["time_ns"][1:] - part.completed["time_ns"][:-1] for part in parts]
    )
    gaps_ns = _gaps_ns(parts)
    assert gaps_ns.min() > 0
    assert np.median(gaps_ns) < 500 * NS_PER_US
    assert np.median(gaps_ns) - np.median(turnaround_ns) < 300 * NS_PER_US


def test_the_reported_gap_is_the_one_that_the_drive_sees(alternating: TracedRun) -> None:
    """But for the way of a completion from the drive to the engine, which belongs to no gap."""
    reported = [sample.gap_ns for sample in alternating.samples]
    assert reported[0] is None
    missed_ns = _gaps_ns(alternating.by_step()) - np.array(reported[1:])
    assert abs(np.median(missed_ns)) < 100 * NS_PER_US
    assert missed_ns.min() > -50 * NS_PER_US

"""The comparison's loop on engines that answer what they are told."""

import math
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from openpts.analysis.ratio import central_probability, critical_value
from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import NOTHING, Interval, IoFailure, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import Duration, Step
from openpts_fio.cli.crosscheck import (
    CASES,
    READS,
    WRITES,
    Agreement,
    CrosscheckCase,
    CrosscheckEvent,
    CrosscheckRequest,
    PairedRatio,
    PairMeasured,
    alternating_order,
    compare,
    paired_ratio,
)
from tests.support.interval_samples import sample_of


@dataclass
class Speed:
    """An engine whose steps end at once with that many I/Os in a second; each lasts as the queue implies."""

    name: str
    iops: Iterator[int]
    log: list[str]
    failure: IoFailure | None = None
    _submitted: list[Step] = field(default_factory=list)

    @property
    def facts(self) -> Facts:
        return {"engine": Fact(self.name, "made up")}

    def check(self, steps: Sequence[Step]) -> None:
        raise AssertionError("what is submitted at once needs no check before")

    def submit(self, steps: Sequence[Step]) -> None:
        self.log.append(self.name)
        self._submitted += steps

    def poll(self, timeout_s: float) -> Sample | None:
        step = self._submitted.pop(0)
        ios = next(self.iops)
        latency_ns = 10**9 * step.stimulus.toio // ios if ios else 0
        read = (
            OperationSample(ios, ios * 4096, latency_ns * ios, latency_ns, latency_ns, b"")
            if ios
            else NOTHING
        )
        return sample_of(
            step,
            state=StepState.FAILED if self.failure else StepState.COMPLETE,
            gap_ns=None,
            read=read,
            failure=self.failure,
        )

    def progress(self) -> EngineProgress:
        return EngineProgress(0, 0, 0, 0)

    def new_intervals(self) -> tuple[Interval, ...]:
        return ()

    def stop(self) -> None:
        raise AssertionError("who made the engine stops it")


def order(cases: tuple[CrosscheckCase, ...] = READS[:1], repeats: int = 4) -> CrosscheckRequest:
    return CrosscheckRequest("x", cases, lambda stimulus: Step.of(stimulus, Duration(1)), repeats, seed=1)


def both(first: Speed, second: Speed) -> dict[bool, tuple[Speed, Speed]]:
    """The same two for stimuli that are pinned and that are not."""
    return {False: (first, second), True: (first, second)}


def ignore(event: CrosscheckEvent) -> None:
    pass


def test_the_ratio_is_that_of_the_pairs_and_the_order_alternates() -> None:
    log: list[str] = []
    # the device slows down by half from pair to pair: in both figures of a pair alike
    first = Speed("A", iter([102_000, 51_000, 25_500, 12_750]), log)
    second = Speed("B", iter([100_000, 50_000, 25_000, 12_500]), log)
    (comparison,) = compare(both(first, second), order(), ignore)
    assert log == ["A", "B", "B", "A", "A", "B", "B", "A"]
    assert comparison.iops.ratio == pytest.approx(1.02)
    assert comparison.iops.agrees_within(3) is Agreement.YES
    assert comparison.iops.agrees_within(1) is Agreement.NO
    assert comparison.mean_latency_ns.ratio == pytest.approx(1 / 1.02, rel=1e-3)


def test_every_pair_is_told_with_its_stimulus() -> None:
    events: list[CrosscheckEvent] = []
    engines = both(Speed("A", iter([7] * 8), []), Speed("B", iter([9] * 8), []))
    comparisons = compare(engines, order(READS, repeats=2), events.append)
    pairs = [event for event in events if isinstance(event, PairMeasured)]
    assert [(pair.number, pair.of, pair.case.name) for pair in pairs] == [
        (number, 8, READS[(number - 1) % 4].name) for number in range(1, 9)
    ]
    assert all((pair.first.ios, pair.second.ios) == (7, 9) for pair in pairs)
    assert [comparison.case for comparison in comparisons] == list(READS)


def test_queue_depth_1_is_compared_pinned_and_not() -> None:
    log: list[str] = []
    free = (Speed("A", iter([7] * 2), log), Speed("B", iter([9] * 2), log))
    pinned = (Speed("A pinned", iter([5] * 2), log), Speed("B pinned", iter([6] * 2), log))
    cases = tuple(case for case in READS if case.stimulus.toio == 1)
    assert [case.pinned for case in cases] == [False, True]
    assert cases[0].stimulus == cases[1].stimulus
    comparisons = compare({False: free, True: pinned}, order(cases, repeats=2), ignore)
    assert log == ["A", "B", "A pinned", "B pinned", "B", "A", "B pinned", "A pinned"]
    assert [comparison.iops.ratio for comparison in comparisons] == pytest.approx([7 / 9, 5 / 6])


def test_a_failure_names_the_engine() -> None:
    bad = Speed("fio-3.33", iter([5]), [], failure=IoFailure("read", 0, 4096, "Input/output error"))
    with pytest.raises(RunFailedError, match=r"fio-3\.33: read failed: Input/output error"):
        compare(both(Speed("A", iter([5]), []), bad), order(), ignore)


def test_a_step_without_an_io_compares_nothing() -> None:
    with pytest.raises(RunFailedError, match="completed no I/O of RND 4 KiB 100/0"):
        compare(both(Speed("A", iter([0]), []), Speed("B", iter([1]), [])), order(), ignore)


def test_ctrl_c_ends_it() -> None:
    class Interrupting(Speed):
        def poll(self, timeout_s: float) -> Sample | None:
            os.kill(os.getpid(), signal.SIGINT)
            return None

    with pytest.raises(InterruptedRunError):
        compare(both(Interrupting("A", iter([]), []), Speed("B", iter([]), [])), order(), ignore)


def test_an_engine_that_ends_is_a_failed_run() -> None:
    class Ended(Speed):
        def poll(self, timeout_s: float) -> Sample | None:
            raise EngineStoppedError("gone")

    with pytest.raises(RunFailedError, match="without a result"):
        compare(both(Ended("A", iter([]), []), Speed("B", iter([]), [])), order(), ignore)


def test_what_is_compared_unasked_only_reads() -> None:
    assert not any(case.writes for case in READS)
    assert all(case.writes for case in WRITES)
    assert list(CASES.values()) == [*READS, *WRITES]


@pytest.mark.parametrize("confidence", [0.001, 0.5, 0.9, 0.95, 0.99, 0.9999])
def test_critical_values(confidence) -> None:
    degrees = [*range(1, 41), 99, 100, 999]
    expected = stats.t.ppf((1 + confidence) / 2, degrees)
    assert [critical_value(confidence, each) for each in degrees] == pytest.approx(expected, rel=1e-9)


@given(st.floats(0, 1e6), st.integers(1, 300))
def test_central_probability(t, degrees) -> None:
    # near 0 SciPy's tail is 0.5 exactly, and its difference 0: what is lost there is less than this
    reference = 1 - 2 * stats.t.sf(t, degrees)
    assert central_probability(t, degrees) == pytest.approx(reference, abs=1e-8)


@given(st.floats(0, 1e6))
def test_central_probability_in_closed_form(t) -> None:
    assert central_probability(t, 1) == pytest.approx(2 / math.pi * math.atan(t), rel=1e-9)
    assert central_probability(t, 2) == pytest.approx(t / math.sqrt(2 + t * t), rel=1e-9)


@pytest.mark.parametrize(("confidence", "degrees"), [(0, 5), (1, 5), (0.95, 0)])
def test_what_has_no_critical_value(confidence, degrees) -> None:
    with pytest.raises(ValueError, match="no t for"):
        critical_value(confidence, degrees)


FIGURES = st.floats(1e-3, 1e9)


@given(st.lists(st.tuples(FIGURES, FIGURES), min_size=2, max_size=30))
def test_the_interval_is_that_of_a_paired_t_test_of_logarithms(pairs) -> None:
    first, second = zip(*pairs, strict=True)
    ratio = paired_ratio(first, second)
    logs = np.log(first) - np.log(second)
    half = stats.sem(logs) * stats.t.ppf(0.975, len(pairs) - 1)
    assert math.log(ratio.ratio) == pytest.approx(logs.mean(), abs=1e-9)
    assert math.log(ratio.low) == pytest.approx(logs.mean() - half, abs=1e-6)
    assert math.log(ratio.high) == pytest.approx(logs.mean() + half, abs=1e-6)
    assert ratio.first_mean == pytest.approx(stats.gmean(first))
    assert ratio.second_mean == pytest.approx(stats.gmean(second))


def test_another_implementations_interval_of_one_example() -> None:
    first, second = [101.0, 99.0, 104.0, 100.0], [98.0, 100.0, 99.0, 97.0]
    ratio = paired_ratio(first, second)
    test = stats.ttest_rel(np.log(first), np.log(second))
    low, high = test.confidence_interval(0.95)
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    drift = random.lognormal(10, 0.5, size=(4000, 5))  # in both figures of a pair, so that it cancels
    first = 1.02 * drift * random.lognormal(0, 0.02, size=drift.shape)
    second = drift * random.lognormal(0, 0.02, size=drift.shape)
    covered = sum(
        (ratio := paired_ratio(a, b)).low <= 1.02 <= ratio.high
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    )
    # 95 % of 4000 with a standard deviation of 14
    assert abs(covered - 3800) < 5 * 14


def test_one_pair_has_no_interval() -> None:
    ratio = paired_ratio([100.0], [100.0])
    assert (ratio.low, ratio.high) == (0, math.inf)
    assert ratio.agrees_within(3) is Agreement.UNDECIDED


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_what_has_no_ratio(first, second) -> None:
    with pytest.raises(ValueError, match="positive"):
        paired_ratio(first, second)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.99, 1.01, Agreement.YES),
        (1 / 1.03, 1.03, Agreement.YES),
        (1.031, 1.2, Agreement.NO),
        (0.5, 0.97, Agreement.NO),
        (0.99, 1.04, Agreement.UNDECIDED),
        (0.5, 2.0, Agreement.UNDECIDED),
    ],
)
def test_the_verdict_is_about_the_whole_interval(low, high, verdict) -> None:
    assert PairedRatio(1, 1, (low + high) / 2, low, high, 6).agrees_within(3) is verdict


@given(st.integers(1, 6), st.integers(1, 10))
def test_each_engine_comes_first_as_often(stimuli, repeats) -> None:
    order = list(alternating_order(stimuli, repeats))
    assert Counter(stimulus for stimulus, _ in order) == dict.fromkeys(range(stimuli), repeats)
    for stimulus in range(stimuli):
        begins = [first for index, first in order if index == stimulus]
        assert begins == [repeat % 2 == 0 for repeat in range(repeats)]

"""The comparison's loop on engines that return what a test says."""

import math
import os
import signal
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
    ComparedFigure,
    CrosscheckCase,
    CrosscheckRequest,
    agreement,
    compare,
    compared,
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


def request(
    cases: tuple[CrosscheckCase, ...] = READS[:1], repeats: int = 4, limit_pct: float = 3
) -> CrosscheckRequest:
    return CrosscheckRequest(
        target="x", cases=cases, length=Duration(1), repeats=repeats, limit_pct=limit_pct, seed=1
    )


def both(first: Speed, second: Speed) -> dict[bool, tuple[Speed, Speed]]:
    """The same two for stimuli that are pinned and that are not."""
    return {False: (first, second), True: (first, second)}


def ignore(line: str) -> None:
    pass


def ratio(figure: ComparedFigure) -> tuple[float, float, float]:
    """Ratio and the ends of its interval."""
    percents = (figure.difference_pct, figure.low_pct, figure.high_pct)
    return tuple(1 + pct / 100 for pct in percents)


@pytest.mark.parametrize(("limit_pct", "verdict"), [(3, Agreement.YES), (1, Agreement.NO)])
def test_the_ratio_is_that_of_the_pairs_and_the_order_alternates(limit_pct, verdict) -> None:
    log: list[str] = []
    # the device slows down by half from pair to pair: in both figures of a pair alike
    first = Speed("A", iter([102_000, 51_000, 25_500, 12_750]), log)
    second = Speed("B", iter([100_000, 50_000, 25_000, 12_500]), log)
    (found,) = compare(both(first, second), request(limit_pct=limit_pct), ignore)
    assert log == ["A", "B", "B", "A", "A", "B", "B", "A"]
    assert found.iops.difference_pct == pytest.approx(2)
    assert found.iops.agrees is verdict
    assert found.mean_latency_ns.difference_pct == pytest.approx(100 / 1.02 - 100, rel=1e-2)


def test_a_line_for_each_pair_names_its_stimulus() -> None:
    lines: list[str] = []
    engines = both(Speed("A", iter([7] * 8), []), Speed("B", iter([9] * 8), []))
    found = compare(engines, request(READS, repeats=2), lines.append)
    starts = [f"{number:>3}/8 {READS[(number - 1) % 4].name}: 7 and 9 IOPS, " for number in range(1, 9)]
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))
    assert [one.name for one in found] == [case.name for case in READS]


def test_queue_depth_1_is_compared_pinned_and_not() -> None:
    log: list[str] = []
    free = (Speed("A", iter([7] * 2), log), Speed("B", iter([9] * 2), log))
    pinned = (Speed("A pinned", iter([5] * 2), log), Speed("B pinned", iter([6] * 2), log))
    cases = tuple(case for case in READS if case.stimulus.toio == 1)
    assert [case.pinned for case in cases] == [False, True]
    assert cases[0].stimulus == cases[1].stimulus
    found = compare({False: free, True: pinned}, request(cases, repeats=2), ignore)
    assert log == ["A", "B", "A pinned", "B pinned", "B", "A", "B pinned", "A pinned"]
    assert [ratio(one.iops)[0] for one in found] == pytest.approx([7 / 9, 5 / 6])


def test_a_failure_names_the_engine() -> None:
    bad = Speed("fio-3.33", iter([5]), [], failure=IoFailure("read", 0, 4096, "Input/output error"))
    with pytest.raises(RunFailedError, match=r"fio-3\.33: read failed: Input/output error"):
        compare(both(Speed("A", iter([5]), []), bad), request(), ignore)


def test_a_step_without_an_io_compares_nothing() -> None:
    with pytest.raises(RunFailedError, match="completed no I/O of RND 4 KiB 100/0"):
        compare(both(Speed("A", iter([0]), []), Speed("B", iter([1]), [])), request(), ignore)


def test_ctrl_c_ends_it() -> None:
    class Interrupting(Speed):
        def poll(self, timeout_s: float) -> Sample | None:
            os.kill(os.getpid(), signal.SIGINT)
            return None

    with pytest.raises(InterruptedRunError):
        compare(both(Interrupting("A", iter([]), []), Speed("B", iter([]), [])), request(), ignore)


def test_an_engine_that_ends_is_a_failed_run() -> None:
    class Ended(Speed):
        def poll(self, timeout_s: float) -> Sample | None:
            raise EngineStoppedError("gone")

    with pytest.raises(RunFailedError, match="without a result"):
        compare(both(Ended("A", iter([]), []), Speed("B", iter([]), [])), request(), ignore)


def test_what_is_compared_unasked_only_reads() -> None:
    assert not any(case.stimulus.changes_target for case in READS)
    assert all(case.stimulus.changes_target for case in WRITES)
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
    figure = compared(first, second, 3)
    logs = np.log(first) - np.log(second)
    half = stats.sem(logs) * stats.t.ppf(0.975, len(pairs) - 1)
    expected = 100 * (np.exp([logs.mean(), logs.mean() - half, logs.mean() + half]) - 1)
    found = (figure.difference_pct, figure.low_pct, figure.high_pct)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert figure.native == pytest.approx(stats.gmean(first))
    assert figure.fio == pytest.approx(stats.gmean(second))


def test_another_implementations_interval_of_one_example() -> None:
    first, second = [101.0, 99.0, 104.0, 100.0], [98.0, 100.0, 99.0, 97.0]
    test = stats.ttest_rel(np.log(first), np.log(second))
    low, high = test.confidence_interval(0.95)
    assert ratio(compared(first, second, 3))[1:] == pytest.approx((math.exp(low), math.exp(high)))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    drift = random.lognormal(10, 0.5, size=(4000, 5))  # in both figures of a pair, so that it cancels
    first = 1.02 * drift * random.lognormal(0, 0.02, size=drift.shape)
    second = drift * random.lognormal(0, 0.02, size=drift.shape)
    covered = sum(
        (figure := compared(a, b, 3)).low_pct <= 2 <= figure.high_pct
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    )
    # 95 % of 4000 with a standard deviation of 14
    assert abs(covered - 3800) < 5 * 14


def test_one_pair_has_no_interval() -> None:
    figure = compared([100.0], [100.0], 3)
    assert ratio(figure) == (1, 0, math.inf)
    assert figure.agrees is Agreement.UNDECIDED


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], []), ([0.0], [1.0]), ([1.0], [-1.0])])
def test_what_has_no_ratio(first, second) -> None:
    with pytest.raises(ValueError, match="positive"):
        compared(first, second, 3)


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
    assert agreement(low, high, 3) is verdict


@given(st.integers(1, len(CASES)), st.integers(1, 10))
def test_each_engine_begins_as_often(stimuli, repeats) -> None:
    log: list[str] = []
    most = len(CASES) * 10
    engines = both(Speed("A", iter([7] * most), log), Speed("B", iter([9] * most), log))
    compare(engines, request((*READS, *WRITES)[:stimuli], repeats), ignore)
    assert log[::2] == [name for repeat in range(repeats) for name in "AB"[repeat % 2] * stimuli]

"""The comparison's loop on engines that answer what they are told."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from openpts.engine.contract import EngineProgress, EngineStoppedError
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.vocabulary.facts import Fact, Facts
from openpts.vocabulary.sample import NOTHING, Interval, IoFailure, OperationSample, Sample, StepState
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import Duration
from openpts_fio.crosscheck import (
    CASES,
    READS,
    WRITES,
    Agreement,
    Case,
    CrosscheckEvent,
    CrosscheckOrder,
    PairMeasured,
    compare,
)


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
        assert step.stimulus is not None
        ios = next(self.iops)
        latency_ns = 10**9 * step.stimulus.toio // ios if ios else 0
        read = (
            OperationSample(ios, ios * 4096, latency_ns * ios, latency_ns, latency_ns, b"")
            if ios
            else NOTHING
        )
        return Sample(
            step=step,
            state=StepState.FAILED if self.failure else StepState.COMPLETE,
            ended_by="duration",
            started_ns=0,
            elapsed_ns=10**9,
            gap_ns=None,
            read=read,
            write=NOTHING,
            interval_ns=10**9,
            intervals=(),
            cpu=None,
            failure=self.failure,
        )

    def progress(self) -> EngineProgress:
        return EngineProgress(0, 0, 0, 0)

    def new_intervals(self) -> tuple[Interval, ...]:
        return ()

    def stop(self) -> None:
        raise AssertionError("who made the engine stops it")


def order(cases: tuple[Case, ...] = READS[:1], repeats: int = 4) -> CrosscheckOrder:
    return CrosscheckOrder("x", cases, lambda stimulus: Step.of(stimulus, Duration(1)), repeats, seed=1)


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

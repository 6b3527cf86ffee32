"""Each check passes on this openpts, and fails where what it looks at is wrong."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis import steady_state
from openpts.engine.contract import CapturingEngine
from openpts.vocabulary.stimulus import ClosedLoop, FixedRate, Step
from openpts_compare.selftest import known_answers
from openpts_compare.selftest.finding import Expectations, SelfTestVerdict
from openpts_compare.selftest.known_delays import (
    ClockReading,
    Measurement,
    judge_clocks,
    judge_histogram,
    judge_path,
    measure_planted,
)
from tests.support import known_loads
from tests.support.machine import lacking


@pytest.mark.parametrize(("limit", "value"), [("RANGE_LIMIT", 0.21), ("SLOPE_LIMIT", 0.11)])
def test_a_fault_of_the_analysis_is_in_the_answers(limit, value, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(steady_state, limit, value)
    assert known_answers.check(tmp_path).faults


def test_clocks_that_run_apart_are_a_fault() -> None:
    first = ClockReading(0, 0, 0, 100)
    second_ns = 10**9
    assert judge_clocks(first, ClockReading(second_ns, second_ns + 500_000, second_ns, 100)).faults == ()
    raw, real = second_ns - 2_000_000, second_ns + 2_000_000
    assert len(judge_clocks(first, ClockReading(second_ns, raw, real, 100)).faults) == 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Measurement:
    if why := lacking("io_uring"):
        pytest.skip(why)
    return measure_planted(100, tmp_path_factory.mktemp("pipe") / "delays")


def test_the_same_ios_have_the_same_figures(measured) -> None:
    assert judge_histogram(measured).faults == ()


def slower(measured: Measurement, factor: float) -> Measurement:
    """As an engine would report that took milliseconds for something else."""
    read = measured.sample.read
    wrong = replace(read, latency_sum_ns=round(factor * read.latency_sum_ns))
    return replace(measured, sample=replace(measured.sample, read=wrong))


def without_an_io(measured: Measurement) -> Measurement:
    return replace(measured, captured=measured.captured[1:])


def other_clock(measured: Measurement) -> Measurement:
    """Answers by a clock that is twice as fast."""
    return replace(measured, answers=tuple(2 * moment for moment in measured.answers))


def other_unit(measured: Measurement) -> Measurement:
    """Response times in microseconds."""
    captured = (replace(io, latency_ns=io.latency_ns // 1000) for io in measured.captured)
    return replace(measured, captured=tuple(captured))


@pytest.mark.parametrize("spoiled", [without_an_io, lambda measured: slower(measured, 1.01)])
def test_a_histogram_that_is_not_that_of_its_ios_fails(measured, spoiled) -> None:
    assert judge_histogram(spoiled(measured)).verdict is SelfTestVerdict.FAILED


@pytest.mark.parametrize("spoiled", [other_clock, other_unit])
def test_delays_that_are_not_the_planted_ones_fail(measured, spoiled) -> None:
    assert judge_path(spoiled(measured)).verdict is SelfTestVerdict.FAILED


def test_known_delays_are_measured(tmp_path, measured) -> None:
    """One of three attempts, as other tests have the processors, too."""
    more = (measure_planted(100, tmp_path / name) for name in ("second", "third"))
    findings = [judge_path(attempt) for attempt in (measured, *more)]
    assert [finding.faults for finding in findings if not finding.faults]


class OtherEngine:
    """An engine that carries out another stimulus than it is told."""

    def __init__(self, engine: CapturingEngine, change: dict[str, Any]) -> None:
        self._engine, self._change = engine, change
        self.poll, self.finish = engine.poll, engine.finish

    def submit(self, steps: Sequence[Step]) -> None:
        ((stream,),) = (step.streams for step in steps)
        wrong = replace(stream.stimulus, **self._change)
        self._engine.submit([replace(step, streams=(replace(stream, stimulus=wrong),)) for step in steps])


@pytest.mark.needs("io_uring")
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("think", {"pacing": ClosedLoop()}),
        ("capped", {"pacing": ClosedLoop()}),
        ("deep", {"qd": 5}),
        ("fixed", {"pacing": FixedRate(2100)}),
        ("zones", {"random_pct": 79}),
    ],
)
def test_a_load_that_is_issued_otherwise_is_a_fault(name, change, tmp_path, monkeypatch) -> None:
    engine = known_loads._engine
    monkeypatch.setattr(known_loads, "_engine", lambda *words: OtherEngine(engine(*words), change))
    found = Expectations()
    known_loads.answers_of(name, known_loads.loads()[name], tmp_path, found)
    assert found.faults

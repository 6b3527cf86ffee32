"""Each check passes on this openpts, and fails where what it looks at is wrong."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.analysis import steady_state
from openpts.engine import native_build
from openpts.engine.contract import CapturingEngine
from openpts.vocabulary.stimulus import ClosedLoop, FixedRate, Step
from openpts_line.selfcheck import known_answers, laws, loads, real_path, steady_round, virtual_drive
from openpts_line.selfcheck.clocks import ClockReading, judge_clocks
from openpts_line.selfcheck.finding import Expectations, Verdict
from openpts_line.selfcheck.real_path import (
    Measurement,
    judge_batches,
    judge_histogram,
    judge_path,
    measure_planted,
)


def test_a_law_and_a_steady_round_are_found(tmp_path: Path) -> None:
    assert virtual_drive.check(tmp_path).faults == ()
    found = steady_round.check(tmp_path)
    assert found.faults == ()
    # 100 + 200 / 2^(k - 1) over rounds 6 to 10
    assert found.figures["average_iops"] == pytest.approx(100 + 200 * (2**-5 - 2**-10) * 2 / 5, rel=1e-7)


def test_every_answer_is_known(tmp_path: Path) -> None:
    assert known_answers.check(tmp_path).faults == ()


def test_the_analysis_obeys_its_laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert laws.check(tmp_path).faults == ()
    monkeypatch.setattr(steady_state, "RANGE_LIMIT", 0.21)
    assert laws.check(tmp_path).faults


def test_a_law_that_is_not_the_scripts_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        virtual_drive, "_LAW", ((700, 100_000), (200, 400_000), (90, 1_000_000), (10, 2_000_001))
    )
    assert {fault.partition(" ")[0] for fault in virtual_drive.check(tmp_path).faults} >= {
        "sum",
        "time",
        "mean",
        "maximum",
    }


def test_clocks_that_run_apart_are_a_fault() -> None:
    first = ClockReading(0, 0, 0, 100)
    second_ns = 10**9
    assert judge_clocks(first, ClockReading(second_ns, second_ns + 500_000, second_ns, 100)).faults == ()
    raw, real = second_ns - 2_000_000, second_ns + 2_000_000
    assert len(judge_clocks(first, ClockReading(second_ns, raw, real, 100)).faults) == 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measurement:
    if native_build.io_uring() != native_build.AVAILABLE:
        pytest.skip("there is no io_uring")
    return measure_planted(100, tmp_path_factory.mktemp("pipe") / "delays")


def test_the_same_ios_have_the_same_figures(measured: Measurement) -> None:
    assert judge_histogram(measured).faults == ()


def test_batches_rest_and_a_rest_that_is_cut_is_a_fault(tmp_path: Path, measured: Measurement) -> None:
    batches = measure_planted(20, tmp_path / "batches", real_path._BATCHES)
    assert judge_batches(batches).faults == ()
    ios = batches.captured
    early = replace(ios[4], submitted_ns=ios[3].completed_ns)
    assert judge_batches(replace(batches, captured=(*ios[:4], early, *ios[5:]))).faults


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
def test_a_histogram_that_is_not_that_of_its_ios_fails(
    measured: Measurement, spoiled: Callable[[Measurement], Measurement]
) -> None:
    assert judge_histogram(spoiled(measured)).verdict is Verdict.FAILED


@pytest.mark.parametrize("spoiled", [other_clock, other_unit])
def test_delays_that_are_not_the_planted_ones_fail(
    measured: Measurement, spoiled: Callable[[Measurement], Measurement]
) -> None:
    assert judge_path(spoiled(measured)).verdict is Verdict.FAILED


def test_known_delays_are_measured(tmp_path: Path, measured: Measurement) -> None:
    """One of three attempts, as other tests have the processors, too."""
    more = (measure_planted(100, tmp_path / name) for name in ("second", "third"))
    findings = [judge_path(attempt) for attempt in (measured, *more)]
    assert [finding.faults for finding in findings if not finding.faults]


def test_each_load_is_as_known(tmp_path: Path) -> None:
    if native_build.io_uring() != native_build.AVAILABLE:
        pytest.skip("there is no io_uring")
    assert loads.check(tmp_path).faults == ()


class OtherEngine:
    """An engine that carries out another stimulus than it is told."""

    def __init__(self, engine: CapturingEngine, change: dict[str, Any]) -> None:
        self._engine, self._change = engine, change
        self.poll, self.finish = engine.poll, engine.finish

    def submit(self, steps: Sequence[Step]) -> None:
        ((stream,),) = (step.streams for step in steps)
        wrong = replace(stream.stimulus, **self._change)
        self._engine.submit([replace(step, streams=(replace(stream, stimulus=wrong),)) for step in steps])


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
def test_a_load_that_is_issued_otherwise_is_a_fault(
    name: str, change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if native_build.io_uring() != native_build.AVAILABLE:
        pytest.skip("there is no io_uring")
    engine = loads._engine
    monkeypatch.setattr(loads, "_engine", lambda *words: OtherEngine(engine(*words), change))
    found = Expectations()
    loads.answers_of(name, loads.loads()[name], tmp_path, found)
    assert found.faults

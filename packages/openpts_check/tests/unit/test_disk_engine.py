"""Samples of steps that an engine and a program did together, where the program's last call ended late."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from openpts.engine.contract import EngineProgress
from openpts.engine.options import CaptureSummary
from openpts.record.contradictions import refuse_contradictions
from openpts.record.possible import of_step
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.sample import (
    NOTHING,
    Interval,
    Measured,
    Phase,
    Sample,
    StepPlace,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import ActiveRange, Duration, Step
from openpts_check.drivers import disk_engine
from openpts_check.drivers.disk_engine import DiskEngine
from openpts_check.drivers.disk_programs import Commits, Program
from openpts_check.purpose import COMMITS, Asked, purpose_named
from tests.support.made_up_run import made_up_run

LENGTH_NS = 600 * NS_PER_MS
INTERVAL_NS = LENGTH_NS // 4
LATE_NS = 230 * NS_PER_MS


class LateProgram:
    """Commits each 10 ms, of which the last takes longer than its step."""

    def __init__(self, program: Program) -> None:
        self.deadline_ns = 0

    def start(self, order: str, deadline_ns: int) -> None:
        assert order == "write"
        self.deadline_ns = deadline_ns

    def columns(self) -> list[list[int]]:
        starts = list(range(self.deadline_ns - LENGTH_NS, self.deadline_ns, 10 * NS_PER_MS))
        syncs = [9 * NS_PER_MS] * len(starts)
        syncs[-1] += LATE_NS
        return [starts, [NS_PER_MS] * len(starts), syncs]

    def close(self) -> None:
        pass


class QuietEngine:
    """Ends each step on time, without an I/O; it has no intervals of a gap, as real ones."""

    @property
    def cpus(self) -> tuple[int, ...]:
        return ()

    @property
    def facts(self) -> Facts:
        return {}

    def progress(self) -> EngineProgress:
        return EngineProgress(0, 0, 0, 0)

    def new_intervals(self) -> tuple[Interval, ...]:
        return ()

    def stop(self) -> None:
        pass

    def check(self, steps: Sequence[Step]) -> None:
        pass

    def submit(self, steps: Sequence[Step]) -> None:
        (self.step,) = steps

    def poll(self, timeout_s: float) -> Sample:
        del timeout_s
        nothing: dict[str, Any] = {"read": NOTHING, "write": NOTHING, "cpu": None}
        parts = tuple(
            StreamSample(elapsed_ns=LENGTH_NS, ended_by=None, started_ns=NS_PER_S, **nothing)
            for _ in self.step.streams
        )
        streams = tuple(Measured(elapsed_ns=INTERVAL_NS, **nothing) for _ in parts)
        intervals = tuple(
            Interval(index=index, elapsed_ns=INTERVAL_NS, in_flight=0, errors=0, streams=streams, **nothing)
            for index in range(4 if parts else 0)
        )
        return Sample(
            step=self.step,
            state=StepState.COMPLETE,
            ended_by="duration",
            started_ns=NS_PER_S,
            gap_ns=None,
            interval_ns=INTERVAL_NS,
            intervals=intervals,
            failure=None,
            streams=parts,
            elapsed_ns=LENGTH_NS,
            **nothing,
        )

    def finish(self) -> CaptureSummary | None:
        return None


@pytest.fixture
def run() -> Run:
    return made_up_run("check")


@pytest.mark.parametrize("load", ["alone", "beside"])
def test_a_last_commit_that_is_late_contradicts_nothing(load, run, monkeypatch) -> None:
    """The step lasts as long as it, its intervals reach to its end, and each commit is in one of them."""
    monkeypatch.setattr(disk_engine, "Worker", LateProgram)
    asked = Asked(ActiveRange(), 2**30, LENGTH_NS)
    streams = next(one.streams for one in purpose_named("commit").loads(asked) if one.name == load)
    engine = DiskEngine(QuietEngine(), {COMMITS: Commits.to(-1)}, None)
    engine.submit([Step(streams, Duration(LENGTH_NS))])
    sample = engine.poll(0)
    assert sample.elapsed_ns == pytest.approx(LENGTH_NS + LATE_NS, abs=NS_PER_MS)
    assert sum(one.elapsed_ns for one in sample.intervals) == sample.elapsed_ns
    assert sum(one.flush.ios for one in sample.intervals) == sample.flush.ios == 60
    refuse_contradictions(Path(), run.manifest, [(StepPlace(1, Phase.PROFILE, 1, 0), sample)])
    others = [
        text for text in of_step(sample, run.manifest.target) if "outstanding" in text or "last" in text
    ]
    assert others == []

"""A step that may fail: the script gets its sample, and the run comes to its end."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.errors import RunFailedError
from openpts.record.reader import read_run
from openpts.vocabulary.part import Part
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    health_in,
    samples_in,
)
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import Step
from tests.unit.runner.scripted_engine import ScriptedEngine, complete, failed
from tests.unit.runner.test_live import HEALTH, Bench, block_size, step


def outcome(running: Step) -> Sample:
    return failed(running) if block_size(running) == 512 else complete(running)


@pytest.fixture
def bench(tmp_path: Path) -> Callable[[], Bench]:
    return lambda: Bench(tmp_path / "run", ScriptedEngine(outcome))


def until_it_fails(seen: list[Sample], *, may_fail: bool) -> Script:
    yield Purge()
    steps = (step(4096), step(512), step(4096))
    seen += samples_in((yield Apply(Part.DRIVE_CYCLE, 1, steps, may_fail=may_fail)))
    assert health_in((yield ReadHealth(Part.DRIVE_CYCLE, 1))) == HEALTH
    yield CycleFinished(Outcome(None, 0, "an I/O failed"))


def test_the_failed_step_is_the_last_of_the_answer(bench: Callable[[], Bench]) -> None:
    subject, seen = bench(), list[Sample]()
    subject.driver.drive(until_it_fails(seen, may_fail=True))
    assert [sample.state for sample in seen] == [StepState.COMPLETE, StepState.FAILED]
    run = read_run(subject.folder)
    assert [s.sample.state for s in run.steps] == [StepState.COMPLETE, StepState.FAILED]
    assert run.manifest.cycles == (CycleFinished(Outcome(None, 0, "an I/O failed")),)


def test_a_step_that_may_not_fail_ends_the_run(bench: Callable[[], Bench]) -> None:
    subject, seen = bench(), list[Sample]()
    with pytest.raises(RunFailedError):
        subject.driver.drive(until_it_fails(seen, may_fail=False))
    assert seen == []
    assert read_run(subject.folder).manifest.cycles == ()

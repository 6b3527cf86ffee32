"""An interrupt may come between any two lines: what is written after it must be whole, and there once."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from openpts.record import writer as writer_module
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.vocabulary.phase import Phase, StepPlace
from tests.unit.record.test_run_folder import manifest
from tests.unit.runner.live_bench import step
from tests.unit.runner.scripted_engine import complete

FIRST = StepPlace(1, Phase.WIPC, 1, 0)
SECOND = StepPlace(1, Phase.ROUND, 1, 0)


class Interrupter:
    """Raises KeyboardInterrupt before the nth line of the writer that is run."""

    def __init__(self, line: int) -> None:
        self.left = line
        self.hit = False

    def __call__(self, frame: FrameType, event: str, _value: Any) -> Any:
        if frame.f_code.co_filename != writer_module.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.hit = True
                raise KeyboardInterrupt
        return self


def test_a_step_is_stored_once_wherever_an_interrupt_comes(tmp_path: Path) -> None:
    line, hit = 0, True
    while hit:
        line += 1
        folder = tmp_path / str(line)
        writer = RunWriter.create(folder, manifest())
        writer.add_step(FIRST, complete(step(4096)))
        interrupter = Interrupter(line)
        before = sys.gettrace()
        sys.settrace(interrupter)
        try:
            writer.add_step(SECOND, complete(step(512)))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        hit = interrupter.hit
        # as a driver does that was interrupted: it doesn't know how far that came
        writer.add_step(SECOND, complete(step(512)))
        writer.update_manifest(state=RunState.INTERRUPTED, state_reason="stopped by the operator")
        writer.close()
        run = read_run(folder)
        assert [one.place for one in run.steps] == [FIRST, SECOND], line
        assert run.manifest.state is RunState.INTERRUPTED
        assert [one.sample for one in run.steps] == [complete(step(4096)), complete(step(512))]
    assert line > 20


def test_an_interrupt_in_a_change_of_the_manifest_leaves_it_whole(tmp_path: Path) -> None:
    line, hit = 0, True
    while hit:
        line += 1
        folder = tmp_path / str(line)
        writer = RunWriter.create(folder, manifest())
        interrupter = Interrupter(line)
        before = sys.gettrace()
        sys.settrace(interrupter)
        try:
            writer.update_manifest(state_reason="first")
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        hit = interrupter.hit
        writer.update_manifest(state=RunState.INTERRUPTED)
        writer.close()
        told = read_run(folder).manifest
        assert told.state is RunState.INTERRUPTED
        assert told.state_reason in {None, "first"}
    assert line > 5


@pytest.mark.parametrize("times", [2, 3])
def test_only_the_last_step_can_be_given_again(times: int, tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    for place in (FIRST, *[SECOND] * times):
        writer.add_step(place, complete(step(4096)))
    writer.close()
    assert [one.place for one in read_run(tmp_path / "run").steps] == [FIRST, SECOND]

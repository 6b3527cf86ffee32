"""How measurements are followed to their end, whatever that is."""

import fcntl
import os
import signal
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace as with_changes

from openpts.engine.contract import OutstandingIo
from openpts.engine.options import Demand, NativeOptions
from openpts.errors import InterruptedRunError, RefusedError, RunFailedError
from openpts.runner import native_engine
from openpts.runner.stop_signals import StopSignals
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.sample import Interval, Sample, StepState
from openpts.vocabulary.stimulus import ActiveRange, BlockSize, Duration, OperationWeights, Step, Stimulus
from openpts_io import measure
from openpts_io.measure import (
    IntervalsEnded,
    MeasurementEnded,
    MeasurementEvent,
    MeasurementRequest,
    MeasurementStarted,
    MeasurementTicked,
    OutstandingIoHangs,
    follow,
)
from tests.support.interval_samples import interval_of
from tests.support.scripted_engine import ScriptedEngine, complete, failed

pytestmark = pytest.mark.on_disk

STIMULUS = Stimulus(100, (BlockSize(4096),), OperationWeights(read=1), 1, 1, ActiveRange())
STEP = Step.of(STIMULUS, Duration.seconds(1))


def interval(index: int) -> Interval:
    sample = complete(STEP)
    return interval_of(index, in_flight=1, read=sample.read, write=sample.write)


class WithIntervals(ScriptedEngine):
    """Two intervals end while it runs, a third with the sample."""

    def new_intervals(self) -> tuple[Interval, ...]:
        return (interval(self.progress_calls),) if self.waits else ()

    @property
    def progress_calls(self) -> int:
        return 2 - len(self.waits)


def with_three_intervals(step: Step) -> Sample:
    return with_changes(complete(step), intervals=tuple(interval(index) for index in range(3)))


def followed(*engines: ScriptedEngine, stop: StopSignals | None = None) -> list[MeasurementEvent]:
    events: list[MeasurementEvent] = []
    for engine in engines:
        engine.submit([STEP])
    follow(engines, events.append, stop or StopSignals(), [1] * len(engines))
    return events


def ended(events: list[MeasurementEvent]) -> list[tuple[int, StepState]]:
    return [(event.number, event.sample.state) for event in events if isinstance(event, MeasurementEnded)]


def test_every_interval_is_told_exactly_once() -> None:
    events = followed(WithIntervals(outcome=with_three_intervals, waits=deque([None, None])))
    told = [i.index for event in events if isinstance(event, IntervalsEnded) for i in event.intervals]
    assert told == [0, 1, 2]
    assert isinstance(events[-1], MeasurementEnded)


def test_where_one_fails_the_others_go_on() -> None:
    waiting: deque[OutstandingIo | None] = deque([None] * 3)
    events = followed(ScriptedEngine(outcome=failed), ScriptedEngine(waits=waiting))
    assert ended(events) == [(0, StepState.FAILED), (1, StepState.COMPLETE)]
    assert sum(isinstance(event, MeasurementTicked) for event in events) == 3


def test_a_hanging_io_is_told_while_it_hangs() -> None:
    ages_s = (1, 5, 6, 11)
    waits: deque[OutstandingIo | None] = deque(OutstandingIo(s * NS_PER_S, "read", 0, 4096) for s in ages_s)
    events = followed(ScriptedEngine(waits=waits))
    told = [event.io.age_ns // NS_PER_S for event in events if isinstance(event, OutstandingIoHangs)]
    assert told == [5, 11]


def test_a_stop_ends_all_and_keeps_what_they_hand_over() -> None:
    class Stoppable(ScriptedEngine):
        def stop(self) -> None:
            self.happened.append("stop")
            self.waits.clear()

    engines = [Stoppable(waits=deque([None] * 1000)) for _ in range(2)]
    events: list[MeasurementEvent] = []
    for engine in engines:
        engine.submit([STEP])
    with pytest.raises(InterruptedRunError):
        follow(engines, events.append, StopSignals(noted=1), [1] * len(engines))
    assert [number for number, _ in ended(events)] == [0, 1]
    assert [engine.happened.count("stop") for engine in engines] == [1, 1]


def test_an_engine_that_hands_over_nothing_is_given_up(monkeypatch) -> None:
    class Dead(ScriptedEngine):
        def stop(self) -> None:
            self.happened.append("stop")

    monkeypatch.setattr(measure, "_STOP_LIMIT_S", 0.01)
    endless: deque[OutstandingIo | None] = deque([None] * 10**6)
    with pytest.raises(InterruptedRunError):
        followed(Dead(waits=endless), stop=StopSignals(noted=1))


def test_an_engine_that_ends_without_a_result_is_an_error() -> None:
    engine = ScriptedEngine()
    engine.stop()
    with pytest.raises(RunFailedError, match="without a result"):
        followed(engine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_a_wish_and_the_second_interrupts(number) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert not stop.wished
        os.kill(os.getpid(), number)
        assert stop.wished
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("operations", "changes"),
    [
        (OperationWeights(read=1), False),
        (OperationWeights(read=1, flush=1, fsync=1), False),
        (OperationWeights(read=99, write=1), True),
        (OperationWeights(trim=1), True),
    ],
)
def test_only_writes_and_trims_change_a_target(operations, changes) -> None:
    stimulus = Stimulus(100, (BlockSize(4096),), operations, 1, 1)
    assert stimulus.changes_target is changes


@pytest.fixture
def files(tmp_path) -> list[str]:
    paths = [tmp_path / name for name in ("one", "two")]
    for path in paths:
        path.write_bytes(bytes(8192))
    return [f"file:{path}" for path in paths]


@dataclass
class Workshop:
    """Hands out scripted engines instead of real ones, and remembers what they were made for."""

    happened: list[str] = field(default_factory=list)
    cpus: list[tuple[int, ...]] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)

    def make(
        self, fd: int, target: TargetFacts, demand: Demand, seed: int, options: NativeOptions
    ) -> ScriptedEngine:
        self.cpus.append(options.cpus)
        self.flags.append(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE)
        self.happened.append("made")
        return ScriptedEngine(happened=self.happened)


@pytest.fixture
def workshop(monkeypatch) -> Workshop:
    made = Workshop()
    monkeypatch.setattr(native_engine, "NativeEngine", made.make)
    monkeypatch.setattr(native_engine, "cpus_near", lambda target, roots: (2, 3, 5, 7))
    monkeypatch.setattr(native_engine.os, "sched_getaffinity", lambda pid: {0, 2, 3, 7})
    return made


def test_all_engines_stand_ready_before_the_first_begins(files, workshop) -> None:
    events: list[MeasurementEvent] = []
    measure.measure([MeasurementRequest(file, (STEP,), NativeOptions()) for file in files], events.append)
    assert workshop.happened == ["made", "made", "submit 1", "submit 1", "stop", "stop"]
    assert [type(event) for event in events[:2]] == [MeasurementStarted, MeasurementStarted]
    assert len(ended(events)) == 2
    assert workshop.flags == [os.O_RDONLY, os.O_RDONLY]


def test_the_threads_spread_over_the_allowed_processors_near_the_target(files, workshop) -> None:
    orders = [MeasurementRequest(file, (STEP,), NativeOptions()) for file in files]
    measure.measure(orders, lambda event: None)
    assert workshop.cpus == [(2, 3, 7), (3, 7, 2)]


def test_processors_that_were_named_are_taken(files, workshop) -> None:
    order = MeasurementRequest(files[0], (STEP,), NativeOptions(cpus=(1,)), pin_to_node=False)
    measure.measure([order], lambda event: None)
    assert workshop.cpus == [(1,)]


@pytest.mark.needs("files")
def test_without_consent_nothing_is_opened_for_writing(files, workshop) -> None:
    Path(files[0].removeprefix("file:")).write_bytes(b"years of work" * 100_000)
    trims = Step.of(Stimulus(100, (BlockSize(4096),), OperationWeights(trim=1), 1, 1), Duration.seconds(1))
    with pytest.raises(RefusedError, match="--overwrite-file"):
        measure.measure([MeasurementRequest(files[0], (trims,), NativeOptions())], lambda event: None)
    assert workshop.happened == []

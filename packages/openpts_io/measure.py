"""Steps on one or several targets at once, without a test around them: nothing is purged or recorded."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from math import gcd
from pathlib import Path
from time import monotonic
from typing import Final

from msgspec import Struct, field, structs
from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine, Engine, EngineProgress, EngineStoppedError, OutstandingIo
from openpts.engine.options import CaptureSummary, NativeOptions
from openpts.errors import InterruptedRunError, RecordError, RunFailedError, UsageError
from openpts.runner.device_under_test import DeviceUnderTest, device_under_test
from openpts.runner.resource_check import check_atomic, demand_of, stimuli_of
from openpts.runner.step_faults import HangWatch
from openpts.runner.stop_signals import StopSignals
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Facts, TargetFacts
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Interval, Sample, StepState
from openpts.vocabulary.stimulus import Step, Stimulus


class MeasurementStarted(Struct, frozen=True):
    """The engine is ready on the target; ``notes`` are remarks on it for the operator."""

    number: int
    target: TargetFacts
    steps: tuple[Step, ...]
    engine: Facts
    seed: int
    notes: tuple[str, ...]


class IntervalsEnded(Struct, frozen=True):
    """Intervals that have ended since the last ones."""

    number: int
    intervals: tuple[Interval, ...]


class MeasurementTicked(Struct, frozen=True):
    """A fraction of a second has passed."""

    number: int
    progress: EngineProgress


class OutstandingIoHangs(Struct, frozen=True):
    """An I/O has not been answered for seconds; reported again each time that its age has doubled."""

    number: int
    io: OutstandingIo


class MeasurementEnded(Struct, frozen=True):
    """A step of the measurement is over, by its rule, by a failure or by the operator."""

    number: int
    sample: Sample


class CaptureEnded(Struct, frozen=True):
    """The files with every single I/O are complete."""

    number: int
    folder: Path
    summary: CaptureSummary


class CaptureFailed(Struct, frozen=True):
    """Not every single I/O is in the files; the measurement itself is whole."""

    number: int
    reason: str


MeasurementEvent = (
    MeasurementStarted
    | IntervalsEnded
    | MeasurementTicked
    | OutstandingIoHangs
    | MeasurementEnded
    | CaptureEnded
    | CaptureFailed
)
MeasurementListener = Callable[[MeasurementEvent], None]


_TICK_S: Final = 0.1
# How long an engine may take to hand over what it measured after a stop: it waits for a second itself for
# what hangs in the device.
_STOP_LIMIT_S: Final = 3.0


class MeasurementRequest(Struct, frozen=True):
    """Steps to be measured one after the other. ``consent`` only counts where any writes or trims.

    ``pin_to_node``: the threads run on the processors near the target instead of ``options.cpus``. ``notes``
    are remarks for the operator on how it was made.
    """

    target: str
    steps: tuple[Step, ...]
    options: NativeOptions
    consent: Consent = field(default_factory=Consent)
    pin_to_node: bool = True
    seed: int = field(default_factory=lambda: secrets.randbits(63))
    notes: tuple[str, ...] = ()

    @property
    def stimuli(self) -> tuple[Stimulus, ...]:
        """Stimuli of all steps."""
        return tuple(stimulus for step in self.steps for stimulus in step.stimuli)

    @property
    def changes_target(self) -> bool:
        """Whether any step writes or trims."""
        return any(step.changes_target for step in self.steps)


def alone(request: MeasurementRequest) -> tuple[MeasurementRequest, ...]:
    """The same for each stream of the only step by itself, without those beside it.

    Raises UsageError for several steps, for a step of a single stream, and where I/Os are captured.
    """
    if len(request.steps) > 1:
        raise UsageError(f"cannot measure streams alone and together: there are {len(request.steps)} steps")
    (step,) = request.steps
    if len(step.streams) < 2:
        raise UsageError("cannot measure streams alone and together: the step has a single stream")
    if step.capture:
        raise UsageError("cannot measure streams alone and together with --capture: leave out one of them")
    return tuple(
        replace(request, steps=(structs.replace(step, streams=(stream,)),)) for stream in step.streams
    )


def measure(requests: Sequence[MeasurementRequest], emit: MeasurementListener) -> None:
    """Carry out all requests at once. Events have the number of the request, counted from 0.

    Every target is open and every engine is ready before the first I/O is issued. Where an I/O fails,
    the other targets continue to their end. Raises OpenptsError; InterruptedRunError on Ctrl-C, after
    what was measured until then was reported.
    """
    with ExitStack() as stack:
        # from the last exit to the first: engines end before their targets are closed
        devices = [
            stack.enter_context(device_under_test(one.target, one.consent, for_writing=one.changes_target))
            for one in requests
        ]
        engines = [
            stack.enter_context(_engine(request, device, first_thread))
            for request, device, first_thread in zip(requests, devices, _first_threads(requests), strict=True)
        ]
        stop = stack.enter_context(StopSignals())
        for number, (request, device, engine) in enumerate(zip(requests, devices, engines, strict=True)):
            healed = (healing.text for healing in device.healed)
            own = dict.fromkeys(note for step in request.steps for note in device.notes(step))
            notes = (*request.notes, *healed, *own)
            emit(MeasurementStarted(number, device.facts, request.steps, engine.facts, request.seed, notes))
        for request, engine in zip(requests, engines, strict=True):
            engine.submit(request.steps)
        try:
            follow(engines, emit, stop, [len(request.steps) for request in requests])
        finally:
            _finish_captures(requests, engines, emit)


def _finish_captures(
    requests: Sequence[MeasurementRequest], engines: Sequence[CapturingEngine], emit: MeasurementListener
) -> None:
    for number, (request, engine) in enumerate(zip(requests, engines, strict=True)):
        if (capture := request.options.capture) is None:
            continue
        try:
            summary = engine.finish()
        except RecordError as error:
            emit(CaptureFailed(number, str(error)))
        else:
            if summary is not None:
                emit(CaptureEnded(number, capture.folder, summary))


def follow(
    engines: Sequence[Engine], emit: MeasurementListener, stop: StopSignals, steps: Sequence[int]
) -> None:
    """Report progress until each engine has returned the samples of so many steps, or one that failed.

    Raises InterruptedRunError if the operator wished a stop, RunFailedError if a sample never came.
    """
    running = [
        _Running(number, engine, emit, count)
        for number, (engine, count) in enumerate(zip(engines, steps, strict=True))
    ]
    stopped_s: float | None = None
    while running:
        if stop.wished and stopped_s is None:
            stopped_s = monotonic()
            for measurement in running:
                measurement.engine.stop()
        if stopped_s is not None and monotonic() - stopped_s > _STOP_LIMIT_S:
            break
        timeout_s = _TICK_S / len(running)
        running = [measurement for measurement in running if not measurement.ends_within(timeout_s)]
    if stop.wished:
        raise InterruptedRunError("stopped by the operator")


class _Running(Struct):
    """One engine at work on its steps, of which so many are left."""

    number: int
    engine: Engine
    emit: MeasurementListener
    steps: int
    _watch: HangWatch = field(default_factory=HangWatch)
    _reported: int = 0

    def ends_within(self, timeout_s: float) -> bool:
        """Wait, tell what happened, and say whether it is over."""
        try:
            sample = self.engine.poll(timeout_s)
        except EngineStoppedError as error:
            raise RunFailedError("the engine ended without a result") from error
        new = self.engine.new_intervals() if sample is None else sample.intervals[self._reported :]
        self._reported += len(new)
        if new:
            self.emit(IntervalsEnded(self.number, new))
        if sample is not None:
            self.emit(MeasurementEnded(self.number, sample))
            self._reported, self.steps = 0, self.steps - 1
            return not self.steps or sample.state is not StepState.COMPLETE
        progress = self.engine.progress()
        self.emit(MeasurementTicked(self.number, progress))
        if hanging := self._watch.news(progress.oldest):
            self.emit(OutstandingIoHangs(self.number, hanging))
        return False


def _engine(
    request: MeasurementRequest, device: DeviceUnderTest, first_thread: int
) -> AbstractContextManager[CapturingEngine]:
    if not request.stimuli:
        raise UsageError("nothing to measure: the stimulus has no I/O")
    options, facts = request.options, device.facts
    for stimulus in stimuli_of(request.steps):
        if stimulus.atomic:
            check_atomic(stimulus, facts, SystemRoots())
    if options.capture is not None:
        granule_bytes = gcd(
            *(
                stimulus.granule_bytes(facts.user_capacity_bytes, facts.sector_bytes)
                for stimulus in request.stimuli
            )
        )
        options = replace(options, capture=replace(options.capture, lba_bytes=granule_bytes))
    return device.engine(
        demand_of(request.steps), request.seed, options, near=request.pin_to_node, first_thread=first_thread
    )


def _first_threads(requests: Sequence[MeasurementRequest]) -> list[int]:
    """Threads in the engines before each, so that no two engines begin on the same processor."""
    counts = [max(sum(one.tc for one in step.stimuli) for step in request.steps) for request in requests]
    return [sum(counts[:number]) for number in range(len(requests))]

"""Drives a test script on a real engine: carries out what it asks and sends back what happened."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.purge.purge import no_purge
from openpts.device.write_cache import ENABLED
from openpts.engine.contract import CapturingEngine, EngineStoppedError
from openpts.errors import InterruptedRunError, RunFailedError
from openpts.record.health import HealthRecord, ReadingPoint, TelemetryPoint
from openpts.record.spooling_writer import SpoolingWriter
from openpts.runner.driver import Driver
from openpts.runner.event_lines import (
    CycleEnded,
    DeviationFound,
    Note,
    PurgeProgressed,
    PurgeStarted,
    SteadyStateJudged,
)
from openpts.runner.events import (
    Event,
    HostStalled,
    IoHangs,
    Listener,
    PurgeFinished,
    RecordDelayed,
    RunGoesOn,
    RunPaused,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.runner.preparation import Preparation
from openpts.runner.replay import BEFORE_THE_FIRST, places_of
from openpts.runner.step_faults import (
    HangWatch,
    disturbance_deviations,
    error_deviations,
    failure_text,
    step_deviation,
)
from openpts.runner.stop_signals import StopSignals
from openpts.runner.telemetry import Sampler
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.document import filled
from openpts.vocabulary.facts import HealthReading, PurgeReport, WriteCacheReport
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    CycleFinished,
    DriverRequest,
    Purge,
    ReadHealth,
    ReadTrimmed,
    Request,
    Script,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation, StepDeviation

TICK_S = 0.1
# How long the engine may take to hand over the step that was running when the operator stopped it.
STOP_LIMIT_S = 3.0
# A machine that falls asleep again and again must not keep a run from its end.
_MOST_REPEATS: Final = 3
_PAUSE_POLL_S: Final = 1.0
# Idle means that the host issues no commands, nor asks for a temperature.
_WITHOUT_COMMANDS: Final = frozenset({Phase.WAIT_STATE})


class RecordedPrefix(Struct, frozen=True):
    """What earlier attempts have left of a run that continues; the defaults are those of one that begins.

    ``place`` comes after the last step that stands. ``clock_ns`` is what the engine's clock of the run shows
    when that of this engine is 0, ``last_end_ns`` what it showed at the last step's end.
    """

    purges: tuple[PurgeReport, ...] = ()
    write_caches: tuple[WriteCacheReport, ...] = ()
    cycles: tuple[CycleFinished, ...] = ()
    ledger: tuple[Deviation, ...] = ()
    place: StepPlace = BEFORE_THE_FIRST
    clock_ns: int = 0
    last_end_ns: int | None = None


@dataclass(slots=True)
class RecordPause:
    """The pause of a run whose record can't be written for now: between steps, until its disk has room again.

    No steps are interrupted, so that none have to be repeated.
    """

    writer: SpoolingWriter
    emit: Listener
    _unannounced: list[Event] = field(default_factory=list)
    _announced: bool = False
    _paused_ns: int = 0
    _reason: str = ""

    def tell(self, event: Event) -> None:
        """Announce what is in the record, or follows from it: when the record has all that came before."""
        self._unannounced.append(event)
        self._tell_stored()

    def _tell_stored(self) -> None:
        while self._unannounced and not self.writer.waits:
            self.emit(self._unannounced.pop(0))

    def announce(self) -> None:
        """Announces a delayed record, once per delay."""
        if self.writer.trouble and not self._announced:
            self._announced = True
            self.emit(RecordDelayed(self.writer.folder, self.writer.trouble))

    def until_written(self) -> None:
        """Return when the record has all that was measured, at once if it has.

        Raises InterruptedRunError on Ctrl-C, LostRecordError if the record is gone.
        """
        if not self.writer.trouble:
            return
        self.announce()
        self._reason, began_ns = self.writer.trouble, time.monotonic_ns()
        try:
            while reason := self.writer.try_again():
                self.emit(RunPaused(self.writer.folder, reason, time.monotonic_ns() - began_ns))
                time.sleep(_PAUSE_POLL_S)
        except KeyboardInterrupt:
            raise InterruptedRunError("stopped by the operator, in a pause of the record") from None
        paused_ns = time.monotonic_ns() - began_ns
        self._paused_ns += paused_ns
        self._announced = False
        self.emit(RunGoesOn(paused_ns))
        self._tell_stored()

    def deviations(self, place: StepPlace, sample: Sample) -> tuple[StepDeviation, ...]:
        """The ledger entry of the first step after a pause; none if the drive was not idle in it.

        The time of a simulated drive stands still meanwhile.
        """
        idle_ns = self._paused_ns if sample.gap_ns is None else min(sample.gap_ns, self._paused_ns)
        self._paused_ns = 0
        if idle_ns < NS_PER_S:
            return ()
        return (
            step_deviation(
                place,
                required="steps that follow each other without a pause",
                used=f"{format_duration(idle_ns)} without I/O before {place} ({sample.step}): "
                f"the record could not be written: {self._reason}",
                effect="a drive that is idle recovers: the figures that follow may be better for it",
                extent=idle_ns,
            ),
        )


RecordedStep = tuple[StepPlace, Sample]
Follows = Callable[[Sequence[RecordedStep], Sequence[TelemetryPoint], int, bool], Iterable[Event]]


@dataclass(slots=True)
class ScriptRunner:
    """One run of one script. What it measures is in the record before the next judgement but one.

    Listeners hear of a step when it is in the record, and of all that follows from it after that.
    ``follows`` gives the events that follow from recorded steps and samples, of which each is handed over
    once, at a time of the engine's clock, and whether no more will come.
    ``reads_each_phase``: the drive's log is read whenever another phase follows.
    """

    engine: CapturingEngine
    preparation: Preparation
    writer: SpoolingWriter
    emit: Listener
    read_health: Callable[[], HealthReading]
    sampler: Sampler
    driver: Driver
    past: RecordedPrefix = field(default_factory=RecordedPrefix)
    follows: Follows = lambda *_: ()
    reads_each_phase: bool = False
    pause: RecordPause = field(init=False)
    _phase: Phase | None = None
    _hangs: HangWatch = field(default_factory=HangWatch)
    _waiting: list[tuple[Event, tuple[StepDeviation, ...]]] = field(default_factory=list)
    _place: StepPlace = field(init=False)
    _purges: list[PurgeReport] = field(init=False)
    _write_caches: list[WriteCacheReport] = field(init=False)
    _cycles: list[CycleFinished] = field(init=False)
    _entered: set[Deviation] = field(init=False)
    _step_ended_ns: int | None = field(init=False)
    _engine_clock_offset_ns: int | None = None
    _recorded: list[RecordedStep] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._place, self._step_ended_ns = self.past.place, self.past.last_end_ns
        self._purges, self._write_caches = list(self.past.purges), list(self.past.write_caches)
        self._cycles, self._entered = list(self.past.cycles), {one.kind for one in self.past.ledger}
        self.pause = RecordPause(self.writer, self.emit)

    def drive(self, script: Script) -> None:
        """Run the script to its end.

        Raises RunFailedError when an I/O fails, InterruptedRunError on Ctrl-C, and whatever the
        preparation raises. The finished steps are in the record in every case.
        """
        answer: Answer = None
        try:
            while True:
                answer = self.perform(script.send(answer))
        except StopIteration:
            return
        except KeyboardInterrupt:
            self._stop()
            raise InterruptedRunError("stopped by the operator") from None
        finally:
            self.write_down()

    def perform(self, request: Request) -> Answer:
        """Do what a script, or a driver in its place, asks for."""
        match request:
            case Purge(needed):
                self._purge() if needed else self._keep_state()
            case SetWriteCache(enabled):
                self.keep_write_cache(*self.preparation.write_cache(enabled))
            case Apply():
                return tuple(self._run(request))
            case DriverRequest():
                return self.driver.answer(request, self)
            case ReadTrimmed(active_range, seed):
                self.write_down()
                trimmed = self.preparation.device.trimmed_reads(active_range, seed)
                self.writer.update_manifest(trimmed=trimmed)
            case ReadHealth(phase, number):
                return self.health(ReadingPoint.DURING, phase, number)
            case SteadyStateChecked(phase, number, names, reports):
                self._tell(SteadyStateJudged.of(phase, number, names, reports))
            case CycleFinished():
                self.write_down()  # the record of a finished cycle has all of its steps
                if self._write_caches and self.driver.drive_stays:
                    self.add_deviations(self.preparation.cache_since(self._write_caches[-1]))
                self._cycles.append(request)
                self.writer.update_manifest(cycles=self._cycles)
                self.pause.tell(CycleEnded.of(len(self._purges), request))
        return None

    def _purge(self) -> None:
        """Purge, with the drive's log around it."""
        self.write_down()  # it may take hours, in which what was measured could be lost
        self.pause.until_written()
        if self._purges:
            self.health(ReadingPoint.DURING)
        self._phase = None
        # a drive that is erasing may refuse a command, and then count that as an error
        self.sampler.leave_drive_alone = True
        self.emit(PurgeStarted())
        purge_report, deviations = self.preparation.purge(
            lambda share, text: self.emit(PurgeProgressed(share=share, text=text))
        )
        self._purges.append(purge_report)
        self.health(ReadingPoint.DURING)
        self.add_deviations(deviations)
        self.writer.update_manifest(purges=self._purges)
        self.emit(PurgeFinished(purge_report))

    def _keep_state(self) -> None:
        """Begin a cycle that continues from the state of the one before: its record has no purge."""
        self._phase = None
        self._purges.append(no_purge("the cycle before has left the state that this one measures"))
        self.writer.update_manifest(purges=self._purges)

    def keep_write_cache(self, report: WriteCacheReport, deviations: tuple[Deviation, ...]) -> None:
        """Keep in the record how the cache was set, and what of that deviates."""
        self._write_caches.append(report)
        self.add_deviations(deviations)
        self.writer.update_manifest(write_caches=self._write_caches)

    def begin_clock(self) -> None:
        """Set the engine's clock of the run by the host's, unless a step has done so."""
        if self._engine_clock_offset_ns is None:
            self._engine_clock_offset_ns = self.past.clock_ns - time.monotonic_ns()

    def restore_write_cache(self) -> None:
        """Set the cache as the script last asked for: a power cycle may have changed it."""
        if self._write_caches:
            required = self._write_caches[-1].required == ENABLED
            self.add_deviations(self.preparation.write_cache(required)[1])

    def health(
        self, occasion: ReadingPoint, phase: Phase | None = None, number: int | None = None
    ) -> HealthReading:
        """Read the device's log, for the record; without a phase where every test leaves the device alone."""
        reading = self._within_the_run(self.read_health())
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.writer.add_health(
            HealthRecord(occasion, len(self._purges), phase, number, now, self._step_ended_ns, reading)
        )
        return reading

    def _within_the_run(self, reading: HealthReading) -> HealthReading:
        """A drive on a scale is busy beyond its steps, which end on time with answers that come later."""
        busy_s, ended_ns = reading.values.get("busy_s"), self._step_ended_ns
        if busy_s is None or ended_ns is None or self.preparation.device.facts.simulation is None:
            return reading
        return replace(reading, values={**reading.values, "busy_s": min(busy_s, ended_ns / NS_PER_S)})

    @property
    def cycles(self) -> tuple[CycleFinished, ...]:
        """Cycles that came to their end."""
        return tuple(self._cycles)

    def add_deviations(self, deviations: tuple[Deviation, ...]) -> None:
        """Enter into the ledger and tell the listeners; what another cycle has entered is there once."""
        new = self._new(deviations)
        self.writer.add_deviations(new)
        self._enter(new)

    def _new(self, deviations: tuple[Deviation, ...]) -> tuple[Deviation, ...]:
        return tuple(one for one in dict.fromkeys(deviations) if one.kind not in self._entered)

    def _enter(self, new: tuple[Deviation, ...]) -> None:
        self._entered.update(one.kind for one in new)
        for deviation in new:
            self.pause.tell(filled(DeviationFound, deviation))

    def _run(self, apply: Apply) -> list[Sample]:
        """Carry out the steps, again where openpts stood still in them and the test allows that."""
        self.pause.until_written()
        self._read_between(apply.phase)
        repeats_left = _MOST_REPEATS if apply.repeatable else 0
        first = places_of(apply, len(self._purges), self._place)[0]
        while True:
            samples = self._run_once(apply, may_repeat=repeats_left > 0)
            if not repeats_left or not any(sample.standstills for sample in samples):
                return samples
            repeats_left -= 1
            self.write_down()
            self.writer.set_aside(first)
            self._place = first

    def _read_between(self, phase: Phase) -> None:
        """Read the log after a phase; no script asks for that one, so that it has no number."""
        before, self._phase = self._phase, phase
        leaves_alone = _WITHOUT_COMMANDS & {before, phase}
        if self.reads_each_phase and before not in {None, phase} and not leaves_alone:
            self.health(ReadingPoint.DURING, before)

    def _run_once(self, apply: Apply, *, may_repeat: bool) -> list[Sample]:
        steps = apply.steps
        places = places_of(apply, len(self._purges), self._place)
        self._place = places[0]
        self.check_device()
        self.sampler.leave_drive_alone = apply.phase in _WITHOUT_COMMANDS
        self.engine.submit(steps)
        # The device works again: now there is time to write down what it did before.
        self.write_down()
        self.emit(StepsStarted(places[0].cycle, apply))
        samples: list[Sample] = []
        # A signal that raised in the middle of a poll would lose the step or interval that is handed over.
        with StopSignals() as signals:
            for place, step in zip(places, steps, strict=True):
                self._place = place
                sample = self._wait_for(step, signals)
                samples.append(sample if apply.with_intervals else replace(sample, intervals=()))
                self._keep(place, sample, apply, may_repeat=may_repeat)
                if apply.may_fail and sample.state is StepState.FAILED:
                    break
                if sample.state is not StepState.COMPLETE:
                    raise RunFailedError(self._failure_text(place, sample))
                self.check_device()
                if len(samples) < len(steps):
                    self.write_down()
        if signals.wished:
            raise KeyboardInterrupt
        return samples

    def _keep(self, place: StepPlace, sample: Sample, apply: Apply, *, may_repeat: bool) -> None:
        self._note_end(sample)
        entries = (
            # where a failure is a result, so is every error: the test's own pages have them
            *(() if apply.may_fail else error_deviations(place, sample)),
            *disturbance_deviations(place, sample, repeated=may_repeat),
            *self.pause.deviations(place, sample),
        )
        self._waiting.append((StepFinished(place, sample), entries))
        self._place = replace(place, position=place.position + 1)
        if sample.standstills:
            self._tell(HostStalled(place, sample, may_repeat))

    def _failure_text(self, place: StepPlace, sample: Sample) -> str:
        fault = self.preparation.fault()
        if sample.failure is None and fault is not None:
            return f"{place}: {fault}"
        reasons = (failure_text(sample, self.preparation.sector_bytes), fault)
        return f"{place}: {'; '.join(filter(None, reasons))}"

    def check_device(self) -> None:
        """Raise RunFailedError, with the engine stopped, if the device is no longer what it was."""
        if (fault := self.preparation.fault()) is None:
            return
        self._stop()
        for event, _ in self._waiting:
            if isinstance(event, StepFinished) and event.sample.state is not StepState.COMPLETE:
                raise RunFailedError(self._failure_text(event.place, event.sample))
        raise RunFailedError(f"{self._place}: {fault}")

    def _wait_for(self, step: Step, signals: StopSignals) -> Sample:
        faulty = False
        while True:
            if signals.wished:
                raise KeyboardInterrupt
            try:
                sample = self.engine.poll(TICK_S)
            except EngineStoppedError as error:
                raise RunFailedError(f"the engine ended during {step}") from error
            if sample is not None:
                return self._on_clock(sample)
            progress = self.engine.progress()
            self.emit(Ticked(self._place, step, progress, self.sampler.temperature_c))
            self._doubt_meters()
            if hanging := self._hangs.news(progress.oldest):
                self.emit(IoHangs(hanging))
            if faulty:
                self.check_device()
            # an I/O that fails of it comes first: it has a place
            faulty = self.preparation.fault() is not None

    def _on_clock(self, sample: Sample) -> Sample:
        """The sample on the clock of the entire run, which continues while nothing measures.

        The first of an attempt has the time since the last one of the attempt before as its gap.
        """
        shift_ns = self.past.clock_ns
        if not shift_ns:
            return sample
        if sample.gap_ns is None and self._step_ended_ns is not None:
            gap_ns = sample.started_ns + shift_ns - self._step_ended_ns
            sample = replace(sample, gap_ns=gap_ns)
        standstills = tuple(
            replace(standstill, started_ns=standstill.started_ns + shift_ns)
            for standstill in sample.standstills
        )
        slow = tuple(replace(io, submitted_ns=io.submitted_ns + shift_ns) for io in sample.slow_ios)
        started_ns = sample.started_ns + shift_ns
        return replace(sample, started_ns=started_ns, standstills=standstills, slow_ios=slow)

    def _note_end(self, sample: Sample) -> None:
        """A step is handed over just after its end: that is where the engine's clock and the host's meet.

        On a busy host it is handed over late: the clocks are as far apart as the soonest one says.
        """
        self._step_ended_ns = sample.started_ns + sample.elapsed_ns
        apart_ns = self._step_ended_ns - time.monotonic_ns()
        before_ns = self._engine_clock_offset_ns
        self._engine_clock_offset_ns = apart_ns if before_ns is None else max(before_ns, apart_ns)

    def _stop(self) -> None:
        """Stops the engine and keeps the samples that it still hands over."""
        self.engine.stop()
        deadline = time.monotonic() + STOP_LIMIT_S
        place = self._place
        with suppress(EngineStoppedError):
            while (left_s := deadline - time.monotonic()) > 0:
                sample = self.engine.poll(left_s)
                if sample is not None:
                    sample = self._on_clock(sample)
                    self._note_end(sample)
                    self._waiting.append((StepFinished(place, sample), error_deviations(place, sample)))
                    place = replace(place, position=place.position + 1)

    def _tell(self, event: Event) -> None:
        """At once, or when the steps that it follows from are in the record."""
        if self._waiting:
            self._waiting.append((event, ()))
        else:
            self.pause.tell(event)

    def write_down(self) -> None:
        """Bring what was measured into the record, and tell of it."""
        while self._waiting:
            event, entries = self._waiting[0]
            if isinstance(event, StepFinished):
                self.writer.add_step(event.place, event.sample, entries)
                self._recorded.append((event.place, event.sample))
            self._waiting.pop(0)
            if not isinstance(event, StepFinished) or event.sample.state is not StepState.INTERRUPTED:
                self.pause.tell(event)
            # all of a kind are one event when the record is closed
            self._enter(self._new(tuple(one.entry for one in entries)))
        self.keep_telemetry()
        self.pause.announce()

    def _doubt_meters(self, *, ended: bool = False) -> None:
        for text in self.sampler.doubts(ended=ended):
            self.pause.tell(Note(topic="meter_unread", text=text))

    def keep_telemetry(self, *, ended: bool = False) -> None:
        """Record the samples so far, once a step has set the engine's clock; ``ended``: no more will come."""
        if ended:
            self._doubt_meters(ended=True)
        offset_ns = self._engine_clock_offset_ns
        if offset_ns is None:
            return
        if points := self.sampler.take(offset_ns):
            self.writer.add_telemetry(points)
        steps, self._recorded = self._recorded, []
        for event in self.follows(steps, points, time.monotonic_ns() + offset_ns, ended):
            self.pause.tell(event)

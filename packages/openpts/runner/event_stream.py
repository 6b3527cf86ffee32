"""A listener that writes what happens in a run as JSON lines."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from openpts.analysis.host_limits import evidence_texts
from openpts.analysis.latency import Figures
from openpts.planning.dry_run import PlannedApply
from openpts.runner import event_lines as lines
from openpts.runner import events
from openpts.runner.event_lines import EventLine, utc_now
from openpts.runner.events import Event, Ticked
from openpts.runner.progress import MAY_END_SOONER, RunProgress
from openpts.runner.step_faults import failed_io_text, hang_text, standstill_text, what_to_do
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.document import filled
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.sample import Measured, OperationSample, Phase, Sample, StepPlace

_OVER_NS = NS_PER_S


class RecentRate(Struct):
    """Rates over the last second of a step, or little more, on the engine's clock.

    ``began`` has elapsed time, I/Os and bytes when the step began.
    """

    iops: float = 0.0
    bytes_per_s: float = 0.0
    began: tuple[int, int, int] = (0, 0, 0)
    _place: StepPlace | None = None
    _last: tuple[int, int, int] = (0, 0, 0)

    def take(self, tick: Ticked) -> bool:
        """Whether a second has passed since the rates were counted last, so that they are new."""
        progress = tick.progress
        now = (progress.step_elapsed_ns, progress.ios, progress.bytes)
        if tick.place != self._place:
            self._place, self._last, self.began = tick.place, now, now
        passed_ns, ios, transferred = (value - last for value, last in zip(now, self._last, strict=True))
        if passed_ns < _OVER_NS:
            return False
        self._last = now
        self.iops, self.bytes_per_s = ios * NS_PER_S / passed_ns, transferred * NS_PER_S / passed_ns
        return True


_PURGE_WRITTEN_EACH_S: Final = 1.0
PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


class EventStream(Struct):
    """Gives each event's lines to ``write``, which must take a whole line at a time.

    Without ``samples`` there is no line for each interval of a step.
    """

    write: Callable[[bytes], object]
    samples: bool = True
    _rate: RecentRate = field(default_factory=RecentRate)
    _run: RunProgress = field(default_factory=RunProgress)
    _purge_written_s: float = 0.0

    def on_event(self, event: Event) -> None:
        """Write what the event says."""
        self._run.on_event(event)
        at = utc_now()
        for line in self._lines(event):
            self.write(msgspec.json.encode(replace(line, at=at)) + b"\n")

    def _lines(self, event: Event) -> Iterator[EventLine]:
        match event:
            case events.Ticked():
                yield from self._progress(event)
            case events.StepFinished(place, sample):
                if self.samples:
                    yield from _samples(place, sample)
                yield _step(place, sample)
            case lines.PurgeProgressed() if time.monotonic() - self._purge_written_s < _PURGE_WRITTEN_EACH_S:
                pass
            case events.InProcess():
                if (line_of := _LINES.get(type(event))) is not None:
                    yield line_of(event)
            case _:
                if isinstance(event, lines.PurgeProgressed):
                    self._purge_written_s = time.monotonic()
                yield event

    def _progress(self, tick: events.Ticked) -> Iterator[lines.RunProgressLine]:
        """At most one for each second of the engine's clock."""
        if self._rate.take(tick):
            progress, left = tick.progress, self._run.time_left()
            _, ios, transferred = self._rate.began
            yield lines.RunProgressLine(
                place=tick.place,
                step_elapsed_ns=progress.step_elapsed_ns,
                ios=progress.ios - ios,
                bytes=progress.bytes - transferred,
                iops=self._rate.iops,
                bytes_per_s=self._rate.bytes_per_s,
                temperature_c=tick.temperature_c,
                step_share=self._run.step_fraction,
                left_ns=None if left is None else round(left.seconds * NS_PER_S),
                left_bounded=left is not None and left.bounded,
                drive_fills=self._run.drive_fills,
            )


def _note(topic: lines.Topic, text: str) -> lines.Note:
    return lines.Note(topic=topic, text=text)


def _run_started(started: events.RunStarted) -> EventLine:
    manifest, target = started.manifest, started.manifest.target
    return lines.RunStartedLine(
        run=manifest.test_id,
        folder=str(started.folder.absolute()),
        test=manifest.conditions.test,
        profile=manifest.conditions.class_text,
        seed=manifest.conditions.seed,
        target=filled(
            lines.TargetLine,
            target,
            model=fact_of(manifest.dut, "model"),
            serial=fact_of(manifest.dut, "serial"),
            firmware=fact_of(manifest.dut, "firmware"),
            simulated=None if target.simulation is None else target.simulation.preset,
        ),
        longest_ns=sum(sum(planned.durations_ns) for planned in started.plan),
        plan=tuple(_planned_phases(started.plan)),
        planned_steps=sum(len(planned.apply.steps) for planned in started.plan),
        resumes_at=started.resumes_at,
        labels=manifest.people.labels,
        host_limits=started.host_limits,
    )


def _planned_phases(plan: Sequence[PlannedApply]) -> Iterator[lines.PlannedPhase]:
    """Phases in the order in which each cycle comes to them first."""
    phases: dict[tuple[int, Phase], list[PlannedApply]] = {}
    for planned in plan:
        phases.setdefault((planned.cycle, planned.apply.phase), []).append(planned)
    for (cycle, phase), parts in phases.items():
        yield lines.PlannedPhase(
            cycle=cycle,
            phase=phase,
            numbers=len({part.apply.number for part in parts}),
            steps=sum(len(part.apply.steps) for part in parts),
            longest_ns=sum(sum(part.durations_ns) for part in parts),
            may_end_sooner=phase in MAY_END_SOONER and any(part.apply.most for part in parts),
        )


def _stood_still(event: events.HostStalled) -> EventLine:
    happened = f"{standstill_text(event.sample)} in {event.place}"
    return _note("standstill", f"{happened}: {what_to_do(repeated=event.repeated)}")


def _samples(place: StepPlace, sample: Sample) -> Iterator[lines.SampleLine]:
    for interval in sample.intervals:
        yield filled(lines.SampleLine, interval, place=place, operations=operation_lines(interval))


def _step(place: StepPlace, sample: Sample) -> lines.StepFinishedLine:
    failure = sample.failure
    return filled(
        lines.StepFinishedLine,
        sample,
        place=place,
        stimulus=str(sample.step),
        operations=operation_lines(sample, PERCENTILES),
        errors=sum(error.count for error in sample.errors),
        failure=None if failure is None else failed_io_text(failure),
    )


def operation_lines(
    measured: Measured, percentiles: tuple[float, ...] = ()
) -> dict[str, lines.OperationLine]:
    """The kinds of I/O that a step, or an interval of it, had any of."""
    return {
        name: _operation(operation, measured.elapsed_ns, percentiles)
        for name, operation in measured.operations.items()
        if operation.ios
    }


def _operation(
    operation: OperationSample, elapsed_ns: int, percentiles: tuple[float, ...]
) -> lines.OperationLine:
    figures = Figures.of([operation], elapsed_ns)
    found = {f"p{percentile:.10g}": figures.percentile_ns(percentile) for percentile in percentiles}
    return lines.OperationLine(
        ios=operation.ios,
        bytes=operation.bytes,
        iops=figures.iops,
        bytes_per_s=figures.bandwidth_bytes_per_s,
        latency_mean_ns=operation.latency_sum_ns / operation.ios,
        latency_min_ns=operation.latency_min_ns,
        latency_max_ns=operation.latency_max_ns,
        percentiles_ns={name: value_ns for name, value_ns in found.items() if value_ns is not None},
    )


# What those say that are no lines themselves; one that is not here says nothing that another does not.
_LINES: Final[Mapping[type, Callable[[Any], EventLine]]] = {
    events.RunStarted: _run_started,
    events.PurgeFinished: lambda event: filled(lines.PurgeFinishedLine, event.report),
    events.StepsStarted: lambda event: filled(
        lines.PhaseStartedLine, event.apply, cycle=event.cycle, stimuli=tuple(map(str, event.apply.steps))
    ),
    events.IoHangs: lambda event: _note("io_hangs", hang_text(event.io)),
    events.HostStalled: _stood_still,
    events.RecordDelayed: lambda event: _note("record_delayed", event.reason),
    events.RunGoesOn: lambda event: _note("goes_on", f"paused for {format_duration(event.paused_ns)}"),
    events.HostLimited: lambda event: filled(
        lines.HostLimitedLine, event, evidence=tuple(evidence_texts(event.evidence))
    ),
}

"""A listener that writes what happens in a run as JSON lines."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Final

import msgspec

from openpts.analysis.figures import Figures
from openpts.analysis.limited_seconds import evidence_words
from openpts.exchange import events as lines
from openpts.exchange.events import EventLine, utc_now
from openpts.exchange.recent_rate import RecentRate
from openpts.runner import events
from openpts.runner.events import Event
from openpts.runner.step_faults import failed_io_text, hang_text, standstill_text, what_to_do
from openpts.units import format_duration
from openpts.vocabulary.facts import fact_of
from openpts.vocabulary.phase import StepPlace
from openpts.vocabulary.sample import OperationSample, Sample

PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


@dataclass(slots=True)
class EventStream:
    """Gives each event's lines to ``write``, which must take a whole line at a time."""

    write: Callable[[bytes], object]
    _place: StepPlace | None = None
    _began: tuple[int, int] = (0, 0)
    _rate: RecentRate = field(default_factory=RecentRate)

    def hear(self, event: Event) -> None:
        """Write what the event says."""
        for line in self._lines(event):
            self.write(msgspec.json.encode(line) + b"\n")

    def _lines(self, event: Event) -> Iterator[EventLine]:
        match event:
            case events.Ticked():
                yield from self._progress(event)
            case events.StepFinished(place, sample):
                yield from _samples(place, sample)
                yield _step(place, sample)
            case _:
                line = _line(event)
                if line is not None:
                    yield line

    def _progress(self, tick: events.Ticked) -> Iterator[lines.Progress]:
        """At most one for each second of the engine's clock."""
        progress = tick.progress
        if tick.place != self._place:
            self._place, self._began = tick.place, (progress.ios, progress.bytes)
        if self._rate.take(tick):
            yield lines.Progress(
                at=utc_now(),
                place=_place(tick.place),
                step_elapsed_ns=progress.step_elapsed_ns,
                ios=progress.ios - self._began[0],
                bytes=progress.bytes - self._began[1],
                iops=self._rate.iops,
                bytes_per_s=self._rate.bytes_per_s,
                temperature_c=tick.temperature_c,
            )


@singledispatch
def _line(_event: Event) -> EventLine | None:
    """What an event says; None for those that say nothing that another does not."""
    return None


@_line.register
def _(event: events.ProgramStarted) -> EventLine:
    return lines.StreamStarted(at=utc_now(), program_version=event.version, command_line=event.command_line)


@_line.register
def _(event: events.Healed) -> EventLine:
    return _note("healed", event.healing.text)


@_line.register
def _(event: events.DeviationFound) -> EventLine:
    return lines.DeviationFound(at=utc_now(), **msgspec.to_builtins(event.deviation))


@_line.register
def _(_event: events.PurgeStarted) -> EventLine:
    return lines.PurgeStarted(at=utc_now())


@_line.register
def _(event: events.PurgeFinished) -> EventLine:
    report = event.report
    return lines.PurgeFinished(
        at=utc_now(),
        ran=report.ran,
        method=report.method,
        detail=report.detail,
        duration_ns=report.duration_ns,
        samples=report.samples,
        changed_samples=report.changed_samples,
    )


@_line.register
def _(event: events.StepsStarted) -> EventLine:
    apply = event.apply
    return lines.PhaseStarted(
        at=utc_now(),
        cycle=event.cycle,
        phase=apply.phase,
        number=apply.number,
        stimuli=tuple(str(step) for step in apply.steps),
    )


@_line.register
def _(event: events.IoHangs) -> EventLine:
    return _note("io_hangs", hang_text(event.io))


@_line.register
def _(event: events.StoodStill) -> EventLine:
    happened = f"{standstill_text(event.sample)} in {event.place}"
    return _note("standstill", f"{happened}: {what_to_do(repeated=event.repeated)}")


@_line.register
def _(event: events.RecordDelayed) -> EventLine:
    return _note("record_delayed", event.reason)


@_line.register
def _(event: events.RunGoesOn) -> EventLine:
    return _note("goes_on", f"paused for {format_duration(event.paused_ns)}")


@_line.register
def _(event: events.HostLimited) -> EventLine:
    return lines.HostLimited(
        at=utc_now(),
        place=_place(event.place),
        limited_ns={str(limit): ns for limit, ns in event.limited_ns.items()},
        judged_ns=event.judged_ns,
        told=tuple(evidence_words(event.told)),
    )


@_line.register
def _(event: events.CycleEnded) -> EventLine:
    outcome = event.finished.outcome
    return lines.CycleFinished(
        at=utc_now(),
        cycle=event.cycle,
        title=event.finished.title,
        steady_round=outcome.steady_round,
        last_round=outcome.last_round,
        ended_by=outcome.ended_by,
    )


@_line.register
def _(event: events.PowerWasCut) -> EventLine:
    return lines.PowerCut(at=utc_now(), cut=event.cut)


@_line.register
def _(event: events.FileSystemPrepared) -> EventLine:
    return lines.FileSystemPrepared(at=utc_now(), file_system=event.report)


@_line.register
def _(event: events.CommandEnded) -> EventLine:
    return lines.CommandFinished(at=utc_now(), run=event.run)


@_line.register
def _(event: events.HookEnded) -> EventLine:
    return lines.HookFinished(at=utc_now(), hook=event.run)


@_line.register
def _(event: events.RunEnded) -> EventLine:
    return lines.RunFinished(at=utc_now(), state=event.state, reason=event.reason)


@_line.register
def _(event: events.LimitsJudged) -> EventLine:
    return lines.LimitsJudged(at=utc_now(), limits=event.limits)


@_line.register
def _(event: events.ReportsWritten) -> EventLine:
    paths = tuple(str(path.absolute()) for path in event.paths)
    return lines.ReportWritten(at=utc_now(), paths=paths)


@_line.register
def _(event: events.ProgramEnded) -> EventLine:
    return lines.StreamFinished(at=utc_now(), exit_code=event.exit_code, error=event.error)


def _note(topic: lines.Topic, text: str) -> lines.Note:
    return lines.Note(at=utc_now(), topic=topic, text=text)


@_line.register
def _(started: events.RunStarted) -> EventLine:
    manifest, target = started.manifest, started.manifest.target
    return lines.RunStarted(
        at=utc_now(),
        run=manifest.test_id,
        folder=str(started.folder.absolute()),
        test=manifest.conditions.test,
        profile=manifest.conditions.class_text,
        seed=manifest.conditions.seed,
        target=lines.Target(
            path=target.path,
            name=target.name,
            kind=target.kind,
            model=fact_of(manifest.dut, "model"),
            serial=fact_of(manifest.dut, "serial"),
            firmware=fact_of(manifest.dut, "firmware"),
            user_capacity_bytes=target.user_capacity_bytes,
            sector_bytes=target.sector_bytes,
            simulated=None if target.simulation is None else target.simulation.preset,
        ),
        longest_ns=sum(sum(planned.durations_ns) for planned in started.plan),
        planned_steps=sum(len(planned.apply.steps) for planned in started.plan),
        resumes_at=started.resumes_at,
        labels=manifest.people.labels,
        host_limits=started.host_limits,
    )


def _place(place: StepPlace) -> lines.Place:
    return lines.Place(cycle=place.cycle, phase=place.phase, number=place.number, position=place.position)


def _samples(place: StepPlace, sample: Sample) -> Iterator[lines.SampleTaken]:
    at, where = utc_now(), _place(place)
    for interval in sample.intervals:
        yield lines.SampleTaken(
            at=at,
            place=where,
            index=interval.index,
            elapsed_ns=interval.elapsed_ns,
            operations={
                name: _operation(operation, interval.elapsed_ns)
                for name, operation in interval.operations.items()
                if operation.ios
            },
            in_flight=interval.in_flight,
            errors=interval.errors,
            temperature_c=interval.temperature_c,
            throttled=interval.throttled,
        )


def _step(place: StepPlace, sample: Sample) -> lines.StepFinished:
    failure = sample.failure
    return lines.StepFinished(
        at=utc_now(),
        place=_place(place),
        stimulus=str(sample.step),
        state=sample.state,
        ended_by=sample.ended_by,
        elapsed_ns=sample.elapsed_ns,
        gap_ns=sample.gap_ns,
        operations={
            name: _operation(operation, sample.elapsed_ns, PERCENTILES)
            for name, operation in sample.operations.items()
            if operation.ios
        },
        errors=sum(error.count for error in sample.errors),
        failure=None if failure is None else failed_io_text(failure),
    )


def _operation(
    operation: OperationSample, elapsed_ns: int, percentiles: tuple[float, ...] = ()
) -> lines.Operation:
    figures = Figures.of([operation], elapsed_ns)
    found = {f"p{percentile:.10g}": figures.percentile_ns(percentile) for percentile in percentiles}
    return lines.Operation(
        ios=operation.ios,
        bytes=operation.bytes,
        iops=figures.iops,
        bytes_per_s=figures.bytes_per_s,
        latency_mean_ns=operation.latency_sum_ns / operation.ios,
        latency_min_ns=operation.latency_min_ns,
        latency_max_ns=operation.latency_max_ns,
        percentiles_ns={name: value_ns for name, value_ns in found.items() if value_ns is not None},
    )


@_line.register
def _(judged: events.SteadyStateJudged) -> EventLine:
    variables = tuple(
        lines.Steadiness(
            name=name,
            steady=report.steady,
            average=report.average,
            range_pct=report.range_pct,
            slope_excursion_pct=report.slope_excursion_pct,
            window=report.rounds,
        )
        for name, report in zip(judged.names, judged.reports, strict=True)
    )
    return lines.SteadyStateJudged(
        at=utc_now(),
        phase=judged.phase,
        number=judged.round_number,
        steady=all(variable.steady for variable in variables),
        variables=variables,
    )

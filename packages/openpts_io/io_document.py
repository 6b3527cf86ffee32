"""What `openpts io --json` prints."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import fsum, sqrt
from typing import Any, Final, Self

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, astuple
from rich.table import Table

from openpts.analysis.host_limits import lateness, processors_full
from openpts.analysis.latency import Figures, counted
from openpts.cli.console import table_of
from openpts.procedures.kit.standing import simulation_mark
from openpts.runner.step_faults import capped_streams, host_texts
from openpts.units import MB, NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.document import Document, filled
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.sample import (
    CpuShares,
    Interval,
    IoErrors,
    IoFailure,
    Measured,
    OperationSample,
    Sample,
    StepState,
    StreamSample,
)
from openpts.vocabulary.stimulus import Step, Stimulus, StopRule, Stream
from openpts_io.measure import CaptureEnded, MeasurementStarted

_PERCENTILES: Final = (50.0, 99.0, 99.9)
_LATE_PERCENTILES: Final = (50.0, 99.0, 99.9, 100.0)


def stream_names(step: Step) -> tuple[str, ...]:
    """Of several streams: their names, or their numbers from 1; none for a single one."""
    if len(step.streams) < 2:
        return ()
    return tuple(stream.name or f"stream {number}" for number, stream in enumerate(step.streams, start=1))


def streams_table(document: "IoDocument", latency: Callable[[float | None], str]) -> Table:
    """A row for each stream, and one for all of them together."""
    assert not isinstance(document.streams, UnsetType)  # noqa: S101 of a step with several
    parts: list[tuple[str, MeasuredFigures, StreamFigures | IoDocument]] = [
        *((part.name, part, part) for part in document.streams),
        ("all", document.total, document),
    ]
    late = any(part.late for _, _, part in parts)
    unissued = any(part.unissued for _, _, part in parts)
    heads = ["I/Os", "IOPS", "MB/s", "mean us", "sd us", *(f"p{p:g}" for p in _PERCENTILES), "max us"]
    heads += ["late %", "p99 late us"] if late else []
    heads += ["not issued"] if unissued else []
    table = table_of("=stream", *(f">{head}" for head in heads))

    def row(name: str, of: MeasuredFigures, *further: str) -> None:
        percentiles_ns = (of.percentiles_ns[f"{percentile:g}"] for percentile in _PERCENTILES)
        times_ns = (of.mean_latency_ns, of.standard_deviation_ns, *percentiles_ns, of.max_latency_ns)
        # a tenth of 1,000 us or more is noise, and costs the width of a terminal
        texts = (latency(ns).partition("." if ns and ns >= NS_PER_MS else "\n")[0] for ns in times_ns)
        rate = f"{of.bytes_per_s / MB:,.1f}" if of.bytes else "-"
        table.add_row(name, f"{of.ios:,}", f"{of.iops:,.0f}", rate, *texts, *further)

    for name, figures, part in parts:
        found = part.late
        shares = [f"{100 * found.late_share:.2f}", _late_us(found, 99)] if found else ["-", "-"]
        row(name, figures, *(shares if late else []), *([f"{part.unissued:,}"] if unissued else []))
        for sync in ("flush", "fsync"):
            if part is not document and (of_sync := getattr(part, sync)):
                row(f"  {sync}", of_sync)
    return table


def interference_table(streams: Sequence["StreamFigures"], latency: Callable[[float | None], str]) -> Table:
    """What each stream does alone and beside the others."""
    heads = (">IOPS alone", ">together", ">factor", ">p99 us alone", ">together", ">factor")
    table = table_of("=stream", *heads)
    for beside in streams:
        if not (alone := beside.alone):
            table.add_row(beside.name, *["-"] * 6)
            continue
        table.add_row(
            beside.name,
            f"{alone.iops:,.0f}",
            f"{beside.iops:,.0f}",
            _factor(alone.iops_factor),
            latency(alone.p99_ns),
            latency(beside.percentiles_ns[_P99]),
            _factor(alone.p99_factor),
        )
    return table


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def late_lines(sample: Sample, late: "LateFigures | UnsetType") -> Iterator[tuple[str, str]]:
    """How late the planned I/Os of a single stream were; and how the host limited the step, if it did."""
    if not sample.streams and late:
        shares = ", ".join(f"{p:g} % by {_late_us(late, p)} us" for p in _LATE_PERCENTILES[:-1])
        yield (
            "late",
            f"{100 * late.late_share:.2f} % of the planned I/Os by more than "
            f"{late.bound_ns / NS_PER_US:,.0f} us; {shares}, at most {_late_us(late, 100)} us",
        )
    for text in host_texts(sample):
        yield "host", f"{text}: the figures are not the target's alone"


def capped_lines(sample: Sample) -> Iterator[tuple[str, str]]:
    """Streams whose queue was full for long: their load was no open loop."""
    for capped in capped_streams(sample):
        yield "capped", f"{capped.text}; raise --qd, or lower the rate"


def _late_us(late: "LateFigures", percentile: float) -> str:
    return f"{(late.percentiles_ns[f'{percentile:g}'] or 0) / NS_PER_US:,.1f}"


PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9, 99.99, 99.999)
"""Always named, None where there are too few I/Os; the further nines only where there are enough."""

FURTHER_PERCENTILES: Final = (99.9999, 99.99999, 99.999999, 99.9999999)
_P99: Final = "99"
_ALWAYS: Final = ("read", "write")


class MeasuredFigures(Struct, frozen=True, kw_only=True):
    """Counts, rates and response times; the times are None without an I/O.

    The standard deviation is as if each I/O took as long as the middle of its bucket in the histogram.
    """

    ios: int
    bytes: int
    iops: float
    bytes_per_s: float
    mean_latency_ns: float | None
    standard_deviation_ns: float | None
    min_latency_ns: int | None
    max_latency_ns: int | None
    percentiles_ns: dict[str, int | None]

    @classmethod
    def by(cls, operations: Sequence[OperationSample], elapsed_ns: int) -> Self:
        """Of operations together, in that time."""
        figures = Figures.of(operations, elapsed_ns)
        further = tuple(nines for nines in FURTHER_PERCENTILES if figures.distribution.supports(nines))
        percentiles_ns = {f"{nines:.10g}": figures.percentile_ns(nines) for nines in PERCENTILES + further}
        buckets, count = figures.distribution.buckets(), figures.distribution.count
        moments = [fsum(ios * ((low + high) / 2) ** power for low, high, ios in buckets) for power in (1, 2)]
        deviation_ns = sqrt(max(0.0, moments[1] / count - (moments[0] / count) ** 2)) if count else None
        rate = figures.bandwidth_bytes_per_s
        own = {"percentiles_ns": percentiles_ns, "standard_deviation_ns": deviation_ns}
        return filled(cls, figures, bytes_per_s=rate, **own)


class _ByOperation(MeasuredFigures, frozen=True, kw_only=True):
    """Of all I/Os, and of those of each operation that has any."""

    read: MeasuredFigures | UnsetType = UNSET
    write: MeasuredFigures | UnsetType = UNSET
    trim: MeasuredFigures | UnsetType = UNSET
    flush: MeasuredFigures | UnsetType = UNSET
    fsync: MeasuredFigures | UnsetType = UNSET


class IntervalFigures(_ByOperation, frozen=True, kw_only=True):
    """An interval; ``in_flight`` are the I/Os outstanding at its end, ``errors`` those that failed in it."""

    index: int
    seconds: float
    in_flight: int
    errors: int
    cpu: CpuShares | None

    @classmethod
    def of(cls, interval: Interval) -> Self:
        """An interval of a step."""
        return cls(
            index=interval.index,
            seconds=interval.elapsed_ns / NS_PER_S,
            **asdict(MeasuredFigures.by(counted(interval), interval.elapsed_ns)),
            **_operations(interval),
            in_flight=interval.in_flight,
            errors=interval.errors,
            cpu=interval.cpu,
        )


class LateFigures(Struct, frozen=True):
    """How late planned I/Os were; ``limits_figures``: so late that the figures are not the target's alone."""

    planned_ios: int
    late_ios: int
    late_share: float
    bound_ns: int
    percentiles_ns: dict[str, int | None]
    limits_figures: bool


class AloneFigures(Struct, frozen=True):
    """A stream by itself, and its figures beside the others as parts of these."""

    iops: float
    p99_ns: int | None
    iops_factor: float | None
    p99_factor: float | None

    @classmethod
    def of(cls, part: Measured, beside: MeasuredFigures) -> Self:
        """Of a stream that was measured alone and ``beside`` others."""
        alone = MeasuredFigures.by(counted(part), part.elapsed_ns)
        alone_ns, beside_ns = (figures.percentiles_ns[_P99] for figures in (alone, beside))
        iops_factor = beside.iops / alone.iops if alone.iops else None
        p99_factor = None if not alone_ns or beside_ns is None else beside_ns / alone_ns
        return cls(alone.iops, alone_ns, iops_factor, p99_factor)


class StreamFigures(_ByOperation, frozen=True, kw_only=True):
    """One of several streams.

    ``alone`` is there if each was measured by itself as well; None for one that did not come to its end.
    """

    name: str
    stream: Stream
    ended_by: str | None
    elapsed_seconds: float
    errors: int
    unissued: int
    late: LateFigures | UnsetType = UNSET
    alone: AloneFigures | UnsetType | None = UNSET
    interval_iops: tuple[float, ...]


class CaptureFigures(Struct, frozen=True):
    """What a capture holds; ``blocked_ns`` is how long the I/O waited for its files."""

    folder: str
    ios: int
    discarded_ios: int
    bytes_written: int
    files: int
    blocked_times: int
    blocked_ns: int

    @classmethod
    def of(cls, capture: CaptureEnded) -> Self:
        """A capture that has ended."""
        return cls(str(capture.folder), *astuple(capture.summary))


class IoDocument(Document, frozen=True, kw_only=True, tag="openpts.io/1"):
    """One step on one target; ``simulated`` is the mark of such targets.

    ``stimulus`` is None, and ``streams`` are there, where a step has several. ``late`` is there if I/Os were
    planned.
    """

    simulated: str | None
    target: TargetFacts
    stimulus: Stimulus | None
    stop: StopRule
    ramp_ns: int
    seed: int
    state: StepState
    ended_by: str | None
    elapsed_seconds: float
    total: MeasuredFigures
    read: MeasuredFigures
    write: MeasuredFigures
    trim: MeasuredFigures | UnsetType = UNSET
    flush: MeasuredFigures | UnsetType = UNSET
    fsync: MeasuredFigures | UnsetType = UNSET
    unissued: int
    late: LateFigures | UnsetType = UNSET
    processors_full: bool | UnsetType = UNSET
    streams: tuple[StreamFigures, ...] | UnsetType = UNSET
    standstill_seconds: float
    errors: tuple[IoErrors, ...]
    failure: IoFailure | None
    cpu: CpuShares | None
    intervals: tuple[IntervalFigures, ...]
    engine: dict[str, str | None]
    notes: tuple[str, ...]
    capture: CaptureFigures | None

    @classmethod
    def by(
        cls,
        started: MeasurementStarted,
        sample: Sample,
        capture: CaptureEnded | None,
        alone: Sequence[Sample],
    ) -> Self:
        """All of one target's measurement."""
        several = bool(sample.streams)
        return cls(
            simulated=simulation_mark(started.target) or None,
            target=started.target,
            stimulus=sample.step.stimulus,
            stop=sample.step.stop,
            ramp_ns=sample.step.ramp_ns,
            seed=started.seed,
            state=sample.state,
            ended_by=sample.ended_by,
            elapsed_seconds=sample.elapsed_ns / NS_PER_S,
            total=MeasuredFigures.by(counted(sample), sample.elapsed_ns),
            **_operations(sample, always=_ALWAYS),
            unissued=sample.unissued,
            late=_late(sample),
            processors_full=processors_full(sample) if several else UNSET,
            streams=_streams(sample, alone) if several else UNSET,
            standstill_seconds=sample.standstill_ns / NS_PER_S,
            errors=tuple(sample.errors),
            failure=sample.failure,
            cpu=sample.cpu,
            intervals=tuple(map(IntervalFigures.of, sample.intervals)),
            engine={name: fact.value for name, fact in started.engine.items()},
            notes=tuple(started.notes),
            capture=None if capture is None else CaptureFigures.of(capture),
        )


class IoSteps(Document, frozen=True, kw_only=True, tag="openpts.io-steps/1"):
    """Several steps on one target, in their order."""

    steps: tuple[IoDocument, ...]


class IoTargets(Document, frozen=True, kw_only=True, tag="openpts.io-targets/1"):
    """Several targets at the same time."""

    targets: tuple[IoDocument | IoSteps, ...]


def _operations(part: Sample | Interval | StreamSample, always: Sequence[str] = ()) -> Mapping[str, Any]:
    return {
        name: MeasuredFigures.by([operation], part.elapsed_ns)
        for name, operation in part.operations.items()
        if operation.ios or name in always
    }


def _late(part: Sample | StreamSample) -> LateFigures | UnsetType:
    found = lateness(part)
    if found is None:
        return UNSET
    percentiles_ns = {f"{p:g}": found.slips.percentile_ns(p) for p in _LATE_PERCENTILES}
    return LateFigures(found.ios, found.late, found.late_share, found.bound_ns, percentiles_ns, found.limits)


def _streams(sample: Sample, alone: Sequence[Sample]) -> tuple[StreamFigures, ...]:
    """All of several streams, with what each did alone where that was measured."""
    parts = zip(stream_names(sample.step), sample.step.streams, sample.streams, strict=True)
    found = []
    for number, (name, stream, part) in enumerate(parts):
        figures = MeasuredFigures.by(counted(part), part.elapsed_ns)
        apart: AloneFigures | UnsetType | None = UNSET
        if number < len(alone):
            is_whole = alone[number].state is sample.state is StepState.COMPLETE
            apart = AloneFigures.of(alone[number], figures) if is_whole else None
        one = StreamFigures(
            name=name,
            stream=stream,
            ended_by=part.ended_by,
            elapsed_seconds=part.elapsed_ns / NS_PER_S,
            **asdict(figures),
            **_operations(part),
            errors=part.errors,
            unissued=part.unissued,
            late=_late(part),
            alone=apart,
            interval_iops=tuple(interval.streams[number].iops for interval in sample.intervals),
        )
        found.append(one)
    return tuple(found)

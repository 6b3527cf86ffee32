"""What was measured in a phase of a test, in one line at its end."""

from collections.abc import Callable, Sequence
from math import fsum
from pkgutil import resolve_name
from typing import Any, Final

from openpts.procedures.registry import procedure_of
from openpts.runner.progress import RunProgress
from openpts.units import MB, NS_PER_S, format_capacity, format_duration, format_latency_ms, per_second
from openpts.vocabulary.phase import Phase, phase_text
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.stimulus import AccessPattern, Stream
from openpts.vocabulary.verdict import SteadyState


def phase_lines(progress: RunProgress) -> list[str]:
    """What the steps that have just ended measured; nothing for the time between tracked minutes."""
    apply = progress.apply
    assert apply is not None  # noqa: S101 a part that ends was begun
    if apply.phase in _TRACKED and not _ends_with_tracked_minute(progress):
        return []
    text = _own_line(progress)
    if text == "":
        return []
    text = text or _LINES[apply.phase](progress, progress.finished)
    name = phase_text(apply.phase, apply.number)
    if apply.phase in _IN_PIECES or apply.until_alike:
        # the test decides whether another piece follows, so only the progress of the phase is known
        return [f"{name} at {format_duration(progress.phase_ns)}: {text}"]
    return [f"{name} done: {text}" if text else f"{name} done"]


def _own_line(progress: RunProgress) -> str | None:
    """What a test says of its phases itself."""
    if progress.conditions is None or not (where := procedure_of(progress.conditions.test).phase_line):
        return None
    line: str | None = resolve_name(where)(progress)
    return line


def _ends_with_tracked_minute(progress: RunProgress) -> bool:
    """A round may come in many pieces, and an amount ends it in any; the first is a minute alone."""
    apply = progress.apply
    conditions: Any = progress.conditions
    if conditions is None or conditions.steady_state not in _BY_MINUTES:
        return True
    first = apply is not None and apply.number == 1
    return bool(progress.phase_ns >= (conditions.minute_ns if first else conditions.tracking_period_ns))


def _filled(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """An amount that was written: how much, how fast, how long."""
    amount_bytes, elapsed_ns = sum(s.bytes for s in samples), sum(s.elapsed_ns for s in samples)
    rate = per_second(amount_bytes, elapsed_ns)
    return f"{format_capacity(amount_bytes)} at {rate / MB:,.0f} MB/s, {format_duration(elapsed_ns)}"


def _rest(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    return f"{format_duration(sum(sample.elapsed_ns for sample in samples))} without I/O"


def _drive_cycle(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The write and the read of the capacity, each at its own rate."""
    reported = []
    for word, of in (("written", "write"), ("read", "read")):
        own = [sample for sample in samples if getattr(sample, of).bytes]
        amount_bytes, elapsed_ns = sum(getattr(s, of).bytes for s in own), sum(s.elapsed_ns for s in own)
        if elapsed_ns:
            rate = amount_bytes * NS_PER_S / elapsed_ns / MB
            reported.append(f"{format_capacity(amount_bytes)} {word} at {rate:,.0f} MB/s")
    return ", ".join([*reported, format_duration(sum(sample.elapsed_ns for sample in samples))])


def _tracking_round(progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The tracked minute, and how far the drive is filled since its purge."""
    fills = progress.written_bytes / progress.capacity_bytes if progress.capacity_bytes else 0.0
    return f"{iops_and_times(samples[-1])}; {fills:.2f} drive fills written"


def _long_stimulus(progress: RunProgress, samples: Sequence[Sample]) -> str:
    busy = [sample for sample in samples if not sample.step.is_idle] or list(samples)
    if any(sample.streams for sample in busy):
        return each_figure(busy)
    elapsed_ns = sum(s.elapsed_ns for s in busy)
    rate = per_second(sum(s.bytes for s in busy), elapsed_ns)
    return f"{busy[0].step}, {rate / MB:,.0f} MB/s, {_steady_access(progress, busy)}"


def _bursts(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """The accesses between idle times: what the first and the last of them had."""
    busy = [sample for sample in samples if sample.ios]
    if not busy:
        return "no I/O"
    fastest = max(busy, key=lambda sample: sample.iops)
    return (
        f"first access {busy[0].iops:,.0f} IOPS, last {busy[-1].iops:,.0f}, highest {fastest.iops:,.0f}; "
        f"MRT {_ms(max(sample.max_latency_ns or 0 for sample in busy))}"
    )


def each_figure(samples: Sequence[Sample]) -> str:
    """Figures of different accesses, each in its own unit: no sum of them means anything."""
    return ", ".join(
        _stream_figure(stream, part)
        for sample in samples
        for stream, part in zip(sample.step.streams, sample.streams or (sample,), strict=False)
    )


def _stream_figure(stream: Stream, part: Measured) -> str:
    stimulus = stream.stimulus
    sequential = stimulus.access_pattern is AccessPattern.SEQUENTIAL
    figure = f"{part.bandwidth_bytes_per_s / MB:,.0f} MB/s" if sequential else f"{part.iops:,.0f} IOPS"
    threads = f" TC {stimulus.tc}" if stimulus.tc > 1 else ""
    return f"{stream}{threads} QD {stimulus.qd} {figure}"


def _sweep(progress: RunProgress, samples: Sequence[Sample]) -> str:
    return _bursts(progress, samples) if len(samples) > 2 else each_figure(samples)


def _steady_access(_progress: RunProgress, samples: Sequence[Sample]) -> str:
    """A continuous access, whole: the mean weighs by time."""
    elapsed_ns, ios = sum(s.elapsed_ns for s in samples), sum(s.ios for s in samples)
    if not ios:
        return "no I/O"
    iops = ios * NS_PER_S / elapsed_ns
    latency_ns = fsum((s.mean_latency_ns or 0.0) * s.ios for s in samples) / ios
    slowest_ns = max(s.max_latency_ns or 0 for s in samples)
    return f"{iops:,.0f} IOPS, ART {_ms(latency_ns)}, MRT {_ms(slowest_ns)}, {format_duration(elapsed_ns)}"


_TRACKED: Final = frozenset({Phase.WDPC, Phase.SATURATION})
_BY_MINUTES: Final = frozenset({SteadyState.MINUTES, SteadyState.MINUTES_THEN_ROUNDS})
"""Their conditions have a ``tracking_period_ns``."""
_IN_PIECES: Final = frozenset({Phase.LOAD, Phase.REST})

_LINES: Final[dict[Phase, Callable[[RunProgress, Sequence[Sample]], str]]] = {
    Phase.WIPC: _filled,
    Phase.WDPC: _tracking_round,
    Phase.ROUND: lambda _progress, samples: each_figure(samples),
    Phase.SATURATION: _tracking_round,
    Phase.WAIT_STATE: _bursts,
    Phase.RETURN_TO_BASELINE: _steady_access,
    Phase.ACCESS_GROUP: _long_stimulus,
    Phase.ROUND_PREWRITE: _filled,
    Phase.HISTOGRAM_PREWRITE: _filled,
    Phase.HISTOGRAM: _steady_access,
    Phase.CONDITIONING: _filled,
    Phase.PROFILE: lambda _progress, samples: each_figure(samples),
    Phase.SWEEP: _sweep,
    Phase.LOAD: _long_stimulus,
    Phase.FILL: _filled,
    Phase.BURST: _bursts,
    Phase.REST: _rest,
    Phase.DRIVE_CYCLE: _drive_cycle,
    Phase.LATER_READ: _steady_access,
}


def iops_and_times(sample: Sample) -> str:
    """Of one access: its rate, its mean and its longest response time."""
    if not sample.ios:
        return "no I/O"
    return f"{sample.iops:,.0f} IOPS, ART {_ms(sample.mean_latency_ns)}, MRT {_ms(sample.max_latency_ns)}"


def _ms(latency_ns: float | None) -> str:
    return f"{format_latency_ms(latency_ns or 0)} ms"

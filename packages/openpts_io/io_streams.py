"""What `openpts io` shows of several streams, and of how late planned I/Os were."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from rich.table import Table

from openpts.analysis.figures import Figures, counted
from openpts.analysis.host_limits import Lateness, lateness
from openpts.cli.console import table_of
from openpts.runner.step_faults import capped_streams, host_texts
from openpts.units import MB, NS_PER_US
from openpts.vocabulary.sample import Sample, StepState, StreamSample
from openpts.vocabulary.stimulus import Step
from openpts_io.interference import Interference

_PERCENTILES: Final = (50.0, 99.0, 99.9, 99.99)
_LATE_PERCENTILES: Final = (50.0, 99.0, 99.9, 100.0)


def stream_names(step: Step) -> tuple[str, ...]:
    """Of several streams: their names, or their numbers from 1; none for a single one."""
    if len(step.streams) < 2:
        return ()
    return tuple(stream.name or f"stream {number}" for number, stream in enumerate(step.streams, start=1))


def streams_table(sample: Sample, latency: Callable[[float | None], str]) -> Table:
    """A row for each stream, and one for all of them together."""
    parts: list[tuple[str, Sample | StreamSample]] = [
        *zip(stream_names(sample.step), sample.streams, strict=True),
        ("all", sample),
    ]
    late = any(part.slips for _, part in parts)
    unissued = any(part.unissued for _, part in parts)
    heads = ["I/Os", "IOPS", "MB/s", "mean us", *(f"{p:g} %" for p in _PERCENTILES), "max us"]
    heads += ["late %", "99 % late us"] if late else []
    heads += ["not issued"] if unissued else []
    table = table_of("=stream", *(f">{head}" for head in heads))
    for name, part in parts:
        figures = Figures.of(counted(part), part.elapsed_ns)
        texts = [
            f"{figures.ios:,}",
            f"{figures.iops:,.0f}",
            f"{figures.bandwidth_bytes_per_s / MB:,.1f}",
            latency(figures.mean_latency_ns),
            *(latency(figures.percentile_ns(percentile)) for percentile in _PERCENTILES),
            latency(figures.max_latency_ns),
        ]
        found = lateness(part)
        if late:
            texts += ["-", "-"] if found is None else [f"{100 * found.late_share:.2f}", _late_us(found, 99)]
        table.add_row(name, *texts, *([f"{part.unissued:,}"] if unissued else []))
    return table


def _interferences(sample: Sample, alone: Sequence[Sample]) -> Iterator[tuple[str, Interference | None]]:
    """By stream; None where it did not come to its end alone or together."""
    for name, part, before in zip(stream_names(sample.step), sample.streams, alone, strict=False):
        whole = before.state is StepState.COMPLETE and sample.state is StepState.COMPLETE
        yield name, Interference.of(before, part) if whole else None


def interference_table(
    sample: Sample, alone: Sequence[Sample], latency: Callable[[float | None], str]
) -> Table:
    """What each stream does alone and beside the others."""
    heads = (">IOPS alone", ">together", ">factor", ">99 % us alone", ">together", ">factor")
    table = table_of("=stream", *heads)
    for name, found in _interferences(sample, alone):
        if found is None:
            table.add_row(name, *["-"] * 6)
            continue
        table.add_row(
            name,
            f"{found.alone_iops:,.0f}",
            f"{found.beside_iops:,.0f}",
            _factor(found.iops_factor),
            latency(found.alone_p99_ns),
            latency(found.beside_p99_ns),
            _factor(found.p99_factor),
        )
    return table


def _factor(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def late_lines(sample: Sample) -> Iterator[tuple[str, str]]:
    """How late the planned I/Os of a single stream were; and how the host limited the step, if it did."""
    if not sample.streams and (found := lateness(sample)) is not None:
        shares = ", ".join(f"{p:g} % by {_late_us(found, p)} us" for p in _LATE_PERCENTILES[:-1])
        yield (
            "late",
            f"{100 * found.late_share:.2f} % of the planned I/Os by more than "
            f"{found.bound_ns / NS_PER_US:,.0f} us; {shares}, at most {_late_us(found, 100)} us",
        )
    for text in host_texts(sample):
        yield "host", f"{text}: the figures are not the target's alone"


def capped_lines(sample: Sample) -> Iterator[tuple[str, str]]:
    """Streams whose queue was full for long: their load was no open loop."""
    for capped in capped_streams(sample):
        yield "capped", f"{capped.text}; raise --qd, or lower the rate"


def _late_us(late: Lateness, percentile: float) -> str:
    return f"{(late.slips.percentile_ns(percentile) or 0) / NS_PER_US:,.1f}"


def interferences(sample: Sample, alone: Sequence[Sample]) -> list[Interference | None]:
    """What each stream does beside the others; empty where none was measured alone."""
    return [found for _, found in _interferences(sample, alone)]


def late_percentiles_ns(found: Lateness) -> dict[str, int | None]:
    """How late planned I/Os were, by percentile."""
    return {f"{p:g}": found.slips.percentile_ns(p) for p in _LATE_PERCENTILES}

"""Values of test conditions as an operator would write them, for ledger and report."""

from fractions import Fraction
from typing import Final

from openpts.units import (
    NS_PER_MS,
    NS_PER_S,
    block_size_kib,
    format_block_size,
    format_capacity,
    format_duration,
)
from openpts.vocabulary.data import PatternData, RandomData, RandomOnce, ReducibleData, VerifiedData, ZeroData
from openpts.vocabulary.placement import Segments, Uniform, Zones
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange
from openpts.vocabulary.stop import SteadyFigure
from openpts.vocabulary.verdict import TrackingVariable
from openpts.vocabulary.workload import Workload

_FIGURES: Final = {
    SteadyFigure.IOPS: "IOPS",
    SteadyFigure.THROUGHPUT: "throughput",
    SteadyFigure.MEAN_LATENCY: "average response time",
}


def condition_text(name: str, value: object) -> str:
    """A value in words; the field's name tells its unit."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        singular = name.removesuffix("s_bytes") + "_bytes" if name.endswith("s_bytes") else name
        return ", ".join(condition_text(singular, entry) for entry in value) or "none"
    if isinstance(value, int | float):
        return _number_text(name, value)
    return _word_text(value)


def duration_text(duration_ns: int) -> str:
    """A duration, below a tenth of a second in ms: ``25 min 0 s``, ``0.40 s``, ``33.3 ms``."""
    if duration_ns < NS_PER_S // 10:
        return f"{duration_ns / NS_PER_MS:.3g} ms"
    return format_duration(duration_ns)


def _number_text(name: str, value: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "time_scale":
        return str(Fraction(value).limit_denominator(10_000) or value)
    if name.endswith("_ns"):
        return duration_text(round(value))
    if name.endswith("_limit_bytes"):
        return format_capacity(round(value))
    if name.endswith("_bytes"):
        return f"{block_size_kib(round(value))} KiB"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _word_text(value: object) -> str:
    match value:
        case ActiveRange(start_pct, end_pct):
            return f"{start_pct:g} to {end_pct:g} % of MaxUserLBA"
        case Segments(count, segment_bytes):
            return f"{count} LBA segments of {block_size_kib(segment_bytes)} KiB, spread at random"
        case TrackingVariable():
            return f"{value} ({_FIGURES[value.figure]})"
        case Workload():
            return workload_text(value)
        case _:
            return data_text(value)


def workload_text(workload: Workload) -> str:
    """A workload in the specification's words where they describe it, otherwise with all that makes it."""
    sizes = workload.block_sizes
    if len(sizes) == 1 and workload.placement == Uniform() and workload.random_pct in {0, 100}:
        order = AccessPattern.RANDOM if workload.random_pct else AccessPattern.SEQUENTIAL
        return f"{order.short} {format_block_size(sizes[0].block_size_bytes)} RW{workload.read_pct}"
    weights = ", ".join(f"{block_size_kib(size.block_size_bytes)} KiB:{size.weight}" for size in sizes)
    places = (
        "; zones " + ", ".join(f"{zone.weight}/{zone.range_pct:g}" for zone in workload.placement.zones)
        if isinstance(workload.placement, Zones)
        else ""
    )
    return (
        f"{workload.title} ({workload.random_pct} % random, {workload.read_pct} % reads; {weights}{places})"
    )


def data_text(data: object) -> str:
    """A data pattern in words (PTS 3.5)."""
    match data:
        case RandomData():
            return "RND: incompressible, fresh for each write"
        case RandomOnce():
            return "RND_ONCE: random, made once for each buffer"
        case PatternData(pattern):
            return f"pattern {pattern.hex()} again and again"
        case ReducibleData(entropy_pct, duplicate_pct, granule_bytes):
            pieces = f"pieces of {block_size_kib(granule_bytes)} KiB"
            return f"entropy {entropy_pct:g} %, copies {duplicate_pct:g} %, in {pieces}"
        case VerifiedData(generation):
            return f"verified, generation {generation}"
        case ZeroData():
            return "zero bytes"
        case _:
            return str(data)

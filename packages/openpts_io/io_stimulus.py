"""What words of `openpts io` stand for: what is issued, where random accesses go, when, and until when."""

from typing import Any, Final

from openpts.errors import UsageError
from openpts.fields.parsing import (
    amount_bytes,
    named_values,
    number,
    pair,
    refuse,
    transfer_size_bytes,
    whole_number,
)
from openpts.units import NS_PER_MS, NS_PER_S, NS_PER_US
from openpts.vocabulary.stimulus import (
    ActiveRange,
    BlockSize,
    Burst,
    DutyCycle,
    FixedRate,
    Normal,
    OperationWeights,
    Pareto,
    Poisson,
    Segments,
    Steady,
    SteadyFigure,
    ThinkTime,
    UniqueLbas,
    Zipf,
    Zone,
    Zones,
)

_MOST_SIZES: Final = 64
_SMALLEST_SIZE_BYTES: Final = 512
_OPERATIONS: Final = ("read", "write", "trim", "flush", "fsync")
_FIGURES: Final = {
    "iops": SteadyFigure.IOPS,
    "throughput": SteadyFigure.THROUGHPUT,
    "latency": SteadyFigure.MEAN_LATENCY,
}


def block_sizes(option: str, text: str) -> tuple[BlockSize, ...]:
    """The sizes of ``4k`` or of ``4k:67,8k:33``. Raises UsageError."""
    sizes = []
    for word in text.split(","):
        size, weighted, weight = word.partition(":")
        if weighted or "," in text:
            size, weight = pair(option, word, ":", "SIZE:WEIGHT,... such as 4k:67,8k:33")
        block_size_bytes = transfer_size_bytes(option, size)
        if block_size_bytes < _SMALLEST_SIZE_BYTES or block_size_bytes % _SMALLEST_SIZE_BYTES:
            refuse(option, size, "a transfer has whole sectors, of 512 bytes at least")
        sizes.append(BlockSize(block_size_bytes, whole_number(option, weight) if weight else 1))
    if len(sizes) > _MOST_SIZES:
        raise UsageError(f"{option} has {len(sizes)} sizes, more than {_MOST_SIZES}")
    if len({size.block_size_bytes for size in sizes}) < len(sizes):
        refuse(option, text, "a size is given twice")
    if not sum(size.weight for size in sizes):
        refuse(option, text, "the weights sum to 0")
    return tuple(sizes)


def read_write_mix(option: str, text: str) -> tuple[int, int]:
    """The per cent of reads and of writes in ``70/30``. Raises UsageError."""
    read, write = (whole_number(option, word) for word in pair(option, text, "/", "READ/WRITE such as 70/30"))
    if read + write != 100:
        refuse(option, text, "reads and writes do not sum to 100 per cent")
    return read, write


def operations(option: str, text: str) -> OperationWeights:
    """The weights of ``read=70,write=30``. Raises UsageError."""
    weights = named_values(option, text, dict.fromkeys(_OPERATIONS, whole_number))
    if not sum(weights.values()):
        refuse(option, text, "the weights sum to 0")
    return OperationWeights(**weights)


def active_range(option: str, text: str) -> ActiveRange:
    """The part of the LBAs in ``0:75``, in per cent. Raises UsageError."""
    start, end = (number(option, word) for word in pair(option, text, ":", "START:END such as 0:75"))
    if not 0 <= start < end <= 100:
        refuse(option, text, "START must be below END, both in per cent of the LBAs")
    return ActiveRange(start, end)


def zones(option: str, text: str) -> Zones:
    """The zones of ``50/5,30/15,20/80``. Raises UsageError."""
    pairs = [pair(option, word, "/", "ACCESS/RANGE,... such as 50/5,30/15,20/80") for word in text.split(",")]
    found = tuple(
        Zone(whole_number(option, weight), number(option, range_pct)) for weight, range_pct in pairs
    )
    if sum(zone.weight for zone in found) != 100:
        refuse(option, text, "the shares of accesses do not sum to 100")
    if abs(sum(zone.range_pct for zone in found) - 100) > 1e-6:
        refuse(option, text, "the shares of the range do not sum to 100")
    return Zones(found)


def zipf(option: str, text: str) -> Zipf:
    """The distribution of ``1.2``. Raises UsageError."""
    return Zipf(_above_zero(option, text, "theta must be above 0"))


def pareto(option: str, text: str) -> Pareto:
    """The distribution of ``0.2``. Raises UsageError."""
    h = number(option, text)
    if not 0 < h < 0.5:
        refuse(option, text, "h must be between 0 and 0.5")
    return Pareto(h)


def normal(option: str, text: str) -> Normal:
    """The hot spot of ``50,10``. Raises UsageError."""
    mean_pct, deviation_pct = (number(option, word) for word in pair(option, text, ",", "MEAN,DEVIATION"))
    if mean_pct > 100 or not 0 < deviation_pct <= 100:
        refuse(option, text, "mean and deviation must be per cent of the range, the deviation above 0")
    return Normal(mean_pct, deviation_pct)


def segments(option: str, text: str) -> Segments:
    """The segments of ``16:1MiB``. Raises UsageError."""
    count, size = pair(option, text, ":", "N:SIZE such as 16:1MiB")
    found = Segments(whole_number(option, count), amount_bytes(option, size))
    if not found.count:
        refuse(option, text, "at least one segment is needed")
    return found


def unique_lbas(option: str, text: str) -> UniqueLbas:
    """The choice of blocks of ``8GiB``. Raises UsageError."""
    return UniqueLbas(amount_bytes(option, text))


def fixed_rate(option: str, text: str) -> FixedRate:
    """The pacing of ``5000``. Raises UsageError."""
    return FixedRate(_above_zero(option, text))


def poisson(option: str, text: str) -> Poisson:
    """The pacing of ``5000``. Raises UsageError."""
    return Poisson(_above_zero(option, text))


def burst(option: str, text: str) -> Burst:
    """The pacing of ``32@100``. Raises UsageError."""
    ios, period = pair(option, text, "@", "N@MS, N I/Os every MS milliseconds")
    found = Burst(whole_number(option, ios), _duration_ns(option, period, NS_PER_MS))
    if not found.ios:
        refuse(option, text, "a burst needs at least one I/O")
    return found


def duty_cycle(option: str, text: str) -> DutyCycle:
    """The pacing of ``250/750``. Raises UsageError."""
    on, off = pair(option, text, "/", "ON/OFF in milliseconds")
    return DutyCycle(_duration_ns(option, on, NS_PER_MS), _duration_ns(option, off, NS_PER_MS))


def think_time(option: str, text: str) -> ThinkTime:
    """The pacing of ``1.5``. Raises UsageError."""
    return ThinkTime(_duration_ns(option, text, NS_PER_US))


def steady(option: str, text: str) -> Steady:
    """The rule of ``FIGURE[,window=S][,windows=N][,excursion=PCT][,slope=PCT]``. Raises UsageError."""
    figure, comma, rest = text.partition(",")
    if figure not in _FIGURES:
        refuse(option, text, f"the figure must be one of {', '.join(_FIGURES)}")
    known = {"window": number, "windows": whole_number, "excursion": number, "slope": number}
    values: dict[str, Any] = named_values(option, rest, known) if comma else {}
    usual = Steady(_FIGURES[figure], NS_PER_S)
    rule = Steady(
        usual.figure,
        round(values.get("window", 1) * NS_PER_S),
        values.get("windows", usual.windows),
        values.get("excursion", usual.excursion_pct),
        values.get("slope", usual.slope_pct),
    )
    if rule.windows < 2:
        refuse(option, text, "at least two windows are needed to see a change")
    return rule


def _above_zero(option: str, text: str, reason: str = "must be above 0") -> float:
    value = number(option, text)
    if value <= 0:
        refuse(option, text, reason)
    return value


def _duration_ns(option: str, text: str, unit_ns: int) -> int:
    duration_ns = round(_above_zero(option, text) * unit_ns)
    if not 0 < duration_ns < 2**62:
        refuse(option, text, "is out of range")
    return duration_ns

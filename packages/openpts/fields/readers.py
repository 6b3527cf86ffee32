"""Words of a plan as values of conditions and back; workloads as a table."""

import math
import re
from fractions import Fraction
from typing import Annotated, Final, TypeVar

from msgspec import Meta, Struct
from msgspec.structs import replace

from openpts.errors import UsageError
from openpts.fields.parsing import amount_bytes, data_pattern, number, refuse, transfer_size_bytes
from openpts.units import GIB, KIB, MIB, NS_PER_MS, NS_PER_S, block_size_kib, format_block_size
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    DataPattern,
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    Segments,
    Uniform,
    VerifiedData,
    ZeroData,
    Zone,
    Zones,
)
from openpts.vocabulary.verdict import RoundPoint
from openpts.vocabulary.workload import WORKLOADS, Workload, simple_workload, workload_text

T = TypeVar("T")
_SMALLEST_SECTOR_BYTES: Final = 512
_POINT: Final = re.compile(r"(RND|SEQ)\s+([0-9.]+\s*[A-Za-z]+)\s+RW\s?([0-9]{1,3})", re.IGNORECASE)
_SEGMENTS: Final = re.compile(r"\s*([0-9]{1,9})\s*[x*]\s*([0-9.]+\s*[A-Za-z]+)\s*")
_RATIO: Final = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,12})?)\s*/\s*([0-9]{1,9}(?:\.[0-9]{1,12})?)\s*")


def seconds_ns(_name: str, seconds: float) -> int:
    """A duration in nanoseconds; a millisecond at least."""
    return max(NS_PER_MS, round(seconds * NS_PER_S))


def seconds_text(duration_ns: int) -> str:
    """A duration in seconds: ``0.4``."""
    return f"{duration_ns / NS_PER_S:.9g}"


def block_size_bytes(name: str, text: str) -> int:
    """A transfer size: whole sectors of 512 bytes."""
    size_bytes = transfer_size_bytes(name, text)
    if size_bytes % _SMALLEST_SECTOR_BYTES:
        refuse(name, text, "a transfer has whole sectors, of 512 bytes at least")
    return size_bytes


def size_text(size_bytes: int) -> str:
    """A size in base 2: ``128KiB``."""
    for unit, unit_bytes in (("GiB", GIB), ("MiB", MIB)):
        if size_bytes % unit_bytes == 0:
            return f"{size_bytes // unit_bytes}{unit}"
    return f"{block_size_kib(size_bytes)}KiB" if size_bytes % (KIB // 2) == 0 else f"{size_bytes}B"


def without_repeats(name: str, values: tuple[T, ...]) -> tuple[T, ...]:
    """The values. Raises UsageError where one is given twice."""
    if repeated := [value for value in values if values.count(value) > 1]:
        raise UsageError(f"{name}: {repeated[0]} is given twice")
    return values


def active_range(name: str, value: float | str) -> ActiveRange:
    """``75`` and ``0:75`` are the same: per cent of the LBAs. Raises UsageError for an empty one."""
    text = value if isinstance(value, str) else f"{value:g}"
    start, colon, end = text.rpartition(":")
    first_pct, last_pct = (number(name, word.removesuffix("%")) for word in (start if colon else "0", end))
    if name.startswith("--") and 0 < last_pct < 1 and "%" not in end:
        refuse(name, text, f"is below 1 per cent: write {100 * last_pct:g} for that share, or {end}%")
    if not 0 <= first_pct < last_pct <= 100:
        refuse(name, text, "START must be below END, both in per cent of the LBAs: 75 or 25:75")
    return ActiveRange(first_pct, last_pct)


def active_range_text(active: ActiveRange) -> str:
    """``75`` or ``25:75``."""
    return f"{active.start_pct:g}:{active.end_pct:g}" if active.start_pct else f"{active.end_pct:g}"


def segments(name: str, text: str) -> Segments:
    """``16x64MiB``: so many LBA segments of that size (PTS 6 (5))."""
    match = _SEGMENTS.fullmatch(text)
    if match is None or not int(match[1]):
        refuse(name, text, "write it as NUMBERxSIZE, such as 16x64MiB")
    return Segments(int(match[1]), amount_bytes(name, match[2]))


def data_of(name: str, text: str) -> DataPattern:
    """What a test writes. Raises UsageError; data that is to be verified is for `openpts io` alone."""
    data = data_pattern(name, text)
    if isinstance(data, VerifiedData):
        refuse(name, text, "a test reads what it never wrote, so nothing can be verified")
    return data


def data_word(data: DataPattern) -> str:
    """The word for a data pattern."""
    match data:
        case RandomData():
            return "random"
        case RandomOnce():
            return "random-once"
        case ZeroData():
            return "zero"
        case PatternData(pattern):
            return f"pattern:{pattern.hex()}"
        case ReducibleData(entropy_pct, duplicate_pct, granule_bytes):
            return f"entropy:{entropy_pct:g},dup:{duplicate_pct:g},granule:{size_text(granule_bytes)}"
        case VerifiedData(generation):
            return f"verified:{generation}"


def point_of(name: str, text: str) -> RoundPoint:
    """``RND 4KiB RW0``: order, size, per cent of reads."""
    match = _POINT.fullmatch(text.strip())
    if match is None or int(match[3]) > 100:
        refuse(name, text, "write it as RND 4KiB RW0: RND or SEQ, a size, RW and the per cent of reads")
    pattern = AccessPattern.RANDOM if match[1].upper() == "RND" else AccessPattern.SEQUENTIAL
    return RoundPoint(pattern, block_size_bytes(name, match[2]), int(match[3]))


def time_scale(name: str, value: float | str) -> float:
    """``1/60``, ``0.05`` or ``5%``: more than 0 and at most 1."""
    text = value if isinstance(value, str) else f"{value:g}"
    ratio = _RATIO.fullmatch(text)
    if text.endswith("%"):
        scale = number(name, text.removesuffix("%")) / 100
    elif ratio is None:
        scale = number(name, text)
    else:
        divisor = Fraction(ratio[2])
        scale = float(Fraction(ratio[1]) / divisor) if divisor else 0.0
    if not 0 < scale <= 1:
        refuse(name, text, "must be above 0 and at most 1, such as 1/60")
    return scale


NAMES: Final = ", ".join(WORKLOADS)
# Sizes are dealt like cards, so that every thousands of accesses hold each as often as its weight says.
_MOST_CARDS: Final = 10_000

Share = Annotated[int, Meta(ge=0, le=100)]


class ZoneTable(Struct, frozen=True, forbid_unknown_fields=True):
    """An access range: one behind the other from the start of the active range."""

    accesses_pct: Annotated[int, Meta(ge=0, le=100, description="Per cent of the accesses.")]
    range_pct: Annotated[float, Meta(gt=0, le=100, description="Per cent of the active range.")]


class WorkloadTable(Struct, frozen=True, forbid_unknown_fields=True):
    """A workload of the operator's own."""

    name: Annotated[
        str, Meta(min_length=1, max_length=60, description="What tables and plots call the workload.")
    ]
    block_sizes: Annotated[
        dict[str, Annotated[int, Meta(ge=1, le=_MOST_CARDS)]],
        Meta(
            min_length=1,
            max_length=64,
            description="Block sizes, each with its weight in the number of accesses.",
            examples=[{"4KiB": 70, "64KiB": 30}],
        ),
    ]
    read_pct: Annotated[int, Meta(ge=0, le=100, description="Per cent of the accesses that read.")]
    random_pct: Annotated[
        int, Meta(ge=0, le=100, description="Per cent of the accesses that go to random places; 100.")
    ] = 100
    zones: Annotated[
        list[ZoneTable],
        Meta(max_length=64, description="Access ranges; without them all blocks are accessed alike."),
    ] = []


WorkloadWord = Annotated[
    str,
    Meta(
        description=f"One of {NAMES}; or order, size and mix, such as RND 8KiB RW65.",
        examples=["oltp", "RND 8KiB RW65"],
    ),
]


def workload_of(name: str, word: str | WorkloadTable) -> Workload:
    """The workload that is meant. Raises UsageError."""
    if isinstance(word, WorkloadTable):
        return _own(name, word)
    if word in WORKLOADS:
        return WORKLOADS[word]
    if not word.upper().startswith(("RND", "SEQ")):
        refuse(name, word, f"is not one of {NAMES}, and not of the form RND 8KiB RW65")
    point = point_of(name, word)
    order = point.access_pattern
    named = f"{order.short}-{format_block_size(point.block_size_bytes)}-rw{point.read_pct}"
    return simple_workload(named.lower().replace(" ", ""), order, point.block_size_bytes, point.read_pct)


def workload_or_same(name: str, word: str | WorkloadTable, present: Workload) -> Workload:
    """The workload that is meant; the present one where it is the same under another name."""
    meant = workload_of(name, word)
    same = replace(meant, name=present.name, title=present.title) == present
    return present if same and not isinstance(word, WorkloadTable) else meant


def workload_word(workload: Workload) -> str:
    """The word for a workload: its name, or its description."""
    return workload.name if workload.name in WORKLOADS else workload_text(workload)


def _own(name: str, table: WorkloadTable) -> Workload:
    where = f"{name}: workload {table.name!r}"
    if table.name in WORKLOADS:
        raise UsageError(f"{where}: the specification has one of that name; use another")
    sizes = tuple(
        BlockSize(block_size_bytes(f"{where}: block size", size), weight)
        for size, weight in table.block_sizes.items()
    )
    if len({size.block_size_bytes for size in sizes}) < len(sizes):
        raise UsageError(f"{where}: a block size is given twice")
    weights = [size.weight for size in sizes]
    if sum(weights) // math.gcd(*weights) > _MOST_CARDS:
        raise UsageError(f"{where}: the weights sum to more than {_MOST_CARDS:,}")
    if table.zones:
        if not table.random_pct:
            raise UsageError(f"{where}: zones apply to random accesses, and the workload has none")
        if (accesses := sum(zone.accesses_pct for zone in table.zones)) != 100:
            raise UsageError(f"{where}: the zones' accesses sum to {accesses} per cent, not to 100")
        if abs((ranges := sum(zone.range_pct for zone in table.zones)) - 100) > 1e-6:
            raise UsageError(f"{where}: the zones' ranges sum to {ranges:g} per cent, not to 100")
    return Workload(
        name=table.name,
        title=table.name,
        random_pct=table.random_pct,
        block_sizes=sizes,
        read_pct=table.read_pct,
        placement=Zones(tuple(Zone(zone.accesses_pct, zone.range_pct) for zone in table.zones))
        if table.zones
        else Uniform(),
    )

"""Model weights and media: how fast do large blocks come off the disk, cold, one at a time and many?"""

from collections.abc import Callable
from itertools import product
from typing import Final

from openpts.units import GB, MB, MIB
from openpts.vocabulary.stimulus import AccessPattern, Duration, Stimulus, Stream
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import percentile_ms, rate

_SIZES_MIB: Final = (1, 3, 9, 19)
_IN_FLIGHT: Final = (1, 4, 32)
_READS: Final = "reads"
_BLOCK_MIB: Final = 9
_HEAT: Final = "heat"
_HOT: Final = "hot"
# ProRes 422 HQ: 220 Mb/s at 1080p29.97, as Apple says; at 2160p59.94 four times the pixels, twice the frames
_PRORES_BYTES_PER_S: Final = 8 * 220 * MB / 8
_BLOCK_MS: Final = round(1000 * _BLOCK_MIB * MIB / _PRORES_BYTES_PER_S, 1)


def _name(size_mib: int, in_flight: int) -> str:
    return f"{size_mib} MiB x {in_flight}"


def _load(asked: Asked, size_mib: int, in_flight: int) -> Stream:
    """Blocks at random places of the file, so that nothing can be read ahead."""
    reads = Stimulus.of(AccessPattern.RANDOM, size_mib * MIB, 100, 1, in_flight, asked.part)
    return Stream(reads, _READS)


def _loads(asked: Asked) -> tuple[Load, ...]:
    """Each size at each depth; where heat is asked for, long reads and the deepest of them once more."""
    points = tuple(
        Load(_name(size, in_flight), (_load(asked, size, in_flight),))
        for size, in_flight in product(_SIZES_MIB, _IN_FLIGHT)
    )
    if not asked.heat_ns:
        return points
    deepest = (_load(asked, _BLOCK_MIB, max(_IN_FLIGHT)),)
    heat = Load(_HEAT, deepest, Duration(asked.heat_ns), once=True)
    return (*points, heat, Load(_HOT, deepest, once=True))


def _gb_per_s(size_mib: int, in_flight: int) -> Callable[[Seen], float | None]:
    return lambda seen: rate(seen.of(_name(size_mib, in_flight)), GB)


def _best(seen: Seen) -> float | None:
    """Of all sizes and depths."""
    rates = [_gb_per_s(size, depth)(seen) for size, depth in product(_SIZES_MIB, _IN_FLIGHT)]
    known = [one for one in rates if one is not None]
    return max(known) if len(known) == len(rates) else None


def _hot(seen: Seen) -> float | None:
    """The rate after the heat in per cent of that before."""
    before, after = _gb_per_s(_BLOCK_MIB, max(_IN_FLIGHT))(seen), rate(seen.of(_HOT), GB)
    return 100 * after / before if before and after is not None else None


PURPOSE: Final = CheckPurpose(
    name="stream",
    title="Model weights and media",
    question="Do model weights or media come off this disk fast enough?",
    size_bytes=8 * GB,
    least_bytes=1 * GB,
    load_s=1.5,
    loads=_loads,
    heats=True,
    figures=(
        PurposeFigure(
            key="best_rate",
            label="Cold reads of 1 to 19 MiB, best",
            unit="GB/s",
            of=_best,
            bound=PublishedBound(2.4, "Xbox Series X, raw I/O throughput", is_least=True),
            remedy="use an NVMe drive with PCIe 3.0 x4 or more, and look whether its link is at full speed "
            "(`openpts devices`)",
            of_reads=True,
        ),
        PurposeFigure(
            key="block_p90",
            label=f"A block of {_BLOCK_MIB} MiB, one at a time, 90 %",
            unit="ms",
            of=lambda seen: percentile_ms(seen.of(_name(_BLOCK_MIB, 1)), _READS, "read", 90),
            bound=PublishedBound(_BLOCK_MS, "Apple, About ProRes: 422 HQ, 220 Mb/s at 1080p30; 2160p60"),
            remedy="read ahead with more in flight, or play media of a lower data rate from this disk",
            decimals=1,
            absent="below 10 blocks",
            of_reads=True,
        ),
        PurposeFigure(
            key="after_heat",
            label="The same after heat, over before",
            unit="%",
            of=_hot,
            bound=PublishedBound(90, "openpts, a loss that is felt", is_least=True),
            remedy="cool the drive, by a heat sink or air; `openpts run thermal` finds when it slows down",
            decimals=0,
            absent="about heat, which was not asked for (--heated 10)",
            of_reads=True,
            needs_repeats=False,
            is_optional=True,
        ),
    ),
    shown=tuple(
        Shown(
            f"{size} MiB blocks",
            "GB/s",
            tuple((f"{depth} in flight", _gb_per_s(size, depth)) for depth in _IN_FLIGHT),
        )
        for size in _SIZES_MIB
    ),
    mistakes=(
        "A model that was loaded before comes from memory. These reads go past the page cache, as the first "
        "load after a start does.",
        "One reader that waits for each block gets the rate at 1 in flight, not that of a data sheet.",
        "The file is new, and lies as the drive liked it. Files that were written over months are slower.",
    ),
)

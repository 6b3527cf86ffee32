"""Desktops: the rows that benchmarks of desktops show, and what a stretch of writes leaves of them."""

from collections.abc import Callable
from typing import Final

from openpts.units import GB, KIB, MB, MIB
from openpts.vocabulary.stimulus import AccessPattern, ByteAmount, Stimulus, Stream
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import iops, over_pct, rate

_TO_GO: Final = "Microsoft HLK, WindowsToGo Performance"
# CrystalDiskMark's default rows, as `openpts run benchmarks --list crystaldiskmark` has them
_ROWS: Final = {
    "SEQ1M Q8T1 read": (AccessPattern.SEQUENTIAL, MIB, 100, 8),
    "SEQ1M Q8T1 write": (AccessPattern.SEQUENTIAL, MIB, 0, 8),
    "RND4K Q32T1 read": (AccessPattern.RANDOM, 4 * KIB, 100, 32),
    "RND4K Q32T1 write": (AccessPattern.RANDOM, 4 * KIB, 0, 32),
    "RND4K Q1T1 read": (AccessPattern.RANDOM, 4 * KIB, 100, 1),
    "RND4K Q1T1 write": (AccessPattern.RANDOM, 4 * KIB, 0, 1),
}
_READ, _WRITE = "RND4K Q1T1 read", "RND4K Q1T1 write"
_AGEING, _AGED = "ageing", "aged"


def _row(asked: Asked, name: str) -> tuple[Stream, ...]:
    pattern, size_bytes, read_pct, qd = _ROWS[name]
    return (Stream(Stimulus.of(pattern, size_bytes, read_pct, 1, qd, asked.part), name),)


def _loads(asked: Asked) -> tuple[Load, ...]:
    """Each row, of a file that is written in order again; behind all repeats what writes leave of reads."""
    again = Load("file again", _row(asked, "SEQ1M Q8T1 write"), ByteAmount(asked.part_bytes))
    rows = (again, *(Load(name, _row(asked, name)) for name in _ROWS))
    ageing = tuple(Load(f"{_AGEING} {n}", _row(asked, "RND4K Q32T1 write"), once=True) for n in range(1, 5))
    return (*rows, *ageing, Load(_AGED, _row(asked, _READ), once=True))


def _iops(load: str) -> Callable[[Seen], float | None]:
    return lambda seen: iops(seen.of(load))


def _mb_per_s(load: str) -> Callable[[Seen], float | None]:
    return lambda seen: rate(seen.of(load), MB)


PURPOSE: Final = CheckPurpose(
    name="desktop",
    title="Desktops and their programs",
    question="Is this disk fast enough to run programs from, also after a long stretch of writes?",
    size_bytes=1 * GB,
    least_bytes=256 * MIB,
    load_s=4.0,
    loads=_loads,
    figures=(
        PurposeFigure(
            key="random_reads",
            label="Random reads of 4 KiB, one at a time",
            unit="IOPS",
            of=_iops(_READ),
            bound=PublishedBound(2000, _TO_GO, is_least=True),
            remedy="run programs from an SSD: this is what starting them waits for",
            decimals=0,
            of_reads=True,
        ),
        PurposeFigure(
            key="random_writes",
            label="Random writes of 4 KiB, one at a time",
            unit="IOPS",
            of=_iops(_WRITE),
            bound=PublishedBound(2000, _TO_GO, is_least=True),
            remedy="look whether the drive's write cache is on (`openpts devices`), and free space",
            decimals=0,
        ),
        PurposeFigure(
            key="after_writes",
            label="The same reads right after random writes, over before",
            unit="%",
            of=lambda seen: over_pct(iops(seen.of(_AGED)), iops(seen.of(_READ))),
            bound=PublishedBound(50, "openpts, half is felt", is_least=True),
            remedy="trim the disk (fstrim) and leave a fifth of it free: the drive still tidies up",
            decimals=0,
            of_reads=True,
            needs_repeats=False,
        ),
    ),
    shown=(
        Shown("throughput", "MB/s", tuple((name, _mb_per_s(name)) for name in list(_ROWS)[:2])),
        Shown("random accesses", "IOPS", tuple((name, _iops(name)) for name in list(_ROWS)[2:4])),
    ),
    mistakes=(
        "Sequential rates in bold are what boxes show. Programs wait for small reads, one at a time.",
        "In an empty drive all of the flash may be a cache. Ask again when the disk is fuller, and compare.",
    ),
)

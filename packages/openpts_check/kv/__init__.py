"""Key-value stores: does the disk serve reads in time beside writes at a rate, and how long does it last?"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from openpts.units import GB, KIB, MIB
from openpts.vocabulary.stimulus import AccessPattern, Poisson, Stimulus, Stream
from openpts_check.purpose import Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Seen, Shown
from openpts_check.seen import life_left, percentile_ms, slower_pct

_ACT: Final = "Aerospike ACT, normal load"
# ACT at 1x: so many small reads and so many reads and writes of large blocks each second. It reads 1.5 KB, of
# which drives read a page of 4 KiB.
_READS_PER_S: Final = 2000
_LARGE_PER_S: Final = 23.5
_WRITTEN_BYTES_PER_S: Final = _LARGE_PER_S * 128 * KIB
_LOAD: Final = "1x"
_READS: Final = "reads"


def _loads(asked: Asked) -> tuple[Load, ...]:
    def stream(name: str, size_bytes: int, read_pct: int, per_s: float) -> Stream:
        stimulus = Stimulus.of(AccessPattern.RANDOM, size_bytes, read_pct, 1, 32, asked.part)
        return Stream(replace(stimulus, pacing=Poisson(per_s)), name)

    small = stream(_READS, 4 * KIB, 100, _READS_PER_S)
    large = stream("large reads", 128 * KIB, 100, _LARGE_PER_S)
    return (Load(_LOAD, (small, large, stream("writes", 128 * KIB, 0, _LARGE_PER_S))),)


def _slower(limit_ms: float) -> Callable[[Seen], float | None]:
    return lambda seen: slower_pct(seen.of(_LOAD), _READS, "read", limit_ms)


def _percentile(percentile: float) -> Callable[[Seen], float | None]:
    return lambda seen: percentile_ms(seen.of(_LOAD), _READS, "read", percentile)


PURPOSE: Final = CheckPurpose(
    name="kv",
    title="Key-value stores",
    question="Does this disk serve a key-value store in time, at 2,000 reads/s beside writes, and for years?",
    size_bytes=4 * GB,
    least_bytes=256 * MIB,
    load_s=20.0,
    loads=_loads,
    figures=(
        PurposeFigure(
            key="reads_over_1_ms",
            label="Reads slower than 1 ms",
            unit="%",
            of=_slower(1),
            bound=PublishedBound(5, _ACT),
            remedy="spread the load over more drives, or use one for data centers: here writes hold up reads",
            of_reads=True,
        ),
        PurposeFigure(
            key="reads_over_8_ms",
            label="Reads slower than 8 ms",
            unit="%",
            of=_slower(8),
            bound=PublishedBound(1, _ACT),
            remedy="`openpts run qos` finds the highest load with the response times that you need",
            of_reads=True,
        ),
        life_left(
            _WRITTEN_BYTES_PER_S,
            "`openpts check --for endurance` counts what your own load writes to the flash",
        ),
    ),
    shown=(Shown("reads", "ms", tuple((f"{pct:g} %", _percentile(pct)) for pct in (50, 95, 99, 99.9))),),
    mistakes=(
        "Aerospike judges after 24 hours and more: many drives get slow after 4 to 12. --minutes 1440 does.",
        "Response times count from the planned moment, so that a disk that falls behind can't hide it.",
    ),
)

"""A workload that is like a trace: streams with rates over time, sizes, places, as a job file of fio.

The job file is read by `openpts io --fio` and `openpts run workload`. What it can't express is listed.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from msgspec import Struct

from openpts.units import KIB, NS_PER_S
from openpts_traces.characteristics.applied_workload import CountedStream, applied_workload
from openpts_traces.characteristics.arrival_fit import ArrivalFit, Candidate, Segment, fitted, steps_of

Figures = Mapping[str, Any]

_MOST_BYTES: Final = 12 * KIB
_BYTES_PER_JOB: Final = 150
_SECTOR_BYTES: Final = 512
_PAGE_BYTES: Final = 4096
_WORDS: Final = {"read": "randread", "write": "randwrite", "trim": "randtrim"}
_ZONES_PCT: Final = (1, 5, 20, 50, 100)
_LEAST_DEPTH: Final = 32
_MOST_DEPTH: Final = 256
_MOST_GROWTH: Final = 8
_LEAST_RATE: Final = 0.5  # what a rate in whole I/Os per second can't have
_ALL_PCT: Final = 100


class SynthesizedStream(Struct, frozen=True):
    """One stream of the workload: an operation with one size; ``random_pct`` of it go to a random place."""

    kind: str
    size_bytes: int
    ios: int
    random_pct: int

    @property
    def name(self) -> str:
        """Name of a job section, such as ``read-4k``."""
        size = f"{self.size_bytes // KIB}k" if self.size_bytes % KIB == 0 else f"{self.size_bytes}b"
        return f"{self.kind}-{size}"


class Synthetic(Struct, frozen=True):
    """A workload: the job file's text, how arrivals were chosen, what of the trace is not in it."""

    job: str
    fit: ArrivalFit
    lost: tuple[str, ...]
    range_bytes: int

    @property
    def chosen(self) -> str:
        """The arrivals that fit best."""
        return self.fit.chosen

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All arrivals that were tried."""
        return self.fit.candidates


def synthesized(figures: Figures, seconds: float | None = None) -> Synthetic:
    """The workload that is like the trace of these figures; in ``seconds`` instead of its duration."""
    loads, lost = loads_of(figures)
    most = max(1, _MOST_BYTES // _BYTES_PER_JOB // max(1, len(loads)))
    fit = fitted(figures, steps_of(figures, [(load.kind, load.size_bytes) for load in loads]), most)
    kinds = ("read", "write")
    largest_of = {
        kind: max((load.size_bytes for load in loads if load.kind == kind), default=0) for kind in kinds
    }
    zones = {kind: zones_of(figures, kind, largest_of[kind]) for kind in kinds}
    spans = [sum(size for _, size in zone) for zone in zones.values()]
    largest = max((load.size_bytes for load in loads), default=_PAGE_BYTES)
    range_bytes = max(*spans, 16 * largest)
    scale = 1.0 if seconds is None else seconds * NS_PER_S / sum(s.length_ns for s in fit.segments)
    made = _Making(zones, range_bytes, scale, fit)
    lines = _global(figures, fit)
    for number, segment in enumerate(fit.segments, start=1):
        lines += _step(number, segment, loads, made)
    return Synthetic("\n".join(lines) + "\n", fit, (*lost, *_unexpressed(figures, fit)), range_bytes)


def loads_of(figures: Figures) -> tuple[list[SynthesizedStream], list[str]]:
    """The streams of the applied workload, random and sequential ones of a size together, and the rest."""
    places = figures["whole"]["places"]["by_operation"]
    merged: dict[tuple[str, int], list[int]] = {}
    for stream in figures["streams"]:
        if stream["kind"] in _WORDS and stream["size_bytes"] % _SECTOR_BYTES == 0 and stream["size_bytes"]:
            counts = merged.setdefault((stream["kind"], stream["size_bytes"]), [0, 0])
            counts[0] += stream["ios"]
            counts[1] += stream["ios"] if stream["pattern"] == "seq" else 0
    counted = [
        CountedStream(f"{kind} {size}", kind, "", size, ios, ios * size)
        for (kind, size), (ios, _) in merged.items()
    ]
    chosen = {(one.stream.kind, one.stream.size_bytes) for one in applied_workload(counted).streams}
    loads = []
    for (kind, size), (ios, strict) in merged.items():
        if (kind, size) in chosen:
            loads.append(SynthesizedStream(kind, size, ios, _random_pct(places.get(kind), strict / ios)))
    left = sum(stream["ios"] for stream in figures["streams"]) - sum(load.ios for load in loads)
    total = figures["whole"]["mix"]["ios"]
    lost = [f"{100 * left / total:.1f} % of I/Os, of rare sizes and operations"] if left else []
    return loads, lost


def _random_pct(place: Figures | None, strict: float) -> int:
    """The strict share of a size, scaled so that runs that are interleaved count as sequential."""
    if place is None:
        return 100
    all_strict: float = place["strict"]["share_of_ios"]
    windowed: float = place["windowed"]["share_of_ios"]
    share = strict * windowed / all_strict if all_strict else windowed
    return round(100 * (1 - min(1.0, share)))


def zones_of(figures: Figures, kind: str, largest_bytes: int) -> list[tuple[int, int]]:
    """Per cent of accesses and bytes of each zone, the hottest first; nothing without accesses."""
    heat = figures["whole"]["blocks"]["heat"][kind]
    if heat is None:
        return []
    touched = figures["whole"]["blocks"]["footprint"]["written" if kind == "write" else "read"]["bytes"]
    curve = dict(map(tuple, heat["curve"]))
    least = max(largest_bytes, _PAGE_BYTES)
    zones: list[tuple[int, int]] = []
    given = 0
    for low, high in pairwise((0, *_ZONES_PCT)):
        accesses = round(100 * curve[high]) - given
        blocks = touched / _PAGE_BYTES * (high - low) / 100
        size = _PAGE_BYTES * math.ceil(_grown(blocks, heat["accesses"] * accesses / 100))
        if accesses == 0 and zones:
            zones[-1] = (zones[-1][0], zones[-1][1] + size)
        elif accesses:
            zones.append((accesses, max(size, least)))
        given += accesses
    return zones


def _grown(blocks: float, accesses: float) -> float:
    """The zone of which so many independent accesses touch so many blocks."""
    if accesses <= blocks * 1.0001 or blocks < 1:
        return blocks * _MOST_GROWTH if accesses > 0 and blocks >= 1 else max(1.0, blocks)
    low, high = blocks, blocks * _MOST_GROWTH
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-accesses / middle) < blocks else (low, middle)
    return low


def _global(figures: Figures, fit: ArrivalFit) -> list[str]:
    name, whole = figures["trace"]["files"][0].rpartition("/")[2], figures["whole"]
    return [
        f"; like {name}: {whole['mix']['ios']:,} I/Os in {whole['span_ns'] / 1e9:.3g} s",
        f"; arrivals: {fit.chosen}",
        "[global]",
        "direct=1",
        "ioengine=io_uring",
        "norandommap=1",
        "time_based=1",
        *(["rate_process=poisson"] if not fit.is_closed else []),
    ]


class _Making(Struct, frozen=True):
    """What all jobs have in common: zones by operation, bytes of the range, scale of time, arrivals."""

    zones: Mapping[str, list[tuple[int, int]]]
    range_bytes: int
    scale: float
    fit: ArrivalFit

    def places(self, load: SynthesizedStream) -> list[str]:
        """Options that say where a load goes."""
        lines = [f"size={self.range_bytes}"]
        if load.random_pct < _ALL_PCT and load.kind != "trim":
            lines.append(f"percentage_random={load.random_pct}")
        if load.random_pct and (zone := self.zones.get(load.kind)):
            shares = ":".join(f"{accesses}/{size}" for accesses, size in zone)
            lines.append(f"random_distribution=zoned_abs:{shares}")
        if load.size_bytes > _PAGE_BYTES and load.size_bytes % _PAGE_BYTES == 0:
            lines.append(f"ba={_PAGE_BYTES}")
        return lines


def _step(number: int, segment: Segment, loads: Sequence[SynthesizedStream], made: "_Making") -> list[str]:
    """The jobs of one segment, side by side; none for one with less than an I/O in two seconds."""
    runtime_ms = max(1, round(segment.length_ns * made.scale / 1e6))
    lines: list[str] = []
    for load in loads:
        rate = segment.ios_per_s[load.kind, load.size_bytes]
        if rate < _LEAST_RATE:
            continue
        lines += [f"[{load.name}.{number}]", *([] if lines else ["stonewall"])]
        lines += [f"rw={_WORDS[load.kind]}", f"bs={load.size_bytes}", f"runtime={runtime_ms}ms"]
        lines += [*made.places(load), *_demand(load, rate, segment, made.fit)]
    return ["", f"; from {segment.start_ns / 1e9:.3g} s", *lines] if lines else []


def _demand(load: SynthesizedStream, rate: float, segment: Segment, fit: ArrivalFit) -> list[str]:
    if fit.is_closed:
        total = sum(segment.ios_per_s.values())
        return [f"iodepth={max(1, round(fit.depth * rate / total))}"]
    depth = 1 if load.kind == "trim" else min(_MOST_DEPTH, max(_LEAST_DEPTH, math.ceil(fit.depth)))
    return [f"rate_iops={round(rate)}", f"iodepth={depth}"]


def _unexpressed(figures: Figures, fit: ArrivalFit) -> list[str]:
    return [
        *left_out(figures, "flush", "zeroes", "other"),
        f"bursts shorter than {min(s.length_ns for s in fit.segments) / 1e9:.3g} s",
        "the order of reuse: places of a zone are drawn independently",
    ]


def left_out(figures: Figures, *kinds: str) -> list[str]:
    """What no synthetic workload has: I/Os of these kinds, FUA, processes, several devices."""
    operations = figures["whole"]["mix"]["by_operation"]
    lost = [f"{operations[kind]['ios']:,} I/Os of kind {kind}" for kind in kinds if kind in operations]
    fua = sum(counts["flags"]["fua"] for counts in operations.values())
    if fua:
        lost.append(f"FUA of {fua:,} I/Os")
    lost.append("which process issues what, and its think time")
    if len(figures["trace"]["header"]["devices"]) > 1:
        lost.append("that there are several devices: all go to one target")
    return lost

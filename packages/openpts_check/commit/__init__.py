"""Databases and etcd: are commits durable fast enough, alone and beside readers and writers?"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from openpts.units import GB, KIB, MB
from openpts.vocabulary.stimulus import AccessPattern, Capped, CapUnit, OperationWeights, Stimulus, Stream
from openpts_check.purpose import (
    COMMITS,
    Asked,
    CheckPurpose,
    Load,
    PublishedBound,
    PurposeFigure,
    Seen,
    Shown,
)
from openpts_check.seen import per_s, percentile_ms

_FAQ: Final = "etcd.io FAQ, wal_fsync_duration_seconds"
_HARDWARE: Final = "etcd.io hardware recommendations, heavily loaded"
_READS_PER_S, _WRITES_PER_S = 2000, 500


def _loads(asked: Asked) -> tuple[Load, ...]:
    """Commits alone; then the same beside what a busy database does meanwhile to its tables."""
    writes = Stimulus.of(AccessPattern.SEQUENTIAL, 4 * KIB, 0, 1, 1, asked.part)
    commits = replace(writes, operations=OperationWeights(write=1, flush=1))
    readers = _background(asked, 8 * KIB, OperationWeights(read=1), _READS_PER_S)
    writers = _background(asked, 16 * KIB, OperationWeights(write=1), _WRITES_PER_S)
    alone = Stream(commits, COMMITS)
    return (
        Load("alone", (alone,)),
        Load("beside", (alone, Stream(readers, "readers"), Stream(writers, "writers"))),
    )


def _background(asked: Asked, size_bytes: int, operations: OperationWeights, most_per_s: int) -> Stimulus:
    stimulus = Stimulus.of(AccessPattern.RANDOM, size_bytes, 0, 1, 4, asked.part)
    return replace(stimulus, operations=operations, pacing=Capped(most_per_s, CapUnit.IOS))


def _sync_ms(load: str, percentile: float) -> Callable[[Seen], float | None]:
    return lambda seen: percentile_ms(seen.of(load), COMMITS, "flush", percentile)


_PERCENTILES: Final = (50, 90, 99, 99.9)
_TEN_MS: Final = PublishedBound(10, _FAQ)

PURPOSE: Final = CheckPurpose(
    name="commit",
    title="Commits of databases and etcd",
    question="Are commits of a database or of etcd durable fast enough on this disk?",
    size_bytes=1 * GB,
    least_bytes=64 * MB,
    load_s=9.0,
    loads=_loads,
    figures=(
        PurposeFigure(
            key="fdatasync_p99_alone",
            label="fdatasync, 99 %, nothing else",
            unit="ms",
            of=_sync_ms("alone", 99),
            bound=_TEN_MS,
            remedy="put the log on a drive with power-loss protection, which needn't empty its cache at each "
            "fdatasync; few consumer SSDs and disks behind a network stay below 10 ms",
            absent="below 100 commits",
        ),
        PurposeFigure(
            key="fdatasync_p99_beside",
            label="fdatasync, 99 %, beside readers and writers",
            unit="ms",
            of=_sync_ms("beside", 99),
            bound=_TEN_MS,
            remedy="give the log a drive of its own, or limit the other writers on this one (cgroup io.max)",
            absent="below 100 commits",
        ),
        PurposeFigure(
            key="commits_per_s",
            label="Commits one after the other, nothing else",
            unit="/s",
            of=lambda seen: per_s(seen.of("alone"), COMMITS, "flush"),
            bound=PublishedBound(500, _HARDWARE, is_least=True),
            remedy="group commits where the database can, or use a drive with power-loss protection; 50 "
            "commits/s are enough for a small etcd cluster",
            decimals=0,
        ),
    ),
    shown=tuple(
        Shown(f"fdatasync {text}", "ms", tuple((f"{pct:g} %", _sync_ms(load, pct)) for pct in _PERCENTILES))
        for load, text in (("alone", "with nothing else"), ("beside", "beside others"))
    ),
    mistakes=(
        "IOPS of a data sheet are of writes that stay in the drive's cache, many at a time. A commit is one "
        "write that has left the cache before the next one begins.",
        "A consumer drive that answers fdatasync within 20 us may ignore flushes: `openpts run powercut` "
        "finds out.",
        "The file's blocks are allocated ahead, as etcd does. A log that grows block by block makes the file "
        "system commit its own journal each time as well.",
    ),
)

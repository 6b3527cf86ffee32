"""Starting, installing, building: how fast are many small files made, and read when they are in no memory?"""

from typing import Final

from openpts.units import KIB, MB, MIB
from openpts.vocabulary.stimulus import BlockSize, OperationWeights, Stimulus, Stream
from openpts_check.purpose import FILES, Asked, CheckPurpose, Load, PublishedBound, PurposeFigure, Shown
from openpts_check.seen import per_s, percentile_ms

_A1: Final = "SD Association, application performance class A1"
_SIZES: Final = (BlockSize(4 * KIB, 5), BlockSize(8 * KIB, 3), BlockSize(16 * KIB), BlockSize(64 * KIB))
_MAKE, _READ = "made", "read"


def _loads(asked: Asked) -> tuple[Load, ...]:
    """Files are made, one after the other; then all of them are read."""

    def files(operations: OperationWeights) -> tuple[Stream, ...]:
        stimulus = Stimulus(
            random_pct=100, block_sizes=_SIZES, operations=operations, tc=1, qd=1, active_range=asked.part
        )
        return (Stream(stimulus, FILES),)

    return (Load(_MAKE, files(OperationWeights(write=1))), Load(_READ, files(OperationWeights(read=1))))


PURPOSE: Final = CheckPurpose(
    name="build",
    title="Many small files: starting, installing, building",
    question="Are many small files fast enough on this disk to start, install and build programs?",
    size_bytes=256 * MIB,
    least_bytes=64 * MB,
    load_s=8.0,
    loads=_loads,
    fills=False,
    figures=(
        PurposeFigure(
            key="files_read",
            label="Small files read, one by one, not from memory",
            unit="/s",
            of=lambda seen: per_s(seen.of(_READ), FILES, "read"),
            bound=PublishedBound(1500, _A1, is_least=True),
            remedy="keep programs and sources on an SSD; more memory keeps what was read once",
            decimals=0,
            of_reads=True,
        ),
        PurposeFigure(
            key="file_p99",
            label="A small file read, 99 %",
            unit="ms",
            of=lambda seen: percentile_ms(seen.of(_READ), FILES, "read", 99),
            bound=PublishedBound(10, "openpts, a hundredth of a second"),
            remedy="look what else uses the disk meanwhile (iostat), and whether the drive is full",
            absent="below 100 files",
            of_reads=True,
        ),
        PurposeFigure(
            key="files_made",
            label="Small files made durable, one by one",
            unit="/s",
            of=lambda seen: per_s(seen.of(_MAKE), FILES, "write"),
            bound=PublishedBound(100, "openpts, 10,000 files in 100 s", is_least=True),
            remedy="build in memory (tmpfs); package managers wait for each file, compilers for none",
            decimals=0,
        ),
    ),
    shown=(
        Shown(
            "a file made durable",
            "ms",
            (("99 %", lambda seen: percentile_ms(seen.of(_MAKE), FILES, "write", 99)),),
        ),
    ),
    mistakes=(
        "A second build reads its files from memory, and waits for processors: this is the first one.",
        "A file costs the file system more than its bytes: an inode, a name, a journal. IOPS hide that.",
    ),
)

"""The recorder of block events against I/O whose every offset is known: of dd, of fio, of our own calls."""

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from openpts.units import KIB, MIB
from tests.support.block_trace import BlockEvent, BlockTrace, Events, EventsLostError, of_event

SIZE = 64 * MIB
SECTOR = 512
Run = Callable[..., str]


@pytest.fixture
def drive(traceable: None, attach_memory: Callable[[int], Path]) -> Path:
    return attach_memory(SIZE)


def _queued(trace: BlockTrace, operations: str = "RWDF") -> Events:
    return of_event(trace.events, BlockEvent.QUEUE, operations)


def _places(events: Events) -> list[tuple[int, int]]:
    """Offset and length in bytes of each."""
    return [(int(event["sector"]) * SECTOR, int(event["sectors"]) * SECTOR) for event in events]


@pytest.mark.parametrize(("operation", "stream"), [("R", "if"), ("W", "of")])
def test_each_transfer_of_dd_is_seen_once_in_order(
    drive: Path, run: Run, operation: str, stream: str
) -> None:
    other, place, flag = (
        ("of=/dev/null", "skip", "iflag") if stream == "if" else ("if=/dev/zero", "seek", "oflag")
    )
    with BlockTrace(drive) as trace:
        run(
            "dd",
            f"{stream}={drive}",
            other,
            "bs=64k",
            "count=100",
            f"{place}=37",
            f"{flag}=direct",
            "conv=notrunc",
        )
    expected = [((37 + index) * 64 * KIB, 64 * KIB) for index in range(100)]
    assert _places(_queued(trace, operation)) == expected
    assert _places(of_event(trace.events, BlockEvent.COMPLETE, operation)) == expected


def test_random_io_of_mixed_sizes_is_what_fio_says_it_issued(drive: Path, run: Run, tmp_path: Path) -> None:
    log = tmp_path / "iolog"
    with BlockTrace(drive) as trace:
        run(
            *(
                "fio",
                "--name=mixed",
                f"--filename={drive}",
                f"--write_iolog={log}",
                f"--size={SIZE}",
                "--io_size=10g",
            ),
            *("--rw=randrw", "--bssplit=512/20:4k/60:32k/20", "--blockalign=512", "--number_ios=5000"),
            *("--ioengine=io_uring", "--direct=1", "--iodepth=8", "--norandommap", "--randrepeat=0"),
        )
    logged = re.findall(r"^\d+ \S+ (read|write) (\d+) (\d+)$", log.read_text(), re.MULTILINE)
    expected = [(name[0].upper(), int(offset), int(length)) for name, offset, length in logged]
    queued = _queued(trace, "RW")
    letters = [operation.decode() for operation in queued["rwbs"].astype("S1")]
    assert len(expected) == 5000
    assert [(letter, *place) for letter, place in zip(letters, _places(queued), strict=True)] == expected


def test_times_are_those_of_the_monotonic_clock_and_in_order(drive: Path) -> None:
    descriptor = os.open(drive, os.O_RDONLY | os.O_DIRECT)
    edges = []
    with BlockTrace(drive) as trace:
        for _ in range(50):
            before = time.monotonic_ns()
            os.preadv(descriptor, [_page_buffer()], 0)
            edges.append((before, time.monotonic_ns()))
    os.close(descriptor)
    for event in BlockEvent:
        times = of_event(trace.events, event)["time_ns"]
        assert [before < at < after for at, (before, after) in zip(times, edges, strict=True)] == [True] * 50
    assert list(trace.events["event"]) == [0, 1, 2] * 50
    assert (_queued(trace)["task"] == os.getpid()).all()


def test_records_are_those_that_the_kernel_prints(drive: Path, run: Run) -> None:
    with BlockTrace(drive) as trace:
        run("dd", f"if={drive}", "of=/dev/null", "bs=4k", "count=3000", "iflag=direct")
        text = trace.text()
    printed = re.findall(r" (\d+)\.(\d{6}): block_bio_queue: \S+ (\S+) (\d+) \+ (\d+) ", text)
    expected = [
        (int(seconds) * 10**6 + int(microseconds), rwbs, int(sector), int(sectors))
        for seconds, microseconds, rwbs, sector, sectors in printed
    ]
    assert len(expected) == 3000
    assert [
        ((int(event["time_ns"]) + 500) // 1000, event["rwbs"].decode(), event["sector"], event["sectors"])
        for event in _queued(trace)
    ] == expected


@pytest.fixture
def requests_of_64_kib(drive: Path) -> Iterator[None]:
    limit = Path("/sys/block", drive.name, "queue/max_sectors_kb")
    before = limit.read_text()
    limit.write_text("64")
    yield
    limit.write_text(before)


def test_an_io_that_the_kernel_splits_counts_once(drive: Path, run: Run, requests_of_64_kib: None) -> None:
    with BlockTrace(drive) as trace:
        run("dd", f"if={drive}", "of=/dev/null", "bs=256k", "count=8", "iflag=direct")
    assert _places(_queued(trace)) == [(index * 256 * KIB, 256 * KIB) for index in range(8)]
    issued = _places(of_event(trace.events, BlockEvent.ISSUE))
    assert sorted(issued) == [(index * 64 * KIB, 64 * KIB) for index in range(32)]


def test_discards_and_flushes_are_seen(drive: Path, run: Run) -> None:
    descriptor = os.open(drive, os.O_RDWR)
    with BlockTrace(drive) as trace:
        run("blkdiscard", "--offset", 3 * MIB, "--length", 128 * KIB, drive)
        for _ in range(5):
            os.fsync(descriptor)
    os.close(descriptor)
    assert _places(_queued(trace, "D")) == [(3 * MIB, 128 * KIB)]
    assert len(_queued(trace, "F")) == 5
    assert len(_queued(trace, "W")) == 0


def test_other_drives_are_not_seen(drive: Path, attach_memory: Callable[[int], Path], run: Run) -> None:
    other = attach_memory(SIZE)
    with BlockTrace(drive) as trace, BlockTrace(other) as of_other:
        run("dd", f"if={other}", "of=/dev/null", "bs=4k", "count=500", "iflag=direct")
    assert (len(trace.events), len(_queued(of_other))) == (0, 500)


def test_a_look_at_what_is_on_the_drive_is_not_seen(drive: Path, run: Run) -> None:
    with BlockTrace(drive) as trace:
        run("wipefs", "--no-act", drive)
        run("dd", f"if={drive}", "of=/dev/null", "bs=4k", "count=2", "skip=500", "iflag=direct")
    assert _places(_queued(trace)) == [(500 * 4 * KIB, 4 * KIB), (501 * 4 * KIB, 4 * KIB)]


def test_lost_events_are_an_error(drive: Path, run: Run) -> None:
    with pytest.raises(EventsLostError, match="cpu"), BlockTrace(drive, max_events=1):
        run("dd", f"if={drive}", "of=/dev/null", "bs=4k", "count=5000", "iflag=direct")


def test_nothing_stays_behind_even_of_a_failure(drive: Path) -> None:
    instances = Path("/sys/kernel/tracing/instances")
    before = set(instances.iterdir())
    trace = BlockTrace(drive)
    with pytest.raises(ZeroDivisionError), trace:
        _fail_in(instances, before)
    assert set(instances.iterdir()) == before


def _fail_in(instances: Path, before: set[Path]) -> NoReturn:
    assert len(set(instances.iterdir()) - before) == 1
    raise ZeroDivisionError


def _page_buffer() -> Any:
    """Memory that direct I/O accepts."""
    spacious = np.zeros(2 * 4096, np.uint8)
    start = -spacious.ctypes.data % 4096
    return spacious[start : start + 4096]

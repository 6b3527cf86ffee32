"""What the block layer saw: every I/O that reached a device, with its time, from the kernel's tracepoints.

A private tracefs instance records, for one device, with CLOCK_MONOTONIC:

- ``QUEUE`` (block_bio_queue): an I/O as its issuer made it, before the kernel splits or merges it.
  A split leaves no second QUEUE behind, so that these count I/Os, with two exceptions. Direct I/O of more
  than 256 separate pages (1 MiB) arrives as several of them, since a bio has no room for more. And where
  the kernel would have to split an I/O that io_uring sends with NOWAIT, it refuses it (a COMPLETE with
  EAGAIN as its ``error``, and no ISSUE), and a worker thread sends it again: a second QUEUE.
- ``ISSUE`` (block_rq_issue): a request handed to the driver, after splitting and merging.
- ``COMPLETE`` (block_rq_complete, and block_bio_complete of drivers without requests): its end.

Readahead is left out: direct I/O has none, and other tests look at all devices by ``wipefs``, which has.

Nothing may be lost: the buffer is sized beforehand and never wraps, and leaving the context fails if the
kernel dropped a record.
"""

import os
import subprocess
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tests.support.trace_pages import Field, Records, read_event_number, read_fields, split_pages

TRACEFS: Final = Path("/sys/kernel/tracing")
RECORD_BYTES: Final = 72  # of the longest of these events in the buffer, rounded up
PAGE_BYTES: Final = 1 << 16  # more than any page of the buffer
MINOR_BITS: Final = 20  # of a device number inside the kernel


class BlockEvent(IntEnum):
    """What happened to an I/O."""

    QUEUE = 0
    ISSUE = 1
    COMPLETE = 2


TRACEPOINTS: Final = {
    "block_bio_queue": BlockEvent.QUEUE,
    "block_rq_issue": BlockEvent.ISSUE,
    "block_rq_complete": BlockEvent.COMPLETE,
    "block_bio_complete": BlockEvent.COMPLETE,
}

# ``task`` is the thread that was running, the issuer's own for QUEUE. ``sector`` and ``sectors`` are in
# units of 512 bytes whatever the device's sector is. ``error`` is an errno, 0 for none.
EVENT_DTYPE: Final = np.dtype(
    [
        ("time_ns", "i8"),
        ("event", "u1"),
        ("task", "i4"),
        ("rwbs", "S10"),
        ("sector", "i8"),
        ("sectors", "i8"),
        ("error", "i4"),
    ]
)
Events = NDArray[Any]


class TracingUnavailableError(Exception):
    """The kernel, or our rights, allow no tracing; the message says what is missing."""


class EventsLostError(Exception):
    """The kernel dropped events: what was read proves nothing."""


def require_tracing() -> None:
    """Mount tracefs if it is not mounted; TracingUnavailableError if block events cannot be recorded."""
    if os.geteuid() != 0:
        raise TracingUnavailableError("tracing needs root")
    if not (TRACEFS / "instances").exists():
        subprocess.run(["mount", "-t", "tracefs", "nodev", str(TRACEFS)], capture_output=True, check=False)
    if not (TRACEFS / "instances").exists():
        raise TracingUnavailableError(
            f"no tracefs at {TRACEFS}: no tracing in the kernel, or no right to mount"
        )
    if not (TRACEFS / "events/block").exists():
        raise TracingUnavailableError("the kernel has no block tracepoints (CONFIG_BLK_DEV_IO_TRACE)")


class BlockTrace:
    """Records a device's block events inside a ``with``; ``events`` holds them after it, in time's order."""

    def __init__(self, device: Path, max_events: int = 1_000_000) -> None:
        require_tracing()
        number = device.stat().st_rdev
        self._device = os.major(number) << MINOR_BITS | os.minor(number)
        self._max_events = max_events
        self._instance = TRACEFS / "instances" / f"openpts-{os.getpid()}-{id(self)}"
        self.events: Events = np.empty(0, EVENT_DTYPE)

    def __enter__(self) -> Self:
        self._instance.mkdir()
        try:
            self._set("tracing_on", 0)
            self._set("trace_clock", "mono")
            self._set("options/overwrite", 0)
            # Of each processor, since any one of them may see all events.
            self._set("buffer_size_kb", self._max_events * RECORD_BYTES // 1024 + 64)
            for name in TRACEPOINTS:
                self._set(f"events/block/{name}/filter", f'dev == {self._device} && rwbs != "RA"')
                self._set(f"events/block/{name}/enable", 1)
            self._set("tracing_on", 1)
        except BaseException:
            self._instance.rmdir()
            raise
        return self

    def __exit__(self, exception: object, *_: object) -> None:
        try:
            self._set("tracing_on", 0)
            if exception is None:
                self._refuse_losses()
                self.events = self._read()
        finally:
            self._set("events/enable", 0)
            self._instance.rmdir()

    def text(self) -> str:
        """The events so far as the kernel prints them."""
        return (self._instance / "trace").read_text()

    def _set(self, name: str, value: object) -> None:
        (self._instance / name).write_text(f"{value}\n")

    def _refuse_losses(self) -> None:
        for stats in sorted(self._instance.glob("per_cpu/cpu*/stats")):
            lines = (line.partition(":") for line in stats.read_text().splitlines())
            counts = {name.strip(): value.strip() for name, _, value in lines}
            lost = {
                name: counts[name]
                for name in ("overrun", "commit overrun", "dropped events")
                if int(counts[name])
            }
            if lost:
                raise EventsLostError(f"{stats.parent.name} lost events: {lost}")

    def _read(self) -> Events:
        header = read_fields(self._instance / "events/header_page")
        by_cpu = [
            self._decode(split_pages(pages, header))
            for raw in sorted(self._instance.glob("per_cpu/cpu*/trace_pipe_raw"))
            if (pages := _read_pages(raw))
        ]
        events = np.concatenate([np.empty(0, EVENT_DTYPE), *by_cpu])
        return events[np.argsort(events["time_ns"], kind="stable")]

    def _decode(self, records: Records) -> Events:
        events = np.zeros(len(records.positions), EVENT_DTYPE)
        events["time_ns"] = records.times_ns
        formats = {name: self._instance / "events/block" / name / "format" for name in TRACEPOINTS}
        common = read_fields(formats["block_bio_queue"])
        numbers = records.column(common["common_type"], "u2")
        for name, event in TRACEPOINTS.items():
            fields = read_fields(formats[name])
            mask = numbers == read_event_number(formats[name])
            chosen = records.select(mask)
            events["event"][mask] = event
            events["task"][mask] = chosen.column(fields["common_pid"], "i4")
            events["rwbs"][mask] = _texts(chosen, fields["rwbs"])
            events["sector"][mask] = chosen.column(fields["sector"], "i8")
            events["sectors"][mask] = chosen.column(fields["nr_sector"], "u4")
            if event is BlockEvent.COMPLETE:
                events["error"][mask] = -chosen.column(fields["error"], "i4")
        return events


def of_event(events: Events, event: BlockEvent, operations: str = "RWDF") -> Events:
    """Those of one kind whose operation is one of the letters: read, write, discard, flush."""
    first = events["rwbs"].astype("S1")
    chosen = (events["event"] == event) & np.isin(first, [letter.encode() for letter in operations])
    return np.asarray(events[chosen])


def _texts(records: Records, field: Field) -> NDArray[Any]:
    """A field of characters up to its NUL; behind it the kernel leaves what was there before."""
    cells = records.column(field, "u1").reshape(-1, field.size)
    ended = np.logical_or.accumulate(cells == 0, axis=1)
    return np.where(ended, 0, cells).astype("u1").view(f"S{field.size}").reshape(-1)


def _read_pages(raw: Path) -> list[bytes]:
    descriptor = os.open(raw, os.O_RDONLY | os.O_NONBLOCK)
    pages = []
    try:
        while page := os.read(descriptor, PAGE_BYTES):
            pages.append(page)
    except BlockingIOError:
        pass  # all was read
    finally:
        os.close(descriptor)
    return pages

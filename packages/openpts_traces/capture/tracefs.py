"""Block events by the kernel's tracepoints: an instance of its own in tracefs, with buffers of its own."""

import errno
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from openpts.system_files import SystemRoots, read_lines
from openpts_traces.capture.way import (
    CapturedDevice,
    Feed,
    MissingError,
    check_rights,
    kernel_number,
    kernel_without_events,
    mounted,
    why_not_permitted,
)

_PAGE_BYTES: Final = 1 << 16  # at least a page of the buffer, of which a read hands out one
_PAGES_AT_ONCE: Final = 256
_TRACEPOINTS: Final = {
    "queue": ("block_bio_queue", "block_rq_complete", "block_bio_complete"),
    "issue": ("block_rq_issue", "block_rq_requeue", "block_rq_complete"),
}
_STACKED: Final = "block_bio_remap"
_LOSSES: Final = frozenset({"overrun", "commit overrun", "dropped events"})


class OpenTracefs(Struct):
    """An instance in the kernel."""

    instance: Path
    files: list[int] = field(default_factory=list)

    def start(self) -> None:
        """Record from now on."""
        _set(self.instance / "tracing_on", "1")

    def stop(self) -> None:
        """Record no more."""
        _set(self.instance / "tracing_on", "0")

    def drain(self, feed: Feed) -> None:
        """Hand out what the buffers hold."""
        for number, file in enumerate(self.files):
            while pages := _pages(file):
                feed(number, b"".join(pages))

    def lost(self) -> int:
        """Events that had no room, of all processors together."""
        counts = (
            line.partition(":")
            for path in self.instance.glob("per_cpu/cpu*/stats")
            for line in read_lines(path)
        )
        return sum(int(count) for name, _, count in counts if name.strip() in _LOSSES)

    def close(self) -> None:
        """Remove the instance."""
        for file in self.files:
            os.close(file)
        self.files.clear()
        remove_instance(self.instance)


class Tracefs:
    """The way by tracepoints. ``instance`` is where its own will be, once there is one."""

    name = "tracefs"

    def __init__(self) -> None:
        self._name = f"openpts-{os.getpid()}-{secrets.token_hex(4)}"
        self._description: dict[str, Any] = {}

    def instance(self, roots: SystemRoots) -> Path:
        """Where its own instance will be. Raises MissingError."""
        tracefs = mounted("tracefs", roots)
        if tracefs is None:
            raise MissingError("tracefs is not mounted: `mount -t tracefs nodev /sys/kernel/tracing`")
        return tracefs / "instances" / self._name

    def describe(self) -> Any:
        """How the kernel lays out pages and events."""
        return {"tracefs": self._description}

    def set_up(
        self, devices: Sequence[CapturedDevice], level: str, buffer_kib: int, roots: SystemRoots
    ) -> OpenTracefs:
        """Make an instance in which only the events of these devices are recorded, once it is started.

        Raises MissingError, and leaves nothing behind then.
        """
        check_rights(roots)
        instance = self.instance(roots)
        if not (instance.parents[1] / "events/block").is_dir():
            raise MissingError(kernel_without_events())
        try:
            instance.mkdir()
        except OSError as error:
            raise MissingError(f"can't make {instance}: {why_not_permitted(roots)}") from error
        opened = OpenTracefs(instance)
        try:
            names = _TRACEPOINTS[level] + ((_STACKED,) if level == "queue" and len(devices) > 1 else ())
            self._prepare(instance, names, devices, buffer_kib)
            for cpu in sorted(instance.glob("per_cpu/cpu*"), key=lambda path: int(path.name[3:])):
                pages = cpu / "trace_pipe_raw"
                opened.files.append(os.open(pages, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except BaseException as error:
            opened.close()
            if isinstance(error, OSError):
                raise MissingError(f"can't use {instance}: {error.strerror}") from error
            raise
        return opened

    def _prepare(
        self, instance: Path, names: Sequence[str], devices: Sequence[CapturedDevice], buffer_kib: int
    ) -> None:
        numbers = {kernel_number(block) for one in devices for block in (one.disk, one.block)}
        expression = " || ".join(f"dev == {number}" for number in sorted(numbers))
        _set(instance / "tracing_on", "0")
        _set(instance / "trace_clock", "mono")
        _set(instance / "options/overwrite", "0")
        _set(instance / "buffer_size_kb", str(buffer_kib))
        self._description = {
            "header_page": (instance / "events/header_page").read_text(),
            "formats": {name: (instance / f"events/block/{name}/format").read_text() for name in names},
        }
        for name in names:
            _set(instance / f"events/block/{name}/filter", expression)
            _set(instance / f"events/block/{name}/enable", "1")


def remove_instance(instance: Path) -> None:
    """Remove an instance, if it is there. Raises MissingError."""
    with suppress(OSError):
        _set(instance / "tracing_on", "0")
        _set(instance / "events/enable", "0")
    try:
        instance.rmdir()
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR}:
            raise MissingError(f"can't remove {instance}: {error.strerror}") from error


def _set(path: Path, value: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)


def _pages(file: int) -> list[bytes]:
    pages: list[bytes] = []
    with suppress(BlockingIOError):
        while len(pages) < _PAGES_AT_ONCE and (page := os.read(file, _PAGE_BYTES)):
            pages.append(page)
    return pages

"""Block events by the kernel's blktrace: a relay file in debugfs for each processor."""

import errno
import fcntl
import os
import struct
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from openpts.system_files import SystemRoots, read_integer
from openpts_traces.capture.way import (
    CapturedDevice,
    Feed,
    MissingError,
    check_rights,
    kernel_without_events,
    mounted,
    why_not_permitted,
)

_SUB_BUFFER_BYTES: Final = 512 << 10
_SETUP: Final = struct.Struct("=32sH2xII4xQQI4x")
_SETUP_2: Final = struct.Struct("=64sQIIQQII88x")
_TYPE: Final = 0x12
_START, _STOP, _TEARDOWN = (_TYPE << 8 | number for number in (116, 117, 118))

_QUEUE, _REQUEUE, _ISSUE, _COMPLETE = 1 << 4, 1 << 5, 1 << 6, 1 << 7
_ACTIONS: Final = {"queue": _QUEUE | _COMPLETE, "issue": _ISSUE | _REQUEUE | _COMPLETE}


class _Relay(Struct):
    """The relay files of one disk, which is open only while it is asked: others would find it in use."""

    node: Path
    folder: Path
    files: list[int]


class OpenBlktrace(Struct):
    """Set up on all disks."""

    relays: list[_Relay] = field(default_factory=list)
    undo: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        """Record from now on."""
        for relay in self.relays:
            _ask(relay.node, _START)

    def stop(self) -> None:
        """Record no more."""
        for relay in self.relays:
            _ask(relay.node, _STOP)

    def drain(self, feed: Feed) -> None:
        """Hand out what the files hold."""
        number = 0
        for relay in self.relays:
            for file in relay.files:
                while content := os.read(file, _SUB_BUFFER_BYTES):
                    feed(number, content)
                number += 1

    def lost(self) -> int:
        """Events that had no room, of all processors together."""
        return sum(read_integer(relay.folder / "dropped") or 0 for relay in self.relays)

    def close(self) -> None:
        """Take all of it down."""
        self.undo.close()


class Blktrace:
    """The way that the program blktrace goes."""

    name = "blktrace"

    def describe(self) -> Any:
        """Without more to say."""
        return "blktrace"

    def set_up(
        self, devices: Sequence[CapturedDevice], level: str, buffer_kib: int, roots: SystemRoots
    ) -> OpenBlktrace:
        """Set up each disk once; nothing is recorded yet.

        Raises MissingError, and leaves nothing behind then.
        """
        check_rights(roots)
        debugfs = mounted("debugfs", roots)
        if debugfs is None:
            raise MissingError("debugfs is not mounted: `mount -t debugfs nodev /sys/kernel/debug`")
        opened = OpenBlktrace()
        try:
            for disk in dict.fromkeys(device.disk for device in devices):
                parts = [device for device in devices if device.disk == disk]
                sub_buffers = max(2, buffer_kib * 1024 // _SUB_BUFFER_BYTES)
                asked = (b"", _ACTIONS[level], _SUB_BUFFER_BYTES, sub_buffers, *_range(parts), 0)
                try:
                    folder = debugfs / "block" / _set_up(disk.node, asked)
                except OSError as error:
                    raise MissingError(_refused(error, disk.node, roots)) from error
                opened.undo.callback(take_down, disk.node)
                opened.relays.append(_relay(disk.node, folder, opened.undo, roots))
        except BaseException:
            opened.close()
            raise
        return opened


def take_down(node: Path) -> None:
    """Stop and remove whatever blktrace there is on a device that may be gone. Raises MissingError."""
    for request in (_STOP, _TEARDOWN):
        try:
            _ask(node, request)
        except OSError as error:
            if error.errno in {errno.EPERM, errno.EACCES}:
                raise MissingError(f"can't stop the trace of {node}: {error.strerror}") from error


def _ask(node: Path, request: int, setup: bytearray | None = None) -> None:
    """Raises OSError."""
    device = os.open(node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if setup is None:
            fcntl.ioctl(device, request)
        else:
            fcntl.ioctl(device, request, setup)
    finally:
        os.close(device)


def _range(parts: Sequence[CapturedDevice]) -> tuple[int, int]:
    """What is to be recorded of a disk, in sectors; all of it, if it is not one part."""
    if len(parts) != 1 or not parts[0].block.is_partition:
        return 0, 0
    return parts[0].first_sector, parts[0].first_sector + parts[0].sectors - 1


def _relay(node: Path, folder: Path, undo: ExitStack, roots: SystemRoots) -> _Relay:
    """The relay files of a disk that is set up; ``undo`` closes them. Raises MissingError."""
    relay = _Relay(node, folder, [])
    try:
        for path in sorted(folder.glob("trace[0-9]*"), key=lambda path: int(path.name[5:])):
            relay.files.append(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
            undo.callback(os.close, relay.files[-1])
    except OSError as error:
        raise MissingError(f"can't read {path}: {why_not_permitted(roots)}") from error
    if not relay.files:
        raise MissingError(f"{folder} has no files of processors: debugfs is mounted otherwise")
    return relay


def _set_up(node: Path, asked: tuple[bytes | int, ...]) -> str:
    """The kernel's name of its folder. Raises OSError.

    Asks for records of version 8, and of version 7 where the kernel knows no other.
    """
    try:
        return _named(node, 142, _SETUP_2, (*asked, 0))
    except OSError as error:
        if error.errno not in {errno.ENOTTY, errno.EINVAL}:
            raise
        return _named(node, 115, _SETUP, asked)


def _named(node: Path, number: int, layout: struct.Struct, asked: tuple[bytes | int, ...]) -> str:
    content = bytearray(layout.pack(*asked))
    _ask(node, 3 << 30 | layout.size << 16 | _TYPE << 8 | number, content)
    return bytes(layout.unpack(content)[0]).split(b"\0")[0].decode()


def _refused(error: OSError, node: Path, roots: SystemRoots) -> str:
    match error.errno:
        case errno.ENOTTY:
            return kernel_without_events()
        case errno.EBUSY:
            return f"another program is tracing {node}: end it, or `blktrace -d {node} -k` if it was killed"
        case errno.EPERM | errno.EACCES:
            return why_not_permitted(roots)
        case _:
            return f"the kernel refuses to trace {node}: {error.strerror}"

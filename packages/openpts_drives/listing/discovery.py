"""All drives of this machine, and whether one could be tested.

A command to a drive that hangs can't be cancelled: the process sleeps in the kernel until the driver gives
up, for minutes. So each drive is asked by a child process of its own: one that doesn't answer in time is left
behind, and costs its own answer only.
"""

import os
import pickle
import selectors
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, Generic, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, whole_drives
from openpts.device.guard.guard import settled
from openpts.device.guard.usage import Usage, read_usage
from openpts.device.guard.verdict import GuardVerdict
from openpts.device.identity.media import Media
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots
from openpts_drives.link import NegotiatedLink
from openpts_drives.listing.drive_listing import DeviceListing
from openpts_drives.listing.inspect import inspect_disk

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_READ_BYTES = 1 << 16
_LENGTH_BYTES = 8


class ChildReply(Struct, Generic[Answer]):
    """The last answer that was read. ``complete`` is False where time ran out, or the child ended early."""

    answer: Answer | None = None
    complete: bool = False


class _Child(Struct, Generic[Answer]):
    pid: int
    pipe: int
    reply: ChildReply[Answer] = field(default_factory=ChildReply)
    received: bytearray = field(default_factory=bytearray)

    def take(self) -> bool:
        """Read what is there; False at the end of it."""
        chunk = os.read(self.pipe, _READ_BYTES)
        self.received += chunk
        while len(self.received) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self.received[:_LENGTH_BYTES], "little")
            if len(self.received) < end:
                break
            # from a child of this very process: no other process can write to it
            self.reply.answer, self.reply.complete = pickle.loads(self.received[_LENGTH_BYTES:end])  # noqa: S301
            del self.received[:end]
        return bool(chunk)


def ask_each(
    asked: Sequence[Asked], answers: Callable[[Asked], Iterator[Answer]], timeout_s: float
) -> list[ChildReply[Answer]]:
    """What ``answers`` yields for each of ``asked``, all at the same time, each in a process of its own.

    The last answer counts; earlier ones are there for the case that the next never comes. Returns
    after ``timeout_s`` at the latest, in the order of ``asked``.
    """
    children = [_start(one, answers) for one in asked]
    try:
        _collect(children, time.monotonic() + timeout_s)
    finally:
        for child in children:
            os.close(child.pipe)
            _dismiss(child.pid, ended=child.reply.complete)
    return [child.reply for child in children]


def _start(one: Asked, answers: Callable[[Asked], Iterator[Answer]]) -> "_Child[Answer]":
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # other threads: the child uses none of their locks
        pid = os.fork()
    if pid:
        os.close(writing)
        return _Child(pid, reading)
    status = 1
    try:
        os.setpgid(0, 0)  # what it starts ends with it
        os.close(reading)
        last = None
        for last in answers(one):
            _send(writing, last, complete=False)
        _send(writing, last, complete=True)
        status = 0
    except Exception:  # noqa: BLE001 whatever it is, it must not continue as a second parent
        traceback.print_exc()  # a defect: the parent sees no more than that the answer is missing
    finally:
        os._exit(status)  # nothing of the parent's is flushed or cleaned up twice


def _send(pipe: int, answer: object, *, complete: bool) -> None:
    content = memoryview(pickle.dumps((answer, complete)))
    content = memoryview(len(content).to_bytes(_LENGTH_BYTES, "little") + bytes(content))
    while content:
        content = content[os.write(pipe, content) :]


def _collect(children: Sequence["_Child[Answer]"], deadline_s: float) -> None:
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.pipe, selectors.EVENT_READ, child)
        while selector.get_map() and (left_s := deadline_s - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                if not key.data.take():
                    selector.unregister(key.fileobj)


def _dismiss(pid: int, *, ended: bool) -> None:
    """End a child and what it started; one that sleeps in the kernel ends when the driver lets it go."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0 if ended else os.WNOHANG)


PATIENCE_S: Final = 10.0


def list_devices(roots: SystemRoots, patience_s: float = PATIENCE_S) -> list[DeviceListing]:
    """Every whole drive, as far as it answers within ``patience_s``; none is woken, and none written to."""
    return _look_at(whole_drives(roots), roots, patience_s, may_wake=False)


def list_device(device: BlockDevice, roots: SystemRoots, patience_s: float = PATIENCE_S) -> DeviceListing:
    """One drive, its first sectors looked into as before a test."""
    return _look_at([device], roots, patience_s, may_wake=True)[0]


def _look_at(
    disks: list[BlockDevice], roots: SystemRoots, patience_s: float, *, may_wake: bool
) -> list[DeviceListing]:
    usage = _usage(disks, roots)
    replies = ask_each(disks, partial(_answers, usage=usage, may_wake=may_wake), patience_s)
    silent = f"no answer within {patience_s:g} s: see dmesg"
    return [_heard(disk, reply, silent) for disk, reply in zip(disks, replies, strict=True)]


def _heard(disk: BlockDevice, reply: ChildReply[DeviceListing], silent: str) -> DeviceListing:
    if reply.answer is not None:
        return reply.answer if reply.complete else replace(reply.answer, silent=silent)
    unknown = NegotiatedLink(None, None, (), silent)
    return DeviceListing(
        path=str(disk.node),
        facts={},
        capacity_bytes=disk.capacity_bytes,
        sector_bytes=None,
        physical_sector_bytes=None,
        media=Media(None, None, silent),
        link=unknown,
        verdict=GuardVerdict(unknown=silent),
        silent=silent,
    )


def _answers(disk: BlockDevice, usage: Usage | RefusedError, *, may_wake: bool) -> Iterator[DeviceListing]:
    yield from inspect_disk(disk, usage, may_wake=may_wake)


def _usage(disks: list[BlockDevice], roots: SystemRoots) -> Usage | RefusedError:
    try:
        return settled(read_usage(roots), disks)
    except RefusedError as error:
        return error

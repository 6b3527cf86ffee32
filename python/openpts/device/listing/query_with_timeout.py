"""Questions to many drives at once, of which a dead one costs its own answer only.

A command to a drive that hangs can't be cancelled: the process sleeps in the kernel until the driver
gives up, for minutes. So each drive is asked by a child process of its own, and one that doesn't answer in
time is left behind.
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
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_READ_BYTES = 1 << 16
_LENGTH_BYTES = 8


@dataclass(slots=True)
class Reply(Generic[Answer]):
    """The last that was heard. ``complete`` is False where time ran out, or the child ended early."""

    answer: Answer | None = None
    complete: bool = False


@dataclass(slots=True)
class _Child(Generic[Answer]):
    pid: int
    pipe: int
    reply: Reply[Answer] = field(default_factory=Reply)
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
) -> list[Reply[Answer]]:
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
    except Exception:  # noqa: BLE001 whatever it is, it must not go on as a second parent
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

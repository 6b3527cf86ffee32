"""Processes of a test that do something with files, and that end when and as the test says."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from pathlib import Path
from typing import Any

_TIMEOUT_S = 60


def until(holds: Callable[[], bool], what: str = "", patience_s: float = 180.0) -> None:
    """Wait until it holds. Raises TimeoutError after ``patience_s``, with what was waited for."""
    deadline_s = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"not within {patience_s:g} s: {what}")
        time.sleep(0.05)


def of_session(session: int) -> list[str]:
    """The processes of a session that still run, with their command lines."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, its_session = stat.read_text().rpartition(")")[2].split()[:4]
            if int(its_session) == session and state not in "ZX":
                words = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ")
                found.append(f"{stat.parent.name} {os.fsdecode(words)}")
    return found


def in_process(function: Callable[[], Any]) -> Any:
    """What ``function`` returns in a process that is gone then, its locks as well.

    Raises ChildProcessError with its exit code, negative for a signal, where it ended without an answer; what
    it raised is in the streams of the test.
    """
    context = get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=lambda: theirs.send(function()))
    process.start()
    theirs.close()  # or else its end would not be seen
    try:
        return _received(process, ours)
    finally:
        _end(process, ours)


def dies(function: Callable[[], object]) -> None:
    """Call it in a process of its own, in which it comes to ``die``."""
    process = get_context("fork").Process(target=function)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def die() -> None:
    """As in a crash: nothing more is done, not even what stands in a ``finally``."""
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Living:
    """A process in the middle of its block."""

    pid: int
    _leash: Connection
    _join: Callable[[], None]

    def end(self) -> None:
        """Let it leave its block, and wait until it is gone."""
        self._leash.send("end")
        self._join()

    def kill(self) -> None:
        """As a crash does."""
        os.kill(self.pid, signal.SIGKILL)
        self._join()


@contextmanager
def living(function: Callable[[Callable[[], None]], None]) -> Iterator[Living]:
    """A process that calls ``function``, which calls what it is given where it is to wait."""
    context = get_context("fork")
    ours, theirs = context.Pipe()

    def wait() -> None:
        theirs.send("there")
        theirs.poll(_TIMEOUT_S)

    process = context.Process(target=lambda: function(wait))
    process.start()
    theirs.close()
    try:
        assert _received(process, ours) == "there"
        assert process.pid is not None
        yield Living(process.pid, ours, process.join)
    finally:
        with suppress(BrokenPipeError):  # it is gone
            ours.send("end")
        _end(process, ours)


def _received(process: ForkProcess, ours: Connection) -> Any:
    assert ours.poll(_TIMEOUT_S), f"no answer within {_TIMEOUT_S} s"
    try:
        return ours.recv()
    except EOFError:
        process.join(_TIMEOUT_S)
        raise ChildProcessError(f"it ended with {process.exitcode} and gave no answer") from None


def _end(process: ForkProcess, ours: Connection) -> None:
    """At the latest now."""
    process.join(_TIMEOUT_S)
    process.kill()
    process.join()
    ours.close()

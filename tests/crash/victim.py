"""openpts in a process of its own, which is killed at a point that was drawn; what it told before is kept.

A point is something it tells its display, a statement for its database, or a change of a file: each time just
before that is done. They are counted from 1 for each of these kinds.
"""

import os
import signal
import sqlite3
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec

from openpts.cli.main import main
from openpts.runner import run
from openpts.runner.events import Event, Listener, StepFinished
from openpts.vocabulary.sample import Sample, StepPlace
from tests.support.processes import of_session, until

_TIMEOUT_S: Final = 900
_TO_FOLLOW_S: Final = 30
_CHANGES: Final = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"}
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class At(StrEnum):
    """What is about to be done at a point."""

    EVENT = "event"
    STATEMENT = "statement"
    FILE = "file"


@dataclass(frozen=True)
class Blow:
    """The SIGKILL: at the point ``number`` of a kind, or ``after_s``, whichever is given."""

    at: At | None = None
    number: int = 0
    after_s: float | None = None
    whole_tree: bool = True


class Reported(msgspec.Struct, frozen=True, array_like=True):
    """A step as it was told finished, or as a record has it."""

    cycle: int
    phase: str
    number: int
    position: int
    started_ns: int
    elapsed_ns: int
    gap_ns: int | None
    histograms: int

    @classmethod
    def of(cls, place: StepPlace, sample: Sample) -> "Reported":
        content = b"".join(operation.histogram for operation in sample.operations.values())
        at = (place.cycle, str(place.phase), place.number, place.position)
        return cls(*at, sample.started_ns, sample.elapsed_ns, sample.gap_ns, crc32(content))


@dataclass(frozen=True)
class Ended:
    """How it ended: an exit code, negative for a signal; ``points`` only if it was not killed."""

    code: int
    output: str
    told: tuple[Reported, ...]
    points: Counter[str]
    lasted_s: float


def openpts(
    *arguments: str, cwd: Path, blow: Blow | None = None, started: Callable[[int], None] = lambda _pid: None
) -> Ended:
    """Run it with this working directory, where ``state`` and ``tmp`` are its state and temporary folder."""
    logs = {name: cwd / f"log.{name}" for name in ("out", "told", "points")}
    for log in logs.values():
        log.write_bytes(b"")
    began_s = time.monotonic()
    if not (pid := os.fork()):
        _in_child(arguments, cwd, blow or Blow(), logs)
    started(pid)
    code = _end_of(pid, blow or Blow(), began_s)
    lasted_s = time.monotonic() - began_s
    until(lambda: not of_session(pid), "the end of processes that openpts has started", _TO_FOLLOW_S)
    points = Counter(msgspec.json.decode(logs["points"].read_bytes() or b"{}", type=dict[str, int]))
    return Ended(code, logs["out"].read_text(), read_told(logs["told"]), points, lasted_s)


def read_told(log: Path) -> tuple[Reported, ...]:
    """The steps of a log; its last line may be cut."""
    whole = [line for line in log.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    return tuple(msgspec.json.decode(line, type=Reported) for line in whole)


def _end_of(pid: int, blow: Blow, began_s: float) -> int:
    struck = False
    while time.monotonic() < began_s + _TIMEOUT_S:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if blow.after_s is not None and not struck and time.monotonic() >= began_s + blow.after_s:
            struck = True
            _strike(pid, blow)
        time.sleep(0.005)
    os.killpg(pid, signal.SIGKILL)
    raise AssertionError(f"openpts does not end: process {pid}")


def _strike(pid: int, blow: Blow) -> None:
    if blow.whole_tree:
        with suppress(ProcessLookupError):  # it has no group of its own yet
            os.killpg(pid, signal.SIGKILL)
            return
    os.kill(pid, signal.SIGKILL)


def _in_child(arguments: Sequence[str], cwd: Path, blow: Blow, logs: dict[str, Path]) -> None:
    code = 70
    try:
        os.setsid()
        os.chdir(cwd)
        os.environ.update(OPENPTS_STATE=str(cwd / "state"), TMPDIR=str(cwd / "tmp"))
        out = os.open(logs["out"], os.O_WRONLY | os.O_APPEND)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = watched(arguments, logs["told"], blow, logs["points"])
    except BaseException:  # noqa: BLE001 the process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def watched(
    arguments: Sequence[str], told: Path, blow: Blow, points: Path | None = None, *hearing: Listener
) -> int:
    """Carry out the command line in this process, until the blow falls; others hear what it tells as well."""
    sys.argv = ["openpts", *arguments]
    watch = _Watch(os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), blow)
    to_all = run._to_all
    run._to_all = lambda listeners: to_all([*listeners, watch.on_event, *hearing])
    sys.addaudithook(watch.audit)
    sqlite3.connect = watch.traced(sqlite3.connect)
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    watch.pid = 0
    if points is not None:
        points.write_bytes(msgspec.json.encode(watch.count))
    return code


class _Watch:
    """Counts the points of the process that it was made in."""

    def __init__(self, told: int, blow: Blow) -> None:
        self.told, self.blow, self.pid = told, blow, os.getpid()
        self.count = Counter[str]()

    def on_event(self, event: Event) -> None:
        """The last listener: what it hears, the display has shown."""
        if isinstance(event, StepFinished):
            os.write(self.told, msgspec.json.encode(Reported.of(event.place, event.sample)) + b"\n")
        self._pass(At.EVENT)

    def audit(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name in _CHANGES or (name == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITES):
            self._pass(At.FILE)

    def traced(self, connect: Callable[..., sqlite3.Connection]) -> Callable[..., sqlite3.Connection]:
        """Connections that pass a point with each statement."""

        def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            connection = connect(*arguments, **options)
            connection.set_trace_callback(lambda _: self._pass(At.STATEMENT))
            return connection

        return traced

    def _pass(self, at: At) -> None:
        if os.getpid() != self.pid:
            return
        self.count[at] += 1
        if at is self.blow.at and self.count[at] == self.blow.number:
            _strike(self.pid, self.blow)
            time.sleep(_TIMEOUT_S)  # the signal is on its way

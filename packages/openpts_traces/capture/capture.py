"""A capture of block I/O from its request to its file, by the first way that this machine has."""

import hashlib
import json
import os
import platform
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from openpts import _native
from openpts.errors import RecordError, RunFailedError, failing_as
from openpts.journal import Journal
from openpts.path_owners import exchangeable
from openpts.programs import ProgramError, Reply, run_program
from openpts.system_files import SystemRoots, read_text
from openpts.temporary_folder import temporary_folder
from openpts.trace_schedules import refuse_without_traces
from openpts.units import NS_PER_S
from openpts.vocabulary.document import Document
from openpts_traces.capture.blktrace import Blktrace
from openpts_traces.capture.leftovers import BLOCK_TRACE
from openpts_traces.capture.tracefs import Tracefs
from openpts_traces.capture.way import CapturedDevice, CaptureUnavailableError, MissingError, OpenBackend

_POLL_S: Final = 0.05
_UNORDERED_NS: Final = 10_000_000
"""An event may be that much younger than its buffer: what is later waits for those of other processors."""
_LOSSES_S: Final = 0.5
_RATE_S: Final = 0.2
_EVENT_BYTES: Final = {"queue": 240, "issue": 96}
"""What an I/O takes of a buffer by blktrace, which takes more than tracefs."""
_KEPT_S: Final = 4.0
_LEAST_KIB, _MOST_KIB = 4 << 10, 64 << 10
_SHARE_OF_MEMORY: Final = 8
_CLOCK_STEP_NS: Final = 5_000_000

NO_EBPF: Final = (
    "eBPF: not used; it needs a program made for the running kernel by a compiler that openpts does not bring"
)


class CaptureRequest(Struct, frozen=True):
    """What to capture.

    ``names`` is ``none``, ``hashed`` or ``plain``; ``buffer_kib`` of each processor, None for one that suits
    the rate; ``ways`` are names of ways to try, in this sequence.
    """

    devices: tuple[CapturedDevice, ...]
    file: Path
    level: str
    names: str = "none"
    buffer_kib: int | None = None
    ways: tuple[str, ...] = ("blktrace", "tracefs")
    marks_itself: bool = False


OnEvent = Callable[[float, dict[str, int]], object]
"""Takes how many seconds a capture lasts, and its summary as the native module has it."""


class CaptureResult(Struct, frozen=True):
    """What a capture was. ``cpu_share`` is of one processor, 1 for all of its time."""

    way: str
    missing: tuple[str, ...]
    buffer_kib: int
    seconds: float
    summary: dict[str, int]
    cpu_share: float
    notes: dict[str, str]


class _Clocks(Struct, frozen=True):
    monotonic_ns: int
    utc_ns: int
    awake_and_asleep_ns: int

    @classmethod
    def now(cls) -> "_Clocks":
        return cls(time.monotonic_ns(), time.time_ns(), time.clock_gettime_ns(time.CLOCK_BOOTTIME))

    def oddities(self, later: "_Clocks") -> dict[str, str]:
        """What happened to the clocks until later."""
        passed_ns = later.monotonic_ns - self.monotonic_ns
        stepped_ns = later.utc_ns - self.utc_ns - passed_ns
        slept_ns = later.awake_and_asleep_ns - self.awake_and_asleep_ns - passed_ns
        found = {}
        if slept_ns > _CLOCK_STEP_NS:
            found["suspended"] = f"the machine slept for {slept_ns / NS_PER_S:.3f} s"
            stepped_ns -= slept_ns
        if abs(stepped_ns) > _CLOCK_STEP_NS:
            found["clock"] = f"the wall clock was moved by {stepped_ns / NS_PER_S:+.3f} s"
        return found


def capture(
    request: CaptureRequest,
    journal: Journal,
    roots: SystemRoots,
    continues: Callable[[], bool],
    *,
    on_event: OnEvent = lambda _seconds, _summary: None,
    begun: Callable[[], object] = lambda: None,
) -> CaptureResult:
    """Capture for as long as ``continues`` says so, about twenty times a second.

    ``on_event`` is called once a second, ``begun`` when events are recorded.

    Raises CaptureUnavailableError if there is no way, RecordError if the file can't be written, JournalError,
    UsageError as ``refuse_without_traces`` does.
    """
    refuse_without_traces()
    buffer_kib = request.buffer_kib or _suitable_kib(request, roots)
    with ExitStack() as undo:
        way, opened, missing = _opened(request, buffer_kib, journal, roots, undo)
        start = _Clocks.now()
        live = _live(request, way.describe(), start.monotonic_ns)
        loop = _Loop(opened, live, start)
        cpu_before_s = time.process_time()
        try:
            opened.start()
            begun()
            loop.run(continues, on_event)
            opened.stop()
            end = _Clocks.now()
            loop.drain(end.monotonic_ns)
        except _native.UnavailableError as error:
            raise RecordError(str(error)) from error
        notes = _notes(request, way.name, start, end, buffer_kib) | start.oddities(end)
        summary = _finished(request, live, start, notes)
    seconds = (end.monotonic_ns - start.monotonic_ns) / NS_PER_S
    cpu_share = (time.process_time() - cpu_before_s) / max(seconds, 1e-9)
    return CaptureResult(way.name, missing, buffer_kib, seconds, summary, cpu_share, notes)


class _Loop(Struct):
    way: OpenBackend
    live: "_native.LiveCapture"
    start: _Clocks
    _lost: int = 0
    _checked_ns: int = field(default=0)

    def run(self, continues: Callable[[], bool], on_event: OnEvent) -> None:
        reported_ns = self._checked_ns = self.start.monotonic_ns
        while continues():
            time.sleep(_POLL_S)
            now_ns = time.monotonic_ns()
            self.drain(now_ns - _UNORDERED_NS)
            if now_ns - reported_ns >= NS_PER_S:
                reported_ns = now_ns
                seconds = (now_ns - self.start.monotonic_ns) / NS_PER_S
                on_event(seconds, json.loads(self.live.summary()))

    def drain(self, until_ns: int) -> None:
        self.way.drain(self.live.feed)
        now_ns = time.monotonic_ns()
        if now_ns - self._checked_ns >= _LOSSES_S * NS_PER_S or until_ns > self._checked_ns:
            self._count_losses(now_ns)
        self.live.advance(until_ns)

    def _count_losses(self, now_ns: int) -> None:
        lost = self.way.lost()
        if lost > self._lost:
            self.live.lose(0, self._checked_ns, now_ns, lost - self._lost)
        self._lost, self._checked_ns = lost, now_ns


def _opened(
    request: CaptureRequest, buffer_kib: int, journal: Journal, roots: SystemRoots, undo: ExitStack
) -> tuple[Blktrace | Tracefs, OpenBackend, tuple[str, ...]]:
    missing = []
    for way in (Blktrace(), Tracefs()):
        if way.name not in request.ways:
            continue
        attempt = ExitStack()
        try:
            for subject in _subjects(way, request.devices, roots):
                entry = journal.add(BLOCK_TRACE, subject, {"state": "not there"})
                attempt.callback(journal.remove, entry)
            opened = way.set_up(request.devices, request.level, buffer_kib, roots)
        except MissingError as error:
            attempt.close()
            missing.append(f"{way.name}: {error}")
            continue
        undo.callback(_close, opened, attempt)
        return way, opened, tuple(missing)
    raise CaptureUnavailableError((*missing, NO_EBPF))


def _close(opened: OpenBackend, entries: ExitStack) -> None:
    """The journal keeps its entries if that fails."""
    opened.close()
    entries.close()


def _subjects(
    way: Blktrace | Tracefs, devices: Sequence[CapturedDevice], roots: SystemRoots
) -> list[dict[str, str]]:
    """What the journal is to know before anything is set up. Raises MissingError."""
    if isinstance(way, Tracefs):
        return [{"instance": str(way.instance(roots))}]
    return [{"node": str(disk.node)} for disk in dict.fromkeys(device.disk for device in devices)]


def _suitable_kib(request: CaptureRequest, roots: SystemRoots) -> int:
    """For what arrives now in some seconds, all on one processor, within limits."""
    before = sum(device.ios() for device in request.devices)
    time.sleep(_RATE_S)
    per_s = (sum(device.ios() for device in request.devices) - before) / _RATE_S
    kib = int(per_s * _EVENT_BYTES[request.level] * _KEPT_S) >> 10
    memory = (read_text(roots.proc / "meminfo") or "").partition("MemAvailable:")[2].split()
    room = int(memory[0]) // _SHARE_OF_MEMORY // (os.cpu_count() or 1) if memory else _MOST_KIB
    return max(1024, min(max(kib, _LEAST_KIB), _MOST_KIB, room))


def _live(request: CaptureRequest, way: Any, start_ns: int) -> "_native.LiveCapture":
    native = {
        "way": way,
        "level": request.level,
        "devices": [device.in_order() for device in request.devices],
        "start_ns": start_ns,
        "file": str(request.file),
        "with_names": request.names != "none",
    }
    try:
        return _native.LiveCapture(json.dumps(native))
    except _native.UnavailableError as error:
        raise RecordError(str(error)) from error


def _notes(
    request: CaptureRequest, way: str, start: _Clocks, end: _Clocks, buffer_kib: int
) -> dict[str, str]:
    host = platform.uname()
    notes = {
        "captured": f"by {way} at the level of the {request.level}, on Linux {host.release}, {host.machine}",
        "began": f"monotonic clock {start.monotonic_ns} ns, UTC {start.utc_ns} ns since 1970",
        "ended": f"monotonic clock {end.monotonic_ns} ns, UTC {end.utc_ns} ns since 1970",
        "buffers": f"{buffer_kib} KiB for each processor",
        "time zone": time.strftime("%Z %z"),
    }
    for device in request.devices:
        model = device.disk.text("device/model") or device.disk.text("dm/name") or "unknown"
        notes[f"storage {device.block.node}"] = (
            f"{model}, firmware {device.disk.text('device/firmware_rev') or '-'}"
        )
    if request.marks_itself:
        notes["own I/O"] = f"that of process {os.getpid()} is the capture's"
    return notes


def _finished(
    request: CaptureRequest, live: "_native.LiveCapture", start: _Clocks, notes: dict[str, str]
) -> dict[str, int]:
    try:
        commands = live.commands()
        last = {
            "start_utc_ns": start.utc_ns,
            "commands": _hashed(commands) if request.names == "hashed" else commands,
            "notes": notes,
        }
        summary: dict[str, int] = json.loads(live.finish(json.dumps(last)))
    except _native.UnavailableError as error:
        raise RecordError(str(error)) from error
    return summary


def _hashed(names: Sequence[str]) -> list[str]:
    """Equal names stay equal within this capture; the salt is forgotten, so that none can be found again."""
    salt = secrets.token_bytes(16)
    return [hashlib.blake2b(n.encode(), key=salt, digest_size=8).hexdigest() if n else "" for n in names]


_SEED: Final = 1
_OPENPTS: Final = "from openpts.cli.main import main; main()"
_TIMEOUT_S: Final = 120.0


class PhaseLoad(Struct, frozen=True):
    """The load in one phase; processor time is that of the whole machine."""

    iops: float
    p99_us: float
    cpu_us_per_io: float


class CaptureCost(Document, frozen=True, kw_only=True, tag="openpts.capture-cost/1"):
    """The same load without, with and without a capture; lost events and ``cpu_share`` are of the capture."""

    before: PhaseLoad
    during: PhaseLoad
    after: PhaseLoad
    lost: int
    cpu_share: float

    @property
    def iops_loss(self) -> float:
        """Share of the IOPS that capturing takes."""
        return 1 - self.during.iops / ((self.before.iops + self.after.iops) / 2)

    @property
    def p99_gain_us(self) -> float:
        """By how much the 99th percentile grows."""
        return self.during.p99_us - (self.before.p99_us + self.after.p99_us) / 2

    @property
    def cpu_gain_us(self) -> float:
        """Processor time that an I/O takes more."""
        return self.during.cpu_us_per_io - (self.before.cpu_us_per_io + self.after.cpu_us_per_io) / 2


def measure_cost(
    request: CaptureRequest, journal: Journal, roots: SystemRoots, seconds: float
) -> CaptureCost:
    """Read at random from the first device, three times as long as said; nothing is kept of the capture.

    Raises RunFailedError if the reads fail, RecordError for a folder that another user may exchange, and what
    capture() raises.
    """
    what = f"can't measure the cost in {request.file.parent}"
    with failing_as(RecordError, what):
        others = exchangeable(request.file.parent)
    if others:
        raise RecordError(f"{what}: {others}; name a file in a folder of your own")

    def load() -> PhaseLoad:
        return _phase(_random_reads(request.devices[0], seconds))

    during: list[PhaseLoad | RunFailedError] = []

    def work() -> None:
        try:
            during.append(load())
        except RunFailedError as error:
            during.append(error)

    before, thread = load(), threading.Thread(target=work, name="openpts-load")
    with temporary_folder("capture", request.file.parent) as folder:
        kept = replace(request, file=folder / "capture")
        result = capture(kept, journal, roots, thread.is_alive, begun=thread.start)
        thread.join()
    if isinstance(during[0], RunFailedError):
        raise during[0]
    return CaptureCost(
        before=before, during=during[0], after=load(), lost=result.summary["lost"], cpu_share=result.cpu_share
    )


def _random_reads(device: CapturedDevice, seconds: float) -> Reply:
    """What `openpts io` prints of them. Raises RunFailedError."""
    options = ("--seconds", f"{seconds:g}", "--seed", str(_SEED), "--json")
    command = (sys.executable, "-c", _OPENPTS, "io", str(device.block.node), *options)
    with failing_as(RunFailedError, "can't measure the cost", of=ProgramError):
        answer = run_program(command, seconds + _TIMEOUT_S)
    if answer.returncode:
        raise RunFailedError(f"can't measure the cost: {answer.complaint}")
    return answer


def _phase(answer: Reply) -> PhaseLoad:
    found: dict[str, Any] = json.loads(answer.stdout)
    total, cpu = found["total"], found["cpu"]
    busy_us = (
        (cpu["user_pct"] + cpu["sys_pct"]) / 100 * found["elapsed_seconds"] * (os.cpu_count() or 1) * 1e6
    )
    return PhaseLoad(
        total["iops"], total["percentiles_ns"]["99"] / 1000, busy_us / total["ios"] if total["ios"] else 0.0
    )

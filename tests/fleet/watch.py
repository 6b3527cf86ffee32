"""Who writes to the drives of a cluster, by the kernel's own record of each request that reaches a drive.

Tracing tells of a write by a process that is not known to write to that drive: its own later writes are
filtered in the kernel. Two processes write at the same time where the first is seen again after the second,
which nothing but a write shows: a process that starts another one has, for a moment, all open in both.
"""

import os
import re
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fleet.cluster import Cluster, Drive

_TRACING: Final = Path("/sys/kernel/tracing")
_NAME: Final = "fleet-watch-"
_PERIOD_S: Final = 0.2
_BUFFER_KIB: Final = 16 * 1024
"""Of each processor: the first writes of a process, while a busy machine keeps the watch from its filter."""
_REQUEST: Final = re.compile(rb'\{"run_id":"([0-9a-f-]{36})".*"serial":"([^"]+)"')
_EVENT: Final = re.compile(
    rb"-(\d+)\s+\(([ \d-]+)\) \[\d+\] \S+ +([\d.]+): block_bio_queue: (\d+,\d+) [A-Z]+ \d+ \+ \d+ \[(.*)\]"
)
_CHANGES: Final = " || ".join(f'rwbs ~ "{kind}*"' for kind in ("W", "FW", "D", "N"))
"""Writes, those with a flush before them, discards, and zeroes."""


def missing() -> str:
    """Why writes can't be watched here, or nothing."""
    if not (_TRACING / "events/block/block_bio_queue").is_dir():
        return f"needs the kernel's tracing: mount -t tracefs none {_TRACING}"
    return ""


@dataclass(frozen=True)
class Writer:
    """A process that writes; ``serial`` is of the drive that it was told to write to.

    ``started_ticks`` tells it from later processes with its number.
    """

    pid: int
    started_ticks: int
    command: str
    run_id: str
    serial: str


@dataclass
class _Writers:
    """Of a drive: when each wrote first, who wrote last, and the threads that it wrote with."""

    first_s: dict[Writer, float] = field(default_factory=dict)
    last: Writer | None = None
    threads: set[int] = field(default_factory=set)


@dataclass
class Watch:
    """``faults`` are what must never be; ``seen`` are the processes that wrote."""

    cluster: Cluster
    faults: list[str] = field(default_factory=list)
    seen: set[Writer] = field(default_factory=set)
    _ends: threading.Event = field(default_factory=threading.Event)
    _drives: dict[str, tuple[Drive, _Writers]] = field(default_factory=dict)
    _started: dict[int, Writer] = field(default_factory=dict)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Watch":
        for stale in (_TRACING / "instances").glob(f"{_NAME}*"):
            if not Path("/proc", stale.name.removeprefix(_NAME)).exists():
                stale.rmdir()
        self._instance.mkdir()
        (self._instance / "options/record-tgid").write_text("1")
        (self._instance / "buffer_size_kb").write_text(str(_BUFFER_KIB))
        (self._instance / "trace_clock").write_text("mono")  # that of all processors
        for host in self.cluster.hosts.values():
            self._drives |= {_number(drive): (drive, _Writers()) for drive in host.drives}
        self._tell_of_others()
        (self._event / "enable").write_text("1")
        self._threads = [threading.Thread(target=self._guarded, args=[do]) for do in (self._read, self._look)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()
        self._instance.rmdir()

    @property
    def _instance(self) -> Path:
        return _TRACING / "instances" / f"{_NAME}{os.getpid()}"

    @property
    def _event(self) -> Path:
        return self._instance / "events/block/block_bio_queue"

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 what was not seen counts as wrong
            self.faults.append(f"the watch itself failed: {error!r}")

    def _look(self) -> None:
        """Know the processes of runs, also one that is gone soon after its first write."""
        while not self._ends.wait(_PERIOD_S):
            for host in self.cluster.hosts.values():
                for pid in host.all_pids():
                    self._known(pid)

    def _known(self, pid: int) -> Writer | None:
        with suppress(OSError, IndexError):
            command, _, words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            request = _REQUEST.search(Path(f"/proc/{pid}/cmdline").read_bytes())
            if request is not None:
                run_id, serial = request[1].decode(), request[2].decode()
                ticks = int(words.split()[19])
                self._started[pid] = Writer(pid, ticks, command.partition("(")[2], run_id, serial)
        return self._started.get(pid)

    def _read(self) -> None:
        pipe = os.open(self._instance / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            for line in self._lines(pipe):
                if b"LOST" in line:
                    self.faults.append(f"writes were not seen: {line!r}")
                elif (found := _EVENT.search(line)) and (number := found[4].decode()) in self._drives:
                    thread, told = int(found[1]), found[2].strip()
                    pid = int(told) if told.isdigit() else thread
                    self._wrote(number, thread, pid, found[5].decode(errors="replace"), float(found[3]))
        finally:
            os.close(pipe)

    def _lines(self, pipe: int) -> Iterator[bytes]:
        poll, rest = select.poll(), b""
        poll.register(pipe, select.POLLIN)
        while not self._ends.is_set():
            poll.poll(1000 * _PERIOD_S)
            with suppress(BlockingIOError):
                *lines, rest = (rest + os.read(pipe, 2**16)).split(b"\n")
                yield from lines

    def _wrote(self, number: str, thread: int, pid: int, command: str, at_s: float) -> None:
        drive, writers = self._drives[number]
        if writers.last is not None and writers.last.pid == pid and thread in writers.threads:
            return  # from before the kernel had the filter
        if writers.last is not None and at_s < writers.first_s[writers.last]:
            return  # another processor's record, read late
        writer = self._known(pid) or Writer(pid, 0, command, "", "")
        if writer != writers.last:
            if writer in writers.first_s:
                self.faults.append(f"{at_s:.3f} s: two writers on {drive.serial}: {writer}, {writers.last}")
            if writer.serial != drive.serial:
                self.faults.append(f"{at_s:.3f} s: {writer} writes to {drive.serial}")
            writers.first_s.setdefault(writer, at_s)
            writers.last, writers.threads = writer, set()
            self.seen.add(writer)
        writers.threads.add(thread)
        self._tell_of_others()

    def _tell_of_others(self) -> None:
        """Have the kernel tell of writes by all threads but those that wrote last to each drive."""
        terms = []
        for number, (_, writers) in self._drives.items():
            major, minor = map(int, number.split(","))
            others = [f"common_pid != {thread}" for thread in sorted(writers.threads)]
            terms.append(" && ".join([f"dev == {major << 20 | minor}", *others]))
        known = " || ".join(f"({term})" for term in terms)
        (self._event / "filter").write_text(f"({known}) && ({_CHANGES})")


def _number(drive: Drive) -> str:
    """Its major and minor number, as traces have them."""
    node = drive.node.stat().st_rdev
    return f"{os.major(node)},{os.minor(node)}"

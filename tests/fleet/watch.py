"""Who may write to the drives of a cluster, looked at from outside many times a second, by the kernel's word.

A writer is a process of a host that has a drive's node open for writing. Which run it works for, and on which
drive, is in the command line that it was started with. What the kernel counts as written needs a writer.
"""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.fleet.cluster import Cluster, Drive

_PERIOD_S: Final = 0.03
_REQUEST: Final = re.compile(rb'\{"run_id":"([0-9a-f-]{36})".*"serial":"([^"]+)"')
_WRITABLE: Final = 0o3
_SECTORS_WRITTEN: Final = 6
_OUTSTANDING_S: Final = 2.0
"""How long I/O of a process that was killed may still come to its end."""


@dataclass(frozen=True)
class Writer:
    """A process with a drive open for writing; ``serial`` is the one that it was told to write to.

    ``parent`` started it. A child that is about to become another program has all that its parent has open.
    """

    pid: int
    parent: int
    run_id: str
    serial: str


@dataclass
class Watch:
    """``faults`` are what must never be; ``writers`` counts the processes that were seen writing."""

    cluster: Cluster
    faults: list[str] = field(default_factory=list)
    seen: set[Writer] = field(default_factory=set)
    looks: int = 0
    _ends: threading.Event = field(default_factory=threading.Event)
    _written: dict[str, int] = field(default_factory=dict)
    _last_seen_s: dict[str, float] = field(default_factory=dict)
    _thread: threading.Thread | None = None

    def __enter__(self) -> "Watch":
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        assert self._thread is not None
        self._thread.join()

    def _watch(self) -> None:
        try:
            self._look_on()
        except Exception as error:  # noqa: BLE001 what was not seen counts as wrong
            self.faults.append(f"the watch itself failed: {error!r}")

    def _look_on(self) -> None:
        while not self._ends.wait(_PERIOD_S):
            before = time.monotonic()
            writers = self._writers()
            for drive in self._drives():
                self._look_at(drive, writers.get(str(drive.node), set()), before)
            self.looks += 1

    def _drives(self) -> Iterator[Drive]:
        for host in self.cluster.hosts.values():
            yield from host.drives

    def _look_at(self, drive: Drive, writers: set[Writer], at_s: float) -> None:
        self.seen |= writers
        if len([writer for writer in writers if writer.parent not in {other.pid for other in writers}]) > 1:
            self.faults.append(f"{at_s:.2f} s: two writers on {drive.serial}: {writers}")
        for writer in writers:
            if writer.serial != drive.serial:
                self.faults.append(f"{at_s:.2f} s: {writer} writes to {drive.serial}")
        if writers:
            self._last_seen_s[drive.serial] = at_s
        written = sectors_written(drive)
        is_unseen = at_s - self._last_seen_s.get(drive.serial, at_s - 60) > _OUTSTANDING_S
        if is_unseen and written != self._written.get(drive.serial, written):
            self.faults.append(f"{at_s:.2f} s: {drive.serial} was written to by a process that was not seen")
        self._written[drive.serial] = written

    def _writers(self) -> dict[str, set[Writer]]:
        """Of each node; a process that ended while it was looked at was alone with it all the same."""
        found: dict[str, set[Writer]] = {}
        for host in self.cluster.hosts.values():
            for pid in host.all_pids():
                for node in _open_for_writing(pid):
                    found.setdefault(node, set()).add(_writer(pid))
        return found


def _open_for_writing(pid: int) -> Iterator[str]:
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                node = str(link.readlink())
                if (
                    node.startswith("/dev/loop")
                    and node != "/dev/loop-control"
                    and _flags(pid, link.name) & _WRITABLE
                ):
                    yield node


def _flags(pid: int, number: str) -> int:
    lines = Path(f"/proc/{pid}/fdinfo/{number}").read_text().splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))


def _writer(pid: int) -> Writer:
    parent = 0
    with suppress(OSError):
        parent = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        if match := _REQUEST.search(Path(f"/proc/{pid}/cmdline").read_bytes()):
            return Writer(pid, parent, match[1].decode(), match[2].decode())
    return Writer(pid, parent, "", "")


def sectors_written(drive: Drive) -> int:
    """By the kernel's count, since the device was made."""
    return int(Path(f"/sys/block/{drive.node.name}/stat").read_text().split()[_SECTORS_WRITTEN])

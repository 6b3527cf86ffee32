"""The trial's watch finds what it is there for: writers that are planted, on a drive of no cluster."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from openpts.ownership import new_run_id
from tests.fleet import cluster, watch
from tests.fleet.cluster import Cluster, Machine, new_drive
from tests.fleet.watch import Watch
from tests.support.processes import until

_WRITES_AT_EACH_LINE = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_SYNC)
for line in sys.stdin:
    os.pwrite(fd, bytes(4096), 0)
    print(flush=True)
"""


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watch]:
    if why := cluster.missing() or watch.missing():
        pytest.skip(why)
    host = Machine("h1", 1, tmp_path / "h1")
    drive = new_drive(host, "SN-1")
    try:
        with Watch(Cluster(tmp_path, host, {"h1": host})) as watching:
            yield watching
    finally:
        cluster.call("losetup", "--detach", drive.node)


class _Process:
    def __init__(self, watching: Watch, serial: str) -> None:
        self._watching = watching
        node = watching.cluster.hosts["h1"].drives[0].node
        request = f'{{"run_id":"{new_run_id()}","serial":"{serial}"}}'
        words = [sys.executable, "-c", _WRITES_AT_EACH_LINE, str(node), request]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self, times: int = 1) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        for _ in range(times):
            self._process.stdin.write(b"\n")
            self._process.stdin.flush()
            self._process.stdout.readline()

    def seen(self) -> bool:
        return self._process.pid in {writer.pid for writer in self._watching.seen}

    def end(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def test_a_writer_after_another_is_none_beside_it_until_that_one_is_back(watched: Watch) -> None:
    first, second = _Process(watched, "SN-1"), _Process(watched, "SN-1")
    try:
        first.write(50)
        until(first.seen, "the first writer")
        second.write(50)
        until(second.seen, "the second writer")
        assert not watched.faults
        first.write()
        until(lambda: bool(watched.faults), "what is wrong")
        assert "two writers on SN-1" in watched.faults[0]
    finally:
        first.end()
        second.end()


@pytest.mark.parametrize("serial", ["SN-2", ""])
def test_a_writer_that_was_told_of_another_drive_or_of_none_is_found(watched: Watch, serial: str) -> None:
    writer = _Process(watched, serial)
    try:
        writer.write()
        until(lambda: bool(watched.faults), "what is wrong")
        assert "writes to SN-1" in watched.faults[0]
    finally:
        writer.end()

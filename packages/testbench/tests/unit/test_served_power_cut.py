"""kill -9 as the power cut of a served drive: what its cache may lose, and what only bad ones lose."""

import json
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.support.nvme_tcp_host import Host
from tests.support.openpts_command import TESTBENCH
from tests.support.served_drive import pattern

SUCCESS, FLUSH, SET_FEATURES, WRITE_CACHE = 0, 0x00, 0x09, 0x06
WRITE, FUA = 0x01, 1 << 30
SECTOR = 512


@contextmanager
def powered(folder: Path, faults: str) -> Iterator[tuple[Host, Host]]:
    """Both queues of a drive that is killed at the end; the next one has what it left."""
    command = [*TESTBENCH, f"client-qlc?capacity=200MB{faults}", "--nvme-tcp", "127.0.0.1:0"]
    command += ["--volatile-cache", "--data", str(folder / "media"), "--overwrite-file"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            told = json.loads(process.stdout.readline())
            with (
                Host(told["address"], told["nqn"]) as admin,
                Host(told["address"], told["nqn"], queue=1, controller=admin.enable().controller) as io,
            ):
                yield admin, io
        finally:
            process.kill()


def contents(folder: Path) -> list[bytes]:
    """The first sectors, after the power is back."""
    with powered(folder, "") as (_, io):
        return [io.read(lba, SECTOR).data for lba in range(4)]


def test_a_kill_takes_what_was_not_flushed(tmp_path) -> None:
    data = [pattern(SECTOR, seed) for seed in range(1, 5)]
    with powered(tmp_path, "") as (_, io):
        assert io.write(0, data[0]).status == SUCCESS
        assert io.command(FLUSH, namespace=1).status == SUCCESS
        assert io.command(WRITE, 1, 0, FUA, namespace=1, data=data[1]).status == SUCCESS
        assert io.write(2, data[2]).status == SUCCESS
        assert io.read(2, SECTOR).data == data[2]
    assert contents(tmp_path) == [data[0], data[1], bytes(SECTOR), bytes(SECTOR)]


def test_without_the_cache_a_kill_takes_nothing(tmp_path) -> None:
    data = [pattern(SECTOR, seed) for seed in range(1, 5)]
    with powered(tmp_path, "") as (admin, io):
        io.write(0, data[0])
        assert admin.command(SET_FEATURES, WRITE_CACHE, 0).status == SUCCESS
        for lba in (1, 2, 3):
            io.write(lba, data[lba])
    assert contents(tmp_path) == data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "expected"),
    [("lost-write", bytes(SECTOR)), ("torn-sector", pattern(SECTOR)[: SECTOR // 2] + bytes(SECTOR // 2))],
)
def test_a_fault_shows_only_after_the_kill(fault, expected, tmp_path) -> None:
    data = pattern(SECTOR)
    with powered(tmp_path, f"&faults={fault}:1") as (_, io):
        io.command(WRITE, 0, 0, FUA, namespace=1, data=data)
        assert io.command(FLUSH, namespace=1).status == SUCCESS
        assert io.read(0, SECTOR).data == data
    assert contents(tmp_path)[0] == expected


CUTS = int(os.environ.get("OPENPTS_SERVED_CUTS", "3"))
SECTORS = 64


@dataclass
class Promises:
    """What each sector may have after a cut: the last version that was promised, or one written since."""

    allowed: list[set[int]] = field(default_factory=lambda: [{0} for _ in range(SECTORS)])
    version: int = 0

    def written(self, lba: int) -> bytes:
        """Another version of a sector, which is on its way."""
        self.version += 1
        self.allowed[lba].add(self.version)
        return struct.pack("<QQ", self.version, lba) * (SECTOR // 16)

    def kept(self, *lbas: int) -> None:
        """The latest versions of these sectors are promised."""
        for lba in lbas:
            self.allowed[lba] = {max(self.allowed[lba])}

    def found(self, lba: int, data: bytes) -> bool:
        """Check what is there now, which stays; whether something that was not promised is gone."""
        (version, place), latest = struct.unpack("<QQ", data[:16]), max(self.allowed[lba])
        assert data == data[:16] * (SECTOR // 16), f"LBA {lba} is torn"
        assert version in self.allowed[lba], f"LBA {lba} has {version}, not one of {self.allowed[lba]}"
        assert place == (lba if version else 0)
        self.allowed[lba] = {version}
        return version < latest


@pytest.mark.slow
def test_what_was_promised_outlives_one_kill_after_the_other(tmp_path) -> None:
    random, promises, lost = Random(17), Promises(), 0
    for cut in range(CUTS + 1):
        with powered(tmp_path, "") as (admin, io):
            lost += sum(promises.found(lba, io.read(lba, SECTOR).data) for lba in range(SECTORS))
            cached = cut % 4 != 3
            assert cached or admin.command(SET_FEATURES, WRITE_CACHE, 0).status == SUCCESS
            for _ in range(random.randint(1, 200)):
                lba, forced = random.randrange(SECTORS), random.random() < 0.1
                data = promises.written(lba)
                done = io.command(WRITE, lba, 0, FUA if forced else 0, namespace=1, data=data)
                assert done.status == SUCCESS
                if forced or not cached:
                    promises.kept(lba)
                if random.random() < 0.02:
                    assert io.command(FLUSH, namespace=1).status == SUCCESS
                    promises.kept(*range(SECTORS))
            lba = random.randrange(SECTORS)
            words = struct.pack("<IIII", lba, 0, 0, 0)
            io.post(WRITE, 1, words, promises.written(lba), 0)  # it is on its way
    assert lost, "the kills were no power cuts: nothing in the cache was lost"

"""Purge and its proof; drives are files here whose discard does as it is told."""

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.purge import purge as purge_module
from openpts.device.purge.purge import PurgeClock, SampledSectors, no_purge, purge
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, TargetError
from openpts.system_files import SystemRoots
from openpts.units import GIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind

Discard = Callable[[int, int, int], None]


@pytest.fixture
def clock() -> PurgeClock:
    ticks = iter((1_000, 4_500))
    return PurgeClock(lambda: datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC), lambda: next(ticks))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "scratch"
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(fd, 4 * MIB * b"x", 0)
    yield OpenTarget(fd, TargetFacts(TargetKind.FILE, path.name, str(path), 4 * MIB, 4096), None)
    os.close(fd)


@pytest.fixture
def drive(file: OpenTarget, server: SystemRoots) -> OpenTarget:
    """A drive whose content is the file's."""
    facts = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 4 * MIB, 512)
    return OpenTarget(file.fd, facts, BlockDevice.of_name("nvme0n1", server))


@pytest.fixture
def discard_is(monkeypatch) -> Callable[[Discard], None]:
    return lambda discard: monkeypatch.setattr(purge_module, "discard", discard)


def _zero(fd: int, offset_bytes: int, length_bytes: int) -> None:
    os.pwrite(fd, bytes(length_bytes), offset_bytes)


def test_a_file_gets_new_blocks_and_the_proof_is_counted(file, clock, golden) -> None:
    report = purge(file, clock=clock)
    assert report.ran
    assert report.method == "deallocate and re-allocate (fallocate)"
    assert report.detail == golden
    assert report.started_at == "2026-01-02T03:04:05+00:00"
    assert report.duration_ns == 3_500
    assert (report.samples, report.changed_samples) == (64, 64)
    assert os.pread(file.fd, 4 * MIB, 0) == bytes(4 * MIB)
    assert os.fstat(file.fd).st_blocks * 512 >= 4 * MIB


def test_a_purge_that_did_nothing_is_an_error(file, monkeypatch) -> None:
    monkeypatch.setattr(purge_module, "deallocate", lambda fd, size_bytes: None)
    with pytest.raises(
        PurgeError, match=r"(\d+) of \1 places, 64 of them marked before, still hold what they held"
    ):
        purge(file)


def test_a_file_system_that_fails_is_an_error(file, monkeypatch) -> None:
    def full(fd: int, size_bytes: int, path: Path) -> None:
        raise TargetError("no space")

    monkeypatch.setattr(purge_module, "allocate_fully", full)
    with pytest.raises(PurgeError, match="failed: no space"):
        purge(file)


def test_a_drive_is_discarded_from_end_to_end(drive, discard_is) -> None:
    discard_is(_zero)
    report = purge(drive)
    assert report.method == "discard of all LBAs (BLKDISCARD)"
    assert report.detail == "bytes 0 to 4,194,303, in pieces of up to 1,073,741,824 bytes"
    assert (report.samples, report.changed_samples) == (64, 64)


@pytest.mark.proves("PTS-DEF-10")
def test_one_sector_that_is_left_is_enough_to_fail(drive, discard_is) -> None:
    discard_is(lambda fd, offset, length: _zero(fd, offset, length - 512))
    with pytest.raises(
        PurgeError, match=r"[12] of \d+ places, 64 of them marked before, still hold.*can't be purged"
    ):
        purge(drive)


@pytest.mark.parametrize(("granularity", "unit"), [("4096", 4096), ("0", 1), (str(3 * MIB), 3 * MIB)])
def test_pieces_are_whole_units_of_the_drive(granularity, unit, drive, discard_is, monkeypatch) -> None:
    (drive.device.folder / "queue/discard_granularity").write_text(granularity)
    capacity_bytes = 5 * GIB + 512
    facts = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", capacity_bytes, 512)
    pieces: list[tuple[int, int]] = []
    discard_is(lambda fd, offset, length: pieces.append((offset, length)))
    monkeypatch.setattr(SampledSectors, "gather", lambda target: SampledSectors((), ()))
    purge(OpenTarget(drive.fd, facts, drive.device))
    ends = [offset + length for offset, length in pieces]
    assert [offset for offset, _ in pieces] == [0, *ends[:-1]]
    assert ends[-1] == capacity_bytes
    assert all(offset % unit == 0 and length <= GIB for offset, length in pieces)


@pytest.mark.parametrize("attribute", ["0", "", None])
def test_a_drive_without_discard_says_so_before_it_is_marked(attribute, drive) -> None:
    limit = drive.device.folder / "queue/discard_max_bytes"
    limit.unlink() if attribute is None else limit.write_text(attribute)
    with pytest.raises(PurgeError, match=r"has no discard"):
        purge(drive)
    assert os.pread(drive.fd, 4 * MIB, 0) == 4 * MIB * b"x"


@pytest.mark.parametrize(
    ("code", "says"), [(errno.EOPNOTSUPP, "has no discard"), (errno.EIO, "failed: Input/output error")]
)
def test_a_discard_that_fails_is_an_error(code, says, drive, discard_is) -> None:
    def fail(fd: int, offset_bytes: int, length_bytes: int) -> None:
        raise OSError(code, os.strerror(code))

    discard_is(fail)
    with pytest.raises(PurgeError, match=says):
        purge(drive)


def test_a_drive_that_cannot_be_written_is_not_purged(server, discard_is) -> None:
    discard_is(_zero)
    facts = TargetFacts(TargetKind.BLOCK, "nvme0n1", "/dev/nvme0n1", 4 * MIB, 512)
    with Path("/dev/null").open("rb") as read_only:
        target = OpenTarget(read_only.fileno(), facts, BlockDevice.of_name("nvme0n1", server))
        with pytest.raises(PurgeError, match="can't mark /dev/nvme0n1 before the purge"):
            purge(target)


def test_a_drive_that_vanishes_meanwhile_is_an_error(drive, discard_is) -> None:
    discard_is(lambda fd, offset, length: os.ftruncate(fd, 0))
    with pytest.raises(PurgeError, match="can't read /dev/nvme0n1 after the purge"):
        purge(drive)


@pytest.mark.proves("PTS-PRG-02")
def test_a_purge_that_was_left_out_says_why(clock) -> None:
    report = no_purge("the operator asked for none", clock)
    assert not report.ran
    assert report.method == "NOT RUN"
    assert report.detail == "the operator asked for none"
    assert report.started_at == "2026-01-02T03:04:05+00:00"
    assert (report.duration_ns, report.samples, report.changed_samples) == (0, 0, 0)

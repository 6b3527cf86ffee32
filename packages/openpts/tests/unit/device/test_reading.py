"""Targets that are opened for reading alone."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from openpts.device.targets.reading import has_unwritten_parts, open_for_reading
from openpts.device.targets.target import FileTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetKind

pytestmark = pytest.mark.on_disk


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "file"
    with path.open("wb") as written:
        written.write(b"x" * 10_000)
        os.fsync(written.fileno())
    return path


def test_a_file_is_open_for_direct_reads_and_nothing_else(file) -> None:
    with open_for_reading(FileTarget(file, None), SystemRoots()) as target:
        flags = fcntl.fcntl(target.fd, fcntl.F_GETFL)
        assert flags & os.O_ACCMODE == os.O_RDONLY
        assert flags & os.O_DIRECT
        with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
            os.pwrite(target.fd, bytes(512), 0)
        assert target.facts.kind is TargetKind.FILE
        sector_bytes = target.facts.sector_bytes
        assert target.facts.user_capacity_bytes == 10_000 // sector_bytes * sector_bytes
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(target.fd)


def test_a_size_is_a_claim_that_must_hold(file) -> None:
    with open_for_reading(FileTarget(file, 10_000), SystemRoots()):
        pass
    with (
        pytest.raises(TargetError, match="10,000 bytes and not 20,000"),
        open_for_reading(FileTarget(file, 20_000), SystemRoots()),
    ):
        pass
    assert file.stat().st_size == 10_000


@pytest.mark.parametrize("size_bytes", [0, 100])
@pytest.mark.parametrize("is_told", [True, False])
def test_a_file_without_a_sector_can_not_be_read(tmp_path, size_bytes, is_told, monkeypatch) -> None:
    """Also where the kernel tells no alignment, as of overlays, and it is tried by reads."""
    if not is_told:
        monkeypatch.setattr("openpts.device.targets.reading.direct_io_alignment_bytes", lambda _: None)
    path = tmp_path / "tiny"
    path.write_bytes(bytes(size_bytes))
    with (
        pytest.raises(TargetError, match="no whole sector"),
        open_for_reading(FileTarget(path, None), SystemRoots()),
    ):
        pass


def test_a_file_that_is_not_there_is_not_made(tmp_path) -> None:
    path = tmp_path / "missing"
    with (
        pytest.raises(TargetError, match="nothing to read"),
        open_for_reading(FileTarget(path, 4096), SystemRoots()),
    ):
        pass
    assert not path.exists()


def test_holes_are_seen(file) -> None:
    with open_for_reading(FileTarget(file, None), SystemRoots()) as target:
        assert not has_unwritten_parts(target)
    os.truncate(file, 1 << 20)
    with open_for_reading(FileTarget(file, None), SystemRoots()) as target:
        assert has_unwritten_parts(target)

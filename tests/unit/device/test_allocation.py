import errno
import os
from pathlib import Path

import pytest

from openpts.device.targets import allocation
from openpts.device.targets.allocation import allocate_fully
from openpts.errors import TargetError
from openpts.units import MIB


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def fd(path: Path):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("present_bytes", [0, MIB, 2 * MIB, 5 * MIB])
def test_every_byte_has_a_block_behind_it(present_bytes, fd, path) -> None:
    os.ftruncate(fd, present_bytes)
    allocate_fully(fd, 2 * MIB, path)
    status = os.fstat(fd)
    assert status.st_size == 2 * MIB
    assert status.st_blocks * 512 >= 2 * MIB


def test_data_that_is_there_stays(fd, path) -> None:
    os.pwrite(fd, b"data", MIB)
    allocate_fully(fd, 4 * MIB, path)
    assert os.pread(fd, 4, MIB) == b"data"


def test_more_than_is_free_is_refused_before_anything_is_done(fd, path) -> None:
    with pytest.raises(
        TargetError, match=r"needs .* GB more, but its file system has .* free: choose a smaller"
    ):
        allocate_fully(fd, 2**60, path)
    assert os.fstat(fd).st_size == 0


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "needs 4.19 MB more"),
        (errno.EOPNOTSUPP, "can't allocate ahead"),
        (errno.EDQUOT, "can't allocate .*: Disk quota exceeded"),
    ],
)
def test_a_failure_leaves_the_file_as_it_was(code, says, fd, path, monkeypatch) -> None:
    def fail_halfway(fd: int, length_bytes: int) -> None:
        os.ftruncate(fd, length_bytes)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(allocation, "allocate", fail_halfway)
    with pytest.raises(TargetError, match=says):
        allocate_fully(fd, 4 * MIB, path)
    assert os.fstat(fd).st_size == 0


def test_a_file_system_that_only_pretends_is_found_out(fd, path, monkeypatch) -> None:
    monkeypatch.setattr(allocation, "allocate", os.ftruncate)
    with pytest.raises(
        TargetError, match=r"allocated 0 B of 4\.19 MB: choose a file system without compression"
    ):
        allocate_fully(fd, 4 * MIB, path)

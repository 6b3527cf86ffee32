import errno
import fcntl
import os
from pathlib import Path

import pytest

from openpts.device.targets import reading as direct_io
from openpts.device.targets.reading import file_sector_bytes, switch_to_direct_io
from openpts.errors import TargetError


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture
def fd(path: Path):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, bytes(8192), 0)
    yield descriptor
    os.close(descriptor)


def test_the_flag_is_set(fd, path) -> None:
    switch_to_direct_io(fd, path)
    assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT


def test_a_file_system_without_it_is_named(fd, path, monkeypatch) -> None:
    def refuse(*arguments: int) -> int:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    with pytest.raises(TargetError, match="has no direct I/O"):
        switch_to_direct_io(fd, path)


def test_what_statx_tells_counts(fd, path, monkeypatch) -> None:
    monkeypatch.setattr(direct_io, "direct_io_alignment_bytes", lambda fd: 2048)
    assert file_sector_bytes(fd, path) == 2048
    monkeypatch.setattr(direct_io, "direct_io_alignment_bytes", lambda fd: 0)
    with pytest.raises(TargetError, match="has no direct I/O"):
        file_sector_bytes(fd, path)


@pytest.mark.parametrize("unit_bytes", [512, 4096])
def test_an_older_kernel_is_asked_by_reading(unit_bytes, fd, path, monkeypatch) -> None:
    def read(fd: int, buffers: list[memoryview], offset: int) -> int:
        if offset % unit_bytes or len(buffers[0]) % unit_bytes:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return len(buffers[0])

    monkeypatch.setattr(direct_io, "direct_io_alignment_bytes", lambda fd: None)
    monkeypatch.setattr(os, "preadv", read)
    assert file_sector_bytes(fd, path) == unit_bytes


def test_reading_agrees_with_statx_here(fd, path, monkeypatch) -> None:
    switch_to_direct_io(fd, path)
    told = file_sector_bytes(fd, path)
    monkeypatch.setattr(direct_io, "direct_io_alignment_bytes", lambda fd: None)
    assert file_sector_bytes(fd, path) == told

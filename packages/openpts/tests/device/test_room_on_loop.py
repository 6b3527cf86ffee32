"""Storage that would run full is refused before the purge, with its numbers, and nothing on it changes.

Needs root: a small file system on a loop device holds the files of others that are larger than it.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.units import MIB
from tests.support.openpts_process import Ended, openpts

SHORT = ("--time-scale", "1/3000", "--precondition-passes", "0.1", "--max-rounds", "1", "--no-report")
SMALL = ("--tc", "1", "--qd", "1")


@pytest.fixture
def small(attach: Callable[..., Path], mount: Callable[..., Path], run: Callable[..., str]) -> Path:
    """A file system of 96 MiB, all of whose blocks are there."""
    disk = attach(size_bytes=96 * MIB)
    run("mkfs.ext4", "-q", "-m", "0", disk)
    return mount(disk)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_on(device: Path, folder: Path, *words: str) -> Ended:
    return openpts(
        *("run", "iops", str(device), "--confirm-device-path", str(device), *SHORT, *SMALL, *words),
        *("--out", str(folder / "run")),
        cwd=folder,
    )


def sparse(folder: Path, size_bytes: int) -> Path:
    """A sparse file with a little data, as a disk image has it."""
    path = folder / "image"
    with path.open("wb") as file:
        file.write(os.urandom(MIB))
        file.truncate(size_bytes)
    return path


def test_a_loop_device_on_a_sparse_file_that_can_not_grow_is_refused(
    small: Path, attach: Callable[..., Path], tmp_path: Path
) -> None:
    image = sparse(small, 128 * MIB)
    device = attach(on=image)
    before = digest(image)
    ended = run_on(device, tmp_path)
    assert ended.exit_code == 3
    assert "needs 133 MB for what" in ended.complaint
    assert "free space" in ended.complaint
    assert not (tmp_path / "run").exists()
    assert digest(image) == before


def test_a_range_that_fits_into_what_is_free_is_measured(
    small: Path, attach: Callable[..., Path], tmp_path: Path
) -> None:
    device = attach(on=sparse(small, 256 * MIB))
    ended = run_on(device, tmp_path, "--active-range", "20")
    assert ended.exit_code == 0, ended.stderr


def test_a_run_folder_on_a_full_disk_is_refused_before_the_target_changes(
    small: Path, attach: Callable[..., Path], tmp_path: Path
) -> None:
    device = attach(size_bytes=64 * MIB)
    marked = os.urandom(4096)
    with device.open("r+b") as disk:
        disk.write(marked)
    fill = small / "fill"
    status = os.statvfs(small)
    with fill.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, (status.f_bavail - 64) * status.f_frsize)
    ended = openpts(
        *("run", "iops", str(device), "--confirm-device-path", str(device), *SHORT, *SMALL),
        *("--out", str(small / "run")),
        cwd=tmp_path,
    )
    assert ended.exit_code == 3
    assert "for the record in" in ended.complaint
    with device.open("rb") as disk:
        assert disk.read(4096) == marked


def test_a_file_inside_of_a_file_system_that_can_not_grow_is_refused(
    small: Path,
    attach: Callable[..., Path],
    mount: Callable[..., Path],
    run: Callable[..., str],
    tmp_path: Path,
) -> None:
    """The inner file system believes that it has room; the image below it has none."""
    inner_disk = attach(on=sparse(small, 512 * MIB))
    run("mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", inner_disk)
    inner = mount(inner_disk)
    ended = openpts(
        *("run", "iops", f"file:{inner}/scratch?size=256MiB", *SHORT, *SMALL, "--out", str(tmp_path / "run")),
        cwd=tmp_path,
    )
    assert ended.exit_code == 3
    assert "free space" in ended.complaint
    assert not (inner / "scratch").exists()

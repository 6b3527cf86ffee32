"""Purges that are proven, on real block devices and real file systems."""

import errno
import os
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from openpts.device.guard.guard import open_target
from openpts.device.identity import dut_facts
from openpts.device.purge.purge import purge
from openpts.device.targets.target import BlockTarget, FileTarget
from openpts.device.write_cache import read_write_cache
from openpts.errors import PurgeError, RefusedError, TargetError
from openpts.system_files import SystemRoots
from openpts.units import MIB
from openpts.vocabulary.purge import Consent


def _open_drive(node: Path, roots: SystemRoots):
    return open_target(BlockTarget(node), Consent(confirm_device_path=str(node)), roots)


@contextmanager
def _scratch(path: Path, size_bytes: int, roots: SystemRoots):
    with open_target(FileTarget(path, size_bytes), Consent(), roots) as target:
        yield target


@pytest.mark.proves("SOL-DEV-02")
@pytest.mark.proves("PTS-DEF-10", "PTS-PRG-01")
@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_a_discard_is_proven(sector_bytes: int, attach, tmp_path: Path, roots: SystemRoots) -> None:
    node = attach("--sector-size", str(sector_bytes), size_bytes=16 * MIB)
    (backing,) = tmp_path.glob("backing-*")
    node.write_bytes(16 * MIB * b"x")
    with _open_drive(node, roots) as target:
        report = purge(target)
    assert report.ran
    assert (report.samples, report.changed_samples) == (64, 64)
    assert report.duration_ns > 0
    assert node.read_bytes() == bytes(16 * MIB)
    assert backing.stat().st_blocks * 512 < MIB


def test_a_drive_without_discard(attach, mount, roots: SystemRoots) -> None:
    backing = mount("none", "-t", "ramfs") / "backing"  # which can't punch holes
    backing.write_bytes(bytes(MIB))
    node = attach(on=backing)
    with _open_drive(node, roots) as target, pytest.raises(PurgeError, match=r"has no discard"):
        purge(target)


def test_a_drive_that_went_read_only(attach, run, cleanup: ExitStack, roots: SystemRoots) -> None:
    node = attach()
    cleanup.callback(run, "blockdev", "--setrw", node)
    with _open_drive(node, roots) as target:
        run("blockdev", "--setro", node)
        with pytest.raises(PurgeError, match="discard: is set read-only"):
            purge(target)


def test_the_facts_of_a_loop_device(attach, roots: SystemRoots) -> None:
    node = attach("--sector-size", "4096")
    with _open_drive(node, roots) as target:
        facts = dut_facts(target.facts, roots)
        cache = read_write_cache(target, False, roots)
    assert facts["interface"].value == "loop"
    assert facts["serial"].value is None
    assert facts["sector"].value == "4096 B logical, 4096 B physical"
    assert cache.actual in ("WCE", "WCD")
    assert cache.source.startswith(f"/sys/block/{node.name}/queue/write_cache")


@pytest.fixture
def ext4(attach, run, mount) -> Path:
    """A small file system of its own."""
    node = attach(size_bytes=32 * MIB)
    run("mkfs.ext4", "-q", "-m", "0", node)
    return mount(node)


def test_a_file_is_purged_and_has_blocks_again(ext4: Path, roots: SystemRoots) -> None:
    path = ext4 / "scratch"
    with _scratch(path, 8 * MIB, roots) as target:
        path.write_bytes(8 * MIB * b"x")
        os.sync()
        report = purge(target)
        assert (report.samples, report.changed_samples) == (64, 64)
        with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
            os.lseek(target.fd, 0, os.SEEK_DATA)
        assert path.stat().st_blocks * 512 >= 8 * MIB
        assert path.read_bytes() == bytes(8 * MIB)


def test_a_file_is_labeled_with_the_drive_below(ext4: Path, roots: SystemRoots) -> None:
    with _scratch(ext4 / "scratch", MIB, roots) as target:
        facts = dut_facts(target.facts, roots)
        cache = read_write_cache(target, False, roots)
    model = facts["model"].value
    assert model is not None
    assert model.startswith("file on ext4 on loop")
    assert f"mounted at {ext4}" in str(facts["file_system"].value)
    assert cache.actual == "not controllable (file)"


def test_a_file_system_that_is_too_small(ext4: Path, roots: SystemRoots) -> None:
    path = ext4 / "scratch"
    with pytest.raises(TargetError, match=r"needs 67 MB more, but its file system has \d+ MB free"):
        _scratch(path, 64 * MIB, roots).__enter__()
    assert not path.exists()


def test_a_file_that_cannot_grow_keeps_its_size(ext4: Path, roots: SystemRoots) -> None:
    path = ext4 / "scratch"
    with _scratch(path, 8 * MIB, roots):
        pass
    with pytest.raises(TargetError, match="free: choose a smaller size"):
        _scratch(path, 64 * MIB, roots).__enter__()
    assert path.stat().st_size == 8 * MIB


def test_a_full_file_system(ext4: Path, run, roots: SystemRoots) -> None:
    status = os.statvfs(ext4)
    run("fallocate", "--length", status.f_bavail * status.f_frsize - MIB // 2, ext4 / "filler")
    path = ext4 / "scratch"
    with pytest.raises(TargetError, match="free: choose a smaller size or another file system"):
        _scratch(path, MIB, roots).__enter__()
    assert not path.exists()


def test_a_read_only_file_system(ext4: Path, run, roots: SystemRoots) -> None:
    run("mount", "-o", "remount,ro", ext4)
    with pytest.raises(TargetError, match="for writing: Read-only file system"):
        _scratch(ext4 / "scratch", MIB, roots).__enter__()


def test_a_file_in_memory_is_no_drive(attach, mount, roots: SystemRoots) -> None:
    path = mount("none", "-t", "tmpfs") / "scratch"
    with pytest.raises(TargetError, match="is on tmpfs, which is memory, not a drive"):
        _scratch(path, MIB, roots).__enter__()
    assert not path.exists()


def test_the_file_under_a_loop_device_is_in_use(attach, ext4: Path, roots: SystemRoots) -> None:
    path = ext4 / "scratch"
    with _scratch(path, MIB, roots):
        pass
    attach(on=path)
    with pytest.raises(RefusedError, match=rf"refused \[loop\]: {path} is the backing store of /dev/loop"):
        _scratch(path, MIB, roots).__enter__()

"""A target whose storage would run full is found out before anything is written."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.targets.free_space import SpaceNeed, check_space, target_needs
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from openpts.units import GB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind

MakeDisk = Callable[..., OpenTarget]


@pytest.fixture
def machine(tmp_path) -> SystemRoots:
    """A machine with nothing in it but its list of mounts."""
    roots = SystemRoots(*(tmp_path / name for name in ("sys", "proc", "dev", "etc", "share")))
    (roots.proc / "self").mkdir(parents=True)
    mounts(roots, f"1 0 8:1 / {tmp_path} rw - ext4 /dev/sda1 rw")
    return roots


def mounts(roots: SystemRoots, *lines: str) -> None:
    (roots.proc / "self/mountinfo").write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture
def disk(machine: SystemRoots) -> MakeDisk:
    """A disk that sysfs shows, with what it is built on and what lies behind it."""

    def make(
        name: str, size_bytes: int, *, on: tuple[str, ...] = (), backing: Path | None = None
    ) -> OpenTarget:
        folder = machine.sys / "devices/virtual/block" / name
        (folder / "slaves").mkdir(parents=True)
        (folder / "size").write_text(f"{size_bytes // 512}\n")
        for part in on:
            (folder / "slaves" / part).symlink_to(f"../../{part}")
        if backing is not None:
            (folder / "loop").mkdir()
            (folder / "loop/backing_file").write_text(f"{backing}\n")
        facts = TargetFacts(TargetKind.BLOCK, name, f"/dev/{name}", size_bytes, 512)
        return OpenTarget(-1, facts, BlockDevice(folder, machine))

    return make


def backing_file(tmp_path, size_bytes: int, allocated_bytes: int = 0) -> Path:
    path = tmp_path / "backing"
    with path.open("wb") as file:
        file.truncate(size_bytes)
        if allocated_bytes:
            os.posix_fallocate(file.fileno(), 0, allocated_bytes)
    return path


def test_a_drive_of_its_own_needs_nothing(disk, machine) -> None:
    assert target_needs(disk("sda", 10 * GB), 10 * GB, machine) == ()


def test_a_loop_device_needs_the_blocks_that_its_file_lacks(disk, machine, tmp_path, golden) -> None:
    backing = backing_file(tmp_path, 64 * MIB, allocated_bytes=16 * MIB)
    target = disk("loop0", 64 * MIB, backing=backing)
    (need,) = target_needs(target, 48 * MIB, machine)
    assert (need.place, need.needed_bytes) == (backing, 32 * MIB)
    assert need.what == golden
    assert target_needs(target, 16 * MIB, machine) == ()


def test_a_loop_device_whose_file_is_gone_can_not_be_judged(disk, machine, tmp_path) -> None:
    target = disk("loop0", 64 * MIB, backing=tmp_path / "backing (deleted)")
    assert target_needs(target, 64 * MIB, machine) == ()


def test_a_volume_larger_than_its_pool_is_refused_if_the_test_writes_so_much(disk, machine) -> None:
    disk("nvme0n1", 100 * GB)
    disk("dm-0", 100 * GB, on=("nvme0n1",))
    volume = disk("dm-1", 400 * GB, on=("dm-0",))
    assert target_needs(volume, 100 * GB, machine) == ()
    with pytest.raises(TargetError, match=r"dm-1 reports a capacity of 400 GB.*dm-0\) has 100 GB.*to 101 GB"):
        target_needs(volume, 101 * GB, machine)


def test_an_array_is_not_larger_than_its_parts(disk, machine) -> None:
    for name in ("nvme0n1", "nvme1n1"):
        disk(name, 100 * GB)
    assert target_needs(disk("md0", 200 * GB, on=("nvme0n1", "nvme1n1")), 200 * GB, machine) == ()


def test_what_lies_below_a_mapped_loop_device_counts_too(disk, machine, tmp_path) -> None:
    disk("loop0", 64 * MIB, backing=backing_file(tmp_path, 64 * MIB))
    (need,) = target_needs(disk("dm-0", 64 * MIB, on=("loop0",)), 64 * MIB, machine)
    assert need.needed_bytes == 64 * MIB


@pytest.mark.parametrize(("fs_type", "count"), [("ext4", 0), ("xfs", 0), ("btrfs", 1), ("zfs", 1)])
def test_a_file_that_is_copied_on_write_needs_room_for_a_pass(fs_type, count, machine, tmp_path) -> None:
    mounts(machine, f"1 0 8:1 / {tmp_path} rw - {fs_type} /dev/sda1 rw")
    path = backing_file(tmp_path, 64 * MIB, 64 * MIB)
    target = OpenTarget(-1, TargetFacts(TargetKind.FILE, "x", str(path), 64 * MIB, 512), None)
    needs = target_needs(target, 48 * MIB, machine)
    assert [need.needed_bytes for need in needs] == [48 * MIB] * count


def test_a_file_on_a_loop_device_needs_what_that_lacks(disk, machine, tmp_path) -> None:
    loop = disk("loop3", 128 * MIB, backing=backing_file(tmp_path, 128 * MIB, 8 * MIB))
    (machine.sys / "dev/block").mkdir(parents=True)
    (machine.sys / "dev/block/7:3").symlink_to(loop.device.folder)
    inner = tmp_path / "mounted"
    inner.mkdir()
    mounts(
        machine, f"1 0 8:1 / {tmp_path} rw - ext4 /dev/sda1 rw", f"2 1 7:3 / {inner} rw - ext4 /dev/loop3 rw"
    )
    facts = TargetFacts(TargetKind.FILE, "x", str(inner / "x"), 64 * MIB, 512)
    (need,) = target_needs(OpenTarget(-1, facts, None), 64 * MIB, machine)
    assert need.needed_bytes == 56 * MIB


@pytest.fixture
def free(monkeypatch) -> None:
    """Every file system has 100 GB free."""
    space = SimpleNamespace(f_bavail=100 * 10**6, f_frsize=1000)
    monkeypatch.setattr(os, "statvfs", lambda place: space)


@pytest.mark.usefixtures("free")
def test_needs_on_one_file_system_add_up(tmp_path) -> None:
    (tmp_path / "run").mkdir()
    target = SpaceNeed(tmp_path, 60 * GB, "the target")
    check_space([target, SpaceNeed(tmp_path / "run", 40 * GB, "the record")])
    with pytest.raises(
        TargetError, match=r"has 100 GB free, .* 60 GB for the target and 41 GB for the record"
    ):
        check_space([target, SpaceNeed(tmp_path / "run", 41 * GB, "the record")])


@pytest.mark.usefixtures("free")
@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a second file system, /dev/shm")
@pytest.mark.on_disk
def test_needs_on_two_file_systems_do_not(tmp_path) -> None:
    check_space(
        [SpaceNeed(tmp_path, 60 * GB, "the target"), SpaceNeed(Path("/dev/shm"), 60 * GB, "the record")]
    )


def test_what_is_free_is_what_the_file_system_gives_to_all(tmp_path) -> None:
    status = os.statvfs(tmp_path)
    with pytest.raises(TargetError, match="free, and the run needs"):
        check_space([SpaceNeed(tmp_path, status.f_blocks * status.f_frsize + 1, "all of it")])

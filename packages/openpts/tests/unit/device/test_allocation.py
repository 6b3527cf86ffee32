"""Files as targets: their allocation, their file system, what lies over it."""

import errno
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.block_device import check_file_system, device_below, find_mount
from openpts.device.guard.usage import stored_at
from openpts.device.targets import scratch_file as allocation
from openpts.device.targets.scratch_file import allocate_fully
from openpts.errors import RefusedError, TargetError
from openpts.system_files import SystemRoots
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


@pytest.mark.parametrize(
    ("path", "mount_point"),
    [
        ("/var/lib/x", "/"),
        ("/boot/efi/x", "/boot/efi"),
        ("/boot/efix", "/"),
        ("/srv/my data/x", "/srv/my data"),
    ],
)
def test_the_deepest_mount_holds_a_file(path, mount_point, server) -> None:
    mount = find_mount(Path(path), server)
    assert mount.mount_point == mount_point


def test_of_mounts_on_one_another_the_last_counts(server) -> None:
    with (server.proc / "self/mountinfo").open("a") as mountinfo:
        mountinfo.write("40 27 259:0 / /boot/efi rw - xfs /dev/nvme0n1 rw\n")
    mount = find_mount(Path("/boot/efi/x"), server)
    assert mount.fs_type == "xfs"


@pytest.mark.parametrize(
    ("path", "name"), [("/x", "dm-0"), ("/boot/efi/x", "nvme1n1p1"), ("/srv/my data/x", "sdb")]
)
def test_the_device_below_is_found_by_number_or_source(path, name, server) -> None:
    device = device_below(Path(path), server)
    assert device.name == name


def test_memory_is_no_drive(virtual_machine) -> None:
    assert device_below(Path("/ramdisk/x"), virtual_machine) is None
    with pytest.raises(TargetError, match="/ramdisk/x is on tmpfs, which is memory"):
        check_file_system(Path("/ramdisk/x"), virtual_machine)
    check_file_system(Path("/var/x"), virtual_machine)


def test_without_mountinfo_nothing_is_known(malformed) -> None:
    assert find_mount(Path("/x"), malformed) is None
    assert device_below(Path("/x"), malformed) is None


@pytest.mark.parametrize("layer", ["/", "//.", "{link}"])
def test_a_layer_that_is_the_overlay_itself_is_no_place_of_a_file(layer, tmp_path) -> None:
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "self").mkdir()
    options = f"lowerdir={layer.format(link=tmp_path / 'link')},upperdir=/gone/upper,workdir=/gone/work"
    (tmp_path / "self/mountinfo").write_text(f"27 1 0:50 / / rw - overlay overlay rw,{options}\n")
    file = tmp_path / "plain"
    file.touch()
    with pytest.raises(RefusedError, match=r"refused \[overlay\]"):
        stored_at(file, replace(SystemRoots(), proc=tmp_path))

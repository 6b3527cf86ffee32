from pathlib import Path

import pytest

from openpts.device.file_system import check_file_system, device_below, find_mount
from openpts.errors import TargetError


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

import os
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.usage import ClaimKind, read_usage
from openpts.errors import RefusedError
from openpts.system_files import SystemRoots


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        (ClaimKind.MOUNT, "nvme1n1", "nvme1n1p1 is mounted at /boot/efi"),
        (ClaimKind.MOUNT, "dm-0", "dm-0 is mounted at /"),
        (ClaimKind.MOUNT, "sdb", "sdb is mounted at /srv/my data"),
        (ClaimKind.SWAP, "sdc", "sdc2 is in use as swap space"),
        (ClaimKind.LOOP, "sdc", "sdc1 is the backing store of {dev}/loop0"),
        (ClaimKind.OPEN, "sdd", "sdd is open in process 4242 (qemu-system-x86)"),
    ],
)
def test_a_use_is_found_with_its_evidence(kind: ClaimKind, name: str, says: str, server: SystemRoots) -> None:
    evidence = read_usage(server).of_device(kind, BlockDevice.of_name(name, server))
    assert evidence is not None
    assert evidence.endswith(says.format(dev=server.dev))


@pytest.mark.parametrize("name", ["nvme0n1", "nvme2n1", "sda"])
def test_an_idle_drive_has_none(name: str, server: SystemRoots) -> None:
    usage = read_usage(server)
    assert [usage.of_device(kind, BlockDevice.of_name(name, server)) for kind in ClaimKind] == 4 * [None]


def test_btrfs_is_found_by_its_source(virtual_machine: SystemRoots) -> None:
    disk = BlockDevice.of_name("vda", virtual_machine)
    assert read_usage(virtual_machine).of_device(ClaimKind.MOUNT, disk) is not None


def test_a_source_may_be_a_link_to_the_node(virtual_machine: SystemRoots) -> None:
    by_uuid = virtual_machine.dev / "disk/by-uuid"
    by_uuid.mkdir(parents=True)
    (by_uuid / "1234").symlink_to("../../vdb")
    _append(virtual_machine, "29 27 0:50 / /mnt rw - btrfs /dev/disk/by-uuid/1234 rw")
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert "mounted at /mnt" in str(read_usage(virtual_machine).of_device(ClaimKind.MOUNT, disk))


def test_a_mount_is_found_by_its_number_whatever_its_source_says(virtual_machine: SystemRoots) -> None:
    _append(virtual_machine, "29 27 254:16 / /mnt rw - ext4 /dev/root rw")
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert "mounted at /mnt" in str(read_usage(virtual_machine).of_device(ClaimKind.MOUNT, disk))


def test_a_swap_file_is_a_claim_on_the_file(server: SystemRoots) -> None:
    usage = read_usage(server)
    assert usage.of_file(ClaimKind.SWAP, Path("/var/my swap")) == "/var/my swap is in use as swap space"
    assert usage.of_file(ClaimKind.SWAP, Path("/var/other")) is None


def test_our_own_process_does_not_count(server: SystemRoots) -> None:
    own = server.proc / str(os.getpid()) / "fd"
    own.mkdir(parents=True)
    (own / "3").symlink_to("/dev/nvme0n1")
    disk = BlockDevice.of_name("nvme0n1", server)
    assert read_usage(server).of_device(ClaimKind.OPEN, disk) is None


def test_a_process_that_ends_meanwhile_is_no_error(server: SystemRoots) -> None:
    (server.proc / "999").mkdir()
    read_usage(server)


def test_without_a_list_of_mounts_nothing_is_free(malformed: SystemRoots) -> None:
    with pytest.raises(RefusedError, match=r"refused \[usage\].*not a line of mountinfo"):
        read_usage(malformed)
    (malformed.proc / "self/mountinfo").unlink()
    with pytest.raises(RefusedError, match=r"refused \[usage\].*No such file"):
        read_usage(malformed)


def _append(roots: SystemRoots, line: str) -> None:
    with (roots.proc / "self/mountinfo").open("a") as mountinfo:
        mountinfo.write(f"{line}\n")

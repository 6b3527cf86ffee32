from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.errors import TargetError
from openpts.system_files import SystemRoots


def test_a_disk_has_partitions_and_holders(server) -> None:
    disk = BlockDevice.of_name("nvme1n1", server)
    assert [part.name for part in disk.partitions] == ["nvme1n1p1", "nvme1n1p2"]
    assert disk.holders == ()
    assert disk.partitions[1].holders == ("dm-0 (vg0-root)",)
    assert not disk.is_partition
    assert disk.whole == disk


def test_a_partition_knows_its_disk(server) -> None:
    part = BlockDevice.of_number("259:3", server)
    assert part.name == "nvme1n1p2"
    assert part.is_partition
    assert part.whole.name == "nvme1n1"
    assert part.capacity_bytes == 1951475085 * 512


def test_a_volume_knows_the_disks_beneath_it(server) -> None:
    assert [disk.name for disk in BlockDevice.of_name("dm-0", server).beneath] == ["nvme1n1"]
    assert [disk.name for disk in BlockDevice.of_name("sdb", server).beneath] == ["sdb"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nvme0n1", DeviceKind.NVME),
        ("nvme2n1", DeviceKind.NVME),
        ("sda", DeviceKind.ATA),
        ("sdb", DeviceKind.SCSI),
        ("loop0", DeviceKind.LOOP),
        ("dm-0", DeviceKind.OTHER),
    ],
)
def test_the_kind_follows_from_sysfs(name, kind, server) -> None:
    assert BlockDevice.of_name(name, server).kind is kind


def test_a_node_has_the_slash_that_the_kernel_writes_as_an_exclamation_mark(tmp_path) -> None:
    device = BlockDevice(tmp_path / "cciss!c0d0", SystemRoots(dev=Path("/dev")))
    assert device.node == Path("/dev/cciss/c0d0")


def test_odd_attributes_count_as_missing(malformed) -> None:
    assert BlockDevice.of_name("sdb", malformed).capacity_bytes == 0
    assert BlockDevice.of_name("nvme0n1", malformed).integer("queue/logical_block_size") is None
    assert not BlockDevice.of_name("nvme0n1", malformed).read_only


def test_what_is_no_block_device_is_a_target_error(server, tmp_path) -> None:
    with pytest.raises(TargetError, match="nvme9n1 is not known to the kernel"):
        BlockDevice.of_name("nvme9n1", server)
    with pytest.raises(TargetError, match="is not a block device"):
        BlockDevice.of_node(Path("/dev/null"), server)
    with pytest.raises(
        TargetError,
        match=r"can't access .*missing: No such file or directory; `openpts devices` lists the drives",
    ):
        BlockDevice.of_node(tmp_path / "missing", server)

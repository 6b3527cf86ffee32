"""What the kernel says of a drive: its node, interface, link, place on the bus and media."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity import host_bus_adapter, interface, media
from openpts.device.link import Link, hardware_folder, pci_functions, pcie_link
from openpts.device.nvme_admin import NvmeController
from openpts.errors import TargetError
from openpts.system_files import SystemRoots
from tests.support.identify_words import set_word


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvme0n1", "NVMe over PCIe"),
        ("nvme2n1", "NVMe over PCIe"),
        ("sda", "SATA, 6.0 Gbps"),
        ("sdb", "SAS, 12.0 Gbit"),
        ("sdc", "SAS"),
        ("loop0", "loop"),
        ("dm-0", None),
    ],
)
def test_interface_and_speed(name, text, server) -> None:
    assert interface(BlockDevice.of_name(name, server), None).value == text


def test_the_version_of_an_identified_controller_is_told(server, golden) -> None:
    controller = NvmeController(ver=0x20000, oacs=0, sanicap=0, oncs=0, fna=0, vwc=0)
    fact = interface(BlockDevice.of_name("nvme0n1", server), controller)
    assert fact.value == "NVMe 2.0 over PCIe"
    assert fact.source == golden


@pytest.mark.parametrize(
    ("transport", "interface_text", "adapter"),
    [("tcp", "NVMe over TCP", None), ("loop", "NVMe over loop", None)],
)
def test_nvme_over_fabrics(transport, interface_text, adapter, server) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    (disk.folder / "device/transport").write_text(transport)
    assert interface(disk, None).value == interface_text
    assert host_bus_adapter(disk, server).value is adapter


def test_a_sata_drive_behind_a_sas_adapter_says_so(server) -> None:
    disk = BlockDevice.of_name("sdb", server)
    (disk.folder / "device/vendor").write_text("ATA     ")
    assert interface(disk, None).value == "SATA behind SAS, 12.0 Gbit"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nvme0n1", "none (direct PCIe)"),
        ("nvme2n1", "none (direct PCIe)"),
        ("sda", "Intel Corporation C620 Series Chipset Family SATA Controller [AHCI mode], driver ahci"),
        ("sdb", "Broadcom / LSI Fusion-MPT 24GSAS/PCIe SAS40xx, driver mpt3sas, firmware 24.00.00.00"),
        ("loop0", None),
    ],
)
def test_the_adapter_has_name_driver_and_firmware(name, text, server) -> None:
    assert host_bus_adapter(BlockDevice.of_name(name, server), server).value == text


def test_without_pci_ids_the_adapter_has_numbers(server) -> None:
    (server.share / "misc/pci.ids").unlink()
    fact = host_bus_adapter(BlockDevice.of_name("sda", server), server)
    assert fact.value == "PCI 8086:a182, driver ahci"


def _folder(name: str, roots: SystemRoots) -> Path:
    return hardware_folder(BlockDevice.of_name(name, roots))


def test_a_drive_in_a_slower_slot_shows_both(server) -> None:
    assert pcie_link(_folder("nvme0n1", server)).value == "Gen 4 x4 of Gen 5 x4"


def test_a_namespace_with_several_paths_shows_its_first_controller(server) -> None:
    assert pcie_link(_folder("nvme2n1", server)).value == "Gen 4 x2 of Gen 4 x4"


def test_a_slower_bridge_above_is_the_limit(server) -> None:
    fact = pcie_link(_folder("nvme1n1", server))
    assert fact.value == "Gen 3 x4 of Gen 4 x4, behind the bridge 0000:00:03.1 at Gen 3 x2"


def test_the_way_up_ends_at_the_root_port(server) -> None:
    functions = pci_functions(_folder("nvme0n1", server))
    assert [function.name for function in functions] == ["0000:42:00.0", "0000:41:00.0", "0000:40:01.1"]


@pytest.mark.parametrize(
    ("speed", "width"),
    [
        ("Unknown", "4"),
        ("16.0 GT/s PCIe", "255"),
        ("16.0 GT/s PCIe", "0"),
        ("16.0 GT/s PCIe", "four"),
        ("", ""),
    ],
)
def test_a_link_that_is_not_known_is_not_guessed(speed, width, server) -> None:
    folder = _folder("nvme0n1", server)
    function = pci_functions(folder)[0]
    (function / "current_link_speed").write_text(speed)
    (function / "current_link_width").write_text(width)
    assert pcie_link(folder).value is None


def test_a_device_without_hardware_has_no_link(server, golden) -> None:
    fact = pcie_link(_folder("loop0", server))
    assert fact.value is None
    assert fact.source == golden


def test_a_generation_doubles_the_speed_of_a_lane() -> None:
    assert Link(4, 4).relative_speed == Link(3, 8).relative_speed == Link(5, 2).relative_speed


def _queue_says(device: BlockDevice, rotational: str) -> None:
    (device.folder / "queue").mkdir(exist_ok=True)
    (device.folder / "queue/rotational").write_text(rotational)


@pytest.mark.parametrize(
    ("word", "text"),
    [(1, "solid state"), (7200, "rotational, 7,200 rpm"), (0, "rotational, speed not reported")],
)
def test_an_ata_drive_says_how_fast_it_turns(word, text, server) -> None:
    drive = BlockDevice.of_name("sda", server)
    _queue_says(drive, "1")
    set_word(drive, 217, word)
    assert str(media(drive)) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("00b1003c0001", "solid state"),
        ("00b1003c2a30", "rotational, 10,800 rpm"),
        ("00b1003c0000", "solid state"),
        ("00b1", "solid state"),
        ("0089003c2a30", "solid state"),
    ],
)
def test_a_scsi_drive_says_so_in_its_characteristics_or_the_kernel_does(page, text, server) -> None:
    drive = BlockDevice.of_name("sdb", server)
    (drive.folder / "device/vpd_pgb1").write_bytes(bytes.fromhex(page))
    _queue_says(drive, "0")
    assert str(media(drive)) == text


def test_what_the_kernel_makes_is_neither(server) -> None:
    _queue_says(BlockDevice.of_name("loop0", server), "1")
    assert media(BlockDevice.of_name("loop0", server)).kind is None


def test_what_a_virtual_machine_is_told_of_its_disks_is_not_believed(virtual_machine) -> None:
    _queue_says(BlockDevice.of_name("vdb", virtual_machine), "1")
    assert str(media(BlockDevice.of_name("vdb", virtual_machine))) == "not reported"

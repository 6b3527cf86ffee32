"""The link that a drive has negotiated, and what keeps it from more, on made-up machines."""

from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots
from openpts_drives.link import negotiated_link
from tests.support.identify_words import set_word


def _drive(name: str, roots: SystemRoots) -> BlockDevice:
    return BlockDevice.of_name(name, roots)


def test_nvme_below_what_drive_and_slot_can_do_is_warned_of(server) -> None:
    link = negotiated_link(_drive("nvme0n1", server))
    assert (link.current, link.most) == ("Gen 4 x4", "Gen 5 x4")
    assert link.warnings == ("the PCIe link runs at Gen 4 x4, though drive and slot can do Gen 5 x4",)


def test_a_slot_that_is_less_than_the_drive_is_named(server) -> None:
    slot = _drive("nvme0n1", server).folder.parents[3]
    assert slot.name == "0000:41:00.0"
    (slot / "max_link_speed").write_text("16.0 GT/s PCIe")
    warnings = negotiated_link(_drive("nvme0n1", server)).warnings
    assert warnings == ("the slot's Gen 4 x16 is less than the drive's Gen 5 x4",)


def test_a_slower_bridge_above_is_named(server) -> None:
    warnings = negotiated_link(_drive("nvme1n1", server)).warnings
    assert warnings[-1] == "the PCIe bridge 0000:00:03.1 above the drive runs at Gen 3 x2 only"


def test_nvme_over_fabrics_tells_its_address(server) -> None:
    controller = _drive("nvme0n1", server).folder.parent
    (controller / "transport").write_text("tcp")
    (controller / "address").write_text("traddr=127.0.0.1,trsvcid=4420")
    link = negotiated_link(_drive("nvme0n1", server))
    assert (link.current, link.most, link.warnings) == ("traddr=127.0.0.1,trsvcid=4420", None, ())


def _sata_port(device: BlockDevice) -> Path:
    (speed,) = device.folder.parents[4].glob("link*/ata_link/link*/sata_spd")
    return speed


def test_a_sata_drive_below_its_own_rate_is_warned_of(server, golden) -> None:
    drive = _drive("sda", server)
    set_word(drive, 76, 0b1110)
    assert negotiated_link(drive).warnings == ()
    _sata_port(drive).write_text("3.0 Gbps")
    link = negotiated_link(drive)
    assert (link.current, link.most) == ("3 Gbit/s", "6 Gbit/s")
    assert link.warnings[0] == golden
    _sata_port(drive).with_name("hw_sata_spd_limit").write_text("3.0 Gbps")
    assert negotiated_link(drive).warnings[0] == golden


def test_a_sas_drive_tells_the_rate_and_what_the_adapter_can_do(server) -> None:
    drive = _drive("sdb", server)
    phy = next(folder for parent in drive.folder.parents for folder in parent.glob("phy-1:0/sas_phy/phy-1:0"))
    (phy / "maximum_linkrate_hw").write_text("22.5 Gbit")
    link = negotiated_link(drive)
    assert (link.current, link.most) == ("12 Gbit/s", "22.5 Gbit/s")
    assert link.warnings == ("the SAS link runs at 12 Gbit/s, though the adapter can do 22.5 Gbit/s",)


def test_a_usb_drive_on_a_slow_port_is_warned_of(server, tmp_path) -> None:
    usb = server.sys / "devices/pci0000:00/0000:00:14.0/usb2/2-1"
    disk = usb / "2-1:1.0/host7/target7:0:0/7:0:0:0/block/sde"
    disk.mkdir(parents=True)
    (disk / "device").symlink_to("../../../7:0:0:0")
    (disk.parents[1] / "scsi_level").write_text("7")
    for name, text in {"bMaxPacketSize0": "9", "speed": "480", "version": " 3.10"}.items():
        (usb / name).write_text(text)
    link = negotiated_link(BlockDevice(disk, server))
    assert link.current == "0.48 Gbit/s"
    assert link.warnings == ("the drive follows USB 3.10, but its link runs at 0.48 Gbit/s",)


def test_what_hangs_on_no_link_has_none(server) -> None:
    assert negotiated_link(_drive("loop0", server)).current is None
    assert negotiated_link(_drive("sdc", server)).current is None

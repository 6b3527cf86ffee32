"""Where drives sit, from made-up machines."""

from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.identity.slot import slot
from openpts.system_files import SystemRoots

BACKPLANE = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/target0:0:8/0:0:8:0"


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    """A drive in a slot of its own, one on a card behind a switch, and a SAS disk in a bay."""
    sys = tmp_path / "sys"
    for number, way in enumerate(("0000:80:01.0/0000:81:00.0", "0000:80:02.0/0000:90:00.0/0000:91:00.0")):
        controller = sys / "devices/pci0000:80" / way / f"nvme/nvme{number}"
        write(controller / "transport", "pcie")
        write(controller / f"nvme{number}n1/dev", f"259:{number}")
        (controller / f"nvme{number}n1/device").symlink_to(f"../../nvme{number}")
    write(sys / "bus/pci/slots/3/address", "0000:81:00")
    write(sys / "bus/pci/slots/7/address", "0000:90:00")
    disk = sys / "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/target0:0:1/0:0:1:0"
    write(disk / "scsi_level", "7")
    write(disk / "block/sda/dev", "8:0")
    (disk / "block/sda/device").symlink_to("../../../0:0:1:0")
    write(sys / "bus/pci/slots/1/address", "0000:01:00")  # of the adapter
    bay = sys / BACKPLANE / "enclosure/0:0:8:0/Bay 04"
    write(bay / "slot", "4")
    (bay / "device").symlink_to(disk)
    (sys / "class/enclosure").mkdir(parents=True)
    (sys / "class/enclosure/0:0:8:0").symlink_to(sys / BACKPLANE / "enclosure/0:0:8:0")
    return SystemRoots(sys=sys, dev=tmp_path / "dev")


def disk(roots: SystemRoots, name: str) -> BlockDevice:
    (folder,) = (path.parent for path in roots.sys.rglob("dev") if path.parent.name == name)
    return BlockDevice(folder.resolve(), roots)


@pytest.mark.parametrize(
    ("name", "place", "source"),
    [
        ("nvme0n1", "3", "bus/pci/slots/3/address"),
        ("nvme1n1", "7/0000:91:00.0", "bus/pci/slots/7/address"),
        ("sda", "4", "class/enclosure/0:0:8:0/Bay 04"),
    ],
)
def test_a_slot_is_that_of_the_drive_with_its_source(roots, name, place, source) -> None:
    found = slot(disk(roots, name), roots)
    assert (found.value, found.source) == (place, str(roots.sys / source))


def test_bays_of_several_enclosures_have_the_name_of_theirs(roots) -> None:
    (roots.sys / "class/enclosure/0:0:9:0").mkdir()
    assert slot(disk(roots, "sda"), roots).value == "0:0:8:0/4"


def test_without_slot_or_bay_the_path_says_where(roots) -> None:
    """A SCSI disk is in no PCI slot: its adapter is."""
    (roots.sys / "class/enclosure/0:0:8:0").unlink()
    assert slot(disk(roots, "sda"), roots).value is None
    link = roots.dev / "disk/by-path/pci-0000:01:00.0-sas-phy1-lun-0"
    link.parent.mkdir(parents=True)
    write(roots.dev / "sda", "")
    link.symlink_to("../../sda")
    found = slot(disk(roots, "sda"), roots)
    assert (found.value, found.source) == (link.name, str(link))

"""Where drives sit, and which processors are near them, from made-up machines."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.block_device import BlockDevice
from openpts.device.identity import slot
from openpts.device.nearby_cpus import cpus_near, numa_node, parse_cpu_list
from openpts.device.targets.open_target import OpenTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.fixture
def roots(tmp_path) -> SystemRoots:
    """Two nodes with eight processors; a SATA disk on node 1, an NVMe drive on node 0, and a loop device."""
    sys = tmp_path / "sys"
    write(sys / "devices/system/node/node0/cpulist", "0-3")
    write(sys / "devices/system/node/node1/cpulist", "4-5,7")
    write(sys / "devices/pci0000:80/0000:80:17.0/numa_node", "1")
    write(sys / "devices/pci0000:80/0000:80:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/dev", "8:0")
    write(sys / "devices/pci0000:80/0000:80:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1/dev", "8:1")
    write(
        sys / "devices/pci0000:80/0000:80:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/sda1/partition", "1"
    )
    nvme = sys / "devices/pci0000:00/0000:00:04.0/nvme/nvme0"
    write(nvme / "numa_node", "0")
    write(nvme / "nvme0n1/dev", "259:0")
    (nvme / "nvme0n1/device").symlink_to("../../nvme0")
    write(sys / "devices/virtual/block/loop0/dev", "7:0")
    return SystemRoots(sys=sys, proc=tmp_path / "proc")


def disk(roots: SystemRoots, name: str) -> BlockDevice:
    (folder,) = (path.parent for path in roots.sys.rglob("dev") if path.parent.name == name)
    return BlockDevice(folder.resolve(), roots)


def target(device: BlockDevice | None, path: str = "/dev/null") -> OpenTarget:
    return OpenTarget(-1, TargetFacts(TargetKind.BLOCK, "x", path, 1, 512), device)


@pytest.mark.parametrize(("name", "node"), [("sda", 1), ("nvme0n1", 0), ("loop0", None)])
def test_the_node_is_that_of_the_nearest_device_above(roots, name, node) -> None:
    assert numa_node(disk(roots, name)) == node


@pytest.mark.parametrize(
    ("name", "cpus"), [("sda", (4, 5, 7)), ("sda1", (4, 5, 7)), ("nvme0n1", (0, 1, 2, 3)), ("loop0", ())]
)
def test_the_processors_are_those_of_the_node(roots, name, cpus) -> None:
    assert cpus_near(target(disk(roots, name)), roots) == cpus


def test_a_kernel_that_knows_no_node_writes_minus_one(roots) -> None:
    write(roots.sys / "devices/pci0000:80/0000:80:17.0/numa_node", "-1")
    assert cpus_near(target(disk(roots, "sda")), roots) == ()


def test_a_mapped_device_over_two_nodes_is_near_neither(roots) -> None:
    folder = roots.sys / "devices/virtual/block/dm-0"
    write(folder / "dev", "253:0")
    (folder / "slaves").mkdir()
    (folder / "slaves/sda").symlink_to(disk(roots, "sda").folder)
    assert cpus_near(target(disk(roots, "dm-0")), roots) == (4, 5, 7)
    (folder / "slaves/nvme0n1").symlink_to(disk(roots, "nvme0n1").folder)
    assert cpus_near(target(disk(roots, "dm-0")), roots) == ()


def test_a_file_is_near_the_drive_below_it(roots) -> None:
    write(roots.proc / "self/mountinfo", "1 0 8:1 / /data rw - ext4 /dev/sda1 rw")
    (roots.sys / "dev/block").mkdir(parents=True)
    (roots.sys / "dev/block/8:1").symlink_to(disk(roots, "sda1").folder)
    assert cpus_near(target(None, "/data/scratch"), roots) == (4, 5, 7)
    assert cpus_near(target(None, "/elsewhere"), roots) == ()


def test_a_node_without_a_list_or_with_nonsense_has_no_processors(roots) -> None:
    write(roots.sys / "devices/system/node/node1/cpulist", "all")
    assert cpus_near(target(disk(roots, "sda")), roots) == ()
    (roots.sys / "devices/system/node/node1/cpulist").unlink()
    assert cpus_near(target(disk(roots, "sda")), roots) == ()


@given(st.sets(st.integers(0, 4095), min_size=1))
def test_any_set_of_processors_comes_back(cpus) -> None:
    assert parse_cpu_list(",".join(map(str, sorted(cpus)))) == tuple(sorted(cpus))


@pytest.mark.parametrize("text", ["", "a", "3-1", "1-", "-1", "1,,2", "1-2-3", "0x1"])
def test_what_is_no_list_is_refused(text) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_cpu_list(text)


BACKPLANE = "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/target0:0:8/0:0:8:0"


@pytest.fixture
def machine(tmp_path) -> SystemRoots:
    """A drive in a slot of its own, one on a card behind a switch, and a SAS disk in a bay."""
    sys = tmp_path / "sys"
    for number, way in enumerate(("0000:80:01.0/0000:81:00.0", "0000:80:02.0/0000:90:00.0/0000:91:00.0")):
        controller = sys / "devices/pci0000:80" / way / f"nvme/nvme{number}"
        write(controller / "transport", "pcie")
        write(controller / f"nvme{number}n1/dev", f"259:{number}")
        (controller / f"nvme{number}n1/device").symlink_to(f"../../nvme{number}")
    write(sys / "bus/pci/slots/3/address", "0000:81:00")
    write(sys / "bus/pci/slots/7/address", "0000:90:00")
    disk_in = sys / "devices/pci0000:00/0000:00:01.0/0000:01:00.0/host0/target0:0:1/0:0:1:0"
    write(disk_in / "scsi_level", "7")
    write(disk_in / "block/sda/dev", "8:0")
    (disk_in / "block/sda/device").symlink_to("../../../0:0:1:0")
    write(sys / "bus/pci/slots/1/address", "0000:01:00")  # of the adapter
    bay = sys / BACKPLANE / "enclosure/0:0:8:0/Bay 04"
    write(bay / "slot", "4")
    (bay / "device").symlink_to(disk_in)
    (sys / "class/enclosure").mkdir(parents=True)
    (sys / "class/enclosure/0:0:8:0").symlink_to(sys / BACKPLANE / "enclosure/0:0:8:0")
    return SystemRoots(sys=sys, dev=tmp_path / "dev")


def disk_in(machine: SystemRoots, name: str) -> BlockDevice:
    (folder,) = (path.parent for path in machine.sys.rglob("dev") if path.parent.name == name)
    return BlockDevice(folder.resolve(), machine)


@pytest.mark.parametrize(
    ("name", "place", "source"),
    [
        ("nvme0n1", "3", "bus/pci/slots/3/address"),
        ("nvme1n1", "7/0000:91:00.0", "bus/pci/slots/7/address"),
        ("sda", "4", "class/enclosure/0:0:8:0/Bay 04"),
    ],
)
def test_a_slot_is_that_of_the_drive_with_its_source(machine, name, place, source) -> None:
    found = slot(disk_in(machine, name), machine)
    assert (found.value, found.source) == (place, str(machine.sys / source))


def test_bays_of_several_enclosures_have_the_name_of_theirs(machine) -> None:
    (machine.sys / "class/enclosure/0:0:9:0").mkdir()
    assert slot(disk_in(machine, "sda"), machine).value == "0:0:8:0/4"


def test_without_slot_or_bay_the_path_says_where(machine) -> None:
    """A SCSI disk is in no PCI slot: its adapter is."""
    (machine.sys / "class/enclosure/0:0:8:0").unlink()
    assert slot(disk_in(machine, "sda"), machine).value is None
    link = machine.dev / "disk/by-path/pci-0000:01:00.0-sas-phy1-lun-0"
    link.parent.mkdir(parents=True)
    write(machine.dev / "sda", "")
    link.symlink_to("../../sda")
    found = slot(disk_in(machine, "sda"), machine)
    assert (found.value, found.source) == (link.name, str(link))

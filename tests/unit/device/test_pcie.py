from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.identity.interface import hardware_folder
from openpts.device.link.pcie import Link, pci_functions, pcie_link
from openpts.system_files import SystemRoots


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

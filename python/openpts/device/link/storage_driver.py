"""The driver that a drive is reached by, with its version where it has one of its own."""

from openpts.device.block_device import BlockDevice
from openpts.device.identity.interface import hardware_folder
from openpts.device.link.pcie import pci_functions
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.facts import Fact


# SOL-SYS-05
def storage_driver(device: BlockDevice, roots: SystemRoots) -> Fact:
    """Such as ``nvme 1.0``; a driver without a version of its own has the kernel's."""
    for folder in pci_functions(hardware_folder(device)):
        link = folder / "driver"
        if link.exists():
            name = link.resolve().name
            own = read_text(roots.sys / "module" / name / "version")
            return Fact(f"{name} {own}" if own else f"{name}, of the kernel", str(link))
    return Fact(None, "no PCI function above the drive has a driver")

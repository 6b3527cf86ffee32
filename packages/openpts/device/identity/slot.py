"""Where in the machine a drive sits: the slot that its makers numbered, else the path to it."""

from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.interface import hardware_folder
from openpts.device.link.pcie import pci_functions
from openpts.system_files import SystemRoots, printable, read_text
from openpts.vocabulary.facts import Fact

_SLOTS: Final = "bus/pci/slots"
_ENCLOSURES: Final = "class/enclosure"
_BY_PATH: Final = "disk/by-path"


def slot(device: BlockDevice, roots: SystemRoots) -> Fact:
    """A bay of an enclosure (SES), else of an NVMe drive the PCI slot, else udev's name of the path.

    A SCSI drive is in no PCI slot: its adapter is.
    """
    found = _bay(device, roots)
    if found is None and device.kind is DeviceKind.NVME:
        found = _pci_slot(device, roots)
    return found or _path(device, roots)


def _bay(device: BlockDevice, roots: SystemRoots) -> Fact | None:
    """``ENCLOSURE/BAY``; the bay alone if there is one enclosure."""
    enclosures = sorted((roots.sys / _ENCLOSURES).glob("*"))
    hardware = (device.folder / "device").resolve()
    for enclosure in enclosures:
        for link in sorted(enclosure.glob("*/device")):
            if link.resolve() == hardware:
                bay = read_text(link.parent / "slot") or printable(link.parent.name)
                name = bay if len(enclosures) == 1 else f"{enclosure.name}/{bay}"
                return Fact(name, str(link.parent))
    return None


def _pci_slot(device: BlockDevice, roots: SystemRoots) -> Fact | None:
    """The slot's name; with the function's address behind it for a drive on a card that carries several."""
    slots = {
        address: folder
        for folder in sorted((roots.sys / _SLOTS).glob("*"))
        if (address := read_text(folder / "address"))
    }
    functions = [function.name for function in pci_functions(hardware_folder(device))]
    for function in functions:
        folder = slots.get(function.rpartition(".")[0])
        if folder is not None:
            is_own, name = function == functions[0], printable(folder.name)
            return Fact(name if is_own else f"{name}/{functions[0]}", str(folder / "address"))
    return None


def _path(device: BlockDevice, roots: SystemRoots) -> Fact:
    folder = roots.dev / _BY_PATH
    for link in sorted(folder.glob("*")):
        if link.resolve() == device.node.resolve():
            return Fact(printable(link.name), str(link))
    return Fact(
        None, f"in no bay of {roots.sys / _ENCLOSURES}, in no slot of {roots.sys / _SLOTS}, not in {folder}"
    )

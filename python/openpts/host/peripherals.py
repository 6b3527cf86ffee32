"""The PCI functions that can disturb a measurement, or be needed for one: storage, network, display."""

from collections import Counter
from pathlib import Path
from typing import Final

from openpts.system_files import SystemRoots, pci_name, read_text
from openpts.vocabulary.facts import Fact

# PCI Code and ID Assignment: the base class is the first byte of the class code
_CLASSES: Final = {"0x01": "storage", "0x02": "network", "0x03": "display", "0x12": "accelerator"}


def peripherals_fact(roots: SystemRoots) -> Fact:
    """Such as ``storage: 2 x Samsung NVMe SSD; network: Intel X710``, sorted; IDs without a pci.ids."""
    folder = roots.sys / "bus/pci/devices"
    functions = Counter(_identity(function) for function in folder.glob("*"))
    groups = []
    for code, class_name in _CLASSES.items():
        names = [
            _times(count, pci_name(vendor, device, roots) or "a function without an ID")
            for (base_class, vendor, device), count in functions.items()
            if base_class == code
        ]
        if names:
            groups.append(f"{class_name}: {', '.join(sorted(names))}")
    return Fact("; ".join(groups) or None, str(folder))


def _identity(function: Path) -> tuple[str, str | None, str | None]:
    """Base class, vendor and device of a PCI function."""
    pci_class = read_text(function / "class") or ""
    return pci_class[:4], read_text(function / "vendor"), read_text(function / "device")


def _times(count: int, name: str) -> str:
    return name if count == 1 else f"{count} x {name}"

"""What the device under test is (PTS 5.4): every fact with the place it was read from, none guessed."""

import os
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind, device_of_mount, find_mount
from openpts.device.identity.ata_identify import (
    VPD_PAGE,
    first_attribute,
    model,
    name_with_model,
    read_ata_identity,
    serial_number,
)
from openpts.device.identity.interface import hardware_folder, host_bus_adapter, interface, media
from openpts.device.link.pcie import pci_functions, pcie_link
from openpts.device.nvme.nvme_admin import NvmeCommandError, identify_controller
from openpts.device.nvme.nvme_identify import NvmeController
from openpts.device.nvme.nvme_subsystem import NvmeSubsystem
from openpts.system_files import Mount, SystemRoots, pci_name, printable, read_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import Fact, Facts, TargetFacts, TargetKind

_SLOTS: Final = "bus/pci/slots"
_ENCLOSURES: Final = "class/enclosure"


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
    folder = roots.dev / "disk/by-path"
    for link in sorted(folder.glob("*")):
        if link.resolve() == device.node.resolve():
            return Fact(printable(link.name), str(link))
    return Fact(
        None, f"in no bay of {roots.sys / _ENCLOSURES}, in no slot of {roots.sys / _SLOTS}, not in {folder}"
    )


_ONLY_OF_DRIVES: Final = (
    "manufacturer",
    "serial",
    "firmware",
    "form_factor",
    "media",
    "nand_type",
    "features",
    "pcie",
    "hba",
)


def _file_facts(target: TargetFacts, roots: SystemRoots) -> Facts:
    """The facts of a file; what only a drive has is left open, for the drive is not what is tested."""
    mount = find_mount(Path(target.path), roots)
    source = f"{roots.proc}/self/mountinfo"
    facts = {
        **dict.fromkeys(_ONLY_OF_DRIVES, Fact(None, "the target is a file")),
        "sector": Fact(f"{target.sector_bytes} B", "alignment that direct I/O on the file asks for"),
    }
    if mount is None:
        return facts | dict.fromkeys(("model", "interface", "file_system"), Fact(None, source))
    return facts | {
        "model": Fact(f"file on {mount.fs_type} on {_below(mount, roots)}", source),
        "interface": Fact(f"file system {mount.fs_type}", source),
        "file_system": Fact(_describe(mount, roots), source),
    }


def _describe(mount: Mount, roots: SystemRoots) -> str:
    """Type, version (a file system is as old as its kernel) and options."""
    kernel = read_text(roots.proc / "sys/kernel/osrelease") or "unknown"
    return f"{mount.fs_type} of Linux {kernel}, {mount.options}, mounted at {printable(mount.mount_point)}"


def _below(mount: Mount, roots: SystemRoots) -> str:
    device = device_of_mount(mount, roots)
    if device is None:
        return printable(mount.source)
    return " and ".join(name_with_model(disk) for disk in device.whole.beneath)


_RAW: Final = Fact("none (raw block device)", "the target is a block device")
_NO_NAND_FIELD: Final = Fact(None, "no standard field reports it")
# SBC: nominal form factor in byte 7 of VPD page B1h
_SCSI_FORM_FACTOR_PAGE: Final = "device/vpd_pgb1"
_SCSI_FORM_FACTORS: Final = {
    1: "5.25 inch",
    2: "3.5 inch",
    3: "2.5 inch",
    4: "1.8 inch",
    5: "smaller than 1.8 inch",
}


def dut_facts(target: TargetFacts, roots: SystemRoots) -> Facts:
    """The facts of a target under the keys of the report's header.

    Of an NVMe drive the node is opened for reading to identify the controller; all else is sysfs.
    Raises TargetError if the drive has gone.
    """
    size_bytes = target.user_capacity_bytes
    source = "st_size" if target.kind is TargetKind.FILE else "BLKGETSIZE64"
    facts = {"capacity": Fact(f"{format_capacity(size_bytes)} ({size_bytes:,} bytes)", source)}
    if target.kind is TargetKind.FILE:
        return facts | _file_facts(target, roots)
    device = BlockDevice.of_name(target.name, roots)
    return facts | drive_facts(device, roots, *identified_controller(device))


def drive_facts(
    device: BlockDevice, roots: SystemRoots, controller: NvmeController | None, controller_source: str
) -> Facts:
    """The facts of a drive, read from sysfs but for what ``controller`` says."""
    paths = NvmeSubsystem.of(device).paths_fact(device)
    found = media(device)
    sizes = {kind: device.integer(f"queue/{kind}_block_size") for kind in ("logical", "physical")}
    text = ", ".join(f"{size_bytes} B {kind}" for kind, size_bytes in sizes.items() if size_bytes)
    return {
        "manufacturer": _manufacturer(device, roots),
        "model": model(device),
        "serial": serial_number(device),
        "firmware": _firmware(device),
        "interface": interface(device, controller),
        "form_factor": _form_factor(device),
        "media": Fact(None if found.kind is None else str(found), found.source),
        "nand_type": _NO_NAND_FIELD,
        "features": _features(device, controller, controller_source),
        "sector": Fact(text or None, device.place("queue")),
        "file_system": _RAW,
        "pcie": pcie_link(hardware_folder(device)),
        "hba": host_bus_adapter(device, roots),
        "slot": slot(device, roots),
        **({} if paths is None else {"paths": paths}),
    }


def identified_controller(device: BlockDevice) -> tuple[NvmeController | None, str]:
    """The identified controller of an NVMe drive, and the source or the reason why there is none."""
    if device.kind is not DeviceKind.NVME:
        return None, "not an NVMe drive"
    try:
        fd = os.open(device.node, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return None, f"{device.node} can't be opened: {error.strerror}"
    try:
        return identify_controller(fd), "NVMe Identify Controller"
    except NvmeCommandError as error:
        return None, f"NVMe Identify Controller failed: {error}"
    finally:
        os.close(fd)


def _manufacturer(device: BlockDevice, roots: SystemRoots) -> Fact:
    if device.kind is DeviceKind.SCSI:
        return first_attribute(device, "device/vendor")
    functions = pci_functions(hardware_folder(device))
    if device.kind is not DeviceKind.NVME or not functions:
        return Fact(None, f"{device.kind} has no field for it")
    vendor = functions[0] / "vendor"
    return Fact(pci_name(read_text(vendor), None, roots), str(vendor))


def _firmware(device: BlockDevice) -> Fact:
    identity = read_ata_identity(device)
    if identity is not None and identity.firmware:
        return Fact(identity.firmware, device.place(VPD_PAGE))
    return first_attribute(device, "device/firmware_rev", "device/rev", "device/fwrev")


def _form_factor(device: BlockDevice) -> Fact:
    identity = read_ata_identity(device)
    if identity is not None:
        return Fact(identity.form_factor, f"{device.place(VPD_PAGE)}, word 168")
    try:
        page = (device.folder / _SCSI_FORM_FACTOR_PAGE).read_bytes()
        form_factor = _SCSI_FORM_FACTORS.get(page[7] & 0xF)
    except (OSError, IndexError):
        return Fact(None, f"{device.kind} has no field for it")
    return Fact(form_factor, f"{device.place(_SCSI_FORM_FACTOR_PAGE)}, byte 7")


def _features(device: BlockDevice, controller: NvmeController | None, controller_source: str) -> Fact:
    if device.kind is DeviceKind.NVME:
        return Fact(", ".join(controller.features) if controller else None, controller_source)
    identity = read_ata_identity(device)
    if identity is not None:
        return Fact(", ".join(identity.features) or None, device.place(VPD_PAGE))
    discards = device.integer("queue/discard_max_bytes")
    return Fact("discard" if discards else None, device.place("queue/discard_max_bytes"))

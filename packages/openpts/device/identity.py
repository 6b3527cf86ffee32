"""What the device under test is (PTS 5.4): every fact with the place it was read from, none guessed.

Interface, speed and adapter, and whether it is flash or platters. Writes to no drive.
"""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import (
    VPD_PAGE,
    AtaIdentity,
    first_attribute,
    model,
    name_with_model,
    read_ata_identity,
    serial_number,
)
from openpts.device.block_device import BlockDevice, DeviceKind, device_of_mount, find_mount
from openpts.device.link import hardware_folder, nvme_controller_folder, pci_functions, pcie_link
from openpts.device.nvme_admin import NvmeCommandError, NvmeController, identify_controller
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.system_files import Mount, SystemRoots, closed_at_end, pci_name, printable, read_bytes, read_text
from openpts.units import format_capacity
from openpts.vocabulary.facts import ROTATIONAL, SOLID_STATE, Fact, Facts, TargetFacts, TargetKind

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
    "manufacturer", "serial", "firmware", "form_factor", "media", "nand_type", "features", "pcie", "hba",
)  # fmt: skip


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
# SBC: nominal form factor in byte 7 of the page
_BLOCK_CHARACTERISTICS: Final = "device/vpd_pgb1"
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
    identity, found = read_ata_identity(device), media(device)
    sizes = {kind: device.integer(f"queue/{kind}_block_size") for kind in ("logical", "physical")}
    text = ", ".join(f"{size_bytes} B {kind}" for kind, size_bytes in sizes.items() if size_bytes)
    return {
        "manufacturer": _manufacturer(device, roots),
        "model": model(device),
        "serial": serial_number(device),
        "firmware": _firmware(device, identity),
        "interface": interface(device, controller),
        "form_factor": _form_factor(device, identity),
        "media": Fact(None if found.kind is None else str(found), found.source),
        "nand_type": _NO_NAND_FIELD,
        "features": Fact(", ".join(controller.features) if controller else None, controller_source)
        if device.kind is DeviceKind.NVME
        else _features(device, identity),
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
        with closed_at_end(os.open(device.node, os.O_RDONLY | os.O_CLOEXEC)) as fd:
            return identify_controller(fd), "NVMe Identify Controller"
    except OSError as error:
        return None, f"{device.node} can't be opened: {error.strerror}"
    except NvmeCommandError as error:
        return None, f"NVMe Identify Controller failed: {error}"


def _manufacturer(device: BlockDevice, roots: SystemRoots) -> Fact:
    if device.kind is DeviceKind.SCSI:
        return first_attribute(device, "device/vendor")
    functions = pci_functions(hardware_folder(device))
    if device.kind is not DeviceKind.NVME or not functions:
        return Fact(None, f"{device.kind} has no field for it")
    vendor = functions[0] / "vendor"
    return Fact(pci_name(read_text(vendor), None, roots), str(vendor))


def _firmware(device: BlockDevice, identity: AtaIdentity | None) -> Fact:
    if identity is not None and identity.firmware:
        return Fact(identity.firmware, device.place(VPD_PAGE))
    return first_attribute(device, "device/firmware_rev", "device/rev", "device/fwrev")


def _form_factor(device: BlockDevice, identity: AtaIdentity | None) -> Fact:
    if identity is not None:
        return Fact(identity.form_factor, f"{device.place(VPD_PAGE)}, word 168")
    page = read_bytes(device.folder / _BLOCK_CHARACTERISTICS) or b""
    if len(page) <= 7:
        return Fact(None, f"{device.kind} has no field for it")
    return Fact(_SCSI_FORM_FACTORS.get(page[7] & 0xF), f"{device.place(_BLOCK_CHARACTERISTICS)}, byte 7")


def _features(device: BlockDevice, identity: AtaIdentity | None) -> Fact:
    if identity is not None:
        return Fact(", ".join(identity.features) or None, device.place(VPD_PAGE))
    discards = device.integer("queue/discard_max_bytes")
    return Fact("discard" if discards else None, device.place("queue/discard_max_bytes"))


_HOST_FIRMWARE_ATTRIBUTES: Final = ("version_fw", "fw_version", "firmware_rev", "fwrev")


def interface(device: BlockDevice, controller: NvmeController | None) -> Fact:
    """Interface and its speed; an NVMe version only if the controller could be identified."""
    match device.kind:
        case DeviceKind.NVME:
            folder = nvme_controller_folder(device)
            if folder is None:
                return Fact("NVMe", f"{device.folder}/device names no transport")
            transport = {"pcie": "PCIe", "tcp": "TCP", "rdma": "RDMA", "fc": "Fibre Channel"}
            named = read_text(folder / "transport") or ""
            version = f" {controller.version}" if controller is not None and controller.version else ""
            source = f"{folder}/transport{'; NVMe Identify Controller' if version else ''}"
            return Fact(f"NVMe{version} over {transport.get(named, named)}", source)
        case DeviceKind.ATA | DeviceKind.SCSI:
            for parent in device.folder.parents:
                if speeds := sorted(parent.glob("link*/ata_link/link*/sata_spd")):
                    return _with_speed("SATA", speeds[0])
                if parent.name.startswith("end_device-"):
                    rates = sorted(parent.parent.glob("phy-*/sas_phy/phy-*/negotiated_linkrate"))
                    protocol = "SATA behind SAS" if device.kind is DeviceKind.ATA else "SAS"
                    return _with_speed(protocol, rates[0]) if rates else Fact(protocol, str(parent))
                if parent.name.startswith("usb") and (parent / "speed").exists():
                    return Fact("USB", str(parent))
            return Fact("SCSI", str(device.folder))
        case DeviceKind.OTHER:
            return Fact(None, f"{device.place('')} does not report it")
        case kind:
            return Fact(kind.value, device.place(""))


def host_bus_adapter(device: BlockDevice, roots: SystemRoots) -> Fact:
    """The PCI function that the drive hangs on, with its driver and firmware; none for PCIe drives."""
    if device.kind is DeviceKind.NVME:
        controller = nvme_controller_folder(device)
        transport = read_text(controller / "transport") if controller else None
        source = f"{controller or device.folder}/transport"
        return Fact("none (direct PCIe)" if transport == "pcie" else None, source)
    functions = pci_functions(device.folder)
    if not functions:
        return Fact(None, f"{device.folder} has no PCI function above it")
    function = functions[0]
    name = pci_name(read_text(function / "vendor"), read_text(function / "device"), roots)
    parts = [name or "PCI function without an ID"]
    if (function / "driver").exists():
        parts.append(f"driver {(function / 'driver').resolve().name}")
    if firmware := _host_firmware(device):
        parts.append(f"firmware {firmware}")
    return Fact(", ".join(parts), str(function))


def _with_speed(protocol: str, attribute: Path) -> Fact:
    speed = read_text(attribute)
    known = speed is not None and speed[:1].isdecimal()
    return Fact(f"{protocol}, {speed}" if known else protocol, str(attribute))


def _host_firmware(device: BlockDevice) -> str | None:
    for parent in device.folder.parents:
        for host in parent.glob("scsi_host/host*"):
            for attribute in _HOST_FIRMWARE_ATTRIBUTES:
                if text := read_text(host / attribute):
                    return text
    return None


# ACS (word 217) and SBC (VPD page B1h, bytes 4 and 5) count alike
_DOES_NOT_TURN: Final = 0x0001
_SLOWEST_RPM: Final = 0x0401
_FASTEST_RPM: Final = 0xFFFE


class Media(Struct, frozen=True):
    """``kind`` is None where neither drive nor kernel knows; ``rpm`` None where none is reported."""

    kind: str | None
    rpm: int | None
    source: str

    @property
    def is_rotational(self) -> bool:
        """Whether it has platters."""
        return self.kind == ROTATIONAL

    def __str__(self) -> str:
        if not self.is_rotational:
            return self.kind or "not reported"
        return f"{ROTATIONAL}, {f'{self.rpm:,} rpm' if self.rpm else 'speed not reported'}"


def media(device: BlockDevice) -> Media:
    """What the drive says of its media, else what the kernel takes it for."""
    if device.kind is DeviceKind.ATA and (identity := read_ata_identity(device)) is not None:
        if reported := _by_rotation_rate(identity.rotation_rate, f"{device.place(VPD_PAGE)}, word 217"):
            return reported
    elif device.kind is DeviceKind.SCSI:
        rate = _scsi_rotation_rate(device)
        if reported := _by_rotation_rate(rate, f"{device.place(_BLOCK_CHARACTERISTICS)}, bytes 4 and 5"):
            return reported
    if device.is_made_of_others and device.kind is not DeviceKind.NVME:
        return Media(None, None, f"{device.name} is made by the kernel")
    rotational = device.text("queue/rotational")
    kind = {"0": SOLID_STATE, "1": ROTATIONAL}.get(rotational or "")
    if device.kind is DeviceKind.VIRTIO:
        return Media(
            None, None, f"the host behind virtio says nothing that {device.place('queue')} could hold"
        )
    return Media(kind, None, device.place("queue/rotational"))


def _by_rotation_rate(rate: int | None, source: str) -> Media | None:
    if rate == _DOES_NOT_TURN:
        return Media(SOLID_STATE, None, source)
    if rate is not None and _SLOWEST_RPM <= rate <= _FASTEST_RPM:
        return Media(ROTATIONAL, rate, source)
    return None


def _scsi_rotation_rate(device: BlockDevice) -> int | None:
    page = read_bytes(device.folder / _BLOCK_CHARACTERISTICS) or b""
    return int.from_bytes(page[4:6], "big") if len(page) >= 6 and page[1] == 0xB1 else None

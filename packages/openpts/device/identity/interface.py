"""The interface of a drive, its speed, its adapter, and whether it is flash or platters."""

from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.ata_identify import VPD_PAGE, read_ata_identity
from openpts.device.link.pcie import pci_functions
from openpts.device.nvme.nvme_identify import NvmeController
from openpts.system_files import SystemRoots, pci_name, read_text
from openpts.vocabulary.facts import ROTATIONAL, SOLID_STATE, Fact

_HOST_FIRMWARE_ATTRIBUTES: Final = ("version_fw", "fw_version", "firmware_rev", "fwrev")


def nvme_controller_folder(device: BlockDevice) -> Path | None:
    """The controller behind a namespace, links resolved; with several paths to it the first one."""
    above = device.folder / "device"
    # with multipath the device above is the subsystem, which lists its controllers
    candidates = (above, *sorted(above.glob("nvme*")))
    return next((found.resolve() for found in candidates if (found / "transport").exists()), None)


def hardware_folder(device: BlockDevice) -> Path:
    """Where to start the way up to the bus: a multipath namespace hangs on no bus itself."""
    return (nvme_controller_folder(device) if device.kind is DeviceKind.NVME else None) or device.folder


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
            return Fact(None, f"{device.place('')} doesn't tell")
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
_BLOCK_CHARACTERISTICS: Final = "device/vpd_pgb1"


class Media(Struct, frozen=True):
    """``kind`` is None where neither drive nor kernel knows; ``rpm`` None where nothing turns or tells."""

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
    try:
        page = (device.folder / _BLOCK_CHARACTERISTICS).read_bytes()
    except OSError:
        return None
    return int.from_bytes(page[4:6], "big") if len(page) >= 6 and page[1] == 0xB1 else None

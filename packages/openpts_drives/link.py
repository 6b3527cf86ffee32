"""The link that a drive has negotiated, the most that it could be, and what keeps it from that."""

import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.ata_identify import read_ata_identity
from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.link import hardware_folder, nvme_controller_folder, read_pcie_link
from openpts.system_files import read_text

# 6.0 Gbps of libata, 12.0 Gbit of the SAS transport
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:Gbps|Gbit)")
_MBIT_PER_GBIT: Final = 1000


class NegotiatedLink(Struct, frozen=True):
    """``current`` such as ``Gen 4 x4`` or ``6 Gbit/s``, None where nothing tells; ``most`` likewise.

    ``warnings`` say why it is less than it could be; ``source`` is where it was read, or why it wasn't.
    """

    current: str | None
    most: str | None
    warnings: tuple[str, ...]
    source: str


def negotiated_link(device: BlockDevice) -> NegotiatedLink:
    """The link between a drive and this machine, read from sysfs alone."""
    match device.kind:
        case DeviceKind.NVME:
            return _nvme(device)
        case DeviceKind.ATA | DeviceKind.SCSI:
            return _scsi(device)
        case kind:
            return NegotiatedLink(None, None, (), f"{kind} shows no link")


def _nvme(device: BlockDevice) -> NegotiatedLink:
    controller = nvme_controller_folder(device)
    transport = read_text(controller / "transport") if controller else None
    if controller is not None and transport not in {None, "pcie"}:
        address = read_text(controller / "address")
        return NegotiatedLink(address, None, (), f"{controller}/address")
    link = read_pcie_link(hardware_folder(device))
    if link is None:
        return NegotiatedLink(None, None, (), f"{hardware_folder(device)} reports no PCIe link")
    most = None if link.device_most is None else str(link.device_most)
    return NegotiatedLink(
        str(link.current), most, link.shortfalls, "current_link_*, max_link_* of PCI in sysfs"
    )


def _scsi(device: BlockDevice) -> NegotiatedLink:
    for parent in device.folder.parents:
        if speeds := sorted(parent.glob("link*/ata_link/link*/sata_spd")):
            return _sata(device, speeds[0])
        if parent.name.startswith("end_device-"):
            phys = sorted(parent.parent.glob("phy-*/sas_phy/phy-*"))
            return _sas(phys) if phys else NegotiatedLink(None, None, (), f"{parent.parent} has no phy")
        if parent.name.startswith("usb") and (own := _usb_device(device)) is not None:
            return _usb(own)
    return NegotiatedLink(None, None, (), f"{device.place('')} hangs on no SATA, SAS or USB link")


def _sata(device: BlockDevice, attribute: Path) -> NegotiatedLink:
    """The drive's most is in its identify data, the port's is libata's limit of the hardware."""
    current = gbit_per_s(attribute)
    port = gbit_per_s(attribute.with_name("hw_sata_spd_limit"))
    identity = read_ata_identity(device)
    drive = identity.fastest_sata_gbit_per_s if identity is not None else None
    warnings = []
    if current is not None and drive is not None and current < drive:
        slow_port = port is not None and port < drive
        why = (
            f"the port can do {_rate(port)} only"
            if slow_port and port
            else "see dmesg, and try another cable"
        )
        warnings.append(
            f"the SATA link runs at {_rate(current)}, though the drive can do {_rate(drive)}: {why}"
        )
    return NegotiatedLink(_rate(current), _rate(drive or port), tuple(warnings), str(attribute))


def _sas(phys: list[Path]) -> NegotiatedLink:
    """The kernel tells of the phys of a port; the drive's own end may be able to do less."""
    rates = [(rate, phy) for phy in phys if (rate := gbit_per_s(phy / "negotiated_linkrate")) is not None]
    if not rates:
        return NegotiatedLink(None, None, (), f"{phys[0]}/negotiated_linkrate")
    current, phy = min(rates, key=lambda pair: pair[0])
    most = gbit_per_s(phy / "maximum_linkrate_hw")
    lanes = f" x{len(rates)}" if len(rates) > 1 else ""
    below = most is not None and current < most
    warnings = (
        (f"the SAS link runs at {_rate(current)}, though the adapter can do {_rate(most)}",) if below else ()
    )
    return NegotiatedLink(f"{_rate(current)}{lanes}", _rate(most), warnings, f"{phy}/negotiated_linkrate")


def _usb_device(device: BlockDevice) -> Path | None:
    """The USB device that a disk is: the nearest folder above that tells a speed."""
    return next((parent for parent in device.folder.parents if (parent / "bMaxPacketSize0").exists()), None)


def _usb(folder: Path) -> NegotiatedLink:
    """A device tells the USB version that it follows; one that follows 3.0 can do 5 Gbit/s at least."""
    speed = read_text(folder / "speed") or ""
    version = read_text(folder / "version") or ""
    if not speed.isdecimal():
        return NegotiatedLink(None, None, (), f"{folder}/speed")
    gbit_per_s = int(speed) / _MBIT_PER_GBIT
    slow = version.startswith("3") and gbit_per_s < 5
    warnings = (f"the drive follows USB {version}, but its link runs at {_rate(gbit_per_s)}",) if slow else ()
    return NegotiatedLink(_rate(gbit_per_s), None, warnings, f"{folder}/speed")


def gbit_per_s(attribute: Path) -> float | None:
    """The rate in an attribute of a SATA link or a SAS phy; None where it tells none."""
    match = _RATE.fullmatch(read_text(attribute) or "")
    return float(match[1]) if match else None


def _rate(gbit_per_s: float | None) -> str | None:
    return None if gbit_per_s is None else f"{gbit_per_s:g} Gbit/s"

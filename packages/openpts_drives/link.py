"""The link that a drive has negotiated, and the links from there to the processor, with what each carries.

Of two ends of one link, and of links one above the other with the same drives, the slowest counts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.device.ata_identify import read_ata_identity
from openpts.device.block_device import BlockDevice, DeviceKind, whole_drives
from openpts.device.link import (
    hardware_folder,
    link_of,
    nvme_controller_folder,
    pci_functions,
    read_pcie_link,
)
from openpts.gauge import Gauge, Growth, Values
from openpts.system_files import SystemRoots, read_text
from openpts.units import GB
from openpts.vocabulary.bandwidth import SERIAL_PAYLOAD_SHARE, serial_bytes_per_s

# 6.0 Gbps of libata, 12.0 Gbit of the SAS transport
_RATE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:Gbps|Gbit)")
_MBIT_PER_GBIT: Final = 1000


class NegotiatedLink(Struct, frozen=True):
    """``current`` such as ``Gen 4 x4`` or ``6 Gbit/s``, None where nothing reports it; ``most`` likewise.

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
    """The kernel reports the phys of a port; the drive's own end may be able to do less."""
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
    """The USB device that a disk is: the nearest folder above that has a speed."""
    return next((parent for parent in device.folder.parents if (parent / "bMaxPacketSize0").exists()), None)


def _usb(folder: Path) -> NegotiatedLink:
    """A device reports the USB version that it follows; one that follows 3.0 can do 5 Gbit/s at least."""
    speed = read_text(folder / "speed") or ""
    version = read_text(folder / "version") or ""
    if not speed.isdecimal():
        return NegotiatedLink(None, None, (), f"{folder}/speed")
    gbit_per_s = int(speed) / _MBIT_PER_GBIT
    slow = version.startswith("3") and gbit_per_s < 5
    warnings = (f"the drive follows USB {version}, but its link runs at {_rate(gbit_per_s)}",) if slow else ()
    return NegotiatedLink(_rate(gbit_per_s), None, warnings, f"{folder}/speed")


def gbit_per_s(attribute: Path) -> float | None:
    """The rate in an attribute of a SATA link or a SAS phy; None where it has none."""
    match = _RATE.fullmatch(read_text(attribute) or "")
    return float(match[1]) if match else None


def _rate(gbit_per_s: float | None) -> str | None:
    return None if gbit_per_s is None else f"{gbit_per_s:g} Gbit/s"


class HostLink(Struct, frozen=True):
    """``payload_bytes_per_s`` is what it carries for data in each direction; ``disks`` are the kernel's names
    of all drives behind it, ``ends`` how many devices these are: an NVMe drive may have several namespaces.
    """

    name: str
    payload_bytes_per_s: float
    disks: tuple[str, ...]
    ends: int

    @property
    def is_shared(self) -> bool:
        """Whether several drives use it."""
        return self.ends > 1


class HostPath(Struct, frozen=True):
    """The links from a drive upwards. ``drive_bytes_per_s`` is what the drive's own end of its link can carry
    at most: with less, its link is the host's limit; None where the drive does not report it.
    """

    disk: str
    links: tuple[HostLink, ...]
    drive_bytes_per_s: float | None

    @property
    def of_host(self) -> tuple[HostLink, ...]:
        """Links at which the host can be the limit: shared ones, and one that is slower than the drive."""
        most = self.drive_bytes_per_s
        return tuple(
            link
            for link in self.links
            if link.is_shared or (most is not None and link.payload_bytes_per_s < most)
        )


def host_paths(devices: Sequence[BlockDevice], roots: SystemRoots) -> tuple[HostPath, ...]:
    """The path of each whole disk, read from sysfs; without links where sysfs has none. Never raises."""
    folders = {disk.name: hardware_folder(disk) for disk in whole_drives(roots) if not disk.is_made_of_others}
    return tuple(HostPath(device.name, _links(device, folders), _drive_most(device)) for device in devices)


def _links(device: BlockDevice, folders: Mapping[str, Path]) -> tuple[HostLink, ...]:
    """One for each set of drives: the slowest of those that lead to the same."""
    found: dict[tuple[str, ...], HostLink] = {}
    for place, name, payload_bytes_per_s in _rates(device):
        behind = {disk: folder for disk, folder in folders.items() if folder.is_relative_to(place)}
        disks = tuple(behind) or (device.name,)
        link = HostLink(name, payload_bytes_per_s, disks, max(1, len(set(behind.values()))))
        if disks not in found or payload_bytes_per_s < found[disks].payload_bytes_per_s:
            found[disks] = link
    return tuple(found.values())


def _rates(device: BlockDevice) -> Iterator[tuple[Path, str, float]]:
    """The folder below which all that shares a link is, the link's name, what it carries; upwards."""
    folder = hardware_folder(device)
    for parent in folder.parents:
        if parent.name.startswith("port-"):  # of a SAS adapter or expander, with all its phys
            rates = [
                gbit_per_s(phy) for phy in sorted(parent.glob("phy-*/sas_phy/phy-*/negotiated_linkrate"))
            ]
            known = [rate for rate in rates if rate is not None]
            if known:
                name = f"SAS {len(known)} x {known[0]:g} Gbit/s at {parent.name}"
                yield parent, name, sum(map(_serial, known))
        for speed in sorted(parent.glob("link*/ata_link/link*/sata_spd")):
            if (rate := gbit_per_s(speed)) is not None:
                yield parent, f"SATA {rate:g} Gbit/s at {parent.name}", _serial(rate)
    for function in pci_functions(folder):
        if (link := link_of(function, "current")) is not None:
            name = f"PCIe {link.generation}.0 x{link.width} at {function.name}"
            yield function, name, link.payload_bytes_per_s


def _drive_most(device: BlockDevice) -> float | None:
    if device.kind is DeviceKind.NVME:
        functions = pci_functions(hardware_folder(device))
        most = link_of(functions[0], "max") if functions else None
        return None if most is None else most.payload_bytes_per_s
    identity = read_ata_identity(device) if device.kind is DeviceKind.ATA else None
    rate = None if identity is None else identity.fastest_sata_gbit_per_s
    return None if rate is None else _serial(rate)


def _serial(rate_gbit_per_s: float) -> float:
    return serial_bytes_per_s(rate_gbit_per_s) * SERIAL_PAYLOAD_SHARE


_SECTOR_BYTES: Final = 512
# Fields of a line of /proc/diskstats.
_NAME, _READ_SECTORS, _WRITTEN_SECTORS, _FEWEST = 2, 5, 9, 14


def links_of_host(disks: Sequence[BlockDevice], roots: SystemRoots) -> tuple[HostLink, ...]:
    """The links above these disks that can be the limit instead of a drive, each once."""
    return tuple(dict.fromkeys(link for path in host_paths(disks, roots) for link in path.of_host))


def path_gauge(disks: Sequence[BlockDevice], roots: SystemRoots) -> Gauge:
    """Use of these links in the busier direction, in per cent of what they carry for data."""
    links, path = links_of_host(disks, roots), roots.proc / "diskstats"
    if not links or not path.exists():
        why = (
            f"{path} is missing" if links else "no link that sysfs shows is shared, or slower than its drive"
        )
        return Gauge("links to the drive", None, why)
    behind = [BlockDevice.of_name(name, roots) for link in links for name in link.disks]
    silent = sorted({disk.name for disk in behind if disk.text("queue/iostats") == "0"})
    not_counted = f"; without {', '.join(silent)}, whose I/O the kernel does not count" if silent else ""
    names = "; ".join(f"path_{number}: {link_text(link)}" for number, link in enumerate(links))
    return Gauge(
        "links to the drive",
        f"use in % of what they carry for data, {names}{not_counted}",
        str(path),
        (path,),
        PathUse(links),
        resolution=1.0,
        is_long=True,
        of_period=True,
        of_host=True,
    )


def link_text(link: HostLink) -> str:
    """``PCIe 3.0 x4 at 0000:42:00.0, 3.49 GB/s, nvme0n1 nvme1n1``."""
    return f"{link.name}, {link.payload_bytes_per_s / GB:.3g} GB/s, {' '.join(link.disks)}"


class PathUse(Struct):
    """From the kernel's counts of all drives behind each link: read goes up, written goes down."""

    links: tuple[HostLink, ...]
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``path_0_use_pct`` ..., of the links in their order."""
        counts = {}
        for line in contents[0].decode("ascii", errors="replace").splitlines():
            fields = line.split()
            if len(fields) >= _FEWEST:
                counts[fields[_NAME]] = (fields[_READ_SECTORS], fields[_WRITTEN_SECTORS])
        sectors = {
            f"{number} {way}": float(sum(int(counts[disk][way]) for disk in link.disks if disk in counts))
            for number, link in enumerate(self.links)
            for way in (0, 1)
        }
        grown = self._growth.per_s(sectors, at_ns)
        return {
            f"path_{number}_use_pct": 100 * _SECTOR_BYTES * max(ways) / link.payload_bytes_per_s
            for number, link in enumerate(self.links)
            if len(ways := [grown[key] for way in (0, 1) if (key := f"{number} {way}") in grown]) == 2
        }

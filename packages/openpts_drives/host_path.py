"""The links between a drive and the processor, with what each carries and which drives share it.

Of two ends of one link, and of links one above the other with the same drives, the slowest counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.device.ata_identify import read_ata_identity
from openpts.device.block_device import BlockDevice, DeviceKind, whole_drives
from openpts.device.link import hardware_folder, link_of, pci_functions
from openpts.gauge import Gauge, Growth, Values
from openpts.system_files import SystemRoots
from openpts.units import GB
from openpts.vocabulary.bandwidth import SERIAL_PAYLOAD_SHARE, serial_bytes_per_s
from openpts_drives.link import gbit_per_s


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
    at most: with less, its link is the host's limit; None where the drive does not tell.
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
    said = "; ".join(f"path_{number}: {link_text(link)}" for number, link in enumerate(links))
    return Gauge(
        "links to the drive",
        f"use in % of what they carry for data, {said}{not_counted}",
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

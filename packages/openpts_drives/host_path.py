"""The links between a drive and the processor, with what each carries and which drives share it.

Of two ends of one link, and of links one above the other with the same drives, the slowest counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind, whole_drives
from openpts.device.identity.ata_identify import read_ata_identity
from openpts.device.identity.interface import hardware_folder
from openpts.device.link.pcie import link_of, pci_functions
from openpts.system_files import SystemRoots
from openpts.vocabulary.link_rates import SERIAL_PAYLOAD_SHARE, serial_bytes_per_s
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

"""How full the links between a drive and the processor are, with what its neighbors move over them."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice
from openpts.gauge import Gauge, Growth, Values
from openpts.system_files import SystemRoots
from openpts.units import GB
from openpts_drives.host_path import HostLink, host_paths

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

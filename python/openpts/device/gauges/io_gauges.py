"""I/O that is not the test's: of others on other drives of the host, and of others on the drive itself."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.file_system import device_below
from openpts.errors import TargetError
from openpts.gauge import Gauge, Growth, Values
from openpts.system_files import SystemRoots
from openpts.units import MB

# The kernel counts in these units, whatever the device's own sectors are.
_SECTOR_BYTES: Final = 512
# Fields of /sys/block/X/stat and, after three more, of a line of /proc/diskstats.
_READS, _READ_SECTORS, _WRITES, _WRITTEN_SECTORS, _DISCARDED_SECTORS = 0, 2, 4, 6, 13
_NAME_FIELD, _FIELDS_BEFORE = 2, 3


def disks_below(device: BlockDevice | None, path: Path, roots: SystemRoots) -> tuple[BlockDevice, ...]:
    """Whole disks that I/O to a target ends up on: its own, or those below it; of a file those below that."""
    if device is None:
        below = device_below(path, roots)
        return () if below is None else disks_below(below, path, roots)
    backing = device.whole.text("loop/backing_file")
    if backing is not None:
        return (device.whole, *disks_below(None, Path(backing), roots))
    return tuple(dict.fromkeys((device.whole, *device.beneath)))


def others_gauge(ours: Sequence[BlockDevice], roots: SystemRoots) -> Gauge:
    """What all other drives of the host read and write; memory, loops and arrays are no drives."""
    path = roots.proc / "diskstats"
    if not path.exists():
        return Gauge("I/O of others", None, f"{path} is missing")
    left_out = ", ".join(disk.name for disk in ours) or "none"
    return Gauge(
        "I/O of others",
        f"I/Os and bytes per s, read and written, of all drives but those of the target ({left_out})",
        str(path),
        (path,),
        OtherDrives(frozenset(disk.name for disk in ours), roots),
        resolution=0.1 * MB,
        share=0.05,
        is_long=True,
    )


@dataclass(slots=True)
class OtherDrives:
    """Sums over the lines of /proc/diskstats; each name is resolved once."""

    ours: frozenset[str]
    roots: SystemRoots
    _is_other: dict[str, bool] = field(default_factory=dict)
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``others_read_bytes_per_s``, ``others_write_bytes_per_s``, ``others_ios_per_s``."""
        read, written, ios = 0, 0, 0
        for line in contents[0].decode("ascii", errors="replace").splitlines():
            fields = line.split()
            if len(fields) <= _FIELDS_BEFORE + _WRITTEN_SECTORS or not self._counts(fields[_NAME_FIELD]):
                continue
            counts = _numbers(fields[_FIELDS_BEFORE:])
            read += counts[_READ_SECTORS] * _SECTOR_BYTES
            written += counts[_WRITTEN_SECTORS] * _SECTOR_BYTES
            ios += counts[_READS] + counts[_WRITES]
        counters = {
            "others_read_bytes_per_s": float(read),
            "others_write_bytes_per_s": float(written),
            "others_ios_per_s": float(ios),
        }
        return self._growth.per_s(counters, at_ns)

    def _counts(self, name: str) -> bool:
        if name not in self._is_other:
            self._is_other[name] = self._is_other_drive(name)
        return self._is_other[name]

    def _is_other_drive(self, name: str) -> bool:
        with suppress(TargetError):
            device = BlockDevice.of_name(name, self.roots)
            hidden = device.text("hidden") == "1"  # one path of a multipath namespace
            return not (device.is_partition or device.is_made_of_others or hidden or name in self.ours)
        return False


def foreign_gauge(device: BlockDevice, own_bytes: Callable[[], int], in_flight_bytes: int) -> Gauge:
    """Bytes that others read, write and discard on the drive itself: the kernel's count less the test's.

    ``own_bytes`` is what the engine has completed of what the kernel counts. The two are never looked at in
    the same moment: they differ by what is in flight, at the most by ``in_flight_bytes``.
    """
    path = device.folder / "stat"
    if not path.exists() or device.text("queue/iostats") == "0":
        return Gauge("I/O of others on the target", None, f"{path}: the kernel does not count its I/O")
    return Gauge(
        "I/O of others on the target",
        f"foreign_bytes: what the kernel counted less the engine's own, right to {in_flight_bytes:,} bytes",
        str(path),
        (path,),
        ForeignBytes(own_bytes),
        resolution=float(in_flight_bytes),
    )


@dataclass(slots=True)
class ForeignBytes:
    """The engine is asked after the kernel: on a busy host it has completed more by then, and the difference
    is too small, never too large. What others have done does not become less, so the largest counts.
    """

    own_bytes: Callable[[], int]
    _most: float = -math.inf

    def __call__(self, contents: Sequence[bytes], _at_ns: int) -> Values:
        """``foreign_bytes``."""
        counts = _numbers(contents[0].decode("ascii", errors="replace").split())
        if len(counts) <= _WRITTEN_SECTORS:
            return {}
        discarded = counts[_DISCARDED_SECTORS] if len(counts) > _DISCARDED_SECTORS else 0
        sectors = counts[_READ_SECTORS] + counts[_WRITTEN_SECTORS] + discarded
        self._most = max(self._most, float(sectors * _SECTOR_BYTES - self.own_bytes()))
        return {"foreign_bytes": self._most}


def _numbers(fields: Sequence[str]) -> list[int]:
    return [int(text) if text.isdecimal() else 0 for text in fields]

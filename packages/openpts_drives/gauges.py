"""What a drive's surroundings tell while it works: temperatures, its link, errors, interrupts, I/O of others.

All of it comes from files of the kernel. Only the temperature of an NVMe drive takes a command, one a second
at the most, to a queue of its own. I/O of others is that on other drives of the host, and on the drive
itself.
"""

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.device.block_device import BlockDevice, DeviceKind, device_below
from openpts.device.link import hardware_folder, nvme_controller_folder, pci_functions
from openpts.device.nvme_subsystem import NvmeSubsystem
from openpts.errors import TargetError
from openpts.gauge import Gauge, Growth, Values, known, whole_number
from openpts.system_files import SystemRoots, read_text
from openpts.units import MB

_INPUT: Final = re.compile(r"temp(\d+)_input")
_SENSOR: Final = re.compile(r"Sensor (\d+)")
# the driver makes its folder below the controller, older kernels below the PCI function
_PLACES: Final = ("hwmon*", "hwmon/hwmon*", "device/hwmon/hwmon*")


class Thermometers(Struct, frozen=True):
    """Files with millidegrees Celsius, by the name of the value; ``source`` says why there are none.

    ``otherwise`` is the source of the temperature where no file has it.
    """

    source: str
    files: dict[str, Path] = field(default_factory=dict)
    otherwise: str | None = None


def thermometers(device: BlockDevice) -> Thermometers:
    """The temperatures of a drive that can be read while it works.

    Only NVMe drives: of others the driver asks by a command for which the drive must first finish all that it
    was given, and a temperature each second would be in every response time.
    """
    if device.kind is not DeviceKind.NVME:
        return Thermometers(f"not sampled: asking this kind of device ({device.kind}) disturbs its I/O")
    controller = nvme_controller_folder(device)
    if controller is None:
        return Thermometers(f"{device.place('device')} leads to no controller")
    for place in _PLACES:
        for folder in sorted(controller.glob(place)):
            if files := _files(folder):
                return Thermometers(str(folder), files)
    return Thermometers(f"{controller} has no hwmon: the kernel was built without")


def _files(folder: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.glob("temp*_input")):
        match = _INPUT.fullmatch(path.name)
        if match is None:
            continue
        label = read_text(folder / f"temp{match[1]}_label") or ""
        if match[1] == "1":
            found["temperature_c"] = path
        elif sensor := _SENSOR.fullmatch(label):
            found[f"temperature_sensor_{sensor[1]}_c"] = path
    return found


_MILLI: Final = 1000
# The log writes 0 K for a temperature that it does not have; kernels convert by 273 or 273.15.
_NOT_TOLD_MILLI_C: Final = -273_000
_EACH_LOOK_AT_THE_LINK: Final = 10
# Where a drive has many queues, their counters are read more rarely.
_MOST_VECTORS_AT_EACH: Final = 16
_EACH_OF_MANY_VECTORS: Final = 10
_AER_TOTALS: Final = {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}


def drive_gauges(device: BlockDevice) -> tuple[Gauge, ...]:
    """Gauges of a whole drive, each with the reason where it can't be had."""
    functions = pci_functions(hardware_folder(device))
    return (
        temperature_gauge(device),
        _link(functions),
        _bus_errors(functions),
        *_lost_segments(device),
        *_paths(device),
        _interrupts(functions, device.roots),
    )


def temperature_gauge(device: BlockDevice) -> Gauge:
    """Composite temperature and sensors, in degrees Celsius."""
    found = thermometers(device)
    names = tuple(found.files)
    if not names:
        return Gauge("temperature", found.otherwise, found.source)
    return Gauge(
        "temperature",
        ", ".join(names),
        found.source,
        tuple(found.files.values()),
        lambda contents, _: _degrees(names, contents),
        asks_drive=True,
    )


def _degrees(names: Sequence[str], contents: Sequence[bytes]) -> Values:
    in_milli = known(zip(names, map(whole_number, contents), strict=True))
    return {name: milli / _MILLI for name, milli in in_milli.items() if milli > _NOT_TOLD_MILLI_C}


def _link(functions: Sequence[Path]) -> Gauge:
    if not functions or not (functions[0] / "current_link_speed").exists():
        return Gauge("PCIe link", None, "the drive hangs on no PCIe link that sysfs shows")
    paths = tuple(functions[0] / f"current_link_{what}" for what in ("speed", "width"))
    return Gauge(
        "PCIe link",
        "link_gt_per_s, link_width",
        f"{functions[0]}/current_link_*",
        paths,
        _speed_and_width,
        each=_EACH_LOOK_AT_THE_LINK,
    )


def _speed_and_width(contents: Sequence[bytes], _at_ns: int) -> Values:
    """Link speed in GT/s and number of lanes, from ``16.0 GT/s PCIe`` and ``4``."""
    speed, width = contents
    rate = speed.split(b" ")[0]
    gt_per_s = float(rate) if rate.replace(b".", b"", 1).isdigit() else None
    return known([("link_gt_per_s", gt_per_s), ("link_width", whole_number(width))])


def _bus_errors(functions: Sequence[Path]) -> Gauge:
    """PCIe errors of the drive's function and of the port above: the receiving end counts an error."""
    ends = dict(zip(("aer", "aer_port"), functions, strict=False))
    found = {
        f"{end}_{kind}_errors": (function / f"aer_dev_{kind}", f"TOTAL_ERR_{total}")
        for end, function in ends.items()
        for kind, total in _AER_TOTALS.items()
        if (function / f"aer_dev_{kind}").exists()
    }
    if not found:
        return Gauge(
            "PCIe errors", None, "no aer_dev_* for the drive: Advanced Error Reporting is off or absent"
        )
    names, totals = tuple(found), tuple(total.encode() for _, total in found.values())
    return Gauge(
        "PCIe errors",
        "AER counters of the drive and of the port above it",
        f"{functions[0]}/aer_dev_*",
        tuple(path for path, _ in found.values()),
        lambda contents, _: known(
            (name, _total(content, total))
            for name, content, total in zip(names, contents, totals, strict=True)
        ),
    )


def _lost_segments(device: BlockDevice) -> tuple[Gauge, ...]:
    """Of a drive behind TCP: segments that this host sent again, on any connection, as the kernel counts."""
    controller = nvme_controller_folder(device)
    if controller is None or read_text(controller / "transport") != "tcp":
        return ()
    path = device.roots.proc / "net/snmp"
    if not path.exists():
        return (Gauge("segments sent again", None, f"{path} is missing"),)
    what = "link_errors_tcp: TCP segments that this host sent again"
    return (Gauge("segments sent again", what, str(path), (path,), _sent_again, of_host=True),)


def _paths(device: BlockDevice) -> tuple[Gauge, ...]:
    """Of a drive with several ways to it, or that reports one: how many take I/O, whichever these are."""
    subsystem = NvmeSubsystem.of(device)
    fact, reports = subsystem.paths_fact(device), any(path.access for path in subsystem.paths(device))
    if fact is None:
        return ()
    what = "paths_live: those that take I/O" + (", and paths_optimized of them" if reports else "")

    def count() -> bytes:
        now = NvmeSubsystem.of(device).paths(device)
        return b"%d %d" % (sum(path.is_live for path in now), sum(path.is_optimized for path in now))

    def understand(contents: Sequence[bytes], _at_ns: int) -> Values:
        live, _, optimized = contents[0].partition(b" ")
        readings = [("paths_live", whole_number(live))]
        return known([*readings, ("paths_optimized", whole_number(optimized))] if reports else readings)

    return (Gauge("paths", what, fact.source, understand=understand, ask=count),)


def _sent_again(contents: Sequence[bytes], _at_ns: int) -> Values:
    """``link_errors_tcp``, from a line of names and one of numbers, both behind ``Tcp:``."""
    lines = [line.split() for line in contents[0].split(b"\n") if line.startswith(b"Tcp:")]
    counts = dict(zip(*lines, strict=False)) if len(lines) == 2 else {}
    return known([("link_errors_tcp", whole_number(counts.get(b"RetransSegs", b"")))])


def _total(content: bytes, name: bytes) -> int | None:
    """The line ``TOTAL_ERR_COR 0`` below the counters of each kind."""
    lines = (line.split() for line in content.split(b"\n"))
    return next((whole_number(fields[1]) for fields in lines if len(fields) == 2 and fields[0] == name), None)


def _interrupts(functions: Sequence[Path], roots: SystemRoots) -> Gauge:
    """Interrupts of an NVMe drive's own vectors; for other drives, of their adapter."""
    found: list[Path] = []
    for function in functions[:1]:
        vectors = [path.name for path in (function / "msi_irqs").glob("*")]
        numbers = sorted(int(name) for name in vectors if name.isdecimal())
        counts = [roots.sys / f"kernel/irq/{number}/per_cpu_count" for number in numbers]
        found = [path for path in counts if path.exists()]
    if not found:
        return Gauge(
            "interrupts", None, "no vectors of the drive in msi_irqs, or no counts in /sys/kernel/irq"
        )
    return Gauge(
        "interrupts",
        f"interrupts_per_s of {len(found)} vectors",
        f"{functions[0]}/msi_irqs, {roots.sys}/kernel/irq/*/per_cpu_count",
        tuple(found),
        InterruptRate(),
        each=1 if len(found) <= _MOST_VECTORS_AT_EACH else _EACH_OF_MANY_VECTORS,
        resolution=10.0,
        share=0.02,
    )


class InterruptRate(Struct):
    """All vectors and processors together, since the reading before."""

    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``interrupts_per_s``; empty if a vector can't be read, as the sum would be too small."""
        if not all(contents):
            return {}
        counts = [number for content in contents for number in content.strip().split(b",")]
        total = sum(int(number) for number in counts if number.isdigit())
        return self._growth.per_s({"interrupts_per_s": total}, at_ns)


# The kernel counts in these units, whatever the device's own sectors are.
_SECTOR_BYTES: Final = 512
# Fields of /sys/block/X/stat and, after three more, of a line of /proc/diskstats.
_READS, _READ_SECTORS, _WRITES, _WRITTEN_SECTORS, _DISCARDED_SECTORS = 0, 2, 4, 6, 13
_NAME_FIELD, _FIELDS_BEFORE = 2, 3
_FIELDS_COUNTED: Final = _FIELDS_BEFORE + _WRITTEN_SECTORS + 1


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
        of_host=True,
    )


class OtherDrives(Struct):
    """Sums over the lines of /proc/diskstats; each name is resolved once."""

    ours: frozenset[str]
    roots: SystemRoots
    _is_other: dict[str, bool] = field(default_factory=dict)
    _growth: Growth = field(default_factory=Growth)

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        """``others_read_bytes_per_s``, ``others_write_bytes_per_s``, ``others_ios_per_s``."""
        read, written, ios = 0, 0, 0
        for line in contents[0].decode("ascii", errors="replace").splitlines():
            fields = line.split(maxsplit=_FIELDS_COUNTED)
            if len(fields) < _FIELDS_COUNTED or not self._counts(fields[_NAME_FIELD]):
                continue
            counts = _numbers(fields[_FIELDS_BEFORE:_FIELDS_COUNTED])
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

    ``own_bytes`` is what the engine has completed of what the kernel counts. The two are never read in
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


class ForeignBytes(Struct):
    """The engine is read after the kernel: on a busy host it has completed more by then, and the difference
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

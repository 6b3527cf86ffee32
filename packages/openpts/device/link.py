"""The path to a drive: its PCIe link with the bridges above, its controller, the kernel threads on the way.

Reads what the kernel shows and sends the drive no command. Where threads of the kernel carry out a device's
I/O, each is handed from the thread that issues it to one of the kernel's and back: its time depends on where
the scheduler puts the threads, not on the drive.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind, device_below
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.bandwidth import PCIE_LANE_BYTES_PER_S, PCIE_PAYLOAD_SHARE
from openpts.vocabulary.engine_overhead import KERNEL_THREADS, NO_KERNEL_THREADS
from openpts.vocabulary.facts import Fact, Facts, TargetFacts, TargetKind

_PCI_ADDRESS: Final = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_MOST_LANES: Final = 32  # a width of 0 or 255 means unknown
# transfer rate per lane in GT/s, by generation
_GENERATION_BY_RATE: Final = {"2.5": 1, "5.0": 2, "5": 2, "8.0": 3, "8": 3, "16.0": 4, "32.0": 5, "64.0": 6}


class Link(Struct, frozen=True):
    """Generation and number of lanes of a link."""

    generation: int
    width: int

    def __str__(self) -> str:
        return f"Gen {self.generation} x{self.width}"

    @property
    def relative_speed(self) -> int:
        """Proportional to the rate of the link: each generation doubles it."""
        return self.width << self.generation

    @property
    def payload_bytes_per_s(self) -> float:
        """What it carries for data in each direction."""
        return self.width * PCIE_LANE_BYTES_PER_S[self.generation] * PCIE_PAYLOAD_SHARE


class PcieLink(Struct, frozen=True):
    """The link of a device: in use, and the most that the device and the slot above it could do.

    ``slowest_bridge`` is the name and the link of a bridge above that is slower than the device's own link,
    and therefore the limit.
    """

    current: Link
    device_most: Link | None
    slot_most: Link | None
    slowest_bridge: tuple[str, Link] | None

    def __str__(self) -> str:
        text = str(self.current)
        if self.device_most is not None:
            text += f" of {self.device_most}"
        if self.slowest_bridge is not None:
            name, link = self.slowest_bridge
            text += f", behind the bridge {name} at {link}"
        return text

    @property
    def most(self) -> Link | None:
        """The most that device and slot can do together; None where the device doesn't report its own."""
        if self.device_most is None:
            return None
        slot = self.slot_most or self.device_most
        return Link(
            min(self.device_most.generation, slot.generation), min(self.device_most.width, slot.width)
        )

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """What keeps the device from its own best, each as a sentence."""
        found = []
        most = self.most
        if most is not None and self.current.relative_speed < most.relative_speed:
            found.append(f"the PCIe link runs at {self.current}, though drive and slot can do {most}")
        if most is not None and self.device_most is not None and most != self.device_most:
            found.append(f"the slot's {self.slot_most} is less than the drive's {self.device_most}")
        if self.slowest_bridge is not None:
            name, link = self.slowest_bridge
            found.append(f"the PCIe bridge {name} above the drive runs at {link} only")
        return tuple(found)


def pci_functions(folder: Path) -> tuple[Path, ...]:
    """PCI functions above a device in sysfs (links resolved): its own first, then the bridges upwards."""
    return tuple(parent for parent in folder.parents if _PCI_ADDRESS.fullmatch(parent.name))


def read_pcie_link(folder: Path) -> PcieLink | None:
    """The link of the first PCI function above a device in sysfs; None if it has, or reports, none."""
    functions = pci_functions(folder)
    current = link_of(functions[0], "current") if functions else None
    if current is None:
        return None
    own, *bridges = functions
    slowest = min(
        ((bridge.name, link) for bridge in bridges if (link := link_of(bridge, "current")) is not None),
        key=lambda pair: pair[1].relative_speed,
        default=None,
    )
    if slowest is not None and slowest[1].relative_speed >= current.relative_speed:
        slowest = None
    slot_most = link_of(bridges[0], "max") if bridges else None
    return PcieLink(current, link_of(own, "max"), slot_most, slowest)


def pcie_link(folder: Path) -> Fact:
    """The link in use of the link that the device could have, such as ``Gen 4 x4 of Gen 5 x4``.

    A bridge above that is slower than the device's own link is named, for it is the limit then.
    """
    functions = pci_functions(folder)
    if not functions:
        return Fact(None, f"{folder} has no PCI function above it")
    link = read_pcie_link(folder)
    if link is None:
        return Fact(None, f"{functions[0]} reports no PCIe link")
    return Fact(str(link), f"{functions[0]}/current_link_*, max_link_* and those of the bridges above")


def link_of(function: Path, which: str) -> Link | None:
    """The link of a function upwards, of a port downwards: the ``current`` one, or the ``max`` it can do."""
    speed = read_text(function / f"{which}_link_speed") or ""
    width = read_text(function / f"{which}_link_width") or ""
    generation = _GENERATION_BY_RATE.get(speed.split(" ")[0])
    if generation is None or not width.isdecimal() or not 1 <= int(width) <= _MOST_LANES:
        return None
    return Link(generation, int(width))


def nvme_controller_folder(device: BlockDevice) -> Path | None:
    """The controller behind a namespace, links resolved; with several paths to it the first one."""
    above = device.folder / "device"
    # with multipath the device above is the subsystem, which lists its controllers
    candidates = (above, *sorted(above.glob("nvme*")))
    return next((found.resolve() for found in candidates if (found / "transport").exists()), None)


def hardware_folder(device: BlockDevice) -> Path:
    """Where to start the way up to the bus: a multipath namespace hangs on no bus itself."""
    return (nvme_controller_folder(device) if device.kind is DeviceKind.NVME else None) or device.folder


# What it is called in the record, by the kernel's name of the device
_DRIVERS: Final = {
    "loop": "loop driver",
    "nbd": "network block device",
    "rbd": "Ceph block device",
    "drbd": "replication by DRBD",
    "ublkb": "a program in user space, by ublk",
}
_FABRICS: Final = {"tcp": "NVMe over TCP", "loop": "NVMe loop target"}
_MAPPED: Final = {
    "CRYPT-VERITY-": "verification by dm-verity",
    "CRYPT-INTEGRITY-": "integrity by dm-integrity",
    "CRYPT-": "encryption by dm-crypt",
}
# those that compute parity do it in the array's thread
_ARRAYS: Final = frozenset({"raid4", "raid5", "raid6"})
_SCSI_HOSTS: Final = {"iscsi_tcp": "iSCSI over TCP", "usb-storage": "USB mass storage without UAS"}


def kernel_threads_fact(target: TargetFacts, roots: SystemRoots) -> Facts:
    """The fact under its key; empty where no device is known below the target."""
    try:
        is_file = target.kind is TargetKind.FILE
        device = (
            device_below(Path(target.path).resolve(), roots)
            if is_file
            else BlockDevice.of_name(target.name, roots)
        )
    except TargetError:
        return {}
    if device is None:
        return {}
    layers = kernel_threads(device)
    source = f"names and drivers of {device.name} and of what it is made of, in {roots.sys}"
    return {KERNEL_THREADS: Fact("; ".join(layers) or NO_KERNEL_THREADS, source)}


def kernel_threads_note(target: OpenTarget, roots: SystemRoots) -> tuple[str, ...]:
    """A sentence for the operator where kernel threads carry out the target's I/O."""
    device = target.device or device_below(Path(target.facts.path).resolve(), roots)
    layers = () if device is None else kernel_threads(device)
    if not layers:
        return ()
    return (
        f"threads of the kernel carry out the I/O ({'; '.join(layers)}): latencies at low queue depth "
        "depend on where the scheduler puts them",
    )


def kernel_threads(device: BlockDevice) -> tuple[str, ...]:
    """The layers with such threads, from the device down to the disks, such as ``loop0: loop driver``."""
    return tuple(dict.fromkeys(_layers(device)))


def _layers(device: BlockDevice) -> Iterator[str]:
    whole = device.whole
    if layer := _layer(whole):
        yield f"{whole.name}: {layer}"
    for part in whole.parts:
        yield from _layers(part)
    if below := _below_loop(whole):
        yield from _layers(below)


def _layer(device: BlockDevice) -> str | None:
    if device.kind is DeviceKind.NVME:
        controller = nvme_controller_folder(device)
        return _FABRICS.get(read_text(controller / "transport") or "") if controller else None
    if device.kind in {DeviceKind.SCSI, DeviceKind.ATA}:
        hosts = (folder for folder in device.folder.parents if folder.name.startswith("host"))
        names = (read_text(host / "scsi_host" / host.name / "proc_name") for host in hosts)
        return _SCSI_HOSTS.get(next((name for name in names if name), None) or "")
    if (level := device.text("md/level")) in _ARRAYS:
        return f"parity of {level}"
    mapped = device.text("dm/uuid") or ""
    named = device.name.rstrip("0123456789")
    return next((text for prefix, text in _MAPPED.items() if mapped.startswith(prefix)), _DRIVERS.get(named))


def _below_loop(device: BlockDevice) -> BlockDevice | None:
    backing = device.text("loop/backing_file")
    return device_below(Path(backing), device.roots) if backing else None

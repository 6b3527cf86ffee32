"""Whether threads of the kernel carry out a device's I/O, instead of the caller and the drive's interrupts.

Where they do, each I/O is handed from the thread that issues it to one of the kernel's and back. The time of
that depends on where the scheduler puts the threads, not on the drive.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openpts.device.block_device import BlockDevice, DeviceKind, device_below
from openpts.device.identity.interface import nvme_controller_folder
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.system_files import SystemRoots, read_text
from openpts.vocabulary.engine_overhead import KERNEL_THREADS, NO_KERNEL_THREADS
from openpts.vocabulary.facts import Fact, Facts, TargetFacts, TargetKind

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

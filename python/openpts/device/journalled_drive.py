"""How the journal names a drive, and how that drive is found again under another name of the kernel."""

from collections.abc import Mapping

from openpts.device.block_device import BlockDevice
from openpts.device.drive_name import model
from openpts.device.serial_number import serial_number
from openpts.errors import TargetError
from openpts.system_files import SystemRoots


def drive_subject(device: BlockDevice) -> dict[str, str]:
    """Serial number, model and node of a disk, as far as it has them; of a partition its disk's."""
    whole = device.whole
    named = {"serial": serial_number(whole).value, "model": model(whole).value, "node": str(whole.node)}
    return {key: value for key, value in named.items() if value is not None}


def is_drive(device: BlockDevice, subject: Mapping[str, str]) -> bool:
    """Whether it is the drive of a subject: serial number and model tell, or the node of one without."""
    keys = ("serial", "model") if "serial" in subject else ("serial", "model", "node")
    found = drive_subject(device)
    return all(found.get(key) == subject.get(key) for key in keys)


def find_drive(subject: Mapping[str, str], roots: SystemRoots) -> BlockDevice:
    """The drive of a subject, under its present name; the first namespace of a controller with several.

    Raises TargetError if it is not there, or if several drives have that serial number and model.
    """
    disks = [BlockDevice(folder.resolve(), roots) for folder in sorted((roots.sys / "block").glob("*"))]
    found = [disk for disk in disks if disk.text("hidden") != "1" and is_drive(disk, subject)]
    if not found:
        raise TargetError(f"the drive {drive_text(subject)} is not there")
    if len({(disk.folder / "device").resolve() for disk in found}) > 1:
        nodes = ", ".join(str(disk.node) for disk in found)
        raise TargetError(f"several drives answer to {drive_text(subject)}: {nodes}")
    return found[0]


def drive_text(subject: Mapping[str, str]) -> str:
    """A subject for people: ``SAMSUNG MZ..., serial number S4..., last seen as /dev/nvme0n1``."""
    serial = f"serial number {subject['serial']}" if "serial" in subject else None
    node = f"last seen as {subject['node']}" if "node" in subject else None
    return ", ".join(filter(None, (subject.get("model"), serial, node))) or "without a name"

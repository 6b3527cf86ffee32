"""How the journal names a drive, and how that drive is found again under another name of the kernel."""

from collections.abc import Mapping
from typing import Final

from openpts.device.ata_identify import model, serial_number
from openpts.device.block_device import BlockDevice, DeviceKind, all_disks
from openpts.errors import TargetError
from openpts.system_files import SystemRoots

_NAA: Final = "naa."


def drive_subject(device: BlockDevice) -> dict[str, str]:
    """Serial number, model and node of a disk, as far as it has them; of a partition its disk's."""
    whole = device.whole
    named = {"serial": serial_number(whole).value, "model": model(whole).value, "node": str(whole.node)}
    return {key: value for key, value in named.items() if value is not None}


def is_drive(device: BlockDevice, subject: Mapping[str, str]) -> bool:
    """Whether it is the drive of a subject: by serial number and model, or by the node of one without.

    There are drives with equal ones: the world wide names of ATA drives distinguish those, where both are
    known.
    """
    return is_same_drive(drive_subject(device), subject) and not _is_named_otherwise(device, subject)


def _is_named_otherwise(device: BlockDevice, subject: Mapping[str, str]) -> bool:
    """The kernel has the name of an ATA drive from itself; an adapter's may be the adapter's own."""
    wwid = device.whole.wwid or ""
    if "wwn" not in subject or device.kind is not DeviceKind.ATA or not wwid.startswith(_NAA):
        return False
    return wwid.removeprefix(_NAA).lower() != subject["wwn"].lower()


def is_same_drive(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether two subjects are of one drive; of one controller, whichever of its namespaces they are of."""
    keys = ("serial", "model") if "serial" in other else ("serial", "model", "node")
    return all(one.get(key) == other.get(key) for key in keys)


def find_drive(subject: Mapping[str, str], roots: SystemRoots) -> BlockDevice:
    """The drive of a subject, under its present name; the first namespace of a controller with several.

    Raises TargetError if it is not there, or if several drives have that serial number and model.
    """
    found = [disk for disk in all_disks(roots) if disk.text("hidden") != "1" and is_drive(disk, subject)]
    if not found:
        raise TargetError(f"the drive {drive_text(subject)} was not found")
    if len({(disk.folder / "device").resolve() for disk in found}) > 1:
        nodes = ", ".join(str(disk.node) for disk in found)
        raise TargetError(f"several drives match {drive_text(subject)}: {nodes}")
    return found[0]


def drive_text(subject: Mapping[str, str]) -> str:
    """A subject for people: ``SAMSUNG MZ..., serial number S4..., last seen as /dev/nvme0n1``."""
    serial = f"serial number {subject['serial']}" if "serial" in subject else None
    node = f"last seen as {subject['node']}" if "node" in subject else None
    return ", ".join(filter(None, (subject.get("model"), serial, node))) or "without a name"

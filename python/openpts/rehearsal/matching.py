"""Which preset behaves most like a real drive, from what the kernel tells of it."""

from dataclasses import dataclass

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.interface import interface
from openpts.errors import TargetError


@dataclass(frozen=True, slots=True)
class Traits:
    """What the match goes by; ``volatile_cache`` is None where the kernel doesn't tell."""

    name: str
    kind: DeviceKind
    over_usb: bool
    rotational: bool
    volatile_cache: bool | None


def traits_of(disk: BlockDevice) -> Traits:
    """Read from sysfs; the drive is not opened."""
    cache = disk.text("queue/write_cache")
    return Traits(
        name=disk.name,
        kind=disk.kind,
        over_usb=interface(disk, None).value == "USB",
        rotational=disk.text("queue/rotational") == "1",
        volatile_cache=None if cache is None else cache == "write back",
    )


def matched_preset(traits: Traits) -> tuple[str, str]:
    """The preset's name, and why it is this one.

    Raises TargetError for what no preset resembles.
    """
    match traits:
        case Traits(kind=DeviceKind.MMC):
            return "log-block", "a memory card: a map of large units with a log"
        case Traits(over_usb=True):
            return (
                "tlc",
                "over USB: assumed to be a stick with a single-bit cache and garbage collection on demand",
            )
        case Traits(kind=DeviceKind.ATA | DeviceKind.SCSI, rotational=True):
            raise TargetError(
                f"{traits.name} is a rotating disk: no preset resembles one; choose one by --preset"
            )
        case Traits(kind=DeviceKind.NVME, volatile_cache=False):
            return (
                "enterprise-tlc",
                "NVMe without a volatile write cache: a protected buffer, as servers have it",
            )
        case Traits(kind=DeviceKind.NVME):
            return "client-qlc", "NVMe with a volatile write cache, as client drives have it"
        case Traits(kind=DeviceKind.ATA | DeviceKind.SCSI):
            return "sata-reduction", "SATA or SAS: the one preset behind such a link"
        case _:
            raise TargetError(
                f"{traits.name} ({traits.kind}) doesn't report what is behind it: choose one by --preset"
            )

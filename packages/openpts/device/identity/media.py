"""Whether a drive holds its data in flash or on platters, and how fast these turn."""

from typing import Final

from msgspec import Struct

from openpts.device.block_device import BlockDevice, DeviceKind
from openpts.device.identity.ata_identify import VPD_PAGE, read_ata_identity
from openpts.vocabulary.facts import ROTATIONAL, SOLID_STATE

# ACS (word 217) and SBC (VPD page B1h, bytes 4 and 5) count alike
_DOES_NOT_TURN: Final = 0x0001
_SLOWEST_RPM: Final = 0x0401
_FASTEST_RPM: Final = 0xFFFE
_BLOCK_CHARACTERISTICS: Final = "device/vpd_pgb1"


class Media(Struct, frozen=True):
    """``kind`` is None where neither drive nor kernel knows; ``rpm`` None where nothing turns or tells."""

    kind: str | None
    rpm: int | None
    source: str

    @property
    def is_rotational(self) -> bool:
        """Whether it has platters."""
        return self.kind == ROTATIONAL

    def __str__(self) -> str:
        if not self.is_rotational:
            return self.kind or "not reported"
        return f"{ROTATIONAL}, {f'{self.rpm:,} rpm' if self.rpm else 'speed not reported'}"


def media(device: BlockDevice) -> Media:
    """What the drive says of its media, else what the kernel takes it for."""
    if device.kind is DeviceKind.ATA and (identity := read_ata_identity(device)) is not None:
        if reported := _by_rotation_rate(identity.rotation_rate, f"{device.place(VPD_PAGE)}, word 217"):
            return reported
    elif device.kind is DeviceKind.SCSI:
        rate = _scsi_rotation_rate(device)
        if reported := _by_rotation_rate(rate, f"{device.place(_BLOCK_CHARACTERISTICS)}, bytes 4 and 5"):
            return reported
    if device.is_made_of_others and device.kind is not DeviceKind.NVME:
        return Media(None, None, f"{device.name} is made by the kernel")
    rotational = device.text("queue/rotational")
    kind = {"0": SOLID_STATE, "1": ROTATIONAL}.get(rotational or "")
    if device.kind is DeviceKind.VIRTIO:
        return Media(
            None, None, f"the host behind virtio says nothing that {device.place('queue')} could hold"
        )
    return Media(kind, None, device.place("queue/rotational"))


def _by_rotation_rate(rate: int | None, source: str) -> Media | None:
    if rate == _DOES_NOT_TURN:
        return Media(SOLID_STATE, None, source)
    if rate is not None and _SLOWEST_RPM <= rate <= _FASTEST_RPM:
        return Media(ROTATIONAL, rate, source)
    return None


def _scsi_rotation_rate(device: BlockDevice) -> int | None:
    try:
        page = (device.folder / _BLOCK_CHARACTERISTICS).read_bytes()
    except OSError:
        return None
    return int.from_bytes(page[4:6], "big") if len(page) >= 6 and page[1] == 0xB1 else None

"""The names of a drive: its model for people, and its serial number, wherever its driver keeps it."""

from typing import Final

from openpts.device.block_device import BlockDevice
from openpts.device.identity.ata_identify import VPD_PAGE, read_ata_identity
from openpts.system_files import printable
from openpts.vocabulary.facts import Fact


def model(device: BlockDevice) -> Fact:
    """The drive's model, whole where the command set has room for it."""
    identity = read_ata_identity(device)
    if identity is not None and identity.model:
        return Fact(identity.model, device.place(VPD_PAGE))
    return first_attribute(device, "device/model", "device/name")


def name_with_model(device: BlockDevice) -> str:
    """Model and kernel name, or kernel name and kind where nothing tells the model."""
    known = model(device).value
    return f"{known} ({device.name})" if known else f"{device.name} ({device.kind})"


def first_attribute(device: BlockDevice, *attributes: str) -> Fact:
    """The first of these attributes that sysfs has."""
    for attribute in attributes:
        if text := device.text(attribute):
            return Fact(text, device.place(attribute))
    return Fact(None, f"no {' or '.join(attributes)} in {device.place('')}")


_UNIT_SERIAL_NUMBER: Final = "device/vpd_pg80"
_UNIT_SERIAL_NUMBER_PAGE: Final = 0x80
_PAGE_HEADER_BYTES: Final = 4


def serial_number(device: BlockDevice) -> Fact:
    """Serial number of a disk, printable and without white space at its ends.

    A world wide name is no substitute: it is not what is printed on the drive's label.
    """
    for attribute in ("device/serial", "serial"):  # NVMe and MMC; virtio
        if serial := device.text(attribute):
            return Fact(serial, device.place(attribute))
    place = device.place(_UNIT_SERIAL_NUMBER)
    try:
        page = (device.folder / _UNIT_SERIAL_NUMBER).read_bytes()
    except OSError:
        return Fact(None, f"neither device/serial nor serial nor VPD page 80h in {device.place('')}")
    serial = unit_serial_number(page)
    return Fact(serial, place if serial else f"{place} holds no serial number")


def unit_serial_number(page: bytes) -> str | None:
    """The text of VPD page 80h (SPC), whose 16-bit length is at byte 2; None if the page is malformed."""
    if len(page) < _PAGE_HEADER_BYTES or page[1] != _UNIT_SERIAL_NUMBER_PAGE:
        return None
    length = int.from_bytes(page[2:4], "big")
    text = page[_PAGE_HEADER_BYTES : _PAGE_HEADER_BYTES + length]
    if len(text) < length:
        return None
    return printable(text.decode("ascii", errors="replace")) or None

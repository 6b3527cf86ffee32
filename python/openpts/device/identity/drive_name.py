"""The model of a drive: its name for people."""

from openpts.device.block_device import BlockDevice
from openpts.device.identity.ata_identify import VPD_PAGE, read_ata_identity
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

"""The words of IDENTIFY DEVICE, where a made-up machine or a made-up hdparm tells them."""

from collections.abc import Sequence

from openpts.device.block_device import BlockDevice

_FIRST_WORD_AT = 60  # of VPD page 89h


def set_word(device: BlockDevice, number: int, value: int) -> None:
    """In the page of a disk that the kernel keeps."""
    place = device.folder / "device/vpd_pg89"
    page = bytearray(place.read_bytes())
    at = _FIRST_WORD_AT + 2 * number
    page[at : at + 2] = value.to_bytes(2, "little")
    place.write_bytes(page)


def as_hdparm_prints(words: Sequence[int]) -> str:
    """Eight in a line."""
    return "\n".join(" ".join(f"{word:04x}" for word in words[at : at + 8]) for at in range(0, 256, 8))

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.ata_identify import AtaIdentity, parse_ata_information_page, read_ata_identity
from openpts.device.block_device import BlockDevice
from openpts.system_files import SystemRoots

RECORDED = Path(__file__).parents[2] / "data/identify/qemu-sata-vpd-page-89.bin"


def _identity(**words: int) -> AtaIdentity:
    """An identity with these words set, as in ``w168=3``."""
    return AtaIdentity(tuple(words.get(f"w{number}", 0) for number in range(256)))


def test_a_recorded_drive() -> None:
    identity = parse_ata_information_page(RECORDED.read_bytes())
    assert identity is not None
    assert identity.model == "QEMU HARDDISK"
    assert identity.firmware == "2.5+"
    assert identity.form_factor is None
    assert identity.features == ("NCQ, queue depth 32", "TRIM", "volatile write cache")


@pytest.mark.parametrize(
    ("word", "text"), [(3, "2.5 inch"), (7, "M.2"), (0, None), (0xFFFF, None), (15, None)]
)
def test_form_factor(word: int, text: str | None) -> None:
    assert _identity(w168=word).form_factor == text


def test_features_are_named_by_their_bits() -> None:
    assert _identity().features == ()
    identity = _identity(w59=0xF000, w69=1 << 14 | 1 << 5, w75=31, w76=1 << 8, w82=1 << 1 | 1 << 5, w169=1)
    assert identity.features == (
        "NCQ, queue depth 32",
        "security feature set",
        "Sanitize: crypto scramble",
        "Sanitize: block erase",
        "Sanitize: overwrite",
        "TRIM",
        "zeros after TRIM",
        "volatile write cache",
    )


def test_a_scsi_drive_has_none_whatever_page_it_shows(server: SystemRoots) -> None:
    disk = BlockDevice.of_name("sdb", server)
    (disk.folder / "device/vpd_pg89").write_bytes(RECORDED.read_bytes())
    assert read_ata_identity(disk) is None


def test_a_kernel_that_keeps_no_page(server: SystemRoots) -> None:
    disk = BlockDevice.of_name("sda", server)
    (disk.folder / "device/vpd_pg89").unlink()
    assert read_ata_identity(disk) is None


@given(st.binary(max_size=600))
def test_any_page_is_read_or_refused(page: bytes) -> None:
    identity = parse_ata_information_page(page)
    assert identity is None or len(identity.words) == 256


@given(st.binary(min_size=512, max_size=512))
def test_any_words_give_printable_text(words: bytes) -> None:
    identity = parse_ata_information_page(bytes((0, 0x89)) + bytes(58) + words)
    assert identity is not None
    texts = (identity.model or "", identity.firmware or "", identity.form_factor or "", *identity.features)
    assert all(text.isprintable() for text in texts)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openpts.device.ata_identify import (
    AtaIdentity,
    parse_ata_information_page,
    parse_identify_words,
    read_ata_identity,
)
from openpts.device.block_device import BlockDevice
from tests import DATA
from tests.support.recorded_exchanges import RecordedExchange

RECORDED = DATA / "identify/qemu-sata-vpd-page-89.bin"


def _identity(**words: int) -> AtaIdentity:
    """An identity with these words set, as in ``w168=3``."""
    return AtaIdentity(tuple(words.get(f"w{number}", 0) for number in range(256)))


def test_a_recorded_drive() -> None:
    identity = parse_ata_information_page(RECORDED.read_bytes())
    assert identity.model == "QEMU HARDDISK"
    assert identity.firmware == "2.5+"
    assert identity.form_factor is None
    assert identity.features == ("NCQ, queue depth 32", "TRIM", "volatile write cache")


@pytest.mark.parametrize(
    ("word", "text"), [(3, "2.5 inch"), (7, "M.2"), (0, None), (0xFFFF, None), (15, None)]
)
def test_form_factor(word, text) -> None:
    assert _identity(w168=word).form_factor == text


def test_features_are_named_by_their_bits() -> None:
    assert _identity().features == ()
    identity = _identity(w59=0xF000, w69=1 << 14 | 1 << 5, w75=31, w76=1 << 8, w82=1 << 1 | 1 << 5, w169=1)
    assert identity.features == (
        "NCQ, queue depth 32", "security feature set", "Sanitize: crypto scramble", "Sanitize: block erase",
        "Sanitize: overwrite", "TRIM", "zeros after TRIM", "volatile write cache",
    )  # fmt: skip


def test_a_scsi_drive_has_none_whatever_page_it_shows(server) -> None:
    disk = BlockDevice.of_name("sdb", server)
    (disk.folder / "device/vpd_pg89").write_bytes(RECORDED.read_bytes())
    assert read_ata_identity(disk) is None


def test_a_kernel_that_keeps_no_page(server) -> None:
    disk = BlockDevice.of_name("sda", server)
    (disk.folder / "device/vpd_pg89").unlink()
    assert read_ata_identity(disk) is None


@given(st.binary(max_size=600))
def test_any_page_is_read_or_refused(page) -> None:
    identity = parse_ata_information_page(page)
    assert identity is None or len(identity.words) == 256


@given(st.binary(min_size=512, max_size=512))
def test_any_words_give_printable_text(words) -> None:
    identity = parse_ata_information_page(bytes((0, 0x89)) + bytes(58) + words)
    texts = (identity.model or "", identity.firmware or "", identity.form_factor or "", *identity.features)
    assert all(text.isprintable() for text in texts)


def _recorded(name: str) -> str:
    return RecordedExchange(name)(("hdparm", "--Istdout", "/dev/sda"), 1).stdout


def test_a_recorded_drive_that_is_frozen() -> None:
    identity = parse_identify_words(_recorded("samsung-870-qvo-frozen"))
    assert identity.model == "Samsung SSD 870 QVO 4TB"
    assert identity.capacity_bytes == 4_000_787_030_016  # as printed on its label: 4 TB
    assert str(identity.security) == "not enabled, frozen"
    assert identity.security.enhanced_erase
    assert (identity.security.erase_minutes, identity.security.enhanced_erase_minutes) == (4, 8)
    assert identity.sanitizes == frozenset()
    assert identity.world_wide_name.startswith("5002538f")


def test_a_recorded_old_disk_with_more_lines_before_its_words() -> None:
    identity = parse_identify_words(_recorded("seagate-st3160023as"))
    assert (identity.model, identity.serial) == ("ST3160023AS", "3JS2KSL3")
    assert identity.capacity_bytes == 312_581_808 * 512  # the sectors that hdparm counted there
    assert str(identity.security) == "not enabled"
    assert not identity.security.enhanced_erase
    assert (identity.security.erase_minutes, identity.security.enhanced_erase_minutes) == (None, None)


def test_the_lab_drive_has_no_security() -> None:
    identity = parse_identify_words(_recorded("qemu-sata"))
    assert identity.serial == "LABSATA0000"
    assert str(identity.security) == "no security feature set"


def test_zeros_from_what_is_no_ata_drive_are_no_identity() -> None:
    assert parse_identify_words(_recorded("qemu-scsi")) is None
    assert parse_identify_words(_recorded("scsi-debug")) is None


def test_a_wrong_checksum_is_no_identity() -> None:
    assert parse_identify_words(_recorded("samsung-870-qvo-frozen").replace("c837", "c838")) is None


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x0001, "not enabled"),
        (0x0003, "enabled"),
        (0x0007, "enabled, locked"),
        (0x000B, "enabled, frozen"),
        (0x0117, "enabled, locked, password attempts used up, level maximum"),
    ],
)
def test_security_states(word, text) -> None:
    assert str(_identity(w82=2, w128=word).security) == text


@pytest.mark.parametrize(
    ("word", "minutes"), [(0, None), (1, 2), (0xFF, 510), (0x8000 | 300, 600), (0xFFFE, 65532), (0x0101, 2)]
)
def test_estimates_of_an_erasure(word, minutes) -> None:
    assert _identity(w89=word).security.erase_minutes == minutes


@given(st.text())
def test_whatever_hdparm_prints_is_read_without_an_error(text) -> None:
    parse_identify_words(text)

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.identity.media import media
from tests.support.identify_words import set_word


def _queue_says(device: BlockDevice, rotational: str) -> None:
    (device.folder / "queue").mkdir(exist_ok=True)
    (device.folder / "queue/rotational").write_text(rotational)


@pytest.mark.parametrize(
    ("word", "text"),
    [(1, "solid state"), (7200, "rotational, 7,200 rpm"), (0, "rotational, speed not reported")],
)
def test_an_ata_drive_says_how_fast_it_turns(word, text, server) -> None:
    drive = BlockDevice.of_name("sda", server)
    _queue_says(drive, "1")
    set_word(drive, 217, word)
    assert str(media(drive)) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("00b1003c0001", "solid state"),
        ("00b1003c2a30", "rotational, 10,800 rpm"),
        ("00b1003c0000", "solid state"),
        ("00b1", "solid state"),
        ("0089003c2a30", "solid state"),
    ],
)
def test_a_scsi_drive_says_so_in_its_characteristics_or_the_kernel_does(page, text, server) -> None:
    drive = BlockDevice.of_name("sdb", server)
    (drive.folder / "device/vpd_pgb1").write_bytes(bytes.fromhex(page))
    _queue_says(drive, "0")
    assert str(media(drive)) == text


def test_what_the_kernel_makes_is_neither(server) -> None:
    _queue_says(BlockDevice.of_name("loop0", server), "1")
    assert media(BlockDevice.of_name("loop0", server)).kind is None


def test_what_a_virtual_machine_is_told_of_its_disks_is_not_believed(virtual_machine) -> None:
    _queue_says(BlockDevice.of_name("vdb", virtual_machine), "1")
    assert str(media(BlockDevice.of_name("vdb", virtual_machine))) == "not reported"

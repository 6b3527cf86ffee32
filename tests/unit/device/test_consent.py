from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.guard.consent import unconfirmed
from openpts.device.targets.target import BlockTarget
from openpts.system_files import SystemRoots
from openpts.vocabulary.consent import Consent
from tests.support.transcript import Golden

NVME = BlockTarget(Path("/dev/disk/by-id/nvme-samsung"))
VIRTIO = BlockTarget(Path("/dev/vdb"))


def test_without_a_confirmation_the_option_to_add_is_printed(server: SystemRoots) -> None:
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), Consent())
    assert str(refusal) == (
        f"refused [confirmation]: all data on {server.dev}/nvme0n1 (3,841 GB, serial number S795NC0T100001) "
        "will be lost; to confirm that, add --confirm-serial S795NC0T100001"
    )


def test_the_serial_number_confirms(server: SystemRoots) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    assert unconfirmed(NVME, disk, Consent(confirm_serial="S795NC0T100001")) is None


@pytest.mark.parametrize("wrong", ["s795nc0t100001", "S795NC0T10000", "S795NC0T100001 ", "", "61A0A000T5MM"])
def test_any_other_text_does_not(wrong: str, server: SystemRoots, golden: Golden) -> None:
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), Consent(confirm_serial=wrong))
    assert refusal is not None
    assert refusal.evidence == golden


def test_a_path_does_not_confirm_a_drive_that_has_a_serial_number(
    server: SystemRoots, golden: Golden
) -> None:
    consent = Consent(confirm_device_path=str(NVME.path))
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), consent)
    assert refusal is not None
    assert refusal.remedy == golden


def test_a_drive_without_one_is_confirmed_by_its_path(virtual_machine: SystemRoots) -> None:
    disk = BlockDevice.of_name("vdb", virtual_machine)
    assert unconfirmed(VIRTIO, disk, Consent(confirm_device_path="/dev/vdb")) is None
    refusal = unconfirmed(VIRTIO, disk, Consent(confirm_serial="/dev/vdb"))
    assert refusal is not None
    assert refusal.remedy == "to confirm that, add --confirm-device-path /dev/vdb"
    assert unconfirmed(VIRTIO, disk, Consent(confirm_device_path="/dev/vdc")) is not None


def test_the_path_may_be_the_link_or_what_it_leads_to(virtual_machine: SystemRoots, tmp_path: Path) -> None:
    disk = BlockDevice.of_name("vdb", virtual_machine)
    link = tmp_path / "scratch"
    link.symlink_to("/dev/vdb")
    target = BlockTarget(link)
    assert unconfirmed(target, disk, Consent(confirm_device_path=str(link))) is None
    assert unconfirmed(target, disk, Consent(confirm_device_path="/dev/vdb")) is None


def test_a_serial_number_with_blanks_is_quoted_for_the_shell(virtual_machine: SystemRoots) -> None:
    refusal = unconfirmed(VIRTIO, BlockDevice.of_name("vdc", virtual_machine), Consent())
    assert refusal is not None
    assert refusal.remedy.endswith("--confirm-serial 'scratch disk 3'")


def _give_serial(disk: BlockDevice, serial: str) -> None:
    (disk.folder / "device/serial").write_text(serial)


def test_a_serial_number_of_two_drives_is_not_enough(server: SystemRoots, golden: Golden) -> None:
    one, other = (BlockDevice.of_name(name, server) for name in ("nvme0n1", "nvme1n1"))
    _give_serial(other, "S795NC0T100001")
    target = BlockTarget(one.node)
    refusal = unconfirmed(target, one, Consent(confirm_serial="S795NC0T100001"))
    assert refusal is not None
    assert refusal.evidence == golden
    assert refusal.remedy == f"to confirm that, add --confirm-device-path {one.node}"
    by_both = Consent(confirm_serial="S795NC0T100001", confirm_device_path=str(one.node))
    assert unconfirmed(target, one, by_both) is None
    by_path = Consent(confirm_device_path=str(one.node))
    assert str(unconfirmed(target, one, by_path)) == golden
    of_the_other = Consent(confirm_serial="S795NC0T100001", confirm_device_path=str(other.node))
    assert str(unconfirmed(target, one, of_the_other)) == golden


def test_a_serial_number_that_cannot_be_typed_gives_way_to_the_path(server: SystemRoots) -> None:
    disk = BlockDevice.of_name("nvme0n1", server)
    _give_serial(disk, "S\x1b[2J\x07795")
    target = BlockTarget(disk.node)
    refusal = unconfirmed(target, disk, Consent())
    assert refusal is not None
    assert "\x1b" not in str(refusal)
    assert refusal.remedy == f"to confirm that, add --confirm-device-path {disk.node}"
    assert unconfirmed(target, disk, Consent(confirm_device_path=str(disk.node))) is None


def test_a_drive_that_has_another_name_now_is_pointed_to(server: SystemRoots) -> None:
    meant = Consent(confirm_serial="223344800001")
    refusal = unconfirmed(NVME, BlockDevice.of_name("nvme0n1", server), meant)
    assert refusal is not None
    assert refusal.remedy.endswith(f"; that number is now {server.dev}/nvme1n1")

"""ATA Security Erase on a drive that behaves as the standard says, and on ones that don't."""

import errno
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.journalled_drive import find_drive
from openpts.errors import PurgeError, TargetError
from openpts.journal import Journal
from openpts.programs import ProgramError, ProgramRunner, Reply
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_security import (
    PASSWORD,
    AtaSecurityErase,
    identify_disk,
    is_noted_drive,
    is_noted_identity,
    take_password_off,
)
from tests.support.ata_security_drive import CONFORMANT_MANNERS, AtaSecurityDrive, Manners, give_sda, is_free
from tests.support.held_drive import give_node, held
from tests.support.program_answers import no_programs


@pytest.fixture
def roots(server: SystemRoots) -> SystemRoots:
    return give_sda(server)


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path / "journal")


def _method(drive: AtaSecurityDrive, journal: Journal, *, enhanced: bool = False) -> AtaSecurityErase:
    return AtaSecurityErase(enhanced, run=drive, journal=lambda: journal)


def _erase(drive: AtaSecurityDrive, journal: Journal, roots: SystemRoots, *, enhanced: bool = False) -> list:
    told: list[tuple[float | None, str]] = []
    with held(BlockDevice.of_name("sda", roots), 2**30) as target:
        _method(drive, journal, enhanced=enhanced).carry_out(target, lambda *said: told.append(said))
    return told


@pytest.mark.parametrize("enhanced", [False, True])
@pytest.mark.parametrize("manners", CONFORMANT_MANNERS, ids=str)
def test_it_erases_and_leaves_neither_password_nor_entry(manners, enhanced, journal, roots) -> None:
    drive = AtaSecurityDrive(manners)
    _erase(drive, journal, roots, enhanced=enhanced)
    minutes = 2 if enhanced else 84
    assert drive.erased == 1
    assert is_free(drive, journal)
    erase = drive.commands.index(f"--security-erase{'-enhanced' * enhanced}")
    # hdparm gives the drive its estimate and an hour, and the kernel stops the command then: we wait longer
    assert drive.time_limits_s[erase] == (minutes + 120) * 60


def test_it_tells_every_second_how_far_it_should_be(journal, roots) -> None:
    drive, told_twice = AtaSecurityDrive(), Event()
    drive.before = lambda what: what != "in the middle of an erasure" or told_twice.wait(60)
    told: list[tuple[float | None, str]] = []

    def tell(share: float | None, words: str) -> None:
        told.append((share, words))
        if len(told) == 2:
            told_twice.set()

    started_s = time.monotonic()
    with held(BlockDevice.of_name("sda", roots), 2**30) as target:
        _method(drive, journal).carry_out(target, tell)
    first_s, second_s = ((share or 0) * 84 * 60 for share, _ in told[:2])
    assert 0.9 < first_s < first_s + 0.9 < second_s < time.monotonic() - started_s
    assert {words for _, words in told} == {
        "erasing itself, which can't be interrupted; 84 min by its own estimate"
    }


def test_the_password_is_in_the_journal_before_the_drive_has_it(journal, roots) -> None:
    drive, seen = AtaSecurityDrive(), []
    drive.before = lambda what: seen.extend(journal.entries() if what == "--security-set-pass" else ())
    _erase(drive, journal, roots)
    (entry,) = seen
    assert entry.found == {"password": PASSWORD, "erase": "normal"}
    assert entry.subject["identify_model"] == "QEMU HARDDISK"
    assert {"serial", "node", "identify_serial"} <= set(entry.subject)


@pytest.mark.parametrize(
    "drive",
    [
        AtaSecurityDrive(supported=False),
        AtaSecurityDrive(frozen=True),
        AtaSecurityDrive(password="theirs"),
        AtaSecurityDrive(password="theirs", locked=True),
        AtaSecurityDrive(attempts_left=0),
    ],
)
def test_a_drive_in_the_way_is_left_alone_and_explained(drive, journal, roots, golden) -> None:
    capability = _method(drive, journal).capability(BlockDevice.of_name("sda", roots))
    assert not capability.supported
    assert capability.reason == golden
    with pytest.raises(PurgeError, match=r"failed: .*" + re.escape(capability.reason)):
        _erase(drive, journal, roots)
    assert set(drive.commands) == {"--Istdout"}
    assert journal.entries() == ()


def test_a_drive_that_can_tells_its_estimate(journal, roots, golden) -> None:
    device = BlockDevice.of_name("sda", roots)
    normal = _method(AtaSecurityDrive(), journal).capability(device)
    assert (normal.supported, normal.duration_s) == (True, 84 * 60.0)
    assert normal.reason == "IDENTIFY DEVICE word 128: not enabled"
    enhanced = _method(AtaSecurityDrive(enhanced_supported=False), journal, enhanced=True)
    assert enhanced.capability(device).reason == golden


def test_what_is_no_ata_drive_is_not_even_asked(journal, roots) -> None:
    drive = AtaSecurityDrive()
    for name in ("nvme0n1", "sdb"):  # sdb is a SAS drive without an ATA information page
        capability = _method(drive, journal).capability(BlockDevice.of_name(name, roots))
        assert (capability.supported, capability.foreign) == (False, True)
    assert drive.commands == []


def test_without_hdparm_it_is_not_supported_and_the_package_is_named(journal, roots, golden) -> None:
    capability = AtaSecurityErase(run=no_programs, journal=lambda: journal).capability(
        BlockDevice.of_name("sda", roots)
    )
    assert not capability.supported
    assert capability.reason == golden


@pytest.mark.parametrize("manners", CONFORMANT_MANNERS, ids=str)
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ProgramError("hdparm did not end within 1 s")])
def test_whatever_interrupts_it_the_password_is_taken_off_at_once(error, manners, tmp_path, roots) -> None:
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else PurgeError
    for moment in range(11):  # all five of an erasure's commands, before and after, and its middle
        drive, journal = AtaSecurityDrive(manners), Journal(tmp_path / str(moment))
        left = [error if at == moment else None for at in range(99)]

        def interrupt(_what: str, left: list[BaseException | None] = left) -> None:
            if (now := left.pop(0)) is not None:
                raise now

        drive.before = drive.after = interrupt
        with pytest.raises(expected):
            _erase(drive, journal, roots)
        assert is_free(drive, journal), moment


def test_an_erase_that_is_refused_leaves_no_password(journal, roots) -> None:
    for manners in CONFORMANT_MANNERS:
        drive = AtaSecurityDrive(manners)
        drive.enhanced_supported = True
        drive.before = lambda what, drive=drive: (
            setattr(drive, "enhanced_supported", False) if what == "--security-erase-enhanced" else None
        )
        with pytest.raises(PurgeError, match="failed: "):
            _erase(drive, journal, roots, enhanced=True)
        assert is_free(drive, journal)


def test_a_password_that_outlives_the_erase_is_a_failure_and_taken_off(journal, roots) -> None:
    drive = AtaSecurityDrive(Manners(keeps_password_after_erase=True))
    with pytest.raises(PurgeError, match="still has the password, so it has not erased itself"):
        _erase(drive, journal, roots)
    assert is_free(drive, journal)


def test_a_drive_that_vanished_keeps_its_entry_and_the_command_is_named(journal, roots, golden) -> None:
    drive = AtaSecurityDrive()

    def gone(_what: str) -> None:
        if drive.password is not None:
            raise ProgramError("/dev/sda: No such file or directory")

    drive.before = gone
    with pytest.raises(
        TargetError, match=r"MAY STILL HAVE A PASSWORD: .*run openpts purge --unlock /.*/dev/sda"
    ):
        _erase(drive, journal, roots)
    assert len(journal.entries()) == 1
    drive.before = lambda _: None
    with pytest.raises(PurgeError, match=r"has not removed it: remove it first, with openpts purge --unlock"):
        _erase(drive, journal, roots)
    drive.power_cycle()
    (entry,) = journal.entries()
    assert take_password_off(entry, roots, drive) == golden


@pytest.fixture
def left_locked(journal: Journal, roots: SystemRoots) -> AtaSecurityDrive:
    """A drive that lost power after its password was set, with its entry."""
    drive = AtaSecurityDrive()
    drive.before = lambda _: (_ for _ in ()).throw(ProgramError("gone")) if drive.password else None
    with pytest.raises(TargetError):
        _erase(drive, journal, roots)
    drive.before = lambda _: None
    drive.power_cycle()
    drive.commands.clear()
    return drive


def _refused(drive: AtaSecurityDrive, journal: Journal, roots: SystemRoots) -> str:
    (entry,) = journal.entries()
    with pytest.raises(TargetError) as error:
        take_password_off(entry, roots, drive)
    return str(error.value)


def test_a_locked_drive_is_unlocked_with_a_single_attempt(left_locked, journal, roots) -> None:
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert left_locked.commands == ["--Istdout", "--security-disable", "--Istdout"]
    assert left_locked.erased == 0


def test_one_that_must_finish_its_erasure_is_erased_again_and_that_is_said(
    left_locked, journal, roots, golden
) -> None:
    left_locked.erasure_unfinished = True
    (entry,) = journal.entries()
    assert take_password_off(entry, roots, left_locked) == golden
    assert left_locked.erased == 1


def test_one_with_another_password_is_not_erased_and_stays_in_the_journal(
    left_locked, journal, roots, golden
) -> None:
    left_locked.password = "theirs"
    said = _refused(left_locked, journal, roots)
    assert said == golden
    assert left_locked.erased == 0
    assert len(journal.entries()) == 1


def test_one_whose_attempts_are_used_up_is_not_tried_again(left_locked, journal, roots, golden) -> None:
    left_locked.attempts_left = 0
    assert _refused(left_locked, journal, roots) == golden
    assert left_locked.commands == ["--Istdout"]


def test_a_frozen_one_wants_a_power_cycle_first(left_locked, journal, roots, golden) -> None:
    left_locked.locked, left_locked.frozen = False, True
    assert _refused(left_locked, journal, roots) == golden
    left_locked.power_cycle()
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert left_locked.password is None


def test_one_that_unlocks_only_when_locked_wants_a_power_cycle_first(
    left_locked, journal, roots, golden
) -> None:
    left_locked.manners, left_locked.locked = Manners(unlock_only_when_locked=True), False
    assert _refused(left_locked, journal, roots) == golden
    left_locked.power_cycle()
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert left_locked.password is None


def test_hdparm_that_outlived_its_openpts_is_waited_for(left_locked, journal, roots, golden) -> None:
    node = roots.dev / "sda"
    (roots.proc / "77001").mkdir()
    (roots.proc / "77001/cmdline").write_bytes(
        os.fsencode(f"/usr/sbin/hdparm\0--security-erase\0openpts\0{node}\0")
    )
    assert _refused(left_locked, journal, roots) == golden
    assert left_locked.commands == []


def test_hdparm_that_only_asks_is_not_waited_for(left_locked, journal, roots) -> None:
    (roots.proc / "77001").mkdir()
    (roots.proc / "77001/cmdline").write_bytes(os.fsencode(f"hdparm\0-I\0{roots.dev / 'sda'}\0"))
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert left_locked.password is None


def test_another_drive_under_that_name_is_not_touched(left_locked, journal, roots, golden) -> None:
    entry_file = next(journal.folder.glob("*.json"))
    entry_file.write_text(entry_file.read_text().replace('identify_serial": "LAB', 'identify_serial": "'))
    assert _refused(left_locked, journal, roots) == golden
    assert set(left_locked.commands) == {"--Istdout"}


def test_behind_another_adapter_it_is_found_by_what_identify_says(left_locked, journal, roots) -> None:
    device = BlockDevice.of_name("sda", roots)
    (device.folder / "device/vpd_pg80").write_bytes(b"\0\x80\0\x08BRIDGE01")
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert left_locked.password is None


def test_a_drive_in_use_is_not_erased_again(left_locked, journal, roots, golden) -> None:
    left_locked.erasure_unfinished = True
    device = BlockDevice.of_name("sda", roots)
    (device.folder / "holders/md0").mkdir(parents=True)
    assert _refused(left_locked, journal, roots) == golden
    assert left_locked.erased == 0


def _twin(roots: SystemRoots) -> BlockDevice:
    """Another drive with the serial number and the model of sda, as some makers have sold."""
    sda = BlockDevice.of_name("sda", roots)
    home = sda.folder.parents[1].with_name("9:0:0:0")
    shutil.copytree(sda.folder.parents[1], home, symlinks=True)
    folder = (home / "block/sda").rename(home / "block/sdt")
    (folder / "device").unlink()
    (folder / "device").symlink_to(home)
    for place in ("block", "class/block"):
        (roots.sys / place / "sdt").symlink_to(folder)
    return give_node(BlockDevice.of_name("sdt", roots))


@pytest.fixture
def two_alike(
    roots: SystemRoots, left_locked: AtaSecurityDrive
) -> tuple[ProgramRunner, list[str], BlockDevice]:
    """Both answer with the same IDENTIFY DEVICE; to what was sent which commands."""
    sent: list[str] = []

    def run(command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        sent.append(f"{Path(command[-1]).name} {command[1] if command[1] == '--Istdout' else command[-3]}")
        return left_locked((*command[:-1], "/dev/sda"), timeout_s, to_the_end=to_the_end)

    return run, sent, _twin(roots)


def test_of_two_drives_alike_the_world_wide_name_decides(two_alike, journal, roots) -> None:
    run, sent, twin = two_alike
    sda = BlockDevice.of_name("sda", roots)
    (entry,) = journal.entries()
    noted = replace(entry, subject={**entry.subject, "wwn": "5002538f00000001"})
    (twin.folder / "device/wwid").write_text("naa.5002538f00000002\n")
    (sda.folder / "device/wwid").write_text("naa.5002538F00000001\n")
    assert is_noted_drive(sda, noted, run)
    assert find_drive(noted.subject, roots) == sda
    assert sent == []


def test_of_two_drives_alike_in_everything_the_operator_decides(two_alike, journal, roots) -> None:
    run, sent, twin = two_alike
    (entry,) = journal.entries()
    with pytest.raises(TargetError, match=r"several drives match .*name one, as in openpts purge --unlock /"):
        take_password_off(entry, roots, run)
    assert {command.split()[1] for command in sent} == {"--Istdout"}
    sent.clear()
    take_password_off(entry, roots, run, named=twin)
    assert {command.split()[0] for command in sent} == {"sdt"}


def test_a_drive_with_another_world_wide_name_is_not_touched(left_locked, journal, roots) -> None:
    (entry,) = journal.entries()
    left_locked.world_wide_name = 0x5002538F00000001
    device = BlockDevice.of_name("sda", roots)
    identity = identify_disk(device, left_locked)
    assert identity is not None
    assert is_noted_identity(identity, entry.subject)
    assert is_noted_identity(identity, {**entry.subject, "wwn": "5002538f00000001"})
    other = replace(entry, subject={**entry.subject, "wwn": "5002538f00000002"})
    with pytest.raises(
        TargetError, match=r"world wide name 5002538f00000001, not .*world wide name 5002538f00000002"
    ):
        take_password_off(other, roots, left_locked, named=device)
    assert set(left_locked.commands) == {"--Istdout"}


def test_the_node_is_held_while_commands_go_to_it_and_claimed_for_an_erasure(
    left_locked, journal, roots, monkeypatch
) -> None:
    left_locked.erasure_unfinished = True
    node = roots.dev / "sda"
    holds: list[tuple[str, int]] = []

    def count(what: str) -> None:
        nodes = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        holds.append((what, nodes.count(node)))

    left_locked.before = count
    (entry,) = journal.entries()
    take_password_off(entry, roots, left_locked)
    assert {number for what, number in holds if "erase" not in what and "erasure" not in what} == {1}
    assert {number for what, number in holds if "erase" in what or "erasure" in what} == {2}


def test_a_locked_drive_that_somebody_has_claimed_is_not_erased_again(
    left_locked, journal, roots, monkeypatch, golden
) -> None:
    left_locked.erasure_unfinished = True
    really = os.open

    def claimed(path: object, flags: int, *rest: int) -> int:
        if flags & os.O_EXCL and str(path).endswith("/sda"):
            raise OSError(errno.EBUSY, "Device or resource busy")
        return really(path, flags, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", claimed)
    said = _refused(left_locked, journal, roots)
    assert said == golden
    assert left_locked.erased == 0


def test_a_name_that_has_become_another_drives_is_sent_nothing(left_locked, journal, roots, golden) -> None:
    (BlockDevice.of_name("sda", roots).folder / "dev").write_text("8:160\n")
    assert _refused(left_locked, journal, roots) == golden
    assert left_locked.commands == []

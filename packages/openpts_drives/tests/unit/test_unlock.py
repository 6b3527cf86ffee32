"""`openpts purge --unlock`: what it says and does, on a drive that behaves as the standard says."""

import os

import pytest

from openpts import journal as journal_module
from openpts.cli.main import cli
from openpts.device.block_device import BlockDevice
from openpts.errors import TargetError, UsageError
from openpts.journal import Entry, Journal
from openpts.programs import ProgramError
from openpts.system_files import SystemRoots
from openpts_drives.cli import purge as unlock_module
from openpts_drives.purge.ata_security import AtaSecurityErase
from tests.data.system_trees import server
from tests.support.ata_security_drive import AtaSecurityDrive
from tests.support.held_drive import held

__all__ = ["server"]


@pytest.fixture
def drive(server: SystemRoots, tmp_path, monkeypatch) -> AtaSecurityDrive:
    """The drive sda of a made-up machine on which the command runs."""
    drive = AtaSecurityDrive()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    (server.proc / "self").mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(unlock_module, "run_program", drive)
    monkeypatch.setattr(unlock_module, "SystemRoots", lambda: server)
    monkeypatch.setattr(
        unlock_module.BlockDevice, "of_node", lambda path, roots: BlockDevice.of_name(path.name, roots)
    )
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path))
    return drive


@pytest.fixture
def left_locked(drive: AtaSecurityDrive, server: SystemRoots) -> AtaSecurityDrive:
    """The same after a power cut in the middle of an erasure, whose process is gone."""

    def gone(_what: str) -> None:
        if drive.password is not None:
            raise ProgramError("gone")

    drive.before = gone
    with held(BlockDevice.of_name("sda", server), 2**30) as target, pytest.raises(TargetError):
        AtaSecurityErase(run=drive).carry_out(target, lambda *_: None)
    drive.before = lambda _: None
    drive.power_cycle()
    _end_owner(Journal.of_machine().entries()[0])
    return drive


def _end_owner(entry: Entry) -> None:
    """The process that made an entry goes, and its lock with it."""
    os.close(journal_module._LOCKS.pop(entry.entry_id))


def _run(*arguments: str) -> int:
    return cli.main(["purge", "--unlock", *arguments], standalone_mode=False)


@pytest.mark.parametrize("named", [[], ["/dev/sda"], ["LABSATA0000"]])
def test_it_unlocks_what_is_noted_and_forgets_it(named, left_locked, capsys, golden) -> None:
    assert _run(*named) == 0
    capsys.readouterr()
    assert (left_locked.password, left_locked.locked) == (None, False)
    assert Journal.of_machine().entries() == ()
    assert _run(*named) == 0
    said = capsys.readouterr().out
    assert said == golden


def test_the_list_changes_nothing(left_locked, capsys) -> None:
    left_locked.commands.clear()
    assert _run("--list") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("QEMU HARDDISK, serial number LABSATA0000: password set 20")
    assert second.endswith("/dev/sda: enabled, locked")
    assert left_locked.commands == ["--Istdout"]
    assert len(Journal.of_machine().entries()) == 1


def test_one_that_stays_locked_is_an_error_and_stays_noted(left_locked, capsys, golden) -> None:
    left_locked.password = "theirs"
    assert _run() == TargetError.exit_code
    assert capsys.readouterr().err == golden
    assert len(Journal.of_machine().entries()) == 1


def test_a_password_that_is_not_noted_is_explained(drive) -> None:
    drive.password, drive.locked = "theirs", True
    with pytest.raises(TargetError, match=r"has a password \(enabled, locked\), which is not recorded here"):
        _run("/dev/sda")
    assert set(drive.commands) == {"--Istdout"}


@pytest.mark.parametrize("words", [("--method", "discard"), ("--json",), ("--confirm-serial", "S1")])
def test_words_of_a_purge_are_refused(words, drive) -> None:
    with pytest.raises(UsageError, match="--unlock goes with TARGET and --list alone"):
        _run("/dev/sda", *words)

"""A password never stays on a drive: whatever ends a Security Erase, at whatever moment.

A crash is raised at every single command and journal entry, before and after its effect, in the middle of the
erasure, and again during the unlocking. A process that was killed does nothing more, not even what stands
in its ``finally``: from the crash on, every command and every entry of it crashes again.
"""

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from openpts.device.block_device import BlockDevice
from openpts.errors import OpenptsError
from openpts.journal import Entry, Journal
from openpts.system_files import SystemRoots
from openpts_drives.purge.ata_security import AtaSecurityErase, take_password_off
from tests.data.system_trees import build_system
from tests.support.ata_security_drive import CONFORMANT_MANNERS, AtaSecurityDrive, Manners, give_sda, is_free
from tests.support.held_drive import held


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Life:
    """Counts what a process does, interrupts it once, and ends it at ``last`` and ever after."""

    last: int | None = None
    interrupted_at: int | None = None
    moments: list[str] = field(default_factory=list)

    def pass_moment(self, name: str) -> None:
        self.moments.append(name)
        if len(self.moments) == self.interrupted_at:
            raise KeyboardInterrupt
        if self.last is not None and len(self.moments) > self.last:
            raise Killed(name)


class MortalJournal(Journal, frozen=True):
    """A journal of a process that may be killed before and after each change."""

    life: Life = msgspec.field(default_factory=Life)

    def add(self, kind: str, subject: Mapping[str, str], found: Mapping[str, str]) -> Entry:
        self.life.pass_moment("before the entry")
        entry = Journal.add(self, kind, subject, found)
        self.life.pass_moment("after the entry")
        return entry

    def remove(self, entry: Entry) -> None:
        self.life.pass_moment("before the removal")
        Journal.remove(self, entry)
        self.life.pass_moment("after the removal")


def _live(drive: AtaSecurityDrive, folder: Path, life: Life) -> None:
    def pass_moment(when: str, what: str) -> None:
        assert drive.password is None or len(Journal(folder).entries()) == 1, "a password that was not noted"
        life.pass_moment(f"{when} {what}")

    drive.before = lambda what: pass_moment("before", what)
    drive.after = lambda what: pass_moment("after", what)


def _erase(drive: AtaSecurityDrive, folder: Path, roots: SystemRoots, life: Life) -> None:
    _live(drive, folder, life)
    method = AtaSecurityErase(run=drive, journal=lambda: MortalJournal(folder, life=life))
    with held(BlockDevice.of_name("sda", roots), 2**30) as target:
        method.carry_out(target, lambda _share, _text: None)


def _unlock(drive: AtaSecurityDrive, folder: Path, roots: SystemRoots, life: Life) -> None:
    _live(drive, folder, life)
    journal = MortalJournal(folder, life=life)
    for entry in journal.entries():
        take_password_off(entry, roots, drive)
        journal.remove(entry)


def _moments_of_an_erase(manners: Manners, folder: Path, roots: SystemRoots) -> int:
    life = Life()
    _erase(AtaSecurityDrive(manners), folder, roots, life)
    return len(life.moments)


@pytest.fixture
def roots(server: SystemRoots) -> SystemRoots:
    return give_sda(server)


@pytest.mark.full_matrix
@pytest.mark.parametrize("power_cut", [False, True], ids=["killed", "power cut"])
@pytest.mark.parametrize("manners", CONFORMANT_MANNERS, ids=str)
def test_one_unlock_frees_the_drive_whenever_the_erase_was_ended(manners, power_cut, tmp_path, roots) -> None:
    moments = _moments_of_an_erase(manners, tmp_path / "whole", roots)
    assert moments > 14
    for last in range(moments):
        drive, folder = AtaSecurityDrive(manners), tmp_path / str(last)
        with pytest.raises(Killed):
            _erase(drive, folder, roots, Life(last))
        if power_cut:
            drive.power_cycle()
        _unlock(drive, folder, roots, Life())
        assert is_free(drive, Journal(folder)), last


def test_an_interrupted_erase_that_is_killed_while_it_cleans_up_is_made_good(tmp_path, roots) -> None:
    manners = Manners()
    for interrupted_at in range(1, _moments_of_an_erase(manners, tmp_path / "whole", roots)):
        for last in range(interrupted_at, interrupted_at + 9):
            drive, folder = AtaSecurityDrive(manners), tmp_path / f"{interrupted_at}-{last}"
            with suppress(Killed, KeyboardInterrupt):
                _erase(drive, folder, roots, Life(last, interrupted_at))
            drive.power_cycle()
            _unlock(drive, folder, roots, Life())
            assert is_free(drive, Journal(folder)), (interrupted_at, last)


@pytest.mark.full_matrix(most=2)
@pytest.mark.parametrize("manners", CONFORMANT_MANNERS, ids=str)
def test_an_unlock_that_was_killed_too_is_made_good_by_the_next(manners, tmp_path, roots) -> None:
    moments = _moments_of_an_erase(manners, tmp_path / "whole", roots)
    for last in range(0, moments, 4):
        for unlock_last in range(30):
            drive, folder = AtaSecurityDrive(manners), tmp_path / f"{last}-{unlock_last}"
            with pytest.raises(Killed):
                _erase(drive, folder, roots, Life(last))
            drive.power_cycle()
            life = Life(unlock_last)
            try:
                _unlock(drive, folder, roots, life)
            except Killed:
                drive.power_cycle()
                _unlock(drive, folder, roots, Life())
            assert is_free(drive, Journal(folder)), (last, unlock_last)
            if len(life.moments) <= unlock_last:
                break
        else:
            pytest.fail("an unlock has no end")


class AnyHistory(RuleBasedStateMachine):
    """Erasures and unlockings that end anywhere, power cuts and restarts in any order."""

    @initialize(manners=st.sampled_from(CONFORMANT_MANNERS))
    def begin(self, manners: Manners) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.roots = give_sda(build_system("server", Path(self.folder.name)))
        self.journal = Path(self.folder.name) / "journal"
        self.drive = AtaSecurityDrive(manners)

    @rule(last=st.integers(0, 20), interrupted_at=st.none() | st.integers(1, 20))
    def erase(self, last: int, interrupted_at: int | None) -> None:
        with suppress(Killed, KeyboardInterrupt, OpenptsError):
            _erase(self.drive, self.journal, self.roots, Life(last, interrupted_at))

    @rule(last=st.integers(0, 20))
    def unlock(self, last: int) -> None:
        with suppress(Killed, OpenptsError):
            _unlock(self.drive, self.journal, self.roots, Life(last))

    @rule()
    def power_cycle(self) -> None:
        self.drive.power_cycle()

    @rule()
    def restart_machine(self) -> None:
        self.drive.restart_machine()

    @invariant()
    def a_password_is_noted(self) -> None:
        assert self.drive.password is None or len(Journal(self.journal).entries()) == 1

    def teardown(self) -> None:
        """A power cycle and one unlock free it, whatever was before."""
        self.drive.power_cycle()
        _unlock(self.drive, self.journal, self.roots, Life())
        assert is_free(self.drive, Journal(self.journal))
        self.folder.cleanup()


class TestAnyHistory(AnyHistory.TestCase):
    """Not too many: each makes a machine of files."""

    settings = settings(max_examples=8, stateful_step_count=10)

"""What killed runs have left behind is put back: all of it, the latest change first, and only once."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts import hooks
from openpts.device.block_device import BlockDevice
from openpts.device.guard.usage import drive_claimed
from openpts.device.journalled_drive import drive_subject, find_drive, is_drive
from openpts.device.targets.target import BlockTarget, FileTarget
from openpts.device.write_cache import WRITE_CACHE
from openpts.errors import OpenptsError, RefusedError, TargetError
from openpts.journal import Entry, Journal, JournalError, claimed, journal_lock
from openpts.programs import ProgramRunner
from openpts.runner import healing
from openpts.runner.healing import heal, heal_before_run
from openpts.system_files import SystemRoots
from openpts_drives.mounted.prepared_drive import MOUNT
from openpts_drives.nvme import POWER_STATES
from openpts_drives.purge.ata_security import DRIVE_PASSWORD
from openpts_host.changes import HOST_SETTING
from openpts_nvme.outliers.drive_monitor import LATENCY_MONITOR
from openpts_traces.capture.leftovers import BLOCK_TRACE
from tests.data.system_trees import server
from tests.support.processes import die, dies, living

__all__ = ["server"]

KINDS = {BLOCK_TRACE, DRIVE_PASSWORD, HOST_SETTING, LATENCY_MONITOR, MOUNT, POWER_STATES, WRITE_CACHE}


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path / "journal")


def leave_behind(journal: Journal, kind: str, subject: dict[str, str], *found: str) -> None:
    """Entries of a process that is gone, in this order."""

    def note_and_die() -> None:
        for value in found:
            journal.add(kind, subject, {"value": value})
        die()

    dies(note_and_die)


class Recorder:
    """A healer that writes down what it was given; ``error`` is what it raises."""

    def __init__(self, error: OpenptsError | None = None) -> None:
        self.error = error
        self.healed: list[str] = []

    def __call__(self, entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
        if self.error is not None:
            raise self.error
        self.healed.append(entry.found["value"])
        return f"{entry.found['value']} is back"


@pytest.fixture
def healer(monkeypatch) -> Recorder:
    recorder = Recorder()
    own = hooks.healer_of
    monkeypatch.setattr(hooks, "healer_of", lambda kind: replace(own(kind), put_back=recorder))
    return recorder


def test_the_state_before_the_first_change_is_what_remains(journal, healer, server) -> None:
    for day, value in enumerate(["first", "second", "third"], start=1):
        leave_behind(journal, WRITE_CACHE, {}, value)
        path = max(journal.folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
        path.write_text(re.sub('"made_at": "[^"]*"', f'"made_at": "2026-01-0{day}"', path.read_text()))
    done = heal(journal, server, KINDS)
    assert healer.healed == ["third", "second", "first"]
    assert [each.text for each in done] == ["third is back", "second is back", "first is back"]
    assert all(each.put_back for each in done)
    assert journal.entries() == ()
    assert heal(journal, server, KINDS) == ()


def test_what_a_living_process_has_changed_is_left_alone(journal, healer, server) -> None:
    journal.add(WRITE_CACHE, {}, {"value": "ours"})
    assert heal(journal, server, KINDS) == ()
    assert len(journal.entries()) == 1


def test_only_what_was_asked_for_is_put_back(journal, healer, server) -> None:
    for kind in KINDS:
        leave_behind(journal, kind, {}, kind)
    heal(journal, server, [HOST_SETTING, WRITE_CACHE], concerns=lambda e: e.kind == WRITE_CACHE)
    assert healer.healed == ["write cache"]
    assert {entry.kind for entry in journal.entries()} == KINDS - {WRITE_CACHE}


def test_what_fails_is_told_and_stays(journal, healer, server) -> None:
    leave_behind(journal, WRITE_CACHE, {}, "old")
    healer.error = TargetError("the drive is not there")
    (failed,) = heal(journal, server, KINDS)
    assert not failed.put_back
    assert failed.text == "can't restore the write cache: the drive is not there"
    healer.error = None
    (healed,) = heal(journal, server, KINDS)
    assert healed.put_back
    assert journal.entries() == ()


def test_without_a_journal_there_is_nothing_to_do(journal, server) -> None:
    assert heal(journal, server, KINDS) == ()
    assert not journal.folder.exists()


def test_an_entry_that_makes_no_sense_stops_everything(journal, server) -> None:
    journal.add(WRITE_CACHE, {}, {})
    next(journal.folder.glob("*.json")).write_text("{")
    with pytest.raises(JournalError, match="makes no sense"):
        heal(journal, server, KINDS)


def block_target(name: str, roots: SystemRoots, monkeypatch) -> BlockTarget:
    """A target whose node needs not be there."""
    device = BlockDevice.of_name(name, roots)
    monkeypatch.setattr(healing.BlockDevice, "of_node", lambda path, roots: device)
    return BlockTarget(Path(f"/dev/{name}"))


def test_a_run_heals_its_own_drive_and_no_other(journal, healer, server, monkeypatch) -> None:
    for name in ("sda", "nvme0n1"):
        leave_behind(journal, WRITE_CACHE, drive_subject(BlockDevice.of_name(name, server)), name)
    heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server)
    assert healer.healed == ["nvme0n1"]
    assert [entry.found["value"] for entry in journal.entries()] == ["sda"]


def test_a_drive_that_another_run_owns_is_left_as_it_is(journal, healer, server, monkeypatch) -> None:
    """Its own journal knows nothing of that run, which may be in another container."""
    drive = BlockDevice.of_name("nvme0n1", server)
    leave_behind(journal, WRITE_CACHE, drive_subject(drive), "nvme0n1")

    def owning(wait: Callable[[], None]) -> None:
        with drive_claimed(drive, None, server):
            wait()

    server.dev.mkdir(exist_ok=True)
    with living(owning), pytest.raises(RefusedError, match="belongs to run"):
        heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server)
    assert healer.healed == []
    heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server)
    assert healer.healed == ["nvme0n1"]


def test_a_run_on_a_file_heals_nothing(journal, healer, server) -> None:
    leave_behind(journal, WRITE_CACHE, drive_subject(BlockDevice.of_name("sda", server)), "sda")
    assert heal_before_run(FileTarget(Path("/srv/x"), 10**9), journal, server) == ()
    assert healer.healed == []


def test_a_password_that_was_left_makes_a_run_on_that_drive_refuse(
    journal, healer, server, monkeypatch
) -> None:
    leave_behind(journal, DRIVE_PASSWORD, drive_subject(BlockDevice.of_name("sda", server)), "secret")
    assert heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server) == ()
    with pytest.raises(RefusedError, match="openpts purge --unlock /dev/sda") as refusal:
        heal_before_run(block_target("sda", server, monkeypatch), journal, server)
    assert "secret" not in str(refusal.value)
    assert healer.healed == []


def test_a_drive_is_known_by_serial_number_and_model_under_any_name(server) -> None:
    sda = BlockDevice.of_name("sda", server)
    moved = {**drive_subject(sda), "node": "/dev/sdz"}
    assert is_drive(sda, moved)
    assert find_drive(moved, server) == sda
    assert not is_drive(BlockDevice.of_name("sdb", server), moved)
    assert not is_drive(sda, {**moved, "model": "another"})
    with pytest.raises(TargetError, match="serial number X, last seen as /dev/sdz was not found"):
        find_drive({**moved, "serial": "X"}, server)


def test_a_drive_without_a_serial_number_is_known_by_its_node(server) -> None:
    loop = next(
        device
        for folder in sorted((server.sys / "block").iterdir())
        if "serial" not in drive_subject(device := BlockDevice(folder.resolve(), server))
    )
    assert is_drive(loop, drive_subject(loop))
    assert not is_drive(loop, {**drive_subject(loop), "node": "/dev/elsewhere"})


def test_two_drives_that_say_they_are_the_same_are_not_guessed_between(server) -> None:
    first, second = (BlockDevice.of_name(name, server) for name in ("nvme0n1", "nvme1n1"))
    subject = drive_subject(first)
    assert find_drive(subject, server) == first
    for attribute in ("serial", "model"):
        (second.folder / "device" / attribute).write_text(first.text(f"device/{attribute}") or "")
    with pytest.raises(TargetError, match="several drives match"):
        find_drive(subject, server)


def test_whatever_is_changed_can_be_put_back(journal, server) -> None:
    """Also where a plug-in of others is broken: openpts' own are asked first."""
    for kind in KINDS:
        assert not hooks.healer_of(kind).put_back.__module__.startswith(hooks.__name__)


def test_what_nothing_that_is_installed_can_put_back_keeps_runs_off_its_drive(
    journal, server, monkeypatch, snapshot
) -> None:
    leave_behind(journal, "fan speed", drive_subject(BlockDevice.of_name("sda", server)), "low")
    (failed,) = heal(journal, server)
    assert not failed.put_back
    with pytest.raises(RefusedError, match=r"of /dev/sda on .* can't restore it") as refusal:
        heal_before_run(block_target("sda", server, monkeypatch), journal, server)
    assert re.sub(r"on \S+,", "on DATE,", str(refusal.value)) == snapshot
    assert failed.text == snapshot
    assert heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server) == ()
    assert len(journal.entries()) == 1


class _Erasing:
    """A healer that takes its time, as an erasure does."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.wait = wait

    def __call__(self, entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
        self.wait()
        return "the password was removed"


def test_an_erasure_of_hours_keeps_no_run_waiting(journal, server, healer, monkeypatch) -> None:
    subject = drive_subject(BlockDevice.of_name("sda", server))
    leave_behind(journal, DRIVE_PASSWORD, subject, "secret")

    def unlock(wait: Callable[[], None]) -> None:
        heal(journal, server, {DRIVE_PASSWORD}, healers=lambda _: hooks.Healer(_Erasing(wait)))

    with living(unlock) as unlocking:
        leave_behind(journal, WRITE_CACHE, {}, "old")
        (healed,) = heal(journal, server, KINDS)
        assert healed.text == "old is back"
        # nothing writes to the drive meanwhile, and others may be measured
        with pytest.raises(RefusedError, match="another openpts is using the password of"):
            heal_before_run(block_target("sda", server, monkeypatch), journal, server)
        assert heal_before_run(block_target("nvme0n1", server, monkeypatch), journal, server) == ()
        unlocking.end()
    assert (journal.entries(), healer.healed) == ((), ["old"])


def test_a_password_is_taken_off_by_one_at_a_time(journal, healer, server) -> None:
    leave_behind(journal, DRIVE_PASSWORD, {}, "secret")
    (entry,) = journal.left_behind()

    def claim(wait: Callable[[], None]) -> None:
        with claimed(journal, entry):
            wait()

    with living(claim) as other, pytest.raises(JournalError, match=rf"openpts \(process {other.pid}\) is"):
        claimed(journal, entry).__enter__()
    assert heal(journal, server, KINDS)[0].put_back


def test_a_turn_that_does_not_end_is_told_with_its_process(journal) -> None:
    def take_a_turn(wait: Callable[[], None]) -> None:
        with journal_lock(journal):
            wait()

    with living(take_a_turn) as other:
        with pytest.raises(JournalError, match=rf"another openpts \(process {other.pid}\) is"):
            journal_lock(journal, wait_s=0.1).__enter__()
        other.end()
    with journal_lock(journal) as noted:
        assert noted.entries == ()

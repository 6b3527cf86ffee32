"""The write cache is set, read back and put back, or it is said why not."""

import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device import write_cache
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeController
from openpts.device.targets.open_target import OpenTarget
from openpts.device.write_cache import (
    WRITE_CACHE,
    WriteCacheControl,
    cache_still_needed,
    put_back_write_cache,
)
from openpts.errors import RunFailedError, TargetError
from openpts.journal import Journal, journal_lock
from openpts.programs import run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind
from tests.support.processes import die, dies

CACHE_TYPE = "device/scsi_disk/0:0:0:0/cache_type"


@pytest.fixture(autouse=True)
def journal(tmp_path, monkeypatch) -> Journal:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "state"))
    return Journal.of_machine()


def control_of(target: OpenTarget, roots: SystemRoots) -> AbstractContextManager[WriteCacheControl]:
    return write_cache.write_cache_control(target, roots, Journal.of_machine())


def drive(name: str, roots: SystemRoots) -> OpenTarget:
    facts = TargetFacts(TargetKind.BLOCK, name, f"/dev/{name}", 10**9, 512)
    return OpenTarget(-1, facts, BlockDevice.of_name(name, roots))


@dataclass
class Controller:
    """A controller with a cache; ``obeys`` is what it does with Set Features."""

    enabled: bool
    obeys: bool = True
    error: NvmeCommandError | None = None
    asked: list[bool] = field(default_factory=list)

    def set(self, _fd: int, *, enabled: bool) -> None:
        self.asked.append(enabled)
        if self.error is not None:
            raise self.error
        self.enabled = enabled if self.obeys else self.enabled


@pytest.fixture
def controller(monkeypatch) -> Callable[..., Controller]:
    def install(enabled: bool, vwc: int = 1, **behavior: object) -> Controller:
        found = Controller(enabled, **behavior)  # type: ignore[arg-type]
        identity = NvmeController(ver=0x10400, oacs=0, sanicap=0, oncs=0, fna=0, vwc=vwc)
        monkeypatch.setattr(write_cache, "identify_controller", lambda fd: identity)
        monkeypatch.setattr(write_cache, "volatile_write_cache_enabled", lambda fd: found.enabled)
        monkeypatch.setattr(write_cache, "set_volatile_write_cache", found.set)
        return found

    return install


@pytest.mark.proves("PTS-CACHE-01")
@pytest.mark.parametrize("required", [True, False])
def test_nvme_is_set_read_back_and_put_back(required, controller, server) -> None:
    found = controller(not required)
    with control_of(drive("nvme0n1", server), server) as cache:
        report = cache.require(required)
        assert found.enabled is required
        words = {True: "WCE", False: "WCD"}
        assert (report.required, report.actual) == (words[required], words[required])
        was = words[not required]
        assert report.source == f"NVMe Get Features, 06h; set by openpts, was {was}"
        cache.require(required)
    assert found.enabled is not required
    assert found.asked == [required, not required]


def test_what_is_as_required_is_left_alone(controller, server, journal) -> None:
    found = controller(False)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(False).source == "NVMe Get Features, 06h"
        (entry,) = journal.entries()  # for others to see that somebody relies on it
        assert put_back_write_cache(entry, server, run_program).endswith("had left it WCD as found")
    assert found.asked == []
    assert journal.entries() == ()


def test_what_was_found_first_is_in_the_journal_before_the_change_and_until_it_is_put_back(
    controller, server, journal, monkeypatch
) -> None:
    found = controller(True)
    in_journal: list[object] = []
    obey = found.set

    def note(fd: int, *, enabled: bool) -> None:
        in_journal.append([(entry.kind, dict(entry.found)) for entry in journal.entries()])
        obey(fd, enabled=enabled)

    monkeypatch.setattr(write_cache, "set_volatile_write_cache", note)
    with control_of(drive("nvme0n1", server), server) as cache:
        cache.require(False)
        (entry,) = journal.entries()
        cache.require(True)
        assert journal.entries() == (entry,)
    assert in_journal == [[(WRITE_CACHE, {"state": "WCE"})]] * 3
    assert entry.subject["node"] == str(server.dev / "nvme0n1")
    assert journal.entries() == ()


def test_a_drive_without_a_cache_is_not_told_to_have_one(controller, server) -> None:
    found = controller(False, vwc=0)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(True).actual == "no volatile cache"
    assert found.asked == []


def test_a_refusal_is_in_the_source_and_nothing_is_put_back(controller, server, journal) -> None:
    found = controller(True, error=NvmeCommandError("NVMe status 0x4002"))
    with control_of(drive("nvme0n1", server), server) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("; setting WCD failed: NVMe status 0x4002")
    assert journal.entries() == ()
    assert found.asked == [False]


def test_a_drive_that_only_pretends_is_found_out(controller, server) -> None:
    controller(True, obeys=False)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(False).actual == "WCE"


def test_it_is_put_back_after_a_failure_whose_error_stays(controller, server) -> None:
    found = controller(True)

    def fail() -> None:
        with control_of(drive("nvme0n1", server), server) as cache:
            cache.require(False)
            raise RunFailedError("an I/O failed")

    with pytest.raises(RunFailedError, match="an I/O failed"):
        fail()
    assert found.enabled


def test_what_cannot_be_put_back_is_an_error_and_stays_in_the_journal(controller, server, journal) -> None:
    found = controller(True)

    def go_away() -> None:
        with control_of(drive("nvme0n1", server), server) as cache:
            cache.require(False)
            found.error = NvmeCommandError("gone")

    with pytest.raises(TargetError, match="could not be set back to WCE: gone"):
        go_away()
    (entry,) = journal.entries()
    assert entry.found == {"state": "WCE"}


def test_a_disk_that_has_gone_is_called_so_and_stays_in_the_journal(server, journal) -> None:
    target = drive("sda", server)
    with control_of(target, server) as cache:
        cache.require(False)
        target.device.folder.rename(target.device.folder.with_name("gone"))
        with pytest.raises(TargetError, match="of /dev/sda could not be set back to WCE: the drive has gone"):
            cache.put_back()
        assert len(journal.entries()) == 1
        target.device.folder.with_name("gone").rename(target.device.folder)
    assert journal.entries() == ()


@pytest.mark.parametrize("text", ["write back", "write back, no read (daft)"])
def test_a_disk_takes_its_mode_page_and_gets_the_very_text_back(text, server, golden) -> None:
    place = BlockDevice.of_name("sda", server).folder / CACHE_TYPE
    place.write_text(text)
    with control_of(drive("sda", server), server) as cache:
        report = cache.require(False)
        assert place.read_text().startswith("write through")
        assert report.source == golden
    assert place.read_text().startswith(text)


def test_a_mode_page_that_may_not_be_changed_is_told(server, monkeypatch) -> None:
    def refuse(device: BlockDevice, attribute: str, text: str) -> None:
        raise OSError(22, "Invalid argument")

    (BlockDevice.of_name("sda", server).folder / CACHE_TYPE).write_text("write back")
    monkeypatch.setattr(write_cache, "_write_attribute", refuse)
    with control_of(drive("sda", server), server) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("setting WCD failed: Invalid argument")


def test_others_can_not_be_told(virtual_machine) -> None:
    with control_of(drive("vdb", virtual_machine), virtual_machine) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("; a virtio has no command that sets it")


def test_a_file_is_left_alone(server) -> None:
    facts = TargetFacts(TargetKind.FILE, "x", "/srv/my data/x", 10**9, 512)
    target = replace(drive("sda", server), facts=facts, device=None)
    with control_of(target, server) as cache:
        assert cache.require(False).actual == "not controllable (file)"


def test_without_a_journal_nothing_is_changed(controller, server, journal, golden) -> None:
    found = controller(True)
    journal.folder.parent.mkdir()
    journal.folder.write_text("a file in the place of the folder")
    with control_of(drive("nvme0n1", server), server) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source == golden
    assert found.asked == []


def _set_and_die(server: SystemRoots) -> None:
    with control_of(drive("sda", server), server) as cache:
        assert cache.require(False).actual == "WCD"
        die()


@pytest.fixture
def killed(server: SystemRoots, journal: Journal) -> Path:
    """A disk whose cache a killed run has switched off; its mode page."""
    place = BlockDevice.of_name("sda", server).folder / CACHE_TYPE
    place.write_text("write back, no read (daft)\n")
    node = server.dev / "sda"
    node.parent.mkdir(exist_ok=True)
    node.touch()
    dies(lambda: _set_and_die(server))
    assert place.read_text().startswith("write through")
    return place


def test_after_a_crash_the_very_text_that_was_found_comes_back(killed, journal, server, golden) -> None:
    (entry,) = journal.left_behind()
    text = put_back_write_cache(entry, server, run_program)
    assert killed.read_text().startswith("write back, no read (daft)")
    assert text.replace(entry.made_at, "TIME") == golden


def test_a_drive_that_has_gone_is_told_by_its_name(killed, journal, server) -> None:
    (entry,) = journal.left_behind()
    (server.sys / "block/sda").unlink()
    with pytest.raises(TargetError, match=r"last seen as .*sda was not found"):
        put_back_write_cache(entry, server, run_program)


def test_a_cache_that_does_not_come_back_is_an_error(killed, journal, server, monkeypatch) -> None:
    (entry,) = journal.left_behind()
    monkeypatch.setattr(write_cache, "_write_attribute", lambda device, attribute, text: None)
    with pytest.raises(TargetError, match=r"reads back as WCD .* and was WCE"):
        put_back_write_cache(entry, server, run_program)


def second_namespace(server: SystemRoots) -> OpenTarget:
    """Another namespace of the controller of nvme0n1, as far as the journal can tell."""
    first = BlockDevice.of_name("nvme0n1", server)
    folder = first.folder.with_name("nvme0n2")
    shutil.copytree(first.folder, folder, symlinks=True)
    for place in ("block", "class/block"):
        (server.sys / place / "nvme0n2").symlink_to(folder)
    return replace(drive("nvme0n1", server), device=BlockDevice.of_name("nvme0n2", server))


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_runs_on_two_namespaces_leave_the_one_cache_as_the_first_of_them_found_it(
    first_ends_first, controller, server, journal
) -> None:
    found = controller(True)
    with ExitStack() as first, ExitStack() as second:
        one = first.enter_context(control_of(drive("nvme0n1", server), server))
        other = second.enter_context(control_of(second_namespace(server), server))
        assert one.require(False).actual == other.require(False).actual == "WCD"
        before, after = (first, second) if first_ends_first else (second, first)
        before.close()
        assert not found.enabled
        after.close()
    assert found.enabled
    assert journal.entries() == ()


@pytest.mark.parametrize("as_found", [True, False])
def test_a_run_does_not_change_the_cache_that_another_measures_with(as_found, controller, server) -> None:
    found = controller(as_found)
    with (
        control_of(drive("nvme0n1", server), server) as one,
        control_of(second_namespace(server), server) as other,
    ):
        one.require(False)
        report = other.require(True)
        assert (report.actual, found.enabled) == ("WCD", False)
        told = f"left as it is: another run (process {os.getpid()}) measures with this cache"
        assert told in report.source
        assert one.require(False).actual == "WCD"
    assert found.enabled is as_found


def test_a_run_that_first_found_all_well_puts_back_what_it_changed_later(controller, server, journal) -> None:
    found = controller(False)
    with control_of(drive("nvme0n1", server), server) as cache:
        cache.require(False)
        cache.require(True)
        (entry,) = journal.entries()
        assert (entry.found, found.enabled) == ({"state": "WCD"}, True)
    assert not found.enabled


def test_a_killed_run_beside_a_living_one_leaves_the_cache_to_that(controller, server, journal) -> None:
    found = controller(True)

    def set_and_die() -> None:
        with control_of(drive("nvme0n1", server), server) as cache:
            cache.require(False)
            die()

    dies(set_and_die)
    found.enabled = False  # in that process
    with control_of(second_namespace(server), server) as other:
        other.require(False)
        (gone, _) = journal.entries()
        with journal_lock(journal) as noted:
            needed = cache_still_needed(gone, noted, server)
        assert needed.endswith(f"left as it is for another run (process {os.getpid()})")

"""The write cache is set, read back and put back, or it is said why not."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from openpts.device import write_cache, write_cache_control
from openpts.device.block_device import BlockDevice
from openpts.device.nvme_admin import NvmeCommandError, NvmeController
from openpts.device.open_target import OpenTarget
from openpts.device.write_cache_control import write_cache_control as control_of
from openpts.errors import RunFailedError, TargetError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import TargetFacts, TargetKind

CACHE_TYPE = "device/scsi_disk/0:0:0:0/cache_type"


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
def controller(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Controller]:
    def install(enabled: bool, vwc: int = 1, **behaviour: object) -> Controller:
        found = Controller(enabled, **behaviour)  # type: ignore[arg-type]
        identity = NvmeController(ver=0x10400, oacs=0, sanicap=0, oncs=0, fna=0, vwc=vwc)
        monkeypatch.setattr(write_cache, "identify_controller", lambda fd: identity)
        monkeypatch.setattr(write_cache, "volatile_write_cache_enabled", lambda fd: found.enabled)
        monkeypatch.setattr(write_cache_control, "set_volatile_write_cache", found.set)
        return found

    return install


@pytest.mark.proves("PTS-CACHE-01")
@pytest.mark.parametrize("required", [True, False])
def test_nvme_is_set_read_back_and_put_back(
    required: bool, controller: Callable[..., Controller], server: SystemRoots
) -> None:
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


def test_what_is_as_required_is_left_alone(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(False)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(False).source == "NVMe Get Features, 06h"
    assert found.asked == []


def test_a_drive_without_a_cache_is_not_told_to_have_one(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(False, vwc=0)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(True).actual == "no volatile cache"
    assert found.asked == []


def test_two_settings_end_with_what_was_found_first(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(True)
    with control_of(drive("nvme0n1", server), server) as cache:
        for required in (False, True, False):
            assert cache.require(required).actual == ("WCE" if required else "WCD")
    assert found.enabled


def test_a_refusal_is_in_the_source_and_nothing_is_put_back(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(True, error=NvmeCommandError("NVMe status 0x4002"))
    with control_of(drive("nvme0n1", server), server) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("; setting WCD failed: NVMe status 0x4002")
    assert found.asked == [False]


def test_a_drive_that_only_pretends_is_found_out(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    controller(True, obeys=False)
    with control_of(drive("nvme0n1", server), server) as cache:
        assert cache.require(False).actual == "WCE"


def test_it_is_put_back_after_a_failure_whose_error_stays(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(True)

    def fail() -> None:
        with control_of(drive("nvme0n1", server), server) as cache:
            cache.require(False)
            raise RunFailedError("an I/O failed")

    with pytest.raises(RunFailedError, match="an I/O failed"):
        fail()
    assert found.enabled


def test_what_cannot_be_put_back_is_an_error(
    controller: Callable[..., Controller], server: SystemRoots
) -> None:
    found = controller(True)

    def go_away() -> None:
        with control_of(drive("nvme0n1", server), server) as cache:
            cache.require(False)
            found.error = NvmeCommandError("gone")

    with pytest.raises(TargetError, match="could not be set back to what it was: gone"):
        go_away()


@pytest.mark.parametrize("text", ["write back", "write back, no read (daft)"])
def test_a_disk_takes_its_mode_page_and_gets_the_very_text_back(text: str, server: SystemRoots) -> None:
    place = BlockDevice.of_name("sda", server).folder / CACHE_TYPE
    place.write_text(text)
    with control_of(drive("sda", server), server) as cache:
        report = cache.require(False)
        assert place.read_text().startswith("write through")
        assert "set by openpts, was WCE" in report.source
    assert place.read_text().startswith(text)


def test_a_mode_page_that_may_not_be_changed_is_told(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, data: bytes) -> int:
        raise OSError(22, "Invalid argument")

    (BlockDevice.of_name("sda", server).folder / CACHE_TYPE).write_text("write back")
    monkeypatch.setattr(write_cache_control.os, "write", refuse)
    with control_of(drive("sda", server), server) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("setting WCD failed: Invalid argument")


def test_others_can_not_be_told(virtual_machine: SystemRoots) -> None:
    with control_of(drive("vdb", virtual_machine), virtual_machine) as cache:
        report = cache.require(False)
    assert report.actual == "WCE"
    assert report.source.endswith("; a virtio can't be told otherwise")


def test_a_file_is_left_alone(server: SystemRoots) -> None:
    facts = TargetFacts(TargetKind.FILE, "x", "/srv/my data/x", 10**9, 512)
    target = replace(drive("sda", server), facts=facts, device=None)
    with control_of(target, server) as cache:
        assert cache.require(False).actual == "not controllable (file)"

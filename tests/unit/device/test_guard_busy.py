"""A drive that udev looks into for a moment is not taken for one that somebody uses."""

import errno
import os
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.guard import guard
from openpts.device.guard.claims import Claim, ClaimKind
from openpts.device.guard.guard import check_drive
from openpts.device.guard.usage import Usage
from openpts.system_files import SystemRoots
from tests.support.held_drive import give_node


@pytest.fixture
def device(server: SystemRoots, monkeypatch: pytest.MonkeyPatch) -> BlockDevice:
    """A drive with nothing on it, which has no TCG."""
    for name in ("SECURITY_RULE", "SIGNATURE_RULE"):
        blank = replace(getattr(guard, name), evidence=lambda _device, _usage: None)
        monkeypatch.setattr(guard, name, blank)
    return give_node(BlockDevice.of_name("nvme0n1", server))


@pytest.fixture
def claimed_for(monkeypatch: pytest.MonkeyPatch, device: BlockDevice) -> Callable[[float], None]:
    """Let somebody else have claimed the drive for some seconds from now; ours are no real ones."""
    now_s = 0.0
    really = os.open

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def claim(seconds: float) -> None:
        def open_late(path: str, flags: int, *rest: int) -> int:
            if path == device.node and now_s < seconds:
                raise OSError(errno.EBUSY, "Device or resource busy")
            return really(path, flags, *rest)

        monkeypatch.setattr(os, "open", open_late)
        monkeypatch.setattr(time, "monotonic", lambda: now_s)
        monkeypatch.setattr(time, "sleep", sleep)

    return claim


def test_a_claim_that_ends_at_once_is_waited_for(
    device: BlockDevice, claimed_for: Callable[[float], None]
) -> None:
    claimed_for(4.5)
    assert check_drive(device, Usage(())) == ()


def test_a_claim_that_stays_is_a_refusal(device: BlockDevice, claimed_for: Callable[[float], None]) -> None:
    claimed_for(1e9)
    (refusal,) = check_drive(device, Usage(()))
    assert refusal.rule_id == "busy"
    assert 5 <= time.monotonic() < 5.5


def test_drives_that_are_open_for_a_moment_are_looked_at_together(
    server: SystemRoots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, /proc is not walked more often."""
    drives = [BlockDevice.of_name(name, server) for name in ("nvme0n1", "sdb")]
    first, second = (Claim(ClaimKind.OPEN, "is open in process 1 (fio)", name=one.name) for one in drives)
    looks = iter([Usage((second,)), Usage(())])
    monkeypatch.setattr(guard, "read_usage", lambda _roots: next(looks))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    assert guard.settled(Usage((first, second)), drives) == Usage(())
    assert next(looks, None) is None


def test_a_drive_that_stays_open_is_a_refusal(server: SystemRoots, monkeypatch: pytest.MonkeyPatch) -> None:
    drive = BlockDevice.of_name("nvme0n1", server)
    held = Usage((Claim(ClaimKind.OPEN, "is open in process 1 (fio)", name=drive.name),))
    waited_s: list[float] = []
    monkeypatch.setattr(guard, "read_usage", lambda _roots: held)
    monkeypatch.setattr(time, "sleep", waited_s.append)
    assert [refusal.rule_id for refusal in check_drive(drive, held)] == ["open"]
    assert 1 < sum(waited_s) < 2

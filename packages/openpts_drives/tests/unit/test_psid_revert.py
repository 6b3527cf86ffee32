"""A revert by PSID as the kernel carries it out: what is sent, its answers, and that nothing repeats it."""

import errno
import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.guard.guard import _waived_rules
from openpts.device.purge.methods import Capability, choose
from openpts.device.purge.purge import SampledSectors, purge
from openpts.device.security import Level0, Security
from openpts.errors import PurgeError, PurgeImpossibleError
from openpts.vocabulary.purge import Consent, PurgeChoice
from openpts_drives.purge import psid_revert
from openpts_drives.purge.nvme_drive import NvmeQuestions
from openpts_drives.purge.psid_revert import PsidRevert
from tests.support.level0_answers import WORDS_OF
from tests.support.nvme_machine import controller, device, roots, target

__all__ = ["device", "roots", "target"]

PSID = b"0123456789ABCDEF0123456789ABCDEF"
LOCKED, FREE = (Security(Level0.parse(WORDS_OF[state][0]), "level 0") for state in ("locked", "opal-2"))
Kernel = Callable[[int, int, bytearray, bool], int]


@pytest.fixture
def method(monkeypatch) -> PsidRevert:
    """Of a drive that is locked until its kernel reverts it."""
    monkeypatch.setattr(psid_revert, "read_security", lambda _device: LOCKED)
    return PsidRevert(psid=lambda: PSID, questions=NvmeQuestions(controller=lambda _fd: controller(oacs=1)))


def answering(monkeypatch, answer: int | OSError, after: Security = FREE) -> list[bytes]:
    """Let the kernel answer the ioctl; what it was given."""
    given: list[bytes] = []

    def ioctl(_fd: int, number: int, key: bytearray, mutate: bool) -> int:
        assert (number, mutate) == (0x410870E8, True)
        given.append(bytes(key))
        monkeypatch.setattr(psid_revert, "read_security", lambda _device: after)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    return given


def test_the_kernel_is_given_the_number_and_the_drive_asked_again(method, target, monkeypatch) -> None:
    given = answering(monkeypatch, 0)
    assert method.carry_out(target, lambda _share, _text: None) == "TCG Opal 2: not locking"
    # struct opal_key: range, length, six bytes of padding, 256 of the key
    assert given == [bytes([0, 32, 0, 0, 0, 0, 0, 0]) + PSID + bytes(224)]


@pytest.mark.parametrize(
    ("answer", "after"),
    [
        (1, LOCKED),
        (63, LOCKED),
        (OSError(errno.ENOTTY, "Inappropriate ioctl for device"), LOCKED),
        (OSError(errno.EACCES, "Permission denied"), LOCKED),
        (0, LOCKED),
        (OSError(524, "Unknown error 524"), LOCKED),
    ],
)
def test_a_failure_says_why_and_never_the_number(method, target, monkeypatch, golden, answer, after) -> None:
    answering(monkeypatch, answer, after)
    with pytest.raises(PurgeError) as refused:
        method.carry_out(target, lambda _share, _text: None)
    assert PSID.decode() not in str(refused.value)
    assert str(refused.value) == golden
    assert PSID.decode() not in repr(method)


def test_it_is_never_taken_unasked_and_needs_the_number(method, device, target) -> None:
    capability = method.capability(device)
    assert capability.supported
    with pytest.raises(PurgeImpossibleError, match="needs the PSID on the drive's label"):
        choose(PurgeChoice.AUTO, device, frozenset(), lambda _device: [(method, capability)])
    with pytest.raises(PurgeError, match="PSID on the drive's label is needed"):
        replace(method, psid=PsidRevert().psid).carry_out(target, lambda _share, _text: None)


def test_a_drive_without_tcg_has_no_such_method(device, monkeypatch, method) -> None:
    monkeypatch.setattr(psid_revert, "read_security", lambda _device: Security(Level0(), "OACS 0x0"))
    assert method.capability(device) == Capability(False, "has no TCG (OACS 0x0)")


def test_a_locked_drive_is_reverted_only_where_its_contents_do_not_matter() -> None:
    erase = Consent(erase_signatures=True)
    assert _waived_rules(erase, to_revert=True) == {"signature", "security"}
    assert _waived_rules(erase) == {"signature"}
    assert _waived_rules(Consent(), to_revert=True) == frozenset()


def test_what_could_not_be_read_before_must_be_readable_afterwards(target, monkeypatch) -> None:
    locked = replace(target, is_locked=True)
    monkeypatch.setattr("openpts.device.purge.purge._read", _failing)
    evidence = SampledSectors.of_locked(locked)
    assert len(evidence.unreadable) == 64
    with pytest.raises(PurgeError, match="can't read"):
        evidence.compare(locked)
    monkeypatch.undo()
    proof = evidence.compare(locked)
    assert (proof.marks, proof.marks_changed, proof.left) == (64, 64, 0)


def test_marks_go_where_a_drive_takes_them(target) -> None:
    """As behind a shadow MBR; the file reads as it was written."""
    with Path(target.facts.path).open("r+b") as file:
        opened = replace(target, fd=file.fileno(), is_locked=True)
        evidence = SampledSectors.of_locked(opened)
        assert (len(evidence.marks), evidence.unreadable) == (64, ())
        assert evidence.compare(opened).left == 64


def _failing(*_: object) -> object:
    raise OSError(errno.ENODATA, "No data available")


def test_the_report_has_the_state_before_and_after(method, target, monkeypatch) -> None:
    monkeypatch.setattr("openpts.device.purge.methods.capabilities", lambda _device: ())
    answering(monkeypatch, 0)
    monkeypatch.setattr(
        "openpts.device.purge.purge.chosen_methods",
        lambda *_: type("Chosen", (), {"methods": (method,), "left_out": ()}),
    )
    report = purge(replace(target, is_locked=True), PurgeChoice(("psid-revert",)), psid=lambda: PSID)
    assert report.status_before["security"].value == "TCG Opal 2: locked"
    assert report.status["security"].value == "TCG Opal 2: not locking"
    assert PSID.decode() not in repr(report)

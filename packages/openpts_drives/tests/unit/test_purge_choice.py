"""Which method is taken, by what a drive can do and what the operator said."""

import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from openpts.device.block_device import BlockDevice
from openpts.device.purge import purge as purge_module
from openpts.device.purge.methods import Capability, ChosenMethods, Progress, Unusable, choose, methods
from openpts.device.purge.purge import Overwrite, purge
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import PurgeError, RefusedError, UsageError
from openpts.system_files import SystemRoots
from openpts.tests.unit.device.test_purge import drive, file
from openpts.vocabulary.facts import Fact, Facts, PurgeAttempt, TargetFacts, TargetKind
from openpts.vocabulary.purge import PurgeChoice

__all__ = ["drive", "file"]


@dataclass(frozen=True)
class Method:
    """One that fails, erases, or says that it did."""

    name: str
    fails: str | None = None
    is_purge: bool = True
    erases: bool = False
    title: str = "a made-up method"

    def capability(self, device: BlockDevice) -> Capability:
        raise AssertionError("the table of the test says it")

    def carry_out(self, target: OpenTarget, progress: Progress) -> str:
        if self.fails:
            raise PurgeError(self.fails)
        if self.erases:
            os.pwrite(target.fd, bytes(target.facts.user_capacity_bytes), 0)
        return "done"

    def status(self, target: OpenTarget) -> Facts:
        content = os.pread(target.fd, target.facts.user_capacity_bytes, 0)
        return {"utilisation": Fact(f"{len(set(content))} values", "all bytes")}


YES, NO = Capability(True, "says so"), Capability(False, "says no")
ELSEWHERE = Capability(False, "is no such drive", foreign=True)
BOTH = Capability(True, "says so", reaches=("/dev/nvme0n2",))
FORMAT, SANITIZE, ATA, DISCARD = (
    Method("nvme-format"),
    Method("nvme-sanitize-block"),
    Method("ata-sanitize-block"),
    Method("discard"),
)
OVERWRITE = Method("overwrite", is_purge=False)


def chosen(text: str, server: SystemRoots, *capabilities: Capability, confirmed: str = "") -> ChosenMethods:
    """What is chosen of format, sanitize, a method of ATA, discard and overwrite with these capabilities."""
    table = list(zip((FORMAT, SANITIZE, ATA, DISCARD, OVERWRITE), capabilities, strict=True))
    device = BlockDevice.of_name("nvme0n1", server)
    return choose(PurgeChoice.parse(text), device, frozenset({confirmed}), lambda _: table)


def test_the_best_is_taken_and_what_was_passed_over_is_told(server) -> None:
    assert chosen("auto", server, YES, YES, ELSEWHERE, YES, YES) == ChosenMethods((FORMAT,), ())
    assert chosen("auto", server, NO, NO, ELSEWHERE, YES, YES) == ChosenMethods(
        (DISCARD,), (PurgeAttempt("nvme-format", "says no"), PurgeAttempt("nvme-sanitize-block", "says no"))
    )


def test_what_would_erase_more_than_was_confirmed_is_passed_over_or_refused(server) -> None:
    found = chosen("auto", server, NO, BOTH, ELSEWHERE, YES, YES)
    assert found.methods == (DISCARD,)
    assert found.left_out[1].outcome == "would erase /dev/nvme0n2 as well, which was not confirmed"
    with pytest.raises(RefusedError, match=r"refused \[namespaces\].*--confirm-namespace /dev/nvme0n2"):
        chosen("nvme-sanitize-block", server, NO, BOTH, ELSEWHERE, YES, YES)
    found = chosen("nvme-sanitize-block", server, NO, BOTH, ELSEWHERE, YES, YES, confirmed="/dev/nvme0n2")
    assert found.methods == (SANITIZE,)


def test_overwriting_is_never_taken_unasked(server) -> None:
    with pytest.raises(PurgeError, match=r"it has overwrite \(not a purge\)$"):
        chosen("auto", server, NO, NO, ELSEWHERE, NO, YES)
    assert chosen("overwrite", server, NO, NO, ELSEWHERE, NO, YES).methods == (OVERWRITE,)


def test_what_a_drive_lacks_is_refused_with_what_it_has(server) -> None:
    with pytest.raises(
        PurgeError, match="this way: nvme-format: says no; it has nvme-sanitize-block, discard, overwrite"
    ):
        chosen("nvme-format", server, NO, YES, ELSEWHERE, YES, YES)
    with pytest.raises(PurgeError, match="ata-sanitize-block: is no such drive"):
        chosen("ata-sanitize-block", server, NO, YES, ELSEWHERE, YES, YES)


def test_an_array_that_cannot_be_purged_is_told_what_to_do_with_its_members(tmp_path) -> None:
    array = BlockDevice(tmp_path / "devices/virtual/block/md0", SystemRoots(sys=tmp_path, dev=Path("/dev")))
    (array.folder / "md").mkdir(parents=True)
    with pytest.raises(PurgeError, match=r"purge the members of the array, create it .* --purge none$"):
        choose(PurgeChoice.AUTO, array, frozenset(), lambda _: [(DISCARD, NO)])


def test_an_order_keeps_its_order(server) -> None:
    found = chosen("discard,nvme-format,nvme-sanitize-block", server, NO, YES, ELSEWHERE, YES, YES)
    assert found == ChosenMethods((DISCARD, SANITIZE), (PurgeAttempt("nvme-format", "says no"),))


def test_a_name_that_does_not_exist_is_told_with_all_names(server) -> None:
    with pytest.raises(
        UsageError, match=r"'burn' is not a purge method: there are auto, none, nvme-format, "
    ):
        chosen("burn", server, YES, YES, ELSEWHERE, YES, YES)


@pytest.mark.parametrize("text", ["auto,discard", "discard,none", "discard,discard", "a b", ""])
def test_words_that_make_no_sense(text) -> None:
    with pytest.raises(ValueError, match="purge"):
        PurgeChoice.parse(text)


def test_every_method_has_a_name_of_its_own_that_can_be_asked_for() -> None:
    found = list(methods())
    assert not [method for method in found if isinstance(method, Unusable)]
    names = [method.name for method in found]
    assert len(set(names)) == len(names)
    assert all(PurgeChoice.parse(name).methods == (name,) for name in names)
    assert [method.name for method in found if not method.is_purge][-1] == "overwrite"


@pytest.fixture
def only(monkeypatch):
    def use(*methods: Method) -> None:
        monkeypatch.setattr(purge_module, "choose", lambda *_: ChosenMethods(methods, ()))

    return use


def test_one_that_fails_ends_it_unless_the_operator_gave_an_order(drive, only) -> None:
    only(broken := Method("first", fails="it broke"))
    with pytest.raises(PurgeError, match=r"^it broke$"):
        purge(drive, PurgeChoice.parse("first"))
    only(broken, Method("second", erases=True))
    report = purge(drive, PurgeChoice.parse("first,second"))
    assert (report.name, report.attempts) == ("second", (PurgeAttempt("first", "it broke"),))
    assert (report.changed_samples, report.blank_samples) == (64, 64 + report.other_samples)


def test_what_a_drive_says_before_is_asked_before_it_is_marked(drive, only) -> None:
    only(Method("first", erases=True))
    os.pwrite(drive.fd, b"xyz", 0)
    report = purge(drive, PurgeChoice.parse("first"))
    assert report.status_before["utilisation"].value == "3 values"
    assert report.status["utilisation"].value == "1 values"


def test_an_order_of_which_nothing_works_tells_of_each(drive, only) -> None:
    only(Method("first", fails="it broke"), Method("second"))
    with pytest.raises(
        PurgeError, match=r"none of first,second has .*: first: it broke; second: .*still hold"
    ):
        purge(drive, PurgeChoice.parse("first,second"))


@pytest.mark.proves("PTS-PRG-02")
def test_what_is_no_purge_is_reported_as_none(drive, only) -> None:
    only(Method("overwrite", is_purge=False, erases=True))
    report = purge(drive, PurgeChoice.parse("overwrite"))
    assert (report.ran, report.name) == (False, "overwrite")


def test_overwriting_writes_every_byte_once(drive) -> None:
    told: list[float | None] = []
    Overwrite().carry_out(drive, lambda share, _: told.append(share))
    content = os.pread(drive.fd, drive.facts.user_capacity_bytes, 0)
    assert len(zlib.compress(content)) > len(content)
    assert told[-1] == 1.0


def test_overwriting_a_drive_that_takes_less_is_an_error(drive) -> None:
    facts = TargetFacts(TargetKind.BLOCK, "full", "/dev/full", 8192, 512)
    with (
        Path("/dev/full").open("rb+", buffering=0) as full,
        pytest.raises(PurgeError, match="failed at byte 0: No space"),
    ):
        Overwrite().carry_out(OpenTarget(full.fileno(), facts, drive.device), lambda share, text: None)

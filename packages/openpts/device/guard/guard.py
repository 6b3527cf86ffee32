"""The single door to a writable target: nothing else in openpts opens a drive for writing.

A drive is guilty until proven unused. The kernel's own lists are checked first, then whether the drive can be
claimed exclusively and its contents, then the operator must have named it twice. All of it is checked again
while we hold the drive: it may have been put to use in between, or its name may be another drive's.
"""

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice, number_text
from openpts.device.guard.claims import NamedFile, Usage
from openpts.device.guard.rules import (
    OPEN_RULE_ID,
    SECURITY_RULE,
    SIGNATURE_RULE,
    Refusal,
    named_file,
    not_a_sibling,
    other_paths,
    quiet_refusals,
    refuse,
    unconfirmed,
)
from openpts.device.guard.usage import drive_claimed, file_claimed, read_usage, with_twins
from openpts.device.security import read_security
from openpts.device.targets.open_target import OpenTarget, block_facts
from openpts.device.targets.scratch_file import (
    FileUse,
    close_file,
    file_refusals,
    mark_left,
    mark_taken,
    open_scratch_file,
    remove_if_unused,
    take_file,
)
from openpts.device.targets.target import FileTarget, Target
from openpts.errors import RefusedError, TargetError, failing_as
from openpts.system_files import SystemRoots, closed_at_end
from openpts.vocabulary.purge import Consent

_Consented = Callable[[], Refusal | None]
"""The refusal of a drive that the operator has not consented to."""

# on a busy machine; nothing else claims a drive without a user known to the kernel
_UDEV_LOOKS_S: Final = 5.0
_RETRY_S: Final = 0.05
# between checks of a drive that others have open: openpts devices, smartctl and the like close it at once
_PAUSES_S: Final = (0.1, 0.3, 1.0)
_HINTS: Final = {
    errno.EACCES: "run openpts as root",
    errno.EPERM: "run openpts as root",
    errno.ENOENT: "the kernel has the drive, but its node is missing: see udevadm trigger",
    errno.ENXIO: "the drive has gone, or its node belongs to another one: see dmesg",
    errno.ENOMEDIUM: "is there a medium in it?",
}


@contextmanager
def open_target(
    target: Target,
    consent: Consent,
    roots: SystemRoots,
    run_id: str | None = None,
    *,
    lent: bool = False,
    to_revert: bool = False,
) -> Iterator[OpenTarget]:
    """Hand out a target for writing, and close it at the end.

    A drive is claimed for the run (None: one without a record), and open with O_RDWR, O_DIRECT and O_EXCL; a
    file is allocated in full, locked, and open with O_RDWR and O_DIRECT. A file that was made here is removed
    again if the block fails before anything is written to it. ``lent``: a drive is for programs that claim it
    with O_EXCL themselves, such as those that format and mount it; it stays the run's own, and is open for
    reading. ``to_revert``: it may be locked, as it is to be reverted by its PSID. Raises RefusedError where
    a rule is against it, and TargetError where the target is missing or can't serve.
    """
    with ExitStack() as held:
        if isinstance(target, FileTarget):
            opened = open_scratch_file(target, consent, roots)
            held.callback(close_file, opened)
            held.callback(mark_left, opened.fd, FileUse.SCRATCH)
            owner = held.enter_context(file_claimed(named_file(opened.fd, target.path), run_id, roots))
        else:
            waived = _waived_rules(consent, to_revert=to_revert)
            device = BlockDevice.of_node(target.path, roots)
            consented = partial(unconfirmed, target, device, consent)
            _check_free(device, waived, roots)
            refuse([consented()])
            owner = held.enter_context(drive_claimed(device, run_id, roots))
            opened = _claim(device, consented, waived, held, roots)
            if to_revert:
                opened = replace(opened, is_locked=read_security(device).against is not None)
            if lent:
                _give_way(opened.fd, device)
        try:
            siblings = tuple(_open_siblings(opened, owner.run_id, consent, held, roots))
            yield replace(opened, siblings=siblings, owner=owner)
        except BaseException:
            remove_if_unused(opened)
            raise


@contextmanager
def open_contents(path: Path, consent: Consent, roots: SystemRoots) -> Iterator[int]:
    """Hand out the file that keeps the contents of a served drive, open for writing and locked, and close it.

    It is taken if it is new, holds no data, or kept a drive's contents before and has not been written to
    otherwise. A file that was made here is removed again if the block fails before anything is written to it.
    Raises RefusedError where a rule is against it, and TargetError where it can't be opened.
    """
    file = take_file(path, FileUse.CONTENTS, consent, roots)
    with ExitStack() as held:
        held.callback(close_file, file)
        held.enter_context(file_claimed(named_file(file.fd, file.path), None, roots))
        mark_taken(file.fd, FileUse.CONTENTS, given_away=file.given_away)
        held.callback(mark_left, file.fd, FileUse.CONTENTS)
        try:
            yield file.fd
        except BaseException:
            remove_if_unused(file)
            raise


def check(target: Target, roots: SystemRoots) -> tuple[Refusal, ...]:
    """All refusals of a target apart from the operator's confirmation; empty: it is free to use.

    Opens for reading at most, and a drive only if nothing is known against it. Raises TargetError
    where the target is missing or can't be opened, and RefusedError where the kernel's lists can't be
    read.
    """
    if isinstance(target, FileTarget):
        usage = read_usage(roots, with_twins(NamedFile.at(target.path), roots))
        return file_refusals(target.path, FileUse.SCRATCH, usage, roots)
    usage = read_usage(roots)
    return check_drive(BlockDevice.of_node(target.path, roots), usage)


def check_drive(device: BlockDevice, usage: Usage) -> tuple[Refusal, ...]:
    """As check, for a drive by its place in sysfs."""
    usage = settled(usage, [device])
    if known := quiet_refusals(device, usage):
        return known
    fd = _open_exclusively(device, os.O_RDONLY | os.O_NONBLOCK)
    if fd is None:
        return (_busy(device),)
    with closed_at_end(fd):
        return tuple(_found_on_it(device, usage))


def _found_on_it(device: BlockDevice, usage: Usage) -> Iterator[Refusal]:
    """What the drive itself has against it; checked while it is held."""
    verdicts = (rule.judge(device, usage) for rule in (SECURITY_RULE, SIGNATURE_RULE))
    return (refusal for refusal in verdicts if refusal is not None)


def settled(usage: Usage, devices: Sequence[BlockDevice]) -> Usage:
    """The usage, read again while a process has one of these drives open, and nothing else is against it.

    Another openpts that lists drives has them open for a moment: the two would refuse each other now and
    then. Raises RefusedError where the kernel's lists can't be read.
    """
    for pause_s in _PAUSES_S:
        only_open = [one for one in devices if _is_only_open(one, usage)]
        if not only_open:
            break
        time.sleep(pause_s)
        usage = read_usage(only_open[0].roots)
    return usage


def _is_only_open(device: BlockDevice, usage: Usage) -> bool:
    return {refusal.rule_id for refusal in quiet_refusals(device, usage)} == {OPEN_RULE_ID}


def _open_siblings(
    opened: OpenTarget, run_id: str, consent: Consent, held: ExitStack, roots: SystemRoots
) -> Iterator[OpenTarget]:
    """The namespaces that may be erased with a drive, each by the same rules as the drive itself."""
    waived = _waived_rules(consent)
    for path in dict.fromkeys(consent.confirm_namespaces):
        device = BlockDevice.of_node(path, roots)
        consented = partial(not_a_sibling, opened, device)
        refuse([consented()])
        _check_free(device, waived, roots)
        held.enter_context(drive_claimed(device, run_id, roots))
        yield _claim(device, consented, waived, held, roots)


def _check_free(device: BlockDevice, waived: frozenset[str], roots: SystemRoots) -> None:
    refuse(found for found in check_drive(device, read_usage(roots)) if found.rule_id not in waived)


def _claim(
    device: BlockDevice, consented: _Consented, waived: frozenset[str], held: ExitStack, roots: SystemRoots
) -> OpenTarget:
    """Open a drive, claimed on all of its paths, for as long as ``held`` holds it."""
    fd = _held_exclusively(device, os.O_RDWR | os.O_DIRECT, held)
    for other in other_paths(device):
        with suppress(TargetError):  # a path that is down is none for others either
            _held_exclusively(other, os.O_RDONLY | os.O_NONBLOCK, held)
    _check_held(fd, device, waived, roots)
    refuse([consented()])
    return OpenTarget(fd, block_facts(fd, device), device)


def _give_way(fd: int, device: BlockDevice) -> None:
    """Let go of the kernel's claim: the descriptor is one for reading now, of the same drive."""
    with failing_as(TargetError, f"{device.node} can't be opened", "see dmesg"):
        reading = os.open(device.node, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with closed_at_end(reading):
        _check_number(reading, device)
        os.dup2(reading, fd, inheritable=False)


def _check_number(fd: int, device: BlockDevice) -> None:
    if number_text(os.fstat(fd).st_rdev) != device.number:
        raise TargetError(f"{device.node} became another device while it was opened: try again")


def _held_exclusively(device: BlockDevice, flags: int, held: ExitStack) -> int:
    fd = _open_exclusively(device, flags)
    if fd is None:
        raise RefusedError(str(_busy(device)))
    held.callback(os.close, fd)
    return fd


def _waived_rules(consent: Consent, *, to_revert: bool = False) -> frozenset[str]:
    """The rules that the operator has waived by consent, by their IDs.

    What a locked drive holds can't be read: it is reverted only where that doesn't matter.
    """
    erases = consent.erase_signatures
    waived = {SIGNATURE_RULE.rule_id: erases, SECURITY_RULE.rule_id: erases and to_revert}
    return frozenset(rule_id for rule_id, is_waived in waived.items() if is_waived)


def _open_exclusively(device: BlockDevice, flags: int) -> int | None:
    """A claim on the drive, None if someone else has one and keeps it. Raises TargetError.

    udev reads a drive whenever a program that wrote to it has closed it, and claims it for a moment.
    """
    deadline_s = time.monotonic() + _UDEV_LOOKS_S
    while True:
        try:
            return os.open(device.node, flags | os.O_EXCL | os.O_CLOEXEC)
        except OSError as error:
            if error.errno != errno.EBUSY:
                hint = _HINTS.get(error.errno or 0, "see dmesg")
                raise TargetError(f"{device.node} can't be opened: {error.strerror}; {hint}") from error
        if time.monotonic() >= deadline_s:
            return None
        time.sleep(_RETRY_S)


def _busy(device: BlockDevice) -> Refusal:
    return Refusal(
        "busy",
        f"{device.node} is in use, and the kernel doesn't show by what",
        "maybe it is mounted in a container, see grep . /proc/[0-9]*/mountinfo, or another program holds it, "
        f"see fuser -v {device.node}",
    )


def _check_held(fd: int, device: BlockDevice, waived: frozenset[str], roots: SystemRoots) -> None:
    """The rules once more, now that the drive is claimed."""
    _check_number(fd, device)
    usage = settled(read_usage(roots), [device])
    refuse(quiet_refusals(device, usage))
    refuse(found for found in _found_on_it(device, usage) if found.rule_id not in waived)


class Safety(StrEnum):
    """Whether the guard would hand out a drive, once it is confirmed."""

    FREE = "free"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class GuardVerdict(Struct, frozen=True):
    """``refusals`` are those of the guard's rules; ``reason`` is the first, or why they can't be judged."""

    verdict: Safety
    reason: str | None
    refusals: tuple[Refusal, ...]

    @classmethod
    def of(cls, refusals: tuple[Refusal, ...] = (), unknown: str = "") -> Self:
        """A refusal that is known outweighs what is ``unknown``."""
        if refusals:
            return cls(Safety.REFUSED, str(refusals[0]), refusals)
        return cls(Safety.UNKNOWN, unknown, ()) if unknown else cls(Safety.FREE, None, ())

    def lines(self) -> Iterator[str]:
        """All refusals that a run would end with now, each with its remedy."""
        match self.verdict:
            case Safety.REFUSED:
                for refusal in self.refusals:
                    yield f"guard       a run would be {refusal}"
            case Safety.UNKNOWN:
                yield f"guard       unknown: {self.reason}"
            case Safety.FREE:
                yield "guard       allows the target as it is now"


def verdict_on(target: Target, roots: SystemRoots) -> GuardVerdict:
    """What the guard would say of a target now, apart from consent; opens it for reading at most."""
    try:
        return GuardVerdict.of(check(target, roots))
    except (RefusedError, TargetError) as error:
        return GuardVerdict.of(unknown=str(error))

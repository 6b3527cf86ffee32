"""The volatile write cache: read, set on a drive that is ours, read back, restored at the end (PTS 3.7).

NVMe takes feature 06h, SCSI and ATA disks the caching mode page, which sysfs sends to the drive itself; it
keeps that over a power cycle where the page can be saved. Others, and files, keep the cache that they have.
What was found is in the journal before anything is changed: the next run restores it after a crash.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from openpts.device.ata_identify import read_ata_identity
from openpts.device.block_device import BlockDevice, DeviceKind, device_below
from openpts.device.journalled_drive import drive_subject, drive_text, find_drive, is_drive, is_same_drive
from openpts.device.kernel_calls import open_to_ask
from openpts.device.nvme_admin import (
    NvmeCommandError,
    identify_controller,
    set_volatile_write_cache,
    volatile_write_cache_enabled,
)
from openpts.device.targets.open_target import OpenTarget
from openpts.errors import TargetError
from openpts.journal import Entry, Journal, JournalError, JournalSnapshot, journal_lock, turn_if_possible
from openpts.programs import ProgramRunner
from openpts.system_files import SystemRoots, closed_at_end
from openpts.vocabulary.facts import FILE_CACHE, WriteCacheReport

ENABLED: Final = "WCE"
DISABLED: Final = "WCD"
NO_CACHE: Final = "no volatile cache"
UNKNOWN: Final = "unknown"

# what the kernel calls the two states: of sd's cache_type (mode page 08h) and of queue/write_cache
_BY_KERNEL_TEXT: Final = {
    "write back": ENABLED,
    "write back, no read (daft)": ENABLED,
    "write through": DISABLED,
    "none": DISABLED,
}


def read_write_cache(target: OpenTarget, required_enabled: bool, roots: SystemRoots) -> WriteCacheReport:
    """Read the cache's state from the place that knows best, with that place; never raises.

    ``required_enabled`` is what the test asks for; it is only reported.
    """
    if target.device is None:
        actual, source = _of_file(target, roots)
    else:
        actual, source = read_drive_cache(target.fd, target.device)
    return WriteCacheReport(required=ENABLED if required_enabled else DISABLED, actual=actual, source=source)


def _of_file(target: OpenTarget, roots: SystemRoots) -> tuple[str, str]:
    drive = device_below(Path(target.facts.path), roots)
    if drive is None:
        return FILE_CACHE, "no block device can be seen below the file"
    _, source = _as_the_kernel_has_it(drive.whole, "queue/write_cache")
    return FILE_CACHE, f"the cache belongs to {drive.whole.node} below the file, {source}"


def read_drive_cache(fd: int, device: BlockDevice) -> tuple[str, str]:
    """State of the cache of a drive that is open as ``fd``, and its source; never raises."""
    match device.kind:
        case DeviceKind.NVME:
            return _of_nvme(fd)
        case DeviceKind.ATA | DeviceKind.SCSI:
            identity = read_ata_identity(device)
            if identity is not None and not identity.has_volatile_write_cache:
                return NO_CACHE, "ATA IDENTIFY DEVICE, word 82"
            attribute = cache_type_attribute(device)
            if attribute is None:
                return UNKNOWN, f"{device.place('device/scsi_disk')} is missing"
            return _as_the_kernel_has_it(device, attribute)
        case _:
            return _as_the_kernel_has_it(device, "queue/write_cache")


def _of_nvme(fd: int) -> tuple[str, str]:
    """The feature itself: queue/write_cache only says that there is a cache, on or off."""
    try:
        if not identify_controller(fd).has_volatile_write_cache:
            return NO_CACHE, "NVMe Identify Controller, VWC"
        enabled = volatile_write_cache_enabled(fd)
    except NvmeCommandError as error:
        return UNKNOWN, f"NVMe feature 06h could not be read: {error}"
    return ENABLED if enabled else DISABLED, "NVMe Get Features, 06h"


def cache_type_attribute(device: BlockDevice) -> str | None:
    """Where sysfs has the caching mode page of a SCSI or ATA disk; None for one without."""
    disks = sorted((device.folder / "device/scsi_disk").glob("*"))
    return f"device/scsi_disk/{disks[0].name}/cache_type" if disks else None


def _as_the_kernel_has_it(device: BlockDevice, attribute: str) -> tuple[str, str]:
    text = device.text(attribute)
    return _BY_KERNEL_TEXT.get(text or "", UNKNOWN), f"{device.place(attribute)}: {text or 'not there'}"


WRITE_CACHE: Final = "write cache"
"""The kind of its entries in the undo journal."""
_KERNEL_TEXT: Final = {True: "write back", False: "write through"}
_STATE, _CACHE_TYPE, _SET_TO = "state", "cache_type", "set_to"


class WriteCacheControl(Struct):
    """The cache of one target; ``_entry`` is what there is to put back at the end."""

    target: OpenTarget
    roots: SystemRoots
    journal: Journal
    _entry: Entry | None = field(default=None)

    def require(self, enabled: bool) -> WriteCacheReport:
        """Set the cache as required if it can be set, and read it back; the source says what was done."""
        requested = ENABLED if enabled else DISABLED
        found = read_write_cache(self.target, enabled, self.roots)
        device = self.target.device
        if device is None or found.actual not in {ENABLED, DISABLED}:
            return found
        if (setter := _setter(self.target.fd, device)) is None:
            reported = f"{found.source}; a {device.kind} has no command that sets it"
            return found if found.actual == requested else replace(found, source=reported)
        try:
            with journal_lock(self.journal) as noted:
                return self._require(enabled, device, setter, noted)
        except (OSError, NvmeCommandError, JournalError) as error:
            self._forget_what_did_not_change(device)
            reported = f"{found.source}; setting {requested} failed: {_reason(error)}"
            return found if found.actual == requested else replace(found, source=reported)

    def _require(
        self, enabled: bool, device: BlockDevice, setter: Callable[[bool], None], noted: JournalSnapshot
    ) -> WriteCacheReport:
        """Called under the lock. A cache found as required is recorded too, so that other runs leave it."""
        found = read_write_cache(self.target, enabled, self.roots)
        others = self._others(noted, device)
        if found.actual != found.required and others:
            reported = f"{_user(others[0])} measures with this cache, which belongs to the same drive"
            return replace(found, source=f"{found.source}; left as it is: {reported}")
        self._note(device, found, others)
        if found.actual == found.required:
            return found
        setter(enabled)
        now = read_write_cache(self.target, enabled, self.roots)
        return replace(now, source=f"{now.source}; set by openpts, was {found.actual}")

    def put_back(self) -> None:
        """Leave the cache as it was found; the last of several runs on a drive does so.

        Raises TargetError, and keeps what is to be put back in the journal.
        """
        device = self.target.device
        if self._entry is None or device is None:
            return
        try:
            self._put_back(self._entry, device)
        except (OSError, NvmeCommandError, TargetError, JournalError) as error:
            raise TargetError(
                f"the write cache of {self.target.facts.path} could not be set back to "
                f"{self._entry.found[_STATE]}: {_reason(error)}; the next run on the drive, or "
                "`openpts doctor --restore`, tries again"
            ) from error
        self._entry = None

    def _put_back(self, entry: Entry, device: BlockDevice) -> None:
        if not device.folder.exists():
            raise TargetError("the drive has gone away")
        with turn_if_possible(self.journal) as noted:
            if not _is_unchanged(entry) and not self._others(noted, device):
                _put_back(self.target.fd, device, entry.found)
            self.journal.remove(entry)

    def _others(self, noted: JournalSnapshot, device: BlockDevice) -> list[Entry]:
        """Entries of runs that continue with the same drive: a cache is one for all namespaces of it."""
        own = "" if self._entry is None else self._entry.entry_id
        running = (entry for entry in _running(noted) if entry.entry_id != own)
        return [entry for entry in running if is_drive(device, entry.subject)]

    def _note(self, device: BlockDevice, found: WriteCacheReport, others: Sequence[Entry]) -> None:
        """Record the state found first, by this run or another one. Raises JournalError."""
        before = self._entry
        if before is not None and (found.actual == found.required or not _is_unchanged(before)):
            return
        if before is not None or others:
            first = dict((before or others[0]).found)
        else:
            attribute = None if device.kind is DeviceKind.NVME else cache_type_attribute(device)
            state = {_STATE: found.actual, _CACHE_TYPE: None if attribute is None else device.text(attribute)}
            first = {key: value for key, value in state.items() if value is not None}
        subject = drive_subject(device) | {_SET_TO: found.required}
        self._entry = self.journal.add(WRITE_CACHE, subject, first)
        if before is not None:
            self.journal.remove(before)

    def _forget_what_did_not_change(self, device: BlockDevice) -> None:
        """A drive that refuses has nothing to put back; one that failed half way has."""
        entry = self._entry
        if entry is not None and read_drive_cache(self.target.fd, device)[0] == entry.found[_STATE]:
            with suppress(JournalError):
                self.journal.remove(entry)
                self._entry = None


@contextmanager
def write_cache_control(
    target: OpenTarget, roots: SystemRoots, journal: Journal
) -> Iterator[WriteCacheControl]:
    """Control over the cache of a target that the guard has opened; as it was found at the end.

    Raises TargetError if it can't be put back after a block that ended well; after one that failed, the
    drive may well be gone, and that failure is what counts. The journal keeps what was not put back.
    """
    control = WriteCacheControl(target, roots, journal)
    try:
        yield control
    except BaseException:
        with suppress(TargetError):
            control.put_back()
        raise
    control.put_back()


def cache_still_needed(entry: Entry, noted: JournalSnapshot, roots: SystemRoots) -> str | None:  # noqa: ARG001 as others
    """Why a cache that was left behind is not restored: a run continues with it, and restores it then."""
    for other in _running(noted):
        if other.entry_id != entry.entry_id and is_same_drive(other.subject, entry.subject):
            return f"the write cache of {drive_text(entry.subject)}: left as it is for {_user(other)}"
    return None


def put_back_write_cache(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:  # noqa: ARG001 no program does it
    """Put back what a run that was killed has left of a cache; see openpts.runner.healing.Healer.

    The drive is opened for reading: its cache is set by a command, and nothing is written to it. Raises
    TargetError if it is not there or doesn't take it.
    """
    if _is_unchanged(entry):
        return (
            f"the write cache of {drive_text(entry.subject)}: an interrupted run of {entry.made_at} had left "
            f"it {entry.found.get(_STATE)} as found"
        )
    device = find_drive(entry.subject, roots)
    try:
        with open_to_ask(device) as fd:
            _put_back(fd, device, entry.found)
    except (OSError, NvmeCommandError) as error:
        raise TargetError(f"{device.node} does not accept the setting: {_reason(error)}") from error
    return (
        f"the write cache of {device.node} is {entry.found.get(_STATE)} again: an interrupted run of "
        f"{entry.made_at} had changed it"
    )


def _running(noted: JournalSnapshot) -> Iterator[Entry]:
    return (entry for entry in noted.entries if entry.kind == WRITE_CACHE and noted.lives(entry))


def _user(entry: Entry) -> str:
    return f"another run (process {entry.owner.pid})"


def _is_unchanged(entry: Entry) -> bool:
    """Whether it only says that a run relies on the cache as it was found."""
    return entry.subject.get(_SET_TO) == entry.found.get(_STATE)


def _setter(fd: int, device: BlockDevice) -> Callable[[bool], None] | None:
    if device.kind is DeviceKind.NVME:
        return lambda enabled: set_volatile_write_cache(fd, enabled=enabled)
    if device.kind in {DeviceKind.ATA, DeviceKind.SCSI} and (attribute := cache_type_attribute(device)):
        return lambda enabled: _write_attribute(device, attribute, _KERNEL_TEXT[enabled])
    return None


def _put_back(fd: int, device: BlockDevice, found: Mapping[str, str]) -> None:
    """Disks have four states: the very text that was found comes back.

    Raises OSError, NvmeCommandError, or TargetError if the drive then says otherwise.
    """
    attribute, setter = cache_type_attribute(device), _setter(fd, device)
    if setter is None:
        raise TargetError(f"the write cache of a {device.kind} can't be set")
    if attribute is not None and _CACHE_TYPE in found:
        _write_attribute(device, attribute, found[_CACHE_TYPE])
    else:
        setter(found.get(_STATE) == ENABLED)
    actual, source = read_drive_cache(fd, device)
    if actual != found.get(_STATE):
        raise TargetError(f"it reads back as {actual} ({source}) and was {found.get(_STATE)}")


def _write_attribute(device: BlockDevice, attribute: str, text: str) -> None:
    """Write to sysfs, as ``echo`` does: nothing is created. Raises OSError."""
    with closed_at_end(os.open(device.folder / attribute, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)) as fd:
        os.write(fd, text.encode())


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

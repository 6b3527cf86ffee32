"""Puts back what runs that were killed have left behind, by the journal: before a run, or when asked to."""

import fcntl
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from openpts.device.block_device import BlockDevice
from openpts.device.journalled_drive import drive_text, is_drive
from openpts.device.purge.ata_password import take_password_off
from openpts.device.target import BlockTarget, Target
from openpts.device.write_cache_control import put_back_write_cache
from openpts.errors import OpenptsError, RefusedError
from openpts.host.changes import is_of_a_run, put_back_setting
from openpts.journal import Entry, Journal, JournalError, Kind
from openpts.programs import Run, run_program
from openpts.system_files import SystemRoots


class Healer(Protocol):
    """Puts back what one entry tells of."""

    def __call__(self, entry: Entry, roots: SystemRoots, run: Run) -> str:
        """One line that says what was put back. Raises OpenptsError: the entry stays then."""


HEALERS: Final[Mapping[Kind, Healer]] = {
    Kind.WRITE_CACHE: put_back_write_cache,
    Kind.HOST_SETTING: put_back_setting,
    Kind.DRIVE_PASSWORD: take_password_off,
}
"""Who can put back what."""

# A password is for its owner to take off, with `openpts unlock`: a run that did so by itself would hide that
# a drive was locked.
BEFORE_A_RUN: Final = frozenset({Kind.WRITE_CACHE, Kind.HOST_SETTING})
"""What the next run puts back by itself."""


@dataclass(frozen=True, slots=True)
class Healing:
    """What became of one entry; ``text`` is a line for the operator. One that failed is tried again."""

    entry: Entry
    put_back: bool
    text: str


def _any_entry(_entry: Entry) -> bool:
    return True


def heal(
    journal: Journal,
    roots: SystemRoots,
    kinds: Collection[Kind],
    *,
    concerns: Callable[[Entry], bool] = _any_entry,
    run: Run = run_program,
) -> tuple[Healing, ...]:
    """Put back what was left behind of these kinds, and take it out of the journal.

    The latest change first, so that what was found before the first of several is what remains. Raises
    JournalError; what can't be put back is no error, but told, and stays.
    """
    with _alone_in(journal):
        entries = [entry for entry in journal.left_behind() if entry.kind in kinds and concerns(entry)]
        return tuple(_healed(entry, journal, roots, run) for entry in reversed(entries))


def heal_before_run(target: Target, journal: Journal, roots: SystemRoots) -> tuple[Healing, ...]:
    """Put back what runs that were killed have left on this drive, and on the host whatever the drive.

    Raises RefusedError if a password of openpts is still on it, and JournalError.
    """
    device = BlockDevice.of_node(target.path, roots) if isinstance(target, BlockTarget) else None

    def is_on_it(entry: Entry) -> bool:
        if entry.kind is Kind.HOST_SETTING:
            return is_of_a_run(entry)  # what `openpts doctor --apply` has set is to last
        return device is not None and is_drive(device, entry.subject)

    for entry in journal.left_behind():
        if device is not None and entry.kind is Kind.DRIVE_PASSWORD and is_on_it(entry):
            raise RefusedError(
                f"a run of {entry.made_at} was cut off while openpts had a password on "
                f"{drive_text(entry.subject)}: take it off with `openpts unlock {target}`"
            )
    return heal(journal, roots, BEFORE_A_RUN, concerns=is_on_it)


def _healed(entry: Entry, journal: Journal, roots: SystemRoots, run: Run) -> Healing:
    try:
        text = HEALERS[entry.kind](entry, roots, run)
    except OpenptsError as error:
        return Healing(entry, put_back=False, text=f"the {entry.kind} could not be put back: {error}")
    journal.remove(entry)
    return Healing(entry, put_back=True, text=text)


@contextmanager
def _alone_in(journal: Journal) -> Iterator[None]:
    """Two that heal at once would undo what the first of them has changed anew by then."""
    try:
        fd = os.open(journal.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield
        return
    except OSError as error:
        raise JournalError(f"{journal.folder} can't be read: {error.strerror}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)

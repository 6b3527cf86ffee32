"""Puts back what runs that were killed have left behind, by the journal: before a run, or when asked to."""

from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from typing import Final, Protocol

from msgspec import Struct

from openpts.device.block_device import BlockDevice
from openpts.device.guard.drive_claim import drive_claimed
from openpts.device.journalled_drive import drive_text, is_drive
from openpts.device.mounted.prepared_drive import is_mount_of_file, put_back_mount
from openpts.device.nvme.power_states import put_back_power_states
from openpts.device.purge.ata_password import take_password_off
from openpts.device.targets.target import BlockTarget, FileTarget, Target
from openpts.device.write_cache_control import cache_still_needed, put_back_write_cache
from openpts.errors import OpenptsError, PluginError, RefusedError
from openpts.host.changes import put_back_setting
from openpts.host.shared_settings import is_of_a_run, still_needed
from openpts.journal import Entry, Journal, JournalError, Kind
from openpts.journal_lock import JournalSnapshot, claimed, journal_lock
from openpts.plugins import service
from openpts.programs import Run, run_program
from openpts.system_files import SystemRoots


class Healer(Protocol):
    """Undoes the change that a journal entry stands for."""

    def __call__(self, entry: Entry, roots: SystemRoots, run: Run) -> str:
        """One line that says what was put back. Raises OpenptsError: the entry stays then."""


def _take_down_block_trace(entry: Entry, roots: SystemRoots, run: Run) -> str:
    """Captures are a plug-in's. Raises PluginError where it is not there to undo what it has set up."""
    if (take_down := service("take-down-block-trace")) is None:
        raise PluginError("can't take down a block trace: no plug-in that captures is installed")
    done: str = take_down(entry, roots, run)
    return done


def _put_back_latency_monitor(entry: Entry, roots: SystemRoots, run: Run) -> str:
    """Log pages are a plug-in's. Raises PluginError where it is not there."""
    if (monitor := service("latency-monitor")) is None:
        raise PluginError("can't set a latency monitor: no plug-in that knows its log is installed")
    done: str = monitor.put_back(entry, roots, run)
    return done


HEALERS: Final[Mapping[Kind, Healer]] = {
    Kind.WRITE_CACHE: put_back_write_cache,
    Kind.HOST_SETTING: put_back_setting,
    Kind.DRIVE_PASSWORD: take_password_off,
    Kind.BLOCK_TRACE: _take_down_block_trace,
    Kind.MOUNT: put_back_mount,
    Kind.LATENCY_MONITOR: _put_back_latency_monitor,
    Kind.POWER_STATES: put_back_power_states,
}
"""Who can put back what."""

_NEEDS: Final[Mapping[Kind, Callable[[Entry, JournalSnapshot, SystemRoots], str | None]]] = {
    Kind.WRITE_CACHE: cache_still_needed,
    Kind.HOST_SETTING: still_needed,
}
"""Who can say that others rely on what an entry tells of, so that it must stay as it is for now."""

# A password is for its owner to take off, with `openpts purge --unlock`: a run that did so by itself would
# hide that a drive was locked.
BEFORE_A_RUN: Final = frozenset(set(Kind) - {Kind.DRIVE_PASSWORD})
"""What the next run puts back by itself."""
_ON_DRIVE: Final = frozenset({Kind.WRITE_CACHE, Kind.MOUNT, Kind.POWER_STATES, Kind.LATENCY_MONITOR})


class Healing(Struct, frozen=True):
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
    healers: Mapping[Kind, Healer] | None = None,
) -> tuple[Healing, ...]:
    """Put back what was left behind of these kinds, and take it out of the journal.

    The latest change first, so that what was found before the first of several is what remains. Raises
    JournalError; what can't be put back is no error, but told, and stays. ``healers`` stand in for HEALERS.
    """
    work = _Work(journal, roots, run, HEALERS if healers is None else healers)
    meant = [entry for entry in journal.left_behind() if entry.kind in kinds and concerns(entry)]
    # taking a password off may take the hours of an erasure
    long = [entry for entry in meant if entry.kind not in _NEEDS]
    done = [healing for entry in reversed(long) if (healing := work.healed_alone(entry))]
    if len(long) < len(meant):
        with journal_lock(journal) as noted:
            left = [entry for entry in noted.entries if not noted.lives(entry)]
            short = [e for e in left if e.kind in kinds and e.kind in _NEEDS and concerns(e)]
            for entry in reversed(short):
                done.append(work.healed(entry, noted))
                noted = noted.without(entry) if done[-1].put_back else noted  # noqa: PLW2901
    return tuple(done)


def heal_before_run(
    target: Target, journal: Journal, roots: SystemRoots, run_id: str | None = None
) -> tuple[Healing, ...]:
    """Put back what runs that were killed have left on this drive, and on the host whatever the drive.

    A drive is claimed for the run meanwhile: one that another run owns is left as it is. Raises RefusedError
    then, and if a password of openpts is still on it, and JournalError.
    """
    device = BlockDevice.of_node(target.path, roots) if isinstance(target, BlockTarget) else None

    def is_on_it(entry: Entry) -> bool:
        if entry.kind is Kind.HOST_SETTING:
            return is_of_a_run(entry)  # what `openpts doctor --apply` has set is to last
        if entry.kind is Kind.BLOCK_TRACE:
            return True
        if entry.kind is Kind.MOUNT and isinstance(target, FileTarget):
            return is_mount_of_file(entry, target.path)
        return device is not None and is_drive(device, entry.subject)

    left_behind = [entry for entry in journal.left_behind() if is_on_it(entry)]
    for entry in journal.entries():
        if device is None or entry.kind is not Kind.DRIVE_PASSWORD or not is_on_it(entry):
            continue
        if entry.entry_id in {left.entry_id for left in left_behind}:
            raise RefusedError(
                f"a run of {entry.made_at} was interrupted while openpts had a password on "
                f"{drive_text(entry.subject)}: remove it with `openpts purge --unlock {target}`"
            )
        raise RefusedError(
            f"another openpts is using the password of {drive_text(entry.subject)}, which was set "
            f"{entry.made_at} by process {entry.owner.pid}: wait until it has ended"
        )
    changes_it = any(entry.kind in _ON_DRIVE for entry in left_behind)
    with drive_claimed(device, run_id, roots) if device is not None and changes_it else nullcontext():
        return heal(journal, roots, BEFORE_A_RUN, concerns=is_on_it)


class _Work(Struct, frozen=True):
    """Everything a healer needs, to put entries back one after the other."""

    journal: Journal
    roots: SystemRoots
    run: Run
    healers: Mapping[Kind, Healer]

    def healed(self, entry: Entry, noted: JournalSnapshot) -> Healing:
        """Put back, or left to others who rely on it; taken out of the journal in both cases."""
        try:
            needed = _NEEDS[entry.kind](entry, noted, self.roots) if entry.kind in _NEEDS else None
            text = needed or self.healers[entry.kind](entry, self.roots, self.run)
        except OpenptsError as error:
            return _failed(entry, error)
        self.journal.remove(entry)
        return Healing(entry, put_back=True, text=text)

    def healed_alone(self, entry: Entry) -> Healing | None:
        """Restore without holding the lock; None if another process has restored it by now."""
        try:
            with claimed(self.journal, entry) as still_there:
                return self.healed(entry, JournalSnapshot()) if still_there else None
        except JournalError as error:
            return _failed(entry, error)


def _failed(entry: Entry, error: OpenptsError) -> Healing:
    return Healing(entry, put_back=False, text=f"can't restore the {entry.kind}: {error}")

"""Puts back what runs that were killed have left behind, by the journal: before a run, or when asked to."""

from collections.abc import Callable, Collection
from contextlib import nullcontext
from functools import cache

from msgspec import Struct

from openpts import hooks
from openpts.device.block_device import BlockDevice
from openpts.device.guard.usage import drive_claimed
from openpts.device.journalled_drive import is_drive
from openpts.device.targets.target import BlockTarget, Target
from openpts.errors import OpenptsError, RefusedError
from openpts.hooks import Healer
from openpts.journal import Entry, Journal, JournalError, JournalSnapshot, claimed, journal_lock
from openpts.programs import ProgramRunner, run_program
from openpts.system_files import SystemRoots


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
    kinds: Collection[str] | None = None,
    *,
    concerns: Callable[[Entry], bool] = _any_entry,
    run: ProgramRunner = run_program,
    healers: Callable[[str], Healer] | None = None,
) -> tuple[Healing, ...]:
    """Put back what was left behind of these kinds, and take it out of the journal.

    Without ``kinds``: of all that no operator has to put back. The latest change first, so that what was
    found before the first of several is what remains. Raises JournalError; what can't be put back is no
    error, but in the answer, and stays. ``healers`` stand in for those of the concerns.
    """
    found = [entry for entry in journal.left_behind() if concerns(entry)]
    work = _Work(journal, roots, run, cache(healers or hooks.healer_of))
    # taking a password off may take the hours of an erasure
    long = [entry for entry in found if work.is_meant(entry, kinds) and not work.needs_lock(entry)]
    done = [healing for entry in reversed(long) if (healing := work.healed_alone(entry))]
    if any(work.is_meant(entry, kinds) and work.needs_lock(entry) for entry in found):
        with journal_lock(journal) as noted:
            left = [entry for entry in noted.entries if not noted.lives(entry) and concerns(entry)]
            short = [entry for entry in left if work.is_meant(entry, kinds) and work.needs_lock(entry)]
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
    healer_of = cache(hooks.healer_of)

    def is_on_it(entry: Entry) -> bool:
        if (bears_on := healer_of(entry.kind).bears_on) is not None:
            return bears_on(entry, target, device)
        return device is not None and is_drive(device, entry.subject)

    left_behind = [entry for entry in journal.left_behind() if is_on_it(entry)]
    left_ids = {entry.entry_id for entry in left_behind}
    for entry in journal.entries():
        refusal = healer_of(entry.kind).refusal
        if refusal is not None and device is not None and is_on_it(entry):
            raise RefusedError(refusal(entry, target, entry.entry_id in left_ids))
    changes_it = any(healer_of(entry.kind).of_drive for entry in left_behind)
    with drive_claimed(device, run_id, roots) if device is not None and changes_it else nullcontext():
        return heal(journal, roots, concerns=is_on_it, healers=healer_of)


class _Work(Struct, frozen=True):
    """Everything a healer needs, to put entries back one after the other."""

    journal: Journal
    roots: SystemRoots
    run: ProgramRunner
    healer_of: Callable[[str], Healer]

    def is_meant(self, entry: Entry, kinds: Collection[str] | None) -> bool:
        """Whether an entry is of these kinds, or of one that no operator has to put back."""
        return self.healer_of(entry.kind).by_itself if kinds is None else entry.kind in kinds

    def needs_lock(self, entry: Entry) -> bool:
        """Whether others may rely on what it tells of."""
        return self.healer_of(entry.kind).still_needed is not None

    def healed(self, entry: Entry, noted: JournalSnapshot) -> Healing:
        """Put back, or left to others who rely on it; taken out of the journal in both cases."""
        healer = self.healer_of(entry.kind)
        try:
            needed = healer.still_needed(entry, noted, self.roots) if healer.still_needed else None
            text = needed or healer.put_back(entry, self.roots, self.run)
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

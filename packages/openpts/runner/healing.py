"""Puts back what runs that were killed have left behind, by the journal: before a run, or when asked to."""

from collections.abc import Callable, Collection
from contextlib import nullcontext
from functools import cache, partial

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


def heal(
    journal: Journal,
    roots: SystemRoots,
    kinds: Collection[str] | None = None,
    *,
    concerns: Callable[[Entry], bool] = lambda _entry: True,
    run: ProgramRunner = run_program,
    healers: Callable[[str], Healer] | None = None,
) -> tuple[Healing, ...]:
    """Put back what was left behind of these kinds, and take it out of the journal.

    Without ``kinds``: of all that no operator has to put back. The latest change first, so that what was
    found before the first of several is what remains. Raises JournalError; what can't be put back is no
    error, but in the answer, and stays. ``healers`` stand in for those of the concerns.
    """
    healer_of = cache(healers or hooks.healer_of)

    def is_meant(entry: Entry) -> bool:
        return concerns(entry) and (healer_of(entry.kind).by_itself if kinds is None else entry.kind in kinds)

    healed = partial(_healed, journal=journal, roots=roots, run=run)
    done: list[Healing] = []
    found = [entry for entry in reversed(journal.left_behind()) if is_meant(entry)]
    for entry in found:
        if healer_of(entry.kind).still_needed is None:  # a password that is taken off may take hours: no lock
            try:
                with claimed(journal, entry) as still_there:
                    if still_there:
                        done.append(healed(entry, JournalSnapshot(), healer_of(entry.kind)))
            except JournalError as error:
                done.append(_failed(entry, error))
    if any(healer_of(entry.kind).still_needed for entry in found):
        with journal_lock(journal) as noted:
            for entry in reversed(noted.entries):
                if not noted.lives(entry) and is_meant(entry) and healer_of(entry.kind).still_needed:
                    done.append(healed(entry, noted, healer_of(entry.kind)))
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


def _healed(
    entry: Entry,
    noted: JournalSnapshot,
    healer: Healer,
    *,
    journal: Journal,
    roots: SystemRoots,
    run: ProgramRunner,
) -> Healing:
    """Put back, or left to others who rely on it; taken out of the journal in both cases."""
    try:
        needed = healer.still_needed(entry, noted, roots) if healer.still_needed else None
        text = needed or healer.put_back(entry, roots, run)
    except OpenptsError as error:
        return _failed(entry, error)
    journal.remove(entry)
    return Healing(entry, put_back=True, text=text)


def _failed(entry: Entry, error: OpenptsError) -> Healing:
    return Healing(entry, put_back=False, text=f"can't restore the {entry.kind}: {error}")

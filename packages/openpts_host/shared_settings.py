"""Who else relies on a setting that was changed: what one process puts back, another may be measuring with.

Entries of one group have the same value set over the same value found; the last of them puts it back. An
entry of another group at the same place was laid over those before it.
"""

import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from openpts.journal import Entry, Owner
from openpts.journal_lock import JournalSnapshot
from openpts.system_files import SystemRoots
from openpts.vocabulary.tuning import Change
from openpts_host.setting_file import HostSettingError

HOST_SETTING: Final = "host setting"
"""The kind of its entries in the undo journal."""
UNTIL_ASKED: Final = "asked"
UNTIL_THE_END: Final = "the run ends"
"""Until when a change is to last; what a run that was killed has left behind is put back by the next one."""


def is_of_a_run(entry: Entry) -> bool:
    """Whether a change was made for a run only."""
    return entry.kind == HOST_SETTING and entry.subject.get("until") == UNTIL_THE_END


def relied_upon(noted: JournalSnapshot, roots: SystemRoots) -> tuple[Entry, ...]:
    """Changes still needed: those of active runs, and those that last until they are restored."""
    boot_id = Owner.this_process(roots).boot_id
    return tuple(
        entry
        for entry in noted.entries
        if entry.kind == HOST_SETTING
        and entry.owner.boot_id == boot_id
        and (noted.lives(entry) or not is_of_a_run(entry))
    )


def who(entry: Entry) -> str:
    """Whose change it is, for people."""
    return f"the run of process {entry.owner.pid}" if is_of_a_run(entry) else "`openpts doctor --apply`"


def objection(change: Change, others: Sequence[Entry]) -> str:
    """Why a setting must stay as it is: a run in progress has set it otherwise. Empty if none has."""
    for other in _at(change.place, others):
        if is_of_a_run(other) and other.subject["wanted"] != change.wanted:
            return f"{who(other)} has set {other.subject['wanted']} and is still running"
    return ""


def shared_with(change: Change, found: str, until: str, others: Sequence[Entry]) -> Entry | None:
    """The entry whose group a change joins, because what it wants is there by that one already."""
    at_place = _at(change.place, others)
    if not at_place or (last := at_place[-1]).subject["wanted"] != change.wanted:
        return None
    if found != change.wanted and not is_of_a_run(last):
        return None  # set by hand since
    lasting_already = found == change.wanted and until == UNTIL_ASKED == last.subject["until"]
    return None if lasting_already else last


def new_group() -> str:
    """A name for the entries to come of one change."""
    return secrets.token_hex(4)


def still_needed(entry: Entry, noted: JournalSnapshot, roots: SystemRoots) -> str | None:
    """Why nothing is written when this change ends; None if it is to be put back.

    Raises HostSettingError where another change was laid over it that is still needed: first that one ends.
    """
    if entry.owner.boot_id != Owner.this_process(roots).boot_id:
        return None
    place = entry.subject["place"]
    others = [other for other in _at(place, relied_upon(noted, roots)) if other.entry_id != entry.entry_id]
    for other in others:
        if other.subject["group"] == entry.subject["group"]:
            return f"{place}: left as it is for {who(other)}, which needs it too"
    for other in others:
        if (other.made_at, other.entry_id) > (entry.made_at, entry.entry_id):
            raise HostSettingError(
                f"{place} can't be restored to {entry.found['value']} yet: {who(other)} has changed it since"
            )
    return None


def _at(place: str, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.subject["place"] == place]

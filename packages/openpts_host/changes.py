"""Changes settings of the host and puts them back: what was found is in the journal before anything changes.

Nothing here survives a restart of the machine, so that an entry of an earlier one has nothing to put back.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.journal import Entry, Journal, JournalError, Owner
from openpts.journal_lock import journal_lock, turn_if_possible
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.tuning import Change, ChangeReport, Means
from openpts_host.services import active_units
from openpts_host.setting_file import HostSettingError, read_setting, write_setting
from openpts_host.shared_settings import (
    HOST_SETTING,
    new_group,
    objection,
    relied_upon,
    shared_with,
    still_needed,
)

_UNIT_TIMEOUT_S: Final = 30.0
_ACTIVE: Final = "active"
STOPPED: Final = "stopped"
"""What is wanted of a unit."""


class _Changed(Struct):
    """A change under way; ``entry`` is None where nothing was to be changed."""

    change: Change
    found: str | None
    entry: Entry | None = None
    failure: str = ""


class HostChanger(Struct, frozen=True):
    """Makes changes on one machine; ``until`` says what they are made for.

    ``entries`` is what there is to put back. It grows before each change, so that it is right however
    ``make`` ends.
    """

    roots: SystemRoots
    journal: Journal
    until: str
    run: ProgramRunner = run_program
    entries: list[Entry] = field(default_factory=list)

    def make(self, changes: Sequence[Change]) -> tuple[ChangeReport, ...]:
        """Make those changes that are none yet, and tell of each.

        What another run has set already is recorded for this one too: the last to end restores it. Some
        settings are reset when another one changes, so that all are looked at once more at the end. Raises
        JournalError, before anything is changed that isn't in it.
        """
        with journal_lock(self.journal) as noted:
            others = relied_upon(noted, self.roots)
            made = [self._make(change, others) for change in (*changes, *_stopped_by(others, changes))]
            for one in made:
                if one.entry is not None and not one.failure and self._now(one.change) != one.change.wanted:
                    one.failure = self._set(one.change)
        return tuple(
            ChangeReport(one.change.key, one.change.place, one.found, one.change.wanted, one.failure)
            for one in made
            if one.entry is not None or one.failure
        )

    def put_back(self) -> tuple[str, ...]:
        """Put back what ``make`` changed, the last first; lines on what could not be. Those entries stay."""
        complaints = []
        with turn_if_possible(self.journal) as noted:
            if noted.trouble:
                complaints.append(noted.trouble)
            for entry in tuple(reversed(self.entries)):
                try:
                    if still_needed(entry, noted, self.roots) is None:
                        put_back_setting(entry, self.roots, self.run)
                    self._forget(entry)
                except (HostSettingError, JournalError) as error:
                    complaints.append(str(error))
        return tuple(complaints)

    def _make(self, change: Change, others: Sequence[Entry]) -> _Changed:
        found = self._now(change)
        if found is None:
            return _Changed(change, None, failure="its value can't be read")
        if found != change.wanted and (reason := objection(change, others)):
            return _Changed(change, found, failure=reason)
        shared = shared_with(change, found, self.until, others)
        if found == change.wanted and shared is None:
            return _Changed(change, found)
        one = _Changed(change, found if shared is None else shared.found["value"])
        try:
            subject = self._subject(change, shared)
        except OSError as error:
            return _Changed(change, found, failure=error.strerror or str(error))
        one.entry = self.journal.add(HOST_SETTING, subject, {"value": one.found or found})
        self.entries.append(one.entry)
        if found != change.wanted:
            one.failure = self._set(change)
            if one.failure and self._now(change) == found:
                self._forget(one.entry)
                one.entry = None
        return one

    def _subject(self, change: Change, shared: Entry | None) -> dict[str, str]:
        """Raises OSError if there is no such file any more."""
        subject = {
            "means": change.means.value,
            "key": change.key,
            "place": change.place,
            "wanted": change.wanted,
            "until": self.until,
            "group": new_group() if shared is None else shared.subject["group"],
        }
        # the inode numbers of /proc/sys change whenever the kernel reclaims memory
        if change.means is Means.FILE and Path(change.place).is_relative_to(self.roots.sys.resolve()):
            subject["inode"] = str(Path(change.place).stat().st_ino)
        return subject

    def _forget(self, entry: Entry) -> None:
        self.journal.remove(entry)
        self.entries.remove(entry)

    def _now(self, change: Change) -> str | None:
        if change.means is Means.FILE:
            return read_setting(Path(change.place))
        active, _ = active_units((change.place,), self.roots, self.run)
        return None if active is None else _ACTIVE if active else STOPPED

    def _set(self, change: Change) -> str:
        """Why it could not be set; empty if it holds."""
        try:
            if change.means is Means.FILE:
                write_setting(Path(change.place), change.wanted, self.roots)
            else:
                _systemctl("stop", change.place, self.run)
        except HostSettingError as error:
            return str(error)
        return ""


def _stopped_by(others: Sequence[Entry], changes: Sequence[Change]) -> Iterator[Change]:
    """Units that are stopped only because of others: a list of what is to be stopped has but active ones."""
    places = {change.place for change in changes}
    for other in others:
        if other.subject["means"] == Means.UNIT and (place := other.subject["place"]) not in places:
            places.add(place)
            yield Change(other.subject["key"], Means.UNIT, place, STOPPED)


def put_back_setting(entry: Entry, roots: SystemRoots, run: ProgramRunner) -> str:
    """Put back one setting; the line tells what became of it. Raises HostSettingError."""
    place, value = entry.subject["place"], entry.found["value"]
    if entry.owner.boot_id != Owner.this_process(roots).boot_id:
        return f"{place}: the machine was restarted since, nothing left to restore"
    if entry.subject["means"] == Means.UNIT:
        _systemctl("start", place, run)
        return f"{place}: started again"
    path = Path(place)
    try:
        inode = str(path.stat().st_ino)
    except OSError:
        return f"{place}: gone with its device, nothing left to restore"
    if entry.subject.get("inode", inode) != inode:
        return f"{place}: of another device now, nothing left to restore"
    try:
        write_setting(path, value, roots)
    except HostSettingError as error:
        raise HostSettingError(f"can't restore {place} to {value}: {error}") from error
    return f"{place}: {value} again"


def _systemctl(verb: str, unit: str, run: ProgramRunner) -> None:
    try:
        answer = run(("systemctl", verb, unit), _UNIT_TIMEOUT_S, to_the_end=True)
    except ProgramError as error:
        raise HostSettingError(f"{unit}: {error}") from error
    if answer.returncode:
        raise HostSettingError(f"{unit}: {answer.complaint}")

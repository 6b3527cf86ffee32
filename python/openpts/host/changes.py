"""Changes settings of the host and puts them back: what was found is in the journal before anything changes.

Nothing here survives a restart of the machine, so that an entry of an earlier one has nothing to put back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from openpts.host.services import active_units
from openpts.host.setting_file import HostSettingError, read_setting, write_setting
from openpts.journal import Entry, Journal, Kind, Owner
from openpts.programs import ProgramError, Run, run_program
from openpts.system_files import SystemRoots
from openpts.vocabulary.tuning import Change, ChangeReport, Means

_UNIT_TIMEOUT_S: Final = 30.0
_ACTIVE: Final = "active"
STOPPED: Final = "stopped"
"""What is wanted of a unit."""

UNTIL_ASKED: Final = "asked"
UNTIL_THE_END: Final = "the run ends"
"""Until when a change is to last; what a run that was killed has left behind is put back by the next one."""


def is_of_a_run(entry: Entry) -> bool:
    """Whether a change was made for a run only."""
    return entry.kind is Kind.HOST_SETTING and entry.subject.get("until") == UNTIL_THE_END


@dataclass(slots=True)
class _Changed:
    """A change under way; ``entry`` is None where nothing was to be changed."""

    change: Change
    found: str | None
    entry: Entry | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class HostChanger:
    """Makes changes on one machine; ``until`` says what they are made for."""

    roots: SystemRoots
    journal: Journal
    until: str
    run: Run = run_program

    def make(self, changes: Sequence[Change]) -> tuple[tuple[ChangeReport, ...], tuple[Entry, ...]]:
        """Make those changes that are none yet, and tell of each; with the entries to be put back.

        Some settings are reset when another one changes, so that all are looked at once more at the end.
        Raises JournalError, before anything is changed that isn't in it.
        """
        made = [self._make(change) for change in changes]
        for one in made:
            if one.entry is not None and not one.failure and self._now(one.change) != one.change.wanted:
                one.failure = self._set(one.change)
        reports = tuple(
            ChangeReport(one.change.key, one.change.place, one.found, one.change.wanted, one.failure)
            for one in made
            if one.entry is not None or one.failure
        )
        return reports, tuple(one.entry for one in made if one.entry is not None)

    def put_back(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        """Put back what ``make`` changed, the last first; lines on what could not be. Those entries stay."""
        complaints = []
        for entry in reversed(entries):
            try:
                put_back_setting(entry, self.roots, self.run)
            except HostSettingError as error:
                complaints.append(str(error))
            else:
                self.journal.remove(entry)
        return tuple(complaints)

    def _make(self, change: Change) -> _Changed:
        found = self._now(change)
        if found == change.wanted:
            return _Changed(change, found)
        if found is None:
            return _Changed(change, None, failure="its value can't be read")
        one = _Changed(change, found)
        subject = {"means": change.means.value, "place": change.place, "until": self.until}
        if change.means is Means.FILE:
            subject["inode"] = str(Path(change.place).stat().st_ino)
        one.entry = self.journal.add(Kind.HOST_SETTING, subject, {"value": found})
        one.failure = self._set(change)
        if one.failure and self._now(change) == found:
            self.journal.remove(one.entry)
            one.entry = None
        return one

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


def put_back_setting(entry: Entry, roots: SystemRoots, run: Run) -> str:
    """Put back one setting; the line tells what became of it. Raises HostSettingError."""
    place, value = entry.subject["place"], entry.found["value"]
    if entry.owner.boot_id != Owner.this_process(roots).boot_id:
        return f"{place}: the machine was restarted since, nothing is left to put back"
    if entry.subject["means"] == Means.UNIT:
        _systemctl("start", place, run)
        return f"{place}: started again"
    path = Path(place)
    try:
        is_the_same = str(path.stat().st_ino) == entry.subject["inode"]
    except OSError:
        return f"{place}: gone with its device, nothing is left to put back"
    if not is_the_same:
        return f"{place}: of another device now, nothing is left to put back"
    try:
        write_setting(path, value, roots)
    except HostSettingError as error:
        raise HostSettingError(f"{place} can't be put back to {value}: {error}") from error
    return f"{place}: {value} again"


def _systemctl(verb: str, unit: str, run: Run) -> None:
    try:
        answer = run(("systemctl", verb, unit), _UNIT_TIMEOUT_S, to_the_end=True)
    except ProgramError as error:
        raise HostSettingError(f"{unit}: {error}") from error
    if answer.returncode:
        raise HostSettingError(f"{unit}: {answer.complaint}")

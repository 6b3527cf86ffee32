"""Changes settings of the host and puts them back: which for a scenario, who else relies on them, for a run.

Nothing here survives a restart of the machine, so that an entry of an earlier one has nothing to put back.
"""

import secrets
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from openpts.journal import (
    Entry,
    Journal,
    JournalError,
    JournalSnapshot,
    Owner,
    journal_lock,
    turn_if_possible,
)
from openpts.programs import ProgramError, ProgramRunner, run_program
from openpts.system_files import SystemRoots, printable, read_text
from openpts.vocabulary.facts import Change, ChangeReport, Means, Scenario
from openpts_host.advice.machine import SHALLOW_US
from openpts_host.advice.table import ADVICE_OF
from openpts_host.services import MAINTENANCE_UNITS, TRIM_UNITS, UPDATE_UNITS, active_units, no_sleep
from openpts_host.setting_file import HostSettingError, held_open, read_setting, write_setting

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
            "group": secrets.token_hex(4) if shared is None else shared.subject["group"],
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


def host_changes(
    roots: SystemRoots, scenario: Scenario, *, lasting: bool, run: ProgramRunner = run_program
) -> tuple[Change, ...]:
    """All changes for the scenario, also those that are made already, in the order in which to make them.

    ``lasting``: they outlive this process. A run holds a request open instead of switching off sleep states.
    """
    cpus = roots.sys / "devices/system/cpu"
    changes = [*_ceilings(cpus), *_turbo(cpus)]
    if scenario is Scenario.SYNTHETIC:
        changes += _clocks(cpus)
        changes += _sleep_states(cpus) if lasting else ()
        changes += _where_it_is("thp", roots.sys / "kernel/mm/transparent_hugepage/enabled", "madvise")
        changes += _where_it_is("numa_balancing", roots.proc / "sys/kernel/numa_balancing", "0")
        changes += _where_it_is("power_profile", roots.sys / "firmware/acpi/platform_profile", "performance")
    return (*changes, *_units(roots, run))


def _where_it_is(key: str, path: Path, wanted: str) -> Iterator[Change]:
    if read_text(path) is not None:
        yield Change(key, Means.FILE, str(path.resolve()), wanted)


def _policies(cpus: Path) -> tuple[Path, ...]:
    """Folders of frequency policies, each once however many processors share it."""
    return tuple(dict.fromkeys(folder.resolve() for folder in sorted(cpus.glob("cpu[0-9]*/cpufreq"))))


# SOL-PWR-11
def _ceilings(cpus: Path) -> Iterator[Change]:
    """A ceiling below what the processor can do is never right."""
    for policy in _policies(cpus):
        if most := read_text(policy / "cpuinfo_max_freq"):
            yield from _where_it_is("p_states", policy / "scaling_max_freq", most)


# SOL-BIOS-03
def _turbo(cpus: Path) -> Iterator[Change]:
    if (cpus / "intel_pstate/no_turbo").exists():
        yield from _where_it_is("turbo", cpus / "intel_pstate/no_turbo", "0")
    else:
        yield from _where_it_is("turbo", cpus / "cpufreq/boost", "1")


# SOL-BIOS-02, SOL-BIOS-06, SOL-PWR-03, SOL-PWR-11
def _clocks(cpus: Path) -> Iterator[Change]:
    """The preference before the governor: intel_pstate refuses it under the governor performance."""
    for policy in _policies(cpus):
        yield from _where_it_is("energy_preference", policy / "energy_performance_preference", "performance")
        if "performance" in (read_text(policy / "scaling_available_governors") or "performance").split():
            yield from _where_it_is("governor", policy / "scaling_governor", "performance")
        if most := read_text(policy / "cpuinfo_max_freq"):
            yield from _where_it_is("p_states", policy / "scaling_min_freq", most)


# SOL-BIOS-05
def _sleep_states(cpus: Path) -> Iterator[Change]:
    for latency in sorted(cpus.glob("cpu[0-9]*/cpuidle/state[0-9]*/latency")):
        text = read_text(latency) or ""
        if text.isdecimal() and int(text) > SHALLOW_US:
            yield from _where_it_is("c_states", latency.with_name("disable"), "1")


# SOL-OS-14 to 16, SOL-GEN-09
def _units(roots: SystemRoots, run: ProgramRunner) -> Iterator[Change]:
    """Timers only: a service that installs software at this moment is left to its end."""
    groups = (("trim_timer", TRIM_UNITS), ("updates", UPDATE_UNITS), ("maintenance", MAINTENANCE_UNITS))
    timers = {unit: key for key, units in groups for unit in units if unit.endswith(".timer")}
    active, _ = active_units(tuple(timers), roots, run)
    for unit in active or ():
        yield Change(timers[unit], Means.UNIT, unit, STOPPED)


@contextmanager
def tuned_host(
    changes: Sequence[Change],
    scenario: Scenario,
    roots: SystemRoots,
    journal: Journal,
    run: ProgramRunner = run_program,
) -> Iterator[tuple[ChangeReport, ...]]:
    """The host with these changes and what only a living process can hold, for the time of the block.

    What can't be changed is in the reports and is not an error. Raises JournalError, and at the end
    HostSettingError if something could not be put back: it stays in the journal.
    """
    changer = HostChanger(roots, journal, UNTIL_THE_END, run)
    with ExitStack() as held:
        reports = []
        if scenario is Scenario.SYNTHETIC:
            path = roots.dev / "cpu_dma_latency"
            failure = _try_to_hold(held, held_open(path, struct.pack("=i", SHALLOW_US)))
            reports.append(
                ChangeReport("c_states", str(path), None, f"{SHALLOW_US} us to wake at most", failure)
            )
        failure = _try_to_hold(held, no_sleep(roots))
        reports.append(ChangeReport("sleep", "logind", None, "forbidden", failure))
        try:
            yield (*reports, *changer.make(changes))
        finally:
            complaints = changer.put_back()
    if complaints:
        raise HostSettingError(f"{'; '.join(complaints)}: `openpts doctor --restore` tries again")


def tuning_lines(reports: Sequence[ChangeReport]) -> Iterator[str]:
    """How much of the host was set up for the run, and what could not be, the same in many places once."""
    if not reports:
        return
    made = sum(not report.failure for report in reports)
    yield f"host set up: {made} of {len(reports)} settings changed for the run"
    places: dict[tuple[str, str], list[str]] = {}
    for report in reports:
        if report.failure:
            places.setdefault((report.key, report.failure), []).append(report.place)
    for (key, failure), where in places.items():
        title = ADVICE_OF[key].title if key in ADVICE_OF else printable(key)
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        yield f"not set: {title}: {printable(failure)} ({printable(where[0])}{more})"


def _try_to_hold(held: ExitStack, request: AbstractContextManager[None]) -> str:
    """Enters ``request`` and keeps it open in ``held``; returns why that failed, empty on success."""
    try:
        held.enter_context(request)
    except HostSettingError as error:
        return str(error)
    return ""

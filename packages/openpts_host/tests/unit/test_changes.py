"""Settings are changed, read back and put back, on made-up machines, also after a kill in between."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from openpts.journal import Entry, Journal, JournalError, journal_lock
from openpts.programs import Reply
from openpts.runner.healing import heal
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Change, Means, Scenario
from openpts_host import changes
from openpts_host.changes import (
    HOST_SETTING,
    STOPPED,
    UNTIL_ASKED,
    UNTIL_THE_END,
    HostChanger,
    host_changes,
    is_of_a_run,
    put_back_setting,
    still_needed,
    tuned_host,
)
from openpts_host.setting_file import HostSettingError, read_setting, write_setting
from openpts_host.tests.unit.recorded_systemd import RecordedSystemd, RefusingSystemd
from tests.support.processes import die, dies, in_process, living

CPUS = "devices/system/cpu"


def settings_of(roots: SystemRoots) -> dict[str, str | None]:
    """All files of the machine with what is chosen in each; files of ours put no brackets around it."""
    files = (path for path in sorted(roots.sys.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path): read_setting(path) for path in files}


def journal_of(roots: SystemRoots) -> Journal:
    return Journal(roots.sys.parent / "journal", roots)


def changer(roots: SystemRoots, run: RecordedSystemd | None = None, until: str = UNTIL_ASKED) -> HostChanger:
    return HostChanger(roots, journal_of(roots), until, run or RecordedSystemd())


def make_all(roots: SystemRoots, until: str = UNTIL_ASKED) -> HostChanger:
    run = RecordedSystemd("fstrim.timer", "man-db.timer")
    one = changer(roots, run, until)
    one.make(host_changes(roots, Scenario.SYNTHETIC, lasting=True, run=run))
    return one


def test_a_laptop_is_set_up_for_a_synthetic_measurement(laptop) -> None:
    run = RecordedSystemd("fstrim.timer", "apt-daily.timer")
    one = changer(laptop, run)
    reports = one.make(host_changes(laptop, Scenario.SYNTHETIC, lasting=True, run=run))
    assert {report.key for report in reports} == {
        "p_states", "turbo", "energy_preference", "governor", "c_states", "power_profile", "trim_timer",
        "updates",
    }  # fmt: skip
    assert [report.failure for report in reports] == [""] * len(one.entries)
    policy = laptop.sys / CPUS / "cpufreq/policy1"
    assert (policy / "scaling_governor").read_text() == "performance"
    assert (policy / "scaling_min_freq").read_text() == (policy / "scaling_max_freq").read_text() == "4200000"
    assert (laptop.sys / CPUS / "intel_pstate/no_turbo").read_text() == "0"
    # C1E takes 10 us to leave and C8 200 us, polling none
    disabled = {path.parent.name: path.read_text().strip() for path in laptop.sys.rglob("state*/disable")}
    assert disabled == {"state0": "0", "state1": "1", "state2": "1"}
    assert run.ordered == [("stop", "fstrim.timer"), ("stop", "apt-daily.timer")]
    assert journal_of(laptop).entries() == tuple(one.entries)


def test_the_preference_is_set_before_the_governor_that_locks_it(laptop) -> None:
    keys = [
        change.key
        for change in host_changes(laptop, Scenario.SYNTHETIC, lasting=False, run=RecordedSystemd())
    ]
    assert keys.index("energy_preference") < keys.index("governor")


def test_a_real_world_machine_keeps_its_savings_but_not_its_ceilings(laptop) -> None:
    wanted = host_changes(laptop, Scenario.REAL_WORLD, lasting=True, run=RecordedSystemd("fstrim.timer"))
    assert {change.key for change in wanted} == {"p_states", "turbo", "trim_timer"}


def test_all_is_put_back_the_last_change_first(laptop) -> None:
    before = settings_of(laptop)
    one = make_all(laptop)
    assert settings_of(laptop) != before
    assert one.put_back() == ()
    assert settings_of(laptop) == before
    assert isinstance(one.run, RecordedSystemd)
    assert sorted(one.run.active) == ["fstrim.timer", "man-db.timer"]
    assert journal_of(laptop).entries() == ()


def test_what_is_right_already_is_left_alone(laptop) -> None:
    make_all(laptop)
    entries = journal_of(laptop).entries()
    again = changer(laptop)
    wanted = host_changes(laptop, Scenario.SYNTHETIC, lasting=True, run=RecordedSystemd())
    assert (again.make(wanted), again.entries) == ((), [])
    assert journal_of(laptop).entries() == entries


def _change_and_die(roots: SystemRoots, after: int) -> None:
    written = 0

    def write_until_killed(path: Path, value: str, of: SystemRoots) -> None:
        nonlocal written
        if written == after:
            die()
        written += 1
        write_setting(path, value, of)

    changes.write_setting = write_until_killed  # type: ignore[attr-defined]
    make_all(roots, UNTIL_THE_END)


@pytest.mark.parametrize("after", [0, 1, 5])
def test_a_kill_in_the_middle_leaves_what_puts_it_back(after, laptop) -> None:
    before = settings_of(laptop)
    dies(lambda: _change_and_die(laptop, after))
    journal = journal_of(laptop)
    # the entry of the change that did not come to pass is there as well
    assert len(journal.left_behind()) == after + 1
    assert all(is_of_a_run(entry) for entry in journal.left_behind())
    for entry in reversed(journal.left_behind()):
        put_back_setting(entry, laptop, RecordedSystemd())
    assert settings_of(laptop) == before


def test_after_a_restart_there_is_nothing_to_put_back(laptop, golden) -> None:
    make_all(laptop)
    changed = settings_of(laptop)
    (laptop.proc / "sys/kernel/random/boot_id").write_text("another\n")
    lines = [put_back_setting(entry, laptop, RecordedSystemd()) for entry in journal_of(laptop).entries()]
    assert lines == golden
    assert settings_of(laptop) == changed


def test_a_file_of_another_device_is_not_written(laptop, golden) -> None:
    path = laptop.sys / "firmware/acpi/platform_profile"
    changer(laptop).make([Change("power_profile", Means.FILE, str(path), "performance")])
    (entry,) = journal_of(laptop).entries()
    other = path.with_name("other")
    other.write_text("cool\n")
    other.rename(path)
    assert put_back_setting(entry, laptop, RecordedSystemd()) == golden
    assert path.read_text() == "cool\n"
    path.unlink()
    assert put_back_setting(entry, laptop, RecordedSystemd()) == golden


def test_what_the_kernel_does_not_take_is_told_and_leaves_no_entry(laptop, monkeypatch) -> None:
    def refuse(path: Path, value: str, roots: SystemRoots) -> None:
        raise HostSettingError("the kernel refuses this value here")

    monkeypatch.setattr(changes, "write_setting", refuse)
    path = laptop.sys / "firmware/acpi/platform_profile"
    one = changer(laptop)
    reports = one.make([Change("power_profile", Means.FILE, str(path), "performance")])
    assert [(report.found, report.failure) for report in reports] == [
        ("low-power", "the kernel refuses this value here")
    ]
    assert tuple(one.entries) == journal_of(laptop).entries() == ()


def test_what_is_set_back_by_a_later_change_is_set_again(laptop, monkeypatch) -> None:
    """The kernel does so with nr_requests when the scheduler changes."""
    profile, turbo = (
        laptop.sys / "firmware/acpi/platform_profile",
        laptop.sys / CPUS / "intel_pstate/no_turbo",
    )

    def write_with_a_side_effect(path: Path, value: str, roots: SystemRoots) -> None:
        write_setting(path, value, roots)
        if path == turbo:
            profile.write_text("balanced")

    monkeypatch.setattr(changes, "write_setting", write_with_a_side_effect)
    reports = changer(laptop).make(
        [
            Change("power_profile", Means.FILE, str(profile), "performance"),
            Change("turbo", Means.FILE, str(turbo), "0"),
        ]
    )
    assert [report.failure for report in reports] == ["", ""]
    assert profile.read_text() == "performance"


def test_a_unit_that_may_not_be_stopped_says_why(laptop, golden) -> None:
    one = changer(laptop, RefusingSystemd("fstrim.timer"))
    reports = one.make([Change("trim_timer", Means.UNIT, "fstrim.timer", STOPPED)])
    assert reports[0].failure == golden
    assert one.entries == []


def test_nothing_but_settings_of_the_kernel_is_written(laptop, tmp_path) -> None:
    outside = laptop.etc / "fstab"
    outside.write_text("kept\n")
    with pytest.raises(HostSettingError, match="not a kernel setting"):
        write_setting(outside, "lost", laptop)
    (laptop.sys / "link").symlink_to(outside)
    with pytest.raises(HostSettingError, match="not a kernel setting"):
        write_setting(laptop.sys / "link", "lost", laptop)
    assert outside.read_text() == "kept\n"
    with pytest.raises(HostSettingError, match="does not exist"):
        write_setting(laptop.sys / "new", "1", laptop)
    assert not (laptop.sys / "new").exists()


def test_a_number_of_proc_says_nothing_about_a_setting(laptop) -> None:
    """The kernel makes up new ones when it has dropped what it kept of such a file."""
    path = laptop.proc / "sys/kernel/numa_balancing"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("1\n")
    one = changer(laptop)
    one.make([Change("numa_balancing", Means.FILE, str(path), "0")])
    again = path.with_name("again")
    again.write_text("0\n")
    again.rename(path)
    assert one.put_back() == ()
    assert path.read_text().strip() == "1"


def test_a_device_that_goes_away_while_it_is_changed_is_told(laptop, monkeypatch) -> None:
    profile = laptop.sys / "firmware/acpi/platform_profile"
    turbo = laptop.sys / CPUS / "intel_pstate/no_turbo"

    def read_and_unplug(path: Path) -> str | None:
        value = read_setting(path)
        if path == profile:
            path.unlink(missing_ok=True)
        return value

    monkeypatch.setattr(changes, "read_setting", read_and_unplug)
    one = changer(laptop)
    reports = one.make(
        [
            Change("turbo", Means.FILE, str(turbo), "0"),
            Change("power_profile", Means.FILE, str(profile), "performance"),
        ]
    )
    assert [report.failure for report in reports] == ["", "No such file or directory"]
    assert (one.put_back(), turbo.read_text()) == ((), "1")


class _HangingSystemd(RecordedSystemd):
    """One that is interrupted while it stops a unit."""

    def __call__(self, command: Sequence[str], timeout_s: float, *, to_the_end: bool = False) -> Reply:
        """As Ctrl-C: systemd goes on, and we are told when it is done."""
        answer = super().__call__(command, timeout_s, to_the_end=to_the_end)
        if command[1] == "stop":
            os.kill(os.getpid(), signal.SIGINT)
        return answer


def test_an_interrupt_while_changes_are_made_puts_back_those_before_it(laptop) -> None:
    before, run = settings_of(laptop), _HangingSystemd("fstrim.timer")
    journal = journal_of(laptop)
    wanted = host_changes(laptop, Scenario.SYNTHETIC, lasting=True, run=run)
    with pytest.raises(KeyboardInterrupt), tuned_host(wanted, Scenario.REAL_WORLD, laptop, journal, run):
        raise AssertionError("no run measures then")
    assert (settings_of(laptop), run.active, journal.entries()) == (before, ["fstrim.timer"], ())


def test_a_journal_that_fails_while_changes_are_made_leaves_none_of_them(laptop, monkeypatch) -> None:
    before, journal, add = settings_of(laptop), journal_of(laptop), Journal.add
    noted = 0

    def add_until_full(self: Journal, *of: Any) -> Entry:
        nonlocal noted
        noted += 1
        if noted > 5:
            raise JournalError("no space left")
        return add(self, *of)

    monkeypatch.setattr(Journal, "add", add_until_full)
    wanted = host_changes(laptop, Scenario.SYNTHETIC, lasting=True, run=RecordedSystemd())
    with (
        pytest.raises(JournalError, match="no space left"),
        tuned_host(wanted, Scenario.REAL_WORLD, laptop, journal, RecordedSystemd()),
    ):
        raise AssertionError("no run measures then")
    assert (settings_of(laptop), journal.entries()) == (before, ())


def test_an_entry_that_cannot_be_taken_out_keeps_none_of_the_others_back(laptop, monkeypatch) -> None:
    before, remove = settings_of(laptop), Journal.remove
    one = make_all(laptop)
    stuck = one.entries[-1]

    def remove_others(self: Journal, entry: Entry) -> None:
        if entry is stuck:
            raise JournalError("it can't be removed")
        remove(self, entry)

    monkeypatch.setattr(Journal, "remove", remove_others)
    assert one.put_back() == ("it can't be removed",)
    assert settings_of(laptop) == before
    assert journal_of(laptop).entries() == (stuck,)


def test_a_journal_that_cannot_be_read_keeps_nothing_back(laptop, golden) -> None:
    before, one = settings_of(laptop), make_all(laptop)
    (journal_of(laptop).folder / "0.json").write_text("{")
    (complaint,) = one.put_back()
    assert complaint == golden
    assert settings_of(laptop) == before


@pytest.fixture
def place(laptop: SystemRoots) -> Path:
    path = laptop.sys / "kernel/setting"
    path.parent.mkdir(exist_ok=True)
    path.write_text("0")
    return path


@pytest.fixture
def journal(laptop: SystemRoots) -> Journal:
    return Journal(laptop.sys.parent / "journal", laptop)


def wish(place: Path, value: str) -> list[Change]:
    return [Change("nomerges", Means.FILE, str(place), value)]


def run_that_wants(value: str, place: Path, journal: Journal) -> Callable[[Callable[[], None]], None]:
    def tune(wait: Callable[[], None]) -> None:
        with tuned_host(wish(place, value), Scenario.REAL_WORLD, journal.roots, journal, RecordedSystemd()):
            wait()

    return tune


def apply(value: str, place: Path, journal: Journal) -> list[str]:
    """What the doctor does in a process of its own; the failures."""

    def make() -> list[str]:
        reports = HostChanger(journal.roots, journal, UNTIL_ASKED, RecordedSystemd()).make(wish(place, value))
        return [report.failure for report in reports]

    failures: list[str] = in_process(make)
    return failures


def restore(journal: Journal) -> list[bool]:
    return [healing.put_back for healing in heal(journal, journal.roots, {HOST_SETTING})]


@pytest.mark.parametrize("first_ends_first", [True, False])
def test_of_two_runs_the_last_to_end_puts_back(first_ends_first, place, journal) -> None:
    tune = run_that_wants("2", place, journal)
    with living(tune) as first, living(tune) as second:
        assert place.read_text() == "2"
        one, other = (first, second) if first_ends_first else (second, first)
        one.end()
        assert place.read_text() == "2"
        other.end()
        assert place.read_text() == "0"
    assert journal.entries() == ()


def test_a_run_does_not_change_what_another_one_has_set(place, journal) -> None:
    with living(run_that_wants("2", place, journal)) as first:
        one = HostChanger(journal.roots, journal, UNTIL_THE_END, RecordedSystemd())
        (report,) = one.make(wish(place, "0"))
        assert report.failure == f"the run of process {first.pid} has set 2 and is still running"
        assert (place.read_text(), one.entries) == ("2", [])


def test_a_killed_run_beside_a_living_one_detunes_nothing_until_that_ends(place, journal) -> None:
    tune = run_that_wants("2", place, journal)
    with living(tune) as first, living(tune) as second:
        first.kill()
        (healing,) = heal(journal, journal.roots, {HOST_SETTING}, concerns=is_of_a_run)
        assert (
            healing.text == f"{place}: left as it is for the run of process {second.pid}, which needs it too"
        )
        assert place.read_text() == "2"
        second.end()
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_what_a_run_has_set_is_never_what_the_doctor_puts_back(place, journal) -> None:
    with living(run_that_wants("2", place, journal)) as run:
        assert apply("0", place, journal) == [f"the run of process {run.pid} has set 2 and is still running"]
        assert apply("2", place, journal) == [""]
        run.end()
        assert place.read_text() == "2"
    assert restore(journal) == [True]
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_a_restore_leaves_a_run_what_it_measures_with(place, journal) -> None:
    assert apply("2", place, journal) == [""]
    with living(run_that_wants("2", place, journal)) as run:
        assert restore(journal) == [True]
        assert place.read_text() == "2"
        run.end()
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_layers_are_put_back_from_the_top(place, journal) -> None:
    apply("2", place, journal)
    apply("1", place, journal)
    with living(run_that_wants("2", place, journal)) as run:
        assert place.read_text() == "2"
        # both are below the run's
        assert restore(journal) == [False, False]
        run.end()
        assert place.read_text() == "1"
    assert restore(journal) == [True, True]
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_of_two_doctors_the_first_state_comes_back(place, journal) -> None:
    for value in ("2", "2", "1", "0"):
        apply(value, place, journal)
    assert restore(journal) == [True, True, True]
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_what_lasted_until_a_restart_is_in_no_runs_way(place, journal) -> None:
    apply("2", place, journal)
    (journal.roots.proc / "sys/kernel/random/boot_id").write_text("another\n")
    place.write_text("0")
    with living(run_that_wants("2", place, journal)) as run:
        (old, _) = journal.entries()
        with journal_lock(journal) as noted:
            assert still_needed(old, noted, journal.roots) is None
        run.end()
    assert place.read_text() == "0"


def test_a_timer_that_another_run_has_stopped_stays_so_until_both_have_ended(laptop, journal) -> None:
    systemd = RecordedSystemd("fstrim.timer")
    first = HostChanger(laptop, journal, UNTIL_THE_END, systemd)
    second = HostChanger(laptop, journal, UNTIL_THE_END, systemd)
    first.make([Change("trim_timer", Means.UNIT, "fstrim.timer", STOPPED)])
    (report,) = second.make([])
    assert (report.key, report.found, report.failure) == ("trim_timer", "active", "")
    first.put_back()
    assert systemd.active == []
    second.put_back()
    assert systemd.active == ["fstrim.timer"]


def test_a_layer_below_a_run_cannot_be_put_back_yet(place, journal) -> None:
    apply("2", place, journal)
    with living(run_that_wants("1", place, journal)) as run:
        (below, _) = journal.entries()
        with journal_lock(journal) as noted, pytest.raises(HostSettingError, match=f"process {run.pid}"):
            still_needed(below, noted, journal.roots)

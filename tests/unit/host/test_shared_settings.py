"""What several processes set at the same place is put back once, by the last, to what was there first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.host.changes import STOPPED, HostChanger
from openpts.host.setting_file import HostSettingError
from openpts.host.shared_settings import HOST_SETTING, UNTIL_ASKED, UNTIL_THE_END, is_of_a_run, still_needed
from openpts.journal import Journal
from openpts.journal_lock import journal_lock
from openpts.runner.healing import heal
from openpts.runner.tuning import tuned_host
from openpts.system_files import SystemRoots
from openpts.vocabulary.tuning import Change, Means, Scenario
from tests.support.processes import in_process, living
from tests.unit.host.recorded_systemd import RecordedSystemd


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
def test_of_two_runs_the_last_to_end_puts_back(first_ends_first: bool, place: Path, journal: Journal) -> None:
    tune = run_that_wants("2", place, journal)
    with living(tune) as first, living(tune) as second:
        assert place.read_text() == "2"
        one, other = (first, second) if first_ends_first else (second, first)
        one.end()
        assert place.read_text() == "2"
        other.end()
        assert place.read_text() == "0"
    assert journal.entries() == ()


def test_a_run_does_not_change_what_another_one_has_set(place: Path, journal: Journal) -> None:
    with living(run_that_wants("2", place, journal)) as first:
        one = HostChanger(journal.roots, journal, UNTIL_THE_END, RecordedSystemd())
        (report,) = one.make(wish(place, "0"))
        assert report.failure == f"the run of process {first.pid} has set 2 and is still running"
        assert (place.read_text(), one.entries) == ("2", [])


def test_a_killed_run_beside_a_living_one_detunes_nothing_until_that_ends(
    place: Path, journal: Journal
) -> None:
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


def test_what_a_run_has_set_is_never_what_the_doctor_puts_back(place: Path, journal: Journal) -> None:
    with living(run_that_wants("2", place, journal)) as run:
        assert apply("0", place, journal) == [f"the run of process {run.pid} has set 2 and is still running"]
        assert apply("2", place, journal) == [""]
        run.end()
        assert place.read_text() == "2"
    assert restore(journal) == [True]
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_a_restore_leaves_a_run_what_it_measures_with(place: Path, journal: Journal) -> None:
    assert apply("2", place, journal) == [""]
    with living(run_that_wants("2", place, journal)) as run:
        assert restore(journal) == [True]
        assert place.read_text() == "2"
        run.end()
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_layers_are_put_back_from_the_top(place: Path, journal: Journal) -> None:
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


def test_of_two_doctors_the_first_state_comes_back(place: Path, journal: Journal) -> None:
    for value in ("2", "2", "1", "0"):
        apply(value, place, journal)
    assert restore(journal) == [True, True, True]
    assert (place.read_text(), journal.entries()) == ("0", ())


def test_what_lasted_until_a_restart_is_in_no_runs_way(place: Path, journal: Journal) -> None:
    apply("2", place, journal)
    (journal.roots.proc / "sys/kernel/random/boot_id").write_text("another\n")
    place.write_text("0")
    with living(run_that_wants("2", place, journal)) as run:
        (old, _) = journal.entries()
        with journal_lock(journal) as noted:
            assert still_needed(old, noted, journal.roots) is None
        run.end()
    assert place.read_text() == "0"


def test_a_timer_that_another_run_has_stopped_stays_so_until_both_have_ended(
    laptop: SystemRoots, journal: Journal
) -> None:
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


def test_a_layer_below_a_run_cannot_be_put_back_yet(place: Path, journal: Journal) -> None:
    apply("2", place, journal)
    with living(run_that_wants("1", place, journal)) as run:
        (below, _) = journal.entries()
        with journal_lock(journal) as noted, pytest.raises(HostSettingError, match=f"process {run.pid}"):
            still_needed(below, noted, journal.roots)

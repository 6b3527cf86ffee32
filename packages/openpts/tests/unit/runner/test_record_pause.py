"""A run whose record can't be written for a while: it waits between steps, says so, and enters the time."""

import sqlite3
from collections.abc import Callable

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes

from openpts.analysis.steady_state import disturbed_rounds, window_ending_at
from openpts.cli.log_lines import event_lines
from openpts.errors import InterruptedRunError
from openpts.record.reader import read_run, stored_run
from openpts.record.schema import PAGE_BYTES
from openpts.record.writer import DATABASE_NAME
from openpts.runner import script_runner as record_pause
from openpts.runner.event_lines import SteadyStateJudged
from openpts.runner.events import Event, HostStalled, RecordDelayed, RunGoesOn, RunPaused, StepFinished
from openpts.runner.progress import RunProgress
from openpts.tests.unit.record.test_spooling_writer import Database
from openpts.units import NS_PER_S
from openpts.vocabulary.requests import Apply, Purge, Script, samples_in
from openpts.vocabulary.sample import HostStall, IoErrors, Phase, Sample
from openpts.vocabulary.stimulus import Step
from openpts_pts.shared.script import Tracking, until_steady
from tests.support.live_bench import Bench, bench, block_size, in_round, short_test, step, wipc
from tests.support.scripted_engine import complete

__all__ = ["bench"]

PAUSE_S = 5


class FullFrom:
    """The disk gets full when the first round is measured, and has room again after some looks."""

    def __init__(self, subject: Bench, monkeypatch, gap_ns: int | None) -> None:
        self.database = Database(subject.writer._writer)
        self.gap_ns, self.now_ns, self.polls = gap_ns, 0, 0
        subject.engine.outcome = self.outcome
        monkeypatch.setattr(record_pause.time, "sleep", self.sleep)
        monkeypatch.setattr(record_pause.time, "monotonic_ns", lambda: self.now_ns)

    def outcome(self, step: Step) -> Sample:
        self.database.fill_up()
        longer_than_a_page = IoErrors("write", "x" * 2 * PAGE_BYTES, 1, (0,))
        return with_changes(complete(step), gap_ns=self.gap_ns, errors=(longer_than_a_page,))

    def sleep(self, seconds: float) -> None:
        self.polls += 1
        self.now_ns += int(seconds * NS_PER_S)
        if not self.polls % PAUSE_S:
            self.database.make_room()


def told(subject: Bench) -> list[Event]:
    return [event for event in subject.events if isinstance(event, RecordDelayed | RunPaused | RunGoesOn)]


def test_nothing_runs_until_all_is_written(bench, monkeypatch) -> None:
    subject = bench()
    FullFrom(subject, monkeypatch, gap_ns=None)
    subject.driver.drive(short_test())
    delayed, *paused, goes_on = told(subject)[:7]
    assert (delayed, goes_on) == (
        RecordDelayed(subject.folder, "database or disk is full"),
        RunGoesOn(PAUSE_S * NS_PER_S),
    )
    assert [event.paused_ns for event in paused if isinstance(event, RunPaused)] == [
        second * NS_PER_S for second in range(PAUSE_S)
    ]
    at = subject.events.index
    measured = [at(event) for event in subject.events if isinstance(event, StepFinished)]
    assert not any(at(paused[0]) < index < at(goes_on) for index in measured)
    subject.driver.pause.until_written()
    subject.writer.close()


def test_no_step_is_announced_before_it_is_stored(bench, monkeypatch) -> None:
    subject = bench()
    FullFrom(subject, monkeypatch, gap_ns=None)
    on_event, missing = subject.driver.emit, list[StepFinished]()

    def heard(event: Event) -> None:
        stored = [step.place for step in stored_run(subject.folder).steps]
        if isinstance(event, StepFinished) and event.place not in stored:
            missing.append(event)
        on_event(event)

    subject.driver.emit = subject.driver.pause.emit = heard
    subject.driver.drive(short_test())
    subject.driver.pause.until_written()
    assert missing == []
    assert [event.place for event in subject.events if isinstance(event, StepFinished)] == [
        step.place for step in stored_run(subject.folder).steps
    ]
    subject.writer.close()


def test_what_was_measured_is_in_the_record_with_the_idle_time(bench, monkeypatch) -> None:
    subject = bench()
    FullFrom(subject, monkeypatch, gap_ns=None)
    subject.driver.drive(short_test())
    subject.driver.pause.until_written()
    subject.writer.close()
    assert subject.steps() == [wipc(), *(in_round(number, index) for number in (1, 2) for index in (0, 1))]
    used = [found.used for found in read_run(subject.folder).ledger if "without I/O" in found.used]
    assert used == [
        "5.00 s without I/O before round 2, step 1 (RND 4 KiB 0/100): "
        "the record could not be written: database or disk is full"
    ], "none after the last round"


@pytest.mark.parametrize(("gap_ns", "entries"), [(0, 0), (PAUSE_S * NS_PER_S, 1)])
def test_only_time_that_passes_for_the_drive_is_entered(bench, monkeypatch, gap_ns, entries) -> None:
    """That of a simulated drive stands still."""
    subject = bench()
    FullFrom(subject, monkeypatch, gap_ns)
    subject.driver.drive(short_test())
    subject.driver.pause.until_written()
    subject.writer.close()
    found = [one for one in read_run(subject.folder).ledger if "without I/O" in one.used]
    assert len(found) == entries


def test_the_operator_ends_a_pause(bench, monkeypatch) -> None:
    subject = bench()
    full = FullFrom(subject, monkeypatch, gap_ns=None)

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(record_pause.time, "sleep", interrupted)
    with pytest.raises(InterruptedRunError, match="in a pause"):
        subject.driver.drive(short_test())
    full.database.make_room()
    subject.writer.close()
    assert subject.steps() == [wipc(), in_round(1, 0), in_round(1, 1)]


def test_the_lines_of_a_pause(bench, monkeypatch) -> None:
    subject, progress = bench(), RunProgress(iops_now=192_186, bytes_per_s_now=1e9)
    FullFrom(subject, monkeypatch, gap_ns=None)
    subject.driver.drive(short_test())
    lines = []
    for event in told(subject)[:7]:
        progress.on_event(event)
        lines += event_lines(event, progress)
    reason = f"can't write the record in {subject.folder}: database or disk is full"
    assert [lines[0], lines[3], lines[6]] == [
        f"{reason}; the run pauses before the next steps until it can: "
        "free space or make it writable, or stop the run",
        f"paused for 2.00 s, {reason}",
        "the record is written again: the run continues after 5.00 s",
    ]
    assert (progress.iops_now, progress.bytes_per_s_now) == (0, 0)


STOPPED = (HostStall(started_ns=5, lasted_ns=20 * NS_PER_S),)


def disturbed(number: int) -> Callable[[Step], Sample]:
    """An engine whose first steps up to this number are disturbed."""
    left = [number]

    def outcome(running: Step) -> Sample:
        left[0] -= 1
        return replace(complete(running), standstills=STOPPED if left[0] >= 0 else ())

    return outcome


def one_round(*, repeatable: bool) -> Script:
    yield Purge()
    samples = samples_in((yield Apply(Phase.ROUND, 1, (step(4096), step(512)), 1, repeatable=repeatable)))
    assert [block_size(sample.step) for sample in samples] == [4096, 512]


def test_passes_that_are_added_are_repeated_without_those_before_them(bench) -> None:
    def passes() -> Script:
        yield Purge()
        row = Apply(Phase.PROFILE, 1, (step(4096), step(4096)), 1, repeatable=True, until_alike=True)
        yield row
        yield replace(row)

    ran = [0]

    def outcome(running: Step) -> Sample:
        ran[0] += 1
        return replace(complete(running), standstills=STOPPED if ran[0] == 3 else ())

    subject = bench(outcome)
    subject.driver.drive(passes())
    subject.writer.close()
    run = read_run(subject.folder)
    assert [found.place.position for found in run.steps] == [0, 1, 2, 3]
    assert not any(found.sample.standstills for found in run.steps)
    assert ran == [6]


def test_a_round_is_repeated_and_only_the_last_time_counts(bench, golden) -> None:
    subject = bench(disturbed(1))
    subject.driver.drive(one_round(repeatable=True))
    subject.writer.close()
    assert [happened for happened in subject.engine.happened if "submit" in happened] == ["submit 2"] * 2
    run = read_run(subject.folder)
    assert subject.steps() == [in_round(1, 0), in_round(1, 1)]
    assert not any(found.sample.standstills for found in run.steps)
    (entry,) = run.ledger
    assert entry.used == "round 1, step 1 (RND 4 KiB 0/100): openpts itself did not run for 20.00 s"
    assert entry.effect == golden
    connection = sqlite3.connect(subject.folder / DATABASE_NAME)
    states = connection.execute("SELECT state, count(*) FROM step GROUP BY state ORDER BY state").fetchall()
    connection.close()
    assert states == [("complete", 2), ("repeated", 2)], "what was measured before is kept"


def test_what_can_not_be_repeated_is_kept_with_its_mark_and_says_what_to_do(bench, golden) -> None:
    subject = bench(disturbed(1))
    subject.driver.drive(one_round(repeatable=False))
    first, second = read_run(subject.folder).steps
    assert (first.sample.standstills, second.sample.standstills) == (STOPPED, ())
    (told,) = [event for event in subject.events if isinstance(event, HostStalled)]
    (line,) = event_lines(told, RunProgress())
    assert line == golden
    (entry,) = read_run(subject.folder).ledger
    assert entry.effect == golden


def test_a_machine_that_always_falls_asleep_does_not_keep_a_run_from_its_end(bench) -> None:
    subject = bench(disturbed(100))
    subject.driver.drive(one_round(repeatable=True))
    assert [happened for happened in subject.engine.happened if "submit" in happened] == ["submit 2"] * 4
    assert [bool(found.sample.standstills) for found in read_run(subject.folder).steps] == [True, True]


def test_a_step_that_ends_late_for_no_fault_of_openpts_is_entered_too(bench) -> None:
    subject = bench(lambda running: replace(complete(running), elapsed_ns=7 * NS_PER_S))
    subject.driver.drive(one_round(repeatable=True))
    (entry,) = read_run(subject.folder).ledger
    assert entry.used == (
        "2 steps, round 1, step 1 to round 1, step 2; "
        "worst: round 1, step 1 (RND 4 KiB 0/100): lasted 7.00 s instead of 1.00 s"
    )


@pytest.mark.parametrize("late_ns", [0, NS_PER_S // 10])
def test_the_drain_of_a_queue_is_no_deviation(bench, late_ns) -> None:
    subject = bench(lambda running: replace(complete(running), elapsed_ns=NS_PER_S + late_ns))
    subject.driver.drive(one_round(repeatable=True))
    assert not read_run(subject.folder).ledger


def test_a_window_with_a_disturbed_round_is_not_steady() -> None:
    flat, whole = [100.0] * 7, [[complete(step(4096))] for _ in range(7)]
    whole[1] = [replace(whole[1][0], standstills=STOPPED)]
    rounds = disturbed_rounds(whole)
    assert rounds == {2}
    assert [window_ending_at(flat, last, rounds).steady for last in (5, 6, 7)] == [False, False, True]
    assert window_ending_at(flat, 5, rounds).disturbed == (2,)


def tracked_until_steady(found: list[object]) -> Script:
    yield Purge()
    tracking = Tracking(Phase.WDPC, step(4096).streams, "IOPS", NS_PER_S, 2 * NS_PER_S, 25)
    found.append((yield from until_steady(tracking)))


def test_tracked_minutes_become_steady_without_the_disturbed_one(bench) -> None:
    minutes = [0]

    def third_minute_disturbed(running: Step) -> Sample:
        minutes[0] += 1
        # the third tracked minute: one in the first round, and the second of two steps in the others
        return replace(complete(running), standstills=STOPPED if minutes[0] == 5 else ())

    subject, found = bench(third_minute_disturbed), list[object]()
    subject.driver.drive(tracked_until_steady(found))
    assert found == [(8, 8)]
    judged = [event for event in subject.events if isinstance(event, SteadyStateJudged)]
    verdicts = [(event.number, event.variables[0].steady) for event in judged]
    assert verdicts == [(5, False), (6, False), (7, False), (8, True)]
    assert len(read_run(subject.folder).steps) == 15, "nothing of it was repeated"

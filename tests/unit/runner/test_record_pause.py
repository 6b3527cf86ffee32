"""A run whose record can't be written for a while: it waits between steps, says so, and enters the time."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace as with_changes

from openpts.cli.log_lines import event_lines
from openpts.errors import InterruptedRunError
from openpts.record.reader import read_run, stored_run
from openpts.record.schema import PAGE_BYTES
from openpts.runner import record_pause
from openpts.runner.events import Event, RecordDelayed, RunGoesOn, RunPaused, StepFinished
from openpts.runner.progress import RunProgress
from openpts.units import NS_PER_S
from openpts.vocabulary.sample import IoErrors, Sample
from openpts.vocabulary.stimulus import Step
from tests.unit.record.test_spooling_writer import Database
from tests.unit.runner.live_bench import Bench, bench, in_round, short_test, wipc
from tests.unit.runner.scripted_engine import complete

__all__ = ["bench"]

PAUSE_S = 5


class FullFrom:
    """The disk gets full when the first round is measured, and has room again after some looks."""

    def __init__(self, subject: Bench, monkeypatch: pytest.MonkeyPatch, gap_ns: int | None) -> None:
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


def test_nothing_runs_until_all_is_written(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_no_step_is_announced_before_it_is_stored(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_what_was_measured_is_in_the_record_with_the_idle_time(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_only_time_that_passes_for_the_drive_is_entered(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch, gap_ns: int, entries: int
) -> None:
    """That of a simulated drive stands still."""
    subject = bench()
    FullFrom(subject, monkeypatch, gap_ns)
    subject.driver.drive(short_test())
    subject.driver.pause.until_written()
    subject.writer.close()
    found = [one for one in read_run(subject.folder).ledger if "without I/O" in one.used]
    assert len(found) == entries


def test_the_operator_ends_a_pause(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_lines_of_a_pause(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
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
        "the record is written again: the run goes on after 5.00 s",
    ]
    assert (progress.iops_now, progress.bytes_per_s_now) == (0, 0)

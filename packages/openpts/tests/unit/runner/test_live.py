"""The live driver: what is asked is done in its order, and what was measured and sampled is recorded."""

import signal
import time
from collections import deque

import pytest
from msgspec.structs import replace
from msgspec.structs import replace as with_changes

from openpts.analysis.host_limits import HostLimit
from openpts.engine.contract import OutstandingIo
from openpts.errors import InterruptedRunError, PurgeError, RunFailedError
from openpts.gauge import Gauge
from openpts.record.health import ReadingPoint, TelemetryPoint
from openpts.record.reader import read_run
from openpts.runner import script_runner
from openpts.runner.event_lines import CycleEnded, DeviationFound
from openpts.runner.events import Event, HostLimited, IoHangs, StepFinished, Ticked
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.runner.telemetry import HostWatch, Sampler
from openpts.units import NS_PER_S
from openpts.vocabulary.document import filled
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    SetWriteCache,
    health_in,
    samples_in,
)
from openpts.vocabulary.sample import HostStall, Interval, IoFailure, Phase, Sample, StepPlace, StepState
from openpts.vocabulary.stimulus import Duration, Step
from openpts.vocabulary.verdict import Deviation
from tests.support.live_bench import (
    CACHE,
    DEVIATION,
    FINISHED,
    HEALTH,
    PURGE,
    bench,
    block_size,
    in_round,
    short_test,
    step,
    wipc,
)
from tests.support.scripted_engine import complete, complete_with_errors, failed

__all__ = ["bench"]


def two_cycles() -> Script:
    for title in ("first", "second"):
        yield Purge()
        yield Apply(Phase.SATURATION, 1, (step(4096),))
        yield CycleFinished(Outcome(None, 1), title)


@pytest.mark.proves("PTS-GEN-07", "PTS-TOOL-01")
def test_a_script_is_carried_out_in_its_order(bench) -> None:
    subject = bench()
    subject.driver.drive(short_test())
    assert subject.driver.cycles == (FINISHED,)
    steps = ["submit 1", "submit 2", "submit 2"]
    assert subject.engine.happened == ["purge", "cache False", *steps, "cache looked at"]
    assert subject.steps() == [
        wipc(),
        *(in_round(number, position) for number in (1, 2) for position in (0, 1)),
    ]
    run = read_run(subject.folder)
    assert (run.manifest.purges, run.manifest.write_caches) == ((PURGE,), (CACHE,))
    assert run.manifest.cycles == (FINISHED,)
    assert run.ledger == (DEVIATION,)
    assert sum(isinstance(event, StepFinished) for event in subject.events) == 5
    assert sum(isinstance(event, DeviationFound) for event in subject.events) == 1


@pytest.mark.proves("PTS-PRG-01")
def test_each_purge_begins_a_cycle_that_is_recorded_by_itself(bench) -> None:
    subject = bench()
    subject.driver.drive(two_cycles())
    manifest = read_run(subject.folder).manifest
    assert manifest.purges == (PURGE, PURGE)
    assert [cycle.title for cycle in manifest.cycles] == ["first", "second"]
    assert [place.cycle for place, _ in subject.steps()] == [1, 2]
    ends = [event for event in subject.events if isinstance(event, CycleEnded)]
    assert [(end.cycle, end.title) for end in ends] == [(1, "first"), (2, "second")]


def test_what_every_cycle_departs_from_is_entered_once(bench) -> None:
    subject = bench()

    def both_set_the_cache() -> Script:
        for title in ("first", "second"):
            yield Purge()
            yield SetWriteCache(False)
            yield CycleFinished(Outcome(None, 1), title)

    subject.driver.drive(both_set_the_cache())
    run = read_run(subject.folder)
    assert run.manifest.write_caches == (CACHE, CACHE)
    assert run.ledger == (DEVIATION,)
    assert sum(isinstance(event, DeviationFound) for event in subject.events) == 1


def test_a_step_is_stored_together_with_its_entries(bench) -> None:
    """A kill between the two would leave a step that stands without them."""
    stopped = (HostStall(started_ns=5, lasted_ns=20 * NS_PER_S),)
    subject = bench(lambda running: with_changes(complete(running), standstills=stopped))
    found: list[tuple[int, int]] = []

    def look(event: Event) -> None:
        if isinstance(event, StepFinished):
            run = read_run(subject.folder)
            found.append((len(run.steps), sum(max(1, entry.steps) for entry in run.ledger)))

    subject.driver.emit = subject.driver.pause.emit = look
    subject.driver.drive(two_cycles())
    entries_of_the_purges = found[0][1] - found[0][0]
    assert found == [(steps, steps + entries_of_the_purges) for steps in (1, 2)]


def test_a_cycle_that_ends_is_in_the_record_before_the_next_purge(bench) -> None:
    subject = bench()

    def interrupted() -> Script:
        yield from short_test()
        raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        subject.driver.drive(interrupted())
    assert read_run(subject.folder).manifest.cycles == (FINISHED,)


def test_steps_of_one_phase_and_number_count_on_when_they_come_in_pieces(bench) -> None:
    def in_pieces() -> Script:
        yield Purge()
        for number in (1, 2):
            yield Apply(Phase.SATURATION, number, (step(4096),))
            yield Apply(Phase.SATURATION, number, (step(4096), step(4096)))

    subject = bench()
    subject.driver.drive(in_pieces())
    assert [(place.number, place.position) for place, _ in subject.steps()] == [
        (number, position) for number in (1, 2) for position in (0, 1, 2)
    ]


def test_the_last_step_of_a_round_is_written_while_the_next_round_runs(bench, monkeypatch) -> None:
    subject = bench()
    add_step = subject.writer.add_step

    def noted(place: StepPlace, sample: Sample, entries: tuple[Deviation, ...]) -> None:
        subject.engine.happened.append(f"write {place}")
        add_step(place, sample, entries)

    monkeypatch.setattr(subject.writer, "add_step", noted)
    subject.driver.drive(short_test())
    assert subject.engine.happened[2:] == [
        *("submit 1", "submit 2", "write WIPC, step 1", "write round 1, step 1"),
        *("submit 2", "write round 1, step 2", "write round 2, step 1"),
        *("write round 2, step 2", "cache looked at"),
    ]


def test_the_log_is_read_between_steps_and_kept_with_its_part(bench) -> None:
    heard = []

    def asking() -> Script:
        yield Purge()
        for number in (1, 2):
            yield Apply(Phase.DRIVE_CYCLE, number, (step(4096),))
            heard.append((yield ReadHealth(Phase.DRIVE_CYCLE, number)))
        yield Purge()

    subject = bench()
    subject.driver.health(ReadingPoint.BEFORE)
    subject.driver.drive(asking())
    subject.driver.health(ReadingPoint.AFTER)
    assert heard == [HEALTH, HEALTH]
    # and where every test leaves the device alone: after the purge, and before that of a further cycle
    kept = read_run(subject.folder).health
    assert [(h.occasion, h.cycle, h.phase, h.number, h.t_ns) for h in kept] == [
        (ReadingPoint.BEFORE, 0, None, None, None),
        (ReadingPoint.DURING, 1, None, None, None),
        (ReadingPoint.DURING, 1, Phase.DRIVE_CYCLE, 1, 10**9),
        (ReadingPoint.DURING, 1, Phase.DRIVE_CYCLE, 2, 10**9),
        (ReadingPoint.DURING, 1, None, None, 10**9),
        (ReadingPoint.DURING, 2, None, None, 10**9),
        (ReadingPoint.AFTER, 2, None, None, 10**9),
    ]
    assert all(record.reading == HEALTH for record in kept)


def test_the_log_is_read_after_each_phase_where_its_monitor_is_set(bench) -> None:
    subject = bench()
    subject.driver.reads_each_phase = True
    subject.driver.drive(short_test())
    kept = read_run(subject.folder).health
    assert [(h.occasion, h.phase, h.number, h.t_ns) for h in kept] == [
        (ReadingPoint.DURING, None, None, None),
        (ReadingPoint.DURING, Phase.WIPC, None, 10**9),
    ]


def test_samples_are_written_with_the_step_beside_which_they_were_taken(bench, tmp_path) -> None:
    file = tmp_path / "temp1_input"
    file.write_text("41\n")
    gauge = Gauge("x", "x", "x", (file,), lambda contents, _: {"temperature_c": float(contents[0])})

    def once_sampled(running: Step) -> Sample:
        while not subject.driver.sampler._sampled:
            time.sleep(0.001)
        return complete(running)

    subject = bench(once_sampled)
    subject.driver.sampler = Sampler([gauge], period_s=0.001)
    with subject.driver.sampler.running():
        subject.driver.drive(short_test())
    ((name, sampled),) = read_run(subject.folder).telemetry_series.items()
    assert (name, set(sampled.values)) == ("temperature_c", {41.0})
    # the steps of this engine all begin at 0 and take a second by its clock, and no time by that of the wall
    assert all(abs(t_ns - 10**9) < 60 * 10**9 for t_ns in sampled.t_ns)


def test_a_step_that_is_handed_over_late_does_not_move_what_is_sampled(bench, monkeypatch) -> None:
    late_ns = iter((0, 5 * NS_PER_S, 7 * NS_PER_S, 0, NS_PER_S))
    now_ns = 100 * NS_PER_S

    def busy(running: Step) -> Sample:
        nonlocal now_ns
        now_ns = 100 * NS_PER_S + next(late_ns)
        return complete(running)

    subject = bench(busy)
    monkeypatch.setattr(script_runner.time, "monotonic_ns", lambda: now_ns)
    offsets: list[int] = []

    def take(offset_ns: int) -> tuple[TelemetryPoint, ...]:
        offsets.append(offset_ns)
        return ()

    monkeypatch.setattr(subject.driver.sampler, "take", take)
    subject.driver.drive(short_test())
    # all steps of this engine end at its first second
    assert set(offsets) == {NS_PER_S - 100 * NS_PER_S}


def test_steps_in_which_the_host_was_the_limit_are_told_when_the_record_has_them(bench, monkeypatch) -> None:
    subject = bench()
    subject.driver.follows = HostWatch(0.001, polling=False).follows
    # by the clock of this engine all steps are in the same second
    waits = TelemetryPoint(NS_PER_S // 2, "engine_wait_pct", 60.0)
    monkeypatch.setattr(subject.driver.sampler, "take", lambda _offset_ns: (waits,))
    subject.driver.drive(short_test())
    subject.driver.keep_telemetry(ended=True)
    told = [event for event in subject.events if isinstance(event, HostLimited)]
    assert [event.place for event in told] == [place for place, _ in subject.steps()]
    assert all(event.limited_ns == {HostLimit.PROCESSOR: 10**9} for event in told)
    assert [bool(event.new) for event in told] == [True, *[False] * (len(told) - 1)]
    heard = [event for event in subject.events if isinstance(event, HostLimited | StepFinished)]
    for place, _ in subject.steps():
        about = [type(event) for event in heard if event.place == place]
        assert about == [StepFinished, HostLimited]


@pytest.mark.proves("PTS-HIR-19")
def test_no_command_reaches_the_drive_in_the_wait_states_of_host_idle_recovery(bench) -> None:
    alone: list[bool] = []

    def looking(running: Step) -> Sample:
        alone.append(subject.driver.sampler.leave_drive_alone)
        return complete(running)

    def resting() -> Script:
        yield Purge()
        for phase in (Phase.WDPC, Phase.WAIT_STATE, Phase.RETURN_TO_BASELINE):
            yield Apply(phase, 1, (step(4096),))

    subject = bench(looking)
    subject.driver.drive(resting())
    assert alone == [False, True, False]


def test_a_drive_that_is_being_purged_is_left_alone(bench) -> None:
    subject = bench()

    def purging() -> Script:
        yield Apply(Phase.WIPC, 1, (step(4096),))
        assert not subject.driver.sampler.leave_drive_alone
        yield Purge()

    subject.driver.drive(purging())
    assert subject.preparation.alone_while_purged == [True]


@pytest.mark.parametrize("with_intervals", [False, True])
def test_the_answer_has_intervals_if_the_script_looks_at_them(bench, with_intervals) -> None:
    """A group of half-hour steps would hold the intervals of days until its end."""
    answers = []

    def script() -> Script:
        yield Purge()
        apply = Apply(Phase.ACCESS_GROUP, 1, (step(512), step(512)), with_intervals=with_intervals)
        answers.append((yield apply))

    def of_one_interval(running: Step) -> Sample:
        sample = complete(running)
        figures = {name: getattr(sample, name) for name in ("read", "write", "elapsed_ns", "cpu")}
        return with_changes(sample, intervals=(Interval(**figures, index=0, in_flight=0, errors=0),))

    subject = bench(of_one_interval)
    subject.driver.drive(script())
    assert [len(sample.intervals) for sample in answers[0]] == [int(with_intervals)] * 2
    assert [len(one.sample.intervals) for one in read_run(subject.folder).steps] == [1, 1]


def fails_at_512(running: Step) -> Sample:
    return failed(running) if block_size(running) == 512 else complete(running)


def test_a_failed_io_ends_the_run_and_is_kept(bench) -> None:
    subject = bench(fails_at_512)
    with pytest.raises(
        RunFailedError,
        match=r"^round 1, step 2: write of 512 B at byte 4096 \(LBA 8\) failed .* Input/output error",
    ):
        subject.driver.drive(short_test())
    assert subject.steps() == [wipc(), in_round(1, 0), in_round(1, 1, StepState.FAILED)]


def test_a_device_that_shrinks_between_steps_gets_no_further_step(bench) -> None:
    subject = bench()
    # before WIPC, after its step, before the round, after its first step
    subject.preparation.faults = [None, None, None, "x has 512 bytes now"]
    with pytest.raises(RunFailedError, match=r"^round 1, step 2: x has 512 bytes now$"):
        subject.driver.drive(short_test())
    assert "stop" in subject.engine.happened
    assert subject.steps()[:2] == [wipc(), in_round(1, 0)]


def test_a_failed_step_of_a_device_that_has_gone_says_both(bench) -> None:
    subject = bench(fails_at_512)
    subject.preparation.faults = [None, None, None, None, "x has gone away: see dmesg"]
    with pytest.raises(RunFailedError, match=r"LBA 8\) failed .*; x has gone away: see dmesg$"):
        subject.driver.drive(short_test())
    assert subject.steps()[-1] == in_round(1, 1, StepState.FAILED)


def test_an_idle_device_that_goes_away_is_not_waited_for(bench) -> None:
    subject = bench()
    subject.engine.waits = deque([None] * 4)
    subject.preparation.faults = [None, None, "x has gone away: see dmesg"]
    with pytest.raises(RunFailedError, match=r"^WIPC, step 1: x has gone away"):
        subject.driver.drive(short_test())
    assert subject.engine.happened[-1] == "stop"


def test_ctrl_c_stops_the_engine_and_keeps_the_finished_steps(bench) -> None:
    def interrupted(running: Step) -> Sample:
        if block_size(running) == 512:
            raise KeyboardInterrupt
        return complete(running)

    subject = bench(interrupted)
    with pytest.raises(InterruptedRunError):
        subject.driver.drive(short_test())
    assert "stop" in subject.engine.happened
    assert subject.steps() == [wipc(), in_round(1, 0)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_step_is_handed_over_loses_none(bench, number) -> None:
    def signalled(running: Step) -> Sample:
        if block_size(running) == 512:
            signal.raise_signal(number)
        return complete(running)

    subject = bench(signalled)
    with pytest.raises(InterruptedRunError), terminate_as_interrupt():
        subject.driver.drive(short_test())
    assert subject.steps() == [wipc(), in_round(1, 0), in_round(1, 1)]


def test_a_failed_purge_ends_the_run_before_any_io(bench) -> None:
    subject = bench(purge_error=PurgeError("3 of 64 marks are still there"))
    with pytest.raises(PurgeError):
        subject.driver.drive(short_test())
    assert subject.engine.happened == ["purge"]
    assert read_run(subject.folder).manifest.purges == ()


def test_an_engine_that_ends_without_a_result_is_a_failure(bench) -> None:
    subject = bench()
    subject.engine.stop()
    with pytest.raises(RunFailedError, match="the engine ended"):
        subject.driver.drive(short_test())


def test_errors_that_do_not_end_the_run_are_in_the_ledger_with_their_step(bench) -> None:
    subject = bench(lambda s: complete_with_errors(s) if block_size(s) == 512 else complete(s))
    subject.driver.drive(short_test())
    run = read_run(subject.folder)
    (entry,) = [entry for entry in run.ledger if entry.rule_id == "PTS-GEN-01"]
    first = (
        "round 1, step 2 (RND 0.5 KiB 0/100): 3 x write failed: Input/output error (os error 5), "
        "first at byte 4096, 8192, 512; 1 x flush failed: Remote I/O error (os error 121)"
    )
    assert entry.used == f"2 steps, round 1, step 2 to round 2, step 2; worst: {first}"
    assert entry.steps == 2
    heard = [event for event in subject.events if isinstance(event, DeviationFound)]
    assert heard[1:] == [filled(DeviationFound, replace(entry, used=first, steps=1))], (
        "told of once while it runs"
    )
    assert [len(step.sample.errors) for step in run.steps] == [0, 0, 2, 0, 2]


def test_a_failed_step_is_no_deviation_but_a_failure(bench) -> None:
    subject = bench(fails_at_512)
    with pytest.raises(RunFailedError):
        subject.driver.drive(short_test())
    assert read_run(subject.folder).ledger == (DEVIATION,)


def test_a_flush_that_fails_is_named_without_a_place(bench) -> None:
    def flush_failed(running: Step) -> Sample:
        return replace(failed(running), failure=IoFailure("flush", 0, 0, "Input/output error"))

    subject = bench(flush_failed)
    with pytest.raises(
        RunFailedError, match=r"^WIPC, step 1: flush failed in RND 128 KiB 0/100: Input/output error$"
    ):
        subject.driver.drive(short_test())


def test_an_engine_that_stops_in_an_idle_gap_says_where(bench) -> None:
    def gap() -> Script:
        yield Purge()
        yield Apply(Phase.WAIT_STATE, 1, (Step.of(None, Duration.seconds(1)),))

    def interrupted(running: Step) -> Sample:
        return replace(failed(step(512)), step=running, failure=None, errors=())

    subject = bench(interrupted)
    with pytest.raises(RunFailedError, match=r"^wait state 1, step 1: the engine stopped in idle$"):
        subject.driver.drive(gap())
    assert read_run(subject.folder).steps[0].sample.step.stimulus is None


def test_an_io_that_hangs_is_told_while_it_hangs(bench) -> None:
    ages_s = (1, 4.9, 5, 5.1, 9.9, 10.1, 11, 20, 39, 41)
    waits = [OutstandingIo(round(age_s * 10**9), "write", 8192, 4096) for age_s in ages_s]
    subject = bench()
    subject.engine.waits.extend([None, *waits])
    subject.driver.drive(short_test())
    told = [event.io.age_ns / 10**9 for event in subject.events if isinstance(event, IoHangs)]
    assert told == [5, 10.1, 20, 41]
    ticks = [event for event in subject.events if isinstance(event, Ticked)]
    assert len(ticks) == 1 + len(waits)
    first_finished = next(n for n, event in enumerate(subject.events) if isinstance(event, StepFinished))
    last_told = max(n for n, event in enumerate(subject.events) if isinstance(event, IoHangs))
    assert last_told < first_finished


def until_it_fails(seen: list[Sample], *, may_fail: bool) -> Script:
    yield Purge()
    steps = (step(4096), step(512), step(4096))
    seen += samples_in((yield Apply(Phase.DRIVE_CYCLE, 1, steps, may_fail=may_fail)))
    assert health_in((yield ReadHealth(Phase.DRIVE_CYCLE, 1))) == HEALTH
    yield CycleFinished(Outcome(None, 0, "an I/O failed"))


def test_the_failed_step_is_the_last_of_the_answer(bench) -> None:
    subject, seen = bench(fails_at_512), list[Sample]()
    subject.driver.drive(until_it_fails(seen, may_fail=True))
    assert [sample.state for sample in seen] == [StepState.COMPLETE, StepState.FAILED]
    run = read_run(subject.folder)
    assert [s.sample.state for s in run.steps] == [StepState.COMPLETE, StepState.FAILED]
    assert run.manifest.cycles == (CycleFinished(Outcome(None, 0, "an I/O failed")),)


def test_a_step_that_may_not_fail_ends_the_run(bench) -> None:
    subject, seen = bench(fails_at_512), list[Sample]()
    with pytest.raises(RunFailedError):
        subject.driver.drive(until_it_fails(seen, may_fail=False))
    assert seen == []
    assert read_run(subject.folder).manifest.cycles == ()

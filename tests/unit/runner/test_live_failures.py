"""The live driver where something fails: the run ends or goes on, and what was measured is kept."""

import signal
from collections import deque
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from openpts.engine.contract import OutstandingIo
from openpts.errors import InterruptedRunError, PurgeError, RunFailedError
from openpts.record.reader import read_run
from openpts.runner.events import DeviationFound, IoHangs, StepFinished, Ticked
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    health_in,
    samples_in,
)
from openpts.vocabulary.sample import IoFailure, Sample, StepState
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import Duration
from tests.unit.runner.live_bench import (
    DEVIATION,
    HEALTH,
    Bench,
    bench,
    block_size,
    in_round,
    short_test,
    step,
    wipc,
)
from tests.unit.runner.scripted_engine import complete, complete_with_errors, failed

__all__ = ["bench"]


def fails_at_512(running: Step) -> Sample:
    return failed(running) if block_size(running) == 512 else complete(running)


def test_a_failed_io_ends_the_run_and_is_kept(bench: Callable[..., Bench]) -> None:
    subject = bench(fails_at_512)
    with pytest.raises(
        RunFailedError,
        match=r"^round 1, step 2: write of 512 B at byte 4096 \(LBA 8\) failed .* Input/output error",
    ):
        subject.driver.drive(short_test())
    assert subject.steps() == [wipc(), in_round(1, 0), in_round(1, 1, StepState.FAILED)]


def test_a_device_that_shrinks_between_steps_gets_no_further_step(bench: Callable[..., Bench]) -> None:
    subject = bench()
    # before WIPC, after its step, before the round, after its first step
    subject.preparation.faults = [None, None, None, "x has 512 bytes now"]
    with pytest.raises(RunFailedError, match=r"^round 1, step 2: x has 512 bytes now$"):
        subject.driver.drive(short_test())
    assert "stop" in subject.engine.happened
    assert subject.steps()[:2] == [wipc(), in_round(1, 0)]


def test_a_failed_step_of_a_device_that_has_gone_says_both(bench: Callable[..., Bench]) -> None:
    subject = bench(fails_at_512)
    subject.preparation.faults = [None, None, None, None, "x has gone away: see dmesg"]
    with pytest.raises(RunFailedError, match=r"LBA 8\) failed .*; x has gone away: see dmesg$"):
        subject.driver.drive(short_test())
    assert subject.steps()[-1] == in_round(1, 1, StepState.FAILED)


def test_an_idle_device_that_goes_away_is_not_waited_for(bench: Callable[..., Bench]) -> None:
    subject = bench()
    subject.engine.waits = deque([None] * 4)
    subject.preparation.faults = [None, None, "x has gone away: see dmesg"]
    with pytest.raises(RunFailedError, match=r"^WIPC, step 1: x has gone away"):
        subject.driver.drive(short_test())
    assert subject.engine.happened[-1] == "stop"


def test_ctrl_c_stops_the_engine_and_keeps_the_finished_steps(bench: Callable[..., Bench]) -> None:
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
def test_a_signal_while_a_step_is_handed_over_loses_none(
    bench: Callable[..., Bench], number: signal.Signals
) -> None:
    def signalled(running: Step) -> Sample:
        if block_size(running) == 512:
            signal.raise_signal(number)
        return complete(running)

    subject = bench(signalled)
    with pytest.raises(InterruptedRunError), terminate_as_interrupt():
        subject.driver.drive(short_test())
    assert subject.steps() == [wipc(), in_round(1, 0), in_round(1, 1)]


def test_a_failed_purge_ends_the_run_before_any_io(bench: Callable[..., Bench]) -> None:
    subject = bench(purge_error=PurgeError("3 of 64 marks are still there"))
    with pytest.raises(PurgeError):
        subject.driver.drive(short_test())
    assert subject.engine.happened == ["purge"]
    assert read_run(subject.folder).manifest.purges == ()


def test_an_engine_that_ends_without_a_result_is_a_failure(bench: Callable[..., Bench]) -> None:
    subject = bench()
    subject.engine.stop()
    with pytest.raises(RunFailedError, match="the engine ended"):
        subject.driver.drive(short_test())


def test_errors_that_do_not_end_the_run_are_in_the_ledger_with_their_step(
    bench: Callable[..., Bench],
) -> None:
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
    heard = [event.deviation for event in subject.events if isinstance(event, DeviationFound)]
    assert heard[1:] == [replace(entry, used=first, steps=1)], "told of once while it runs"
    assert [len(step.sample.errors) for step in run.steps] == [0, 0, 2, 0, 2]


def test_a_failed_step_is_no_deviation_but_a_failure(bench: Callable[..., Bench]) -> None:
    subject = bench(fails_at_512)
    with pytest.raises(RunFailedError):
        subject.driver.drive(short_test())
    assert read_run(subject.folder).ledger == (DEVIATION,)


def test_a_flush_that_fails_is_named_without_a_place(bench: Callable[..., Bench]) -> None:
    def flush_failed(running: Step) -> Sample:
        return replace(failed(running), failure=IoFailure("flush", 0, 0, "Input/output error"))

    subject = bench(flush_failed)
    with pytest.raises(
        RunFailedError, match=r"^WIPC, step 1: flush failed in RND 128 KiB 0/100: Input/output error$"
    ):
        subject.driver.drive(short_test())


def test_an_engine_that_stops_in_an_idle_gap_says_where(bench: Callable[..., Bench]) -> None:
    def gap() -> Script:
        yield Purge()
        yield Apply(Phase.WAIT_STATE, 1, (Step.of(None, Duration.seconds(1)),))

    def interrupted(running: Step) -> Sample:
        return replace(failed(step(512)), step=running, failure=None, errors=())

    subject = bench(interrupted)
    with pytest.raises(RunFailedError, match=r"^wait state 1, step 1: the engine stopped in idle$"):
        subject.driver.drive(gap())
    assert read_run(subject.folder).steps[0].sample.step.stimulus is None


def test_an_io_that_hangs_is_told_while_it_hangs(bench: Callable[..., Bench]) -> None:
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


def test_the_failed_step_is_the_last_of_the_answer(bench: Callable[..., Bench]) -> None:
    subject, seen = bench(fails_at_512), list[Sample]()
    subject.driver.drive(until_it_fails(seen, may_fail=True))
    assert [sample.state for sample in seen] == [StepState.COMPLETE, StepState.FAILED]
    run = read_run(subject.folder)
    assert [s.sample.state for s in run.steps] == [StepState.COMPLETE, StepState.FAILED]
    assert run.manifest.cycles == (CycleFinished(Outcome(None, 0, "an I/O failed")),)


def test_a_step_that_may_not_fail_ends_the_run(bench: Callable[..., Bench]) -> None:
    subject, seen = bench(fails_at_512), list[Sample]()
    with pytest.raises(RunFailedError):
        subject.driver.drive(until_it_fails(seen, may_fail=False))
    assert seen == []
    assert read_run(subject.folder).manifest.cycles == ()

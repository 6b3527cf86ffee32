"""The live driver: what is asked is done, what was measured is kept, in every ending."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.steady_state import judge
from openpts.device.purge.method import Progress
from openpts.engine.contract import OutstandingIo
from openpts.errors import InterruptedRunError, PurgeError, RunFailedError
from openpts.gauge import Gauge
from openpts.record.health import Occasion
from openpts.record.reader import read_run
from openpts.record.writer import RunWriter
from openpts.runner.events import (
    CycleEnded,
    DeviationFound,
    Event,
    IoHangs,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.runner.live import LiveDriver
from openpts.runner.telemetry import Sampler
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import PurgeReport, WriteCacheReport
from openpts.vocabulary.health import HealthReading
from openpts.vocabulary.part import Part, StepPlace
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import IoFailure, Sample, StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration
from tests.unit.record.test_run_folder import manifest
from tests.unit.runner.scripted_engine import ScriptedEngine, complete, complete_with_errors, failed

if TYPE_CHECKING:
    from openpts.runner.preparation import Preparation

PURGE = PurgeReport(True, "discard", "all LBAs", "2026-11-20T22:00:00+00:00", 1, 64, 64)
HEALTH = HealthReading("a log", {"temperature_c": 40.5, "host_write_bytes": 2.0**60})
CACHE = WriteCacheReport("WCD", "WCE", "sysfs")
DEVIATION = Deviation("PTS-CACHE-01", "3.7", "WCD", "WCE", "effect")


class GivenPreparation:
    def __init__(self, happened: list[str], sampler: Sampler, purge_error: Exception | None = None) -> None:
        self.happened, self.sampler, self.purge_error = happened, sampler, purge_error
        self.alone_while_purged: list[bool] = []

    def purge(self, progress: Progress) -> tuple[PurgeReport, tuple[Deviation, ...]]:
        self.happened.append("purge")
        self.alone_while_purged.append(self.sampler.leave_drive_alone)
        if self.purge_error:
            raise self.purge_error
        return PURGE, ()

    def write_cache(self, required_enabled: bool) -> tuple[WriteCacheReport, tuple[Deviation, ...]]:
        self.happened.append(f"cache {required_enabled}")
        return CACHE, (DEVIATION,)

    def cache_since(self, report: WriteCacheReport) -> tuple[Deviation, ...]:
        assert report == CACHE
        self.happened.append("cache looked at")
        return ()


def step(block_size_bytes: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, 0, 1, 1, ActiveRange())
    return Step(stimulus, Duration.seconds(1))


def block_size(running: Step) -> int:
    assert running.stimulus is not None
    return running.stimulus.block_size_bytes


FINISHED = CycleFinished(Outcome(None, 2), "SEQ 128 KiB")


def short_test() -> Script:
    yield Purge()
    yield SetWriteCache(False)
    samples = yield Apply(Part.WIPC, 1, (step(131072),))
    assert samples is not None
    assert len(samples) == 1
    for number in (1, 2):
        samples = yield Apply(Part.ROUND, number, (step(4096), step(512)), 2)
        assert samples is not None
        assert [block_size(s.step) for s in samples] == [4096, 512]
    yield FINISHED


def two_cycles() -> Script:
    for title in ("first", "second"):
        yield Purge()
        yield Apply(Part.SATURATION, 1, (step(4096),))
        yield CycleFinished(Outcome(None, 1), title)


class Bench:
    """A driver with everything around it that a test wants to look at."""

    def __init__(self, folder: Path, engine: ScriptedEngine, purge_error: Exception | None = None) -> None:
        self.folder, self.engine = folder, engine
        self.events: list[Event] = []
        self.writer = RunWriter.create(folder, manifest())
        sampler = Sampler(())
        self.preparation = GivenPreparation(engine.happened, sampler, purge_error)
        self.driver = LiveDriver(
            engine,
            cast("Preparation", self.preparation),
            self.writer,
            self.events.append,
            lambda: HEALTH,
            sampler,
        )

    def steps(self) -> list[tuple[StepPlace, StepState]]:
        return [(s.place, s.sample.state) for s in read_run(self.folder).steps]


def wipc(state: StepState = StepState.COMPLETE) -> tuple[StepPlace, StepState]:
    return StepPlace(1, Part.WIPC, 1, 0), state


def in_round(
    number: int, position: int, state: StepState = StepState.COMPLETE
) -> tuple[StepPlace, StepState]:
    return StepPlace(1, Part.ROUND, number, position), state


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    def make(outcome: Callable[[Step], Sample] = complete, **options: Any) -> Bench:
        return Bench(tmp_path / "run", ScriptedEngine(outcome), **options)

    return make


@pytest.mark.proves("PTS-GEN-07", "PTS-TOOL-01")
def test_a_script_is_carried_out_in_its_order(bench: Callable[..., Bench]) -> None:
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
def test_each_purge_begins_a_cycle_that_is_recorded_by_itself(bench: Callable[..., Bench]) -> None:
    subject = bench()
    subject.driver.drive(two_cycles())
    manifest = read_run(subject.folder).manifest
    assert manifest.purges == (PURGE, PURGE)
    assert [cycle.title for cycle in manifest.cycles] == ["first", "second"]
    assert [place.cycle for place, _ in subject.steps()] == [1, 2]
    ends = [event for event in subject.events if isinstance(event, CycleEnded)]
    assert [(end.cycle, end.finished.title) for end in ends] == [(1, "first"), (2, "second")]


def test_what_every_cycle_departs_from_is_entered_once(bench: Callable[..., Bench]) -> None:
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


def test_a_cycle_that_ends_is_in_the_record_before_the_next_purge(bench: Callable[..., Bench]) -> None:
    subject = bench()

    def interrupted() -> Script:
        yield from short_test()
        raise KeyboardInterrupt

    with pytest.raises(InterruptedRunError):
        subject.driver.drive(interrupted())
    assert read_run(subject.folder).manifest.cycles == (FINISHED,)


def test_steps_of_one_part_and_number_count_on_when_they_come_in_pieces(
    bench: Callable[..., Bench],
) -> None:
    def in_pieces() -> Script:
        yield Purge()
        for number in (1, 2):
            yield Apply(Part.SATURATION, number, (step(4096),))
            yield Apply(Part.SATURATION, number, (step(4096), step(4096)))

    subject = bench()
    subject.driver.drive(in_pieces())
    assert [(place.number, place.position) for place, _ in subject.steps()] == [
        (number, position) for number in (1, 2) for position in (0, 1, 2)
    ]


def test_judgements_are_told_with_their_part_and_names(bench: Callable[..., Bench]) -> None:
    report = judge(range(1, 6), [1.0, 1, 1, 1, 1])

    def judging() -> Script:
        yield Purge()
        yield SteadyStateChecked(Part.WDPC, 5, ("RND 4 KiB RW0",), (report,))

    subject = bench()
    subject.driver.drive(judging())
    assert subject.events[-1] == SteadyStateJudged(Part.WDPC, 5, ("RND 4 KiB RW0",), (report,))


def test_the_last_step_of_a_round_is_written_while_the_next_round_runs(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = bench()
    add_step = subject.writer.add_step

    def noted(place: StepPlace, sample: Sample) -> None:
        subject.engine.happened.append(f"write {place}")
        add_step(place, sample)

    monkeypatch.setattr(subject.writer, "add_step", noted)
    subject.driver.drive(short_test())
    assert subject.engine.happened[2:] == [
        *("submit 1", "submit 2", "write WIPC, step 1", "write round 1, step 1"),
        *("submit 2", "write round 1, step 2", "write round 2, step 1"),
        *("cache looked at", "write round 2, step 2"),
    ]


def test_a_failed_io_ends_the_run_and_is_kept(bench: Callable[..., Bench]) -> None:
    subject = bench(lambda s: failed(s) if block_size(s) == 512 else complete(s))
    with pytest.raises(RunFailedError, match=r"write of 512 B at byte 4096 failed .* Input/output error"):
        subject.driver.drive(short_test())
    assert subject.steps() == [
        wipc(),
        in_round(1, 0),
        in_round(1, 1, StepState.FAILED),
    ]


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


def test_the_log_is_read_between_steps_and_kept_with_its_part(bench: Callable[..., Bench]) -> None:
    heard = []

    def asking() -> Script:
        yield Purge()
        for number in (1, 2):
            yield Apply(Part.DRIVE_CYCLE, number, (step(4096),))
            heard.append((yield ReadHealth(Part.DRIVE_CYCLE, number)))
        yield Purge()

    subject = bench()
    subject.driver.health(Occasion.BEFORE)
    subject.driver.drive(asking())
    subject.driver.health(Occasion.AFTER)
    assert heard == [HEALTH, HEALTH]
    # and where every test leaves the device alone: after the purge, and before that of a further cycle
    kept = read_run(subject.folder).health
    assert [(h.occasion, h.cycle, h.part, h.number, h.t_ns) for h in kept] == [
        (Occasion.BEFORE, 0, None, None, None),
        (Occasion.DURING, 1, None, None, None),
        (Occasion.DURING, 1, Part.DRIVE_CYCLE, 1, 10**9),
        (Occasion.DURING, 1, Part.DRIVE_CYCLE, 2, 10**9),
        (Occasion.DURING, 1, None, None, 10**9),
        (Occasion.DURING, 2, None, None, 10**9),
        (Occasion.AFTER, 2, None, None, 10**9),
    ]
    assert all(record.reading == HEALTH for record in kept)


def test_samples_are_written_with_the_step_beside_which_they_were_taken(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
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
    points = read_run(subject.folder).telemetry
    assert points
    assert {(point.name, point.value) for point in points} == {("temperature_c", 41.0)}
    # the steps of this engine all begin at 0 and take a second by its clock, and no time by that of the wall
    assert all(abs(point.t_ns - 10**9) < 60 * 10**9 for point in points)


@pytest.mark.proves("PTS-HIR-19")
def test_no_command_reaches_the_drive_in_the_wait_states_of_host_idle_recovery(
    bench: Callable[..., Bench],
) -> None:
    alone: list[bool] = []

    def looking(running: Step) -> Sample:
        alone.append(subject.driver.sampler.leave_drive_alone)
        return complete(running)

    def resting() -> Script:
        yield Purge()
        for part in (Part.WDPC, Part.WAIT_STATE, Part.RETURN_TO_BASELINE):
            yield Apply(part, 1, (step(4096),))

    subject = bench(looking)
    subject.driver.drive(resting())
    assert alone == [False, True, False]


def test_a_drive_that_is_being_purged_is_left_alone(bench: Callable[..., Bench]) -> None:
    subject = bench()

    def purging() -> Script:
        yield Apply(Part.WIPC, 1, (step(4096),))
        assert not subject.driver.sampler.leave_drive_alone
        yield Purge()

    subject.driver.drive(purging())
    assert subject.preparation.alone_while_purged == [True]


def test_listeners_hear_where_the_run_stands(bench: Callable[..., Bench]) -> None:
    subject = bench()
    subject.driver.drive(short_test())
    started = [event.apply for event in subject.events if isinstance(event, StepsStarted)]
    assert [(apply.part, apply.number) for apply in started] == [
        (Part.WIPC, 1),
        (Part.ROUND, 1),
        (Part.ROUND, 2),
    ]
    assert subject.events[-1] == CycleEnded(1, FINISHED)
    assert not any(isinstance(event, SteadyStateJudged) for event in subject.events)


def test_errors_that_do_not_end_the_run_are_in_the_ledger_with_their_step(
    bench: Callable[..., Bench],
) -> None:
    subject = bench(lambda s: complete_with_errors(s) if block_size(s) == 512 else complete(s))
    subject.driver.drive(short_test())
    run = read_run(subject.folder)
    entries = [entry for entry in run.ledger if entry.rule_id == "PTS-GEN-01"]
    assert [entry.used.partition(" (")[0] for entry in entries] == ["round 1, step 2", "round 2, step 2"]
    assert entries[0].used == (
        "round 1, step 2 (RND 0.5 KiB 0/100): 3 x write failed: Input/output error (os error 5), "
        "first at byte 4096, 8192, 512; 1 x flush failed: Remote I/O error (os error 121)"
    )
    heard = [event.deviation for event in subject.events if isinstance(event, DeviationFound)]
    assert heard == list(run.ledger)
    assert [len(step.sample.errors) for step in run.steps] == [0, 0, 2, 0, 2]


def test_a_failed_step_is_no_deviation_but_a_failure(bench: Callable[..., Bench]) -> None:
    subject = bench(lambda s: failed(s) if block_size(s) == 512 else complete(s))
    with pytest.raises(RunFailedError):
        subject.driver.drive(short_test())
    assert read_run(subject.folder).ledger == (DEVIATION,)


def test_a_flush_that_fails_is_named_without_a_place(bench: Callable[..., Bench]) -> None:
    def flush_failed(running: Step) -> Sample:
        return with_changes(failed(running), failure=IoFailure("flush", 0, 0, "Input/output error"))

    subject = bench(flush_failed)
    with pytest.raises(RunFailedError, match=r"^flush failed in RND 128 KiB 0/100: Input/output error$"):
        subject.driver.drive(short_test())


def test_an_engine_that_stops_in_an_idle_gap_says_where(bench: Callable[..., Bench]) -> None:
    def gap() -> Script:
        yield Purge()
        yield Apply(Part.WAIT_STATE, 1, (Step(None, Duration.seconds(1)),))

    def interrupted(running: Step) -> Sample:
        return with_changes(failed(step(512)), step=running, failure=None, errors=())

    subject = bench(interrupted)
    with pytest.raises(RunFailedError, match=r"^the engine stopped in idle$"):
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

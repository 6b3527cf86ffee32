"""What an operator reads while a run goes on."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from openpts.analysis.steady_state import judge
from openpts.cli import plain_log as plain_log_module
from openpts.cli import progress as progress_module
from openpts.cli.live_display import LiveDisplay, render_panel
from openpts.cli.log_lines import now_line, time_text
from openpts.cli.plain_log import PlainLog
from openpts.cli.progress import RunProgress
from openpts.engine.contract import EngineProgress, OutstandingIo
from openpts.journal import Entry, Kind, Owner
from openpts.planning.dry_run import PlannedApply
from openpts.pts.iops import standard_conditions
from openpts.record.manifest import RunState
from openpts.runner.events import (
    CycleEnded,
    DeviationFound,
    Event,
    Healed,
    IoHangs,
    PurgeFinished,
    PurgeProgressed,
    PurgeStarted,
    RunEnded,
    RunStarted,
    SteadyStateJudged,
    StepFinished,
    StepsStarted,
    Ticked,
)
from openpts.runner.healing import Healing
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.conditions import Profile
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import (
    Fact,
    PurgeAttempt,
    PurgeReport,
    SimulationFacts,
    TargetFacts,
    TargetKind,
)
from openpts.vocabulary.part import Part, StepPlace
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, Steady, SteadyFigure
from tests.unit.record.test_run_folder import manifest
from tests.unit.runner.scripted_engine import complete

CONDITIONS = msgspec.structs.replace(
    standard_conditions(Profile.ENTERPRISE, 1), minute_ns=NS_PER_S, max_rounds=7
)
WIPC = Step(Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 4, 32, ActiveRange()), ByteAmount(10**9))


def point(block_size_bytes: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, 0, 4, 32, ActiveRange())
    return Step(stimulus, Duration.seconds(1))


POINT = point(4 * KIB)
STEADY = judge(range(1, 6), [100.0, 101, 99, 100, 100])
RESTLESS = judge(range(1, 6), [100.0, 150, 99, 100, 100])


def wipc(*steps: Step) -> Apply:
    return Apply(Part.WIPC, 1, steps)


def round_of(number: int, *steps: Step) -> Apply:
    return Apply(Part.ROUND, number, steps, 7)


def planned(apply: Apply, step_s: float = 1.0, cycle: int = 1) -> PlannedApply:
    durations_ns = tuple(round(step_s * NS_PER_S) for _ in apply.steps)
    return PlannedApply(cycle, apply, durations_ns, tuple(0 for _ in apply.steps))


PLAN = (planned(wipc(WIPC), 4.0), *(planned(round_of(number, *(POINT,) * 56)) for number in range(1, 8)))
STARTED = RunStarted(Path("r1"), replace(manifest(), conditions=CONDITIONS), PLAN)


class Clock:
    """Time as the test says it is."""

    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


def place(round_number: int | None, position: int) -> StepPlace:
    """Of a round, or of preconditioning."""
    if round_number is None:
        return StepPlace(1, Part.WIPC, 1, position)
    return StepPlace(1, Part.ROUND, round_number, position)


def ticked(round_number: int | None, position: int, step: Step, **progress: Any) -> Ticked:
    now = replace(EngineProgress(steps_begun=1, step_elapsed_ns=0, ios=0, bytes=0), **progress)
    return Ticked(place(round_number, position), step, now)


def begun(round_number: int | None, *steps: Step) -> StepsStarted:
    return StepsStarted(1, wipc(*steps) if round_number is None else round_of(round_number, *steps))


def ended(round_number: int | None, position: int, step: Step) -> StepFinished:
    return StepFinished(place(round_number, position), complete(step))


def judged(number: int) -> SteadyStateJudged:
    names = tuple(str(variable) for variable in CONDITIONS.tracking)
    return SteadyStateJudged(Part.ROUND, number, names, (STEADY, RESTLESS, STEADY))


def ios_after(elapsed_s: float) -> int:
    """A drive that does 1000 I/Os per second, and after three seconds 5000."""
    return round(min(3, elapsed_s) * 1000 + max(0, elapsed_s - 3) * 5000)


# in 0.1 s of ours a drive does what it does in 0.1 s; a simulated one lives for as long as was computed
@pytest.mark.parametrize("tick_s", [0.1, 0.5, 7.0])
def test_rates_are_those_of_the_last_second_of_the_engine(tick_s: float) -> None:
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(1, *(POINT,) * 56))
    for number in range(60):
        elapsed_s = tick_s * number
        ios = ios_after(elapsed_s)
        progress.hear(
            ticked(1, 0, POINT, step_elapsed_ns=round(elapsed_s * NS_PER_S), ios=ios, bytes=ios * 4096)
        )
    assert progress.iops_now == pytest.approx(5000)
    assert progress.bytes_per_s_now == pytest.approx(5000 * 4096)


def test_the_next_step_does_not_inherit_a_rate() -> None:
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(1, *(POINT,) * 56))
    progress.hear(ticked(1, 0, POINT, step_elapsed_ns=0, ios=0))
    progress.hear(ticked(1, 0, POINT, step_elapsed_ns=9 * NS_PER_S // 10, ios=90_000))
    # the engine has gone on to the next step, whose predecessor's sample is not here yet
    progress.hear(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S // 10, ios=100_000))
    progress.hear(ticked(1, 0, POINT, step_elapsed_ns=NS_PER_S // 5, ios=100_200))
    assert progress.iops_now == pytest.approx(2000)


SIMULATED_TARGET = TargetFacts(
    TargetKind.SIMULATED,
    "sim:enterprise-tlc",
    "sim:enterprise-tlc?capacity=1600000000000&scale=67&seed=1",
    10**9,
    512,
    SimulationFacts("enterprise-tlc", "a drive", "page-mapped", 67, 10**9 // 67, 1, ()),
)
SIMULATED = RunStarted(STARTED.folder, replace(STARTED.manifest, target=SIMULATED_TARGET), PLAN)


def test_steps_that_are_over_at_once_show_the_rate_that_they_had() -> None:
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(1, POINT, POINT))
    progress.hear(ended(1, 0, POINT))
    assert progress.iops_now == pytest.approx(1000)
    assert progress.bytes_per_s_now == pytest.approx(1000 * 4 * KIB)


def test_a_simulated_run_tells_the_time_of_the_drive_and_ours(clock: Clock) -> None:
    progress = RunProgress()
    progress.hear(SIMULATED)
    progress.hear(begun(3, *(POINT,) * 56))
    for position in range(28):
        progress.hear(ended(3, position, POINT))
    clock.now_s += 0.285
    progress.hear(ticked(3, 28, POINT, step_elapsed_ns=NS_PER_S // 2))
    # 28.5 s of the drive in 0.285 s: what is left takes a hundredth of its time
    assert time_text(progress) == "simulated 28.50 s in 0.28 s, at most 4 min 12 s left (in 2.52 s)"


def test_a_simulated_run_says_so_first_and_last(clock: Clock) -> None:
    clock.now_s += 2
    lines = log_of(
        SIMULATED,
        begun(1, POINT, POINT),
        ended(1, 0, POINT),
        ended(1, 1, POINT),
        RunEnded(RunState.COMPLETE, None),
    )
    assert "on sim:enterprise-tlc (SIMULATED, scale 1:67, 1.00 GB" in lines[0]
    assert lines[-1] == "simulated 2.00 s in 0.00 s"


def seconds_left(progress: RunProgress) -> tuple[str, float] | None:
    left = progress.time_left()
    return None if left is None else (left.words, round(left.seconds, 3))


def test_the_longest_time_left_is_the_rest_of_the_plan() -> None:
    progress = RunProgress()
    progress.hear(STARTED)
    assert progress.time_left() is None  # nothing runs yet
    progress.hear(begun(None, WIPC))
    progress.hear(ticked(None, 0, WIPC))
    assert progress.time_left() is None  # the speed of preconditioning is not known yet
    progress.hear(ticked(None, 0, WIPC, step_elapsed_ns=NS_PER_S, bytes=250_000_000))
    # the rate of now and not the planned 4 s: a drive may become slower, so it is no bound
    assert seconds_left(progress) == ("about", 3 + 7 * 56)
    progress.hear(begun(3, *(POINT,) * 56))
    for position in range(28):
        progress.hear(ended(3, position, POINT))
    progress.hear(ticked(3, 28, POINT, step_elapsed_ns=NS_PER_S // 2))
    assert seconds_left(progress) == ("at most", 5 * 56 - 28.5)


def test_what_the_plan_does_not_have_has_no_time_left() -> None:
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(StepsStarted(2, round_of(1, POINT)))
    progress.hear(Ticked(StepPlace(2, Part.ROUND, 1, 0), POINT, EngineProgress(1, NS_PER_S // 2, 1, 1)))
    assert progress.time_left() is None
    assert now_line(progress).startswith("cycle 2, round 1 of at most 7, step 1 of 1, RND 4 KiB 0/100: ")


def test_a_saturation_whose_end_depends_on_the_drive_is_no_bound() -> None:
    saturation = Apply(Part.SATURATION, 1, (POINT,), 2)
    follow = Apply(Part.SATURATION, 2, (POINT, POINT), 2)
    histogram = Apply(Part.HISTOGRAM, 1, (POINT,))
    progress = RunProgress()
    progress.hear(replace(STARTED, plan=tuple(planned(apply) for apply in (saturation, follow, histogram))))
    progress.hear(StepsStarted(1, saturation))
    assert seconds_left(progress) == ("about", 4)
    progress.hear(StepsStarted(1, histogram))
    assert seconds_left(progress) == ("at most", 1)


def test_preconditioning_by_drive_fills_ends_when_the_capacity_is_full() -> None:
    by_fills = Step(WIPC.stimulus, DriveFills(1))
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(None, by_fills))
    progress.hear(ticked(None, 0, by_fills))
    progress.hear(ticked(None, 0, by_fills, step_elapsed_ns=NS_PER_S, bytes=250_000_000))
    assert progress.step_fraction == pytest.approx(0.25)  # the target holds 1 GB
    assert seconds_left(progress) == ("about", 3 + 7 * 56)


def test_a_step_until_steady_shows_no_end_that_nobody_knows(clock: Clock) -> None:
    until_steady = Step(WIPC.stimulus, Steady(SteadyFigure.THROUGHPUT, NS_PER_S))
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(None, until_steady))
    progress.hear(ticked(None, 0, until_steady))
    clock.now_s += 1
    progress.hear(ticked(None, 0, until_steady, bytes=250_000_000))
    assert (progress.step_fraction, progress.part_fraction) == (None, 0)
    assert progress.time_left() is None
    assert time_text(progress) == "1.00 s elapsed"


def test_the_counts_of_a_step_begin_behind_its_ramp_and_the_step_before(clock: Clock) -> None:
    ramped = Step(WIPC.stimulus, ByteAmount(4_000_000), ramp_ns=NS_PER_S)
    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(None, ramped, ramped))
    progress.hear(ticked(None, 0, ramped, step_elapsed_ns=NS_PER_S // 2, bytes=7_000_000))
    assert progress.step_fraction == 0
    clock.now_s += 1
    progress.hear(ticked(None, 0, ramped, step_elapsed_ns=NS_PER_S * 3 // 2, bytes=8_000_000))
    assert progress.step_fraction == pytest.approx(0.25)
    progress.hear(ended(None, 0, ramped))
    clock.now_s += 1
    progress.hear(ticked(None, 1, ramped, step_elapsed_ns=NS_PER_S * 2, bytes=10_000_000))
    assert progress.step_fraction == pytest.approx(0.5)


HANGING = OutstandingIo(age_ns=12 * NS_PER_S, operation="write", offset_bytes=1_048_576, length_bytes=4096)
HANG_LINE = "write of 4 KiB at byte 1048576 has not been answered for 12 s"


def test_a_hanging_io_is_a_line_with_its_place_and_age() -> None:
    flush = OutstandingIo(age_ns=1280 * NS_PER_S, operation="flush", offset_bytes=0, length_bytes=0)
    assert log_of(IoHangs(HANGING), IoHangs(flush)) == [
        HANG_LINE,
        "flush has not been answered for 1,280 s",
    ]


def test_the_panel_shows_what_hangs_until_it_is_answered(clock: Clock) -> None:
    def panel() -> str:
        console = Console(width=120, file=io.StringIO(), record=True)
        console.print(render_panel(progress))
        return console.export_text()

    progress = RunProgress()
    progress.hear(STARTED)
    progress.hear(begun(1, *(POINT,) * 56))
    progress.hear(ticked(1, 0, POINT, oldest=replace(HANGING, age_ns=NS_PER_S)))
    before = panel()
    assert "has not been answered" not in before
    progress.hear(ticked(1, 0, POINT, oldest=HANGING))
    assert HANG_LINE in panel()
    assert panel().count("\n") == before.count("\n")
    progress.hear(ticked(1, 0, POINT))
    assert "has not been answered" not in panel()


def test_the_live_display_leaves_the_line_of_a_hang_behind() -> None:
    stream = io.StringIO()
    with LiveDisplay(stream) as display:
        display.hear(STARTED)
        display.hear(IoHangs(HANGING))
    assert HANG_LINE in stream.getvalue()


def test_an_idle_gap_is_named_as_what_it_is(clock: Clock) -> None:
    gap = Step(None, Duration.seconds(10))
    progress = RunProgress()
    for event in (STARTED, begun(1, gap, POINT), ticked(1, 0, gap, step_elapsed_ns=NS_PER_S)):
        progress.hear(event)
    assert progress.step_fraction == pytest.approx(0.1)
    assert now_line(progress).startswith("round 1 of at most 7, step 1 of 2, idle: ")


def log_of(*events: Event) -> list[str]:
    lines: list[str] = []
    log = PlainLog(lines.append)
    for event in events:
        log.hear(event)
    return [line.partition("] ")[2] for line in lines]


def test_a_purge_that_takes_long_is_told_now_and_then(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_log_module, "time", clock)
    lines: list[str] = []
    log = PlainLog(lines.append)
    log.hear(PurgeStarted())
    for step in range(12):
        clock.now_s += 10
        log.hear(PurgeProgressed(step / 12, "sanitize"))
    assert [line.partition("] ")[2] for line in lines] == [
        "purge",
        *(f"purge, {pct}%, sanitize" for pct in (17, 42, 67, 92)),
    ]


def test_all_that_was_seen_of_a_purge_is_told() -> None:
    report = PurgeReport(
        True,
        "NVMe Format",
        "",
        "",
        10**9,
        64,
        64,
        name="nvme-format",
        attempts=(PurgeAttempt("nvme-sanitize-block", "has none"),),
        status={"utilisation": Fact("0 B", "NUSE"), "reads_as": Fact(None, "DLFEAT 0")},
        status_before={"utilisation": Fact("9 GB", "NUSE")},
        other_samples=3,
    )
    assert log_of(PurgeFinished(report)) == [
        "not nvme-sanitize-block: has none",
        "purge done: NVMe Format, 64 of 64 marks gone, and 3 of 3 places with older data, 1.00 s",
        "Utilisation of the namespace: 0 B (before: 9 GB)",
    ]
    overwritten = PurgeReport(False, "one pass", "", "", 10**9, 64, 64, name="overwrite")
    assert log_of(PurgeFinished(overwritten)) == [
        "overwritten, NOT purged: one pass, 64 of 64 marks gone, 1.00 s"
    ]


def test_the_plain_log_tells_the_run_in_lines() -> None:
    points = (point(8 * KIB), POINT)
    lines = log_of(
        STARTED,
        DeviationFound(Deviation("PTS-IOPS-14", "7.2", "1 min 0 s per step", "1.00 s per step", "")),
        PurgeStarted(),
        PurgeFinished(PurgeReport(True, "discard", "", "", 10**9, 64, 64)),
        begun(None, WIPC),
        ended(None, 0, WIPC),
        begun(1, *points),
        *(ended(1, position, step) for position, step in enumerate(points)),
        judged(5),
        CycleEnded(1, CycleFinished(Outcome(None, 7))),
        RunEnded(RunState.COMPLETE, None),
    )
    assert lines == [
        "IOPS test, PTS-E 2.0.1, on file:x (1.00 GB, sector 512 B), TC 4 QD 32, seed 1, "
        "up to about 6 min 36 s at assumed rates",
        "run folder r1",
        "deviation PTS-IOPS-14: required 1 min 0 s per step; used 1.00 s per step",
        "purge",
        "purge done: discard, 64 of 64 marks gone, 1.00 s",
        "WIPC: SEQ 128 KiB 0/100",
        "WIPC done: 131 MB at 131 MB/s, 1.00 s",
        "round 1 done: RND 4 KiB RW0 1,000 IOPS",
        "steady state after round 5? RND 4 KiB RW0: steady, range 2.0 % (limit 20 %), "
        "slope 0.4 % (limit 10 %)",
        "steady state after round 5? RND 64 KiB RW65: not steady, range 46.4 % (limit 20 %), "
        "slope 18.2 % (limit 10 %)",
        "steady state after round 5? RND 1024 KiB RW100: steady, range 2.0 % (limit 20 %), "
        "slope 0.4 % (limit 10 %)",
        "steady state not reached in 7 rounds",
        "run complete",
    ]


def test_what_an_earlier_run_left_behind_is_told() -> None:
    entry = Entry(Kind.WRITE_CACHE, {}, {}, Owner(1, "x"))
    assert log_of(Healed(Healing(entry, True, "the write cache of /dev/sda is WCE again"))) == [
        "the write cache of /dev/sda is WCE again"
    ]


def test_a_run_that_was_stopped_says_so() -> None:
    assert log_of(RunEnded(RunState.INTERRUPTED, "stopped by the operator")) == [
        "run interrupted: stopped by the operator"
    ]


def test_the_live_panel_shows_round_step_rate_time_and_steady_state(clock: Clock) -> None:
    progress = RunProgress()
    for event in (
        STARTED,
        begun(6, *(POINT,) * 56),
        *(ended(6, position, POINT) for position in range(27)),
        judged(5),
        ticked(6, 27, POINT, step_elapsed_ns=0),
    ):
        progress.hear(event)
    clock.now_s += 1
    progress.hear(ticked(6, 27, POINT, step_elapsed_ns=NS_PER_S // 2, ios=12_345, bytes=12_345 * 4096))
    console = Console(width=100, file=io.StringIO(), record=True)
    console.print(render_panel(progress))
    text = console.export_text()
    for part in (
        "round 6 of at most 7",
        "28 of 56   RND 4 KiB 0/100",
        "24,690 IOPS, 101.1 MB/s",
        "1.00 s elapsed, at most 1 min 24 s left",
        "RND 64 KiB RW65: not steady, range 46.4 %",
    ):
        assert part in text


def test_the_live_display_leaves_the_finished_lines_behind() -> None:
    stream = io.StringIO()
    with LiveDisplay(stream) as display:
        display.hear(STARTED)
        display.hear(ticked(None, 0, WIPC))
        display.hear(CycleEnded(1, CycleFinished(Outcome(5, 5))))
        display.hear(RunEnded(RunState.COMPLETE, None))
    assert "steady state reached in round 5" in stream.getvalue()

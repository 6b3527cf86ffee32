"""What the log says at the end of each part of each test: the figures of that part and no others."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace as with_changes

from openpts.analysis.steady_state import judge
from openpts.fields.conditions import Conditions
from openpts.procedures.extended.benchmarks import script as profile
from openpts.procedures.extended.precon import script as precon
from openpts.procedures.extended.sustained import script as sustained
from openpts.procedures.pts.cbw.conditions import CompositeConditions
from openpts.procedures.pts.iops import script as iops
from openpts.procedures.pts.lat.conditions import LatencyConditions
from openpts.procedures.pts.tp.conditions import ThroughputConditions
from openpts.procedures.pts.wsat.conditions import WriteSaturationConditions
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions
from openpts.runner.events import CycleEnded, Event, RunStarted, SteadyStateJudged, StepFinished, StepsStarted
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.phase import Phase, StepPlace
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome
from openpts.vocabulary.sample import NOTHING, OperationSample, Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import Duration, SteadyFigure
from openpts.vocabulary.verdict import TrackingVariable
from openpts.vocabulary.workload import simple_workload
from tests.unit.cli.told_run import log_of
from tests.unit.record.test_run_folder import manifest
from tests.unit.runner.scripted_engine import complete

RANDOM, SEQUENTIAL = AccessPattern.RANDOM, AccessPattern.SEQUENTIAL
ENTERPRISE = iops.standard_conditions(DriveClass.ENTERPRISE, 1)
WRITES = simple_workload("writes", RANDOM, 4 * KIB, 0)
BASE = {name: getattr(ENTERPRISE, name) for name in Conditions.__struct_fields__}


def step(
    pattern: AccessPattern = RANDOM, size_bytes: int = 4 * KIB, read_pct: int = 0, tc: int = 4, qd: int = 32
) -> Step:
    stimulus = Stimulus.of(pattern, size_bytes, read_pct, tc, qd, ActiveRange())
    return Step(stimulus, Duration.seconds(1))


def measured(of: Step, ios: int, mean_ms: float, max_ms: float, elapsed_s: float = 1) -> Sample:
    """So many writes with that mean and largest response time."""
    assert of.stimulus is not None
    size_bytes = of.stimulus.block_size_bytes
    slowest_ns, sum_ns = round(max_ms * NS_PER_MS), round(mean_ms * NS_PER_MS * ios)
    writes = OperationSample(ios, ios * size_bytes, sum_ns, 1, slowest_ns, b"")
    return with_changes(complete(of), write=writes, elapsed_ns=round(elapsed_s * NS_PER_S))


def idle(seconds: float) -> Sample:
    gap = Step(None, Duration.seconds(seconds))
    return with_changes(complete(step()), step=gap, write=NOTHING, elapsed_ns=round(seconds * NS_PER_S))


def lines_of(conditions: Conditions, *events: Event) -> list[str]:
    """Without those of the start."""
    return log_of(RunStarted(Path("r"), replace(manifest(), conditions=conditions), ()), *events)[2:]


def phase(name: Phase, number: int, *samples: Sample, most: int | None = None) -> list[Event]:
    steps = tuple(sample.step for sample in samples)
    return [
        StepsStarted(1, Apply(name, number, steps, most)),
        *(StepFinished(StepPlace(1, name, number, at), sample) for at, sample in enumerate(samples)),
    ]


def rounds_of(
    kind: type[ThroughputConditions | LatencyConditions], figure: SteadyFigure, **more: int
) -> Conditions:
    shared = {name: getattr(ENTERPRISE, name) for name in ENTERPRISE.__struct_fields__}
    variable = TrackingVariable(RANDOM, 4 * KIB, 0, figure)
    return kind(**{**shared, "tracking": (variable,), **more})


@pytest.mark.parametrize(
    ("conditions", "figure"),
    [
        (rounds_of(ThroughputConditions, SteadyFigure.THROUGHPUT), "512.0 MB/s"),
        (rounds_of(LatencyConditions, SteadyFigure.MEAN_LATENCY, histogram_ns=1), "0.120 ms"),
    ],
)
def test_a_round_tells_the_figure_that_it_is_judged_by(conditions: Conditions, figure: str) -> None:
    samples = (measured(step(read_pct=100), 1, 9, 9), measured(step(), 125_000, 0.12, 3))
    assert lines_of(conditions, *phase(Phase.ROUND, 2, *samples)) == [f"round 2 done: RND 4 KiB RW0 {figure}"]


def saturation() -> WriteSaturationConditions:
    return WriteSaturationConditions(
        **BASE,
        workloads=(WRITES,),
        tc=4,
        qd=32,
        sequential_tc=1,
        sequential_qd=32,
        drive_fills=4,
        longest_ns=6 * 3600 * NS_PER_S,
        tracking_period_ns=1800 * NS_PER_S,
        histogram_ns=1200 * NS_PER_S,
    )


def test_saturation_tells_the_tracked_minute_and_how_full_the_drive_is() -> None:
    between, minute = measured(step(), 100_000, 1, 9, 1740), measured(step(), 22_072, 0.5, 7.25, 60)
    events = [
        *phase(Phase.SATURATION, 1, minute, most=13),
        *phase(Phase.SATURATION, 2, between, minute, most=13),
        SteadyStateJudged(Phase.SATURATION, 5, ("RND 4 KiB RW0",), (judge(range(1, 6), [1.0, 1, 1, 1, 1]),)),
        CycleEnded(1, CycleFinished(Outcome(None, 13, "4 drive fills"), "RND 4 KiB RW0")),
    ]
    # the target of the record holds 1 GB
    assert lines_of(saturation(), *events) == [
        "saturation, tracking round 1 done: 368 IOPS, ART 0.500 ms, MRT 7.25 ms; 0.09 drive fills written",
        "saturation, tracking round 2 done: 368 IOPS, ART 0.500 ms, MRT 7.25 ms; 0.59 drive fills written",
        "steady state after tracking round 5? RND 4 KiB RW0: steady, range 0.0 % (limit 20 %), "
        "slope 0.0 % (limit 10 %)",
        "RND 4 KiB RW0: steady state not reached in 13 tracking rounds (4 drive fills)",
    ]


def test_a_stimulus_that_comes_in_pieces_is_told_at_its_tracked_minutes() -> None:
    long = Step(step().stimulus, Duration.seconds(1740))
    between, minute = measured(long, 100_000, 1, 9, 1740), measured(step(), 22_072, 0.5, 7.25, 60)
    events = [*phase(Phase.SATURATION, 2, between), *phase(Phase.SATURATION, 2, minute)]
    assert lines_of(saturation(), *events) == [
        "saturation, tracking round 2 done: 368 IOPS, ART 0.500 ms, MRT 7.25 ms; 0.50 drive fills written"
    ]


def test_a_single_round_is_no_plural() -> None:
    ended = CycleEnded(1, CycleFinished(Outcome(None, 1, "4 drive fills"), "RND 4 KiB RW0"))
    line = "RND 4 KiB RW0: steady state not reached in 1 tracking round (4 drive fills)"
    assert lines_of(saturation(), ended) == [line]


def test_minutes_on_the_way_to_an_amount_are_no_tracked_minutes() -> None:
    minute = measured(step(), 22_072, 0.5, 7.25, 60)
    events = [event for _ in range(30) for event in phase(Phase.SATURATION, 5, minute)]
    assert lines_of(saturation(), *events[:-2]) == []
    assert [line[:34] for line in lines_of(saturation(), *events)] == ["saturation, tracking round 5 done:"]


def test_an_amount_in_several_pieces_is_told_at_its_mean_rate() -> None:
    fast, slow = measured(step(), 300_000, 1, 9, 1), measured(step(), 100_000, 1, 9, 3)
    # 400,000 writes of 4,096 bytes in 4 s
    line = lines_of(saturation(), *phase(Phase.WIPC, 1, fast, slow))[-1]
    assert line == "WIPC done: 1.64 GB at 410 MB/s, 4.00 s"


def test_a_wait_state_tells_its_accesses_without_the_idle_times() -> None:
    accesses = [measured(step(), ios, 1, slowest, 5) for ios, slowest in ((5000, 8), (9000, 3), (7500, 4))]
    gaps = [idle(10)] * 3
    samples = [sample for pair in zip(accesses, gaps, strict=True) for sample in pair]
    assert lines_of(saturation(), *phase(Phase.WAIT_STATE, 2, *samples)) == [
        "wait state 2: RND 4 KiB 0/100",
        "wait state 2 done: first access 1,000 IOPS, last 1,500, highest 1,800; MRT 8.00 ms",
    ]


def test_a_return_to_baseline_and_a_histogram_are_told_as_a_whole() -> None:
    samples = (measured(step(), 1000, 1, 5, 1), measured(step(), 3000, 2, 4, 3))
    for name, title in (
        (Phase.RETURN_TO_BASELINE, "return to baseline 10"),
        (Phase.HISTOGRAM, "histogram 10"),
    ):
        line = lines_of(saturation(), *phase(name, 10, *samples))[-1]
        assert line == f"{title} done: 1,000 IOPS, ART 1.75 ms, MRT 5.00 ms, 4.00 s"


def test_an_access_group_tells_rate_and_times_and_no_steady_state() -> None:
    groups = CrossStimulusConditions(**BASE, groups=())
    writes = step(SEQUENTIAL, 1024 * KIB, 0, 1, 32)
    pieces = [measured(writes, 14_400_000, 32, slowest, 4 * 3600) for slowest in (1234, 99)]
    events = [
        *phase(Phase.ACCESS_GROUP, 1, *pieces, most=3),
        CycleEnded(1, CycleFinished(Outcome(None, 0))),
    ]
    assert lines_of(groups, *events) == [
        "access group 1 of 3: SEQ 1024 KiB 0/100",
        "access group 1 done: SEQ 1024 KiB 0/100, 1,049 MB/s, 1,000 IOPS, ART 32.0 ms, MRT 1,234 ms, "
        "8 h 0 min",
        "all parts done",
    ]


def test_rounds_of_demand_tell_the_tracked_operating_point() -> None:
    conditions = CompositeConditions(
        **BASE,
        workload=WRITES,
        tcs=(32, 1),
        qds=(32, 1),
        precondition_tc=32,
        precondition_qd=32,
        tracking_period_ns=1,
        max_rounds=25,
        prewrite_shortest_ns=1,
        prewrite_longest_ns=2,
        prewrite_capacity_pct=10,
        art_limit_ns=5,
        plateau_pct=10,
        mid_points=1,
        histogram_prewrite_ns=1,
        histogram_ns=1,
    )
    first, last = step(tc=32, qd=32), step(tc=1, qd=1)
    events = [
        *phase(Phase.ROUND_PREWRITE, 2, measured(first, 244_141, 1, 1, 300), most=25),
        *phase(Phase.ROUND, 2, measured(first, 41_000, 25, 80), measured(last, 900, 1, 2), most=25),
    ]
    assert lines_of(conditions, *events) == [
        "pre-write of round 2 done: 1.00 GB at 3 MB/s, 5 min 0 s",
        "round 2 done: TC 32 QD 32 41,000 IOPS, ART 25.0 ms, MRT 80.0 ms",
    ]


def test_a_step_without_an_answer_makes_no_figure_up() -> None:
    nothing = with_changes(complete(step()), write=NOTHING, elapsed_ns=60 * NS_PER_S)
    assert lines_of(saturation(), *phase(Phase.HISTOGRAM, 1, nothing))[-1] == "histogram 1 done: no I/O"
    assert lines_of(saturation(), *phase(Phase.WAIT_STATE, 1, nothing))[-1] == "wait state 1 done: no I/O"
    line = lines_of(saturation(), *phase(Phase.WDPC, 1, nothing))[-1]
    assert line == "preconditioning, tracking round 1 done: no I/O; 0.00 drive fills written"


def test_every_part_has_a_line() -> None:
    conditions = msgspec.structs.replace(ENTERPRISE, max_rounds=7)
    for name in Phase:
        told = lines_of(conditions, *phase(name, 1, complete(step())))[-1]
        assert (" at 1.00 s: " if name in {Phase.LOAD, Phase.REST} else " done") in told


def test_a_load_in_pieces_tells_how_far_it_is_and_its_rate_without_idle_times() -> None:
    conditions = sustained.standard_conditions(DriveClass.ENTERPRISE, 1)
    busy = measured(step(SEQUENTIAL, 128 * KIB, 0, 1, 32), 60_000, 2, 10, 60)
    events = [*phase(Phase.LOAD, 3, busy, idle(120)), *phase(Phase.LOAD, 3, busy, idle(120))]
    # 60,000 x 128 KiB in 60 s
    figures = "SEQ 128 KiB 0/100, 131 MB/s, 1,000 IOPS, ART 2.00 ms, MRT 10.0 ms, 1 min 0 s"
    assert lines_of(conditions, *events) == [
        f"load 3 at 3 min 0 s: {figures}",
        f"load 3 at 6 min 0 s: {figures}",
    ]


def test_a_rest_in_pieces_tells_how_long_it_lasts() -> None:
    events = [*phase(Phase.REST, 1, idle(60)), *phase(Phase.REST, 1, idle(60))]
    assert lines_of(saturation(), *events) == [
        "rest 1 at 1 min 0 s: 1 min 0 s without I/O",
        "rest 1 at 2 min 0 s: 1 min 0 s without I/O",
    ]


def test_a_drive_cycle_tells_write_and_read_apart() -> None:
    written = measured(step(SEQUENTIAL, 128 * KIB), 7630, 1, 1, 10)
    read = with_changes(written, write=NOTHING, read=written.write, elapsed_ns=5 * NS_PER_S)
    assert lines_of(saturation(), *phase(Phase.DRIVE_CYCLE, 7, written, read)) == [
        "drive cycle 7 done: 1.00 GB written at 100 MB/s, 1.00 GB read at 200 MB/s, 15.00 s"
    ]


def test_short_figures_are_told_one_by_one() -> None:
    conditions = sustained.standard_conditions(DriveClass.ENTERPRISE, 1)
    samples = (
        measured(step(SEQUENTIAL, 128 * KIB, 0, 1, 32), 60_000, 2, 10, 30),
        measured(step(), 300_000, 1, 9, 30),
    )
    assert lines_of(conditions, *phase(Phase.PROFILE, 1, *samples)) == [
        "profile 1 done: SEQ 128 KiB 0/100 QD 32 262 MB/s, RND 4 KiB 0/100 QD 32 10,000 IOPS"
    ]


def test_a_row_of_a_benchmark_is_told_as_its_users_know_it() -> None:
    conditions = profile.standard_conditions(DriveClass.CLIENT, 1)
    reads = step(SEQUENTIAL, 1024 * KIB, 100, 1, 8)
    # a pause, a warm-up that counts for nothing, three passes: 1,000 x 1 MiB a second is the best
    passes = [measured(reads, ios, 1, 2) for ios in (9000, 1000, 500, 700)]
    told = lines_of(conditions, *phase(Phase.PROFILE, 1, idle(5), *passes, most=20))
    assert told[-1] == (
        "profile 1 done: CrystalDiskMark 9.0.1, Default, SEQ1M Q8T1 Read: 1,049 MB/s (best of 3 passes)"
    )


def test_a_row_in_a_state_is_told_with_the_state() -> None:
    conditions = precon.standard_conditions(DriveClass.ENTERPRISE, 1)
    writes = step(RANDOM, 4 * KIB, 0, 1, 32)
    told = lines_of(conditions, *phase(Phase.PROFILE, 21, *[measured(writes, 50_000, 1, 2)] * 3, most=21))
    assert told[-1] == "profile 21 done: after RND, RND 4 KiB QD32 Write: 50,000 IOPS (median of 3 passes)"
    told = lines_of(conditions, *phase(Phase.PROFILE, 7, *[measured(writes, 0, 0, 0)] * 3, most=21))
    assert told[-1] == "profile 7 done: FOB, RND 4 KiB QD32 Write: no I/O"

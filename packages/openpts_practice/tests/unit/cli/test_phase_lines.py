"""What the log says at the end of each phase of each test: the figures of that phase and no others."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from openpts.analysis.steady_state import judge
from openpts.fields.conditions import Conditions
from openpts.runner.event_lines import CycleEnded, SteadyStateJudged
from openpts.runner.events import Event, RunStarted, StepFinished, StepsStarted
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome
from openpts.vocabulary.sample import NOTHING, OperationSample, Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, SteadyFigure, Step, Stimulus
from openpts.vocabulary.verdict import TrackingVariable
from openpts.vocabulary.workload import simple_workload
from openpts_practice.rows.benchmarks import script as profile
from openpts_practice.rows.precon import script as precon
from openpts_practice.rows.sustained import script as sustained
from openpts_pts.conformance.catalogue import PTS
from openpts_pts.iops import script as iops
from tests.support.record_parts import manifest
from tests.support.scripted_engine import complete
from tests.support.told_run import log_of

RANDOM, SEQUENTIAL = AccessPattern.RANDOM, AccessPattern.SEQUENTIAL
ENTERPRISE = iops.standard_conditions(DriveClass.ENTERPRISE, 1)
WRITES = simple_workload("writes", RANDOM, 4 * KIB, 0)


def step(
    pattern: AccessPattern = RANDOM, size_bytes: int = 4 * KIB, read_pct: int = 0, tc: int = 4, qd: int = 32
) -> Step:
    stimulus = Stimulus.of(pattern, size_bytes, read_pct, tc, qd, ActiveRange())
    return Step.of(stimulus, Duration.seconds(1))


def measured(of: Step, ios: int, mean_ms: float, max_ms: float, elapsed_s: float = 1) -> Sample:
    """So many writes with that mean and largest response time."""
    size_bytes = of.stimulus.block_size_bytes
    slowest_ns, sum_ns = round(max_ms * NS_PER_MS), round(mean_ms * NS_PER_MS * ios)
    writes = OperationSample(ios, ios * size_bytes, sum_ns, 1, slowest_ns, b"")
    return replace(complete(of), write=writes, elapsed_ns=round(elapsed_s * NS_PER_S))


def idle(seconds: float) -> Sample:
    gap = Step.of(None, Duration.seconds(seconds))
    return replace(complete(step()), step=gap, write=NOTHING, elapsed_ns=round(seconds * NS_PER_S))


def lines_of(conditions: Conditions, *events: Event) -> list[str]:
    """Without those of the start."""
    return log_of(RunStarted(Path("r"), replace(manifest(), conditions=conditions), ()), *events)[2:]


def phase(name: Phase, number: int, *samples: Sample, most: int | None = None) -> list[Event]:
    steps = tuple(sample.step for sample in samples)
    return [
        StepsStarted(1, Apply(name, number, steps, most)),
        *(StepFinished(StepPlace(1, name, number, at), sample) for at, sample in enumerate(samples)),
    ]


def standard(test: str, **changes: object) -> Conditions:
    return replace(PTS[test].standard_conditions(DriveClass.ENTERPRISE, 1), **changes)


def tracked(figure: SteadyFigure) -> TrackingVariable:
    return TrackingVariable(RANDOM, 4 * KIB, 0, figure)


def saturation() -> Conditions:
    return standard("wsat", workloads=(WRITES,))


def ended(outcome: Outcome, title: str = "") -> CycleEnded:
    return CycleEnded.of(1, CycleFinished(outcome, title))


IN_A_ROUND = (measured(step(read_pct=100), 1, 9, 9), measured(step(), 125_000, 0.12, 3))
MINUTE = measured(step(), 22_072, 0.5, 7.25, 60)
BETWEEN = measured(step(), 100_000, 1, 9, 1740)
LONG = Step.of(step().stimulus, Duration.seconds(1740))
JUDGED = (judge(range(1, 6), [1.0, 1, 1, 1, 1]),)
TWO_STEPS = (measured(step(), 1000, 1, 5, 1), measured(step(), 3000, 2, 4, 3))
NO_IO = replace(complete(step()), write=NOTHING, elapsed_ns=60 * NS_PER_S)
BUSY = measured(step(SEQUENTIAL, 128 * KIB, 0, 1, 32), 60_000, 2, 10, 60)
WRITTEN = measured(step(SEQUENTIAL, 128 * KIB), 7630, 1, 1, 10)
READ = replace(WRITTEN, write=NOTHING, read=WRITTEN.write, elapsed_ns=5 * NS_PER_S)
IN_A_STATE = step(RANDOM, 4 * KIB, 0, 1, 32)
SUSTAINED = sustained.standard_conditions(DriveClass.ENTERPRISE, 1)
PRECON = precon.standard_conditions(DriveClass.ENTERPRISE, 1)

CASES: dict[str, tuple[Conditions, list[Event]]] = {
    "a round of throughput": (
        standard("tp", tracking=(tracked(SteadyFigure.THROUGHPUT),)),
        phase(Phase.ROUND, 2, *IN_A_ROUND),
    ),
    "a round of latency": (
        standard("lat", tracking=(tracked(SteadyFigure.MEAN_LATENCY),)),
        phase(Phase.ROUND, 2, *IN_A_ROUND),
    ),
    # the target of the record holds 1 GB
    "saturation": (
        saturation(),
        [
            *phase(Phase.SATURATION, 1, MINUTE, most=13),
            *phase(Phase.SATURATION, 2, BETWEEN, MINUTE, most=13),
            SteadyStateJudged.of(Phase.SATURATION, 5, ("RND 4 KiB RW0",), JUDGED),
            ended(Outcome(None, 13, "4 drive fills"), "RND 4 KiB RW0"),
        ],
    ),
    "saturation in pieces, told at the tracked minute": (
        saturation(),
        [
            *phase(Phase.SATURATION, 2, measured(LONG, 100_000, 1, 9, 1740)),
            *phase(Phase.SATURATION, 2, MINUTE),
        ],
    ),
    "a single round is no plural": (
        saturation(),
        [ended(Outcome(None, 1, "4 drive fills"), "RND 4 KiB RW0")],
    ),
    "thirty minutes on the way to an amount, one of them tracked": (
        saturation(),
        [event for _ in range(30) for event in phase(Phase.SATURATION, 5, MINUTE)],
    ),
    # 400,000 writes of 4,096 bytes in 4 s
    "an amount in pieces, at its mean rate": (
        saturation(),
        phase(Phase.WIPC, 1, measured(step(), 300_000, 1, 9, 1), measured(step(), 100_000, 1, 9, 3)),
    ),
    "a wait state without its idle times": (
        saturation(),
        phase(
            Phase.WAIT_STATE,
            2,
            *(measured(step(), 5000, 1, 8, 5), idle(10)),
            *(measured(step(), 9000, 1, 3, 5), idle(10)),
            *(measured(step(), 7500, 1, 4, 5), idle(10)),
        ),
    ),
    "a return to baseline": (saturation(), phase(Phase.RETURN_TO_BASELINE, 10, *TWO_STEPS)),
    "a histogram": (saturation(), phase(Phase.HISTOGRAM, 10, *TWO_STEPS)),
    "an access group": (
        standard("xsr", groups=()),
        [
            *phase(
                Phase.ACCESS_GROUP,
                1,
                *(
                    measured(step(SEQUENTIAL, 1024 * KIB, 0, 1, 32), 14_400_000, 32, slowest, 4 * 3600)
                    for slowest in (1234, 99)
                ),
                most=3,
            ),
            ended(Outcome(None, 0)),
        ],
    ),
    "a round of demand": (
        standard("cbw", workload=WRITES, tcs=(32, 1), qds=(32, 1)),
        [
            *phase(Phase.ROUND_PREWRITE, 2, measured(step(tc=32, qd=32), 244_141, 1, 1, 300), most=25),
            *phase(
                Phase.ROUND,
                2,
                measured(step(tc=32, qd=32), 41_000, 25, 80),
                measured(step(tc=1, qd=1), 900, 1, 2),
                most=25,
            ),
        ],
    ),
    "no I/O": (
        saturation(),
        [
            event
            for name in (Phase.HISTOGRAM, Phase.WAIT_STATE, Phase.WDPC)
            for event in phase(name, 1, NO_IO)
        ],
    ),
    # 60,000 x 128 KiB in 60 s
    "a load in pieces": (
        SUSTAINED,
        [*phase(Phase.LOAD, 3, BUSY, idle(120)), *phase(Phase.LOAD, 3, BUSY, idle(120))],
    ),
    "a rest in pieces": (saturation(), [*phase(Phase.REST, 1, idle(60)), *phase(Phase.REST, 1, idle(60))]),
    "a drive cycle": (saturation(), phase(Phase.DRIVE_CYCLE, 7, WRITTEN, READ)),
    "a row of run #2": (
        SUSTAINED,
        phase(Phase.PROFILE, 9, *[measured(IN_A_STATE, 50_000, 1, 2)] * 3, most=10),
    ),
    # a pause, a warm-up that counts for nothing, three passes: 1,000 x 1 MiB a second is the best
    "a row of a benchmark": (
        profile.standard_conditions(DriveClass.CLIENT, 1),
        phase(
            Phase.PROFILE,
            1,
            idle(5),
            *(measured(step(SEQUENTIAL, 1024 * KIB, 100, 1, 8), ios, 1, 2) for ios in (9000, 1000, 500, 700)),
            most=20,
        ),
    ),
    "a row in a state": (
        PRECON,
        phase(Phase.PROFILE, 21, *[measured(IN_A_STATE, 50_000, 1, 2)] * 3, most=21),
    ),
    "a row without I/O": (PRECON, phase(Phase.PROFILE, 7, *[measured(IN_A_STATE, 0, 0, 0)] * 3, most=21)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_told_of_a_phase(case, snapshot) -> None:
    conditions, events = CASES[case]
    assert "\n".join(lines_of(conditions, *events)) == snapshot


def test_every_phase_has_a_line() -> None:
    conditions = msgspec.structs.replace(ENTERPRISE, max_rounds=7)
    for name in Phase:
        told = lines_of(conditions, *phase(name, 1, complete(step())))[-1]
        assert (" at 1.00 s: " if name in {Phase.LOAD, Phase.REST} else " done") in told

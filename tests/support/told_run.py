"""A run as its viewers hear of it: events at their places, and time as a test says it is."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from openpts.analysis.steady_state import judge
from openpts.cli.run_settings import PlainLog
from openpts.engine.contract import EngineProgress
from openpts.planning.dry_run import PlannedApply
from openpts.planning.plan import Extent
from openpts.runner import progress as progress_module
from openpts.runner.event_lines import SteadyStateJudged
from openpts.runner.events import Event, RunStarted, StepFinished, StepsStarted, Ticked
from openpts.units import GB, KIB, NS_PER_S
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import SimulationFacts, TargetFacts, TargetKind
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Duration, Step, Stimulus
from openpts_pts.iops.script import standard_conditions
from tests.support.record_parts import manifest
from tests.support.scripted_engine import complete

CONDITIONS = msgspec.structs.replace(
    standard_conditions(DriveClass.ENTERPRISE, 1), minute_ns=NS_PER_S, max_rounds=7
)
WIPC = Step.of(Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 4, 32, ActiveRange()), ByteAmount(10**9))


def point(block_size_bytes: int) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, block_size_bytes, 0, 4, 32, ActiveRange())
    return Step.of(stimulus, Duration.seconds(1))


POINT = point(4 * KIB)
STEADY = judge(range(1, 6), [100.0, 101, 99, 100, 100])
RESTLESS = judge(range(1, 6), [100.0, 150, 99, 100, 100])


def wipc(*steps: Step) -> Apply:
    return Apply(Phase.WIPC, 1, steps)


def round_of(number: int, *steps: Step) -> Apply:
    return Apply(Phase.ROUND, number, steps, 7)


def planned(apply: Apply, step_s: float = 1.0, cycle: int = 1) -> PlannedApply:
    durations_ns = tuple(round(step_s * NS_PER_S) for _ in apply.steps)
    return PlannedApply(cycle, apply, durations_ns, tuple(0 for _ in apply.steps))


PLAN = (planned(wipc(WIPC), 4.0), *(planned(round_of(number, *(POINT,) * 56)) for number in range(1, 8)))
EXTENTS = (Extent(278 * NS_PER_S, 20 * GB), Extent(396 * NS_PER_S, 90 * GB))
STARTED = RunStarted(Path("r1"), replace(manifest(), conditions=CONDITIONS), PLAN, EXTENTS)


class Clock:
    """Time as the test says it is."""

    now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_module, "time", clock)
    return clock


def place(round_number: int | None, position: int) -> StepPlace:
    """Of a round, or of preconditioning."""
    if round_number is None:
        return StepPlace(1, Phase.WIPC, 1, position)
    return StepPlace(1, Phase.ROUND, round_number, position)


def ticked(round_number: int | None, position: int, step: Step, **progress: Any) -> Ticked:
    now = replace(EngineProgress(steps_begun=1, step_elapsed_ns=0, ios=0, bytes=0), **progress)
    return Ticked(place(round_number, position), step, now)


def begun(round_number: int | None, *steps: Step) -> StepsStarted:
    return StepsStarted(1, wipc(*steps) if round_number is None else round_of(round_number, *steps))


def ended(round_number: int | None, position: int, step: Step) -> StepFinished:
    return StepFinished(place(round_number, position), complete(step))


def judged(number: int) -> SteadyStateJudged:
    names = tuple(str(variable) for variable in CONDITIONS.tracking)
    return SteadyStateJudged.of(Phase.ROUND, number, names, (STEADY, RESTLESS, STEADY))


SIMULATED_TARGET = TargetFacts(
    TargetKind.SIMULATED,
    "sim:enterprise-tlc",
    "sim:enterprise-tlc?capacity=1600000000000&scale=67&seed=1",
    10**9,
    512,
    SimulationFacts("enterprise-tlc", "a drive", "page-mapped", 67, 10**9 // 67, 1, ()),
)
SIMULATED = RunStarted(STARTED.folder, replace(STARTED.manifest, target=SIMULATED_TARGET), PLAN, EXTENTS)


def log_of(*events: Event) -> list[str]:
    lines: list[str] = []
    log = PlainLog(lines.append)
    for event in events:
        log.on_event(event)
    return [line.partition("] ")[2] for line in lines]

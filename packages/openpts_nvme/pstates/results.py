"""The staircase of first reads: its steps, with confidence, and the states that they are."""

import math
import random
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.change_points import segments_of
from openpts.procedures.kit.drive_work.work import DriveWork
from openpts.record.reader import Run, StepRecord
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.power_states import PowerMode, PowerState, PowerStatesSet, entries
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stop import planned_length_ns
from openpts_nvme.pstates import ALWAYS_ON, AUTONOMOUS, COMMANDED, PowerStateConditions

_RESAMPLES: Final = 100
LEAST_CHANGE: Final = 0.1
"""Steps of less than this share of the latency before are not distinguished from noise."""
_TOLERANCE: Final = 1.05
"""A declared latency counts as kept up to this, as the host's own part of a latency varies."""


class IdlePoint(Struct, frozen=True):
    """The first reads after an idle time: ``idle_ns`` is the median of what it was in fact."""

    planned_ns: int
    idle_ns: float
    latencies_ns: tuple[int, ...]

    @property
    def median_ns(self) -> float:
        """Median of the latencies."""
        return median(self.latencies_ns)


class LatencyLevel(Struct, frozen=True):
    """Neighboring idle times with one latency, from point ``start`` to before ``end``.

    The drive was in it after ``after_ns`` without I/O at the latest, and not yet after ``not_after_ns``, None
    of the first level. ``exit_ns`` is how much longer a read takes than of a drive that is awake, and lies
    within ``exit_from_ns`` and ``exit_to_ns`` with 95 % confidence. ``confidence`` is the share of
    resamples with this step, to a point of the grid.
    """

    start: int
    end: int
    latency_ns: float
    exit_ns: float
    exit_from_ns: float
    exit_to_ns: float
    after_ns: float
    not_after_ns: float | None
    confidence: float


class FoundState(Struct, frozen=True):
    """A state of the drive, or a level that it declares no state for: ``declared`` is None then.

    ``entered_ns`` is the idle time after which it is entered by what is declared, None where it is entered on
    command only. ``commanded_ns`` is the exit latency of the commanded state, ``power_w`` its power.
    """

    declared: PowerState | None
    entered_ns: int | None
    level: LatencyLevel | None
    commanded_ns: float | None
    power_w: float | None

    @property
    def exit_ns(self) -> float | None:
        """The exit latency as the staircase has it, or else as the commanded state has."""
        return self.commanded_ns if self.level is None else self.level.exit_ns

    @property
    def keeps_exit(self) -> bool | None:
        """Whether leaving takes no longer than is declared; None where either is not known."""
        declared = None if self.declared is None else self.declared.exit_ns
        if declared is None or self.exit_ns is None:
            return None
        return self.exit_ns <= _TOLERANCE * declared


class StatesRun(Struct, frozen=True):
    """What was measured: the staircase with transitions and without, and the states."""

    run: Run
    asked: PowerStateConditions
    autonomous: tuple[IdlePoint, ...]
    always_on: tuple[IdlePoint, ...]
    levels: tuple[LatencyLevel, ...]
    awake_ns: float | None
    states: tuple[FoundState, ...]

    def set(self, mode: PowerMode) -> PowerStatesSet | None:
        """What became of a setting, None where it was not asked for."""
        return next((one for one in self.run.manifest.power_states if one.mode is mode), None)


def points_of(steps: Sequence[StepRecord], per_decade: int) -> tuple[IdlePoint, ...]:
    """The reads by the idle times before them; one that came far later than planned is left out."""
    off_by = 10 ** (0.5 / per_decade)
    found: dict[int, list[tuple[int, int]]] = {}
    last_end_ns = planned_ns = None
    for sample in (step.sample for step in steps):
        if sample.step.is_idle:
            planned_ns = planned_length_ns(sample.step.stop)
            continue
        if planned_ns is not None and last_end_ns is not None and sample.read.ios == 1:
            idle_ns = sample.started_ns - last_end_ns
            if idle_ns < off_by * planned_ns:
                found.setdefault(planned_ns, []).append((idle_ns, sample.read.latency_sum_ns))
        is_whole = sample.state is StepState.COMPLETE
        last_end_ns = sample.started_ns + sample.elapsed_ns if is_whole else None
        planned_ns = None
    return tuple(
        IdlePoint(planned, median(idle for idle, _ in reads), tuple(latency for _, latency in reads))
        for planned, reads in sorted(found.items())
    )


def levels_of(points: Sequence[IdlePoint], awake_ns: float | None, seed: int) -> tuple[LatencyLevel, ...]:
    """The levels of a staircase; without ``awake_ns``, the drive is awake in the first."""
    medians_ns = [point.median_ns for point in points]
    spans = _spans(medians_ns) if all(medians_ns) else []
    if not spans:
        return ()
    latencies_ns = [_pooled(points, *span) for span in spans]
    awake_ns = latencies_ns[0] if awake_ns is None else awake_ns
    starts, resampled = _resampled(points, spans, seed)
    found = []
    for number, (start, end) in enumerate(spans):
        tail = max(1, round(0.025 * len(resampled)))
        ordered = sorted(latencies[number] for latencies in resampled)
        found.append(
            LatencyLevel(
                start,
                end,
                latencies_ns[number],
                latencies_ns[number] - awake_ns,
                ordered[tail - 1] - awake_ns,
                ordered[-tail] - awake_ns,
                points[start].idle_ns,
                points[start - 1].idle_ns if start else None,
                sum(any(abs(start - other) <= 1 for other in one) for one in starts) / len(starts),
            )
        )
    return tuple(found)


def _spans(latencies_ns: Sequence[float]) -> list[tuple[int, int]]:
    """Neighboring points of one level; a point that belongs to none is of the level after it."""
    ends = [segment.end for segment in segments_of(latencies_ns)]
    return list(zip([0, *ends[:-1]], ends, strict=True)) if ends else []


def _pooled(points: Sequence[IdlePoint], start: int, end: int) -> float:
    return median(latency for point in points[start:end] for latency in point.latencies_ns)


def _resampled(
    points: Sequence[IdlePoint], spans: Sequence[tuple[int, int]], seed: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Where levels start, and the latencies of these levels, if the reads of each point are drawn again."""
    chosen = random.Random(seed)  # noqa: S311 a resample, no secret
    starts, latencies = [], []
    for _ in range(_RESAMPLES):
        drawn = [
            IdlePoint(
                one.planned_ns, one.idle_ns, tuple(chosen.choices(one.latencies_ns, k=len(one.latencies_ns)))
            )
            for one in points
        ]
        starts.append([start for start, _ in _spans([one.median_ns for one in drawn])])
        latencies.append([_pooled(drawn, *span) for span in spans])
    return starts, latencies


def states_run(run: Run) -> StatesRun:
    """The results, from the samples in the record."""
    asked = run.conditions(PowerStateConditions)
    autonomous, always_on = (
        points_of(run.phase(Phase.WAIT_STATE, number=number), asked.per_decade)
        for number in (AUTONOMOUS, ALWAYS_ON)
    )
    awake_ns = _pooled(always_on, 0, len(always_on)) if always_on else None
    levels = levels_of(autonomous, awake_ns, asked.seed)
    if awake_ns is None and levels:
        awake_ns = levels[0].latency_ns
    found = StatesRun(run, asked, autonomous, always_on, levels, awake_ns, ())
    return replace(found, states=tuple(_states(found)))


def _states(found: StatesRun) -> Iterator[FoundState]:
    """Each declared state, then each level that no declared state explains."""
    autonomous = found.set(PowerMode.AUTONOMOUS)
    states = () if autonomous is None else autonomous.states
    setting = None if autonomous is None else autonomous.setting
    expected = entries(states, setting.table, setting.state) if setting and setting.autonomous else []
    entered = {state.number: at_ns for state, at_ns in expected}
    seen: dict[int, LatencyLevel] = {}
    unexplained = []
    for level in found.levels:
        if not found.awake_ns or level.exit_ns <= LEAST_CHANGE * found.awake_ns:
            continue
        number = min(entered, key=lambda one: _decades_apart(level, entered[one]), default=None)
        near = number is not None and _decades_apart(level, entered[number]) <= 1 / found.asked.per_decade
        if number is not None and near and number not in seen:
            seen[number] = level
        else:
            unexplained.append(FoundState(None, None, level, None, None))
    work = DriveWork(found.run)
    for state in states:
        idle, reads = _commanded(found.run, state.number)
        exits_ns = [read.sample.read.latency_sum_ns - (found.awake_ns or 0) for read in reads]
        yield FoundState(
            state,
            entered.get(state.number),
            seen.get(state.number),
            median(exits_ns) if exits_ns and found.awake_ns is not None else None,
            work.part("", idle).mean_w if idle and work.meter else None,
        )
    yield from unexplained


def _commanded(run: Run, number: int) -> tuple[list[StepRecord], list[StepRecord]]:
    """Idle times in a commanded state, and the reads after them."""
    steps = [
        step
        for step in run.phase(Phase.WAIT_STATE, number=COMMANDED + number)
        if step.sample.state is StepState.COMPLETE
    ]
    idle = [step for step in steps if step.sample.step.is_idle]
    return idle, [step for step in steps if not step.sample.step.is_idle]


def _decades_apart(level: LatencyLevel, at_ns: int) -> float:
    """How far a moment lies outside of the two idle times between which a level begins, in decades."""
    low_ns = level.not_after_ns or 0
    if low_ns <= at_ns <= level.after_ns:
        return 0.0
    near_ns = low_ns if at_ns < low_ns else level.after_ns
    return abs(math.log10(at_ns / near_ns))

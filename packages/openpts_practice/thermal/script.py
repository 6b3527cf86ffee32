"""Thermal throttling.

Purpose
    Whether a drive that is written to for long gets so hot that it slows down, after how long, by how much.
Source
    Practice beyond the PTS: the drive maker's guide on duty cycles (SOL-BMK-06), the controller vendor's
    talk on thermal throttling (HYP-TMP-02).
Steps
    Purge; the user capacity written once, so that caches and fresh blocks don't pass for a cool drive; idle
    until the drive is cool; SEQ 128 KiB writes, the cold run; idle for 5 minutes; the same again, the warm
    run; idle for 5 minutes; writes and idle time in turns, the duty cycle. A run ends early when the drive
    throttles and its speed is stable.
Pass rule
    None.
Reported
    MB/s and temperature over time and over each other, time and GB to the first throttle, speed before it,
    after it and after idle time, and the share of time throttled.
"""

from collections.abc import Sequence
from typing import Final

from openpts.procedures.kit.ledger import Standard
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.facts import HealthReading
from openpts.vocabulary.requests import (
    Apply,
    CycleFinished,
    Outcome,
    Purge,
    ReadHealth,
    Script,
    ScriptPart,
    SetWriteCache,
    health_in,
    samples_in,
)
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.stimulus import AccessPattern, Duration, Step, Stimulus
from openpts.vocabulary.workload import simple_workload
from openpts_practice.thermal import COLD, DUTY_CYCLE, WARM, ThermalConditions
from openpts_practice.thermal.results import (
    HeatPoint,
    counters_rose,
    has_cooled,
    is_stable,
    reference_of,
    throttling_of,
)
from openpts_pts.shared.script import written_in_sequence

_MINUTE_NS: Final = 60 * NS_PER_S


# SOL-BMK-06
# Lengths in which drives of any size come to their temperature.
standard_conditions: Final = Standard(
    ThermalConditions,
    block_size_bytes=128 * KIB,
    tc=1,
    qd=32,
    precondition_passes=1,
    longest_cooling_ns=30 * _MINUTE_NS,
    look_ns=_MINUTE_NS,
    load_ns=30 * _MINUTE_NS,
    stable_minutes=5,
    rest_ns=5 * _MINUTE_NS,
    busy_ns=_MINUTE_NS,
    idle_ns=2 * _MINUTE_NS,
    duty_ns=30 * _MINUTE_NS,
)


# SOL-BMK-06, HYP-TMP-02
def script(conditions: ThermalConditions, user_capacity_bytes: int) -> Script:
    """The cold run, the warm run and the duty cycle."""
    yield Purge()
    yield SetWriteCache(conditions.write_cache_enabled)
    stimulus = _writes(conditions)
    passes_bytes = conditions.precondition_passes * user_capacity_bytes
    yield from written_in_sequence(
        conditions, conditions.block_size_bytes, passes_bytes, tc=conditions.tc, qd=conditions.qd
    )
    yield from _cool_down(conditions)
    reference = yield from _load(conditions, COLD, None)
    yield from _rest(conditions, WARM)
    yield from _load(conditions, WARM, reference)
    yield from _rest(conditions, DUTY_CYCLE)
    cycle = (Step.of(stimulus, Duration(conditions.busy_ns)), Step.of(None, Duration(conditions.idle_ns)))
    yield ReadHealth(Phase.LOAD, DUTY_CYCLE)
    for _ in range(max(1, round(conditions.duty_ns / (conditions.busy_ns + conditions.idle_ns)))):
        yield Apply(Phase.LOAD, DUTY_CYCLE, cycle)
        yield ReadHealth(Phase.LOAD, DUTY_CYCLE)
    yield CycleFinished(Outcome(None, 0))


def _writes(conditions: ThermalConditions) -> Stimulus:
    writes = simple_workload("seq", AccessPattern.SEQUENTIAL, conditions.block_size_bytes, 0)
    return writes.stimulus(
        tc=conditions.tc, qd=conditions.qd, active_range=conditions.active_range, data=conditions.data
    )


def _cool_down(conditions: ThermalConditions) -> Script:
    """Idle until the drive is cool, or for as long as that may take."""
    reading = health_in((yield ReadHealth(Phase.REST, COLD)))
    seen_c = _temperatures([reading])
    left_ns = conditions.longest_cooling_ns
    while left_ns > 0 and not has_cooled(seen_c, conditions.cool_c):
        reading = yield from _look(conditions, COLD, left_ns)
        seen_c += _temperatures([reading])
        left_ns -= conditions.look_ns


def _rest(conditions: ThermalConditions, number: int) -> Script:
    """Idle for a fixed time; the log tells how the drive cools."""
    for left_ns in range(conditions.rest_ns, 0, -conditions.look_ns):
        yield from _look(conditions, number, left_ns)


def _look(conditions: ThermalConditions, number: int, left_ns: int) -> ScriptPart[HealthReading]:
    yield Apply(Phase.REST, number, (Step.of(None, Duration(min(left_ns, conditions.look_ns))),))
    return health_in((yield ReadHealth(Phase.REST, number)))


def _load(conditions: ThermalConditions, number: int, reference: float | None) -> ScriptPart[float]:
    """Minutes of writes; gives the speed that they were held against: that of the cold run's first."""
    before = health_in((yield ReadHealth(Phase.LOAD, number)))
    stimulus, minutes, tells = _writes(conditions), list[HeatPoint](), False
    for left_ns in range(conditions.load_ns, 0, -conditions.minute_ns):
        step = Step.of(stimulus, Duration(min(left_ns, conditions.minute_ns)))
        (sample,) = samples_in((yield Apply(Phase.LOAD, number, (step,), with_intervals=True)))
        after = health_in((yield ReadHealth(Phase.LOAD, number)))
        minutes.append(_minute(minutes, sample, before, after))
        before = after
        reference = reference or reference_of(minutes, conditions.minute_ns)
        tells = tells or minutes[-1].temperature_c is not None or minutes[-1].throttled is not None
        if tells and _throttled_and_stable(minutes, reference, conditions):
            break
    return reference or 0.0


def _throttled_and_stable(
    minutes: Sequence[HeatPoint], reference: float, conditions: ThermalConditions
) -> bool:
    throttling = throttling_of(minutes, reference, conditions.minute_ns)
    return throttling.seen and is_stable(_since(minutes, throttling.first_ns), conditions.stable_minutes)


def _minute(
    minutes: Sequence[HeatPoint], sample: Sample, before: HealthReading, after: HealthReading
) -> HeatPoint:
    reports = [interval.throttled for interval in sample.intervals]
    own_word = True if any(reports) else None if None in reports or not reports else False
    return HeatPoint(
        end_ns=(minutes[-1].end_ns if minutes else 0) + sample.elapsed_ns,
        elapsed_ns=sample.elapsed_ns,
        written_bytes=sample.write.bytes,
        temperature_c=next(iter(_temperatures([after])), None),
        throttled=counters_rose(before.values, after.values) or own_word,
    )


def _since(minutes: Sequence[HeatPoint], first_ns: int | None) -> list[HeatPoint]:
    """Minutes after the one in which throttling began."""
    return [minute for minute in minutes if first_ns is not None and minute.begin_ns > first_ns]


def _temperatures(readings: Sequence[HealthReading]) -> list[float]:
    return [reading.values["temperature_c"] for reading in readings if "temperature_c" in reading.values]

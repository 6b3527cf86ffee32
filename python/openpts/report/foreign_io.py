"""Whether anybody else read from or wrote to the device while it was measured."""

from typing import Final

from openpts.pages.model import Verdict
from openpts.record.health import TelemetrySeries
from openpts.record.reader import Run
from openpts.report.telemetry_series import value_at
from openpts.units import NS_PER_S, format_capacity

# What a purge discarded just before may be in the first samples of a cycle.
_SETTLED_NS: Final = 3 * NS_PER_S
_WHAT: Final = "I/O of others on the device under test"


def foreign_io(run: Run, counted: TelemetrySeries | None) -> tuple[Verdict, ...]:
    """By how much the kernel's count of the device's bytes grew more than the engine's own, cycle by cycle.

    The two are looked at one after the other, so they may differ by what was in flight.
    """
    if counted is None or not run.steps:
        return ()
    grown = [
        growth
        for cycle in range(1, run.cycle_count + 1)
        if (growth := _growth(run, counted, cycle)) is not None
    ]
    if not grown:
        return (Verdict(f"{_WHAT}: n/a (the run is shorter than what the samples can tell)."),)
    in_flight = max((_in_flight_bytes(run)), default=0)
    if min(grown) < -in_flight:
        return (Verdict(f"{_WHAT}: n/a (the kernel counts less than the engine has done)."),)
    foreign = sum(growth for growth in grown if growth > in_flight)
    if foreign:
        return (Verdict(f"{_WHAT}: {format_capacity(int(foreign))}, by the kernel's count.", "fail"),)
    return (Verdict(f"{_WHAT}: none, to within {format_capacity(in_flight)} of I/O in flight.", "pass"),)


def _growth(run: Run, counted: TelemetrySeries, cycle: int) -> float | None:
    """Within the steps of a cycle: the purge before them is not the engine's."""
    samples = [step.sample for step in run.steps if step.place.cycle == cycle]
    if not samples:
        return None
    begin_ns = samples[0].started_ns + _SETTLED_NS
    end_ns = samples[-1].started_ns + samples[-1].elapsed_ns
    before, after = value_at(counted, begin_ns), value_at(counted, end_ns)
    return None if begin_ns >= end_ns or before is None or after is None else after - before


def _in_flight_bytes(run: Run) -> list[int]:
    stimuli = [step.sample.step.stimulus for step in run.steps]
    return [s.tc * s.qd * s.block_size_bytes for s in stimuli if s is not None]

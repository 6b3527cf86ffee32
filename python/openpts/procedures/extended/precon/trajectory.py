"""A long random stimulus until its IOPS are steady, whatever state the drive is in when it begins.

The specification's rule judges it (2.1.24 over five single minutes), but the minutes lie no further apart
than a share of the user capacity: what changes in a drive follows what was written, not the clock.
"""

import math
from collections.abc import Generator

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.procedures.extended.precon.conditions import PreconConditions
from openpts.vocabulary.part import Part
from openpts.vocabulary.requests import (
    Answer,
    Apply,
    Outcome,
    Request,
    SteadyStateChecked,
    samples_in,
)
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stop import ByteAmount, Duration, FirstOf


# LSI-PRE-01, 05
def random_course(
    conditions: PreconConditions, number: int, capacity_bytes: int, least_fills: float
) -> Generator[Request, Answer, Outcome]:
    """Tracked minutes, with what lies between them, until five of them are steady.

    Not before ``least_fills`` user capacities are written: the plateau of a fresh drive is steady too.
    """
    history: list[float] = []
    disturbed: set[int] = set()
    written_bytes, elapsed_ns = 0, 0
    while True:
        steps = _round_steps(conditions, capacity_bytes, len(history) + 1)
        samples = samples_in((yield Apply(Part.LOAD, number, steps)))
        history.append(samples[-1].iops)
        if samples[-1].standstills:
            disturbed.add(len(history))
        written_bytes += sum(sample.write.bytes for sample in samples)
        elapsed_ns += sum(sample.elapsed_ns for sample in samples)
        steady = False
        if len(history) >= WINDOW_ROUNDS:
            report = window_ending_at(history, len(history), disturbed)
            yield SteadyStateChecked(Part.LOAD, len(history), (conditions.workload.title,), (report,))
            steady = report.steady and written_bytes >= least_fills * capacity_bytes
        if steady:
            return Outcome(len(history), len(history))
        if written_bytes >= conditions.drive_fills * capacity_bytes:
            return Outcome(None, len(history), f"{conditions.drive_fills:g} x user capacity written")
        if elapsed_ns >= conditions.longest_ns:
            return Outcome(None, len(history), "the longest time elapsed")


def _round_steps(conditions: PreconConditions, capacity_bytes: int, number: int) -> tuple[Step, ...]:
    """The first tracked minute is a round by itself; before each other one lies the rest of its period.

    That ends with its amount, if the amount is written before the time is over.
    """
    stimulus = conditions.stimulus(conditions.workload, tc=conditions.tc, qd=conditions.qd)
    minute = Step(stimulus, Duration(conditions.minute_ns))
    between_ns = conditions.tracking_period_ns - conditions.minute_ns
    if number == 1 or between_ns <= 0:
        return (minute,)
    amount_bytes = max(1, math.ceil(conditions.tracking_fills * capacity_bytes))
    return (Step(stimulus, FirstOf((Duration(between_ns), ByteAmount(amount_bytes)))), minute)

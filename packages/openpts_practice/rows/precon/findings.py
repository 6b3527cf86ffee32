"""Deviations of the preconditioning comparison: random writes that did not reach steady state."""

from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation
from openpts_practice.rows.precon import PreconConditions
from openpts_practice.rows.precon.states import course_of


def findings(run: Run) -> tuple[Deviation, ...]:
    """An entry for each state from which random writes did not come to steady state."""
    conditions = run.conditions(PreconConditions)
    entries = []
    for situation in conditions.situations:
        course = course_of(run, conditions, situation)
        if course.minutes and course.steady_round is None:
            entries.append(
                Deviation(
                    "PTS-GEN-01",
                    "1.1",
                    f"random writes until steady, from {situation}",
                    f"not steady in {len(course.tracked_iops)} tracked minutes",
                    "figures measured after them are of a drive that was not in steady state",
                )
            )
    return tuple(entries)

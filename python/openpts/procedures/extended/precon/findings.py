"""Deviations of the preconditioning comparison: random writes that did not reach steady state."""

from openpts.procedures.extended.precon.conditions import DriveState, PreconConditions
from openpts.procedures.extended.precon.results import analyse_course
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase


def findings(run: Run) -> tuple[Deviation, ...]:
    """An entry for each state from which random writes did not come to steady state."""
    conditions = run.manifest.conditions
    assert isinstance(conditions, PreconConditions)  # noqa: S101 narrows the type: the table is by test
    least_bytes = conditions.steady_after_drive_fills * run.manifest.target.user_capacity_bytes
    entries = []
    for number, state in enumerate(DriveState, start=1):
        course = analyse_course(
            [step.sample for step in run.phase(Phase.LOAD, number=number)],
            conditions.minute_ns,
            0 if state is DriveState.RANDOM else least_bytes,
        )
        if course.minutes and course.steady_round is None:
            entries.append(
                Deviation(
                    "PTS-GEN-01",
                    "1.1",
                    f"random writes until steady, from {state}",
                    f"not steady in {len(course.tracked_iops)} tracked minutes",
                    "figures measured after them are of a drive that was not in steady state",
                )
            )
    return tuple(entries)

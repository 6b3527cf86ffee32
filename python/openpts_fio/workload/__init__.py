"""Workload of a Job File: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_fio.workload.conditions import WorkloadConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=WorkloadConditions,
    title="Workload of a Job File",
    short_title="Workload",
    purpose="""A load of your own on a drive in steady state: all the streams of a job file of fio, in rounds.

    JOB is a job file of fio. At full length: a purge, the user capacity written twice in sequence, and the
    job again and again until the figure that is tracked is steady, at most 25 times.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 1, "longest_step_seconds": 2, "max_rounds": 7},
)

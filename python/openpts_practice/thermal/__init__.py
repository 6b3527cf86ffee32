"""Thermal Throttling: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_practice.thermal.conditions import ThermalConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=ThermalConditions,
    title="Thermal Throttling",
    short_title="Thermal",
    purpose="""Whether a drive gets so hot under long writes that it slows down, when and by how much.

    At full length: the user capacity written once, up to 30 minutes of idle time until the drive is cool,
    30 minutes of sequential writes, 5 minutes idle, 30 minutes of writes on the warm drive, 5 minutes idle,
    and 30 minutes of 1 minute of writes and 2 minutes idle in turns. State air and cooling with --ambient-c
    and --airflow: without them results can't be compared.
    """,
    quick={"time_scale": "1/60", "precondition_passes": 0, "look_seconds": 5},
)

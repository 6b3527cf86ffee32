"""The workload of a real system, from a capture of it: practice beyond the PTS."""

from typing import Final

from openpts.procedures.kit.procedure import Procedure
from openpts_traces.rws.conditions import RwsConditions

PROCEDURE: Final = Procedure(
    package=__name__,
    conditions=RwsConditions,
    title="Real-World Workload of a Capture",
    short_title="RWS",
    purpose="""The workload of a captured system: its streams alone, all at once, and its steps in order.

    CAPTURE is a step table, or a trace of which steps are made. After the RWSW PTS, reading of openpts. At
    full length each part begins with a purge and the user capacity written twice, and goes on until it is
    steady.
    """,
    quick={
        "time_scale": "1/60",
        "precondition_passes": 1,
        "step_seconds": 1,
        "tracking_seconds": 2,
        "max_rounds": 7,
    },
)

"""Demand intensity and response time histograms of a captured workload (rwsdirth).

Purpose
    How IOPS and response times of a real workload change from super-saturating demand down to a single I/O,
    and where in between the captured system worked.
Clause
    None of the PTS. After the RWSW PTS of SNIA, reading of openpts, which has the steps of PTS section 14.
Steps
    Those of DIRTH (shared/demand/script.py). Each I/O is of one of the streams, dealt in exact shares from
    all of them, so that any demand has the whole mix. Preconditioning and pre-writes are its writes in their
    shares; of a workload without writes, RND 4 KiB.
Pass rule
    That of DIRTH.
Reported
    The plots of DIRTH; the applied workload; the capture's steps among the operating points of the drive.
"""

from typing import Final

from msgspec.structs import replace

from openpts.procedures.shared.demand.script import demand_test, standard_demand
from openpts.vocabulary.workload import DEFAULT
from openpts_traces.captured.streams import composite_workload
from openpts_traces.rwsdirth import RwsDemandConditions

# Those of DIRTH; the capture is the operator's, and the workload is made of it for a device.
standard_conditions: Final = standard_demand(RwsDemandConditions, DEFAULT)


def supported_on(conditions: RwsDemandConditions, sector_bytes: int) -> RwsDemandConditions:
    """Transfers are whole sectors."""
    if conditions.captured is None:
        return conditions
    return replace(conditions, workload=composite_workload(conditions.captured.streams, sector_bytes))


script = demand_test

"""All checks by the requirement's ID. A requirement without one holds by the way the record was made."""

from collections.abc import Mapping
from typing import Final

from openpts.conformance.checks import (
    composite,
    cross_stimulus,
    demand_intensity,
    facts,
    idle_recovery,
    iops,
    latency,
    saturation,
    sequence,
    settings,
    steady,
    throughput,
)
from openpts.conformance.checks.check import Check, Checks
from openpts.conformance.evidence import Evidence
from openpts.conformance.finding import Finding

# The loops of each test, by what shows best that they ran in order (PTS 2.4.2).
_ORDERS: Final[Mapping[str, Check]] = {
    "iops": iops.ORDER,
    "tp": throughput.ORDER,
    "lat": latency.ORDER,
    "wsat": saturation.ORDER,
    "hir": idle_recovery.ORDER,
    "xsr": cross_stimulus.ORDER,
    "cbw": composite.ORDER,
    "dirth": demand_intensity.ORDER,
}


def _loops_in_order(evidence: Evidence) -> Finding:
    return _ORDERS[evidence.test](evidence)


CHECKS: Final[Checks] = {
    "PTS-GEN-09": _loops_in_order,
    **settings.CHECKS,
    **sequence.CHECKS,
    **steady.CHECKS,
    **facts.CHECKS,
    **iops.CHECKS,
    **throughput.CHECKS,
    **latency.CHECKS,
    **saturation.CHECKS,
    **idle_recovery.CHECKS,
    **cross_stimulus.CHECKS,
    **composite.CHECKS,
    **demand_intensity.CHECKS,
}

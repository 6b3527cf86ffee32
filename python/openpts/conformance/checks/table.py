"""All checks and cases by the requirement's ID. What has no check is proven by tests, or not verifiable."""

from collections.abc import Mapping
from typing import Final

from openpts.conformance.checks import (
    composite,
    cross_stimulus,
    demand,
    demand_intensity,
    facts,
    idle_recovery,
    iops,
    kept,
    latency,
    measured,
    saturation,
    sequence,
    settings,
    steady,
    throughput,
)
from openpts.conformance.checks.check import Cases, Check, Checks
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
    **measured.CHECKS,
    **kept.CHECKS,
    "PTS-DEF-12": demand.has_cpu(),
    **iops.CHECKS,
    **throughput.CHECKS,
    **latency.CHECKS,
    **saturation.CHECKS,
    **idle_recovery.CHECKS,
    **cross_stimulus.CHECKS,
    **composite.CHECKS,
    **demand_intensity.CHECKS,
}

CASES: Final[Cases] = {
    **settings.CASES,
    **sequence.CASES,
    **steady.CASES,
    **iops.CASES,
    **throughput.CASES,
    **latency.CASES,
    **cross_stimulus.CASES,
    **composite.CASES,
    **demand_intensity.CASES,
}

"""All checks and cases by the requirement's ID. What has no check is proven by tests, or not verifiable."""

from collections.abc import Mapping
from typing import Final

from openpts.conformance import steady
from openpts.evidence import facts, kept, measured, sequence, settings
from openpts.evidence.check import Cases, Check, Checks
from openpts.evidence.evidence import Evidence
from openpts.evidence.finding import Finding
from openpts.procedures.pts.cbw import checks as composite
from openpts.procedures.pts.dirth import checks as demand_intensity
from openpts.procedures.pts.hir import checks as idle_recovery
from openpts.procedures.pts.iops import checks as iops
from openpts.procedures.pts.lat import checks as latency
from openpts.procedures.pts.tp import checks as throughput
from openpts.procedures.pts.wsat import checks as saturation
from openpts.procedures.pts.xsr import checks as cross_stimulus
from openpts.procedures.shared.demand import checks as demand

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

"""All checks and cases by the requirement's ID. What has no check is proven by tests, or not verifiable."""

from typing import Any, Final

from openpts_pts.conformance import steady
from openpts_pts.evidence import facts, kept, measured, sequence, settings
from openpts_pts.evidence.check import Cases, Checks
from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding
from openpts_pts.shared.demand import checks as demand
from openpts_pts.suite import PTS

_OF_EACH: Final[dict[str, Any]] = {name: procedure.part("checks") for name, procedure in PTS.items()}


def _loops_in_order(evidence: Evidence) -> Finding:
    """The loops of each test, by what shows best that they ran in order (PTS 2.4.2)."""
    found: Finding = _OF_EACH[evidence.test].ORDER(evidence)
    return found


CHECKS: Final[Checks] = {
    "PTS-GEN-09": _loops_in_order,
    "PTS-DEF-12": demand.has_cpu(),
    **{
        id_: check
        for module in (settings, sequence, steady, facts, measured, kept, *_OF_EACH.values())
        for id_, check in module.CHECKS.items()
    },
}

CASES: Final[Cases] = {
    id_: case
    for module in (settings, sequence, steady, *_OF_EACH.values())
    for id_, case in getattr(module, "CASES", {}).items()
}

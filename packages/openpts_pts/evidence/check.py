"""The forms of a check, and of the case in which a requirement binds."""

from collections.abc import Callable, Mapping

from openpts_pts.evidence.evidence import Evidence
from openpts_pts.evidence.finding import Finding, Status

Check = Callable[[Evidence], Finding]
Checks = Mapping[str, Check]
"""By the requirement's ID."""

Case = Callable[[Evidence], Finding | None]
"""For a requirement that tests prove: why it does not apply to a run, or was not reached; None if it "
  "applies."""
Cases = Mapping[str, Case]
"""By the requirement's ID."""


def binds_where(check: Check) -> Case:
    """A case that applies to a run if a check is met; otherwise the requirement has the check's state."""

    def case(evidence: Evidence) -> Finding | None:
        finding = check(evidence)
        return None if finding.status is Status.MET else finding

    return case

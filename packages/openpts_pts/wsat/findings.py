"""What the figures of WSAT show to deviate: too few I/Os for the nines."""

from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation
from openpts_pts.shared.nines_findings import nines_findings


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger of a WSAT that came to its end."""
    return nines_findings(run, "PTS-WSAT-22", "10.2 (2.4.3)")

"""What the figures of DIRTH show to deviate."""

from typing import Final

from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation
from openpts_pts.shared.demand.findings import Requirements, demand_findings

_REQUIREMENTS: Final = Requirements(
    preconditioning=("PTS-DIRTH-10", "14.2 (2.2.2)"),
    art_limit=("PTS-DIRTH-25", "14.2 (5.1.2)"),
    middle=("PTS-DIRTH-27", "14.2 (5.3)"),
    capture=("PTS-DIRTH-30", "14.2 (6.3)"),
    shares=("PTS-DIRTH-03", "14.1 (7)"),
)


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger of a DIRTH that came to its end."""
    return demand_findings(run, _REQUIREMENTS)

"""What the figures of CBW show to deviate."""

from typing import Final

from openpts.record.reader import Run
from openpts.vocabulary.verdict import Deviation
from openpts_pts.shared.demand.findings import Requirements, demand_findings

_REQUIREMENTS: Final = Requirements(
    preconditioning=("PTS-CBW-17", "13.2 (3.2.2)"),
    art_limit=("PTS-CBW-33", "13.2 (6.1.2)"),
    middle=("PTS-CBW-35", "13.2 (6.3)"),
    capture=("PTS-CBW-38", "13.2 (7.3)"),
    shares=("PTS-CBW-11", "13.2 (2.1), Tables 13-1, 13-2"),
)


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger of a CBW that came to its end."""
    return demand_findings(run, _REQUIREMENTS)

"""What only the measured figures show to deviate: entries of the ledger that are made at the end of a run.

One function per test that has any; it reads the record as a report would.
"""

from collections.abc import Callable, Mapping
from typing import Final

from openpts.procedures.extended.precon.findings import precon_findings
from openpts.procedures.pts.hir.findings import idle_edge_findings
from openpts.procedures.pts.lat.findings import own_share_findings
from openpts.procedures.shared.demand.findings import composite_findings, demand_intensity_findings
from openpts.procedures.shared.nines_findings import nines_findings
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation

_lat_nines_findings: Final = nines_findings("PTS-LAT-19", "9.2 (3.3.3)")


def _latency_findings(run: Run) -> tuple[Deviation, ...]:
    return _lat_nines_findings(run) + own_share_findings(run)


FINDINGS: Final[Mapping[str, Callable[[Run], tuple[Deviation, ...]]]] = {
    "lat": _latency_findings,
    "wsat": nines_findings("PTS-WSAT-22", "10.2 (2.4.3)"),
    "hir": idle_edge_findings,
    "cbw": composite_findings,
    "dirth": demand_intensity_findings,
    "precon": precon_findings,
}


def findings(run: Run) -> tuple[Deviation, ...]:
    """The entries of a run that came to its end."""
    find = FINDINGS.get(run.manifest.conditions.test)
    return find(run) if find else ()

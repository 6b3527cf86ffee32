"""What was not checked of SNIA's text, and what the figures show to deviate."""

from collections.abc import Iterator
from typing import Final

from openpts.procedures.shared.demand.findings import Requirement, Requirements, demand_findings
from openpts.record.reader import Run
from openpts.vocabulary.deviation import Deviation
from openpts_traces.captured.ledger import CLAUSE, unchecked
from openpts_traces.rwsdirth import RwsDemandConditions

_USED: Final = (("RWS-DI-01", "demand variation of the composite, then histograms at operating points"),)
_STEPS: Final = Requirement("RWS-DI-02", CLAUSE)
_REQUIREMENTS: Final = Requirements(
    preconditioning=_STEPS,
    art_limit=_STEPS,
    middle=_STEPS,
    capture=_STEPS,
    shares=Requirement("RWS-DI-01", CLAUSE),
)


def findings(run: Run) -> tuple[Deviation, ...]:
    """Entries for the ledger of a run that came to its end."""
    return (*unchecked(_USED), *_without_writes(run), *demand_findings(run, _REQUIREMENTS))


def _without_writes(run: Run) -> Iterator[Deviation]:
    conditions = run.conditions(RwsDemandConditions)
    if conditions.captured and all(stream.kind != "write" for stream in conditions.captured.streams):
        yield Deviation(
            "RWS-DI-03",
            CLAUSE,
            "the workload's own writes",
            "pre-conditioning and pre-writes with RND 4 KiB: the workload has no writes",
            "the state of the drive is not that of the workload",
        )

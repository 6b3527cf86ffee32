"""Whether the I/Os of a histogram suffice for its nines (PTS 9.2 step 3.3.3, 10.2 step 2.4.3)."""

from typing import Final

from openpts.analysis.latency import enough_for, recorded_ios
from openpts.record.reader import Run
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation

_REQUIRED_NINES: Final = 5


def nines_findings(run: Run, rule_id: str, clause: str) -> tuple[Deviation, ...]:
    """An entry for each cycle whose histogram holds fewer than 10^N I/Os.

    N are the nines that the operator asked for, or the five that both tests must record.
    """
    nines = getattr(run.manifest.conditions, "nines", None) or _REQUIRED_NINES
    counts = [
        sum(recorded_ios(step.sample) for step in run.phase(Phase.HISTOGRAM, cycle=cycle))
        for cycle in range(1, run.cycle_count + 1)
    ]
    return tuple(
        Deviation(
            rule_id=rule_id,
            clause=clause,
            required=f"{10**nines:,} I/Os or more for {nines} nines",
            used=f"{ios:,} I/Os" + (f" in the histogram of {_title(run, cycle)}" if len(counts) > 1 else ""),
            effect=f"the response time of {nines} nines can't be stated",
        )
        for cycle, ios in enumerate(counts, start=1)
        if not enough_for(ios, nines)
    )


def _title(run: Run, cycle: int) -> str:
    finished = run.manifest.cycles[cycle - 1 : cycle]
    return finished[0].title if finished else f"cycle {cycle}"

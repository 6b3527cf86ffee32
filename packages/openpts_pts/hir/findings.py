"""Whether the pauses of HIR began and ended when they should (PTS 11.2)."""

from typing import Final

from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_duration
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Deviation
from openpts_pts.hir import IdleRecoveryConditions
from openpts_pts.hir.results import late_edges

EDGE_LIMIT_NS: Final = 10 * NS_PER_MS

_REQUIREMENTS: Final = {
    1: ("PTS-HIR-12", "11.2 (4.1)"),
    2: ("PTS-HIR-13", "11.2 (5.1)"),
    3: ("PTS-HIR-14", "11.2 (6.1)"),
    5: ("PTS-HIR-15", "11.2 (7.1)"),
    10: ("PTS-HIR-16", "11.2 (8.1)"),
}
_OF_OTHERS: Final = ("PTS-HIR-11", "11.2 (4 to 8)")


def findings(run: Run) -> tuple[Deviation, ...]:
    """One entry for each wait state with edges that are off by more than the limit."""
    conditions = run.conditions(IdleRecoveryConditions)
    entries = []
    for state in conditions.wait_states:
        samples = [step.sample for step in run.phase(Phase.WAIT_STATE, number=state.number)]
        late = late_edges(samples, conditions.access_ns, EDGE_LIMIT_NS, run.manifest.target.scale)
        if late:
            rule_id, clause = _REQUIREMENTS.get(state.number, _OF_OTHERS)
            entries.append(
                Deviation(
                    rule_id=rule_id,
                    clause=clause,
                    required=f"bursts and pauses of their length, within {format_duration(EDGE_LIMIT_NS)}",
                    used=f"wait state {state.number}: {late} of {len(samples)} edges off by more",
                    effect="the drive had other pauses than the wait state prescribes",
                )
            )
    return tuple(entries)

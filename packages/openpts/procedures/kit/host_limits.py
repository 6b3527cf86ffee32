"""What the host took part in of a run's figures: how long it was the limit, and the ledger's entries."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from openpts.analysis.host_limits import MOST_LATE_SHARE
from openpts.analysis.limited_seconds import HostLimit, evidence_words
from openpts.record.host_marks import StepMarks
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.phase import Phase

# Their steps bring the drive into a state: no figure of theirs is a result.
_NO_RESULTS: Final = frozenset({Phase.WIPC, Phase.ROUND_PREWRITE, Phase.HISTOGRAM_PREWRITE})


class LimitedTime(Struct, frozen=True):
    """How long a part of the host was the limit in steps, of how much that was judged.

    ``names`` are the sampled values that show it, ``steps`` those with more marked time than counts as an
    accident: then the 99th percentile of a latency may be the host's.
    """

    limit: HostLimit
    marked_ns: int
    judged_ns: int
    names: tuple[str, ...]
    steps: tuple[StepRecord, ...]

    @property
    def share_pct(self) -> float:
        """Of the time that was judged."""
        return 100 * self.marked_ns / self.judged_ns


def limited_times(pairs: Sequence[tuple[StepRecord, StepMarks]]) -> tuple[LimitedTime, ...]:
    """Of these steps, for each part of the host that was the limit in at least one second."""
    judged_ns = sum(marks.judged_ns for _, marks in pairs)
    found = []
    for limit in HostLimit:
        marked_ns = sum(marks.marked_ns(limit) for _, marks in pairs)
        if marked_ns:
            names = {name for _, marks in pairs for name in marks.evidence(limit)}
            limited = tuple(
                step for step, marks in pairs if marks.marked_ns(limit) > MOST_LATE_SHARE * marks.judged_ns
            )
            found.append(LimitedTime(limit, marked_ns, judged_ns, tuple(sorted(names)), limited))
    return tuple(found)


def host_limit_deviations(run: Run) -> tuple[Deviation, ...]:
    """An entry for each part of the host that limited steps whose figures are results."""
    if run.host_marks is None:
        return ()
    pairs = zip(run.steps, run.host_marks, strict=True)
    results = [(step, marks) for step, marks in pairs if step.place.phase not in _NO_RESULTS]
    return tuple(_entry(limited, len(results)) for limited in limited_times(results) if limited.steps)


def _entry(limited: LimitedTime, steps: int) -> Deviation:
    return Deviation(
        rule_id="PTS-GEN-01",
        clause="1.1",
        required="the drive, and not the host, as what limits each second",
        used=f"{limited.limit}: the host was the limit in {limited.marked_ns / NS_PER_S:,.0f} of "
        f"{limited.judged_ns / NS_PER_S:,.0f} s ({limited.share_pct:.1f} %), in {len(limited.steps):,} of "
        f"{steps:,} steps: {'; '.join(evidence_words(limited.names))}",
        effect="the figures of these seconds are the host's as well: the drive may do better",
    )

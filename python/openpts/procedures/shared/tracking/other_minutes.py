"""Checks the minutes between the tracked ones.

Steady state of a continuous stimulus is judged on single minutes 30 minutes apart. What repeats in that time,
or comes and goes within it, they can't show; the minutes between them can. Rows of these, as far apart as the
tracked ones, are held against the same rules: like is compared with like.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openpts.analysis.minutes import pieces_between, sum_parts
from openpts.analysis.steady_state import judge
from openpts.procedures.kit.steps import summarize
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.verdict import SteadyStateReport

# A minute of which less was measured is no record of it.
_LEAST: Final = 0.5


@dataclass(frozen=True, slots=True)
class OtherMinutes:
    """Rows of minutes within a window of tracked ones, each of minutes as far apart, begun at another minute.

    ``steady`` of ``rows`` meet the rules of 2.1.24. ``lowest_iops`` and ``highest_iops`` are the averages of
    rows, ``minimum_iops`` and ``maximum_iops`` those of single minutes. ``tracked`` is the window's verdict.
    """

    tracked: SteadyStateReport
    rows: int
    steady: int
    lowest_iops: float
    highest_iops: float
    minimum_iops: float
    maximum_iops: float

    @property
    def elsewhere(self) -> bool:
        """Whether a row's average lies outside the band of 10 % around that of the tracked minutes."""
        low, high = self.tracked.band
        return self.lowest_iops < low or self.highest_iops > high

    @property
    def agree(self) -> bool:
        """Whether it makes no difference which minutes are tracked.

        Averages only count where the tracked minutes are steady: otherwise they do not represent the drive.
        """
        if not self.tracked.steady:
            return self.steady == 0
        return self.steady == self.rows and not self.elsewhere


def other_minutes(
    samples: Sequence[Sample],
    verdict: SteadyStateReport | None,
    starts_ns: Sequence[int],
    *,
    minute_ns: int,
    period_ns: int,
) -> OtherMinutes | None:
    """Judge the minutes between the tracked ones of a window, from all steps of the stimulus in order.

    ``starts_ns`` are those of tracked minutes 1, 2, ... from the start of the stimulus. None without a
    verdict, without minutes between, or if no interval is short enough for them.
    """
    if verdict is None:
        return None
    first_ns, last_ns = starts_ns[verdict.rounds[0] - 1], starts_ns[verdict.rounds[-1] - 1]
    rates = _minutes(samples, first_ns, last_ns, minute_ns)
    per_period = period_ns // minute_ns
    gaps = len(verdict.rounds) - 1
    rows = []
    for offset in range(1, per_period):
        numbers = [offset + gap * per_period for gap in range(gaps)]
        if all(number in rates for number in numbers):
            rows.append([rates[number] for number in numbers])
    if not rows:
        return None
    averages = [sum(row) / gaps for row in rows]
    single = [rate for row in rows for rate in row]
    return OtherMinutes(
        tracked=verdict,
        rows=len(rows),
        steady=sum(judge(range(1, gaps + 1), row).steady for row in rows),
        lowest_iops=min(averages),
        highest_iops=max(averages),
        minimum_iops=min(single),
        maximum_iops=max(single),
    )


def _minutes(samples: Sequence[Sample], first_ns: int, last_ns: int, minute_ns: int) -> dict[int, float]:
    """IOPS of the minutes from one moment to another, by their number from 0."""
    parts = (
        ((piece.middle_ns - first_ns) // minute_ns, piece.measured)
        for piece in pieces_between(samples, first_ns, last_ns)
    )
    by_minute = summarize(parts, int, lambda measured: measured)
    sums = {number: Measured(**sum_parts(found)) for number, found in by_minute.items()}
    return {
        number: one.iops
        for number, one in sums.items()
        if _LEAST * minute_ns <= one.elapsed_ns <= minute_ns / _LEAST
    }

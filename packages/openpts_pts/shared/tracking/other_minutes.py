"""Checks the minutes between the tracked ones.

Steady state of a continuous stimulus is judged on single minutes 30 minutes apart. What repeats in that time,
or comes and goes within it, they can't show; the minutes between them can. Rows of these, as far apart as the
tracked ones, are held against the same rules: like is compared with like.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.minutes import pieces_between, sum_parts
from openpts.analysis.steady_state import judge
from openpts.procedures.kit.steps import summarize
from openpts.units import format_duration
from openpts.vocabulary.sample import Measured, Sample
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells
from openpts_pages.model import Verdict

# A minute of which less was measured is no record of it.
_LEAST: Final = 0.5


class OtherMinutes(Struct, frozen=True):
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
    averages = [fsum(row) / gaps for row in rows]
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


def other_minutes_verdicts(found: OtherMinutes | None, subject: str, period_ns: int) -> tuple[Verdict, ...]:
    """A sentence on what the tracked minutes missed; none if the others agree with them.

    ``subject`` names the stimulus. The verdict by the specification's rule does not change.
    """
    if found is None or found.agree:
        return ()
    period = format_duration(period_ns)
    low, high = cells.fixed(found.lowest_iops, 0), cells.fixed(found.highest_iops, 0)
    least, most = cells.fixed(found.minimum_iops, 0), cells.fixed(found.maximum_iops, 0)
    return (
        Verdict(
            f"{subject}: the minutes between the tracked ones disagree. {found.steady} of {found.rows} other "
            f"rows of minutes {period} apart in the same time meet the rules of 2.1.24; their averages are "
            f"{low} to {high} IOPS, single minutes {least} to {most} IOPS; the tracked minutes average "
            f"{cells.fixed(found.tracked.average, 0)} IOPS. Tracked minutes can't show what repeats every "
            f"{period}, or comes and goes within that time.",
            "fail" if found.elsewhere or 2 * found.steady < found.rows else "info",
        ),
    )


def other_minutes_figures(found: OtherMinutes | None) -> dict[str, Any] | None:
    """The same, JSON-ready; None where there are no minutes between."""
    if found is None:
        return None
    return {
        "agree": found.agree,
        "rows": found.rows,
        "steady_rows": found.steady,
        "lowest_average_iops": found.lowest_iops,
        "highest_average_iops": found.highest_iops,
        "minimum_iops": found.minimum_iops,
        "maximum_iops": found.maximum_iops,
    }

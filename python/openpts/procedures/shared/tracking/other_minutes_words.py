"""The minutes between the tracked ones, if they disagree with these: a sentence, and figures for machines."""

from typing import Any

from openpts.pages import cells
from openpts.pages.model import Verdict
from openpts.procedures.shared.tracking.other_minutes import OtherMinutes
from openpts.units import format_duration


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

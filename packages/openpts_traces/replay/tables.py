"""Tables that tests have of passes of traces: I/Os, lateness, response times, scores."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.units import MB, NS_PER_MS, NS_PER_US
from openpts.vocabulary.replay import TraceScore
from openpts_pages import cells
from openpts_pages.kit import rows_table
from openpts_pages.model import Cell, Column, Table
from openpts_traces.replay.passes import LATE_US, PERCENTILES, Pass, seconds, us

Labeled = Sequence[tuple[str, Pass]]
"""Passes, each with what its rows are called."""

SCORE_NOTE: Final = (
    "Geometric mean of bandwidth over busy time in MB/s and of 1 / mean access time in 1/s, of reads and "
    "writes, from submission; the formula that UL publishes for PCMark 10."
)
SCORE_COLUMNS: Final = ("Score", "Bandwidth (MB/s)", "Mean access time (us)", "Busy time (s)")
_NOT_DUE: Final = "no moment is due"


def labeled_table(
    table_id: str,
    title: str,
    columns: Iterable[str],
    rows: Iterable[tuple[str, list[Cell]]],
    note: str = "",
    *,
    head: str = "Pass",
) -> Table:
    """A row for each label."""
    return rows_table(
        table_id,
        title,
        (
            Column(head, align="left", width=1.2 if head == "Pass" else 2.6),
            *(Column(label) for label in columns),
        ),
        ((head, *values) for head, values in rows),
        note=note,
    )


def passes_table(table_id: str, passes: Labeled, head: str = "Pass") -> Table:
    """What was issued, and what was not."""
    return labeled_table(
        table_id,
        "I/Os",
        (
            "Issued",
            "Not issued",
            "Conflicts",
            "Dropped",
            "Out of order",
            "Early",
            "GB",
            "Failed",
            "Depth-limited (%)",
        ),
        (
            (
                label,
                [
                    cells.count(one.played.issued),
                    cells.count(one.unissued),
                    cells.count(one.played.conflicts),
                    cells.count(one.played.dropped),
                    cells.count(one.played.reordered),
                    cells.count(one.played.early),
                    cells.number(one.trace.bytes / MB / 1000, 3),
                    cells.count(one.failed),
                    cells.percent(100 * one.depth_limited_share, 2),
                ],
            )
            for label, one in passes
        ),
        head=head,
    )


def slips_table(table_id: str, passes: Labeled, head: str = "Pass") -> Table:
    """How late I/Os were, and by how much gaps between them were wrong."""

    def rows() -> Iterator[tuple[str, list[Cell]]]:
        for label, one in passes:
            yield f"{label}, slip", [*_spread(one.slips), *_shares(one), _us(one.drift_ns)]
            yield (
                f"{label}, gaps",
                [*_spread(one.gap_errors), *(cells.none() for _ in LATE_US), cells.none()],
            )

    return labeled_table(
        table_id,
        "Lateness: Submission after the due Moment, and Errors of Gaps (us)",
        (
            *(f"P{percentile:g}" for percentile in PERCENTILES),
            "Max",
            *(f"> {limit} us (%)" for limit in LATE_US),
            "Drift",
        ),
        rows(),
        "Drift: lateness of the last I/O less the median.",
        head=head,
    )


def _us(value_ns: float | None) -> Cell:
    # what is late by seconds needs no tenths, and has no room for them
    return cells.number_or(_NOT_DUE, us(value_ns), 1 if (value_ns or 0) < NS_PER_MS else 0)


def _spread(found: LatencyDistribution) -> list[Cell]:
    most_ns = found.buckets()[-1][1] if found.count else None
    return [_us(found.percentile_ns(percentile)) for percentile in PERCENTILES] + [_us(most_ns)]


def _shares(one: Pass) -> list[Cell]:
    shares = [one.late_share(limit * NS_PER_US) for limit in LATE_US]
    return [cells.missing(_NOT_DUE) if share is None else cells.percent(100 * share, 3) for share in shares]


def mean_cell(times: LatencyDistribution, sum_ns: float | None = None) -> Cell:
    """Mean response time in ms; by its buckets unless the sum is known."""
    total_ns = times.middle_sum_ns if sum_ns is None else sum_ns
    return cells.latency(total_ns / times.count if times.count else None)


def points(times: LatencyDistribution, percentiles: Iterable[float] = PERCENTILES) -> list[Cell]:
    """Percentiles and the maximum in ms; those that the I/Os do not suffice for are missing."""
    most_ns = times.buckets()[-1][1] if times.count else None
    found = [
        cells.latency(times.percentile_ns(percentile))
        if times.supports(percentile)
        else cells.missing(f"N = {times.count:,}")
        for percentile in percentiles
    ]
    return [*found, cells.latency(most_ns)]


def score_cells(score: TraceScore | None) -> list[Cell]:
    """The cells of ``SCORE_COLUMNS``."""
    if score is None:
        return [cells.missing("no reads and writes with times")] * 4
    return [
        cells.count(score.score),
        cells.number(score.bandwidth_mb_per_s, 1),
        cells.number(score.access_us, 1),
        cells.number(seconds(score.busy_ns), 6),
    ]

"""Write saturation in the short report: what readers of TKperf know, out of the pages of the full one."""

import math
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from openpts.units import format_duration
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, columns_of, rows_table
from openpts_pages.model import Block, Cell, Section, Series, Table, Verdict
from openpts_pts.shared.short_report import PLOT_PX, Picked, preparation, seconds
from openpts_pts.wsat import WriteSaturationConditions
from openpts_pts.wsat.pages import HIGH, LOW, MAX_LATENCY, MEAN, MEAN_LATENCY

_MOST_PRINTED: Final = 50
_PAIRS: Final = 2
_COLUMNS: Final = columns_of(
    "Written so far (GB) | IOPS | Lowest interval (IOPS) | Highest interval (IOPS) | Mean latency (ms) | "
    "Max latency (ms)"
)
_WRITTEN, _IOPS, _LOWEST, _HIGHEST, _LATENCY, _ = range(len(_COLUMNS))


# TKP-WSAT-01
def introduction(sections: Sequence[Section], conditions: WriteSaturationConditions) -> str:
    """What was done, as recorded."""
    before = " or ".join(dict.fromkeys(preparation(Picked(section)) for section in sections))
    workloads = ", ".join(workload.title for workload in conditions.workloads)
    ends = "ends it, too" if conditions.stop_when_steady else "does not end it"
    return (
        f"The test: {before or 'not begun'}; then {workloads} in Rounds of {seconds(conditions.minute_ns)} "
        f"without a pause until {conditions.drive_fills:g} x the user capacity is written or "
        f"{format_duration(conditions.longest_ns)} have passed. Steady state {ends}."
    )


# TKP-WSAT-02, 03
def blocks(sections: Sequence[Section], conditions: WriteSaturationConditions) -> list[Block]:
    """In the order of TKperf's report."""
    del conditions
    return [block for section in sections for block in _of_workload(Picked(section))]


def _of_workload(picked: Picked) -> list[Block]:
    sentences = picked.sentences("iops-time")[:1]
    shown = _rounds(picked)
    if shown is None:
        return [*sentences]
    return [
        *sentences,
        _plot(picked, shown, "iops", "IOPS", (_LOWEST, _HIGHEST, _IOPS)),
        Verdict("IOPS of each Round, with its slowest and fastest interval."),
        _plot(picked, shown, "latency", "Mean latency (ms)", (_LATENCY,)),
        Verdict("Mean latency of the same Rounds."),
        *_printed(shown),
    ]


def _rounds(picked: Picked) -> Table | None:
    """A row for each round, which is a minute of the full report; None without any."""
    minutes = picked.any_table(f"{picked.section.test}-time-values")
    written = picked.any_table(f"{picked.section.test}-tgbw-values")
    if minutes is None or not minutes.rows:
        return None
    amounts = [cells.none() for _ in minutes.rows] if written is None else [row.head for row in written.rows]
    return rows_table(
        f"short-{picked.section.test}-rounds",
        "Rounds",
        ("Round:0.4", *_COLUMNS),
        (
            (
                Cell(str(number), float(number)),
                amount,
                *(row.cells[n] for n in (MEAN, LOW, HIGH, MEAN_LATENCY, MAX_LATENCY)),
            )
            for number, (row, amount) in enumerate(zip(minutes.rows, amounts, strict=True), start=1)
        ),
    )


def _plot(picked: Picked, shown: Table, key: str, axis: str, lines: tuple[int, ...]) -> Block:
    """Columns of the rounds over their numbers; the last one is the mean."""
    *spread, mean = lines
    plot = Plot(
        x=ticks.span_axis("Round", 1, len(shown.rows)),
        y=lambda values: ticks.linear_axis(axis, 0, max(values, default=1.0)),
        series=(
            *(Series(_COLUMNS[n].label.partition(" (")[0], "column", (n,), 6, style="line") for n in spread),
            Series("Mean of a Round", "column", (mean,), 2, style="mean", emphasis=True),
        ),
        alt="{rows} Rounds, from {low} to {high}.",
        decimals=None if mean == _LATENCY else 0,
        height_px=PLOT_PX,
        zoom_group=f"short-{picked.section.test}",
    )
    title = picked.section.header.title.rpartition(" - ")[2]
    name = PlotName(
        f"short-{picked.section.test}-{key}",
        f"Plot X-WSAT-{key.upper()}",
        f"Write Saturation, {axis.partition(' (')[0]} v Round - {title}",
    )
    return plot.over(name, shown)


def _printed(shown: Table) -> list[Table]:
    """On paper all rounds, or every so many of them; HTML and data files have all."""
    count = len(shown.rows)
    if count <= _MOST_PRINTED:
        return [shown]
    step = next(
        n
        for n in (_PAIRS, 5, 10, 20, 50, 100, math.ceil(count / _MOST_PRINTED))
        if n * _MOST_PRINTED >= count
    )
    rows = [row for n, row in enumerate(shown.rows, start=1) if n % step == 0 or n in {1, count}]
    some = replace(
        shown,
        id=f"{shown.id}-some",
        title=f"Rounds, every {step}{'nd' if step == _PAIRS else 'th'}",
        rows=tuple(rows),
    )
    return [some, replace(shown, title="Rounds, all of them", printed=False)]

"""The page of idle times: the writes after each, and how much of the cache came back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, column_series, grid, page, table
from openpts.pages.model import Cell, Column, Page, Table, Verdict
from openpts.procedures.kit.steps import THROUGHPUT
from openpts.procedures.shared.methodology import nothing_page
from openpts.units import GB
from openpts.vocabulary.sample import Sample
from openpts_practice.fill.conditions import IdleTime
from openpts_practice.fill.results import LEAST_GAIN, Returned, Trajectory, returned

_NAME: Final = PlotName("fill-idle", "Plot X-FILL-2", "Writes after Idle Time: MB/s v GB Written")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What was written after an idle time."""

    time: IdleTime
    course: Trajectory

    @property
    def name(self) -> str:
        """``5 min 0 s idle``."""
        return f"{self.time} idle"


def idle_page(rewrites: Sequence[Rewrite], without_idle: Trajectory | None) -> Page:
    """The course after each idle time; ``without_idle`` is that of the shortest."""
    if not rewrites or without_idle is None:
        return nothing_page(_NAME.id, _NAME.title, "nothing was written again")
    shown = _values_table(rewrites)
    written = max(rewrite.course.written_bytes for rewrite in rewrites) / GB
    plot = Plot(
        x=ticks.linear_axis("Written since the idle time (GB)", 0, written),
        y=lambda rates: ticks.linear_axis("MB/s", 0, max(rates)),
        series=column_series(shown),
        alt=f"{len(rewrites)} idle times, from {{low}} to {{high}} MB/s.",
        height_px=260,
    )
    rule = Verdict(
        "Cache returned: what was written at the rate of the fastest step, up to the first that is slower "
        "than the geometric mean of the fastest and of the usual rate (median step after the shortest idle "
        "time). A step between the two rates counts in part: as much as must have been written at the faster "
        f"rate. None if the fastest is less than {LEAST_GAIN:g} times the usual rate."
    )
    return page(_NAME, plot.over(_NAME, shown), _returned_table(rewrites, without_idle), rule, shown)


def _values_table(rewrites: Sequence[Rewrite]) -> Table:
    longest = max(rewrites, key=lambda rewrite: len(rewrite.course.points)).course.points
    return grid(
        f"{_NAME.id}-values",
        "Values plotted: MB/s of each step, at its end",
        Col("Written since the idle time (GB)", lambda n: cells.number(longest[n].end_bytes / GB, 2)),
        [(Column(rewrite.name), rewrite.course) for rewrite in rewrites],
        range(len(longest)),
        cell=lambda number, course: THROUGHPUT.cell(_step(course, number)),
    )


def _step(course: Trajectory, number: int) -> Sample | None:
    return course.points[number].step if number < len(course.points) else None


def _returned_table(rewrites: Sequence[Rewrite], without_idle: Trajectory) -> Table:
    columns: list[Col[Rewrite]] = [
        Col("Cache returned (GB)", lambda one: _returned_cell(returned(one.course, without_idle))),
        Col("First segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[0])),
        Col("Last segment (MB/s)", lambda one: THROUGHPUT.cell(one.course.segments[-1])),
        Col("Written (GB)", lambda one: cells.number(one.course.written_bytes / GB, 1)),
    ]
    return table(
        f"{_NAME.id}-returned",
        "What idle time gives back",
        Col("Idle time", lambda one: Cell(str(one.time)), align="left"),
        columns,
        rewrites,
    )


def _returned_cell(found: Returned) -> Cell:
    value = found.bytes / GB
    return cells.number(value, 1, note="at least: the rate never fell" if found.at_least else "")

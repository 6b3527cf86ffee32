"""The page of idle times: what the drive takes after each, and what of its cache that gave back."""

from collections.abc import Sequence
from dataclasses import dataclass

from openpts.analysis.fill import LEAST_GAIN, Course, Returned, returned
from openpts.pages import cells, ticks
from openpts.pages.model import Cell, Column, Figure, Page, Row, Series, Table, Verdict
from openpts.report.practice.methodology import nothing_page
from openpts.units import GB, MB
from openpts.vocabulary.fill_conditions import IdleTime

_PAGE_ID, _TITLE = "fill-idle", "Writes after Idle Time: MB/s v GB Written"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What was written after an idle time."""

    time: IdleTime
    course: Course

    @property
    def name(self) -> str:
        """``5 min 0 s idle``."""
        return f"{self.time} idle"


def idle_page(rewrites: Sequence[Rewrite], without_idle: Course | None) -> Page:
    """The course after each idle time; ``without_idle`` is that of the shortest."""
    if not rewrites or without_idle is None:
        return nothing_page(_PAGE_ID, _TITLE, "nothing was written again")
    table = _values_table(rewrites)
    rates = [point.bytes_per_s / MB for rewrite in rewrites for point in rewrite.course.points]
    figure = Figure(
        id=f"{_PAGE_ID}-plot",
        number="Plot X-FILL-2",
        title=_TITLE,
        kind="lines",
        table_id=table.id,
        x=ticks.linear_axis(
            "Written since the idle time (GB)",
            0,
            max(rewrite.course.written_bytes for rewrite in rewrites) / GB,
        ),
        y=ticks.linear_axis("MB/s", 0, max(rates)),
        alt=f"{_TITLE}: {len(rewrites)} idle times, from {cells.fixed(min(rates), 0)} to "
        f"{cells.fixed(max(rates), 0)} MB/s.",
        series=tuple(
            Series(rewrite.name, "column", (number,), number) for number, rewrite in enumerate(rewrites)
        ),
        height_px=260,
    )
    rule = Verdict(
        "Cache returned: what was written at the rate of the fastest step, up to the first that is slower "
        "than the geometric mean of the fastest and of the usual rate (median step after the shortest idle "
        "time). A step between the two rates counts as far as its time needs the faster one. Nothing if the "
        f"fastest is less than {LEAST_GAIN:g} times the usual rate."
    )
    return Page(
        _PAGE_ID, _TITLE, (figure, _returned_table(rewrites, without_idle), rule, table), mandatory=True
    )


def _values_table(rewrites: Sequence[Rewrite]) -> Table:
    longest = max(rewrites, key=lambda rewrite: len(rewrite.course.points)).course.points
    return Table(
        id=f"{_PAGE_ID}-values",
        title="Values plotted: MB/s of each step, at its end",
        head=Column("Written since the idle time (GB)"),
        columns=tuple(Column(rewrite.name) for rewrite in rewrites),
        rows=tuple(
            Row(
                Cell(cells.fixed(point.end_bytes / GB, 2), point.end_bytes / GB),
                tuple(_rate(rewrite.course, number) for rewrite in rewrites),
            )
            for number, point in enumerate(longest)
        ),
    )


def _rate(course: Course, number: int) -> Cell:
    if number >= len(course.points):
        return cells.missing("not measured")
    return cells.number(course.points[number].bytes_per_s / MB, 1)


def _returned_table(rewrites: Sequence[Rewrite], without_idle: Course) -> Table:
    return Table(
        id=f"{_PAGE_ID}-returned",
        title="What idle time gives back",
        head=Column("Idle time", align="left", width=1),
        columns=(
            Column("Cache returned (GB)"),
            Column("First segment (MB/s)"),
            Column("Last segment (MB/s)"),
            Column("Written (GB)"),
        ),
        rows=tuple(
            Row(
                Cell(str(rewrite.time)),
                (
                    _returned_cell(returned(rewrite.course, without_idle)),
                    cells.number(rewrite.course.segments[0].bytes_per_s / MB, 1),
                    cells.number(rewrite.course.segments[-1].bytes_per_s / MB, 1),
                    cells.number(rewrite.course.written_bytes / GB, 1),
                ),
            )
            for rewrite in rewrites
        ),
    )


def _returned_cell(found: Returned) -> Cell:
    value = found.bytes / GB
    return cells.number(value, 1, note="at least: the rate never fell" if found.at_least else "")

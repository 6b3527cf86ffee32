"""The page of data that was written earlier: errors and response times against age and temperature."""

from collections.abc import Sequence
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, page, table
from openpts.pages.model import Axis, Block, Cell, Page, Series, Table, Verdict
from openpts.procedures.kit.header import date_and_time
from openpts.units import MB, NS_PER_DAY, format_duration
from openpts_practice.lifetime import Continued, ReadBack
from openpts_practice.lifetime.cycles import LifetimeRun

_ID: Final = "lifetime-age"
_TITLE: Final = "Data Written Earlier: Errors and Response Times v Age and Temperature"
_TIMES: Final[tuple[Col[ReadBack], ...]] = (
    Col("Mean (ms)", lambda read: cells.latency(read.mean_ns)),
    Col("99.9 % (ms)", lambda read: cells.latency(read.p999_ns)),
    Col("Max (ms)", lambda read: cells.latency(read.max_ns)),
)
_ERRORS: Final = len(_TIMES)
"""The column behind the response times."""


# HYP-TMP-01
def age_page(measured: LifetimeRun) -> Page:
    """What this run found of the data that the run before had written, beside all such reads of the drive."""
    after = measured.conditions.continues
    assert after is not None  # noqa: S101 the caller looked
    reads = measured.reads_back
    shown = _table(reads)
    figures = [
        _times(_axis("Age (days)", shown), "times").over(_name("a", "Response Times v Age"), shown),
        _errors(shown).over(_name("b", "Failed Reads v Age"), shown),
        *_by_temperature(reads),
    ]
    blocks: tuple[Block, ...] = (age_verdict(measured), *figures, _gap_table(measured, after), shown)
    return page(PlotName(_ID, "", _TITLE), *blocks)


def age_verdict(measured: LifetimeRun) -> Verdict:
    """Whether data that waited came back."""
    after = measured.conditions.continues
    assert after is not None  # noqa: S101 the caller looked
    if not measured.later_read:
        return Verdict(f"What cycle {after.cycle} of {after.run} wrote was not read.", "fail")
    found = measured.reads_back[-1]
    compared = "compared" if measured.conditions.compares and after.compares else "not compared"
    return Verdict(
        f"Cycle {after.cycle} of {after.run} was read {_age_text(found.age_ns)} after it was written, and "
        f"{compared} with what was written: {found.errors:,} I/O{'' if found.errors == 1 else 's'} failed.",
        "fail" if found.errors else "info",
    )


def _age_text(age_ns: int | None) -> str:
    if age_ns is None:
        return "an unknown time"
    return (
        f"{cells.fixed(age_ns / NS_PER_DAY, 1)} days" if age_ns >= 2 * NS_PER_DAY else format_duration(age_ns)
    )


def _gap_table(measured: LifetimeRun, after: Continued) -> Table:
    simulated = measured.run.manifest.target.simulation is not None
    return items_table(
        f"{_ID}-gap",
        "The run before, and the gap",
        [
            ("Continues", after.run),
            ("Its last cycle", str(after.cycle)),
            ("Written from", "virtual time" if simulated else date_and_time(after.written_at)),
            ("Age when read", _age_text(measured.age_ns)),
            ("Of it at rest, simulated", _age_text(after.rest_ns) if simulated else "n/a: a real drive"),
        ],
    )


def _table(reads: Sequence[ReadBack]) -> Table:
    return table(
        f"{_ID}-values",
        "Values plotted: each read of what a cycle wrote last",
        Col("Age (days)", _days, width=1.2),
        (
            *_TIMES,
            Col("Failed I/Os", lambda read: cells.number(read.errors, 0, tone="fail" if read.errors else "")),
            Col("Read (MB/s)", lambda read: cells.number_or("no I/O", read.bytes_per_s, 1, per=MB)),
            Col("Written at (°C)", lambda read: _celsius(read.written_c)),
            Col("Read at (°C)", lambda read: _celsius(read.read_c)),
            Col("Cycle", lambda read: cells.count(read.cycle)),
            Col("Read in", lambda read: Cell(read.run), align="left", width=3),
        ),
        reads,
        note="The age lies between the first write and the first read. Temperatures are the drive's own: "
        "when all was written and read once, and when all was read.",
    )


def _days(read: ReadBack) -> Cell:
    if read.age_ns is None:
        return cells.missing("the clock was set back")
    return cells.number(read.age_ns / NS_PER_DAY, 2)


def _celsius(value_c: float | None) -> Cell:
    return cells.number_or("not in the log", value_c, 0)


def _name(letter: str, title: str) -> PlotName:
    return PlotName(_ID, f"Plot X-LIFETIME-4{letter}", title)


def _times(x: Axis, part: str) -> Plot:
    return Plot(
        x=x,
        y=lambda values: ticks.linear_axis("Response time (ms)", 0, max(*values, 1e-6, 0)),
        series=tuple(
            Series(time.label.removesuffix(" (ms)"), "column", (column,), color, "points")
            for (column, time), color in zip(enumerate(_TIMES), (2, 1, 3), strict=True)
        ),
        alt="{rows} reads of data written earlier, response times from {low} to {high} ms.",
        decimals=None,
        part=part,
        height_px=190,
        width_px=360,
    )


def _errors(shown: Table) -> Plot:
    return Plot(
        x=_axis("Age (days)", shown),
        y=lambda values: ticks.linear_axis("Failed I/Os", 0, max(*values, 1, 0)),
        series=(Series("Failed I/Os", "column", (_ERRORS,), 3, "points"),),
        alt="{rows} reads of data written earlier, from {low} to {high} failed I/Os.",
        part="errors",
        height_px=190,
        width_px=360,
    )


def _axis(title: str, shown: Table) -> Axis:
    places = [row.head.value for row in shown.rows if row.head.value is not None]
    return ticks.span_axis(title, 0, max([*places, 1e-3]))


def _by_temperature(reads: Sequence[ReadBack]) -> tuple[Block, ...]:
    """The same over the temperature at which was read, with its table; nothing where no log has any."""
    warm = [read for read in reads if read.read_c is not None]
    if not warm:
        return ()
    shown = table(
        f"{_ID}-temperatures",
        "Values plotted: over the temperature when read",
        Col("Read at (°C)", lambda read: _celsius(read.read_c), width=1.2),
        (
            *_TIMES,
            Col("Failed I/Os", lambda read: cells.number(read.errors, 0)),
            Col("Warmer than written (K)", _warmer),
        ),
        sorted(warm, key=lambda read: read.read_c or 0.0),
    )
    places = [read.read_c for read in warm if read.read_c is not None]
    x = ticks.span_axis("Temperature when read (°C)", min(places) - 1, max(places) + 1)
    return _times(x, "temperatures").over(_name("c", "Response Times v Temperature"), shown), shown


def _warmer(read: ReadBack) -> Cell:
    if read.read_c is None or read.written_c is None:
        return cells.missing("not in the log")
    return cells.number(read.read_c - read.written_c, 0)

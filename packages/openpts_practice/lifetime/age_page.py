"""The page of a lifetime run that continues another one: data that waited on the drive, read."""

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from openpts.procedures.kit.header import date_and_time
from openpts.units import MB, NS_PER_DAY, format_duration
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, heads_of, page, table
from openpts_pages.model import Axis, Block, Cell, Page, Series, Table, Verdict
from openpts_practice.lifetime import Continued, ReadBack
from openpts_practice.lifetime.results import LifetimeRun

_ID: Final = "lifetime-age"
_TITLE: Final = "Data Written Earlier: Errors and Response Times v Age and Temperature"
_SET_BACK: Final = "the clock was set back"
_TIMES: Final[tuple[Col[ReadBack], ...]] = (
    Col("Mean (ms)", lambda read: cells.latency(read.mean_ns)),
    Col("99.9 % (ms)", lambda read: cells.latency(read.p999_ns)),
    Col("Max (ms)", lambda read: cells.latency(read.max_ns)),
)
_TIME_SERIES: Final = tuple(
    Series(time.label.removesuffix(" (ms)"), "column", (column,), color, "points")
    for (column, time), color in zip(enumerate(_TIMES), (2, 1, 3), strict=True)
)
# behind the response times
_ERROR_SERIES: Final = (Series("Failed I/Os", "column", (len(_TIMES),), 3, "points"),)


# HYP-TMP-01
class LaterRead(Struct, frozen=True):
    """What a run found of the data that the run before had written, beside all such reads of the drive."""

    measured: LifetimeRun
    after: Continued

    def verdict(self) -> Verdict:
        """Whether data that waited was read without errors."""
        measured, after = self.measured, self.after
        if not measured.later_read:
            return Verdict(f"What cycle {after.cycle} of {after.run} wrote was not read.", "fail")
        found = measured.reads_back[-1]
        compared = "compared" if measured.conditions.compares and after.compares else "not compared"
        return Verdict(
            f"Cycle {after.cycle} of {after.run} was read {_age_text(found.age_ns)} after it was written, "
            f"and {compared} with what was written: {found.errors:,} I/O{'' if found.errors == 1 else 's'} "
            "failed.",
            "fail" if found.errors else "info",
        )

    def page(self) -> Page:
        """Errors and response times over age and temperature."""
        shown = self._values()
        age = ticks.span_axis("Age (days)", 0, max([*heads_of(shown), 1e-3]))
        figures = (
            _times(age, "times").over(_name("a", "Response Times v Age"), shown),
            _errors(age).over(_name("b", "Failed Reads v Age"), shown),
            *self._by_temperature(),
        )
        return page(PlotName(_ID, "", _TITLE), self.verdict(), *figures, self._gap(), shown)

    def _values(self) -> Table:
        return table(
            f"{_ID}-values",
            "Values plotted: each read of what a cycle wrote last",
            Col(
                "Age (days)",
                lambda read: cells.number_or(_SET_BACK, read.age_ns, 2, per=NS_PER_DAY),
                width=1.2,
            ),
            (
                *_TIMES,
                Col(
                    "Failed I/Os",
                    lambda read: cells.number(read.errors, 0, tone="fail" if read.errors else ""),
                ),
                Col("Read (MB/s)", lambda read: cells.number_or("no I/O", read.bytes_per_s, 1, per=MB)),
                Col("Written at (°C)", lambda read: _celsius(read.written_c)),
                Col("Read at (°C)", lambda read: _celsius(read.read_c)),
                Col("Cycle", lambda read: cells.count(read.cycle)),
                Col("Read in", lambda read: Cell(read.run), align="left", width=3),
            ),
            self.measured.reads_back,
            note="The age lies between the first write and the first read. Temperatures are the drive's own: "
            "when all was written and read once, and when all was read.",
        )

    def _by_temperature(self) -> Iterator[Block]:
        """The same over the temperature at which was read, with its table; nothing where no log has any."""
        warm = {read: read.read_c for read in self.measured.reads_back if read.read_c is not None}
        if not warm:
            return
        shown = table(
            f"{_ID}-temperatures",
            "Values plotted: over the temperature when read",
            Col("Read at (°C)", lambda read: _celsius(read.read_c), width=1.2),
            (
                *_TIMES,
                Col("Failed I/Os", lambda read: cells.number(read.errors, 0)),
                Col("Warmer than written (K)", _warmer),
            ),
            sorted(warm, key=warm.__getitem__),
        )
        x = ticks.span_axis("Temperature when read (°C)", min(warm.values()) - 1, max(warm.values()) + 1)
        yield _times(x, "temperatures").over(_name("c", "Response Times v Temperature"), shown)
        yield shown

    def _gap(self) -> Table:
        after, simulated = self.after, self.measured.run.manifest.target.simulation is not None
        return items_table(
            f"{_ID}-gap",
            "The run before, and the gap",
            [
                ("Continues", after.run),
                ("Its last cycle", str(after.cycle)),
                ("Written from", "virtual time" if simulated else date_and_time(after.written_at)),
                ("Age when read", _age_text(self.measured.age_ns)),
                ("Of it at rest, simulated", _age_text(after.rest_ns) if simulated else "n/a: a real drive"),
            ],
        )


def _age_text(age_ns: int | None) -> str:
    if age_ns is None:
        return "an unknown time"
    days = age_ns / NS_PER_DAY
    return f"{cells.fixed(days, 1)} days" if days >= 2 else format_duration(age_ns)


def _celsius(value_c: float | None) -> Cell:
    return cells.number_or("not in the log", value_c, 0)


def _warmer(read: ReadBack) -> Cell:
    if read.read_c is None or read.written_c is None:
        return cells.missing("not in the log")
    return cells.number(read.read_c - read.written_c, 0)


def _name(letter: str, title: str) -> PlotName:
    return PlotName(_ID, f"Plot X-LIFETIME-4{letter}", title)


def _times(x: Axis, part: str) -> Plot:
    return Plot(
        x=x,
        y=lambda values: ticks.linear_axis("Response time (ms)", 0, max(*values, 1e-6, 0)),
        series=_TIME_SERIES,
        alt="{rows} reads of data written earlier, response times from {low} to {high} ms.",
        decimals=None,
        part=part,
        height_px=190,
        width_px=360,
    )


def _errors(x: Axis) -> Plot:
    return Plot(
        x=x,
        y=lambda values: ticks.linear_axis("Failed I/Os", 0, max(*values, 1, 0)),
        series=_ERROR_SERIES,
        alt="{rows} reads of data written earlier, from {low} to {high} failed I/Os.",
        part="errors",
        height_px=190,
        width_px=360,
    )

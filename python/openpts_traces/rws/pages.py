"""Pages of the real-world storage workload: the applied streams, and what the drive made of each part."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.figures import Figures, counted
from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, category_axis, page, table
from openpts.pages.model import Block, Cell, Page, Series, Verdict
from openpts.procedures.shared.tracking.pages import TrackedPhase, tracking_time_page, tracking_window_page
from openpts.units import MB
from openpts.vocabulary.sample import Measured
from openpts_fio.fio_job.pages import stream_blocks, stream_times
from openpts_traces.rws.results import Alone, RwsRun

_ALONE: Final = PlotName("rws-individual", "Plot X-RWS-1", "Individual Streams-WSAT")
_TIME: Final = PlotName("rws-multi", "Plot X-RWS-2", "Multi-WSAT: IOPS v Time")
_WINDOW: Final = PlotName("rws-multi-window", "Plot X-RWS-3", "Multi-WSAT: Steady State Measurement Window")
_STREAMS: Final = PlotName(
    "rws-multi-streams-page", "Plot X-RWS-4", "Multi-WSAT: Response Times of the Streams"
)
_PERCENTILE: Final = 99.999


class StreamFigures(Struct, frozen=True):
    """A stream by itself, and within the composite where that was run."""

    alone: Figures
    together: Figures | None

    @property
    def interference(self) -> float | None:
        """IOPS alone over those in the composite."""
        return self.alone.iops / self.together.iops if self.together and self.together.iops else None

    def as_json(self) -> dict[str, Any]:
        """Key numbers."""
        return {
            "iops": self.alone.iops,
            "art_ns": self.alone.mean_latency_ns,
            "composite_iops": self.together.iops if self.together else None,
            "composite_art_ns": self.together.mean_latency_ns if self.together else None,
            "interference": self.interference,
        }


def stream_figures(found: RwsRun, one: Alone) -> StreamFigures:
    """Figures of a stream in the minutes of both windows: alone, and in the composite."""
    together = found.in_composite(one.stream.name)
    return StreamFigures(_merged(one.tracked.results.window_minutes), _merged(together) if together else None)


def _merged(parts: Sequence[Measured]) -> Figures:
    operations = [operation for part in parts for operation in counted(part)]
    return Figures.of(operations, sum(part.elapsed_ns for part in parts))


def alone_page(found: RwsRun) -> Page:
    """A bar for each stream by itself, and its figures within the composite beside it."""
    rows = [(one, stream_figures(found, one)) for one in found.alone]
    absent = "Multi-WSAT was not run"
    head: Col[tuple[Alone, StreamFigures]] = Col(
        "Stream", lambda row: Cell(row[0].stream.name), align="left", width=1.4
    )

    def percentile(figures: Figures) -> Cell:
        value_ns = figures.percentile_ns(_PERCENTILE)
        return cells.missing(f"N = {figures.ios:,}") if value_ns is None else cells.latency(value_ns)

    def together(row: tuple[Alone, StreamFigures], decimals: int, value: float | None) -> Cell:
        return cells.number_or(absent, value if row[1].together else None, decimals)

    shown = table(
        "rws-individual-values",
        "Values plotted: each stream alone, beside itself in the composite",
        head,
        [
            Col("IOPS", lambda row: cells.number(row[1].alone.iops, 1)),
            Col("MB/s", lambda row: cells.number(row[1].alone.bandwidth_bytes_per_s / MB, 1)),
            Col("Average (ms)", lambda row: cells.latency(row[1].alone.mean_latency_ns)),
            Col("99.999 % (ms)", lambda row: percentile(row[1].alone)),
            Col("Maximum (ms)", lambda row: cells.latency(row[1].alone.max_latency_ns)),
            Col("In composite (IOPS)", lambda row: together(row, 1, row[1].as_json()["composite_iops"])),
            Col("Interference", lambda row: together(row, 2, row[1].interference)),
            Col(
                "Steady State",
                lambda row: Cell("reached" if row[0].tracked.results.steady else "not reached"),
            ),
        ],
        rows,
        note="Interference: IOPS alone over those in the composite, with as many I/Os outstanding in all.",
    )
    plot = Plot(
        x=category_axis("Stream", shown),
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(Series("Alone", "column", (0,), 0, style="bars"),),
        alt="a bar for each of {rows} streams, from {low} to {high} IOPS.",
    )
    carried = (
        "Each stream began on a drive that was purged and written."
        if found.conditions.isolate
        else "Streams follow each other without a purge: each begins with what the one before has left."
    )
    return page(_ALONE, plot.over(_ALONE, shown), Verdict(carried), shown)


def multi_pages(tracked: TrackedPhase) -> tuple[Page, ...]:
    """The composite over time, its window, and each stream in it."""
    minutes = tracked.results.window_minutes
    blocks: tuple[Block, ...] = stream_blocks(_STREAMS, minutes, stream_times(minutes))
    return (
        tracking_time_page(tracked, _TIME, subject="Multi-WSAT"),
        tracking_window_page(tracked, _WINDOW, f"{tracked.stimulus}, {tracked.demand}"),
        page(_STREAMS, *(blocks or (Verdict("n/a: no tracked minute was completed.", "fail"),))),
    )

"""Pages of the real-world storage workload: the applied streams, and what the drive made of each part."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from openpts.analysis.figures import Figures, counted
from openpts.characteristics.capture import Capture, CaptureStep, CaptureStream
from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, category_axis, page, table
from openpts.pages.model import Block, Cell, Column, Page, Row, Series, Table, Verdict
from openpts.procedures.extended.rws.passes import PASS_FIGURES, pass_figures
from openpts.procedures.extended.rws.results import Alone, Replay, RwsRun
from openpts.procedures.shared.fio_job.pages import stream_blocks
from openpts.procedures.shared.fio_job.times import stream_times
from openpts.procedures.shared.tracking.pages import TrackedPhase, tracking_time_page, tracking_window_page
from openpts.units import MB, format_duration
from openpts.vocabulary.sample import Measured, Sample

_ALONE: Final = PlotName("rws-individual", "Plot X-RWS-1", "Individual Streams-WSAT")
_TIME: Final = PlotName("rws-multi", "Plot X-RWS-2", "Multi-WSAT: IOPS v Time")
_WINDOW: Final = PlotName("rws-multi-window", "Plot X-RWS-3", "Multi-WSAT: Steady State Measurement Window")
_STREAMS: Final = PlotName(
    "rws-multi-streams-page", "Plot X-RWS-4", "Multi-WSAT: Response Times of the Streams"
)
_PASSES: Final = PlotName("rws-passes", "Plot X-RWS-5", "Replay-Native: Passes")
_STEPS: Final = PlotName("rws-steps", "Plot X-RWS-6", "Replay-Native: Drive v Capture over Steps")
_PERCENTILE: Final = 99.999
_PRINTED_CELLS: Final = 400


@dataclass(frozen=True, slots=True)
class StreamFigures:
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
    """Those of the minutes of both windows."""
    together = found.in_composite(one.stream.name)
    return StreamFigures(_merged(one.tracked.results.window_minutes), _merged(together) if together else None)


def _merged(parts: Sequence[Measured]) -> Figures:
    operations = [operation for part in parts for operation in counted(part)]
    return Figures.of(operations, sum(part.elapsed_ns for part in parts))


def workload_page(found: RwsRun) -> Page:
    """What was captured, and what of it is applied in which shares."""
    capture = found.capture
    made = "a step table" if capture.is_step_table else "a trace; its steps were made by openpts"
    depth = "unknown" if capture.depth is None else f"{capture.depth:.2f}, at most {capture.max_depth}"
    facts = items_table(
        "rws-capture",
        "Capture: the target server, not the drive under test",
        (
            ("Name", capture.name),
            ("Version", capture.version),
            ("SHA-256", capture.sha256),
            ("Kind", made),
            ("Level", capture.level),
            ("Logical storage", capture.storage),
            ("Tool", capture.tool),
            ("RND or SEQ", capture.rule),
            ("Duration", format_duration(capture.duration_ns)),
            ("Steps", f"{len(capture.steps):,} of {format_duration(capture.step_length_ns)}"),
            ("I/Os", f"{capture.ios:,}"),
            ("Queue depth", depth),
            ("Lost events", f"{capture.lost:,}" + (": all figures are lower bounds" if capture.lost else "")),
            ("I/Os that no stimulus has", f"{capture.unapplied_ios:,}"),
            ("I/Os applied at the mean of their sizes", f"{capture.binned_ios:,}"),
        ),
    )
    text = (
        "After the RWSW PTS, reading of openpts: streams in falling share of the I/Os until they cover 80 % "
        "and each one left out has less than 3 %, 9 at the most. "
        f"{len(capture.streams)} of {capture.kinds} streams cover {float(100 * capture.cover):.2f} % "
        "of the I/Os. "
        f"Reads are {_percent(capture.read_ios, capture.moved_ios)} of the capture's reads and writes, and "
        f"{_applied_reads(capture)} of those that are applied."
    )
    return Page(
        "rws-workload",
        "Applied Test Workload",
        (Verdict(text), _streams_table(capture), facts),
        mandatory=True,
    )


def _applied_reads(capture: Capture) -> str:
    moved = [stream for stream in capture.streams if stream.kind in {"read", "write"}]
    return _percent(sum(s.ios for s in moved if s.kind == "read"), sum(s.ios for s in moved))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %" if whole else "n/a"


def _streams_table(capture: Capture) -> Table:
    applied = sum(stream.ios for stream in capture.streams)
    head: Col[CaptureStream] = Col("Stream", lambda stream: Cell(stream.name), align="left")
    return table(
        "rws-streams",
        "Streams in falling share",
        head,
        [
            Col("I/Os", lambda stream: cells.count(stream.ios)),
            Col("% of all I/Os", lambda stream: cells.number(100 * stream.ios / capture.ios, 3)),
            Col("% of applied I/Os", lambda stream: cells.number(100 * stream.ios / applied, 3)),
            Col("Share", lambda stream: Cell(str(Fraction(stream.ios, applied)))),
            Col("MB", lambda stream: cells.number(stream.bytes / MB, 1)),
            Col("% of all bytes", lambda stream: _share(stream.bytes, capture.bytes)),
        ],
        capture.streams,
    )


def _share(part: int, whole: int) -> Cell:
    return cells.number(100 * part / whole, 3) if whole else cells.missing("no bytes")


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
            Col("MB/s", lambda row: cells.number(row[1].alone.bytes_per_s / MB, 1)),
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


def replay_sentence(replay: Replay) -> Verdict:
    """Whether passes were steady, and by what figure they were not."""
    if not replay.reports:
        return Verdict(
            f"Replay-Native: Steady State can't be judged: n/a ({len(replay.passes)} of 5 passes).", "fail"
        )
    if replay.steady:
        return Verdict(
            f"Replay-Native: Steady State reached in pass {replay.window.rounds[-1]} for average response "
            f"time and throughput, in passes {replay.window.label}.",
            "pass",
        )
    unsteady = [name for name, one in zip(PASS_FIGURES, replay.reports, strict=True) if not one.steady]
    return Verdict(
        f"Replay-Native: Steady State not reached for {' and '.join(unsteady)} within "
        f"{len(replay.passes)} passes; the last five ({replay.window.label}) are shown.",
        "fail",
    )


def passes_page(replay: Replay) -> Page:
    """Average response time and throughput of each pass."""
    rows = [(number, pass_figures(one)) for number, one in enumerate(replay.passes, start=1)]
    if not rows:
        return page(_PASSES, replay_sentence(replay))
    head: Col[tuple[int, tuple[float, float]]] = Col("Pass", lambda row: Cell(str(row[0]), row[0]))
    shown = table(
        "rws-passes-values",
        "Values plotted: whole passes",
        head,
        [
            Col("Average response time (ms)", lambda row: cells.number(row[1][0], 4)),
            Col("Throughput (MB/s)", lambda row: cells.number(row[1][1], 2)),
        ],
        rows,
    )
    plot = Plot(
        x=ticks.rounds_axis(len(rows)),
        y=lambda values: ticks.linear_axis("Average response time (ms)", 0, max(values)),
        series=(Series("Average response time", "column", (0,), 0, emphasis=True),),
        alt="{rows} passes, from {low} to {high} ms.",
        decimals=None,
    )
    return page(_PASSES, plot.over(_PASSES, shown), replay_sentence(replay), shown)


def steps_page(found: RwsRun, replay: Replay) -> Page:
    """IOPS of each step of the typical pass beside those of the capture."""
    rows = list(zip(found.capture.steps, replay.typical, strict=False))
    if not rows:
        return page(_STEPS, replay_sentence(replay))
    shown = Table(
        id="rws-steps-values",
        title="Values plotted: the pass with the median response time beside the capture",
        head=Column("Step", width=0.5),
        columns=tuple(
            map(
                Column,
                (
                    "Capture (IOPS)", "Drive (IOPS)", "Capture (MB/s)", "Drive (MB/s)", "Capture ART (ms)",
                    "Drive ART (ms)", "Capture MRT (ms)", "Drive MRT (ms)", "Drive 99 % (ms)", "Outstanding",
                ),
            )
        ),
        rows=tuple(Row(Cell(str(n), n), _step_cells(*row)) for n, row in enumerate(rows)),
        printed=10 * len(rows) <= _PRINTED_CELLS,
    )  # fmt: skip
    plot = Plot(
        x=ticks.whole_axis("Step", 0, max(1, len(rows) - 1)),
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(
            Series("Capture (target server)", "column", (0,), 0, style="line"),
            Series("Drive under test", "column", (1,), 1, style="line", emphasis=True),
        ),
        alt="{rows} steps of capture and drive, from {low} to {high} IOPS.",
    )
    return page(_STEPS, plot.over(_STEPS, shown), Verdict(_steps_text(found, rows)), shown)


def _step_cells(step: CaptureStep, sample: Sample) -> tuple[Cell, ...]:
    figures = Figures.of(counted(sample), sample.elapsed_ns)
    p99_ns = figures.percentile_ns(99)
    unknown = cells.missing("no completions in the capture")
    return (
        cells.number(step.iops, 1),
        cells.number(figures.iops, 1),
        cells.number(step.bytes_per_s / MB, 2),
        cells.number(figures.bytes_per_s / MB, 2),
        unknown if step.art_ns is None else cells.latency(step.art_ns),
        cells.latency(figures.mean_latency_ns),
        unknown if step.mrt_ns is None else cells.latency(step.mrt_ns),
        cells.latency(figures.max_latency_ns),
        cells.missing("too few I/Os") if p99_ns is None else cells.latency(p99_ns),
        cells.count(sample.step.toio),
    )


def _steps_text(found: RwsRun, rows: Sequence[tuple[CaptureStep, Sample]]) -> str:
    conditions, busy = found.conditions, [(step, sample) for step, sample in rows if step.ios]
    short = sum(sample.iops < step.iops for step, sample in busy)
    theirs = sum(step.ios for step, _ in busy) / (sum(step.length_ns for step, _ in busy) or 1)
    ours = sum(sample.ios for _, sample in busy) / (sum(sample.elapsed_ns for _, sample in busy) or 1)
    ratio = f"{ours / theirs:.3g}" if theirs else "n/a"
    cut_ns = sum(
        max(0, round(step.length_ns * conditions.time_scale) - conditions.step_ns(step)) for step, _ in rows
    )
    paced = (
        "at the capture's rates" if conditions.pacing == "rate" else "in a closed loop at the capture's depth"
    )
    return (
        f"Replayed as steps of mixes, not as events, {paced}. Steps with I/O: IOPS of the drive over those "
        f"of the target server {ratio}; the drive fell short of the capture in {short} of {len(busy)}. "
        f"Idle time cut: {format_duration(cut_ns)} of each pass."
    )

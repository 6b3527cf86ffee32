"""Pages of a capture: the workload that is applied of it, and its steps beside what a drive did."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Final

from msgspec import Struct

from openpts.pages import cells, ticks
from openpts.pages.facts_table import items_table
from openpts.pages.kit import Col, Plot, PlotName, heads_of, page, plot_page, table
from openpts.pages.model import Cell, Page, Series, Table, Verdict
from openpts.units import MB, format_duration
from openpts_traces.characteristics.capture import Capture, CaptureStream
from openpts_traces.characteristics.stream_map import OTHER, MapStep, highest_rate, stream_map

_PRINTED_CELLS: Final = 400
_DEPTHS: Final = (1, 4, 16, 64, 256)
_RANGES: Final = (*(f"QD up to {depth}" for depth in _DEPTHS), f"QD above {_DEPTHS[-1]}", "QD unknown")


def workload_page(capture: Capture) -> Page:
    """What was captured, and what of it is applied in which shares."""
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


def captured_map(capture: Capture) -> list[MapStep]:
    """I/Os of each applied stream in each step; those of all others have one name."""
    steps, start_ns = [], 0
    for step in capture.steps:
        ios = {stream.name: stream.ios for stream in step.streams}
        if others := step.ios - sum(ios.values()):
            ios[OTHER] = others
        steps.append(MapStep(start_ns, step.length_ns, ios, step.depth))
        start_ns += step.length_ns
    return steps


def map_page(
    name: PlotName,
    steps: Sequence[MapStep],
    capture: Capture,
    counted_at: str,
    beside: Sequence[MapStep] = (),
) -> Page:
    """Rates of the applied streams over time; on the axes and in the colors of the map ``beside`` it."""
    named = [stream.name for stream in capture.streams]
    if not steps:
        return page(name, Verdict("n/a: no pass was completed.", "fail"))
    no_depth = "no completions in the capture"
    figure, shown = stream_map(name, steps, named, no_depth, highest_rate(beside, named))
    return page(name, figure, Verdict(f"Counted at: {counted_at}."), shown)


class DemandPoint(Struct, frozen=True):
    """What a drive did at a demand: a step of a capture, or an operating point; None is unknown."""

    name: str
    depth: float | None
    iops: float
    art_ns: float | None


def captured_points(capture: Capture) -> list[DemandPoint]:
    """The capture's steps with I/O."""
    return [
        DemandPoint(f"step {number}", step.depth, step.iops, step.art_ns)
        for number, step in enumerate(capture.steps)
        if step.ios
    ]


def demand_plane(name: PlotName, captured: Sequence[DemandPoint], drive: Sequence[DemandPoint]) -> Page:
    """Response time over IOPS of the target server and of the drive, by how much was outstanding."""
    known = [point for point in captured if point.art_ns is not None]
    unknown = Verdict("Capture: n/a: it has no completions, so that no response time is known.")
    found = [(f"Capture, {_range_of(point)}", point) for point in known]
    found += [(f"Drive, {_range_of(point)}", point) for point in drive]
    order = [f"{who}, {text}" for who in ("Capture", "Drive") for text in _RANGES]
    kinds = [kind for kind in order if any(kind == of for of, _ in found)]
    head: Col[tuple[str, DemandPoint]] = Col("IOPS", lambda row: cells.number(row[1].iops, 1))

    def time_of(row: tuple[str, DemandPoint], kind: str) -> Cell:
        return cells.latency(row[1].art_ns) if row[0] == kind else cells.none()

    shown = table(
        f"{name.id}-values",
        "Values plotted: average response time (ms) by outstanding I/Os",
        head,
        [
            *(Col(kind, partial(time_of, kind=kind)) for kind in kinds),
            Col("Outstanding", lambda row: cells.number_or("unknown", row[1].depth, 2)),
            Col("Point", lambda row: Cell(row[1].name), align="left"),
        ],
        found,
        printed=_PRINTED_CELLS,
    )
    return plot_page(
        name,
        Verdict(
            "Average response time of each step of the capture, of the target server's own storage, and of "
            "the drive under test, over IOPS; outstanding: mean over time."
        ),
        lambda shown: Plot(
            x=ticks.linear_axis("IOPS", 0, max(heads_of(shown))),
            y=lambda values: ticks.log_axis("Average response time (ms)", values),
            series=tuple(Series(kind, "column", (n,), n, style="points") for n, kind in enumerate(kinds)),
            alt="average response times from {low} to {high} ms.",
            decimals=None,
        ),
        shown,
        None if known else unknown,
        absent=Verdict("n/a: no pass was completed.", "fail"),
    )


def _range_of(point: DemandPoint) -> str:
    if point.depth is None:
        return _RANGES[-1]
    return _RANGES[sum(point.depth > edge for edge in _DEPTHS)]

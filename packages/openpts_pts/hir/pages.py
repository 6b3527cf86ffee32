"""Pages of the wait states of HIR: over time, one by one, beside the baseline (PTS 11.3.2)."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from msgspec.structs import replace

from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT, transpose
from openpts.units import NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import Sample
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, Required, page
from openpts_pages.model import HEIGHT_PX, Band, Cell, Page, PlotRule, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.hir.results import Access, IdleRecoveryResults, SegmentSummary, WaitSegment
from openpts_pts.shared.minutes_table import list_minutes

WAIT_COLOR: Final = 2
RETURN_COLOR: Final = 0
_NO_WAIT_STATE: Final = Verdict(
    "No wait state was run: the test ends if its preconditioning is not steady (PTS 11.2).", "fail"
)
ALL_WAIT_STATES: Final = Required("3", "Plot 11-3")


def all_wait_states_page(results: IdleRecoveryResults, title: str) -> Page:
    """IOPS of each access over time, wait states shaded, with the baseline (Plot 11-3)."""
    name = ALL_WAIT_STATES.named("hir", title)
    if not results.segments:
        return page(name, _NO_WAIT_STATE)
    time = ticks.time_axis("Time", 0, results.segments[-1].ended_ns)
    shown = _accesses_table(f"{name.id}-values", results.segments, time)
    bands = tuple(
        Band(
            "x",
            time.place(segment.began_ns),
            time.place(segment.ended_ns),
            "window" if number % 2 == 0 else "allowed",
            f"WS {segment.state.number}: {idle_text(segment)}",
        )
        for number, segment in enumerate(results.segments)
    )
    plot = _accesses_plot(
        results, time, f"{gains_text(results)} {len(shown.rows):,} accesses.", bands=bands, height_px=420
    )
    return page(name, plot.over(name, shown), Verdict(gains_text(results)), shown)


def wait_state_page(results: IdleRecoveryResults, segment: WaitSegment) -> Page:
    """One wait state and its return to baseline, access by access (11.3.2)."""
    number = segment.state.number
    name = PlotName(
        f"hir-ws{number}",
        f"Plot X-HIR-WS{number}",
        f"HIR IOPS v Time - Wait State {number} ({idle_text(segment)} idle) and Return to Baseline",
    )
    time = ticks.time_axis("Time", segment.began_ns, segment.ended_ns)
    shown = _accesses_table(f"{name.id}-values", (segment,), time)
    alt = f"{len(segment.active)} accesses with pauses, {len(segment.returned)} without."
    return page(name, _accesses_plot(results, time, alt).over(name, shown), *_edges(segment), shown)


def _accesses_plot(
    results: IdleRecoveryResults,
    time: TimeAxis,
    alt: str,
    *,
    bands: tuple[Band, ...] = (),
    height_px: int = HEIGHT_PX,
) -> Plot:
    return Plot(
        x=time.axis,
        y=ticks.linear_axis("IOPS", 0, highest_iops(results)),
        series=(
            Series("Access A (with pauses)", "column", (0,), WAIT_COLOR, style="points"),
            Series("Access C (return to baseline)", "column", (1,), RETURN_COLOR, style="points"),
        ),
        alt=alt,
        rules=baseline_rule(results),
        bands=bands,
        height_px=height_px,
    )


def secondary_page(results: IdleRecoveryResults, powers: Sequence[Cell], title: str, head_line: str) -> Page:
    """IOPS, response times, power and processor use of the baseline and of each wait state (Plot 11-5).

    ``powers`` are average powers in the same order.
    """
    names = ["Baseline", *(f"WS {segment.state.number}" for segment in results.segments)]
    summaries = [results.baseline, *(segment.active_summary for segment in results.segments)]
    found = [None if one is None else (one, power) for one, power in zip(summaries, powers, strict=True)]
    head: Col[str] = Col("", cells.words, align="left", width=1.2)
    shown = transpose(
        "hir-4-values",
        "HIR Secondary Metrics",
        _SECONDARY,
        zip(names, found, strict=True),
        head=head,
        absent="not reached",
        note="IOPS of a wait state count its active time only; its power is that of its pauses as well.",
    )
    return page(PlotName("hir-4", "", title), Verdict(head_line), shown)


def _summary(one: tuple[SegmentSummary, Cell]) -> SegmentSummary:
    return one[0]


_IOPS: Final = replace(IOPS, decimals=0)
_SECONDARY: Final[tuple[Col[tuple[SegmentSummary, Cell]], ...]] = (
    *(metric.column(_summary) for metric in (_IOPS, ART, MRT)),
    Col("Avg Power (mW)", itemgetter(1)),
    *(metric.column(_summary) for metric in (CPU_SYS, CPU_IOWAIT)),
)


def _edges(segment: WaitSegment) -> tuple[Verdict, ...]:
    summary = segment.active_summary
    if summary is None or summary.largest_off_error_ns is None:
        return ()
    return (
        Verdict(
            f"{summary.accesses} bursts. Pauses of {idle_text(segment)}: largest error "
            f"{cells.fixed(summary.largest_off_error_ns / NS_PER_MS, 3)} ms; bursts until the drive's last "
            f"answer: at most {cells.fixed(summary.longest_on_excess_ns / NS_PER_MS, 3)} ms longer than "
            "planned."
        ),
    )


def _accesses_table(table_id: str, segments: Sequence[WaitSegment], time: TimeAxis) -> Table:
    """Each access with whether it is one of the return to baseline."""
    nothing = Cell("")
    accesses = [
        (access, returned)
        for segment in segments
        for returned, of_segment in ((False, segment.active), (True, segment.returned))
        for access in of_segment
    ]
    columns: list[Col[tuple[Access, bool]]] = [
        Col("IOPS, with pauses", lambda one: nothing if one[1] else _IOPS.cell(one[0].sample)),
        Col("IOPS, return to baseline", lambda one: _IOPS.cell(one[0].sample) if one[1] else nothing),
        *(metric.column(_sample_of) for metric in (ART, MRT)),
    ]
    title = "Values plotted: each access at its end"
    return list_minutes(table_id, title, columns, accesses, time=time, end_ns=lambda one: one[0].ended_ns)


def _sample_of(one: tuple[Access, bool]) -> Sample:
    return one[0].sample


def baseline_rule(results: IdleRecoveryResults) -> tuple[PlotRule, ...]:
    """The baseline as a line, if there is one."""
    return (PlotRule("Baseline", results.baseline.iops, "average"),) if results.baseline else ()


def highest_iops(results: IdleRecoveryResults) -> float:
    """The fastest access: where the axes of all plots over accesses end."""
    return max(
        (one.sample.iops for segment in results.segments for one in (*segment.active, *segment.returned)),
        default=1.0,
    )


def idle_text(segment: WaitSegment) -> str:
    """How long the drive idles after each access: ``5 s``."""
    return f"{segment.state.idle_ns / NS_PER_S:g} s"


def gains_text(results: IdleRecoveryResults) -> str:
    """What each wait state gains, in a sentence."""
    if results.baseline is None:
        return "No baseline: steady state was not reached."
    gains = ", ".join(
        f"WS {segment.state.number} {cells.signed(gain, 1)} %"
        for segment in results.segments
        if (gain := results.gain_pct(segment)) is not None
    )
    return f"IOPS against the baseline of {cells.fixed(results.baseline.iops, 0)}: {gains}."

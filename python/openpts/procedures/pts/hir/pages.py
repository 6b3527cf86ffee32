"""Pages of the wait states of HIR: over time, one by one, beside the baseline (PTS 11.3.2)."""

from collections.abc import Callable, Sequence
from typing import Final

from openpts.pages import cells, ticks
from openpts.pages.kit import Col, Plot, PlotName, Required, grid, page, table
from openpts.pages.model import HEIGHT_PX, Band, Cell, Column, Page, Rule, Series, Table, Verdict
from openpts.pages.ticks import TimeAxis
from openpts.procedures.pts.hir.results import Access, SegmentSummary
from openpts.procedures.pts.hir.wait_states import IdleRecoveryResults, Segment
from openpts.procedures.shared.minutes_table import elapsed_cell, elapsed_column
from openpts.units import NS_PER_MS, NS_PER_S

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
        results, time, f"{len(shown.rows):,} accesses. {gains_text(results)}", bands=bands, height_px=420
    )
    return page(name, plot.over(name, shown), Verdict(gains_text(results)), shown)


def wait_state_page(results: IdleRecoveryResults, segment: Segment) -> Page:
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
    columns = list(zip(names, zip(summaries, powers, strict=True), strict=True))
    shown = grid(
        "hir-4-values",
        "HIR Secondary Metrics",
        Col("", cells.words, align="left", width=1.2),
        [(Column(name), found) for name, found in columns],
        _SECONDARY,
        cell=lambda name, found: (
            cells.missing("not reached") if found[0] is None else _SECONDARY[name](found[0], found[1])
        ),
        note="IOPS of a wait state count its active time only; its power is that of its pauses as well.",
    )
    return page(PlotName("hir-4", "", title), Verdict(head_line), shown)


_SECONDARY: Final[dict[str, Callable[[SegmentSummary, Cell], Cell]]] = {
    "IOPS": lambda summary, _power: cells.number(summary.iops, 0),
    "ART (ms)": lambda summary, _power: cells.latency(summary.art_ns),
    "MRT (ms)": lambda summary, _power: cells.latency(summary.mrt_ns),
    "Avg Power (mW)": lambda _summary, power: power,
    "CPU Sys (%)": lambda summary, _power: cells.cpu_share(summary.cpu_sys_pct, 2),
    "CPU IO Wait (%)": lambda summary, _power: cells.cpu_share(summary.cpu_iowait_pct, 2),
}


def _edges(segment: Segment) -> tuple[Verdict, ...]:
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


def _accesses_table(table_id: str, segments: Sequence[Segment], time: TimeAxis) -> Table:
    """Each access with whether it is one of the return to baseline."""
    nothing = Cell("")
    accesses = [
        (access, returned)
        for segment in segments
        for returned, of_segment in ((False, segment.active), (True, segment.returned))
        for access in of_segment
    ]
    columns: list[Col[tuple[Access, bool]]] = [
        Col("IOPS, with pauses", lambda one: nothing if one[1] else cells.number(one[0].iops, 0)),
        Col("IOPS, return to baseline", lambda one: cells.number(one[0].iops, 0) if one[1] else nothing),
        Col("ART (ms)", lambda one: cells.latency(one[0].art_ns)),
        Col("MRT (ms)", lambda one: cells.latency(one[0].mrt_ns)),
    ]
    head: Col[tuple[Access, bool]] = Col(
        elapsed_column(time).label, lambda one: elapsed_cell(one[0].ended_ns, time), width=0
    )
    title = "Values plotted: each access at its end"
    return table(table_id, title, head, columns, accesses, printed=False)


def baseline_rule(results: IdleRecoveryResults) -> tuple[Rule, ...]:
    """The baseline as a line, if there is one."""
    return (Rule("Baseline", results.baseline.iops, "average"),) if results.baseline else ()


def highest_iops(results: IdleRecoveryResults) -> float:
    """The fastest access: where the axes of all plots over accesses end."""
    return max(
        (access.iops for segment in results.segments for access in (*segment.active, *segment.returned)),
        default=1.0,
    )


def idle_text(segment: Segment) -> str:
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

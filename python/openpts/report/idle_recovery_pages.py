"""Pages of the wait states of HIR: over time, one by one, beside the baseline (PTS 11.3.2)."""

from collections.abc import Callable, Sequence
from typing import Final

from openpts.analysis.idle_recovery import Access, SegmentSummary
from openpts.analysis.idle_recovery_results import IdleRecoveryResults, Segment
from openpts.report import cells, ticks
from openpts.report.minutes_table import elapsed_cell, elapsed_column
from openpts.report.model import Band, Cell, Column, Figure, Page, Row, Rule, Series, Table, Verdict
from openpts.report.ticks import TimeAxis
from openpts.units import NS_PER_MS, NS_PER_S

WAIT_COLOR: Final = 2
RETURN_COLOR: Final = 0


def all_wait_states_page(results: IdleRecoveryResults, title: str) -> Page:
    """IOPS of each access over time, wait states shaded, with the baseline (Plot 11-3)."""
    if not results.segments:
        return _nothing_page("hir-3", title)
    time = ticks.time_axis("Time", 0, results.segments[-1].ended_ns)
    table = _accesses_table("hir-3-values", results.segments, time)
    figure = Figure(
        id="hir-3-plot",
        number="Plot 11-3",
        title=title,
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=ticks.linear_axis("IOPS", 0, highest_iops(results)),
        alt=f"{title}: {len(table.rows):,} accesses. {gains_text(results)}",
        series=_series(),
        rules=baseline_rule(results),
        bands=tuple(
            Band(
                "x",
                time.place(segment.began_ns),
                time.place(segment.ended_ns),
                "window" if number % 2 == 0 else "allowed",
                _state_name(segment),
            )
            for number, segment in enumerate(results.segments)
        ),
        height_px=420,
    )
    return Page("hir-3", title, (figure, Verdict(gains_text(results)), table), mandatory=True)


def wait_state_page(results: IdleRecoveryResults, segment: Segment) -> Page:
    """One wait state and its return to baseline, access by access (11.3.2)."""
    name = f"hir-ws{segment.state.number}"
    title = (
        f"HIR IOPS v Time - Wait State {segment.state.number} "
        f"({idle_text(segment)} idle) and Return to Baseline"
    )
    time = ticks.time_axis("Time", segment.began_ns, segment.ended_ns)
    table = _accesses_table(f"{name}-values", (segment,), time)
    figure = Figure(
        id=f"{name}-plot",
        number=f"Plot X-HIR-WS{segment.state.number}",
        title=title,
        kind="lines",
        table_id=table.id,
        x=time.axis,
        y=ticks.linear_axis("IOPS", 0, highest_iops(results)),
        alt=f"{title}: {len(segment.active)} accesses with pauses, {len(segment.returned)} without.",
        series=_series(),
        rules=baseline_rule(results),
    )
    return Page(name, title, (figure, *_edges(segment), table), mandatory=True)


def secondary_page(results: IdleRecoveryResults, title: str, head_line: str) -> Page:
    """IOPS, response times and processor use of the baseline and of each wait state (Plot 11-5)."""
    columns = [("Baseline", results.baseline)]
    columns += [(f"WS {segment.state.number}", segment.active_summary) for segment in results.segments]
    table = Table(
        id="hir-4-values",
        title="HIR Secondary Metrics",
        head=Column("", align="left", width=1.2),
        columns=tuple(Column(name) for name, _ in columns),
        rows=tuple(
            Row(Cell(name), tuple(_secondary_cell(name, summary) for _, summary in columns))
            for name in ("IOPS", "ART (ms)", "MRT (ms)", "Avg Power (mW)", "CPU Sys (%)", "CPU IO Wait (%)")
        ),
        note="IOPS of a wait state count its active time only.",
    )
    return Page("hir-4", title, (Verdict(head_line), table), mandatory=True)


def _secondary_cell(name: str, summary: SegmentSummary | None) -> Cell:
    if summary is None:
        return cells.missing("not reached")
    values: dict[str, Callable[[], Cell]] = {
        "IOPS": lambda: cells.number(summary.iops, 0),
        "ART (ms)": lambda: cells.latency(summary.art_ns),
        "MRT (ms)": lambda: cells.latency(summary.mrt_ns),
        "Avg Power (mW)": cells.no_power,
        "CPU Sys (%)": lambda: cells.cpu_share(summary.cpu_sys_pct, 2),
        "CPU IO Wait (%)": lambda: cells.cpu_share(summary.cpu_iowait_pct, 2),
    }
    return values[name]()


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
    return Table(
        id=table_id,
        title="Values plotted: each access at its end",
        head=elapsed_column(time),
        columns=(
            Column("IOPS, with pauses"),
            Column("IOPS, return to baseline"),
            Column("ART (ms)"),
            Column("MRT (ms)"),
        ),
        rows=tuple(
            _access_row(access, time, returned=returned)
            for segment in segments
            for returned, of_segment in ((False, segment.active), (True, segment.returned))
            for access in of_segment
        ),
        printed=False,
    )


def _access_row(access: Access, time: TimeAxis, *, returned: bool) -> Row:
    iops, nothing = cells.number(access.iops, 0), Cell("")
    return Row(
        elapsed_cell(access.ended_ns, time),
        (
            nothing if returned else iops,
            iops if returned else nothing,
            cells.latency(access.art_ns),
            cells.latency(access.mrt_ns),
        ),
    )


def _series() -> tuple[Series, ...]:
    return (
        Series("Access A (with pauses)", "column", (0,), WAIT_COLOR, style="points"),
        Series("Access C (return to baseline)", "column", (1,), RETURN_COLOR, style="points"),
    )


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


def _state_name(segment: Segment) -> str:
    return f"WS {segment.state.number}: {idle_text(segment)}"


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


def _nothing_page(page_id: str, title: str) -> Page:
    sentence = "No wait state was run: the test ends where its preconditioning is not steady (PTS 11.2)."
    return Page(page_id, title, (Verdict(sentence, "fail"),), mandatory=True)

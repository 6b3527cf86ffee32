"""Pages of the wait states of HIR: over time, one by one, beside the baseline (PTS 11.3.2).

Implements: PTS-HIR-18, PTS-HIR-23 to 28.
"""

from collections.abc import Sequence
from typing import Final

from openpts.analysis.idle_recovery import Access, SegmentSummary
from openpts.analysis.idle_recovery_results import IdleRecoveryResults, Segment
from openpts.report import cells, ticks
from openpts.report.minutes_table import elapsed_cell, elapsed_column
from openpts.report.model import Band, Block, Cell, Column, Figure, Page, Row, Rule, Series, Table, Verdict
from openpts.report.ticks import TimeAxis
from openpts.units import NS_PER_MS, NS_PER_S, format_duration

_WAIT_COLOR: Final = 2
_RETURN_COLOR: Final = 0


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
        y=ticks.linear_axis("IOPS", 0, _highest_iops(results)),
        alt=f"{title}: {len(table.rows):,} accesses. {_gains_text(results)}",
        series=_series(),
        rules=_baseline_rule(results),
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
    return Page("hir-3", title, (figure, Verdict(_gains_text(results)), table), mandatory=True)


def wait_state_page(results: IdleRecoveryResults, segment: Segment) -> Page:
    """One wait state and its return to baseline, access by access (11.3.2)."""
    name = f"hir-ws{segment.state.number}"
    title = (
        f"HIR IOPS v Time - Wait State {segment.state.number} "
        f"({format_duration(segment.state.idle_ns)} idle) and Return to Baseline"
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
        y=ticks.linear_axis("IOPS", 0, _highest_iops(results)),
        alt=f"{title}: {len(segment.active)} accesses with pauses, {len(segment.returned)} without.",
        series=_series(),
        rules=_baseline_rule(results),
    )
    return Page(name, title, (figure, *_edges(segment), table), mandatory=True)


def gain_page(results: IdleRecoveryResults, title: str) -> Page:
    """How much each wait state gains over the baseline, and how exact its pauses were (ours)."""
    table = Table(
        id="hir-x1-values",
        title="IOPS of each wait state beside the baseline and its return to baseline",
        head=Column("Wait state", align="left", width=0.8),
        columns=tuple(
            Column(label)
            for label in (
                "Idle (s)",
                "IOPS",
                "5th percentile",
                "95th percentile",
                "Gain v baseline (%)",
                "Return: IOPS",
                "Pause, mean error (ms)",
                "Pause, largest error (ms)",
                "Burst, longest excess (ms)",
            )
        ),
        rows=tuple(_gain_row(results, segment) for segment in results.segments),
        note="A burst's excess is the time that the drive took to answer what was outstanding at its end.",
    )
    blocks: tuple[Block, ...] = (table,)
    gains = [gain for segment in results.segments if (gain := results.gain_pct(segment)) is not None]
    if len(gains) > 1:
        figure = Figure(
            id="hir-x1-plot",
            number="Plot X-HIR-1",
            title=title,
            kind="lines",
            table_id=table.id,
            x=ticks.linear_axis("Idle time (s)", 0, results.segments[-1].state.idle_ns / NS_PER_S),
            y=ticks.linear_axis("Gain v baseline (%)", min(0.0, *gains), max(0.0, *gains)),
            alt=f"{title}: {_gains_text(results)}",
            series=(Series("Gain over the baseline", "column", (4,), _WAIT_COLOR),),
            rules=(Rule("Baseline", 0, "average"),),
            height_px=300,
        )
        blocks = (figure, *blocks)
    return Page("hir-x1", title, blocks)


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
            for name in ("IOPS", "ART (ms)", "MRT (ms)", "CPU Sys (%)", "CPU IO Wait (%)")
        ),
        note="IOPS of a wait state count its active time only. Average Power: not reported (no power meter).",
    )
    return Page("hir-4", title, (Verdict(head_line), table), mandatory=True)


def _secondary_cell(name: str, summary: SegmentSummary | None) -> Cell:
    if summary is None:
        return cells.missing("not reached")
    values = {
        "IOPS": lambda: cells.number(summary.iops, 0),
        "ART (ms)": lambda: cells.latency(summary.art_ns),
        "MRT (ms)": lambda: cells.latency(summary.mrt_ns),
        "CPU Sys (%)": lambda: cells.cpu_share(summary.cpu_sys_pct, 2),
        "CPU IO Wait (%)": lambda: cells.cpu_share(summary.cpu_iowait_pct, 2),
    }
    return values[name]()


def _gain_row(results: IdleRecoveryResults, segment: Segment) -> Row:
    active, returned, gain = segment.active_summary, segment.returned_summary, results.gain_pct(segment)
    idle_s = segment.state.idle_ns / NS_PER_S
    return Row(
        Cell(f"WS {segment.state.number}", idle_s),
        (
            Cell(f"{idle_s:g}", idle_s),
            _whole(active.iops if active else None),
            _whole(active.low_iops if active else None),
            _whole(active.high_iops if active else None),
            cells.missing("not reached") if gain is None else cells.percent(gain, plus=True),
            _whole(returned.iops if returned else None),
            _ms(active.mean_off_error_ns if active else None),
            _ms(active.largest_off_error_ns if active else None),
            _ms(active.longest_on_excess_ns if active else None),
        ),
    )


def _whole(value: float | None) -> Cell:
    return cells.missing("too few accesses") if value is None else cells.number(value, 0)


def _ms(value_ns: float | None) -> Cell:
    return cells.missing("no pause") if value_ns is None else cells.number(value_ns / NS_PER_MS, 3)


def _edges(segment: Segment) -> tuple[Verdict, ...]:
    summary = segment.active_summary
    if summary is None or summary.largest_off_error_ns is None:
        return ()
    return (
        Verdict(
            f"{summary.accesses} bursts. Pauses of {format_duration(segment.state.idle_ns)}: largest error "
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
        Series("Access A (with pauses)", "column", (0,), _WAIT_COLOR, style="points"),
        Series("Access C (return to baseline)", "column", (1,), _RETURN_COLOR, style="points"),
    )


def _baseline_rule(results: IdleRecoveryResults) -> tuple[Rule, ...]:
    return (Rule("Baseline", results.baseline.iops, "average"),) if results.baseline else ()


def _highest_iops(results: IdleRecoveryResults) -> float:
    return max(
        (access.iops for segment in results.segments for access in (*segment.active, *segment.returned)),
        default=1.0,
    )


def _state_name(segment: Segment) -> str:
    return f"WS {segment.state.number}: {format_duration(segment.state.idle_ns)}"


def _gains_text(results: IdleRecoveryResults) -> str:
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

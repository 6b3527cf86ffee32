"""Tables of XSR: averages and peaks of each group, time until bandwidth is back (PTS 12.3.2.3, 12.3.2.4)."""

from collections.abc import Callable
from typing import Final

from openpts.pages import cells
from openpts.pages.kit import Col, PlotName, Required, grid, page, rows_table
from openpts.pages.model import Block, Cell, Column, Page, Row, Verdict
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions
from openpts.procedures.pts.xsr.results import (
    MEDIAN_MINUTES,
    STABLE_SHARE,
    CrossStimulusResults,
    GroupSummary,
    Recovery,
)
from openpts.procedures.pts.xsr.words import group_name, rate_cell
from openpts.units import NS_PER_S, format_duration

_NS_PER_MIN: Final = 60 * NS_PER_S
TABLE: Final = Required("5", "Plot 12-3")


def table_page(results: CrossStimulusResults, conditions: CrossStimulusConditions, head_line: str) -> Page:
    """Throughput, ART, MRT of each group, average and peak, and the recovery time (Plot 12-3)."""
    name = TABLE.named("xsr", "XSR Table: TP, ART, MRT and BW Recovery Time")
    if not results.groups:
        return page(name, Verdict("No access group was begun.", "fail"))
    columns = [
        Column(
            f"{format_duration(group.end_ns - group.start_ns)}, {kind} {group_name(group.number, conditions)}"
        )
        for group in results.groups
        for kind in ("Avg", "Peak")
    ]
    rows = (
        _row("MB/s", results, _rates),
        _row("ART (ms)", results, lambda g: (cells.latency(g.art_ns), cells.latency(g.peak_art_ns))),
        _row("MRT (ms)", results, lambda g: (Cell("-"), cells.latency(g.mrt_ns))),
    )
    table = rows_table(
        "xsr-table",
        f"{name.number} - Recovery (Min): {_recovery_text(results.peak_recovery_ns)}",
        (":<0.6", *columns),
        rows,
        note="Peaks are the best minute's throughput and the worst minute's ART; MRT is the largest of all "
        "I/Os. Recovery: from the end of group 2 to the end of group 3's best minute, as 12.1 defines it.",
    )
    return page(name, Verdict(head_line), table, *_recovery_blocks(results))


def secondary_page(
    results: CrossStimulusResults,
    conditions: CrossStimulusConditions,
    power: Callable[[int], Cell],
    head_line: str,
) -> Page:
    """Average power, by the number of a group, and processor use of each (Plot 12-4)."""
    values: dict[str, Callable[[GroupSummary], Cell]] = {
        "Avg Power (mW)": lambda group: power(group.number),
        "CPU Sys (%)": lambda group: cells.cpu_share(group.cpu_sys_pct, 2),
        "CPU IO Wait (%)": lambda group: cells.cpu_share(group.cpu_iowait_pct, 2),
    }
    name = PlotName("xsr-6", "", "XSR Secondary Metrics")
    shown = grid(
        "xsr-secondary",
        name.title,
        Col("", cells.words, align="left", width=0.8),
        [(Column(group_name(group.number, conditions)), group) for group in results.groups],
        values,
        cell=lambda item, group: values[item](group),
    )
    return page(name, Verdict(head_line), shown, mandatory=False)


def _rates(group: GroupSummary) -> tuple[Cell, Cell]:
    return rate_cell(group.bandwidth_bytes_per_s), rate_cell(group.peak_bandwidth_bytes_per_s)


def _recovery_blocks(results: CrossStimulusResults) -> tuple[Block, ...]:
    """Our own measures of recovery: in noise a peak may come at any time, while a share is first reached only
    once.
    """
    if not results.recoveries:
        return (Verdict("Recovery: n/a, the third access group was not reached.", "fail"),)
    table = rows_table(
        "xsr-recovery",
        "X-XSR-1 - Recovery by rule (openpts' own)",
        "Rule:<1.8 | Throughput (MB/s) | Time from the end of group 2 (min)",
        tuple(
            Row(
                Cell(f"First minute at or above {100 * recovery.share:g} % of group 1's last hour"),
                (rate_cell(recovery.bandwidth_bytes_per_s), _minutes_cell(recovery.after_ns)),
            )
            for recovery in results.recoveries
        )
        + _peak_rows(results),
        note="Each time ends with the minute named; the time to the highest minute (12.1) is in the table "
        "above.",
    )
    stable = results.stable_recovery
    return (table, *(() if stable is None else (Verdict(_stable_text(stable)),)))


def _peak_rows(results: CrossStimulusResults) -> tuple[Row, ...]:
    """The peak of group 3, where noise of single minutes is left out."""
    peak = results.median_peak
    if peak is None:
        return ()
    rule = f"Highest median of {MEDIAN_MINUTES} minutes of group 3: its last minute"
    return (Row(Cell(rule), (rate_cell(peak.bandwidth_bytes_per_s), _minutes_cell(peak.after_ns))),)


def _stable_text(recovery: Recovery) -> str:
    rule = f"first minute at or above {100 * STABLE_SHARE:g} % of group 1's average"
    if recovery.after_ns is None:
        return f"Recovery by the {rule}: not reached in group 3."
    return f"Recovery by the {rule}: {recovery.after_ns / _NS_PER_MIN:.2f} min after the end of group 2."


def _row(
    name: str, results: CrossStimulusResults, of_group: Callable[[GroupSummary], tuple[Cell, Cell]]
) -> Row:
    return Row(Cell(name), tuple(cell for group in results.groups for cell in of_group(group)))


def _minutes_cell(time_ns: int | None) -> Cell:
    return cells.number_or("not reached", time_ns, 2, per=_NS_PER_MIN)


def _recovery_text(time_ns: int | None) -> str:
    return "n/a" if time_ns is None else f"{time_ns / _NS_PER_MIN:.2f}"

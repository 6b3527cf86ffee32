"""Tables of XSR: averages and peaks of each group, time until bandwidth is back (PTS 12.3.2.3, 12.3.2.4)."""

from collections.abc import Callable
from typing import Final

from openpts.pages import cells
from openpts.pages.kit import Col, PlotName, Required, page, rows_table
from openpts.pages.model import Block, Cell, Column, Page, Row, Verdict
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, MRT, THROUGHPUT, transpose
from openpts.procedures.pts.xsr.conditions import CrossStimulusConditions
from openpts.procedures.pts.xsr.results import (
    MEDIAN_MINUTES,
    STABLE_SHARE,
    CrossStimulusResults,
    GroupSummary,
    Recovery,
)
from openpts.units import MB, NS_PER_S, format_duration

_NS_PER_MIN: Final = 60 * NS_PER_S
TABLE: Final = Required("5", "Plot 12-3")


def table_page(results: CrossStimulusResults, conditions: CrossStimulusConditions, head_line: str) -> Page:
    """Throughput, ART, MRT of each group, average and peak, and the recovery time (Plot 12-3)."""
    name = TABLE.named("xsr", "XSR Table: TP, ART, MRT and BW Recovery Time")
    if not results.groups:
        return page(name, Verdict("No access group was begun.", "fail"))
    columns = [
        Column(f"{format_duration(group.duration_ns)}, {kind} {conditions.groups[group.number - 1].name}")
        for group in results.groups
        for kind in ("Avg", "Peak")
    ]
    rows = (
        Row(
            Cell(metric.label),
            tuple(metric.cell(one) for group in results.groups for one in (group, group.peak(metric))),
        )
        for metric in (THROUGHPUT, ART)
    )
    longest = (cell for group in results.groups for cell in (Cell("-"), MRT.cell(group)))
    table = rows_table(
        "xsr-table",
        f"{name.number} - Recovery (Min): {_recovery_text(results.peak_recovery_ns)}",
        (":<0.6", *columns),
        (*rows, (MRT.label, *longest)),
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
    rows: list[Col[GroupSummary]] = [
        Col("Avg Power (mW)", lambda group: power(group.number)),
        Col(CPU_SYS.label, CPU_SYS.cell),
        Col(CPU_IOWAIT.label, CPU_IOWAIT.cell),
    ]
    name = PlotName("xsr-6", "", "XSR Secondary Metrics")
    groups = [(conditions.groups[group.number - 1].name, group) for group in results.groups]
    head: Col[str] = Col("", cells.words, align="left", width=0.8)
    shown = transpose("xsr-secondary", name.title, rows, groups, head=head)
    return page(name, Verdict(head_line), shown, mandatory=False)


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
                (THROUGHPUT.shown(recovery.bandwidth_bytes_per_s / MB), _minutes_cell(recovery.after_ns)),
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
    return (
        Row(Cell(rule), (THROUGHPUT.shown(peak.bandwidth_bytes_per_s / MB), _minutes_cell(peak.after_ns))),
    )


def _stable_text(recovery: Recovery) -> str:
    rule = f"first minute at or above {100 * STABLE_SHARE:g} % of group 1's average"
    if recovery.after_ns is None:
        return f"Recovery by the {rule}: not reached in group 3."
    return f"Recovery by the {rule}: {recovery.after_ns / _NS_PER_MIN:.2f} min after the end of group 2."


def _minutes_cell(time_ns: int | None) -> Cell:
    return cells.number_or("not reached", time_ns, 2, per=_NS_PER_MIN)


def _recovery_text(time_ns: int | None) -> str:
    return "n/a" if time_ns is None else f"{time_ns / _NS_PER_MIN:.2f}"

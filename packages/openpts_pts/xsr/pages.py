"""Pages of XSR: throughput and response times over time, both transitions, table of groups (PTS 12.3.2)."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from statistics import median
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of, pieces_between, sum_parts, whole_minutes
from openpts.procedures.kit.header import demand_text
from openpts.procedures.kit.steps import (
    ART,
    CPU_IOWAIT,
    CPU_SYS,
    IOPS,
    MRT,
    THROUGHPUT,
    HasFigures,
    Metric,
    transpose,
)
from openpts.units import MB, NS_PER_S, format_duration
from openpts.vocabulary.sample import Measured, Sample
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, Required, page, rows_table, values_of
from openpts_pages.model import Axis, Band, Block, Cell, Column, Mark, Page, Row, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.shared.minutes_table import elapsed_cell, list_minutes, minutes_axis
from openpts_pts.xsr import CrossStimulusConditions

RECOVERED_SHARES: Final = (0.80, 0.90, 0.95, 1.00)
STABLE_SHARE: Final = 0.95
MEDIAN_MINUTES: Final = 5


class GroupSummary(Measured, frozen=True, kw_only=True):
    """One access group over its whole length, with its minutes and those of them that are ``whole``.

    ``start_ns`` and ``end_ns`` count from the start of the first group.
    """

    number: int
    start_ns: int
    end_ns: int
    minutes: tuple[Minute, ...]
    whole: tuple[Minute, ...]

    @property
    def duration_ns(self) -> int:
        """How long it was applied."""
        return self.end_ns - self.start_ns

    def peak(self, metric: Metric[HasFigures]) -> Minute | None:
        """The whole minute with the highest figure."""
        found = [(value, minute) for minute in self.whole if (value := metric.of(minute)) is not None]
        return max(found, key=itemgetter(0))[1] if found else None


class Recovery(Struct, frozen=True):
    """The first minute of group 3 that reached a bandwidth; ``after_ns`` from the end of group 2 to its end.

    None where no minute did.
    """

    share: float
    bandwidth_bytes_per_s: float
    after_ns: int | None


class MedianPeak(Struct, frozen=True):
    """The highest median of five consecutive minutes of group 3: a peak that one minute of noise can't make.

    ``after_ns`` is from the end of group 2 to the end of the fifth minute.
    """

    bandwidth_bytes_per_s: float
    after_ns: int


class CrossStimulusResults(Struct, frozen=True):
    """``peak_recovery_ns`` is the specification's recovery time: to the end of group 3's best minute."""

    groups: tuple[GroupSummary, ...]
    peak_recovery_ns: int | None
    recoveries: tuple[Recovery, ...]
    stable_recovery: Recovery | None
    median_peak: MedianPeak | None = None


def analyze_cross_stimulus(groups: Sequence[Sequence[Sample]], minute_ns: int) -> CrossStimulusResults:
    """Sum up the groups there are, each as its consecutive steps. Empty groups were not reached."""
    reached = [samples for samples in groups if samples]
    origin_ns = reached[0][0].started_ns if reached else 0
    summaries = tuple(
        _summarize(number, samples, minute_ns, origin_ns) for number, samples in enumerate(reached, start=1)
    )
    if len(summaries) < 3:
        return CrossStimulusResults(summaries, None, (), None)
    first, second, third = summaries[:3]
    minutes, best = third.whole, third.peak(THROUGHPUT)
    settled = _last_hour(first, minute_ns)
    return CrossStimulusResults(
        groups=summaries,
        peak_recovery_ns=None if best is None else _after_ns(best, second, third),
        recoveries=tuple(
            _first_at(minutes, second, third, share, share * settled) for share in RECOVERED_SHARES
        ),
        stable_recovery=_first_at(
            minutes, second, third, STABLE_SHARE, STABLE_SHARE * first.bandwidth_bytes_per_s
        ),
        median_peak=_median_peak(minutes, second, third),
    )


def _summarize(number: int, samples: Sequence[Sample], minute_ns: int, origin_ns: int) -> GroupSummary:
    minutes = minutes_of(samples, minute_ns)
    return GroupSummary(
        number=number,
        start_ns=samples[0].started_ns - origin_ns,
        end_ns=samples[-1].started_ns + samples[-1].elapsed_ns - origin_ns,
        minutes=minutes,
        whole=tuple(whole_minutes(minutes, minute_ns)),
        **sum_parts(samples),
    )


def _last_hour(group: GroupSummary, minute_ns: int) -> float:
    """Bandwidth of the last 60 minutes: what the drive had settled to before the change."""
    last = [minute for minute in group.minutes if minute.end_ns > group.duration_ns - 60 * minute_ns]
    return Measured(**sum_parts(last)).bandwidth_bytes_per_s


def _first_at(
    minutes: Sequence[Minute], second: GroupSummary, third: GroupSummary, share: float, least: float
) -> Recovery:
    reached = (minute for minute in minutes if minute.bandwidth_bytes_per_s >= least)
    minute = next(reached, None)
    return Recovery(share, least, None if minute is None else _after_ns(minute, second, third))


def _median_peak(minutes: Sequence[Minute], second: GroupSummary, third: GroupSummary) -> MedianPeak | None:
    """The first five minutes whose median is the highest; None where there are fewer."""
    fives = [minutes[last - MEDIAN_MINUTES : last] for last in range(MEDIAN_MINUTES, len(minutes) + 1)]
    medians = [median(minute.bandwidth_bytes_per_s for minute in five) for five in fives]
    if not medians:
        return None
    highest = max(medians)
    return MedianPeak(highest, _after_ns(fives[medians.index(highest)][-1], second, third))


def _after_ns(minute: Minute, second: GroupSummary, third: GroupSummary) -> int:
    """From the end of group 2 to the end of a minute of group 3, the gap between both included."""
    return third.start_ns + minute.end_ns - second.end_ns


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


_COLOR: Final = 2
_INTERVAL_COLOR: Final = 6
_MINUTES_BEFORE: Final = 10
_MINUTES_AFTER: Final = 60
_VALUES: Final = "xsr-values"
_WHOLE: Final = Required("1", "Plot 12-1")
_TRANSITIONS: Final = tuple(Required(f"transition-{n}", f"Plot 12-1.{n}") for n in (1, 2))
_TIMES: Final = Required("4", "Plot 12-2")
REQUIRED: Final = (_WHOLE, *_TRANSITIONS, _TIMES)
_Placed = tuple[int, Cell, bool]  # when, throughput, whether it is a minute's


class _Quantity(Struct, frozen=True):
    """One of the three courses over time: which column of the values, on what axis."""

    id: str
    name: str
    column: int
    axis: Callable[[Sequence[float]], Axis]


def _throughput_axis(values: Sequence[float]) -> Axis:
    return ticks.linear_axis("Throughput (MB/s)", 0, max(values, default=1.0))


def _latency_axis(title: str) -> Callable[[Sequence[float]], Axis]:
    return lambda values: ticks.log_axis(title, values)


_THROUGHPUT: Final = _Quantity("tp", "Throughput", 0, _throughput_axis)
_QUANTITIES: Final = (
    _THROUGHPUT,
    _Quantity("art", "ART", 1, _latency_axis("ART (ms)")),
    _Quantity("mrt", "MRT", 2, _latency_axis("MRT (ms)")),
)


def throughput_page(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> Page:
    """Throughput of all access groups over time (Plot 12-1)."""
    name = _WHOLE.named("xsr", "XSR Throughput v Time - All Access Groups")
    shown = _all_minutes(results)
    figure = _course(results, conditions, _THROUGHPUT, shown, 400).over(name, shown) if shown.rows else None
    return page(name, figure, Verdict(_course_text(results, conditions)), shown)


def group_page(group: GroupSummary, conditions: CrossStimulusConditions) -> Page:
    """One access group by itself (12.3.2)."""
    name = PlotName(
        f"xsr-group-{group.number}",
        f"Plot X-XSR-G{group.number}",
        f"XSR Throughput v Time - Access Group {group.number}: {conditions.groups[group.number - 1].name}",
    )
    time = minutes_axis(group.minutes)
    placed = [(minute.end_ns, minute) for minute in group.minutes]
    shown = _minutes_table(f"{name.id}-values", placed, time)
    plot = Plot(
        x=time.axis,
        y=_throughput_axis,
        series=(Series("1 min", "column", (_THROUGHPUT.column,), _COLOR, style="line"),),
        alt=_span_text(values_of(shown, _THROUGHPUT.column), "MB/s"),
    )
    return page(name, plot.over(name, shown), Verdict(_summary_text(group)), shown)


def transition_page(
    results: CrossStimulusResults,
    conditions: CrossStimulusConditions,
    before: Sequence[Sample],
    after: Sequence[Sample],
    number: int,
) -> Page:
    """The change from group ``number`` to the next, enlarged, from the intervals as they were measured."""
    names = [group.name for group in conditions.groups[number - 1 : number + 1]]
    name = _TRANSITIONS[number - 1].named("xsr", f"XSR enlarged: {names[0]} to {names[1]}")
    if len(results.groups) <= number:
        return page(name, Verdict(f"Access group {number + 1} was not reached.", "fail"))
    first_ns, last_ns = -_MINUTES_BEFORE * conditions.minute_ns, _MINUTES_AFTER * conditions.minute_ns
    time = ticks.time_axis("Time from the change", first_ns, last_ns)
    shown = _transition_table(
        f"{name.id}-values",
        [
            *_intervals(before, after, (first_ns, last_ns)),
            *_minutes(results.groups[number - 1], results.groups[number], (first_ns, last_ns)),
        ],
        time,
    )
    span = _span_text(values_of(shown), "MB/s")
    plot = Plot(
        x=time.axis,
        y=_throughput_axis,
        series=(
            Series("as measured", "column", (0,), _INTERVAL_COLOR, style="line"),
            Series("1 min", "column", (1,), _COLOR, style="mean", emphasis=True),
        ),
        alt=span,
        marks=_recovery_mark(results, time, last_ns) if number == 2 else (),
    )
    return page(name, plot.over(name, shown), Verdict(f"Intervals as measured: {span}"), shown)


def response_times_page(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> Page:
    """Throughput, ART and MRT over the same time (Plot 12-2)."""
    name = _TIMES.named("xsr", "XSR Throughput, ART & MRT v Time")
    if not results.groups:
        return Page(name.id, name.title, (Verdict("No access group was begun.", "fail"),), mandatory=True)
    shown = _all_minutes(results)
    panels = (
        _course(results, conditions, quantity, shown, 175).over(
            PlotName(name.id, name.number, f"{name.title}: {quantity.name}"), shown
        )
        for quantity in _QUANTITIES
    )
    return page(name, *panels)


def _course(
    results: CrossStimulusResults,
    conditions: CrossStimulusConditions,
    quantity: _Quantity,
    shown: Table,
    height_px: int,
) -> Plot:
    time = _whole_time(results)
    values = values_of(shown, quantity.column)
    return Plot(
        part=f"{quantity.id}-plot",
        x=time.axis,
        y=quantity.axis,
        series=(Series(f"{quantity.name}, 1 min", "column", (quantity.column,), _COLOR, style="line"),),
        alt=_span_text(values, "MB/s" if quantity is _THROUGHPUT else "ms"),
        bands=tuple(
            Band(
                "x",
                time.place(group.start_ns),
                time.place(group.end_ns),
                "window" if group.number % 2 else "allowed",
                _band_name(group.number, conditions),
            )
            for group in results.groups
        ),
        height_px=height_px,
        zoom_group="xsr-time",
    )


def _whole_time(results: CrossStimulusResults) -> TimeAxis:
    return ticks.time_axis("Time", 0, max((group.end_ns for group in results.groups), default=0))


def _all_minutes(results: CrossStimulusResults) -> Table:
    placed = [
        (group.start_ns + minute.end_ns, minute) for group in results.groups for minute in group.minutes
    ]
    return _minutes_table(_VALUES, placed, _whole_time(results))


def _minutes_table(table_id: str, placed: Sequence[tuple[int, Minute]], time: TimeAxis) -> Table:
    """Each minute with the moment of its end."""
    return list_minutes(
        table_id, "Values plotted: each minute", _COLUMNS, placed, time=time, end_ns=itemgetter(0)
    )


_COLUMNS: Final[tuple[Col[tuple[int, Minute]], ...]] = tuple(
    metric.column(itemgetter(1))
    for metric in (replace(THROUGHPUT, label="Throughput (MB/s)"), ART, MRT, replace(IOPS, decimals=0))
)


def _transition_table(table_id: str, placed: Sequence[_Placed], time: TimeAxis) -> Table:
    return rows_table(
        table_id,
        "Values plotted: each interval at its middle, each minute at its middle",
        (Column(time.axis.title, width=0), "Throughput (MB/s) | Throughput, 1 min (MB/s)"),
        (
            (elapsed_cell(at_ns, time), *((Cell("-"), rate) if is_minute else (rate, Cell("-"))))
            for at_ns, rate, is_minute in sorted(placed, key=lambda entry: entry[0])
        ),
        printed=False,
    )


def _intervals(before: Sequence[Sample], after: Sequence[Sample], span_ns: tuple[int, int]) -> list[_Placed]:
    """What was measured around the change, at its middle, counted from the change."""
    change_ns = after[0].started_ns
    near = [*_near(before, change_ns, span_ns[0], 0), *_near(after, change_ns, 0, span_ns[1])]
    return [(at_ns, THROUGHPUT.cell(measured), False) for at_ns, measured in near]


def _minutes(before: GroupSummary, after: GroupSummary, span_ns: tuple[int, int]) -> list[_Placed]:
    """The minutes of both groups around the change; the one that the span cuts is left out."""
    placed = [
        (
            group.start_ns - after.start_ns + minute.start_ns,
            group.start_ns - after.start_ns + minute.end_ns,
            minute,
        )
        for group in (before, after)
        for minute in group.minutes
    ]
    return [
        ((start_ns + end_ns) // 2, THROUGHPUT.cell(minute), True)
        for start_ns, end_ns, minute in placed
        if span_ns[0] <= start_ns and end_ns <= span_ns[1]
    ]


def _near(
    samples: Sequence[Sample], change_ns: int, first_ns: int, last_ns: int
) -> list[tuple[int, Measured]]:
    """Intervals between two moments, counted from the change, each at its middle."""
    offset_ns = samples[0].started_ns - change_ns
    near = pieces_between(samples, first_ns - offset_ns, last_ns - offset_ns)
    return [(offset_ns + piece.middle_ns, piece.measured) for piece in near]


def _recovery_mark(results: CrossStimulusResults, time: TimeAxis, last_ns: int) -> tuple[Mark, ...]:
    stable = results.stable_recovery
    if stable is None or stable.after_ns is None or stable.after_ns > last_ns:
        return ()
    rate = stable.bandwidth_bytes_per_s / MB
    return (Mark(f"{100 * STABLE_SHARE:g} % of group 1", time.place(stable.after_ns), rate),)


def _span_text(values: Sequence[float], unit: str) -> str:
    if not values:
        return "nothing was measured."
    return f"from {cells.fixed(min(values), 2)} to {cells.fixed(max(values), 2)} {unit}."


def _band_name(number: int, conditions: CrossStimulusConditions) -> str:
    group = conditions.groups[number - 1]
    return f"{group.name}, {demand_text(group.tc, group.qd)}"


def _summary_text(group: GroupSummary) -> str:
    art, mrt = (
        f"{cell.text} ms" if cell.value is not None else cell.text
        for cell in (ART.cell(group), MRT.cell(group))
    )
    return (
        f"Access group {group.number}: {THROUGHPUT.cell(group).text} MB/s on average "
        f"over {format_duration(group.duration_ns)}, ART {art}, MRT {mrt}."
    )


def _course_text(results: CrossStimulusResults, conditions: CrossStimulusConditions) -> str:
    parts = [
        f"{conditions.groups[group.number - 1].name} {THROUGHPUT.cell(group).text} MB/s"
        for group in results.groups
    ]
    return f"Averages: {'; '.join(parts)}." if parts else "No access group was completed."

"""The report of the cross stimulus recovery test: access groups, recovery, pages (PTS 12.3).

The recovery that the specification asks for ends at the highest bandwidth of group 3, which in noise may come
at any time. Key values are the first minutes that reach a share of group 1's level, which a second lab can
repeat.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from statistics import median
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of, pieces_between, sum_parts, whole_minutes
from openpts.analysis.uncertainty import budget, noise_of, of_course, places_alike, rectangular
from openpts.procedures.kit import header, steps
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.steps import ART, CPU_IOWAIT, CPU_SYS, IOPS, MRT, THROUGHPUT
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_S, format_duration
from openpts.vocabulary.sample import Measured, Phase, Sample
from openpts.vocabulary.uncertainty import Uncertainty
from openpts_pages import cells, measure, ticks
from openpts_pages.kit import Col, Plot, PlotName, Required, page, rows_table, values_of
from openpts_pages.model import Axis, Band, Block, Cell, Column, Mark, Page, Row, Series, Table, Verdict
from openpts_pts.shared.minutes_table import elapsed_cell, list_minutes, minutes_axis
from openpts_pts.shared.preparation_page import preparation_page
from openpts_pts.xsr import AccessGroup, CrossStimulusConditions
from openpts_work.energy_page import power_cell
from openpts_work.work import DriveWork

RECOVERED_SHARES: Final = (0.80, 0.90, 0.95, 1.00)
KEY_SHARES: Final = (0.90, 0.95)
MEDIAN_MINUTES: Final = 5
_NS_PER_MIN: Final = 60 * NS_PER_S
_MINUTES_BEFORE, _MINUTES_AFTER = 10, 60  # around a change of stimulus
# A group lasts until its last I/O is answered: a little longer than planned, or shorter if nothing was.
_WHOLE: Final = 0.99
_NO_STEADY_STATE: Final = "n.a."
_COLOR, _INTERVAL_COLOR = 2, 6

_PLOT: Final = Required("1", "Plot 12-1")
_TRANSITIONS: Final = tuple(Required(f"transition-{n}", f"Plot 12-1.{n}") for n in (1, 2))
_TIMES: Final = Required("4", "Plot 12-2")
_TABLE: Final = Required("5", "Plot 12-3")
REQUIRED: Final = (_PLOT, *_TRANSITIONS, _TIMES, _TABLE)


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

    def peak(self, metric: steps.Metric[steps.HasFigures]) -> Minute | None:
        """The whole minute with the highest figure."""
        found = [(value, minute) for minute in self.whole if (value := metric.of(minute)) is not None]
        return max(found, key=itemgetter(0))[1] if found else None


class Recovery(Struct, frozen=True):
    """When group 3 reached a bandwidth: from the end of group 2 to that of the minute; None for never.

    ``share`` is what the bandwidth is of group 1's, 0 where it is another one.
    """

    bandwidth_bytes_per_s: float
    after_ns: int | None
    share: float = 0


class CrossStimulusResults(Struct, frozen=True):
    """``peak_recovery_ns`` is the specification's recovery time: to the end of group 3's best minute.

    ``median_peak`` is a peak that one minute of noise can't make: the highest median of five consecutive
    minutes of group 3, to the end of the fifth.
    """

    groups: tuple[GroupSummary, ...]
    peak_recovery_ns: int | None = None
    recoveries: tuple[Recovery, ...] = ()
    median_peak: Recovery | None = None

    def to_share(self, share: float) -> Recovery | None:
        """When group 3 was back at a share of the level before; None if the group was not reached."""
        return next((one for one in self.recoveries if one.share == share), None)


def analyze_cross_stimulus(groups: Sequence[Sequence[Sample]], minute_ns: int) -> CrossStimulusResults:
    """Sum up the groups there are, each as its consecutive steps. Empty groups were not reached."""
    reached = [samples for samples in groups if samples]
    origin_ns = reached[0][0].started_ns if reached else 0
    summaries = []
    for number, samples in enumerate(reached, start=1):
        minutes = minutes_of(samples, minute_ns)
        summaries.append(
            GroupSummary(
                number=number,
                start_ns=samples[0].started_ns - origin_ns,
                end_ns=samples[-1].started_ns + samples[-1].elapsed_ns - origin_ns,
                minutes=minutes,
                whole=tuple(whole_minutes(minutes, minute_ns)),
                **sum_parts(samples),
            )
        )
    if len(summaries) < 3:
        return CrossStimulusResults(tuple(summaries))
    first, second, third = summaries[:3]

    def after_ns(minute: Minute) -> int:  # the gap between both groups included
        return third.start_ns + minute.end_ns - second.end_ns

    def first_at(share: float, level: float) -> Recovery:
        least = share * level
        after = (after_ns(minute) for minute in third.whole if minute.bandwidth_bytes_per_s >= least)
        return Recovery(least, next(after, None), share)

    # what the drive had settled to before the change
    last_hour = [minute for minute in first.minutes if minute.end_ns > first.duration_ns - 60 * minute_ns]
    settled = Measured(**sum_parts(last_hour)).bandwidth_bytes_per_s
    fives = [third.whole[end - MEDIAN_MINUTES : end] for end in range(MEDIAN_MINUTES, len(third.whole) + 1)]
    medians = (
        Recovery(median(minute.bandwidth_bytes_per_s for minute in five), after_ns(five[-1]))
        for five in fives
    )
    best = third.peak(THROUGHPUT)
    return CrossStimulusResults(
        groups=tuple(summaries),
        peak_recovery_ns=None if best is None else after_ns(best),
        recoveries=tuple(first_at(share, settled) for share in RECOVERED_SHARES),
        median_peak=max(medians, key=lambda one: one.bandwidth_bytes_per_s, default=None),
    )


class CrossStimulusReport(Struct, frozen=True):
    """What a run found, and its pages; ``samples`` are those of each access group."""

    conditions: CrossStimulusConditions
    samples: list[list[Sample]]
    results: CrossStimulusResults

    @property
    def applied(self) -> list[tuple[AccessGroup, GroupSummary]]:
        """The access groups that were begun, as planned and as measured."""
        return list(zip(self.conditions.groups, self.results.groups, strict=False))

    @property
    def completed(self) -> int:
        """How many access groups came to their end."""
        return sum(map(self.is_whole, self.results.groups))

    def is_whole(self, group: GroupSummary) -> bool:
        """Whether it came to its end."""
        return group.duration_ns >= _WHOLE * self.conditions.groups[group.number - 1].duration_ns

    def verdict(self) -> Verdict:
        """Whether all groups were applied, and the recovery."""
        required = len(self.conditions.groups)
        back = "; ".join(f"{share:.0%} {self._when(share)}".replace("%", " %") for share in KEY_SHARES)
        text = f"Throughput of group 3 against the level before: {back}."
        if self.completed < required:
            return Verdict(f"{self.completed} of {required} access groups were completed. {text}", "fail")
        return Verdict(f"All access groups were applied. {text}")

    def _when(self, share: float) -> str:
        after = _recovered_after(self, share)
        return "not reached" if after is None else f"after {after / _NS_PER_MIN:.2f} min"

    def measures(self) -> Iterator[measure.Measured]:
        """The average of each group, and the recoveries; that to the peak is no key value."""
        for planned, group in self.applied:
            start_ns = self.samples[group.number - 1][0].started_ns
            rates = [
                (start_ns + one.start_ns, one.elapsed_ns, one.bandwidth_bytes_per_s / MB)
                for one in group.whole
            ]
            note = "" if self.is_whole(group) else f"cut short: {format_duration(group.duration_ns)}"
            subject = measure.Subject(str(group.number), f"group{group.number}", steady=_NO_STEADY_STATE)
            average = _GROUP.of(replace(THROUGHPUT.cell(group), note=note), subject)
            yield replace(average, explanation=planned.workload.title, uncertainty=of_course(rates))
        for one in _RECOVERIES:
            yield one.of(self, measure.Subject(steady=_NO_STEADY_STATE))

    def recovery_uncertainty(self) -> Uncertainty:
        """The resolution of a minute, unless noise decides which one is the highest."""
        rates = [minute.bandwidth_bytes_per_s for minute in self.results.groups[2].whole]
        alike, place = places_alike(rates), rates.index(max(rates))
        if alike[0] < place - 1 or alike[-1] > place + 1:
            reason = f"noise decides which minute is the highest: {len(alike)} of them can't be distinguished"
            return Uncertainty(reason=reason)
        return self._between(alike[0], place, alike[-1])

    def share_uncertainty(self, share: float) -> Uncertainty | None:
        """From the first minute that noise may have kept below the share to the first surely above it."""
        recovery = self.results.to_share(share)
        if recovery is None:
            return None
        rates = [minute.bandwidth_bytes_per_s for minute in self.results.groups[2].whole]
        reach = noise_of(rates)
        early, place, late = (
            next((n for n, rate in enumerate(rates) if rate >= recovery.bandwidth_bytes_per_s + off), None)
            for off in (-reach, 0, reach)
        )
        if early is None or place is None or late is None:
            return Uncertainty(reason="noise decides whether the level is reached")
        return self._between(early, place, late)

    def _between(self, first: int, place: int, last: int) -> Uncertainty:
        """The resolution of a minute, of minutes that may all be the one."""
        minutes, start_ns = self.results.groups[2].whole, self.samples[2][0].started_ns
        reach_ns = max(
            minutes[place].end_ns - minutes[first].start_ns, minutes[last].end_ns - minutes[place].end_ns
        )
        span = (start_ns + minutes[0].start_ns, start_ns + minutes[-1].end_ns)
        return budget([rectangular("resolution", reach_ns / _NS_PER_MIN)], spans=(span,))

    def pages(self, run: Run) -> Iterator[Page]:
        """In the order of 12.3."""
        head_line = header.head_line(run, Phase.ACCESS_GROUP)
        yield preparation_page(run, "xsr-preparation", "XSR Purge Report")
        yield self.throughput()
        for planned, group in self.applied:
            yield _group_page(planned, group)
        for number in range(1, len(self.conditions.groups)):
            yield self.transition(number)
        yield self.response_times()
        yield self.table(head_line)
        yield self.secondary(run, head_line)

    @property
    def time(self) -> ticks.TimeAxis:
        """The axis of all groups."""
        return ticks.time_axis("Time", 0, max((group.end_ns for group in self.results.groups), default=0))

    def every_minute(self) -> Table:
        """The values of all plots over the whole time."""
        placed = [
            (group.start_ns + one.end_ns, one) for group in self.results.groups for one in group.minutes
        ]
        return _minutes_table("xsr-values", placed, self.time)

    def course(self, name: PlotName, shown: Table, quantity: "_Quantity", height_px: int) -> Block:
        """A quantity over the whole time, the groups as bands."""
        bands = tuple(
            Band(
                "x",
                self.time.place(group.start_ns),
                self.time.place(group.end_ns),
                "window" if group.number % 2 else "allowed",
                f"{planned.name}, {header.demand_text(planned.tc, planned.qd)}",
            )
            for planned, group in self.applied
        )
        return Plot(
            part=f"{quantity.id}-plot",
            x=self.time.axis,
            y=quantity.axis,
            series=(Series(f"{quantity.name}, 1 min", "column", (quantity.column,), _COLOR, style="line"),),
            alt=_span_text(values_of(shown, quantity.column), quantity.unit),
            bands=bands,
            height_px=height_px,
            zoom_group="xsr-time",
        ).over(name, shown)

    def throughput(self) -> Page:
        """Throughput of all access groups over time (Plot 12-1)."""
        name = _PLOT.named("xsr", "XSR Throughput v Time - All Access Groups")
        shown = self.every_minute()
        averages = [f"{planned.name} {THROUGHPUT.cell(group).text} MB/s" for planned, group in self.applied]
        text = f"Averages: {'; '.join(averages)}." if averages else "No access group was completed."
        figure = self.course(name, shown, _QUANTITIES[0], 400) if shown.rows else None
        return page(name, figure, Verdict(text), shown)

    def transition(self, number: int) -> Page:
        """The change from group ``number`` to the next, enlarged, from the intervals as measured."""
        planned, groups = self.conditions.groups, self.results.groups
        title = f"XSR enlarged: {planned[number - 1].name} to {planned[number].name}"
        name = _TRANSITIONS[number - 1].named("xsr", title)
        if len(groups) <= number:
            return page(name, Verdict(f"Access group {number + 1} was not reached.", "fail"))
        minute_ns = self.conditions.minute_ns
        first_ns, last_ns = -_MINUTES_BEFORE * minute_ns, _MINUTES_AFTER * minute_ns
        time = ticks.time_axis("Time from the change", first_ns, last_ns)
        placed = self._around(number, first_ns, last_ns)
        shown = rows_table(
            f"{name.id}-values",
            "Values plotted: each interval at its middle, each minute at its middle",
            (Column(time.axis.title, width=0), "Throughput (MB/s) | Throughput, 1 min (MB/s)"),
            (
                (elapsed_cell(at_ns, time), rate, of_minute)
                for at_ns, rate, of_minute in sorted(placed, key=itemgetter(0))
            ),
            printed=False,
        )
        marks: tuple[Mark, ...] = ()
        back = self.results.to_share(KEY_SHARES[-1])
        if number == 2 and back is not None and back.after_ns is not None and back.after_ns <= last_ns:
            rate = back.bandwidth_bytes_per_s / MB
            marks = (Mark(f"{100 * back.share:g} % of group 1", time.place(back.after_ns), rate),)
        span = _span_text(values_of(shown), "MB/s")
        plot = Plot(
            x=time.axis,
            y=_throughput_axis,
            series=(
                Series("as measured", "column", (0,), _INTERVAL_COLOR, style="line"),
                Series("1 min", "column", (1,), _COLOR, style="mean", emphasis=True),
            ),
            alt=span,
            marks=marks,
        )
        return page(name, plot.over(name, shown), Verdict(f"Intervals as measured: {span}"), shown)

    def _around(self, number: int, first_ns: int, last_ns: int) -> Iterator[tuple[int, Cell, Cell]]:
        """Time from the change, throughput of an interval there, that of a minute.

        A minute that the span cuts is left out.
        """
        change_ns = self.samples[number][0].started_ns
        for samples, low_ns, high_ns in (
            (self.samples[number - 1], first_ns, 0),
            (self.samples[number], 0, last_ns),
        ):
            start_ns = samples[0].started_ns - change_ns
            for piece in pieces_between(samples, low_ns - start_ns, high_ns - start_ns):
                yield start_ns + piece.middle_ns, THROUGHPUT.cell(piece.measured), Cell("-")
        before, after = self.results.groups[number - 1 : number + 1]
        for group in (before, after):
            for minute in group.minutes:
                start_ns, end_ns = (
                    group.start_ns - after.start_ns + one for one in (minute.start_ns, minute.end_ns)
                )
                if first_ns <= start_ns and end_ns <= last_ns:
                    yield (start_ns + end_ns) // 2, Cell("-"), THROUGHPUT.cell(minute)

    def response_times(self) -> Page:
        """Throughput, ART and MRT over the same time (Plot 12-2)."""
        name = _TIMES.named("xsr", "XSR Throughput, ART & MRT v Time")
        if not self.results.groups:
            return page(name, Verdict("No access group was begun.", "fail"))
        shown = self.every_minute()
        titled = ((one, replace(name, title=f"{name.title}: {one.name}")) for one in _QUANTITIES)
        return page(name, *(self.course(own, shown, one, 175) for one, own in titled))

    def table(self, head_line: str) -> Page:
        """Throughput, ART, MRT of each group, average and peak, and the recovery time (Plot 12-3)."""
        name = _TABLE.named("xsr", "XSR Table: TP, ART, MRT and BW Recovery Time")
        groups, recovery = self.results.groups, _minutes(self.results.peak_recovery_ns)
        if not groups:
            return page(name, Verdict("No access group was begun.", "fail"))
        columns = (
            Column(f"{format_duration(group.duration_ns)}, {kind} {planned.name}")
            for planned, group in self.applied
            for kind in ("Avg", "Peak")
        )
        rows = (
            Row(
                Cell(metric.label),
                tuple(metric.cell(one) for group in groups for one in (group, group.peak(metric))),
            )
            for metric in (THROUGHPUT, ART)
        )
        longest = (cell for group in groups for cell in (Cell("-"), MRT.cell(group)))
        table = rows_table(
            "xsr-table",
            f"{name.number} - Recovery (Min): {'n/a' if recovery is None else f'{recovery:.2f}'}",
            (":<0.6", *columns),
            (*rows, (MRT.label, *longest)),
            note="Peaks are the best minute's throughput and the worst minute's ART; MRT is the largest of "
            "all I/Os. Recovery: from the end of group 2 to the end of group 3's best minute, as 12.1 "
            "defines it; noise decides which minute that is, so that no key value is made of it.",
        )
        return page(name, Verdict(head_line), table, *self._recoveries())

    def _recoveries(self) -> Iterator[Block]:
        """Our own measures: in noise a peak may come at any time, a share is first reached only once."""
        if not self.results.recoveries:
            yield Verdict("Recovery: n/a, the third access group was not reached.", "fail")
            return
        rules = [
            (f"First minute at or above {100 * one.share:g} % of group 1's last hour", one)
            for one in self.results.recoveries
        ]
        if self.results.median_peak is not None:
            rule = f"Highest median of {MEDIAN_MINUTES} minutes of group 3: its last minute"
            rules.append((rule, self.results.median_peak))
        yield rows_table(
            "xsr-recovery",
            "X-XSR-1 - Recovery by rule (openpts' own)",
            "Rule:<1.8 | Throughput (MB/s) | Time from the end of group 2 (min)",
            (
                (
                    rule,
                    THROUGHPUT.shown(one.bandwidth_bytes_per_s / MB),
                    cells.number_or("not reached", one.after_ns, 2, per=_NS_PER_MIN),
                )
                for rule, one in rules
            ),
            note="Each time ends with the minute named; the time to the highest minute (12.1) is in the "
            "table above.",
        )

    def secondary(self, run: Run, head_line: str) -> Page:
        """Average power and processor use of each group (Plot 12-4)."""
        work = DriveWork(run)

        def power(group: GroupSummary) -> Cell:
            return power_cell(work, run.phase(Phase.ACCESS_GROUP, number=group.number))

        rows: list[Col[GroupSummary]] = [
            Col("Avg Power (mW)", power),
            *steps.columns_of((CPU_SYS, CPU_IOWAIT)),
        ]
        name = PlotName("xsr-6", "", "XSR Secondary Metrics")
        groups = [(planned.name, group) for planned, group in self.applied]
        head: Col[str] = Col("", cells.words, align="left", width=0.8)
        shown = steps.transpose("xsr-secondary", name.title, rows, groups, head=head)
        return page(name, Verdict(head_line), shown, mandatory=False)

    def figures(self) -> dict[str, Any]:
        """Groups and recovery, JSON-ready."""
        return {
            "groups": [
                {
                    "number": group.number,
                    "bandwidth_bytes_per_s": group.bandwidth_bytes_per_s,
                    "peak_bandwidth_bytes_per_s": max(one.bandwidth_bytes_per_s for one in group.whole),
                    **steps.values_json(group, (IOPS, ART, MRT)),
                    "duration_s": group.duration_ns / NS_PER_S,
                }
                for group in self.results.groups
            ],
            "recovery_to_peak_min": _minutes(self.results.peak_recovery_ns),
            **{
                f"recovery_to_{100 * share:g}_pct_min": _minutes(_recovered_after(self, share))
                for share in KEY_SHARES
            },
        }


def _group_page(planned: AccessGroup, group: GroupSummary) -> Page:
    """One access group by itself (12.3.2)."""
    n = group.number
    title = f"XSR Throughput v Time - Access Group {n}: {planned.name}"
    name, time = PlotName(f"xsr-group-{n}", f"Plot X-XSR-G{n}", title), minutes_axis(group.minutes)
    shown = _minutes_table(f"{name.id}-values", [(one.end_ns, one) for one in group.minutes], time)
    plot = Plot(
        x=time.axis,
        y=_throughput_axis,
        series=(Series("1 min", "column", (0,), _COLOR, style="line"),),
        alt=_span_text(values_of(shown, 0), "MB/s"),
    )
    art, mrt = (
        f"{cell.text} ms" if cell.value is not None else cell.text
        for cell in (ART.cell(group), MRT.cell(group))
    )
    text = (
        f"Access group {n}: {THROUGHPUT.cell(group).text} MB/s on average "
        f"over {format_duration(group.duration_ns)}, ART {art}, MRT {mrt}."
    )
    return page(name, plot.over(name, shown), Verdict(text), shown)


class _Quantity(Struct, frozen=True):
    """One of the three courses over time: which column of the values, on what axis."""

    id: str
    name: str
    column: int
    unit: str

    def axis(self, values: Sequence[float]) -> Axis:
        """The axis for all values."""
        return _throughput_axis(values) if self.id == "tp" else ticks.log_axis(f"{self.name} (ms)", values)


_QUANTITIES: Final = (
    _Quantity("tp", "Throughput", 0, "MB/s"),
    _Quantity("art", "ART", 1, "ms"),
    _Quantity("mrt", "MRT", 2, "ms"),
)
_COLUMNS: Final[tuple[Col[tuple[int, Minute]], ...]] = tuple(
    metric.column(itemgetter(1))
    for metric in (replace(THROUGHPUT, label="Throughput (MB/s)"), ART, MRT, replace(IOPS, decimals=0))
)
_GROUP: Final = measure.Measure[Cell](
    "bandwidth", "Group {name} average", "MB/s", lambda average: average, is_key=False
)


def _recovered_after(found: CrossStimulusReport, share: float) -> int | None:
    recovery = found.results.to_share(share)
    return recovery.after_ns if recovery else None


def _recovery(key: str, label: str, after_ns: Any, **facts: Any) -> measure.Measure[CrossStimulusReport]:
    key, absent = f"recovery_to_{key}", "not reached"
    return measure.Measure(key, label, "min", after_ns, per=_NS_PER_MIN, decimals=2, absent=absent, **facts)


_RECOVERIES: Final = (
    *(
        _recovery(
            f"{100 * share:g}_pct",
            f"Recovery to {100 * share:g} % of the level before",
            partial(_recovered_after, share=share),
            explanation=f"until sequential writes are back at {100 * share:g} %",
            uncertainty=partial(CrossStimulusReport.share_uncertainty, share=share),
        )
        for share in KEY_SHARES
    ),
    _recovery(
        "peak",
        "Recovery to the peak",
        lambda found: found.results.peak_recovery_ns,
        uncertainty=CrossStimulusReport.recovery_uncertainty,
        is_key=False,
        on_cover=False,
    ),
)


def _throughput_axis(values: Sequence[float]) -> Axis:
    return ticks.linear_axis("Throughput (MB/s)", 0, max(values, default=1.0))


def _minutes_table(table_id: str, placed: Sequence[tuple[int, Minute]], time: ticks.TimeAxis) -> Table:
    """Each minute with the moment of its end."""
    title = "Values plotted: each minute"
    return list_minutes(table_id, title, _COLUMNS, placed, time=time, end_ns=itemgetter(0))


def _span_text(values: Sequence[float], unit: str) -> str:
    if not values:
        return "nothing was measured."
    return f"from {cells.fixed(min(values), 2)} to {cells.fixed(max(values), 2)} {unit}."


def _minutes(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / _NS_PER_MIN


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(CrossStimulusConditions)
    numbers = range(1, len(conditions.groups) + 1)
    samples = [[step.sample for step in run.phase(Phase.ACCESS_GROUP, number=number)] for number in numbers]
    found = CrossStimulusReport(conditions, samples, analyze_cross_stimulus(samples, conditions.minute_ns))
    if found.completed < len(conditions.groups):
        # the peak of what is there may not be that of the group
        found = replace(found, results=replace(found.results, peak_recovery_ns=None))
    stimuli: list[tuple[str, str]] = []
    for number, group in enumerate(conditions.groups, start=1):
        stimuli.append((f"Test Stimulus {number}", f"{group.name} W, {format_duration(group.duration_ns)}"))
        stimuli.append(("TOIO - TC/QD", header.demand_text(group.tc, group.qd)))
    return ReportContent(
        verdicts=(found.verdict(),),
        measures=tuple(found.measures()),
        sections=header.sections_of(
            run,
            header.TestSection(
                test="xsr",
                title="XSR Test",
                bar="Cross Stimulus Recovery Test (REQUIRED) - Report Page",
                heading=f"XSR - {' / '.join(group.name for group in conditions.groups)}",
                setup=header.setup_rows(
                    run, ("none (purge only)", "-", "-"), ("none", "-", _NO_STEADY_STATE)
                ),
                test_rows=header.stimulus_rows(
                    run, *stimuli, ("RW Mix", "0/100"), ("Steady State", _NO_STEADY_STATE)
                ),
                pages=lambda: found.pages(run),
            ),
        ),
        figures=found.figures,
    )

"""One workload of write saturation: its results, and a page for each of what section 10.3 wants of it."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.latency import ios_needed
from openpts.analysis.minutes import TAIL_PERCENTILE, Minute, starts_ns, whole_minutes
from openpts.analysis.steady_state import WINDOW_ROUNDS
from openpts.procedures.kit import header
from openpts.procedures.kit.steps import ART, IOPS, MRT, THROUGHPUT, Metric
from openpts.record.reader import Run, StepRecord
from openpts.units import GB, NS_PER_MS, NS_PER_S, format_capacity, format_duration
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.workload import Workload, data_text
from openpts_pages import cells, ticks
from openpts_pages.facts_table import items_table
from openpts_pages.kit import Col, Plot, PlotName, Required, heads_of, page, rows_table, table, values_of
from openpts_pages.model import Axis, Cell, Figure, Page, PlotRule, Series, Table, Verdict
from openpts_pts.shared import saturation
from openpts_pts.shared.confidence_page import Applied, confidence_page
from openpts_pts.shared.minutes_table import MinuteSpread, spread_columns
from openpts_pts.shared.preparation_page import active_range, preparation_page, short_form_table
from openpts_pts.shared.rounds.results import one_pass_of
from openpts_pts.shared.saturation import FINAL_MINUTES, PLATEAU_MINUTES, ZONE_PCT
from openpts_pts.shared.tracking import ROUND_WORD, OtherMinutes, other_minutes
from openpts_pts.shared.window_page import Window
from openpts_pts.wsat import WriteSaturationConditions

PRINTED_VALUES: Final = 200
MEAN, LOW, HIGH, _MBPS, MEAN_LATENCY, _TAIL, MAX_LATENCY = range(7)
"""Columns of the table of minutes."""
_MEAN_COLOR, _SPREAD_COLOR = 2, 6
NO_PLATEAU: Final = "falls within its first minute"
_LAST_NS: Final = 3600 * NS_PER_S
_BINS_PER_TICK: Final = 10
_BEFORE_END: Final = "Time before the end (min)"
START_SHARE: Final = 0.05
"""Of all that was written: the part of the plot over drive fills that is enlarged."""
_IOPS: Final = tuple(
    Required(f"iops-{key}", f"Plot 10-{n}") for n, key in enumerate(("time", "tgbw", "fills"), start=1)
)
_HISTOGRAM: Final = Required("clp", "Plot 10-4")
REQUIRED: Final = (*_IOPS, _HISTOGRAM)

_SPREAD: Final = (
    Series("Lowest to highest interval", "column", (LOW, HIGH), _SPREAD_COLOR, style="range"),
    Series("Mean of a minute", "column", (MEAN,), _MEAN_COLOR, style="mean", emphasis=True),
)
_COLUMNS: Final = spread_columns(
    "",
    THROUGHPUT,
    replace(ART, absent=""),
    Metric[Minute]("tail_ms", "99.999 % (ms)", "ms", lambda one: one.tail_ns, NS_PER_MS, None, ""),
    replace(MRT, absent=""),
)
Points = Sequence[tuple[float, float]]
"""Intervals: their places on an axis, and IOPS."""


class MinuteAxis(Struct, frozen=True):
    """What minutes are plotted over: the axis, and the place of a minute's end on it."""

    key: str
    name: str
    axis: Axis
    place: Callable[[Minute], float]


class SaturationCycle(Struct, frozen=True):
    """One workload of the run: its results, how its stimulus ended, and its pages.

    ``conditions`` are those of its stimulus. ``state`` is by what share the drive's state may be off in the
    short form; None at full length.
    """

    run: Run
    number: int
    conditions: WriteSaturationConditions
    pass_steps: list[StepRecord]
    state: float | None
    steps: tuple[saturation.SaturationStep, ...]
    results: saturation.SaturationResults
    others: OtherMinutes | None
    ended_by: str

    @property
    def is_from_fob(self) -> bool:
        """Whether the stimulus begins with a purged drive, as at full length."""
        return self.conditions.within_pct is None

    @property
    def workload(self) -> Workload:
        """What is applied."""
        return self.conditions.workloads[self.number - 1]

    @property
    def title(self) -> str:
        """The workload in titles: ``RND 4KiB RW0``."""
        return self.workload.title.replace(" KiB", "KiB")

    @property
    def capacity_bytes(self) -> int:
        """The user capacity."""
        return self.run.manifest.target.user_capacity_bytes

    @property
    def prefix(self) -> str:
        """The workload's part of page ids."""
        return f"wsat-{self.number}" if len(self.conditions.workloads) > 1 else "wsat"

    @property
    def demand(self) -> str:
        """The header's fields TOIO - TC/QD."""
        c = self.conditions
        if self.workload.sequential:
            return header.demand_text(c.sequential_tc, c.sequential_qd)
        return header.demand_text(c.tc, c.qd)

    @property
    def tracked(self) -> list[Sample]:
        """The tracked minutes of the window."""
        verdict, minute_ns = self.results.verdict, self.conditions.minute_ns
        whole = {
            one.number: one.sample
            for one in self.steps
            if one.tracked and saturation.is_whole_minute(one.sample, minute_ns)
        }
        return [] if verdict is None else [whole[number] for number in verdict.rounds]

    @property
    def steady_text(self) -> str:
        """The header's field Steady State."""
        verdict = self.results.verdict
        if self.results.steady and verdict is not None:
            return f"{verdict.rounds[0]} - {verdict.rounds[-1]}"
        return "not found" if verdict is not None else f"n/a ({self.tracked_text})"

    @property
    def state_text(self) -> str:
        """Whether Steady State was found, for figures that are shown apart from the rounds."""
        if self.results.steady:
            other = ", at another level than the end" if self.results.ends_elsewhere else ""
            return f"found in Tracking Round {self.results.steady_round}{other}"
        return self.steady_text

    @property
    def tracked_text(self) -> str:
        """How many tracked minutes there are of those that a window takes."""
        return f"{min(len(self.results.tracked_iops), WINDOW_ROUNDS)} of {WINDOW_ROUNDS} tracked minutes"

    @property
    def written_texts(self) -> tuple[str, str]:
        """Gigabytes written, and drive fills."""
        written_bytes = self.results.written_bytes
        fills = written_bytes / self.capacity_bytes if self.capacity_bytes else 0.0
        return f"{cells.fixed(written_bytes / GB, 1)} GB", f"{cells.fixed(fills, 2)} drive fills"

    @property
    def end(self) -> str:
        """What ended the stimulus, after how long and how much."""
        amount, fills = self.written_texts
        ended = f"ended by: {self.ended_by}" if self.ended_by else "not completed"
        length = format_duration(self.results.elapsed_ns)
        return f"{self.workload.title}: {length}, {amount} written = {fills}; {ended}."

    @property
    def between_verdicts(self) -> tuple[Verdict, ...]:
        """A verdict on the minutes between the tracked ones, if they disagree with these."""
        if self.others is None:
            return ()
        return self.others.verdicts(self.workload.title, self.conditions.tracking_period_ns)

    @property
    def axes(self) -> tuple[MinuteAxis, MinuteAxis, MinuteAxis]:
        """Time in s, min or h; total gigabytes written, base 10; bytes written over user capacity."""

        def amount(key: str, name: str, title: str, unit_bytes: int) -> MinuteAxis:
            axis = ticks.span_axis(title, 0, self.results.written_bytes / unit_bytes)
            return MinuteAxis(key, name, axis, lambda minute: minute.written_bytes / unit_bytes)

        time = ticks.time_axis("Time", 0, max([one.end_ns for one in self.results.minutes], default=1))
        return (
            MinuteAxis("time", "Time", time.axis, lambda minute: time.place(minute.end_ns)),
            amount("tgbw", "TGBW", "Total GB written (TGBW)", GB),
            amount("fills", "Total Drive Writes/Fills", "Total drive writes (fills)", self.capacity_bytes),
        )

    def pages(self) -> Iterator[Page]:
        """The order of 10.3, then what may be added."""
        yield self.stimulus()
        for plot, along in zip(_IOPS, self.axes, strict=True):
            yield self.iops(plot.named(self.prefix, f"WSAT IOPS v {along.name} - {self.title}"), along)
        yield confidence_page(
            self.results.histogram,
            Applied(self.workload.title, self.demand, self.conditions.nines),
            _HISTOGRAM.named(
                self.prefix, f"WSAT Response Time Histogram - Confidence Level Plot - {self.title}"
            ),
        )
        time, _, fills = self.axes
        over = time if self.nothing(fills) else fills
        if not self.nothing(over):
            yield self.response_times(over)
        for number, along in enumerate(self.axes, start=6):
            if not self.nothing(along):
                yield self.bandwidth(along, f"Plot 10-{number}")
        yield self.window()
        yield self.zones()
        yield from self.consistency()

    def stimulus(self) -> Page:
        """Purge, write cache, in the short form its pass, and what was applied after it."""
        page_id, conditions, results = f"{self.prefix}-preparation", self.conditions, self.results
        covered, short = conditions.active_range, []
        if self.pass_steps:
            own = self.run.conditions(WriteSaturationConditions)
            rate = results.written_bytes / results.elapsed_ns if results.elapsed_ns else 0.0
            at_full_length = min(own.drive_fills * self.capacity_bytes, own.longest_ns * rate)
            short.append(
                short_form_table(self.run, page_id, self.pass_steps, own.known_flash, at_full_length)
            )
        items: list[tuple[str, str | Cell]] = [
            ("Workload", self.workload.title),
            ("TOIO - TC/QD", self.demand),
            ("Data pattern", data_text(conditions.data)),
            ("Active range", active_range(covered.start_pct, covered.end_pct)),
            (
                "End rules",
                f"{conditions.drive_fills:g} x user capacity written or "
                f"{format_duration(conditions.longest_ns)}"
                + (", or Steady State" if conditions.stop_when_steady else ""),
            ),
            ("Ended by", self.ended_by or cells.words("not ended", tone="fail")),
            ("Time", format_duration(results.elapsed_ns)),
            ("Written", " = ".join(self.written_texts)),
            ("Tracked minutes", str(len(results.tracked_iops))),
        ]
        what = "Stimulus, applied after the pass" if short else "Stimulus, applied to the purged device"
        stimulus = items_table(f"{page_id}-stimulus", what, items)
        title = "WSAT Purge Report and Test Stimulus"
        return preparation_page(self.run, page_id, title, *short, stimulus, cycle=self.number)

    def minutes_table(self, along: MinuteAxis) -> Table:
        """A row per minute, in its place on the axis: what all plots over this axis are drawn from."""
        minutes = self.results.minutes
        spreads = saturation.spread_of(minutes, self.results.pieces)
        head: Col[MinuteSpread] = Col(along.axis.title, lambda one: cells.number(along.place(one[0]), 3))
        return table(
            f"{self.prefix}-{along.key}-values",
            "Values plotted: mean of each minute, at its end",
            head,
            _COLUMNS,
            list(zip(minutes, spreads, strict=True)),
            note=f"99.999 %: only of minutes with {ios_needed(TAIL_PERCENTILE):,} I/Os or more.",
            printed=PRINTED_VALUES,
        )

    def nothing(self, along: MinuteAxis) -> str:
        """Why there is nothing to plot over an axis; empty if there is."""
        if not self.results.minutes:
            return "the stimulus never began"
        if along.key != "time" and not self.results.written_bytes:
            return "the workload wrote nothing"
        return ""

    def iops(self, name: PlotName, along: MinuteAxis) -> Page:
        """IOPS of the minutes, with their lowest and highest interval."""
        if reason := self.nothing(along):
            return page(name, Verdict(f"{name.title}: n/a ({reason}).", "fail"))
        shown, rules = self.minutes_table(along), (*self._steady(along), *self._end(along))
        figure = replace(self._over_minutes(along, shown, "IOPS"), rules=rules).over(name, shown)
        start = tuple(self._start_of_fills(name, along)) if along.key == "fills" else ()
        *enlarged, values = start or (None,)
        verdict = Verdict(self.end, "info" if self.ended_by else "fail")
        return page(name, figure, *enlarged, verdict, shown, values)

    def _start_of_fills(self, name: PlotName, along: MinuteAxis) -> Iterator[Figure | Table]:
        """The intervals of the first writes, in which most of the fall is, and their values."""
        end_bytes, written_bytes, points = START_SHARE * self.results.written_bytes, 0, []
        for piece in self.results.pieces:
            written_bytes += piece.measured.write.bytes
            if written_bytes > end_bytes:
                break
            if not piece.rest:
                points.append((written_bytes / self.capacity_bytes, piece.measured.iops))
        if not points:
            return
        title = f"The first {100 * START_SHARE:.0f} % enlarged: IOPS of each interval"
        start = PlotName(f"{name.id}-start", f"{name.number} (2)", title)
        shown = replace(
            _points_table(f"{start.id}-values", along.axis.title, points, decimals=6), printed=False
        )
        plot = Plot(
            x=ticks.span_axis(along.axis.title, 0, end_bytes / self.capacity_bytes),
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=(Series("IOPS of an interval", "column", (0,), _MEAN_COLOR, style="line"),),
            alt="{count} intervals, from {low} to {high} IOPS.",
            height_px=250,
        )
        yield plot.over(start, shown)
        yield shown

    def bandwidth(self, along: MinuteAxis, number: str) -> Page:
        """Throughput of the minutes over the same axis."""
        title = f"WSAT Bandwidth v {along.name} - {self.title}"
        name, shown = PlotName(f"{self.prefix}-mbps-{along.key}", number, title), self.minutes_table(along)
        series = (Series("Mean of a minute", "column", (_MBPS,), _MEAN_COLOR, style="mean", emphasis=True),)
        plot = self._over_minutes(along, shown, "Throughput (MB/s)", series)
        figure = replace(plot, rules=(*self._steady(along), *self._end(along))).over(name, shown)
        where = Verdict("The values are in the table of the IOPS plot over the same axis.")
        return page(name, figure, where, mandatory=False)

    def response_times(self, along: MinuteAxis) -> Page:
        """ART, 99.999 % and MRT over drive fills, or time where nothing is written; IOPS below."""
        title = "WSAT Response Times & IOPS v Drive Fills - ART, 5 9s, MRT"
        name, shown = PlotName(f"{self.prefix}-times", "Plot 10-5", title), self.minutes_table(along)
        kinds = (("ART", MEAN_LATENCY, 2), ("5 9s", _TAIL, 3), ("MRT", MAX_LATENCY, 0))
        measured = [kind for kind in kinds if values_of(shown, kind[1])]
        times = Plot(
            x=along.axis,
            y=partial(ticks.log_axis, "Response time (ms)"),
            series=tuple(Series(label, "column", (n,), color, style="line") for label, n, color in measured),
            alt=f"{', '.join(label for label, _, _ in measured)}.",
            height_px=270,
            zoom_group=f"{self.prefix}-{along.key}",
        )
        series = (Series("Mean of a minute", "column", (MEAN,), _MEAN_COLOR, style="mean"),)
        iops = replace(self._over_minutes(along, shown, "IOPS", series), height_px=230)
        few = "" if values_of(shown, _TAIL) else " No minute has enough I/Os for 99.999 %."
        return page(
            name,
            times.over(name, shown) if measured else None,
            iops.over(PlotName(f"{name.id}-iops", f"{name.number} (2)", "IOPS of the same minutes"), shown),
            Verdict(f"The values are in the table of the IOPS plot over the same axis.{few}"),
            mandatory=False,
        )

    def _over_minutes(
        self, along: MinuteAxis, shown: Table, axis_title: str, series: tuple[Series, ...] = _SPREAD
    ) -> Plot:
        """A plot whose last series are the means of the minutes."""
        return Plot(
            x=along.axis,
            y=lambda values: ticks.linear_axis(axis_title, 0, max(values, default=1.0)),
            series=series,
            alt=f"{self._fall_text(shown, series[-1].lines[-1])}. {self.end}",
            height_px=380,
            zoom_group=f"{self.prefix}-{along.key}",
        )

    def _fall_text(self, shown: Table, column: int) -> str:
        """``falls from 151,313 to 18,861 (12 %), half of it within 6.8 GB written``: first minute to last."""
        minutes = whole_minutes(self.results.minutes, self.conditions.minute_ns)
        rows = zip(minutes, shown.rows[: len(minutes)], strict=True)
        means = [(one, mean) for one, row in rows if (mean := row.cells[column].value) is not None]
        first, last = means[0][1], means[-1][1]
        ends = f"from {cells.fixed(first, 0)} to {cells.fixed(last, 0)}"
        if last >= first:
            return f"{ends}, first minute to last"
        half = next(minute for minute, mean in means if mean <= (first + last) / 2)
        bytes_ = half.written_bytes
        within = f"{format_capacity(bytes_)} written" if bytes_ else format_duration(half.end_ns)
        return f"falls {ends} ({100 * last / first:.0f} %), half of it within {within}"

    def _steady(self, along: MinuteAxis) -> Iterator[PlotRule]:
        """The minute in which steady state was found."""
        results, minute_ns = self.results, self.conditions.minute_ns
        if not results.steady or results.steady_round is None:
            return
        end_ns = (results.steady_round - 1) * self.conditions.tracking_period_ns + minute_ns
        # A minute may end a little after its nominal end: its last I/Os do.
        reached = [one for one in results.minutes if one.end_ns <= end_ns + minute_ns // 2]
        if reached:
            yield PlotRule("Steady State", along.place(reached[-1]), "limit", axis="x")

    def _end(self, along: MinuteAxis) -> Iterator[PlotRule]:
        """Which rule ended the stimulus, and where (10.2 step 2.2)."""
        if self.ended_by and self.results.minutes:
            place = along.place(self.results.minutes[-1])
            yield PlotRule(f"End: {self.ended_by}", place, "limit", axis="x")

    def window(self) -> Page:
        """The tracked minutes of the window (Plot 10-9)."""
        conditions = self.conditions
        window = Window(
            variable=self.workload.title,
            metric=IOPS,
            verdict=self.results.verdict,
            values=self.results.tracked_iops,
            reason=self.tracked_text,
            conditions=f"Minutes of {format_duration(conditions.minute_ns)}, which begin "
            f"{format_duration(conditions.tracking_period_ns)} apart; {self.demand}; "
            f"DP = {header.data_text(conditions)} [10.3.2].",
            round_word=ROUND_WORD,
            further_verdicts=self.between_verdicts,
        )
        title = f"WSAT Steady State Measurement Window - {self.title}"
        shown = window.page(PlotName(f"{self.prefix}-window", "Plot 10-9", title))
        return replace(shown, mandatory=conditions.stop_when_steady)

    def zones(self) -> Page:
        """Plateau, transition and end zone with the rule that separates them."""
        zones = self.results.zones
        name = PlotName(f"{self.prefix}-zones", "", f"WSAT Zones - {self.title}")
        if zones is None:
            reason = "fewer than ten minutes"
            if not self.is_from_fob:
                reason = "short form: the stimulus does not begin with a purged drive"
            return page(name, Verdict(f"Zones: n/a ({reason}).", "info"), mandatory=False)
        rule = Verdict(
            f"Rule (openpts' own): the plateau lasts while minutes are within {ZONE_PCT:g} % of the mean of "
            f"the first {PLATEAU_MINUTES}, or of the first if those differ by more. It ends with the fall "
            "of the intervals of the three minutes about its end, if there is one. A fall: cut in two where "
            "the means differ most for their lengths, the intervals are lower behind by more than "
            f"{ZONE_PCT:g} %; half of their scatter is that difference. A fall within the first minute "
            f"leaves no plateau. The end zone begins with the first minute after it within {ZONE_PCT:g} % "
            f"of the mean of the last {FINAL_MINUTES} minutes (or last quarter). Steady State is decided by "
            "definition 2.1.24 alone."
        )
        left = zones.plateau_minutes < self.results.minutes[-1].number
        never_left = "n/a (plateau never left)"
        settled = "n/a (nothing settled)" if zones.settled_from is None else f"minute {zones.settled_from}"
        below_half_s = None if zones.below_half_ns is None else zones.below_half_ns / NS_PER_S
        end_zone = (
            ("End zone, mean (IOPS)", zones.end_zone_iops, 1),
            ("End zone, lowest interval (IOPS)", zones.lowest_iops, 1),
            ("End zone, coefficient of variation of the intervals (%)", zones.variation_pct, 1),
            ("End zone, time below half of its mean (s)", below_half_s, 1),
            ("FOB plateau / end zone", zones.ratio, 2),
            ("End zone, share of the FOB plateau (%)", zones.kept_pct, 1),
        )
        written_gb = None if zones.fresh_bytes is None else zones.fresh_bytes / GB
        fall = (
            (label, cells.number(value, 1))
            for label, value in (
                ("In the cache, mean (IOPS)", zones.cache_iops),
                ("Written until it falls (GB)", written_gb),
                ("Behind the fall, mean (IOPS)", zones.behind_iops),
            )
            if value is not None
        )
        items: list[tuple[str, str | Cell]] = [
            ("FOB plateau, mean (IOPS)", cells.number_or(NO_PLATEAU, zones.plateau_iops, 1)),
            ("FOB plateau, length (min)", cells.number(zones.plateau_minutes, 0)),
            *fall,
            ("Transition begins", f"minute {zones.plateau_minutes + 1}" if left else never_left),
            ("End zone begins", settled if left else never_left),
            ("Steady State", self.state_text),
            (f"Last {FINAL_MINUTES} minutes, mean (IOPS)", cells.number(zones.final_iops, 1)),
            *((label, cells.number_or("no end zone", value, n)) for label, value, n in end_zone),
        ]
        shown = items_table(f"{name.id}-table", "X-WSAT-1 - Zones", items)
        return page(name, Verdict(self.end), shown, rule, mandatory=False)

    def consistency(self) -> Iterator[Page]:
        """The intervals of the last hour: over time, and how they spread (ours)."""
        results, title = self.results, f"WSAT Consistency - {self.title}"
        last_ns = min(_LAST_NS, 60 * self.conditions.minute_ns)
        whole = saturation.whole_pieces(results.pieces)
        pieces = [one for one in whole if one.end_ns >= results.elapsed_ns - last_ns]
        points = [((one.end_ns - results.elapsed_ns) / (60 * NS_PER_S), one.measured.iops) for one in pieces]

        def name(key: str, letter: str, what: str) -> PlotName:
            return PlotName(f"{self.prefix}-{key}", f"Plot X-WSAT-2{letter}", f"{what} - {self.title}")

        last = name("last", "c", "IOPS of the last 60 min (linear)")
        if not points:
            text = Verdict(f"{title}: n/a (no interval was measured).", "fail")
            yield page(PlotName(last.id, "", title), text, mandatory=False)
            return
        shown = _points_table(f"{last.id}-values", _BEFORE_END, points)
        interval_ns = max(one.measured.elapsed_ns for one in pieces)
        length = Verdict(f"{self.workload.title}: intervals of {format_duration(interval_ns)}.")
        whole_run = self._whole_run(name("whole", "a", "IOPS over the run (log)"))
        log, above_zero = None, [iops for _, iops in points if iops > 0]
        if above_zero:
            plot = _points_plot(shown, ticks.log_axis("IOPS", above_zero))
            log = plot.over(name("last-log", "b", "IOPS of the last 60 min (log)"), shown)
        yield page(PlotName(f"{last.id}-views", "", title), whole_run, log, length, mandatory=False)
        spread = name("last-spread", "d", "Spread of the IOPS of the last 60 min")
        counts = _counts_table(f"{spread.id}-values", points)
        linear = _points_plot(shown, ticks.linear_axis("IOPS", 0, max(iops for _, iops in points)))
        yield page(
            PlotName(last.id, "", f"WSAT Consistency (2) - {self.title}"),
            linear.over(last, shown),
            _spread_plot(counts).over(spread, counts),
            length,
            shown,
            counts,
            mandatory=False,
        )

    def _whole_run(self, name: PlotName) -> Figure | None:
        """IOPS of all minutes over time on a logarithmic axis; None if none is above zero."""
        time = self.axes[0]
        shown = self.minutes_table(time)
        if not any(value > 0 for value in values_of(shown, MEAN)):
            return None
        plot = self._over_minutes(time, shown, "IOPS")
        plot = replace(plot, y=partial(ticks.log_axis, "IOPS"), rules=tuple(self._end(time)), height_px=250)
        return plot.over(name, shown)


def analyze_cycle(run: Run, number: int) -> SaturationCycle:
    """One workload of the run, from its steps in the record."""
    conditions = run.conditions(WriteSaturationConditions)
    finished = header.of_cycle(run.manifest.cycles, number)
    pass_steps, state = run.phase(Phase.CONDITIONING, cycle=number), None
    is_from_fob = conditions.within_pct is None
    if not is_from_fob:
        state = one_pass_of(pass_steps, conditions.known_flash).state_off
        conditions = conditions if state is None else conditions.after_the_pass
    minute_ns, period_ns = conditions.minute_ns, conditions.tracking_period_ns
    numbered = ((step.place.number, step.sample) for step in run.phase(Phase.SATURATION, cycle=number))
    steps = saturation.tracked_steps(numbered, minute_ns, period_ns)
    samples = [step.sample for step in steps]
    histogram = [step.sample for step in run.phase(Phase.HISTOGRAM, cycle=number)]
    if finished:
        steady_round = finished.outcome.steady_round
    else:  # where nothing is ever written, nothing has to be written before steady state counts
        writes = conditions.workloads[number - 1].read_pct < 100
        fills = conditions.steady_after_drive_fills if writes else 0
        after_bytes = fills * run.manifest.target.user_capacity_bytes
        steady_round = saturation.steady_round_of(steps, minute_ns, after_bytes)
    results = saturation.analyze_saturation(steps, histogram, minute_ns, steady_round)
    starts = zip(starts_ns(samples), steps, strict=True)
    others = other_minutes(
        samples,
        results.verdict,
        list({step.number: start_ns for start_ns, step in starts if step.tracked}.values()),
        minute_ns=minute_ns,
        period_ns=period_ns,
    )
    ended_by = finished.outcome.ended_by if finished else ""
    # The stimulus came to its end where its histogram began, also if that was never finished.
    if not ended_by and histogram:
        ended_by = "one of its end rules"
    results = results if is_from_fob else replace(results, zones=None)
    return SaturationCycle(run, number, conditions, pass_steps, state, steps, results, others, ended_by)


def _points_plot(shown: Table, axis: Axis) -> Plot:
    return Plot(
        x=ticks.linear_axis(_BEFORE_END, min(heads_of(shown)), 0),
        y=axis,
        series=(Series("IOPS of an interval", "column", (0,), _MEAN_COLOR, style="points"),),
        alt="{count} intervals, from {low} to {high} IOPS.",
        height_px=250,
        zoom_group=f"{shown.id}-time",
    )


def _points_table(table_id: str, along: str, points: Points, *, decimals: int = 3) -> Table:
    return rows_table(
        table_id,
        "Values plotted: IOPS of each interval",
        f"{along} | IOPS",
        ((Cell(cells.fixed(x, decimals), x), cells.number(y, 1)) for x, y in points),
        printed=len(points) <= PRINTED_VALUES,
    )


def _counts_table(table_id: str, points: Points) -> Table:
    """How many intervals lie from one edge to below the next: a few edges to each tick of the axis."""
    values = [iops for _, iops in points]
    axis_ticks = ticks.linear_axis("IOPS", min(values), max(values)).ticks
    width = (axis_ticks[1] - axis_ticks[0]) / _BINS_PER_TICK
    numbers = range(math.floor(min(values) / width), math.floor(max(values) / width) + 2)
    edges = [number * width for number in numbers]
    counts = [sum(low <= value < high for value in values) for low, high in pairwise(edges)]
    return rows_table(
        table_id,
        "Values plotted: intervals by IOPS",
        "IOPS from | Intervals up to the next edge",
        (
            (Cell(cells.fixed(edge, 1), edge), count)
            for edge, count in zip(edges, [*map(cells.count, counts), Cell("-")], strict=True)
        ),
        printed=False,
    )


def _spread_plot(shown: Table) -> Plot:
    edges, counts = heads_of(shown), values_of(shown)
    return Plot(
        x=ticks.span_axis("IOPS", edges[0], edges[-1]),
        y=ticks.linear_axis("Intervals", 0, max(counts)),
        series=(Series("Intervals", "column", (0,), _MEAN_COLOR, style="bars"),),
        alt=f"{sum(counts):,.0f} intervals in {len(edges) - 1} bins.",
        height_px=200,
    )

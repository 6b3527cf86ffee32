"""A continuous stimulus that is judged by single minutes, and its pages (PTS 11.3.2, 13.2 step 3.2.2).

Plots 11-1 and 11-2, Table 13-3 and Plot 14-1 (1, 2).
"""

from collections.abc import Sequence
from functools import cached_property
from math import fsum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of, pieces_between, starts_ns, sum_parts
from openpts.analysis.rounds import measurement_window
from openpts.analysis.steady_state import WINDOW_ROUNDS, disturbed_rounds, judge, window_ending_at
from openpts.procedures.kit.steps import ART, IOPS, MRT, columns_of, summarize
from openpts.record.reader import Run, StepRecord
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.sample import Measured, Phase, Sample, StepState
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells, ticks
from openpts_pages.kit import Cells, Col, Plot, PlotName, page, rows_table
from openpts_pages.model import Band, Block, Cell, Column, Page, Series, Table, Verdict
from openpts_pts.shared.minutes_table import TIMES_AND_CPU, iops_column, list_minutes, minutes_axis
from openpts_pts.shared.window_page import (
    Window,
    height_over_rounds,
    judged_sentence,
    round_columns,
    window_band,
)
from openpts_pts.shared.window_results import WindowResults

ROUND_WORD: Final = "Tracking Round"
_VALUE_COLOR, _TRACKED_COLOR = 2, 3
# A minute of which less was measured is no record of it.
_LEAST: Final = 0.5


class TrackingResults(WindowResults, frozen=True, kw_only=True):
    """``minutes`` are the tracked ones of tracking rounds 1, 2, ..., each complete.

    ``begun`` tracking rounds have steps, complete or not. ``starts_ns`` and ``ends_ns`` of the tracked
    minutes count from the start of the stimulus.
    """

    begun: int
    minutes: tuple[Sample, ...]
    starts_ns: tuple[int, ...]
    ends_ns: tuple[int, ...]

    @property
    def iops(self) -> tuple[float, ...]:
        """The tracking variable: IOPS of each tracked minute."""
        return tuple(minute.iops for minute in self.minutes)

    @property
    def window_minutes(self) -> tuple[Sample, ...]:
        """The tracked minutes of the window, steady or not."""
        return tuple(self.minutes[number - 1] for number in self.window.rounds)


def analyze_tracking(steps: Sequence[StepRecord], *, minute_ns: int, period_ns: int) -> TrackingResults:
    """Judge a stimulus whose tracked minutes begin ``period_ns`` apart, from all of its steps in order.

    The window ends with the first tracking round at which it is steady, as the test does, or with the last.
    """
    tracked: dict[int, tuple[int, Sample]] = {}
    for start_ns, step in zip(starts_ns([step.sample for step in steps]), steps, strict=True):
        # behind the steps that fill the time since the minute before
        position = 0 if step.place.number == 1 or period_ns <= minute_ns else 1
        if step.place.position == position and step.sample.state is StepState.COMPLETE:
            tracked[step.place.number] = (start_ns, step.sample)
    in_order: list[tuple[int, Sample]] = []
    while (found := tracked.get(len(in_order) + 1)) is not None:
        in_order.append(found)
    iops = [minute.iops for _, minute in in_order]
    disturbed = disturbed_rounds([minute] for _, minute in in_order)
    last_rounds = range(WINDOW_ROUNDS, len(iops) + 1)
    steady = (number for number in last_rounds if window_ending_at(iops, number, disturbed).steady)
    window = measurement_window(len(iops), next(steady, None))
    verdict = window_ending_at(iops, window.rounds[-1], disturbed) if window.is_full else None
    return TrackingResults(
        window=window,
        verdicts=(verdict,),
        begun=len({step.place.number for step in steps}),
        minutes=tuple(minute for _, minute in in_order),
        starts_ns=tuple(start_ns for start_ns, _ in in_order),
        ends_ns=tuple(start_ns + minute.elapsed_ns for start_ns, minute in in_order),
    )


class OtherMinutes(Struct, frozen=True):
    """Rows of minutes within a window of tracked ones, each of minutes as far apart, begun at another minute.

    ``steady`` of ``rows`` meet the rules of 2.1.24. ``lowest_iops`` and ``highest_iops`` are the averages of
    rows, ``minimum_iops`` and ``maximum_iops`` those of single minutes. ``tracked`` is the window's verdict.
    """

    tracked: SteadyStateReport
    rows: int
    steady: int
    lowest_iops: float
    highest_iops: float
    minimum_iops: float
    maximum_iops: float

    @property
    def elsewhere(self) -> bool:
        """Whether a row's average lies outside the band of 10 % around that of the tracked minutes."""
        low, high = self.tracked.band
        return self.lowest_iops < low or self.highest_iops > high

    @property
    def agree(self) -> bool:
        """Whether it makes no difference which minutes are tracked.

        Averages only count where the tracked minutes are steady: otherwise they do not represent the drive.
        """
        if not self.tracked.steady:
            return self.steady == 0
        return self.steady == self.rows and not self.elsewhere

    @property
    def figures(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "agree": self.agree,
            "rows": self.rows,
            "steady_rows": self.steady,
            "lowest_average_iops": self.lowest_iops,
            "highest_average_iops": self.highest_iops,
            "minimum_iops": self.minimum_iops,
            "maximum_iops": self.maximum_iops,
        }

    def verdicts(self, subject: str, period_ns: int) -> tuple[Verdict, ...]:
        """A sentence on what the tracked minutes missed; none if the others agree with them.

        ``subject`` names the stimulus. The verdict by the specification's rule does not change.
        """
        if self.agree:
            return ()
        period = format_duration(period_ns)
        low, high, least, most, tracked = (
            cells.fixed(iops, 0)
            for iops in (
                self.lowest_iops,
                self.highest_iops,
                self.minimum_iops,
                self.maximum_iops,
                self.tracked.average,
            )
        )
        text = (
            f"{subject}: the minutes between the tracked ones disagree. {self.steady} of {self.rows} other "
            f"rows of minutes {period} apart in the same time meet the rules of 2.1.24; their averages are "
            f"{low} to {high} IOPS, single minutes {least} to {most} IOPS; the tracked minutes average "
            f"{tracked} IOPS. Tracked minutes can't show what repeats every {period}, or comes and goes "
            "within that time."
        )
        return (Verdict(text, "fail" if self.elsewhere or 2 * self.steady < self.rows else "info"),)


def other_minutes(
    samples: Sequence[Sample],
    verdict: SteadyStateReport | None,
    starts: Sequence[int],
    *,
    minute_ns: int,
    period_ns: int,
) -> OtherMinutes | None:
    """Judge the minutes between the tracked ones of a window, from all steps of the stimulus in order.

    ``starts`` are those of tracked minutes 1, 2, ... in ns from the start of the stimulus. None without a
    verdict, without minutes between, or if no interval is short enough for them.
    """
    if verdict is None:
        return None
    first_ns, last_ns = starts[verdict.rounds[0] - 1], starts[verdict.rounds[-1] - 1]
    parts = (
        ((piece.middle_ns - first_ns) // minute_ns, piece.measured)
        for piece in pieces_between(samples, first_ns, last_ns)
    )
    by_minute = summarize(parts, int, lambda measured: measured)
    sums = {number: Measured(**sum_parts(measured)) for number, measured in by_minute.items()}
    rates = {
        number: one.iops
        for number, one in sums.items()
        if _LEAST * minute_ns <= one.elapsed_ns <= minute_ns / _LEAST
    }
    per_period, gaps, rows = period_ns // minute_ns, len(verdict.rounds) - 1, []
    for offset in range(1, per_period):
        numbers = range(offset, offset + gaps * per_period, per_period)
        if all(number in rates for number in numbers):
            rows.append([rates[number] for number in numbers])
    if not rows:
        return None
    averages = [fsum(row) / gaps for row in rows]
    single = [rate for row in rows for rate in row]
    return OtherMinutes(
        tracked=verdict,
        rows=len(rows),
        steady=sum(judge(range(1, gaps + 1), row).steady for row in rows),
        lowest_iops=min(averages),
        highest_iops=max(averages),
        minimum_iops=min(single),
        maximum_iops=max(single),
    )


class TrackedPhase(Struct, frozen=True, dict=True):
    """The tracked preconditioning of a run, and its pages; ``subject`` begins their sentences.

    ``samples`` are all its steps in order.
    """

    run: Run
    subject: str
    samples: list[Sample]
    results: TrackingResults

    @classmethod
    def of(cls, run: Run, subject: str = "Pre-conditioning") -> "TrackedPhase":
        """With its verdict, judged from the samples alone."""
        conditions: Any = run.manifest.conditions  # of a test that tracks by minutes: all have a period
        steps = run.phase(Phase.WDPC)
        results = analyze_tracking(
            steps, minute_ns=conditions.minute_ns, period_ns=conditions.tracking_period_ns
        )
        return cls(run, subject, [step.sample for step in steps], results)

    @property
    def minute_ns(self) -> int:
        """The specification's minute in this run."""
        return self.run.manifest.conditions.minute_ns

    @property
    def period_ns(self) -> int:
        """From the start of a tracked minute to that of the next."""
        conditions: Any = self.run.manifest.conditions
        period_ns: int = conditions.tracking_period_ns
        return period_ns

    @cached_property
    def others(self) -> OtherMinutes | None:
        """The minutes between those of the window, if they are known."""
        results = self.results
        return other_minutes(
            self.samples,
            results.verdict,
            results.starts_ns,
            minute_ns=self.minute_ns,
            period_ns=self.period_ns,
        )

    @property
    def stimulus(self) -> str:
        """What was applied, and at which demand, as far as it was begun."""
        if not self.samples:
            return "n/a, n/a"
        step = self.samples[0].step
        if (stimulus := step.stimulus) is not None:
            return f"{stimulus}, TC {stimulus.tc} / QD {stimulus.qd}"
        return f"{len(step.streams)} streams at once, TOIO {step.toio}"

    @property
    def between(self) -> tuple[Verdict, ...]:
        """A verdict on the minutes between the tracked ones, if they disagree with these."""
        named = f"{self.subject} ({self.stimulus})"
        return () if self.others is None else self.others.verdicts(named, self.period_ns)

    @property
    def sentence(self) -> Verdict:
        """Whether it came to steady state, with its rule."""
        named = f"{self.subject} ({self.stimulus})"
        return judged_sentence(named, self.results, len(self.results.minutes), ROUND_WORD)

    @cached_property
    def minutes(self) -> tuple[Minute, ...]:
        """Every minute of the stimulus."""
        return minutes_of(self.samples, self.minute_ns)

    @cached_property
    def time(self) -> ticks.TimeAxis:
        """The axis of all minutes."""
        return minutes_axis(self.minutes)

    def over_time(self, name: PlotName, lead: Block | None = None) -> Page:
        """IOPS of each minute over time, the tracked minutes as points (Plot 11-1, Plot 14-1 (1))."""
        if not self.minutes:
            return page(name, self.sentence)
        results, shown, bands = self.results, self._minutes_table(f"{name.id}-values"), tuple[Band, ...]()
        if results.window.is_full:
            first, last = results.window.rounds[0], results.window.rounds[-1]
            start, end = results.starts_ns[first - 1], results.ends_ns[last - 1]
            bands = (Band("x", self.time.place(start), self.time.place(end), "window", self._window_label),)
        plot = Plot(
            x=self.time.axis,
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=(
                Series("IOPS", "column", (0,), _VALUE_COLOR, style="line"),
                Series("Tracked minute", "column", (1,), _TRACKED_COLOR, style="points", emphasis=True),
            ),
            alt=f"{{rows}} minutes, from {{low}} to {{high}} IOPS. {self.sentence.text}",
            bands=bands,
            height_px=height_over_rounds(len(results.minutes)),
        )
        rounds = self._rounds_table(name)
        return page(name, lead, plot.over(name, shown), self.sentence, *self.between, rounds, shown)

    def over_rounds(self, name: PlotName, lead: Block | None = None) -> Page:
        """IOPS of the tracked minutes by tracking round, with the time of its start (Table 13-3 (1))."""
        results = self.results
        if not results.minutes:
            return page(name, self.sentence)
        axis, shown = ticks.rounds_axis(len(results.minutes)), self._rounds_table(name)
        starts = [self.time.place(results.starts_ns[int(number) - 1]) for number in axis.ticks]
        plot = Plot(
            x=replace(
                axis,
                title=f"{ROUND_WORD} (began at {self.time.unit_name})",
                labels=tuple(
                    f"{number:.0f} ({cells.fixed(start, 1)})"
                    for number, start in zip(axis.ticks, starts, strict=True)
                ),
            ),
            y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
            series=(Series("IOPS", "row", (0,), _VALUE_COLOR, style="spline", emphasis=True),),
            alt=f"{{count}} tracking rounds, from {{low}} to {{high}} IOPS. {self.sentence.text}",
            bands=window_band(results, self._window_label),
            height_px=height_over_rounds(len(results.minutes)),
        )
        every = self._minutes_table(f"{name.id}-minutes")
        return page(name, lead, plot.over(name, shown), self.sentence, *self.between, shown, every)

    def window(self, name: PlotName, conditions: str) -> Page:
        """The window of the tracked minutes with its determination data (Plot 11-2, Table 13-3 (2))."""
        return Window(
            variable=self.stimulus,
            metric=IOPS,
            verdict=self.results.verdict,
            values=self.results.iops,
            reason=self.results.reason(ROUND_WORD),
            conditions=conditions,
            round_word=ROUND_WORD,
            further_verdicts=self.between,
        ).page(name)

    @property
    def _window_label(self) -> str:
        name = "Measurement Window" if self.results.steady else "Last five"
        return f"{name}: {ROUND_WORD}s {self.results.window.label}"

    def _rounds_table(self, name: PlotName) -> Table:
        results = self.results
        rows: list[Cells] = [
            (metric.label, *map(metric.cell, results.minutes)) for metric in (IOPS, ART, MRT)
        ]
        began_s = ((one.started_ns - self.samples[0].started_ns) / NS_PER_S for one in results.minutes)
        return rows_table(
            f"{name.id}-rounds",
            "Tracked minutes",
            (Column(ROUND_WORD, align="left", width=0), *round_columns(len(results.minutes))),
            (*rows, ("Start (s)", *(cells.number(start_s, 3) for start_s in began_s))),
            note=f"{results.begun} {ROUND_WORD}{'s' if results.begun != 1 else ''} begun. "
            "Start: as recorded, from the first I/O of the stimulus.",
        )

    def _minutes_table(self, table_id: str) -> Table:
        tracked = Col("Tracked (IOPS)", self._tracked_cell)
        columns = (iops_column(self.minute_ns), tracked, *columns_of(TIMES_AND_CPU))
        title = "Every minute of the stimulus"
        return list_minutes(
            table_id, title, columns, self.minutes, time=self.time, end_ns=lambda minute: minute.end_ns
        )

    def _tracked_cell(self, row: Minute) -> Cell:
        """The IOPS of the tracked minute whose middle lies in this minute, if one does."""
        results = self.results
        for minute, start, end in zip(results.minutes, results.starts_ns, results.ends_ns, strict=True):
            if row.start_ns <= (start + end) // 2 < row.end_ns:
                return IOPS.cell(minute)
        return Cell("-")

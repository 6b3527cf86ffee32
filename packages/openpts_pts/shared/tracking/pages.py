"""Pages of a continuous stimulus that is judged by single minutes: over time, by tracking round, its window.

PTS 11.3.2 (Plots 11-1, 11-2), Table 13-3 and Plot 14-1 (1, 2).
"""

from collections.abc import Sequence
from math import fsum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.minutes import Minute, minutes_of, pieces_between, sum_parts
from openpts.analysis.steady_state import WINDOW_ROUNDS, judge
from openpts.procedures.kit.steps import ART, IOPS, MRT, summarize
from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.sample import Measured, Phase, Sample
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells, ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.model import Axis, Band, Cell, Column, Page, Series, Table, Verdict
from openpts_pages.ticks import TimeAxis
from openpts_pts.shared.minutes_table import elapsed_column, minute_columns, minute_row, minutes_axis
from openpts_pts.shared.steady_state_pages import (
    Window,
    height_over_rounds,
    judged_sentence,
    round_columns,
    window_band,
    window_page,
)
from openpts_pts.shared.tracking.rounds import TrackedStep, TrackingResults, analyze_tracking

# A minute of which less was measured is no record of it.
_LEAST: Final = 0.5


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


def other_minutes(
    samples: Sequence[Sample],
    verdict: SteadyStateReport | None,
    starts_ns: Sequence[int],
    *,
    minute_ns: int,
    period_ns: int,
) -> OtherMinutes | None:
    """Judge the minutes between the tracked ones of a window, from all steps of the stimulus in order.

    ``starts_ns`` are those of tracked minutes 1, 2, ... from the start of the stimulus. None without a
    verdict, without minutes between, or if no interval is short enough for them.
    """
    if verdict is None:
        return None
    first_ns, last_ns = starts_ns[verdict.rounds[0] - 1], starts_ns[verdict.rounds[-1] - 1]
    rates = _minutes(samples, first_ns, last_ns, minute_ns)
    per_period = period_ns // minute_ns
    gaps = len(verdict.rounds) - 1
    rows = []
    for offset in range(1, per_period):
        numbers = [offset + gap * per_period for gap in range(gaps)]
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


def _minutes(samples: Sequence[Sample], first_ns: int, last_ns: int, minute_ns: int) -> dict[int, float]:
    """IOPS of the minutes from one moment to another, by their number from 0."""
    parts = (
        ((piece.middle_ns - first_ns) // minute_ns, piece.measured)
        for piece in pieces_between(samples, first_ns, last_ns)
    )
    by_minute = summarize(parts, int, lambda measured: measured)
    sums = {number: Measured(**sum_parts(found)) for number, found in by_minute.items()}
    return {
        number: one.iops
        for number, one in sums.items()
        if _LEAST * minute_ns <= one.elapsed_ns <= minute_ns / _LEAST
    }


def other_minutes_verdicts(found: OtherMinutes | None, subject: str, period_ns: int) -> tuple[Verdict, ...]:
    """A sentence on what the tracked minutes missed; none if the others agree with them.

    ``subject`` names the stimulus. The verdict by the specification's rule does not change.
    """
    if found is None or found.agree:
        return ()
    period = format_duration(period_ns)
    low, high = cells.fixed(found.lowest_iops, 0), cells.fixed(found.highest_iops, 0)
    least, most = cells.fixed(found.minimum_iops, 0), cells.fixed(found.maximum_iops, 0)
    return (
        Verdict(
            f"{subject}: the minutes between the tracked ones disagree. {found.steady} of {found.rows} other "
            f"rows of minutes {period} apart in the same time meet the rules of 2.1.24; their averages are "
            f"{low} to {high} IOPS, single minutes {least} to {most} IOPS; the tracked minutes average "
            f"{cells.fixed(found.tracked.average, 0)} IOPS. Tracked minutes can't show what repeats every "
            f"{period}, or comes and goes within that time.",
            "fail" if found.elsewhere or 2 * found.steady < found.rows else "info",
        ),
    )


def other_minutes_figures(found: OtherMinutes | None) -> dict[str, Any] | None:
    """The same, JSON-ready; None where there are no minutes between."""
    if found is None:
        return None
    return {
        "agree": found.agree,
        "rows": found.rows,
        "steady_rows": found.steady,
        "lowest_average_iops": found.lowest_iops,
        "highest_average_iops": found.highest_iops,
        "minimum_iops": found.minimum_iops,
        "maximum_iops": found.maximum_iops,
    }


ROUND_WORD = "Tracking Round"
_VALUE_COLOR = 2
_TRACKED_COLOR = 3


class TrackedPhase(Struct, frozen=True):
    """A tracked part of a run: ``stimulus`` and ``demand`` name it in sentences, as far as it was begun.

    ``samples`` are all its steps in order. ``others`` are the minutes between those of its window, if they
    are known.
    """

    run: Run
    samples: list[Sample]
    results: TrackingResults
    stimulus: str
    demand: str
    period_ns: int
    others: OtherMinutes | None

    @property
    def minute_ns(self) -> int:
        """The specification's minute in this run."""
        return self.run.manifest.conditions.minute_ns

    @property
    def reason(self) -> str:
        """Why there is no full window: ``2 of 5 tracking rounds``."""
        return f"{len(self.results.minutes)} of {WINDOW_ROUNDS} tracking rounds"


def tracked_phase(run: Run, phase: Phase, cycle: int = 1, *, before: int | None = None) -> TrackedPhase:
    """The part with its verdict, judged from the samples alone.

    ``before`` is given where a phase has several parts: that of the part's ``Tracking``.
    """
    conditions: Any = run.manifest.conditions  # of a test that tracks by minutes: all have a period
    steps = run.phase(phase, cycle=cycle)
    if before is not None:
        steps = [step for step in steps if before < step.place.number <= before + conditions.max_rounds]
    results = analyze_tracking(
        [TrackedStep(step.place.number - (before or 0), step.place.position, step.sample) for step in steps],
        minute_ns=conditions.minute_ns,
        period_ns=conditions.tracking_period_ns,
    )
    others = other_minutes(
        [step.sample for step in steps],
        results.verdict,
        results.starts_ns,
        minute_ns=conditions.minute_ns,
        period_ns=conditions.tracking_period_ns,
    )
    stimulus, demand = _applied(steps[0].sample.step) if steps else ("n/a", "n/a")
    return TrackedPhase(
        run=run,
        samples=[step.sample for step in steps],
        results=results,
        stimulus=stimulus,
        demand=demand,
        period_ns=conditions.tracking_period_ns,
        others=others,
    )


def _applied(step: Step) -> tuple[str, str]:
    if (stimulus := step.stimulus) is not None:
        return str(stimulus), f"TC {stimulus.tc} / QD {stimulus.qd}"
    return f"{len(step.streams)} streams at once", f"TOIO {step.toio}"


def between_verdicts(tracked: TrackedPhase, subject: str = "Pre-conditioning") -> tuple[Verdict, ...]:
    """A verdict on the minutes between the tracked ones, if they disagree with these."""
    what = f"{subject} ({tracked.stimulus}, {tracked.demand})"
    return other_minutes_verdicts(tracked.others, what, tracked.period_ns)


def tracking_sentence(tracked: TrackedPhase, subject: str = "Pre-conditioning") -> Verdict:
    """Whether the part came to steady state, with its rule; ``subject`` begins the sentence."""
    what = f"{subject} ({tracked.stimulus}, {tracked.demand})"
    return judged_sentence(what, tracked.results, len(tracked.results.minutes), tracked.reason, ROUND_WORD)


def tracking_time_page(
    tracked: TrackedPhase, name: PlotName, *, subject: str = "Pre-conditioning", lead: str = ""
) -> Page:
    """IOPS of each minute over time, the tracked minutes as points (Plot 11-1, Plot 14-1 (1))."""
    minutes = minutes_of(tracked.samples, tracked.minute_ns)
    if not minutes:
        return page(name, tracking_sentence(tracked, subject))
    time = minutes_axis(minutes)
    shown = _minutes_table(f"{name.id}-values", tracked, minutes, time)
    sentence = tracking_sentence(tracked, subject)
    plot = Plot(
        x=time.axis,
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(
            Series("IOPS", "column", (0,), _VALUE_COLOR, style="line"),
            Series("Tracked minute", "column", (1,), _TRACKED_COLOR, style="points", emphasis=True),
        ),
        alt=f"{{rows}} minutes, from {{low}} to {{high}} IOPS. {sentence.text}",
        bands=_time_band(tracked.results, time),
        height_px=height_over_rounds(len(tracked.results.minutes)),
    )
    between, rounds = between_verdicts(tracked, subject), _rounds_table(name, tracked)
    return page(name, _lead(lead), plot.over(name, shown), sentence, *between, rounds, shown)


def tracking_rounds_page(
    tracked: TrackedPhase, name: PlotName, *, subject: str = "Pre-conditioning", lead: str = ""
) -> Page:
    """IOPS of the tracked minutes by tracking round, with the time at which each began (Table 13-3 (1))."""
    results = tracked.results
    if not results.minutes:
        return page(name, tracking_sentence(tracked, subject))
    minutes = minutes_of(tracked.samples, tracked.minute_ns)
    time = minutes_axis(minutes)
    shown, sentence = _rounds_table(name, tracked), tracking_sentence(tracked, subject)
    plot = Plot(
        x=_rounds_axis(results, time),
        y=lambda values: ticks.linear_axis("IOPS", 0, max(values)),
        series=(Series("IOPS", "row", (0,), _VALUE_COLOR, style="spline", emphasis=True),),
        alt=f"{{count}} tracking rounds, from {{low}} to {{high}} IOPS. {sentence.text}",
        bands=window_band(results, _window_label(results)),
        height_px=height_over_rounds(len(results.minutes)),
    )
    between = between_verdicts(tracked, subject)
    every = _minutes_table(f"{name.id}-minutes", tracked, minutes, time)
    return page(name, _lead(lead), plot.over(name, shown), sentence, *between, shown, every)


def tracking_window_page(tracked: TrackedPhase, name: PlotName, conditions: str) -> Page:
    """The window of the tracked minutes with its determination data (Plot 11-2, Table 13-3 (2))."""
    window = Window(
        variable=f"{tracked.stimulus}, {tracked.demand}",
        metric=IOPS,
        verdict=tracked.results.verdict,
        values=tracked.results.iops,
        reason=tracked.reason,
        conditions=conditions,
        round_word=ROUND_WORD,
        further_verdicts=between_verdicts(tracked),
    )
    return window_page(window, name)


def _lead(text: str) -> Verdict | None:
    return Verdict(text) if text else None


def _rounds_axis(results: TrackingResults, time: TimeAxis) -> Axis:
    """Tracking rounds, with the time at which each began."""
    axis = ticks.rounds_axis(len(results.minutes))
    starts = [time.place(results.starts_ns[int(number) - 1]) for number in axis.ticks]
    labels = tuple(
        f"{number:.0f} ({cells.fixed(start, 1)})" for number, start in zip(axis.ticks, starts, strict=True)
    )
    return replace(axis, title=f"{ROUND_WORD} (began at {time.unit_name})", labels=labels)


def _time_band(results: TrackingResults, time: TimeAxis) -> tuple[Band, ...]:
    if not results.window.is_full:
        return ()
    first, last = results.window.rounds[0], results.window.rounds[-1]
    start, end = time.place(results.starts_ns[first - 1]), time.place(results.ends_ns[last - 1])
    return (Band("x", start, end, "window", _window_label(results)),)


def _window_label(results: TrackingResults) -> str:
    name = "Measurement Window" if results.steady else "Last five"
    return f"{name}: {ROUND_WORD}s {results.window.label}"


def _rounds_table(name: PlotName, tracked: TrackedPhase) -> Table:
    results = tracked.results
    first_ns = tracked.samples[0].started_ns if tracked.samples else 0
    began_s = [(minute.started_ns - first_ns) / NS_PER_S for minute in results.minutes]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...] = (
        ("IOPS", tuple(map(IOPS.cell, results.minutes))),
        (ART.label, tuple(map(ART.cell, results.minutes))),
        (MRT.label, tuple(map(MRT.cell, results.minutes))),
        ("Start (s)", tuple(cells.number(start_s, 3) for start_s in began_s)),
    )
    return rows_table(
        f"{name.id}-rounds",
        "Tracked minutes",
        (Column(ROUND_WORD, align="left", width=0), *round_columns(range(1, len(results.minutes) + 1))),
        ((label, *cells_of_row) for label, cells_of_row in rows),
        note=f"{results.begun} {ROUND_WORD}{'s' if results.begun != 1 else ''} begun. Start: as recorded, "
        "from the first I/O of the stimulus.",
    )


def _minutes_table(table_id: str, tracked: TrackedPhase, minutes: Sequence[Minute], time: TimeAxis) -> Table:
    return rows_table(
        table_id,
        "Every minute of the stimulus",
        (elapsed_column(time), *minute_columns(extra=(Column("Tracked (IOPS)"),))),
        (
            minute_row(minute, time, tracked.minute_ns, extra=(_tracked_cell(tracked.results, minute),))
            for minute in minutes
        ),
        printed=False,
    )


def _tracked_cell(results: TrackingResults, row: Minute) -> Cell:
    """The IOPS of the tracked minute whose middle lies in this minute, if one does."""
    for minute, start_ns, end_ns in zip(results.minutes, results.starts_ns, results.ends_ns, strict=True):
        if row.start_ns <= (start_ns + end_ns) // 2 < row.end_ns:
            return IOPS.cell(minute)
    return Cell("-")

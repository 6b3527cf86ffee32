"""The report of a replay: how true it was, and what the drive did."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import RunSet
from openpts.procedures.kit.content import ReportContent, spread_remarks
from openpts.procedures.kit.header import Rows
from openpts.record.reader import Run
from openpts.units import NS_PER_US, format_duration
from openpts.vocabulary.replay import Conflicts, ReplayMode, ReplayPreparation, TraceScore, trace_score
from openpts.vocabulary.sample import OperationSample, Phase
from openpts.vocabulary.verdict import Better
from openpts.vocabulary.workload import data_text
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import PlotName, page, rows_table
from openpts_pages.measure import Measure, measured
from openpts_pages.model import Cell, Page, Table, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import (
    CAUSES,
    LATE_US,
    OPERATIONS,
    PERCENTILES,
    Pass,
    all_passes_of,
    distribution,
    pass_figures,
    seconds,
)
from openpts_traces.replay.set_report import set_report
from openpts_traces.replay.tables import (
    SCORE_COLUMNS,
    SCORE_NOTE,
    labeled_table,
    mean_cell,
    passes_table,
    points,
    score_cells,
    slips_table,
)
from openpts_traces.replay.traces import TraceFile, trace_words

_TITLE: Final = "Replay of a Trace"
_SMALL: Final = 0.01


class ReplayResults(Struct, frozen=True):
    """All passes that came to their ends, of one trace or of several."""

    passes: tuple[Pass, ...]

    @property
    def traces(self) -> "tuple[ReplayResults, ...]":
        """The same of each trace by itself."""
        streams = sorted({one.stream for one in self.passes})
        return tuple(
            ReplayResults(tuple(one for one in self.passes if one.stream == stream)) for stream in streams
        )

    @property
    def preparation(self) -> ReplayPreparation | None:
        """What became of the first trace in the first pass."""
        return self.passes[0].replay.preparation if self.passes else None

    @property
    def typical(self) -> Pass | None:
        """The pass with the median score, the lower one of two; the last where there is no score."""
        scored = sorted((one.score.score, at) for at, one in enumerate(self.passes) if one.score is not None)
        if not scored:
            return self.passes[-1] if self.passes else None
        return self.passes[scored[(len(scored) - 1) // 2][1]]

    @property
    def scores(self) -> RunSet | None:
        """Scores of all passes; None where there are none."""
        scores = tuple(float(one.score.score) for one in self.passes if one.score is not None)
        return RunSet(scores, Better.HIGHER) if scores else None

    @property
    def median_score(self) -> float | None:
        """Of all passes of a trace; None where several were replayed at once: each has its own."""
        scores = self.scores
        return median(scores.values) if scores and len(self.traces) == 1 else None

    @property
    def original_score(self) -> TraceScore | None:
        """What the trace itself scores; None where it has no completions."""
        found = self.preparation
        times = distribution(found.latencies.values() if found else ())
        if found is None or not times.count:
            return None
        return trace_score(found.transferred_bytes, times.count, round(times.middle_sum_ns), found.busy_ns)

    def percentile(self, operation: str, percentile: float) -> Cell:
        """Response time of an operation in the typical pass of the only trace."""
        if len(self.traces) > 1:
            return cells.missing("one for each trace")
        one = self.typical
        times = distribution([one.trace.operations[operation].histogram] if one else ())
        return points(times, [percentile])[0] if times.count else cells.missing("no I/O")

    def figures(self, trace: TraceFile | None) -> dict[str, Any]:
        """Key numbers of one trace, JSON-ready."""
        found, scores = self.preparation, self.scores
        return {
            "trace": trace.name if trace else None,
            "sources": [source.sha256 for source in found.sources] if found else [],
            "schedule": self.passes[0].replay.schedule if self.passes else None,
            "traced_ios": found.traced if found else 0,
            "skipped": dict(found.skipped) if found else {},
            "changed": dict(found.changed) if found else {},
            "median_score": self.median_score,
            "score_rse_pct": scores.rse_pct if scores else None,
        }


_MEASURES: Final[tuple[Measure[ReplayResults], ...]] = (
    Measure(
        "score", "openpts trace score", "", lambda found: found.median_score, decimals=0, better=Better.HIGHER
    ),
    Measure("read_p99", "Reads, 99 %", "ms", lambda found: found.percentile("read", 99.0)),
    Measure("write_p99", "Writes, 99 %", "ms", lambda found: found.percentile("write", 99.0)),
)


class ReplayReport(Struct, frozen=True):
    """What was replayed, and its pages."""

    run: Run
    conditions: ReplayConditions
    results: ReplayResults

    @property
    def traces(self) -> Sequence[tuple[int, ReplayResults, TraceFile]]:
        """Each trace with its number, what was replayed of it, and what the operator chose."""
        pairs = zip(self.results.traces, self.conditions.together, strict=False)
        return [(number, *pair) for number, pair in enumerate(pairs, start=1)]

    def verdict(self) -> Verdict:
        """Whether all was issued, in order and in time."""
        passes = self.results.passes
        if not passes:
            return Verdict("No pass of the trace was completed.", "fail")
        if late := [one for one in passes if one.played.late.get("reader")]:
            which = "; ".join(one.label for one in late)
            return Verdict(f"The schedule was read too late in pass {which}: it is not as the trace.", "fail")
        issued, scheduled, reordered = (
            sum(getattr(one.played, name) for one in passes) for name in ("issued", "scheduled", "reordered")
        )
        count = len({one.number for one in passes})
        text = f"{issued:,} of {scheduled:,} I/Os issued in {count} passes, {reordered} out of order"
        shares = [one.late_share(LATE_US[1] * NS_PER_US) for one in passes]
        if timed := [share for share in shares if share is not None]:
            text += f"; {100 * max(timed):.3g} % late by more than {LATE_US[1]} us in the worst"
        limited = max(one.depth_limited_share for one in passes)
        if limited > _SMALL:
            text += f"; depth-limited for {100 * limited:.1f} % of the time"
        is_in_order = not reordered or self.conditions.conflicts is Conflicts.PUSH_BACK
        return Verdict(f"{text}.", "pass" if issued == scheduled and is_in_order else "fail")

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        results, conditions = self.results, self.conditions
        found = results.preparation
        return (
            ("Data Pattern", "see Fidelity"),
            ("AR & Amount", f"mapping {conditions.mapping}"),
            ("Test Stimulus", ", ".join(trace.name for trace in conditions.together) or "none"),
            ("I/Os of a Pass", ", ".join(f"{one.passes[0].replay.ios:,}" for one in results.traces) or "n/a"),
            ("Duration traced", f"{seconds(found.span_ns):,.3f} s" if found else "n/a"),
            ("Mode", str(conditions.mode)),
            ("Speed", conditions.speed),
            ("Passes", f"{len({one.number for one in results.passes})} of {conditions.passes}"),
            ("Written before", self.written_before),
            ("Steady State", NO_STEADY_STATE),
        )

    @property
    def written_before(self) -> str:
        """What was written before the first pass."""
        return "nothing" if self.conditions.read_only else str(self.conditions.prefill)

    def pages(self) -> tuple[Page, ...]:
        """In their order."""
        prepared = state_page(self.run, "Purge and Preparation")
        if not self.results.passes:
            reason = "no pass was completed"
            return (prepared, nothing_page("replay-fidelity", "Fidelity of the Replay", reason))
        return prepared, self.fidelity(), self.latency(), self.comparison()

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready: of the first trace, of those beside it, and of all passes."""
        each = [one.figures(trace) for _, one, trace in self.traces]
        first = each[0] if each else self.results.figures(self.conditions.trace)
        passes = [
            {**({"pass": one.number, "trace": one.name} if one.name else {}), **pass_figures(one)}
            for one in self.results.passes
        ]
        return {**first, **({"also": each[1:]} if self.conditions.also else {}), "passes": passes}

    def fidelity(self) -> Page:
        """The block that every report of a replay has."""
        passes = self.results.passes
        labeled = [(one.label, one) for one in passes]
        gaps_ns = {one.number: one.sample.gap_ns for one in passes}
        return page(
            PlotName("replay-fidelity", "", "Fidelity of the Replay"),
            self.verdict(),
            *(
                self.trace_table(found, trace, number)
                for number, one, trace in self.traces
                if (found := one.preparation) is not None
            ),
            passes_table("replay-passes", labeled),
            slips_table("replay-slips", labeled),
            rows_table(
                "replay-causes",
                "Late I/Os (by more than 10 us) by Cause, and Time waited",
                ("Cause:<2", *(f"Pass {one.label}, {unit}" for one in passes for unit in ("I/Os", "s"))),
                ((text, *_of_cause(passes, cause)) for cause, text in CAUSES.items()),
            ),
            labeled_table(
                "replay-gaps",
                "Gaps between Passes",
                ("Before it (s)",),
                (
                    (str(number), [cells.number_or("first", None if gap is None else seconds(gap), 3)])
                    for number, gap in gaps_ns.items()
                ),
            ),
        )

    def trace_table(self, found: ReplayPreparation, trace: TraceFile, number: int) -> Table:
        """What a trace is, and what became of it."""
        before, after, region, conditions = found.before, found.after, trace.region, self.conditions
        count = len(conditions.together)
        part = "all" if count == 1 else f"{number} of {count} equal ones"
        if region is not None:
            part = f"{region.start_pct:g} to {region.end_pct:g} %"
        return items_table(
            _numbered("replay-trace", number),
            f"Trace {number}" if conditions.also else "Trace",
            [
                ("Trace", trace.name),
                ("What it is", trace_words(trace)),
                ("SHA-256", ", ".join(source.sha256 for source in found.sources)),
                ("Format, fidelity class", f"{found.format}, {found.fidelity}"),
                ("I/Os in the trace", f"{found.traced:,}"),
                ("Left out", _counts(found.skipped)),
                ("Changed", _counts(found.changed)),
                ("I/Os of a pass", _counts(found.by_operation)),
                ("Rounded to sectors", f"{found.rounding_bytes:,} B more"),
                ("Cut by the mapping", f"{found.clipped_bytes:,} B"),
                ("Mode, speed", f"{conditions.mode}, {conditions.speed}"),
                ("Idle times cut", f"{found.cut_idles:,}, {seconds(found.cut_ns):,.3f} s in all"),
                ("Mapping", str(trace.mapping or conditions.mapping)),
                ("Part of the drive", part),
                ("Moved on with each pass", f"{conditions.shift_bytes:,} B"),
                (
                    "Sequential before and after",
                    f"{before.sequential_pct:.2f} %, {after.sequential_pct:.2f} %",
                ),
                ("Overlaps in flight before and after", f"{before.overlaps:,}, {after.overlaps:,}"),
                ("Footprint before and after", f"{before.footprint_bytes:,} B, {after.footprint_bytes:,} B"),
                ("Written before", self.written_before),
                ("Data written", data_text(conditions.data)),
                ("Conflicts", str(conditions.conflicts)),
            ],
            note="Hot sets and reuse distances are those of the trace with every mapping but clip and wrap.",
        )

    def latency(self) -> Page:
        """From submission, and from the due moment: never in one table."""
        pairs = [(one, name) for one in self.results.passes for name in OPERATIONS]
        of_drive = (
            (f"{one.label}, {name}", done.histogram, done)
            for one, name in pairs
            if (done := one.trace.operations[name]).ios
        )
        of_user = (
            (f"{one.label}, {name}", encoded, None)
            for one, name in pairs
            if (encoded := one.played.due_latencies.get(name))
        )
        return page(
            PlotName("replay-latency", "", "Response Times"),
            _latency_table("replay-latency-submission", "From Submission (the drive's view)", of_drive),
            _latency_table("replay-latency-due", "From the due Moment (the user's view)", of_user),
        )

    def comparison(self) -> Page:
        """The trace beside its replay, and what trace benchmarks make of both."""
        typical = [one.typical for one in self.results.traces]
        blocks: list[Verdict | Table] = []
        if self.conditions.mode is ReplayMode.TIMED and any(one and one.is_too_late for one in typical):
            text = "More than 1 % of the I/Os were late by more than 1 ms: latencies are of another workload."
            blocks.append(Verdict(text, "warn"))
        for number, (one, middle) in enumerate(zip(self.results.traces, typical, strict=True), start=1):
            if one.preparation is not None and middle is not None:
                blocks.append(_original_table(one.preparation, middle, number))
            blocks.append(self.score_table(one, number))
        return page(PlotName("replay-comparison", "", "Trace and Replay"), *blocks)

    def score_table(self, results: ReplayResults, number: int) -> Table:
        """Of the trace itself, and of each pass."""
        longest_ns = self.conditions.max_idle_ns
        idle = "full" if longest_ns is None else f"max-idle {format_duration(longest_ns)}"
        scored = [("Trace", results.original_score), *((one.label, one.score) for one in results.passes)]
        spread = "; ".join(spread_remarks(results.scores, "pass")) if results.scores else "no score"
        return labeled_table(
            _numbered("replay-score", number),
            f"openpts Trace Score ({idle})",
            SCORE_COLUMNS,
            ((name, score_cells(score)) for name, score in scored),
            f"{SCORE_NOTE} Passes: {spread}.",
        )


def _numbered(table_id: str, number: int) -> str:
    """Tables of other traces than the first have the trace's number behind their names."""
    return table_id if number == 1 else f"{table_id}-{number}"


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in found.items() if count) or "none"


def _of_cause(passes: Iterable[Pass], cause: str) -> Iterator[Cell]:
    for one in passes:
        yield cells.count(one.played.late.get(cause, 0))
        yield cells.number(seconds(one.played.waited_ns.get(cause, 0)), 3)


def _latency_table(
    table_id: str, title: str, found: Iterable[tuple[str, bytes, OperationSample | None]]
) -> Table:
    def row(encoded: bytes, measured: OperationSample | None) -> list[Cell]:
        times = distribution([encoded])
        return [cells.count(times.count), _mean_cell(times, measured), *points(times)]

    return labeled_table(
        table_id,
        title,
        ("I/Os", "Mean (ms)", *(f"P{percentile:g} (ms)" for percentile in PERCENTILES), "Max (ms)"),
        ((name, row(encoded, measured)) for name, encoded, measured in found),
    )


def _mean_cell(times: LatencyDistribution, measured: OperationSample | None) -> Cell:
    """By the exact sum where all I/Os were timed, which those of a drive on a scale were not."""
    timed = measured is not None and measured.ios == times.count
    return mean_cell(times, measured.latency_sum_ns if measured and timed else None)


def _original_table(found: ReplayPreparation, typical: Pass, number: int) -> Table:
    fit, played = typical.played.in_flight, typical.played

    def times(absent: str, encoded: bytes | None, measured: OperationSample | None = None) -> list[Cell]:
        if not encoded:
            return [cells.missing(absent)] * 2
        read = distribution([encoded])
        return [_mean_cell(read, measured), cells.latency(read.percentile_ns(99))]

    def numbers(name: str, traced: float, replayed: float, decimals: int) -> tuple[str, Cell, Cell]:
        return name, cells.number(traced, decimals), cells.number(replayed, decimals)

    rows = [numbers("Duration (s)", seconds(found.span_ns), seconds(typical.execution_ns), 6)]
    for operation in ("read", "write"):
        measured = typical.trace.operations[operation]
        traced = times("no completions", found.latencies.get(operation))
        replayed = times("no I/O", measured.histogram, measured)
        names = (f"Mean of {operation}s (ms)", f"P99 of {operation}s (ms)")
        rows += zip(names, traced, replayed, strict=True)
    rows.append(numbers("Busy time (s)", seconds(found.busy_ns), seconds(played.busy_ns), 6))
    note = "No completions are in the trace."
    if fit.ios:
        mean = (fit.traced / fit.ios, fit.replayed / fit.ios)
        rows.append(numbers("Others in flight at issue, mean", *mean, 2))
        correlation = fit.correlation
        of = "n/a" if correlation is None else f"{correlation:.3f}"
        note = f"In flight: mean absolute difference {fit.difference / fit.ios:.2f}, correlation {of}."
    return rows_table(
        _numbered("replay-original", number),
        f"Trace and Pass {typical.label}",
        "Figure:<2 | Trace | Replay",
        rows,
        note=note,
    )


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(ReplayConditions)
    if conditions.traces:
        return set_report(run)
    passes = all_passes_of(step.sample for step in run.phase(Phase.LOAD))
    found = ReplayReport(run, conditions, ReplayResults(passes))
    return ReportContent(
        verdicts=(found.verdict(),),
        measures=measured(_MEASURES, found.results),
        sections=methodology(run, _TITLE, found.test_rows(), found.pages),
        figures=found.figures,
    )

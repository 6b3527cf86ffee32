"""The report of a replay: how true it was, and what the drive did."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import RunSet
from openpts.procedures.kit.content import ReportContent, spread_words
from openpts.procedures.kit.header import Rows
from openpts.record.reader import Run
from openpts.units import NS_PER_US, format_duration
from openpts.vocabulary.replay import Conflicts, ReplayMode, ReplayPreparation, TraceScore, trace_score
from openpts.vocabulary.sample import OperationSample, Phase, Sample
from openpts.vocabulary.stimulus import ActiveRange
from openpts.vocabulary.verdict import Better
from openpts.vocabulary.workload import data_text
from openpts_pages import cells
from openpts_pages.facts_table import items_table
from openpts_pages.kit import rows_table
from openpts_pages.measure import Measure, measured
from openpts_pages.model import Cell, Column, Page, Table, Verdict
from openpts_pts.shared.preparation_page import methodology, nothing_page, state_page
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
        scored = [one for one in self.passes if one.score is not None]
        if not scored:
            return self.passes[-1] if self.passes else None
        return sorted(scored, key=_score_of)[(len(scored) - 1) // 2]

    @property
    def scores(self) -> RunSet | None:
        """Scores of all passes; None where there are none."""
        scores = [float(_score_of(one)) for one in self.passes if one.score is not None]
        return RunSet(tuple(scores), Better.HIGHER) if scores else None

    @property
    def median_score(self) -> float | None:
        """Of all passes of a trace; None where several were replayed at once: each has its own."""
        scores = self.scores
        return median(scores.values) if scores and len(self.traces) == 1 else None

    @property
    def original_score(self) -> TraceScore | None:
        """What the trace itself scores; None where it has no completions."""
        found = self.preparation
        if found is None:
            return None
        times = distribution(found.latencies.values())
        if not times.count:
            return None
        return trace_score(found.transferred_bytes, times.count, round(times.middle_sum_ns), found.busy_ns)


def _score_of(one: Pass) -> int:
    return one.score.score if one.score else 0


def analyze(samples: Iterable[Sample]) -> ReplayResults:
    """The passes of these steps."""
    return ReplayResults(all_passes_of(samples))


_TITLE: Final = "Replay of a Trace"
_SMALL: Final = 0.01


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(ReplayConditions)
    if conditions.traces:
        return set_report(run)
    results = analyze(step.sample for step in run.phase(Phase.LOAD))
    verdict = _sentence(results, conditions)
    return ReportContent(
        verdicts=(verdict,),
        measures=tuple(measured(_MEASURES, results)),
        sections=methodology(
            run, _TITLE, _test_rows(results, conditions), lambda: _pages(run, results, conditions, verdict)
        ),
        figures=lambda: _figures(results, conditions),
    )


def _sentence(results: ReplayResults, conditions: ReplayConditions) -> Verdict:
    if not results.passes:
        return Verdict("No pass of the trace was completed.", "fail")
    if late := [one for one in results.passes if one.played.late.get("reader")]:
        which = "; ".join(one.label for one in late)
        return Verdict(f"The schedule was read too late in pass {which}: it is not as the trace.", "fail")
    issued = sum(one.played.issued for one in results.passes)
    scheduled = sum(one.played.scheduled for one in results.passes)
    shares = [one.late_share(LATE_US[1] * NS_PER_US) for one in results.passes]
    timed = [share for share in shares if share is not None]
    passes = len({one.number for one in results.passes})
    text = f"{issued:,} of {scheduled:,} I/Os issued in {passes} passes, {_reordered(results)} out of order"
    if timed:
        text += f"; {100 * max(timed):.3g} % late by more than {LATE_US[1]} us in the worst"
    limited = max(one.depth_limited_share for one in results.passes)
    if limited > _SMALL:
        text += f"; depth-limited for {100 * limited:.1f} % of the time"
    is_in_order = not _reordered(results) or conditions.conflicts is Conflicts.PUSH_BACK
    return Verdict(f"{text}.", "pass" if issued == scheduled and is_in_order else "fail")


def _reordered(results: ReplayResults) -> int:
    return sum(one.played.reordered for one in results.passes)


def _percentile(results: ReplayResults, operation: str, percentile: float) -> Cell:
    one = results.typical
    if len(results.traces) > 1:
        return cells.missing("one for each trace")
    encoded = one.trace.operations[operation].histogram if one else b""
    if not encoded:
        return cells.missing("no I/O")
    times = LatencyDistribution.merged([encoded])
    if not times.supports(percentile):
        return cells.missing(f"N = {times.count:,}")
    return cells.latency(times.percentile_ns(percentile))


_MEASURES: Final[tuple[Measure[ReplayResults], ...]] = (
    Measure(
        "score", "openpts trace score", "", lambda found: found.median_score, decimals=0, better=Better.HIGHER
    ),
    Measure("read_p99", "Reads, 99 %", "ms", lambda found: _percentile(found, "read", 99.0)),
    Measure("write_p99", "Writes, 99 %", "ms", lambda found: _percentile(found, "write", 99.0)),
)


def _test_rows(results: ReplayResults, conditions: ReplayConditions) -> Rows:
    found = results.preparation
    span = f"{seconds(found.span_ns):,.3f} s" if found else "n/a"
    return (
        ("Data Pattern", "see Fidelity"),
        ("AR & Amount", f"mapping {conditions.mapping}"),
        ("Test Stimulus", ", ".join(trace.name for trace in conditions.together) or "none"),
        ("I/Os of a Pass", ", ".join(f"{one.passes[0].replay.ios:,}" for one in results.traces) or "n/a"),
        ("Duration traced", span),
        ("Mode", str(conditions.mode)),
        ("Speed", conditions.speed),
        ("Passes", f"{len({one.number for one in results.passes})} of {conditions.passes}"),
        ("Written before", "nothing" if conditions.read_only else str(conditions.prefill)),
        ("Steady State", "N/A"),
    )


def _pages(
    run: Run, results: ReplayResults, conditions: ReplayConditions, verdict: Verdict
) -> tuple[Page, ...]:
    prepared = state_page(run, "Purge and Preparation")
    if not results.passes:
        return (prepared, nothing_page("replay-fidelity", "Fidelity of the Replay", "no pass was completed"))
    return (
        prepared,
        _fidelity_page(results, conditions, verdict),
        _latency_page(results),
        _comparison_page(results, conditions),
    )


def _figures(results: ReplayResults, conditions: ReplayConditions) -> dict[str, Any]:
    """Key numbers, JSON-ready: of the first trace, of those beside it, and of all passes."""
    each = [
        _trace_figures(one, trace) for one, trace in zip(results.traces, conditions.together, strict=False)
    ]
    first = each[0] if each else _trace_figures(results, conditions.trace)
    passes = [
        {**({"pass": one.number, "trace": one.name} if one.name else {}), **pass_figures(one)}
        for one in results.passes
    ]
    return {**first, **({"also": each[1:]} if conditions.also else {}), "passes": passes}


def _trace_figures(results: ReplayResults, trace: TraceFile | None) -> dict[str, Any]:
    found, scores = results.preparation, results.scores
    return {
        "trace": trace.name if trace else None,
        "sources": [source.sha256 for source in found.sources] if found else [],
        "schedule": results.passes[0].replay.schedule if results.passes else None,
        "traced_ios": found.traced if found else 0,
        "skipped": dict(found.skipped) if found else {},
        "changed": dict(found.changed) if found else {},
        "median_score": results.median_score,
        "score_rse_pct": scores.rse_pct if scores else None,
    }


def _fidelity_page(results: ReplayResults, conditions: ReplayConditions, verdict: Verdict) -> Page:
    """The block that every report of a replay has."""
    blocks = [
        _trace_table(found, trace, number, conditions)
        for number, (one, trace) in enumerate(zip(results.traces, conditions.together, strict=False), start=1)
        if (found := one.preparation) is not None
    ]
    labeled = [(one.label, one) for one in results.passes]
    return Page(
        "replay-fidelity",
        "Fidelity of the Replay",
        (
            verdict,
            *blocks,
            passes_table("replay-passes", labeled),
            slips_table("replay-slips", labeled),
            _causes_table(results.passes),
            _gaps_table(results.passes),
        ),
        mandatory=True,
    )


def _numbered(table_id: str, number: int) -> str:
    """Tables of other traces than the first have the trace's number behind their names."""
    return table_id if number == 1 else f"{table_id}-{number}"


def _trace_table(
    found: ReplayPreparation, trace: TraceFile, number: int, conditions: ReplayConditions
) -> Table:
    before, after, region = found.before, found.after, trace.region
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
            ("Part of the drive", _part_text(region, number, len(conditions.together))),
            ("Moved on with each pass", f"{conditions.shift_bytes:,} B"),
            ("Sequential before and after", f"{before.sequential_pct:.2f} %, {after.sequential_pct:.2f} %"),
            ("Overlaps in flight before and after", f"{before.overlaps:,}, {after.overlaps:,}"),
            ("Footprint before and after", f"{before.footprint_bytes:,} B, {after.footprint_bytes:,} B"),
            ("Written before", "nothing" if conditions.read_only else str(conditions.prefill)),
            ("Data written", data_text(conditions.data)),
            ("Conflicts", str(conditions.conflicts)),
        ],
        note="Hot sets and reuse distances are those of the trace with every mapping but clip and wrap.",
    )


def _part_text(region: ActiveRange | None, number: int, traces: int) -> str:
    if region is not None:
        return f"{region.start_pct:g} to {region.end_pct:g} %"
    return "all" if traces == 1 else f"{number} of {traces} equal ones"


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in found.items() if count) or "none"


def _causes_table(passes: tuple[Pass, ...]) -> Table:
    heads = [Column(f"Pass {one.label}, {unit}") for one in passes for unit in ("I/Os", "s")]

    def counts(cause: str) -> Iterator[Cell]:
        for one in passes:
            yield cells.count(one.played.late.get(cause, 0))
            yield cells.number(seconds(one.played.waited_ns.get(cause, 0)), 3)

    return rows_table(
        "replay-causes",
        "Late I/Os (by more than 10 us) by Cause, and Time waited",
        ("Cause:<2", *heads),
        ((text, *counts(cause)) for cause, text in CAUSES.items()),
    )


def _gaps_table(passes: tuple[Pass, ...]) -> Table:
    gaps_ns = {one.number: one.sample.gap_ns for one in passes}
    return labeled_table(
        "replay-gaps",
        "Gaps between Passes",
        ("Before it (s)",),
        (
            (str(number), [cells.number_or("first", None if gap_ns is None else seconds(gap_ns), 3)])
            for number, gap_ns in gaps_ns.items()
        ),
    )


def _latency_page(results: ReplayResults) -> Page:
    """From submission, and from the due moment: never in one table."""
    passes = results.passes
    of_drive = [
        (f"{one.label}, {name}", one.trace.operations[name].histogram, one.trace.operations[name])
        for one in passes
        for name in OPERATIONS
        if one.trace.operations[name].ios
    ]
    of_user = [
        (f"{one.label}, {name}", encoded, None)
        for one in passes
        for name in OPERATIONS
        if (encoded := one.played.due_latencies.get(name))
    ]
    return Page(
        "replay-latency",
        "Response Times",
        (
            _latency_table("replay-latency-submission", "From Submission (the drive's view)", of_drive),
            _latency_table("replay-latency-due", "From the due Moment (the user's view)", of_user),
        ),
        mandatory=True,
    )


def _latency_table(
    table_id: str, title: str, found: Sequence[tuple[str, bytes, OperationSample | None]]
) -> Table:
    def row(encoded: bytes, measured: OperationSample | None) -> list[Cell]:
        times = LatencyDistribution.merged([encoded])
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


def _comparison_page(results: ReplayResults, conditions: ReplayConditions) -> Page:
    """The trace beside its replay, and what trace benchmarks make of both."""
    blocks: list[Verdict | Table] = []
    found = [(one, one.typical) for one in results.traces]
    if conditions.mode is ReplayMode.TIMED and any(typical and typical.is_too_late for _, typical in found):
        blocks.append(
            Verdict(
                "More than 1 % of the I/Os were late by more than 1 ms: latencies are of another workload.",
                "warn",
            )
        )
    for number, (one, typical) in enumerate(found, start=1):
        if one.preparation is not None and typical is not None:
            blocks.append(_original_table(one.preparation, typical, number))
        blocks.append(_score_table(one, number, conditions))
    return Page("replay-comparison", "Trace and Replay", tuple(blocks), mandatory=True)


def _original_table(found: ReplayPreparation, typical: Pass, number: int) -> Table:
    fit, played = typical.played.in_flight, typical.played

    def times(name: str, encoded: bytes | None, measured: OperationSample | None = None) -> list[Cell]:
        if not encoded:
            return [cells.missing("no completions" if name == "trace" else "no I/O")] * 2
        read = LatencyDistribution.merged([encoded])
        return [_mean_cell(read, measured), cells.latency(read.percentile_ns(99))]

    rows = [
        (
            "Duration (s)",
            cells.number(seconds(found.span_ns), 6),
            cells.number(seconds(typical.execution_ns), 6),
        )
    ]
    for operation in ("read", "write"):
        traced = times("trace", found.latencies.get(operation))
        measured = typical.trace.operations[operation]
        replayed = times("replay", measured.histogram, measured)
        rows += [
            (f"Mean of {operation}s (ms)", traced[0], replayed[0]),
            (f"P99 of {operation}s (ms)", traced[1], replayed[1]),
        ]
    rows.append(
        ("Busy time (s)", cells.number(seconds(found.busy_ns), 6), cells.number(seconds(played.busy_ns), 6))
    )
    if fit.ios:
        rows.append(
            (
                "Others in flight at issue, mean",
                cells.number(fit.traced / fit.ios, 2),
                cells.number(fit.replayed / fit.ios, 2),
            )
        )
    note = "No completions are in the trace."
    if fit.ios:
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


def _score_table(results: ReplayResults, number: int, conditions: ReplayConditions) -> Table:
    idle = "full" if conditions.max_idle_ns is None else f"max-idle {format_duration(conditions.max_idle_ns)}"
    scored = [("Trace", results.original_score), *((one.label, one.score) for one in results.passes)]
    spread = "; ".join(spread_words(results.scores, "pass")) if results.scores else "no score"
    return labeled_table(
        _numbered("replay-score", number),
        f"openpts Trace Score ({idle})",
        SCORE_COLUMNS,
        ((name, score_cells(score)) for name, score in scored),
        f"{SCORE_NOTE} Passes: {spread}.",
    )

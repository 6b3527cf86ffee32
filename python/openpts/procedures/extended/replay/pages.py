"""Pages of a replay: how true it was, its response times, the trace beside it, and its score."""

from collections.abc import Iterable, Iterator, Mapping

from openpts.analysis.latency import LatencyDistribution
from openpts.pages import cells
from openpts.pages.facts_table import items_table
from openpts.pages.model import Cell, Column, Page, Row, Table, Verdict
from openpts.procedures.extended.replay.conditions import ReplayConditions, TraceFile
from openpts.procedures.extended.replay.results import (
    CAUSES,
    LATE_US,
    OPERATIONS,
    PERCENTILES,
    Pass,
    ReplayResults,
    seconds,
    us,
)
from openpts.procedures.kit.spread import spread_words
from openpts.units import MB, NS_PER_US, format_duration
from openpts.vocabulary.condition_text import data_text
from openpts.vocabulary.replay import Preparation, ReplayMode, TraceScore
from openpts.vocabulary.stimulus import ActiveRange

_NOT_DUE = "no moment is due"


def fidelity_page(results: ReplayResults, conditions: ReplayConditions, verdict: Verdict) -> Page:
    """The block that every report of a replay has."""
    blocks = [
        _trace_table(found, trace, number, conditions)
        for number, (one, trace) in enumerate(zip(results.traces, conditions.traces, strict=False), start=1)
        if (found := one.preparation) is not None
    ]
    return Page(
        "replay-fidelity",
        "Fidelity of the Replay",
        (
            verdict,
            *blocks,
            _passes_table(results.passes),
            _slips_table(results.passes),
            _causes_table(results.passes),
        ),
        mandatory=True,
    )


def _numbered(table_id: str, number: int) -> str:
    """Tables of other traces than the first have the trace's number behind their names."""
    return table_id if number == 1 else f"{table_id}-{number}"


def _trace_table(found: Preparation, trace: TraceFile, number: int, conditions: ReplayConditions) -> Table:
    before, after, region = found.before, found.after, trace.region
    return items_table(
        _numbered("replay-trace", number),
        f"Trace {number}" if conditions.also else "Trace",
        [
            ("Trace", trace.name),
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
            ("Part of the drive", _part_text(region, number, len(conditions.traces))),
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


def _table(
    table_id: str, title: str, columns: Iterable[str], rows: Iterable[tuple[str, list[Cell]]], note: str = ""
) -> Table:
    return Table(
        id=table_id,
        title=title,
        head=Column("Pass", align="left", width=1.2),
        columns=tuple(Column(label) for label in columns),
        rows=tuple(Row(Cell(head), tuple(values)) for head, values in rows),
        note=note,
    )


def _passes_table(passes: Iterable[Pass]) -> Table:
    return _table(
        "replay-passes",
        "I/Os",
        (
            "Issued",
            "Not issued",
            "Conflicts",
            "Dropped",
            "Out of order",
            "Early",
            "GB",
            "Failed",
            "Depth-limited (%)",
            "Gap before (s)",
        ),
        (
            (
                one.label,
                [
                    cells.count(one.played.issued),
                    cells.count(one.unissued),
                    cells.count(one.played.conflicts),
                    cells.count(one.played.dropped),
                    cells.count(one.played.reordered),
                    cells.count(one.played.early),
                    cells.number(one.measured.bytes / MB / 1000, 3),
                    cells.count(one.failed),
                    cells.percent(100 * one.depth_limited_share, 2),
                    cells.number_or(
                        "first", None if one.sample.gap_ns is None else seconds(one.sample.gap_ns), 3
                    ),
                ],
            )
            for one in passes
        ),
    )


def _slips_table(passes: Iterable[Pass]) -> Table:
    def rows() -> Iterator[tuple[str, list[Cell]]]:
        for one in passes:
            yield f"{one.label}, slip", [*_spread(one.slips), *_shares(one), _us(one.drift_ns)]
            yield (
                f"{one.label}, gaps",
                [*_spread(one.gap_errors), *(cells.none() for _ in LATE_US), cells.none()],
            )

    return _table(
        "replay-slips",
        "Lateness: Submission after the due Moment, and Errors of Gaps (us)",
        (
            *(f"P{percentile:g}" for percentile in PERCENTILES),
            "Max",
            *(f"> {limit} us (%)" for limit in LATE_US),
            "Drift",
        ),
        rows(),
        "Drift: lateness of the last I/O less the median.",
    )


def _us(value_ns: float | None) -> Cell:
    return cells.number_or(_NOT_DUE, us(value_ns), 1)


def _spread(found: LatencyDistribution) -> list[Cell]:
    most_ns = found.buckets()[-1][1] if found.count else None
    return [_us(found.percentile_ns(percentile)) for percentile in PERCENTILES] + [_us(most_ns)]


def _shares(one: Pass) -> list[Cell]:
    shares = [one.late_share(limit * NS_PER_US) for limit in LATE_US]
    return [cells.missing(_NOT_DUE) if share is None else cells.percent(100 * share, 3) for share in shares]


def _causes_table(passes: tuple[Pass, ...]) -> Table:
    return Table(
        id="replay-causes",
        title="Late I/Os (by more than 10 us) by Cause, and Time waited",
        head=Column("Cause", align="left", width=2),
        columns=tuple(
            Column(label) for one in passes for label in (f"Pass {one.label}, I/Os", f"Pass {one.label}, s")
        ),
        rows=tuple(
            Row(
                Cell(text),
                tuple(
                    cell
                    for one in passes
                    for cell in (
                        cells.count(one.played.late.get(cause, 0)),
                        cells.number(seconds(one.played.waited_ns.get(cause, 0)), 3),
                    )
                ),
            )
            for cause, text in CAUSES.items()
        ),
    )


def latency_page(results: ReplayResults) -> Page:
    """From submission, and from the due moment: never in one table."""
    passes = results.passes
    of_drive = [
        (f"{one.label}, {name}", one.measured.operations[name].histogram)
        for one in passes
        for name in OPERATIONS
        if one.measured.operations[name].ios
    ]
    of_user = [
        (f"{one.label}, {name}", encoded)
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


def _latency_table(table_id: str, title: str, found: list[tuple[str, bytes]]) -> Table:
    def row(encoded: bytes) -> list[Cell]:
        times = LatencyDistribution.merged([encoded])
        return [cells.count(times.count), _mean(times), *_points(times)]

    return _table(
        table_id,
        title,
        ("I/Os", "Mean (ms)", *(f"P{percentile:g} (ms)" for percentile in PERCENTILES), "Max (ms)"),
        ((name, row(encoded)) for name, encoded in found),
    )


def _mean(times: LatencyDistribution) -> Cell:
    bounds = times.bounds()
    return cells.latency(bounds[4] / times.count if bounds else None)


def _points(times: LatencyDistribution) -> list[Cell]:
    most_ns = times.buckets()[-1][1] if times.count else None
    found = [
        cells.latency(times.percentile_ns(percentile))
        if times.supports(percentile)
        else cells.missing(f"N = {times.count:,}")
        for percentile in PERCENTILES
    ]
    return [*found, cells.latency(most_ns)]


def comparison_page(results: ReplayResults, conditions: ReplayConditions) -> Page:
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


def _original_table(found: Preparation, typical: Pass, number: int) -> Table:
    fit, played = typical.played.in_flight, typical.played

    def times(name: str, encoded: bytes | None) -> list[Cell]:
        if not encoded:
            return [cells.missing("no completions" if name == "trace" else "no I/O")] * 2
        read = LatencyDistribution.merged([encoded])
        return [_mean(read), cells.latency(read.percentile_ns(99))]

    rows = [
        (
            "Duration (s)",
            cells.number(seconds(found.span_ns), 6),
            cells.number(seconds(typical.execution_ns), 6),
        )
    ]
    for operation in ("read", "write"):
        traced = times("trace", found.latencies.get(operation))
        replayed = times("replay", typical.measured.operations[operation].histogram)
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
    return Table(
        id=_numbered("replay-original", number),
        title=f"Trace and Pass {typical.label}",
        head=Column("Figure", align="left", width=2),
        columns=(Column("Trace"), Column("Replay")),
        rows=tuple(Row(Cell(label), (traced, replayed)) for label, traced, replayed in rows),
        note=note,
    )


def _score_table(results: ReplayResults, number: int, conditions: ReplayConditions) -> Table:
    idle = "full" if conditions.max_idle_ns is None else f"max-idle {format_duration(conditions.max_idle_ns)}"
    scored = [("Trace", results.original_score), *((one.label, one.score) for one in results.passes)]
    spread = "; ".join(spread_words(results.scores, "pass")) if results.scores else "no score"
    return _table(
        _numbered("replay-score", number),
        f"openpts Trace Score ({idle})",
        ("Score", "Bandwidth (MB/s)", "Mean access time (us)", "Busy time (s)"),
        ((name, _score_cells(score)) for name, score in scored),
        "Geometric mean of bandwidth over busy time in MB/s and of 1 / mean access time in 1/s, of reads and "
        f"writes, from submission; the formula that UL publishes for PCMark 10. Passes: {spread}.",
    )


def _score_cells(score: TraceScore | None) -> list[Cell]:
    if score is None:
        return [cells.missing("no reads and writes with times")] * 4
    return [
        cells.count(score.score),
        cells.number(score.bandwidth_mb_per_s, 1),
        cells.number(score.access_us, 1),
        cells.number(seconds(score.busy_ns), 6),
    ]

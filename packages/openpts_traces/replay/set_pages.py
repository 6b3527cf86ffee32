"""Pages of a score: over all traces, of each, response times, fidelity, what the traces are."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Final

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import Quality
from openpts.procedures.kit.spread import rse_cell, set_words
from openpts.units import GB, MB, NS_PER_MS, NS_PER_S
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, category_axis, column_series, grid, page, plot_page, table
from openpts_pages.model import Cell, Column, Page, Table, Verdict
from openpts_traces.replay.passes import OPERATIONS, Pass, distribution, seconds
from openpts_traces.replay.set_results import Overall, Ratios, Scored, ScoreResults
from openpts_traces.replay.tables import SCORE_NOTE, labeled_table, passes_table, points, slips_table
from openpts_traces.replay.traces import trace_words

OVER_MS: Final = (1, 10, 100)
"""Time spent in I/Os that took longer than this is printed."""
_PERCENTILES: Final = (50.0, 99.0, 99.9)
_TRACE: Final = "Trace"
_CASE: Final = "Trace, load, idle times"
_POOLED_NOTE: Final = (
    "Balanced: geometric mean of the traces' scores, each of which counts alike. Pooled: the score of all "
    "I/Os of the median passes together, in which long traces count for more. Scores with other idle times, "
    "other background or other traces are not comparable. Score: "
)
_RATIO_NOTE: Final = (
    "Idle benefit: the score with all idle times over the score with none. The mean of ratios is geometric: "
    "it does not depend on which of the two is the reference."
)
_TIMES_NOTE: Final = (
    "Of the median pass, from submission; rates over the whole pass, idle times included. Time over a limit "
    "is the sum of the response times that are longer."
)


def overall_page(results: ScoreResults, verdicts: Sequence[Verdict]) -> Page:
    """Two overall scores for each load, and what idle times and background do to them."""
    by_trace = _by_trace_table(results)
    bars = Plot(
        x=category_axis(_TRACE, by_trace),
        y=lambda values: ticks.linear_axis("Score", 0, max(values)),
        series=column_series(by_trace, style="bars"),
        alt="{rows} traces, {low} to {high}.",
        kind="bars",
    )
    name = PlotName("score-overall", "Plot X-SCORE-1", "openpts Trace Score")
    return plot_page(
        name,
        None,
        lambda _shown: bars,
        by_trace,
        *verdicts,
        _overall_table(results.overall),
        _ratio_table(results),
        absent=Verdict("No trace was scored.", "fail"),
    )


def _overall_table(overall: Sequence[Overall]) -> Table:
    def pooled(one: Overall, figure: str, decimals: int) -> Cell:
        found = one.pooled
        return cells.number_or(one.lacking, None if found is None else getattr(found, figure), decimals)

    return table(
        "score-overall-table",
        "Over all Traces",
        Col("Load, idle times", lambda one: Cell(str(one.load)), align="left", width=1.5),
        (
            Col("Balanced score", lambda one: cells.number_or(one.lacking, one.balanced, 0)),
            Col("Pooled score", lambda one: pooled(one, "unrounded", 0)),
            Col("Pooled bandwidth (MB/s)", lambda one: pooled(one, "bandwidth_mb_per_s", 1)),
            Col("Pooled access time (us)", lambda one: pooled(one, "access_us", 1)),
            Col("Traces", lambda one: cells.count(len(one.scored)), width=0.6),
        ),
        overall,
        note=_POOLED_NOTE + SCORE_NOTE,
    )


def _by_trace_table(results: ScoreResults) -> Table:
    return grid(
        "score-by-trace",
        "Median Scores of the Warm Passes",
        Col(_TRACE, Cell, align="left", width=1.5),
        [(Column(str(one.load)), one) for one in results.overall],
        [trace.name for trace in results.conditions.traces],
        cell=lambda name, one: _of_trace(name, one.medians, one, 0),
    )


def _of_trace(name: str, found: Mapping[str, float], of: Overall, decimals: int) -> Cell:
    """A figure of a trace, or why there is none; nothing for one without a background of its own."""
    if name in found:
        return cells.number(found[name], decimals)
    reason = next((reason for reason, which in of.unscored.items() if name in which), None)
    return cells.none() if reason is None else cells.missing(reason)


def _ratio_table(results: ScoreResults) -> Table | None:
    found = results.ratios
    if not found:
        return None
    by_load = {one.load: one for one in results.overall}
    names = [*(trace.name for trace in results.conditions.traces), ""]

    def ratio(name: str, one: Ratios) -> Cell:
        return _of_trace(name, one.by_trace, by_load[one.of], 3) if name else cells.number(one.mean, 3)

    return grid(
        "score-ratios",
        "Ratios of Scores",
        Col(_TRACE, lambda name: Cell(name or "Geometric mean"), align="left", width=1.5),
        [(Column(one.title), one) for one in found],
        names,
        cell=ratio,
        note=_RATIO_NOTE,
    )


# SCO-AGG-02
def passes_page(results: ScoreResults) -> Page:
    """Each trace with the spread of its passes, and all of them."""
    most = max((len(one.warm) for one in results.scored), default=0)
    spread = table(
        "score-spread",
        "Spread of the Warm Passes",
        Col(_CASE, _case, align="left", width=2.4),
        (
            Col("Median score", median_cell),
            Col("RSE (%)", lambda one: rse_cell(one.scores, "pass"), width=0.6),
            Col("Bandwidth (MB/s)", lambda one: _of_typical(one, "bandwidth_mb_per_s")),
            Col("Access time (us)", lambda one: _of_typical(one, "access_us")),
            Col("Busy time (s)", _busy),
        ),
        results.scored,
        note="Bandwidth, access time and busy time are those of the pass with the median score.",
    )
    every = labeled_table(
        "score-passes",
        "All Passes",
        ("Cold", *(f"Warm {number}" for number in range(1, most + 1))),
        (
            (
                str(one.case),
                [
                    *(_score_cell(each) for each in (one.cold, *one.warm)),
                    *[cells.none()] * (most - len(one.warm)),
                ],
            )
            for one in results.scored
        ),
        "The cold pass is the first after all that the trace touches was written; it counts in no score.",
        head=_CASE,
    )
    return page(PlotName("score-passes-page", "", "Passes"), spread, every)


def _case(one: Scored) -> Cell:
    return Cell(str(one.case))


def median_cell(one: Scored) -> Cell:
    """The score of a trace, with what its passes lack."""
    scores = one.scores
    if scores is None:
        return cells.missing("no reads and writes with times")
    words = "; ".join(set_words(scores, "pass"))
    if one.is_discarded:
        return Cell("discarded", note=words, tone="missing")
    return cells.number(
        scores.median, 0, note=words, tone="" if scores.quality is Quality.ACCEPTED else "fail"
    )


def _of_typical(one: Scored, figure: str) -> Cell:
    score = one.typical.score if one.typical else None
    return cells.number_or("no score", None if score is None else getattr(score, figure), 1)


def _busy(one: Scored) -> Cell:
    found = one.typical
    return cells.number_or("no score", None if found is None else seconds(found.played.busy_ns), 3)


def _score_cell(one: Pass) -> Cell:
    score = one.score
    return cells.number_or("no reads and writes", None if score is None else score.unrounded, 0)


# SCO-LAT-01
def times_page(results: ScoreResults) -> Page:
    """Rates and response times of each operation, a table for each load."""
    tables = (
        labeled_table(
            f"score-times-{number}",
            f"Response Times ({one.load})",
            (
                "I/Os",
                "IOPS",
                "MB/s",
                *(f"P{percentile:g} (ms)" for percentile in _PERCENTILES),
                "Max (ms)",
                *(f"Over {limit} ms (s)" for limit in OVER_MS),
            ),
            ((label, _times_cells(*found)) for label, found in _operations(one.scored)),
            _TIMES_NOTE if number == 1 else "",
            head="Trace, operation",
        )
        for number, one in enumerate(results.overall, start=1)
    )
    return page(PlotName("score-times", "", "Rates and Response Times"), *tables)


def _operations(scored: Iterable[Scored]) -> Iterable[tuple[str, tuple[Pass, str]]]:
    for one in scored:
        found = one.typical or one.warm[-1]
        for operation in OPERATIONS:
            if found.trace.operations[operation].ios:
                yield f"{one.case.trace.name}, {operation}", (found, operation)


def _times_cells(found: Pass, operation: str) -> list[Cell]:
    done = found.trace.operations[operation]
    times = distribution([done.histogram])
    elapsed_s = found.execution_ns / NS_PER_S
    return [
        cells.count(done.ios),
        cells.number(done.ios / elapsed_s, 1),
        cells.number(done.bytes / MB / elapsed_s, 1),
        *points(times, _PERCENTILES),
        *(cells.number(time_over_s(times, limit), 3) for limit in OVER_MS),
    ]


def time_over_s(times: LatencyDistribution, limit_ms: int) -> float:
    """Seconds spent in I/Os that took longer, each as long as the middle of its bucket."""
    longer = ((low, high, ios) for low, high, ios in times.buckets() if low > limit_ms * NS_PER_MS)
    return fsum((low + high) / 2 * ios for low, high, ios in longer) / NS_PER_S


def fidelity_page(results: ScoreResults) -> Page:
    """How true the median passes were to their traces."""
    passes = [(str(one.case), one.typical or one.warm[-1]) for one in results.scored]
    late = [label for label, one in passes if one.is_too_late]
    warning = (
        Verdict(
            "More than 1 % of the I/Os were late by more than 1 ms, so that response times are of another "
            f"workload; busy time and score hold: {'; '.join(late)}.",
            "warn",
        )
        if late
        else None
    )
    return page(
        PlotName("score-fidelity", "", "Fidelity of the Replay"),
        warning,
        passes_table("score-issued", passes, _CASE),
        slips_table("score-slips", passes, _CASE),
        _beside_table(results),
    )


def _beside_table(results: ScoreResults) -> Table | None:
    loaded = [one for one in results.scored if one.case.load.background is not None]
    if not loaded:
        return None

    def played(one: Scored) -> Cell:
        typical = one.typical or one.warm[-1]
        beside = typical.sample.played[1]
        return cells.percent(100 * min(1.0, beside.last_answer_ns / typical.played.last_answer_ns))

    return table(
        "score-background",
        "Background",
        Col(_CASE, _case, align="left", width=2.4),
        (
            Col("I/Os beside a pass", lambda one: cells.count(one.cold.sample.played[1].issued)),
            Col("Of the pass (%)", played),
        ),
        loaded,
        note="Background is replayed once from the start of a pass; it counts in no score.",
    )


def traces_page(results: ScoreResults) -> Page:
    """What each trace is like, and what the mapping did to it."""
    found = [
        (one.case.trace, prepared)
        for one in results.overall[0].scored
        if (prepared := one.cold.replay.preparation) is not None
    ]
    shown = table(
        "score-traces",
        "Traces",
        Col(_TRACE, lambda one: Cell(one[0].name), align="left", width=1.3),
        (
            Col("What it is", lambda one: cells.words(trace_words(one[0])), align="left", width=4),
            Col("I/Os", lambda one: cells.count(sum(one[1].by_operation.values()))),
            Col("In background", lambda one: cells.count(one[1].skipped.get("background", 0))),
            Col("Moved (GB)", lambda one: cells.number(one[1].transferred_bytes / GB, 3)),
            Col("Touched (GB)", lambda one: cells.number(one[1].after.footprint_bytes / GB, 3)),
            Col("SHA-256", lambda one: cells.words(one[1].sources[0].sha256[:12]), align="left", width=1.3),
        ),
        found,
        note=f"I/Os of the foreground. Mapping: {results.conditions.mapping}. SHA-256: first 12 digits.",
    )
    return page(PlotName("score-traces-page", "", "Traces"), shown)

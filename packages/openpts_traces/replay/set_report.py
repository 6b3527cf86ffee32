"""The report of a set of traces: two figures over all of them, never without what they are made of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import fsum
from typing import Any, Final

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import Quality
from openpts.procedures.kit.content import ReportContent, repeat_figures, rse_cell, set_words
from openpts.procedures.kit.header import Rows
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, category_axis, column_series, grid, page, plot_page, table
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Column, Page, Table, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import (
    OPERATIONS,
    PERCENTILES,
    Overall,
    Pass,
    Ratios,
    Scored,
    ScoreResults,
    analyze,
    distribution,
    pass_figures,
    seconds,
)
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


_TITLE: Final = "Replay of a Set of Traces"
_FORMULA: Final = "sqrt(MB/s over busy time x 1 / mean access time in s), reads and writes"


def set_report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    steps = ((step.place.number, step.sample) for step in run.phase(Phase.LOAD))
    results = analyze(run.conditions(ReplayConditions), steps)
    verdicts = tuple(_verdicts(results))
    return ReportContent(
        verdicts=verdicts,
        measures=tuple(_measures(results)),
        sections=methodology(run, _TITLE, _test_rows(results), lambda: _pages(run, results, verdicts)),
        figures=lambda: _figures(results),
    )


def _verdicts(results: ScoreResults) -> Iterator[Verdict]:
    if not results.scored:
        yield Verdict("No trace was scored.", "fail")
    for one in results.overall:
        pooled = one.pooled
        if one.balanced is None or pooled is None:
            yield Verdict(f"No score over all traces, {one.load}: {one.lacking}.", "fail")
        else:
            yield Verdict(
                f"openpts trace score, {one.load}: balanced {one.balanced:,.0f}, pooled {pooled.score:,} "
                f"({pooled.bandwidth_mb_per_s:,.1f} MB/s over busy time, {pooled.access_us:,.1f} us mean "
                f"access time), over {_traces(len(one.scored))}."
            )
    for ratio in results.ratios:
        yield Verdict(f"{ratio.title}: {ratio.mean:.3f}, geometric mean over {_traces(len(ratio.by_trace))}.")
    untrue = [one for one in results.scored if not all(map(_is_true, (one.cold, *one.warm)))]
    if untrue:
        names = "; ".join(str(one.case) for one in untrue)
        yield Verdict(f"Passes are not as their traces, see Fidelity: {names}.", "fail")


def _traces(count: int) -> str:
    return f"{count} trace{'' if count == 1 else 's'}"


def _is_true(one: Pass) -> bool:
    """Whether the pass was as its trace: all of it, in order, and no I/O late for the host's reading."""
    return not (one.unissued or one.played.reordered or one.played.late.get("reader"))


def _balanced_cell(one: Overall) -> Cell:
    return cells.number_or(one.lacking, one.balanced, 0)


def _pooled_cell(one: Overall) -> Cell:
    pooled = one.pooled
    return cells.number_or(one.lacking, None if pooled is None else pooled.unrounded, 0)


def _repeats(one: Scored) -> Mapping[str, Any] | None:
    return None if one.scores is None else repeat_figures(one.scores)


_OVERALL: Final = (
    Measure[Overall]("balanced", "Balanced score, {name}", "", _balanced_cell, better=Better.HIGHER),
    Measure[Overall]("pooled", "Pooled score, {name}", "", _pooled_cell, better=Better.HIGHER),
)
_OF_A_TRACE: Final = Measure[Scored](
    "score",
    "Score, {name}",
    "",
    median_cell,
    better=Better.HIGHER,
    repeats=_repeats,
    is_key=False,
    on_cover=False,
)


def _measures(results: ScoreResults) -> Iterator[Measured]:
    for one in results.overall:
        for measure in _OVERALL:
            yield measure.of(one, Subject(str(one.load)))
    for scored in results.scored:
        yield _OF_A_TRACE.of(scored, Subject(str(scored.case)))


def _test_rows(results: ScoreResults) -> Rows:
    conditions = results.conditions
    count = len(conditions.traces)
    names = ", ".join(map(str, conditions.traces))
    return (
        ("Data Pattern", "see Set-up"),
        ("AR & Amount", f"mapping {conditions.mapping}"),
        ("Test Stimulus", names if len(names) < _WIDTH else f"{count} traces"),
        ("Traces", str(count)),
        ("Idle times", ", ".join(map(str, conditions.idle))),
        ("Background", "none" if conditions.background is None else str(conditions.background)),
        ("Cold passes", "1"),
        ("Warm passes", _passes_words(conditions)),
        ("Written before", "all that a trace touches"),
        ("Steady State", NO_STEADY_STATE),
    )


_WIDTH: Final = 40


def _passes_words(conditions: ReplayConditions) -> str:
    if not conditions.until_rse_pct:
        return str(conditions.passes)
    return f"{conditions.passes} to {conditions.most_passes}, RSE {conditions.until_rse_pct:g} %"


def _pages(run: Run, results: ScoreResults, verdicts: tuple[Verdict, ...]) -> tuple[Page, ...]:
    prepared = state_page(run, "Purge and Preparation")
    if not results.scored:
        return (prepared, nothing_page("score-overall", "openpts Trace Score", "no trace was scored"))
    return (
        prepared,
        overall_page(results, verdicts),
        passes_page(results),
        times_page(results),
        fidelity_page(results),
        traces_page(results),
    )


def _figures(results: ScoreResults) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "formula": _FORMULA,
        "overall": [_overall_figures(one) for one in results.overall],
        "ratios": [_ratio_figures(one) for one in results.ratios],
        "scores": [_score_figures(one) for one in results.scored],
        "not_scored": [str(case) for case in results.missing],
    }


def _overall_figures(one: Overall) -> dict[str, Any]:
    pooled = one.pooled
    return {
        "load": str(one.load),
        "balanced": one.balanced,
        "pooled": pooled.unrounded if pooled else None,
        "pooled_bandwidth_mb_per_s": pooled.bandwidth_mb_per_s if pooled else None,
        "pooled_access_us": pooled.access_us if pooled else None,
        "traces": len(one.scored),
        "lacking": one.lacking or None,
    }


def _ratio_figures(one: Ratios) -> dict[str, Any]:
    return {"title": one.title, "geometric_mean": one.mean, "by_trace": dict(one.by_trace)}


def _score_figures(one: Scored) -> dict[str, Any]:
    typical, load = one.typical, one.case.load
    return {
        "trace": one.case.trace.name,
        "sha256": one.case.trace.sha256,
        "load": str(load),
        "cold": one.cold.score.unrounded if one.cold.score else None,
        "warm": _repeats(one),
        "median_pass": typical
        and pass_figures(typical)
        | {"operations": {name: _operation_figures(typical, name) for name in OPERATIONS}},
    }


def _operation_figures(one: Pass, operation: str) -> dict[str, Any]:
    done = one.trace.operations[operation]
    times = distribution([done.histogram])
    return {
        "ios": done.ios,
        "bytes": done.bytes,
        "iops": done.ios / seconds(one.execution_ns),
        **{
            f"p{percentile:g}_ns": times.percentile_ns(percentile) if times.supports(percentile) else None
            for percentile in PERCENTILES
        },
        "max_ns": done.latency_max_ns,
        **{f"seconds_over_{limit}_ms": time_over_s(times, limit) for limit in OVER_MS},
    }

"""The report of a set of traces: two figures over all of them, never without what they are made of."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.kit.spread import repeat_figures
from openpts.record.reader import Run
from openpts.vocabulary.better import Better
from openpts.vocabulary.phase import Phase
from openpts_pages import cells
from openpts_pages.measure import Measure, Measured, Subject
from openpts_pages.model import Cell, Page, Verdict
from openpts_pts.shared.methodology import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import OPERATIONS, PERCENTILES, Pass, distribution, pass_figures, seconds
from openpts_traces.replay.set_pages import (
    OVER_MS,
    fidelity_page,
    median_cell,
    overall_page,
    passes_page,
    time_over_s,
    times_page,
    traces_page,
)
from openpts_traces.replay.set_results import Overall, Ratios, Scored, ScoreResults, analyze

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

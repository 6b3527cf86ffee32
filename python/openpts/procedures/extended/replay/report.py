"""The report of a replay: how true it was, and what the drive did."""

from typing import Any, Final

from openpts.analysis.latency import LatencyDistribution
from openpts.pages import cells
from openpts.pages.measure import Measure, measured
from openpts.pages.model import Cell, Page, Verdict
from openpts.procedures.extended.replay.conditions import ReplayConditions
from openpts.procedures.extended.replay.pages import comparison_page, fidelity_page, latency_page
from openpts.procedures.extended.replay.results import ReplayResults, analyse
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.shared.methodology import methodology, nothing_page, state_page
from openpts.procedures.shared.trace_replay.conditions import TraceFile
from openpts.procedures.shared.trace_replay.passes import LATE_US, pass_figures, seconds
from openpts.record.reader import Run
from openpts.units import NS_PER_US
from openpts.vocabulary.better import Better
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.replay import Conflicts

_TITLE: Final = "Replay of a Trace"
_SMALL: Final = 0.01


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(ReplayConditions)
    results = analyse(step.sample for step in run.phase(Phase.LOAD))
    verdict = _sentence(results, conditions)
    return ReportContent(
        verdicts=(verdict,),
        measures=tuple(measured(_MEASURES, results)),
        sections=methodology(
            run, _TITLE, _test_rows(results, conditions), lambda: _pages(run, results, conditions, verdict)
        ),
        figures=_figures(results, conditions),
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
        ("Test Stimulus", ", ".join(trace.name for trace in conditions.traces) or "none"),
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
        fidelity_page(results, conditions, verdict),
        latency_page(results),
        comparison_page(results, conditions),
    )


def _figures(results: ReplayResults, conditions: ReplayConditions) -> dict[str, Any]:
    """Key numbers, JSON-ready: of the first trace, of those beside it, and of all passes."""
    each = [_trace_figures(one, trace) for one, trace in zip(results.traces, conditions.traces, strict=False)]
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

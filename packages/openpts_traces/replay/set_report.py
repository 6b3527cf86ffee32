"""The report of a set of traces: two figures over all of them, never without what they are made of."""

from collections.abc import Iterator, Mapping
from math import fsum
from typing import Any, Final

from msgspec import Struct

from openpts.analysis.latency import LatencyDistribution
from openpts.analysis.run_comparison import Quality
from openpts.procedures.kit.content import ReportContent, repeat_figures, rse_cell, set_remarks
from openpts.procedures.kit.header import Rows
from openpts.record.reader import Run
from openpts.units import GB, MB, NS_PER_MS, NS_PER_S, format_count
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.verdict import Better
from openpts_pages import cells, ticks
from openpts_pages.kit import Col, Plot, PlotName, category_axis, column_series, grid, page, plot_page, table
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Cell, Column, Page, Table, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_traces.replay import ReplayConditions
from openpts_traces.replay.passes import (
    OPERATIONS,
    PERCENTILES,
    Overall,
    Pass,
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
_TITLE: Final = "Replay of a Set of Traces"
_FORMULA: Final = "sqrt(MB/s over busy time x 1 / mean access time in s), reads and writes"
_WIDTH: Final = 40
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


def _balanced(one: Overall, decimals: int = 0) -> Cell:
    return cells.number_or(one.lacking, one.balanced, decimals)


def _pooled(one: Overall, figure: str = "unrounded", decimals: int = 0) -> Cell:
    found = one.pooled
    return cells.number_or(one.lacking, None if found is None else getattr(found, figure), decimals)


def _median(one: Scored) -> Cell:
    """The score of a trace, with what its passes lack."""
    scores = one.scores
    if scores is None:
        return cells.missing("no reads and writes with times")
    text = "; ".join(set_remarks(scores, "pass"))
    if one.is_discarded:
        return Cell("discarded", note=text, tone="missing")
    return cells.number(
        scores.median, 0, note=text, tone="" if scores.quality is Quality.ACCEPTED else "fail"
    )


def _repeats(one: Scored) -> Mapping[str, Any] | None:
    return None if one.scores is None else repeat_figures(one.scores)


_OVERALL: Final = (
    Measure[Overall]("balanced", "Balanced score, {name}", "", _balanced, better=Better.HIGHER),
    Measure[Overall]("pooled", "Pooled score, {name}", "", _pooled, better=Better.HIGHER),
)
_OF_A_TRACE: Final = Measure[Scored](
    "score",
    "Score, {name}",
    "",
    _median,
    better=Better.HIGHER,
    repeats=_repeats,
    is_key=False,
    on_cover=False,
)


class SetReport(Struct, frozen=True):
    """What each trace of the set scored, and its pages."""

    run: Run
    results: ScoreResults

    @property
    def passes(self) -> list[tuple[Scored, Pass]]:
        """Each trace with its load, and the pass whose score is the median, or else the last."""
        return [(one, one.typical or one.warm[-1]) for one in self.results.scored]

    def verdicts(self) -> Iterator[Verdict]:
        """The scores over all traces, their ratios, and which passes were not as their traces."""
        if not self.results.scored:
            yield Verdict("No trace was scored.", "fail")
        for one in self.results.overall:
            pooled = one.pooled
            if one.balanced is None or pooled is None:
                yield Verdict(f"No score over all traces, {one.load}: {one.lacking}.", "fail")
            else:
                yield Verdict(
                    f"openpts trace score, {one.load}: balanced {one.balanced:,.0f}, pooled {pooled.score:,} "
                    f"({pooled.bandwidth_mb_per_s:,.1f} MB/s over busy time, {pooled.access_us:,.1f} us mean "
                    f"access time), over {format_count(len(one.scored), 'trace')}."
                )
        for ratio in self.results.ratios:
            over = format_count(len(ratio.by_trace), "trace")
            yield Verdict(f"{ratio.title}: {ratio.mean:.3f}, geometric mean over {over}.")
        untrue = [one for one in self.results.scored if not all(map(_is_true, (one.cold, *one.warm)))]
        if untrue:
            names = "; ".join(str(one.case) for one in untrue)
            yield Verdict(f"Passes are not as their traces, see Fidelity: {names}.", "fail")

    def measures(self) -> Iterator[Measured]:
        """Overall scores of each load, then the score of each trace."""
        for one in self.results.overall:
            yield from measured(_OVERALL, one, Subject(str(one.load)))
        for scored in self.results.scored:
            yield _OF_A_TRACE.of(scored, Subject(str(scored.case)))

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        conditions = self.results.conditions
        count = len(conditions.traces)
        names = ", ".join(map(str, conditions.traces))
        warm = str(conditions.passes)
        if conditions.until_rse_pct:
            warm += f" to {conditions.most_passes}, RSE {conditions.until_rse_pct:g} %"
        return (
            ("Data Pattern", "see Set-up"),
            ("AR & Amount", f"mapping {conditions.mapping}"),
            ("Test Stimulus", names if len(names) < _WIDTH else f"{count} traces"),
            ("Traces", str(count)),
            ("Idle times", ", ".join(map(str, conditions.idle))),
            ("Background", "none" if conditions.background is None else str(conditions.background)),
            ("Cold passes", "1"),
            ("Warm passes", warm),
            ("Written before", "all that a trace touches"),
            ("Steady State", NO_STEADY_STATE),
        )

    def pages(self) -> tuple[Page, ...]:
        """In their order."""
        prepared = state_page(
            self.run, "Purge and Preparation", [cycle.title for cycle in self.run.manifest.cycles]
        )
        if not self.results.scored:
            return (prepared, nothing_page("score-overall", "openpts Trace Score", "no trace was scored"))
        return prepared, self.overall(), self.spread(), self.times(), self.fidelity(), self.traces()

    def overall(self) -> Page:
        """Two overall scores for each load, and what idle times and background do to them."""
        overall = self.results.overall
        by_trace = grid(
            "score-by-trace",
            "Median Scores of the Warm Passes",
            Col(_TRACE, Cell, align="left", width=1.5),
            [(Column(str(one.load)), one) for one in overall],
            [trace.name for trace in self.results.conditions.traces],
            cell=lambda name, one: _of_trace(name, one.medians, one, 0),
        )
        table_of_all = table(
            "score-overall-table",
            "Over all Traces",
            Col("Load, idle times", lambda one: Cell(str(one.load)), align="left", width=1.5),
            (
                Col("Balanced score", _balanced),
                Col("Pooled score", _pooled),
                Col("Pooled bandwidth (MB/s)", lambda one: _pooled(one, "bandwidth_mb_per_s", 1)),
                Col("Pooled access time (us)", lambda one: _pooled(one, "access_us", 1)),
                Col("Traces", lambda one: cells.count(len(one.scored)), width=0.6),
            ),
            overall,
            note=_POOLED_NOTE + SCORE_NOTE,
        )
        return plot_page(
            PlotName("score-overall", "Plot X-SCORE-1", "openpts Trace Score"),
            None,
            lambda shown: Plot(
                x=category_axis(_TRACE, shown),
                y=lambda values: ticks.linear_axis("Score", 0, max(values)),
                series=column_series(shown, style="bars"),
                alt="{rows} traces, {low} to {high}.",
                kind="bars",
            ),
            by_trace,
            *self.verdicts(),
            table_of_all,
            self.ratios(),
            absent=Verdict("No trace was scored.", "fail"),
        )

    def ratios(self) -> Table | None:
        """Ratios of scores by trace; None where no two loads have a trace in common."""
        found = self.results.ratios
        if not found:
            return None
        by_load = {one.load: one for one in self.results.overall}
        return grid(
            "score-ratios",
            "Ratios of Scores",
            Col(_TRACE, lambda name: Cell(name or "Geometric mean"), align="left", width=1.5),
            [(Column(one.title), one) for one in found],
            [*(trace.name for trace in self.results.conditions.traces), ""],
            cell=lambda name, one: (
                _of_trace(name, one.by_trace, by_load[one.of], 3) if name else cells.number(one.mean, 3)
            ),
            note=_RATIO_NOTE,
        )

    # SCO-AGG-02
    def spread(self) -> Page:
        """Each trace with the spread of its passes, and all of them."""
        scored = self.results.scored
        most = max((len(one.warm) for one in scored), default=0)
        every = labeled_table(
            "score-passes",
            "All Passes",
            ("Cold", *(f"Warm {number}" for number in range(1, most + 1))),
            (
                (
                    str(one.case),
                    [
                        *(
                            _figure_of(each, "unrounded", 0, "reads and writes")
                            for each in (one.cold, *one.warm)
                        ),
                        *[cells.none()] * (most - len(one.warm)),
                    ],
                )
                for one in scored
            ),
            "The cold pass is the first after all that the trace touches was written; it counts in no score.",
            head=_CASE,
        )
        spread = table(
            "score-spread",
            "Spread of the Warm Passes",
            _CASES,
            (
                Col("Median score", _median),
                Col("RSE (%)", lambda one: rse_cell(one.scores, "pass"), width=0.6),
                Col("Bandwidth (MB/s)", lambda one: _figure_of(one.typical, "bandwidth_mb_per_s")),
                Col("Access time (us)", lambda one: _figure_of(one.typical, "access_us")),
                Col("Busy time (s)", _busy),
            ),
            scored,
            note="Bandwidth, access time and busy time are those of the pass with the median score.",
        )
        return page(PlotName("score-passes-page", "", "Passes"), spread, every)

    # SCO-LAT-01
    def times(self) -> Page:
        """Rates and response times of each operation, a table for each load."""
        percentiles = (f"P{percentile:g} (ms)" for percentile in _PERCENTILES)
        columns = ("I/Os", "IOPS", "MB/s", *percentiles, "Max (ms)", *(f"Over {ms} ms (s)" for ms in OVER_MS))
        tables = (
            labeled_table(
                f"score-times-{number}",
                f"Response Times ({overall.load})",
                columns,
                (
                    (f"{one.case.trace.name}, {operation}", _times_cells(found, operation))
                    for one, found in self.passes
                    if one.case.load == overall.load
                    for operation in OPERATIONS
                    if found.trace.operations[operation].ios
                ),
                _TIMES_NOTE if number == 1 else "",
                head="Trace, operation",
            )
            for number, overall in enumerate(self.results.overall, start=1)
        )
        return page(PlotName("score-times", "", "Rates and Response Times"), *tables)

    def fidelity(self) -> Page:
        """How true the median passes were to their traces."""
        passes = [(str(one.case), found) for one, found in self.passes]
        warning = None
        if late := [label for label, one in passes if one.is_too_late]:
            warning = Verdict(
                "More than 1 % of the I/Os were late by more than 1 ms, so that response times are of "
                f"another workload; busy time and score hold: {'; '.join(late)}.",
                "warn",
            )
        loaded = [one for one in self.results.scored if one.case.load.background is not None]
        beside = table(
            "score-background",
            "Background",
            _CASES,
            (
                Col("I/Os beside a pass", lambda one: cells.count(one.cold.sample.played[1].issued)),
                Col("Of the pass (%)", _played_beside),
            ),
            loaded,
            note="Background is replayed once from the start of a pass; it counts in no score.",
        )
        return page(
            PlotName("score-fidelity", "", "Fidelity of the Replay"),
            warning,
            passes_table("score-issued", passes, _CASE),
            slips_table("score-slips", passes, _CASE),
            beside if loaded else None,
        )

    def traces(self) -> Page:
        """What each trace is like, and what the mapping did to it."""
        found = [
            (one.case.trace, prepared)
            for one in self.results.overall[0].scored
            if (prepared := one.cold.replay.preparation) is not None
        ]
        mapping = self.results.conditions.mapping
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
                Col(
                    "SHA-256", lambda one: cells.words(one[1].sources[0].sha256[:12]), align="left", width=1.3
                ),
            ),
            found,
            note=f"I/Os of the foreground. Mapping: {mapping}. SHA-256: first 12 digits.",
        )
        return page(PlotName("score-traces-page", "", "Traces"), shown)

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        ratios = self.results.ratios
        return {
            "formula": _FORMULA,
            "overall": [_overall_figures(one) for one in self.results.overall],
            "ratios": [
                {"title": one.title, "geometric_mean": one.mean, "by_trace": dict(one.by_trace)}
                for one in ratios
            ],
            "scores": [_score_figures(one) for one in self.results.scored],
            "not_scored": [str(case) for case in self.results.missing],
        }


_CASES: Final[Col[Scored]] = Col(_CASE, lambda one: Cell(str(one.case)), align="left", width=2.4)


def _of_trace(name: str, found: Mapping[str, float], of: Overall, decimals: int) -> Cell:
    """A figure of a trace, or why there is none; nothing for one without a background of its own."""
    if name in found:
        return cells.number(found[name], decimals)
    reason = next((reason for reason, which in of.unscored.items() if name in which), None)
    return cells.none() if reason is None else cells.missing(reason)


def _figure_of(one: Pass | None, figure: str, decimals: int = 1, lacking: str = "score") -> Cell:
    score = one.score if one else None
    return cells.number_or(f"no {lacking}", None if score is None else getattr(score, figure), decimals)


def _busy(one: Scored) -> Cell:
    found = one.typical
    return cells.number_or("no score", None if found is None else seconds(found.played.busy_ns), 3)


def _played_beside(one: Scored) -> Cell:
    typical = one.typical or one.warm[-1]
    beside = typical.sample.played[1]
    return cells.percent(100 * min(1.0, beside.last_answer_ns / typical.played.last_answer_ns))


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


def _is_true(one: Pass) -> bool:
    """Whether the pass was as its trace: all of it, in order, and no I/O late for the host's reading."""
    return not (one.unissued or one.played.reordered or one.played.late.get("reader"))


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


def set_report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    steps = ((step.place.number, step.sample) for step in run.phase(Phase.LOAD))
    found = SetReport(run, analyze(run.conditions(ReplayConditions), steps))
    return ReportContent(
        verdicts=tuple(found.verdicts()),
        measures=tuple(found.measures()),
        sections=methodology(run, _TITLE, found.test_rows(), found.pages),
        figures=found.figures,
    )

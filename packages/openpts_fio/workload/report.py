"""The report of a load: what each stream of it did, steady state of a job's rounds, limits of a suite."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, of_cycle
from openpts.procedures.kit.steps import ART, IOPS, THROUGHPUT, HasFigures, Metric
from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_count, format_duration
from openpts.vocabulary.limit import JudgedLimit, Judgement, worst
from openpts.vocabulary.sample import Phase, Sample
from openpts.vocabulary.verdict import Better
from openpts_fio.trim_targets import TRIMS
from openpts_fio.workload import RoundFigure, WorkloadConditions
from openpts_fio.workload.job import LimitedFigure, LimitedOperation, SuiteLimit, SuiteWorkload, stream_names
from openpts_fio.workload.pages import (
    COVER_MEASURES,
    STREAM_MEASURES,
    StreamTimes,
    job_page,
    stream_blocks,
    stream_times,
    times_of_stream,
    whole_of,
)
from openpts_fio.workload.results import WorkloadResults, analyze, judge_limit, tracked_name
from openpts_pages import ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.measure import Measure, Measured, Subject, key_of, measured
from openpts_pages.model import Band, Page, Series, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_pts.shared.steady_state_pages import (
    Window,
    height_over_rounds,
    round_columns,
    rounds_reason,
    window_page,
)

_TITLE: Final = "Workload of a Job File"
_SUITE_TITLE: Final = "Workloads of a Suite"
_METRICS: Final[dict[RoundFigure, Metric[HasFigures]]] = {
    RoundFigure.IOPS: IOPS,
    RoundFigure.THROUGHPUT: THROUGHPUT,
    RoundFigure.MEAN_LATENCY: ART,
    RoundFigure.P99_LATENCY: replace(ART, axis="P99 response time (ms)"),
}
_VALUE_COLOR: Final = 2
_FAILED: Final = Measure[tuple[JudgedLimit, ...]](
    "limits_failed",
    "Limits failed",
    "limits",
    lambda limits: sum(one.judgement is Judgement.FAIL for one in limits),
    better=Better.LOWER,
)


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(WorkloadConditions)
    return _of_suite(run, conditions) if conditions.is_suite else _of_job(run)


def _of_job(run: Run) -> ReportContent:
    results = results_of(run)
    return ReportContent(
        verdicts=(_sentence(results),),
        measures=tuple(_measures(results)),
        sections=methodology(run, _TITLE, _test_rows(results), lambda: _pages(run, results)),
        figures=lambda: _figures(results),
    )


def results_of(run: Run) -> WorkloadResults:
    """The rounds of a run, analyzed."""
    conditions = run.conditions(WorkloadConditions)
    finished = of_cycle(run.manifest.cycles, 1)
    steps = run.phase(Phase.ROUND)
    return analyze(
        conditions,
        ((step.place, step.sample) for step in steps),
        1 + max((step.place.position for step in steps), default=0),
        finished.outcome.steady_round if finished else None,
    )


def _times(results: WorkloadResults) -> tuple[StreamTimes, ...]:
    return stream_times(_of_window(results))


def _of_window(results: WorkloadResults) -> list[Sample]:
    return [sample for samples in results.of_window for sample in samples]


def _sentence(results: WorkloadResults) -> Verdict:
    name, rounds = tracked_name(results.conditions), results.window.rounds
    if results.steady:
        text = f"Steady State reached in Round {rounds[-1]} for {name}, in Rounds {results.window.label}."
        return Verdict(text, "pass")
    if results.window.is_full:
        text = (
            f"Steady State not reached for {name} within {len(results.rounds)} Rounds; "
            f"the last five ({results.window.label}) are shown."
        )
        return Verdict(text, "fail")
    return Verdict(f"Steady State can't be judged: n/a ({rounds_reason(results)}).", "fail")


def _measures(results: WorkloadResults) -> list[Measured]:
    state = "" if results.steady else "not of steady state"
    steady = f"reached in Round {results.window.rounds[-1]}" if results.steady else "not reached"
    found = _times(results)
    whole = whole_of(found)
    return [
        measure
        for one in found
        for measure in measured(
            COVER_MEASURES if one in whole else STREAM_MEASURES,
            one,
            Subject(one.name, state=state, steady=steady),
        )
    ]


def _test_rows(results: WorkloadResults) -> Rows:
    conditions, first = results.conditions, results.rounds[0] if results.rounds else ()
    steps = [sample.step for sample in first]
    length_ns = sum(sample.elapsed_ns for sample in first)
    return (
        ("Data Pattern", "the job's own"),
        ("AR & Amount", "the job's own"),
        ("Test Stimulus", conditions.job.name if conditions.job else "none"),
        ("Streams", str(len(stream_names(steps)))),
        ("Steps of a Round", str(len(steps))),
        ("Total outstanding", str(max((step.toio for step in steps), default=0))),
        ("Duration of a Round", format_duration(length_ns) if first else "n/a"),
        ("Tracked", tracked_name(conditions)),
        ("SS Rounds", results.window.label),
        ("Steady State", "reached" if results.steady else "NOT REACHED"),
    )


def _pages(run: Run, results: WorkloadResults) -> tuple[Page, ...]:
    job = results.conditions.job
    rounds = PlotName("workload-rounds", "Plot X-WORKLOAD-1", "Tracked Figure v Round")
    window = PlotName("workload-window", "Plot X-WORKLOAD-2", "Steady State Measurement Window")
    streams = PlotName("workload-streams-page", "Plot X-WORKLOAD-3", "Response Times of the Streams")
    prepared = state_page(run, "Purge and Pre-conditioning")
    if not results.rounds or job is None:
        return (prepared, nothing_page(rounds.id, rounds.title, "no round was completed"))
    capacity = run.manifest.target.user_capacity_bytes
    return (
        prepared,
        _rounds_page(results, rounds),
        window_page(_window(results), window),
        page(streams, *stream_blocks(streams, _of_window(results), _times(results))),
        job_page("workload-job", "Job File", results.conditions, job, capacity),
    )


def _rounds_page(results: WorkloadResults, name: PlotName) -> Page:
    metric = _METRICS[results.conditions.figure]
    last, window = len(results.rounds), results.window
    label = "Measurement Window" if results.steady else "Last five Rounds"
    shown = rows_table(
        f"{name.id}-values",
        f"Values plotted: {tracked_name(results.conditions)} of each Round ({metric.unit})",
        ("Tracked:<0", *round_columns(range(1, last + 1))),
        ((metric.unit, *map(metric.shown, results.values)),),
    )
    band = Band("x", window.rounds[0] - 0.5, window.rounds[-1] + 0.5, "window", f"{label} {window.label}")
    plot = Plot(
        x=ticks.rounds_axis(last),
        y=lambda values: ticks.linear_axis(metric.axis_title, 0, max(values)),
        series=(Series(tracked_name(results.conditions), "row", (0,), _VALUE_COLOR, emphasis=True),),
        alt=f"{last} Rounds, from {{low}} to {{high}} {metric.unit}. {_sentence(results).text}",
        decimals=metric.decimals,
        bands=(band,) if window.is_full else (),
        height_px=height_over_rounds(last),
    )
    return page(name, plot.over(name, shown), _sentence(results), shown)


def _window(results: WorkloadResults) -> Window:
    job = results.conditions.job
    return Window(
        variable=tracked_name(results.conditions),
        metric=_METRICS[results.conditions.figure],
        verdict=results.verdict,
        values=results.values,
        reason=rounds_reason(results),
        conditions=f"Job file {job.name if job else ''}; tracked: {tracked_name(results.conditions)}.",
    )


def _figures(results: WorkloadResults) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    job, first = results.conditions.job, results.rounds[0] if results.rounds else ()
    return {
        "job": job.name if job else None,
        "tracked": tracked_name(results.conditions),
        "rounds": len(results.rounds),
        "round_seconds": sum(sample.elapsed_ns for sample in first) / NS_PER_S,
        "values": list(results.values),
        "steady": results.steady,
        "window": list(results.window.rounds),
        "streams": [times_of_stream(found) for found in _times(results)],
    }


class MeasuredWorkload(Struct, frozen=True):
    """A workload of a suite in all cycles: its steps, its streams, and by limit the verdict of each cycle."""

    workload: SuiteWorkload
    samples: tuple[Sample, ...]
    streams: tuple[StreamTimes, ...]
    limits: tuple[SuiteLimit, ...]
    of_cycles: tuple[tuple[JudgedLimit, ...], ...]

    @property
    def judged(self) -> tuple[JudgedLimit, ...]:
        """The worst verdict of all cycles on each limit."""
        return tuple(map(worst, self.of_cycles))


def _of_suite(run: Run, conditions: WorkloadConditions) -> ReportContent:
    suite = conditions.suite
    found = tuple(_measured(run, conditions))
    judged = tuple(verdict for one in found for verdict in one.judged)
    return ReportContent(
        verdicts=(Verdict(_suite_sentence(found, judged)), *_unread(found)),
        measures=(_FAILED.of(judged), *_suite_measures(found)),
        sections=methodology(
            run, _SUITE_TITLE, _suite_rows(conditions), lambda: _suite_pages(run, conditions, found)
        ),
        figures=lambda: {
            "suite": suite.name,
            "cycles": conditions.cycles,
            "workloads": [_suite_figures(one) for one in found],
        },
        limits=judged,
    )


def _measured(run: Run, conditions: WorkloadConditions) -> Iterator[MeasuredWorkload]:
    suite, count = conditions.suite, len(conditions.suite.workloads)
    for at, workload in enumerate(suite.workloads, start=1):
        numbers = range(at, conditions.cycles * count + 1, count)
        cycles = [[step.sample for step in run.phase(Phase.PROFILE, number=number)] for number in numbers]
        limits = suite.limits_of(workload, run.manifest.target.user_capacity_bytes)
        samples = tuple(sample for of_cycle in cycles for sample in of_cycle)
        yield MeasuredWorkload(
            workload=workload,
            samples=samples,
            streams=stream_times(samples),
            limits=limits,
            of_cycles=tuple(
                tuple(judge_limit(limit, workload.alias, one, _ocp_asks(limit)) for one in cycles)
                for limit in limits
            ),
        )


def _ocp_asks(limit: SuiteLimit) -> str:
    """OCP's own target for what a suite limits; empty if it has none."""
    if limit.operation is not LimitedOperation.TRIM:
        return ""
    if limit.figure is LimitedFigure.THROUGHPUT:
        asked = ", ".join(f"{each.gib_per_s:g} GiB/s of {each.size}" for each in TRIMS)
    elif (limit.figure, limit.percentile) == (LimitedFigure.PERCENTILE, 99.0):
        asked = f"{TRIMS[0].p99_ms:g} ms"
    else:
        return ""
    return f"OCP 2.7, META-PERF-2, of trims alone: {asked}"


def _suite_sentence(found: Sequence[MeasuredWorkload], judged: Sequence[JudgedLimit]) -> str:
    limits = f"its {len(judged)} limits are on a page of their own" if judged else "the suite sets no limits"
    return f"{format_count(len(found), 'workload')} measured; {limits}."


def _unread(found: Sequence[MeasuredWorkload]) -> Iterator[Verdict]:
    if names := dict.fromkeys(name for one in found for name in one.workload.unread):
        yield Verdict(
            f"Targets of the suite that openpts does not know, and did not judge: {', '.join(names)}."
        )


def _suite_measures(found: Sequence[MeasuredWorkload]) -> Iterator[Measured]:
    for one in found:
        for streams in whole_of(one.streams):
            name = f"{one.workload.alias}: {streams.name}"
            yield from measured(STREAM_MEASURES, streams, Subject(name, key_of(name)))


def _suite_rows(conditions: WorkloadConditions) -> Rows:
    suite = conditions.suite
    return (
        ("Data Pattern", "the job files' own"),
        ("AR & Amount", "the job files' own"),
        ("Test Stimulus", suite.name),
        ("Workloads", str(len(suite.workloads))),
        ("Cycles", str(conditions.cycles)),
        ("Preparation", f"{len(suite.preparation)} workloads"),
        ("Preparation cycles", str(conditions.precondition_cycles)),
        ("Scaled by capacity", "yes" if suite.scales else "no"),
        ("Limits", str(sum(len(one.limits) for one in suite.workloads))),
        ("Steady State", NO_STEADY_STATE),
    )


def _suite_pages(
    run: Run, conditions: WorkloadConditions, found: Sequence[MeasuredWorkload]
) -> tuple[Page, ...]:
    suite, capacity = conditions.suite, run.manifest.target.user_capacity_bytes
    pages = [state_page(run, "Purge and Preparation")]
    for number, one in enumerate(found, start=1):
        name = PlotName(f"workload-{number}", f"Plot X-WORKLOAD-{number}", one.workload.alias)
        unmeasured = None if one.streams else Verdict(f"{one.workload.alias}: n/a (not measured).", "fail")
        pages.append(page(name, unmeasured, *stream_blocks(name, one.samples, one.streams)))
    firsts = {one.template: one for one in reversed((*suite.preparation, *suite.workloads))}
    for number, template in enumerate(sorted(firsts), start=1):
        job = suite.job(firsts[template], capacity, conditions.seed)
        title = f"Job File {template}, as in {firsts[template].alias}"
        pages.append(job_page(f"workload-job-{number}", title, conditions, job, capacity))
    return tuple(pages)


def _suite_figures(one: MeasuredWorkload) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "name": one.workload.alias,
        "template": one.workload.template,
        "streams": [times_of_stream(streams) for streams in one.streams],
        "limits": [
            _limit_figures(limit, worst(judged))
            | {"cycles": [_limit_figures(limit, each) for each in judged]}
            for limit, judged in zip(one.limits, one.of_cycles, strict=True)
        ],
        "unread_targets": list(one.workload.unread),
    }


def _limit_figures(limit: SuiteLimit, judged: JudgedLimit) -> dict[str, Any]:
    return {
        "operation": limit.operation,
        "figure": limit.figure.value,
        "percentile": limit.percentile or None,
        "unit": limit.unit,
        "limit": limit.in_unit(limit.value),
        "measured": judged.value,
        "verdict": judged.judgement.value,
        "reason": judged.reason or None,
    }

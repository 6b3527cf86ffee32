"""The report of the workload of a job file: steady state of its rounds, and what each stream did in them."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.pages import ticks
from openpts.pages.kit import Plot, PlotName, page, rows_table
from openpts.pages.measure import Measured, Subject, measured
from openpts.pages.model import Band, Page, Series, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows, of_cycle
from openpts.procedures.kit.steps import ART, IOPS, THROUGHPUT, HasFigures, Metric
from openpts.procedures.shared.methodology import methodology, nothing_page, state_page
from openpts.procedures.shared.steady_state_pages import height_over_rounds, round_columns, rounds_reason
from openpts.procedures.shared.window_page import Window, window_page
from openpts.record.reader import Run
from openpts.units import NS_PER_S, format_duration
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts_fio.fio_job.pages import job_page, stream_blocks
from openpts_fio.fio_job.streams import stream_names
from openpts_fio.fio_job.times import (
    COVER_MEASURES,
    STREAM_MEASURES,
    StreamTimes,
    stream_times,
    times_of_stream,
    whole_of,
)
from openpts_fio.workload import RoundFigure, WorkloadConditions
from openpts_fio.workload.results import WorkloadResults, analyze, tracked_name

_TITLE: Final = "Workload of a Job File"
_METRICS: Final[dict[RoundFigure, Metric[HasFigures]]] = {
    RoundFigure.IOPS: IOPS,
    RoundFigure.THROUGHPUT: THROUGHPUT,
    RoundFigure.MEAN_LATENCY: ART,
    RoundFigure.P99_LATENCY: replace(ART, axis="P99 response time (ms)"),
}
_VALUE_COLOR: Final = 2


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
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

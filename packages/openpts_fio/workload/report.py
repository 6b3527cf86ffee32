"""The report of a load: what each stream of it did, steady state of a job's rounds, limits of a suite."""

from collections.abc import Iterator
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
    course_pages,
    demand_pages,
    job_page,
    stream_blocks,
    stream_times,
    times_of_stream,
    whole_of,
)
from openpts_fio.workload.results import WorkloadResults, analyze, judge_limit, tracked_name
from openpts_fio.workload.steps import reason_left_out
from openpts_pages import ticks
from openpts_pages.kit import Plot, PlotName, page, rows_table
from openpts_pages.measure import Measure, Measured, Subject, key_of, measured
from openpts_pages.model import Band, Page, Series, Verdict
from openpts_pts.shared.preparation_page import NO_STEADY_STATE, methodology, nothing_page, state_page
from openpts_pts.shared.window_page import Window, height_over_rounds, round_columns

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


class JobReport(Struct, frozen=True):
    """The rounds of a job, and their pages."""

    run: Run
    results: WorkloadResults

    @property
    def name(self) -> str:
        """What is tracked."""
        return tracked_name(self.results.conditions)

    @property
    def samples(self) -> list[Sample]:
        """All steps of the window."""
        return [sample for samples in self.results.of_window for sample in samples]

    @property
    def first_round(self) -> tuple[Sample, ...]:
        """All steps of the first round; none where no round was completed."""
        return self.results.rounds[0] if self.results.rounds else ()

    def verdict(self) -> Verdict:
        """Whether steady state was reached, and where."""
        window = self.results.window
        if self.results.steady:
            last = window.rounds[-1]
            text = f"Steady State reached in Round {last} for {self.name}, in Rounds {window.label}."
            return Verdict(text, "pass")
        if window.is_full:
            text = (
                f"Steady State not reached for {self.name} within {len(self.results.rounds)} Rounds; "
                f"the last five ({window.label}) are shown."
            )
            return Verdict(text, "fail")
        reason = self.results.reason()
        return Verdict(f"Steady State can't be judged: n/a ({reason}).", "fail")

    def measures(self) -> Iterator[Measured]:
        """Measures of each stream; on the cover those of all together."""
        results = self.results
        state = "" if results.steady else "not of steady state"
        steady = f"reached in Round {results.window.rounds[-1]}" if results.steady else "not reached"
        found = stream_times(self.samples)
        for one in found:
            kinds = COVER_MEASURES if one in whole_of(found) else STREAM_MEASURES
            yield from measured(kinds, one, Subject(one.name, state=state, steady=steady))

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        results, first = self.results, self.first_round
        steps = [sample.step for sample in first]
        length_ns = sum(sample.elapsed_ns for sample in first)
        job = results.conditions.job
        return (
            ("Data Pattern", "the job's own"),
            ("AR & Amount", "the job's own"),
            ("Test Stimulus", job.name if job else "none"),
            ("Streams", str(len(stream_names(steps)))),
            ("Steps of a Round", str(len(steps))),
            ("Total outstanding", str(max((step.toio for step in steps), default=0))),
            ("Duration of a Round", format_duration(length_ns) if first else "n/a"),
            ("Tracked", self.name),
            ("SS Rounds", results.window.label),
            ("Steady State", "reached" if results.steady else "NOT REACHED"),
        )

    def pages(self) -> tuple[Page, ...]:
        """In their order."""
        job = self.results.conditions.job
        rounds = PlotName("workload-rounds", "Plot X-WORKLOAD-1", "Tracked Figure v Round")
        window = PlotName("workload-window", "Plot X-WORKLOAD-2", "Steady State Measurement Window")
        streams = PlotName("workload-streams-page", "Plot X-WORKLOAD-3", "Response Times of the Streams")
        prepared = state_page(self.run, "Purge and Pre-conditioning")
        if not self.results.rounds or job is None:
            return (prepared, nothing_page(rounds.id, rounds.title, "no round was completed"))
        capacity, imported = self.run.manifest.target.user_capacity_bytes, self.run.manifest.imported
        of_window = Window(
            variable=self.name,
            metric=_METRICS[self.results.conditions.figure],
            verdict=self.results.verdict,
            values=self.results.values,
            reason=self.results.reason(),
            conditions=f"Job file {job.name}; tracked: {self.name}.",
        )
        return (
            prepared,
            self.rounds(rounds),
            of_window.page(window),
            page(streams, *stream_blocks(streams, self.samples, stream_times(self.samples))),
            *demand_pages(self.samples),
            *course_pages(imported.courses if imported is not None else ()),
            job_page("workload-job", "Job File", self.results.conditions, job, capacity),
        )

    def rounds(self, name: PlotName) -> Page:
        """The tracked figure of each round."""
        results, window = self.results, self.results.window
        metric, last = _METRICS[results.conditions.figure], len(results.rounds)
        shown = rows_table(
            f"{name.id}-values",
            f"Values plotted: {self.name} of each Round ({metric.unit})",
            ("Tracked:<0", *round_columns(last)),
            ((metric.unit, *map(metric.shown, results.values)),),
        )
        label = f"{'Measurement Window' if results.steady else 'Last five Rounds'} {window.label}"
        verdict = self.verdict()
        plot = Plot(
            x=ticks.rounds_axis(last),
            y=lambda values: ticks.linear_axis(metric.axis_title, 0, max(values)),
            series=(Series(self.name, "row", (0,), _VALUE_COLOR, emphasis=True),),
            alt=f"{last} Rounds, from {{low}} to {{high}} {metric.unit}. {verdict.text}",
            decimals=metric.decimals,
            bands=(Band("x", window.rounds[0] - 0.5, window.rounds[-1] + 0.5, "window", label),)
            if window.is_full
            else (),
            height_px=height_over_rounds(last),
        )
        return page(name, plot.over(name, shown), verdict, shown)

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        results, job = self.results, self.results.conditions.job
        return {
            "job": job.name if job else None,
            "tracked": self.name,
            "rounds": len(results.rounds),
            "round_seconds": sum(sample.elapsed_ns for sample in self.first_round) / NS_PER_S,
            "values": list(results.values),
            "steady": results.steady,
            "window": list(results.window.rounds),
            "streams": [times_of_stream(found) for found in stream_times(self.samples)],
        }


class MeasuredWorkload(Struct, frozen=True):
    """A workload of a suite in all cycles: its steps, its streams, and by limit the verdict of each cycle."""

    workload: SuiteWorkload
    samples: tuple[Sample, ...]
    streams: tuple[StreamTimes, ...]
    limits: tuple[SuiteLimit, ...]
    of_cycles: tuple[tuple[JudgedLimit, ...], ...]
    left_out: str = ""

    @property
    def judged(self) -> tuple[JudgedLimit, ...]:
        """The worst verdict of all cycles on each limit."""
        return tuple(map(worst, self.of_cycles))

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "name": self.workload.alias,
            "template": self.workload.template,
            "left_out": self.left_out or None,
            "streams": [times_of_stream(streams) for streams in self.streams],
            "limits": [
                _limit_figures(limit, worst(judged))
                | {"cycles": [_limit_figures(limit, each) for each in judged]}
                for limit, judged in zip(self.limits, self.of_cycles, strict=True)
            ],
            "unread_targets": list(self.workload.unread),
        }


class SuiteReport(Struct, frozen=True):
    """The workloads of a suite, and their pages."""

    run: Run
    conditions: WorkloadConditions
    found: tuple[MeasuredWorkload, ...]

    @property
    def limits(self) -> tuple[JudgedLimit, ...]:
        """The worst verdict on each limit of each workload."""
        return tuple(verdict for one in self.found for verdict in one.judged)

    def verdicts(self) -> Iterator[Verdict]:
        """What was measured, and which targets were not judged."""
        count = len(self.limits)
        limits = f"its {count} limits are on a page of their own" if count else "the suite sets no limits"
        left_out = [one for one in self.found if one.left_out]
        measured_count = format_count(len(self.found) - len(left_out), "workload")
        yield Verdict(f"{measured_count} measured; {limits}.")
        for one in left_out:
            yield Verdict(f"Workload {one.workload.alias} left out: {one.left_out}.", "fail")
        if names := dict.fromkeys(name for one in self.found for name in one.workload.unread):
            yield Verdict(
                f"Targets of the suite that openpts does not know, and did not judge: {', '.join(names)}."
            )

    def measures(self) -> Iterator[Measured]:
        """How many limits failed, then what all streams of each workload did together."""
        yield _FAILED.of(self.limits)
        for one in self.found:
            for streams in whole_of(one.streams):
                name = f"{one.workload.alias}: {streams.name}"
                yield from measured(STREAM_MEASURES, streams, Subject(name, key_of(name)))

    def test_rows(self) -> Rows:
        """The test's part of the header."""
        suite = self.conditions.suite
        return (
            ("Data Pattern", "the job files' own"),
            ("AR & Amount", "the job files' own"),
            ("Test Stimulus", suite.name),
            ("Workloads", str(len(suite.workloads))),
            ("Cycles", str(self.conditions.cycles)),
            ("Preparation", f"{len(suite.preparation)} workloads"),
            ("Preparation cycles", str(self.conditions.precondition_cycles)),
            ("Scaled by capacity", "yes" if suite.scales else "no"),
            ("Limits", str(sum(len(one.limits) for one in suite.workloads))),
            ("Steady State", NO_STEADY_STATE),
        )

    def pages(self) -> tuple[Page, ...]:
        """A page for each workload, then one for each template."""
        suite, capacity = self.conditions.suite, self.run.manifest.target.user_capacity_bytes
        pages = [state_page(self.run, "Purge and Preparation")]
        for number, one in enumerate(self.found, start=1):
            name = PlotName(f"workload-{number}", f"Plot X-WORKLOAD-{number}", one.workload.alias)
            why = f"left out: {one.left_out}" if one.left_out else "not measured"
            missing = None if one.streams else Verdict(f"{one.workload.alias}: n/a ({why}).", "fail")
            pages.append(page(name, missing, *stream_blocks(name, one.samples, one.streams)))
        all_workloads = (*suite.preparation, *suite.workloads)
        firsts = {one.template: one for one in reversed(all_workloads) if suite.has_template(one)}
        for number, template in enumerate(sorted(firsts), start=1):
            job = suite.job(firsts[template], capacity, self.conditions.seed)
            title = f"Job File {template}, as in {firsts[template].alias}"
            pages.append(job_page(f"workload-job-{number}", title, self.conditions, job, capacity))
        return tuple(pages)

    def figures(self) -> dict[str, Any]:
        """Key numbers, JSON-ready."""
        return {
            "suite": self.conditions.suite.name,
            "cycles": self.conditions.cycles,
            "workloads": [one.figures() for one in self.found],
        }


def _measured(run: Run, conditions: WorkloadConditions) -> Iterator[MeasuredWorkload]:
    suite, count = conditions.suite, len(conditions.suite.workloads)
    capacity = run.manifest.target.user_capacity_bytes
    for at, workload in enumerate(suite.workloads, start=1):
        numbers = range(at, conditions.cycles * count + 1, count)
        cycles = [[step.sample for step in run.phase(Phase.PROFILE, number=number)] for number in numbers]
        limits = suite.limits_of(workload, capacity)
        left_out = reason_left_out(conditions, workload, capacity)
        samples = tuple(sample for of_cycle in cycles for sample in of_cycle)
        yield MeasuredWorkload(
            workload=workload,
            samples=samples,
            streams=stream_times(samples),
            limits=limits,
            of_cycles=tuple(
                tuple(judge_limit(limit, workload.alias, one, _ocp_asks(limit), left_out) for one in cycles)
                for limit in limits
            ),
            left_out=left_out,
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


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(WorkloadConditions)
    if conditions.is_suite:
        suite = SuiteReport(run, conditions, tuple(_measured(run, conditions)))
        return ReportContent(
            verdicts=tuple(suite.verdicts()),
            measures=tuple(suite.measures()),
            sections=methodology(run, "Workloads of a Suite", suite.test_rows(), suite.pages),
            figures=suite.figures,
            limits=suite.limits,
        )
    finished = of_cycle(run.manifest.cycles, 1)
    steps = run.phase(Phase.ROUND)
    results = analyze(
        conditions,
        ((step.place, step.sample) for step in steps),
        1 + max((step.place.position for step in steps), default=0),
        finished.outcome.steady_round if finished else None,
    )
    job = JobReport(run, results)
    return ReportContent(
        verdicts=(job.verdict(),),
        measures=tuple(job.measures()),
        sections=methodology(run, "Workload of a Job File", job.test_rows(), job.pages),
        figures=job.figures,
    )

"""The report of a suite of FioSynth: each limit with its verdict, and what each workload did."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from openpts.pages import cells
from openpts.pages.kit import Col, PlotName, page, table
from openpts.pages.measure import Measure, Measured, Subject, key_of, measured
from openpts.pages.model import Cell, Page, Table, Verdict
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.header import Rows
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology, state_page
from openpts.record.reader import Run
from openpts.vocabulary.better import Better
from openpts.vocabulary.limit import JudgedLimit, Judgement, LimitVerdict
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import Sample
from openpts_fio.fio_job.limits import judge_limit, worst
from openpts_fio.fio_job.pages import job_page, stream_blocks
from openpts_fio.fio_job.times import STREAM_MEASURES, StreamTimes, stream_times, times_of_stream, whole_of
from openpts_fio.fiosynth import FiosynthConditions
from openpts_fio.fiosynth.suite import SuiteWorkload
from openpts_fio.trim_targets import ocp_asks

_TITLE: Final = "FioSynth Suite"
_TONES: Final = {Judgement.PASS: "pass", Judgement.FAIL: "fail", Judgement.NO_VERDICT: "missing"}


Judged = tuple[str, LimitVerdict]
"""A verdict with the name of its workload."""

_FAILED: Final = Measure[tuple[Judged, ...]](
    "limits_failed",
    "Limits failed",
    "limits",
    lambda limits: sum(verdict.judgement is Judgement.FAIL for _, verdict in limits),
    better=Better.LOWER,
)


class MeasuredWorkload(Struct, frozen=True):
    """A workload in all cycles: the steps of each, its streams in all of them, and its limits.

    ``limits`` are the worst of all cycles, ``of_cycles`` those of each.
    """

    workload: SuiteWorkload
    samples: tuple[tuple[Sample, ...], ...]
    streams: tuple[StreamTimes, ...]
    limits: tuple[LimitVerdict, ...]
    of_cycles: tuple[tuple[LimitVerdict, ...], ...]

    @property
    def all_samples(self) -> list[Sample]:
        """The steps of all cycles."""
        return [sample for samples in self.samples for sample in samples]


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    conditions = run.conditions(FiosynthConditions)
    found = tuple(_measured(run, conditions))
    limits = tuple((one.workload.alias, verdict) for one in found for verdict in one.limits)
    return ReportContent(
        verdicts=(_summary(found), *_unread(found)),
        measures=(_FAILED.of(limits), *_measures(found)),
        sections=methodology(run, _TITLE, _test_rows(conditions), lambda: _pages(run, conditions, found)),
        figures=lambda: {
            "suite": conditions.suite.name,
            "cycles": conditions.cycles,
            "workloads": [_figures(one) for one in found],
        },
        limits=tuple(JudgedLimit.of(name, verdict) for name, verdict in limits),
    )


def _measured(run: Run, conditions: FiosynthConditions) -> Iterator[MeasuredWorkload]:
    suite, count = conditions.suite, len(conditions.suite.workloads)
    capacity = run.manifest.target.user_capacity_bytes
    for at, workload in enumerate(suite.workloads, start=1):
        numbers = range(at, conditions.cycles * count + 1, count)
        cycles = tuple(
            tuple(step.sample for step in run.phase(Phase.PROFILE, number=number)) for number in numbers
        )
        limits = suite.limits_of(workload, capacity)
        judged = tuple(tuple(judge_limit(limit, samples) for samples in cycles) for limit in limits)
        yield MeasuredWorkload(
            workload=workload,
            samples=cycles,
            streams=stream_times([sample for samples in cycles for sample in samples]),
            limits=tuple(map(worst, judged)),
            of_cycles=judged,
        )


def _summary(found: Sequence[MeasuredWorkload]) -> Verdict:
    verdicts = [verdict.judgement for one in found for verdict in one.limits]
    if not verdicts:
        return Verdict(f"{len(found)} workloads measured; the suite sets no limits.")
    failed, doubts = verdicts.count(Judgement.FAIL), verdicts.count(Judgement.NO_VERDICT)
    text = f"Limits: {verdicts.count(Judgement.PASS)} of {len(verdicts)} passed"
    if failed:
        names = dict.fromkeys(
            one.workload.alias for one in found if any(v.judgement is Judgement.FAIL for v in one.limits)
        )
        text += f"; {failed} failed, in {', '.join(names)}"
    if doubts:
        text += f"; {doubts} without a verdict"
    return Verdict(f"{text}.", "fail" if failed else "info" if doubts else "pass")


def _unread(found: Sequence[MeasuredWorkload]) -> Iterator[Verdict]:
    if names := dict.fromkeys(name for one in found for name in one.workload.unread):
        yield Verdict(
            f"Targets of the suite that openpts does not know, and did not judge: {', '.join(names)}."
        )


def _measures(found: Sequence[MeasuredWorkload]) -> Iterator[Measured]:
    for one in found:
        for streams in whole_of(one.streams):
            name = f"{one.workload.alias}: {streams.name}"
            yield from measured(STREAM_MEASURES, streams, Subject(name, key_of(name)))


def _test_rows(conditions: FiosynthConditions) -> Rows:
    suite = conditions.suite
    return (
        ("Data Pattern", "the job files' own"),
        ("AR & Amount", "the job files' own"),
        ("Test Stimulus", suite.name or "none"),
        ("Workloads", str(len(suite.workloads))),
        ("Cycles", str(conditions.cycles)),
        ("Preparation", f"{len(suite.preparation)} workloads"),
        ("Preparation cycles", str(conditions.precondition_cycles)),
        ("Scaled by capacity", "yes" if suite.scales else "no"),
        ("Limits", str(sum(len(one.limits) for one in suite.workloads))),
        ("Steady State", NO_STEADY_STATE),
    )


def _pages(run: Run, conditions: FiosynthConditions, found: Sequence[MeasuredWorkload]) -> tuple[Page, ...]:
    capacity = run.manifest.target.user_capacity_bytes
    pages = [
        state_page(run, "Purge and Preparation"),
        Page(
            "fiosynth-limits",
            "Limits",
            (_summary(found), *_unread(found), *_limit_tables(found)),
            mandatory=True,
        ),
    ]
    for number, one in enumerate(found, start=1):
        name = PlotName(f"fiosynth-{number}", f"Plot X-FIOSYNTH-{number}", one.workload.alias)
        unmeasured = None if one.streams else Verdict(f"{one.workload.alias}: n/a (not measured).", "fail")
        pages.append(page(name, unmeasured, *stream_blocks(name, one.all_samples, one.streams)))
    firsts = {
        one.template: one for one in reversed((*conditions.suite.preparation, *conditions.suite.workloads))
    }
    for number, template in enumerate(sorted(firsts), start=1):
        job = conditions.suite.job(firsts[template], capacity, conditions.seed)
        title = f"Job File {template}, as in {firsts[template].alias}"
        pages.append(job_page(f"fiosynth-job-{number}", title, conditions, job, capacity))
    return tuple(pages)


def _limit_tables(found: Sequence[MeasuredWorkload]) -> tuple[Table, ...]:
    judged = [(one.workload.alias, verdict) for one in found for verdict in one.limits]
    if not judged:
        return ()
    head: Col[Judged] = Col("Workload", lambda one: Cell(one[0]), align="left", width=1.5)
    return (
        table(
            "fiosynth-limits-table",
            "Limits and what was measured; of several cycles the worst",
            head,
            [
                Col("Limit", lambda one: Cell(one[1].limit.name), align="left", width=1.5),
                Col("Unit", lambda one: Cell(one[1].limit.unit), align="left", width=0.5),
                Col("At least", lambda one: _bound(one[1], is_rate=True)),
                Col("At most", lambda one: _bound(one[1], is_rate=False)),
                *([_OCP] if any(ocp_asks(verdict.limit) for _, verdict in judged) else ()),
                Col("Measured", lambda one: _value(one[1]), width=1.5),
                Col(
                    "Verdict", lambda one: Cell(one[1].judgement, tone=_TONES[one[1].judgement]), align="left"
                ),
            ],
            judged,
            note="Targets of a suite: IOPS, MB/s and µs. Rates of a suite that scales them are those of a "
            "drive of 1 TB, times the capacity.",
        ),
    )


_OCP: Final[Col[Judged]] = Col(
    "OCP 2.7, META-PERF-2: nothing beside the trims",
    lambda one: cells.words(ocp_asks(one[1].limit)),
    align="left",
    width=1.5,
)


def _bound(verdict: LimitVerdict, *, is_rate: bool) -> Cell:
    limit = verdict.limit
    return _number(verdict, limit.value) if limit.is_rate is is_rate else cells.none()


def _value(verdict: LimitVerdict) -> Cell:
    if verdict.value is None:
        return cells.missing(verdict.reason)
    return _number(verdict, verdict.value, note=verdict.reason)


def _number(verdict: LimitVerdict, value: float, note: str = "") -> Cell:
    if verdict.limit.is_rate:
        return cells.number(verdict.limit.in_unit(value), 1, note=note)
    return cells.latency(value, note=note)


def _figures(one: MeasuredWorkload) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    return {
        "name": one.workload.alias,
        "template": one.workload.template,
        "streams": [times_of_stream(streams) for streams in one.streams],
        "limits": [
            _limit_figures(verdict) | {"cycles": [_limit_figures(each) for each in each_cycle]}
            for verdict, each_cycle in zip(one.limits, one.of_cycles, strict=True)
        ],
        "unread_targets": list(one.workload.unread),
    }


def _limit_figures(verdict: LimitVerdict) -> dict[str, Any]:
    limit, value = verdict.limit, verdict.value
    return {
        "operation": limit.operation,
        "figure": limit.figure.value,
        "percentile": limit.percentile or None,
        "unit": limit.unit,
        "limit": limit.in_unit(limit.value),
        "measured": None if value is None else limit.in_unit(value),
        "verdict": verdict.judgement.value,
        "reason": verdict.reason or None,
    }

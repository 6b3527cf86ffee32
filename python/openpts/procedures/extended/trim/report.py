"""The report of the test of trims."""

from typing import Any, Final

from openpts.analysis.response_times import nines_percentile
from openpts.pages import cells, ticks
from openpts.pages.measure import Measure, Measured, Subject
from openpts.procedures.extended.trim.conditions import AFTER, BEFORE, BESIDE, TrimConditions
from openpts.procedures.extended.trim.pages import (
    TrimRun,
    beside_page,
    effect_verdict,
    promise_verdict,
    rates_page,
    trimmed_page,
)
from openpts.procedures.extended.trim.results import (
    PERCENTILES,
    Beside,
    RatePoint,
    Times,
    beside_of,
    rate_points,
    size_name,
)
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import OVER_NINES, Curve
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology, state_page
from openpts.record.reader import Run
from openpts.units import MB, NS_PER_MS, format_block_size, format_capacity, format_duration, in_ms
from openpts.vocabulary.better import Better
from openpts.vocabulary.phase import Phase
from openpts.vocabulary.sample import StepState

_TITLE: Final = "Trims"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    found = trim_run(run)
    return ReportContent(
        verdicts=(*(effect_verdict(found, name) for name in ("reads", "writes")), promise_verdict(found)),
        measures=_measures(found),
        sections=methodology(
            run,
            _TITLE,
            _test_rows(found),
            lambda: (
                rates_page(found),
                beside_page(found),
                trimmed_page(found),
                state_page(run, "Preparation"),
            ),
        ),
        figures=_figures(found),
        curves=lambda: tuple(_curve(name, beside) for name, beside in found.beside.items()),
    )


def _curve(name: str, beside: Beside) -> Curve:
    times = beside.beside
    found = [(pct, times.percentile_ns(pct)) for pct in PERCENTILES]
    return Curve(
        f"{name}-beside-trims",
        f"{name.capitalize()} beside Trims: Response Time v Share of the I/Os",
        "response time in ms that a share of the I/Os does not exceed",
        OVER_NINES,
        lambda values: ticks.log_axis("Response time (ms)", values),
        tuple((pct, found_ns / NS_PER_MS) for pct, found_ns in found if found_ns is not None),
        lambda found_ms: cells.latency(found_ms * NS_PER_MS),
    )


def trim_run(run: Run) -> TrimRun:
    """What was measured of it."""
    conditions = run.conditions(TrimConditions)
    loads = {
        number: [step.sample for step in run.phase(Phase.LOAD, number=number)]
        for number in (BEFORE, BESIDE, AFTER)
    }
    trims = [
        (stream.stimulus, Times.of(sample.trim, sample.elapsed_ns))
        for sample in loads[BESIDE]
        for stream in sample.step.streams
        if stream.stimulus.operations.trim and sample.state is StepState.COMPLETE
    ]
    return TrimRun(
        run=run,
        conditions=conditions,
        points=rate_points(step.sample for step in run.phase(Phase.SWEEP)),
        beside=beside_of(loads),
        trims=trims[-1] if trims else None,
        trimmed=run.manifest.trimmed,
    )


_POINT: Final[tuple[Measure[RatePoint], ...]] = (
    Measure(
        "per_s",
        "Trims of {name}",
        "trims/s",
        lambda point: point.times.per_s,
        better=Better.HIGHER,
        decimals=1,
    ),
    Measure(
        "mean",
        "Trims of {name}, mean response time",
        "ms",
        lambda point: point.times.mean_ns,
        per=NS_PER_MS,
        decimals=3,
        on_cover=False,
    ),
)
_BESIDE: Final[tuple[Measure[Beside], ...]] = (
    Measure(
        "beside_trims_p99_9",
        "{name} beside trims, 99.9 %",
        "ms",
        lambda beside: beside.beside.percentile_ns(nines_percentile(3)),
        per=NS_PER_MS,
        decimals=3,
        absent="below 1,000 I/Os",
    ),
    Measure(
        "longest_beside_trims",
        "{name} beside trims, longest",
        "ms",
        lambda beside: beside.beside.max_ns,
        per=NS_PER_MS,
        decimals=3,
    ),
    Measure(
        "factor_of_trims",
        "{name}, 99.9 % beside trims over alone",
        "x",
        lambda beside: beside.factor(nines_percentile(3)),
        decimals=2,
        absent="below 1,000 I/Os",
    ),
)


def _measures(found: TrimRun) -> tuple[Measured, ...]:
    """Of each size with the fewest outstanding, and of reads and writes beside trims."""
    conditions = found.conditions
    qd = min(conditions.qds)
    of_points = [
        measure.of(found.point(size, qd), Subject(f"{size_name(size)} QD {qd}"))
        for size in sorted(conditions.sizes_bytes)
        for measure in _POINT
    ]
    of_loads = [
        measure.of(found.beside.get(name), Subject(name.capitalize()))
        for name in ("reads", "writes")
        for measure in _BESIDE
    ]
    return (*of_points, *of_loads)


def _test_rows(found: TrimRun) -> Rows:
    conditions = found.conditions
    random = format_block_size(conditions.random_block_size_bytes)
    sizes = ", ".join(size_name(size) for size in conditions.sizes_bytes)
    return stimulus_rows(
        found.run,
        ("Test Stimulus 1", f"SEQ trims of {sizes}"),
        ("TOIO - TC/QD", f"TC {', '.join(map(str, conditions.qds))} / QD 1"),
        ("Range", f"up to {format_capacity(conditions.range_bytes)}, written before"),
        ("Test Stimulus 2", f"RND {random} R and W, {found.trims_text} beside"),
        ("TOIO - TC/QD", demand_text(conditions.tc, conditions.qd)),
        ("Load", f"R {conditions.read_load_pct:g} %, W {conditions.write_load_pct:g} % of the rates alone"),
        ("Duration", f"{format_duration(conditions.minute_ns)} each"),
        ("Steady State", NO_STEADY_STATE),
    )


def _figures(found: TrimRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    trimmed = found.trimmed
    return {
        "points": [
            {
                "size_bytes": point.size_bytes,
                "qd": point.qd,
                "mb_per_s": point.times.bytes_per_s / MB,
                **_times_figures(point.times),
            }
            for point in found.points
        ],
        "beside": {
            name: {
                "effect": beside.effect.value,
                "broken": list(beside.reasons),
                "judged_pct": beside.judged_pct,
                "factors": {f"{pct:.10g}": beside.factor(pct) for pct in PERCENTILES},
                "before": _times_figures(beside.before),
                "beside": _times_figures(beside.beside),
                "after": _times_figures(beside.after),
            }
            for name, beside in found.beside.items()
        },
        "trims_beside": None
        if found.trims is None
        else {"size_bytes": found.trims[0].block_size_bytes, **_times_figures(found.trims[1])},
        "trimmed_reads": None
        if trimmed is None
        else {
            "promise": trimmed.promise.value,
            "source": trimmed.source,
            "seen": trimmed.seen,
            "kept": trimmed.kept.value,
            "sectors": trimmed.sectors,
        },
    }


def _times_figures(times: Times) -> dict[str, Any]:
    return {
        "ios": times.sample.ios,
        "per_s": times.per_s,
        "mean_ms": in_ms(times.mean_ns),
        **{f"p{pct:.10g}_ms".replace(".", "_"): in_ms(times.percentile_ns(pct)) for pct in PERCENTILES},
        "longest_ms": in_ms(times.max_ns),
    }

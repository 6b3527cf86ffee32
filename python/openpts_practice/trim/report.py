"""The report of the test of trims."""

from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.response_times import nines_percentile
from openpts.pages import cells, ticks
from openpts.pages.measure import Measure, Measured, Subject
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import OVER_NINES, Curve
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.kit.steps import (
    IOPS,
    IOS,
    MEAN,
    THROUGHPUT,
    HasResponseTimes,
    Metric,
    response_times,
    rows_json,
    values_json,
)
from openpts.procedures.shared.methodology import NO_STEADY_STATE, methodology, state_page
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_block_size, format_capacity, format_duration
from openpts.vocabulary.better import Better
from openpts_practice.trim.pages import beside_page, effect_verdict, promise_verdict, rates_page, trimmed_page
from openpts_practice.trim.results import (
    PERCENTILES,
    Concurrent,
    TrimRun,
    size_name,
    size_of,
    toio_of,
    trim_run,
)

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
        figures=lambda: _figures(found),
        curves=lambda: tuple(_curve(name, beside) for name, beside in found.beside.items()),
    )


def _curve(name: str, beside: Concurrent) -> Curve:
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


_POINT: Final = (
    replace(IOPS, unit="trims/s").measure("per_s", "Trims of {name}", better=Better.HIGHER),
    MEAN.measure("mean", "Trims of {name}, mean response time", decimals=3, on_cover=False),
)
_BESIDE: Final[tuple[Measure[Concurrent], ...]] = (
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
        lambda beside: beside.beside.max_latency_ns,
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
    points, asked = found.by_size, found.asked
    qd = min(asked.qds)
    of_points = [
        measure.of(points.at(size, qd), Subject(f"{size_name(size)} QD {qd}"))
        for size in sorted(asked.sizes_bytes)
        for measure in _POINT
    ]
    of_loads = [
        measure.of(found.beside.get(name), Subject(name.capitalize()))
        for name in ("reads", "writes")
        for measure in _BESIDE
    ]
    return (*of_points, *of_loads)


def _test_rows(found: TrimRun) -> Rows:
    asked = found.asked
    random = format_block_size(asked.random_block_size_bytes)
    sizes = ", ".join(size_name(size) for size in asked.sizes_bytes)
    return stimulus_rows(
        found.run,
        ("Test Stimulus 1", f"SEQ trims of {sizes}"),
        ("TOIO - TC/QD", f"TC {', '.join(map(str, asked.qds))} / QD 1"),
        ("Range", f"up to {format_capacity(asked.range_bytes)}, written before"),
        ("Test Stimulus 2", f"RND {random} R and W, {found.trims_text} beside"),
        ("TOIO - TC/QD", demand_text(asked.tc, asked.qd)),
        ("Load", f"R {asked.read_load_pct:g} %, W {asked.write_load_pct:g} % of the rates alone"),
        ("Duration", f"{format_duration(asked.minute_ns)} each"),
        ("Steady State", NO_STEADY_STATE),
    )


_KEYS: Final = {"size_bytes": size_of, "qd": toio_of}
_TIMES: Final[tuple[Metric[HasResponseTimes], ...]] = (
    IOS,
    replace(IOPS, key="per_s"),
    *response_times(PERCENTILES),
)


def _figures(found: TrimRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    trimmed, trims = found.trimmed, found.trims
    return {
        "points": rows_json(found.points, _KEYS, (THROUGHPUT, *_TIMES)),
        "beside": {
            name: {
                "effect": beside.effect.value,
                "broken": list(beside.broken()),
                "judged_pct": beside.judged_pct,
                "factors": {f"{pct:.10g}": beside.factor(pct) for pct in PERCENTILES},
                **{
                    when: values_json(getattr(beside, when), _TIMES) for when in ("before", "beside", "after")
                },
            }
            for name, beside in found.beside.items()
        },
        "trims_beside": trims and {"size_bytes": size_of(trims[0]), **values_json(trims[1], _TIMES)},
        "trimmed_reads": trimmed
        and {
            "promise": trimmed.promise.value,
            "source": trimmed.source,
            "seen": trimmed.seen,
            "kept": trimmed.kept.value,
            "sectors": trimmed.sectors,
        },
    }

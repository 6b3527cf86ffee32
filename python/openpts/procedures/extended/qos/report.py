"""The report of response times under load."""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, Final

from openpts.pages import cells, ticks
from openpts.pages.kit import PlotName
from openpts.pages.measure import Measure, Measured, Subject
from openpts.pages.model import Cell, Page
from openpts.procedures.extended.qos.conditions import Operation, QosConditions, mix_text
from openpts.procedures.extended.qos.load_columns import PERCENTILES
from openpts.procedures.extended.qos.map_pages import map_pages
from openpts.procedures.extended.qos.pages import (
    curve_page,
    highest_page,
    search_verdicts,
)
from openpts.procedures.extended.qos.points import Point
from openpts.procedures.extended.qos.results import QosRun, Search, qos_run
from openpts.procedures.kit.content import ReportContent
from openpts.procedures.kit.curve import OVER_IOPS, Curve
from openpts.procedures.kit.header import Rows, demand_text, stimulus_rows
from openpts.procedures.shared.methodology import methodology, state_page
from openpts.procedures.shared.tracking.pages import tracking_rounds_page, tracking_sentence
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_block_size, format_duration, in_ms
from openpts.vocabulary.sample import Sample

_TITLE: Final = "Response Times under Load"
_SUBJECT: Final = "Preparation"


def report(run: Run) -> ReportContent:
    """The test's part of a report, from the samples in the record."""
    measured = qos_run(run)
    return ReportContent(
        verdicts=(tracking_sentence(measured.preparation, _SUBJECT), *search_verdicts(measured)),
        measures=_measures(measured),
        sections=methodology(run, _TITLE, _test_rows(measured), lambda: _pages(measured)),
        figures=_figures(measured),
        curves=lambda: tuple(_curves(measured)),
    )


def _pages(measured: QosRun) -> tuple[Page, ...]:
    numbers = count(1)
    name = PlotName("qos-writes", f"Plot X-QOS-{next(numbers)}", "Preparation: Random Writes until Steady")
    return (
        state_page(measured.run, "Purge and Pre-conditioning"),
        tracking_rounds_page(measured.preparation, name, subject=_SUBJECT),
        highest_page(measured),
        *(curve_page(measured, mix, numbers) for mix in measured.mixes),
        *map_pages(measured, numbers),
    )


def _measures(measured: QosRun) -> tuple[Measured, ...]:
    steady = "reached" if measured.preparation.results.steady else "not reached"
    peaks = (
        _PEAK.of(measured.peaks.get(mix), Subject(name, key, steady=steady))
        for mix, name, key in ((100, "reads", "reads"), (0, "writes", "writes"))
    )
    searches = (_HIGHEST.of(search, Subject(search.name, steady=steady)) for search in measured.searches)
    return (*searches, *peaks)


def _highest(search: Search) -> Cell:
    kept, broken = search.bracket.kept, search.bracket.broken
    if kept is None or broken is None:
        return cells.missing(search.absence)
    return cells.number(kept.ios_per_s, 1, note=f"broken at {broken.ios_per_s:,.1f} IOPS")


_HIGHEST: Final = Measure[Search]("highest_load", "Highest load, {name}", "IOPS", _highest)
_PEAK: Final = Measure[Sample]("peak", "Peak of {name}", "IOPS", lambda sample: sample.iops, decimals=1)


def _curves(measured: QosRun) -> Iterator[Curve]:
    """Each percentile of reads and writes over the load of each mix."""
    for mix in measured.mixes:
        for operation in Operation:
            for percentile in PERCENTILES:
                found = [
                    (point.ios_per_s, value_ns / NS_PER_MS)
                    for point in mix.points
                    if (value_ns := point.percentile_ns(operation, percentile)) is not None
                ]
                if found:
                    figure = f"p{percentile:g} of {operation.plural}"
                    yield Curve(
                        f"{mix} {figure}",
                        f"R/W {mix}: {figure} v Load",
                        "Response time (ms) at the load offered",
                        OVER_IOPS,
                        partial(ticks.log_axis, "Response time (ms)"),
                        tuple(found),
                        lambda value_ms: cells.latency(value_ms * NS_PER_MS),
                    )


def _test_rows(measured: QosRun) -> Rows:
    conditions = measured.conditions
    size, loads = format_block_size(conditions.block_size_bytes), conditions.loads_pct
    arrivals = {"poisson": "Poisson", "fixed": "fixed rate"}[conditions.arrivals]
    return stimulus_rows(
        measured.run,
        ("Test Stimulus 1", f"RND {size} R, RND {size} W"),
        ("TOIO - TC/QD", f"{demand_text(conditions.tc, conditions.qd)} each"),
        ("Arrivals", arrivals),
        ("Loads", f"{min(loads):g} to {max(loads):g} % of the peaks"),
        ("Duration", f"{format_duration(conditions.minute_ns)} each"),
        ("Mixes (R/W %)", ", ".join(map(mix_text, conditions.mixes_read_pct))),
        ("Limits", f"{len(conditions.limits)}, see pages"),
        ("Steady State", "reached" if measured.preparation.results.steady else "not reached"),
    )


def _figures(measured: QosRun) -> dict[str, Any]:
    """Key numbers, JSON-ready."""
    conditions = measured.conditions
    return {
        "peaks_iops": {mix_text(mix): sample.iops for mix, sample in measured.peaks.items()},
        "highest_loads": [
            {
                "read_pct": search.mix.read_pct,
                "limit": str(search.limit),
                "kept_iops": _load(search.bracket.kept),
                "broken_iops": _load(search.bracket.broken),
                "reached": search.bracket.is_reached,
                "absence": search.absence or None,
                "doubt": search.doubt(conditions) or None,
            }
            for search in measured.searches
        ],
        "loads": [
            {"read_pct": mix.read_pct, **_of_point(point, conditions)}
            for mix in measured.mixes
            for point in mix.points
        ],
        "map": [
            {"reads_pct": reads_pct, "writes_pct": writes_pct, **_of_point(point, conditions)}
            for (reads_pct, writes_pct), point in measured.pairs.items()
        ],
    }


def _load(point: Point | None) -> float | None:
    return None if point is None else point.ios_per_s


def _of_point(point: Point, conditions: QosConditions) -> dict[str, Any]:
    return {
        "reads_per_s": point.reads_per_s,
        "writes_per_s": point.writes_per_s,
        "done_pct": point.done_pct,
        "carried": point.is_carried(conditions.late_pct),
        "limited_by_host": point.is_limited_by_host,
        **{
            f"{operation}_p{percentile:g}_ms": in_ms(point.percentile_ns(operation, percentile))
            for operation in Operation
            for percentile in PERCENTILES
        },
    }

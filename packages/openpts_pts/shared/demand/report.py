"""The reports of CBW and DIRTH: header fields, figures, the order of the pages (PTS 13.3, 14.3)."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Final

from msgspec.structs import replace

from openpts.analysis.run_comparison import relative_standard_error_pct
from openpts.analysis.uncertainty import SCATTER, budget
from openpts.procedures.kit import header
from openpts.procedures.kit.content import OVER_IOPS, Curve, ReportContent
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, THROUGHPUT, Metric, values_json
from openpts.record.reader import Run
from openpts.units import NS_PER_MS, format_duration
from openpts.vocabulary.uncertainty import Component, Uncertainty
from openpts_pages import cells, ticks
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Page
from openpts_pts.shared.demand.access_pattern_page import access_pattern_page
from openpts_pts.shared.demand.findings import distributions
from openpts_pts.shared.demand.histogram_pages import histograms
from openpts_pts.shared.demand.pages import DemandRun, Names
from openpts_pts.shared.demand.results import DemandResults, PointResults
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.tracking import ROUND_WORD
from openpts_pts.shared.window_results import WindowResults

_NOISE: Final = 1.5
_MEASURED: Final = (IOPS, replace(THROUGHPUT, key="bandwidth_bytes_per_s", per=1), ART, MRT, CPU_SYS)


def _steady_state(results: WindowResults) -> dict[str, Any]:
    window, verdict = results.window.rounds, results.verdict
    return {
        "reached": results.steady,
        "round": window[-1] if results.steady else None,
        "window": list(window),
        "average_iops": None if verdict is None else verdict.average,
        "range_pct": None if verdict is None else verdict.range_pct,
        "slope_excursion_pct": None if verdict is None else verdict.slope_excursion_pct,
    }


def _point(result: PointResults, *metrics: Metric[PointResults]) -> dict[str, Any]:
    return {"tc": result.point.tc, "qd": result.point.qd, **values_json(result, metrics)}


def demand_figures(demand: DemandRun) -> dict[str, Any]:
    """Rounds, steady state, operating points, histograms, shares, JSON-ready; latencies in ms."""
    results, tracked, chosen = demand.results, demand.preconditioning.results, demand.results.chosen
    others = demand.preconditioning.others
    return {
        "complete_rounds": len(results.rounds),
        "preconditioning": {
            "tracking_rounds": len(tracked.minutes),
            "steady_state": {**_steady_state(tracked), "other_minutes": others and others.figures},
            "iops": list(tracked.iops),
        },
        "steady_state": _steady_state(results),
        "operating_points": [_point(result, *_MEASURED) for result in results.results.values()],
        "chosen_points": None
        if chosen is None
        else {
            "below_art_limit": chosen.below_art_limit,
            "max": _point(chosen.maximum, IOPS, ART),
            "min": _point(chosen.minimum, IOPS, ART),
            "mid": [_point(middle, IOPS, ART) for middle in chosen.middles],
            "mid_targets_iops": list(chosen.mid_targets_iops),
        },
        "knee_toio": results.knee_toio(),
        "histograms": [figures for one in histograms(demand) if (figures := one.figures()) is not None],
        "distributions": _distributions(demand),
    }


def _distributions(demand: DemandRun) -> dict[str, Any] | None:
    """How many distributions were checked, how many are off; None where there is nothing to check."""
    checked = [shares for _, shares in distributions(demand.run)]
    if not checked:
        return None
    p_values = [shares.p_value for shares in checked if shares.p_value is not None]
    return {
        "checked": len(checked),
        "off": sum(not shares.hold for shares in checked),
        "farthest_standard_errors": max(abs(shares.errors[shares.worst]) for shares in checked),
        "least_p_value": min(p_values, default=None),
    }


_MEASURES: Final[tuple[Measure[PointResults], ...]] = (
    IOPS.measure("iops", "{name}", decimals=0),
    ART.measure("art", "ART at {name}"),
)


def demand_report(run: Run, names: Names, title: Callable[[DemandRun], str]) -> ReportContent:
    """The part of a report that is CBW's or DIRTH's, from the samples in the record."""
    demand = DemandRun.of(run, names)
    conditions, points = demand.conditions, demand.results.results.values()
    between = demand.preconditioning.between
    sizes_bytes = [size.block_size_bytes for size in conditions.workload.block_sizes]
    curve = Curve(
        "demand",
        "Demand Intensity: ART v IOPS of all TC/QD",
        "ART (ms) of each operating point at its IOPS",
        OVER_IOPS,
        partial(ticks.log_axis, "ART (ms)"),
        tuple((one.iops, one.mean_latency_ns) for one in points if one.iops and one.mean_latency_ns),
        cells.latency,
        dots=True,
    )
    return ReportContent(
        verdicts=(demand.preconditioning.sentence, *between, demand.steady_state(), demand.choice()),
        measures=tuple(_measures(demand)),
        sections=header.sections_of(
            run,
            header.TestSection(
                test=names.prefix,
                title=f"{names.test} Test",
                bar=names.bar,
                heading=title(demand),
                setup=_setup_rows(demand),
                test_rows=_test_rows(demand),
                red_lines=tuple(_red_lines(demand)),
                pages=lambda: with_transfer_size(_pages(demand), sizes_bytes),
            ),
        ),
        figures=lambda: demand_figures(demand),
        conditions=lambda: between,
        curves=lambda: (curve,),
    )


def _pages(demand: DemandRun) -> Iterator[Page]:
    """The plots in the order of the table, and what openpts adds behind them."""
    yield demand.preparation()
    yield demand.preconditioning_course()
    yield demand.preconditioning_window()
    yield demand.prewrites()
    yield demand.variation()
    yield demand.variation_window()
    yield demand.iops()
    yield demand.intensity()
    yield demand.cpu()
    for histogram in histograms(demand):
        yield histogram.prewrites()
        yield histogram.page()
    yield demand.over_toio()
    yield demand.bandwidth_over_toio()
    yield demand.points()
    names = demand.names
    pattern = access_pattern_page(demand.run, f"{names.prefix}-pattern", f"{names.test} Access Pattern Check")
    if pattern is not None:
        yield pattern


def _measures(demand: DemandRun) -> Iterator[Measured]:
    """The operating points with their response times; of them the maximum is a key value."""
    results, chosen, steady = demand.results, demand.results.chosen, demand.results.state()
    if chosen is None:
        iops, art = measured(_MEASURES, None, Subject("MaxIOPS", "max", steady=steady))
        yield from (iops, replace(art, on_cover=False))
        return
    preconditioning = demand.preconditioning.results.not_steady
    states = (f"pre-conditioning: {preconditioning}" if preconditioning else "", results.not_steady)
    state = "; ".join(filter(None, states))
    keys = ("max", "min", *(f"mid{number}" for number in range(1, len(chosen.middles) + 1)))
    doubts = {} if chosen.below_art_limit else {"max": "ART not below its limit"}
    alike = points_alike(results)
    limit_ms = demand.conditions.art_limit_ns / NS_PER_MS
    most = "the most with a mean" if chosen.below_art_limit else "no point has a mean"
    limit, shown = f"{most} below {limit_ms:g} ms", set[str]()
    for key, (name, result) in zip(keys, chosen.named, strict=True):
        point, toio = str(result.point), result.point.toio
        at_once = "one at a time" if toio == 1 else f"{toio:,} at once"
        subject = Subject(name, key, point, doubts.get(key, ""), state, steady)
        for one in measured(_MEASURES, result, subject):
            uncertainty = _of_choice(one, alike) if key == "max" else one.uncertainty
            if one.unit != "IOPS":  # it is in the label of the card of the same point
                yield replace(one, is_key=key == "max", on_cover=False, uncertainty=uncertainty)
                continue
            mean = ART.cell(result)
            label = f"{name} at {point}" if mean.value is None else f"{name} at {mean.text} ms, {point}"
            yield replace(
                one,
                is_key=key == "max",
                on_cover=point not in shown,
                cover_label=label,
                explanation=", ".join(filter(None, (at_once, limit if key == "max" else ""))),
                uncertainty=uncertainty,
            )
            shown.add(point)


def points_alike(results: DemandResults) -> list[PointResults]:
    """The MaxIOPS point with those that missed the IOPS that decide by noise alone; empty without one.

    It is alone where the choice is clear. The noise is one and a half standard errors: of points that are
    equal more would count many that never stood a chance.
    """
    chosen = results.chosen
    if chosen is None:
        return []
    maximum = chosen.maximum
    if not chosen.below_art_limit or len(maximum.samples) < 2:
        return [maximum]
    limit_iops = chosen.highest_iops * (1 - results.conditions.plateau_pct / 100)

    def reach(one: PointResults) -> float:
        return _NOISE * math.hypot(*(each.iops * _relative_error(each) for each in (one, maximum)))

    eligible = (
        one
        for one in results.results.values()
        if one.mean_latency_ns is not None and one.mean_latency_ns < results.conditions.art_limit_ns
    )
    missed = [one for one in eligible if 0 < limit_iops - one.iops <= reach(one)]
    is_clear = maximum.iops - limit_iops > reach(maximum)
    if is_clear and not any(one.point.toio <= maximum.point.toio for one in missed):
        return [maximum]
    return [maximum, *missed]


def _relative_error(point: PointResults) -> float:
    return (relative_standard_error_pct(point.iops_by_round) or 0.0) / 100


def _of_choice(one: Measured, alike: Sequence[PointResults]) -> Uncertainty | None:
    """Of points that can't be distinguished the scatter is one, and the one chosen is too high by choice."""
    if len(alike) < 2 or one.value is None:
        return one.uncertainty
    error = math.sqrt(fmean(_relative_error(point) ** 2 for point in alike))
    degrees = sum(len(point.samples) - 1 for point in alike)
    spans = () if one.uncertainty is None else one.uncertainty.spans
    return budget([Component(SCATTER, one.value * error, degrees)], len(alike), spans)


def _red_lines(demand: DemandRun) -> Iterator[str]:
    tracked, chosen = demand.preconditioning.results, demand.results.chosen
    if not tracked.steady:
        begun = f"{tracked.reason(ROUND_WORD)} completed"
        if tracked.window.is_full:
            begun = f"after {len(tracked.minutes)} Tracking Rounds"
        yield f"PRE-CONDITIONING NOT STEADY - {begun}"
    yield from demand.results.red_lines
    if chosen is not None and not chosen.below_art_limit:
        limit_ms = demand.conditions.art_limit_ns / NS_PER_MS
        yield f"NO OPERATING POINT WITH AN AVERAGE RESPONSE TIME BELOW {limit_ms:g} ms"


def _setup_rows(demand: DemandRun) -> header.Rows:
    """Set-up parameters in the variant of CBW and DIRTH (Plot 14-2)."""
    conditions, passes = demand.conditions, demand.conditions.precondition_passes
    writes = demand.pattern(0).rsplit(" ", 1)[0]
    at = header.demand_text(conditions.precondition_tc, conditions.precondition_qd)
    longest = format_duration(conditions.prewrite_longest_ns)
    return (
        ("Data Pattern", header.data_text(conditions)),
        ("AR", header.active_range_text(conditions)),
        ("Pre Condition 1", f"{passes:g} x SEQ 128 KiB W, then {writes}" if passes else writes),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", at),
        ("SS Rounds", demand.preconditioning.results.judged_rounds),
        ("Pre Condition 2", "Inter Rnd Pre Write"),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", at),
        ("Duration", f"{longest} or {conditions.prewrite_capacity_pct:g} % Cap."),
    )


def _test_rows(demand: DemandRun) -> header.Rows:
    """Test parameters in the variant of CBW and DIRTH (Plot 14-2)."""
    conditions, chosen = demand.conditions, demand.results.chosen
    stimulus, mix = demand.pattern().rsplit(" ", 1)
    least = middles = most = "n/a (no Round was completed)"
    if chosen is not None:
        least, most = str(chosen.minimum.point), str(chosen.maximum.point)
        middles = ", ".join(str(middle.point) for middle in chosen.middles) or "none between"
    tcs, qds = conditions.tcs, conditions.qds
    return (
        ("Data Pattern", header.data_text(conditions)),
        ("AR", header.active_range_text(conditions)),
        ("Test Stimulus 1", stimulus),
        ("R/W %", mix),
        ("TC / QD", f"TC {min(tcs)}-{max(tcs)}, QD {min(qds)}-{max(qds)}"),
        ("TC & QD Loops", "High to Low TOIO"),
        ("Min IOPS Point", least),
        ("Mid IOPS Point", middles),
        ("Max IOPS Point", most),
        ("Steady State", demand.results.steady_rounds),
    )

"""The reports of CBW and DIRTH: header fields, pages, order (PTS 13.3, 14.3)."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import fmean
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from openpts.analysis.latency import response_times
from openpts.analysis.run_comparison import relative_standard_error_pct
from openpts.analysis.uncertainty import SCATTER, budget
from openpts.procedures.kit.content import OVER_IOPS, Curve, ReportContent
from openpts.procedures.kit.header import (
    Rows,
    TestSection,
    active_range_text,
    data_text,
    demand_text,
    sections_of,
)
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, THROUGHPUT, Metric, percentile, values_json
from openpts.record.reader import Run
from openpts.units import block_size_kib, format_duration
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.uncertainty import Component, Uncertainty
from openpts.vocabulary.verdict import SteadyStateReport
from openpts_pages import cells, ticks
from openpts_pages.measure import Measure, Measured, Subject, measured
from openpts_pages.model import Page, Verdict
from openpts_pts.shared.demand.access_pattern_page import access_pattern_page
from openpts_pts.shared.demand.distribution import period_shares
from openpts_pts.shared.demand.pages import (
    DemandRun,
    Names,
    choice_sentence,
    demand_pages,
    demand_run,
    points_page,
    steady_state_sentence,
    toio_pages,
)
from openpts_pts.shared.demand.results import DemandResults, PointResults
from openpts_pts.shared.demand.rounds_pages import (
    Histogram,
    histogram_page,
    histogram_prewrite_page,
    histograms,
    measured_histogram,
    prewrites_page,
    variation_page,
    variation_window_page,
)
from openpts_pts.shared.minutes_table import with_transfer_size
from openpts_pts.shared.preparation_page import preparation_page, wipc_table
from openpts_pts.shared.rounds.words import not_steady, red_lines, steady_rounds, summary_state
from openpts_pts.shared.tracking.pages import (
    between_verdicts,
    other_minutes_figures,
    tracking_rounds_page,
    tracking_sentence,
    tracking_time_page,
    tracking_window_page,
)

_NOISE: Final = 1.5
_MEASURED: Final = (IOPS, replace(THROUGHPUT, key="bandwidth_bytes_per_s", per=1), ART, MRT, CPU_SYS)


def demand_figures(demand: DemandRun) -> dict[str, Any]:
    """Rounds, steady state, operating points, histograms, shares, JSON-ready; latencies in ms."""
    results, tracked = demand.results, demand.preconditioning.results
    return {
        "complete_rounds": len(results.rounds),
        "preconditioning": {
            "tracking_rounds": len(tracked.minutes),
            "steady_state": {
                **_steady_state(tracked.steady, tracked.window.rounds, tracked.verdict),
                "other_minutes": other_minutes_figures(demand.preconditioning.others),
            },
            "iops": list(tracked.iops),
        },
        "steady_state": _steady_state(results.steady, results.window.rounds, results.verdict),
        "operating_points": [_point(result, *_MEASURED) for result in results.results.values()],
        "chosen_points": _chosen(demand),
        "knee_toio": results.knee_toio(),
        "histograms": [
            figures for one in histograms(demand) if (figures := _histogram(demand, one)) is not None
        ],
        "distributions": _distributions(demand),
    }


def _steady_state(steady: bool, window: tuple[int, ...], verdict: SteadyStateReport | None) -> dict[str, Any]:
    return {
        "reached": steady,
        "round": window[-1] if steady else None,
        "window": list(window),
        "average_iops": None if verdict is None else verdict.average,
        "range_pct": None if verdict is None else verdict.range_pct,
        "slope_excursion_pct": None if verdict is None else verdict.slope_excursion_pct,
    }


def _point(result: PointResults, *metrics: Metric[PointResults]) -> dict[str, Any]:
    return {"tc": result.point.tc, "qd": result.point.qd, **values_json(result, metrics)}


def _chosen(demand: DemandRun) -> dict[str, Any] | None:
    chosen = demand.results.chosen
    if chosen is None:
        return None
    return {
        "below_art_limit": chosen.below_art_limit,
        "max": _point(chosen.maximum, IOPS, ART),
        "min": _point(chosen.minimum, IOPS, ART),
        "mid": [_point(middle, IOPS, ART) for middle in chosen.middles],
        "mid_targets_iops": list(chosen.mid_targets_iops),
    }


def _histogram(demand: DemandRun, histogram: Histogram) -> dict[str, Any] | None:
    step = measured_histogram(demand, histogram.number)
    if step is None or step.sample.step.stimulus is None:
        return None
    times = response_times([step.sample])
    return {
        "point": histogram.role,
        "tc": step.sample.step.stimulus.tc,
        "qd": step.sample.step.stimulus.qd,
        "iops": times.iops,
        "ios": times.ios,
        "recorded_ios": times.recorded_ios,
        **values_json(times, (ART, *map(percentile, (99.9, 99.99, 99.999)), MRT)),
    }


def _distributions(demand: DemandRun) -> dict[str, Any] | None:
    """How many distributions were checked, how many are off; None where there is nothing to check."""
    scale = demand.run.manifest.target.scale
    checked = [
        shares
        for step in demand.run.steps
        if step.sample.state is StepState.COMPLETE
        for shares in period_shares(step.sample, scale).checked
    ]
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
    IOPS.measure("iops", "{name}", decimals=0, cover_label="{name} at {point}"),
    ART.measure("art", "ART at {name}", words="mean response time there"),
)


def demand_report(run: Run, names: Names, title: Callable[[DemandRun], str]) -> ReportContent:
    """The part of a report that is CBW's or DIRTH's, from the samples in the record."""
    demand = demand_run(run, names)
    return _content(demand, title(demand))


def _content(demand: DemandRun, title: str) -> ReportContent:
    return ReportContent(
        verdicts=(
            tracking_sentence(demand.preconditioning),
            *between_verdicts(demand.preconditioning),
            steady_state_sentence(demand),
            choice_sentence(demand),
        ),
        measures=_measures(demand),
        sections=sections_of(
            demand.run,
            TestSection(
                test=demand.names.prefix,
                title=f"{demand.names.test} Test",
                bar=demand.names.bar,
                heading=title,
                setup=_setup_rows(demand),
                test_rows=_test_rows(demand),
                red_lines=_red_lines(demand),
                pages=lambda: with_transfer_size(
                    tuple(_pages(demand)),
                    (size.block_size_bytes for size in demand.conditions.workload.block_sizes),
                ),
            ),
        ),
        figures=lambda: demand_figures(demand),
        conditions=lambda: between_verdicts(demand.preconditioning),
        curves=lambda: (_demand_curve(demand.results.results.values()),),
    )


def _demand_curve(results: Iterable[PointResults]) -> Curve:
    """Each operating point that was measured."""
    return Curve(
        "demand",
        "Demand Intensity: ART v IOPS of all TC/QD",
        "ART (ms) of each operating point at its IOPS",
        OVER_IOPS,
        partial(ticks.log_axis, "ART (ms)"),
        tuple((one.iops, one.mean_latency_ns) for one in results if one.iops and one.mean_latency_ns),
        cells.latency,
        dots=True,
    )


def _measures(demand: DemandRun) -> tuple[Measured, ...]:
    """The operating points with their response times; of them the maximum is a key value."""
    chosen, steady, state = demand.results.chosen, summary_state(demand.results), _state(demand)
    if chosen is None:
        iops, art = measured(_MEASURES, None, Subject("MaxIOPS", "max", steady=steady))
        return replace(iops, cover_label=iops.label), replace(art, on_cover=False)
    keys = ("max", "min", *(f"mid{number}" for number in range(1, len(chosen.middles) + 1)))
    doubt = "" if chosen.below_art_limit else "ART not below its limit"
    alike = points_alike(demand.results)
    return tuple(
        replace(
            one,
            is_key=key == "max",
            words=one.words or _at_once(point.point.toio),
            uncertainty=_of_choice(one, alike) if key == "max" else one.uncertainty,
        )
        for key, (name, point) in zip(keys, chosen.named, strict=True)
        for one in measured(
            _MEASURES,
            point,
            Subject(name, key, str(point.point), doubt if key == "max" else "", state, steady),
        )
    )


def _at_once(toio: int) -> str:
    return "one at a time" if toio == 1 else f"{toio:,} at once"


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


def _state(demand: DemandRun) -> str:
    """The parts that did not reach steady state: preconditioning, rounds."""
    preconditioning = not_steady(demand.preconditioning.results)
    words = (f"pre-conditioning: {preconditioning}" if preconditioning else "", not_steady(demand.results))
    return "; ".join(word for word in words if word)


def _red_lines(demand: DemandRun) -> tuple[str, ...]:
    results, tracked, lines = demand.results, demand.preconditioning.results, []
    if not tracked.steady:
        reached = (
            f"after {len(tracked.minutes)} Tracking Rounds"
            if tracked.window.is_full
            else f"{demand.preconditioning.reason} completed"
        )
        lines.append(f"PRE-CONDITIONING NOT STEADY - {reached}")
    lines += red_lines(results)
    if results.chosen is not None and not results.chosen.below_art_limit:
        limit_ms = demand.conditions.art_limit_ns / 1e6
        lines.append(f"NO OPERATING POINT WITH AN AVERAGE RESPONSE TIME BELOW {limit_ms:g} ms")
    return tuple(lines)


def _setup_rows(demand: DemandRun) -> Rows:
    """Set-up parameters in the variant of CBW and DIRTH (Plot 14-2)."""
    conditions = demand.conditions
    tracked = demand.preconditioning.results
    writes = demand.writes.rsplit(" ", 1)[0]
    wipc = (
        f"{conditions.precondition_passes:g} x SEQ 128 KiB W, then " if conditions.precondition_passes else ""
    )
    at = demand_text(conditions.precondition_tc, conditions.precondition_qd)
    longest = format_duration(conditions.prewrite_longest_ns)
    steady = tracked.window.label if tracked.steady else f"{tracked.window.label}, not steady"
    return (
        ("Data Pattern", data_text(conditions)),
        ("AR", active_range_text(conditions)),
        ("Pre Condition 1", f"{wipc}{writes}"),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", at),
        ("SS Rounds", steady),
        ("Pre Condition 2", "Inter Rnd Pre Write"),
        ("R/W %", "0/100"),
        ("TOIO - TC/QD", at),
        ("Duration", f"{longest} or {conditions.prewrite_capacity_pct:g} % Cap."),
    )


def _test_rows(demand: DemandRun) -> Rows:
    """Test parameters in the variant of CBW and DIRTH (Plot 14-2)."""
    conditions, results = demand.conditions, demand.results
    chosen = results.chosen
    stimulus, mix = demand.pattern.rsplit(" ", 1)
    not_known = "n/a (no Round was completed)"
    middles = ", ".join(str(middle.point) for middle in chosen.middles) if chosen else not_known
    tcs, qds = conditions.tcs, conditions.qds
    return (
        ("Data Pattern", data_text(conditions)),
        ("AR", active_range_text(conditions)),
        ("Test Stimulus 1", stimulus),
        ("R/W %", mix),
        ("TC / QD", f"TC {min(tcs)}-{max(tcs)}, QD {min(qds)}-{max(qds)}"),
        ("TC & QD Loops", "High to Low TOIO"),
        ("Min IOPS Point", str(chosen.minimum.point) if chosen else not_known),
        ("Mid IOPS Point", middles or "none between"),
        ("Max IOPS Point", str(chosen.maximum.point) if chosen else not_known),
        ("Steady State", steady_rounds(results)),
    )


def _pages(demand: DemandRun) -> tuple[Page, ...]:
    """The plots in the order of the table, and what openpts adds behind them."""
    prefix = demand.names.prefix
    pattern = access_pattern_page(
        demand.run, f"{prefix}-pattern", f"{demand.names.test} Access Pattern Check"
    )
    return (
        _preparation_page(demand),
        _preconditioning_page(demand),
        _preconditioning_window_page(demand),
        prewrites_page(demand),
        variation_page(demand),
        variation_window_page(demand, _record(demand)),
        *demand_pages(demand),
        *(
            page
            for histogram in histograms(demand)
            for page in (histogram_prewrite_page(demand, histogram), histogram_page(demand, histogram))
        ),
        *toio_pages(demand),
        points_page(demand),
        *((pattern,) if pattern else ()),
    )


def _preparation_page(demand: DemandRun) -> Page:
    """The purge report."""
    page_id, run = f"{demand.names.prefix}-preparation", demand.run
    return preparation_page(
        run,
        page_id,
        f"{demand.names.test} Purge Report and Pre-conditioning Report",
        *((wipc_table(run, page_id),) if run.phase(Phase.WIPC) else ()),
        tracking_sentence(demand.preconditioning),
    )


def _preconditioning_page(demand: DemandRun) -> Page:
    """Plot 1: over tracking rounds for CBW, over time for DIRTH."""
    conditions = demand.conditions
    point = f"TC{conditions.precondition_tc}-QD{conditions.precondition_qd}"
    if demand.names.over_rounds:
        lead = f"P1 WDPC {demand.writes} {point} - IOPS vs Tracking Round"
        return tracking_rounds_page(demand.preconditioning, demand.names.plot(1), lead=lead)
    lead = f"P1 WDPC {demand.writes} {point} - IOPS vs Time"
    return tracking_time_page(demand.preconditioning, demand.names.plot(1), lead=lead)


def _preconditioning_window_page(demand: DemandRun) -> Page:
    """Plot 2: the window in which preconditioning came to steady state."""
    conditions = demand.conditions
    point = f"TC{conditions.precondition_tc}-QD{conditions.precondition_qd}"
    lead = Verdict(f"P2 WDPC {demand.writes} {point} - steady state of the pre-conditioning")
    page = tracking_window_page(demand.preconditioning, demand.names.plot(2), _record(demand))
    return msgspec.structs.replace(page, blocks=(lead, *page.blocks))


def _record(demand: DemandRun) -> str:
    conditions = demand.conditions
    covered = conditions.active_range
    skipped = conditions.skipped_block_sizes_bytes
    left_out = (
        f"; not possible on this device: {', '.join(block_size_kib(size) for size in skipped)} KiB"
        if skipped
        else ""
    )
    return (
        f"ActiveRange = ({covered.start_pct:g},{covered.end_pct:g}); Data Pattern = {data_text(conditions)}; "
        f"Access Pattern = {demand.pattern}{left_out}."
    )

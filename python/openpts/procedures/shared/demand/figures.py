"""The figures of CBW and DIRTH for machines: what ``--json`` prints."""

from dataclasses import replace
from typing import Any, Final

from openpts.analysis.distribution import period_shares
from openpts.analysis.response_times import response_times
from openpts.procedures.kit.steps import ART, CPU_SYS, IOPS, MRT, THROUGHPUT, Metric, percentile, values_json
from openpts.procedures.shared.demand.histogram_pages import Histogram, histograms, measured_histogram
from openpts.procedures.shared.demand.results import PointResults
from openpts.procedures.shared.demand.words import DemandRun
from openpts.procedures.shared.tracking.other_minutes_words import other_minutes_figures
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.verdict import SteadyStateReport

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

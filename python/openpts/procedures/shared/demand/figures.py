"""The figures of CBW and DIRTH for machines: what ``--json`` prints."""

from typing import Any

from openpts.analysis.distribution import period_shares
from openpts.analysis.response_times import response_times
from openpts.procedures.shared.demand.histogram_pages import Histogram, histograms, measured_histogram
from openpts.procedures.shared.demand.operating_points import MeasuredPoint
from openpts.procedures.shared.demand.results import PointResults
from openpts.procedures.shared.demand.words import DemandRun
from openpts.procedures.shared.tracking.other_minutes_words import other_minutes_figures
from openpts.units import in_ms
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.verdict import SteadyStateReport


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
        "operating_points": [_point(result) for result in results.results.values()],
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


def _point(result: PointResults) -> dict[str, Any]:
    return {
        "tc": result.point.tc,
        "qd": result.point.qd,
        "iops": result.iops,
        "bandwidth_bytes_per_s": result.bandwidth_bytes_per_s,
        "art_ms": in_ms(result.art_ns),
        "mrt_ms": in_ms(result.mrt_ns),
        "cpu_sys_pct": result.cpu_sys_pct,
    }


def _chosen(demand: DemandRun) -> dict[str, Any] | None:
    chosen = demand.results.chosen
    if chosen is None:
        return None
    return {
        "below_art_limit": chosen.below_art_limit,
        "max": _measured(chosen.maximum),
        "min": _measured(chosen.minimum),
        "mid": [_measured(middle) for middle in chosen.middles],
        "mid_targets_iops": list(chosen.mid_targets_iops),
    }


def _measured(measured: MeasuredPoint) -> dict[str, Any]:
    return {
        "tc": measured.point.tc,
        "qd": measured.point.qd,
        "iops": measured.iops,
        "art_ms": in_ms(measured.art_ns),
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
        "art_ms": in_ms(times.mean_latency_ns),
        "p99_9_ms": in_ms(times.percentile_ns(99.9)),
        "p99_99_ms": in_ms(times.percentile_ns(99.99)),
        "p99_999_ms": in_ms(times.percentile_ns(99.999)),
        "mrt_ms": in_ms(times.max_latency_ns),
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

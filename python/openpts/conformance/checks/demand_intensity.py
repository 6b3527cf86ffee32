"""DIRTH against section 14: one size and mix of choice, and the procedure that it shares with CBW."""

from typing import Final

from openpts.conformance.checks import demand as d
from openpts.conformance.checks import demand_histograms as h
from openpts.conformance.checks.check import Checks
from openpts.conformance.checks.composite import full_range
from openpts.conformance.checks.sequence import purge_first
from openpts.conformance.checks.settings import random_data
from openpts.conformance.checks.tracking import logged_every_minute, preconditioned, tracked_minutes
from openpts.conformance.evidence import Evidence
from openpts.conformance.finding import Finding, all_of, met, not_applicable
from openpts.vocabulary.conditions import DemandConditions
from openpts.vocabulary.part import Part


def _one_size_one_mix(evidence: Evidence) -> Finding:
    workload = evidence.conditions(DemandConditions).workload
    if workload.random_pct == 100 and len(workload.block_sizes) == 1:
        return met(workload.title)
    return not_applicable(f"another workload, as 14.1 (7) allows: {workload.title}")


def _any_workload(evidence: Evidence) -> Finding:
    workload = evidence.conditions(DemandConditions).workload
    if workload.random_pct == 100 and len(workload.block_sizes) == 1:
        return not_applicable(f"one block size and one mix: {workload.title}")
    return met(workload.title)


CHECKS: Final[Checks] = {
    "PTS-DIRTH-01": full_range,
    "PTS-DIRTH-02": _one_size_one_mix,
    "PTS-DIRTH-03": _any_workload,
    "PTS-DIRTH-04": purge_first,
    "PTS-DIRTH-05": d.all_writes(Part.WDPC),
    "PTS-DIRTH-06": d.cache_off,
    "PTS-DIRTH-07": d.precondition_demand(Part.WDPC),
    "PTS-DIRTH-08": random_data(Part.WDPC),
    "PTS-DIRTH-09": logged_every_minute(Part.WDPC),
    "PTS-DIRTH-10": lambda e: all_of([tracked_minutes(e), preconditioned(e)]),
    "PTS-DIRTH-11": d.cache_off,
    "PTS-DIRTH-12": d.demands("tc"),
    "PTS-DIRTH-13": d.demands("qd"),
    "PTS-DIRTH-14": d.round_prewrite,
    "PTS-DIRTH-15": lambda e: all_of(
        [logged_every_minute(Part.ROUND_PREWRITE)(e), d.has_cpu(Part.ROUND_PREWRITE)(e)]
    ),
    "PTS-DIRTH-16": d.operating_points,
    "PTS-DIRTH-17": d.ties,
    "PTS-DIRTH-18": d.has_cpu(Part.ROUND),
    "PTS-DIRTH-19": d.until_steady,
    "PTS-DIRTH-20": d.window_used,
    "PTS-DIRTH-22": d.has_cpu(Part.ROUND),
    "PTS-DIRTH-23": h.measured_maximum,
    "PTS-DIRTH-24": h.maximum_is_highest,
    "PTS-DIRTH-25": h.maximum_below_limit,
    "PTS-DIRTH-26": h.minimum,
    "PTS-DIRTH-27": h.middles,
    "PTS-DIRTH-28": h.maximum_at_lowest_toio,
    "PTS-DIRTH-29": h.prewrites,
    "PTS-DIRTH-30": h.histograms(None),
    "PTS-DIRTH-31": h.reaches_maximum,
    "PTS-DIRTH-32": h.minimum,
    "PTS-DIRTH-33": h.nearest_to_the_middle,
    "PTS-DIRTH-34": h.order,
    "PTS-DIRTH-43": d.has_cpu(Part.ROUND),
    "PTS-DIRTH-52": d.optional_wipc,
}
ORDER: Final = d.ties

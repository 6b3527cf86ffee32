"""The eight tests, in the order of the specification: what a runner, a plan or a report index asks for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from openpts.pts import (
    composite,
    cross_stimulus,
    demand_intensity,
    demand_variation,
    idle_recovery,
    iops,
    latency,
    throughput,
    write_saturation,
)
from openpts.pts.standard import Rule, without_impossible_sizes
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.requests import Script


@dataclass(frozen=True, slots=True)
class PtsTest:
    """One test: its standard conditions, its script, and the rules of its ledger.

    ``script`` takes conditions of the kind that ``standard_conditions`` makes, and the user capacity in
    bytes; typed loosely, since each test has its own. ``possible_on`` leaves out what a device with sectors
    of so many bytes can't do.
    """

    name: str
    title: str
    section: int
    standard_conditions: Callable[[Profile, int], TestConditions]
    script: Callable[[Any, int], Script]
    rules: Sequence[Rule]
    possible_on: Callable[[Any, int], Any] = lambda conditions, _sector_bytes: conditions


TESTS: Final[Mapping[str, PtsTest]] = {
    test.name: test
    for test in (
        PtsTest(
            "iops", "IOPS", 7, iops.standard_conditions, iops.iops_test, iops.RULES, without_impossible_sizes
        ),
        PtsTest(
            "tp",
            "Throughput",
            8,
            throughput.standard_conditions,
            throughput.throughput_test,
            throughput.RULES,
            without_impossible_sizes,
        ),
        PtsTest(
            "lat",
            "Latency",
            9,
            latency.standard_conditions,
            latency.latency_test,
            latency.RULES,
            without_impossible_sizes,
        ),
        PtsTest(
            "wsat",
            "Write Saturation",
            10,
            write_saturation.standard_conditions,
            write_saturation.write_saturation_test,
            write_saturation.RULES,
            write_saturation.possible_on,
        ),
        PtsTest(
            "hir",
            "Host Idle Recovery",
            11,
            idle_recovery.standard_conditions,
            idle_recovery.idle_recovery_test,
            idle_recovery.RULES,
        ),
        PtsTest(
            "xsr",
            "Cross Stimulus Recovery",
            12,
            cross_stimulus.standard_conditions,
            cross_stimulus.cross_stimulus_test,
            cross_stimulus.RULES,
        ),
        PtsTest(
            "cbw",
            "Composite Block Size Workload",
            13,
            composite.standard_conditions,
            demand_variation.demand_test,
            composite.RULES,
            demand_variation.possible_on,
        ),
        PtsTest(
            "dirth",
            "Demand Intensity / Response Time Histogram",
            14,
            demand_intensity.standard_conditions,
            demand_variation.demand_test,
            demand_intensity.RULES,
            demand_variation.possible_on,
        ),
    )
}

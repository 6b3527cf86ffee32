"""The eight tests, in the order of the specification: what a runner, a plan or a report index asks for."""

from collections.abc import Mapping
from typing import Final

from openpts.procedures.kit.ledger import without_impossible_sizes
from openpts.procedures.kit.procedure import TestDefinition
from openpts.procedures.pts.cbw import script as composite
from openpts.procedures.pts.dirth import script as demand_intensity
from openpts.procedures.pts.hir import script as idle_recovery
from openpts.procedures.pts.iops import script as iops
from openpts.procedures.pts.lat import script as latency
from openpts.procedures.pts.tp import script as throughput
from openpts.procedures.pts.wsat import script as write_saturation
from openpts.procedures.pts.xsr import script as cross_stimulus
from openpts.procedures.shared.demand import script as demand_variation

TESTS: Final[Mapping[str, TestDefinition]] = {
    test.name: test
    for test in (
        TestDefinition(
            "iops", "IOPS", 7, iops.standard_conditions, iops.iops_test, iops.RULES, without_impossible_sizes
        ),
        TestDefinition(
            "tp",
            "Throughput",
            8,
            throughput.standard_conditions,
            throughput.throughput_test,
            throughput.RULES,
            without_impossible_sizes,
        ),
        TestDefinition(
            "lat",
            "Latency",
            9,
            latency.standard_conditions,
            latency.latency_test,
            latency.RULES,
            without_impossible_sizes,
        ),
        TestDefinition(
            "wsat",
            "Write Saturation",
            10,
            write_saturation.standard_conditions,
            write_saturation.write_saturation_test,
            write_saturation.RULES,
            write_saturation.possible_on,
        ),
        TestDefinition(
            "hir",
            "Host Idle Recovery",
            11,
            idle_recovery.standard_conditions,
            idle_recovery.idle_recovery_test,
            idle_recovery.RULES,
        ),
        TestDefinition(
            "xsr",
            "Cross Stimulus Recovery",
            12,
            cross_stimulus.standard_conditions,
            cross_stimulus.cross_stimulus_test,
            cross_stimulus.RULES,
        ),
        TestDefinition(
            "cbw",
            "Composite Block Size Workload",
            13,
            composite.standard_conditions,
            demand_variation.demand_test,
            composite.RULES,
            demand_variation.possible_on,
        ),
        TestDefinition(
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

"""Demand intensity and response time histogram test (DIRTH).

Purpose
    How IOPS and response times of one access pattern change from super-saturating demand down to a single
    I/O.
Clause
    PTS 2.0.1 section 14; enterprise and client alike, as the text has it: volatile write cache disabled,
    active range 100 %.
Steps
    Those of CBW (shared/demand/script.py), with R/W mix RW1 and block size BS1 of the operator's choice;
    any other workload does as well, also a sequential one. Without a choice: RND 8 KiB 65/35, the pattern
    of the sample header in 14.3.2.1.
Pass rule
    IOPS at TC 32, QD 32 meet definition 2.1.24 in five rounds; the point of maximum IOPS has an average
    response time below 5 ms.
Reported
    The 15 plots of Plot 14-1; all operating points.
"""

from typing import Final

from openpts.procedures.kit.ledger import Rule
from openpts.vocabulary.workload import WORKLOADS
from openpts_pts.dirth import DemandIntensityConditions
from openpts_pts.shared.demand.script import demand_test, possible_sizes, standard_demand

DEFAULT_WORKLOAD: Final = WORKLOADS["oltp"]

RULES: Final = (
    Rule("active_range", "PTS-DIRTH-01", "14.2 (2.2)", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-DIRTH-06", "14.2 (2.1.1)", "a volatile cache takes writes, or does not"),
    Rule("data", "PTS-DIRTH-08", "14.2 (2.1.4)", "drives that compress or deduplicate gain"),
    Rule("skipped_block_sizes_bytes", "PTS-DIRTH-03", "14.1 (7)", "other sizes have larger shares"),
    Rule("tcs", "PTS-DIRTH-12", "14.2 (3.1.3)", "other operating points: the curve has gaps, or other ends"),
    Rule("qds", "PTS-DIRTH-13", "14.2 (3.1.4)", "other operating points: the curve has gaps, or other ends"),
    Rule("precondition_tc", "PTS-DIRTH-07", "14.2 (2.1.3)", "pre-writes reach another state of the drive"),
    Rule("precondition_qd", "PTS-DIRTH-07", "14.2 (2.1.2)", "pre-writes reach another state of the drive"),
    Rule("precondition_passes", "PTS-DIRTH-52", "14.1 (2.1), 14.2", "optional; the pseudo code has no WIPC"),
    Rule("one_pass", "PTS-DIRTH-10", "14.2 (2.2.2)", "the state is made by one pass, and not waited for"),
    Rule("minute_ns", "PTS-DIRTH-16", "14.2 (3.3.1)", "caches weigh more, and rare events are missed"),
    Rule("tracking_period_ns", "PTS-DIRTH-10", "14.2 (2.2.2)", "steady state is judged over another time"),
    Rule("max_rounds", "PTS-DIRTH-19", "14.2 (2.2.2, 3.3.3)", "fewer or more rounds in which to get steady"),
    Rule(
        "prewrite_shortest_ns", "PTS-DIRTH-14", "14.2 (3.2.1)", "rounds begin in another state of the drive"
    ),
    Rule("prewrite_longest_ns", "PTS-DIRTH-14", "14.2 (3.2.1)", "rounds begin in another state of the drive"),
    Rule(
        "prewrite_capacity_pct", "PTS-DIRTH-14", "14.2 (3.2.1)", "rounds begin in another state of the drive"
    ),
    Rule("art_limit_ns", "PTS-DIRTH-25", "14.2 (5.1.2)", "another point may be that of maximum IOPS"),
    Rule(
        "plateau_pct", "PTS-DIRTH-24", "14.2 (5.1.1, 6.1)", "openpts' own 1 %: another maximum may be chosen"
    ),
    Rule(
        "mid_points",
        "PTS-DIRTH-27",
        "14.2 (5.3)",
        "more MidIOPS points are allowed, none is not",
        more_is_allowed=True,
    ),
    Rule("histogram_prewrite_ns", "PTS-DIRTH-29", "14.2 (6.2.1)", "histograms begin in another state"),
    Rule("histogram_ns", "PTS-DIRTH-30", "14.2 (6.3)", "rare response times may be missed"),
    Rule(
        "capture", "PTS-DIRTH-30", "14.2 (6.3)", "single completion times are not kept, only their histogram"
    ),
)


# The conditions as section 14.2 has them, the workload is the operator's choice.
standard_conditions: Final = standard_demand(DemandIntensityConditions, DEFAULT_WORKLOAD)


script = demand_test
supported_on = possible_sizes

"""Composite block size workload test (CBW).

Purpose
    Response times of a mix of 12 block sizes over three ranges of LBAs, as the demand varies.
Clause
    PTS 2.0.1 section 13; enterprise and client alike, as the text has it: volatile write cache disabled,
    active range 100 %.
Steps
    Purge; the pattern with 0/100 at TC 32, QD 32 until steady state, tracked by single minutes 30 minutes
    apart, 25 at most; then rounds of a pre-write (0/100, TC 32, QD 32; 5 minutes at least, then 30 minutes
    or 10 % of the user capacity, whichever comes first) and 49 elements of 1 minute, one for each
    combination of TC and QD from 1024 outstanding I/Os down to 1, until steady state or for 25 rounds; then
    at the points of maximum and minimum IOPS and at one or more between: 60 minutes of the pattern with
    0/100, and 10 minutes of the pattern with every completion time captured.
Pass rule
    IOPS at TC 32, QD 32 meet definition 2.1.24 in five rounds; the point of maximum IOPS has an average
    response time below 5 ms.
Reported
    The 15 plots of Table 13-3; all operating points; the shares of sizes and ranges in each measurement
    period.
"""

from typing import Final

from openpts.procedures.kit.ledger import Rule
from openpts.vocabulary.workload import COMPOSITE
from openpts_pts.cbw import CompositeConditions
from openpts_pts.shared.demand.script import demand_test, possible_sizes, standard_demand

RULES: Final = (
    Rule("active_range", "PTS-CBW-01", "13.2 (3.2)", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-CBW-13", "13.2 (3.1.1)", "a volatile cache takes writes, or does not"),
    Rule("data", "PTS-CBW-04", "13.2 (2.1.1)", "drives that compress or deduplicate gain"),
    Rule("workload", "PTS-CBW-08", "13.2 (2.1)", "another access pattern: no figure compares"),
    Rule("segments", "PTS-CBW-10", "13.2 (2.1.4)", "the pattern has places of its own"),
    Rule("tcs", "PTS-CBW-20", "13.2 (4.1.3)", "other operating points: the curve has gaps, or other ends"),
    Rule("qds", "PTS-CBW-21", "13.2 (4.1.4)", "other operating points: the curve has gaps, or other ends"),
    Rule("precondition_tc", "PTS-CBW-14", "13.2 (3.1.3)", "pre-writes reach another state of the drive"),
    Rule("precondition_qd", "PTS-CBW-14", "13.2 (3.1.2)", "pre-writes reach another state of the drive"),
    Rule("precondition_passes", "PTS-CBW-60", "13.1 (2.1), 13.2", "optional; the pseudo code has no WIPC"),
    Rule("one_pass", "PTS-CBW-18", "13.2 (3.2.2.2)", "the state is made by one pass, and not waited for"),
    Rule("minute_ns", "PTS-CBW-24", "13.2 (4.3.1)", "caches weigh more, and rare events are missed"),
    Rule("tracking_period_ns", "PTS-CBW-18", "13.2 (3.2.2.2)", "steady state is judged over another time"),
    Rule("max_rounds", "PTS-CBW-27", "13.2 (3.2.2, 4.3.3)", "fewer or more rounds in which to get steady"),
    Rule("prewrite_shortest_ns", "PTS-CBW-22", "13.2 (4.2.1)", "rounds begin in another state of the drive"),
    Rule("prewrite_longest_ns", "PTS-CBW-22", "13.2 (4.2.1)", "rounds begin in another state of the drive"),
    Rule("prewrite_capacity_pct", "PTS-CBW-22", "13.2 (4.2.1)", "rounds begin in another state of the drive"),
    Rule("art_limit_ns", "PTS-CBW-33", "13.2 (6.1.2)", "another point may be that of maximum IOPS"),
    Rule("plateau_pct", "PTS-CBW-32", "13.2 (6.1.1, 7.1)", "openpts' own 1 %: another maximum may be chosen"),
    Rule(
        "mid_points",
        "PTS-CBW-35",
        "13.2 (6.3)",
        "more MidIOPS points are allowed, none is not",
        more_is_allowed=True,
    ),
    Rule("histogram_prewrite_ns", "PTS-CBW-37", "13.2 (7.2.1)", "histograms begin in another state"),
    Rule("histogram_ns", "PTS-CBW-38", "13.2 (7.3)", "rare response times may be missed"),
    Rule("capture", "PTS-CBW-38", "13.2 (7.3)", "single completion times are not kept, only their histogram"),
)


# The conditions as section 13.2 has them, for both classes.
standard_conditions: Final = standard_demand(CompositeConditions, COMPOSITE)


script = demand_test
supported_on = possible_sizes

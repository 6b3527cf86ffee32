"""IOPS test.

Purpose
    IOPS of random I/O over 7 R/W mixes and 8 block sizes, in steady state.
Clause
    PTS 2.0.1 section 7; enterprise and client.
Steps
    Purge; WIPC: 2 x user capacity in 128 KiB sequential writes over the active range; then rounds of
    56 elements of 1 minute, R/W mix in the outer loop and block size in the inner one, until steady
    state or for 25 rounds.
Pass rule
    RND 4 KiB 0/100, RND 64 KiB 65/35 and RND 1024 KiB 100/0 all meet definition 2.1.24 in the same
    five rounds.
Reported
    Convergence, verification and measurement window per tracking variable; table, 2D and 3D plot of
    the averages of the window (7.3).
"""

from typing import Final

from openpts.procedures.kit.ledger import RANGE_BY_CLASS, RECOMMENDED_QD, RECOMMENDED_TC, Rule, Standard
from openpts.units import KIB, MIB
from openpts.vocabulary.requests import CycleFinished, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.verdict import TrackingVariable
from openpts_pts.iops import IopsConditions
from openpts_pts.shared.rounds.script import conditioned, random_round, until_steady, without_impossible_sizes

READ_PCTS: Final = (100, 95, 65, 50, 35, 5, 0)
BLOCK_SIZES_BYTES: Final = (1 * MIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
TRACKING: Final = (
    TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0),
    TrackingVariable(AccessPattern.RANDOM, 64 * KIB, 65),
    TrackingVariable(AccessPattern.RANDOM, 1 * MIB, 100),
)

RULES: Final = (
    Rule("active_range", "PTS-IOPS-01", "7.2", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-IOPS-01", "7.2", "a volatile cache takes writes, or does not"),
    Rule("data", "PTS-IOPS-10", "7.2 (2.1.4, 3.1.4)", "drives that compress or deduplicate gain"),
    Rule("tc", "PTS-IOPS-05", "7.2 (2.1.3)", "the operator's choice; compare only at equal TC"),
    Rule("qd", "PTS-IOPS-04", "7.2 (2.1.2)", "the operator's choice; compare only at equal QD"),
    Rule("precondition_passes", "PTS-IOPS-07", "7.2 (2.2)", "the drive may still be in the transition zone"),
    Rule(
        "precondition_block_size_bytes", "PTS-IOPS-07", "7.2 (2.2)", "the drive is laid out in other pieces"
    ),
    Rule("precondition_tc", "PTS-IOPS-09", "7.2 (3.1.3)", "preconditioning has another demand than the test"),
    Rule("precondition_qd", "PTS-IOPS-09", "7.2 (3.1.2)", "preconditioning has another demand than the test"),
    Rule("minute_ns", "PTS-IOPS-14", "7.2 (3.2.1.2)", "caches weigh more, and rare events are missed"),
    Rule(
        "within_pct", "PTS-IOPS-07", "7.2 (2.2)", "one pass instead of preconditioning, and shorter elements"
    ),
    Rule(
        "max_rounds",
        "PTS-IOPS-11",
        "7.2 (3.2)",
        "steady state has fewer rounds in which to be reached",
        more_is_allowed=True,
    ),
    Rule("read_pcts", "PTS-IOPS-12", "7.2 (3.2.1)", "rounds have other elements; those left out are empty"),
    Rule("block_sizes_bytes", "PTS-IOPS-13", "7.2 (3.2.1.1)", "elements of sizes left out are empty"),
    Rule("tracking", "PTS-IOPS-17", "7.1", "steady state is judged on other elements"),
)


# The conditions as section 7.2 has them, with the recommended TC and QD.
standard_conditions: Final = Standard(
    IopsConditions,
    active_range=RANGE_BY_CLASS,
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    precondition_block_size_bytes=128 * KIB,
    precondition_passes=2,
    read_pcts=READ_PCTS,
    block_sizes_bytes=BLOCK_SIZES_BYTES,
    max_rounds=25,
    tracking=TRACKING,
)


def script(conditions: IopsConditions, user_capacity_bytes: int) -> Script:
    """The script of 7.2; step numbers are the specification's."""
    # 1  Purge the device
    yield Purge()

    # 2.1  Set and record test conditions
    yield SetWriteCache(conditions.write_cache_enabled)

    # 2.2  Workload independent preconditioning
    size_bytes = conditions.precondition_block_size_bytes
    conditions = yield from conditioned(conditions, size_bytes, user_capacity_bytes)

    # 3.2  Test loop until steady state or the last round
    outcome, _ = yield from until_steady(conditions, random_round(conditions), conditions.tracking)
    yield CycleFinished(outcome)


supported_on = without_impossible_sizes

"""Latency test.

Purpose
    Response times of random I/O with a single I/O outstanding, over 3 R/W mixes and 3 block sizes, in steady
    state; then the distribution of the response times of RND 4 KiB writes.
Clause
    PTS 2.0.1 section 9; enterprise and client.
Steps
    Purge; WIPC: 2 x user capacity in 128 KiB sequential writes over the active range, at TC 1 and QD 1 as
    everything else; rounds of 9 elements of 1 minute, R/W mix in the outer loop and block size in the inner
    one, until steady state or for 25 rounds; RND 4 KiB 0/100 for 20 minutes, or longer for more nines.
Pass rule
    Average response time of RND 4 KiB 0/100 by definition 2.1.24.
Reported
    Convergence and measurement window; table of IOPS, average, 99.999 % and maximum response times; histogram
    with confidence levels (9.3).
"""

from typing import Final

from openpts.procedures.kit.ledger import RANGE_BY_CLASS, Rule, Standard
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts_pts.lat import LatencyConditions
from openpts_pts.shared.continuous import continuous
from openpts_pts.shared.nines import histogram_ns
from openpts_pts.shared.rounds.script import (
    conditioned,
    point_stimulus,
    random_round,
    until_steady,
    without_impossible_sizes,
)

READ_PCTS: Final = (100, 65, 0)
BLOCK_SIZES_BYTES: Final = (8 * KIB, 4 * KIB, 512)
HISTOGRAM_POINT: Final = RoundPoint(AccessPattern.RANDOM, 4 * KIB, 0)
TRACKING: Final = (TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0, SteadyFigure.MEAN_LATENCY),)

RULES: Final = (
    Rule("active_range", "PTS-LAT-01", "9.2", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-LAT-01", "9.2 (2.1.1)", "a volatile cache takes writes, or does not"),
    Rule("tc", "PTS-LAT-05", "9.1, 9.2 (2.1.3)", "I/Os wait for one another: no latency of a single I/O"),
    Rule("qd", "PTS-LAT-04", "9.1, 9.2 (2.1.2)", "I/Os wait for one another: no latency of a single I/O"),
    Rule("data", "PTS-LAT-06", "9.2 (2.1.4)", "drives that compress or deduplicate do less work"),
    Rule(
        "precondition_passes", "PTS-LAT-07", "9.1 (2), 9.2 (2.2)", "the drive may be in the transition zone"
    ),
    Rule("precondition_block_size_bytes", "PTS-LAT-07", "9.1 (2), 9.2 (2.2)", "another order on the media"),
    Rule("precondition_tc", "PTS-LAT-05", "9.2 (2.1.3)", "the sequence is broken up"),
    Rule("precondition_qd", "PTS-LAT-04", "9.2 (2.1.2)", "the same writes arrive closer together"),
    Rule("read_pcts", "PTS-LAT-09", "9.2 (3.1)", "the elements of a round are others"),
    Rule("block_sizes_bytes", "PTS-LAT-10", "9.2 (3.1.1)", "smaller than a sector: those cells are empty"),
    Rule("minute_ns", "PTS-LAT-11", "9.2 (3.1.1.1.1)", "caches weigh more, and rare events are missed"),
    Rule(
        "within_pct",
        "PTS-LAT-07",
        "9.1 (2), 9.2 (2.2)",
        "one pass instead of preconditioning, and shorter elements",
    ),
    Rule(
        "max_rounds",
        "PTS-LAT-08",
        "9.2 (3)",
        "steady state has fewer rounds in which to be reached",
        more_is_allowed=True,
    ),
    Rule("tracking", "PTS-LAT-13", "9.2 (3.1.1.1.3)", "steady state is judged by something else"),
    Rule("histogram_ns", "PTS-LAT-15", "9.2 (3.3.1)", "fewer I/Os: fewer nines, and rare events are missed"),
)


# The conditions as section 9.2 has them.
standard_conditions: Final = Standard(
    LatencyConditions,
    active_range=RANGE_BY_CLASS,
    tc=1,
    qd=1,
    precondition_block_size_bytes=128 * KIB,
    precondition_passes=2,
    read_pcts=READ_PCTS,
    block_sizes_bytes=BLOCK_SIZES_BYTES,
    max_rounds=25,
    tracking=TRACKING,
    histogram_ns=20 * 60 * NS_PER_S,
)


def script(conditions: LatencyConditions, user_capacity_bytes: int) -> Script:
    """The script of 9.2; step numbers are the specification's."""
    # 1  Purge the device
    yield Purge()

    # 2.1  Set and record test parameters
    yield SetWriteCache(conditions.write_cache_enabled)

    # 2.2  Workload independent preconditioning
    size_bytes = conditions.precondition_block_size_bytes
    conditions = yield from conditioned(conditions, size_bytes, user_capacity_bytes)

    # 3  Test loop until steady state or the last round
    outcome, window = yield from until_steady(conditions, random_round(conditions), conditions.tracking)

    # 3.3  Response times of RND 4 KiB 0/100, longer for more nines
    measured = [
        sample for samples in window for sample in samples if HISTOGRAM_POINT.matches(sample.step.stimulus)
    ]
    stimulus = point_stimulus(conditions, HISTOGRAM_POINT)
    length_ns = histogram_ns(conditions.histogram_ns, conditions.nines, measured)
    yield Apply(Phase.HISTOGRAM, 1, continuous(stimulus, length_ns, conditions.minute_ns))
    yield CycleFinished(outcome)


supported_on = without_impossible_sizes

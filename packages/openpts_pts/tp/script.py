"""Throughput test.

Purpose
    Data transfer rate of sequential I/O in blocks of 128 and of 1024 KiB, in steady state.
Clause
    PTS 2.0.1 section 8; enterprise and client.
Steps
    For 128 KiB and then for 1024 KiB: purge; WIPC: 2 x user capacity in sequential writes of that block size
    over the active range; rounds of 100/0 and 0/100, 1 minute each at TC 1, until steady state or for 25
    rounds. The sequence continues from step to step.
Pass rule
    MB/s of the writes of the cycle's block size by definition 2.1.24.
Reported
    For each block size: convergence of writes and of reads, measurement window, table and plot of the
    averages of the window (8.3); 1024 KiB first.
"""

from typing import Final

from openpts.procedures.kit.ledger import RANGE_BY_CLASS, Rule, Standard
from openpts.units import KIB, MIB, format_block_size
from openpts.vocabulary.requests import CycleFinished, Purge, Script, SetWriteCache
from openpts.vocabulary.stimulus import AccessPattern, SteadyFigure
from openpts.vocabulary.verdict import RoundPoint, TrackingVariable
from openpts_pts.shared.rounds.script import element, preconditioning, until_steady, without_impossible_sizes
from openpts_pts.tp import ThroughputConditions

READ_PCTS: Final = (100, 0)
BLOCK_SIZES_BYTES: Final = (128 * KIB, 1 * MIB)
TRACKING: Final = tuple(
    TrackingVariable(AccessPattern.SEQUENTIAL, size_bytes, 0, SteadyFigure.THROUGHPUT)
    for size_bytes in BLOCK_SIZES_BYTES
)

RULES: Final = (
    Rule("active_range", "PTS-TP-01", "8.1, 8.2", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-TP-01", "8.2 (2.1.1)", "a volatile cache takes writes, or does not"),
    Rule("tc", "PTS-TP-05", "8.1, 8.2 (2.1.2)", "several sequences at once: the drive sees no single one"),
    Rule("qd", "PTS-TP-06", "8.2 (2.1.3)", "the operator's choice; compare only at equal QD"),
    Rule("data", "PTS-TP-07", "8.2 (2.1.4)", "drives that compress or deduplicate do less work"),
    Rule("precondition_passes", "PTS-TP-08", "8.1 (2), 8.2 (2.2)", "the drive may be in the transition zone"),
    Rule(
        "preconditions_once",
        "PTS-TP-08",
        "8.1 (2), 8.2 (1, 2.2)",
        "sizes after the first find the drive as writes of another size have left it",
    ),
    Rule("precondition_tc", "PTS-TP-09", "8.2 (2.3.2)", "the test does not continue as preconditioning did"),
    Rule("precondition_qd", "PTS-TP-09", "8.2 (2.3.3)", "the test does not continue as preconditioning did"),
    Rule("read_pcts", "PTS-TP-11", "8.2 (2.4.1)", "the elements of a round are others"),
    Rule("block_sizes_bytes", "PTS-TP-02", "8.1, 8.2", "a block size is not measured, or another one is"),
    Rule("minute_ns", "PTS-TP-12", "8.2 (2.4.1.1)", "caches weigh more, and less of the drive is seen"),
    Rule(
        "max_rounds",
        "PTS-TP-10",
        "8.2 (2.4)",
        "steady state has fewer rounds in which to be reached",
        more_is_allowed=True,
    ),
    Rule("tracking", "PTS-TP-14", "8.3.5, 8.2 (2.4.1.3)", "steady state is judged by something else"),
)


# The conditions as section 8.2 has them, with the recommended QD.
standard_conditions: Final = Standard(
    ThroughputConditions,
    active_range=RANGE_BY_CLASS,
    tc=1,
    qd=32,
    precondition_block_size_bytes=128 * KIB,
    precondition_passes=2,
    read_pcts=READ_PCTS,
    block_sizes_bytes=BLOCK_SIZES_BYTES,
    max_rounds=25,
    tracking=TRACKING,
)


def script(conditions: ThroughputConditions, user_capacity_bytes: int) -> Script:
    """The script of 8.2; step numbers are the specification's."""
    # For each block size a test of its own
    for place, size_bytes in enumerate(conditions.block_sizes_bytes):
        continues = conditions.preconditions_once and place > 0

        # 1  Purge the device
        yield Purge(needed=not continues)

        # 2.1  Set and record parameters
        yield SetWriteCache(conditions.write_cache_enabled)

        # 2.2  Workload independent preconditioning in the block size of the test
        if not continues:
            yield from preconditioning(conditions, size_bytes, user_capacity_bytes)

        # 2.4  Rounds until steady state or the last one; an engine's sequence continues
        # where the step before it stopped, whatever its direction (2.4.1.5)
        tracking = tuple(v for v in conditions.tracking if v.block_size_bytes == size_bytes)
        round_steps = tuple(
            element(conditions, RoundPoint(AccessPattern.SEQUENTIAL, size_bytes, read_pct))
            for read_pct in conditions.read_pcts  # 2.4.1
        )
        outcome, _ = yield from until_steady(conditions, round_steps, tracking)
        yield CycleFinished(outcome, f"SEQ {format_block_size(size_bytes)}")


supported_on = without_impossible_sizes

"""Cross stimulus recovery test (XSR).

Purpose
    How throughput and response times take the changes from large sequential to small random writes and back.
Clause
    PTS 2.0.1 section 12; enterprise and client.
Steps
    Purge; then, without preconditioning and without a pause, 8 hours of SEQ 1024 KiB writes, 6 hours of
    RND 8 KiB writes, 8 hours of SEQ 1024 KiB writes, each with a demand of its own.
Pass rule
    None: the transitions are the result.
Reported
    Throughput, ART and MRT over time, both transitions enlarged, averages and peaks of each group, and the
    time in which bandwidth comes back (12.3).
"""

from typing import Final

from openpts.procedures.kit.ledger import RANGE_BY_CLASS, Rule, Standard
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern
from openpts.vocabulary.workload import simple_workload
from openpts_pts.shared.continuous import continuous
from openpts_pts.xsr import AccessGroup, CrossStimulusConditions

_HOUR_NS: Final = 3600 * NS_PER_S
_SEQUENTIAL: Final = AccessGroup(
    simple_workload("seq-1024k", AccessPattern.SEQUENTIAL, 1 * MIB, 0), tc=1, qd=32, duration_ns=8 * _HOUR_NS
)
_RANDOM: Final = AccessGroup(
    simple_workload("rnd-8k", AccessPattern.RANDOM, 8 * KIB, 0), tc=4, qd=32, duration_ns=6 * _HOUR_NS
)

RULES: Final = (
    Rule("active_range", "PTS-XSR-02", "12.2", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-XSR-02", "12.2", "a volatile cache takes writes, or does not"),
    Rule("data", "PTS-XSR-06", "12.2 (2.1.4)", "drives that compress or deduplicate gain"),
    Rule("segments", "PTS-AR-01", "3.4", "fewer LBAs are written than the active range has"),
    Rule("minute_ns", "PTS-XSR-14", "12.2 (2.2)", "averages and peaks are those of another time"),
    *(
        Rule(f"groups.{group}.{field}", rule_id, clause, effect, more_is_allowed=field == "duration_ns")
        for group, rule_id, clause in (
            (0, "PTS-XSR-07", "12.2 (2.2)"),
            (1, "PTS-XSR-10", "12.2 (3.2)"),
            (2, "PTS-XSR-13", "12.2 (4.2)"),
        )
        for field, effect in (
            ("workload", "a stimulus of another kind"),
            ("duration_ns", "the drive may not have settled before the change"),
        )
    ),
    Rule(
        "groups.0.tc", "PTS-XSR-05", "12.2 (2.1.3)", "several sequences at once: the drive sees no single one"
    ),
    Rule("groups.0.qd", "PTS-XSR-05", "12.2 (2.1.2)", "the operator's choice; compare only at equal QD"),
    # the demand of group 2 is the operator's choice without a recommendation
    Rule(
        "groups.2.tc",
        "PTS-XSR-12",
        "12.2 (4.1.3)",
        "recovery is held against another demand",
        as_in="groups.0.tc",
    ),
    Rule(
        "groups.2.qd",
        "PTS-XSR-12",
        "12.2 (4.1.2)",
        "recovery is held against another demand",
        as_in="groups.0.qd",
    ),
)


# As section 12.2 has them. TC and QD of the random group are the operator's choice; openpts takes what the
# specification's own sample had, since 12.1 wants another and larger demand for it.
standard_conditions: Final = Standard(
    CrossStimulusConditions, active_range=RANGE_BY_CLASS, groups=(_SEQUENTIAL, _RANDOM, _SEQUENTIAL)
)


def script(conditions: CrossStimulusConditions, _user_capacity_bytes: int) -> Script:
    """The script of 12.2; step numbers are the specification's."""
    # 1  Purge the device; no preconditioning follows
    yield Purge()

    # 2.1, 3.1, 4.1  One state of the cache for all groups
    yield SetWriteCache(conditions.write_cache_enabled)

    # 2 to 4  Access groups, one behind the other without a pause
    for number, group in enumerate(conditions.groups, start=1):
        stimulus = conditions.stimulus(group.workload, tc=group.tc, qd=group.qd)
        steps = continuous(stimulus, group.duration_ns, conditions.minute_ns)
        yield Apply(Phase.ACCESS_GROUP, number, steps, len(conditions.groups))

    yield CycleFinished(Outcome(steady_round=None, last_round=len(conditions.groups)))

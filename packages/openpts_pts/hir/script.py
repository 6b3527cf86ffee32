"""Host idle recovery test (HIR).

Purpose
    What a drive makes of pauses between bursts of random writes.
Clause
    PTS 2.0.1 section 11; enterprise and client.
Steps
    Purge; RND 4 KiB writes until steady state, tracked by single minutes 30 minutes apart, 25 at most; then,
    for wait states 1, 2, 3, 5 and 10: 360 times 5 s of writes (access A) and that many times 5 s of idle time
    (access B), and 1800 s of writes without idle time (access C), which return to the baseline.
Pass rule
    Steady state of the preconditioning by definition 2.1.24; without it the test ends there.
Reported
    IOPS over time of preconditioning and of all wait states with their returns, the window of steady state,
    and IOPS of each wait state beside the baseline (11.3).
"""

from typing import Final

from openpts.procedures.kit.ledger import RANGE_BY_CLASS, RECOMMENDED_QD, RECOMMENDED_TC, Rule, Standard
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.requests import Apply, CycleFinished, Outcome, Purge, Script, SetWriteCache
from openpts.vocabulary.sample import Phase
from openpts.vocabulary.stimulus import AccessPattern, Duration, Step, Stream
from openpts.vocabulary.workload import simple_workload
from openpts_pts.hir import IdleRecoveryConditions, WaitState
from openpts_pts.shared.script import Tracking, until_steady

_ACCESS_NS: Final = 5 * NS_PER_S
_WAIT_STATES: Final = (1, 2, 3, 5, 10)

RULES: Final = (
    Rule("active_range", "PTS-HIR-02", "11.2 (3)", "over-provisioning in effect differs"),
    Rule("write_cache_enabled", "PTS-HIR-02", "11.2 (2.1)", "a volatile cache takes writes, or does not"),
    Rule("tc", "PTS-HIR-05", "11.2 (2.3)", "the operator's choice; compare only at equal TC"),
    Rule("qd", "PTS-HIR-04", "11.2 (2.2)", "the operator's choice; compare only at equal QD"),
    Rule("data", "PTS-HIR-06", "11.2 (2.4)", "drives that compress or deduplicate gain"),
    Rule("segments", "PTS-AR-01", "3.4", "fewer LBAs are written than the active range has"),
    Rule("workload", "PTS-HIR-07", "11.2 (3)", "another stimulus than RND 4 KiB writes"),
    Rule("minute_ns", "PTS-HIR-08", "11.2 (3.1)", "steady state is judged by other times"),
    Rule("tracking_period_ns", "PTS-HIR-09", "11.2 (3.2)", "steady state is judged over a shorter time"),
    Rule("max_rounds", "PTS-HIR-10", "11.2 (3.2)", "fewer or more rounds in which to get steady"),
    Rule("access_ns", "PTS-HIR-12", "11.2 (4.1)", "bursts of another length"),
    Rule("cycles", "PTS-HIR-12", "11.2 (4.1)", "fewer pauses in which to recover"),
    Rule("wait_states", "PTS-HIR-11", "11.2 (4 to 8)", "pauses of other lengths"),
)


# The conditions as section 11.2 has them, with the recommended TC and QD.
standard_conditions: Final = Standard(
    IdleRecoveryConditions,
    active_range=RANGE_BY_CLASS,
    workload=simple_workload("rnd-4k", AccessPattern.RANDOM, 4 * KIB, 0),
    tc=RECOMMENDED_TC,
    qd=RECOMMENDED_QD,
    tracking_period_ns=30 * 60 * NS_PER_S,
    max_rounds=25,
    access_ns=_ACCESS_NS,
    cycles=360,
    wait_states=tuple(WaitState(number, number * _ACCESS_NS) for number in _WAIT_STATES),
)


def script(conditions: IdleRecoveryConditions, _user_capacity_bytes: int) -> Script:
    """The script of 11.2; step numbers are the specification's."""
    # 1  Purge the device
    yield Purge()

    # 2  Set and record test parameters
    yield SetWriteCache(conditions.write_cache_enabled)
    stimulus = conditions.stimulus(conditions.workload, tc=conditions.tc, qd=conditions.qd)

    # 3  Preconditioning until its tracking rounds are steady
    tracking = Tracking(
        phase=Phase.WDPC,
        streams=(Stream(stimulus),),
        name=conditions.workload.title,
        minute_ns=conditions.minute_ns,
        period_ns=conditions.tracking_period_ns,
        max_rounds=conditions.max_rounds,
    )
    steady_round, last_round = yield from until_steady(tracking)
    if steady_round is None:  # 3.2  The test shall be stopped
        yield CycleFinished(Outcome(None, last_round, "so no wait states were run"))
        return

    # 4 to 8  Wait states, each with its return to baseline
    access = Step.of(stimulus, Duration(conditions.access_ns))
    for state in conditions.wait_states:
        # 4.1 ... 8.1  Access A and access B
        idle = Step.of(None, Duration(state.idle_ns))
        yield Apply(Phase.WAIT_STATE, state.number, (access, idle) * conditions.cycles)
        # 4.2 ... 8.2  Access C
        yield Apply(Phase.RETURN_TO_BASELINE, state.number, (access,) * conditions.cycles)

    yield CycleFinished(Outcome(steady_round, last_round))

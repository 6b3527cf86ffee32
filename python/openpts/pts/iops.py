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

from openpts.analysis.steady_state import WINDOW_ROUNDS, window_ending_at
from openpts.pts.standard import Rule
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.conditions import Profile, TestConditions
from openpts.vocabulary.requests import (
    Outcome,
    Precondition,
    Purge,
    Round,
    Script,
    SetWriteCache,
    SteadyStateChecked,
)
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stop import ByteAmount, Duration
from openpts.vocabulary.verdict import SteadyStateReport, TrackingVariable

READ_PCTS: Final = (100, 95, 65, 50, 35, 5, 0)
BLOCK_SIZES_BYTES: Final = (1 * MIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
TRACKING: Final = (
    TrackingVariable(AccessPattern.RANDOM, 4 * KIB, 0),
    TrackingVariable(AccessPattern.RANDOM, 64 * KIB, 65),
    TrackingVariable(AccessPattern.RANDOM, 1 * MIB, 100),
)

RULES: Final = (
    Rule("active_range", "PTS-IOPS-01", "7.2", "over-provisioning in effect differs"),
    Rule("tc", "PTS-IOPS-05", "7.2 (2.1.3)", "the operator's choice; compare only at equal TC"),
    Rule("qd", "PTS-IOPS-04", "7.2 (2.1.2)", "the operator's choice; compare only at equal QD"),
    Rule("precondition_passes", "PTS-IOPS-07", "7.2 (2.2)", "the drive may still be in the transition zone"),
    Rule("step_duration_ns", "PTS-IOPS-14", "7.2 (3.2.1.2)", "caches weigh more, and rare events are missed"),
    Rule("max_rounds", "PTS-IOPS-11", "7.2 (3.2)", "steady state has fewer rounds in which to be reached"),
    Rule("block_sizes_bytes", "PTS-IOPS-13", "7.2 (3.2.1.1)", "smaller than a sector: those cells are empty"),
)


def standard_conditions(profile: Profile, seed: int) -> TestConditions:
    """The conditions as section 7.2 has them, with the recommended TC and QD."""
    enterprise = profile is Profile.ENTERPRISE
    return TestConditions(
        test="iops",
        profile=profile,
        write_cache_enabled=not enterprise,
        active_range=ActiveRange(0, 100 if enterprise else 75),
        tc=4 if enterprise else 2,
        qd=32 if enterprise else 16,
        precondition_block_size_bytes=128 * KIB,
        precondition_passes=2,
        read_pcts=READ_PCTS,
        block_sizes_bytes=BLOCK_SIZES_BYTES,
        skipped_block_sizes_bytes=(),
        step_duration_ns=60 * NS_PER_S,
        max_rounds=25,
        tracking=TRACKING,
        seed=seed,
    )


def iops_test(conditions: TestConditions, user_capacity_bytes: int) -> Script:
    """The script of 7.2; step numbers are the specification's."""
    # 1  Purge the device
    yield Purge()

    # 2.1  Set and record test conditions
    yield SetWriteCache(conditions.write_cache_enabled)

    # 2.2  Workload independent preconditioning
    if conditions.precondition_passes:
        yield Precondition(_preconditioning(conditions, user_capacity_bytes))

    # 3.2  Test loop until steady state or the last round
    history: list[tuple[float, ...]] = []
    for number in range(1, conditions.max_rounds + 1):
        samples = yield Round(number, conditions.max_rounds, _round(conditions))
        assert isinstance(samples, tuple)  # noqa: S101 what a runner answers to a Round

        # 3.2.1.2.2  Steady state of all tracking variables in the same window
        history.append(_tracked_iops(conditions, samples))
        if number < WINDOW_ROUNDS:
            continue
        reports = _judge(history, number)
        yield SteadyStateChecked(number, reports)
        if all(report.steady for report in reports):
            return Outcome(steady_round=number, last_round=number)

    # 3.2.1.2.3  Not reached: the window is that of the last round
    return Outcome(steady_round=None, last_round=conditions.max_rounds)


def steps(conditions: TestConditions, user_capacity_bytes: int) -> tuple[Step, ...]:
    """What the script asks of a device: the preconditioning, and each round alike."""
    preconditioning = (
        (_preconditioning(conditions, user_capacity_bytes),) if conditions.precondition_passes else ()
    )
    return (*preconditioning, *_round(conditions))


def _preconditioning(conditions: TestConditions, user_capacity_bytes: int) -> Step:
    return Step(
        Stimulus.of(
            access_pattern=AccessPattern.SEQUENTIAL,
            block_size_bytes=conditions.precondition_block_size_bytes,
            read_pct=0,
            tc=conditions.tc,
            qd=conditions.qd,
            active_range=conditions.active_range,
        ),
        ByteAmount(round(conditions.precondition_passes * user_capacity_bytes)),
    )


def _round(conditions: TestConditions) -> tuple[Step, ...]:
    return tuple(
        Step(
            Stimulus.of(
                access_pattern=AccessPattern.RANDOM,
                block_size_bytes=block_size_bytes,
                read_pct=read_pct,
                tc=conditions.tc,
                qd=conditions.qd,
                active_range=conditions.active_range,
            ),
            Duration(conditions.step_duration_ns),
        )
        for read_pct in conditions.read_pcts  # 3.2.1
        for block_size_bytes in conditions.block_sizes_bytes  # 3.2.1.1
    )


def _tracked_iops(conditions: TestConditions, samples: tuple[Sample, ...]) -> tuple[float, ...]:
    return tuple(
        sample.iops
        for variable in conditions.tracking
        for sample in samples
        if variable.matches(sample.step.stimulus)
    )


def _judge(history: list[tuple[float, ...]], number: int) -> tuple[SteadyStateReport, ...]:
    return tuple(window_ending_at(series, number) for series in zip(*history, strict=True))

"""The parameters of tests of long stimuli: WSAT, HIR, XSR (PTS 10 to 12)."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import (
    DEPTH_LIMITS,
    HISTOGRAM_SECONDS,
    LENGTH_LIMITS,
    MAX_ROUNDS,
    NINES,
    QD,
    SEGMENTS,
    TC,
    THREAD_LIMITS,
    TRACKING_SECONDS,
    one_number,
    one_workload,
    seconds,
    switch,
)
from openpts.fields.setting import as_it_is, changes
from openpts.fields.workload_table import NAMES, WorkloadTable, WorkloadWord
from openpts.parameters import list_settings
from openpts.parameters.common_table import CommonParameters


class WriteSaturationParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Write saturation (PTS 10): each workload has a cycle of its own, from the purge on."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    workloads: (
        Annotated[
            list[WorkloadWord | WorkloadTable],
            changes(
                list_settings.workload_list(),
                f"Workloads, one after the other: {NAMES}, or order, size and mix as in RND 16KiB RW30.",
                min_length=1,
                max_length=64,
                examples=[["write_intensive", "oltp"]],
            ),
        ]
        | UnsetType
    ) = UNSET
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    sequential_tc: (
        Annotated[int, one_number("sequential_tc", "Thread count of sequential workloads.", **THREAD_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_qd: (
        Annotated[int, one_number("sequential_qd", "Queue depth of sequential workloads.", **DEPTH_LIMITS)]
        | UnsetType
    ) = UNSET
    drive_fills: (
        Annotated[
            float,
            one_number(
                "drive_fills", "End when this many times the user capacity are written.", gt=0, le=1000
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_seconds: (
        Annotated[float, seconds("longest_ns", "End after this time, if that comes first.")] | UnsetType
    ) = UNSET
    tracking_seconds: Annotated[float, TRACKING_SECONDS] | UnsetType = UNSET
    stop_when_steady: (
        Annotated[bool, switch("stop_when_steady", "End in steady state, if that comes first.")] | UnsetType
    ) = UNSET
    steady_after_drive_fills: (
        Annotated[
            float,
            one_number(
                "steady_after_drive_fills",
                "Don't end in steady state before this many times the user capacity are written.",
                ge=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    histogram_seconds: Annotated[float, HISTOGRAM_SECONDS] | UnsetType = UNSET
    nines: Annotated[int, NINES] | UnsetType = UNSET


class IdleRecoveryParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Host idle recovery (PTS 11)."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    workload: Annotated[WorkloadWord | WorkloadTable, one_workload("Workload of access A.")] | UnsetType = (
        UNSET
    )
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    tracking_seconds: Annotated[float, TRACKING_SECONDS] | UnsetType = UNSET
    max_rounds: Annotated[int, MAX_ROUNDS] | UnsetType = UNSET
    access_seconds: (
        Annotated[float, seconds("access_ns", "Length of one access A, and of one access C.")] | UnsetType
    ) = UNSET
    cycles: (
        Annotated[
            int,
            one_number(
                "cycles", "Number of times that access A and idle time alternate.", ge=1, le=1_000_000
            ),
        ]
        | UnsetType
    ) = UNSET
    wait_states: (
        Annotated[
            list[Annotated[int, readers.WAIT_STATE]],
            changes(
                list_settings.wait_states(),
                "Wait states, in their order; number n idles n times as long as number 1.",
                min_length=1,
                max_length=20,
            ),
        ]
        | UnsetType
    ) = UNSET
    idle_seconds: (
        Annotated[
            float,
            changes(
                list_settings.wait_state_unit(),
                "Idle time of wait state 1; that of the others is a multiple of it.",
                **LENGTH_LIMITS,
            ),
        ]
        | UnsetType
    ) = UNSET


class CrossStimulusParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cross stimulus recovery (PTS 12): three access groups, sequential, random, sequential."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    group_seconds: (
        Annotated[
            list[Annotated[float, readers.LENGTH]],
            changes(
                list_settings.of_groups("duration_ns", readers.seconds_ns, readers.seconds_text),
                "Lengths of the three access groups.",
                min_length=3,
                max_length=3,
            ),
        ]
        | UnsetType
    ) = UNSET
    group_tcs: (
        Annotated[
            list[Annotated[int, readers.THREADS]],
            changes(
                list_settings.of_groups("tc", as_it_is, str),
                "Thread counts of the three access groups.",
                min_length=3,
                max_length=3,
            ),
        ]
        | UnsetType
    ) = UNSET
    group_qds: (
        Annotated[
            list[Annotated[int, readers.DEPTH]],
            changes(
                list_settings.of_groups("qd", as_it_is, str),
                "Queue depths of the three access groups.",
                min_length=3,
                max_length=3,
            ),
        ]
        | UnsetType
    ) = UNSET

"""The parameters of demand variation: CBW and DIRTH (PTS 13, 14)."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import (
    DEPTH_LIMITS,
    HISTOGRAM_SECONDS,
    MAX_ROUNDS,
    SEGMENTS,
    THREAD_LIMITS,
    TRACKING_SECONDS,
    one_number,
    one_workload,
    seconds,
    switch,
)
from openpts.fields.setting import sets
from openpts.fields.workload_table import NAMES, WorkloadTable, WorkloadWord
from openpts.parameters import list_settings
from openpts.parameters.common_table import CommonParameters


class DemandParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Parameters of demand variation (PTS 13, 14)."""

    tcs: (
        Annotated[
            list[Annotated[int, readers.THREADS]],
            list_settings.numbers("tcs", "Thread counts of the operating points."),
        ]
        | UnsetType
    ) = UNSET
    qds: (
        Annotated[
            list[Annotated[int, readers.DEPTH]],
            list_settings.numbers("qds", "Queue depths of the operating points."),
        ]
        | UnsetType
    ) = UNSET
    precondition_tc: (
        Annotated[
            int,
            one_number("precondition_tc", "Thread count of preconditioning and pre-writes.", **THREAD_LIMITS),
        ]
        | UnsetType
    ) = UNSET
    precondition_qd: (
        Annotated[
            int,
            one_number("precondition_qd", "Queue depth of preconditioning and pre-writes.", **DEPTH_LIMITS),
        ]
        | UnsetType
    ) = UNSET
    precondition_passes: (
        Annotated[
            float,
            one_number(
                "precondition_passes",
                "Times the user capacity written first in 128 KiB sequential writes.",
                ge=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    tracking_seconds: Annotated[float, TRACKING_SECONDS] | UnsetType = UNSET
    max_rounds: Annotated[int, MAX_ROUNDS] | UnsetType = UNSET
    prewrite_shortest_seconds: (
        Annotated[float, seconds("prewrite_shortest_ns", "Pre-write at least this long before each round.")]
        | UnsetType
    ) = UNSET
    prewrite_longest_seconds: (
        Annotated[float, seconds("prewrite_longest_ns", "Pre-write at most this long before each round.")]
        | UnsetType
    ) = UNSET
    prewrite_capacity_pct: (
        Annotated[
            float,
            one_number(
                "prewrite_capacity_pct",
                "End a pre-write when this share of the user capacity is written, in per cent.",
                gt=0,
                le=100_000,
            ),
        ]
        | UnsetType
    ) = UNSET
    art_limit_ms: (
        Annotated[
            float,
            sets(
                "art_limit_ns",
                "The MaxIOPS point has an average response time below this.",
                readers.milliseconds_ns,
                readers.milliseconds_text,
                gt=0,
                le=1_000_000,
            ),
        ]
        | UnsetType
    ) = UNSET
    plateau_pct: (
        Annotated[
            float,
            one_number(
                "plateau_pct",
                "Take as MaxIOPS the point of least demand within this many per cent of the highest IOPS.",
                ge=0,
                le=100,
            ),
        ]
        | UnsetType
    ) = UNSET
    mid_points: (
        Annotated[int, one_number("mid_points", "MidIOPS points between MaxIOPS and MinIOPS.", ge=1, le=47)]
        | UnsetType
    ) = UNSET
    histogram_prewrite_seconds: (
        Annotated[float, seconds("histogram_prewrite_ns", "Length of the pre-writes of each histogram.")]
        | UnsetType
    ) = UNSET
    histogram_seconds: Annotated[float, HISTOGRAM_SECONDS] | UnsetType = UNSET
    capture: (
        Annotated[bool, switch("capture", "Keep every completion time of the histograms in files.")]
        | UnsetType
    ) = UNSET


class CompositeParameters(DemandParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Composite block size workload (PTS 13)."""


class DemandIntensityParameters(DemandParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Demand intensity and response time histogram (PTS 14)."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    workload: (
        Annotated[
            WorkloadWord | WorkloadTable,
            one_workload(f"Access pattern: {NAMES}, or order, size and mix as in RND 8KiB RW65."),
        ]
        | UnsetType
    ) = UNSET

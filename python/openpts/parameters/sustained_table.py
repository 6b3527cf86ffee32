"""The parameters of the test of sustained performance."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from openpts.fields.annotations import (
    DEPTH_LIMITS,
    QD,
    SEGMENTS,
    TC,
    THREAD_LIMITS,
    one_block_size,
    one_number,
    one_workload,
    seconds,
)
from openpts.fields.setting import Setting, changes
from openpts.fields.workload_table import WorkloadTable, WorkloadWord
from openpts.parameters.common_table import CommonParameters
from openpts.procedures.extended.sustained.conditions import SHORT_FIGURES, Claim

_Value = Annotated[float, Meta(gt=0)]


class ClaimsTable(Struct, frozen=True, forbid_unknown_fields=True):
    """What the drive's data sheet says."""

    sequential_write_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB W, MB/s.")] | UnsetType = UNSET
    sequential_read_mb_per_s: Annotated[_Value, Meta(description="SEQ 128 KiB R, MB/s.")] | UnsetType = UNSET
    random_write_iops: Annotated[_Value, Meta(description="RND 4 KiB W, IOPS.")] | UnsetType = UNSET
    random_read_iops: Annotated[_Value, Meta(description="RND 4 KiB R, IOPS.")] | UnsetType = UNSET


def _claims() -> Setting:
    def change(_name: str, table: ClaimsTable, conditions: Any) -> Any:
        claims = tuple(
            Claim(figure.name, float(value))
            for figure in SHORT_FIGURES.values()
            if (value := getattr(table, figure.claim_name)) is not UNSET
        )
        return replace(conditions, claims=claims)

    return Setting("claims", change, lambda _conditions: "")


class SustainedParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Sustained performance: figures of the fresh drive, a load, the same figures again."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    sequential_tc: (
        Annotated[int, one_number("sequential_tc", "Thread count of sequential stimuli.", **THREAD_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_qd: (
        Annotated[int, one_number("sequential_qd", "Queue depth of sequential stimuli.", **DEPTH_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_block_size: (
        Annotated[
            str,
            one_block_size("sequential_block_size_bytes", "Block size of the sequential figures.", "128KiB"),
        ]
        | UnsetType
    ) = UNSET
    random_block_size: (
        Annotated[
            str,
            one_block_size("random_block_size_bytes", "Block size of the random figures.", "4KiB"),
        ]
        | UnsetType
    ) = UNSET
    figure_seconds: Annotated[float, seconds("figure_ns", "Length of each short figure.")] | UnsetType = UNSET
    span_pct: (
        Annotated[
            float,
            one_number("span_pct", "Per cent of the active range that the figures use.", gt=0, le=100),
        ]
        | UnsetType
    ) = UNSET
    workload: Annotated[WorkloadWord | WorkloadTable, one_workload("What the load applies.")] | UnsetType = (
        UNSET
    )
    drive_fills: (
        Annotated[
            float,
            one_number(
                "drive_fills",
                "End the load when this many times the user capacity are written.",
                gt=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_seconds: (
        Annotated[float, seconds("longest_ns", "End the load after this time, if that comes first.")]
        | UnsetType
    ) = UNSET
    claims: (
        Annotated[
            ClaimsTable,
            changes(_claims(), "A value of the drive's data sheet, to compare with the measured one."),
        ]
        | UnsetType
    ) = UNSET

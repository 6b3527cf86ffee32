"""The parameters of the sweeps of data entropy and of the share of writes."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import (
    DEPTH_LIMITS,
    QD,
    SEGMENTS,
    TC,
    THREAD_LIMITS,
    one_block_size,
    one_number,
)
from openpts.parameters.common_table import CommonParameters
from openpts.parameters.list_settings import listed, numbers

_ENTROPY = Meta(ge=0, le=100)


class EntropyParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Entropy and write-share sweeps: each level is measured on the way up and again on the way down."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    sequential_tc: (
        Annotated[int, one_number("sequential_tc", "Thread count of sequential writes.", **THREAD_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_qd: (
        Annotated[int, one_number("sequential_qd", "Queue depth of sequential writes.", **DEPTH_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_block_size: (
        Annotated[
            str,
            one_block_size("sequential_block_size_bytes", "Block size of sequential writes.", "128KiB"),
        ]
        | UnsetType
    ) = UNSET
    random_block_size: (
        Annotated[
            str,
            one_block_size("random_block_size_bytes", "Block size of random writes and mixes.", "4KiB"),
        ]
        | UnsetType
    ) = UNSET
    precondition_passes: (
        Annotated[
            float,
            one_number(
                "precondition_passes",
                "Times the user capacity written before the sequential sweep and before the random ones.",
                ge=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    entropies_pct: (
        Annotated[
            list[Annotated[float, _ENTROPY]],
            listed(
                "entropies_pct",
                "Entropy of what is written, as per cent of that of random bytes.",
                lambda name, values: readers.without_repeats(name, tuple(values)),
                lambda value: f"{value:g}",
            ),
        ]
        | UnsetType
    ) = UNSET
    write_pcts: (
        Annotated[
            list[Annotated[int, readers.SHARE]],
            numbers("write_pcts", "Mixes as per cent of writes, in the order of the way up."),
        ]
        | UnsetType
    ) = UNSET

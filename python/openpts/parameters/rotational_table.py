"""The parameters of the test of rotational disks."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import DEPTH_LIMITS, THREAD_LIMITS, one_block_size, one_number
from openpts.parameters.common_table import CommonParameters
from openpts.parameters.list_settings import numbers

_MOST_ZONES = 1024


class RotationalParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Rotational disks: throughput and IOPS over the zones."""

    zones: (
        Annotated[int, one_number("zones", "Number of equal zones of the range.", ge=1, le=_MOST_ZONES)]
        | UnsetType
    ) = UNSET
    qds: (
        Annotated[
            list[Annotated[int, readers.DEPTH]],
            numbers("qds", "Queue depths of random accesses, one thread each."),
        ]
        | UnsetType
    ) = UNSET
    sequential_tc: (
        Annotated[int, one_number("sequential_tc", "Thread count of sequential accesses.", **THREAD_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_qd: (
        Annotated[int, one_number("sequential_qd", "Queue depth of sequential accesses.", **DEPTH_LIMITS)]
        | UnsetType
    ) = UNSET
    sequential_block_size: (
        Annotated[
            str,
            one_block_size("sequential_block_size_bytes", "Block size of sequential accesses.", "1MiB"),
        ]
        | UnsetType
    ) = UNSET
    random_block_size: (
        Annotated[str, one_block_size("random_block_size_bytes", "Block size of random accesses.", "4KiB")]
        | UnsetType
    ) = UNSET

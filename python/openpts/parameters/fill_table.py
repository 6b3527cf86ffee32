"""The parameters of the test that fills a drive once."""

from collections.abc import Iterable
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import (
    DEPTH_LIMITS,
    QD,
    TC,
    THREAD_LIMITS,
    one_block_size,
    one_number,
    seconds,
)
from openpts.parameters.common_table import CommonParameters
from openpts.parameters.list_settings import listed
from openpts.procedures.extended.fill.conditions import IdleTime
from openpts.units import NS_PER_S

_IDLE = Meta(ge=0, le=365 * 24 * 3600)
_LEVEL = Meta(ge=0, le=100)


def _idle_times(name: str, values: Iterable[float]) -> tuple[IdleTime, ...]:
    return readers.without_repeats(name, tuple(IdleTime(round(value * NS_PER_S)) for value in values))


def _levels(name: str, values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(sorted(readers.without_repeats(name, tuple(values))))


class FillParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Fill curve: the range filled once, idle times with writes behind them, and bursts by fill level."""

    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    sequential_tc: (
        Annotated[int, one_number("sequential_tc", "Thread count of the fill.", **THREAD_LIMITS)] | UnsetType
    ) = UNSET
    sequential_qd: (
        Annotated[int, one_number("sequential_qd", "Queue depth of the fill.", **DEPTH_LIMITS)] | UnsetType
    ) = UNSET
    sequential_block_size: (
        Annotated[
            str,
            one_block_size("sequential_block_size_bytes", "Block size of the fill.", "128KiB"),
        ]
        | UnsetType
    ) = UNSET
    random_block_size: (
        Annotated[
            str,
            one_block_size("random_block_size_bytes", "Block size of the bursts.", "4KiB"),
        ]
        | UnsetType
    ) = UNSET
    step_pct: (
        Annotated[
            float, one_number("step_pct", "Per cent of the range in a step of the fill.", ge=0.5, le=50)
        ]
        | UnsetType
    ) = UNSET
    idle_times_seconds: (
        Annotated[
            list[Annotated[float, _IDLE]],
            listed(
                "idle_times",
                "Idle times, in their order; each is followed by writes. 0 is none.",
                _idle_times,
                lambda time: f"{time.idle_ns / NS_PER_S:.9g}",
            ),
        ]
        | UnsetType
    ) = UNSET
    rewrite_pct: (
        Annotated[
            float,
            one_number(
                "rewrite_pct", "Per cent of the range written again after each idle time.", gt=0, le=100
            ),
        ]
        | UnsetType
    ) = UNSET
    levels_pct: (
        Annotated[
            list[Annotated[float, _LEVEL]],
            listed(
                "levels_pct",
                "Fill levels at which bursts come, as per cent of the range; in rising order.",
                _levels,
                lambda level: f"{level:g}",
            ),
        ]
        | UnsetType
    ) = UNSET
    burst_seconds: Annotated[float, seconds("burst_ns", "Length of each burst.")] | UnsetType = UNSET

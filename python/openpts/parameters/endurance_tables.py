"""The parameters of the tests that heat a drive up and use it up: thermal and lifetime."""

from typing import Annotated, Final

from msgspec import UNSET, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import QD, TC, one_block_size, one_number, seconds, switch
from openpts.fields.parsing import amount_bytes
from openpts.fields.setting import as_it_is, sets
from openpts.parameters.common_table import CommonParameters

_COLDEST_C: Final = -60
_HOTTEST_C: Final = 150
_LONGEST_WORDS: Final = 200

_BLOCK_SIZE = one_block_size("block_size_bytes", "Block size of the sequential transfers.", "128KiB")


class ThermalParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Thermal throttling: a cold run, a warm run and a duty cycle of sequential writes."""

    block_size: Annotated[str, _BLOCK_SIZE] | UnsetType = UNSET
    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    precondition_passes: (
        Annotated[
            float,
            one_number(
                "precondition_passes",
                "Times the user capacity written before the first rest, so that a full cache isn't taken for "
                "heat.",
                ge=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    cool_c: (
        Annotated[
            float,
            one_number(
                "cool_c",
                "Begin the cold run at this temperature of the drive; otherwise when it stops cooling.",
                ge=_COLDEST_C,
                le=_HOTTEST_C,
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_cooling_seconds: (
        Annotated[float, seconds("longest_cooling_ns", "Idle at most this long to cool the drive.")]
        | UnsetType
    ) = UNSET
    look_seconds: (
        Annotated[float, seconds("look_ns", "Read the log of the idle drive at this interval.")] | UnsetType
    ) = UNSET
    load_seconds: (
        Annotated[float, seconds("load_ns", "Longest time of the cold run, and of the warm run.")] | UnsetType
    ) = UNSET
    stable_minutes: (
        Annotated[
            int,
            one_number(
                "stable_minutes",
                "End a run sooner when the drive throttles and its speed was stable for this many minutes.",
                ge=2,
                le=10_000,
            ),
        ]
        | UnsetType
    ) = UNSET
    rest_seconds: (
        Annotated[float, seconds("rest_ns", "Idle time before the warm run, and before the duty cycle.")]
        | UnsetType
    ) = UNSET
    busy_seconds: (
        Annotated[float, seconds("busy_ns", "Writes of the duty cycle from one idle time to the next.")]
        | UnsetType
    ) = UNSET
    idle_seconds: (
        Annotated[float, seconds("idle_ns", "Idle time of the duty cycle after each of its writes.")]
        | UnsetType
    ) = UNSET
    duty_seconds: (
        Annotated[float, seconds("duty_ns", "Length of the duty cycle, busy and idle together.")] | UnsetType
    ) = UNSET
    ambient_c: (
        Annotated[
            float,
            one_number(
                "ambient_c",
                "Temperature of the air around the drive, as you measured it, for the report.",
                ge=_COLDEST_C,
                le=_HOTTEST_C,
            ),
        ]
        | UnsetType
    ) = UNSET
    airflow: (
        Annotated[
            str,
            sets(
                "airflow",
                "How the drive is cooled, in words, for the report.",
                as_it_is,
                max_length=_LONGEST_WORDS,
                examples=["heat sink, fan at 1 m/s"],
            ),
        ]
        | UnsetType
    ) = UNSET


class LifetimeParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Lifetime: how many drive cycles, and what ends them sooner. Each uses the drive up a little."""

    block_size: Annotated[str, _BLOCK_SIZE] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    cycles: (
        Annotated[
            int,
            one_number(
                "drive_cycles",
                "Write and read the whole range this many times. USES THE DRIVE UP: a few thousand end its "
                "life.",
                ge=1,
                le=1_000_000,
            ),
        ]
        | UnsetType
    ) = UNSET
    write_limit: (
        Annotated[
            str,
            sets(
                "write_limit_bytes",
                "End when this test has written this much.",
                amount_bytes,
                readers.size_text,
                examples=["100TB"],
            ),
        ]
        | UnsetType
    ) = UNSET
    wear_limit_pct: (
        Annotated[
            float,
            one_number(
                "wear_limit_pct",
                "End when the drive's log reports this share of its rated life as used; 100 is all of it.",
                gt=0,
                le=1000,
            ),
        ]
        | UnsetType
    ) = UNSET
    longest_seconds: (
        Annotated[float, seconds("longest_ns", "End with the cycle in which this much time has passed.")]
        | UnsetType
    ) = UNSET
    verify: Annotated[bool, switch("verify", "Compare all data read with what was written.")] | UnsetType = (
        UNSET
    )

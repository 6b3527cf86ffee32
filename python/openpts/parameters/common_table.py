"""The parameters of every test."""

from typing import Annotated, Literal

from msgspec import UNSET, Struct, UnsetType

from openpts.fields import readers
from openpts.fields.annotations import STEP_SECONDS, TIME_SCALE, switch
from openpts.fields.setting import sets


class CommonParameters(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Parameters of every test."""

    time_scale: Annotated[float | str, TIME_SCALE] | UnsetType = UNSET
    step_seconds: Annotated[float, STEP_SECONDS] | UnsetType = UNSET
    write_cache: (
        Annotated[
            Literal["enabled", "disabled"],
            sets(
                "write_cache_enabled",
                "State of the volatile write cache.",
                lambda _name, word: word == "enabled",
                lambda enabled: "enabled" if enabled else "disabled",
            ),
        ]
        | UnsetType
    ) = UNSET
    active_range: (
        Annotated[
            float | str,
            sets(
                "active_range",
                "Per cent of the LBAs to use: 75 for those from the first on, or start and end as 25:75.",
                readers.active_range,
                readers.active_range_text,
                examples=[75, "25:75"],
            ),
        ]
        | UnsetType
    ) = UNSET
    data_pattern: (
        Annotated[
            str,
            sets(
                "data",
                "What is written: random, random-once, zero, pattern:HEX, or entropy:PCT[,dup:PCT] for data "
                "that can be compressed.",
                readers.data_of,
                readers.data_word,
                examples=["random", "zero", "pattern:deadbeef", "entropy:46"],
            ),
        ]
        | UnsetType
    ) = UNSET
    secondary_metrics: (
        Annotated[bool, switch("secondary_metrics", "Report the optional pages of the specification.")]
        | UnsetType
    ) = UNSET

"""The parameters of tests of rounds: IOPS, throughput, latency (PTS 7 to 9)."""

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
    one_block_size,
    one_number,
)
from openpts.fields.setting import changes
from openpts.parameters import list_settings
from openpts.parameters.common_table import CommonParameters


class RoundParameters(CommonParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Parameters of a test of rounds over R/W mixes and block sizes (PTS 7, 8, 9)."""

    tc: Annotated[int, TC] | UnsetType = UNSET
    qd: Annotated[int, QD] | UnsetType = UNSET
    precondition_passes: (
        Annotated[
            float,
            one_number(
                "precondition_passes", "Times the user capacity written before the rounds.", ge=0, le=1000
            ),
        ]
        | UnsetType
    ) = UNSET
    precondition_tc: (
        Annotated[
            int,
            one_number(
                "precondition_tc", "Thread count of preconditioning; that of the test.", **THREAD_LIMITS
            ),
        ]
        | UnsetType
    ) = UNSET
    precondition_qd: (
        Annotated[
            int,
            one_number(
                "precondition_qd", "Queue depth of preconditioning; that of the test.", **DEPTH_LIMITS
            ),
        ]
        | UnsetType
    ) = UNSET
    read_pcts: (
        Annotated[
            list[Annotated[int, readers.SHARE]],
            list_settings.numbers(
                "read_pcts", "R/W mixes of a round as per cent of reads, in the order of the loop."
            ),
        ]
        | UnsetType
    ) = UNSET
    block_sizes: (
        Annotated[
            list[str],
            list_settings.listed(
                "block_sizes_bytes",
                "Block sizes of a round, in the order of the loop: 4KiB,64KiB.",
                readers.block_sizes_bytes,
                readers.size_text,
                examples=[["1MiB", "4KiB"]],
            ),
        ]
        | UnsetType
    ) = UNSET
    max_rounds: Annotated[int, MAX_ROUNDS] | UnsetType = UNSET
    round_seconds: (
        Annotated[
            float,
            changes(
                list_settings.round_length(),
                "Length of one round, shared out to its elements.",
                **LENGTH_LIMITS,
            ),
        ]
        | UnsetType
    ) = UNSET


class IopsParameters(RoundParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """IOPS test (PTS 7)."""

    segments: Annotated[str, SEGMENTS] | UnsetType = UNSET
    precondition_block_size: (
        Annotated[
            str,
            one_block_size("precondition_block_size_bytes", "Block size of preconditioning."),
        ]
        | UnsetType
    ) = UNSET
    tracking: (
        Annotated[
            list[str],
            changes(
                list_settings.tracking(),
                "Elements on which steady state is judged: RND 4KiB RW0,RND 64KiB RW65.",
                min_length=1,
                max_length=64,
                examples=[["RND 4KiB RW0"]],
            ),
        ]
        | UnsetType
    ) = UNSET


class ThroughputParameters(RoundParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Throughput test (PTS 8): each block size has a cycle of its own, from the purge on."""

    block_sizes: (
        Annotated[
            list[str],
            changes(
                list_settings.throughput_sizes(),
                "Block sizes, one test after the other, each from the purge on: 128KiB,1MiB.",
                min_length=1,
                max_length=64,
                examples=[["128KiB", "1MiB"]],
            ),
        ]
        | UnsetType
    ) = UNSET


class LatencyParameters(IopsParameters, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Latency test (PTS 9)."""

    histogram_seconds: Annotated[float, HISTOGRAM_SECONDS] | UnsetType = UNSET
    nines: Annotated[int, NINES] | UnsetType = UNSET

"""What is written, in fio's options."""

from typing import Final

from openpts.engine.fio.operations import FioOptions
from openpts.engine.fio.refusal import refusal
from openpts.vocabulary.data_pattern import (
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)
from openpts.vocabulary.stimulus import Stimulus

_MOST_PATTERN_BYTES: Final = 512


def data_options(stimulus: Stimulus) -> FioOptions:
    """How buffers are filled before each write; nothing without writes.

    Everything but RandomOnce is filled again for each write: fio reads into the same buffers, and would
    else write what it has read.
    """
    if not stimulus.operations.write:
        return {}
    match stimulus.data:
        case RandomData():
            return {"refill_buffers": "1"}
        case RandomOnce():
            if stimulus.operations.read:
                raise refusal("data made once beside reads", "it would write what it has read")
            return {"refill_buffers": "0"}
        case ZeroData():
            return {"zero_buffers": "1", "refill_buffers": "1"}
        case PatternData(pattern):
            if not 0 < len(pattern) <= _MOST_PATTERN_BYTES:
                raise refusal(f"pattern of {len(pattern)} bytes", f"it takes 1 to {_MOST_PATTERN_BYTES}")
            return {"buffer_pattern": f"0x{pattern.hex()}", "refill_buffers": "1"}
        case ReducibleData() as data:
            return {"refill_buffers": "1"} | _compression(data) | _duplicates(data, stimulus)
        case VerifiedData():
            raise refusal("LBA, generation and checksum in every sector as we write them")


def _compression(data: ReducibleData) -> FioOptions:
    if data.entropy_pct == 100:
        return {}
    if data.entropy_pct != int(data.entropy_pct):
        raise refusal("entropy of a fraction of a per cent", f"{data.entropy_pct:g} %")
    return {
        "buffer_compress_percentage": f"{100 - data.entropy_pct:.0f}",
        "buffer_compress_chunk": str(data.granule_bytes),
    }


def _duplicates(data: ReducibleData, stimulus: Stimulus) -> FioOptions:
    if not data.duplicate_pct:
        return {}
    if data.duplicate_pct != int(data.duplicate_pct):
        raise refusal("duplicates of a fraction of a per cent", f"{data.duplicate_pct:g} %")
    if {size.block_size_bytes for size in stimulus.block_sizes} != {data.granule_bytes}:
        raise refusal("duplicates of parts of a block", "its granule is the block")
    return {"dedupe_percentage": f"{data.duplicate_pct:.0f}"}

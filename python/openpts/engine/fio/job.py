"""A step as the text of a fio job: one section for each thread, with its part and its seed.

Fio knows no limit for all threads together: an amount is dealt out to the threads beforehand. A run time is
written in microseconds: fio reads ``runtime=0.5`` as no limit, and with ``time_based`` it takes no notice of
``number_ios``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from openpts.engine.fio.offsets import Part, left_out_bytes, parts, placement_options
from openpts.engine.fio.operations import FioOptions, block_size_options, operation_options, refusal
from openpts.errors import UsageError
from openpts.units import KIB, NS_PER_US
from openpts.vocabulary.data import (
    PatternData,
    RandomData,
    RandomOnce,
    ReducibleData,
    VerifiedData,
    ZeroData,
)
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import (
    AccessPattern,
    Batches,
    Burst,
    Capped,
    ClosedLoop,
    DutyCycle,
    FixedRate,
    Poisson,
    Step,
    Stimulus,
    ThinkTime,
)
from openpts.vocabulary.stop import ByteAmount, DriveFills, Duration, FirstOf, IoCount, Steady

_MOST_PATTERN_BYTES: Final = 512


def _data_options(stimulus: Stimulus) -> FioOptions:
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


_NOT_OPEN: Final = "its latency counts from the submission, and not from the planned moment"


def _pacing_options(stimulus: Stimulus) -> FioOptions:
    """``thinktime`` where it means the same; nothing for the closed loop."""
    match stimulus.pacing:
        case ClosedLoop():
            return {}
        case ThinkTime(think_ns):
            if stimulus.qd > 1:
                raise refusal(
                    "think time at a queue depth above 1", "it waits for all that is outstanding first"
                )
            if think_ns % NS_PER_US:
                raise refusal("think time of a fraction of a microsecond")
            return {"thinktime": str(think_ns // NS_PER_US)}
        case FixedRate():
            raise refusal("open loop at a fixed rate", _NOT_OPEN)
        case Poisson():
            raise refusal("open loop of Poisson arrivals", _NOT_OPEN)
        case Burst():
            raise refusal("bursts at fixed times")
        case Batches() | Capped():
            raise refusal("batches and capped rates of one stream")
        case DutyCycle():
            raise refusal("duty cycle from the step's start on", "its pause begins when the queue is empty")


def _ending_options(step: Step, parts: Sequence[Part], target: TargetFacts) -> tuple[FioOptions, ...]:
    """The options for each thread. Raises UsageError on rules that fio has not."""
    rules = step.stop.rules if isinstance(step.stop, FirstOf) else (step.stop,)
    if isinstance(step.stop, FirstOf) and step.stop.at_least_ns:
        raise refusal("least time before a stop rule applies")
    if step.stimulus is None or not rules:
        raise UsageError("nothing ends the step")
    threads: list[FioOptions] = [{} for _ in parts]
    for rule in rules:
        match rule:
            case Duration(duration_ns):
                shares = [{"runtime": _microseconds(duration_ns)}] * len(parts)
            case IoCount(ios):
                shares = _counts(step.stimulus, ios, parts)
            case ByteAmount(amount_bytes):
                shares = _amounts(step.stimulus, amount_bytes, parts, target)
            case DriveFills(fills):
                amount_bytes = round(fills * target.user_capacity_bytes)
                shares = _amounts(step.stimulus, amount_bytes, parts, target)
            case Steady():
                raise refusal("end at a steady state in the specification's sense")
        threads = [_stricter(known, share) for known, share in zip(threads, shares, strict=True)]
    return tuple(_finished(step, options) for options in threads)


def _finished(step: Step, options: FioOptions) -> FioOptions:
    limited = options.keys() & {"io_size", "number_ios"}
    if step.ramp_ns and limited:
        raise refusal("ramp-up before an amount or a number of I/Os", "it counts those of the ramp")
    if "number_ios" in options and "io_size" not in options:
        # fio ends after one pass over the part, unless a larger amount is asked for
        largest = 0 if step.stimulus is None else step.stimulus.block_size_bytes
        options["io_size"] = str(int(options["number_ios"]) * largest)
    if not limited:
        options["time_based"] = "1"
    if step.ramp_ns:
        options["ramp_time"] = _microseconds(step.ramp_ns)
    return options


def _counts(stimulus: Stimulus, ios: int, parts: Sequence[Part]) -> list[FioOptions]:
    return [{"number_ios": str(share)} for share in _dealt(ios, stimulus, parts)]


def _amounts(
    stimulus: Stimulus, amount_bytes: int, parts: Sequence[Part], target: TargetFacts
) -> list[FioOptions]:
    """Whole blocks of one size; of several sizes, bytes, which the last I/O of a thread may exceed."""
    if left_out_bytes(stimulus, target):
        raise refusal(
            "shorter last block of a sequence",
            "the range is no multiple of the block, and an amount would not cover its end",
        )
    if len(stimulus.block_sizes) > 1:
        return [{"io_size": str(share)} for share in _dealt(amount_bytes, stimulus, parts)]
    block = stimulus.block_size_bytes
    blocks = -(-amount_bytes // block)
    return [{"io_size": str(share * block)} for share in _dealt(blocks, stimulus, parts)]


def _dealt(total: int, stimulus: Stimulus, parts: Sequence[Part]) -> list[int]:
    """Shares of the threads: equal at random, by the size of their parts in sequence."""
    in_sequence = stimulus.access_pattern is AccessPattern.SEQUENTIAL
    weights = [part.size_bytes if in_sequence else 1 for part in parts]
    edges = [sum(weights[:thread]) * total // sum(weights) for thread in range(len(parts) + 1)]
    shares = [after - before for before, after in pairwise(edges)]
    if min(shares) == 0:
        raise UsageError(f"an end after so little leaves nothing to do for some of TC {stimulus.tc} threads")
    return shares


def _stricter(known: FioOptions, new: FioOptions) -> FioOptions:
    """Both rules: of two of one kind, the one that comes first."""
    return known | {
        name: value if name not in known else min(known[name], value, key=_leading_number)
        for name, value in new.items()
    }


def _leading_number(value: str) -> int:
    return int(value.removesuffix("us"))


def _microseconds(duration_ns: int) -> str:
    if duration_ns <= 0:
        raise UsageError("a time of 0 does nothing")
    return f"{-(-duration_ns // NS_PER_US)}us"


class FioPath(StrEnum):
    """A way to issue I/O, by the name of fio's engine."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"
    PSYNC = "psync"


@dataclass(frozen=True, slots=True)
class JobSetting:
    """What does not change from step to step. ``filename`` is the target as the fio process opens it.

    ``cpu``: the processor that all threads are pinned to; None: wherever the scheduler puts them.
    """

    filename: str
    direct: bool
    path: FioPath
    seed: int
    cpu: int | None = None


def job_text(step: Step, number: int, setting: JobSetting, target: TargetFacts) -> str:
    """The job file of the engine's step of that number. Raises UsageError on what fio cannot express."""
    if len(step.streams) > 1:
        raise refusal("several streams at once")
    stimulus = step.stimulus
    if stimulus is None:
        raise UsageError("an idle gap is no job")
    if setting.path is FioPath.PSYNC and stimulus.qd > 1:
        raise refusal("queue depth above 1 with synchronous calls", "ask for io_uring or libaio")
    places = parts(stimulus, target)
    common = (
        _common(setting, stimulus)
        | operation_options(stimulus, target)
        | block_size_options(stimulus, target.sector_bytes)
        | placement_options(stimulus, target)
        | _pacing_options(stimulus)
        | _data_options(stimulus)
    )
    text = _section("global", common)
    for thread, (part, ending) in enumerate(zip(places, _ending_options(step, places, target), strict=True)):
        own = {
            "offset": str(part.offset_bytes),
            "size": str(part.size_bytes),
            "randseed": str(_seed(setting.seed, number, thread)),
        }
        text += _section(f"thread{thread}", own | ending)
    return text


# The native engine's: so many I/Os, and so many bytes, are submitted at once.
_BATCH_IOS: Final = 8
_BATCH_BYTES: Final = 128 * KIB


def _common(setting: JobSetting, stimulus: Stimulus) -> FioOptions:
    """Nothing around the I/O: no files made, no cache dropped, no random map; bins of total latencies.

    fio measures the parts of the latency, too: without them it does not time syncs.
    """
    options = {
        "filename": setting.filename,
        "allow_file_create": "0",
        "invalidate": "0",
        "direct": str(int(setting.direct)),
        "ioengine": setting.path.value,
        "thread": "1",
        "norandommap": "1",
        # or else it takes no notice of randseed
        "randrepeat": "0",
        "random_generator": "tausworthe64",
        "scramble_buffers": "0",
        "lat_percentiles": "1",
        "clat_percentiles": "0",
    }
    if setting.cpu is not None:
        options["cpus_allowed"] = str(setting.cpu)
    if setting.path is not FioPath.PSYNC:
        options["iodepth"] = str(stimulus.qd)
    if setting.path is FioPath.IO_URING:
        # as the native engine uses the ring: what is submitted with one system call, and waited for
        batch_ios = max(1, min(_BATCH_IOS, stimulus.qd, _BATCH_BYTES // stimulus.block_size_bytes))
        options["iodepth_batch_submit"] = str(batch_ios)
        options["iodepth_batch_complete_min"] = "1"
        options["iodepth_batch_complete_max"] = str(stimulus.qd)
        options["registerfiles"] = "1"
        # trims have no buffers, and fio fails to register none
        if not stimulus.operations.trim:
            options["fixedbufs"] = "1"
    return options


def _seed(seed: int, number: int, thread: int) -> int:
    """Another one for each step and thread: with the same seed fio draws the same offsets again."""
    digest = blake2b(f"{seed}/{number}/{thread}".encode(), digest_size=8).digest()
    # odd, because fio multiplies it: no factor of it may be lost; and below the sign bit
    return int.from_bytes(digest) >> 2 | 1


def _section(name: str, options: FioOptions) -> str:
    lines = [f"{option}={value}" for option, value in options.items()]
    return "\n".join([f"[{name}]", *lines, "", ""])

"""A step as a fio job file: a section for each stream, or for each thread of one whose threads differ."""

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from hashlib import blake2b
from math import gcd, lcm
from typing import Final

from msgspec import UNSET, Struct

from openpts.engine.program import IOPRIO_CLASSES
from openpts.errors import UsageError
from openpts.escaped_text import visible_line
from openpts.units import KIB, NS_PER_US
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import (
    Batches,
    Burst,
    Capped,
    CapUnit,
    ClosedLoop,
    DutyCycle,
    FixedRate,
    PatternData,
    Poisson,
    RandomData,
    RandomOnce,
    ReducibleData,
    Step,
    Stimulus,
    Stream,
    ThinkTime,
    VerifiedData,
    ZeroData,
)
from openpts_fio.engine.stream_options import (
    FioOptions,
    block_size_options,
    ending_options,
    microseconds,
    operation_options,
    parts,
    placement_options,
    refusal,
)

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
_OTHER_PACING: Final = {
    FixedRate: ("open loop at a fixed rate", _NOT_OPEN),
    Poisson: ("open loop of Poisson arrivals", _NOT_OPEN),
    Burst: ("bursts at fixed times", ""),
    DutyCycle: ("duty cycle from the step's start on", "its pause begins when the queue is empty"),
}


def _pacing_options(stimulus: Stimulus) -> FioOptions:
    """``thinktime`` and rates where they mean the same; nothing for the closed loop."""
    match stimulus.pacing:
        case ClosedLoop():
            return {}
        case ThinkTime(think_ns):
            if stimulus.qd > 1:
                raise refusal(
                    "think time at a queue depth above 1", "it waits for all that is outstanding first"
                )
            return _think_time(think_ns)
        case Batches(ios, rest_ns, cap):
            if stimulus.operations.flush or stimulus.operations.fsync:
                raise refusal("batches with flushes or fsyncs in them", "it counts only what moves data")
            # or else it counts completions, and issues more in the meantime
            counted = {"thinktime_blocks_type": "issue"} if stimulus.qd > 1 else {}
            rates = {} if cap is None else _rates(stimulus, cap.per_s, cap.unit)
            return _think_time(rest_ns) | {"thinktime_blocks": str(ios)} | counted | rates
        case Capped(per_s, unit):
            return _rates(stimulus, per_s, unit)
        case other:
            raise refusal(*_OTHER_PACING[type(other)])


def _think_time(think_ns: int) -> FioOptions:
    if think_ns % NS_PER_US:
        raise refusal("think time of a fraction of a microsecond")
    return {"thinktime": str(think_ns // NS_PER_US)}


def _rates(stimulus: Stimulus, per_s: float, unit: CapUnit) -> FioOptions:
    """The part of the cap of each operation and thread: in I/Os where it is a whole number of them.

    Else in whole bytes a second, rounded down. Of several sizes fio counts I/Os in units of the smallest.
    """
    weights = stimulus.operations
    transfers = [weight for weight in (weights.read, weights.write, weights.trim) if weight]
    syncs = weights.flush + weights.fsync if unit is CapUnit.IOS else 0
    each = [Fraction(per_s) * weight / (sum(transfers) + syncs) / stimulus.tc for weight in transfers]
    if unit is CapUnit.IOS and len(stimulus.block_sizes) == 1 and all(rate.denominator == 1 for rate in each):
        return {"rate_iops": ",".join(str(rate) for rate in each)}
    if unit is CapUnit.IOS:
        sizes = sum(size.weight for size in stimulus.block_sizes)
        total_bytes = sum(size.block_size_bytes * size.weight for size in stimulus.block_sizes)
        each = [rate * total_bytes / sizes for rate in each]
    if min(each) < 1:
        raise refusal("rates below a byte a second for each operation and thread")
    return {"rate": ",".join(str(int(rate)) for rate in each)}


class FioPath(StrEnum):
    """A way to issue I/O, by the name of fio's engine."""

    IO_URING = "io_uring"
    LIBAIO = "libaio"
    PSYNC = "psync"


class JobSetting(Struct, frozen=True):
    """What does not change from step to step. ``filename`` is the target as fio opens it.

    ``cpu``: the processor that all threads are pinned to; None: wherever the scheduler puts them.
    """

    filename: str
    direct: bool
    path: FioPath
    seed: int
    cpu: int | None = None


def job_file(step: Step, setting: JobSetting, target: TargetFacts, number: int = 0) -> str:
    """The step as a job file, whose sections are named after its streams.

    Steps of another ``number`` draw other offsets. Raises UsageError on what fio cannot express.
    """
    if step.is_idle:
        raise UsageError("an idle gap is no job")
    jobs: list[tuple[str, FioOptions]] = []
    for stream, name in zip(step.streams, _names(step), strict=True):
        try:
            jobs += _jobs(step, stream, name, setting, target)
        except UsageError as error:
            which = f"stream {visible_line(name)}: " if len(step.streams) > 1 else ""
            raise UsageError(f"{which}{error}") from error
    shared = set.intersection(*(set(options.items()) for _, options in jobs)) if len(jobs) > 1 else set()
    common = dict(option for option in jobs[0][1].items() if option in shared)
    text = _section("global", _common(setting, number) | common)
    for name, options in jobs:
        text += _section(name, dict(option for option in options.items() if option not in shared))
    return text


def _names(step: Step) -> list[str]:
    if len(step.streams) == 1:
        return [step.streams[0].name or "job"]
    return [stream.name or f"job{number}" for number, stream in enumerate(step.streams, start=1)]


# as its parser reads the head of a section
_MOST_NAME_BYTES: Final = 250


def _jobs(
    step: Step, stream: Stream, name: str, setting: JobSetting, target: TargetFacts
) -> list[tuple[str, FioOptions]]:
    """Job sections of one stream, each a name with its options."""
    if stream.replay is not None:
        raise UsageError(
            "fio cannot replay a schedule of openpts: use --engine native, or write the trace for fio with "
            "`openpts trace convert --to fio_iolog`"
        )
    stimulus = stream.stimulus
    if setting.path is FioPath.PSYNC and stimulus.qd > 1:
        raise refusal("queue depth above 1 with synchronous calls", "ask for io_uring or libaio")
    if name == "global" or set(name) & set("[]") or not name.isprintable():
        raise refusal(f"job named {name!r}", "its sections have other names")
    if len(name.encode()) > _MOST_NAME_BYTES:
        raise refusal(f"job with a name of more than {_MOST_NAME_BYTES} bytes")
    places = parts(stimulus, target)
    common = (
        operation_options(stimulus, target)
        | block_size_options(stimulus, target.sector_bytes)
        | _queue_options(setting, stimulus)
        | placement_options(stimulus, target)
        | _pacing_options(stimulus)
        | _data_options(stimulus)
        | _stream_options(stream)
    )
    if stream.share:
        common["flow"] = str(_flow(step, stream))
    endings = ending_options(step, stream, places, target)
    threads = [
        {"offset": str(part.offset_bytes), "size": str(part.size_bytes)} | ending
        for part, ending in zip(places, endings, strict=True)
    ]
    together = _together(threads)
    if together is not None:
        return [(name, common | together)]
    return [(f"{name}.{thread}", common | own) for thread, own in enumerate(threads, start=1)]


def _together(threads: Sequence[FioOptions]) -> FioOptions | None:
    """The options of all threads in one section; None unless they differ by equal steps of their offset."""
    offsets = [int(options["offset"]) for options in threads]
    distance = offsets[1] - offsets[0] if len(threads) > 1 else 0
    together = threads[0]
    for thread, options in enumerate(threads):
        if options != together | {"offset": str(offsets[0] + thread * distance)}:
            return None
    if len(threads) > 1:
        together = together | {"numjobs": str(len(threads))}
    return together | ({"offset_increment": str(distance)} if distance else {})


def _stream_options(stream: Stream) -> FioOptions:
    if stream.stimulus.placement_handle is not UNSET:
        raise refusal("placement handles that openpts has sent to it", "use the native engine")
    if stream.stimulus.atomic:
        raise refusal("atomic writes that openpts has sent to it", "use the native engine")
    options = {}
    if stream.delay_ns:
        options["startdelay"] = microseconds(stream.delay_ns)
    if stream.priority is not None:
        options["prioclass"] = str(IOPRIO_CLASSES[stream.priority.priority_class])
        options["prio"] = str(stream.priority.level)
    return options


_MOST_FLOW: Final = 1000


def _flow(step: Step, stream: Stream) -> int:
    """The part of each of its threads in the I/Os of all streams with shares, which fio counts by job."""
    coupled = [other for other in step.streams if other.share]
    if stream.delay_ns and len(coupled) > 1:
        raise refusal("share of a stream with a start delay", "the others would wait for its start")
    threads = lcm(*(other.stimulus.tc for other in coupled))
    flows = [other.share * threads // other.stimulus.tc for other in coupled]
    divisor = gcd(*flows)
    if max(flows) // divisor > _MOST_FLOW:
        raise refusal(f"shares of more than {_MOST_FLOW} for each thread", f"{max(flows) // divisor}")
    return stream.share * threads // stream.stimulus.tc // divisor


# The native engine's: so many I/Os, and so many bytes, are submitted at once.
_BATCH_IOS: Final = 8
_BATCH_BYTES: Final = 128 * KIB


def _common(setting: JobSetting, number: int) -> FioOptions:
    """Nothing around the I/O: no files made, no cache dropped, no random map; bins of total latencies.

    fio measures the parts of the latency, too: without them it does not time syncs.
    """
    if not setting.filename.isprintable():
        raise refusal("target whose name is not printable")
    options = {
        "filename": setting.filename.replace(":", r"\:"),
        "allow_file_create": "0",
        "invalidate": "0",
        "direct": str(int(setting.direct)),
        "ioengine": setting.path.value,
        "thread": "1",
        "norandommap": "1",
        # or else it takes no notice of randseed
        "randrepeat": "0",
        "randseed": str(_seed(setting.seed, number)),
        "random_generator": "tausworthe64",
        "scramble_buffers": "0",
        "lat_percentiles": "1",
        "clat_percentiles": "0",
    }
    if setting.cpu is not None:
        options["cpus_allowed"] = str(setting.cpu)
    if setting.path is FioPath.IO_URING:
        options["registerfiles"] = "1"
    return options


def _queue_options(setting: JobSetting, stimulus: Stimulus) -> FioOptions:
    """The queue depth, and the ring used as the native engine does."""
    options: FioOptions = {}
    if setting.path is not FioPath.PSYNC:
        options["iodepth"] = str(stimulus.qd)
    if setting.path is FioPath.IO_URING:
        # what is submitted with one system call, and waited for
        batch_ios = max(1, min(_BATCH_IOS, stimulus.qd, _BATCH_BYTES // stimulus.block_size_bytes))
        options["iodepth_batch_submit"] = str(batch_ios)
        options["iodepth_batch_complete_min"] = "1"
        options["iodepth_batch_complete_max"] = str(stimulus.qd)
        # trims have no buffers, and fio fails to register none
        if not stimulus.operations.trim:
            options["fixedbufs"] = "1"
    return options


def _seed(seed: int, number: int) -> int:
    """Another one for each step, or it would draw the same offsets; fio multiplies it for each thread."""
    digest = blake2b(f"{seed}/{number}".encode(), digest_size=8).digest()
    # odd, because fio multiplies it: no factor of it may be lost; and below the sign bit
    return int.from_bytes(digest) >> 2 | 1


def _section(name: str, options: FioOptions) -> str:
    lines = [f"{option}={value}" for option, value in options.items()]
    return "\n".join([f"[{name}]", *lines, "", ""])

"""A step as the text of a fio job: one section for each thread, with its part and its seed."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Final

from openpts.engine.fio.data import data_options
from openpts.engine.fio.ending import ending_options
from openpts.engine.fio.offsets import parts, placement_options
from openpts.engine.fio.operations import FioOptions, block_size_options, operation_options
from openpts.engine.fio.pacing import pacing_options
from openpts.engine.fio.refusal import refusal
from openpts.errors import UsageError
from openpts.units import KIB
from openpts.vocabulary.facts import TargetFacts
from openpts.vocabulary.stimulus import Step, Stimulus


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
        | pacing_options(stimulus)
        | data_options(stimulus)
    )
    text = _section("global", common)
    for thread, (part, ending) in enumerate(zip(places, ending_options(step, places, target), strict=True)):
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

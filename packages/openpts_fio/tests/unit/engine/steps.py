"""Steps and stimuli for the tests of the fio engine, all defaults but what is named."""

from typing import Any

from openpts.units import MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import BlockSize, Duration, OperationWeights, Step, Stimulus, StopRule
from openpts_fio.engine.job import FioPath, JobSetting, job_file

CAPACITY = 64 * MIB
DRIVE = TargetFacts(TargetKind.BLOCK, "drive", "/dev/drive", CAPACITY, 512)
FILE = TargetFacts(TargetKind.FILE, "file", "/tmp/file", CAPACITY, 512)
SECOND = Duration.seconds(1)


def stimulus(
    sizes: dict[int, int] | int = 4096, random_pct: int = 100, tc: int = 1, qd: int = 1, **others: Any
) -> Stimulus:
    """Random 4 KiB reads; operations are given by name, everything else as the Stimulus has it."""
    names = OperationWeights.__struct_fields__
    weights = {name: others.pop(name) for name in names if name in others} or {"read": 1}
    parts = {sizes: 1} if isinstance(sizes, int) else sizes
    block_sizes = tuple(BlockSize(size, weight) for size, weight in parts.items())
    return Stimulus(
        random_pct=random_pct,
        operations=OperationWeights(**weights),
        tc=tc,
        qd=qd,
        **{"block_sizes": block_sizes, **others},
    )


def job(
    wanted: Stimulus,
    stop: StopRule = SECOND,
    target: TargetFacts = DRIVE,
    ramp_ns: int = 0,
    path: FioPath = FioPath.IO_URING,
    number: int = 0,
) -> str:
    """The job of a single stream."""
    return step_job(Step.of(wanted, stop, ramp_ns), target, path, number)


def step_job(
    step: Step, target: TargetFacts = DRIVE, path: FioPath = FioPath.IO_URING, number: int = 0
) -> str:
    """The job file of a step."""
    return job_file(step, JobSetting("/proc/self/fd/7", direct=True, path=path, seed=1), target, number)


def sections(text: str) -> dict[str, dict[str, str]]:
    """A job read back: options by section."""
    found: dict[str, dict[str, str]] = {}
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            current = found.setdefault(line.strip("[]"), {})
        else:
            name, _, value = line.partition("=")
            assert name not in current, f"{name} is given twice"
            current[name] = value
    return found


def options(text: str) -> dict[str, str]:
    """All options of a job of one section."""
    found = sections(text)
    assert set(found) == {"global", "job"}
    return found["global"] | found["job"]


def threads(text: str) -> list[dict[str, str]]:
    """All options of each thread of a job, as fio starts them."""
    found = sections(text)
    shared = found.pop("global")
    started = []
    for section in found.values():
        own = shared | section
        for thread in range(int(own.pop("numjobs", "1"))):
            offset = int(own["offset"]) + thread * int(own.get("offset_increment", "0"))
            started.append(own | {"offset": str(offset)})
    return started

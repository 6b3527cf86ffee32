"""Steps and stimuli for the tests of the fio engine, all defaults but what is named."""

from typing import Any

from openpts.engine.fio.job import FioPath, JobSetting, job_text
from openpts.units import MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import BlockSize, OperationWeights, Step, Stimulus
from openpts.vocabulary.stop import Duration, StopRule

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
    return Stimulus(
        random_pct=random_pct,
        block_sizes=tuple(BlockSize(size, weight) for size, weight in parts.items()),
        operations=OperationWeights(**weights),
        tc=tc,
        qd=qd,
        **others,
    )


def job(
    wanted: Stimulus,
    stop: StopRule = SECOND,
    target: TargetFacts = DRIVE,
    ramp_ns: int = 0,
    path: FioPath = FioPath.IO_URING,
    number: int = 0,
) -> str:
    """The job's text."""
    setting = JobSetting("/proc/self/fd/7", direct=True, path=path, seed=1)
    return job_text(Step.of(wanted, stop, ramp_ns), number, setting, target)


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
    """All options of a job of one thread."""
    found = sections(text)
    assert set(found) == {"global", "thread0"}
    return found["global"] | found["thread0"]

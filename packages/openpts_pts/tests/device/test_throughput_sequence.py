"""The sequence of the throughput test never starts again: what the engine did, read from its capture."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.engine.native import NativeEngine
from openpts.engine.options import CaptureSettings, Demand, NativeOptions
from openpts.units import KIB, MIB, NS_PER_MS
from openpts.vocabulary.drive_class import DriveClass
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.requests import Answer, Apply, Script
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import Step
from openpts_pts.tp.script import script as throughput_test
from openpts_pts.tp.script import standard_conditions

parquet = pytest.importorskip("pyarrow.parquet")

CAPACITY, SECTOR, BLOCK = 8 * MIB, 512, 128 * KIB
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, SECTOR)


@pytest.fixture
def descriptor(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    yield fd
    os.close(fd)


def carried_out(engine: NativeEngine, script: Script) -> list[Sample]:
    """All samples of the script's steps, each of which is captured."""
    samples: list[Sample] = []
    answer: Answer = None
    try:
        while True:
            request = script.send(answer)
            answer = None
            if isinstance(request, Apply):
                steps = [Step.of(step.stimulus, step.stop, capture=True) for step in request.steps]
                engine.submit(steps)
                answer = tuple(sample for _ in steps if (sample := engine.poll(20)) is not None)
                samples += answer
    except StopIteration:
        engine.finish()
    return samples


@pytest.mark.needs("io_uring")
@pytest.mark.proves("PTS-TP-16")
@pytest.mark.parametrize("drive_class", list(DriveClass))
def test_it_goes_on_from_step_to_step_and_wraps_at_the_end_of_the_range(
    descriptor: int, tmp_path: Path, drive_class: DriveClass
) -> None:
    """Reads take it up where writes stopped, writes where reads did, also from round to round."""
    conditions = standard_conditions(drive_class, seed=3)
    short = replace(conditions, minute_ns=20 * NS_PER_MS, max_rounds=3, block_sizes_bytes=(BLOCK,))
    options = NativeOptions(capture=CaptureSettings(tmp_path, SECTOR))
    engine = NativeEngine(descriptor, FACTS, Demand(tc=1, qd=32, block_size_bytes=BLOCK), 7, options)
    samples = carried_out(engine, throughput_test(short, CAPACITY))
    assert [sample.read.ios > 0 for sample in samples] == [False, *[True, False] * 3]

    found = [Counter[int]() for _ in samples]
    for path in tmp_path.glob("*.parquet"):
        columns = parquet.read_table(path, columns=["step", "lba"]).to_pydict()
        for step, lba in zip(columns["step"], columns["lba"], strict=True):
            found[step][lba * SECTOR // BLOCK] += 1
    blocks = CAPACITY * (100 if drive_class is DriveClass.ENTERPRISE else 75) // 100 // BLOCK
    place = 0
    for offsets, sample in zip(found, samples, strict=True):
        assert sample.ios > 0
        assert offsets == Counter((place + n) % blocks for n in range(sample.ios))
        place = (place + sample.ios) % blocks
    assert sum(sample.ios for sample in samples[1:]) > blocks  # so that it came round at least once

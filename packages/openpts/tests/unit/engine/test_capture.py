"""The capture of every I/O, read by another implementation of Parquet than the one that writes it."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from openpts.engine.native import NativeEngine
from openpts.engine.options import CaptureSettings, Demand, NativeOptions
from openpts.errors import EngineUnavailableError, UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, IoCount, Step, Stimulus

pytestmark = pytest.mark.on_disk

parquet = pytest.importorskip("pyarrow.parquet")

CAPACITY = 8 * MIB
SECTOR = 512
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, SECTOR)
DEMAND = Demand(tc=2, qd=8, block_size_bytes=MIB)
IOS = 3000
STEPS = [
    Step.of(
        Stimulus.of(AccessPattern.RANDOM, size, read_pct, 2, 8, ActiveRange()), IoCount(IOS), capture=True
    )
    for size, read_pct in ((4 * KIB, 65), (16 * KIB, 0))
]


@pytest.fixture
def descriptor(tmp_path) -> Iterator[int]:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    yield fd
    os.close(fd)


def measured(descriptor: int, capture: CaptureSettings | None) -> tuple[NativeEngine, list[Sample]]:
    options = NativeOptions(capture=capture)
    engine = NativeEngine(descriptor, FACTS, DEMAND, 7, options)
    engine.submit(STEPS)
    samples = [engine.poll(20) for _ in STEPS]
    return engine, [sample for sample in samples if sample is not None]


@pytest.mark.needs("io_uring")
@pytest.mark.parametrize("lba_bytes", [SECTOR, 4 * KIB])
def test_the_files_hold_every_io_of_the_samples(descriptor, tmp_path, lba_bytes) -> None:
    engine, samples = measured(descriptor, CaptureSettings(tmp_path, lba_bytes))
    summary = engine.finish()
    files = list(tmp_path.glob("*.parquet"))
    assert (summary.ios, summary.discarded_ios, summary.files) == (2 * IOS, 0, len(files))
    assert summary.bytes_written == sum(path.stat().st_size for path in files)
    columns: dict[str, list[Any]] = parquet.read_table(files).to_pydict()
    assert max(columns["lba"]) < CAPACITY // lba_bytes
    if lba_bytes == SECTOR:
        assert all(lba % (4 * KIB // SECTOR) == 0 for lba in columns["lba"])
    assert set(columns["thread"]) == {0, 1}
    rows = list(zip(columns["step"], columns["operation"], columns["latency_ns"], strict=True))
    for index, sample in enumerate(samples):
        for operation, expected in (("read", sample.read), ("write", sample.write)):
            latencies = [ns for step, name, ns in rows if (step, name) == (index, operation)]
            assert len(latencies) == expected.ios
            assert sum(latencies) == expected.latency_sum_ns
            assert max(latencies, default=None) == expected.latency_max_ns


def test_the_folder_is_made_with_the_first_step_that_asks_for_it(descriptor, tmp_path) -> None:
    folder = tmp_path / "captures"
    engine = NativeEngine(
        descriptor, FACTS, DEMAND, 7, NativeOptions(capture=CaptureSettings(folder, SECTOR))
    )
    engine.submit([replace(STEPS[0], capture=False)])
    assert engine.poll(20) is not None
    assert not folder.exists()
    engine.submit(STEPS[1:])
    assert engine.poll(20) is not None
    summary = engine.finish()
    assert (summary.ios, summary.files) == (IOS, len(list(folder.iterdir())))
    (path,) = folder.iterdir()
    assert set(parquet.read_table(path).column("step").to_pylist()) == {1}


def test_a_place_for_no_folder_is_told_before_anything_runs(descriptor, tmp_path) -> None:
    with pytest.raises(EngineUnavailableError, match="capture can't begin"):
        measured(descriptor, CaptureSettings(tmp_path / "missing" / "captures", SECTOR))
    assert not (tmp_path / "missing").exists()


def test_without_a_capture_no_step_is_captured(descriptor) -> None:
    with pytest.raises(UsageError, match="step 1: its I/Os are to be captured"):
        measured(descriptor, None)
    engine = NativeEngine(descriptor, FACTS, DEMAND, 7)
    engine.submit([replace(STEPS[0], capture=False)])
    assert engine.poll(20) is not None
    assert engine.finish() is None

"""Every way to an NVMe drive of an emulator: data that were written come back, and what is missing is told.

The machine must say with LAB=1 that it is a virtual one whose drives may be overwritten, and have queues to
poll (the kernel's parameter nvme.poll_queues).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.guard.guard import open_target
from openpts.device.targets.open_target import OpenTarget
from openpts.device.targets.target import BlockTarget
from openpts.engine.contract import Engine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import UsageError
from openpts.runner.native_engine import native_engine
from openpts.system_files import SystemRoots
from openpts.units import KIB
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.sample import Sample, StepState
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    DriveFills,
    Duration,
    IoCount,
    OperationWeights,
    Step,
    Stimulus,
    VerifiedData,
)

SERIAL = "LABNVME0000"
DRIVE = Path("/dev/nvme0n1")
WRITE = replace(
    Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 2, 4, ActiveRange()), data=VerifiedData(generation=3)
)
READ = replace(
    WRITE,
    operations=OperationWeights(read=1),
    random_pct=100,
    block_sizes=(BlockSize(4 * KIB), BlockSize(16 * KIB)),
)
REAL_PATHS = [path for path in IoPath if path is not IoPath.NOOP]

pytestmark = pytest.mark.skipif(
    os.environ.get("LAB") != "1" or not DRIVE.exists(), reason="needs a virtual machine with an NVMe drive"
)


@contextmanager
def drive(roots: SystemRoots) -> Iterator[OpenTarget]:
    with open_target(BlockTarget(DRIVE), Consent(confirm_serial=SERIAL), roots) as target:
        yield target


def sample_of(engine: Engine, step: Step) -> Sample:
    engine.submit([step])
    sample = engine.poll(60)
    assert sample is not None
    return sample


@pytest.mark.parametrize("path", REAL_PATHS)
def test_what_is_written_on_one_path_is_read_on_it_and_on_the_next(path: IoPath, roots: SystemRoots) -> None:
    options = NativeOptions(io_path=path)
    following = REAL_PATHS[(REAL_PATHS.index(path) + 1) % len(REAL_PATHS)]
    with drive(roots) as target:
        with native_engine(target, Demand(2, 4, 128 * KIB), 1, options) as engine:
            written = sample_of(engine, Step.of(WRITE, DriveFills(1)))
            assert (written.state, written.write.bytes) == (
                StepState.COMPLETE,
                target.facts.user_capacity_bytes,
            )
            read = sample_of(engine, Step.of(READ, Duration.seconds(0.3)))
            assert (read.state, read.errors) == (StepState.COMPLETE, ())
        with native_engine(target, Demand(2, 4, 128 * KIB), 1, NativeOptions(io_path=following)) as engine:
            read = sample_of(engine, Step.of(READ, Duration.seconds(0.3)))
            assert (read.state, read.errors) == (StepState.COMPLETE, ())
            assert read.ios > 0


@pytest.mark.parametrize("path", [IoPath.NVME_PASSTHROUGH, IoPath.SYNC])
def test_trims_and_flushes_are_commands_of_the_path(path: IoPath, roots: SystemRoots) -> None:
    mixed = replace(READ, operations=OperationWeights(write=4, trim=1, flush=1))
    with (
        drive(roots) as target,
        native_engine(target, Demand(2, 4, 128 * KIB), 1, NativeOptions(io_path=path)) as engine,
    ):
        sample = sample_of(engine, Step.of(mixed, IoCount(960)))
    assert sample.state is StepState.COMPLETE
    counts = {name: operation.ios for name, operation in sample.operations.items()}
    assert counts == {"read": 0, "write": 640, "trim": 160, "flush": 160, "fsync": 0}


def test_what_cannot_be_polled_for_is_refused_before_anything_runs(roots: SystemRoots) -> None:
    flushing = replace(WRITE, operations=OperationWeights(write=1, flush=1))
    options = NativeOptions(io_path=IoPath.IO_URING_POLLED)
    with drive(roots) as target, native_engine(target, Demand(2, 4, 128 * KIB), 1, options) as engine:
        with pytest.raises(UsageError, match="flush"):
            engine.submit([Step.of(flushing, IoCount(10))])
        assert engine.progress().steps_begun == 0

"""Which way the probe chooses on real block devices, and that the work is done on it."""

import errno
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.sample import StepState
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, DriveFills, Duration, Step, Stimulus
from tests.support.processes import until

CAPACITY = 64 * MIB
CONTROL = Path("/sys/class/zram-control")


@pytest.fixture
def zram(cleanup: ExitStack) -> Path:
    """A drive in compressed memory: it can't be asked not to wait, so a ring gives each I/O to a worker."""
    if os.geteuid() != 0 or not CONTROL.is_dir():
        pytest.skip("needs root and the kernel's zram")
    number = (CONTROL / "hot_add").read_text().strip()
    cleanup.callback(until, lambda: _removed(number), f"zram{number} is let go")
    Path(f"/sys/block/zram{number}/disksize").write_text(str(CAPACITY))
    return Path(f"/dev/zram{number}")


def _removed(number: str) -> bool:
    """A program that looks at all drives may have it open for a moment."""
    try:
        (CONTROL / "hot_remove").write_text(number)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        return False
    return True


def engine_on(drive: Path, cleanup: ExitStack, options: NativeOptions) -> NativeEngine:
    descriptor = os.open(drive, os.O_RDWR | os.O_DIRECT)
    cleanup.callback(os.close, descriptor)
    facts = TargetFacts(TargetKind.BLOCK, drive.name, str(drive), CAPACITY, 4 * KIB)
    engine = NativeEngine(descriptor, facts, Demand(2, 4, 128 * KIB), 1, options)
    cleanup.callback(engine.stop)
    return engine


def test_a_target_that_always_waits_gets_a_system_call_for_each_io(zram: Path, cleanup: ExitStack) -> None:
    engine = engine_on(zram, cleanup, NativeOptions())
    assert engine.facts["io_path"].value == IoPath.SYNC
    assert engine.facts["nowait"].value == "no"
    fill = Stimulus.of(AccessPattern.SEQUENTIAL, 128 * KIB, 0, 2, 4, ActiveRange())
    read = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 2, 4, ActiveRange())
    engine.submit([Step.of(fill, DriveFills(1)), Step.of(read, Duration.seconds(0.2))])
    for expected_bytes in (CAPACITY, None):
        sample = engine.poll(60)
        assert sample is not None
        assert sample.state is StepState.COMPLETE
        assert sample.ios > 0
        if expected_bytes is not None:
            assert sample.bytes == expected_bytes


def test_a_target_that_answers_later_gets_a_ring(
    attach_memory: Callable[[int], Path], cleanup: ExitStack
) -> None:
    engine = engine_on(attach_memory(CAPACITY), cleanup, NativeOptions())
    assert engine.facts["nowait"].value == "yes"
    assert engine.facts["io_path"].value == IoPath.IO_URING


@pytest.mark.parametrize("path", [IoPath.IO_URING, IoPath.SYNC])
def test_the_operator_may_have_it_otherwise(zram: Path, cleanup: ExitStack, path: IoPath) -> None:
    engine = engine_on(zram, cleanup, NativeOptions(io_path=path))
    assert (engine.facts["io_path"].value, engine.facts["io_path"].source) == (path, "--io-path")
    engine.submit(
        [Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 50, 2, 4, ActiveRange()), Duration.seconds(0.1))]
    )
    sample = engine.poll(30)
    assert sample is not None
    assert sample.state is StepState.COMPLETE

"""What an engine refuses it refuses when asked, by the step's position and the value, and nothing runs."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.engine.contract import Engine
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import UsageError
from openpts.units import KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    BlockSize,
    Duration,
    FirstOf,
    IoCount,
    Segments,
    Step,
    Stimulus,
    Zone,
    Zones,
)
from openpts_fio.engine.engine import FioEngine, FioProgram
from openpts_sim.presets import load_preset
from openpts_sim.simulated_engine import SimulatedDrive
from tests.support.oracle_presets import write_oracle

pytestmark = pytest.mark.on_disk

CAPACITY = 8 * MIB
SECTOR = 512
FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", CAPACITY, SECTOR)
DEMAND = Demand(tc=2, qd=4, block_size_bytes=MIB)
SOUND = Step.of(Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 2, 4, ActiveRange()), Duration.seconds(1))


def with_stimulus(**changes: object) -> Step:
    assert SOUND.stimulus is not None
    return Step.of(replace(SOUND.stimulus, **changes), SOUND.stop)


EVERYWHERE = {
    "1000 B is (no|not a) multiple of the sector size 512 B": with_stimulus(block_sizes=(BlockSize(1000),)),
    "active range -5:50 is not within 0:100": with_stimulus(active_range=ActiveRange(-5, 50)),
    "active range 0:120 is not within 0:100": with_stimulus(active_range=ActiveRange(0, 120)),
    "active range 60:60 is not within 0:100": with_stimulus(active_range=ActiveRange(60, 60)),
    "no (aligned )?block of 1048576 B": with_stimulus(
        block_sizes=(BlockSize(MIB),), active_range=ActiveRange(0, 1)
    ),
    "[Ss]egments": with_stimulus(placement=Segments(100, MIB)),
    "sum to 90|do not sum to 100": with_stimulus(placement=Zones((Zone(1, 50), Zone(1, 40)))),
    "-1|is less than one outstanding I/O": with_stimulus(qd=-1),
    "capture": Step.of(SOUND.stimulus, SOUND.stop, capture=True),
    "duration": Step.of(None, IoCount(1)),
    "nothing ends": Step.of(SOUND.stimulus, FirstOf(())),
}
OURS = {
    "TC 3 is not within 1 to 2": with_stimulus(tc=3),
    "QD 5 is not within 1 to 4": with_stimulus(qd=5),
    "block size 2097152 B exceeds the buffers of 1048576 B": with_stimulus(block_sizes=(BlockSize(2 * MIB),)),
}


@pytest.fixture
def descriptor(tmp_path) -> Iterator[int]:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, CAPACITY)
    yield fd
    os.close(fd)


def native(descriptor: int, io_path: IoPath) -> Engine:
    return NativeEngine(descriptor, FACTS, DEMAND, 7, NativeOptions(io_path=io_path))


def fio(descriptor: int) -> Engine:
    return FioEngine(descriptor, FACTS, 7, program=FioProgram("/nonexistent/fio", "fio-3.33"))


def simulated(folder: Path, scale: int) -> Engine:
    preset = load_preset(str(write_oracle(folder, [1000.0], by="seconds")))
    drive = SimulatedDrive(preset, path="sim:test", capacity_bytes=CAPACITY * scale, scale=scale, seed=1)
    return drive.engine(DEMAND, 7, NativeOptions())


ENGINES: dict[str, Callable[[int, Path], Engine]] = {
    "io_uring": lambda descriptor, _: native(descriptor, IoPath.IO_URING),
    "sync": lambda descriptor, _: native(descriptor, IoPath.SYNC),
    "simulated": lambda _, folder: simulated(folder, 1),
    "scaled": lambda _, folder: simulated(folder, 3),
    "fio": lambda descriptor, _: fio(descriptor),
}


@pytest.fixture(
    params=[
        pytest.param(name, marks=pytest.mark.needs("io_uring")) if name == "io_uring" else name
        for name in ENGINES
    ]
)
def engine(request, descriptor: int, tmp_path) -> Iterator[Engine]:
    opened = ENGINES[request.param](descriptor, tmp_path)
    yield opened
    opened.stop()


@pytest.mark.parametrize("says", EVERYWHERE | OURS)
def test_check_refuses_what_submit_refuses(engine, says) -> None:
    if isinstance(engine, FioEngine) and says in OURS:
        pytest.skip("fio makes what each step needs")
    steps = [SOUND, (EVERYWHERE | OURS)[says]]
    with pytest.raises(UsageError, match=f"^step 2: .*({says})") as checked:
        engine.check(steps)
    with pytest.raises(UsageError) as submitted:
        engine.submit(steps)
    assert str(submitted.value) == str(checked.value)
    assert engine.poll(0) is None
    assert engine.progress().steps_begun == 0


def test_what_check_takes_it_does_not_run(engine) -> None:
    engine.check([SOUND, Step.of(None, Duration(1))])
    assert engine.poll(0.05) is None
    assert engine.progress().steps_begun == 0

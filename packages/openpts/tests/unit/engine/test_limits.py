"""What the kernel does not allow is told when the engine is opened, with its figures: never in the middle."""

import os
import resource
import subprocess
import sys

import pytest

from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import EngineUnavailableError
from openpts.units import GIB, KIB, MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind

pytestmark = pytest.mark.on_disk

FACTS = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", 8 * MIB, 512)
NOBODY = 65534

# Opens the engine in a process of its own, after a limit was set and, as root, all rights were dropped.
PROGRAM = """
import os, resource, sys
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, IoPath, NativeOptions
from openpts.errors import EngineUnavailableError
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Step, Stimulus
from openpts.vocabulary.stimulus import IoCount

descriptor, limit, soft, hard, path, tc, qd, block_size_bytes = map(eval, sys.argv[1:])
resource.setrlimit(limit, (soft, hard))
if os.getuid() == 0:
    os.setresuid({nobody}, {nobody}, {nobody})
facts = TargetFacts(TargetKind.FILE, "file:scratch", "scratch", 8 * 1024**2, 512)
try:
    engine = NativeEngine(descriptor, facts, Demand(tc, qd, block_size_bytes), 7, NativeOptions(io_path=path))
except EngineUnavailableError as error:
    print("refused:", error)
    sys.exit()
stimulus = Stimulus.of(AccessPattern.RANDOM, 4096, 50, tc, qd, ActiveRange())
engine.submit([Step.of(stimulus, IoCount(10 * tc * qd))])
sample = engine.poll(20)
print("ran:", sample.ios, engine.facts["registered_buffers"].value if path != "sync" else "")
engine.stop()
""".replace("{nobody}", str(NOBODY))


@pytest.fixture
def descriptor(tmp_path) -> int:
    fd = os.open(tmp_path / "scratch", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, FACTS.user_capacity_bytes)
    return fd


def opened_with(descriptor: int, limit: int, most: tuple[int, int], path: IoPath, demand: Demand) -> str:
    arguments = (descriptor, limit, *most, f"IoPath({path.value!r})", demand.tc, demand.qd)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments), str(demand.block_size_bytes)],
        pass_fds=[descriptor],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "panicked" not in ended.stderr
    return ended.stdout


def test_threads_beyond_the_users_limit(descriptor) -> None:
    said = opened_with(descriptor, resource.RLIMIT_NPROC, (40, 40), IoPath.SYNC, Demand(8, 16, 4 * KIB))
    assert said.startswith("refused: thread ")
    assert " of 128 can't be started: Resource temporarily unavailable" in said
    assert "(ulimit -u) 40" in said


def test_open_files_beyond_the_hard_limit(descriptor) -> None:
    said = opened_with(descriptor, resource.RLIMIT_NOFILE, (100, 200), IoPath.SYNC, Demand(8, 16, 4 * KIB))
    assert said.startswith("refused: TC x QD of 128")
    assert "(ulimit -Hn) is 200" in said


def test_a_soft_limit_of_open_files_is_raised(descriptor) -> None:
    said = opened_with(descriptor, resource.RLIMIT_NOFILE, (100, 1000), IoPath.SYNC, Demand(8, 16, 4 * KIB))
    assert said.startswith("ran: 1280")


def test_address_space(descriptor) -> None:
    most = (4 * GIB, 4 * GIB)
    said = opened_with(descriptor, resource.RLIMIT_AS, most, IoPath.IO_URING, Demand(32, 128, MIB))
    assert said.startswith("refused: TC 32 and QD 128 with blocks of 1048576 B take 4294967296 B of buffers")
    assert "(ulimit -v)" in said


@pytest.mark.needs("io_uring")
def test_memory_that_must_not_be_locked_costs_the_registration_only(descriptor) -> None:
    # Room for the buffers of one thread and not of two.
    most = (3 * MIB, 3 * MIB)
    said = opened_with(descriptor, resource.RLIMIT_MEMLOCK, most, IoPath.IO_URING, Demand(2, 32, 64 * KIB))
    assert said == "ran: 640 no\n"


@pytest.mark.parametrize(
    ("demand", "path", "says"),
    [
        (Demand(1, 40_000, 4 * KIB), IoPath.IO_URING, "QD 40000 is more than the 32767 I/Os"),
        (Demand(2**31, 2**31, 512), IoPath.SYNC, "take 4611686018427387904 threads"),
        (Demand(2**32 - 1, 1, 512), IoPath.IO_URING, "take 4294967295 threads"),
        (Demand(1024, 32_767, 128 * MIB), IoPath.IO_URING, "B of memory are available"),
    ],
)
def test_a_demand_beyond_all_kernels(descriptor, demand, path, says) -> None:
    with pytest.raises(EngineUnavailableError, match=says):
        NativeEngine(descriptor, FACTS, demand, 7, NativeOptions(io_path=path))

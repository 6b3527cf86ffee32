"""A machine that runs out of memory under a run: it needs none, or is killed and leaves its record."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.tests.device.short_run import ROUNDS, measuring
from openpts.units import MIB
from openpts.vocabulary.sample import Phase

GROUPS = Path("/sys/fs/cgroup")
LIMIT_BYTES = 256 * MIB
LARGE = f"largest = bytearray({4 * LIMIT_BYTES})"


# With more threads, for system calls, a step may need a page more, and msgspec crashes where there is none.
@pytest.mark.needs("io_uring")
def test_a_run_goes_on_without_a_byte_of_new_memory(tmp_path: Path) -> None:
    """Threads, queues and buffers are there before the first step."""
    with measuring(tmp_path / "r1", tmp_path) as subject:
        resource.prlimit(subject.process.pid, resource.RLIMIT_AS, (MIB, MIB))
        errors = subject.ended()
    assert subject.process.returncode == 0, errors
    assert len(read_run(tmp_path / "r1").phase(Phase.ROUND)) == 2 * ROUNDS


@contextmanager
def little_memory() -> Iterator[Path]:
    """The file that takes processes into a control group of its own, with little memory."""
    root, limit = GROUPS / "memory", "memory.limit_in_bytes"
    if not root.is_dir():
        root, limit = GROUPS, "memory.max"
    group = root / f"openpts-memory-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error.strerror}")
    try:
        if not (group / limit).exists():
            pytest.skip("control groups here limit no memory")
        (group / limit).write_text(str(LIMIT_BYTES))
        yield group / "cgroup.procs"
    finally:
        group.rmdir()


@pytest.mark.slow
def test_a_run_that_the_kernel_kills_for_memory_leaves_its_record(tmp_path: Path) -> None:
    with little_memory() as members:
        inside = ("sh", "-c", f'echo $$ > {members}; exec "$@"', "sh")
        with measuring(tmp_path / "r1", tmp_path, prefix=inside) as subject:
            # it is the first to be killed when another one takes all memory
            Path(f"/proc/{subject.process.pid}/oom_score_adj").write_text("1000")
            subject.process.send_signal(signal.SIGSTOP)  # on a busy machine it would end before
            subprocess.run([*inside, sys.executable, "-c", LARGE], check=False)
            subject.ended()
    assert subject.process.returncode == -signal.SIGKILL
    stored = read_run(tmp_path / "r1")
    assert stored.manifest.state is RunState.RUNNING
    # a step is written while the next one runs
    assert len(stored.phase(Phase.ROUND)) >= 2 * subject.rounds_told - 1

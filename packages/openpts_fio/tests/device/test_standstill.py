"""openpts itself is stopped: by a signal, and by the freezer of its control group."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.vocabulary.sample import Phase
from tests.support.openpts_process import start_openpts

STOP_S = 2.0
FREEZER = Path("/sys/fs/cgroup/freezer")
UNIFIED = Path("/sys/fs/cgroup")


def stop_by_signal(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGSTOP)
    time.sleep(STOP_S)
    process.send_signal(signal.SIGCONT)


@contextmanager
def frozen_group() -> Iterator[tuple[Path, str, str, str]]:
    """A control group of its own, the file that freezes it, and the words for frozen and thawed."""
    if FREEZER.is_dir():
        root, words = FREEZER, ("freezer.state", "FROZEN", "THAWED")
    else:
        root, words = UNIFIED, ("cgroup.freeze", "1", "0")
    group = root / f"openpts-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error.strerror}")
    try:
        if not (group / words[0]).exists():
            pytest.skip("control groups here have no freezer")
        yield (group, *words)
    finally:
        group.rmdir()


def stop_by_freezer(process: subprocess.Popen[str]) -> None:
    with frozen_group() as (group, file, frozen, thawed):
        (group / "cgroup.procs").write_text(str(process.pid))
        (group / file).write_text(frozen)
        time.sleep(STOP_S)
        (group / file).write_text(thawed)
        (group.parent / "cgroup.procs").write_text(str(process.pid))


@pytest.mark.parametrize("stop", [stop_by_signal, stop_by_freezer])
def test_a_measurement_that_stood_still_says_so(
    tmp_path: Path, stop: Callable[[subprocess.Popen[str]], None]
) -> None:
    (tmp_path / "x").write_bytes(os.urandom(1 << 22))
    arguments = ("--seconds", "1.5", "--qd", "2", "--interval", "0.1", "--json")
    with start_openpts("io", "file:x", *arguments, cwd=tmp_path) as process:
        assert process.stderr is not None
        # the heading of the table stands above its first line: the step runs
        lines = iter(process.stderr.readline, "")
        assert any("in flight" in line for line in lines)
        stop(process)
        stdout, _ = process.communicate(timeout=60)
    result = json.loads(stdout)
    assert result["state"] == "complete"
    # within the tenth of a second between two looks, and however late a loaded machine lets them be
    assert result["standstill_seconds"] >= STOP_S - 0.2
    assert result["elapsed_seconds"] >= STOP_S


@pytest.mark.long("a round is stopped, and repeated")
def test_a_round_that_stood_still_is_repeated(tmp_path: Path) -> None:
    """Two rounds of two short points; the first is stopped, told, entered, and carried out again."""
    arguments = (
        *("--class", "client", "--step-seconds", "0.4", "--max-rounds", "2", "--precondition-passes", "1"),
        *("--read-pcts", "0", "--block-sizes", "64KiB,4KiB", "--tracking", "RND 4KiB RW0", "--tc", "1"),
        *("--qd", "4", "--out", "r", "--no-report", "--json"),
    )
    with start_openpts("run", "iops", "file:./x?size=64MiB", *arguments, cwd=tmp_path) as process:
        assert process.stderr is not None
        lines = []
        for line in iter(process.stderr.readline, ""):
            lines.append(line)
            if "WIPC done" in line:
                stop_by_signal(process)
                break
        _, rest = process.communicate(timeout=120)
    log = "".join(lines) + rest
    assert process.returncode in {0, 4}, log
    assert "openpts itself did not run for" in log
    run = read_run(tmp_path / "r")
    rounds = [(found.place.number, found.place.position) for found in run.phase(Phase.ROUND)]
    assert rounds == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert not any(found.sample.standstills for found in run.phase(Phase.ROUND))
    assert any("openpts itself did not run" in entry.used for entry in run.ledger)


FIO_IDLE = """
import os, sys, time
from openpts_fio.engine.engine import FioEngine
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.stimulus import Duration
descriptor = os.open(sys.argv[1], os.O_RDONLY)
engine = FioEngine(descriptor, TargetFacts("x", sys.argv[1], TargetKind.FILE, 1 << 22, 512, 512), 1)
for length_s in (4.0, 0.2):  # long enough for a busy machine to stop it in time
    engine.submit([Step.of(None, Duration.seconds(length_s))])
while engine.progress().step_elapsed_ns < 100_000_000:
    time.sleep(0.01)
print("began", flush=True)
for _ in range(2):
    while (sample := engine.poll(0.1)) is None:
        pass
    print(sample.standstill_ns, flush=True)
engine.stop()
"""


def test_a_wait_of_the_fio_engine_that_stood_still_says_so(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes(1 << 22))
    with subprocess.Popen(
        [sys.executable, "-c", FIO_IDLE, str(tmp_path / "x")], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "began\n"
        stop_by_signal(process)
        stood_still_ns, next_ns = process.communicate(timeout=60)[0].split()
    assert int(stood_still_ns) >= (STOP_S - 0.2) * 1e9
    assert next_ns == "0"

"""The whole machine stands still in a run, and openpts alone: no time of that is the drive's."""

import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.writer import DATABASE_NAME
from openpts.units import NS_PER_S
from openpts.vocabulary.phase import Phase
from tests.lab.machine import OPENPTS, lab_command, needs_lab

pytestmark = [needs_lab, pytest.mark.slow]

STOP_S = 3.0
LEAST_TOLD_NS = (STOP_S - 0.5) * NS_PER_S
TIMEOUT_S = 300

_SHORT = (
    "/dev/nvme0n1 --confirm-serial LABNVME0000 --class client --precondition-passes 0.1 --read-pcts 0 "
    "--tracking 'RND 4KiB RW0' --tc 1 --qd 4 --no-report"
)
_ROUNDS = "--step-seconds 1 --max-rounds 2 --block-sizes 64KiB,4KiB"
_HISTOGRAM = "--step-seconds 2 --max-rounds 1 --block-sizes 4KiB --histogram-seconds 6"


@dataclass(frozen=True)
class Kept:
    """A run and what it said."""

    folder: Path
    log: str

    @property
    def run(self) -> Run:
        return read_run(self.folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One machine: it is stopped in the first run, in the second the control group of openpts is frozen."""
    folder = tmp_path_factory.mktemp("standstills")
    script = f"""
        {OPENPTS} run iops {_SHORT} {_ROUNDS} --out {folder}/stopped > {folder}/stopped.log 2>&1 || exit 11
        {OPENPTS} run lat {_SHORT} {_HISTOGRAM} --out {folder}/frozen > {folder}/frozen.log 2>&1 &
        until grep -q 'histogram 1:' {folder}/frozen.log; do sleep 0.2; done
        sleep 1
        group=/sys/fs/cgroup/frozen
        mkdir $group && echo $! > $group/cgroup.procs || exit 12
        echo 1 > $group/cgroup.freeze
        sleep {STOP_S}
        echo 0 > $group/cgroup.freeze
        wait $! || exit 13
    """
    command = lab_command(folder, "--nvme", "512M", script=script, timeout_s=TIMEOUT_S)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as lab:
        try:
            wait_for("WIPC done", folder / "stopped.log", lab)
            stop_for_a_while(machine_of(lab.pid))
            said, _ = lab.communicate(timeout=TIMEOUT_S + 60)
        finally:
            lab.terminate()
    logs = "".join(path.read_text() for path in folder.glob("*.log"))
    assert lab.returncode == 0, said + logs
    return folder


def wait_for(word: str, log: Path, lab: subprocess.Popen[str]) -> None:
    give_up_s = time.monotonic() + TIMEOUT_S
    while not (log.exists() and word in log.read_text()):
        assert lab.poll() is None, lab.stdout and lab.stdout.read()
        assert time.monotonic() < give_up_s
        time.sleep(0.1)


def machine_of(lab: int) -> int:
    """The process of the virtual machine, which is a child of the lab."""
    (machine,) = (pid for pid in children(lab) if "qemu" in Path(f"/proc/{pid}/comm").read_text())
    return machine


def children(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())


def stop_for_a_while(process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    try:
        time.sleep(STOP_S)
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.fixture(scope="module")
def stopped(folder: Path) -> Kept:
    return Kept(folder / "stopped", (folder / "stopped.log").read_text())


@pytest.fixture(scope="module")
def frozen(folder: Path) -> Kept:
    return Kept(folder / "frozen", (folder / "frozen.log").read_text())


def test_a_round_in_which_the_machine_stood_still_is_repeated(stopped: Kept) -> None:
    run = stopped.run
    assert run.manifest.state is RunState.COMPLETE
    rounds = [(found.place.number, found.place.position) for found in run.phase(Phase.ROUND)]
    assert rounds == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert not any(found.sample.standstills for found in run.phase(Phase.ROUND))
    with closing(sqlite3.connect(stopped.folder / DATABASE_NAME)) as connection:
        first = connection.execute(
            "SELECT number, max(lasted_ns) FROM step JOIN standstill USING (step_id)"
            " WHERE state = 'repeated' AND part = 'round'"
        ).fetchone()
    assert first[0] == 1
    assert first[1] >= LEAST_TOLD_NS
    assert "openpts itself did not run for" in stopped.log
    told = [entry for entry in run.ledger if "openpts itself did not run" in entry.used]
    assert any(entry.used.startswith("round 1, ") and "repeated" in entry.effect for entry in told)


def test_a_histogram_in_which_openpts_was_frozen_keeps_its_mark(frozen: Kept) -> None:
    run = frozen.run
    assert run.manifest.state is RunState.COMPLETE
    marked = [found.sample for found in run.phase(Phase.HISTOGRAM) if found.sample.standstills]
    assert sum(sample.standstill_ns for sample in marked) >= LEAST_TOLD_NS
    assert any("run the test again" in line for line in frozen.log.splitlines() if "did not run for" in line)
    told = [entry for entry in run.ledger if "openpts itself did not run" in entry.used]
    assert any(entry.used.startswith("histogram") and "run the test again" in entry.effect for entry in told)

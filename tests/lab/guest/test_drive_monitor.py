"""The latency monitor of a served drive behind the kernel's own driver, in runs that end, or do not.

Runs inside the lab's machine, by tests/lab/test_outliers.py.
"""

import os
import shlex
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from openpts.record.health import ReadingPoint
from openpts.record.reader import read_run
from openpts.vocabulary.sample import Phase
from openpts_nvme.logs.page import LogReader, declared_logs
from openpts_nvme.outliers.causes import PREFIX
from openpts_nvme.outliers.pages import judged
from openpts_nvme.tests.unit.test_drive_monitor import FOUND
from openpts_testbench.overrides import read_overrides
from openpts_testbench.served_drive import Faults
from tests.lab.guest.connected_drive import connected, serial_of
from tests.lab.machine import ONE_ELEMENT, SHORT
from tests.support.forks import Forks

PLANTED_MS = 30
PRESET = """
name = "slow"
summary = "Slow at each hundredth I/O"
capacity_bytes = 64_000_000
sector_bytes = 512
purge = "works"
[oracle]
purge_s = 0.0
[oracle.rate]
by = "steps"
every = 1
iops = [10000.0]
""" + "".join(
    f"\n[[oracle.outliers]]\nio = {io}\nns = {PLANTED_MS}_000_000\n" for io in range(300, 20_000, 100)
)
HIDES = "".join(
    f"[[override]]\nlog = 0xC3\nat = {32 + 16 * bucket}\nbytes = '{'00' * 16}'\n" for bucket in range(4)
)
"""All counts are zero, whatever the drive did."""

pytestmark = pytest.mark.skipif(os.environ.get("LAB") != "1", reason="needs a virtual machine (LAB=1)")


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    found = Forks()
    yield found
    found.close()


def openpts(forks: Forks, words: str) -> tuple[int, str]:
    """Exit code and output."""
    code, out, err = forks.run(shlex.split(words), Path("/tmp"), os.environ, 900)
    return code, out + err


def run_on(node: Path, folder: Path, rest: str = "") -> str:
    how = f"--purge none --tc 1 --qd 1 --outliers 5 --out {folder} {rest}"
    return f"run iops {node} --confirm-serial {serial_of(node)} {SHORT} {ONE_ELEMENT} {how}"


@contextmanager
def reader_of(node: Path) -> Iterator[LogReader]:
    fd = os.open(node, os.O_RDONLY)
    try:
        yield LogReader(fd)
    finally:
        os.close(fd)


def setting(node: Path) -> dict[str, Any]:
    with reader_of(node) as reader:
        page = reader.read(declared_logs()["latency-monitor"]).page
    assert page is not None
    return {name: page.values[name] for name in FOUND} | {"enable": int(page.values["is_enabled"])}


@pytest.fixture(scope="module")
def node(disk_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The drive, whose monitor is as an operator has set it."""
    with connected(disk_path_factory.mktemp("preset") / "slow.toml", PRESET) as found:
        with reader_of(found) as reader:
            reader.configure(declared_logs()["latency-monitor-feature"], FOUND | {"enable": 1})
        yield found


def ended_by(number: signal.Signals, forks: Forks, node: Path, folder: Path) -> int:
    """Exit code of a run that got this signal when it had set the monitor."""
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(openpts, forks, run_on(node, folder, "--step-seconds 600"))
        while setting(node)["active_threshold_a_ms"] != 5:
            assert not ended.done(), ended.result()
            time.sleep(0.2)
        os.kill(forks.running, number)
        return ended.result()[0]


def test_a_run_sets_it_reads_it_after_each_phase_and_puts_it_back(
    node: Path, forks: Forks, tmp_path: Path
) -> None:
    code, told = openpts(forks, run_on(node, tmp_path / "run"))
    assert code == 0, told
    assert setting(node) == FOUND | {"enable": 1}
    run = read_run(tmp_path / "run")
    read = [one for one in run.health if one.reading.values.get(f"{PREFIX}threshold_0_ms") == 5]
    assert [(one.occasion, one.phase) for one in read] == [
        (ReadingPoint.BEFORE, None),
        (ReadingPoint.DURING, None),
        (ReadingPoint.DURING, Phase.WIPC),
        (ReadingPoint.AFTER, None),
    ]
    found = judged(run)
    assert len(found.comparisons) == 2
    for one in found.comparisons:
        for operation, counts in one.drive.items():
            assert all(its <= ours for its, ours in zip(counts, one.host[operation], strict=True)), one
    planted = sum(step.sample.write.ios for step in run.steps) // 100
    assert abs(sum(one.drive["write"][1] for one in found.comparisons) - planted) <= 2
    assert found.hides == ""


def test_it_is_put_back_after_ctrl_c(node: Path, forks: Forks, tmp_path: Path) -> None:
    assert ended_by(signal.SIGINT, forks, node, tmp_path / "run") == 130
    assert setting(node) == FOUND | {"enable": 1}


def test_it_is_put_back_after_a_crash_by_the_doctor(node: Path, forks: Forks, tmp_path: Path) -> None:
    assert ended_by(signal.SIGKILL, forks, node, tmp_path / "run") == -signal.SIGKILL
    assert setting(node)["active_threshold_a_ms"] == 5
    told = openpts(forks, "doctor --restore")[1]
    assert "is set again as it was found" in told
    assert setting(node) == FOUND | {"enable": 1}


def test_a_drive_that_hides_its_outliers_is_named(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "lies.toml").write_text(HIDES)
    faults = Faults(overrides=read_overrides(tmp_path / "lies.toml"))
    with connected(tmp_path / "slow.toml", PRESET, faults) as node:
        code, told = openpts(forks, run_on(node, tmp_path / "run"))
        assert code == 0, told
    found = judged(read_run(tmp_path / "run"))
    assert sum(one.hidden for one in found.comparisons) >= 3

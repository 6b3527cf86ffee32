"""A job file of several streams in rounds, and a suite, on a scratch file and the real io_uring."""

from pathlib import Path

import pytest

from openpts.record.reader import read_run
from openpts.vocabulary.phase import Phase
from tests.device.openpts_process import openpts
from tests.support.subject_files import CLONE

JOB = """
[global]
ioengine=libaio
direct=1
time_based
runtime=1
[reader]
rw=randread
bs=4k
iodepth=2
rate_iops=400
[writer]
rw=randwrite
bs=16k
rate_iops=100
startdelay=100ms
"""


@pytest.mark.slow
def test_streams_keep_their_rates_in_each_round(tmp_path: Path) -> None:
    (tmp_path / "two.fio").write_text(JOB)
    words = ("--precondition-passes", "1", "--max-rounds", "5", "--out", "run")
    ended = openpts("run", "workload", "two.fio", "file:./x?size=64MiB", *words, "--json", cwd=tmp_path)
    assert ended.exit_code == 0, ended.stderr
    rates = {one["stream"]: one["iops"] for one in ended.json["streams"] if one["stream"] != "all"}
    # on a machine that does other things as well
    assert rates == {"reader": pytest.approx(400, rel=0.2), "writer": pytest.approx(100, rel=0.2)}
    assert (tmp_path / "run" / "report.html").exists()


def test_a_suite_ends_with_the_verdicts_on_its_limits(tmp_path: Path) -> None:
    words = ("--time-scale", "1/40", "--longest-step-seconds", "1", "--cycles", "1", "--out", "run")
    target = ("file:./x?size=64MiB", "--no-report")
    ended = openpts("run", "workload", str(CLONE / "wkldsuites" / "Two"), *target, *words, cwd=tmp_path)
    assert ended.exit_code == 10, ended.stderr
    assert any(line.startswith("limits: ") for line in ended.stdout.splitlines())
    run = read_run(tmp_path / "run")
    assert [step.place.number for step in run.phase(Phase.PROFILE)] == [1, 2]
    clearing, fill = run.phase(Phase.CONDITIONING)
    assert clearing.sample.trim.bytes == 64 * 2**20
    assert fill.sample.write.bytes == pytest.approx(32 * 2**20, rel=0.01)

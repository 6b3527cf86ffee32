"""CBW on a file and DIRTH on a loop device, at a short time scale, through the command line."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.units import MIB, NS_PER_S
from openpts.vocabulary.sample import Phase, StepState
from tests.support.openpts_process import openpts
from tests.support.transcript import Golden

parquet = pytest.importorskip("pyarrow.parquet")

# Two thread counts and queue depths, and a second or less for what lasts an hour.
SHORT = (
    *("--time-scale", "1/600", "--tcs", "32,1", "--qds", "32,1", "--tracking-seconds", "0.3"),
    *("--prewrite-shortest-seconds", "0.1", "--prewrite-longest-seconds", "0.3"),
    *("--histogram-prewrite-seconds", "0.3", "--histogram-seconds", "0.3"),
)


def assert_whole(run: Run) -> None:
    assert run.manifest.state is RunState.COMPLETE
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps)
    demands = [
        (step.sample.step.stimulus.tc, step.sample.step.stimulus.qd)
        for step in run.phase(Phase.ROUND, number=1)
        if step.sample.step.stimulus is not None
    ]
    assert demands == [(32, 32), (32, 1), (1, 32), (1, 1)]
    for step in run.phase(Phase.ROUND_PREWRITE):
        assert step.sample.elapsed_ns >= 0.1 * NS_PER_S
        assert step.sample.read.ios == 0
    # no pause lies between any two steps, but for the judgement after each round
    gaps_ns = [step.sample.gap_ns for step in run.steps if step.sample.gap_ns is not None]
    assert len(gaps_ns) == len(run.steps) - 1
    # each completion time of the histograms is in the files, and nothing else
    histograms = {n: step.sample for n, step in enumerate(run.steps) if step.place.phase is Phase.HISTOGRAM}
    captured: Counter[int] = Counter()
    for file in sorted((run.folder / "capture").glob("*.parquet")):
        captured.update(parquet.read_table(file, columns=["step"]).column("step").to_pylist())
    assert captured == {number: sample.ios for number, sample in histograms.items()}
    assert run.manifest.capture is not None
    assert run.manifest.capture.lost == ""


@pytest.mark.proves("PTS-CBW-08..11", "PTS-CBW-38")
@pytest.mark.slow
def test_composite_on_a_file(tmp_path: Path) -> None:
    ended = openpts(
        "run", "cbw", "file:./x?size=256MiB", *SHORT, "--out", "run", "--json", cwd=tmp_path, timeout_s=280
    )
    assert ended.exit_code == 0, ended.stderr
    run = read_run(tmp_path / "run")
    assert_whole(run)
    # the engine's own counts: every I/O has a size and a range
    for step in run.steps:
        sample = step.sample
        assert len(sample.ios_by_block_size) == 12
        assert len(sample.ios_by_zone) == 3
        assert sum(sample.ios_by_block_size) == sum(sample.ios_by_zone) == sample.ios
    assert ended.json["distributions"]["checked"] == 2 * len(run.steps)
    assert ended.json["distributions"]["off"] == 0
    assert "PTS-CBW-11" not in {entry.rule_id for entry in run.ledger}


@pytest.mark.slow
@pytest.mark.proves("PTS-DIRTH-02", "PTS-DIRTH-30")
def test_demand_intensity_on_a_loop_device(tmp_path: Path, attach: Callable[..., Path]) -> None:
    node = attach(size_bytes=256 * MIB)
    ended = openpts(
        *("run", "dirth", str(node), *SHORT, "--workload", "RND 16KiB RW70"),
        *("--confirm-device-path", str(node), "--out", "run", "--json"),
        cwd=tmp_path,
        timeout_s=280,
    )
    assert ended.exit_code == 0, ended.stderr
    run = read_run(tmp_path / "run")
    assert_whole(run)
    assert ended.json["distributions"] is None
    for step in run.phase(Phase.HISTOGRAM):
        sample = step.sample
        assert sample.bytes == sample.ios * 16 * 1024
        # reads are dealt exactly; a thread may stop in the middle of a deck of ten
        assert sample.read.ios / sample.ios == pytest.approx(0.7, abs=0.02)


@pytest.mark.slow
def test_a_composite_for_larger_sectors_says_what_it_leaves_out(
    tmp_path: Path, attach: Callable[..., Path], golden: Golden
) -> None:
    node = attach("--sector-size", "4096", size_bytes=256 * MIB)
    ended = openpts(
        *("run", "cbw", str(node), *SHORT, "--no-report", "--no-capture"),
        *("--confirm-device-path", str(node), "--out", "run", "--json"),
        cwd=tmp_path,
        timeout_s=280,
    )
    assert ended.exit_code == 0, ended.stderr
    run = read_run(tmp_path / "run")
    (entry,) = [entry for entry in run.ledger if entry.rule_id == "PTS-CBW-08"]
    assert entry.required == golden
    assert entry.used == golden
    assert all(len(step.sample.ios_by_block_size) == 5 for step in run.steps)
    assert not (tmp_path / "run" / "capture").exists()

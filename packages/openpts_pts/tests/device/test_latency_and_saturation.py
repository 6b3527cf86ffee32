"""Latency and write saturation on a file and on a loop device, at a short time scale, by the command line."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.units import MIB, NS_PER_S
from openpts.vocabulary.sample import Phase, StepState
from openpts.vocabulary.stimulus import FirstOf
from tests.support.openpts_process import openpts
from tests.support.transcript import Golden

# Minutes of 50 ms, and the histogram of 20 minutes in one second.
SHORT = ("--time-scale", "1/1200", "--class", "client", "--no-report")


def completed(folder: Path) -> Run:
    run = read_run(folder)
    assert run.manifest.state is RunState.COMPLETE
    assert run.manifest.shortened
    assert all(step.sample.state is StepState.COMPLETE for step in run.steps)
    return run


@pytest.mark.proves("PTS-LAT-04..05", "PTS-LAT-12", "PTS-LAT-15", "PTS-LAT-19")
@pytest.mark.slow
def test_latency_on_a_file(tmp_path: Path) -> None:
    ended = openpts(
        *("run", "lat", "file:./x?size=64MiB", *SHORT, "--max-rounds", "5", "--out", "run", "--json"),
        cwd=tmp_path,
        timeout_s=250,
    )
    assert ended.exit_code == 0, ended.stderr
    run = completed(tmp_path / "run")
    assert all(s.sample.step.stimulus is not None and s.sample.step.stimulus.toio == 1 for s in run.steps)
    histogram = [step.sample for step in run.phase(Phase.HISTOGRAM)]
    assert sum(sample.elapsed_ns for sample in histogram) >= 0.99 * NS_PER_S
    assert len(run.phase(Phase.ROUND)) % 9 == 0
    figures = ended.json["histogram"]
    assert figures["ios"] == figures["recorded_ios"] == sum(sample.ios for sample in histogram)
    assert figures["art_ms"] <= figures["mrt_ms"]
    too_few = figures["ios"] < 100_000
    assert ("PTS-LAT-19" in {entry.rule_id for entry in run.ledger}) == too_few
    assert (figures["p99_999_ms"] is None) == too_few
    # The engine's own share is measured on this machine, and held against the averages that it is part of.
    own_ns = float((run.manifest.engine["own_latency_asleep"].value or "").split()[0])
    assert own_ns > float((run.manifest.engine["own_latency"].value or "").split()[0]) > 0
    last = max(step.place.number for step in run.phase(Phase.ROUND))
    window = [step for step in run.phase(Phase.ROUND) if step.place.number > last - 5]
    averages_ns = [
        fmean(s.sample.mean_latency_ns or 0 for s in window if s.sample.step.stimulus == stimulus)
        for stimulus in {step.sample.step.stimulus for step in window}
    ]
    too_large = own_ns > 0.05 * min(averages_ns)
    assert ("PTS-DEF-03" in {entry.rule_id for entry in run.ledger}) == too_large


@pytest.mark.slow
@pytest.mark.proves("PTS-WSAT-08", "PTS-WSAT-14", "PTS-WSAT-16")
def test_write_saturation_on_a_loop_device(tmp_path: Path, attach: Callable[..., Path]) -> None:
    node = attach("--sector-size", "4096", size_bytes=64 * MIB)
    ended = openpts(
        *("run", "wsat", str(node), *SHORT, "--workloads", "write_intensive,oltp,metadata"),
        *("--longest-seconds", "60", "--tracking-seconds", "0.1"),
        *("--confirm-device-path", str(node), "--out", "run", "--json"),
        cwd=tmp_path,
        timeout_s=280,
    )
    assert ended.exit_code == 0, ended.stderr
    run = completed(tmp_path / "run")
    assert run.manifest.dut["kernel_threads"].value.startswith(f"{node.name}: loop driver")
    assert [cycle.title for cycle in run.manifest.cycles] == ["RND 4 KiB RW0", "RND 8 KiB RW65"]
    (left_out,) = [e for e in run.ledger if e.rule_id == "PTS-WSAT-07" and "SEQ 0.5 KiB" in e.used]
    assert left_out.required == "none"
    for number, figures in enumerate(ended.json["workloads"], start=1):
        steps = run.phase(Phase.SATURATION, cycle=number)
        assert [step.place.number for step in steps] == sorted(step.place.number for step in steps)
        assert all(isinstance(step.sample.step.stop, FirstOf) for step in steps)
        written = sum(step.sample.write.bytes for step in steps)
        assert figures["written_bytes"] == written
        if figures["ended_by"] == "4 x user capacity written":
            # a mix is exact over its decks, of which each thread may leave one unfinished in each step
            assert written == pytest.approx(4 * 64 * MIB, rel=0.02)
        assert len(run.phase(Phase.HISTOGRAM, cycle=number)) == 1


def test_workloads_that_the_sectors_rule_out_are_refused_before_the_purge(
    tmp_path: Path, attach: Callable[..., Path], golden: Golden
) -> None:
    node = attach("--sector-size", "4096", size_bytes=64 * MIB)
    ended = openpts(
        *("run", "wsat", str(node), *SHORT, "--workloads", "metadata"),
        *("--confirm-device-path", str(node), "--out", "run"),
        cwd=tmp_path,
    )
    assert ended.exit_code != 0
    assert ended.complaint == golden
    assert not (tmp_path / "run").exists()

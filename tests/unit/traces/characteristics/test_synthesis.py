"""Synthetic workloads: what they say, and what is issued of them on a simulated drive."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from openpts.cli.main import cli
from openpts_traces.characteristics.synthesis import synthesized
from tests.support.transcript import Golden
from tests.unit.traces.characteristics.traces import Ios, figures_of, write_trace

DRIVE = "sim:enterprise-tlc?capacity=8GB&scale=1"


def two_phases(seed: int, seconds: float = 6.0) -> Ios:
    """Small hot reads all the time; writes of 64 KiB in bursts of a second, every third."""
    random = np.random.default_rng(seed)
    parts = []
    for second in range(int(seconds)):
        reads = np.sort(random.uniform(second, second + 1, 2000))
        reads[0] = second
        hot = random.random(2000) < 0.8
        place = np.where(hot, random.integers(0, 2000, 2000), random.integers(2000, 40_000, 2000))
        parts.append((reads, place * 4096, np.full(2000, 4096), np.zeros(2000, bool)))
        if second % 3 == 0:
            writes = np.sort(random.uniform(second, second + 1, 1500))
            places = random.integers(0, 10_000, 1500) * 65_536
            parts.append((writes, places, np.full(1500, 65_536), np.ones(1500, bool)))
    at, offset, length, write = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(at, kind="stable")
    issued = (at[order] * 1e9).astype(np.int64)
    return Ios(issued - issued[0], offset[order], length[order], write[order])


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace") / "trace.parquet", two_phases(1))


@pytest.fixture(scope="module")
def shown(trace: Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["trace", "synthesize", str(trace), "--check", DRIVE, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_writes_that_come_in_bursts_are_in_steps_of_their_own(trace: Path) -> None:
    made = synthesized(figures_of(trace))
    assert made.fit.chosen == "poisson in steps"
    steps = made.job.split("stonewall")[1:]
    assert ["rw=randwrite" in step for step in steps] == [True, False, True, False]
    assert len(made.job) <= 16 << 10
    poisson, in_steps = (one.dispersion for one in made.candidates)
    assert poisson is not None
    assert in_steps is not None
    assert in_steps < poisson


def test_what_is_issued_is_like_the_trace(shown: dict[str, Any]) -> None:
    distances = {(one["group"], one["figure"]): one["value"] for one in shown["distances"]}
    assert distances["mix", "operations by I/Os"] < 0.03
    assert distances["mix", "streams by I/Os"] < 0.05
    assert distances["sizes", "reads"] == distances["sizes", "writes"] == 0
    assert distances["arrivals", "gaps"] < 0.3
    assert distances["arrivals", "dispersion over scales, octaves"] < 1
    assert distances["places", "hot and cold, reads"] < 0.1
    assert distances["places", "footprint, octaves"] < 0.3


def test_a_steady_trace_is_one_poisson_process(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    at = np.cumsum(random.exponential(500_000, 10_000)).astype(np.int64)
    n = len(at)
    ios = Ios(at - at[0], random.integers(0, 10**5, n) * 4096, np.full(n, 4096), random.random(n) < 0.3)
    made = synthesized(figures_of(write_trace(tmp_path / "t.parquet", ios)))
    assert made.fit.chosen == "poisson"
    assert made.job.count("stonewall") == 1


def test_a_closed_loop_is_one(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    n, depth = 8000, 8
    lanes = np.zeros(depth)
    at, done = np.empty(n), np.empty(n)
    for i in range(n):
        lane = int(lanes.argmin())
        at[i] = lanes[lane]
        lanes[lane] = done[i] = at[i] + random.exponential(100_000) + 1000
    issued = at.astype(np.int64)
    place = random.integers(0, 10**5, n) * 4096
    ios = Ios(issued, place, np.full(n, 4096), np.zeros(n, bool), done.astype(np.int64))
    made = synthesized(figures_of(write_trace(tmp_path / "t.parquet", ios)))
    assert made.fit.chosen == "closed loop"
    assert "iodepth=8\n" in made.job
    assert "rate_iops" not in made.job


def test_the_seconds_are_those_asked_for(trace: Path) -> None:
    made = synthesized(figures_of(trace), 3.0)
    steps = made.job.split("stonewall")[1:]
    runtimes = [int(step.split("runtime=")[1].split("ms")[0]) for step in steps]
    assert sum(runtimes) == pytest.approx(3000, abs=len(steps))


def test_a_plan_and_its_job_file_are_written(trace: Path, tmp_path: Path) -> None:
    plan = tmp_path / "like.toml"
    done = CliRunner().invoke(cli, ["trace", "synthesize", str(trace), "--out", str(plan)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "like.fio").read_text().startswith("; like trace.parquet")
    planned = CliRunner().invoke(cli, ["plan", "workload", "--plan", str(plan), DRIVE])
    assert planned.exit_code == 0, planned.output


def test_a_file_in_a_folder_that_does_not_exist_is_refused(
    trace: Path, tmp_path: Path, golden: Golden
) -> None:
    done = CliRunner().invoke(
        cli, ["trace", "synthesize", str(trace), "--fio", str(tmp_path / "none" / "j.fio")]
    )
    assert (done.exit_code, done.output) == (2, golden)


def test_half_of_a_trace_is_held_out(trace: Path) -> None:
    words = ["trace", "synthesize", str(trace), "--check", DRIVE, "--held-out", "--json"]
    found = json.loads(CliRunner().invoke(cli, words).stdout)
    both = zip(found["distances"], found["half_to_half"], strict=True)
    assert all(one["figure"] == half["figure"] for one, half in both)


def test_a_check_takes_simulated_drives_only(trace: Path, golden: Golden) -> None:
    done = CliRunner().invoke(cli, ["trace", "synthesize", str(trace), "--check", "/dev/sda"])
    assert str(done.exception) == golden
    scaled = CliRunner().invoke(
        cli, ["trace", "synthesize", str(trace), "--check", "sim:enterprise-tlc?scale=16"]
    )
    assert str(scaled.exception) == golden

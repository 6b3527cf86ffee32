"""Latencies of a few outstanding I/Os against those of fio's engines: TC 1, QD 1 to 4, 4 KiB random reads.

openpts and fio with each of its engines take turns in an order that changes, in short runs, so that what
else the machine does is in all of them. fio's best engine is the one with the smallest median of mean
latencies. Printed are medians of mean, p50 and p99, and of their ratios to the best engine's run by run
(below 1: openpts is quicker). A line passes if all three are within 5 %, or 25 % on a loop device that is
not pinned: there the scheduler decides for each run whether the thread and the driver's worker share a
processor, and single runs differ fivefold. Pinned: the threads that issue I/O are on one processor; where
the kernel's own are is its business. fio runs threads, not processes: those make sessions of their own, to
which a kernel with autogroups gives a share of the processors as large as that of all else here, and on a
busy machine that decides.
"""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benches.native import random_4_kib
from openpts.analysis.latency import LatencyDistribution
from openpts.units import NS_PER_US

QDS = (1, 2, 3, 4)
SECONDS = 0.4
RAMP_S = 0.1
FIO = {
    "psync": ["--ioengine=psync"],
    "libaio": ["--ioengine=libaio"],
    "io_uring": ["--ioengine=io_uring"],
    "io_uring tuned": ["--ioengine=io_uring", "--registerfiles=1", "--fixedbufs=1"],
}
LIMIT = 1.05
LIMIT_OF_SCHEDULER = 1.25


@dataclass(frozen=True)
class Place:
    """What is read, and whether the threads that read it have to stay on one processor."""

    name: str
    path: Path
    pinned: bool = False

    @property
    def limit(self) -> float:
        return LIMIT_OF_SCHEDULER if self.name == "loop" else LIMIT


@dataclass(frozen=True)
class Latencies:
    """In us."""

    mean: float
    p50: float
    p99: float

    def __str__(self) -> str:
        return " ".join(f"{value:>8,.1f}" for value in (self.mean, self.p50, self.p99))


def low_queue_depth(places: Sequence[Place], repeats: int) -> None:
    """Print a line for each place and queue depth."""
    print(f"TC 1, 4 KiB random reads, medians of {repeats} runs of {SECONDS:g} s; us")
    print(f"{'':16} {'openpts: mean, p50, p99':>26}   {'best of fio':26}   ratios")
    everywhere = os.sched_getaffinity(0)
    for place in places:
        if place.pinned:
            os.sched_setaffinity(0, {max(everywhere)})  # inherited by threads and by fio
        for qd in QDS:
            _line(place, qd, repeats)
        os.sched_setaffinity(0, everywhere)


def _line(place: Place, qd: int, repeats: int) -> None:
    capacity_bytes = _capacity_bytes(place.path)
    contestants = ["openpts", *(name for name in FIO if qd == 1 or name != "psync")]
    runs: dict[str, list[Latencies]] = {name: [] for name in contestants}
    for repeat in range(repeats):
        turn = repeat % len(contestants)
        for name in contestants[turn:] + contestants[:turn]:
            measured = _ours if name == "openpts" else _fio
            runs[name].append(measured(name, place.path, capacity_bytes, qd, repeat))
    ours = runs.pop("openpts")
    best = min(runs, key=lambda name: median(run.mean for run in runs[name]))
    ratios = Latencies(
        *(
            median(getattr(a, figure) / getattr(b, figure) for a, b in zip(ours, runs[best], strict=True))
            for figure in ("mean", "p50", "p99")
        )
    )
    passed = max(ratios.mean, ratios.p50, ratios.p99) <= place.limit
    print(
        f"{place.name:11} QD {qd}  {_middle(ours)}  {_middle(runs[best])} {best:14} "
        f"{ratios.mean:6.2f} {ratios.p50:5.2f} {ratios.p99:5.2f}  {'ok' if passed else 'ABOVE'}",
        flush=True,
    )


def _capacity_bytes(path: Path) -> int:
    with path.open("rb") as file:
        return file.seek(0, os.SEEK_END)


def _middle(runs: Sequence[Latencies]) -> Latencies:
    return Latencies(
        median(run.mean for run in runs), median(run.p50 for run in runs), median(run.p99 for run in runs)
    )


def _ours(_name: str, path: Path, capacity_bytes: int, qd: int, seed: int) -> Latencies:
    sample = random_4_kib(
        path, capacity_bytes, read_pct=100, qd=qd, unmeasured_s=RAMP_S, seconds=SECONDS, seed=seed
    )
    assert sample.mean_latency_ns is not None
    distribution = LatencyDistribution.merged([sample.read.histogram])
    p50_ns, p99_ns = (distribution.percentile_ns(percentile) or 0 for percentile in (50, 99))
    return Latencies(sample.mean_latency_ns / NS_PER_US, p50_ns / NS_PER_US, p99_ns / NS_PER_US)


def _fio(name: str, path: Path, capacity_bytes: int, qd: int, seed: int) -> Latencies:
    command = [
        *["fio", "--name=cell", f"--filename={path}", "--readonly", "--rw=randread", "--bs=4k", "--direct=1"],
        "--thread",
        *[f"--iodepth={qd}", f"--size={capacity_bytes}", "--time_based", "--norandommap", "--randrepeat=0"],
        *[f"--ramp_time={round(RAMP_S * 1000)}ms", f"--runtime={round(SECONDS * 1000)}ms"],
        *[f"--randseed={2 * seed + 1}", "--lat_percentiles=1", "--clat_percentiles=0"],
        *["--output-format=json", *FIO[name]],
    ]
    output = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    latency = output["jobs"][0]["read"]["lat_ns"]
    p50_ns, p99_ns = (latency["percentile"][key] for key in ("50.000000", "99.000000"))
    return Latencies(latency["mean"] / NS_PER_US, p50_ns / NS_PER_US, p99_ns / NS_PER_US)

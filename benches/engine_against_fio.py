"""The native engine against fio on the same file and on a loop device, interleaved in one run.

First latencies at TC 1, QD 1 to 4: see benches.low_queue_depth. With --device PATH nothing else, on that
drive, which is only read.

Then 4 KiB random reads and writes at QD 1 and 32, one thread. Each cell runs openpts and fio in turn, many
times and in changing order; fio with its default options and tuned (registered file and buffers, batches).
Printed are medians, and the median of the ratios of IOPS run by run (above 1: openpts is faster), which
holds when a shared machine changes its speed in between. A cell passes if openpts reaches 95 % of both.
All run on one processor: where the scheduler puts thread and kernel worker otherwise decides the figures
of a loop device at QD 1, for each program in its own way. --unpinned shows that.

    .venv/bin/python -m benches.engine_against_fio [--seconds 1.5] [--repeats 9] [--unpinned] [--json FILE]
                                                   [--device PATH] [--latency-repeats 21]

Nothing is written but files of its own, and a loop device on one of them, which needs root.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benches.low_queue_depth import Place, low_queue_depth
from benches.native import random_4_kib
from benches.targets import fio_version, machine, memory_drive
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand
from openpts.units import MIB
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, ByteAmount, Step, Stimulus

CAPACITY = 1024 * MIB
FIO_TUNED = [
    "--registerfiles=1",
    "--fixedbufs=1",
    "--iodepth_batch_submit=32",
    "--iodepth_batch_complete_min=1",
    "--iodepth_batch_complete_max=32",
]
LIMIT = 0.95
# Not measured, in any of them: schedulers and hypervisors take a while to settle on a new load.
RAMP_S = 0.5


@dataclass(frozen=True)
class Figures:
    iops: float
    mean_latency_us: float
    cpu_ns_per_io: float


@dataclass(frozen=True)
class Cell:
    target: str
    read_pct: int
    qd: int

    def __str__(self) -> str:
        return f"{self.target:5} {'read ' if self.read_pct else 'write'} QD{self.qd:<3}"


def openpts_figures(path: Path, cell: Cell, seconds: float, seed: int) -> Figures:
    sample = random_4_kib(
        path, CAPACITY, read_pct=cell.read_pct, qd=cell.qd, unmeasured_s=RAMP_S, seconds=seconds, seed=seed
    )
    assert sample.cpu is not None
    assert sample.mean_latency_ns is not None
    return Figures(sample.iops, sample.mean_latency_ns / 1000, sample.cpu.process_ns / sample.ios)


def fio_figures(path: Path, cell: Cell, seconds: float, seed: int, extra: list[str]) -> Figures:
    command = [
        "fio",
        "--name=cell",
        f"--filename={path}",
        f"--rw={'randread' if cell.read_pct else 'randwrite'}",
        f"--iodepth={cell.qd}",
        f"--size={CAPACITY}",
        f"--ramp_time={round(RAMP_S * 1000)}ms",
        f"--runtime={round(seconds * 1000)}ms",
        f"--randseed={seed}",
        *[
            "--bs=4k",
            "--ioengine=io_uring",
            "--direct=1",
            "--thread",
            "--time_based",
            "--norandommap",
            "--randrepeat=0",
        ],
        *["--refill_buffers", "--group_reporting", "--output-format=json"],
        *extra,
    ]
    output = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    job = output["jobs"][0]
    result = job["read" if cell.read_pct else "write"]
    cpu_ns = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e6
    return Figures(result["iops"], result["lat_ns"]["mean"] / 1000, cpu_ns / result["total_ios"])


def middle(figures: list[Figures]) -> Figures:
    return Figures(
        median(figure.iops for figure in figures),
        median(figure.mean_latency_us for figure in figures),
        median(figure.cpu_ns_per_io for figure in figures),
    )


def fill(path: Path) -> None:
    """Write every block once: reads of blocks never written do not reach the device."""
    fd = os.open(path, os.O_RDWR | os.O_DIRECT)
    engine = NativeEngine(
        fd, TargetFacts(TargetKind.FILE, str(path), str(path), CAPACITY, 512), Demand(1, 8, MIB), seed=1
    )
    stimulus = Stimulus.of(AccessPattern.SEQUENTIAL, MIB, 0, 1, 8, ActiveRange())
    engine.submit([Step.of(stimulus, ByteAmount(CAPACITY))])
    while engine.poll(1) is None:
        pass
    engine.stop()
    os.close(fd)


def compare(path: Path, cell: Cell, seconds: float, repeats: int) -> dict[str, object]:
    runs: dict[str, list[Figures]] = {"openpts": [], "fio": [], "fio tuned": []}
    contestants: dict[str, Callable[[int], Figures]] = {
        "openpts": lambda seed: openpts_figures(path, cell, seconds, seed),
        "fio": lambda seed: fio_figures(path, cell, seconds, seed, []),
        "fio tuned": lambda seed: fio_figures(path, cell, seconds, seed, FIO_TUNED),
    }
    for repeat in range(repeats):
        order = list(contestants)
        for name in order[repeat % 3 :] + order[: repeat % 3]:
            runs[name].append(contestants[name](1000 + repeat))
    ratios = {
        name: median(
            ours.iops / theirs.iops for ours, theirs in zip(runs["openpts"], runs[name], strict=True)
        )
        for name in ("fio", "fio tuned")
    }
    columns = [middle(figures) for figures in runs.values()]
    print(
        f"{cell}  ratio {ratios['fio']:5.2f} {ratios['fio tuned']:5.2f}"
        f"  {'ok   ' if min(ratios.values()) >= LIMIT else 'BELOW'}"
        f"  IOPS {_columns(f'{figures.iops:,.0f}' for figures in columns)}"
        f"  mean us {_columns(f'{figures.mean_latency_us:,.1f}' for figures in columns)}"
        f"  CPU ns/IO {_columns(f'{figures.cpu_ns_per_io:,.0f}' for figures in columns)}",
        flush=True,
    )
    return {
        "cell": vars(cell),
        "ratios": ratios,
        **{name: [vars(figures) for figures in run] for name, run in runs.items()},
    }


def _columns(texts: Iterable[str]) -> str:
    return " ".join(f"{text:>9}" for text in texts)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=1.5)
    arguments.add_argument("--repeats", type=int, default=9)
    arguments.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    arguments.add_argument("--unpinned", action="store_true")
    arguments.add_argument("--json", type=Path)
    arguments.add_argument("--device", type=Path)
    arguments.add_argument("--latency-repeats", type=int, default=21)
    options = arguments.parse_args()
    fio = fio_version()
    if fio is None:
        print("fio is not installed: nothing to compare with (apt-get install fio)")
        return 0
    print(f"{machine()}, {fio}")
    if options.device is not None:
        low_queue_depth([Place("device", options.device)], options.latency_repeats)
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=options.folder)))
        targets = {"file": folder / "scratch"}
        with targets["file"].open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, CAPACITY)
        if os.geteuid() == 0:
            targets["loop"] = stack.enter_context(memory_drive(CAPACITY, options.folder))
        else:
            print("no loop device without root")
        for path in targets.values():
            fill(path)
        places = [Place("file", targets["file"])]
        if "loop" in targets:
            places += [Place("loop pinned", targets["loop"], pinned=True), Place("loop", targets["loop"])]
        low_queue_depth(places, options.latency_repeats)
        if not options.unpinned:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by threads and by fio
        print("unpinned" if options.unpinned else "all pinned to one CPU", end="; ")
        print(f"medians of {options.repeats} runs of {options.seconds:g} s; columns: openpts, fio, fio tuned")
        cells = [
            compare(path, Cell(name, read_pct, qd), options.seconds, options.repeats)
            for name, path in targets.items()
            for read_pct in (100, 0)
            for qd in (1, 32)
        ]
    if options.json:
        options.json.write_text(json.dumps(cells, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

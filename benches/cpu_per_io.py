"""Processor time of one I/O, of the native engine and of fio, with every I/O timed by both.

4 KiB random I/O of one thread on a target that answers within the system call (/dev/zero, which stands in
for a very fast drive) and on a loop device in memory. openpts waits for each completion or for batches;
fio runs libaio, io_uring as it comes, and io_uring tuned (registered file and buffers, batches of 32), all
with latencies on. Contestants take turns in changing order. Printed are medians of processor time, user and
system, per I/O: openpts' as the process's own clock counts it during the step, fio's as the kernel counts it
for the process and its workers, less what a run of a millisecond costs. The ratio is fio's time over openpts'
run by run (above 1: openpts is cheaper). Requests that do nothing show the engine's own part.

    .venv/bin/python -m benches.cpu_per_io [--seconds 1] [--repeats 7] [--json FILE]

Needs root for the loop device. Nothing is written but a file of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median

from benches.engine_against_fio import FIO_TUNED, fill
from benches.native import random_4_kib
from benches.targets import fio_version, machine, memory_drive
from openpts.engine.options import CompletionWait, IoPath, NativeOptions
from openpts.units import MIB, NS_PER_S

CAPACITY = 1024 * MIB
SHORTEST_RUN_S = 0.001
FIO = {
    "fio libaio": ["--ioengine=libaio"],
    "fio io_uring": ["--ioengine=io_uring"],
    "fio tuned": ["--ioengine=io_uring", *FIO_TUNED],
}


@dataclass(frozen=True)
class Cell:
    path: Path
    direct: bool
    read_pct: int
    qd: int

    def __str__(self) -> str:
        operation = {100: "read", 0: "write"}.get(self.read_pct, f"{self.read_pct}/{100 - self.read_pct}")
        return f"{self.path.name:6} {operation:5} QD{self.qd}"


@dataclass(frozen=True)
class Figures:
    cpu_ns_per_io: float
    iops: float


def openpts_figures(
    cell: Cell, seconds: float, wait: CompletionWait, io_path: IoPath | None = IoPath.IO_URING
) -> Figures:
    sample = random_4_kib(
        cell.path,
        CAPACITY,
        read_pct=cell.read_pct,
        qd=cell.qd,
        unmeasured_s=0.1,
        seconds=seconds,
        seed=1,
        direct=cell.direct,
        options=NativeOptions(io_path=io_path, completion_wait=wait),
    )
    assert sample.cpu is not None
    return Figures(sample.cpu.process_ns / sample.ios, sample.iops)


def fio_run(cell: Cell, seconds: float, extra: tuple[str, ...]) -> tuple[float, int, float]:
    """Processor time in ns, I/Os and IOPS of one process."""
    modes = {100: ["--rw=randread"], 0: ["--rw=randwrite"]}
    command = [
        *["fio", "--name=cell", f"--filename={cell.path}", f"--size={CAPACITY}", "--bs=4k"],
        *[f"--iodepth={cell.qd}", f"--direct={int(cell.direct)}", f"--runtime={round(seconds * 1e6)}us"],
        *modes.get(cell.read_pct, ["--rw=randrw", f"--rwmixread={cell.read_pct}"]),
        *["--thread", "--time_based", "--norandommap", "--randrepeat=0", "--refill_buffers"],
        *["--output-format=json", *extra],
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        job = json.load(process.stdout)["jobs"][0]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"fio ended with {process.returncode}")
    results = [job["read"], job["write"]]
    ios = sum(result["total_ios"] for result in results)
    return (usage.ru_utime + usage.ru_stime) * NS_PER_S, ios, sum(result["iops"] for result in results)


@cache
def fio_start_ns(cell: Cell, extra: tuple[str, ...]) -> float:
    return median(fio_run(cell, SHORTEST_RUN_S, extra)[0] for _ in range(3))


def fio_figures(cell: Cell, seconds: float, extra: tuple[str, ...]) -> Figures:
    cpu_ns, ios, iops = fio_run(cell, seconds, extra)
    return Figures((cpu_ns - fio_start_ns(cell, extra)) / ios, iops)


def compare(cell: Cell, seconds: float, repeats: int) -> dict[str, object]:
    contestants = {
        "openpts": partial(openpts_figures, cell, seconds, CompletionWait.EACH),
        "openpts batched": partial(openpts_figures, cell, seconds, CompletionWait.BATCHED),
        **{name: partial(fio_figures, cell, seconds, tuple(extra)) for name, extra in FIO.items()},
    }
    runs: dict[str, list[Figures]] = {name: [] for name in contestants}
    order = list(contestants)
    for repeat in range(repeats):
        for name in order[repeat % len(order) :] + order[: repeat % len(order)]:
            runs[name].append(contestants[name]())
    print(cell)
    for name, figures in runs.items():
        ratio = median(
            theirs.cpu_ns_per_io / ours.cpu_ns_per_io
            for ours, theirs in zip(runs["openpts"], figures, strict=True)
        )
        cpu_ns = median(figure.cpu_ns_per_io for figure in figures)
        iops = median(figure.iops for figure in figures)
        print(f"  {name:16} {cpu_ns:7,.0f} ns   {ratio:5.2f} x openpts   {iops:11,.0f} IOPS", flush=True)
    return {
        "cell": str(cell),
        **{name: [vars(figure) for figure in figures] for name, figures in runs.items()},
    }


def nothing(repeats: int) -> dict[str, object]:
    """Requests that do nothing: the engine with full accounting, and the kernel's part of such a request."""
    cell = Cell(Path("/dev/zero"), direct=False, read_pct=100, qd=128)
    figures = [openpts_figures(cell, 0.5, CompletionWait.EACH, IoPath.NOOP) for _ in range(repeats)]
    cpu_ns = median(figure.cpu_ns_per_io for figure in figures)
    iops = median(figure.iops for figure in figures)
    print(f"requests that do nothing, QD128\n  openpts          {cpu_ns:7,.0f} ns   {iops:30,.0f} per s")
    return {"cell": "noop", "openpts": [vars(figure) for figure in figures]}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=1)
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    fio = fio_version()
    if fio is None:
        print("fio is not installed: nothing to compare with (apt-get install fio)")
        return 0
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # inherited by threads and by fio
    print(
        f"{machine()}, all on one of them; {fio}; medians of {options.repeats} runs of {options.seconds:g} s"
    )
    results = [nothing(options.repeats)]
    zero = Path("/dev/zero")
    with ExitStack() as stack:
        cells = [Cell(zero, direct=False, read_pct=100, qd=128)]
        if os.geteuid() == 0:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            loop = stack.enter_context(memory_drive(CAPACITY, folder))
            fill(loop)
            cells += [Cell(loop, True, read_pct, qd) for read_pct in (100, 0, 65) for qd in (1, 32, 128)]
        else:
            print("no loop device without root")
        results += [compare(cell, options.seconds, options.repeats) for cell in cells]
    if options.json:
        options.json.write_text(json.dumps(results, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

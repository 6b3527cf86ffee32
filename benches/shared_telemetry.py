"""What telemetry costs each run of a batch, where one run reads the host for all of them and where each does.

    python -m benches.shared_telemetry [--runs 16] [--processors 128] [--pairs 9] [--samples 24]
        [--period 0.25] [--json FILE]

A made-up machine of that many processors and as many drives as runs, whose counts go on. Its files are in
memory and cost little to read; what the kernel of a real one has to do for them comes on top of each reading:
one a period ("shared"), or one a run and period ("each"). The runs are processes with the gauges of a
run that has four processors and a drive. Printed are medians over the pairs, which take turns: processor
time per sample of a run, so per run and second, and the ratio with the interval that holds it in 95 % of
resamplings.
"""

import argparse
import json
import multiprocessing
import os
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from benches.targets import machine
from benches.telemetry_cost import interval
from openpts.device.block_device import BlockDevice
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots
from openpts_drives.gauges import others_gauge
from openpts_host.concerns import host_gauges

EACH, SHARED = "each", "shared"
CPUS_OF_A_RUN: Final = 4
INTERRUPTS: Final = 2000
FEED_S: Final = 0.05
WARM_UP_SAMPLES: Final = 4


@dataclass
class FakeMachine:
    """Files of /proc and /sys that are rewritten in place, as the kernel's are while they stay open."""

    folder: Path
    processors: int
    drives: int
    _drawn: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self._ticks = [[self._drawn.randrange(10**8) for _ in range(8)] for _ in range(self.processors)]
        self._counts = [[self._drawn.randrange(10**8) for _ in range(17)] for _ in range(self.drives)]
        (self.roots.proc / "pressure").mkdir(parents=True)
        for zone in range(4):
            path = self.roots.sys / f"class/powercap/intel-rapl:{zone}"
            path.mkdir(parents=True)
            (path / "name").write_text(f"package-{zone}\n")
        for number in range(self.drives):
            path = self.roots.sys / f"class/block/nvme{number}n1"
            path.mkdir(parents=True)
            (path / "dev").write_text(f"259:{number}\n")
        self.go_on()

    @property
    def roots(self) -> SystemRoots:
        return SystemRoots(sys=self.folder / "sys", proc=self.folder / "proc")

    def go_on(self) -> None:
        """Some work of all parts, written down."""
        for row in (*self._ticks, *self._counts):
            row[:] = [count + self._drawn.randrange(5) for count in row]
        names = ["", *map(str, range(self.processors))]
        rows = [[sum(column) for column in zip(*self._ticks, strict=True)], *self._ticks]
        lines = [f"cpu{name} {' '.join(map(str, row))} 0 0" for name, row in zip(names, rows, strict=True)]
        self._write("proc/stat", "\n".join([*lines, "intr 1" + " 0" * INTERRUPTS, "ctxt 1\n"]))
        disks = [f"259 {n} nvme{n}n1 {' '.join(map(str, row))}" for n, row in enumerate(self._counts)]
        self._write("proc/diskstats", "\n".join([*disks, ""]))
        total = self._ticks[0][0]
        for name in ("memory", "cpu"):
            lines = [f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total}" for kind in ("some", "full")]
            self._write(f"proc/pressure/{name}", "\n".join([*lines, ""]))
        for zone in range(4):
            self._write(f"sys/class/powercap/intel-rapl:{zone}/energy_uj", f"{total * 1000}\n")

    def _write(self, name: str, text: str) -> None:
        fd = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT)
        os.write(fd, text.encode())
        os.close(fd)

    @contextmanager
    def working(self) -> Iterator[None]:
        ended = threading.Event()

        def work() -> None:
            while not ended.wait(FEED_S):
                self.go_on()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


def sample(roots: SystemRoots, number: int, samples: int, period_s: float, shared: Path | None) -> float:
    """Milliseconds of processor time that a sample takes this process."""
    own = BlockDevice.of_name(f"nvme{number}n1", roots)
    cpus = range(CPUS_OF_A_RUN * number, CPUS_OF_A_RUN * (number + 1))
    sampler = Sampler((others_gauge((own,), roots), *host_gauges(roots, cpus)), period_s, shared=shared)
    with sampler.running():
        time.sleep(WARM_UP_SAMPLES * period_s)
        before_s = time.process_time()
        time.sleep(samples * period_s)
        return 1000 * (time.process_time() - before_s) / samples


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=16)
    arguments.add_argument("--processors", type=int, default=128)
    arguments.add_argument("--pairs", type=int, default=9)
    arguments.add_argument("--samples", type=int, default=24)
    arguments.add_argument("--period", type=float, default=0.25)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}")
    print(f"made up: {given.processors} processors, {given.runs} drives")
    found: dict[str, list[float]] = {EACH: [], SHARED: []}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as scratch, ExitStack() as stack:
        made_up = FakeMachine(Path(scratch), given.processors, given.runs)
        workers = ProcessPoolExecutor(given.runs, multiprocessing.get_context("fork"))
        pool = stack.enter_context(workers)
        list(pool.map(time.sleep, [0.1] * given.runs))
        stack.enter_context(made_up.working())
        for pair in range(given.pairs):
            for name in (EACH, SHARED) if pair % 2 else (SHARED, EACH):
                shared = Path(scratch) / "shared" if name == SHARED else None
                run = partial(
                    sample, made_up.roots, samples=given.samples, period_s=given.period, shared=shared
                )
                found[name].append(statistics.fmean(pool.map(run, range(given.runs))))
    for name, each in found.items():
        print(f"  {name:7} {statistics.median(each):.3f} ms of processor time per run and sample")
    ratios = [shared / each for shared, each in zip(found[SHARED], found[EACH], strict=True)]
    low, high = interval(ratios)
    print(f"  shared over each: {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": machine(), "found": found}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Whether noting slow I/Os moves what is measured: the same stimulus with and without, in pairs.

4 KiB random reads of one thread on a loop device in memory, or on the drive or file that --target names (it
is only read). Contestants take turns, as in benches/telemetry_cost.py, which says how the ratios are to be
read. Below the medians: on over off, and off again over off, each by the first decile from the best.

    .venv/bin/python -m benches.outliers_cost [--target /dev/nvme0n1] [--limit-ms 5] [--seconds 3]
        [--pairs 15] [--qd 1 32] [--realtime]

--realtime: before all programs that are not, for a machine that is not idle. Needs root, as the loop device.
"""

import argparse
import os
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benches.engine_against_fio import fill
from benches.targets import machine, memory_drive, opened
from benches.telemetry_cost import CAPACITY, OFF, OFF_AGAIN, ON, Bench, Figures, compare

from openpts.engine.options import NativeOptions
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_MS

_OTHERS = (ON, OFF_AGAIN)


def _undisturbed(runs: list[Figures], figure: str) -> float:
    """The first decile from the best: what other work on the machine hardly moves."""
    values = sorted((run[figure] for run in runs), reverse=figure == "IOPS")
    return values[len(values) // 10]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--target", type=Path)
    arguments.add_argument("--limit-ms", type=float, default=5)
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--pairs", type=int, default=15)
    arguments.add_argument("--qd", type=int, nargs="+", default=[1, 32])
    arguments.add_argument("--realtime", action="store_true")
    given = arguments.parse_args()
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    noting = NativeOptions(cpus=(0,), slow_io_ns=round(given.limit_ms * NS_PER_MS))
    with ExitStack() as stack:
        path = given.target
        if path is None:
            path = stack.enter_context(memory_drive(CAPACITY, Path(tempfile.gettempdir())))
            fill(path)
        target = stack.enter_context(opened(path, SystemRoots()))
        print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {path}; limit {given.limit_ms:g} ms")
        for qd in given.qd:
            print(f"4 KiB random read, QD {qd}, {given.pairs} pairs of {given.seconds:g} s", flush=True)
            on = Bench(target, qd, given.seconds, 1, noting)
            off = Bench(target, qd, given.seconds, 1)
            runs = compare(
                partial(on.measure, sampled=False), partial(off.measure, sampled=False), given.pairs
            )
            for figure in runs[ON][0]:
                ratios = (
                    _undisturbed(runs[one], figure) / _undisturbed(runs[OFF], figure) for one in _OTHERS
                )
                print(f"  {figure:10}  of the best tenth: " + ", ".join(f"{ratio:.4f}" for ratio in ratios))
            on.engine.stop()
            off.engine.stop()


if __name__ == "__main__":
    main()

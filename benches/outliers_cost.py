"""Whether noting slow I/Os moves what is measured: the same stimulus with and without, in pairs.

4 KiB random reads of one thread on a loop device in memory, or on the drive or file that --target names (it
is only read). Contestants take turns, as in benches/telemetry_cost.py, which says how the ratios are to be
read. Below the medians: on over the geometric mean of both that are off, one before and one behind it.

    .venv/bin/python -m benches.outliers_cost [--target /dev/nvme0n1] [--limit-ms 5] [--seconds 3]
        [--pairs 15] [--qd 1 32] [--realtime] [--timer]

--realtime: before all programs that are not, for a machine that is not idle. --timer: no I/O, but a timer of
the kernel's for each, of 100 us: no thread of the kernel, which others could hold up, has a part in it. Needs
root, as the loop device.
"""

import argparse
import math
import os
import statistics
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import cast

from msgspec.structs import replace

from benches.engine_against_fio import fill
from benches.targets import machine, memory_drive, opened
from benches.telemetry_cost import CAPACITY, OFF, OFF_AGAIN, ON, Bench, Figures, compare, interval
from openpts.engine.options import IoPath, NativeOptions
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_MS


def _over_both(runs: dict[str, list[Figures]], figure: str) -> str:
    """What changes slowly on the machine is the same for all three of a turn, and cancels."""
    turns = zip(*(runs[name] for name in (ON, OFF, OFF_AGAIN)), strict=True)
    ratios = [on[figure] / math.sqrt(off[figure] * again[figure]) for on, off, again in turns]
    low, high = interval(ratios)
    return f"{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--target", type=Path)
    arguments.add_argument("--limit-ms", type=float, default=5)
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--pairs", type=int, default=15)
    arguments.add_argument("--qd", type=int, nargs="+", default=[1, 32])
    arguments.add_argument("--realtime", action="store_true")
    arguments.add_argument("--timer", action="store_true")
    given = arguments.parse_args()
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    # a way of the engine's own, which no operator can ask for
    path = cast("IoPath", "timer") if given.timer else None
    plain = NativeOptions(cpus=(0,), io_path=path)
    noting = replace(plain, slow_io_ns=round(given.limit_ms * NS_PER_MS))
    with ExitStack() as stack:
        drive = given.target
        if drive is None:
            drive = stack.enter_context(memory_drive(CAPACITY, Path(tempfile.gettempdir())))
            fill(drive)
        target = stack.enter_context(opened(drive, SystemRoots()))
        print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {drive}; limit {given.limit_ms:g} ms")
        for qd in given.qd:
            print(f"4 KiB random read, QD {qd}, {given.pairs} pairs of {given.seconds:g} s", flush=True)
            on = Bench(target, qd, given.seconds, 1, noting)
            off = Bench(target, qd, given.seconds, 1, plain)
            runs = compare(
                partial(on.measure, sampled=False), partial(off.measure, sampled=False), given.pairs
            )
            for figure in runs[ON][0]:
                print(f"  {figure:10}  on over both off: {_over_both(runs, figure)}")
            on.engine.stop()
            off.engine.stop()


if __name__ == "__main__":
    main()

"""How late the I/Os of a replayed trace are, openpts and fio in turn, on a loop device in memory.

    sudo .venv/bin/python -m benches.replay_against_fio [--iops 10000] [--seconds 2] [--pairs 5]

Lateness is what the block layer saw, the same for both: the moment of an I/O less that of the first, less the
same in the trace. Each pair is one replay by openpts and one by fio (iolog version 3, libaio); the order of
the two changes from pair to pair.
"""

import argparse
import random
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from openpts.units import MIB
from tests.support.block_trace import BlockEvent, BlockTrace, of_event
from tests.support.openpts_command import COMMAND

_CAPACITY = 64 * MIB
_BLOCK = 4096


Due = tuple[int, int]
"""Moment in ns, and first sector."""
Lateness = NDArray[np.float64]


def write_trace(path: Path, iops: int, seconds: float) -> list[Due]:
    """Reads and writes at exponential distances, whole microseconds"""
    draws = random.Random(11)
    lines, moments, at_us = ["fio version 3 iolog", "0 /dev/x add", "0 /dev/x open"], [], 0.0
    for _ in range(round(iops * seconds)):
        block = draws.randrange(_CAPACITY // _BLOCK)
        lines.append(f"{int(at_us)} /dev/x {draws.choice(('read', 'write'))} {block * _BLOCK} {_BLOCK}")
        moments.append((int(at_us) * 1000, block * _BLOCK // 512))
        at_us += draws.expovariate(iops / 1e6)
    path.write_text("\n".join([*lines, f"{int(at_us)} /dev/x close", ""]))
    return moments


def by_openpts(trace: Path, drive: str, folder: Path) -> None:
    words = (
        "--passes",
        "1",
        "--prefill",
        "none",
        "--purge",
        "none",
        "--telemetry-period",
        "off",
        "--no-report",
    )
    run = ("run", "replay", str(trace), drive, "--confirm-device-path", drive, "--depth", "256")
    subprocess.run([*COMMAND, *run, *words, "--out", str(folder)], check=True, capture_output=True)


def by_fio(trace: Path, drive: str, folder: Path) -> None:
    words = ("--name=replay", f"--read_iolog={trace}", f"--replay_redirect={drive}", "--ioengine=libaio")
    subprocess.run(
        ["fio", *words, "--direct=1", "--iodepth=256"], check=True, capture_output=True, cwd=folder.parent
    )


def lateness_us(seen: BlockTrace, trace: list[Due]) -> tuple[Lateness, int]:
    """Of each I/O by the thread that issues them, and how many were left to other threads."""
    queued = of_event(seen.events, BlockEvent.QUEUE)
    ((task, _),) = Counter(queued["task"].tolist()).most_common(1)
    own = queued[(queued["task"] == task) & (queued["sectors"] == _BLOCK // 512)]
    found, place = [], 0
    for time_ns, sector in zip(own["time_ns"].tolist(), own["sector"].tolist(), strict=True):
        while place < len(trace) and trace[place][1] != sector:
            place += 1
        if place == len(trace):
            raise SystemExit("the order of the trace was not kept")
        found.append(time_ns - trace[place][0])
        place += 1
    return (np.array(found) - found[0]) / 1000, len(trace) - len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iops", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--pairs", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        backing = folder / "backing"
        backing.write_bytes(bytes(_CAPACITY))
        losetup = ["losetup", "--find", "--show", "--direct-io=on", str(backing)]
        drive = subprocess.run(losetup, check=True, capture_output=True, text=True).stdout.strip()
        try:
            trace = folder / "trace.iolog"
            moments = write_trace(trace, given.iops, given.seconds)
            for pair in range(given.pairs):
                tools = [("openpts", by_openpts), ("fio", by_fio)]
                for tool, replay in tools if pair % 2 == 0 else reversed(tools):
                    subprocess.run(["blockdev", "--flushbufs", drive], check=True)
                    with BlockTrace(Path(drive), 4 * len(moments) + 100_000) as seen:
                        replay(trace, drive, folder / f"{tool}-{pair}")
                    late_us, lost = lateness_us(seen, moments)
                    p50, p99, p99_9 = np.percentile(np.abs(late_us), [50, 99, 99.9])
                    print(
                        f"pair {pair + 1} {tool:8} p50 {p50:10,.1f} us  p99 {p99:10,.1f} us"
                        f"  p99.9 {p99_9:10,.1f} us  last {late_us[-1]:10,.1f} us  elsewhere {lost}",
                        flush=True,
                    )
        finally:
            subprocess.run(["losetup", "--detach", drive], check=True)


if __name__ == "__main__":
    main()

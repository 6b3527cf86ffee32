"""Processes that sample this host as runs do, until they are ended.

``python -m tests.device.host_sampler FOLDER PERIOD_S ...`` prints the number of each; what they share is in
the folder, and a file for each with its values and their monotonic times.
"""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openpts.gauge import Gauge, Values
from openpts.host.gauges import pressure_gauge, processor_gauges
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots


def ticks_of_all(contents: Sequence[bytes], _at_ns: int) -> Values:
    """What the processors have counted since the machine was started."""
    return {"ticks": sum(map(int, contents[0].split(b"\n")[0].split()[1:]))}


@dataclass
class Spent:
    """What they have counted since the reading before, by whichever run."""

    _before: float | None = None

    def __call__(self, contents: Sequence[bytes], at_ns: int) -> Values:
        now, before = ticks_of_all(contents, at_ns)["ticks"], self._before
        self._before = now
        return {"counted": now} | ({} if before is None else {"spent": now - before})


def sample(folder: Path, number: int, period_s: float) -> None:
    roots = SystemRoots()
    # always another value, so that each reading is stored
    ticks = Gauge("ticks", "ticks", "x", (roots.proc / "stat",), ticks_of_all, of_host=True)
    spent = Gauge(
        "spent", "x", "x", ticks.paths, Spent(), resolution=-1.0, share=-1.0, of_host=True, for_all=True
    )
    gauges = (ticks, spent, *processor_gauges(roots, ()), pressure_gauge(roots))
    sampler = Sampler(gauges, period_s, shared=folder)
    with (folder / f"sampled-{number}").open("w") as file, sampler.running():
        while True:
            for point in sampler.take(0):
                file.write(f"{point.t_ns} {point.name} {point.value}\n")
            file.flush()
            time.sleep(period_s / 4)


def main() -> None:
    folder = Path(sys.argv[1])
    for number, period in enumerate(sys.argv[2:]):
        if not (pid := os.fork()):
            sample(folder, number, float(period))
        sys.stdout.write(f"{pid}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()

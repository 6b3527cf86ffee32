"""Processes that sample this host as runs do, started and looked into by a test."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from openpts.units import NS_PER_S


class Samplers:
    """Processes, each with a file of what it has sampled."""

    def __init__(self, folder: Path, periods_s: tuple[float, ...], cleanup: ExitStack) -> None:
        words = [sys.executable, "-m", "tests.device.host_sampler", str(folder), *map(str, periods_s)]
        starting = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cleanup.enter_context(starting)
        assert starting.stdout is not None
        self.pids = [int(starting.stdout.readline()) for _ in periods_s]
        self.outputs = [folder / f"sampled-{number}" for number in range(len(periods_s))]
        for pid in self.pids:
            cleanup.callback(os.kill, pid, signal.SIGKILL)

    def points(self, number: int, name: str = "ticks") -> dict[int, float]:
        """Values by time."""
        lines = [line.split() for line in self.outputs[number].read_text().splitlines(keepends=True)]
        return {int(line[0]): float(line[2]) for line in lines if len(line) == 3 and line[1] == name}

    def spans(self, number: int, name: str) -> dict[tuple[int, int], float]:
        """Values by the times of the sample before and of their own."""
        before_ns = {after: before for before, after in pairwise(self.points(number))}
        return {
            (before_ns[t_ns], t_ns): value
            for t_ns, value in self.points(number, name).items()
            if t_ns in before_ns
        }

    def gaps_s(self, number: int, since_ns: int) -> list[float]:
        """Between samples from then on."""
        times = [since_ns, *(t_ns for t_ns in self.points(number) if t_ns > since_ns)]
        return [(after - before) / NS_PER_S for before, after in pairwise(times)]

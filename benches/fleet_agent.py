"""What Slurm keeps on a host while a drive is measured there, and whether the drive's latencies show it.

    python -m benches.fleet_agent [PAIRS [SECONDS]]

A cluster on this machine carries out a run on one of its hosts. Printed are memory (PSS: pages that processes
share are shared out) and wake-ups of Slurm's processes there. Then a file in memory is measured, 4 KiB
random reads, QD 1, by turns in changing order: in a job, with these processes at work ("on"), and outside of
Slurm, with all of them stopped ("off", and "off again", which shows how far two equal runs lie apart
here). Ratios are medians over the pairs, with the interval that holds them in 95 % of
resamplings. The exit code is 1 if openpts has a process beside the run, if Slurm's take 10 MB or more, or if
all of the interval of p99.9 is above 1: then it can be seen.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from benches.engine_against_fio import fill
from benches.targets import machine
from benches.telemetry_cost import CAPACITY, ON, Bench, Figures, compare, interval, ratios_of
from openpts.device.targets.open_target import OpenTarget
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts_batch.tests.fleet.cluster import Cluster, Machine, missing, slurm_cluster
from tests.support.processes import until

MOST_BYTES: Final = 10_000_000
FIGURE: Final = "p99.9 us"
RUN: Final = ("wsat", "--time-scale", "0.2", "--tc", "1", "--qd", "1", "--telemetry-period", "off")
OBSERVED_S: Final = 20.0
PATH: Final = f"PYTHONPATH={':'.join(filter(None, sys.path))}"


def measure_when_told(path: Path, seconds: float) -> None:
    """A measurement for each line of input."""
    facts = TargetFacts(TargetKind.FILE, path.name, str(path), CAPACITY, 512)
    bench = Bench(OpenTarget(os.open(path, os.O_RDONLY | os.O_DIRECT), facts, None), 1, seconds, 1)
    for _ in sys.stdin:
        print(json.dumps(bench.measure(sampled=False)), flush=True)


@dataclass
class Worker:
    """A process that measures when it is told to."""

    asked: IO[str]
    answers: IO[str]

    def measured(self) -> Figures:
        self.asked.write("\n")
        self.asked.flush()
        figures: Figures = json.loads(self.answers.readline())
        return figures


@contextmanager
def bare(host: Machine, words: list[str]) -> Iterator[Worker]:
    """In the host's namespaces, in a session of its own as a job has one, and no process of Slurm's."""
    command, pipe = [*host.enter, *words], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Worker(process.stdin, process.stdout)


@contextmanager
def in_a_job(cluster: Cluster, host: Machine, words: list[str]) -> Iterator[Worker]:
    pipes = [cluster.folder / name for name in ("asked", "answers")]
    for pipe in pipes:
        os.mkfifo(pipe)
    line = f"exec {shlex.join(words)} < {pipes[0]} > {pipes[1]}"
    cluster.slurm("sbatch", f"--nodelist={host.name}", "--gres=slot:s00:1", "--chdir=/", f"--wrap={line}")
    with pipes[0].open("w") as asked, pipes[1].open() as answers:
        yield Worker(asked, answers)


def of_status(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def pss_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def wakeups(pid: int) -> int:
    tasks = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    kinds = ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")
    return sum(of_status(task, kind) for task in tasks for kind in kinds)


def is_small(cluster: Cluster, host: Machine) -> bool:
    """Print what is there beside a run while nothing is asked of the host."""
    where = ["--host", host.name, "--slot", "s01", "--serial", f"SN-{host.name}-s01"]
    run = json.loads(cluster.openpts("fleet", "submit", "--json", *where, *RUN).stdout)["runs"][0]
    until((host.folder / "runs" / run["run_id"] / "claim.jsonl").exists, "the run has begun", 120)
    own = host.pids("python")
    agents = [pid for pid in host.all_pids() if pid not in own]
    before = {pid: wakeups(pid) for pid in agents}
    time.sleep(OBSERVED_S)
    total = 0
    for pid in agents:
        name, size = Path(f"/proc/{pid}/comm").read_text().strip(), pss_bytes(pid)
        print(f"  {name:12} {size / 1e6:5.1f} MB, {(wakeups(pid) - before[pid]) / OBSERVED_S:.2f} wake-ups/s")
        total += size
    print(f"  {'all':12} {total / 1e6:5.1f} MB; of openpts beside the run: {len(own) - 1}", flush=True)
    host.kill("python")
    until(lambda: not cluster.slurm("squeue", "-h"), "the job has ended")
    return len(own) == 1 and total < MOST_BYTES


def is_unseen(cluster: Cluster, host: Machine, file: Path, pairs: int, seconds: float) -> bool:
    words = ["env", PATH, sys.executable, "-m", "benches.fleet_agent", "--measure", str(file), str(seconds)]
    with in_a_job(cluster, host, words) as inside, bare(host, words) as outside:
        until(lambda: len(host.pids("python")) == 2, "both measure")
        inside.measured()
        outside.measured()
        agents = [pid for pid in host.all_pids() if pid not in host.pids("python")]

        def off() -> Figures:
            for pid in agents:
                os.kill(pid, signal.SIGSTOP)
            try:
                return outside.measured()
            finally:
                for pid in agents:
                    os.kill(pid, signal.SIGCONT)

        print(f"4 KiB random read, QD 1, {pairs} pairs of {seconds:g} s")
        low, _ = interval(ratios_of(compare(inside.measured, off, pairs), FIGURE, ON))
    return low <= 1


def main() -> None:
    if sys.argv[1:2] == ["--measure"]:
        measure_when_told(Path(sys.argv[2]), float(sys.argv[3]))
        return
    if why := missing():
        sys.exit(why)
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}")
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file, slurm_cluster() as cluster:
        fill(Path(file.name))
        host = cluster.hosts["h1"]
        small = is_small(cluster, host)
        unseen = is_unseen(cluster, host, Path(file.name), pairs, seconds)
    sys.exit(not (small and unseen))


if __name__ == "__main__":
    main()

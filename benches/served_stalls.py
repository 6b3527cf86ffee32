"""Plants stalls around a served drive behind the kernel's nvme-tcp, and prints what the rules say of them.

Each kind in a step of its own: reads of 4 KiB one at a time on the last CPU, the drive's server on the
first. What was planted is counted where it is planted; I/Os of 5 ms and more that lie close to one another
are one stall, with the cause of the slowest. As root, in a machine that may be lost (see tests/lab):

    modprobe nvme-tcp; python -m benches.served_stalls [--stalls 40] [--kinds drive link ...]

"""

import argparse
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from benches.targets import opened
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.record.health import TelemetryPoint, TelemetrySeries
from openpts.record.reader import StepRecord
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots
from openpts.units import KIB, NS_PER_MS, NS_PER_S
from openpts.vocabulary.sample import Phase, Sample, SlowIo, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_drives.concerns import target_gauges
from openpts_host.concerns import host_gauges
from openpts_nvme.outliers.causes import Cause
from openpts_nvme.outliers.rules import Surroundings, Witnessed, cause_of
from openpts_sim.simulated_target import parse_simulated_target
from openpts_testbench.serve import ServeOrder, serve_drive

LIMIT_MS: Final = 5
TRUTH: Final = {
    "drive": Cause.DRIVE,
    "link": Cause.LINK,
    "kernel queue": Cause.KERNEL_QUEUE,
    "processor": Cause.PROCESSOR,
    "engine": Cause.ENGINE,
}
_KINDS: Final = ("nothing", *TRUTH)
_CPU: Final = max(os.sched_getaffinity(0))
_APART_S: Final = 0.25
# a link that has errors in most seconds is one that has them beside each outlier
_LINK_APART_S: Final = 3.0
_TOGETHER_NS: Final = 60 * NS_PER_MS
_BETWEEN_OUTLIERS: Final = 400
_MOST_OUTLIERS: Final = 200
_PRESET: Final = """
name = "planted"
summary = "Slow where it is written down"
capacity_bytes = 64_000_000
sector_bytes = 512
purge = "works"
[oracle]
purge_s = 0.0
[oracle.rate]
by = "steps"
every = 1
iops = [1000.0]
"""
"""With a millisecond for each read an emulated processor has time to rest."""
_GROUP: Final = Path("/sys/fs/cgroup/stalled")
_PLANTS: Final = {
    "link": "run('tc qdisc add dev lo root netem loss 100%'); time.sleep(s); run('tc qdisc del dev lo root')",
    "kernel queue": "limit('riops=2'); time.sleep(s); limit('riops=max')",
    "processor": "end = time.monotonic() + s\n while time.monotonic() < end: pass",
    "engine": "os.kill(parent, 19); time.sleep(s); os.kill(parent, 18)",
}
"""What a child process does for ``s`` seconds."""


class Served(Struct, frozen=True):
    """A drive in a process of its own."""

    node: Path
    orders: int
    answers: int

    def ios(self) -> int:
        """What it has served so far."""
        os.write(self.orders, b"?")
        return int(os.read(self.answers, 32))


@contextmanager
def connected(preset: str) -> Iterator[Served]:
    """It ends with this process."""
    (orders, to_it), (from_it, answers) = os.pipe(), os.pipe()
    if not os.fork():
        os.close(to_it)
        os.sched_setaffinity(0, {0})
        with serve_drive(ServeOrder(parse_simulated_target(preset), "127.0.0.1:0")) as drive:
            os.write(answers, f"{drive.address} {drive.names.nqn} {drive.names.serial}".encode())
            while os.read(orders, 1):
                os.write(answers, str(drive.served().ios).encode())
        os._exit(0)
    address, nqn, serial = os.read(from_it, 512).decode().split()
    host, _, port = address.rpartition(":")
    subprocess.run(shlex.split(f"nvme connect -t tcp -a {host} -s {port} -n {nqn}"), check=True)
    while not (found := [one for one in Path("/sys/class/nvme").glob("nvme*") if _is(one, serial)]):
        time.sleep(0.1)
    node = Path(f"/dev/{found[0].name}n1")
    while not node.is_block_device():
        time.sleep(0.1)
    yield Served(node, to_it, from_it)
    subprocess.run(["nvme", "disconnect", "-n", nqn], check=True)


def _is(controller: Path, serial: str) -> bool:
    return (controller / "serial").read_text().strip() == serial


def lengths_s(count: int, seed: int) -> list[float]:
    """From 8 to 50 ms, even on a log scale."""
    draw = random.Random(seed)
    return [0.008 * (50 / 8) ** draw.random() for _ in range(count)]


def _child(kind: str, lengths: Sequence[float], node: Path) -> subprocess.Popen[bytes]:
    """Plants its stalls, one after the other, from half a second after it is there."""
    apart_s = _LINK_APART_S if kind == "link" else _APART_S
    number = node.stat().st_rdev
    device = f"{os.major(number)}:{os.minor(number)}"
    realtime = kind == "processor"
    text = f"""
import os, shlex, subprocess, time
parent = {os.getpid()}
def run(words): subprocess.run(shlex.split(words), check=True)
def limit(words): open('{_GROUP}/io.max', 'w').write('{device} ' + words)
if {realtime}:
 os.sched_setaffinity(0, {{{_CPU}}}); os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
else: os.sched_setaffinity(0, {{0}})
print(flush=True)
time.sleep(0.5)
for s in {list(lengths)}:
 {_PLANTS[kind]}
 time.sleep({apart_s})
"""
    child = subprocess.Popen([sys.executable, "-S", "-c", text], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def measured(target: OpenTarget, served: Served, kind: str, count: int, seed: int) -> tuple[int, list[Cause]]:
    """How many stalls there were, and the causes that were found."""
    roots, demand = SystemRoots(), Demand(1, 1, 4 * KIB)
    options = NativeOptions(cpus=(_CPU,), slow_io_ns=LIMIT_MS * NS_PER_MS)
    engine = NativeEngine(target.fd, target.facts, demand, seed, options)
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 1, 1, ActiveRange())
    gauges = target_gauges(target, engine, demand, roots) + host_gauges(roots, engine.cpus)
    sampler = Sampler(gauges, 1.0)
    apart_s = (_LINK_APART_S if kind == "link" else _APART_S) + 0.2
    child = _child(kind, lengths_s(count, seed), served.node) if kind in _PLANTS else None
    before = served.ios()
    with sampler.running():
        engine.submit((Step.of(stimulus, Duration.seconds(1 + count * apart_s)),))
        sample = None
        while sample is None:
            sample = engine.poll(1)
        offset_ns = sample.started_ns + sample.elapsed_ns - time.monotonic_ns()
        time.sleep(1.2)  # what was counted in the last second
        points = sampler.take(offset_ns)
    ended = served.ios()
    engine.stop()
    if child is not None:
        child.wait()
        return count, causes(sample, points)
    outliers = range(_BETWEEN_OUTLIERS, _BETWEEN_OUTLIERS * (_MOST_OUTLIERS + 1), _BETWEEN_OUTLIERS)
    return sum(before <= io < ended for io in outliers) if kind == "drive" else 0, causes(sample, points)


def causes(sample: Sample, points: Sequence[TelemetryPoint]) -> list[Cause]:
    """One of each stall."""
    by_name = defaultdict(list)
    for point in sorted(points):
        by_name[point.name].append((point.t_ns, point.value))
    series = {name: TelemetrySeries(*zip(*some, strict=True)) for name, some in by_name.items()}
    surroundings = Surroundings(series, (), 1.0, sample.slow_ios)
    step = StepRecord(StepPlace(1, Phase.ROUND, 1, 0), sample)
    stalls: list[list[SlowIo]] = []
    for slow in sample.slow_ios:
        if stalls and slow.submitted_ns - stalls[-1][-1].answered_ns < _TOGETHER_NS:
            stalls[-1].append(slow)
        else:
            stalls.append([slow])
    slowest = [max(some, key=lambda slow: slow.latency_ns) for some in stalls]
    return [cause_of(Witnessed(slow, surroundings.around(slow, step)))[0] for slow in slowest]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--stalls", type=int, default=40)
    arguments.add_argument("--kinds", nargs="+", default=_KINDS, choices=_KINDS)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        outliers = "".join(
            f"\n[[oracle.outliers]]\nio = {_BETWEEN_OUTLIERS * (number + 1)}\nns = {round(s * NS_PER_S)}\n"
            for number, s in enumerate(lengths_s(_MOST_OUTLIERS, 1))
        )
        for name, text in (("slow", outliers), ("clean", "")):
            (Path(folder) / f"{name}.toml").write_text(_PRESET + text)
        print("| Planted | stalls | " + " | ".join(Cause) + " |")
        print("|---|---:|" + "---:|" * len(Cause), flush=True)
        totals: Counter[str] = Counter()
        for number, kind in enumerate(given.kinds):
            preset = str(Path(folder) / ("slow.toml" if kind == "drive" else "clean.toml"))
            with connected(preset) as served, _throttled(kind), opened(served.node, SystemRoots()) as target:
                planted, found = measured(target, served, kind, given.stalls, 7 + number)
            counts = Counter(found)
            cells = [str(planted), *(str(counts[cause] or "") for cause in Cause)]
            print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
            right = min(planted, counts[TRUTH[kind]]) if kind in TRUTH else 0
            known = len(found) - counts[Cause.NOT_KNOWN]
            totals.update(planted=planted, right=right, given=known)
        print(f"\nRecall {totals['right'] / totals['planted']:.1%}, ", end="")
        print(f"precision {totals['right'] / totals['given']:.1%}, {totals['planted']} stalls")


@contextmanager
def _throttled(kind: str) -> Iterator[None]:
    """This process in a control group of its own, where one is to be limited."""
    if kind != "kernel queue":
        yield
        return
    root = _GROUP.parent
    if not (root / "cgroup.procs").exists():
        subprocess.run(["mount", "-t", "cgroup2", "none", str(root)], check=True)
    (root / "cgroup.subtree_control").write_text("+io")
    _GROUP.mkdir(exist_ok=True)
    (_GROUP / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (root / "cgroup.procs").write_text(str(os.getpid()))


if __name__ == "__main__":
    main()

"""Reads a drive for some seconds and prints what each of them is marked with, and when they began, as JSON.

    python -m tests.support.limited_load NODE SECONDS [--cpus 0] [--group FOLDER] [--sys FOLDER --disk NAME]

``--group`` is the control group that it joins before the first I/O. ``--sys`` and ``--disk`` tell the links
to the drive from a made-up machine.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from openpts.device.block_device import BlockDevice
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.record.health import TelemetrySeries, spans_of, step_marks
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots
from openpts.units import KIB, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_drives.link import path_gauge
from openpts_host.gauges import processor_gauges, saturation_gauges

PERIOD_S = 1.0


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("node", type=Path)
    arguments.add_argument("seconds", type=float)
    arguments.add_argument("--cpus", type=int, nargs="*", default=[])
    arguments.add_argument("--block-kib", type=int, default=4)
    arguments.add_argument("--sys", type=Path, default=Path("/sys"))
    arguments.add_argument("--disk")
    arguments.add_argument("--group", type=Path)
    given = arguments.parse_args()
    block_bytes = given.block_kib * KIB
    fd = os.open(given.node, os.O_RDONLY | os.O_DIRECT)
    facts = TargetFacts(TargetKind.BLOCK, given.node.name, str(given.node), os.lseek(fd, 0, 2), 512)
    options = NativeOptions(cpus=tuple(given.cpus), interval_ns=round(PERIOD_S * NS_PER_S))
    engine = NativeEngine(fd, facts, Demand(1, 4, block_bytes), 1, options)
    roots = SystemRoots(sys=given.sys)
    gauges = [processor_gauges(SystemRoots(), given.cpus)[0]]
    if given.disk:
        gauges.append(path_gauge((BlockDevice.of_name(given.disk, roots),), roots))
    if given.group:
        (given.group / "cgroup.procs").write_text(str(os.getpid()))
    # a path is looked up when a gauge is made: those of the group are after it was joined
    gauges += saturation_gauges(SystemRoots(), given.cpus)
    sampler = Sampler(gauges, PERIOD_S)
    reads = Stimulus.of(AccessPattern.RANDOM, block_bytes, 100, 1, 4, ActiveRange())
    with sampler.running():
        time.sleep(3 * PERIOD_S)
        engine.submit([Step.of(reads, Duration.seconds(given.seconds))])
        while (sample := engine.poll(1)) is None:
            pass
        offset_ns = sample.started_ns + sample.elapsed_ns - time.monotonic_ns()
        begun_at = time.time() - sample.elapsed_ns / NS_PER_S
        time.sleep(2 * PERIOD_S)
    points: dict[str, list[tuple[int, float]]] = {}
    for point in sampler.take(offset_ns):
        points.setdefault(point.name, []).append((point.t_ns, point.value))
    series = {name: TelemetrySeries(*zip(*of_name, strict=True)) for name, of_name in points.items()}
    (marks,) = step_marks([spans_of(sample)], series, PERIOD_S, polling=False)
    engine.stop()
    rates = [interval.bytes / interval.elapsed_ns for interval in sample.intervals]
    seconds = [None if one is None else sorted(one) for one in marks.marks]
    highest = {name: max(of_name.values) for name, of_name in series.items()}
    found = {"begun_at": begun_at, "seconds": seconds, "rates": rates, "highest": highest}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()

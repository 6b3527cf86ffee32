"""Rates of ten streams at once, as the drive sees them, of openpts and of fio.

Ten unlike streams, each on a tenth of a loop device in memory, are to keep rates from 250 to 4,000 I/Os per
second: capped (a closed loop that is no faster) by the native engine and by fio, whose job file openpts
writes, and by arrivals at fixed times, which only the native engine has. All in turn, several times. The
kernel's tracepoints count what arrives in each second from a stream's first I/O on. Printed are the median
and p99 of the seconds' errors, and the error over the whole time, in per cent of the rate.

    .venv/bin/python -m benches.streams [--seconds 10] [--repeats 3] [--json FILE]

Needs root, for the loop device and for tracing. Nothing is written but a file of its own.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.targets import fio_version, machine, memory_drive
from openpts.engine.contract import Engine
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    Capped,
    CapUnit,
    Duration,
    FixedRate,
    Pacing,
    Step,
    Stimulus,
    Stream,
)
from openpts_fio.engine.engine import FioEngine
from tests.support.block_trace import BlockEvent, BlockTrace, TracingUnavailableError, of_event

CAPACITY = 640 * MIB
SECTOR = 512
RANDOM, SEQUENTIAL = AccessPattern.RANDOM, AccessPattern.SEQUENTIAL
# Order, block size, reads in per cent, TC, QD, I/Os per second.
STREAMS = {
    "point reads": (RANDOM, 4 * KIB, 100, 2, 4, 4000),
    "index reads": (RANDOM, 4 * KIB, 100, 1, 1, 2000),
    "mix": (RANDOM, 8 * KIB, 70, 1, 8, 1500),
    "scan": (SEQUENTIAL, 64 * KIB, 100, 1, 4, 500),
    "updates": (RANDOM, 4 * KIB, 0, 1, 4, 2000),
    "compaction": (SEQUENTIAL, 64 * KIB, 0, 1, 4, 500),
    "small reads": (RANDOM, 512, 100, 1, 2, 1000),
    "pages": (RANDOM, 16 * KIB, 0, 2, 2, 500),
    "log": (SEQUENTIAL, 4 * KIB, 0, 1, 1, 1000),
    "background": (RANDOM, 32 * KIB, 100, 1, 1, 250),
}
RATES = {name: stream[-1] for name, stream in STREAMS.items()}


def capped(ios_per_s: float) -> Pacing:
    return Capped(ios_per_s, CapUnit.IOS)


def step(pacing: Callable[[float], Pacing], seconds: float) -> Step:
    streams = []
    for number, (name, (order, size, read_pct, tc, qd, rate)) in enumerate(STREAMS.items()):
        # The end is not touched, where a range begins with the last sector of a block.
        active = ActiveRange(10 * number, 10 * number + 9.9)
        stimulus = Stimulus.of(order, size, read_pct, tc, qd, active)
        streams.append(Stream(_paced(stimulus, pacing(rate)), name))
    return Step(tuple(streams), Duration.seconds(seconds))


def _paced(stimulus: Stimulus, pacing: Pacing) -> Stimulus:
    return Stimulus(
        **{name: getattr(stimulus, name) for name in stimulus.__struct_fields__} | {"pacing": pacing}
    )


def native(descriptor: int, target: TargetFacts) -> Engine:
    tc = sum(tc for _, _, _, tc, _, _ in STREAMS.values())
    return NativeEngine(descriptor, target, Demand(tc, 8, 64 * KIB), 1)


def fio(descriptor: int, target: TargetFacts) -> Engine:
    return FioEngine(descriptor, target, 1)


CONTESTANTS = {
    "openpts, capped": (native, capped),
    "fio, capped": (fio, capped),
    "openpts, fixed rate": (native, FixedRate),
}


def counts_by_second(drive: Path, contestant: str, seconds: int) -> dict[str, NDArray[np.int64]]:
    """I/Os of each stream that arrived in each second from its first one on."""
    open_engine, pacing = CONTESTANTS[contestant]
    wanted = step(pacing, seconds)
    target = TargetFacts(TargetKind.BLOCK, drive.name, str(drive), CAPACITY, SECTOR)
    descriptor = os.open(drive, os.O_RDWR | os.O_DIRECT)
    engine = open_engine(descriptor, target)
    try:
        with BlockTrace(drive, 4 * sum(RATES.values()) * seconds) as trace:
            engine.submit([wanted])
            while (sample := engine.poll(1)) is None:
                pass
    finally:
        engine.stop()
        os.close(descriptor)
    if sample.failure is not None:
        raise RuntimeError(f"{contestant}: {sample.failure.reason}")
    queued = of_event(trace.events, BlockEvent.QUEUE)
    starts, times = queued["sector"] * SECTOR, queued["time_ns"]
    found = {}
    for stream in wanted.streams:
        first, end = stream.stimulus.active_range.bytes_of(CAPACITY, SECTOR)
        own = times[(first <= starts) & (starts < end)]
        edges = own[0] + np.arange(seconds + 1) * NS_PER_S
        found[stream.name] = np.histogram(own, edges)[0]
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=int, default=10)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    if os.geteuid() != 0:
        print("a loop device and tracing need root")
        return 0
    version = fio_version()
    contestants = [name for name in CONTESTANTS if version or not name.startswith("fio")]
    print(f"{machine()}; {version}; {options.repeats} runs of {options.seconds} s each")
    counts: dict[str, dict[str, list[int]]] = {name: {s: [] for s in STREAMS} for name in contestants}
    try:
        with tempfile.TemporaryDirectory() as folder, memory_drive(CAPACITY, Path(folder)) as drive:
            for repeat in range(options.repeats):
                turn = repeat % len(contestants)
                for name in contestants[turn:] + contestants[:turn]:
                    for stream, found in counts_by_second(drive, name, options.seconds).items():
                        counts[name][stream] += found.tolist()
    except TracingUnavailableError as error:
        print(error)
        return 0
    show(counts)
    if options.json:
        options.json.write_text(json.dumps(counts, indent=2))
    return 0


def show(counts: dict[str, dict[str, list[int]]]) -> None:
    print(f"{'error, %: median, p99, whole':30}" + "".join(f"{name:>24}" for name in counts))
    for stream, rate in RATES.items():
        cells = []
        for of_streams in counts.values():
            seconds = np.array(of_streams[stream])
            errors = 100 * np.abs(seconds - rate) / rate
            whole = 100 * abs(seconds.mean() - rate) / rate
            cells.append(f"{np.median(errors):8.2f}{np.percentile(errors, 99):8.2f}{whole:8.2f}")
        print(f"{stream:16}{rate:8,} per s  " + "".join(cells))


if __name__ == "__main__":
    sys.exit(main())

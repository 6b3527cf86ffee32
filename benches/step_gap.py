"""The time without I/O between two steps, as the drive sees it, of openpts and of fio.

Steps of 64 and of 32 KiB random reads at QD 1 alternate on a loop device in memory. They are run as one
program of openpts, as one fio process per step whose JSON is read before the next is started, and as one
fio job file with a stonewall before each job; all in turn, several times. The gap is the time from the last
completion of a step to the first I/O of the next, by the kernel's tracepoints. The turnaround, from a
completion to the next I/O inside a step, is what the host needs in any case.

    .venv/bin/python -m benches.step_gap [--steps 20] [--step-seconds 0.1] [--repeats 3] [--json FILE]

Needs root, for the loop device and for tracing. Nothing is written but a file of its own.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benches.targets import fio_version, machine, memory_drive
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand
from openpts.units import KIB, MIB, NS_PER_US
from openpts.vocabulary.facts import TargetFacts, TargetKind
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from tests.support.block_trace import BlockEvent, BlockTrace, Events, TracingUnavailableError, of_event

CAPACITY = 256 * MIB
SECTOR = 512
SIZES = (64 * KIB, 32 * KIB)
# Three for each I/O, and more I/Os than QD 1 gives on a loop device in memory.
MOST_EVENTS_PER_S = 3 * 200_000


@dataclass(frozen=True)
class Program:
    """Steps of alternating sizes on a drive."""

    drive: Path
    steps: int
    step_s: float

    @property
    def sizes(self) -> list[int]:
        return [SIZES[number % 2] for number in range(self.steps)]


@dataclass(frozen=True)
class Gaps:
    """What the drive saw: time between steps, and between the I/Os of a step."""

    between_steps_ns: NDArray[np.int64]
    turnaround_ns: NDArray[np.int64]


def run_openpts(program: Program) -> None:
    descriptor = os.open(program.drive, os.O_RDONLY | os.O_DIRECT)
    facts = TargetFacts(TargetKind.BLOCK, program.drive.name, str(program.drive), CAPACITY, SECTOR)
    engine = NativeEngine(descriptor, facts, Demand(1, 1, max(SIZES)), seed=1)
    engine.submit(
        [
            Step.of(
                Stimulus.of(AccessPattern.RANDOM, size, 100, 1, 1, ActiveRange()),
                Duration.seconds(program.step_s),
            )
            for size in program.sizes
        ]
    )
    samples = 0
    while samples < program.steps:
        samples += engine.poll(1) is not None
    engine.stop()
    os.close(descriptor)


def _fio_options(program: Program) -> list[str]:
    return [
        f"filename={program.drive}",
        f"size={CAPACITY}",
        f"runtime={round(program.step_s * 1000)}ms",
        *("rw=randread", "iodepth=1", "ioengine=io_uring", "direct=1", "time_based", "norandommap", "thread"),
    ]


def run_fio_processes(program: Program) -> None:
    options = [f"--{option}" for option in _fio_options(program)]
    for size in program.sizes:
        command = ["fio", "--name=step", f"--bs={size}", *options, "--output-format=json"]
        output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
        assert json.loads(output)["jobs"][0]["read"]["total_ios"] > 0


def run_fio_job_file(program: Program) -> None:
    sections = [["[global]", *_fio_options(program)]]
    sections += [[f"[step{number}]", "stonewall", f"bs={size}"] for number, size in enumerate(program.sizes)]
    with tempfile.NamedTemporaryFile("w", suffix=".fio") as file:
        file.write("\n".join(line for section in sections for line in section))
        file.flush()
        command = ["fio", "--output-format=json", file.name]
        subprocess.run(command, capture_output=True, check=True)


WAYS: dict[str, Callable[[Program], None]] = {
    "openpts, one program": run_openpts,
    "fio, a process per step": run_fio_processes,
    "fio, one job file with stonewalls": run_fio_job_file,
}


def gaps_of(events: Events, steps: int) -> Gaps:
    """Steps are told apart by the size of their I/Os; whatever else looked at the drive is left out."""
    own = events[np.isin(events["sectors"], [size // SECTOR for size in SIZES])]
    queued = of_event(own, BlockEvent.QUEUE, "R")
    completed = of_event(own, BlockEvent.COMPLETE, "R")
    assert (queued["sector"] == completed["sector"]).all(), "at QD 1, each read is answered before the next"
    idle_ns = queued["time_ns"][1:] - completed["time_ns"][:-1]
    between = queued["sectors"][1:] != queued["sectors"][:-1]
    if between.sum() != steps - 1:
        sys.exit("a step had no I/O: this machine is too busy for steps so short (--step-seconds)")
    return Gaps(idle_ns[between], idle_ns[~between])


def measure(way: Callable[[Program], None], program: Program) -> Gaps:
    max_events = round(program.steps * program.step_s * MOST_EVENTS_PER_S)
    with BlockTrace(program.drive, max_events) as trace:
        way(program)
    return gaps_of(trace.events, program.steps)


def figures_us(runs: list[Gaps]) -> dict[str, float]:
    gaps_us = np.concatenate([run.between_steps_ns for run in runs]) / NS_PER_US
    turnaround_us = np.concatenate([run.turnaround_ns for run in runs]) / NS_PER_US
    return {
        "median": float(np.median(gaps_us)),
        "min": float(gaps_us.min()),
        "max": float(gaps_us.max()),
        "turnaround": float(np.median(turnaround_us)),
    }


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--steps", type=int, default=20)
    arguments.add_argument("--step-seconds", type=float, default=0.1)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    ways = dict(WAYS)
    fio = fio_version()
    if fio is None:
        print("fio is not installed: openpts is measured alone (apt-get install fio)")
        ways = {"openpts, one program": run_openpts}
    runs: dict[str, list[Gaps]] = {name: [] for name in ways}
    try:
        with memory_drive(CAPACITY, Path(tempfile.gettempdir())) as drive:
            for _ in range(options.repeats):
                for name, way in ways.items():
                    runs[name].append(measure(way, Program(drive, options.steps, options.step_seconds)))
    except TracingUnavailableError as error:
        print(error)
        return 1
    transitions = options.repeats * (options.steps - 1)
    print(f"{machine()}, {fio or 'no fio'}")
    print(f"{transitions} transitions between steps of {options.step_seconds:g} s; times in us")
    table = {name: figures_us(gaps) for name, gaps in runs.items()}
    print(f"{'':34}{''.join(f'{column:>12}' for column in next(iter(table.values())))}")
    for name, figures in table.items():
        print(f"{name:34}{''.join(f'{value:12,.1f}' for value in figures.values())}")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

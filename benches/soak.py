"""Hours of I/O on a file, and weeks of a suite on a simulated drive, watched from outside.

    python -m benches.soak file FOLDER [--seconds 7200]   write saturation by eight workloads, TC 1 QD 1
    python -m benches.soak suite FOLDER                   all eight tests in virtual time, more than two weeks
    python -m benches.soak judge FOLDER ...               what they have left, again

FOLDER gets the run, ``samples.jsonl`` with what the kernel knows of the run's processes, and ``log.jsonl``
with the moments at which its lines came. The exit code is 1 if a promise is broken:

- Memory, file descriptors and threads do not grow while a test runs: Theil and Sen's slope over its second
  half, times the length of that half, is at most 1 % of the median or 1 MiB, or half a descriptor or thread.
  Tests of less than a minute say nothing of growth and are left out.
- The record is not larger than what was predicted, and checked against the free space, before the run.
- Steps and the gaps between them take as long as the schedule says, and the engine's clock and the wall
  clock go as the kernel's clock does that nothing adjusts: all within 0.1 %.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import vl_convert
from scipy.stats import theilslopes

from benches.targets import machine
from openpts.planning.dry_run import AssumedDrive, Ending, capture_bytes, dry_run, record_bytes
from openpts.procedures.registry import procedure_of
from openpts.record.batch import is_batch, read_batch
from openpts.record.reader import Run, StepRecord, read_run
from openpts.record.writer import CAPTURE_FOLDER, DATABASE_NAME
from openpts.runner.resource_check import interval_ns
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.stimulus import planned_length_ns
from openpts_pages.plots.theme import FONT_DIRECTORY, LIGHT, vega_config

# Those with most I/Os come first: a step keeps its intervals until it is stored, and then they fill SQLite's
# cache. Theirs have up to 3 KB of histograms each, those of the others less than 1.5 KB: what the largest
# step takes is in use before the second half, in which memory that grows is memory that leaks.
WORKLOADS: Final = (
    "SEQ 4KiB RW0", "RND 4KiB RW95",
    "write_intensive", "RND 4KiB RW65", "oltp", "RND 16KiB RW30", "RND 8KiB RW50", "RND 64KiB RW80",
)  # fmt: skip
FILE_BYTES: Final = 512 * MIB
WEEKS: Final = """
[wsat]
longest_seconds = 172800
drive_fills = 1000
[hir]
cycles = 720
[xsr]
group_seconds = [345600, 172800, 345600]
"""
SEED: Final = 1
MOST_DRIFT: Final = 0.001
SHORTEST_S: Final = 60
# What is shared with processes of others counts less while they live: the share is shown, and not judged.
WATCHED: Final = {"resident_bytes": "MiB", "descriptors": "descriptors", "threads": "threads"}

Line = dict[str, Any]


@dataclass(frozen=True)
class Watched:
    """All processes of a run at one moment, and its folder; ``raw_ns`` is CLOCK_MONOTONIC_RAW."""

    raw_ns: int
    wall_ns: int
    cpu_ns: int
    resident_bytes: int
    proportional_bytes: int
    descriptors: int
    threads: int
    processes: int
    folder_bytes: int


def processes_below(pid: int) -> Iterator[int]:
    """A process, its children and theirs."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from processes_below(int(child))


def watched(pid: int, folder: Path) -> Watched:
    """What the kernel knows at this moment; a process that ends meanwhile is left out."""
    cpu_ns = resident_bytes = proportional_bytes = descriptors = threads = processes = 0
    with suppress(OSError):  # no longer there
        for one in processes_below(pid):
            with suppress(OSError):
                place = Path(f"/proc/{one}")
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                memory = dict(
                    line.split()[:2] for line in (place / "smaps_rollup").read_text().splitlines()[1:]
                )
                cpu_ns += (int(fields[11]) + int(fields[12])) * NS_PER_S // os.sysconf("SC_CLK_TCK")
                resident_bytes += int(memory["Rss:"]) * KIB
                proportional_bytes += int(memory["Pss:"]) * KIB
                descriptors += len(list((place / "fd").iterdir()))
                threads += int(fields[17])
                processes += 1
    return Watched(
        time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns(), cpu_ns, resident_bytes,
        proportional_bytes, descriptors, threads, processes, size_of(folder),
    )  # fmt: skip


def size_of(folder: Path) -> int:
    """Of all files in a folder, in bytes; one that goes meanwhile is left out."""
    size_bytes = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            size_bytes += path.lstat().st_size
    return size_bytes


def keep_lines(lines: IO[str], log: Path) -> None:
    """Each line with the moment at which it came."""
    with log.open("w") as kept:
        for line in lines:
            raw_ns, wall_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW), time.time_ns()
            print(
                json.dumps({"raw_ns": raw_ns, "wall_ns": wall_ns, "line": line.rstrip()}),
                file=kept,
                flush=True,
            )


def watch(arguments: Sequence[str], folder: Path, period_s: float) -> int:
    """Run openpts to its end and keep what was seen of it."""
    folder.mkdir(parents=True)
    command = [
        str(Path(sys.executable).with_name("openpts")),
        "run",
        *arguments,
        "--out",
        str(folder / "run"),
    ]
    with (folder / "samples.jsonl").open("w") as kept:
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        reading = threading.Thread(target=keep_lines, args=(program.stdout, folder / "log.jsonl"))
        reading.start()
        while program.poll() is None:
            print(json.dumps(asdict(watched(program.pid, folder / "run"))), file=kept, flush=True)
            with suppress(subprocess.TimeoutExpired):
                program.wait(period_s)
        reading.join()
    return program.returncode


def run_on_file(folder: Path, seconds: float) -> int:
    """The schedule is in seconds alone: the drive fills after which a workload would end are out of reach."""
    each_s = seconds / len(WORKLOADS)
    scratch = folder.with_name(f"{folder.name}.scratch")
    arguments = [
        "wsat", f"file:{scratch}?size={FILE_BYTES // MIB}MiB", "--seed", str(SEED), "--tc", "1", "--qd", "1",
        "--workloads", ",".join(WORKLOADS), "--drive-fills", "1000",
        "--longest-seconds", f"{each_s * 2 / 3:g}", "--histogram-seconds", f"{each_s / 3:g}",
    ]  # fmt: skip
    try:
        return watch(arguments, folder, period_s=5)
    finally:
        scratch.unlink(missing_ok=True)


def run_suite(folder: Path) -> int:
    """Three of the tests are longer than the specification has them, so that all together take weeks.

    Without reports: they would hold the memory of the largest of them for as long as the process lives.
    """
    plan = folder.with_name(f"{folder.name}.toml")
    plan.parent.mkdir(parents=True, exist_ok=True)
    plan.write_text(WEEKS)
    try:
        order = ["all", "sim:enterprise-tlc", "--seed", str(SEED), "--plan", str(plan), "--no-report"]
        return watch(order, folder, period_s=2)
    finally:
        plan.unlink()


@dataclass(frozen=True)
class Judged:
    """A figure with its limit."""

    figure: str
    value: float
    limit: float
    unit: str

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        return self.value <= self.limit

    def __str__(self) -> str:
        broken = "" if self.kept else "  BROKEN"
        return f"{self.figure:58} {self.value:14,.6g} of {self.limit:,.6g} {self.unit}{broken}"


@dataclass(frozen=True)
class Soak:
    """What is in the folder of a finished one."""

    runs: list[Run]
    samples: list[Line]
    log: list[Line]

    @classmethod
    def of(cls, folder: Path) -> "Soak":
        """Raises RecordError if a run can't be read."""
        runs = [folder / "run"]
        if is_batch(folder / "run"):
            runs = [folder / "run" / entry.folder for entry in read_batch(folder / "run").entries]
        samples, log = (
            [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
            for name in ("samples", "log")
        )
        return cls([read_run(run) for run in runs], samples, log)

    @property
    def while_running(self) -> list[list[Line]]:
        """The samples of each run, from its folder's first line to the end of its I/O."""
        begins, ends = (
            [line["raw_ns"] for line in self.log if text in line["line"]]
            for text in ("] run folder ", "] run complete")
        )
        return [
            [sample for sample in self.samples if begin <= sample["raw_ns"] <= end]
            for begin, end in zip(begins, ends, strict=True)
        ]

    def judged(self) -> Iterator[Judged]:
        """All promises, run by run."""
        for run, samples in zip(self.runs, self.while_running, strict=True):
            if samples and samples[-1]["raw_ns"] - samples[0]["raw_ns"] >= SHORTEST_S * NS_PER_S:
                yield from growth(run, samples)
            yield record_size(run)
            yield from schedule(run)
        if self.runs[0].manifest.target.simulation is None:
            yield from clocks(self.runs[0], self.log)


def growth(run: Run, samples: Sequence[Line]) -> Iterator[Judged]:
    """Of each thing that is counted, over the second half of the time."""
    half = samples[len(samples) // 2 :]
    at_s = np.array([sample["raw_ns"] for sample in half]) / NS_PER_S
    for name, unit in WATCHED.items():
        values = np.array([sample[name] for sample in half]) / (MIB if unit == "MiB" else 1)
        grown = float(theilslopes(values, at_s).slope * (at_s[-1] - at_s[0]))
        limit = max(1.0, float(np.median(values)) / 100) if unit == "MiB" else 0.5
        yield Judged(f"{run.manifest.conditions.test}: growth of {name}", grown, limit, unit)


def record_size(run: Run) -> Judged:
    """Against the bound that is checked before a run, which takes it that steady state comes late."""
    conditions, target = run.manifest.conditions, run.manifest.target
    capacity_bytes, test = target.user_capacity_bytes, procedure_of(conditions.test)
    drive = AssumedDrive()
    planned = dry_run(test.script(conditions, capacity_bytes), capacity_bytes, drive, Ending.LONGEST)
    predicted = record_bytes(planned, interval_ns(conditions.minute_ns)) + capture_bytes(planned, drive)
    actual = (run.folder / DATABASE_NAME).stat().st_size + size_of(run.folder / CAPTURE_FOLDER)
    return Judged(f"{conditions.test}: size of the record", actual / MIB, predicted / MIB, "MiB")


def schedule(run: Run) -> Iterator[Judged]:
    """The steps whose time is planned, and each cycle from its first step's start to its last one's end."""
    cycles: defaultdict[int, list[StepRecord]] = defaultdict(list)
    for step in run.steps:
        cycles[step.place.cycle].append(step)
    timed = [step for step in run.steps if step.sample.ended_by == "duration"]
    planned_ns, elapsed_ns = sum(map(scheduled_ns, timed)), sum(step.sample.elapsed_ns for step in timed)
    in_all_ns = sum(map(scheduled_ns, run.steps))
    passed_ns = sum(
        steps[-1].sample.started_ns + steps[-1].sample.elapsed_ns - steps[0].sample.started_ns
        for steps in cycles.values()
    )
    test, hours = run.manifest.conditions.test, in_all_ns / NS_PER_S / 3600
    yield share(f"{test}: {len(timed)} steps against their schedule", elapsed_ns, planned_ns)
    yield share(f"{test}: {hours:.2f} h of steps and gaps against schedule", passed_ns, in_all_ns)


def scheduled_ns(step: StepRecord) -> int:
    """How long the step is to last; that of an amount of data is as long as it takes."""
    planned_ns = planned_length_ns(step.sample.step.stop)
    if step.sample.ended_by != "duration" or planned_ns is None:
        return step.sample.elapsed_ns
    return planned_ns


def clocks(run: Run, log: Sequence[Line]) -> Iterator[Judged]:
    """From the end of the first cycle to that of the last, in the record and by the lines that told of it."""
    last = {step.place.cycle: step.sample for step in run.steps}
    engine_ns = [sample.started_ns + sample.elapsed_ns for sample in last.values()]
    lines = [line for line in log if "] histogram 1 done: " in line["line"]]
    assert len(lines) == len(engine_ns), "a line for each cycle"
    raw_ns, wall_ns = (lines[-1][name] - lines[0][name] for name in ("raw_ns", "wall_ns"))
    yield share("engine's clock against the kernel's", engine_ns[-1] - engine_ns[0], raw_ns)
    yield share("wall clock against the kernel's", wall_ns, raw_ns)


def share(figure: str, value: int, of: int) -> Judged:
    """How far off, as a share."""
    return Judged(figure, abs(value / of - 1) * 100, MOST_DRIFT * 100, "%")


def plot(title: str, samples: Sequence[Line], path: Path) -> None:
    """Memory, descriptors with threads, and the run's folder over the time that passed."""
    vl_convert.register_font_directory(str(FONT_DIRECTORY))
    length_s = (samples[-1]["raw_ns"] - samples[0]["raw_ns"]) / NS_PER_S
    unit, unit_s = ("h", 3600) if length_s > 7000 else ("min", 60)
    every = max(1, len(samples) // 400)
    panels = (
        ("MiB", {"resident_bytes": "resident memory", "proportional_bytes": "its own share of it"}, MIB),
        ("count", {"descriptors": "file descriptors", "threads": "threads"}, 1),
        ("MiB", {"folder_bytes": "run folder"}, MIB),
    )
    charts = []
    for axis, names, divisor in panels:
        values = [
            {"x": (sample["raw_ns"] - samples[0]["raw_ns"]) / NS_PER_S / unit_s, "y": sample[name] / divisor,
             "series": text}
            for sample in samples[::every] for name, text in names.items()
        ]  # fmt: skip
        shown = {
            "field": "series",
            "type": "nominal",
            "scale": {"domain": list(names.values())},
            "title": None,
        }
        charts.append(
            {
                "width": 640, "height": 130, "data": {"values": values},
                "mark": {"type": "line", "interpolate": "step-after"},
                "encoding": {
                    "x": {"field": "x", "type": "quantitative", "title": f"wall clock, {unit}"},
                    "y": {"field": "y", "type": "quantitative", "title": axis, "scale": {"zero": True}},
                    "color": shown, "strokeDash": shown,
                },
            }
        )  # fmt: skip
    chart = {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json", "title": title, "vconcat": charts,
        "resolve": {"scale": {"color": "independent"}},
    }  # fmt: skip
    path.write_text(vl_convert.vegalite_to_svg(chart, config=vega_config(LIGHT)), encoding="utf-8")


def judge(folder: Path, plot_path: Path) -> bool:
    """Print all figures, draw the plot; whether all promises were kept."""
    soak = Soak.of(folder)
    judged = list(soak.judged())
    steps_h = sum(scheduled_ns(step) for run in soak.runs for step in run.steps) / NS_PER_S / 3600
    last = soak.samples[-1]
    hours = (last["raw_ns"] - soak.samples[0]["raw_ns"]) / NS_PER_S / 3600
    print(f"{folder}: {len(soak.runs)} runs, {steps_h:.2f} h of steps, {hours:.2f} h watched")
    print(*judged, sep="\n")
    plot(soak.runs[0].manifest.target.name, soak.samples, plot_path)
    return all(one.kept for one in judged)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    orders = parser.add_subparsers(dest="order", required=True)
    on_file, suite, again = (orders.add_parser(name) for name in ("file", "suite", "judge"))
    on_file.add_argument("folder", type=Path)
    on_file.add_argument("--seconds", type=float, default=7200)
    suite.add_argument("folder", type=Path)
    again.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}")
    if options.order == "judge":
        return int(not all(judge(folder, folder / "soak.svg") for folder in options.folders))
    folder = options.folder.absolute()
    code = run_on_file(folder, options.seconds) if options.order == "file" else run_suite(folder)
    return code or int(not judge(folder, folder / "soak.svg"))


if __name__ == "__main__":
    sys.exit(main())

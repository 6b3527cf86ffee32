"""Whether telemetry moves what is measured: the same stimulus with the sampler on and off, in pairs.

4 KiB random reads of one thread on a loop device in memory, or on the drive that --target names (it is only
read). Each pair has one run with all gauges of a run and one with none, in changing order. Per figure ("cpu
ns" is openpts' own processor time per I/O): the medians, and the ratio on over off as the median over the
pairs with the interval that holds it in 95 % of resamplings of the pairs (bootstrap). The interval is the
statement: whatever telemetry costs, it is within it. A third contestant that is "off" as well shows how far
two equal runs lie apart here.

    .venv/bin/python -m benches.telemetry_cost [--target /dev/nvme0n1] [--seconds 3] [--pairs 15]
        [--period 1] [--qd 1 32] [--events] [--json FILE]

--events: not telemetry, but the file of events in the run folder, on and off. Needs root for the loop
device. --period 0.1 shows ten times of what a run does.
"""

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from benches.engine_against_fio import fill
from benches.targets import machine, memory_drive, opened
from openpts.analysis.latency import LatencyDistribution
from openpts.cli.folder_events import background_listener, folder_events
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import NativeEngine
from openpts.engine.options import Demand, NativeOptions
from openpts.runner.events import Listener, RunStarted, StepFinished, StepsStarted, Ticked
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots
from openpts.units import KIB, MIB
from openpts.vocabulary.requests import Apply
from openpts.vocabulary.sample import Phase, Sample, StepPlace
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_drives.concerns import target_gauges
from openpts_host.concerns import host_gauges
from tests.support.record_parts import manifest

CAPACITY = 256 * MIB
WARM_UP_S = 0.3
POLL_S = 0.1  # as in a run
RESAMPLINGS = 10_000
PERCENTILES = (50, 99, 99.9)
ON, OFF, OFF_AGAIN = "on", "off", "off again"

Figures = dict[str, float]


class Bench:
    """One engine for all runs, so that nothing but the sampler differs between them."""

    def __init__(
        self,
        target: OpenTarget,
        qd: int,
        seconds: float,
        period_s: float,
        options: NativeOptions = NativeOptions(cpus=(0,)),  # noqa: B008 a value
    ) -> None:
        self.target, self.seconds, self.period_s = target, seconds, period_s
        self.demand = Demand(1, qd, 4 * KIB)
        self.engine = NativeEngine(target.fd, target.facts, self.demand, 1, options)
        self.stimulus = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 1, qd, ActiveRange())

    def measure(self, *, sampled: bool) -> Figures:
        roots = SystemRoots()
        gauges = target_gauges(self.target, self.engine, self.demand, roots)
        gauges += host_gauges(roots, self.engine.cpus)
        with Sampler(gauges if sampled else (), self.period_s).running():
            return self._figures(self._run(lambda _: None))

    def measure_heard(self, *, written: bool) -> Figures:
        """A run is polled as often with the file as without; the start is the file's, and no part of it."""
        with tempfile.TemporaryDirectory(dir=".") as folder, ExitStack() as stack:
            if not written:
                return self._figures(self._run(lambda _: None))
            on_event = stack.enter_context(background_listener(folder_events()))
            on_event(RunStarted(Path(folder), replace(manifest(), target=self.target.facts), ()))
            return self._figures(self._run(on_event))

    def _figures(self, sample: Sample) -> Figures:
        latencies = LatencyDistribution.merged([sample.read.histogram])
        assert sample.cpu is not None
        figures = {"IOPS": sample.iops, "cpu ns": sample.cpu.process_ns / sample.read.ios}
        for percentile in PERCENTILES:
            value_ns = latencies.percentile_ns(percentile)
            if value_ns is None or not latencies.supports(percentile):
                raise SystemExit(
                    f"{latencies.count} I/Os are too few for p{percentile:g}: take more --seconds"
                )
            figures[f"p{percentile:g} us"] = value_ns / 1000
        return figures

    def _run(self, on_event: Listener) -> Sample:
        ends = [Duration.seconds(WARM_UP_S), Duration.seconds(self.seconds)]
        steps = tuple(Step.of(self.stimulus, end) for end in ends)
        self.engine.submit(steps)
        on_event(StepsStarted(1, Apply(Phase.LOAD, 1, steps)))
        samples: list[Sample] = []
        while len(samples) < len(ends):
            place = StepPlace(1, Phase.LOAD, 1, len(samples))
            if (sample := self.engine.poll(POLL_S)) is not None:
                samples.append(sample)
                on_event(StepFinished(place, sample))
            else:
                on_event(Ticked(place, steps[place.position], self.engine.progress()))
        return samples[-1]


def interval(ratios: list[float]) -> tuple[float, float]:
    """95 % of the medians of resamplings lie in it. The seed is fixed: the same ratios, the same interval."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(RESAMPLINGS))
    return medians[round(0.025 * RESAMPLINGS)], medians[round(0.975 * RESAMPLINGS) - 1]


def compare(on: Callable[[], Figures], off: Callable[[], Figures], pairs: int) -> dict[str, list[Figures]]:
    """What each measured, in changing order; printed as ratios over ``off``, which has two turns."""
    contestants = {ON: on, OFF: off, OFF_AGAIN: off}
    runs: dict[str, list[Figures]] = {name: [] for name in contestants}
    order = list(contestants)
    for pair in range(pairs):
        for name in order[pair % len(order) :] + order[: pair % len(order)]:
            runs[name].append(contestants[name]())
    for figure in runs[ON][0]:
        print(f"  {figure:10}" + "".join(line(runs, figure, other) for other in (ON, OFF_AGAIN)), flush=True)
    return runs


def ratios_of(runs: dict[str, list[Figures]], figure: str, contestant: str) -> list[float]:
    """Over off, turn by turn."""
    return [one[figure] / off[figure] for one, off in zip(runs[contestant], runs[OFF], strict=True)]


def line(runs: dict[str, list[Figures]], figure: str, contestant: str) -> str:
    mine, ratios = [one[figure] for one in runs[contestant]], ratios_of(runs, figure, contestant)
    low, high = interval(ratios)
    return (
        f"  {contestant}: {statistics.median(mine):10,.1f}, "
        f"over off {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
    )


def cost_of_a_sample(bench: Bench) -> float:
    """Processor time in ms of one reading of all gauges, each of them in its turn."""
    roots = SystemRoots()
    gauges = target_gauges(bench.target, bench.engine, bench.demand, roots) + host_gauges(roots, (0,))
    sampler = Sampler(gauges, 0.01)
    before_s, started_s = time.process_time(), time.monotonic()
    with sampler.running():
        time.sleep(3)
    periods = (time.monotonic() - started_s) / 0.01
    return 1000 * (time.process_time() - before_s) / periods


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--target", type=Path)
    arguments.add_argument("--seconds", type=float, default=3)
    arguments.add_argument("--pairs", type=int, default=15)
    arguments.add_argument("--period", type=float, default=1)
    arguments.add_argument("--qd", type=int, nargs="+", default=[1, 32])
    arguments.add_argument("--events", action="store_true")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    results: list[dict[str, object]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        path = given.target
        if path is None:
            path = stack.enter_context(memory_drive(CAPACITY, folder))
            fill(path)
        target = stack.enter_context(opened(path, SystemRoots()))
        print(f"{machine()}; load {os.getloadavg()[0]:.1f}; {path}; period {given.period:g} s")
        for qd in given.qd:
            bench = Bench(target, qd, given.seconds, given.period)
            if not results and not given.events:
                print(f"one sample of everything: {cost_of_a_sample(bench):.2f} ms of processor time")
            print(f"4 KiB random read, QD {qd}, {given.pairs} pairs of {given.seconds:g} s")
            on, off = partial(bench.measure, sampled=True), partial(bench.measure, sampled=False)
            if given.events:
                on = partial(bench.measure_heard, written=True)
                off = partial(bench.measure_heard, written=False)
            results.append({"qd": qd, "runs": compare(on, off, given.pairs)})
            bench.engine.stop()
    if given.json is not None:
        given.json.write_text(json.dumps({"machine": machine(), "results": results}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

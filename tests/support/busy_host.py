"""Records of runs whose host was busy: what a sampler would have stored beside them."""

from itertools import pairwise

from msgspec.structs import replace
from numpy import arange

from openpts.analysis.host_limits import ENGINE_THREADS
from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run
from openpts.units import NS_PER_S
from openpts.vocabulary.facts import Fact, Facts

MINUTE = 60

SAMPLED: Facts = {
    ENGINE_THREADS: Fact("time in %; each 1 s", "/proc"),
    "links to the drive": Fact(
        "use in % of what they carry for data, path_0: PCIe 3.0 x4 at 0000:01:00.0, 3.49 GB/s, nvme0n1 "
        "nvme1n1; path_1: SAS 2 x 12 Gbit/s at port-0:0, 2.23 GB/s, sda sdb; each 1 s",
        "/proc/diskstats",
    ),
}


def on_a_host(run: Run, sampled: Facts, **values: list[tuple[float, float]]) -> Run:
    """With values by name, each from the point before it to so many seconds from the first step.

    As the sampler does, it stores again each minute what has not changed.
    """
    start_ns = run.steps[0].sample.started_ns
    points = tuple(
        TelemetryPoint(start_ns + round(each_s * NS_PER_S), name, value)
        for name, series in values.items()
        for (before_s, _), (at_s, value) in pairwise([(series[0][0] - 1, 0.0), *series])
        for each_s in (*arange(before_s + MINUTE, at_s, MINUTE), at_s)
    )
    return replace(run, manifest=replace(run.manifest, telemetry=sampled), sampled=points)


def end_s(run: Run) -> float:
    last, first = run.steps[-1].sample, run.steps[0].sample
    return (last.started_ns + last.elapsed_ns - first.started_ns) / NS_PER_S

"""What is sampled on this machine, held against our own arithmetic on the kernel's files before and after."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from openpts.device.block_device import BlockDevice
from openpts.device.guard.guard import open_target
from openpts.device.targets.target import BlockTarget
from openpts.engine.options import Demand, NativeOptions
from openpts.gauge import Gauge, Values
from openpts.record.health import TelemetryPoint
from openpts.runner.native_engine import native_engine
from openpts.runner.telemetry import Sampler
from openpts.system_files import SystemRoots
from openpts.units import KIB, MIB, NS_PER_S
from openpts.vocabulary.purge import Consent
from openpts.vocabulary.stimulus import AccessPattern, ActiveRange, Duration, Step, Stimulus
from openpts_drives.concerns import target_gauges
from openpts_drives.gauges import disks_below, others_gauge
from openpts_host.gauges import processor_gauges
from tests.support.loop_devices import Attach

PERIOD_S = 0.2
BURN = """
import os, time
os.sched_setaffinity(0, {0})
end = time.monotonic() + 1.5
while time.monotonic() < end: pass
"""


def mean_over(points: list[TelemetryPoint], name: str) -> tuple[float, float]:
    """The mean of a value, each point's for the time since the one before it, and that time in s."""
    mine = [point for point in points if point.name == name]
    spans = [(after.t_ns - before.t_ns, after.value) for before, after in pairwise(mine)]
    whole_ns = sum(span_ns for span_ns, _ in spans)
    return sum(span_ns * value for span_ns, value in spans) / whole_ns, whole_ns / NS_PER_S


@contextmanager
def sampled(*gauges: Gauge) -> Iterator[list[TelemetryPoint]]:
    """Everything that was sampled in the block, every reading stored."""
    points: list[TelemetryPoint] = []
    sampler = Sampler([replace(gauge, each=1, resolution=-1.0, share=-1.0) for gauge in gauges], PERIOD_S)
    with sampler.running():
        yield points
    points += sampler.take(0)


def ticks_of_cpu_0() -> tuple[int, int]:
    """Ticks that were not idle, and all of them."""
    fields = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("cpu0 "))
    ticks = [int(text) for text in fields.split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def test_the_time_of_processors_is_what_the_kernel_has_counted(roots: SystemRoots) -> None:
    if 0 not in os.sched_getaffinity(0):
        pytest.skip("this process may not run on processor 0")
    with sampled(processor_gauges(roots, (0,))[0]) as points:
        before = ticks_of_cpu_0()
        subprocess.run([sys.executable, "-c", BURN], check=True)
        after = ticks_of_cpu_0()
    busy_pct = 100 * (after[0] - before[0]) / (after[1] - before[1])
    assert busy_pct > 50
    mean_pct, seconds = mean_over(points, "cpu_engine_busy_pct")
    assert seconds > 1
    # the samples' first and last period reach beyond the two readings
    assert mean_pct == pytest.approx(busy_pct, abs=100 * 2 * PERIOD_S / seconds)


def written_sectors(name: str) -> int:
    return int(Path(f"/sys/class/block/{name}/stat").read_text().split()[6])


def test_io_on_other_drives_is_what_the_kernel_has_counted(tmp_path: Path, roots: SystemRoots) -> None:
    disks = [path.name for path in Path("/sys/block").iterdir() if "/virtual/" not in str(path.resolve())]
    if not disks:
        pytest.skip("this machine has no drive of its own")
    gauge = others_gauge((), roots)

    def written_bytes() -> int:
        return 512 * sum(map(written_sectors, disks))

    def read_at(at_ns: int) -> tuple[int, Values, int]:
        """What the gauge says, between two readings of our own: counters only grow."""
        sooner = written_bytes()
        values = gauge.understand([path.read_bytes() for path in gauge.paths], at_ns)
        return sooner, values, written_bytes()

    first_sooner, _, first_later = read_at(0)
    with (tmp_path / "file").open("wb") as file:
        file.write(os.urandom(32 * MIB))
        file.flush()
        os.fsync(file.fileno())
    last_sooner, values, last_later = read_at(10 * NS_PER_S)
    if last_sooner - first_later < 32 * MIB:
        pytest.skip(f"{tmp_path} lies on no drive of this machine")
    grown_bytes = 10 * values["others_write_bytes_per_s"]
    assert last_sooner - first_later <= round(grown_bytes) <= last_later - first_sooner


def test_what_others_read_from_the_target_is_told_from_our_own(
    attach: Attach, roots: SystemRoots, run: Callable[..., str]
) -> None:
    node = attach(size_bytes=256 * MIB)
    reads = Stimulus.of(AccessPattern.RANDOM, 4 * KIB, 100, 1, 4, ActiveRange())
    demand = Demand(1, 4, 128 * KIB)
    with (
        open_target(BlockTarget(node), Consent(confirm_device_path=str(node)), roots) as target,
        native_engine(target, demand, 1, NativeOptions()) as engine,
    ):
        gauges = {gauge.name: gauge for gauge in target_gauges(target, engine, demand, roots)}
        foreign = gauges["I/O of others on the target"]
        assert foreign.resolution == 4 * 128 * KIB
        with sampled(foreign) as points:
            time.sleep(2 * PERIOD_S)
            engine.submit([Step.of(reads, Duration.seconds(2))])
            time.sleep(0.5)
            run("dd", f"if={node}", "of=/dev/null", "bs=1M", "count=64", "iflag=direct")
            sample = engine.poll(60)
            time.sleep(2 * PERIOD_S)
    assert sample is not None
    assert sample.ios > 0
    # udev may have a look at a new drive as well
    assert 64 * MIB <= points[-1].value - points[0].value <= 66 * MIB
    assert all(after.value >= before.value for before, after in pairwise(points))


def test_a_loop_device_and_the_disk_of_its_file_are_both_left_out_of_others(
    attach: Attach, tmp_path: Path, roots: SystemRoots
) -> None:
    device = BlockDevice.of_node(attach(size_bytes=16 * MIB), roots)
    below = disks_below(device, device.node, roots)
    assert below == (device, *disks_below(None, tmp_path, roots))

"""Which gauges a run on a drive or a file has."""

from collections.abc import Collection
from pathlib import Path

from openpts.device.gauges import disks_below, drive_gauges, foreign_gauge, others_gauge
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, IoPath
from openpts.gauge import Gauge
from openpts.host.gauges import power_gauges, pressure_gauge, processor_gauges
from openpts.system_files import SystemRoots


def target_gauges(
    target: OpenTarget, engine: CapturingEngine, demand: Demand, roots: SystemRoots
) -> tuple[Gauge, ...]:
    """Of the drive, and of I/O that is not ours, on it and on all others."""
    others = others_gauge(disks_below(target.device, Path(target.facts.path), roots), roots)
    if target.device is None:
        return Gauge("temperature", None, "a file has no temperature"), others
    drive = target.device.whole
    # commands that go past the block layer are not in the kernel's counts
    kernel_counts_ours = engine.facts["io_path"].value != IoPath.NVME_PASSTHROUGH

    def own_bytes() -> int:
        return engine.progress().bytes if kernel_counts_ours else 0

    in_flight_bytes = demand.tc * demand.qd * demand.block_size_bytes
    return (*drive_gauges(drive), others, foreign_gauge(drive, own_bytes, in_flight_bytes))


def host_gauges(roots: SystemRoots, engine_cpus: Collection[int]) -> tuple[Gauge, ...]:
    """Of the machine around it."""
    return (*processor_gauges(roots, engine_cpus), pressure_gauge(roots), *power_gauges(roots))

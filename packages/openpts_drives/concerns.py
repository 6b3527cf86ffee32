"""The drive around a run: what it says of itself meanwhile, and what is put back on it."""

from collections.abc import Iterable
from pathlib import Path

from openpts.device.targets.open_target import OpenTarget
from openpts.device.write_cache import WRITE_CACHE, cache_still_needed, put_back_write_cache
from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Demand, IoPath
from openpts.gauge import Gauge
from openpts.hooks import Concern, Healer, RunContext
from openpts.runner.physical_device import PhysicalDevice
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import HealthReading
from openpts_drives.gauges import disks_below, drive_gauges, foreign_gauge, others_gauge
from openpts_drives.health.health import read_health
from openpts_drives.link import path_gauge
from openpts_drives.purge.ata_security import DRIVE_PASSWORD, refusal, take_password_off


class Drive(Concern):
    """Of a drive or a file that exists."""

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """See target_gauges; of I/O by programs, their runs say whose it is that reaches the drive."""
        device, roots = run.device, SystemRoots()
        if not isinstance(device, PhysicalDevice) or run.engine is None or run.demand is None:
            return ()
        if not device.programs_do_its_io:
            return target_gauges(device.target, run.engine, run.demand, roots)
        target = device.target
        drive = () if target.device is None else drive_gauges(target.device.whole)
        return (*drive, others_gauge(disks_below(target.device, Path(target.facts.path), roots), roots))

    def health_of(self, target: OpenTarget) -> HealthReading:
        """See read_health."""
        return read_health(target)

    def healer_of(self, kind: str) -> Healer | None:
        """Heal a drive's write cache; a password is for its owner to take off, with `openpts purge --unlock`.

        A run that did so by itself would hide that a drive was locked.
        """
        if kind == WRITE_CACHE:
            return Healer(put_back_write_cache, cache_still_needed)
        return Healer(take_password_off, by_itself=False, refusal=refusal) if kind == DRIVE_PASSWORD else None


def target_gauges(
    target: OpenTarget, engine: CapturingEngine, demand: Demand, roots: SystemRoots
) -> tuple[Gauge, ...]:
    """Of the drive, and of I/O that is not ours, on it and on all others."""
    disks = disks_below(target.device, Path(target.facts.path), roots)
    others = (others_gauge(disks, roots), path_gauge(disks, roots))
    if target.device is None:
        return Gauge("temperature", None, "a file has no temperature"), *others
    drive = target.device.whole
    # commands that go past the block layer are not in the kernel's counts
    kernel_counts_ours = engine.facts["io_path"].value != IoPath.NVME_PASSTHROUGH

    def own_bytes() -> int:
        return engine.progress().bytes if kernel_counts_ours else 0

    in_flight_bytes = demand.tc * demand.qd * demand.block_size_bytes
    return (*drive_gauges(drive), *others, foreign_gauge(drive, own_bytes, in_flight_bytes))

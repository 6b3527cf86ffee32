"""The host around a run: who else is on it, what it is and is set to, and when it was the limit."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from openpts.device.block_device import BlockDevice
from openpts.device.file_system import device_below
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import cpu_ns_per_io
from openpts.gauge import Gauge
from openpts.hooks import Concern, Healer, RunContext
from openpts.journal import Journal
from openpts.plugins import plugin_facts
from openpts.procedures.kit.host_limits import host_limit_deviations
from openpts.record.health import TelemetryPoint
from openpts.runner.events import Event
from openpts.runner.host_watch import HostWatch
from openpts.runner.physical_device import PhysicalDevice
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.engine_overhead import never_sleeps
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.phase import StepPlace
from openpts.vocabulary.sample import Sample
from openpts.vocabulary.tuning import Change, ChangeReport, Scenario
from openpts_drives.gauges import disks_below
from openpts_drives.health.self_test import self_test_fact
from openpts_drives.path_use import links_of_host
from openpts_host.changes import put_back_setting
from openpts_host.gauges import power_gauges, pressure_gauge, processor_gauges
from openpts_host.host_capacity import DrivenDrive, expected_limits
from openpts_host.host_use import host_use
from openpts_host.inventory import host_facts
from openpts_host.link.link_settings import link_settings
from openpts_host.link.link_tuning import COUNTING, link_changes
from openpts_host.memory_bandwidth import memory_of_run
from openpts_host.path_loss import path_loss_deviations
from openpts_host.run_tuning import tuned_host, tuning_lines
from openpts_host.saturation_gauges import saturation_gauges
from openpts_host.settings import host_settings
from openpts_host.shared_settings import HOST_SETTING, is_of_a_run, still_needed
from openpts_host.software import program_facts, software_facts
from openpts_host.tuning import host_changes

_ROOTS: Final = SystemRoots()


class Host(Concern):
    """Of a simulated drive, whose time is virtual, only the facts."""

    _memory: MemoryBandwidth | None = None
    _watch: HostWatch | None = None

    def around_run(self, run: RunContext) -> AbstractContextManager[None]:
        """On this host with others, or alone."""
        return host_use(run.device, alone=run.order.exclusive_host)

    def facts(self, run: RunContext) -> Mapping[str, Facts]:
        """What the machine is, and the software that takes part."""
        software = software_facts(_ROOTS) | plugin_facts(sampling=not run.is_simulated)
        programs = {} if run.is_simulated else program_facts()
        return {"host": host_facts(_ROOTS), "software": software | programs}

    @contextmanager
    def around_engine(self, run: RunContext) -> Iterator[Mapping[str, Any]]:
        """Measure the memory while nothing else is at work, and set the host up if that was ordered."""
        if (target := run.device.target) is None:
            yield {}
            return
        self._memory = memory_of_run(run.folder, _driven(target), _ROOTS)
        reports: tuple[ChangeReport, ...] = ()
        with ExitStack() as held:
            if run.order.tune:
                scenario = run.order.scenario
                tuned = tuned_host(_changes(run, scenario), scenario, _ROOTS, Journal.of_machine())
                reports = held.enter_context(tuned)
            yield {"host": self._memory.facts, "tuning": reports}

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """Of the machine around the drive."""
        period_s = run.order.telemetry.period_s
        if run.is_simulated or run.engine is None or period_s is None:
            return ()
        self._watch = HostWatch(period_s, never_sleeps(run.engine.facts))
        return host_gauges(_ROOTS, run.engine.cpus, self._memory)

    def preparations(self, run: RunContext) -> Iterable[str]:
        """How much of the host was set up, and what could not be."""
        return () if run.manifest is None else tuning_lines(run.manifest.tuning)

    def announcements(self, run: RunContext) -> Iterable[str]:
        """What of this host would be the limit if the drives did all that they can."""
        target, engine = run.device.target, run.engine
        drives = () if target is None else _driven(target)
        if not drives or engine is None:
            return ()
        cpus = len(engine.cpus or os.sched_getaffinity(0))
        return expected_limits(drives, cpus, cpu_ns_per_io(engine.cpus), _ROOTS, self._memory)

    def surroundings(self, run: RunContext) -> Facts:
        """Settings of the host and of the drive's link; for a file, of the disk below it."""
        if (target := run.device.target) is None:
            return {}
        if (disk := _disk(target)) is None:
            return host_settings(_ROOTS)
        of_host = host_settings(_ROOTS, disk.number)
        return of_host | link_settings(disk, _ROOTS) | {"self_test": self_test_fact(disk)}

    def follows(
        self,
        run: RunContext,
        steps: Sequence[tuple[StepPlace, Sample]],
        points: Sequence[TelemetryPoint],
        now_ns: int,
        ended: bool,
    ) -> Iterable[Event]:
        """In which of the seconds of a step the host was the limit."""
        del run
        return () if self._watch is None else self._watch.follows(steps, points, now_ns, ended)

    def findings(self, run: RunContext) -> Iterable[Deviation]:
        """When the host was the limit, and when paths to the drive were lost."""
        if self._watch is None:
            return ()
        return (*host_limit_deviations(run.record), *path_loss_deviations(run.record))

    def healer_of(self, kind: str) -> Healer | None:
        """Settings that were changed for a run; what `openpts doctor --apply` has set is to last."""
        if kind != HOST_SETTING:
            return None
        return Healer(
            put_back_setting, still_needed, lambda entry, _target, _device: is_of_a_run(entry), of_drive=False
        )


def host_gauges(
    roots: SystemRoots, engine_cpus: Collection[int], memory: MemoryBandwidth | None = None
) -> tuple[Gauge, ...]:
    """Of the machine; ``memory`` None: by its modules."""
    return (
        *processor_gauges(roots, engine_cpus),
        *saturation_gauges(roots, engine_cpus, memory),
        pressure_gauge(roots),
        *power_gauges(roots),
    )


def _changes(run: RunContext, scenario: Scenario) -> tuple[Change, ...]:
    """What is set on the host, and on the way to the drive, for a measurement.

    The kernel still counts I/O where its counts are figures, and where a link may be the limit: only
    they have the neighbors'.
    """
    device = run.device
    changes = host_changes(_ROOTS, scenario, lasting=False)
    if device.target is None or (disk := _disk(device.target)) is None:
        return changes
    of_programs = isinstance(device, PhysicalDevice) and device.programs_do_its_io
    is_counted = of_programs or bool(links_of_host((disk,), _ROOTS))
    of_link = link_changes(disk, scenario)
    return (*changes, *(change for change in of_link if not (is_counted and change.key == COUNTING)))


def _driven(target: OpenTarget) -> tuple[DrivenDrive, ...]:
    """All disks that I/O to the target ends up on."""
    disks = disks_below(target.device, Path(target.facts.path), _ROOTS)
    return tuple(DrivenDrive.of_device(disk, _ROOTS) for disk in disks)


def _disk(target: OpenTarget) -> BlockDevice | None:
    device = target.device or device_below(Path(target.facts.path), _ROOTS)
    return None if device is None else device.whole

"""The host around a run: who else is on it, how it is set, when it was the limit, which paths were lost."""

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from openpts.device.block_device import BlockDevice, device_below
from openpts.device.targets.open_target import OpenTarget
from openpts.engine.native import cpu_ns_per_io
from openpts.errors import RefusedError, TargetError
from openpts.gauge import Gauge
from openpts.hooks import Concern, Healer, RunContext
from openpts.journal import Journal
from openpts.ownership import HOST_FOLDER, host_used
from openpts.plugins import plugin_facts
from openpts.procedures.kit.standing import host_limit_deviations
from openpts.record.health import TelemetryPoint
from openpts.record.reader import Run
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.events import Event
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.telemetry import HostWatch
from openpts.system_files import SystemRoots
from openpts.units import NS_PER_S, format_latency_ms
from openpts.vocabulary.bandwidth import MemoryBandwidth
from openpts.vocabulary.engine_overhead import never_sleeps
from openpts.vocabulary.facts import Change, ChangeReport, Facts, Scenario
from openpts.vocabulary.sample import Sample, StepPlace
from openpts.vocabulary.verdict import Deviation
from openpts_drives.gauges import disks_below
from openpts_drives.health.health import self_test_fact
from openpts_drives.link import links_of_host
from openpts_host.changes import (
    HOST_SETTING,
    host_changes,
    is_of_a_run,
    put_back_setting,
    still_needed,
    tuned_host,
    tuning_lines,
)
from openpts_host.gauges import power_gauges, pressure_gauge, processor_gauges, saturation_gauges
from openpts_host.host_capacity import DrivenDrive, expected_limits, memory_of_run
from openpts_host.inventory import host_facts
from openpts_host.link_settings import COUNTING, link_changes, link_settings
from openpts_host.settings import host_settings
from openpts_host.software import program_facts, software_facts


@contextmanager
def host_use(device: DeviceUnderTest, *, alone: bool, folder: Path = HOST_FOLDER) -> Iterator[None]:
    """Be on this host as long as the block lasts; ``alone`` keeps all others away. A simulated drive is not.

    Raises RefusedError if another run is in the way, and TargetError where other runs can't be kept away.
    """
    with ExitStack() as held:
        if device.facts.simulation is None:
            try:
                held.enter_context(host_used(folder, device.owner, alone=alone))
            except BlockingIOError as error:
                who = (
                    "other runs are on this host" if alone else f"this host belongs to {error.strerror} alone"
                )
                what_to_do = f"see fuser -v {folder}/host.lock; wait until they end, or stop them"
                raise RefusedError(f"refused [host]: {who}; {what_to_do}") from None
            except OSError as error:
                if alone:
                    raise TargetError(
                        f"can't keep other runs away by {folder}/host.lock: {error.strerror}"
                    ) from error
        yield


PATHS: Final = "paths_live"
OPTIMIZED: Final = "paths_optimized"
"""Sampled values: how many paths of a drive with several take I/O, and how many of them at full speed."""


def path_loss_deviations(run: Run) -> tuple[Deviation, ...]:
    """An entry for each time with fewer paths to the drive than at other times, or none at full speed."""
    series = run.telemetry_series.get(PATHS)
    if series is None:
        return ()
    most, ordered = max(series.values), run.manifest.ordered
    period_ns = round(NS_PER_S * ((ordered and ordered.telemetry_period_s) or 1))
    optimized = run.telemetry_series.get(OPTIMIZED)
    # a value is stored when it changes, not whenever the other one does
    instants = sorted({*series.t_ns, *(optimized.t_ns if optimized else ())})
    sampled = (
        (series.held(at_ns, at_ns)[0], optimized is not None and not optimized.held(at_ns, at_ns)[0], at_ns)
        for at_ns in instants
    )
    spans = [(*state, next(alike)[2]) for state, alike in groupby(sampled, key=itemgetter(0, 1))]
    ends_ns = [*(at_ns for *_, at_ns in spans[1:]), None]
    return tuple(
        _entry(run, (int(live), int(most)), at_ns - period_ns, end_ns, is_slow=is_slow and live > 0)
        for (live, is_slow, at_ns), end_ns in zip(spans, ends_ns, strict=True)
        if live < most or is_slow
    )


def _entry(
    run: Run, paths: tuple[int, int], begin_ns: int, end_ns: int | None, *, is_slow: bool
) -> Deviation:
    live, most = paths
    until = "the end" if end_ns is None else f"{end_ns / NS_PER_S:,.1f} s"
    used = f"{live} of {most}{', none of them optimized,' if is_slow else ''}"
    used += f" from {max(0, begin_ns) / NS_PER_S:,.1f} s to {until} of the run"
    longest = max(_waits(run, begin_ns, math.inf if end_ns is None else end_ns), default=None)
    if longest is not None:
        wait_ns, place = longest
        used += f"; the longest wait for an I/O then was {format_latency_ms(wait_ns)} ms, in {place}"
    return Deviation(
        rule_id="PTS-GEN-01",
        clause="1.1",
        required="all paths to the drive" if live < most else "an optimized path to the drive",
        used=used,
        effect="I/O went by a path on which the drive is slower, as it says itself (ANA)"
        if live == most
        else "I/O stood still when the path was lost, and went by fewer paths after that"
        if live
        else "I/O stood still until there was a path again",
    )


def _waits(run: Run, begin_ns: int, end_ns: float) -> Iterator[tuple[int, StepPlace]]:
    """The longest response time of each interval, or step without any, that reaches into that time."""
    for step in run.steps:
        sample = step.sample
        starts_ns = [sample.started_ns + one.index * sample.interval_ns for one in sample.intervals]
        parts = zip(starts_ns, sample.intervals, strict=True) if starts_ns else [(sample.started_ns, sample)]
        for started_ns, part in parts:
            wait_ns = part.max_latency_ns
            if wait_ns is not None and started_ns <= end_ns and started_ns + part.elapsed_ns >= begin_ns:
                yield wait_ns, step.place


_ROOTS: Final = SystemRoots()


class Host(Concern):
    """Of a simulated drive, whose time is virtual, only the facts."""

    _memory: MemoryBandwidth | None = None
    _watch: HostWatch | None = None

    def around_run(self, run: RunContext) -> AbstractContextManager[None]:
        """On this host with others, or alone."""
        return host_use(run.device, alone=run.settings.exclusive_host)

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
            if run.settings.tune:
                scenario = run.settings.scenario
                tuned = tuned_host(_changes(run, scenario), scenario, _ROOTS, Journal.of_machine())
                reports = held.enter_context(tuned)
            yield {"host": self._memory.facts, "tuning": reports}

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """Of the machine around the drive."""
        period_s = run.settings.telemetry_period_s
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

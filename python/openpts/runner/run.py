"""One run of one test from the operator's order to the closed run folder."""

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from openpts.analysis.limited_seconds import ENGINE_THREADS
from openpts.engine.contract import CapturingEngine
from openpts.engine.native import cpu_ns_per_io
from openpts.engine.options import NativeOptions
from openpts.fields.conditions import Conditions
from openpts.host.inventory import host_facts
from openpts.host.software import program_facts, software_facts
from openpts.ownership import new_run_id
from openpts.planning.assumed_drive import AssumedDrive
from openpts.planning.dry_run import Ending, PlannedApply, dry_run, largest_program_bytes
from openpts.plugins import plugin_facts
from openpts.procedures.kit.host_limits import host_limit_deviations
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.path_loss import path_loss_deviations
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.record.reader import stored_run
from openpts.record.spooling_writer import SpoolingWriter
from openpts.record.writer import RunWriter
from openpts.runner.attempt import attempt_here
from openpts.runner.close_run import (
    closing_record,
    environment_kept,
    kept_capture,
    place_for_capture,
    put_back_on_failure,
)
from openpts.runner.data_check import data_checks
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, driver_of
from openpts.runner.events import Event, Healed, Listener, RunStarted
from openpts.runner.hooks import Hook, Hooks
from openpts.runner.host_capacity import DrivenDrive, expected_limits
from openpts.runner.host_use import host_use
from openpts.runner.memory_bandwidth import memory_of_run
from openpts.runner.order import Order
from openpts.runner.physical_device import PhysicalDevice
from openpts.runner.preparation import Preparation, path_deviations, rotational_deviations
from openpts.runner.resource_check import (
    captured,
    check_free_space,
    check_handles,
    check_plan,
    demand_of,
    interval_ns,
)
from openpts.runner.resumed_run import BegunRun, resumed_run
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.runner.telemetry import sampler_of
from openpts.system_files import SystemRoots
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.facts import Facts, TargetFacts, TargetKind
from openpts.vocabulary.memory_bandwidth import MemoryBandwidth
from openpts.vocabulary.requests import CycleFinished, Script
from openpts.vocabulary.stimulus import Step

_SERIAL_DIGITS: Final = 4
# Drives of one name may begin in one second; these digits are random.
_ID_DIGITS: Final = 6


class FinishedRun(Struct, frozen=True):
    """A run that came to its end; ``cycles`` tell whether steady state was reached."""

    folder: Path
    cycles: tuple[CycleFinished, ...]


class _CheckedRun(Struct, frozen=True):
    """What a run will do: the device, the space and the purge were checked. ``entries`` are of the device."""

    driver: Driver
    device: DeviceUnderTest
    standard: Conditions
    conditions: Conditions
    plan: tuple[PlannedApply, ...]
    steps: tuple[Step, ...]
    entries: tuple[Deviation, ...]
    begun: BegunRun
    folder: Path
    options: NativeOptions
    preparation: Preparation

    def script(self) -> Script:
        """What the test asks for."""
        return self.driver.test.script(self.conditions, self.device.facts.user_capacity_bytes)


class _PreparedRun(Struct, frozen=True):
    """A run whose engine is ready and whose record has begun."""

    checked: _CheckedRun
    engine: CapturingEngine
    runner: ScriptRunner
    hooks: Hooks


def run_test(test: Procedure, order: Order, listeners: Sequence[Listener]) -> FinishedRun:
    """Run one test. Everything that can be refused is refused before the purge.

    Raises OpenptsError; from the moment the run folder exists it records what was done and why it ended.
    """
    driver = driver_of(test)
    run_id = order.resumes.run_id if order.resumes is not None else order.run_id or new_run_id()
    with (
        terminate_as_interrupt(),
        driver.opened(order.target, order.consent, run_id) as device,
        host_use(device, alone=order.exclusive_host),
        _prepared(_checked(driver, order, device, run_id), order, listeners) as run,
        closing_record(run.runner.writer, run.runner.emit) as complete,
        run.hooks.around(),
    ):
        _measure(run)
        _close(run)
        complete()
    return FinishedRun(run.checked.folder, run.runner.cycles)


def _checked(driver: Driver, order: Order, device: DeviceUnderTest, run_id: str) -> _CheckedRun:
    """Check what the order asks of the device, and the space for it, before anything on it is changed."""
    test = driver.test
    driver.refuse_zones(device.target.device if isinstance(device, PhysicalDevice) else None)
    for hook in order.hooks:
        Hook.of(hook).check()
    seed = secrets.randbits(63) if order.seed is None else order.seed
    standard = test.standard_conditions(order.drive_class, seed)
    continues = order.continues
    wanted = order.adjust(standard if continues is None else continues.conditions(test, seed))
    order.admit(wanted, device.facts)
    conditions = test.supported_on(wanted, device.facts.sector_bytes, device.facts.scale)
    if device.facts.simulation is not None:
        conditions = test.without_data(conditions)
    capacity_bytes = device.facts.user_capacity_bytes
    plan = dry_run(test.script(conditions, capacity_bytes), capacity_bytes, AssumedDrive(), Ending.LONGEST)
    check_plan(plan, device.facts)
    check_handles(plan, device)
    steps = tuple(step for planned in plan for step in planned.apply.steps)
    entries = device.deviations(steps if driver.depends_on_scale else ())
    manifest = replace(
        _manifest(order, device, conditions, run_id), shortened=shortened(conditions, standard)
    )
    folder = order.folder or Path("openpts-runs") / manifest.test_id
    if continues is not None:
        continues.check(manifest, device.health().values)
    begun = BegunRun(manifest)
    if order.resumes is None:
        RunWriter.check_free(folder)
    else:
        script = test.script(conditions, capacity_bytes)
        begun = resumed_run(driver, order.resumes, manifest, device.health(), script)
    options = replace(
        order.options,
        interval_ns=interval_ns(conditions.minute_ns),
        over_read_errors=conditions.goes_on_over_read_errors,
        resumed=begun.engine_state,
    )
    check_free_space(device, plan, folder, options.interval_ns)
    preparation = Preparation(device, order.purge_choice)
    if test.purges and not conditions.keeps_data:
        preparation.check_purge()
    driver.check(test.script(conditions, capacity_bytes), device)
    options = captured(options, steps, folder, device.facts, begun.number)
    return _CheckedRun(
        driver, device, standard, conditions, plan, steps, entries, begun, folder, options, preparation
    )


@contextmanager
def _prepared(checked: _CheckedRun, order: Order, listeners: Sequence[Listener]) -> Iterator[_PreparedRun]:
    """Set up host and engine for the block, and begin the record; the engine may still refuse steps."""
    device, steps, driver, begun = checked.device, checked.steps, checked.driver, checked.begun
    drives, demand, seed = device.driven_drives(), demand_of(steps), checked.conditions.seed
    memory = None if device.facts.simulation else memory_of_run(checked.folder, drives, SystemRoots())
    with (
        place_for_capture(checked.folder, checked.options.capture),
        device.tuned_host(order.scenario) if order.tune else nullcontext(()) as tuning,
        driver.engine(device.engine(demand, seed, checked.options, near=order.pin_to_node)) as engine,
    ):
        engine.check(steps)
        checks = data_checks(steps, device.facts, seed)
        host = begun.manifest.host | ({} if memory is None else memory.facts)
        manifest = replace(begun.manifest, engine=engine.facts, data_checks=checks, tuning=tuning, host=host)
        # what is open of a drive keeps its name from it when it comes back
        telemetry = order.telemetry if driver.drive_stays else replace(order.telemetry, period_s=None)
        sampler = sampler_of(telemetry, device, engine, demand, memory)
        inputs = {**order.inputs, **device.inputs}
        with begun.record(checked.folder, manifest, device.owner, inputs) as (stored, past):
            writer = SpoolingWriter(stored, largest_program_bytes(checked.plan, checked.options.interval_ns))
            commands = tuple(Hook.of(text) for text in order.hooks)
            hooks = Hooks(commands, order.hook_limit_s, manifest, writer, _to_all(listeners))
            runner = ScriptRunner(
                engine,
                checked.preparation,
                writer,
                _to_all([hooks.on_event, *listeners]),
                device.health,
                sampler,
                driver,
                past,
            )
            host_limits = _expected_limits(drives, engine, memory)
            runner.emit(RunStarted(checked.folder, manifest, checked.plan, begun.where, host_limits))
            for healing in device.healed:
                runner.emit(Healed(healing))
            yield _PreparedRun(checked, engine, runner, hooks)


def _expected_limits(
    drives: Sequence[DrivenDrive], engine: CapturingEngine, memory: MemoryBandwidth | None
) -> tuple[str, ...]:
    """What of this host would be the limit if they did all that they can."""
    if not drives:
        return ()
    cpus = len(engine.cpus or os.sched_getaffinity(0))
    return expected_limits(drives, cpus, cpu_ns_per_io(engine.cpus), SystemRoots(), memory)


def _measure(run: _PreparedRun) -> None:
    """Enter what deviates from the start, and drive the script between two looks at the environment."""
    checked, runner = run.checked, run.runner
    conditions, device = checked.conditions, checked.device
    begun, dut = checked.begun, checked.begun.manifest.dut
    runner.add_deviations(checked.entries)
    runner.add_deviations(path_deviations(run.engine.facts))
    runner.add_deviations(rotational_deviations(dut, of_specification=conditions.of_specification))
    runner.add_deviations(deviations(conditions, checked.standard, checked.driver.test.rules))
    begun.bring_back(device, run.engine, checked.preparation, runner)
    with (
        put_back_on_failure(device),
        device.latency_monitor_set() if _notes_slow_ios(begun.manifest) else nullcontext(False) as monitored,
        environment_kept(runner, runner.writer, device.host_settings, begun.begins),
        kept_capture(run.engine, checked.options.capture, runner.writer, begun.capture),
    ):
        runner.reads_each_phase = monitored
        runner.drive(begun.rest_of(checked.script()))


def _notes_slow_ios(manifest: Manifest) -> bool:
    return manifest.ordered is not None and manifest.ordered.slow_io_ms is not None


def _close(run: _PreparedRun) -> None:
    """Enter the deviations that only the measured figures show."""
    test = run.checked.driver.test
    run.runner.pause.until_written()
    if test.part("findings") or ENGINE_THREADS in run.runner.sampler.facts:
        stored = stored_run(run.checked.folder)
        findings = test.findings(stored) if test.part("findings") else ()
        run.runner.add_deviations((*findings, *host_limit_deviations(stored), *path_loss_deviations(stored)))


def _manifest(order: Order, device: DeviceUnderTest, conditions: Conditions, run_id: str) -> Manifest:
    now = datetime.now(UTC)
    dut = order.description.added_to(device.identity())
    software = software_facts(SystemRoots()) | plugin_facts(sampling=device.facts.simulation is None)
    name = f"{_short_name(dut, device.facts)}-{now:%Y%m%dT%H%M%SZ}-{conditions.test}"
    return Manifest(
        test_id=f"{name}-{run_id[-_ID_DIGITS:]}",
        command_line=order.command_line,
        conditions=conditions,
        people=order.people,
        target=device.facts,
        dut=dut,
        host=host_facts(SystemRoots()),
        software=software | ({} if device.facts.simulation else program_facts()),
        started_at=now.isoformat(timespec="seconds"),
        ordered=order.ordered,
        attempts=(attempt_here(software),),
        healed=tuple(healing.text for healing in device.healed),
        scenario=order.scenario,
        purpose=order.purpose,
    )


def _short_name(dut: Facts, target: TargetFacts) -> str:
    """What a run is called after, and so its folder: the end of the serial number, else the node's name."""
    if (serial := dut["serial"].value) is not None:
        name = serial[-_SERIAL_DIGITS:]
    else:
        name = target.name if target.kind in {TargetKind.BLOCK, TargetKind.DIRECTORY} else target.kind
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def _to_all(listeners: Sequence[Listener]) -> Listener:
    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit

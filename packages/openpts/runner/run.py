"""One run of one test from the operator's order to the closed run folder."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import NativeOptions
from openpts.fields.conditions import Conditions
from openpts.hooks import Concerns
from openpts.ownership import new_run_id
from openpts.planning.dry_run import PlannedApply, largest_program_bytes
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.record.spooling_writer import SpoolingWriter
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
from openpts.runner.order import RunSettings
from openpts.runner.preparation import Preparation, path_deviations, rotational_deviations
from openpts.runner.resource_check import captured, check_free_space, checked_plan, demand_of, interval_ns
from openpts.runner.resumed_run import BegunRun, resumed_run
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.runner.telemetry import sampler_of
from openpts.vocabulary.deviation import Deviation
from openpts.vocabulary.requests import CycleFinished, Script
from openpts.vocabulary.stimulus import Step


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
    concerns: Concerns

    def script(self) -> Script:
        """What the test asks for."""
        return self.driver.test.script(self.conditions, self.device.facts.user_capacity_bytes)


class _PreparedRun(Struct, frozen=True):
    """A run whose engine is ready and whose record has begun."""

    checked: _CheckedRun
    engine: CapturingEngine
    runner: ScriptRunner


def run_test(test: Procedure, order: RunSettings, listeners: Sequence[Listener]) -> FinishedRun:
    """Run one test. Everything that can be refused is refused before the purge.

    Raises OpenptsError; from the moment the run folder exists it records what was done and why it ended.
    """
    driver = driver_of(test)
    run_id = order.resumes.run_id if order.resumes is not None else order.run_id or new_run_id()
    concerns = Concerns()
    with (
        terminate_as_interrupt(),
        driver.opened(order.target, order.consent, run_id) as device,
        concerns.around_run(order, device),
        _prepared(_checked(driver, order, device, run_id, concerns), order, listeners) as run,
        closing_record(run.runner.writer, run.runner.emit) as complete,
        concerns.around_record(),
    ):
        _measure(run)
        _close(run)
        complete()
    return FinishedRun(run.checked.folder, run.runner.cycles)


def _checked(
    driver: Driver, order: RunSettings, device: DeviceUnderTest, run_id: str, concerns: Concerns
) -> _CheckedRun:
    """Check what the order asks of the device, and the space for it, before anything on it is changed."""
    test = driver.test
    driver.refuse_zones(device.target.device if device.target else None)
    concerns.check(order)
    seed = secrets.randbits(63) if order.seed is None else order.seed
    standard = test.standard_conditions(order.drive_class, seed)
    continues = order.continues
    adjusted = order.adjust(standard if continues is None else continues.conditions(test, seed))
    order.admit(adjusted, device.facts)
    conditions = test.supported_on(adjusted, device.facts.sector_bytes, device.facts.scale)
    if device.facts.simulation is not None:
        conditions = test.without_data(conditions)
    capacity_bytes = device.facts.user_capacity_bytes
    plan = checked_plan(test.script(conditions, capacity_bytes), device)
    steps = tuple(step for planned in plan for step in planned.apply.steps)
    entries = device.deviations(steps if driver.depends_on_scale else ())
    manifest = replace(
        order.manifest(device, conditions, run_id, concerns.facts()),
        shortened=shortened(conditions, standard),
    )
    folder = order.folder or Path("openpts-runs") / manifest.test_id
    if continues is not None:
        continues.check(manifest, device.health().values)
    if order.resumes is None:
        begun = BegunRun.of(manifest, folder)
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
    found = (driver, device, standard, conditions, plan, steps, entries, begun, folder, options)
    return _CheckedRun(*found, preparation, concerns)


@contextmanager
def _prepared(
    checked: _CheckedRun, order: RunSettings, listeners: Sequence[Listener]
) -> Iterator[_PreparedRun]:
    """Set up host and engine for the block, and begin the record; the engine may still refuse steps."""
    device, steps, driver, begun = checked.device, checked.steps, checked.driver, checked.begun
    demand, seed, concerns = demand_of(steps), checked.conditions.seed, checked.concerns
    known = concerns.run
    known.folder, known.demand = checked.folder, demand
    with (
        place_for_capture(checked.folder, checked.options.capture),
        concerns.around_engine(begun.manifest) as tuned,
        driver.engine(device.engine(demand, seed, checked.options, near=order.pin_to_node)) as engine,
    ):
        engine.check(steps)
        checks = data_checks(steps, device.facts, seed)
        known.engine = engine
        known.manifest = manifest = replace(tuned, engine=engine.facts, data_checks=checks)
        # what is open of a drive keeps its name from it when it comes back
        telemetry = order.telemetry if driver.drive_stays else replace(order.telemetry, period_s=None)
        sampler = sampler_of(telemetry, concerns.gauges)
        inputs = {**order.inputs, **device.inputs}
        with begun.record(checked.folder, manifest, device.owner, inputs) as (stored, past):
            writer = SpoolingWriter(stored, largest_program_bytes(checked.plan, checked.options.interval_ns))
            known.writer, known.emit = writer, _to_all(listeners)
            runner = ScriptRunner(
                engine,
                checked.preparation,
                writer,
                _to_all([concerns.on_event, *listeners]),
                concerns.health,
                sampler,
                driver,
                past,
                concerns.follows,
            )
            prepared, limits = concerns.preparations(), concerns.announcements()
            runner.emit(RunStarted(checked.folder, manifest, checked.plan, begun.where, limits, prepared))
            for healing in device.healed:
                runner.emit(Healed(healing))
            yield _PreparedRun(checked, engine, runner)


def _measure(run: _PreparedRun) -> None:
    """Enter what deviates from the start, and drive the script between two looks at the environment."""
    checked, runner = run.checked, run.runner
    conditions, device, concerns = checked.conditions, checked.device, checked.concerns
    begun, dut = checked.begun, checked.begun.manifest.dut
    runner.add_deviations(checked.entries)
    runner.add_deviations(path_deviations(run.engine.facts))
    runner.add_deviations(rotational_deviations(dut, of_specification=conditions.of_specification))
    runner.add_deviations(deviations(conditions, checked.standard, checked.driver.test.rules))
    begun.bring_back(device, run.engine, checked.preparation, runner)
    with (
        put_back_on_failure(device),
        concerns.around_steps() as reads_each_phase,
        environment_kept(runner, runner.writer, concerns.surroundings, begun.begins),
        kept_capture(run.engine, checked.options.capture, runner.writer, begun.capture),
    ):
        runner.reads_each_phase = reads_each_phase
        runner.drive(begun.rest_of(checked.script()))


def _close(run: _PreparedRun) -> None:
    """Enter the deviations that only the measured figures show."""
    test, concerns = run.checked.driver.test, run.checked.concerns
    run.runner.pause.until_written()
    findings = test.findings(concerns.run.record) if test.part("findings") else ()
    run.runner.add_deviations((*findings, *concerns.findings()))


def _to_all(listeners: Sequence[Listener]) -> Listener:
    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit

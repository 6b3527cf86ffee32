"""One run of one test from the operator's settings to the closed run folder."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import CaptureSettings, NativeOptions
from openpts.errors import InterruptedRunError, OpenptsError, RecordError, failing_as
from openpts.fields.conditions import Conditions
from openpts.hooks import Concerns
from openpts.ownership import new_run_id
from openpts.planning.dry_run import PlannedApply, largest_program_bytes
from openpts.procedures.kit.ledger import deviations, shortened
from openpts.procedures.kit.procedure import Procedure
from openpts.record.health import ReadingPoint
from openpts.record.manifest import RunState
from openpts.record.reader import stored_ledger
from openpts.record.spooling_writer import SpoolingWriter
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, driver_of
from openpts.runner.event_lines import DeviationFound, Note, RunEnded
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.preparation import Preparation, data_checks, path_deviations, rotational_deviations
from openpts.runner.resource_check import captured, check_free_space, checked_plan, demand_of, interval_ns
from openpts.runner.resumed_run import BegunRun, resumed_run
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.settings import RunSettings
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.runner.telemetry import sampler_of
from openpts.vocabulary.document import filled
from openpts.vocabulary.facts import CaptureReport, Facts
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.requests import CycleFinished, Script
from openpts.vocabulary.stimulus import Step
from openpts.vocabulary.verdict import Deviation


@contextmanager
def place_for_capture(run_folder: Path, settings: CaptureSettings | None) -> Iterator[None]:
    """The run folder exists in the block: an engine looks at it before it begins. Left empty, it is removed.

    Raises RecordError if it can't be made.
    """
    if settings is None:
        yield
        return
    with failing_as(RecordError, f"can't create the run folder {run_folder}"):
        run_folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):
            run_folder.rmdir()


@contextmanager
def kept_capture(
    engine: CapturingEngine,
    settings: CaptureSettings | None,
    writer: SpoolingWriter,
    earlier: CaptureReport | None = None,
) -> Iterator[None]:
    """When the block is left, the engine is stopped, its files are complete and the record knows of them.

    ``earlier`` is of the attempt before, if the run continues behind steps that it captured.
    """
    try:
        yield
    finally:
        if settings is not None:
            report = _finished(engine, settings.folder.name)
            if earlier is not None and earlier.lost:
                lost = f"of {earlier.folder}: {earlier.lost}"
                report = replace(report, lost=f"{lost}; {report.lost}" if report.lost else lost)
            writer.update_manifest(capture=report)


def _finished(engine: CapturingEngine, folder: str) -> CaptureReport:
    try:
        summary = engine.finish()
    except RecordError as error:
        return CaptureReport(folder, lost=str(error))
    if summary is None:
        return CaptureReport(folder)
    return CaptureReport(
        folder,
        files=summary.files,
        ios=summary.ios,
        bytes_written=summary.bytes_written,
        blocked_times=summary.blocked_times,
        blocked_ns=summary.blocked_ns,
        lost=f"{summary.discarded_ios:,} I/Os are in no file" if summary.discarded_ios else "",
    )


@contextmanager
def put_back_on_failure(device: DeviceUnderTest) -> Iterator[None]:
    """A block that fails leaves the device as it was found, or its error says what is left changed.

    After one that ends well, whatever it was changed for may still continue.
    """
    try:
        yield
    except OpenptsError as error:
        if left := device.put_back():
            raise type(error)(f"{error}; {left}") from error
        raise


@contextmanager
def environment_kept(
    runner: ScriptRunner, writer: SpoolingWriter, host: Callable[[], Facts], begins: ReadingPoint
) -> Iterator[None]:
    """Keep in the record what surrounds the test: before it, beside it, and after it, however it ends.

    What ``begins`` is the entire run or an attempt that continues it; the host before is that of the first.
    """
    if begins is ReadingPoint.BEFORE:
        writer.update_manifest(host_before=host())
    writer.update_manifest(telemetry=runner.sampler.facts)
    runner.health(begins)
    try:
        with runner.sampler.running():
            yield
    finally:
        runner.keep_telemetry(ended=True)
        runner.health(ReadingPoint.AFTER)
        writer.update_manifest(host_after=host(), telemetry=runner.sampler.facts)


@contextmanager
def closing_record(writer: SpoolingWriter, emit: Listener) -> Iterator[Callable[[], None]]:
    """Close the record when the block is left; call what is yielded when the test came to its end."""
    end = RunEnded(state=RunState.FAILED, reason="openpts itself failed")

    def complete() -> None:
        nonlocal end
        end = RunEnded(state=RunState.COMPLETE, reason=None)

    try:
        yield complete
    except (InterruptedRunError, KeyboardInterrupt) as error:
        end = RunEnded(state=RunState.INTERRUPTED, reason=str(error) or "stopped by the operator")
        raise
    except OpenptsError as error:
        end = RunEnded(state=RunState.FAILED, reason=str(error))
        raise
    finally:
        try:
            writer.update_manifest(
                state=RunState(end.state),
                state_reason=end.reason,
                ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        finally:
            try:
                writer.close()
                for entry in stored_ledger(writer.folder):
                    if entry.steps > 1:
                        emit(filled(DeviationFound, entry))
            finally:
                emit(end)


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


def run_test(test: Procedure, settings: RunSettings, listeners: Sequence[Listener]) -> FinishedRun:
    """Run one test. Everything that can be refused is refused before the purge.

    Raises OpenptsError; from the moment the run folder exists it records what was done and why it ended.
    """
    driver = driver_of(test)
    run_id = settings.resumes.run_id if settings.resumes is not None else settings.run_id or new_run_id()
    concerns = Concerns()
    with (
        terminate_as_interrupt(),
        driver.opened(settings.target, settings.consent, run_id) as device,
        concerns.around_run(settings, device),
        _prepared(_checked(driver, settings, device, run_id, concerns), settings, listeners) as run,
        closing_record(run.runner.writer, run.runner.emit) as complete,
        concerns.around_record(),
    ):
        _measure(run)
        _close(run)
        complete()
    return FinishedRun(run.checked.folder, run.runner.cycles)


def _checked(
    driver: Driver, settings: RunSettings, device: DeviceUnderTest, run_id: str, concerns: Concerns
) -> _CheckedRun:
    """Check what the settings ask of the device, and the space for it, before anything on it is changed."""
    test = driver.test
    driver.refuse_zones(device.target.device if device.target else None)
    concerns.check(settings)
    seed = secrets.randbits(63) if settings.seed is None else settings.seed
    standard = test.standard_conditions(settings.drive_class, seed)
    continues = settings.continues
    adjusted = settings.adjust(standard if continues is None else continues.conditions(test, seed))
    settings.admit(adjusted, device.facts)
    conditions = test.supported_on(adjusted, device.facts.sector_bytes, device.facts.scale)
    if device.facts.simulation is not None:
        conditions = test.without_data(conditions)
    capacity_bytes = device.facts.user_capacity_bytes
    plan = checked_plan(test.script(conditions, capacity_bytes), device)
    steps = tuple(step for planned in plan for step in planned.apply.steps)
    entries = device.deviations(steps if driver.depends_on_scale else ())
    manifest = replace(
        settings.manifest(device, conditions, run_id, concerns.facts()),
        shortened=shortened(conditions, standard),
    )
    folder = settings.folder or Path("openpts-runs") / manifest.test_id
    if continues is not None:
        continues.check(manifest, device.health().values)
    if settings.resumes is None:
        begun = BegunRun.of(manifest, folder)
    else:
        script = test.script(conditions, capacity_bytes)
        begun = resumed_run(driver, settings.resumes, manifest, device.health(), script)
    options = replace(
        settings.options,
        interval_ns=interval_ns(conditions.minute_ns),
        over_read_errors=conditions.goes_on_over_read_errors,
        resumed=begun.engine_state,
    )
    check_free_space(device, plan, folder, options.interval_ns)
    preparation = Preparation(device, PurgeChoice.parse(settings.purge))
    if test.purges and not conditions.keeps_data:
        preparation.check_purge()
    driver.check(test.script(conditions, capacity_bytes), device)
    options = captured(options, steps, folder, device.facts, begun.number)
    found = (driver, device, standard, conditions, plan, steps, entries, begun, folder, options)
    return _CheckedRun(*found, preparation, concerns)


@contextmanager
def _prepared(
    checked: _CheckedRun, settings: RunSettings, listeners: Sequence[Listener]
) -> Iterator[_PreparedRun]:
    """Set up host and engine for the block, and begin the record; the engine may still refuse steps."""
    device, steps, driver, begun = checked.device, checked.steps, checked.driver, checked.begun
    demand, seed, concerns = demand_of(steps), checked.conditions.seed, checked.concerns
    known = concerns.run
    known.folder, known.demand = checked.folder, demand
    with (
        place_for_capture(checked.folder, checked.options.capture),
        concerns.around_engine(begun.manifest) as tuned,
        driver.engine(device.engine(demand, seed, checked.options, near=settings.pin_to_node)) as engine,
    ):
        engine.check(steps)
        checks = data_checks(steps, device.facts, seed)
        known.engine = engine
        known.manifest = manifest = replace(tuned, engine=engine.facts, data_checks=checks)
        # what is open of a drive keeps its name from it when it comes back
        period_s = settings.telemetry_period_s if driver.drive_stays else None
        sampler = sampler_of(period_s, settings.power_command, concerns.gauges)
        inputs = {**settings.inputs, **device.inputs}
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
                runner.emit(Note(topic="healed", text=healing.text))
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

"""One run of one test from the operator's settings to the closed run folder."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from openpts.errors import InterruptedRunError, OpenptsError
from openpts.hooks import Concerns
from openpts.ownership import new_run_id
from openpts.planning.dry_run import largest_program_bytes
from openpts.planning.plan import Extent
from openpts.procedures.kit.procedure import Procedure
from openpts.record.health import ReadingPoint
from openpts.record.manifest import RunState
from openpts.record.reader import stored_ledger
from openpts.record.spooling_writer import SpoolingWriter
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import driver_of
from openpts.runner.event_lines import DeviationFound, Note, RunEnded
from openpts.runner.events import Event, Listener, RunStarted
from openpts.runner.native_engine import data_checks
from openpts.runner.resource_check import demand_of
from openpts.runner.script_runner import ScriptRunner
from openpts.runner.settings import CheckedRun, RunSettings, checked_run
from openpts.runner.stop_signals import terminate_as_interrupt
from openpts.runner.telemetry import sampler_of
from openpts.vocabulary.document import filled
from openpts.vocabulary.facts import Facts
from openpts.vocabulary.requests import CycleFinished


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
    ):
        checked = checked_run(settings, driver, device, run_id, concerns)
        with (
            _prepared(checked, concerns, listeners) as runner,
            closing_record(runner.writer, runner.emit) as complete,
            concerns.around_record(),
        ):
            _measure(checked, concerns, runner)
            runner.pause.until_written()
            findings = test.findings(concerns.run.record) if test.part("findings") else ()
            runner.add_deviations((*findings, *concerns.findings()))
            complete()
    return FinishedRun(checked.folder, runner.cycles)


@contextmanager
def _prepared(
    checked: CheckedRun, concerns: Concerns, listeners: Sequence[Listener]
) -> Iterator[ScriptRunner]:
    """Set up host and engine for the block, and begin the record; the engine may still refuse steps."""
    device, steps, driver, begun = checked.device, checked.steps, checked.driver, checked.begun
    settings, seed, known = checked.settings, checked.conditions.seed, concerns.run
    known.folder, known.steps, known.attempt = checked.folder, steps, begun.number
    known.demand = demand_of(steps)
    with (
        concerns.around_engine(begun.manifest) as tuned,
        driver.engine(
            device.engine(
                known.demand, seed, replace(checked.options, **concerns.options()), near=settings.pin_to_node
            )
        ) as engine,
    ):
        engine.check(steps)
        checks = data_checks(steps, device.facts, seed)
        known.engine = engine
        known.manifest = manifest = replace(tuned, engine=engine.facts, data_checks=checks)
        # what is open of a drive keeps its name from it when it comes back
        period_s = settings.telemetry_period_s if driver.drive_stays else None
        commands = {"power": settings.power_command, "temperature": settings.temperature_command}
        sampler = sampler_of(period_s, commands, concerns.gauges)
        with begun.record(checked.folder, manifest, device.owner, {**settings.inputs, **device.inputs}) as (
            stored,
            past,
        ):
            writer = SpoolingWriter(stored, largest_program_bytes(checked.plan, checked.options.interval_ns))
            known.writer, known.emit = writer, _to_all([concerns.on_event, *listeners])
            runner = ScriptRunner(
                engine,
                checked.preparation,
                writer,
                known.emit,
                concerns.health,
                sampler,
                driver,
                past,
                concerns.follows,
            )
            prepared, limits = concerns.preparations(), concerns.announcements()
            extents = Extent.range_of(checked.ways)
            runner.emit(
                RunStarted(checked.folder, manifest, checked.plan, extents, begun.where, limits, prepared)
            )
            for healing in device.healed:
                runner.emit(Note(topic="healed", text=healing.text))
            yield runner


def _measure(checked: CheckedRun, concerns: Concerns, runner: ScriptRunner) -> None:
    """Enter what deviates from the start, and drive the script between two looks at the environment."""
    device, begun = checked.device, checked.begun
    for entries in checked.entries(runner.engine.facts):
        runner.add_deviations(entries)
    begun.bring_back(device, runner.engine, checked.preparation, runner)
    with (
        put_back_on_failure(device),
        concerns.around_steps() as reads_each_phase,
        environment_kept(runner, runner.writer, concerns.surroundings, begun.begins),
    ):
        runner.reads_each_phase = reads_each_phase
        runner.drive(begun.rest_of(checked.script()))


def _to_all(listeners: Sequence[Listener]) -> Listener:
    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit

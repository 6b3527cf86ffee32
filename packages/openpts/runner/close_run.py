"""What a record gets around a test, however it ends: single I/Os, the environment, and its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import CaptureSettings
from openpts.errors import InterruptedRunError, OpenptsError, RecordError, failing_as
from openpts.record.health import ReadingPoint
from openpts.record.manifest import RunState
from openpts.record.reader import stored_ledger
from openpts.record.spooling_writer import SpoolingWriter
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.events import DeviationFound, Listener, RunEnded
from openpts.runner.script_runner import ScriptRunner
from openpts.vocabulary.facts import CaptureReport, Facts


@contextmanager
def place_for_capture(run_folder: Path, order: CaptureSettings | None) -> Iterator[None]:
    """The run folder exists in the block: an engine looks at it before it begins. Left empty, it is removed.

    Raises RecordError if it can't be made.
    """
    if order is None:
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
    order: CaptureSettings | None,
    writer: SpoolingWriter,
    earlier: CaptureReport | None = None,
) -> Iterator[None]:
    """When the block is left, the engine is stopped, its files are complete and the record knows of them.

    ``earlier`` is of the attempt before, if the run continues behind steps that it captured.
    """
    try:
        yield
    finally:
        if order is not None:
            report = _finished(engine, order.folder.name)
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
    end = RunEnded(RunState.FAILED, "openpts itself failed")

    def complete() -> None:
        nonlocal end
        end = RunEnded(RunState.COMPLETE, None)

    try:
        yield complete
    except (InterruptedRunError, KeyboardInterrupt) as error:
        end = RunEnded(RunState.INTERRUPTED, str(error) or "stopped by the operator")
        raise
    except OpenptsError as error:
        end = RunEnded(RunState.FAILED, str(error))
        raise
    finally:
        try:
            writer.update_manifest(
                state=end.state,
                state_reason=end.reason,
                ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
            )
        finally:
            try:
                writer.close()
                for entry in stored_ledger(writer.folder):
                    if entry.steps > 1:
                        emit(DeviationFound(entry))
            finally:
                emit(end)

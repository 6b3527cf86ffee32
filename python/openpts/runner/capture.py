"""The files with single I/Os: their place before the test, and what they hold however it ended."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import CaptureOrder
from openpts.errors import RecordError
from openpts.record.writer import RunWriter
from openpts.vocabulary.facts import CaptureReport


@contextmanager
def place_for_capture(run_folder: Path, order: CaptureOrder | None) -> Iterator[None]:
    """The run folder exists in the block: an engine looks at it before it begins. Left empty, it is removed.

    Raises RecordError if it can't be made.
    """
    if order is None:
        yield
        return
    try:
        run_folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordError(f"can't create the run folder {run_folder}: {error.strerror}") from error
    try:
        yield
    finally:
        with suppress(OSError):
            run_folder.rmdir()


@contextmanager
def kept_capture(engine: CapturingEngine, order: CaptureOrder | None, writer: RunWriter) -> Iterator[None]:
    """When the block is left, the engine is stopped, its files are complete and the record knows of them."""
    try:
        yield
    finally:
        if order is not None:
            writer.update_manifest(capture=_finished(engine, order.folder.name))


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

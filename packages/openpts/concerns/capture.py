"""The capture: every single I/O of the steps that ask for it, in files beside the record."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from msgspec.structs import replace

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import CaptureSettings
from openpts.errors import RecordError, failing_as
from openpts.hooks import Concern, RunContext
from openpts.record.writer import capture_folder
from openpts.vocabulary.facts import CaptureReport


class Capture(Concern):
    """Nothing, unless a step is to be captured."""

    _settings: CaptureSettings | None = None

    @contextmanager
    def around_engine(self, run: RunContext) -> Iterator[Mapping[str, Any]]:
        """Make the folder of the attempt's files, which an engine looks at; remove it if no record begins.

        Raises RecordError if it can't be made.
        """
        target, captured = run.device.facts, [step for step in run.steps if step.capture]
        granules = [
            stimulus.granule_bytes(target.user_capacity_bytes, target.sector_bytes)
            for step in captured
            for stimulus in step.stimuli
        ]
        if not granules:
            yield {}
            return
        files = run.folder / capture_folder(run.attempt)
        with failing_as(RecordError, f"can't create the folder {files}"):
            files.mkdir(parents=True, exist_ok=True)
        self._settings = CaptureSettings(files, math.gcd(*granules))
        try:
            yield {}
        finally:
            if run.writer is None:
                with suppress(OSError):
                    files.rmdir()
                    run.folder.rmdir()

    def options(self, run: RunContext) -> Mapping[str, Any]:
        """Where the engine writes what it captures."""
        del run
        return {} if self._settings is None else {"capture": self._settings}

    @contextmanager
    def around_steps(self, run: RunContext) -> Iterator[None]:
        """At the end the engine is stopped, its files are complete and the record knows of them.

        What an attempt before has lost of steps that stand remains in the record.
        """
        try:
            yield
        finally:
            if self._settings is not None:
                assert run.engine is not None  # noqa: S101 it carries out the steps
                assert run.manifest is not None  # noqa: S101 there is a record
                assert run.writer is not None  # noqa: S101 likewise
                report, earlier = _finished(run.engine, self._settings.folder.name), run.manifest.capture
                if earlier is not None and earlier.lost:
                    lost = f"of {earlier.folder}: {earlier.lost}"
                    report = replace(report, lost=f"{lost}; {report.lost}" if report.lost else lost)
                run.writer.update_manifest(capture=report)


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

"""A run from its beginning."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openpts.engine.contract import CapturingEngine
from openpts.engine.options import Resumed
from openpts.ownership import RunOwner, folder_claimed
from openpts.record.health import Occasion
from openpts.record.manifest import Manifest
from openpts.record.writer import CAPTURE_FOLDER, RunWriter
from openpts.runner.continued_run import bring_back_earlier
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.preparation import Preparation
from openpts.runner.script_runner import Past, ScriptRunner
from openpts.vocabulary.facts import CaptureReport
from openpts.vocabulary.requests import Script


@dataclass(frozen=True, slots=True)
class BegunRun:
    """What of a run differs where it goes on; the defaults are those of one that begins.

    ``number`` is that of the attempt, from 1; ``where`` says where it goes on, and what stands. ``begins`` is
    the occasion of the first reading of the drive's log, ``capture`` of the attempt before, if steps stand
    that it captured.
    """

    manifest: Manifest
    number: int = 1
    where: str = ""
    begins: Occasion = Occasion.BEFORE
    engine_state: Resumed | None = None
    capture: CaptureReport | None = None

    def rest_of(self, script: Script) -> Script:
        """All of it."""
        return script

    @contextmanager
    def record(
        self, folder: Path, manifest: Manifest, owner: RunOwner, inputs: Mapping[str, bytes]
    ) -> Iterator[tuple[RunWriter, Past]]:
        """A new record; its folder is claimed as long as the block lasts."""
        writer = RunWriter.create(folder, manifest, expected=CAPTURE_FOLDER, inputs=inputs)
        with folder_claimed(folder, owner):
            yield writer, Past()

    def bring_back(
        self, device: DeviceUnderTest, engine: CapturingEngine, preparation: Preparation, runner: ScriptRunner
    ) -> None:
        """A simulated drive as the runs have left it that this one continues."""
        del engine, runner
        bring_back_earlier(self.manifest.conditions, device, preparation)

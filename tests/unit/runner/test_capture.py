"""The capture of a run: its place before the test, what the record knows of it however the test ended."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from openpts.engine.options import CaptureOrder, CaptureSummary
from openpts.errors import RecordError, RunFailedError
from openpts.record.writer import RunWriter
from openpts.runner.close_run import kept_capture, place_for_capture
from openpts.vocabulary.facts import CaptureReport
from tests.unit.runner.scripted_engine import ScriptedEngine

SUMMARY = CaptureSummary(
    ios=12, discarded_ios=0, bytes_written=345, files=2, blocked_times=1, blocked_ns=1_500
)


@dataclass
class CapturingScript(ScriptedEngine):
    """``result`` is what completing the files comes to."""

    result: CaptureSummary | RecordError | None = None

    def finish(self) -> CaptureSummary | None:
        self.happened.append("finish")
        if isinstance(self.result, RecordError):
            raise self.result
        return self.result


@dataclass
class Reported:
    """The one method of a writer that is used."""

    sections: dict[str, Any] = field(default_factory=dict)

    def update_manifest(self, **sections: object) -> None:
        self.sections.update(sections)


def _writer(told: Reported) -> RunWriter:
    return told  # type: ignore[return-value]


def kept(
    tmp_path: Path, result: CaptureSummary | RecordError | None, *, fails: bool = False
) -> CaptureReport:
    told = Reported()
    engine = CapturingScript(result=result)
    order = CaptureOrder(tmp_path / "run" / "capture", 4096)
    if fails:
        with pytest.raises(RunFailedError), kept_capture(engine, order, _writer(told)):
            raise RunFailedError("an I/O failed")
    else:
        with kept_capture(engine, order, _writer(told)):
            engine.happened.append("drive")
    assert engine.happened[-1] == "finish"
    report: CaptureReport = told.sections["capture"]
    return report


def test_what_the_files_hold_is_in_the_record(tmp_path: Path) -> None:
    expected = CaptureReport("capture", 2, 12, 345, 1, 1_500)
    assert kept(tmp_path, SUMMARY) == expected
    assert kept(tmp_path, SUMMARY, fails=True) == expected


def test_what_they_do_not_hold_is_in_the_record(tmp_path: Path) -> None:
    lacking = CaptureSummary(
        ios=12, discarded_ios=1_700, bytes_written=345, files=2, blocked_times=0, blocked_ns=0
    )
    assert kept(tmp_path, lacking).lost == "1,700 I/Os are in no file"
    assert kept(tmp_path, RecordError("no space left")) == CaptureReport("capture", lost="no space left")
    assert kept(tmp_path, None) == CaptureReport("capture")


@pytest.mark.parametrize(
    ("earlier", "lost"),
    [
        (None, "no space left"),
        (CaptureReport("capture"), "no space left"),
        (CaptureReport("capture", lost="3 are in no file"), "of capture: 3 are in no file; no space left"),
    ],
)
def test_what_the_attempt_before_has_lost_stays_in_the_record(
    earlier: CaptureReport | None, lost: str, tmp_path: Path
) -> None:
    told = Reported()
    order = CaptureOrder(tmp_path / "run" / "capture-2", 4096)
    engine = CapturingScript(result=RecordError("no space left"))
    with kept_capture(engine, order, _writer(told), earlier):
        pass
    assert told.sections["capture"] == CaptureReport("capture-2", lost=lost)


def test_without_a_capture_nothing_is_told() -> None:
    told, engine = Reported(), CapturingScript()
    with kept_capture(engine, None, _writer(told)):
        pass
    assert (told.sections, engine.happened) == ({}, [])


def test_the_run_folder_is_there_while_the_engine_begins(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "run"
    order = CaptureOrder(folder / "capture", 4096)
    with place_for_capture(folder, order):
        assert folder.is_dir()
    assert not folder.exists()
    with place_for_capture(folder, order):
        (folder / "run.db").touch()
    assert folder.is_dir()


def test_without_a_capture_no_folder_is_made(tmp_path: Path) -> None:
    with place_for_capture(tmp_path / "run", None):
        assert not (tmp_path / "run").exists()


def test_a_place_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "run"
    with (
        pytest.raises(RecordError, match="can't create the run folder"),
        place_for_capture(folder, CaptureOrder(folder / "capture", 4096)),
    ):
        pass

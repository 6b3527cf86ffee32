"""The capture of a run: its place before the test, what the record knows of it however the test ended."""

import random
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from openpts.engine.options import CaptureSettings, CaptureSummary
from openpts.errors import RecordError, RunFailedError
from openpts.record.writer import RunWriter
from openpts.runner.preparation import SAMPLED_BYTES, Preparation, checked, data_checks, sample_of
from openpts.runner.run import kept_capture, place_for_capture
from openpts.vocabulary.facts import CaptureReport, SimulationFacts, TargetFacts, TargetKind, WriteCacheReport
from openpts.vocabulary.purge import PurgeChoice
from openpts.vocabulary.stimulus import (
    AccessPattern,
    ActiveRange,
    Duration,
    RandomData,
    ReducibleData,
    Step,
    Stimulus,
)
from tests.support.scripted_engine import ScriptedEngine

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


def kept(tmp_path, result: CaptureSummary | RecordError | None, *, fails: bool = False) -> CaptureReport:
    told = Reported()
    engine = CapturingScript(result=result)
    settings = CaptureSettings(tmp_path / "run" / "capture", 4096)
    if fails:
        with pytest.raises(RunFailedError), kept_capture(engine, settings, _writer(told)):
            raise RunFailedError("an I/O failed")
    else:
        with kept_capture(engine, settings, _writer(told)):
            engine.happened.append("drive")
    assert engine.happened[-1] == "finish"
    report: CaptureReport = told.sections["capture"]
    return report


def test_what_the_files_hold_is_in_the_record(tmp_path) -> None:
    expected = CaptureReport("capture", 2, 12, 345, 1, 1_500)
    assert kept(tmp_path, SUMMARY) == expected
    assert kept(tmp_path, SUMMARY, fails=True) == expected


def test_what_they_do_not_hold_is_in_the_record(tmp_path) -> None:
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
def test_what_the_attempt_before_has_lost_stays_in_the_record(earlier, lost, tmp_path) -> None:
    told = Reported()
    settings = CaptureSettings(tmp_path / "run" / "capture-2", 4096)
    engine = CapturingScript(result=RecordError("no space left"))
    with kept_capture(engine, settings, _writer(told), earlier):
        pass
    assert told.sections["capture"] == CaptureReport("capture-2", lost=lost)


def test_without_a_capture_nothing_is_told() -> None:
    told, engine = Reported(), CapturingScript()
    with kept_capture(engine, None, _writer(told)):
        pass
    assert (told.sections, engine.happened) == ({}, [])


def test_the_run_folder_is_there_while_the_engine_begins(tmp_path) -> None:
    folder = tmp_path / "a" / "run"
    settings = CaptureSettings(folder / "capture", 4096)
    with place_for_capture(folder, settings):
        assert folder.is_dir()
    assert not folder.exists()
    with place_for_capture(folder, settings):
        (folder / "run.db").touch()
    assert folder.is_dir()


def test_without_a_capture_no_folder_is_made(tmp_path) -> None:
    with place_for_capture(tmp_path / "run", None):
        assert not (tmp_path / "run").exists()


def test_a_place_that_can_not_be_made_is_told(tmp_path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "run"
    with (
        pytest.raises(RecordError, match="can't create the run folder"),
        place_for_capture(folder, CaptureSettings(folder / "capture", 4096)),
    ):
        pass


if TYPE_CHECKING:
    from openpts.runner.device_under_test import DeviceUnderTest


class Drive:
    def __init__(self, actual: str) -> None:
        self.actual = actual

    def write_cache_now(self, required_enabled: bool) -> WriteCacheReport:
        return WriteCacheReport("WCE" if required_enabled else "WCD", self.actual, "NVMe Get Features, 06h")


def since(then: str, now: str, required: str = "WCD") -> list[str]:
    preparation = Preparation(cast("DeviceUnderTest", Drive(now)), PurgeChoice.AUTO)
    entries = preparation.cache_since(WriteCacheReport(required, then, "NVMe Get Features, 06h"))
    assert all(entry.rule_id == "PTS-CACHE-01" for entry in entries)
    return [f"{entry.required}: {entry.used}" for entry in entries]


@pytest.mark.parametrize("state", ["WCD", "WCE", "no volatile cache"])
def test_a_cache_that_stayed_is_no_entry(state) -> None:
    assert since(state, state) == []


def test_a_cache_that_came_back_is_entered() -> None:
    """As after a reset of the controller, which forgets the feature."""
    assert since("WCD", "WCE") == [
        "WCD, throughout: WCD when the cycle began, WCE at its end (NVMe Get Features, 06h)"
    ]
    assert since("WCE", "WCD", "WCE") == [
        "WCE, throughout: WCE when the cycle began, WCD at its end (NVMe Get Features, 06h)"
    ]


def test_a_drive_that_does_not_tell_any_more_is_no_entry() -> None:
    assert since("WCD", "unknown") == []


SIMULATION = SimulationFacts("theory", "a model", "page-mapped", 1, 10**9, 1, ())
DRIVE = TargetFacts(TargetKind.BLOCK, "nvme9n1", "/dev/nvme9n1", 10**12, 512)
SIMULATED = TargetFacts(TargetKind.SIMULATED, "sim:theory", "sim:theory", 10**9, 512, SIMULATION)


def step(data: RandomData | ReducibleData) -> Step:
    stimulus = Stimulus.of(AccessPattern.RANDOM, 4096, 0, 1, 1, ActiveRange())
    return Step.of(replace(stimulus, data=data), Duration(1))


@pytest.mark.proves("LSI-ENT-02")
def test_pieces_are_compressed_by_themselves_and_counted_once() -> None:
    piece = random.Random(1).randbytes(4096)
    check = checked(ReducibleData(50, 50), piece + piece + bytes(8192))
    assert check.distinct_pct == 50
    left_bytes = 2 * len(zlib.compress(piece)) + 2 * len(zlib.compress(bytes(4096)))
    assert check.compressed_pct == pytest.approx(100 * left_bytes / 16384)


@pytest.mark.proves("LSI-GEN-03")
@pytest.mark.parametrize("entropy_pct", [0, 10, 25, 46, 67, 100])
def test_the_engine_writes_what_is_asked_for(entropy_pct) -> None:
    sample = sample_of(ReducibleData(entropy_pct), 5)
    assert len(sample) == SAMPLED_BYTES
    random_bytes = round(4096 * entropy_pct / 100)
    for start in range(0, len(sample), 256 * 4096):
        assert not any(sample[start + random_bytes : start + 4096])
    # zlib's own bytes are up to 1.5 % of a piece
    assert entropy_pct <= checked(ReducibleData(entropy_pct), sample).compressed_pct < entropy_pct + 2


def test_copies_are_found() -> None:
    check = checked(ReducibleData(46, 50), sample_of(ReducibleData(46, 50), 5))
    # half of 1024 pieces are copies of 16; shares are exact over each hundred: 24 pieces are left to chance
    assert check.distinct_pct == pytest.approx(100 * (512 + 16) / 1024, abs=100 * 12 / 1024)


def test_each_pattern_is_looked_at_once_and_random_data_never() -> None:
    steps = [step(RandomData()), step(ReducibleData(46)), step(ReducibleData(0)), step(ReducibleData(46))]
    checks = data_checks([Step.of(None, Duration(1)), *steps], DRIVE, 7)
    assert [check.data for check in checks] == [ReducibleData(46), ReducibleData(0)]
    assert {check.sampled_bytes for check in checks} == {SAMPLED_BYTES}


def test_a_simulated_drive_gets_no_bytes_and_that_is_said(golden) -> None:
    (check,) = data_checks([step(ReducibleData(46, 25))], SIMULATED, 7)
    assert (check.compressed_pct, check.distinct_pct, check.sampled_bytes) == (46, 75, 0)
    assert check.how == golden

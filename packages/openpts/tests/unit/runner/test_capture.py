"""The capture of a run: its place before the test, what the record knows of it however the test ended."""

import random
import zlib
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec.structs import replace

from openpts.concerns.capture import Capture
from openpts.engine.options import CaptureSettings, CaptureSummary
from openpts.errors import RecordError, RunFailedError
from openpts.hooks import RunContext
from openpts.runner.native_engine import SAMPLED_BYTES, checked, data_checks, sample_of
from openpts.runner.preparation import Preparation
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


STIMULUS = Stimulus.of(AccessPattern.RANDOM, 8192, 0, 1, 1, ActiveRange())
CAPTURED = Step.of(STIMULUS, Duration(1), capture=True)


def run_in(folder: Path, *steps: Step, earlier: CaptureReport | None = None, attempt: int = 1) -> RunContext:
    """A run on a drive with sectors of 512 B, before its engine is made."""
    device, manifest = SimpleNamespace(facts=DRIVE), SimpleNamespace(capture=earlier)
    return RunContext(None, device, folder, steps, attempt, manifest=manifest)  # type: ignore[arg-type]


def kept(
    run: RunContext, result: CaptureSummary | RecordError | None, *, fails: bool = False
) -> dict[str, Any]:
    """What the record has of the capture of a run whose files come to that result."""
    engine, reported, capture = CapturingScript(result=result), Reported(), Capture()
    run.engine, run.writer = engine, reported  # type: ignore[assignment]
    failure = pytest.raises(RunFailedError) if fails else nullcontext()
    with capture.around_engine(run), failure, capture.around_steps(run):
        engine.happened.append("drive")
        if fails:
            raise RunFailedError("an I/O failed")
    assert engine.happened == (["drive", "finish"] if reported.sections else ["drive"])
    return reported.sections


def test_what_the_files_hold_is_in_the_record(tmp_path) -> None:
    expected = {"capture": CaptureReport("capture", 2, 12, 345, 1, 1_500)}
    assert kept(run_in(tmp_path, CAPTURED), SUMMARY) == expected
    assert kept(run_in(tmp_path, CAPTURED), SUMMARY, fails=True) == expected


def test_what_they_do_not_hold_is_in_the_record(tmp_path) -> None:
    lacking = CaptureSummary(
        ios=12, discarded_ios=1_700, bytes_written=345, files=2, blocked_times=0, blocked_ns=0
    )
    run = run_in(tmp_path, CAPTURED)
    assert kept(run, lacking)["capture"].lost == "1,700 I/Os are in no file"
    lost = CaptureReport("capture", lost="no space left")
    assert kept(run, RecordError("no space left")) == {"capture": lost}
    assert kept(run, None) == {"capture": CaptureReport("capture")}


@pytest.mark.parametrize(
    ("earlier", "lost"),
    [
        (None, "no space left"),
        (CaptureReport("capture"), "no space left"),
        (CaptureReport("capture", lost="3 are in no file"), "of capture: 3 are in no file; no space left"),
    ],
)
def test_what_the_attempt_before_has_lost_stays_in_the_record(earlier, lost, tmp_path) -> None:
    run = run_in(tmp_path, CAPTURED, earlier=earlier, attempt=2)
    found = kept(run, RecordError("no space left"))
    assert found == {"capture": CaptureReport("capture-2", lost=lost)}


def test_without_a_capture_nothing_is_made_or_recorded(tmp_path) -> None:
    run, capture = run_in(tmp_path / "run", Step.of(STIMULUS, Duration(1))), Capture()
    with capture.around_engine(run):
        assert capture.options(run) == {}
    assert not (tmp_path / "run").exists()
    assert kept(run, SUMMARY) == {}


def test_the_folder_is_there_while_the_engine_begins_and_goes_unless_a_record_does(tmp_path) -> None:
    folder, capture = tmp_path / "a" / "run", Capture()
    run = run_in(folder, CAPTURED)
    with capture.around_engine(run):
        assert capture.options(run) == {"capture": CaptureSettings(folder / "capture", 4096)}
        assert (folder / "capture").is_dir()
    assert not folder.exists()
    with capture.around_engine(run):
        run.writer = Reported()  # type: ignore[assignment]
    assert (folder / "capture").is_dir()


def test_a_folder_that_can_not_be_made_is_an_error(tmp_path) -> None:
    (tmp_path / "file").touch()
    run = run_in(tmp_path / "file" / "run", CAPTURED)
    with pytest.raises(RecordError, match="can't create the folder"), Capture().around_engine(run):
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

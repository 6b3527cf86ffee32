"""The disk of the record is full, read-only or fails under a run: it pauses, and loses no finished step.

Needs root: the record is in a small file system of its own.
"""

import re
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.record.manifest import RunState
from openpts.record.reader import Run as Record
from openpts.record.reader import read_run
from openpts.tests.device.short_run import ROUNDS, ShortRun, measuring
from openpts.units import MIB, NS_PER_S, format_duration
from openpts.vocabulary.sample import Phase
from tests.support.full_disk import fill
from tests.support.openpts_process import openpts

PAUSE_S = 2.0


@pytest.fixture
def ext4(attach: Callable[..., Path], mount: Callable[..., Path], run: Callable[..., str]) -> Path:
    """24 MiB on a loop device."""
    device = attach(size_bytes=24 * MIB)
    run("mkfs.ext4", "-q", "-m", "0", device)
    return mount(device, "-o", "errors=remount-ro")


@pytest.mark.parametrize("kind", ["tmpfs", pytest.param("ext4", marks=pytest.mark.slow)])
@pytest.mark.long("a run waits for room")
def test_a_full_disk_pauses_the_run_until_there_is_room(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    disk: Path = request.getfixturevalue(kind)
    with measuring(disk / "r1", tmp_path) as subject:
        filling = fill(disk)
        subject.until("the run pauses")
        time.sleep(PAUSE_S)
        filling.unlink()
        subject.until("the run continues")
        errors = subject.ended()
    assert subject.process.returncode == 0, errors
    stored = read_run(disk / "r1")
    assert stored.manifest.state is RunState.COMPLETE
    assert [step.place.number for step in stored.phase(Phase.ROUND)] == [
        number for number in range(1, ROUNDS + 1) for _ in range(2)
    ]
    (entry,) = (entry for entry in stored.ledger if "without I/O before round" in entry.used)
    assert entry.used.endswith("the record could not be written: database or disk is full")
    (gap_ns,) = (step.sample.gap_ns for step in stored.steps if (step.sample.gap_ns or 0) > NS_PER_S)
    assert format_duration(gap_ns) in entry.used or gap_ns > 1.5 * NS_PER_S


def stopped_in_its_pause(subject: ShortRun) -> str:
    subject.until("the run pauses")
    time.sleep(PAUSE_S)
    subject.process.send_signal(signal.SIGINT)
    return subject.ended()


@pytest.mark.slow
def test_a_run_that_is_stopped_on_a_full_disk_has_all_its_steps(tmpfs: Path, tmp_path: Path) -> None:
    with measuring(tmpfs / "r1", tmp_path) as subject:
        fill(tmpfs)
        errors = stopped_in_its_pause(subject)
    assert subject.process.returncode == 130, errors
    stored = read_run(tmpfs / "r1")
    assert stored.manifest.state is RunState.INTERRUPTED
    assert len(stored.phase(Phase.ROUND)) == 2 * subject.rounds_told
    assert f"{len(stored.steps)} steps are kept" in errors


@pytest.mark.slow
def test_a_record_that_can_be_written_again_goes_on(
    ext4: Path, tmp_path: Path, run: Callable[..., str]
) -> None:
    """Not full, but write-protected: each write to its files fails."""
    files = [ext4 / "r1" / name for name in ("run.db", "run.db-wal")]
    with measuring(ext4 / "r1", tmp_path) as subject:
        run("chattr", "+i", *files)
        try:
            subject.until("the run pauses")
            time.sleep(PAUSE_S)
        finally:
            run("chattr", "-i", *files)
        subject.until("the run continues")
        errors = subject.ended()
    assert subject.process.returncode == 0, errors
    assert len(read_run(ext4 / "r1").phase(Phase.ROUND)) == 2 * ROUNDS


def saved_record(errors: str) -> Record:
    """The record that the last words of an error name."""
    assert errors.count("\n") == 1
    return read_run(Path(errors.rstrip().rpartition("; all of it is saved in ")[2]))


@pytest.mark.slow
def test_a_file_system_that_stays_read_only_gets_a_record_elsewhere(
    ext4: Path, tmp_path: Path, run: Callable[..., str]
) -> None:
    device = Path(run("findmnt", "-n", "-o", "SOURCE", ext4)).name
    with measuring(ext4 / "r1", tmp_path) as subject:
        Path(f"/sys/fs/ext4/{device}/trigger_fs_error").write_text("1")
        errors = stopped_in_its_pause(subject)
    assert subject.process.returncode == 8
    warning, error = errors.splitlines(keepends=True)
    assert re.search(r"r1/events\.jsonl is incomplete, the run itself is not: \d+ lines are missing", warning)
    assert "r1: Read-only file system; all of it is saved" in error
    saved = saved_record(error)
    assert saved.manifest.state is RunState.INTERRUPTED
    # the round that ran as the pause began has ended in it, and no line says so
    assert len(saved.phase(Phase.ROUND)) in {2 * subject.rounds_told, 2 * subject.rounds_told + 2}
    assert len(saved.phase(Phase.ROUND)) >= 2 * 3
    assert read_run(ext4 / "r1").steps == saved.steps[: len(read_run(ext4 / "r1").steps)]


def test_a_folder_that_is_removed_is_saved_elsewhere(tmpfs: Path, tmp_path: Path) -> None:
    with measuring(tmpfs / "r1", tmp_path) as subject:
        shutil.rmtree(tmpfs / "r1")
        errors = subject.ended()
    assert subject.process.returncode == 8
    assert "run.db can't be found: No such file or directory; don't touch" in errors
    assert len(saved_record(errors).phase(Phase.ROUND)) >= 2 * subject.rounds_told


@pytest.mark.slow
def test_a_folder_that_is_removed_in_a_pause_ends_it(tmpfs: Path, tmp_path: Path) -> None:
    with measuring(tmpfs / "r1", tmp_path) as subject:
        fill(tmpfs)
        subject.until("the run pauses")
        shutil.rmtree(tmpfs / "r1")
        errors = subject.ended()
    assert subject.process.returncode == 8
    assert len(saved_record(errors).phase(Phase.ROUND)) >= 2 * subject.rounds_told


def test_single_ios_that_a_full_disk_does_not_take_are_counted(tmpfs: Path, tmp_path: Path) -> None:
    """The load goes on without them, and its figures are whole."""
    (tmp_path / "x").write_bytes(bytes(16 * MIB))
    fill(tmpfs, but_pages=1)
    ended = openpts("io", "file:x", "--seconds", "1", "--json", "--capture", f"{tmpfs}/files", cwd=tmp_path)
    assert ended.exit_code == 8
    result = ended.json
    assert (result["state"], result["elapsed_seconds"] >= 1) == ("complete", True)
    lost, of = map(
        int, re.findall(r"No space left on device.*; (\d+) of (\d+) I/Os are in no file", ended.stderr)[0]
    )
    assert lost <= of == result["total"]["ios"]
    assert not list(tmpfs.rglob("*.partial"))

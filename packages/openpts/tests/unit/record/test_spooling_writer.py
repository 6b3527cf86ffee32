"""A writer whose disk is full for a while: nothing is lost, nothing twice, and all in order."""

import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts.errors import LostRecordError, OpenptsError, UnwritableRecordError
from openpts.record import writer as writer_module
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.schema import PAGE_BYTES, REPEATED
from openpts.record.spooling_writer import Reserve, SpoolingWriter
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.runner.event_lines import RunEnded
from openpts.runner.run import closing_record
from openpts.temporary_folder import temporary_folder
from openpts.units import MIB
from openpts.vocabulary.sample import Phase, StepPlace
from openpts.vocabulary.verdict import Deviation
from tests.support.live_bench import step
from tests.support.record_parts import manifest, round_place, sample
from tests.support.scripted_engine import complete

RESERVE_BYTES = 64 * 1024


class Database:
    """That of a record, which is as large as the test allows."""

    def __init__(self, writer: RunWriter) -> None:
        self._connection = writer._connection
        self._largest = self._pages("max_page_count")

    def _pages(self, pragma: str) -> int:
        return int(self._connection.execute(f"PRAGMA {pragma}").fetchone()[0])

    def fill_up(self) -> None:
        """SQLite takes no further page, and says what it says of a full disk."""
        self._pages(f"max_page_count = {self._pages('page_count')}")

    def make_room(self) -> None:
        self._pages(f"max_page_count = {self._largest}")


def lasting(folder: Path) -> tuple[SpoolingWriter, Database]:
    stored = RunWriter.create(folder, manifest(), inputs={"plan.toml": b"test = 'iops'"})
    return SpoolingWriter(stored, RESERVE_BYTES), Database(stored)


def entry(number: int) -> Deviation:
    return Deviation("PTS-GEN-01", "1.1", "nothing", f"{number} " + "x" * PAGE_BYTES, "effect")


def numbers(run: Run) -> list[int]:
    return [int(found.used.split()[0]) for found in run.ledger]


@settings(max_examples=20)
@given(st.lists(st.booleans(), max_size=10))
def test_what_waited_is_stored_once_and_in_order(tmp_path_factory, full) -> None:
    folder = tmp_path_factory.mktemp("lasting") / "run"
    writer, database = lasting(folder)
    for number, is_full in enumerate(full):
        if is_full:
            database.fill_up()
        else:
            database.make_room()
        writer.add_deviations((entry(number),))
        writer.add_step(round_place(number + 1, 0), sample())
    database.make_room()
    assert writer.try_again() == ""
    writer.close()
    run = read_run(folder)
    assert numbers(run) == list(range(len(full)))
    assert [step.place.number for step in run.steps] == list(range(1, len(full) + 1))


def test_it_says_what_is_wrong_until_it_is_right_again(tmp_path) -> None:
    writer, database = lasting(tmp_path / "run")
    assert writer.trouble == ""
    database.fill_up()
    writer.add_deviations((entry(1),))
    assert writer.trouble == "database or disk is full"
    assert writer.try_again() == "database or disk is full"
    database.make_room()
    assert writer.try_again() == writer.trouble == ""
    writer.close()


def test_a_step_that_is_repeated_meanwhile_is_set_aside_in_its_turn(tmp_path) -> None:
    writer, database = lasting(tmp_path / "run")
    database.fill_up()
    for _ in range(2):
        writer.add_step(round_place(1, 0), sample())
        writer.set_aside(round_place(1, 0))
    writer.add_step(round_place(1, 0), sample())
    database.make_room()
    writer.close()
    with sqlite3.connect(tmp_path / "run" / DATABASE_NAME) as connection:
        states = [state for (state,) in connection.execute("SELECT state FROM step ORDER BY step_id")]
    connection.close()
    assert states == [REPEATED, REPEATED, "complete"]


@pytest.mark.parametrize("state", ["state", "file/state"], ids=["restarts leave it", "no state folder"])
def test_what_waits_at_the_end_is_saved_elsewhere(state, tmp_path, monkeypatch) -> None:
    """Also of a run whose folder is called like what a run removes when it begins."""
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / state))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    writer, database = lasting(tmp_path / "run")
    writer.add_deviations((entry(0),))
    database.fill_up()
    writer.add_deviations((entry(1),))
    writer.update_manifest(state=RunState.INTERRUPTED)
    with pytest.raises(UnwritableRecordError, match="disk is full; all of it is saved in") as raised:
        writer.close()
    assert numbers(read_run(tmp_path / "run")) == [0]
    saved = read_run(Path(str(raised.value).rpartition(" in ")[2]))
    assert (saved.folder / "input/plan.toml").read_bytes() == b"test = 'iops'"
    assert numbers(saved) == [0, 1]
    assert saved.manifest.state is RunState.INTERRUPTED
    (place,) = tmp_path.glob("state/rescued" if state == "state" else "tmp/openpts-rescued-*")
    assert saved.folder.parent == place
    assert place.stat().st_mode & 0o077 == 0
    with temporary_folder("replay"):
        assert saved.folder.exists()


def test_what_can_be_saved_nowhere_is_named(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "file/state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file/tmp"))
    writer, _ = lasting(tmp_path / "run")
    (tmp_path / "run" / DATABASE_NAME).unlink()
    with pytest.raises(LostRecordError, match="during the run; not all of it is stored: can't create"):
        writer.close()


def test_there_is_no_run_without_a_reserve(tmp_path) -> None:
    stored = RunWriter.create(tmp_path / "run", manifest())
    with pytest.raises(UnwritableRecordError, match=r"the disk is full: .* are free, .* are needed"):
        SpoolingWriter(stored, 1 << 60)


def test_the_reserve_has_no_name_and_ends_with_the_run(tmp_path) -> None:
    writer, _ = lasting(tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "input",
        DATABASE_NAME,
        f"{DATABASE_NAME}-shm",
        f"{DATABASE_NAME}-wal",
    }
    writer.close()
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"input", DATABASE_NAME}


def test_its_space_is_taken_and_given_back(tmp_path) -> None:
    reserve = Reserve(tmp_path, MIB)
    reserve.take()
    reserve.take()
    assert reserve.release()
    assert not reserve.release()


@pytest.mark.parametrize(("number", "is_taken"), [(errno.ENOENT, True), (errno.EROFS, False)])
def test_a_file_system_without_nameless_files_is_used_without_a_reserve(
    tmp_path, monkeypatch, number, is_taken
) -> None:
    def refuse(*_arguments: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    reserve = Reserve(tmp_path, MIB)
    with nullcontext() if is_taken else pytest.raises(OSError, match="Read-only"):
        reserve.take()
    assert not reserve.release()


FIRST = StepPlace(1, Phase.WIPC, 1, 0)
SECOND = StepPlace(1, Phase.ROUND, 1, 0)


class Interrupter:
    """Raises KeyboardInterrupt before the nth line of the writer that is run."""

    def __init__(self, line: int) -> None:
        self.left = line
        self.hit = False

    def __call__(self, frame: FrameType, event: str, _value: Any) -> Any:
        if frame.f_code.co_filename != writer_module.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.hit = True
                raise KeyboardInterrupt
        return self


def test_a_step_is_stored_once_wherever_an_interrupt_comes(tmp_path) -> None:
    line, hit = 0, True
    while hit:
        line += 1
        folder = tmp_path / str(line)
        writer = RunWriter.create(folder, manifest())
        writer.add_step(FIRST, complete(step(4096)))
        interrupter = Interrupter(line)
        before = sys.gettrace()
        sys.settrace(interrupter)
        try:
            writer.add_step(SECOND, complete(step(512)))
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        hit = interrupter.hit
        # as a driver does that was interrupted: it doesn't know how far that came
        writer.add_step(SECOND, complete(step(512)))
        writer.update_manifest(state=RunState.INTERRUPTED, state_reason="stopped by the operator")
        writer.close()
        run = read_run(folder)
        assert [one.place for one in run.steps] == [FIRST, SECOND], line
        assert run.manifest.state is RunState.INTERRUPTED
        assert [one.sample for one in run.steps] == [complete(step(4096)), complete(step(512))]
    assert line > 20


def test_an_interrupt_in_a_change_of_the_manifest_leaves_it_whole(tmp_path) -> None:
    line, hit = 0, True
    while hit:
        line += 1
        folder = tmp_path / str(line)
        writer = RunWriter.create(folder, manifest())
        interrupter = Interrupter(line)
        before = sys.gettrace()
        sys.settrace(interrupter)
        try:
            writer.update_manifest(state_reason="first")
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        hit = interrupter.hit
        writer.update_manifest(state=RunState.INTERRUPTED)
        writer.close()
        told = read_run(folder).manifest
        assert told.state is RunState.INTERRUPTED
        assert told.state_reason in {None, "first"}
    assert line > 5


@pytest.mark.parametrize("times", [2, 3])
def test_only_the_last_step_can_be_given_again(times, tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    for place in (FIRST, *[SECOND] * times):
        writer.add_step(place, complete(step(4096)))
    writer.close()
    assert [one.place for one in read_run(tmp_path / "run").steps] == [FIRST, SECOND]


LOG_NAME = f"{DATABASE_NAME}-wal"


def _replace(path: Path) -> None:
    """As an editor, or rsync, does."""
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def _rename_and_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "another name": lambda path: path.rename(path.with_name("another")),
    "replaced": _replace,
    "linked": _rename_and_link,
    "folder moved": lambda path: path.parent.rename(path.parent.with_name("moved")),
    "folder deleted": lambda path: shutil.rmtree(path.parent),
}


@pytest.mark.parametrize("name", [DATABASE_NAME, LOG_NAME])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_told_at_the_next_commit(tmp_path, loss, name) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), sample())
    LOSSES[loss](tmp_path / "run" / name)
    with pytest.raises(LostRecordError, match=f"can't continue the record: .*{DATABASE_NAME}"):
        writer.add_step(round_place(1, 1), sample())
    with pytest.raises(LostRecordError):
        writer.close()


def test_a_record_that_lost_its_log_alone_is_whole(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), sample())
    (tmp_path / "run" / LOG_NAME).unlink()
    with pytest.raises(LostRecordError):
        writer.add_step(round_place(1, 1), sample())
    with pytest.raises(LostRecordError):
        writer.close()
    assert [step.place.position for step in read_run(tmp_path / "run").steps] == [0, 1]


def test_the_end_of_a_lost_run_leaves_the_next_one_alone(tmp_path) -> None:
    """Closing SQLite removes the log of the database that it has open, and no other's of the same name."""
    first = RunWriter.create(tmp_path / "run", manifest())
    first.add_step(round_place(1, 0), sample())
    shutil.rmtree(tmp_path / "run")
    second = RunWriter.create(tmp_path / "run", manifest())
    second.add_step(round_place(1, 0), sample())
    with pytest.raises(LostRecordError):
        first.add_step(round_place(1, 1), sample())
    with pytest.raises(LostRecordError):
        first.close()
    second.add_step(round_place(1, 1), sample())
    second.close()
    assert len(read_run(tmp_path / "run").steps) == 2


def test_other_names_and_readers_are_no_loss(tmp_path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    (tmp_path / "run" / "notes").write_text("of the operator")
    (tmp_path / "another name").hardlink_to(tmp_path / "run" / DATABASE_NAME)
    assert read_run(tmp_path / "run").steps == ()
    shutil.copytree(tmp_path / "run", tmp_path / "backup")
    with sqlite3.connect(tmp_path / "run" / DATABASE_NAME) as connection:
        connection.execute("SELECT * FROM step").fetchall()
    connection.close()
    writer.add_step(round_place(1, 0), sample())
    writer.close()
    assert len(read_run(tmp_path / "run").steps) == 1


def test_a_display_hears_of_the_end_of_a_run_that_lost_its_record(tmp_path, golden) -> None:
    heard: list[Any] = []
    writer = RunWriter.create(tmp_path / "run", manifest())
    (tmp_path / "run" / DATABASE_NAME).unlink()
    with pytest.raises(OpenptsError, match="can't continue"), closing_record(writer, heard.append):
        writer.add_step(StepPlace(1, Phase.ROUND, 1, 0), sample())
    (ended,) = heard
    assert isinstance(ended, RunEnded)
    assert ended.state is RunState.FAILED
    assert str(ended.reason) == golden

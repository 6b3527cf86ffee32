"""A record whose files are deleted, moved or replaced while it is written is noticed at the next commit."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.batch.in_turn import _state
from openpts.errors import LostRecordError, OpenptsError, RecordError
from openpts.record.manifest import RunState
from openpts.record.reader import read_run
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.runner.close_run import closing_record
from openpts.runner.events import Event, RunEnded
from openpts.vocabulary.phase import Phase, StepPlace
from tests.support.transcript import Golden
from tests.unit.record.test_run_folder import manifest, round_place, sample

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
def test_a_loss_is_told_at_the_next_commit(tmp_path: Path, loss: str, name: str) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), sample())
    LOSSES[loss](tmp_path / "run" / name)
    with pytest.raises(LostRecordError, match=f"can't continue the record: .*{DATABASE_NAME}"):
        writer.add_step(round_place(1, 1), sample())
    with pytest.raises(LostRecordError):
        writer.close()


def test_a_record_that_lost_its_log_alone_is_whole(tmp_path: Path) -> None:
    writer = RunWriter.create(tmp_path / "run", manifest())
    writer.add_step(round_place(1, 0), sample())
    (tmp_path / "run" / LOG_NAME).unlink()
    with pytest.raises(LostRecordError):
        writer.add_step(round_place(1, 1), sample())
    with pytest.raises(LostRecordError):
        writer.close()
    assert [step.place.position for step in read_run(tmp_path / "run").steps] == [0, 1]


def test_the_end_of_a_lost_run_leaves_the_next_one_alone(tmp_path: Path) -> None:
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


def test_other_names_and_readers_are_no_loss(tmp_path: Path) -> None:
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


def test_a_test_of_a_suite_that_lost_its_record_has_failed(tmp_path: Path) -> None:
    """It was not refused, though there is no record of it."""
    assert _state(LostRecordError("gone"), tmp_path) is RunState.FAILED
    assert _state(RecordError("can't be made"), tmp_path) is RunState.REFUSED


def test_a_display_hears_of_the_end_of_a_run_that_lost_its_record(tmp_path: Path, golden: Golden) -> None:
    heard: list[Event] = []
    writer = RunWriter.create(tmp_path / "run", manifest())
    (tmp_path / "run" / DATABASE_NAME).unlink()
    with pytest.raises(OpenptsError, match="can't continue"), closing_record(writer, heard.append):
        writer.add_step(StepPlace(1, Phase.ROUND, 1, 0), sample())
    (ended,) = heard
    assert isinstance(ended, RunEnded)
    assert ended.state is RunState.FAILED
    assert str(ended.reason) == golden

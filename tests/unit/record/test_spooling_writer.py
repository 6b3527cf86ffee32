"""A writer whose disk is full for a while: nothing is lost, nothing twice, and all in order."""

import errno
import os
import sqlite3
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openpts.errors import LostRecordError, UnwritableRecordError
from openpts.record.manifest import RunState
from openpts.record.reader import Run, read_run
from openpts.record.schema import PAGE_BYTES, REPEATED
from openpts.record.spooling_writer import Reserve, SpoolingWriter
from openpts.record.writer import DATABASE_NAME, RunWriter
from openpts.temporary_folder import temporary_folder
from openpts.units import MIB
from openpts.vocabulary.deviation import Deviation
from tests.unit.record.test_run_folder import manifest, round_place, sample

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
def test_what_waited_is_stored_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, full: Sequence[bool]
) -> None:
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


def test_it_says_what_is_wrong_until_it_is_right_again(tmp_path: Path) -> None:
    writer, database = lasting(tmp_path / "run")
    assert writer.trouble == ""
    database.fill_up()
    writer.add_deviations((entry(1),))
    assert writer.trouble == "database or disk is full"
    assert writer.try_again() == "database or disk is full"
    database.make_room()
    assert writer.try_again() == writer.trouble == ""
    writer.close()


def test_a_step_that_is_repeated_meanwhile_is_set_aside_in_its_turn(tmp_path: Path) -> None:
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
def test_what_waits_at_the_end_is_saved_elsewhere(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_what_can_be_saved_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path / "file/state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file/tmp"))
    writer, _ = lasting(tmp_path / "run")
    (tmp_path / "run" / DATABASE_NAME).unlink()
    with pytest.raises(LostRecordError, match="during the run; not all of it is stored: can't create"):
        writer.close()


def test_there_is_no_run_without_a_reserve(tmp_path: Path) -> None:
    stored = RunWriter.create(tmp_path / "run", manifest())
    with pytest.raises(UnwritableRecordError, match=r"the disk is full: .* are free, .* are needed"):
        SpoolingWriter(stored, 1 << 60)


def test_the_reserve_has_no_name_and_ends_with_the_run(tmp_path: Path) -> None:
    writer, _ = lasting(tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "input",
        DATABASE_NAME,
        f"{DATABASE_NAME}-shm",
        f"{DATABASE_NAME}-wal",
    }
    writer.close()
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"input", DATABASE_NAME}


def test_its_space_is_taken_and_given_back(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path, MIB)
    reserve.take()
    reserve.take()
    assert reserve.release()
    assert not reserve.release()


@pytest.mark.parametrize(("number", "is_taken"), [(errno.ENOENT, True), (errno.EROFS, False)])
def test_a_file_system_without_nameless_files_is_used_without_a_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, is_taken: bool
) -> None:
    def refuse(*_arguments: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    reserve = Reserve(tmp_path, MIB)
    with nullcontext() if is_taken else pytest.raises(OSError, match="Read-only"):
        reserve.take()
    assert not reserve.release()

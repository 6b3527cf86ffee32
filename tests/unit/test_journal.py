"""The journal of what must be put back: it survives what its process does not."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from openpts.journal import Journal, JournalError, Kind

SUBJECT = {"serial": "S1 \N{SNOWMAN}", "node": "/dev/sda"}
FOUND = {"value": "write back"}


def _note_and_die(folder: Path) -> None:
    Journal(folder).add(Kind.WRITE_CACHE, SUBJECT, FOUND)
    os.kill(os.getpid(), signal.SIGKILL)


def test_an_entry_lasts_as_long_as_its_block(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a/b")
    with journal.noted(Kind.HOST_SETTING, {"path": "/sys/x"}, FOUND) as entry:
        assert journal.entries() == (entry,)
        assert journal.left_behind() == ()
    assert journal.entries() == ()


def test_a_block_that_failed_leaves_its_entry(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(ValueError, match="broken"), journal.noted(Kind.WRITE_CACHE, SUBJECT, FOUND):
        raise ValueError("broken")
    assert [entry.found for entry in journal.entries()] == [FOUND]


def test_a_killed_process_leaves_its_entry_behind(tmp_path: Path) -> None:
    process = multiprocessing.get_context("fork").Process(target=_note_and_die, args=(tmp_path,))
    process.start()
    process.join()
    (entry,) = Journal(tmp_path).left_behind()
    assert (entry.kind, entry.subject, entry.found) == (Kind.WRITE_CACHE, SUBJECT, FOUND)
    Journal(tmp_path).remove(entry)
    assert Journal(tmp_path).left_behind() == ()


def test_another_process_with_the_same_number_is_not_the_owner(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    entry = journal.add(Kind.WRITE_CACHE, SUBJECT, FOUND)
    path = next(tmp_path.glob("*.json"))
    path.write_text(path.read_text().replace(entry.owner.started, "1"))
    assert len(journal.left_behind()) == 1


def test_an_entry_of_another_boot_is_left_behind(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    entry = journal.add(Kind.WRITE_CACHE, SUBJECT, FOUND)
    path = next(tmp_path.glob("*.json"))
    path.write_text(path.read_text().replace(entry.owner.boot_id, "0"))
    assert len(journal.left_behind()) == 1


def test_entries_are_for_their_user_alone(tmp_path: Path) -> None:
    Journal(tmp_path / "j").add(Kind.DRIVE_PASSWORD, SUBJECT, {"password": "secret"})
    assert (tmp_path / "j").stat().st_mode & 0o77 == 0
    assert next((tmp_path / "j").glob("*")).stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("content", ["", "{", '{"kind": "other"}', "[]"])
def test_an_entry_that_cannot_be_read_is_no_empty_journal(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(JournalError, match="makes no sense"):
        Journal(tmp_path).entries()


def test_nothing_is_changed_where_it_cannot_be_noted(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="can't be written"):
        Journal(tmp_path / "file/journal").add(Kind.WRITE_CACHE, SUBJECT, FOUND)


def test_where_it_is_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path))
    assert Journal.of_machine().folder == tmp_path / "journal"

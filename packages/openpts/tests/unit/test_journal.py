"""The journal of what must be put back: it survives what its process does not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openpts.device.write_cache import WRITE_CACHE
from openpts.journal import Journal, JournalError
from tests.support.processes import die, dies, living

SUBJECT = {"serial": "S1 \N{SNOWMAN}", "node": "/dev/sda"}
FOUND = {"value": "write back"}


def test_an_entry_lasts_until_it_is_taken_out(tmp_path) -> None:
    journal = Journal(tmp_path / "a/b")
    entry = journal.add("host setting", {"path": "/sys/x"}, FOUND)
    assert journal.entries() == (entry,)
    assert journal.left_behind() == ()
    journal.remove(entry)
    assert journal.entries() == ()


def test_a_killed_process_leaves_its_entry_behind(tmp_path) -> None:
    def note_and_die() -> None:
        Journal(tmp_path).add(WRITE_CACHE, SUBJECT, FOUND)
        die()

    dies(note_and_die)
    (entry,) = Journal(tmp_path).left_behind()
    assert (entry.kind, entry.subject, entry.found) == (WRITE_CACHE, SUBJECT, FOUND)
    Journal(tmp_path).remove(entry)
    assert Journal(tmp_path).left_behind() == ()


def test_an_entry_of_a_process_that_lives_is_not_left_behind(tmp_path) -> None:
    """By its lock, so that it is seen from any container as well, where its number says nothing."""

    def note_and_wait(wait: Callable[[], None]) -> None:
        Journal(tmp_path).add(WRITE_CACHE, SUBJECT, FOUND)
        wait()

    with living(note_and_wait):
        assert len(Journal(tmp_path).entries()) == 1
        assert Journal(tmp_path).left_behind() == ()
    assert len(Journal(tmp_path).left_behind()) == 1


def test_an_entry_that_another_takes_out_meanwhile_is_no_error(tmp_path, monkeypatch) -> None:
    journal = Journal(tmp_path)
    gone, stays = (journal.add(WRITE_CACHE, SUBJECT, FOUND) for _ in range(2))
    listed = list(tmp_path.glob("*.json"))
    journal.remove(gone)
    monkeypatch.setattr(Path, "glob", lambda _folder, _pattern: listed)
    assert journal.entries() == (stays,)


def test_entries_are_for_their_user_alone(tmp_path) -> None:
    Journal(tmp_path / "j").add("drive password", SUBJECT, {"password": "secret"})
    assert (tmp_path / "j").stat().st_mode & 0o77 == 0
    assert next((tmp_path / "j").glob("*")).stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("content", ["", "{", '{"kind": "other"}', "[]"])
def test_an_entry_that_cannot_be_read_is_no_empty_journal(content, tmp_path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(JournalError, match="makes no sense"):
        Journal(tmp_path).entries()


def test_nothing_is_changed_where_it_cannot_be_noted(tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="can't be written"):
        Journal(tmp_path / "file/journal").add(WRITE_CACHE, SUBJECT, FOUND)


def test_where_it_is_can_be_named(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPENPTS_STATE", str(tmp_path))
    assert Journal.of_machine().folder == tmp_path / "journal"


def test_the_beginning_of_an_entry_is_swept_away_when_no_process_writes_it_any_more(tmp_path) -> None:
    """The process that was killed over it had not changed anything yet."""
    journal = Journal(tmp_path)
    entry = journal.add(WRITE_CACHE, SUBJECT, FOUND)
    old, new = tmp_path / "old.part", tmp_path / "new.part"
    for path in (old, new):
        path.write_text("{")
    os.utime(old, (0, 0))
    assert journal.left_behind() == ()
    assert (old.exists(), new.exists()) == (False, True)
    assert journal.entries() == (entry,)

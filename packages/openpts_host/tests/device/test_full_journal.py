"""The disk of the journal is full: nothing is changed that could not be put back after a crash.

Needs root: the journal is in a small file system of its own.
"""

from pathlib import Path

import pytest

from openpts.device.write_cache import WRITE_CACHE
from openpts.journal import Journal, JournalError
from openpts.system_files import SystemRoots
from openpts.vocabulary.facts import Scenario
from openpts_host.changes import host_changes, tuned_host
from openpts_host.tests.unit.recorded_systemd import RecordedSystemd
from openpts_host.tests.unit.test_changes import settings_of
from tests.data.system_trees import laptop
from tests.support.full_disk import fill

__all__ = ["laptop"]

SUBJECT = {"node": "/dev/sda"}


def test_an_entry_that_has_no_room_leaves_nothing_behind(tmpfs: Path) -> None:
    journal = Journal(tmpfs / "journal")
    before = journal.add(WRITE_CACHE, SUBJECT, {"state": "write back"})
    filling = fill(tmpfs)
    with pytest.raises(JournalError, match="journal can't be written: No space left on device"):
        journal.add(WRITE_CACHE, SUBJECT, {"state": "write through"})
    assert [path.name for path in journal.folder.iterdir()] == [journal.path_of(before).name]
    assert journal.entries() == (before,)
    filling.unlink()
    after = journal.add(WRITE_CACHE, SUBJECT, {"state": "write through"})
    assert journal.entries() == (before, after)
    for entry in (before, after):
        journal.remove(entry)


def test_what_is_noted_is_put_back_on_a_full_disk_too(tmpfs: Path) -> None:
    journal = Journal(tmpfs)
    entry = journal.add(WRITE_CACHE, SUBJECT, {"state": "write back"})
    fill(tmpfs)
    journal.remove(entry)
    assert journal.entries() == ()


@pytest.mark.parametrize("but_pages", [0, 3])
def test_a_journal_that_gets_full_leaves_the_host_as_it_was(
    tmpfs: Path, laptop: SystemRoots, but_pages: int
) -> None:
    before, journal, run = settings_of(laptop), Journal(tmpfs / "journal", laptop), RecordedSystemd()
    journal.folder.mkdir()
    wanted = host_changes(laptop, Scenario.SYNTHETIC, lasting=True, run=run)
    fill(tmpfs, but_pages=but_pages)
    with (
        pytest.raises(JournalError, match="No space left on device"),
        tuned_host(wanted, Scenario.SYNTHETIC, laptop, journal, run),
    ):
        raise AssertionError("it must not come to a measurement")
    assert settings_of(laptop) == before
    assert journal.entries() == ()

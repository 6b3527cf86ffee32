"""Which runs of a batch were beside each other in place and time."""

import pytest
from msgspec.structs import replace

from openpts.record.batch import Batch, BatchEntry
from openpts.vocabulary.run_request import RunRequest
from openpts_batch.side_by_side import with_loaded_neighbors


def entry(slot: str | None, since: int, until: int | None) -> BatchEntry:
    request = RunRequest(run_id=f"run in {slot}", test_words=("iops",), target="x")
    return BatchEntry(
        request=request,
        folder="x",
        slot=slot,
        started_at=f"2026-01-01T00:00:{since:02}.000+00:00",
        ended_at=None if until is None else f"2026-01-01T00:00:{until:02}.000+00:00",
    )


def batch(*entries: BatchEntry) -> Batch:
    return Batch(batch_id="l", started_at="2026-01-01T00:00:00+00:00", entries=entries)


def test_both_have_the_time_in_which_both_were_under_load_once_both_have_ended() -> None:
    running = batch(entry("3", 10, 30), entry("4", 20, None))
    assert with_loaded_neighbors(running, 0) == running
    ended = batch(entry("3", 10, 30), entry("4", 20, 50))
    first, second = with_loaded_neighbors(ended, 1).entries
    (of_first,), (of_second,) = first.neighbors, second.neighbors
    assert (of_first.slot, of_first.run_id, of_second.slot) == ("4", "run in 4", "3")
    assert {(one.since[17:23], one.until[17:23]) for one in (of_first, of_second)} == {("20.000", "30.000")}


@pytest.mark.parametrize(
    ("slots", "times"),
    [
        (("3", "5"), ((0, 9), (0, 9))),
        (("3", "3"), ((0, 9), (0, 9))),
        (("3", None), ((0, 9), (0, 9))),
        (("0:0:8:0/3", "0:0:9:0/4"), ((0, 9), (0, 9))),
        (("pci-0000:01:00.0-nvme-1", "pci-0000:01:00.0-nvme-2"), ((0, 9), (0, 9))),
        (("3", "4"), ((0, 9), (9, 20))),
    ],
)
def test_drives_apart_in_place_or_time_are_no_neighbors(slots, times) -> None:
    subject = batch(*(entry(slot, *time) for slot, time in zip(slots, times, strict=True)))
    assert with_loaded_neighbors(subject, 1) == subject


def test_bays_of_one_enclosure_are_numbered() -> None:
    subject = batch(entry("0:0:8:0/09", 0, 9), entry("0:0:8:0/10", 0, 9))
    assert [len(one.neighbors) for one in with_loaded_neighbors(subject, 1).entries] == [1, 1]


def test_a_run_that_goes_on_later_is_beside_what_ran_meanwhile() -> None:
    first = with_loaded_neighbors(batch(entry("3", 0, 10), entry("4", 5, 30)), 1)
    resumed = replace(first.entries[0], started_at="2026-01-01T00:00:40.000+00:00", ended_at=None)
    after = replace(resumed, ended_at="2026-01-01T00:00:50.000+00:00")
    assert with_loaded_neighbors(replace(first, entries=(after, first.entries[1])), 0).entries[0] == after
